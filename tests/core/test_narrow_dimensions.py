"""Points and boxes: tensors of many rows of a few elements have loops of their own."""

import numpy as np
import pytest

import mindtorch_v2 as torch

ROWS = 1031  # several bands or blocks, and a rest
CASES = [
    ("a row for all", lambda x, row, _: x * row),
    ("a number for each row", lambda x, _, column: x + column),
    ("a cast", lambda x, _, column: (x > column) & (x < 1)),
    ("running sums", lambda x, *_: x.cumsum(1)),
    ("running products", lambda x, *_: x.cumprod(1)),
    ("a product with a vector", lambda x, row, _: x @ row),
    ("small products", lambda x, row, _: (x[:, None, :] @ x[:, :, None])[:, 0]),
    ("turned round", lambda x, *_: x[:, ::-1] if isinstance(x, np.ndarray) else x.flip(1)),
    ("the largest's place", lambda x, *_: x.argmax(1)),
    ("the smallest's place", lambda x, *_: x.argmin(1)),
]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
@pytest.mark.parametrize("width", [1, 2, 3, 8, 9, 17])
@pytest.mark.parametrize(("name", "compute"), CASES, ids=[name for name, _ in CASES])
def test_rows_of_a_few_elements_are_computed_as_numpy_computes_them(name, compute, width, dtype):
    values = np.random.default_rng(width)
    given = [
        (values.standard_normal(shape) * 2).astype(dtype) for shape in ((ROWS, width), (width,), (ROWS, 1))
    ]
    wanted = compute(*given)
    found = compute(*map(torch.from_numpy, given)).numpy()
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)


def test_the_largest_of_a_short_line_is_nan_where_there_is_one():
    lines = torch.tensor([[1.0, float("nan"), 3.0]]).repeat(ROWS, 1)
    largest, place = lines.max(1)
    assert largest.isnan().all() and (place == 1).all()


# What an operand of x's shape may be instead: the same for every row, for every element of a row, or for all.
KINDS = ["dense", "a row", "a column", "a number", "strided"]
DTYPES = ["float32", "float64", "bfloat16", "float16", "int64", "uint8", "complex64"]


def an_operand(kind, shape, dtype):
    shape = {"a row": (1, shape[1]), "a column": (shape[0], 1), "a number": (1, 1)}.get(kind, shape)
    values = (torch.rand(shape) * 90 + 1).to(dtype)
    return values.t().contiguous().t() if kind == "strided" else values


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("width", [2, 7, 16, 33, 128, 511, 513])
def test_short_rows_beside_what_is_the_same_for_many_are_as_if_it_were_not(width, dtype):
    dtype = getattr(torch, dtype)
    shape = (137, width)
    x, y = an_operand("dense", shape, dtype), an_operand("dense", shape, torch.float32)
    for kind in KINDS:
        b = an_operand(kind, shape, dtype)
        whole = b.expand(shape).contiguous()
        assert torch.equal(x * b, x * whole) and torch.equal(b - x, whole - x)
        assert torch.equal(x == b, x == whole) and torch.equal(y + b, y + whole)
        assert torch.equal(torch.where(b == x, b, x), torch.where(whole == x, whole, x))
        assert torch.equal(
            torch.addcmul(x, b, x[:1]), torch.addcmul(x, whole, x[:1].expand(shape).contiguous())
        )
        assert torch.equal(x.clone().mul_(b), x * whole)
        for other in KINDS:
            c = an_operand(other, shape, dtype)
            assert torch.equal((c * b).expand(shape), c.expand(shape).contiguous() * whole)


@pytest.mark.parametrize("width", [3, 16, 70])
def test_short_rows_of_planes(width):
    a, b = torch.rand(9, 1, width), torch.rand(67, width)
    assert torch.equal(a - b, a.expand(9, 67, width).contiguous() - b.expand(9, 67, width).contiguous())
    out = torch.empty(67, 9, width).transpose(0, 1)
    assert torch.equal(torch.sub(a, b, out=out), a - b)
    assert (a[:, :, :0] - b[:, :0]).shape == (9, 67, 0) and (a[:0] - b).shape == (0, 67, width)


@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32", "float64", "complex128"])
@pytest.mark.parametrize("width", [1, 3, 5, 15, 16, 17, 33, 127, 300])
def test_rows_are_put_side_by_side(width, dtype):
    parts = [(torch.rand(n, width) * 99).to(getattr(torch, dtype)) for n in (41, 41, 41)]
    whole = torch.cat(parts, 1)
    for i, part in enumerate(parts):
        assert torch.equal(whole[:, i * width : (i + 1) * width], part)
        assert torch.equal(whole[:, i * width : (i + 1) * width].contiguous(), part)
        assert part.flip(1).tolist() == [row[::-1] for row in part.tolist()]
