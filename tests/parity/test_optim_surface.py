"""The names and signatures of torch.optim and torch.amp are PyTorch's."""

import importlib
import inspect

import pytest

OPTIMIZERS = ("Adadelta Adafactor Adagrad Adam Adamax AdamW ASGD LBFGS NAdam RAdam RMSprop Rprop SGD").split()
FUNCTIONS = "adadelta _adafactor adagrad adam adamax adamw asgd _muon nadam radam rmsprop rprop sgd".split()


def parameters(function):
    """Names, kinds and defaults."""
    return [
        (p.name, p.kind, p.default if isinstance(p.default, (int, float, str, tuple, type(None))) else "…")
        for p in inspect.signature(function).parameters.values()
    ]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functional_forms_take_pytorchs_arguments(both, name):
    theirs, ours = (
        getattr(importlib.import_module(f"{module.__name__}.optim.{name}"), name.strip("_"))
        for module in both
    )
    assert parameters(ours) == parameters(theirs)


def test_every_schedule_is_there_with_pytorchs_arguments(both):
    theirs, ours = (module.optim.lr_scheduler for module in both)
    for name in [*theirs.__all__, "_LRScheduler"]:
        mine, their = getattr(ours, name), getattr(theirs, name)
        assert parameters(mine.__init__) == parameters(their.__init__), name


def test_averages_take_pytorchs_arguments(both):
    theirs, ours = (module.optim.swa_utils for module in both)
    for name in theirs.__all__:
        assert parameters(getattr(ours, name)) == parameters(getattr(theirs, name)), name


def test_public_names_are_there(both):
    for place in ("optim", "amp"):
        theirs, ours = (getattr(module, place) for module in both)
        missing = [name for name in theirs.__all__ if not hasattr(ours, name)]
        assert not missing


@pytest.mark.parametrize("name", ["autocast", "GradScaler", "custom_fwd", "custom_bwd"])
def test_amp_takes_pytorchs_arguments(both, name):
    theirs, ours = (getattr(module.amp, name) for module in both)
    assert parameters(ours) == parameters(theirs)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_defaults_groups_and_text_are_pytorchs(both, name):
    theirs, ours = (
        getattr(module.optim, name)([module.ones(2, requires_grad=True)], lr=0.125) for module in both
    )
    assert ours.defaults == theirs.defaults and list(ours.defaults) == list(theirs.defaults)
    assert list(ours.param_groups[0]) == list(theirs.param_groups[0])
    assert repr(ours) == repr(theirs)


def test_schedules_are_pickled_under_pytorchs_names(both):
    theirs, ours = (importlib.import_module(m.__name__ + ".optim.lr_scheduler") for m in both)
    for name in theirs.__all__:
        found = getattr(ours, name)
        assert (found.__module__.replace("mindtorch_v2", "torch"), found.__qualname__) == (
            getattr(theirs, name).__module__,
            name,
        )


def test_what_optimizers_outside_import_is_there(both):
    found = []
    for m in both:
        outside = importlib.import_module(m.__name__ + ".optim.optimizer")
        parameter, wide = m.ones(2), m.ones(2, dtype=m.complex64)
        choices = [
            outside._default_to_fused_or_foreach([parameter], differentiable, fused)
            for differentiable in (False, True)
            for fused in (False, True)
        ]
        params, grads = [parameter, wide], [parameter, wide]
        outside._view_as_real(params, grads)
        shapes = [tuple(t.shape) for t in params + grads]
        step = outside._disable_dynamo_if_unsupported()(lambda: 3)
        found.append((choices, shapes, outside._stack_if_compiling([1]), step()))
    assert found[0] == found[1]
