"""Batch, group, layer and RMS normalisation."""

import torch
import torch.nn.functional as F

from .harness import FLOATS_AND_DOUBLE, OUT, AnyResult, Inplace, case
from .reference import exact, gradients, rounded, wide

aten = torch.ops.aten
EPS = 1e-5
NOTHING = torch.empty(0)


def _statistics(make):
    """The dtype that a card keeps statistics in."""
    return torch.float64 if make.dtype == torch.float64 else torch.float32


def _vector(make, count, low=-3.0):
    return make(count, low=low, dtype=_statistics(make))


@case("aclnnBatchNorm", dtypes=FLOATS_AND_DOUBLE, tolerance=4)
def batch_normalisation_in_training_and_evaluation(make):
    kept = _statistics(make)
    for shape in ((4, 6, 5, 3), (4, 6), (2, 6, 3, 2, 2)):
        x, w, b = make(*shape), _vector(make, 6), _vector(make, 6)
        mean, var = _vector(make, 6), _vector(make, 6, low=0.1)
        new_mean, new_var = wide(mean).clone(), wide(var).clone()
        out, saved, invstd = torch.native_batch_norm(
            wide(x), wide(w), wide(b), new_mean, new_var, True, 0.1, EPS
        )
        yield (
            [x, w, b, Inplace(mean), Inplace(var), True, 0.1, EPS, OUT, OUT, OUT],
            (new_mean.to(kept), new_var.to(kept), out.to(make.dtype), saved.to(kept), invstd.to(kept)),
        )
        out = F.batch_norm(wide(x), wide(mean), wide(var), wide(w), wide(b), False, 0.1, EPS)
        yield [x, w, b, mean, var, False, 0.1, EPS, OUT, None, None], out.to(make.dtype)
        out = F.batch_norm(wide(x), None, None, None, None, True, 0.1, EPS)
        yield (
            [x, None, None, None, None, True, 0.1, EPS, OUT, AnyResult((6,), kept), AnyResult((6,), kept)],
            (out.to(make.dtype), NOTHING, NOTHING),
        )


def _batch_norm_gradients(make, version):
    kept = _statistics(make)
    x, grad, w = make(4, 6, 5, 3), make(4, 6, 5, 3), _vector(make, 6)
    mean, var = _vector(make, 6), _vector(make, 6, low=0.1)
    _, saved, invstd = torch.native_batch_norm(wide(x), wide(w), None, None, None, True, 0.1, EPS)
    for training in (True, False):
        made = aten.native_batch_norm_backward(
            *map(wide, (grad, x, w, mean, var, saved, invstd)), training, EPS, [True] * 3
        )
        yield (
            [grad, x, w, mean, var, saved.to(kept), invstd.to(kept), training, EPS, [True] * 3]
            + [*version, OUT, OUT, OUT],
            (made[0].to(make.dtype), made[1].to(kept), made[2].to(kept)),
        )


@case("aclnnBatchNormBackward", "aclnnFastBatchNormBackward", dtypes=FLOATS_AND_DOUBLE, tolerance=8)
def the_gradients_of_batch_normalisation(make, operator):
    yield from _batch_norm_gradients(make, [0] if "Fast" in operator else [])


def _channel_sums(x):
    return x.sum((0, 2, 3))


@case("aclnnBatchNormStats", dtypes=FLOATS_AND_DOUBLE, tolerance=2)
def the_statistics_of_channels(make):
    x = make(4, 6, 5, 3)
    mean, var = wide(x).mean((0, 2, 3)), wide(x).var((0, 2, 3), unbiased=False)
    return [x, EPS, OUT, OUT], rounded((mean, (var + EPS).rsqrt()), _statistics(make))


@case("aclnnBatchNormReduce", dtypes=FLOATS_AND_DOUBLE, tolerance=4)
def sums_and_sums_of_squares_of_channels(make):
    x = make(4, 6, 5, 3)
    return [x, OUT, OUT], rounded((_channel_sums(wide(x)), _channel_sums(wide(x) ** 2)), _statistics(make))


@case("aclnnBatchNormElemt", dtypes=FLOATS_AND_DOUBLE, tolerance=4)
def given_statistics_normalise(make):
    x, w, b = make(4, 6, 5, 3), _vector(make, 6), _vector(make, 6)
    mean, invstd = _vector(make, 6), _vector(make, 6, low=0.1)
    spread = [v.double()[None, :, None, None] for v in (mean, invstd, w, b)]
    out = (wide(x) - spread[0]) * spread[1] * spread[2] + spread[3]
    return [x, w, b, mean, invstd, EPS, OUT], out.to(make.dtype)


def _backward_sums(grad, x, mean):
    distance = wide(x) - wide(mean)[None, :, None, None]
    return _channel_sums(wide(grad)), _channel_sums(wide(grad) * distance)


@case("aclnnBatchNormReduceBackward", dtypes=FLOATS_AND_DOUBLE, tolerance=8)
def the_sums_behind_the_gradients(make):
    x, grad, w = make(4, 6, 5, 3), make(4, 6, 5, 3), _vector(make, 6)
    mean, invstd = _vector(make, 6), _vector(make, 6, low=0.1)
    sums, products = _backward_sums(grad, x, mean)
    wanted = rounded((sums, products, products * wide(invstd), sums), _statistics(make))
    return [grad, x, mean, invstd, w, True, True, True, OUT, OUT, OUT, OUT], wanted


@case("aclnnBatchNormElemtBackward", dtypes=FLOATS_AND_DOUBLE, tolerance=8)
def the_gradient_from_sums_over_all_devices(make):
    kept = _statistics(make)
    x, grad, w = make(4, 6, 5, 3), make(4, 6, 5, 3), _vector(make, 6)
    _, mean, invstd = torch.native_batch_norm(wide(x), wide(w), None, None, None, True, 0.1, EPS)
    sums, products = _backward_sums(grad, x, mean)
    wanted = aten.native_batch_norm_backward(
        *map(wide, (grad, x, w)), None, None, mean, invstd, True, EPS, [True] * 3
    )[0]
    counts = torch.tensor([20, 40], dtype=torch.int32)
    return [
        grad,
        x,
        *rounded((mean, invstd), kept),
        w,
        *rounded((sums, products), kept),
        counts,
        OUT,
    ], wanted.to(make.dtype)


@case("aclnnBatchNormGatherStatsWithCounts", dtypes=(torch.float32, torch.float64), tolerance=4)
def statistics_of_several_devices_meet(make):
    x, mean, var = make(4, 6, 5, 3), _vector(make, 6), _vector(make, 6, low=0.1)
    parts = wide(x).split([1, 3])
    means = torch.stack([p.mean((0, 2, 3)) for p in parts])
    spreads = torch.stack([(p.var((0, 2, 3), unbiased=False) + EPS).rsqrt() for p in parts])
    new_mean, new_var = wide(mean).clone(), wide(var).clone()
    _, saved, invstd = torch.native_batch_norm(wide(x), None, None, new_mean, new_var, True, 0.1, EPS)
    kept = _statistics(make)
    counts = torch.tensor([15, 45], dtype=kept)
    return (
        [x, means.to(kept), spreads.to(kept), Inplace(mean), Inplace(var), 0.1, EPS, counts, OUT, OUT],
        rounded((new_mean, new_var, saved, invstd), kept),
    )


@case("aclnnSyncBatchNormGatherStats", dtypes=(torch.float32,), tolerance=8)
def sums_of_several_devices_meet(make):
    x, mean, var = make(4, 6, 5, 3), make(6), make(6, low=0.1)
    parts = wide(x).split([1, 3])
    sums, squares = (torch.stack([_channel_sums(p**power) for p in parts]).float() for power in (1, 2))
    new_mean, new_var = wide(mean).clone(), wide(var).clone()
    _, saved, invstd = torch.native_batch_norm(wide(x), None, None, new_mean, new_var, True, 0.1, EPS)
    counts = torch.tensor([15, 45], dtype=torch.int32)
    return (
        [sums, squares, counts, Inplace(mean), Inplace(var), 0.1, EPS, OUT, OUT],
        rounded((new_mean, new_var, saved, invstd), torch.float32),
    )


@case("aclnnInstanceNorm", dtypes=FLOATS_AND_DOUBLE, tolerance=4)
def every_plane_normalised_by_itself(make):
    x, w, b = make(2, 6, 5, 3), make(6), make(6)
    mean, var = wide(x).mean((2, 3), True), wide(x).var((2, 3), unbiased=False, keepdim=True)
    out = F.instance_norm(*map(wide, (x,)), None, None, wide(w), wide(b))
    yield [x, w, b, "NCHW", EPS, OUT, OUT, OUT], rounded((out, mean, var), make.dtype)
    turned = x.permute(0, 2, 3, 1).contiguous()
    yield (
        [turned, w, b, "NHWC", EPS, OUT, OUT, OUT],
        rounded((out.permute(0, 2, 3, 1), mean, var), make.dtype),
    )


def _group_statistics(x, groups):
    grouped = wide(x).reshape(x.shape[0], groups, -1)
    return grouped.mean(2), (grouped.var(2, unbiased=False) + EPS).rsqrt()


@case("aclnnGroupNorm", dtypes=FLOATS_AND_DOUBLE, tolerance=4)
def group_normalisation(make):
    x, w, b = make(4, 6, 5, 3), make(6), make(6)
    out = F.group_norm(wide(x), 3, wide(w), wide(b))
    yield [x, w, b, 4, 6, 15, 3, EPS, OUT, OUT, OUT], rounded((out, *_group_statistics(x, 3)), make.dtype)
    yield (
        [x, None, None, 4, 6, 15, 2, EPS, OUT, OUT, OUT],
        rounded((F.group_norm(wide(x), 2), *_group_statistics(x, 2)), make.dtype),
    )


@case("aclnnGroupNormBackward", dtypes=FLOATS_AND_DOUBLE, tolerance=16)
def the_gradients_of_group_normalisation(make):
    x, grad, w = make(4, 6, 5, 3), make(4, 6, 5, 3), make(6)
    mean, rstd = rounded(_group_statistics(x, 3), _statistics(make))
    made = aten.native_group_norm_backward(*map(wide, (grad, x, mean, rstd, w)), 4, 6, 15, 3, [True] * 3)
    return [grad, x, mean, rstd, w, 4, 6, 15, 3, [True] * 3, OUT, OUT, OUT], rounded(made, make.dtype)


@case(
    "aclnnGroupNormSilu", "aclnnGroupNormSiluV2", "aclnnGroupNormSwish", dtypes=FLOATS_AND_DOUBLE, tolerance=4
)
def group_normalisation_with_an_activation(make, operator):
    x, w, b = make(4, 6, 5, 3), make(6), make(6)
    out = F.group_norm(wide(x), 3, wide(w), wide(b))
    results = (OUT, OUT, OUT)

    def wanted(value):
        return rounded((value, *_group_statistics(x, 3)), make.dtype)

    if operator == "aclnnGroupNormSilu":
        yield [x, w, b, 3, EPS, *results], wanted(F.silu(out))
    elif operator == "aclnnGroupNormSiluV2":
        yield [x, w, b, 3, EPS, True, *results], wanted(F.silu(out))
        yield [x, w, b, 3, EPS, False, *results], wanted(out)
    else:
        for scale in (1.0, 2.0):
            yield [x, w, b, 3, "NCHW", EPS, True, scale, *results], wanted(out * torch.sigmoid(scale * out))
        yield [x, w, b, 3, "NCHW", EPS, False, 1.0, *results], wanted(out)


@case("aclnnGroupNormSwishGrad", dtypes=FLOATS_AND_DOUBLE, tolerance=16)
def the_gradients_of_group_normalisation_with_an_activation(make):
    x, grad, w, b = make(4, 6, 5, 3), make(4, 6, 5, 3), make(6), make(6)

    def swish(x, w, b):
        out = F.group_norm(x, 3, w, b)
        return out * torch.sigmoid(2 * out)

    made = gradients(swish, grad, x, w, b, dtype=make.dtype)
    mean, rstd = rounded(_group_statistics(x, 3), _statistics(make))
    return [grad, mean, rstd, x, w, b, 3, "NCHW", 2.0, True, True, OUT, OUT, OUT], made


def _row_statistics(x):
    return x.mean(-1, keepdim=True), (x.var(-1, unbiased=False, keepdim=True) + EPS).rsqrt()


@case(
    "aclnnLayerNorm",
    "aclnnFastLayerNorm",
    "aclnnLayerNormWithImplMode",
    dtypes=FLOATS_AND_DOUBLE,
    tolerance=4,
)
def layer_normalisation(make, operator):
    x, w, b = make(3, 4, 10), make(10), make(10)
    mode = [0] if "Mode" in operator else []
    out = F.layer_norm(wide(x), [10], wide(w), wide(b), EPS)
    wanted = (out.to(make.dtype), *rounded(_row_statistics(wide(x)), _statistics(make)))
    yield [x, [10], w, b, EPS, OUT, OUT, OUT, *mode], wanted
    yield (
        [x, [4, 10], None, None, EPS, OUT, None, None, *mode],
        exact(lambda x: F.layer_norm(x, [4, 10]), x, dtype=make.dtype),
    )


@case("aclnnLayerNormBackward", dtypes=FLOATS_AND_DOUBLE, tolerance=8)
def the_gradients_of_layer_normalisation(make):
    x, grad, w, b = make(3, 4, 10), make(3, 4, 10), make(10), make(10)
    mean, rstd = rounded(_row_statistics(wide(x)), _statistics(make))
    made = gradients(lambda x, w, b: F.layer_norm(x, [10], w, b, EPS), grad, x, w, b, dtype=make.dtype)
    yield [grad, x, [10], mean, rstd, w, b, [True] * 3, OUT, OUT, OUT], made
    yield [grad, x, [10], mean, rstd, w, b, [True, False, False], OUT, None, None], made[0]


@case("aclnnAddLayerNorm", dtypes=FLOATS_AND_DOUBLE, tolerance=4)
def a_sum_and_its_layer_normalisation(make):
    x, y, w, b, bias = make(3, 4, 10), make(3, 4, 10), make(10), make(10), make(10)
    for extra in (None, bias):
        total = wide(x) + wide(y) + (0 if extra is None else wide(extra))
        out = F.layer_norm(total, [10], wide(w), wide(b), EPS)
        statistics = rounded(_row_statistics(total), _statistics(make))
        wanted = (out.to(make.dtype), *statistics, total.to(make.dtype))
        yield [x, y, w, b, extra, EPS, True, OUT, OUT, OUT, OUT], wanted


@case("aclnnAddLayerNormGrad", dtypes=FLOATS_AND_DOUBLE, tolerance=8)
def the_gradients_of_a_sum_and_its_layer_normalisation(make):
    x, y, w, grad, more = make(3, 4, 10), make(3, 4, 10), make(10), make(3, 4, 10), make(3, 4, 10)
    total = wide(x) + wide(y)
    mean, rstd = rounded(_row_statistics(total), _statistics(make))
    zero = torch.zeros(10, dtype=torch.float64)
    made = gradients(
        lambda x, w, b: F.layer_norm(x, [10], w, b, EPS), grad, total, w, zero, dtype=torch.float64
    )
    for extra in (None, more):
        dx = made[0] + (0 if extra is None else wide(extra))
        yield (
            [grad, x, y, rstd, mean, w, extra, OUT, OUT, OUT],
            (dx.to(make.dtype), *rounded(made[1:], _statistics(make))),
        )


@case("aclnnDeepNorm", dtypes=FLOATS_AND_DOUBLE, tolerance=4)
def a_weighted_sum_and_its_layer_normalisation(make):
    x, y, w, b = make(3, 4, 10), make(3, 4, 10), make(10), make(10)
    total = wide(x) * 1.5 + wide(y)
    out = F.layer_norm(total, [10], wide(w), wide(b), EPS)
    return [x, y, b, w, 1.5, EPS, OUT, OUT, OUT], (
        *rounded(_row_statistics(total), _statistics(make)),
        out.to(make.dtype),
    )


@case("aclnnDeepNormGrad", dtypes=FLOATS_AND_DOUBLE, tolerance=8)
def the_gradients_of_a_weighted_sum_and_its_layer_normalisation(make):
    x, y, w, grad = make(3, 4, 10), make(3, 4, 10), make(10), make(3, 4, 10)
    zero = torch.zeros(10, dtype=torch.float64)
    mean, rstd = rounded(_row_statistics(wide(x) * 1.5 + wide(y)), _statistics(make))
    made = gradients(
        lambda x, y, w, b: F.layer_norm(x * 1.5 + y, [10], w, b, EPS),
        grad,
        x,
        y,
        w,
        zero,
        dtype=torch.float64,
    )
    wanted = (*rounded(made[:2], make.dtype), *rounded((made[3], made[2]), _statistics(make)))
    return [grad, x, y, w, mean, rstd, 1.5, OUT, OUT, OUT, OUT], wanted


def _rms(x, w):
    rstd = (x.pow(2).mean(-1, keepdim=True) + EPS).rsqrt()
    return x * rstd * w, rstd


@case("aclnnRmsNorm", "aclnnGemmaRmsNorm", dtypes=FLOATS_AND_DOUBLE, tolerance=4)
def rms_normalisation(make, operator):
    x, w = make(3, 4, 10), make(10)
    out, rstd = _rms(wide(x), wide(w) + (1 if "Gemma" in operator else 0))
    return [x, w, EPS, OUT, OUT], (out.to(make.dtype), rstd.to(_statistics(make)))


@case("aclnnRmsNormGrad", dtypes=FLOATS_AND_DOUBLE, tolerance=8)
def the_gradients_of_rms_normalisation(make):
    x, w, grad = make(3, 4, 10), make(10), make(3, 4, 10)
    rstd = _rms(wide(x), wide(w))[1].to(_statistics(make))
    dx, dw = gradients(lambda x, w: _rms(x, w)[0], grad, x, w, dtype=torch.float64)
    return [grad, x, rstd, w, OUT, OUT], (dx.to(make.dtype), dw.to(_statistics(make)))


@case(
    "aclnnAddRmsNorm", "aclnnAddRmsNormCast", "aclnnInplaceAddRmsNorm", dtypes=FLOATS_AND_DOUBLE, tolerance=4
)
def a_sum_and_its_rms_normalisation(make, operator):
    x, y, w = make(3, 4, 10), make(3, 4, 10), make(10)
    total = wide(x) + wide(y)
    precise, rstd = _rms(total, wide(w))
    out, rstd, total = precise.to(make.dtype), rstd.to(_statistics(make)), total.to(make.dtype)
    if "Inplace" in operator:
        return [Inplace(x), Inplace(y), w, EPS, OUT], (out, total, rstd)
    if "Cast" in operator:
        # The first result is the norm in single precision.
        return [x, y, w, EPS, OUT, OUT, OUT, OUT], (precise.to(_statistics(make)), out, rstd, total)
    return [x, y, w, EPS, OUT, OUT, OUT], (out, rstd, total)


@case("aclnnAdaLayerNorm", "aclnnAdaLayerNormV2", dtypes=FLOATS_AND_DOUBLE, tolerance=8)
def layer_normalisation_that_each_sample_scales(make, operator):
    x, w, b, scale, shift = make(3, 4, 10), make(10), make(10), make(3, 10), make(3, 10)
    out = F.layer_norm(wide(x), [10], wide(w), wide(b), EPS)
    out = (out * (1 + wide(scale)[:, None]) + wide(shift)[:, None]).to(make.dtype)
    if operator.endswith("V2"):
        statistics = rounded(_row_statistics(wide(x)), _statistics(make))
        return [x, scale, shift, w, b, EPS, OUT, OUT, OUT], (out, *statistics)
    return [x, scale, shift, w, b, EPS, OUT], out
