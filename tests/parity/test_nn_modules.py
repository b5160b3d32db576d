"""Every module against PyTorch: first values, outputs, gradients, text, state, copies. Inputs are PyTorch's own."""

import copy
import pickle

import numpy as np
import pytest
import torch
from torch.testing._internal.common_modules import module_db

import mindtorch_v2

# Enough to meet every option; some modules have hundreds of inputs that differ in one of them.
MOST_INPUTS = 24
# PyTorch's database gives them samples of another dtype than the input, which both libraries refuse.
REFUSED = {"FractionalMaxPool2d", "FractionalMaxPool3d"}


def converted(value):
    """A value of PyTorch as ours."""
    if isinstance(value, torch.nn.Parameter):
        return mindtorch_v2.nn.Parameter(converted(value.detach()), value.requires_grad)
    if isinstance(value, torch.Tensor):
        made = mindtorch_v2.from_numpy(value.detach().numpy().copy()).reshape(list(value.shape))
        return made.requires_grad_() if value.requires_grad else made
    if isinstance(value, (list, tuple)):
        return type(value)(converted(v) for v in value)
    if isinstance(value, dict):
        return {name: converted(v) for name, v in value.items()}
    if isinstance(value, torch.dtype):
        return getattr(mindtorch_v2, str(value).split(".")[1])
    if isinstance(value, torch.nn.TransformerEncoderLayer):
        return None  # made anew with the same seed, see `constructed`
    if callable(value) and hasattr(torch.nn.functional, getattr(value, "__name__", "")):
        return getattr(mindtorch_v2.nn.functional, value.__name__)
    if isinstance(value, torch.nn.Module):
        return getattr(mindtorch_v2.nn, type(value).__name__)()
    return value


def tensors(value):
    if isinstance(value, (torch.Tensor, mindtorch_v2.Tensor)):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [t for v in value for t in tensors(v)] if isinstance(value, (list, tuple)) else []


def same(ours, theirs, what, tolerance):
    assert (list(ours.shape), str(ours.dtype)) == (list(theirs.shape), str(theirs.dtype).strip()), what
    np.testing.assert_allclose(
        ours.detach().numpy(), theirs.detach().numpy(), tolerance, tolerance, err_msg=what
    )


def weighted_sum(library, outputs):
    """A number that every output element moves differently."""
    total = library.zeros(())
    for output in outputs:
        weights = library.arange(1, output.numel() + 1).reshape(list(output.shape)) / output.numel()
        total = total + (output * weights).sum()
    return total


def constructed(name, arguments, seed=0):
    torch.manual_seed(seed)
    theirs = getattr(torch.nn, name)(*arguments.args, **arguments.kwargs)
    mindtorch_v2.manual_seed(seed)
    ours = getattr(mindtorch_v2.nn, name)(*converted(arguments.args), **converted(arguments.kwargs))
    return ours, theirs


def compare(name, arguments, forward, training):
    ours, theirs = constructed(name, arguments)
    ours.train(training), theirs.train(training)
    assert repr(ours) == repr(theirs)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    for key, value in theirs.state_dict().items():
        if not torch.nn.parameter.is_lazy(value):
            np.testing.assert_array_equal(ours.state_dict()[key].numpy(), value.numpy(), err_msg=key)
    args, kwargs = converted(forward.args), converted(forward.kwargs)
    torch.manual_seed(1), mindtorch_v2.manual_seed(1)
    outputs, their_outputs = tensors(ours(*args, **kwargs)), tensors(theirs(*forward.args, **forward.kwargs))
    for output, other in zip(outputs, their_outputs, strict=True):
        same(output, other, "output", 2e-5)
        assert output.requires_grad == other.requires_grad
    trained = [output for output in outputs if output.requires_grad]
    if trained:
        weighted_sum(mindtorch_v2, trained).backward()
        weighted_sum(torch, [output for output in their_outputs if output.requires_grad]).backward()
        pairs = zip(ours.parameters(), theirs.parameters(), strict=True)
        given = zip(tensors([args, kwargs]), tensors([forward.args, forward.kwargs]), strict=True)
        for own, other in (*pairs, *given):
            if other.grad is not None:
                same(own.grad, other.grad, "gradient", 1e-4)
    assert repr(ours) == repr(theirs)  # lazy modules have become what they are
    for again in (copy.deepcopy(ours), pickle.loads(pickle.dumps(ours))):
        assert repr(again) == repr(ours)
        assert list(again.state_dict()) == list(ours.state_dict())


@pytest.mark.parametrize("info", module_db, ids=lambda info: info.module_cls.__name__)
@pytest.mark.filterwarnings("ignore")
def test_a_module_does_what_pytorch_s_does(info):
    name = info.module_cls.__name__
    if not hasattr(mindtorch_v2.nn, name):
        assert info.module_cls.__module__.startswith("torch.ao."), f"nn.{name} is missing"
        return
    for training in (True, False):
        inputs = info.module_inputs_func(
            info, device="cpu", dtype=torch.float32, requires_grad=True, training=training
        )
        for given in list(inputs)[:MOST_INPUTS]:
            if given.forward_input is None or name == "TransformerEncoder" or name in REFUSED:
                continue
            compare(name, given.constructor_input, given.forward_input, training)
