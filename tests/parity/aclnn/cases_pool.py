"""Averages and maxima over windows."""

import torch
import torch.nn.functional as F

from .harness import FLOATS_AND_DOUBLE, OUT, AnyResult, case
from .reference import exact, gradients, wide

aten = torch.ops.aten
REAL = (*FLOATS_AND_DOUBLE, torch.int32, torch.int64)
_AVERAGES = [
    ([3, 2], [2, 2], [1, 1], False, True),
    ([3, 3], [2, 1], [1, 0], True, False),
    ([2, 2], [], [0, 0], False, True),
]


@case("aclnnAvgPool2d", dtypes=FLOATS_AND_DOUBLE)
def averages_over_windows_of_two_dimensions(make):
    x = make(2, 3, 9, 8)
    for options in _AVERAGES:
        yield [x, *options, 0, 0, OUT], exact(lambda x, o=options: F.avg_pool2d(x, *o), x, dtype=make.dtype)
    yield (
        [x, [2, 2], [2, 2], [0, 0], False, True, 3, 0, OUT],
        exact(lambda x: F.avg_pool2d(x, 2, 2, divisor_override=3), x, dtype=make.dtype),
    )


@case("aclnnAvgPool2dBackward", dtypes=FLOATS_AND_DOUBLE)
def the_gradient_of_averages_over_windows_of_two_dimensions(make):
    x = make(2, 3, 9, 8)
    for options in _AVERAGES:
        grad = make(*F.avg_pool2d(x.double(), *options).shape)
        wanted = exact(
            lambda g, x, o=options: aten.avg_pool2d_backward(g, x, *o, None), grad, x, dtype=make.dtype
        )
        yield [grad, x, *options, 0, 0, OUT], wanted


@case("aclnnAvgPool3d", dtypes=FLOATS_AND_DOUBLE)
def averages_over_windows_of_three_dimensions(make):
    x = make(2, 3, 6, 5, 7)
    wanted = exact(lambda x: F.avg_pool3d(x, 2, 2, 1), x, dtype=make.dtype)
    return [x, [2, 2, 2], [2, 2, 2], [1, 1, 1], False, True, 0, OUT], wanted


@case("aclnnAvgPool3dBackward", dtypes=FLOATS_AND_DOUBLE)
def the_gradient_of_averages_over_windows_of_three_dimensions(make):
    x, grad = make(2, 3, 6, 5, 7), make(2, 3, 4, 3, 4)
    (wanted,) = gradients(lambda x: F.avg_pool3d(x, 2, 2, 1), grad, x, dtype=make.dtype)
    return [grad, x, [2, 2, 2], [2, 2, 2], [1, 1, 1], False, True, 0, OUT], wanted


@case("aclnnMaxPool2dWithIndices", dtypes=REAL)
def maxima_over_windows_of_two_dimensions(make):
    x = make(2, 3, 9, 8)
    for options in (([3, 3], [2, 2], [1, 1], [1, 1], False), ([2, 3], [2, 1], [0, 1], [2, 1], True)):
        out, indices = F.max_pool2d(wide(x), *options, return_indices=True)
        yield [x, *options, OUT, OUT], (out.to(make.dtype), indices.int())


@case("aclnnMaxPool2dWithIndicesBackward", dtypes=FLOATS_AND_DOUBLE)
def the_gradient_of_maxima_over_windows_of_two_dimensions(make):
    x, options = make(2, 3, 9, 8), ([3, 3], [2, 2], [1, 1], [1, 1], False)
    out, indices = F.max_pool2d(wide(x), *options, return_indices=True)
    grad = make(*out.shape)
    (wanted,) = gradients(lambda x: F.max_pool2d(x, *options), grad, x, dtype=make.dtype)
    return [grad, x, indices.int(), *options, OUT], wanted


@case("aclnnMaxPool2dWithMask", dtypes=FLOATS_AND_DOUBLE)
def maxima_over_windows_with_a_mask_for_the_gradient(make):
    x = make(2, 3, 9, 8)
    out = F.max_pool2d(x, 3, 2, 1)
    mask = AnyResult((2, 3, 9, ((out[0, 0].numel() + 15) // 16 + 1) * 32), torch.int8)
    return [x, [3, 3], [2, 2], [1, 1], [1, 1], False, OUT, mask], (out, torch.empty(0))


def _pool_mask(indices, out_shape, image, kernel, stride, padding):
    """The software NPU's mask: for each output of a plane two bytes, the place of the maximum in its window."""
    rows, columns = out_shape[-2:]
    mask = torch.zeros(
        *indices.shape[:2], kernel * kernel, ((rows * columns + 15) // 16 + 1) * 32, dtype=torch.uint8
    )
    top = (torch.arange(rows) * stride - padding)[:, None]
    left = torch.arange(columns) * stride - padding
    place = (indices // image[1] - top) * kernel + (indices % image[1] - left)
    flat = mask.view(*indices.shape[:2], -1)
    flat[..., 0 : 2 * rows * columns : 2] = (place % 256).flatten(2).to(torch.uint8)
    flat[..., 1 : 2 * rows * columns : 2] = (place // 256).flatten(2).to(torch.uint8)
    return mask.view(torch.int8)


@case("aclnnMaxPool2dWithMaskBackward", dtypes=FLOATS_AND_DOUBLE)
def the_gradient_of_maxima_through_their_mask(make):
    x = make(2, 3, 9, 8)
    out, indices = F.max_pool2d(wide(x), 3, 2, 1, return_indices=True)
    grad = make(*out.shape)
    (wanted,) = gradients(lambda x: F.max_pool2d(x, 3, 2, 1), grad, x, dtype=make.dtype)
    mask = _pool_mask(indices, out.shape, (9, 8), 3, 2, 1)
    return [grad, x, mask, [3, 3], [2, 2], [1, 1], [1, 1], False, OUT], wanted


@case("aclnnMaxPool3dWithArgmax", dtypes=FLOATS_AND_DOUBLE)
def maxima_over_windows_of_three_dimensions(make):
    x, options = make(2, 3, 6, 5, 7), ([2, 2, 2], [2, 2, 2], [1, 1, 1], [1, 1, 1], False)
    out, indices = F.max_pool3d(wide(x), *options, return_indices=True)
    return [x, *options, OUT, OUT], (out.to(make.dtype), indices.int())


@case("aclnnMaxPool3dWithArgmaxBackward", dtypes=FLOATS_AND_DOUBLE)
def the_gradient_of_maxima_over_windows_of_three_dimensions(make):
    x, options = make(2, 3, 6, 5, 7), ([2, 2, 2], [2, 2, 2], [1, 1, 1], [1, 1, 1], False)
    out, indices = F.max_pool3d(wide(x), *options, return_indices=True)
    grad = make(*out.shape)
    (wanted,) = gradients(lambda x: F.max_pool3d(x, *options), grad, x, dtype=make.dtype)
    return [grad, x, indices.int(), *options, OUT], wanted


@case("aclnnMaxPool", dtypes=FLOATS_AND_DOUBLE)
def maxima_over_windows_alone(make):
    x = make(2, 3, 9, 8)
    return [x, [3, 3], [2, 2], 0, [1, 1, 1, 1], [1, 1], 0, OUT], F.max_pool2d(x, 3, 2, 1)


@case("aclnnAdaptiveAvgPool2d", dtypes=FLOATS_AND_DOUBLE)
def averages_over_a_number_of_windows(make):
    x = make(2, 3, 9, 8)
    return [x, [4, 3], OUT], exact(lambda x: F.adaptive_avg_pool2d(x, (4, 3)), x, dtype=make.dtype)


@case("aclnnAdaptiveAvgPool2dBackward", dtypes=FLOATS_AND_DOUBLE)
def the_gradient_of_averages_over_a_number_of_windows(make):
    x, grad = make(2, 3, 9, 8), make(2, 3, 4, 3)
    return [grad, x, OUT], exact(aten._adaptive_avg_pool2d_backward, grad, x, dtype=make.dtype)


@case("aclnnAdaptiveAvgPool3d", dtypes=FLOATS_AND_DOUBLE)
def averages_over_a_number_of_boxes(make):
    x = make(2, 3, 5, 6, 4)
    return [x, [4, 3, 2], OUT], exact(lambda x: F.adaptive_avg_pool3d(x, (4, 3, 2)), x, dtype=make.dtype)


@case("aclnnAdaptiveAvgPool3dBackward", dtypes=FLOATS_AND_DOUBLE)
def the_gradient_of_averages_over_a_number_of_boxes(make):
    x, grad = make(2, 3, 5, 6, 4), make(2, 3, 4, 3, 2)
    return [grad, x, OUT], exact(aten._adaptive_avg_pool3d_backward, grad, x, dtype=make.dtype)


@case("aclnnAdaptiveMaxPool2d", "aclnnAdaptiveMaxPool3d", dtypes=FLOATS_AND_DOUBLE)
def maxima_over_a_number_of_windows(make, operator):
    space, size = ((9, 8), (4, 3)) if "2d" in operator else ((5, 6, 4), (4, 3, 2))
    x = make(2, 3, *space)
    pool = F.adaptive_max_pool2d if "2d" in operator else F.adaptive_max_pool3d
    out, indices = pool(wide(x), size, return_indices=True)
    return [x, list(size), OUT, OUT], (out.to(make.dtype), indices)


@case("aclnnAdaptiveMaxPool2dBackward", "aclnnAdaptiveMaxPool3dBackward", dtypes=FLOATS_AND_DOUBLE)
def the_gradient_of_maxima_over_a_number_of_windows(make, operator):
    space, size = ((9, 8), (4, 3)) if "2d" in operator else ((5, 6, 4), (4, 3, 2))
    x, grad = make(2, 3, *space), make(2, 3, *size)
    pool = F.adaptive_max_pool2d if "2d" in operator else F.adaptive_max_pool3d
    _, indices = pool(wide(x), size, return_indices=True)
    (wanted,) = gradients(lambda x: pool(x, size), grad, x, dtype=make.dtype)
    return [grad, x, indices, OUT], wanted


@case("aclnnGlobalAveragePool", "aclnnGlobalMaxPool", dtypes=FLOATS_AND_DOUBLE)
def one_number_for_a_plane(make, operator):
    x = make(2, 3, 4, 5)
    wanted = x.amax((2, 3), True) if "Max" in operator else wide(x).mean((2, 3), True).to(make.dtype)
    return [x, OUT], wanted


@case("aclnnMaxUnpool2d", dtypes=FLOATS_AND_DOUBLE)
def maxima_go_back_to_their_places(make):
    out, indices = F.max_pool2d(wide(make(2, 3, 8, 8)), 2, 2, return_indices=True)
    out = out.to(make.dtype)
    return [out, indices, [8, 8], OUT], exact(
        lambda x: aten.max_unpool2d(x, indices, [8, 8]), out, dtype=make.dtype
    )


@case("aclnnMaxUnpool3d", dtypes=FLOATS_AND_DOUBLE)
def maxima_go_back_to_their_places_in_boxes(make):
    out, indices = F.max_pool3d(wide(make(2, 3, 4, 4, 4)), 2, 2, return_indices=True)
    out = out.to(make.dtype)
    wanted = exact(
        lambda x: aten.max_unpool3d(x, indices, [4, 4, 4], [2, 2, 2], [0, 0, 0]), out, dtype=make.dtype
    )
    return [out, indices, [4, 4, 4], [2, 2, 2], [0, 0, 0], OUT], wanted


@case("aclnnMaxUnpool2dBackward", "aclnnMaxUnpool3dBackward", dtypes=FLOATS_AND_DOUBLE)
def the_gradient_of_maxima_that_went_back(make, operator):
    dims = 2 if "2d" in operator else 3
    pool = F.max_pool2d if dims == 2 else F.max_pool3d
    out, indices = pool(wide(make(2, 3, *[4] * dims)), 2, 2, return_indices=True)
    grad = make(2, 3, *[4] * dims)
    wanted = grad.flatten(2).gather(2, indices.flatten(2)).reshape(out.shape)
    more = [[2] * 3, [0] * 3] if dims == 3 else []
    return [grad, out.to(make.dtype), indices, [4] * dims, *more, OUT], wanted
