"""Every module against PyTorch: first values, outputs, gradients, text, state, copies. Inputs are PyTorch's own."""

import copy
import pickle
from functools import partial

import numpy as np
import pytest
import torch
from modulecases import CASES, tensors
from torch.testing._internal.common_modules import module_db

import mindtorch_v2

listed = partial(tensors, kind=(torch.Tensor, mindtorch_v2.Tensor))
# Some modules have hundreds of inputs in PyTorch's database; of those a few that lie far apart.
MOST_INPUTS = 4
# Here PyTorch's samples have another dtype than the input, which it refuses itself.
REFUSED = {"FractionalMaxPool2d", "FractionalMaxPool3d"}
# These take modules, which `CASES` makes in both libraries.
OF_MODULES = {"TransformerEncoder"}
# Targets of losses that have no gradient in them; and PyTorch's gradient of CrossMapLRN2d is not its derivative.
WITHOUT_GRADIENT = {"BCELoss", "CrossMapLRN2d", "GaussianNLLLoss"}
INFOS = [info for info in module_db if info.module_cls.__name__ not in REFUSED | OF_MODULES]


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
    if callable(value) and hasattr(torch.nn.functional, getattr(value, "__name__", "")):
        return getattr(mindtorch_v2.nn.functional, value.__name__)
    if isinstance(value, torch.nn.Module):
        return getattr(mindtorch_v2.nn, type(value).__name__)()
    return value


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


def compare(ours, theirs, args, their_args, kwargs, their_kwargs, training):
    """Two modules made with the same seed, and their inputs."""
    ours.train(training), theirs.train(training)
    assert repr(ours) == repr(theirs)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    for key, value in theirs.state_dict().items():
        if not torch.nn.parameter.is_lazy(value):
            np.testing.assert_array_equal(ours.state_dict()[key].numpy(), value.numpy(), err_msg=key)
    torch.manual_seed(1), mindtorch_v2.manual_seed(1)
    outputs, their_outputs = listed(ours(*args, **kwargs)), listed(theirs(*their_args, **their_kwargs))
    for output, other in zip(outputs, their_outputs, strict=True):
        same(output, other, "output", 2e-5)
        assert output.requires_grad == other.requires_grad
    trained = [output for output in outputs if output.requires_grad]
    if trained:
        weighted_sum(mindtorch_v2, trained).backward()
        weighted_sum(torch, [output for output in their_outputs if output.requires_grad]).backward()
        pairs = zip(ours.parameters(), theirs.parameters(), strict=True)
        given = zip(listed([args, kwargs]), listed([their_args, their_kwargs]), strict=True)
        for own, other in (*pairs, *given):
            if other.grad is not None:
                same(own.grad, other.grad, "gradient", 1e-4)
    for key, value in theirs.state_dict().items():  # running statistics have moved alike
        same(ours.state_dict()[key], value, key, 1e-5)
    assert repr(ours) == repr(theirs)  # lazy modules have become what they are
    for again in (copy.deepcopy(ours), pickle.loads(pickle.dumps(ours))):
        assert repr(again) == repr(ours)
        assert list(again.state_dict()) == list(ours.state_dict())


@pytest.mark.parametrize("training", [True, False], ids=["training", "evaluation"])
@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("ignore")
def test_every_module_does_what_pytorch_s_does(name, training):
    made = []
    for library in (mindtorch_v2, torch):
        library.manual_seed(0)
        module, inputs = CASES[name](library)
        for value in tensors(inputs, library.Tensor):
            if value.is_floating_point() and value.is_leaf:
                value.requires_grad_(name not in WITHOUT_GRADIENT)
        made.append((module, inputs))
    (ours, inputs), (theirs, their_inputs) = made
    compare(ours, theirs, inputs, their_inputs, {}, {}, training)


@pytest.mark.parametrize("info", INFOS, ids=lambda info: info.module_cls.__name__)
@pytest.mark.filterwarnings("ignore")
def test_a_module_does_what_pytorch_s_does_with_pytorch_s_own_inputs(info):
    name = info.module_cls.__name__
    for training in (True, False) if info.train_and_eval_differ else (True,):
        inputs = info.module_inputs_func(
            info, device="cpu", dtype=torch.float32, requires_grad=True, training=training
        )
        inputs = [given for given in inputs if given.forward_input is not None]
        for given in inputs[:: -(-len(inputs) // MOST_INPUTS)]:
            arguments, forward = given.constructor_input, given.forward_input
            torch.manual_seed(0)
            theirs = info.module_cls(*arguments.args, **arguments.kwargs)
            mindtorch_v2.manual_seed(0)
            ours = getattr(mindtorch_v2.nn, name)(*converted(arguments.args), **converted(arguments.kwargs))
            args, kwargs = converted(forward.args), converted(forward.kwargs)
            compare(ours, theirs, args, forward.args, kwargs, forward.kwargs, training)


def test_no_name_of_torch_nn_is_missing():
    missing = [name for name in torch.nn.modules.__all__ if not hasattr(mindtorch_v2.nn, name)]
    assert missing == []
