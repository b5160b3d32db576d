"""Kernels that go another way for long lines, blocks or single channels: the same numbers on both sides."""

import numpy as np
import pytest

SIZES = [1, 511, 512, 513, 3000, 70000]


def numbers(tensor):
    return np.array(tensor.tolist())


def line_of(library, kind, size):
    generator = np.random.default_rng(size)
    if kind == "ties":
        values = generator.integers(-3, 4, size)
    elif kind == "long integers":
        values = generator.integers(-(2**62), 2**62, size)
    elif kind == "bytes":
        return library.tensor(generator.integers(0, 256, size).tolist(), dtype=library.uint8)
    elif kind == "halves":
        return library.tensor(generator.standard_normal(size).tolist(), dtype=library.bfloat16)
    else:
        values = generator.standard_normal(size)
        if kind == "zeros":
            values[::3] = 0.0
            values[1::3] = -0.0
    return library.tensor(values.tolist())


KINDS = ["numbers", "zeros", "ties", "long integers", "bytes", "halves"]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", KINDS)
def test_the_element_that_would_be_there_in_order(both, kind, size):
    def program(library):
        x = line_of(library, kind, size)
        found = [x.median(), x[::2].median(0).values]
        for k in {1, (size + 1) // 3 + 1, size}:
            value, index = x.kthvalue(k)
            assert x[index] == value
            found.append(value)
        return [numbers(each.double()) for each in found]

    torch, ours = both
    np.testing.assert_equal(program(ours), program(torch))


@pytest.mark.parametrize("size", [600, 5000])
def test_medians_of_what_is_no_number(both, size):
    def program(library):
        x = line_of(library, "numbers", size)
        x[7] = x[size // 2] = float("nan")
        middle = x.nanmedian(0)
        assert x[middle.indices] == middle.values
        return [numbers(each) for each in (x.median(), *x.median(0), x.nanmedian(), middle.values)]

    torch, ours = both
    np.testing.assert_equal(program(ours), program(torch))


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("step", [1, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_the_best_of_many(both, kind, step, largest):
    def program(library):
        x = line_of(library, kind, 9000).reshape(3, 3000)[:, ::step]
        values, indices = x.topk(20, -1, largest)
        assert x.gather(-1, indices).equal(values)
        return numbers(values.double())

    torch, ours = both
    np.testing.assert_equal(program(ours), program(torch))


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
@pytest.mark.parametrize("bins, ends", [(100, (0, 0)), (7, (-1, 1.5)), (1, (0, 3)), (1000, (-2, 2))])
def test_counts_in_bins(both, bins, ends, dtype):
    def program(library):
        size = 40000 if dtype.endswith(("32", "64")) else 200  # PyTorch counts in the dtype itself
        x = line_of(library, "numbers", size).to(getattr(library, dtype))
        return numbers(library.histc(x, bins, *ends).double())

    torch, ours = both
    np.testing.assert_equal(program(ours), program(torch))


@pytest.mark.parametrize("dtype", ["uint8", "int16", "int32", "int64"])
@pytest.mark.parametrize("weights", [None, "float32", "float64", "int64", "bfloat16"])
def test_counts_of_values(both, weights, dtype):
    def program(library):
        x = (line_of(library, "ties", 30000) + 3).to(getattr(library, dtype))
        shares = (
            None
            if weights is None
            else line_of(library, "numbers", 30000).mul(8).to(getattr(library, weights))
        )
        counts = library.bincount(x, shares, minlength=9)
        return str(counts.dtype).rpartition(".")[2], numbers(counts.double())

    torch, ours = both
    (dtype_here, here), (dtype_there, there) = program(ours), program(torch)
    assert dtype_here == dtype_there
    np.testing.assert_allclose(here, there, rtol=1e-4, atol=1e-2)


@pytest.mark.parametrize("kernel", [(1, 3), (3, 3), (5, 2), (7, 7)])
@pytest.mark.parametrize("stride, dilation", [(1, 1), (2, 1), (1, 2)])
def test_groups_of_one_channel(both, kernel, stride, dilation):
    def program(library):
        generator = np.random.default_rng(3)
        made = [generator.standard_normal(shape) for shape in [(2, 6, 40, 37), (6, 1, *kernel), (6,)]]
        x, w, b = (library.tensor(each.tolist(), dtype=library.float64, requires_grad=True) for each in made)
        y = library.nn.functional.conv2d(x, w, b, stride, 3, dilation, 6)
        (y * y).sum().backward()
        return [numbers(each) for each in (y, x.grad, w.grad, b.grad)]

    torch, ours = both
    for here, there in zip(program(ours), program(torch), strict=True):
        np.testing.assert_allclose(here, there, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("shape", [(37, 5), (4, 24, 9, 7)])
def test_normalised_channels_that_lie_side_by_side(both, shape, dtype):
    def program(library):
        x = library.tensor(np.random.default_rng(4).standard_normal(shape).tolist()).to(
            getattr(library, dtype)
        )
        if len(shape) == 4:
            x = x.to(memory_format=library.channels_last)
        x.requires_grad_()
        w = library.linspace(0.5, 2, shape[1], dtype=library.float64).to(x.dtype).requires_grad_()
        b = library.linspace(-1, 1, shape[1], dtype=library.float64).to(x.dtype).requires_grad_()
        y = library.nn.functional.batch_norm(x, None, None, w, b, True)
        (
            y * library.linspace(0, 1, y.numel(), dtype=library.float64).reshape(y.shape).to(x.dtype)
        ).sum().backward()
        return [numbers(each.double()) for each in (y, x.grad, w.grad, b.grad)]

    close = {"float32": 1e-4, "float64": 1e-10, "bfloat16": 0.1}[dtype]
    torch, ours = both
    for here, there in zip(program(ours), program(torch), strict=True):
        np.testing.assert_allclose(here, there, rtol=close, atol=close)


@pytest.mark.parametrize(
    "name",
    ["chebyshev_polynomial_t", "chebyshev_polynomial_v", "hermite_polynomial_h", "laguerre_polynomial_l"],
)
def test_polynomials_of_degrees_below_zero(both, name):
    def program(library):
        x = library.linspace(-1.2, 1.2, 400)
        n = library.tensor([(-4.5, -1.0, -0.5, 0.0, 1.0, 3.9, 8.0, float("-inf"))[i % 8] for i in range(400)])
        return numbers(getattr(library.special, name)(x, n))

    torch, ours = both
    np.testing.assert_allclose(program(ours), program(torch), rtol=2e-5, atol=1e-4)


@pytest.mark.parametrize("p", [2.5, 3, 4, 5, 6])
def test_gradients_of_norms(both, p):
    def program(library):
        x = library.tensor(
            np.random.default_rng(5).standard_normal((4, 6)).tolist(),
            dtype=library.float64,
            requires_grad=True,
        )
        norms = library.linalg.vector_norm(x, p, 1)
        (grad,) = library.autograd.grad((norms * library.arange(4.0)).sum(), x, create_graph=True)
        (again,) = library.autograd.grad((grad * grad).sum(), x)
        return [numbers(each) for each in (norms, grad, again)]

    torch, ours = both
    for here, there in zip(program(ours), program(torch), strict=True):
        np.testing.assert_allclose(here, there, rtol=1e-9, atol=1e-12)
