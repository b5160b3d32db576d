"""Data of numpy and of Python where tensors are made and where operators meet it."""

import operator

import numpy as np
import pytest

import mindtorch_v2 as torch


@pytest.mark.parametrize(
    "data, wanted, dtype",
    [
        ([np.ones(2), np.zeros(2)], [[1, 1], [0, 0]], torch.float64),
        ((np.ones(2, dtype="f4"), np.zeros(2)), [[1, 1], [0, 0]], torch.float64),
        ([[np.ones(2)], [np.ones(2)]], [[[1, 1]], [[1, 1]]], torch.float64),
        ([np.ones(2), [1, 2]], [[1, 1], [1, 2]], torch.float64),
        ([np.ones((2, 1), dtype=int)] * 2, [[[1], [1]]] * 2, torch.int64),
        ([np.array([True, False])], [[True, False]], torch.bool),
        ([np.complex64(1 + 2j), np.complex64(3j)], [1 + 2j, 3j], torch.complex64),
        ([np.float16(1), np.float16(2)], [1, 2], torch.float16),
        ([torch.tensor([1.0]), torch.tensor([2.0])], [1, 2], torch.float32),
    ],
)
def test_sequences_of_arrays_and_numbers_of_numpy_become_tensors(data, wanted, dtype):
    made = torch.tensor(data)
    assert made.tolist() == wanted and made.dtype is dtype
    assert torch.as_tensor(data).tolist() == wanted and torch.asarray(data).tolist() == wanted
    if dtype is not torch.complex64:
        assert torch.tensor(data, dtype=torch.float32).dtype is torch.float32
        assert torch.ones(1).new_tensor(data).tolist() == wanted


def test_arrays_that_do_not_fit_together_are_refused():
    with pytest.raises(ValueError, match="expected sequence of length 2 at dim 1"):
        torch.tensor([np.ones(2), np.ones(3)])
    with pytest.raises(ValueError, match="too many dimensions 'str'"):
        torch.tensor([np.array(["a"])])
    with pytest.raises(TypeError, match="can't convert"):
        torch.tensor([np.array(["2020-01-01"], dtype="M8[D]")])
    with pytest.raises(ValueError, match="only one element tensors can be converted to Python scalars"):
        torch.tensor([torch.ones(2), torch.ones(2)])


def _containing_itself():
    first = []
    first.append(first)
    second = [1, [2]]
    second[1].append(second)
    third = [[1], [2]]
    third[1][0] = third
    fourth = ([],)
    fourth[0].append(fourth)
    return [first, second, third, fourth]


@pytest.mark.parametrize(
    "make", [torch.tensor, torch.as_tensor, torch.asarray, torch.Tensor, torch.ones(1).new_tensor]
)
@pytest.mark.parametrize("which", range(4))
def test_data_that_contains_itself_is_refused(which, make):
    with pytest.raises((ValueError, TypeError)):
        make(_containing_itself()[which])
    with pytest.raises((ValueError, TypeError)):
        torch.tensor(_containing_itself()[which], dtype=torch.float32)


def test_data_that_is_too_deep_is_refused():
    deep = 1
    for _ in range(200):
        deep = [deep]
    with pytest.raises(ValueError, match="too many dimensions"):
        torch.tensor(deep)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int64", "bool", "complex64"])
def test_a_tensor_equals_an_array_element_by_element_from_either_side(dtype):
    x, array = torch.tensor([0.0, 1.0, 2.0]), np.array([0, 1, 3]).astype(dtype)
    same = [bool(a == b) for a, b in zip([0, 1, 2], array.tolist(), strict=True)]
    for equal in (x == array, array == x):
        assert isinstance(equal, torch.Tensor) and equal.tolist() == same
    assert (torch.tensor(1.0) == np.array(1.0)).item() is True


def test_a_tensor_is_not_equal_to_an_array_of_words():
    assert (torch.ones(3) == np.array(["a", "b", "c"])) is False
    with pytest.raises(RuntimeError, match="must match the size"):
        assert torch.ones(3) == np.ones(2)


@pytest.mark.parametrize("name", ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow"])
def test_a_tensor_calculates_with_an_array_on_its_right(name):
    function = getattr(operator, name)
    array = np.array([3.0, 2.0, 4.0])
    made = function(torch.tensor([1.0, 5.0, 3.0]), array)
    assert (
        isinstance(made, torch.Tensor)
        and made.tolist() == function(np.array([1.0, 5.0, 3.0]), array).tolist()
    )


def test_an_array_is_divided_by_a_tensor():
    made = np.array([3.0, 2.0]) / torch.tensor([2.0, 4.0])
    assert isinstance(made, torch.Tensor) and made.dtype is torch.float64 and made.tolist() == [1.5, 0.5]


def test_asarray_takes_a_capsule_of_dlpack():
    x = torch.arange(3.0)
    shared = torch.asarray(x.__dlpack__())
    shared[0] = 7
    assert x.tolist() == [7.0, 1.0, 2.0]
    assert torch.asarray(x.__dlpack__(), copy=True).data_ptr() != x.data_ptr()
    assert torch.asarray(x.__dlpack__(), dtype=torch.float64).dtype is torch.float64


@pytest.mark.parametrize("device", ["cpu", "npu"])
@pytest.mark.parametrize("dtype", [torch.int32, torch.int16, torch.int8, torch.uint8])
def test_a_range_of_integers_goes_in_whole_steps(dtype, device):
    def numbers(*args):
        return torch.arange(*args, dtype=dtype, device=device).tolist()

    assert numbers(0, 2, 0.5) == [0, 0, 0, 0]
    assert numbers(0, 5, 1.5) == [0, 1, 2, 3]
    assert numbers(5, 0, -1.5) == [5, 4, 3, 2]
    assert numbers(1, 2.5) == [1, 2]


def test_devices_that_are_not_here_have_no_autocast():
    assert torch.is_autocast_enabled("cuda") is False and torch.is_autocast_enabled("xpu:0") is False
    assert torch.get_autocast_dtype("cuda") is torch.float16
    with torch.autocast("cpu"):
        assert torch.is_autocast_enabled("cpu") and not torch.is_autocast_enabled("cuda")
    with pytest.raises(RuntimeError):
        torch.is_autocast_enabled("bogus")


@pytest.mark.parametrize("device", ["cpu", "npu"])
def test_dims_that_are_none_or_nothing(device):
    x = torch.tensor([[1.0, 0.0, 2.0], [3.0, 4.0, 5.0]], device=device)
    each = [[True, False, True], [True, True, True]]
    for dim in ((), []):
        assert torch.all(x, dim=dim).tolist() == torch.any(x, dim=dim).tolist() == each
        assert torch.all(x, dim=dim, keepdim=True).tolist() == each
        out = torch.empty(0, dtype=torch.bool, device=device)
        assert torch.all(x, dim=dim, out=out).tolist() == each
        assert torch.count_nonzero(x, dim=dim).item() == 5
        assert x.sum(dim=dim).item() == 15.0
    assert x.all(dim=None).item() is False and x.any(dim=None).item() is True
    assert torch.all(x.to(torch.uint8), dim=()).dtype is torch.uint8
    assert x.amax(dim=None).item() == 5.0 and torch.amin(x, None, True).tolist() == [[0.0]]
    assert (
        x.roll(1, None).tolist() == torch.roll(x, 1, dims=None).tolist() == [[5.0, 1.0, 0.0], [2.0, 3.0, 4.0]]
    )


def test_rows_with_nan_are_all_different_and_come_in_pytorchs_order():
    nan = float("nan")
    rows = torch.tensor([[nan, 1.0], [1.0, nan], [nan, 1.0], [0.0, 2.0], [1.0, nan]])
    values, inverse, counts = torch.unique(rows, dim=0, return_inverse=True, return_counts=True)
    assert repr(values.tolist()) == repr(rows.tolist())
    assert inverse.tolist() == [0, 1, 2, 3, 4] and counts.tolist() == [1] * 5
    plain = torch.tensor([[2.0, 1.0], [1.0, 3.0], [2.0, 1.0], [1.0, 2.0]])
    assert torch.unique(plain, dim=0).tolist() == [[1.0, 2.0], [1.0, 3.0], [2.0, 1.0]]


def test_attention_of_an_empty_batch():
    for need_weights in (True, False):
        layer = torch.nn.MultiheadAttention(4, 2, batch_first=True)
        x = torch.ones(0, 3, 4, requires_grad=True)
        mask = torch.zeros(0, 3, dtype=torch.bool)
        out, _ = layer(x, x, x, key_padding_mask=mask, need_weights=need_weights)
        out.sum().backward()
        assert out.shape == (0, 3, 4) and x.grad.shape == (0, 3, 4)
    assert torch.nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)(torch.ones(0, 3, 4)).shape == (0, 3, 4)


@pytest.mark.parametrize("number", [np.int64(3), np.int32(3), np.uint8(3), np.array(3)])
def test_integers_of_numpy_are_sizes(number):
    for made in (
        torch.zeros(number),
        torch.empty((number,)),
        torch.ones(1).new_zeros(number),
        torch.rand([number]),
    ):
        assert made.shape == (3,)
    assert torch.zeros(number, 2).shape == torch.zeros(6).view(number, 2).shape == (3, 2)
    assert torch.zeros(1).expand(number).shape == (3,)
    if not isinstance(number, np.ndarray):
        assert torch.nn.functional.unfold(torch.ones(1, 1, 4, 4), number).shape == (1, 9, 4)
        assert torch.Tensor(number).shape == (3,) and torch.nn.Linear(number, 2).weight.shape == (2, 3)


def test_an_array_of_numpy_is_no_size_where_it_holds_several_numbers():
    with pytest.raises(TypeError):
        torch.zeros(np.array(1.5))
    assert torch.Tensor(np.array([3.0, 4.0])).tolist() == [3.0, 4.0]


class _Shrinking:
    """A number that takes elements from the list it is in when somebody asks for its value."""

    def __init__(self, home):
        self.home = home

    def __float__(self):
        del self.home[1:]
        return 1.0


def test_a_list_that_shrinks_while_it_is_read():
    data = [0.0] * 100
    data[0] = _Shrinking(data)
    with pytest.raises(RuntimeError, match="the sequence changed its length while it was read"):
        torch.tensor(data, dtype=torch.float32)


@pytest.mark.parametrize(
    "dtype", ["float32", "float16", "int8", "int64", "uint8", "uint64", "bool", "complex64", None]
)
def test_numbers_of_every_kind_in_one_list(dtype):
    kind = dtype and getattr(torch, dtype)
    data = [[True, 2, False], [3, 1, 0]]
    if dtype not in ("int8", "int64", "uint8", "uint64", "bool"):
        data = [[True, 2.5, False], [3, np.float32(1.5), np.int16(7)]]
    if dtype == "complex64":
        data[1][2] = 1 + 2j
    made = torch.tensor(data, dtype=kind)
    wanted = np.array(data, dtype=dtype or "float32")
    assert np.array_equal(made.numpy(), wanted)
    assert torch.tensor(tuple(map(tuple, data)), dtype=kind).tolist() == made.tolist() == wanted.tolist()


def test_numbers_that_do_not_fit_or_are_none():
    for value, dtype in ((300, torch.int8), (2**70, torch.int64), (1.5j, torch.float32)):
        with pytest.raises((RuntimeError, ValueError, TypeError), match="overflow|Overflow|complex"):
            torch.tensor([0, value], dtype=dtype)
    assert torch.tensor([0, -1], dtype=torch.uint8).tolist() == [0, 255]
    assert torch.tensor([2**70, 1], dtype=torch.float64).tolist() == [2.0**70, 1.0]
    assert torch.tensor([1, 2**63], dtype=torch.uint64).tolist() == [1, 2**63]


def test_lists_of_arrays_that_are_alike_and_of_others():
    rows = [np.arange(3, dtype="float32") + i for i in range(4)]
    made = torch.tensor(rows)
    assert made.tolist() == np.stack(rows).tolist() and made.dtype == torch.float32
    assert torch.tensor(rows, dtype=torch.int64).tolist() == np.stack(rows).astype("int64").tolist()
    rows[1][0] = 100
    assert made[1, 0] == 1
    mixed = [np.arange(3, dtype="int64"), np.arange(3, dtype="float32")]
    assert torch.tensor(mixed).dtype == torch.float32
    with pytest.raises(ValueError, match="expected sequence of length 3 at dim 1"):
        torch.tensor([np.arange(3), np.arange(2)])


def test_truth_values_of_any_byte_become_pythons():
    seen = torch.tensor([0, 1, 2, 255, 128], dtype=torch.uint8).view(torch.bool)
    assert seen.tolist() == [False, True, True, True, True]
    assert [each.item() for each in seen] == seen.tolist()
