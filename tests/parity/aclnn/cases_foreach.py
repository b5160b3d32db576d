"""Operators over lists of tensors."""

import torch

from .harness import FLOATS, FLOATS_AND_DOUBLE, OUT, Inplace, case

WITH_INT32 = (*FLOATS, torch.int32)
SHAPES = [(3, 4), (5,), (2, 1, 3)]


def tensors(make, **limits):
    return [make(*shape, **limits) for shape in SHAPES]


def outs():
    return [OUT] * len(SHAPES)


def places(values):
    return [Inplace(value) for value in values]


UNARY = {
    "Abs": {}, "Acos": {"low": -0.9, "high": 0.9}, "Asin": {"low": -0.9, "high": 0.9}, "Atan": {}, "Cos": {},
    "Cosh": {}, "Erf": {}, "Erfc": {}, "Exp": {}, "Expm1": {}, "Log": {"low": 0.1}, "Log10": {"low": 0.1},
    "Log1p": {"low": -0.9}, "Log2": {"low": 0.1}, "Neg": {}, "Reciprocal": {"low": 0.5}, "Sigmoid": {},
    "Sign": {}, "Sin": {}, "Sinh": {}, "Sqrt": {"low": 0.1}, "Tan": {"low": -1.2, "high": 1.2}, "Tanh": {},
}  # fmt: skip


@case(*[f"aclnnForeach{name}" for name in UNARY], dtypes=FLOATS_AND_DOUBLE, tolerance=4)
def a_function_of_each_tensor(make, operator):
    name = operator.removeprefix("aclnnForeach")
    x = tensors(make, **UNARY[name])
    return [x, outs()], tuple(getattr(torch, name.lower())(t) for t in x)


@case("aclnnForeachACosInplace", "aclnnForeachLogInplace", dtypes=FLOATS, tolerance=4)
def a_function_of_each_tensor_in_place(make, operator):
    function = torch.acos if "ACos" in operator else torch.log
    x = tensors(make, low=0.1, high=0.9)
    return [places(x)], tuple(function(t) for t in x)


@case("aclnnForeachZeroInplace", dtypes=WITH_INT32)
def zeros_everywhere(make):
    x = tensors(make)
    return [places(x)], tuple(torch.zeros_like(t) for t in x)


@case("aclnnForeachCopy", dtypes=WITH_INT32)
def copies_into_another_dtype(make):
    x = tensors(make)
    yield [x, outs()], tuple(t.clone() for t in x)
    yield [x, outs()], tuple(t.to(torch.float32) for t in x)


@case("aclnnForeachNorm", dtypes=FLOATS, tolerance=2)
def a_norm_of_each_tensor(make):
    x = tensors(make)
    for order in (0.0, 1.0, 2.0, 3.0, float("inf")):
        yield [x, order, outs()], tuple(torch.linalg.vector_norm(t, order) for t in x)


ROUNDINGS = {1: torch.round, 2: torch.floor, 3: torch.ceil, 5: torch.trunc, 7: torch.frac}


@case("aclnnForeachRoundOffNumber", "aclnnForeachRoundOffNumberV2", dtypes=FLOATS)
def rounding_by_a_mode(make, operator):
    x = tensors(make)
    x[0][0, 0], x[0][0, 1] = 0.5, -2.5
    for mode, function in ROUNDINGS.items():
        number = mode if operator.endswith("V2") else torch.tensor([mode], dtype=torch.int8)
        yield [x, number, outs()], tuple(function(t) for t in x)
    away = tuple(torch.sign(t) * torch.floor(t.abs() + 0.5) for t in x)
    yield [x, 4 if operator.endswith("V2") else torch.tensor([4], dtype=torch.int8), outs()], away


LISTS = {
    "Div": torch.div,
    "Maximum": torch.maximum,
    "Minimum": torch.minimum,
    "Mul": torch.mul,
    "Pow": torch.pow,
}


def two_lists(make, operator):
    function = LISTS[operator.removeprefix("aclnnForeach").split("List")[0]]
    a, b = tensors(make, low=0.5), tensors(make, low=0.5)
    expected = tuple(function(x, y) for x, y in zip(a, b, strict=True))
    return ([places(a), b] if operator.endswith("Inplace") else [a, b, outs()]), expected


for _name in LISTS:
    case(f"aclnnForeach{_name}List", dtypes=FLOATS_AND_DOUBLE, tolerance=4)(two_lists)
case("aclnnForeachDivListInplace", "aclnnForeachMulListInplace")(two_lists)
case("aclnnForeachMaximumList", "aclnnForeachMinimumList", "aclnnForeachMulList", dtypes=(torch.int32,))(
    two_lists
)


@case(
    *[f"aclnnForeach{name}List{form}" for name in ("Add", "Sub") for form in ("", "V2", "Inplace")],
    dtypes=WITH_INT32,
)
def two_lists_with_a_factor(make, operator):
    function = torch.add if "Add" in operator else torch.sub
    a, b = tensors(make), tensors(make)
    factor = 2 if operator.endswith("V2") else torch.tensor([2], dtype=make.dtype)
    expected = tuple(function(x, y, alpha=2) for x, y in zip(a, b, strict=True))
    return ([places(a), b, factor] if operator.endswith("Inplace") else [a, b, factor, outs()]), expected


@case(
    *[f"aclnnForeachAddc{what}{form}" for what in ("mul", "div")
      for form in ("Scalar", "ScalarV2", "ScalarList", "List")],
    dtypes=FLOATS,
    tolerance=2,
)  # fmt: skip
def a_product_or_quotient_added_to_each(make, operator):
    function = torch.addcmul if "mul" in operator else torch.addcdiv
    a, b, c = tensors(make), tensors(make), tensors(make, low=0.5)
    values = [0.5, 2.0, -1.5] if operator.endswith("List") else [0.5] * 3
    if operator.endswith("List"):
        number = torch.tensor(values, dtype=torch.float32)
    else:
        number = 0.5 if operator.endswith("V2") else torch.tensor([0.5], dtype=torch.float32)
    expected = tuple(function(x, y, z, value=v) for x, y, z, v in zip(a, b, c, values, strict=True))
    return [a, b, c, number, outs()], expected


@case("aclnnForeachLerpScalar", "aclnnForeachLerpList", dtypes=FLOATS, tolerance=2)
def between_the_tensors_of_two_lists(make, operator):
    a, b, weights = tensors(make), tensors(make), tensors(make, low=0.1, high=0.9)
    if operator.endswith("Scalar"):
        return [a, b, 0.3, outs()], tuple(torch.lerp(x, y, 0.3) for x, y in zip(a, b, strict=True))
    return [a, b, weights, outs()], tuple(torch.lerp(*three) for three in zip(a, b, weights, strict=True))


NUMBERS = {
    "Add": torch.add, "Div": torch.div, "Maximum": lambda x, n: torch.clamp(x, min=n),
    "Minimum": lambda x, n: torch.clamp(x, max=n), "Mul": torch.mul, "Pow": torch.pow, "Sub": torch.sub,
}  # fmt: skip


@case(
    *[f"aclnnForeach{name}Scalar{form}" for name in NUMBERS for form in ("", "V2", "List")],
    dtypes=FLOATS_AND_DOUBLE,
    tolerance=4,
)
def a_number_with_each_tensor(make, operator):
    function = NUMBERS[operator.removeprefix("aclnnForeach").split("Scalar")[0]]
    x = tensors(make, low=0.5)
    if operator.endswith("List"):
        values = [1.5, 2.0, 3.0]
        return [x, values, outs()], tuple(function(t, v) for t, v in zip(x, values, strict=True))
    number = 1.5 if operator.endswith("V2") else torch.tensor([1.5], dtype=torch.float32)
    return [x, number, outs()], tuple(function(t, 1.5) for t in x)


@case(
    *[f"aclnnForeach{name}Scalar{form}" for name in NUMBERS if name not in ("Div", "Pow")
      for form in ("", "V2", "List")],
    dtypes=(torch.int32,),
)  # fmt: skip
def a_whole_number_with_each_tensor_of_integers(make, operator):
    function = NUMBERS[operator.removeprefix("aclnnForeach").split("Scalar")[0]]
    x = tensors(make)
    number = [2, 2, 2] if operator.endswith("List") else 2 if operator.endswith("V2") else torch.tensor([2])
    return [x, number, outs()], tuple(function(t, 2) for t in x)


@case("aclnnForeachMulScalarInplace", "aclnnForeachSubScalarInplace", dtypes=FLOATS)
def a_number_with_each_tensor_in_place(make, operator):
    function = torch.mul if "Mul" in operator else torch.sub
    x = tensors(make)
    return [places(x), torch.tensor([1.5], dtype=torch.float32)], tuple(function(t, 1.5) for t in x)


@case("aclnnForeachPowScalarAndTensor", dtypes=FLOATS, tolerance=4)
def a_number_to_the_power_of_each_tensor(make):
    x = tensors(make)
    return [2.5, x, outs()], tuple(torch.pow(2.5, t) for t in x)
