"""Making tensors from rare things, and refusals on the way: what PyTorch gives, or its very words."""

import warnings

import numpy as np
import pytest
import torch

import mindtorch_v2


class Items:
    """A sequence of the oldest kind."""

    def __init__(self, *values):
        self.values = values

    def __len__(self):
        return len(self.values)

    def __getitem__(self, index):
        return self.values[index]


class Exporting:
    def __init__(self, tensor):
        self.tensor = tensor

    def __dlpack__(self, *args, **kwargs):
        return self.tensor.__dlpack__(*args, **kwargs)

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()


def expanded(t):
    target = t.zeros(1).expand(3)
    target.index_put_((t.tensor([0]),), t.tensor(1.0))
    return target


def mask_written(t):
    target = t.zeros(3)
    target.index_put_((t.tensor([1, 0, 1], dtype=t.uint8),), t.tensor(1.0), accumulate=True)
    return target


def leading_ones(t):
    target = t.zeros(4, 4)
    target[range(4), range(4)] = t.ones(1, 4)
    return target


_CASES = {
    # made from data
    "a class with a length and elements": lambda t: t.tensor(Items(1.0, 2.0)),
    "an object with DLPack": lambda t: t.tensor(Exporting(t.arange(3.0))),
    "numbers of numpy among numbers": lambda t: t.tensor(((7, 5), (9, np.array(5.0)))),
    "integers too large for anything, as truth values": lambda t: t.tensor(
        [0, 2**70, -(2**63) - 1], dtype=t.bool
    ),
    "complex truth values": lambda t: t.tensor([0j, 1j, 2 + 0j], dtype=t.bool),
    "arrays in a list": lambda t: t.tensor([np.array([0]), np.array([1])]),
    "a text first": lambda t: t.tensor(["a"]),
    "a text later": lambda t: t.tensor([0, "torch"]),
    "a number where an array was": lambda t: t.tensor([[np.ones(3), 1.0]]),
    "a list in itself": lambda t: t.tensor((lambda items: (items.append(items), items)[1])([])),
    "a number of numpy, shared": lambda t: t.asarray(np.float32(3), copy=False),
    "gradients of integers": lambda t: t.ones(2, dtype=t.int64).new_zeros(2, requires_grad=True),
    "a stream that is none": lambda t: t.ones(2).__dlpack__(stream=object()),
    # sizes
    "strides that overflow": lambda t: t.empty(0, 2**62, 2**62),
    "a resize that overflows": lambda t: t.ones(2).resize_(0, 2**62, 2**62),
    "the range of old": lambda t: t.range(0, 3),
    "an expanded leading dimension": lambda t: t.tensor(t.ones(5).expand(1, 1, 5).stride()),
    "ravel of a strided vector": lambda t: t.tensor(t.ones(5, 3)[:, 0].ravel().stride()),
    "empty vectors joined along no dimension": lambda t: t.cat([t.ones(0), t.ones(0)], dim=1),
    # draws, whose values do not matter here
    "a draw beyond exact integers": lambda t: t.empty(3).random_(0, 2**40) * 0,
    "a draw beyond halves": lambda t: t.empty(3, dtype=t.float16).random_(-(2**20), 2**20),
    "uniform beyond floats": lambda t: t.empty(3).uniform_(-3e39, 1),
    "a permutation without room": lambda t: t.randperm(2**12, dtype=t.float16),
    "a permutation without room in bytes": lambda t: t.randperm(300, dtype=t.uint8),
    "a negative deviation": lambda t: t.normal(t.tensor(0.0), t.tensor(-1.0)),
    # indices
    "a complex number put among real ones": lambda t: t.ones(2, 3).index_fill_(0, t.tensor([0]), 1 + 1j),
    "a mask of bytes": lambda t: t.ones(3).masked_select(t.ones(3, dtype=t.uint8)),
    "a mask of bytes written": mask_written,
    "an expanded tensor written": expanded,
    "values with leading ones": leading_ones,
    "split by numbers that are none": lambda t: t.tensor_split(t.ones(4), t.tensor([1.0, 2.0])),
    # storages
    "a tensor over a storage": lambda t: t.tensor(t.ones(2).untyped_storage(), dtype=t.int32),
    "a tensor over bytes": lambda t: t.tensor(t.ones(4).untyped_storage()),
    "a storage of words": lambda t: t.UntypedStorage("ab"),
    "a storage of fractions": lambda t: t.UntypedStorage([1.5]),
    "a storage of a tensor": lambda t: t.UntypedStorage(t.ones(2)),
    # conditions
    "a condition that is none": lambda t: t._check("yes"),
    "dimensions in no order": lambda t: t.ones(2, 1, 3, 1).dim_order(ambiguity_check=True),
    "a class of one dtype as a base": lambda t: type("Mine", (t.FloatTensor,), {}),
    "a result with names": lambda t: repr(t.ones(2, 2).max(1)),
}


def _outcome(call, library):
    library.set_warn_always(True)
    try:
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            try:
                result = call(library)
            except Exception as error:  # noqa: BLE001 - it is what is compared
                result = f"{type(error).__name__}: {error}"
    finally:
        library.set_warn_always(False)
    if hasattr(result, "tolist") and not isinstance(result, str):
        result = (str(result.dtype), result.tolist(), tuple(result.shape), result.stride())
    return result, sorted({str(each.message).split(" (Triggered internally")[0] for each in seen})


@pytest.mark.parametrize("name", _CASES)
def test_the_outcome_and_the_warnings_are_pytorchs(name):
    wanted, told = _outcome(_CASES[name], torch)
    got, heard = _outcome(_CASES[name], mindtorch_v2)
    assert got == wanted
    assert heard == told


_FORMATS = {
    "rows": lambda t: t.rand(2, 3, 4, 4),
    "channels last": lambda t: t.rand(2, 3, 4, 4).contiguous(memory_format=t.channels_last),
    "turned": lambda t: t.rand(4, 3, 4, 2).permute(3, 1, 0, 2),
    "with holes": lambda t: t.rand(4, 6, 4, 8)[::2, ::2, :, ::2],
    "both": lambda t: t.rand(2, 3, 1, 1).contiguous(memory_format=t.channels_last),
    "bias": lambda t: t.rand(3, 1, 1),
    "one": lambda t: t.rand(1, 1, 1, 1).contiguous(memory_format=t.channels_last),
    "spread": lambda t: t.rand(2, 1, 4, 1).expand(2, 3, 4, 4),
}


@pytest.mark.parametrize("second", _FORMATS)
@pytest.mark.parametrize("first", _FORMATS)
def test_results_of_two_operands_lie_in_memory_as_pytorchs_do(first, second):
    def strides(t):
        a, b = _FORMATS[first](t), _FORMATS[second](t)
        return [(a + b).stride(), t.where(a > b, a, b).stride(), t.addcmul(a, b, a).stride()]

    assert strides(mindtorch_v2) == strides(torch)


def test_joined_windows_of_images_keep_their_channels_last():
    def strides(t):
        image = t.arange(24.0).reshape(2, 2, 3, 2).contiguous(memory_format=t.channels_last)
        return t.cat((image[:, :, :2], image[:, :, 1:]), dim=-1).stride()

    assert strides(mindtorch_v2) == strides(torch)
