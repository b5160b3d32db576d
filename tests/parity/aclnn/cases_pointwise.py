"""Elementwise arithmetic of three operands, with rounding modes, with limits that may be absent."""

import torch

from .harness import FLOATS, FLOATS_AND_DOUBLE, NUMBERS, OUT, Inplace, case


@case(
    "aclnnAddN",
    "aclnnSum",
    "aclnnSumV2",
    "aclnnMaxN",
    "aclnnMinN",
    dtypes=(*FLOATS, torch.int32),
    tolerance=2,
)
def a_list_folded_into_one_tensor(make, operator):
    x = [make(3, 4), make(4), make(3, 4)]
    function = torch.maximum if "Max" in operator else torch.minimum if "Min" in operator else torch.add
    total = function(function(x[0].double(), x[1].double()), x[2].double()).to(make.dtype)
    return [x, OUT], total


@case("aclnnAssignSub", "aclnnAxpyV2", dtypes=FLOATS)
def a_tensor_less_or_plus_another(make, operator):
    a, b, factor = make(3, 4), make(3, 4), make(1)
    if operator == "aclnnAssignSub":
        return [a, b, OUT], a - b
    return [a, b, factor, OUT], (a.double() + factor.double() * b.double()).to(make.dtype)


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


@case("aclnnClampTensor", dtypes=NUMBERS)
def between_limits_of_their_own(make):
    x, low, high = make(3, 4), make(4, high=0), make(3, 4, low=0)
    yield [x, low, high, OUT], torch.clamp(x, low, high)
    yield [x, None, high, OUT], torch.clamp(x, max=high)
    yield [x, low, None, OUT], torch.clamp(x, min=low)


@case("aclnnAsinhV2", "aclnnCoshV2", dtypes=FLOATS, tolerance=4)
def a_newer_name_of_a_function(make, operator):
    x = make(3, 4)
    return [x, OUT], getattr(torch, operator.removeprefix("aclnn").removesuffix("V2").lower())(x)


@case("aclnnNanToNum", dtypes=(*FLOATS, torch.int32, torch.bool))
def numbers_in_place_of_none(make):
    x = make(3, 4)
    if x.dtype.is_floating_point:
        x[0, 0], x[1, 1], x[2, 2] = float("inf"), -float("inf"), float("nan")
    return [x, 1.5, 100.0, -100.0, OUT], torch.nan_to_num(x, 1.5, 100.0, -100.0)


@case("aclnnInplaceNanToNum", dtypes=FLOATS)
def numbers_in_place_of_none_in_place(make):
    x = make(3, 4)
    x[0, 0], x[1, 1], x[2, 2] = float("inf"), -float("inf"), float("nan")
    return [Inplace(x), 1.5, 100.0, -100.0], torch.nan_to_num(x, 1.5, 100.0, -100.0)


@case("aclnnRoundDecimals", "aclnnInplaceRoundDecimals", dtypes=FLOATS_AND_DOUBLE)
def rounding_to_decimals(make, operator):
    for decimals in (0, 1, -1):
        x = make(3, 4, low=-30, high=30)
        if "Inplace" in operator:
            yield [Inplace(x), decimals], torch.round(x, decimals=decimals)
        else:
            yield [x, decimals, OUT], torch.round(x, decimals=decimals)


@case("aclnnAddV3", dtypes=FLOATS)
def a_number_plus_a_tensor(make):
    a = make(3, 4)
    return [1.5, a, 2, OUT], 1.5 + 2 * a


@case("aclnnAddRelu", "aclnnInplaceAddRelu", dtypes=(*FLOATS, torch.int32))
def a_sum_cut_off_below_zero(make, operator):
    a, b = make(3, 4), make(3, 4)
    expected = torch.relu(torch.add(a, b, alpha=2))
    return ([Inplace(a), b, 2] if "Inplace" in operator else [a, b, 2, OUT]), expected


MODES = {0: None, 1: "trunc", 2: "floor"}


@case("aclnnDivMod", "aclnnDivV3", dtypes=NUMBERS)
def a_quotient_rounded_as_asked(make):
    a, b = make(3, 4), make.positive(4)
    for mode, name in MODES.items():
        yield [a, b, mode, OUT], torch.div(a, b, rounding_mode=name)


@case("aclnnDivMods", dtypes=NUMBERS)
def a_quotient_by_a_number_rounded_as_asked(make):
    a = make(3, 4)
    for mode, name in MODES.items():
        yield [a, 2, mode, OUT], torch.div(a, 2, rounding_mode=name)


@case("aclnnInplaceDivMod", "aclnnInplaceDivMods", dtypes=FLOATS_AND_DOUBLE)
def a_rounded_quotient_in_place(make, operator):
    a, b = make(3, 4), make.positive(4)
    for mode, name in MODES.items():
        other = 2.0 if operator.endswith("s") else b
        yield [Inplace(a), other, mode], torch.div(a, other, rounding_mode=name)


@case("aclnnRemainderScalarTensor", dtypes=NUMBERS)
def the_remainder_of_a_number(make):
    b = make.positive(3, 4)
    return [7, b, OUT], torch.remainder(7, b)


@case("aclnnPowScalarTensor", dtypes=FLOATS_AND_DOUBLE, tolerance=8)
def powers_of_a_number(make):
    b = make(3, 4)
    return [2.5, b, OUT], torch.pow(2.5, b)


@case("aclnnXLogYScalarSelf", dtypes=FLOATS_AND_DOUBLE)
def a_number_on_the_left_times_a_logarithm(make):
    b = make.positive(3, 4)
    return [1.5, b, OUT], torch.xlogy(1.5, b)


@case("aclnnMulNoNan", dtypes=FLOATS)
def a_product_with_zero_is_zero(make):
    a, b = make(3, 4), make(3, 4)
    a[0, 0], b[0, 0], a[1, 1] = float("nan"), 0.0, float("inf")
    return [a, b, OUT], torch.where(b == 0, torch.zeros_like(a), a * b)
