"""Operators that the first programs need."""

import torch

from .harness import FLOATS, FLOATS_AND_DOUBLE, NUMBERS, OUT, Inplace, case


@case("aclnnAdd", dtypes=NUMBERS)
def a_sum_scales_its_second_operand_and_broadcasts(make):
    a, b, c = make(3, 4), make(1, 4), make(3, 4)
    yield [a, b, 2, OUT], torch.add(a, b, alpha=2)
    yield [a, c, 1, OUT], a + c


@case("aclnnInplaceAdd", dtypes=NUMBERS)
def a_sum_in_place(make):
    a, b = make(3, 4), make(3, 4)
    return [
        Inplace(a),
        b,
        1,
    ], a + b


@case("aclnnAddmm", dtypes=FLOATS_AND_DOUBLE, tolerance=4)
def a_product_added_to_a_matrix(make):
    self, a, b = make(3, 4), make(3, 5), make(5, 4)
    return [self, a, b, 0.5, 2.0, OUT, 0], torch.addmm(self, a, b, beta=0.5, alpha=2.0)


@case("aclnnSoftmax", dtypes=FLOATS)
def softmax_over_the_last_dimension(make):
    x = make(3, 5)
    return [x, -1, OUT], torch.softmax(x, -1)
