"""Every module: runs, trains, prints, is copied and pickled, and does the same on the NPU."""

import copy
import pickle

import numpy as np
import pytest
from modulecases import CASES, NOT_CALLED, tensors

import mindtorch_v2 as torch

# These may lack an operator on the NPU, which must then be said; whoever adds one takes the name out.
NOT_ON_NPU = set()


def made(name):
    torch.manual_seed(0)
    return CASES[name](torch)


def test_the_table_has_every_module():
    modules = {n for n in torch.nn.modules.__all__ if isinstance(getattr(torch.nn, n), type)}
    modules = {n for n in modules if issubclass(getattr(torch.nn, n), torch.nn.Module)}
    assert modules - NOT_CALLED == {name.partition("-")[0] for name in CASES}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("ignore")
def test_a_module_runs_and_its_copies_do_the_same(name):
    module, inputs = made(name)
    torch.manual_seed(1)
    outputs = tensors(module(*inputs), torch.Tensor)
    assert outputs
    module.eval()
    wanted = tensors(module(*inputs), torch.Tensor)
    for again in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        assert repr(again) == repr(module)
        for value, other in zip(tensors(again(*inputs), torch.Tensor), wanted, strict=True):
            np.testing.assert_array_equal(value.detach().numpy(), other.detach().numpy())


@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("ignore")
def test_a_module_does_on_the_npu_what_it_does_on_the_cpu(name):
    module, inputs = made(name)
    module.eval()
    wanted = tensors(module(*inputs), torch.Tensor)
    moved = [value.to("npu") if hasattr(value, "to") else value for value in inputs]
    module.to("npu")
    try:
        outputs = tensors(module(*moved), torch.Tensor)
    except NotImplementedError as error:
        assert name in NOT_ON_NPU, error
        assert "npu" in str(error)
        return
    assert name not in NOT_ON_NPU
    for value, other in zip(outputs, wanted, strict=True):
        assert value.device.type == "npu" or isinstance(inputs[0], torch.nn.utils.rnn.PackedSequence)
        np.testing.assert_allclose(value.detach().cpu().numpy(), other.detach().numpy(), 1e-4, 1e-5)


# What these compute depends on values, which meta tensors do not have.
NEEDS_VALUES = {
    "AdaptiveLogSoftmaxWithLoss", "CTCLoss", "EmbeddingBag-max", "EmbeddingBag-mean", "EmbeddingBag-sum",
    "TransformerDecoder",
}  # fmt: skip


@pytest.mark.parametrize("name", [name for name in CASES if name not in NEEDS_VALUES])
@pytest.mark.filterwarnings("ignore")
def test_a_module_made_on_meta_knows_its_shapes_and_is_given_memory_later(name):
    module, inputs = made(name)
    wanted = [value.shape for value in tensors(module(*inputs), torch.Tensor)]
    torch.set_default_device("meta")
    try:
        module, inputs = made(name)
    finally:
        torch.set_default_device("cpu")
    assert [value.shape for value in tensors(module(*inputs), torch.Tensor)] == wanted
    assert all(value.is_meta for value in module.state_dict().values())
    module.to_empty(device="cpu")
    assert not any(value.is_meta for value in module.state_dict().values())


def whole(value):
    """Whether a value has no dtype to change: None, and tensors of classes or flags."""
    return value is None or (isinstance(value, torch.Tensor) and not value.is_floating_point())


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64], ids=str)
@pytest.mark.parametrize("name", [name for name in CASES if name != "CTCLoss"])  # float32 and float64 only
@pytest.mark.filterwarnings("ignore")
def test_a_module_runs_in_another_dtype(name, dtype):
    module, inputs = made(name)
    module.to(dtype)
    inputs = [value if whole(value) else value.to(dtype=dtype) for value in inputs]
    output = tensors(module(*inputs), torch.Tensor)[0]
    assert output.dtype in (dtype, torch.int64)
