"""The tensor without PyTorch beside it: numpy, numbers, casts, copying, the Python object."""

import copy
import io
import pickle

import numpy as np
import pytest

import mindtorch_v2 as torch

NAN, INF = float("nan"), float("inf")


def counted(*shape, **options):
    return torch.arange(int(np.prod(shape)), **options).reshape(shape)


# ---- numpy ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "dtype",
    ["float32", "float64", "float16", "int8", "int16", "int32", "int64", "uint8", "bool", "complex64"],
)
def test_numpy_and_back_share_memory(dtype):
    array = np.arange(6).reshape(2, 3).astype(dtype)
    x = torch.from_numpy(array)
    assert str(x.dtype) == f"torch.{dtype}"
    back = x.numpy()
    assert back.dtype == array.dtype
    assert np.shares_memory(array, back)
    array[0, 0] = 1
    assert x[0, 0].item() == array[0, 0]
    x[1, 2] = 0
    assert array[1, 2] == 0


def test_strided_arrays_keep_their_strides():
    array = np.arange(12.0).reshape(3, 4)
    x = torch.from_numpy(array.T[::2])
    assert x.stride() == (2, 4)
    assert np.array_equal(x.numpy(), array.T[::2])
    assert np.array_equal(x[:, 1:].numpy(), array.T[::2, 1:])


@pytest.mark.parametrize(
    "make",
    [
        lambda: np.arange(3)[::-1],
        lambda: np.array(["a"]),
        lambda: np.array([object()]),
        lambda: np.zeros(2, dtype=">f4"),
        lambda: [1, 2],
        lambda: np.float32(1),
    ],
    ids=["negative stride", "strings", "objects", "big endian", "a list", "a scalar"],
)
def test_from_numpy_refuses_what_it_cannot_share(make):
    with pytest.raises((TypeError, ValueError)):
        torch.from_numpy(make())


def test_an_array_outlives_its_tensor_and_the_other_way_round():
    back = (torch.arange(1000) + 1).numpy()
    x = torch.from_numpy(np.full(1000, 7.0))
    for _ in range(10):
        np.zeros(1000), torch.zeros(1000)
    assert back.sum() == 500500
    assert x.sum().item() == 7000


def test_numpy_of_a_tensor_that_requires_grad_is_refused():
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="detach"):
        x.numpy()
    assert x.detach().numpy().tolist() == [1, 1]
    assert x.numpy(force=True).tolist() == [1, 1]


def test_numpy_of_an_npu_tensor_is_refused_by_name():
    with pytest.raises(TypeError, match="cpu"):
        torch.ones(2, device="npu").numpy()


def test_numpy_functions_take_tensors():
    assert np.asarray(torch.tensor([1.0, 2.0])).tolist() == [1.0, 2.0]
    assert np.array(torch.tensor([1, 2]), dtype=np.float32).dtype == np.float32


# ---- numbers -------------------------------------------------------------------------------------


@pytest.mark.parametrize("value, kind", [(True, bool), (3, int), (2.5, float), (1 + 2j, complex)])
@pytest.mark.parametrize("device", ["cpu", "npu"])
def test_item_gives_the_python_type(value, kind, device):
    got = torch.tensor([[value]]).to(device).item()
    assert got == value and type(got) is kind


def test_only_one_element_becomes_a_number():
    with pytest.raises(RuntimeError):
        torch.zeros(2).item()
    with pytest.raises(RuntimeError):
        bool(torch.zeros(2))
    with pytest.raises(RuntimeError):
        bool(torch.zeros(0))
    with pytest.raises((RuntimeError, NotImplementedError)):
        torch.zeros(1, device="meta").item()


def test_conversions_to_python_numbers():
    assert int(torch.tensor(2.9)) == 2 and float(torch.tensor(3)) == 3.0 and bool(torch.tensor(0.0)) is False
    assert [10, 20, 30][torch.tensor(1)] == 20
    assert f"{torch.tensor(1.5):.2f}" == "1.50"
    with pytest.raises((OverflowError, ValueError)):
        int(torch.tensor(INF))
    with pytest.raises((OverflowError, ValueError)):
        int(torch.tensor(NAN))


@pytest.mark.parametrize("value", [2**63 - 1, -(2**63)])
def test_the_limits_of_int64_survive(value):
    assert torch.tensor(value).item() == value


def test_unsigned_64_bits_survive():
    assert torch.tensor(2**63 - 1, dtype=torch.uint64).item() == 2**63 - 1
    assert torch.from_numpy(np.array([2**64 - 1], np.uint64)).tolist() == [2**64 - 1]


def test_numbers_that_do_not_fit_are_refused():
    with pytest.raises((RuntimeError, OverflowError, ValueError)):
        torch.tensor(2**64)
    with pytest.raises(RuntimeError):
        torch.tensor([300], dtype=torch.uint8)
    with pytest.raises(RuntimeError):
        torch.zeros(1, dtype=torch.int8).fill_(1000)


def test_nested_lists():
    assert torch.tensor([[1, 2], [3, 4]]).dtype is torch.int64
    assert torch.tensor([1, 2.5]).dtype is torch.float32
    assert torch.tensor([True, 2]).dtype is torch.int64
    assert tuple(torch.tensor([[], []]).shape) == (2, 0)
    assert torch.tensor([torch.tensor(1.0), torch.tensor(2.0)]).tolist() == [1.0, 2.0]
    for ragged in ([[1], [1, 2]], [[1], 2], [1, [2]], ["a"]):
        with pytest.raises((ValueError, TypeError)):
            torch.tensor(ragged)


# ---- casts ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("device", ["cpu", "npu"])
def test_casts_follow_the_c_rules(device):
    def cast(values, source, target):
        return (
            torch.tensor(values, dtype=getattr(torch, source), device=device)
            .to(getattr(torch, target))
            .tolist()
        )

    assert cast([2.9, -2.9, 0.5], "float32", "int32") == [2, -2, 0]
    assert cast([300, -1], "int64", "uint8") == [44, 255]
    assert cast([0.0, -0.0, 0.1, NAN], "float32", "bool") == [False, False, True, True]
    assert cast([True, False], "bool", "float16") == [1.0, 0.0]
    assert cast([70000.0, 1e-10], "float32", "float16") == [INF, 0.0]
    assert cast([3.4e38, INF], "float32", "bfloat16")[1] == INF
    assert cast([1.00390625], "float32", "bfloat16") == [1.0]  # a tie goes to even
    assert cast([1.01171875], "float32", "bfloat16") == [1.015625]
    assert cast([1e300], "float64", "float32") == [INF]
    assert cast([2049.0], "float32", "float16") == [2048.0]
    assert cast([6e-8], "float32", "float16") == [pytest.approx(5.96e-8, rel=1e-2)]  # subnormal
    nan = cast([NAN], "float32", "bfloat16")[0]
    assert nan != nan


def test_float_to_int_of_what_does_not_fit_does_not_trap():
    for target in (torch.int8, torch.int32, torch.int64, torch.uint8):
        assert torch.tensor([NAN, INF, -INF, 1e30]).to(target).dtype is target


def test_to_returns_the_same_tensor_when_nothing_changes():
    x = torch.ones(2)
    assert x.to(torch.float32) is x and x.to("cpu") is x and x.float() is x and x.cpu() is x
    assert x.to(torch.float32, copy=True) is not x
    y = x.npu()
    assert y.to("npu") is y and y.to("npu:0") is y


# ---- copying -------------------------------------------------------------------------------------

_PLACES = ["cpu", "npu"]


@pytest.mark.parametrize("source", _PLACES)
@pytest.mark.parametrize("target", _PLACES)
def test_copy_between_devices_layouts_and_dtypes(source, target):
    values = np.arange(12).reshape(3, 4)
    x = torch.from_numpy(values).to(source).t()
    y = torch.zeros(8, 3, device=target, dtype=torch.float32)[::2]
    assert y.copy_(x) is y
    assert y.tolist() == values.T.tolist()


def test_copy_broadcasts_and_refuses_what_does_not():
    x = torch.zeros(2, 3)
    x.copy_(torch.tensor([1.0, 2.0, 3.0]))
    assert x.tolist() == [[1, 2, 3]] * 2
    with pytest.raises(RuntimeError):
        x.copy_(torch.zeros(4))
    with pytest.raises(RuntimeError):
        torch.zeros(3).copy_(torch.zeros(2, 3))


@pytest.mark.parametrize("device", ["cpu", "npu"])
def test_writing_over_what_is_being_read_is_refused(device):
    x, y = torch.arange(10).to(device), torch.arange(9).reshape(3, 3).to(device)
    for write in (
        lambda: y.copy_(y.t()),
        lambda: x[1:].copy_(x[:-1]),
        lambda: x[1:].add_(x[:-1]),
        lambda: torch.add(x[:-1], 1, out=x[1:]),
    ):
        with pytest.raises(RuntimeError, match="some elements of the input tensor and the written-to tensor"):
            write()
    assert x.tolist() == list(range(10))
    x[1:].copy_(x[:-1].clone())
    x.add_(x)
    x[:5].add_(x[5:])
    assert x.tolist() == [8, 10, 14, 18, 22, 8, 10, 12, 14, 16]


@pytest.mark.parametrize("device", ["cpu", "npu"])
def test_writing_to_memory_that_overlaps_itself_is_refused(device):
    z = torch.zeros(1, 3, device=device).expand(2, 3)
    for write in (
        lambda: z.add_(1),
        lambda: z.exp_(),
        lambda: z.copy_(torch.ones(2, 3)),
        lambda: torch.add(torch.ones(2, 3, device=device), 1, out=z),
    ):
        with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
            write()
    assert z.fill_(2).tolist() == [[2] * 3] * 2  # every element gets the same value: harmless


def test_clone_keeps_a_dense_layout_and_drops_holes():
    x = counted(3, 4)
    assert x.t().clone().stride() == (1, 4)
    assert x[:, ::2].clone().stride() == (2, 1)
    assert x.clone().data_ptr() != x.data_ptr()


@pytest.mark.parametrize("device", ["cpu", "npu"])
@pytest.mark.parametrize("protocol", [2, 5])
def test_pickling(device, protocol):
    x = counted(3, 4, dtype=torch.float32).to(device).t()
    x.requires_grad_()
    y = pickle.loads(pickle.dumps(x, protocol))
    assert y.tolist() == x.tolist() and y.stride() == x.stride()
    assert y.requires_grad and y.device == x.device and y.dtype is x.dtype


def test_pickled_views_still_share_storage():
    x = torch.zeros(4)
    a, b = pickle.loads(pickle.dumps((x, x[2:])))
    b.fill_(5)
    assert a.tolist() == [0, 0, 5, 5]


def test_pickle_refuses_a_truncated_file():
    data = pickle.dumps(torch.ones(100))
    for cut in (1, len(data) // 2, len(data) - 1):
        with pytest.raises((EOFError, pickle.UnpicklingError, ValueError, RuntimeError, TypeError)):
            pickle.load(io.BytesIO(data[:cut]))


@pytest.mark.parametrize("device", ["cpu", "npu"])
def test_deepcopy(device):
    x = torch.ones(3, device=device, requires_grad=True)
    (x * 2).sum().backward()
    x.note = [1, 2]
    twin, again, view = copy.deepcopy((x, x, x.detach()[1:]))
    assert twin is again and twin is not x
    assert twin.requires_grad and twin.grad.tolist() == [2, 2, 2] and twin.grad is not x.grad
    assert twin.note == [1, 2] and twin.note is not x.note
    view.fill_(9)
    assert twin.tolist() == [1, 9, 9] and x.tolist() == [1, 1, 1]


def test_deepcopy_of_a_result_is_refused():
    with pytest.raises(RuntimeError, match="graph leaves"):
        copy.deepcopy(torch.ones(1, requires_grad=True) * 2)


# ---- the Python object ---------------------------------------------------------------------------


def test_tensors_are_hashable_by_identity_and_take_attributes():
    x, y = torch.ones(1), torch.ones(1)
    assert {x: 1, y: 2}[x] == 1
    x.name_of_mine = "a"
    assert x.name_of_mine == "a" and not hasattr(y, "name_of_mine")


def test_containment_and_iteration():
    x = torch.tensor([1.0, 2.0])
    assert 2.0 in x and 3.0 not in x
    assert [v.item() for v in x] == [1.0, 2.0]
    assert len(torch.zeros(3, 0)) == 3
    with pytest.raises(RuntimeError):
        "a" in x  # noqa: B015


def test_a_subclass_keeps_its_type_and_values():
    class Mine(torch.Tensor):
        pass

    x = torch.Tensor._make_subclass(Mine, torch.ones(2), True)
    assert type(x) is Mine and x.requires_grad and x.tolist() == [1, 1]
    assert isinstance(x, torch.Tensor)


@pytest.mark.parametrize("shape", [(-1,), (2, -3), (2**40, 2**40), (2**63 - 1,), (2**62, 4)])
def test_impossible_sizes_are_refused(shape):
    with pytest.raises((RuntimeError, MemoryError)):
        torch.empty(*shape)


def test_many_dimensions():
    x = torch.zeros([1] * 20 + [2])
    assert x.dim() == 21 and x.sum().item() == 0
    assert (x + 1).squeeze().tolist() == [1, 1]
    assert x.permute(*reversed(range(21))).shape[0] == 2
    with pytest.raises(RuntimeError):
        torch.zeros([1] * 65)
