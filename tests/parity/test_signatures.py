"""Optimizers, modules and functions of nn take PyTorch's arguments: the same names, kinds and defaults."""

import inspect
import pickle

import pytest
import torch
import torch.nn.functional

import mindtorch_v2
import mindtorch_v2.nn.functional

OPTIMIZERS = [name for name in torch.optim.__all__ if isinstance(getattr(torch.optim, name), type)]
MODULES = [
    name
    for name, value in sorted(vars(torch.nn).items())
    if isinstance(value, type) and issubclass(value, torch.nn.Module)
]
# PyTorch dispatches these at run time through a function of (*args, **kwargs); native ones have no signature.
FUNCTIONS = [
    name
    for name, value in sorted(vars(torch.nn.functional).items())
    if not name.startswith("_")
    and inspect.isfunction(value)
    and value.__module__ == "torch.nn.functional"
    and "args" not in inspect.signature(value).parameters
    and inspect.isfunction(ours := getattr(mindtorch_v2.nn.functional, name, None))
    and not hasattr(ours, "__refuses__")
]


def parameters(function):
    return [(p.name, p.kind, _plain(p.default)) for p in inspect.signature(function).parameters.values()]


def _plain(default):
    """A function by its name; everything else as it is written."""
    return default.__name__ if inspect.isfunction(default) else repr(default)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_an_optimizer_has_pytorchs_signature(name):
    theirs, ours = getattr(torch.optim, name), getattr(mindtorch_v2.optim, name)
    assert parameters(ours) == parameters(theirs)
    assert parameters(ours.__init__) == parameters(theirs.__init__)


@pytest.mark.parametrize("name", MODULES)
def test_a_module_has_pytorchs_signature(name):
    theirs, ours = getattr(torch.nn, name), getattr(mindtorch_v2.nn, name)
    assert parameters(ours.__init__) == parameters(theirs.__init__)
    if not hasattr(theirs, "__deprecated__"):  # such classes hide their arguments
        assert parameters(ours) == parameters(theirs)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_of_nn_has_pytorchs_signature(name):
    theirs, ours = (getattr(module.nn.functional, name) for module in (torch, mindtorch_v2))
    assert parameters(ours) == parameters(theirs)


MAXIMA = [n for n in dir(torch.nn.functional) if "max_pool" in n and not n.startswith("_")]


@pytest.mark.parametrize("name", MAXIMA)
def test_pools_of_maxima_take_what_pytorch_takes_with_and_without_indices(name):
    theirs = getattr(torch.nn.functional, f"{name.removesuffix('_with_indices')}_with_indices")
    assert parameters(getattr(mindtorch_v2.nn.functional, name)) == parameters(theirs)


def test_gradients_of_convolutions_take_what_pytorch_takes():
    names = [name for name in dir(torch.nn.grad) if name.startswith("conv")]
    assert len(names) == 6
    for name in names:
        ours, theirs = getattr(mindtorch_v2.nn.grad, name), getattr(torch.nn.grad, name)
        assert parameters(ours) == parameters(theirs) and ours.__name__ == name


@pytest.mark.parametrize("name", [*OPTIMIZERS, *MODULES])
def test_a_class_is_pickled_under_pytorchs_name(name):
    place = "optim" if name in OPTIMIZERS else "nn"
    theirs, ours = getattr(getattr(torch, place), name), getattr(getattr(mindtorch_v2, place), name)
    assert ours.__module__.replace("mindtorch_v2", "torch") == theirs.__module__
    assert ours.__qualname__ == theirs.__qualname__
    assert pickle.loads(pickle.dumps(ours)) is ours


@pytest.mark.parametrize("name", [name for name in OPTIMIZERS if name not in ("Optimizer", "SparseAdam")])
def test_arguments_that_do_not_fit_are_refused_in_pytorchs_words(name):
    refused = []
    for module in (torch, mindtorch_v2):
        params = [module.ones(2, 2, requires_grad=True)]
        optimizer = getattr(module.optim, name)
        for args, kwargs in (
            ((params,), {"misspelt": 1}),
            ((params, *[0] * 20), {}),
            ((), {}),
            ((params, 0.1), {"lr": 0.1}),
        ):
            with pytest.raises(TypeError) as error:
                optimizer(*args, **kwargs)
            refused.append(str(error.value))
    theirs, ours = refused[:4], refused[4:]
    assert all(mine.startswith(their) for mine, their in zip(ours, theirs, strict=True)), (ours, theirs)
