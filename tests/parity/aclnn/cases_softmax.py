"""Softmax, its logarithm, its gradients, and softmax under a mask."""

import torch
import torch.nn.functional as F

from .harness import FLOATS, FLOATS_AND_DOUBLE, OUT, case
from .reference import exact, gradients, wide


def _masked_softmax(x, mask):
    return torch.softmax((x * 0.5).masked_fill(mask, -10000.0), -1)


@case("aclnnScaledMaskedSoftmax", dtypes=FLOATS_AND_DOUBLE, tolerance=2)
def softmax_of_scaled_scores_under_a_mask(make):
    x, mask = make(2, 3, 4, 8), make(2, 1, 4, 8, dtype=torch.bool)
    return [x, mask, 0.5, False, OUT], exact(_masked_softmax, x, mask, dtype=make.dtype)


@case("aclnnScaledMaskedSoftmaxBackward", dtypes=FLOATS_AND_DOUBLE, tolerance=4)
def the_gradient_of_softmax_of_scaled_scores_under_a_mask(make):
    x, mask, grad = make(2, 3, 4, 8), make(2, 1, 4, 8, dtype=torch.bool), make(2, 3, 4, 8)
    out = exact(_masked_softmax, x, mask, dtype=make.dtype)
    (wanted,) = gradients(lambda x: _masked_softmax(x, mask), grad, x, dtype=make.dtype)
    return [grad, out, mask, 0.5, False, OUT], wanted


@case("aclnnMaskedSoftmaxWithRelPosBias", dtypes=FLOATS, tolerance=4)
def softmax_of_windows_with_positions(make):
    x, mask, bias = make(2, 3, 4, 5, 6), make(3, 5, 6), make(4, 5, 6)
    wanted = torch.softmax(wide(x) * 0.5 + wide(mask)[:, None] + wide(bias), -1)
    yield [x, mask, bias, 0.5, 0, OUT], wanted.to(make.dtype)
    yield [x, None, bias, 1.0, 0, OUT], torch.softmax(wide(x) + wide(bias), -1).to(make.dtype)


@case("aclnnSoftmax", dtypes=FLOATS)
def softmax_over_the_last_dimension(make):
    x = make(3, 5)
    return [x, -1, OUT], torch.softmax(x, -1)


aten = torch.ops.aten


@case("aclnnLogSoftmaxV2", dtypes=FLOATS_AND_DOUBLE, tolerance=2)
def the_second_version_of_the_logarithm_of_softmax(make):
    x = make(3, 5)
    return [x, 0, OUT], exact(lambda x: F.log_softmax(x, 0), x, dtype=make.dtype)


@case("aclnnSoftmaxGrad", dtypes=FLOATS_AND_DOUBLE, tolerance=4)
def the_gradient_of_softmax_over_the_last_dimension(make):
    out, grad = exact(lambda x: F.softmax(x, -1), make(3, 5), dtype=make.dtype), make(3, 5)
    wanted = exact(lambda g, y: y * (g - (g * y).sum(-1, keepdim=True)), grad, out, dtype=make.dtype)
    return [out, grad, OUT], wanted


@case("aclnnLogSoftmax", dtypes=FLOATS_AND_DOUBLE, tolerance=2)
def the_logarithm_of_softmax(make):
    x = make(3, 5)
    return [x, -1, OUT], exact(lambda x: F.log_softmax(x, -1), x, dtype=make.dtype)


@case("aclnnSoftmaxBackward", "aclnnLogSoftmaxBackward", dtypes=FLOATS_AND_DOUBLE, tolerance=4)
def the_gradients_of_softmax_and_its_logarithm(make, operator):
    log = "Log" in operator
    out = exact(lambda x: F.log_softmax(x, 0) if log else F.softmax(x, 0), make(3, 5), dtype=make.dtype)
    grad = make(3, 5)
    backward = aten._log_softmax_backward_data if log else aten._softmax_backward_data
    wanted = exact(lambda g, y: backward(g, y, 0, torch.float64), grad, out, dtype=make.dtype)
    return [grad, out, 0, OUT], wanted
