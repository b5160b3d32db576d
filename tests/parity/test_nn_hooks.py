"""Hooks of modules against PyTorch: each scenario keeps a log, and the logs of both libraries must be equal."""

import warnings

import pytest

SCENARIOS = {}


def scenario(function):
    SCENARIOS[function.__name__] = function
    return function


def numbers(value):
    """Tensors in a nest as rounded numbers, so that logs can be compared."""
    if hasattr(value, "detach"):
        return [round(float(x), 4) for x in value.detach().reshape(-1)]
    if isinstance(value, (tuple, list)):
        return [numbers(v) for v in value]
    return value


def net(t):
    return t.nn.Sequential(t.nn.Linear(2, 3), t.nn.Tanh(), t.nn.Linear(3, 1))


def x(t, requires_grad=True):
    return t.tensor([[1.0, 2.0], [3.0, -1.0]], requires_grad=requires_grad)


@scenario
def forward_hooks_run_in_their_order(t, log):
    module = t.nn.Linear(2, 2)
    module.register_forward_hook(lambda m, a, o: log.append(("first", numbers(o))))
    module.register_forward_hook(lambda m, a, o: o * 2)
    module.register_forward_hook(lambda m, a, o: log.append(("prepended", numbers(o))), prepend=True)
    module.register_forward_pre_hook(lambda m, a: (a[0] + 1,))
    handle = module.register_forward_pre_hook(lambda m, a: a[0] * 3)
    log.append(numbers(module(x(t))))
    handle.remove()
    log.append(numbers(module(x(t))))


@scenario
def hooks_see_keyword_arguments(t, log):
    class Scaled(t.nn.Module):
        def forward(self, x, *, by):
            return x * by

    module = Scaled()
    module.register_forward_pre_hook(lambda m, a, k: (a, {"by": k["by"] + 1}), with_kwargs=True)
    module.register_forward_hook(lambda m, a, k, o: log.append((k, numbers(o))), with_kwargs=True)
    module(x(t), by=2)
    module.register_forward_pre_hook(lambda m, a, k: a, with_kwargs=True)
    module(x(t), by=2)


@scenario
def some_hooks_are_called_after_an_error(t, log):
    class Broken(t.nn.Module):
        def forward(self, x):
            raise ValueError("no")

    module = Broken()
    module.register_forward_hook(lambda m, a, o: log.append("never"))
    module.register_forward_hook(lambda m, a, o: log.append(("always", o)), always_call=True)

    def fails(m, a, o):
        raise RuntimeError("also")

    module.register_forward_hook(fails, always_call=True)
    module(x(t))


@scenario
def full_backward_hooks_see_and_change_gradients(t, log):
    module = net(t)
    for name, child in module.named_modules():
        child.register_full_backward_hook(
            lambda m, gi, go, name=name: log.append((name, numbers(gi), numbers(go)))
        )
    module[2].register_full_backward_pre_hook(lambda m, go: (go[0] * 2,))
    module[1].register_full_backward_hook(lambda m, gi, go: (gi[0] + 1,))
    module[1].register_full_backward_hook(
        lambda m, gi, go: log.append(("before the others", numbers(gi))), prepend=True
    )
    input = x(t)
    module(input).sum().backward()
    log.append(numbers(input.grad))
    log.extend(numbers(p.grad) for p in module.parameters())


@scenario
def a_full_backward_hook_without_an_input_gradient_warns(t, log):
    module = t.nn.Linear(2, 1)
    module.register_full_backward_hook(lambda m, gi, go: log.append((numbers(gi), numbers(go))))
    module(x(t, requires_grad=False)).sum().backward()


@scenario
def backward_hooks_of_modules_with_several_values(t, log):
    class Pair(t.nn.Module):
        def forward(self, a, b, c):
            return a * b, a + b

    module = Pair()
    module.register_full_backward_hook(lambda m, gi, go: log.append((numbers(gi), numbers(go))))
    a, b = x(t), x(t)
    first, second = module(a, b, 3)
    (first.sum() + 2 * second.sum()).backward()
    log.append((numbers(a.grad), numbers(b.grad)))


@scenario
def a_wrong_number_of_gradients_is_refused(t, log):
    module = t.nn.Linear(2, 1)
    module.register_full_backward_hook(lambda m, gi, go: (gi[0], gi[0]))
    module(x(t)).sum().backward()


@scenario
def a_wrong_number_of_output_gradients_is_refused(t, log):
    module = t.nn.Linear(2, 1)
    module.register_full_backward_pre_hook(lambda m, go: (go[0], go[0]))
    module(x(t)).sum().backward()


@scenario
def older_backward_hooks_see_the_last_node(t, log):
    module = t.nn.Tanh()
    module.register_backward_hook(lambda m, gi, go: log.append((numbers(gi), numbers(go))))
    (x(t) * 2).sum()
    module(x(t) * 2).sum().backward()
    module.register_full_backward_hook(lambda m, gi, go: None)


@scenario
def older_backward_hooks_warn_of_what_they_miss(t, log):
    module = net(t)
    module.register_backward_hook(lambda m, gi, go: log.append(numbers(go)))
    module(x(t)).sum().backward()


@scenario
def global_hooks_run_for_every_module(t, log):
    from importlib import import_module

    hooks = import_module(f"{t.__name__}.nn.modules.module")
    module = net(t)
    handles = [
        hooks.register_module_forward_pre_hook(lambda m, a: log.append(("pre", type(m).__name__))),
        hooks.register_module_forward_hook(
            lambda m, a, o: log.append(("after", type(m).__name__, numbers(o)))
        ),
        hooks.register_module_full_backward_pre_hook(lambda m, go: log.append(("back", numbers(go)))),
        hooks.register_module_full_backward_hook(lambda m, gi, go: log.append(("gone", numbers(gi)))),
    ]
    module(x(t)).sum().backward()
    for handle in handles:
        handle.remove()
    size = len(log)
    module(x(t)).sum().backward()
    log.append(len(log) - size)


@scenario
def hooks_on_registration_replace_values(t, log):
    from importlib import import_module

    hooks = import_module(f"{t.__name__}.nn.modules.module")
    handles = [
        hooks.register_module_parameter_registration_hook(lambda m, n, p: log.append((n, list(p.shape)))),
        hooks.register_module_buffer_registration_hook(lambda m, n, b: b if b is None else b + 1),
        hooks.register_module_module_registration_hook(lambda m, n, c: log.append((n, type(c).__name__))),
    ]
    module = t.nn.Sequential(t.nn.Linear(2, 2), t.nn.BatchNorm1d(2))
    for handle in handles:
        handle.remove()
    log.append(numbers(list(module.buffers())))


@scenario
def state_hooks_run_around_saving_and_loading(t, log):
    module = net(t)
    module[0].register_state_dict_pre_hook(lambda m, prefix, keep: log.append(("saving", prefix, keep)))
    module[2].register_state_dict_post_hook(lambda m, state, prefix, meta: state.pop(prefix + "bias"))
    log.append(len(module[0].state_dict()))
    module[2].register_load_state_dict_pre_hook(
        lambda m, state, prefix, *rest: log.append(("loading", type(m).__name__, prefix, sorted(state)))
    )
    module.register_load_state_dict_post_hook(lambda m, keys: log.append(("loaded", keys.missing_keys)))
    log.append(repr(module.load_state_dict(net(t).state_dict())))
    state = net(t).state_dict()
    del state["0.weight"]
    log.append(repr(module.load_state_dict(state, strict=False)))
    module.load_state_dict(state)


@scenario
def a_state_hook_that_returns_is_refused(t, log):
    module = net(t)
    module.register_state_dict_post_hook(lambda m, state, prefix, meta: state)
    module.state_dict()


def run(library, function):
    """The log, the warnings and the error of a scenario."""
    log = []
    library.manual_seed(3)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            function(library, log)
        except Exception as error:  # noqa: BLE001 - compared with the other library's
            log.append(f"{type(error).__name__}: {error}")
    return log, [(w.category.__name__, str(w.message)) for w in caught]


@pytest.mark.parametrize("name", SCENARIOS)
def test_hooks(both, name):
    torch, ours = both
    got, wanted = run(ours, SCENARIOS[name]), run(torch, SCENARIOS[name])
    assert wanted[0], "the scenario logged nothing"
    assert got == wanted
