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


LOG_SUMS = [
    ((300, 40), (0,)), ((300, 40), (1,)), ((3, 5, 70), (0, 2)), ((3, 5, 70), (0, 1, 2)), ((2, 40000), (1,)),
    ((40000, 2), (0,)), ((90000,), (0,)), ((4, 1, 9), (1,)),
]  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "complex128"])
@pytest.mark.parametrize("shape, dims", LOG_SUMS)
def test_logarithms_of_sums(both, shape, dims, dtype):
    def program(library):
        generator = np.random.default_rng(6)
        x = library.tensor(generator.standard_normal(shape).tolist(), dtype=library.float64)
        x = (x * 30).to(getattr(library, dtype))
        return [
            numbers(each)
            for each in (x.logsumexp(dims), x.logsumexp(dims, True), x.transpose(0, -1).logsumexp(dims))
        ]

    close = {"float32": 1e-5, "bfloat16": 1e-2}.get(dtype, 1e-12)
    torch, ours = both
    for here, there in zip(program(ours), program(torch), strict=True):
        np.testing.assert_allclose(here, there, rtol=close, atol=close)


@pytest.mark.parametrize("dim", [0, 1])
def test_logarithms_of_sums_of_infinities(both, dim):
    inf, nan = float("inf"), float("nan")
    rows = [
        [1.0, 2.0],
        [inf, 1.0],
        [-inf, -inf],
        [-inf, 3.0],
        [inf, -inf],
        [inf, nan],
        [nan, -inf],
        [inf, inf],
    ]

    def program(library):
        x = library.tensor(rows * 40)
        return numbers((x if dim == 1 else x.t().contiguous()).logsumexp(dim))

    torch, ours = both
    np.testing.assert_equal(program(ours), program(torch))


@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("channels", [1, 3, 4, 5, 9, 17, 40])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_samples_of_some_channels(both, dtype, channels, mode, padding):
    def program(library):
        generator = np.random.default_rng(7)
        made = [
            generator.standard_normal((2, channels, 7, 9)),
            generator.uniform(-1.4, 1.4, (2, 13, 11, 2)),
            generator.standard_normal((2, channels, 13, 11)),
        ]
        x, grid, slopes = (library.tensor(each.tolist(), dtype=getattr(library, dtype)) for each in made)
        x = x.transpose(-1, -2).contiguous().transpose(-1, -2).requires_grad_()
        grid.requires_grad_()
        y = library.nn.functional.grid_sample(x, grid, mode, padding, align_corners=False)
        y.backward(slopes)
        return [numbers(each) for each in (y, x.grad, grid.grad)]

    close = 2e-4 if dtype == "float32" else 1e-10
    torch, ours = both
    for here, there in zip(program(ours), program(torch), strict=True):
        np.testing.assert_allclose(here, there, rtol=close, atol=close)


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize("channels", [2, 6, 20])
@pytest.mark.parametrize("same", [(1,), (2,), (3,), (2, 3), (0, 1, 2, 3)])
def test_samples_of_pictures_that_repeat_themselves(both, same, channels, mode):
    def program(library):
        generator = np.random.default_rng(9)
        shape = (2, channels, 8, 9)
        drawn = generator.standard_normal([1 if d in same else n for d, n in enumerate(shape)])
        picture = library.tensor(drawn.tolist(), dtype=library.float64).expand(shape)
        grid = library.tensor(generator.uniform(-1.3, 1.3, (2, 11, 12, 2)).tolist(), dtype=library.float64)
        return numbers(library.nn.functional.grid_sample(picture, grid, mode, align_corners=False))

    torch, ours = both
    np.testing.assert_allclose(program(ours), program(torch), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
@pytest.mark.parametrize("channels", [2, 6, 20])
def test_samples_of_some_channels_in_space(both, channels, mode):
    def program(library):
        generator = np.random.default_rng(8)
        made = [
            generator.standard_normal((3, channels, 4, 5, 6)),
            generator.uniform(-1.3, 1.3, (3, 6, 5, 7, 3)),
        ]
        x, grid = (library.tensor(each.tolist(), dtype=library.float64, requires_grad=True) for each in made)
        y = library.nn.functional.grid_sample(x, grid, mode, align_corners=True)
        (y * y).sum().backward()
        return [numbers(each) for each in (y, x.grad, grid.grad)]

    torch, ours = both
    for here, there in zip(program(ours), program(torch), strict=True):
        np.testing.assert_allclose(here, there, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
@pytest.mark.parametrize(
    "shape", [(1, 1), (3, 5, 4), (16, 16), (2, 17, 9), (9, 40), (33, 33), (120, 70), (70, 120), (200, 200)]
)
@pytest.mark.parametrize("mode", ["reduced", "complete", "r"])
def test_orthogonal_factors(both, mode, shape, dtype):
    def program(library):
        generator = np.random.default_rng(9)
        a = generator.standard_normal(shape)
        if dtype == "complex64":
            a = a + 1j * generator.standard_normal(shape)
        a = library.tensor(a.tolist(), dtype=getattr(library, dtype))
        if shape == (33, 33):
            a[:, 4:9] = 0  # columns that need no reflection
        found = library.linalg.qr(a, mode)
        return a, *found

    close = 1e-10 if dtype == "float64" else 2e-4
    torch, ours = both
    (a, q, r), (_, _, theirs_r) = program(ours), program(torch)
    here, there = numbers(r), numbers(theirs_r)
    if (
        dtype == "complex64"
    ):  # of a square matrix, MKL may leave the last number as it is, LAPACK makes it real
        here, there = abs(here), abs(there)
    np.testing.assert_allclose(here, there, rtol=close, atol=close)
    if mode != "r":
        unit = ours.eye(q.shape[-1], dtype=a.dtype).expand(*q.shape[:-2], -1, -1)
        np.testing.assert_allclose(numbers(q.mH @ q), numbers(unit), atol=close)
        np.testing.assert_allclose(numbers(q @ r), numbers(a), atol=close * 10)


@pytest.mark.parametrize("scale", [1e-30, 1e-20, 1e18, 1e30])
@pytest.mark.parametrize("size", [6, 60])
def test_orthogonal_factors_of_numbers_whose_squares_leave_the_range(both, size, scale):
    def program(library):
        a = np.random.default_rng(10).standard_normal((size, size)) * scale
        q, r = library.linalg.qr(library.tensor(a.tolist(), dtype=library.float32))
        return numbers(q), numbers(r) / scale

    torch, ours = both
    for here, there in zip(program(ours), program(torch), strict=True):
        np.testing.assert_allclose(here, there, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("shape", [(20000, 3), (2, 5, 70, 90), (7,), (3, 4, 1, 5)])
def test_losses_of_many_places(both, shape, reduction):
    def program(library):
        generator = np.random.default_rng(11)
        classes = shape[0] if len(shape) == 1 else shape[1]
        places = shape[:1] + shape[2:] if len(shape) > 1 else ()
        scores = library.tensor(
            generator.standard_normal(shape).tolist(), dtype=library.float64, requires_grad=True
        )
        target = library.tensor(generator.integers(0, classes, places).tolist())
        weight = library.linspace(0.5, 2, classes, dtype=library.float64)
        loss = library.nn.functional.nll_loss(scores, target, weight, ignore_index=1, reduction=reduction)
        (loss * loss).sum().backward()
        return [numbers(each) for each in (loss, scores.grad)]

    torch, ours = both
    for here, there in zip(program(ours), program(torch), strict=True):
        np.testing.assert_allclose(here, there, rtol=1e-10, atol=1e-12)


def test_a_target_that_is_no_class_is_refused_in_every_thread(both):
    for library in both:
        scores, target = library.zeros(50000, 3), library.zeros(50000, dtype=library.int64)
        target[-1] = 3
        with pytest.raises(IndexError, match="Target 3 is out of bounds"):
            library.nn.functional.nll_loss(scores, target)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape, dim", [((5000,), 0), ((9, 300), 1), ((300, 9), 0)])
def test_products_of_lines(both, shape, dim, dtype):
    def program(library):
        x = np.random.default_rng(12).uniform(0.9, 1.11, shape) * (-1) ** np.arange(shape[-1])
        return numbers(library.tensor(x.tolist(), dtype=getattr(library, dtype)).prod(dim))

    torch, ours = both
    np.testing.assert_allclose(program(ours), program(torch), rtol=1e-4 if dtype == "float32" else 1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "int64", "uint8", "bool"])
@pytest.mark.parametrize("shape, dim", [((9, 100), 1), ((9, 100), 0), ((5, 16), 1), ((3, 1), 1), ((2, 0), 1)])
@pytest.mark.parametrize("kind", ["numbers", "falling", "rising", "ties", "missing"])
def test_running_extrema(both, kind, shape, dim, dtype):
    def program(library):
        values = np.random.default_rng(3).standard_normal(shape) * 5
        if kind in ("falling", "rising"):
            values = np.sort(values, dim)
        if kind == "falling":
            values = np.flip(values, dim).copy()
        if kind == "ties" or not dtype.startswith(("float", "bfloat")):
            values = np.abs(np.round(values))
        if kind == "missing" and dtype.startswith(("float", "bfloat")):
            values[:, -values.shape[1] // 2 :: 3] = np.nan
        x = library.tensor(values.tolist()).reshape(shape).to(getattr(library, dtype))
        found = [*x.cummax(dim), *x.cummin(dim), *x[:, ::2].cummax(dim), *x.t().cummin(dim)]
        return [numbers(each.double()) for each in found]

    torch, ours = both
    np.testing.assert_equal(program(ours), program(torch))


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 0.5, -1, -2, -0.5, 1.5])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_powers_of_one_exponent(both, dtype, exponent):
    def program(library):
        values = [0.0, 1.0, -2.5, float("inf"), float("nan"), 3.25] * 41
        if exponent not in (0.5, -0.5):  # which of them are roots is not said
            values += [-0.0, -float("inf")] * 9
        x = library.tensor(values).to(getattr(library, dtype))
        found = [x**exponent, x[::3] ** exponent, x ** x.new_tensor(exponent), x[:0] ** exponent]
        return [numbers(each.double()) for each in found]

    torch, ours = both
    for mine, theirs in zip(program(ours), program(torch), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-2 if dtype == "bfloat16" else 1e-3)


def test_powers_of_integers_by_one_exponent(both):
    def program(library):
        x = library.arange(-20, 21)
        found = [x**0, x**1, x**2, x.int() ** 3, x.abs() ** 0.5, (x > 3) ** 2]
        return [(str(each.dtype).split(".")[-1], numbers(each)) for each in found]

    torch, ours = both
    for (dtype, mine), (their_dtype, theirs) in zip(program(ours), program(torch), strict=True):
        assert dtype == their_dtype
        np.testing.assert_allclose(mine, theirs, rtol=1e-6)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("width", [1, 7, 40, 1025])
@pytest.mark.parametrize("step", [1, 2])
def test_reductions_of_short_rows_of_halves(both, step, width, dtype):
    def program(library):
        values = np.random.default_rng(width).standard_normal((700, width))
        values[3, 0] = np.nan
        x = library.tensor(values.tolist()).to(getattr(library, dtype))[:, ::step]
        found = [x.sum(1), x.mean(1), x.amax(1), x.amin(1), x.nansum(1), (x > 0).any(1), (x > 0).all(1)]
        found += [library.linalg.vector_norm(x, dim=1), x[:, :0].sum(1), x[3:5].prod(1)]
        return [numbers(each.double()) for each in found]

    torch, ours = both
    for mine, theirs in zip(program(ours), program(torch), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize("order", [3, 2.5, -1.5, float("inf"), -float("inf")])
@pytest.mark.parametrize("dims", [None, (0,), (1,), (2,), (0, 2), (0, 1)])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "complex64"])
def test_norms_of_any_order_by_parts(both, dtype, dims, order):
    def program(library):
        values = np.random.default_rng(5).standard_normal((30, 41, 50)) + 3
        x = library.tensor(values.tolist()).to(getattr(library, dtype))
        norm = library.linalg.vector_norm
        found = [norm(x, order, dims), norm(x.transpose(0, 2), order, dims, keepdim=True)]
        return [numbers(each.double()) for each in found]

    torch, ours = both
    for mine, theirs in zip(program(ours), program(torch), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=2e-2 if dtype == "bfloat16" else 2e-5)


def test_the_largest_norm_of_nothing_and_of_what_is_no_number(both):
    def program(library):
        norm = library.linalg.vector_norm
        x = library.ones(40, 1000)
        x[3, 5], x[7, 9] = float("nan"), -float("inf")
        found = [norm(library.zeros(0)), norm(x[3:5], float("inf"), 1), norm(x, float("inf"), 0)]
        found += [norm(x, -float("inf"), 1), norm(x, float("inf"), 1, dtype=library.float64)]
        return [(str(each.dtype).split(".")[-1], numbers(each)) for each in found]

    torch, ours = both
    assert str(program(ours)) == str(program(torch))


@pytest.mark.parametrize("kernel, stride, padding", [(3, 2, 1), (5, 3, 2), ((1, 9, 2), 1, 0), (3, 1, 1)])
def test_largest_of_windows_of_many_rows(both, kernel, stride, padding):
    def program(library):
        values = np.random.default_rng(2).integers(-9, 9, (2, 3, 12, 14, 16)).astype(float)
        values[0, 1, 4, 4, 5] = values[0, 1, 5, 4, 4] = np.nan
        x = library.tensor(values.tolist())
        pool = library.nn.functional.max_pool3d
        return [numbers(each) for each in pool(x, kernel, stride, padding, return_indices=True)]

    torch, ours = both
    np.testing.assert_equal(program(ours), program(torch))


@pytest.mark.parametrize("dims", [(1,), (2,), (1, 2), (0, 1), (0, 2), (0, 1, 2)])
@pytest.mark.parametrize("width", [1, 7, 30])
def test_logarithms_of_sums_over_several_dims(both, width, dims):
    def program(library):
        values = np.random.default_rng(width).standard_normal((6, 11, width))
        values[0, 0, 0], values[1, 1, 0], values[2, 2, 0] = np.inf, -np.inf, np.nan
        x = library.tensor(values.tolist())
        found = [x.logsumexp(dims), x[3:].logsumexp(dims), x[3:].bfloat16().logsumexp(dims)]
        found += [x[3:].transpose(0, 2).logsumexp(dims, keepdim=True), x[3:].double().logsumexp(dims)]
        return [numbers(each.double()) for each in found]

    torch, ours = both
    for mine, theirs in zip(program(ours), program(torch), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-2)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int64"])
@pytest.mark.parametrize("channels", [3, 8, 300])
@pytest.mark.parametrize("kernel, stride, padding, dilation", [(2, 2, 0, 1), (3, 2, 1, 1), (3, 1, 1, 2)])
def test_largest_of_windows_with_channels_last(both, kernel, stride, padding, dilation, channels, dtype):
    def program(library):
        values = np.random.default_rng(channels).integers(-9, 9, (2, channels, 9, 7)).astype(float)
        if dtype != "int64":
            values[0, 1, 4, 4] = np.nan
        x = library.tensor(values.tolist()).to(getattr(library, dtype))
        x = x.contiguous(memory_format=library.channels_last)
        arguments = (kernel, stride, padding, dilation)
        result, indices = library.nn.functional.max_pool2d(x, *arguments, return_indices=True)
        return numbers(result.double()), numbers(indices), result.stride()

    torch, ours = both
    np.testing.assert_equal(program(ours)[:2], program(torch)[:2])


@pytest.mark.parametrize("size", [1, 511, 513, 1300])
def test_indices_of_long_rows_are_looked_at(both, size):
    def program(library):
        generator = np.random.default_rng(size)
        x = library.tensor(generator.standard_normal((5, 40)).tolist())
        index = library.tensor(generator.integers(0, 40, size).tolist())
        found = [x.index_select(1, index), x[:, index - 40], x.gather(1, index.expand(5, size))]
        found += [x.to(library.uint8).index_select(1, index), x.double().t().index_select(0, index)]
        index[size // 2] = 40
        for refused in (lambda: x.index_select(1, index), lambda: x[:, index]):
            with pytest.raises((IndexError, RuntimeError)):
                refused()
        return [numbers(each.double()) for each in found]

    torch, ours = both
    np.testing.assert_equal(program(ours), program(torch))


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "int64"])
@pytest.mark.parametrize("alpha, beta", [(1, 1), (2, 1), (0, 1), (1, 0), (3, 2)])
def test_outer_products_added(both, alpha, beta, dtype):
    def program(library):
        kind = getattr(library, dtype)
        generator = np.random.default_rng(4)
        wide, left, right = (generator.integers(-9, 9, s).tolist() for s in ((30, 300), 30, 600))
        x, v, w = (library.tensor(each).to(kind) for each in (wide, left, right))
        found = [x.addr(v, w[::2], alpha=alpha, beta=beta), x[0].addr(v, w[:300], alpha=alpha, beta=beta)]
        found += [x.clone().addr_(v, w[300:], alpha=alpha, beta=beta), x[:, :0].addr(v, w[:0])]
        return [numbers(each.double()) for each in found]

    torch, ours = both
    for mine, theirs in zip(program(ours), program(torch), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-2 if dtype == "bfloat16" else 1e-6)
