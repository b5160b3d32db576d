"""Numbers beside tensors of half precision: kept or rounded as PyTorch does, to the last bit."""

import numpy as np
import pytest

OPERATORS = {
    "mul": lambda t, a, b: a * 0.1,
    "mul reflected": lambda t, a, b: 0.1 * a,
    "mul in place": lambda t, a, b: a.clone().mul_(0.1),
    "mul by a 0-dim tensor": lambda t, a, b: a * t.tensor(0.1),
    "div": lambda t, a, b: a / 0.1,
    "div reflected": lambda t, a, b: 0.1 / a,
    "div trunc": lambda t, a, b: t.div(a, 0.1, rounding_mode="trunc"),
    "floor divide": lambda t, a, b: a // 0.1,
    "add": lambda t, a, b: a + 0.1,
    "add a 0-dim tensor": lambda t, a, b: a + t.tensor(0.1),
    "sub": lambda t, a, b: a - 0.1,
    "sub reflected": lambda t, a, b: 0.1 - a,
    "pow": lambda t, a, b: a.abs() ** 0.1,
    "greater": lambda t, a, b: t.full_like(a, 0.1) > 0.1,
    "add alpha": lambda t, a, b: a.add(b, alpha=-0.1),
    "sub alpha": lambda t, a, b: a.sub(b, alpha=0.1),
    "rsub alpha": lambda t, a, b: t.rsub(a, b, alpha=0.1),
    "foreach add": lambda t, a, b: t._foreach_add([a], [b], alpha=-0.1)[0],
    "foreach mul": lambda t, a, b: t._foreach_mul([a], 0.1)[0],
}


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("name", OPERATORS)
def test_numbers_are_rounded_like_pytorchs(both, name, dtype):
    # A whole number of PyTorch's vectors: it computes the rest of a row in another way.
    a, b = np.random.default_rng(1).normal(size=(2, 1024)).astype("float32")

    def result(t):
        tensors = (t.from_numpy(values).to(getattr(t, dtype)) for values in (a, b * 8))
        return OPERATORS[name](t, *tensors).double().numpy()

    theirs, ours = (result(t) for t in both)
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_number_divided_by_a_tensor_is_rounded_like_pytorchs(both, dtype):
    values = np.random.default_rng(1).normal(size=1000).astype(dtype)

    def result(t):
        return (1.7 / t.from_numpy(values)).numpy()

    theirs, ours = (result(t) for t in both)
    np.testing.assert_array_equal(ours, theirs)
