"""Where backward passes end, what they leave, and what hooks at the leaves see."""

import gc

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.autograd import Function


def test_the_graph_below_an_input_of_grad_stays():
    x = torch.ones(3, requires_grad=True)
    h = x * x
    torch.autograd.grad((h * h).sum(), h)
    assert torch.autograd.grad(h.sum(), x)[0].tolist() == [2.0] * 3


def test_branches_that_lead_to_no_input_of_grad_stay():
    x, y = torch.ones(3, requires_grad=True), torch.zeros(3, requires_grad=True)
    b = y.exp()
    torch.autograd.grad((x.exp() * b).sum(), x)
    assert torch.autograd.grad(b.sum(), y)[0].tolist() == [1.0] * 3
    c = y.exp()
    (x.exp() * c).sum().backward(inputs=[x])
    assert torch.autograd.grad(c.sum(), y)[0].tolist() == [1.0] * 3


def test_what_a_pass_with_inputs_went_through_is_freed():
    x = torch.ones(3, requires_grad=True)
    h = x.exp()
    loss = (h * h).sum()
    torch.autograd.grad(loss, h)
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        torch.autograd.grad(loss, h)


def test_inputs_and_outputs_may_come_from_a_generator():
    model = torch.nn.Linear(2, 2)
    x = torch.ones(1, 2)
    first = torch.autograd.grad(model(x).sum(), model.parameters())
    second = torch.autograd.grad((o for o in [model(x).sum()]), dict(model.named_parameters()).values())
    assert [g.tolist() for g in first] == [g.tolist() for g in second] == [[[1.0] * 2] * 2, [1.0] * 2]
    torch.autograd.backward((o for o in [model(x).sum()]), inputs=model.parameters())
    assert model.bias.grad.tolist() == [1.0, 1.0]
    with pytest.raises(TypeError, match="wanted a Tensor or a sequence of them, got int"):
        torch.autograd.grad(model(x).sum(), 3)


@pytest.mark.parametrize("use", [lambda x: (x * 2).sum(), lambda x: x.sum(), lambda x: x[0].sum() * 2])
@pytest.mark.parametrize(
    "make, strides",
    [
        (lambda: torch.rand(3, 4).t(), (1, 4)),
        (lambda: torch.rand(3, 4, 5).permute(2, 0, 1), (1, 20, 5)),
        (lambda: torch.rand(2, 3, 4, 4).to(memory_format=torch.channels_last), (48, 1, 12, 3)),
        (lambda: torch.rand(3, 8)[:, ::2], (4, 1)),
        (lambda: torch.rand(3, 1).expand(3, 4), (4, 1)),
    ],
)
def test_a_gradient_lies_in_memory_as_its_leaf_does(make, strides, use):
    leaf = make().requires_grad_()
    for _ in range(2):
        use(leaf).backward()
        assert leaf.grad.stride() == strides
    other = make().requires_grad_()
    use(other).backward(inputs=[other])
    assert other.grad.stride() == strides and other.grad.tolist() == (leaf.grad / 2).tolist()


def test_hooks_of_an_accumulator_see_what_arrived():
    x = torch.ones(2, requires_grad=True)
    accumulator = (x * 1).grad_fn.next_functions[0][0]
    seen = []
    handle = accumulator.register_hook(
        lambda inputs, outputs: seen.append((inputs, outputs[0].tolist(), x.grad is None))
    )
    (x * 2).sum().backward()
    handle.remove()
    (x * 2).sum().backward()
    assert seen == [((), [2.0, 2.0], False)] and x.grad.tolist() == [4.0, 4.0]


class _WithWords(Function):
    @staticmethod
    def forward(ctx, x):
        return None, x * 2, "word", x * 3, 5

    @staticmethod
    def backward(ctx, *grads):
        assert [grads[i] for i in (0, 2, 4)] == [None] * 3
        return grads[1] * 2 + grads[3] * 3


def test_a_function_may_have_results_that_are_no_tensors():
    x = torch.ones(2, requires_grad=True)
    nothing, double, word, triple, five = _WithWords.apply(x)
    assert (nothing, word, five) == (None, "word", 5)
    (double.sum() + 10 * triple.sum()).backward()
    assert x.grad.tolist() == [32.0, 32.0]


class _Scaled(Function):
    @staticmethod
    def forward(x, factor=2, shift=0.0):
        return x * factor + shift

    @staticmethod
    def setup_context(ctx, inputs, output):
        _, ctx.factor, _ = inputs

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.factor, None, None


def test_setup_context_gets_defaulted_arguments_too():
    x = torch.ones(2, requires_grad=True)
    for args, kwargs, factor in [((), {}, 2), ((3,), {}, 3), ((), {"factor": 5}, 5), ((7, 1.0), {}, 7)]:
        assert torch.autograd.grad(_Scaled.apply(x, *args, **kwargs).sum(), x)[0].tolist() == [factor] * 2


class _Nested(Function):
    """Its backward starts another backward pass, until the number has come down to 0."""

    @staticmethod
    def forward(ctx, x):
        with torch.enable_grad():
            ctx.left = x.detach().requires_grad_() - 1
        return ctx.left.detach()

    @staticmethod
    def backward(ctx, grad):
        if ctx.left < 0:
            return grad
        with torch.enable_grad():
            _Nested.apply(ctx.left).sum().backward()
        return grad * 3


@pytest.mark.parametrize("levels", [50, 2000])
def test_backward_passes_nest(levels):
    x = torch.tensor(float(levels), requires_grad=True)
    _Nested.apply(x).sum().backward()
    assert x.grad.item() == 3.0


class _Failing(_Nested):
    @staticmethod
    def backward(ctx, grad):
        if ctx.left < 0:
            raise KeyError("at the bottom")
        assert torch.is_grad_enabled() is False
        with torch.enable_grad():
            _Failing.apply(ctx.left).sum().backward()
        return grad


def test_an_error_comes_up_through_all_levels_of_passes():
    with pytest.raises(KeyError, match="at the bottom"):
        _Failing.apply(torch.tensor(300.0, requires_grad=True)).sum().backward()


def test_leaving_hooks_that_were_not_entered_is_refused():
    hooks = torch.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x)
    with pytest.raises(RuntimeError, match="without having been entered"):
        hooks.__exit__()
    with hooks:
        pass
    with pytest.raises(RuntimeError, match="without having been entered"):
        torch.autograd.graph.save_on_cpu().__exit__(None, None, None)
    x = torch.ones(2, requires_grad=True)
    (x * x).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


@pytest.mark.parametrize(
    "use",
    [
        lambda model: model.load_state_dict(model.state_dict()),
        lambda model: torch.amp.GradScaler("cpu").scale([torch.ones(2), (torch.ones(3),)]),
    ],
)
def test_nothing_is_left_for_the_collector(use):
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2))
    use(model)
    gc.collect()
    gc.disable()
    try:
        use(model)
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_hooks_after_load_state_dict_run_children_first():
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Sequential(torch.nn.Linear(2, 2)))
    order = []
    for name, module in model.named_modules():
        module.register_load_state_dict_post_hook(lambda module, keys, name=name: order.append(name))
    model.load_state_dict(model.state_dict())
    assert order == ["0", "1.0", "1", ""]


def test_edges_of_the_graph_stand_for_the_tensors_they_lead_to():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    h = x * 3
    first, second = torch.split(h * h, 1)
    at = torch.autograd.graph.get_gradient_edge
    assert torch.autograd.grad(second.sum(), [at(h), at(x)], retain_graph=True)[0].tolist() == [0.0, 12.0]
    given = torch.autograd.grad(
        [at(first), at(second)], at(x), [torch.ones(1), torch.ones(1)], retain_graph=True
    )
    assert given[0].tolist() == [18.0, 36.0]
    assert torch.autograd.grad(at(second), x, retain_graph=True)[0].tolist() == [
        0.0,
        36.0,
    ]  # one element: from 1
    torch.autograd.backward(at(second), torch.ones(1), inputs=at(x))
    assert x.grad.tolist() == [0.0, 36.0]
    with pytest.raises(IndexError, match="has 1 outputs, got an edge to number 1"):
        torch.autograd.grad(second, torch.autograd.graph.GradientEdge(h.grad_fn, 1))
