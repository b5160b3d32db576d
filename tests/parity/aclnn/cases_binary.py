"""Elementwise arithmetic and comparisons of two tensors, or of a tensor and a number, and their forms in place."""

import torch

from .harness import (
    ALL,
    COMPLEX,
    FLOATS_AND_DOUBLE,
    INTEGERS,
    NUMBERS,
    OUT,
    Inplace,
    case,
)


@case("aclnnSigmoidBackward", "aclnnTanhBackward", dtypes=FLOATS_AND_DOUBLE, tolerance=2)
def the_gradient_from_the_result(make, operator):
    grad, result = make(3, 4), make(3, 4, low=0.1, high=0.9)
    rate = result * (1 - result) if "Sigmoid" in operator else 1 - result * result
    return [grad, result, OUT], grad * rate


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


BINARY = {
    "Atan2": (torch.atan2, FLOATS_AND_DOUBLE),
    "FloorDivide": (torch.floor_divide, NUMBERS),
    "FloorDiv": (torch.floor_divide, NUMBERS),
    "FmodTensor": (torch.fmod, NUMBERS),
    "TruncateMod": (torch.fmod, NUMBERS),
    "Maximum": (torch.maximum, ALL),
    "Minimum": (torch.minimum, ALL),
    "Mul": (torch.mul, (*ALL, *COMPLEX)),
    "RemainderTensorTensor": (torch.remainder, NUMBERS),
    "LogAddExp": (torch.logaddexp, FLOATS_AND_DOUBLE),
    "LogAddExp2": (torch.logaddexp2, FLOATS_AND_DOUBLE),
    "Heaviside": (torch.heaviside, NUMBERS),
    "Gcd": (torch.gcd, INTEGERS),
    "BitwiseAndTensor": (torch.bitwise_and, (*INTEGERS, torch.bool)),
    "BitwiseAndTensorOut": (torch.bitwise_and, (*INTEGERS, torch.bool)),
    "BitwiseOrTensor": (torch.bitwise_or, (*INTEGERS, torch.bool)),
    "BitwiseXorTensor": (torch.bitwise_xor, (*INTEGERS, torch.bool)),
    "LeftShift": (torch.bitwise_left_shift, INTEGERS),
    "RightShift": (torch.bitwise_right_shift, INTEGERS),
    "ClampMaxTensor": (torch.clamp_max, NUMBERS),
    "ClampMinTensor": (torch.clamp_min, NUMBERS),
    "TruncateDiv": (lambda a, b: torch.div(a, b, rounding_mode="trunc"), NUMBERS),
    "EqTensor": (torch.eq, (*ALL, *COMPLEX)),
    "NeTensor": (torch.ne, (*ALL, *COMPLEX)),
    "LtTensor": (torch.lt, ALL),
    "LeTensor": (torch.le, ALL),
    "GtTensor": (torch.gt, ALL),
    "GeTensor": (torch.ge, ALL),
    "LogicalAnd": (torch.logical_and, ALL),
    "LogicalOr": (torch.logical_or, ALL),
    "LogicalXor": (torch.logical_xor, ALL),
}
INPLACE = [
    "Atan2", "FloorDivide", "FmodTensor", "Mul", "RemainderTensorTensor", "BitwiseAndTensor",
    "BitwiseAndTensorOut", "BitwiseOrTensor", "BitwiseXorTensor", "ClampMaxTensor", "ClampMinTensor",
]  # fmt: skip
INPLACE_COMPARISONS = ["EqTensor", "NeTensor", "LtTensor", "LeTensor", "GtTensor", "GeTensor",
                       "LogicalAnd", "LogicalOr"]  # fmt: skip


def sides(make, name):
    """Two operands that broadcast; whole divisors and shifts are positive."""
    positive = any(word in name for word in ("Div", "Mod", "mod", "Remainder", "Shift"))
    return make(3, 4), make.positive(4) if positive else make(4)


def two_operands(make, operator):
    name = operator.removeprefix("aclnn")
    function, _ = BINARY[name]
    a, b = sides(make, name)
    for other in (b, b.expand(3, 4).contiguous()):
        yield [a, other, OUT], function(a, other)


def two_operands_in_place(make, operator):
    name = operator.removeprefix("aclnnInplace")
    function, _ = BINARY[name]
    a, b = sides(make, name)
    return [Inplace(a), b], function(a, b).to(a.dtype)


for _name, (_, _dtypes) in BINARY.items():
    case(f"aclnn{_name}", dtypes=_dtypes)(two_operands)
    if _name in INPLACE:
        case(f"aclnnInplace{_name}", dtypes=_dtypes)(two_operands_in_place)
    if _name in INPLACE_COMPARISONS:
        case(f"aclnnInplace{_name}", dtypes=(torch.float32, torch.int32, torch.bool))(two_operands_in_place)


@case("aclnnMaximum", "aclnnMinimum", "aclnnMul", dtypes=(torch.float16,), layouts=("dense",))
def operands_of_two_dtypes_meet_in_the_larger(make, operator):
    function, _ = BINARY[operator.removeprefix("aclnn")]
    a, b, whole = make(3, 4), make(3, 4, dtype=torch.float32), make(3, 4, dtype=torch.int32)
    yield [a, b, OUT], function(a, b)
    yield [whole, a, OUT], function(whole, a)


@case("aclnnSub", "aclnnRsub", dtypes=(*NUMBERS, *COMPLEX))
def a_difference_scales_its_second_operand(make, operator):
    a, b = make(3, 4), make(4)
    return [a, b, 2, OUT], getattr(torch, operator.removeprefix("aclnn").lower())(a, b, alpha=2)


@case("aclnnInplaceSub", dtypes=NUMBERS)
def a_difference_in_place(make):
    a, b = make(3, 4), make(4)
    return [Inplace(a), b, 2], torch.sub(a, b, alpha=2)


@case("aclnnAdds", "aclnnSubs", "aclnnRsubs", dtypes=NUMBERS)
def a_sum_with_a_number(make, operator):
    function = getattr(torch, operator.removeprefix("aclnn").removesuffix("s").lower())
    a = make(3, 4)
    yield [a, 2, 3, OUT], function(a, 2, alpha=3)
    if a.dtype.is_floating_point:
        yield [a, 2.5, 1, OUT], function(a, 2.5)


@case("aclnnInplaceAdds", "aclnnInplaceSubs", dtypes=NUMBERS)
def a_sum_with_a_number_in_place(make, operator):
    function = getattr(torch, operator.removeprefix("aclnnInplace").removesuffix("s").lower())
    a = make(3, 4)
    return [Inplace(a), 2, 3], function(a, 2, alpha=3)


@case("aclnnDiv", "aclnnRealDiv", dtypes=(*NUMBERS, *COMPLEX))
def a_quotient_of_integers_is_floating(make):
    a, b = make(3, 4), make.positive(4) if not make.dtype.is_complex else make(4, low=0.5)
    return [a, b, OUT], a / b


@case("aclnnInplaceDiv", dtypes=FLOATS_AND_DOUBLE)
def a_quotient_in_place(make):
    a, b = make(3, 4), make.positive(4)
    return [Inplace(a), b], a / b


@case("aclnnMuls", "aclnnDivs", "aclnnInplaceMuls", "aclnnInplaceDivs", dtypes=FLOATS_AND_DOUBLE)
def a_product_with_a_number(make, operator):
    a = make(3, 4)
    expected = a * 2.5 if "Mul" in operator else a / 2.5
    return ([Inplace(a), 2.5] if "Inplace" in operator else [a, 2.5, OUT]), expected


NUMBER_RIGHT = {
    "BitwiseAndScalar": (torch.bitwise_and, INTEGERS),
    "BitwiseOrScalar": (torch.bitwise_or, INTEGERS),
    "BitwiseXorScalar": (torch.bitwise_xor, INTEGERS),
    "LeftShifts": (torch.bitwise_left_shift, INTEGERS),
    "FloorDivides": (torch.floor_divide, NUMBERS),
    "FmodScalar": (torch.fmod, NUMBERS),
    "RemainderTensorScalar": (torch.remainder, NUMBERS),
    "PowTensorScalar": (torch.pow, NUMBERS),
    "ClampMin": (torch.clamp_min, NUMBERS),
    "ClampMax": (torch.clamp_max, NUMBERS),
    "EqScalar": (torch.eq, ALL),
    "NeScalar": (torch.ne, ALL),
    "LtScalar": (torch.lt, ALL),
    "LessScalar": (torch.lt, ALL),
    "LeScalar": (torch.le, ALL),
    "GtScalar": (torch.gt, ALL),
    "GeScalar": (torch.ge, ALL),
    "XLogYScalarOther": (torch.xlogy, FLOATS_AND_DOUBLE),
}
NUMBER_RIGHT_INPLACE = [name for name in NUMBER_RIGHT if name not in ("LeftShifts", "ClampMin", "LessScalar")]


def a_number_on_the_right(make, operator):
    function, _ = NUMBER_RIGHT[operator.removeprefix("aclnn")]
    a = make(3, 4)
    yield [a, 2, OUT], function(a, 2)
    if a.dtype.is_floating_point:
        yield [a, 1.5, OUT], function(a, 1.5)


def a_number_on_the_right_in_place(make, operator):
    function, _ = NUMBER_RIGHT[operator.removeprefix("aclnnInplace")]
    a = make(3, 4)
    return [Inplace(a), 2], function(a, 2).to(a.dtype)


for _name, (_, _dtypes) in NUMBER_RIGHT.items():
    case(f"aclnn{_name}", dtypes=_dtypes, tolerance=4)(a_number_on_the_right)
    if _name in NUMBER_RIGHT_INPLACE:
        _kept = tuple(d for d in _dtypes if d != torch.bool)
        case(f"aclnnInplace{_name}", dtypes=_kept, tolerance=4)(a_number_on_the_right_in_place)


@case("aclnnPowTensorTensor", "aclnnPow2", dtypes=NUMBERS, tolerance=8)
def powers(make):
    a, b = make.positive(3, 4), make(4, low=0)
    return [a, b, OUT], torch.pow(a, b)


@case("aclnnInplacePowTensorTensor", dtypes=FLOATS_AND_DOUBLE, tolerance=8)
def powers_in_place(make):
    a, b = make.positive(3, 4), make(4, low=0)
    return [Inplace(a), b], torch.pow(a, b)


@case("aclnnXLogYTensor", "aclnnInplaceXLogYTensor", dtypes=FLOATS_AND_DOUBLE)
def a_number_times_a_logarithm(make, operator):
    a, b = make(3, 4), make.positive(3, 4)
    a[0, 0] = 0
    return ([Inplace(a), b] if "Inplace" in operator else [a, b, OUT]), torch.xlogy(a, b)
