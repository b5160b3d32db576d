"""Three operands, and limits that may be absent."""

import torch

from .harness import FLOATS_AND_DOUBLE, NUMBERS, OUT, Inplace, case


@case("aclnnAddcmul", "aclnnInplaceAddcmul", dtypes=NUMBERS, tolerance=2)
def a_product_added(make, operator):
    a, b, c = make(3, 4), make(3, 4), make(4)
    expected = torch.addcmul(a, b, c, value=2)
    return ([Inplace(a), b, c, 2] if "Inplace" in operator else [a, b, c, 2, OUT]), expected


@case("aclnnAddcdiv", "aclnnInplaceAddcdiv", dtypes=FLOATS_AND_DOUBLE, tolerance=2)
def a_quotient_added(make, operator):
    a, b, c = make(3, 4), make(3, 4), make.positive(4)
    expected = torch.addcdiv(a, b, c, value=0.5)
    return ([Inplace(a), b, c, 0.5] if "Inplace" in operator else [a, b, c, 0.5, OUT]), expected


@case("aclnnLerp", "aclnnInplaceLerp", dtypes=FLOATS_AND_DOUBLE, tolerance=2)
def between_two_tensors(make, operator):
    a, b, weight = make(3, 4), make(3, 4), make(4, low=0, high=1)
    expected = torch.lerp(a, b, weight.expand(3, 4))
    return ([Inplace(a), b, weight] if "Inplace" in operator else [a, b, weight, OUT]), expected


@case("aclnnLerps", "aclnnInplaceLerps", dtypes=FLOATS_AND_DOUBLE, tolerance=2)
def between_two_tensors_by_a_number(make, operator):
    a, b = make(3, 4), make(3, 4)
    return ([Inplace(a), b, 0.3] if "Inplace" in operator else [a, b, 0.3, OUT]), torch.lerp(a, b, 0.3)


@case("aclnnClamp", dtypes=NUMBERS)
def between_two_limits_or_beyond_one(make):
    x = make(3, 4)
    yield [x, -1, 2, OUT], torch.clamp(x, -1, 2)
    yield [x, None, 1, OUT], torch.clamp(x, max=1)
    yield [x, 1, None, OUT], torch.clamp(x, min=1)


@case("aclnnInplaceClampMax", dtypes=NUMBERS)
def below_a_limit_in_place(make):
    x = make(3, 4)
    return [Inplace(x), 1], torch.clamp(x, max=1)


@case("aclnnClampTensor", dtypes=NUMBERS)
def between_limits_of_their_own(make):
    x, low, high = make(3, 4), make(4, high=0), make(3, 4, low=0)
    yield [x, low, high, OUT], torch.clamp(x, low, high)
    yield [x, None, high, OUT], torch.clamp(x, max=high)
    yield [x, low, None, OUT], torch.clamp(x, min=low)
