"""Matrix products: their in-place and out= forms, also where the result lies over an operand."""

import numpy as np
import pytest

import mindtorch_v2 as torch

DEVICES = ["cpu", "npu"]


def matrices(device, *shape):
    torch.manual_seed(3)
    return torch.randn(*shape).to(device), torch.randn(*shape).to(device)


def same(got, wanted):
    return torch.allclose(got.cpu(), wanted.cpu(), rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("n", [5, 300])
def test_a_product_can_be_written_over_its_operands(device, n):
    a, b = matrices(device, n, n)
    for function, wanted in (
        (lambda x: torch.mm(x, b, out=x), a @ b),
        (lambda x: torch.mm(b, x, out=x), b @ a),
        (lambda x: torch.mm(x, x, out=x), a @ a),
        (lambda x: torch.addmm(x, x, b, out=x), a + a @ b),
        (lambda x: torch.addmm(b, x, x, out=x), b + a @ a),
        (lambda x: x.addmm_(x, x), a + a @ a),
        (lambda x: torch.matmul(x, b, out=x), a @ b),
    ):
        x = a.clone()
        assert function(x) is x
        assert same(x, wanted)


@pytest.mark.parametrize("device", DEVICES)
def test_a_product_of_batches_can_be_written_over_its_operands(device):
    a, b = matrices(device, 3, 40, 40)
    x = a.clone()
    assert torch.bmm(x, b, out=x) is x and same(x, a @ b)
    x = a.clone()
    assert x.baddbmm_(x, x) is x and same(x, a + a @ a)


@pytest.mark.parametrize("device", DEVICES)
def test_addmm_in_place_scales_and_has_gradients(device):
    a, b = matrices(device, 4, 4)
    leaf = torch.ones(4, 4, device=device, requires_grad=True)
    x = leaf * 2
    version = x._version
    x.addmm_(a, b, beta=3, alpha=0.5)
    assert x._version == version + 1 and same(x, 6 * torch.ones(4, 4) + 0.5 * (a @ b).cpu())
    x.sum().backward()
    assert same(leaf.grad, torch.full((4, 4), 6.0))


def test_products_take_out():
    v, w = torch.arange(3.0), torch.tensor([2.0, 0.0, 1.0])
    out = torch.empty(())
    assert torch.dot(v, w, out=out) is out and out.item() == 2
    out = torch.empty(2)
    assert torch.mv(torch.ones(2, 3), v, out=out) is out and out.tolist() == [3, 3]


def test_a_power_in_place_keeps_the_tensor():
    x = torch.tensor([2.0, 3.0])
    same_tensor = x
    x **= 2
    assert x is same_tensor and x.tolist() == [4, 9]
    x **= torch.tensor([0.5, 1.0])
    assert x is same_tensor and x.tolist() == [2, 9]
    with pytest.raises(TypeError):
        x **= "2"


_LAYOUTS = {
    "rows": lambda x: x.contiguous(),
    "columns": lambda x: x.t().contiguous().t(),
    "every second": lambda x: torch.stack((x, x), -1).flatten(1)[:, ::2],
    "a window of columns": lambda x: torch.cat((x[:2], x)).t().contiguous().t()[2:],
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("right", _LAYOUTS)
@pytest.mark.parametrize("left", _LAYOUTS)
def test_a_packed_product_is_exact_for_small_integers_of_every_layout(left, right, dtype):
    drawn = torch.Generator().manual_seed(0)
    # Rows, terms and columns that leave a rest in every kind of tile, panel and slice, and such that leave none.
    for rows, terms, columns in (
        (259, 300, 25),
        (97, 257, 65),
        (70, 700, 41),
        (64, 512, 128),
        (5, 2100, 130),
        (3, 512, 1024),
    ):
        a, b = (torch.randint(-3, 4, shape, generator=drawn) for shape in ((rows, terms), (terms, columns)))
        made = _LAYOUTS[left](a.to(dtype)) @ _LAYOUTS[right](b.to(dtype))
        assert torch.equal(made, torch.from_numpy(a.numpy() @ b.numpy()).to(dtype))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("right", _LAYOUTS)
@pytest.mark.parametrize("left", _LAYOUTS)
def test_a_product_of_a_few_rows_is_exact_for_small_integers_of_every_layout(left, right, dtype):
    drawn = torch.Generator().manual_seed(0)
    for rows, terms, columns in (
        (2, 64, 64),
        (3, 129, 67),
        (4, 67, 100),
        (5, 64, 65),
        (6, 300, 300),
        (7, 8200, 66),
        (9, 70, 71),
        (15, 260, 97),
    ):
        a, b = (torch.randint(-3, 4, shape, generator=drawn) for shape in ((rows, terms), (terms, columns)))
        wanted = torch.from_numpy(a.numpy() @ b.numpy()).to(dtype)
        a, b = _LAYOUTS[left](a.to(dtype)), _LAYOUTS[right](b.to(dtype))
        assert torch.equal(a @ b, wanted) and torch.equal(b.t() @ a.t(), wanted.t())
        old = torch.ones_like(wanted)
        assert torch.equal(torch.addmm(old, a, b, beta=2, alpha=3), wanted * 3 + 2)
        turned = torch.empty(columns, rows, dtype=dtype).t()
        assert torch.equal(torch.mm(a, b, out=turned), wanted)


@pytest.mark.parametrize("right", _LAYOUTS)
@pytest.mark.parametrize("left", _LAYOUTS)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_halves_with_few_columns_are_exact_for_small_integers_of_every_layout(left, right, dtype):
    drawn = torch.Generator().manual_seed(0)
    for rows, terms, columns in ((200, 130, 10), (10, 130, 200), (67, 33, 3), (100, 700, 15)):
        a, b = (torch.randint(-1, 2, shape, generator=drawn) for shape in ((rows, terms), (terms, columns)))
        made = _LAYOUTS[left](a.to(dtype)) @ _LAYOUTS[right](b.to(dtype))
        assert torch.equal(made, torch.from_numpy(a.numpy() @ b.numpy()).to(dtype))


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "int64", "complex64"])
@pytest.mark.parametrize("sizes", [(1, 700), (700, 1), (30, 40), (3, 4)])
def test_a_column_times_a_row_is_every_product(sizes, dtype):
    rng = np.random.default_rng(0)
    kind = getattr(torch, dtype)
    column, row, old = (
        torch.tensor(rng.integers(-8, 8, size)).to(kind) for size in (sizes[0], sizes[1], sizes)
    )
    wanted = column.reshape(-1, 1) * row
    assert (column.reshape(-1, 1) @ row.reshape(1, -1)).tolist() == wanted.tolist()
    assert torch.outer(column, row).tolist() == wanted.tolist()
    added = torch.addmm(old, column.reshape(-1, 1), row.reshape(1, -1), beta=2, alpha=3)
    assert added.tolist() == (old * 2 + wanted * 3).tolist()
    turned = torch.empty(sizes[1], sizes[0], dtype=kind).t()
    assert torch.mm(column.reshape(-1, 1), row.reshape(1, -1), out=turned).tolist() == wanted.tolist()


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_the_cross_product_is_numpys_along_every_dimension_of_three(dim):
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((3, 3, 3)) for _ in range(2))
    found = torch.linalg.cross(torch.tensor(a), torch.tensor(b[:, :1] if dim != 1 else b[:1]), dim=dim)
    wanted = np.cross(a, np.broadcast_to(b[:, :1] if dim != 1 else b[:1], a.shape), axis=dim)
    assert np.allclose(found.numpy(), wanted)


def _laid_out(values, layout):
    """The same values with each vector's numbers, or its neighbours, elsewhere in memory."""
    t = torch.tensor(values)
    if layout == "by columns":
        return t.t().contiguous().t()
    if layout == "every other":
        return torch.stack([t, t], -1)[..., 0]
    return t


@pytest.mark.parametrize("layout", ["plain", "by columns", "every other"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int8", "complex64"])
def test_cross_products_wherever_the_vectors_lie(dtype, layout):
    rng = np.random.default_rng(1)
    a, b = ((rng.standard_normal((1003, 3)) * 5).astype(dtype) for _ in range(2))
    wanted = np.cross(a, b)
    x, y = _laid_out(a, layout), _laid_out(b, layout)
    assert np.allclose(torch.linalg.cross(x, y).numpy(), wanted, atol=1e-4)
    assert np.allclose(torch.linalg.cross(x.t(), y.t(), dim=0).numpy(), wanted.T, atol=1e-4)
    assert np.allclose(torch.linalg.cross(x, y, out=x).numpy(), wanted, atol=1e-4)


def test_cross_products_refuse_what_has_none():
    with pytest.raises(RuntimeError, match="expected scalar type Float but found Double"):
        torch.linalg.cross(torch.ones(3), torch.ones(3, dtype=torch.float64))
    with pytest.raises(IndexError, match="Dimension specified as -1 but tensor has no dimensions"):
        torch.linalg.cross(torch.tensor(1.0), torch.tensor(1.0))
    with pytest.raises(NotImplementedError, match="\"cross\" not implemented for 'Bool'"):
        torch.linalg.cross(torch.ones(3, dtype=torch.bool), torch.ones(3, dtype=torch.bool))
    numbers = torch.arange(12.0)
    with pytest.raises(RuntimeError, match="written-to tensor refer to a single memory location"):
        torch.linalg.cross(numbers[:9].reshape(3, 3), torch.ones(3, 3), out=numbers[1:10].reshape(3, 3))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("n", "k"), [(3, 3), (4, 4), (16, 2), (1, 16), (5, 7), (8, 16), (2, 3)])
def test_many_rows_of_few_numbers(dtype, n, k):
    rng = np.random.default_rng(n * 17 + k)
    x, w = rng.standard_normal((1003, k)).astype(dtype), rng.standard_normal((k, n)).astype(dtype)
    start = rng.standard_normal((1003, n)).astype(dtype)
    a, b, c = torch.from_numpy(x), torch.from_numpy(w), torch.from_numpy(start)
    close = {"float32": 1e-4, "float64": 1e-12}[dtype]

    def same(made: torch.Tensor, wanted: np.ndarray) -> None:
        np.testing.assert_allclose(made.numpy(), wanted, rtol=close, atol=close)

    exact = x.astype(np.float64) @ w.astype(np.float64)
    same(a @ b, exact)
    same(a.t().contiguous().t() @ b.t().contiguous().t(), exact)
    same((b.t() @ a.t()).t(), exact)
    same(torch.addmm(c, a, b, beta=0.5, alpha=2), 0.5 * start + 2 * exact)
    wide = torch.full((1003, n + 3), 7.0, dtype=a.dtype)
    torch.mm(a, b, out=wide[:, 1 : n + 1])
    same(wide[:, 1 : n + 1], exact)
    assert (wide[:, 0] == 7).all() and (wide[:, n + 1 :] == 7).all()
    # The transposed product adds the rows up.
    sums = x.astype(np.float64).T @ start.astype(np.float64)
    same(a.t() @ c, sums)
    same((c.t() @ a).t(), sums)
    same(torch.addmm(b, a.t(), c, beta=3, alpha=-1), 3 * w - sums)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "int64", "complex64"])
@pytest.mark.parametrize("length", [1, 5, 32, 33, 512, 5000])
def test_batches_of_rows_times_columns(dtype, length):
    rng = np.random.default_rng(length)
    kind = getattr(torch, dtype)
    x, y = (rng.integers(-3, 4, (7, length)).astype("float64") for _ in range(2))
    a, b = torch.from_numpy(x).to(kind), torch.from_numpy(y).to(kind)
    start = torch.arange(7.0).reshape(7, 1, 1)
    wanted = torch.from_numpy((x * y).sum(1)).reshape(7, 1, 1)
    for row in (a.unsqueeze(1), a.t().contiguous().t().unsqueeze(1)):
        for column in (b.unsqueeze(2), torch.stack([b, b], 2)[:, :, :1]):
            assert torch.bmm(row, column).tolist() == wanted.to(kind).tolist()
            added = torch.baddbmm(start.to(kind), row, column, beta=2, alpha=3)
            assert added.tolist() == (wanted * 3 + start * 2).to(kind).tolist()
            assert torch.mm(row[0], column[0]).tolist() == wanted[0].to(kind).tolist()
