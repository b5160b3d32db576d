"""Convolutions and their gradients."""

import torch
import torch.nn.functional as F

from .harness import FLOATS_AND_DOUBLE, OUT, case
from .reference import exact, rounded, wide

aten = torch.ops.aten
# Stride, padding, dilation, transposed, output padding, groups.
_CONVOLUTIONS = [
    ((2, 4, 9), (6, 4, 3), ([1], [1], [1], False, [0], 1)),
    ((2, 4, 7, 6), (6, 2, 3, 3), ([2, 1], [1, 0], [1, 2], False, [0, 0], 2)),
    ((2, 4, 5, 5), (4, 3, 3, 2), ([2, 1], [1, 0], [1, 1], True, [1, 0], 2)),
    ((1, 2, 4, 5, 4), (4, 2, 2, 3, 2), ([1, 2, 1], [1, 1, 0], [1, 1, 1], False, [0, 0, 0], 1)),
]


def _bias_size(weight, options):
    return weight[1] * options[5] if options[3] else weight[0]


@case("aclnnConvolution", dtypes=FLOATS_AND_DOUBLE, tolerance=4)
def a_convolution_of_each_kind(make):
    for input_shape, weight_shape, options in _CONVOLUTIONS:
        x, w, b = make(*input_shape), make(*weight_shape), make(_bias_size(weight_shape, options))
        wanted = exact(lambda *t, o=options: aten.convolution(*t, *o), x, w, b, dtype=make.dtype)
        yield [x, w, b, *options, OUT, 0], wanted
        yield (
            [x, w, None, *options, OUT, 0],
            exact(lambda x, w, o=options: aten.convolution(x, w, None, *o), x, w, dtype=make.dtype),
        )


@case("aclnnConvolutionBackward", dtypes=FLOATS_AND_DOUBLE, tolerance=16)
def the_gradients_of_a_convolution_and_parts_of_them(make):
    for input_shape, weight_shape, options in _CONVOLUTIONS:
        x, w = make(*input_shape), make(*weight_shape)
        grad = make(*aten.convolution(x.double(), w.double(), None, *options).shape)
        sizes = [_bias_size(weight_shape, options)]
        made = aten.convolution_backward(*map(wide, (grad, x, w)), sizes, *options, [True] * 3)
        for mask in ([True, True, True], [False, True, False]):
            outs = [OUT if wanted else None for wanted in mask]
            values = tuple(v for v, wanted in zip(rounded(made, make.dtype), mask, strict=True) if wanted)
            yield [grad, x, w, sizes, *options, mask, 0, *outs], values


@case("aclnnConvDepthwise2d", dtypes=FLOATS_AND_DOUBLE, tolerance=4)
def a_convolution_of_each_channel_by_itself(make):
    x, w, b = make(2, 4, 6, 6), make(8, 1, 3, 3), make(8)
    wanted = exact(lambda *t: F.conv2d(*t, 1, 1, 1, 4), x, w, b, dtype=make.dtype)
    return [x, w, [3, 3], b, [1, 1], [1, 1], [1, 1], OUT, 0], wanted


@case("aclnnConvTbc", dtypes=FLOATS_AND_DOUBLE, tolerance=4)
def a_convolution_with_time_first(make):
    x, w, b = make(5, 2, 4), make(3, 4, 6), make(6)
    return [x, w, b, 1, OUT, 0], exact(lambda *t: torch.conv_tbc(*t, 1), x, w, b, dtype=make.dtype)


@case("aclnnConvTbcBackward", dtypes=FLOATS_AND_DOUBLE, tolerance=16)
def the_gradients_of_a_convolution_with_time_first(make):
    x, w, b, grad = make(5, 2, 4), make(3, 4, 6), make(6), make(5, 2, 6)
    wanted = exact(lambda *t: aten.conv_tbc_backward(*t, 1), grad, x, w, b, dtype=make.dtype)
    return [grad, x, w, b, 1, 0, OUT, OUT, OUT], wanted
