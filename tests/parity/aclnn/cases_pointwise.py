"""Elementwise arithmetic: functions of one tensor, of two, with numbers, and their forms in place."""

import torch

from .harness import ALL, COMPLEX, FLOATS, FLOATS_AND_DOUBLE, INTEGERS, NUMBERS, OUT, Inplace, case

# Where a function is defined: (low, high) of the numbers it is tried on.
ANYWHERE = (-3.0, 3.0)
UNARY = {
    "Acos": (torch.acos, (-0.9, 0.9)),
    "Acosh": (torch.acosh, (1.1, 3.0)),
    "Asin": (torch.asin, (-0.9, 0.9)),
    "Asinh": (torch.asinh, ANYWHERE),
    "Atan": (torch.atan, ANYWHERE),
    "Atanh": (torch.atanh, (-0.9, 0.9)),
    "Cos": (torch.cos, ANYWHERE),
    "Cosh": (torch.cosh, ANYWHERE),
    "Erf": (torch.erf, ANYWHERE),
    "Erfc": (torch.erfc, ANYWHERE),
    "Erfinv": (torch.erfinv, (-0.9, 0.9)),
    "Exp": (torch.exp, ANYWHERE),
    "Exp2": (torch.exp2, ANYWHERE),
    "Expm1": (torch.expm1, ANYWHERE),
    "Frac": (torch.frac, ANYWHERE),
    "Log": (torch.log, (0.1, 3.0)),
    "Log10": (torch.log10, (0.1, 3.0)),
    "Log1p": (torch.log1p, (-0.9, 3.0)),
    "Log2": (torch.log2, (0.1, 3.0)),
    "Reciprocal": (torch.reciprocal, (0.5, 3.0)),
    "Rsqrt": (torch.rsqrt, (0.1, 3.0)),
    "Sigmoid": (torch.sigmoid, ANYWHERE),
    "Sin": (torch.sin, ANYWHERE),
    "Sinc": (torch.sinc, ANYWHERE),
    "Sinh": (torch.sinh, ANYWHERE),
    "Sqrt": (torch.sqrt, (0.1, 3.0)),
    "Tan": (torch.tan, (-1.2, 1.2)),
    "Tanh": (torch.tanh, ANYWHERE),
}
# These take integers too, and give the dtype they took.
STEPS = {
    "Ceil": torch.ceil,
    "Floor": torch.floor,
    "Neg": torch.neg,
    "Relu": torch.relu,
    "Round": torch.round,
    "Trunc": torch.trunc,
}


def function_of(operator):
    return UNARY[operator.removeprefix("aclnn").removeprefix("Inplace")]


@case(*[f"aclnn{name}" for name in UNARY], dtypes=FLOATS_AND_DOUBLE, tolerance=4)
def a_function_of_every_element(make, operator):
    function, (low, high) = function_of(operator)
    for shape in [(3, 4), (2, 0), ()]:
        x = make(*shape, low=low, high=high)
        yield [x, OUT], function(x)


@case(
    *[f"aclnnInplace{name}" for name in UNARY],
    dtypes=FLOATS_AND_DOUBLE,
    tolerance=4,
)
def a_function_of_every_element_in_place(make, operator):
    function, (low, high) = function_of(operator)
    x = make(3, 4, low=low, high=high)
    return [Inplace(x)], function(x)


@case(
    *[f"aclnn{n}" for n in UNARY if n not in ("Frac", "Reciprocal")],
    dtypes=(*INTEGERS, torch.bool),
    layouts=("dense",),
    tolerance=4,
)
def a_function_of_integers_is_computed_in_floating_point(make, operator):
    function, (low, high) = function_of(operator)
    x = make(3, 4, low=max(low, -3), high=high)
    return [x, OUT], function(x)


@case(*[f"aclnn{name}" for name in STEPS], dtypes=NUMBERS)
def a_step_function_keeps_the_dtype(make, operator):
    x = make(3, 4)
    return [x, OUT], STEPS[operator.removeprefix("aclnn")](x)


@case(*[f"aclnnInplace{name}" for name in STEPS], dtypes=NUMBERS)
def a_step_function_in_place(make, operator):
    x = make(3, 4)
    return [Inplace(x)], STEPS[operator.removeprefix("aclnnInplace")](x)


@case("aclnnAbs", "aclnnSign", "aclnnSquare", dtypes=NUMBERS)
def a_function_of_numbers(make, operator):
    x = make(3, 4)
    return [x, OUT], getattr(torch, operator.removeprefix("aclnn").lower())(x)


COMPLEX_TOO = ["Cos", "Cosh", "Exp", "Expm1", "Log", "Log10", "Log1p", "Log2", "Reciprocal", "Rsqrt", "Sigmoid",
               "Sin", "Sinh", "Sqrt", "Tan", "Tanh"]  # fmt: skip


@case(*[f"aclnn{name}" for name in COMPLEX_TOO], dtypes=COMPLEX, tolerance=8)
def a_function_of_complex_numbers(make, operator):
    function, _ = function_of(operator)
    x = make(3, 4, low=0.2, high=1.2)
    return [x, OUT], function(x)


@case("aclnnAbs", "aclnnNeg", "aclnnSquare", dtypes=COMPLEX)
def size_and_square_of_complex_numbers(make, operator):
    x = make(3, 4)
    return [x, OUT], getattr(torch, operator.removeprefix("aclnn").lower())(x)


@case("aclnnDigamma", "aclnnLgamma", dtypes=FLOATS_AND_DOUBLE, tolerance=8)
def a_function_of_the_gamma_family(make, operator):
    x = make(3, 4, low=0.5, high=3.0)
    return [x, OUT], getattr(torch, operator.removeprefix("aclnn").lower())(x)


@case("aclnnAsinhV2", "aclnnCoshV2", dtypes=FLOATS, tolerance=4)
def a_newer_name_of_a_function(make, operator):
    x = make(3, 4)
    return [x, OUT], getattr(torch, operator.removeprefix("aclnn").removesuffix("V2").lower())(x)


@case("aclnnNdtri", dtypes=(torch.float32, torch.float64), tolerance=8)
def the_quantile_of_the_normal_distribution(make):
    x = make(3, 4, low=0.05, high=0.95)
    return [x, OUT], torch.special.ndtri(x)


@case("aclnnAngleV2", dtypes=(torch.float32, *COMPLEX))
def angles(make):
    x = make(3, 4)
    return [x, OUT], torch.angle(x)


@case("aclnnBitwiseNot", dtypes=(*INTEGERS, torch.bool))
def every_bit_the_other_way(make):
    x = make(3, 4)
    return [x, OUT], torch.bitwise_not(x)


@case("aclnnLogicalNot", dtypes=ALL)
def zero_is_false(make):
    x = make(3, 4)
    return [x, OUT], torch.logical_not(x)


@case("aclnnInplaceLogicalNot", dtypes=(torch.bool,))
def zero_is_false_in_place(make):
    x = make(3, 4)
    return [Inplace(x)], torch.logical_not(x)


@case("aclnnIsFinite", "aclnnIsInf", "aclnnIsNegInf", "aclnnIsPosInf", "aclnnSignbit", dtypes=FLOATS)
def what_kind_of_number(make, operator):
    x = make(3, 4)
    x[0, 0], x[1, 1], x[2, 2], x[0, 1] = float("inf"), -float("inf"), float("nan"), -0.0
    return [x, OUT], getattr(torch, operator.removeprefix("aclnn").lower())(x)


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


# ---- two operands ----------------------------------------------------------------------------------

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


@case("aclnnAddV3", dtypes=FLOATS)
def a_number_plus_a_tensor(make):
    a = make(3, 4)
    return [1.5, a, 2, OUT], 1.5 + 2 * a


@case("aclnnAddRelu", "aclnnInplaceAddRelu", dtypes=(*FLOATS, torch.int32))
def a_sum_cut_off_below_zero(make, operator):
    a, b = make(3, 4), make(3, 4)
    expected = torch.relu(torch.add(a, b, alpha=2))
    return ([Inplace(a), b, 2] if "Inplace" in operator else [a, b, 2, OUT]), expected


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


@case("aclnnRemainderScalarTensor", dtypes=NUMBERS)
def the_remainder_of_a_number(make):
    b = make.positive(3, 4)
    return [7, b, OUT], torch.remainder(7, b)


@case("aclnnPowTensorTensor", "aclnnPow2", dtypes=NUMBERS, tolerance=8)
def powers(make):
    a, b = make.positive(3, 4), make(4, low=0)
    return [a, b, OUT], torch.pow(a, b)


@case("aclnnInplacePowTensorTensor", dtypes=FLOATS_AND_DOUBLE, tolerance=8)
def powers_in_place(make):
    a, b = make.positive(3, 4), make(4, low=0)
    return [Inplace(a), b], torch.pow(a, b)


@case("aclnnPowScalarTensor", dtypes=FLOATS_AND_DOUBLE, tolerance=8)
def powers_of_a_number(make):
    b = make(3, 4)
    return [2.5, b, OUT], torch.pow(2.5, b)


@case("aclnnXLogYTensor", "aclnnInplaceXLogYTensor", dtypes=FLOATS_AND_DOUBLE)
def a_number_times_a_logarithm(make, operator):
    a, b = make(3, 4), make.positive(3, 4)
    a[0, 0] = 0
    return ([Inplace(a), b] if "Inplace" in operator else [a, b, OUT]), torch.xlogy(a, b)


@case("aclnnXLogYScalarSelf", dtypes=FLOATS_AND_DOUBLE)
def a_number_on_the_left_times_a_logarithm(make):
    b = make.positive(3, 4)
    return [1.5, b, OUT], torch.xlogy(1.5, b)


@case("aclnnXlog1py", dtypes=FLOATS)
def a_number_times_the_logarithm_of_one_more(make):
    a, b = make(3, 4), make.positive(3, 4)
    return [a, b, OUT], torch.special.xlog1py(a, b)


@case("aclnnMulNoNan", dtypes=FLOATS)
def a_product_with_zero_is_zero(make):
    a, b = make(3, 4), make(3, 4)
    a[0, 0], b[0, 0], a[1, 1] = float("nan"), 0.0, float("inf")
    return [a, b, OUT], torch.where(b == 0, torch.zeros_like(a), a * b)
