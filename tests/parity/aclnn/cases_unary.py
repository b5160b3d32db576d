"""Elementwise functions of one tensor, and their forms in place."""

import torch

from .harness import ALL, COMPLEX, FLOATS, FLOATS_AND_DOUBLE, INTEGERS, NUMBERS, OUT, Inplace, case


@case("aclnnInplaceClampMax", dtypes=NUMBERS)
def below_a_limit_in_place(make):
    x = make(3, 4)
    return [Inplace(x), 1], torch.clamp(x, max=1)


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
