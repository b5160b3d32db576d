"""x[...], gather and scatter: what OpInfo does not show. Values are numpy's."""

import math

import numpy as np
import pytest

import mindtorch_v2 as torch

GRID = np.arange(60, dtype=np.float32).reshape(3, 4, 5)


def grid():
    return torch.tensor(GRID.copy())


@pytest.mark.parametrize(
    "key",
    [
        (0,),
        (slice(1, 3), ..., -1),
        (None, 1, None, slice(0, 4, 2)),
        ([0, 2],),
        ([0, 2], slice(None), [1, 1]),
        (slice(None), [0, 2], [1, 1]),
        ([[0, 1], [2, 2]], 1),
        (slice(1, 3), None, [0, 1, -1]),
        (slice(0, 1), ..., [1, 2]),
        (..., [True, False, True, False, True]),
        (np.array([2, 0]), np.array([[1], [3]])),
        (np.int64(2), np.array([0, 3])),
        (True, 1),
        (False,),
        (np.ones((3, 4), dtype=bool), slice(1, 3)),
        ([],),
    ],
    ids=repr,
)
def test_reading_agrees_with_numpy(key):
    wanted = GRID[tuple(np.array(k, dtype=np.int64) if isinstance(k, list) and not k else k for k in key)]
    np.testing.assert_array_equal(grid()[key].numpy(), wanted)


@pytest.mark.parametrize(
    "key",
    [
        ([0, 2],),
        (slice(None), [0, 2], [1, 1]),
        (..., [1, 3]),
        (GRID > 30,),
        ([0, 2], slice(None), [1, 4]),
        (1,),
    ],
    ids=lambda k: str(type(k[0])),
)
def test_writing_agrees_with_numpy(key):
    mine, theirs = grid(), GRID.copy()
    mine[key] = -1
    theirs[key] = -1
    np.testing.assert_array_equal(mine.numpy(), theirs)


def test_a_list_of_lists_counts_as_a_tuple():
    assert grid()[[[0, 1], [2, 3]]].shape == (2, 5)


def test_separated_indices_come_first():
    x = grid()
    at = torch.tensor([0, 1])
    assert x[at, :, at].shape == (2, 4)
    assert x[:, at, at].shape == (3, 2)


def test_an_int_is_a_view_and_does_not_count_as_an_index_tensor():
    assert grid()[0, :, [1, 2]].shape == (4, 2)  # numpy: (2, 4)


def test_index_tensors_may_be_int32_uint8_or_bool():
    x = grid()
    assert torch.equal(x[torch.tensor([1], dtype=torch.int32)], x[1:2])
    assert torch.equal(x[torch.tensor([1, 0, 1], dtype=torch.uint8)], x[[0, 2]])
    assert torch.equal(x[torch.tensor([True, False, True])], x[[0, 2]])


def test_a_zero_dim_tensor_takes_a_boolean_index():
    assert torch.tensor(3.0)[True].shape == (1,)
    assert torch.tensor(3.0)[torch.tensor(False)].shape == (0,)


@pytest.mark.parametrize(
    ("index", "error", "text"),
    [
        (lambda x: x[torch.tensor([5])], IndexError, "index 5 is out of bounds for dimension 0 with size 3"),
        (
            lambda x: x[torch.tensor([-4])],
            IndexError,
            "index -4 is out of bounds for dimension 0 with size 3",
        ),
        (
            lambda x: x[torch.tensor([0, 1]), torch.tensor([0, 1, 2])],
            IndexError,
            "could not be broadcast together",
        ),
        (lambda x: x[torch.tensor([1.0])], IndexError, "must be long, int, byte or bool"),
        (lambda x: x[torch.ones(2, 4).bool()], IndexError, r"shape of the mask \[2, 4\] at index 0"),
        (lambda x: x[0, 0, 0, 0], IndexError, "too many indices for tensor of dimension 3"),
        (lambda x: x[torch.zeros(3, 4, 5, 1).bool()], IndexError, "too many indices"),
        (lambda x: x[1.0], IndexError, "only integers, slices"),
        (lambda x: x["a"], TypeError, "invalid data type 'str'"),
        (lambda x: torch.tensor(1.0)[0], IndexError, "invalid index of a 0-dim tensor"),
        (lambda x: torch.zeros(0, 3)[torch.tensor([0])], IndexError, "dimension with size 0"),
        (
            lambda x: x.gather(1, torch.full((3, 1, 1), 9)),
            RuntimeError,
            "index 9 is out of bounds for dimension 1",
        ),
        (lambda x: x.index_select(0, torch.tensor([9])), IndexError, "index out of range in self"),
        (lambda x: x.index_select(1, torch.tensor([9])), RuntimeError, "id=9 axis_dim=4"),
        (lambda x: x.scatter(0, torch.full((1, 1, 1), -1), 0.0), RuntimeError, "index -1 is out of bounds"),
        (
            lambda x: x.take(torch.tensor([60])),
            IndexError,
            "tried to access index 60 on a tensor of 60 elements",
        ),
        (lambda x: x.index_copy(0, torch.tensor([3]), x[:1]), IndexError, "index 3 is out of bounds"),
        (lambda x: torch.embedding(x[0], torch.tensor([4])), IndexError, "index out of range in self"),
        (lambda x: x.index_put((torch.tensor([0]),), torch.zeros(3)), RuntimeError, "cannot be broadcast"),
        (lambda x: x.index_add(0, torch.tensor([0]), x), RuntimeError, "Number of indices"),
        (
            lambda x: x.scatter_reduce(0, torch.zeros_like(x).long(), x, "most"),
            RuntimeError,
            "either sum, prod",
        ),
        (lambda x: x.masked_scatter(x > -1, torch.zeros(2)), RuntimeError, "number of ones in mask"),
        (
            lambda x: torch.repeat_interleave(x, torch.tensor([1, -1, 2]), 0),
            RuntimeError,
            "can not be negative",
        ),
        (
            lambda x: torch.repeat_interleave(x, torch.tensor([1, 1, 2]), 0, output_size=9),
            RuntimeError,
            "does not match",
        ),
    ],
)
def test_bad_indices_are_refused(index, error, text):
    with pytest.raises(error, match=text):
        index(grid())


def test_a_failed_write_says_what_does_not_fit():
    x = grid()
    with pytest.raises(RuntimeError, match="source and destination dtypes match, got Float"):
        x[torch.tensor([0])] = torch.zeros(5, dtype=torch.int64)
    with pytest.raises(TypeError, match="can't assign a list"):
        x[0] = [1, 2, 3]


def test_repeated_indices_add_up_when_accumulating():
    x = torch.zeros(3)
    x.index_put_((torch.tensor([1, 1, 2]),), torch.ones(3), accumulate=True)
    assert x.tolist() == [0, 2, 1]
    assert torch.zeros(3).scatter_add(0, torch.tensor([1, 1, 2]), torch.ones(3)).tolist() == [0, 2, 1]
    assert torch.zeros(3).put_(torch.tensor([-1, -1]), torch.ones(2), accumulate=True).tolist() == [0, 0, 2]


def test_writing_through_an_index_reaches_the_base_of_a_view():
    x = grid()
    x[:, 1:3][torch.tensor([0]), torch.tensor([1])] = -7
    assert x[0, 2].tolist() == [-7] * 5


@pytest.mark.parametrize(
    "write",
    [
        lambda x, at: x.__setitem__(at, x),
        lambda x, at: x.scatter_(0, at, x),
        lambda x, at: x.index_add_(0, at, x),
        lambda x, at: torch.gather(x, 0, at, out=x),
        lambda x, at: torch.index_select(x, 0, at, out=x),
    ],
)
def test_a_tensor_is_not_read_while_it_is_written(write):
    with pytest.raises(RuntimeError, match="refer to a single memory location"):
        write(torch.arange(5.0), torch.tensor([4, 3, 2, 1, 0]))


def test_gradients_flow_through_reading_and_writing():
    x = grid().requires_grad_(True)
    value = torch.ones(2, 5, requires_grad=True)
    y = x * 1
    y[torch.tensor([0, 2]), 1] = value * 3
    y[torch.tensor([0, 0])].sum().backward()
    assert value.grad.tolist() == [[6] * 5, [0] * 5]
    assert x.grad[0, 0].tolist() == [2] * 5 and x.grad[0, 1].tolist() == [0] * 5


def test_a_mask_of_a_graph_keeps_its_gradient():
    x = torch.tensor([1.0, -2.0, 3.0], requires_grad=True)
    (x[x > 0] ** 2).sum().backward()
    assert x.grad.tolist() == [2, 0, 6]


@pytest.fixture(params=[1, 2, 16])
def threads(request):
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


# Tables that threads share out by an outer dimension, by columns, and by blocks of places: rows and single elements.
@pytest.mark.parametrize(
    "shape, count, dim",
    [
        ((64, 50, 30), 40, 1),
        ((50, 4096), 40, 0),
        ((50, 8), 20000, 0),
        ((3, 5000, 16), 4000, 1),
        ((70000,), 1200000, 0),
        ((1,), 40000, 0),
    ],
    ids=str,
)
@pytest.mark.usefixtures("threads")
def test_sums_do_not_depend_on_threads(shape, count, dim):
    rng = np.random.default_rng(0)
    sizes = (*shape[:dim], count, *shape[dim + 1 :])
    source = rng.random(sizes, dtype=np.float32)
    at = rng.integers(0, shape[dim], count)
    wanted = np.zeros(shape, dtype=np.float32)
    np.add.at(wanted, (*[slice(None)] * dim, at), source)
    result = torch.zeros(shape).index_add(dim, torch.from_numpy(at), torch.from_numpy(source))
    np.testing.assert_array_equal(result.numpy(), wanted)
    # With an index for each element, in a table that is not dense.
    each = rng.integers(0, shape[dim], sizes)
    grid = list(np.ogrid[tuple(slice(n) for n in sizes)])
    grid[dim] = each
    wanted = np.zeros(shape, dtype=np.float32)
    np.add.at(wanted, tuple(grid), source)
    table = torch.zeros(*shape, 2)[..., 1]
    table.scatter_add_(dim, torch.from_numpy(each), torch.from_numpy(source))
    np.testing.assert_array_equal(table.numpy(), wanted)


@pytest.mark.usefixtures("threads")
def test_scattered_elements_meet_in_any_way_and_dtype():
    rng = np.random.default_rng(0)
    at = rng.integers(-999, 999, 60000)
    for name, combine in (("amax", np.maximum), ("amin", np.minimum), ("prod", np.multiply)):
        for dtype in (np.float64, np.int16):
            source = rng.integers(-3, 4, 60000).astype(dtype)
            wanted = np.ones(999, dtype)
            combine.at(wanted, at, source)
            index = torch.from_numpy(at % 999)
            result = torch.ones(999, dtype=torch.from_numpy(source).dtype).scatter_reduce(
                0, index, torch.from_numpy(source), name
            )
            np.testing.assert_array_equal(result.numpy(), wanted)
    wanted = np.zeros(999, np.float16)
    for place in at:
        wanted[place] += np.float16(0.5)
    result = torch.zeros(999, dtype=torch.float16)
    result.put_(torch.from_numpy(at), torch.full((60000,), 0.5, dtype=torch.float16), accumulate=True)
    np.testing.assert_array_equal(result.numpy(), wanted)
    order = rng.permutation(60000)
    result = torch.zeros(60000, 3, dtype=torch.uint8)
    rows = torch.from_numpy(rng.integers(0, 255, (60000, 3)).astype(np.uint8))
    result[torch.from_numpy(order)] = rows
    np.testing.assert_array_equal(result.numpy()[order], rows.numpy())
    with pytest.raises(IndexError, match="index 60000 is out of bounds"):
        result[torch.from_numpy(order + 1)] = rows


def test_shapes_are_known_on_meta():
    x = torch.empty(3, 4, device="meta")
    at = torch.empty(2, 4, dtype=torch.int64, device="meta")
    assert x.gather(0, at).shape == (2, 4)
    assert x.scatter_add(0, at, torch.empty(2, 4, device="meta")).shape == (3, 4)
    assert x[torch.empty(5, dtype=torch.int64, device="meta")].shape == (5, 4)
    assert x.index_select(1, torch.empty(7, dtype=torch.int64, device="meta")).shape == (3, 7)


def test_strided_operands_and_results_work():
    x = grid().transpose(0, 2)
    at = torch.tensor([4, 0])
    np.testing.assert_array_equal(x[at].numpy(), GRID.T[[4, 0]].transpose(0, 1, 2))
    out = torch.zeros(4, 2, 3).transpose(0, 1)
    torch.index_select(x, 0, at, out=out)
    np.testing.assert_array_equal(out.numpy(), GRID.T[[4, 0]])


def test_padding_gets_no_gradient_in_an_embedding():
    weight = torch.rand(4, 2).requires_grad_(True)
    torch.nn.functional.embedding(torch.tensor([0, 1, 1, 3]), weight, padding_idx=-1).sum().backward()
    assert weight.grad.tolist() == [[1, 1], [2, 2], [0, 0], [0, 0]]


@pytest.mark.parametrize(
    "shape",
    [(), (0,), (3, 0), (1000,), (20_001, 1), (9001, 2), (300, 7, 9), (70, 64, 2), (5, 1, 3000), (2,) * 12],
)
def test_nonzero_finds_coordinates_whatever_the_widths(shape):
    values = np.asarray(np.random.default_rng(0).random(shape) > 0.4)
    found = torch.nonzero(torch.from_numpy(values))
    assert np.array_equal(found.numpy(), np.argwhere(values))


def test_nonzero_gives_coordinates_or_a_tuple_of_them():
    x = torch.tensor([[0, 1], [2, 0]])
    assert torch.nonzero(x).tolist() == [[0, 1], [1, 0]]
    assert [t.tolist() for t in torch.nonzero(x, as_tuple=True)] == [[0, 1], [1, 0]]
    assert [t.tolist() for t in torch.where(x > 0)] == [[0, 1], [1, 0]]
    assert torch.nonzero_static(x, size=3, fill_value=-5).tolist() == [[0, 1], [1, 0], [-5, -5]]
    assert torch.tensor(5).nonzero().shape == (1, 0)


@pytest.mark.parametrize("device", ["cpu", "npu"])
def test_row_numbers_of_entries_become_where_rows_begin_and_back(device):
    rows, columns = torch.tensor([0, 0, 1, 3], device=device), torch.tensor([1, 2, 0, 3], device=device)
    begins = torch._convert_indices_from_coo_to_csr(rows, 5)
    assert begins.tolist() == [0, 2, 3, 3, 4, 4] and begins.dtype is torch.int64
    assert torch._convert_indices_from_coo_to_csr(rows, 4, out_int32=True).dtype is torch.int32
    assert torch._convert_indices_from_coo_to_csr(rows[:0], 2).tolist() == [0, 0, 0]
    back = torch._convert_indices_from_csr_to_coo(begins, columns)
    assert back.tolist() == [[0, 0, 1, 3], [1, 2, 0, 3]]
    assert torch._convert_indices_from_csr_to_coo(begins, columns, transpose=True)[0].tolist() == [1, 2, 0, 3]
    batch = torch._convert_indices_from_csr_to_coo(
        torch.tensor([[0, 1, 2], [0, 2, 2]], device=device), torch.tensor([[0, 1], [1, 0]], device=device)
    )
    assert batch.tolist() == [[0, 0, 1, 1], [0, 1, 0, 0], [0, 1, 1, 0]]
    with pytest.raises(RuntimeError, match="supposed to be a vector"):
        torch._convert_indices_from_coo_to_csr(rows.view(2, 2), 4)
    with pytest.raises(NotImplementedError, match="wanted int32 or int64, got torch.float32"):
        torch._convert_indices_from_coo_to_csr(rows.float(), 4)


def test_a_dimension_without_elements_is_refused_also_after_a_storage_shrank():
    torch.ones(4).untyped_storage().resize_(4)  # from now on memory is compared with what tensors reach
    empty, first = torch.zeros(0, 3), torch.tensor([0])
    with pytest.raises(IndexError, match="index is out of bounds for dimension with size 0"):
        empty[first]
    with pytest.raises(RuntimeError, match="index 0 is out of bounds for dimension 0 with size 0"):
        empty.gather(0, first[None])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_halves_are_added_in_single_precision_and_rounded_once(dtype):
    smallest = torch.finfo(dtype).smallest_normal
    values = [
        0.1,
        -2.5,
        3.0,
        smallest,
        smallest / 4,
        -smallest / 2,
        torch.finfo(dtype).max,
        math.inf,
        -math.inf,
        math.nan,
    ]
    a = torch.tensor(values, dtype=dtype)
    b = torch.tensor([*values[3:], *values[:3]], dtype=dtype)
    for left, right in ((a, b), (a, a), (a.flip(0), b)):
        for source in (right, torch.stack([right, right], 1)[:, 0]):
            got = left.scatter_add(0, torch.arange(len(values)), source)
            wanted = (left.float() + right.float()).to(dtype)
            assert torch.equal(got.nan_to_num(7), wanted.nan_to_num(7))
            assert got.isnan().equal(wanted.isnan())


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.float32, np.int64, np.complex128])
@pytest.mark.parametrize("width", [1, 2, 3, 5, 8, 17, 33, 130])
def test_short_rows_follow_their_indices(threads, dtype, width):
    table = np.arange(3 * 50 * width).reshape(3, 50, width).astype(dtype)
    at = np.random.default_rng(width).integers(0, 50, 700)
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        x, index = torch.from_numpy(table), torch.from_numpy(at)
        for _ in range(2):
            np.testing.assert_array_equal(x.index_select(1, index).numpy(), table[:, at])
            np.testing.assert_array_equal(x[:, index - 50].numpy(), table[:, at])
            source = table[:, at]
            wanted = table.copy()
            np.add.at(wanted, (slice(None), at), source)
            got = x.index_add(1, index, torch.from_numpy(source.copy()))
            np.testing.assert_array_equal(got.numpy(), wanted)
            expanded = index.reshape(1, -1, 1).expand(3, -1, width)
            got = x.scatter_add(1, expanded, torch.from_numpy(source.copy()))
            np.testing.assert_array_equal(got.numpy(), wanted)
            x = torch.from_numpy(np.ascontiguousarray(table.transpose(2, 1, 0))).permute(2, 1, 0)
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("length", [1, 255, 256, 257, 600])
@pytest.mark.parametrize("step", [1, 2])
def test_a_bad_index_writes_nothing_outside(length, step):
    memory = torch.zeros(12)
    table = memory[4:8]
    for bad in (-1, 4):
        index = torch.zeros(length * step, dtype=torch.int64)[::step]
        index[-1] = bad
        with pytest.raises(RuntimeError, match=f"index {bad} is out of bounds for dimension 0 with size 4"):
            table.scatter_add_(0, index, torch.ones(length))
    assert memory[:4].tolist() == memory[8:].tolist() == [0.0] * 4


@pytest.mark.parametrize("first,last", [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)])
def test_a_mask_is_filled_with_one_element(first, last):
    shape = GRID.shape[first:last]
    mask = np.random.default_rng(first + last).random(shape) > 0.5
    key = (slice(None),) * first
    wanted = GRID.copy()
    wanted[(*key, mask)] = 7
    turned = torch.from_numpy(np.ascontiguousarray(GRID.transpose(2, 1, 0))).permute(2, 1, 0)
    for x in (grid(), turned):
        for value in (7, torch.tensor(7.0), torch.tensor([[7.0]])):
            got = x.clone()
            got[(*key, torch.from_numpy(mask))] = value
            np.testing.assert_array_equal(got.numpy(), wanted)
    assert grid()[torch.zeros(3, 4, 5, dtype=torch.bool)].numel() == 0


def test_filling_by_mask_has_gradients():
    x, value = grid().requires_grad_(), torch.tensor(2.0, requires_grad=True)
    mask = torch.from_numpy(GRID > 30)
    y = x * 3
    y[mask] = value
    y.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), np.where(GRID > 30, 0, 3))
    assert value.grad.item() == (GRID > 30).sum()
