"""Operators over lists of tensors, and the steps of optimizers."""

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


# ---- one list --------------------------------------------------------------------------------------

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


@case("aclnnForeachNonFiniteCheckAndUnscale", dtypes=FLOATS)
def gradients_are_unscaled_and_looked_through(make):
    scale = torch.tensor([0.25])
    x = tensors(make)
    yield (
        [places(x), Inplace(torch.zeros(1)), scale],
        (*[t * 0.25 for t in x], torch.zeros(1)),
    )
    for bad in (float("inf"), float("nan")):
        x[1][2] = bad
        yield [places(x), Inplace(torch.zeros(1)), scale], (*[t * 0.25 for t in x], torch.ones(1))


# ---- two and three lists ---------------------------------------------------------------------------

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


# ---- numbers ---------------------------------------------------------------------------------------

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


# ---- optimizers ------------------------------------------------------------------------------------

RATES = {"lr": 0.1, "betas": (0.9, 0.99), "eps": 1e-3, "weight_decay": 0.05}


def adam(parameter, grad, mean, square, step, *, decoupled, largest=None, maximize=False):
    """A step of PyTorch's optimizer from a given state, in double; the state has seen `step` steps."""
    kind = torch.optim.AdamW if decoupled else torch.optim.Adam
    made = parameter.double().clone().requires_grad_()
    optimizer = kind([made], amsgrad=largest is not None, maximize=maximize, foreach=False, **RATES)
    made.grad = grad.double()
    state = {
        "step": torch.tensor(float(step)),
        "exp_avg": mean.double().clone(),
        "exp_avg_sq": square.double().clone(),
    }
    if largest is not None:
        state["max_exp_avg_sq"] = largest.double().clone()
    optimizer.state[made] = state
    optimizer.step()
    results = [made.detach(), state["exp_avg"], state["exp_avg_sq"]]
    if largest is not None:
        results.append(state["max_exp_avg_sq"])
    return [result.to(parameter.dtype) for result in results]


def adam_state(make, *shape):
    return (
        make(*shape),
        make(*shape),
        make(*shape),
        make(*shape, low=0.1, high=1),
        make(*shape, low=0.1, high=1),
    )


@case("aclnnApplyAdamWV2", dtypes=FLOATS, tolerance=4)
def a_step_of_adamw(make):
    p, g, m, v, top = adam_state(make, 3, 4)
    numbers = [0.1, 0.9, 0.99, 0.05, 1e-3]
    for maximize in (False, True):
        for step in (torch.tensor([2.0]), torch.tensor([2])):
            yield (
                [Inplace(p), Inplace(m), Inplace(v), None, g, step, *numbers, False, maximize],
                tuple(adam(p, g, m, v, 2, decoupled=True, maximize=maximize)),
            )
    yield (
        [Inplace(p), Inplace(m), Inplace(v), Inplace(top), g, torch.tensor([2.0]), *numbers, True, False],
        tuple(adam(p, g, m, v, 2, decoupled=True, largest=top)),
    )


@case("aclnnApplyAdamW", dtypes=FLOATS, tolerance=4)
def a_step_of_adamw_with_its_numbers_on_the_device(make):
    p, g, m, v, _ = adam_state(make, 3, 4)
    powers = [torch.tensor([beta**2], dtype=torch.float32) for beta in RATES["betas"]]
    rate, decay, beta1, beta2, eps = (
        torch.tensor([n], dtype=torch.float32) for n in (0.1, 0.05, 0.9, 0.99, 1e-3)
    )
    return (
        [Inplace(p), Inplace(m), Inplace(v), *powers, rate, decay, beta1, beta2, eps, g, None, False, False],
        tuple(adam(p, g, m, v, 2, decoupled=True)),
    )


@case("aclnnFusedAdam", "aclnnFusedAdamw", dtypes=FLOATS, tolerance=4)
def a_step_of_adam_for_a_list_of_parameters(make, operator):
    states = [adam_state(make, *shape) for shape in ((3, 4), (5,))]
    p, g, m, v, top = map(list, zip(*states, strict=True))
    steps = [torch.tensor([2.0]), torch.tensor([4.0])]
    numbers = [0.1, 0.9, 0.99, 0.05, 1e-3]
    for amsgrad in (False, True):
        made = [
            adam(
                *state[:4], int(step), decoupled=operator.endswith("w"), largest=state[4] if amsgrad else None
            )
            for state, step in zip(states, steps, strict=True)
        ]
        new_p, new_m, new_v, *new_top = map(list, zip(*made, strict=True))
        yield (
            [places(p), places(g), places(m), places(v), places(top) if amsgrad else None, steps, None, None]
            + [*numbers, amsgrad, False],
            (*new_p, *g, *new_m, *new_v, *(new_top[0] if amsgrad else [])),
        )
    # An infinite gradient was found: nothing changes.
    yield (
        [
            places(p),
            places(g),
            places(m),
            places(v),
            None,
            steps,
            None,
            torch.tensor([1.0]),
            *numbers,
            False,
            False,
        ],
        (*p, *g, *m, *v),
    )


@case("aclnnFusedAdam", dtypes=(torch.float32,))
def scaled_gradients_are_divided_first(make):
    p, g, m, v, _ = adam_state(make, 3, 4)
    expected = adam(p, g / 4, m, v, 2, decoupled=False)
    return (
        [
            places([p]),
            places([g]),
            places([m]),
            places([v]),
            None,
            [torch.tensor([2.0])],
            torch.tensor([4.0]),
            None,
        ]
        + [0.1, 0.9, 0.99, 0.05, 1e-3, False, False],
        (expected[0], g / 4, *expected[1:]),
    )


@case("aclnnFusedSgd", dtypes=FLOATS, tolerance=4)
def a_step_of_sgd_for_a_list_of_parameters(make):
    p, g, buffers = tensors(make), tensors(make), tensors(make)

    def step(first, nesterov, maximize):
        made = [t.double().clone().requires_grad_() for t in p]
        optimizer = torch.optim.SGD(
            made, lr=0.1, momentum=0.9, dampening=0.0 if nesterov else 0.2, weight_decay=0.05,
            nesterov=nesterov, maximize=maximize, foreach=False,
        )  # fmt: skip
        for parameter, grad, buffer in zip(made, g, buffers, strict=True):
            parameter.grad = grad.double()
            if not first:
                optimizer.state[parameter]["momentum_buffer"] = buffer.double().clone()
        optimizer.step()
        moments = [optimizer.state[parameter]["momentum_buffer"] for parameter in made]
        return (*[t.detach().to(make.dtype) for t in made], *g, *[t.to(make.dtype) for t in moments])

    for first, nesterov, maximize in [(True, False, False), (False, True, False), (False, False, True)]:
        dampening = 0.0 if nesterov else 0.2
        yield (
            [
                places(p),
                places(g),
                places(buffers),
                None,
                0.05,
                0.9,
                0.1,
                dampening,
                nesterov,
                maximize,
                first,
            ],
            step(first, nesterov, maximize),
        )
    plain = tuple(t - 0.1 * (grad + 0.05 * t) for t, grad in zip(p, g, strict=True))
    yield [places(p), places(g), None, None, 0.05, 0.0, 0.1, 0.0, False, False, True], (*plain, *g)


@case("aclnnApplyFusedEmaAdam", dtypes=FLOATS, tolerance=4)
def a_step_of_adam_with_a_running_average(make):
    p, g, m, v, average = adam_state(make, 3, 4)
    for mode in (0, 1):
        expected = adam(p.double(), g, m, v, 2, decoupled=mode == 1)
        mean = 0.75 * average.double() + 0.25 * expected[0]
        yield (
            [g, Inplace(p), Inplace(m), Inplace(v), Inplace(average), torch.tensor([3])]
            + [0.1, 0.75, 0.9, 0.99, 1e-3, mode, True, 0.05],
            tuple(t.to(make.dtype) for t in (*expected, mean)),
        )


@case("aclnnAmpUpdateScale", dtypes=(torch.float32,))
def the_scale_grows_and_backs_off(make):
    for tracker, found in [(3, 0.0), (4, 0.0), (4, 1.0)]:
        scale, count = torch.tensor([16.0]), torch.tensor([tracker], dtype=torch.int32)
        new_scale, new_count = scale.clone(), count.clone()
        torch._amp_update_scale_(new_scale, new_count, torch.tensor([found]), 2.0, 0.5, 5)
        yield [scale, count, torch.tensor([found]), 2.0, 0.5, 5, OUT, OUT], (new_scale, new_count)


@case("aclnnApplyAdam", dtypes=FLOATS, tolerance=4)
def a_step_of_adam_that_may_look_ahead(make):
    p, g, m, v, _ = adam_state(make, 3, 4)
    numbers = [torch.tensor([n], dtype=torch.float32) for n in (0.81, 0.98, 0.1, 0.9, 0.99, 1e-3)]
    for nesterov in (False, True):
        mean = 0.9 * m.double() + 0.1 * g.double()
        square = 0.99 * v.double() + 0.01 * g.double() ** 2
        rate = 0.1 * (1 - 0.98) ** 0.5 / (1 - 0.81)
        step = 0.9 * mean + 0.1 * g.double() if nesterov else mean
        new = p.double() - rate * step / (square.sqrt() + 1e-3)
        yield (
            [Inplace(p), Inplace(m), Inplace(v), *numbers, g, False, nesterov],
            tuple(t.to(make.dtype) for t in (new, mean, square)),
        )


# ---- a list in one tensor --------------------------------------------------------------------------


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
