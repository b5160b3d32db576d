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
