"""float32 is as near to float64 here as it is with PyTorch: no operator adds up longer chains than PyTorch's does."""

import numpy as np
import pytest


def of(*shape, scale=1.0, shift=0.0):
    """Values of a normal distribution, the same every time."""
    values = np.random.default_rng(len(shape) * 1000 + shape[0]).standard_normal(shape) * scale + shift
    return values.astype("float32")


def positive(*shape):
    return abs(of(*shape))


def convolution(x, w, stride=1, padding=0, name="conv2d", **more):
    weights = of(*w, scale=(w[1] * np.prod(w[2:])) ** -0.5)
    return (lambda t, x, w: getattr(t.nn.functional, name)(x, w, None, stride, padding, **more)), (x, weights)


def places(count, size):
    return np.random.default_rng(size).integers(0, count, size)


# name: (function of the library and tensors, the tensors): their shapes make sums of hundreds to a million terms.
OPERATORS = {
    "conv2d 3x3": convolution(positive(3, 256, 7, 7), (128, 256, 3, 3), 1, 1),
    "conv2d 3x3 of stride 2": convolution(positive(3, 256, 7, 7), (128, 256, 3, 3), 2, 1),
    "conv2d 3x3 of large images": convolution(positive(2, 16, 96, 96), (24, 16, 3, 3), 1, 1),
    "conv2d 7x7 of stride 2": convolution(positive(2, 3, 128, 128), (32, 3, 7, 7), 2, 3),
    "conv2d 1x1": convolution(positive(2, 1024, 6, 6), (64, 1024, 1, 1)),
    "conv2d of few outputs": convolution(positive(2, 64, 64, 64), (2, 64, 3, 3), 1, 1),
    "conv2d of each channel": convolution(positive(2, 32, 64, 64), (32, 1, 3, 3), 1, 1, groups=32),
    "conv1d": convolution(positive(2, 96, 1000), (64, 96, 9), 1, 4, name="conv1d"),
    "conv3d": convolution(positive(2, 32, 8, 16, 16), (16, 32, 3, 3, 3), 1, 1, name="conv3d"),
    "conv_transpose2d": convolution(positive(2, 256, 8, 8), (256, 64, 4, 4), 2, 1, name="conv_transpose2d"),
    "linear": (
        lambda t, x, w, b: t.nn.functional.linear(x, w, b),
        (positive(64, 4096), of(96, 4096), of(96)),
    ),
    "linear of many rows": (
        lambda t, x, w, b: t.nn.functional.linear(x, w, b),
        (positive(20000, 24), of(32, 24), of(32)),
    ),
    "linear of one row": (lambda t, x, w: t.nn.functional.linear(x, w), (positive(1, 8192), of(64, 8192))),
    "matrix by vector": (lambda t, x, v: x @ v, (positive(300, 4000), positive(4000))),
    "vector by vector": (lambda t, u, v: u @ v, (positive(100000), positive(100000))),
    "small matrices": (lambda t, x, y: t.bmm(x, y), (positive(8, 12, 2000), positive(8, 2000, 12))),
    "einsum": (lambda t, x, y: t.einsum("bic,bjc->bij", x, y), (positive(4, 40, 900), positive(4, 50, 900))),
    "sum": (lambda t, x: x.sum(), (positive(1000003),)),
    "sum of rows": (lambda t, x: x.sum(1), (positive(100, 20000),)),
    "sum of columns": (lambda t, x: x.sum(0), (positive(20000, 100),)),
    "sum of a middle dimension": (lambda t, x: x.sum((0, 2)), (positive(60, 30, 500),)),
    "sum of a transposed matrix": (lambda t, x: x.t().sum(1), (positive(20000, 40),)),
    "mean of images": (lambda t, x: x.mean((2, 3)), (positive(4, 16, 128, 128),)),
    "var": (lambda t, x: x.var(1), (of(50, 20000, shift=3),)),
    "std of columns": (lambda t, x: x.std(0), (of(20000, 50, shift=3),)),
    "norm": (lambda t, x: x.norm(), (positive(500009),)),
    "norm of columns": (lambda t, x: x.norm(dim=0), (positive(20000, 40),)),
    "nansum": (lambda t, x: x.nansum(0), (positive(20000, 40),)),
    "prod": (lambda t, x: (1 + x * 1e-3).prod(1), (of(40, 3000),)),
    "cumsum": (lambda t, x: x.cumsum(1), (of(20, 5000),)),
    "logsumexp": (lambda t, x: x.logsumexp(1), (of(40, 30000),)),
    "softmax": (lambda t, x: x.softmax(1), (of(20, 30000),)),
    "softmax of columns": (lambda t, x: x.softmax(0), (of(30000, 20),)),
    "log_softmax": (lambda t, x: x.log_softmax(1), (of(20, 30000),)),
    "batch_norm": (
        lambda t, x, w, b: t.nn.functional.batch_norm(x, None, None, w, b, True),
        (of(8, 16, 64, 64, shift=2), of(16), of(16)),
    ),
    "batch_norm of columns": (
        lambda t, x, w, b: t.nn.functional.batch_norm(x, None, None, w, b, True),
        (of(20000, 24, shift=2), of(24), of(24)),
    ),
    "layer_norm": (
        lambda t, x, w, b: t.nn.functional.layer_norm(x, w.shape, w, b),
        (of(3000, 512, shift=2), of(512), of(512)),
    ),
    "rms_norm": (
        lambda t, x, w: t.nn.functional.rms_norm(x, w.shape, w),
        (of(3000, 512, shift=2), of(512)),
    ),
    "group_norm": (
        lambda t, x, w, b: t.nn.functional.group_norm(x, 4, w, b),
        (of(8, 16, 48, 48, shift=2), of(16), of(16)),
    ),
    "instance_norm": (
        lambda t, x: t.nn.functional.instance_norm(x),
        (of(4, 8, 80, 80, shift=2),),
    ),
    "cross_entropy": (
        lambda t, x: t.nn.functional.cross_entropy(x, t.from_numpy(places(50, 20000))),
        (of(20000, 50),),
    ),
    "mse_loss": (lambda t, x, y: t.nn.functional.mse_loss(x, y), (of(300007), of(2, 300007)[1])),
    "binary_cross_entropy": (
        lambda t, x: t.nn.functional.binary_cross_entropy_with_logits(x, t.ones_like(x)),
        (of(300007),),
    ),
    "avg_pool2d": (lambda t, x: t.nn.functional.avg_pool2d(x, 32), (positive(4, 8, 128, 128),)),
    "adaptive_avg_pool2d": (
        lambda t, x: t.nn.functional.adaptive_avg_pool2d(x, 1),
        (positive(4, 8, 128, 128),),
    ),
    "interpolate": (
        lambda t, x: t.nn.functional.interpolate(x, size=(7, 9), mode="bilinear", antialias=True),
        (positive(2, 3, 200, 300),),
    ),
    "attention": (
        lambda t, q, k, v: t.nn.functional.scaled_dot_product_attention(q, k, v),
        (of(1, 2, 300, 64), of(2, 2, 1500, 64)[:1], of(3, 2, 1500, 64)[:1]),
    ),
    "embedding": (
        lambda t, w: t.nn.functional.embedding(t.from_numpy(places(7, 20000)), w),
        (of(7, 16),),
    ),
    "index_add": (
        lambda t, x, y: x.index_add(0, t.from_numpy(places(5, 20000)), y),
        (of(5, 8), positive(20000, 8)),
    ),
    "scatter_add": (
        lambda t, x, y: x.scatter_add(0, t.from_numpy(places(5, 20000)), y),
        (of(5), positive(20000)),
    ),
    "gather": (lambda t, x: x.gather(0, t.from_numpy(places(5, 20000))), (of(5),)),
    "cdist": (lambda t, x, y: t.cdist(x, y), (of(60, 3000), of(70, 3000))),
    "pairwise_distance": (
        lambda t, x, y: t.nn.functional.pairwise_distance(x, y),
        (of(50, 8000), of(51, 8000)[:50]),
    ),
    "cosine_similarity": (lambda t, x, y: t.cosine_similarity(x, y), (of(50, 8000), of(51, 8000)[:50])),
    "gradient of a broadcast scale": (lambda t, x, s: x * s, (positive(20000, 12), positive(12))),
    "gradient of a broadcast number": (lambda t, x, s: x * s, (positive(200000), positive(1))),
    "trapezoid": (lambda t, x: t.trapezoid(x), (positive(30, 9000),)),
    "fft": (lambda t, x: t.view_as_real(t.fft.rfft(x)), (positive(8, 6000),)),
    "solve": (
        lambda t, a, b: t.linalg.solve(a, b),
        (of(200, 200, scale=0.02) + 2 * np.eye(200, dtype="float32"), of(200, 8)),
    ),
}


def results(t, dtype, function, values):
    tensors = [t.from_numpy(value).to(dtype).requires_grad_() for value in values]
    result = function(t, *tensors)
    slope = np.random.default_rng(5).uniform(0.5, 1.5, tuple(result.shape)).astype("float32")
    gradients = t.autograd.grad(result, tensors, t.from_numpy(slope).to(dtype))
    return [value.detach().double().numpy() for value in (result, *gradients)]


def distance(found, exact):
    """The root mean square of the error, relative to that of the values."""
    return np.sqrt(np.square(found - exact).mean() / np.square(exact).mean())


@pytest.mark.parametrize("name", OPERATORS)
def test_single_precision_is_as_near_to_double_precision_as_pytorchs(both, name):
    function, values = OPERATORS[name]
    theirs, _ = both
    exact = results(theirs, theirs.float64, function, values)
    theirs_off, found = (
        [distance(*pair) for pair in zip(results(t, t.float32, function, values), exact, strict=True)]
        for t in both
    )
    bounds = [2 * error + 1e-7 for error in theirs_off]
    assert all(error <= bound for error, bound in zip(found, bounds, strict=True)), (
        f"the result and the gradients are {[f'{e:.2g}' for e in found]} from float64, "
        f"more than {[f'{b:.2g}' for b in bounds]}"
    )
