"""Activations, gated units, and the gradients of both."""

import torch
import torch.nn.functional as F

from .harness import FLOATS, FLOATS_AND_DOUBLE, OUT, AnyResult, Check, Inplace, case

# What the operator takes after its tensor, and what PyTorch calls it.
FORWARD = {
    "Celu": ([1.5], lambda x: F.celu(x, 1.5)),
    "CeluV3": ([1.5], lambda x: F.celu(x, 1.5)),
    "Elu": ([1.5, 1.2, 0.7], lambda x: torch._C._nn.elu(x, 1.5, 1.2, 0.7)),
    "EluV2": ([1.5, 1.2, 0.7], lambda x: torch._C._nn.elu(x, 1.5, 1.2, 0.7)),
    "FastGelu": ([], lambda x: x * torch.sigmoid(1.702 * x)),
    "FastGeluV2": ([], lambda x: x * torch.sigmoid(1.702 * x)),
    "Gelu": ([], lambda x: F.gelu(x, approximate="tanh")),
    "HardShrink": ([0.5], F.hardshrink),
    "Hardshrink": ([0.5], F.hardshrink),
    "Hardsigmoid": ([], F.hardsigmoid),
    "HardsigmoidV2": ([], F.hardsigmoid),
    "Hardswish": ([], F.hardswish),
    "Hardtanh": ([-1, 1.5], lambda x: F.hardtanh(x, -1, 1.5)),
    "LeakyRelu": ([0.1], lambda x: F.leaky_relu(x, 0.1)),
    "LogSigmoid": ([], F.logsigmoid),
    "Mish": ([], F.mish),
    "Relu6": ([], F.relu6),
    "Selu": ([], F.selu),
    "Shrink": ([0.5, 0.2], lambda x: torch.where(x > 0.5, x - 0.2, torch.where(x < -0.5, x + 0.2, 0 * x))),
    "Silu": ([], F.silu),
    "Softplus": ([1.5, 2.0], lambda x: F.softplus(x, 1.5, 2.0)),
    "Softshrink": ([0.5], F.softshrink),
    "Softsign": ([], F.softsign),
    "SquaredRelu": ([], lambda x: F.relu(x) ** 2),
    "Swish": ([1.5], lambda x: x * torch.sigmoid(1.5 * x)),
    "Threshold": ([0.5, -2.0], lambda x: F.threshold(x, 0.5, -2.0)),
    "ThresholdV2": ([0.5, -2.0], lambda x: F.threshold(x, 0.5, -2.0)),
}
IN_PLACE = ["Celu", "Elu", "Hardsigmoid", "HardsigmoidV2", "Hardswish", "Hardtanh", "LeakyRelu", "Mish",
            "Selu", "Threshold"]  # fmt: skip


@case(*[f"aclnn{name}" for name in FORWARD], dtypes=FLOATS_AND_DOUBLE, tolerance=4)
def an_activation(make, operator):
    numbers, function = FORWARD[operator.removeprefix("aclnn")]
    for shape in [(3, 4), (0, 4)]:
        x = make(*shape)
        yield [x, *numbers, OUT], function(x)


@case(*[f"aclnnInplace{name}" for name in IN_PLACE], dtypes=FLOATS_AND_DOUBLE, tolerance=4)
def an_activation_in_place(make, operator):
    numbers, function = FORWARD[operator.removeprefix("aclnnInplace")]
    x = make(3, 4)
    return [Inplace(x), *numbers], function(x)


@case("aclnnSwish", layouts=("dense",))
def swish_without_a_slope(make):
    x = make(3, 4)
    return [x, None, OUT], F.silu(x)


@case("aclnnGeluV2", dtypes=FLOATS_AND_DOUBLE, tolerance=4)
def gelu_by_either_formula(make):
    x = make(3, 4)
    for number, name in enumerate(("none", "tanh")):
        yield [x, number, OUT], F.gelu(x, approximate=name)


@case("aclnnLogSigmoidForward", tolerance=4)
def log_sigmoid_with_a_buffer_of_no_use(make):
    x = make(3, 4)
    return [x, OUT, AnyResult((0,), make.dtype)], (F.logsigmoid(x), None)


@case("aclnnLogit", tolerance=8)
def logits(make):
    x = make(3, 4, low=0.1, high=0.9)
    yield [x, -1.0, OUT], torch.logit(x)
    yield [x, 0.25, OUT], torch.logit(x, 0.25)


def slope(function, grad, x):
    """The gradient that PyTorch passes on, computed in double and rounded once."""
    wide = x.detach().double().requires_grad_()
    function(wide).backward(grad.double())
    return wide.grad.to(x.dtype)


BACKWARD = {
    "FastGeluBackward": ([], FORWARD["FastGelu"][1]),
    "GeluBackward": ([], lambda x: F.gelu(x, approximate="tanh")),
    "HardshrinkBackward": ([0.5], F.hardshrink),
    # Not F.hardsigmoid, whose gradient in double has float's digits of 1/6.
    "HardsigmoidBackward": ([], lambda x: torch.clamp(x + 3, 0, 6) / 6),
    "HardswishBackward": ([], F.hardswish),
    "HardswishBackwardV2": ([], F.hardswish),
    "HardtanhBackward": ([-1, 1.5], lambda x: F.hardtanh(x, -1, 1.5)),
    "MishBackward": ([], F.mish),
    "SiluBackward": ([], F.silu),
    "SoftplusBackward": ([1.5, 2.0], lambda x: F.softplus(x, 1.5, 2.0)),
    "SoftshrinkBackward": ([0.5], F.softshrink),
    "SoftsignBackward": ([], F.softsign),
    "SwishBackward": ([1.5], FORWARD["Swish"][1]),
    "ThresholdBackward": ([0.5], lambda x: F.threshold(x, 0.5, 0.0)),
}


@case(*[f"aclnn{name}" for name in BACKWARD], dtypes=FLOATS_AND_DOUBLE, tolerance=4)
def the_gradient_of_an_activation(make, operator):
    numbers, function = BACKWARD[operator.removeprefix("aclnn")]
    grad, x = make(3, 4), make(3, 4)
    return [grad, x, *numbers, OUT], slope(function, grad, x)


@case("aclnnGeluBackwardV2", dtypes=FLOATS_AND_DOUBLE, tolerance=4)
def the_gradient_of_gelu_by_either_formula(make):
    grad, x = make(3, 4), make(3, 4)
    for name in ("none", "tanh"):
        yield (
            [grad, x, name, OUT],
            slope(lambda t, how=name: F.gelu(t, approximate=how), grad, x),
        )


@case("aclnnEluBackward", dtypes=FLOATS, tolerance=4)
def the_gradient_of_elu_from_its_input_or_its_result(make):
    grad, x = make(3, 4), make(3, 4)
    for is_result in (False, True):
        expected = torch.ops.aten.elu_backward(grad.double(), 1.5, 1.2, 0.7, is_result, x.double())
        yield [grad, 1.5, 1.2, 0.7, is_result, x, OUT], expected.to(x.dtype)


@case("aclnnSeluBackward", tolerance=4)
def the_gradient_of_selu_from_its_result(make):
    grad, x = make(3, 4), make(3, 4, dtype=torch.float64)
    result = F.selu(x).to(make.dtype)
    rate = torch.where(
        result > 0, 1.0507009873554805, result.double() + 1.0507009873554805 * 1.6732632423543772
    )
    return [grad, result, OUT], (grad.double() * rate).to(make.dtype)


@case("aclnnLeakyReluBackward", dtypes=FLOATS_AND_DOUBLE)
def the_gradient_of_leaky_relu(make):
    grad, x = make(3, 4), make(3, 4)
    for is_result in (False, True):
        yield [grad, x, 0.1, is_result, OUT], slope(lambda t: F.leaky_relu(t, 0.1), grad, x)


@case("aclnnLogSigmoidBackward", tolerance=4)
def the_gradient_of_log_sigmoid(make):
    grad, x = make(3, 4), make(3, 4)
    return [grad, x, make(1), OUT], slope(F.logsigmoid, grad, x)


@case("aclnnLogitGrad", tolerance=4)
def the_gradient_of_logit(make):
    grad, x = make(3, 4), make(3, 4, low=0.1, high=0.9)
    yield [x, grad, -1.0, OUT], slope(torch.logit, grad, x)
    yield [x, grad, 0.25, OUT], slope(lambda t: torch.logit(t, 0.25), grad, x)


@case("aclnnPrelu", dtypes=FLOATS)
def a_slope_for_all_or_for_each_channel(make):
    x = make(2, 3, 4)
    for weight in (make(1), make(3)):
        yield [x, weight, OUT], F.prelu(x, weight)
        shaped = weight.reshape(1, -1, 1)
        yield [x, shaped, OUT], F.prelu(x, weight)


@case("aclnnPreluBackward", dtypes=FLOATS, tolerance=4)
def the_gradients_of_the_slopes(make):
    x, grad = make(2, 3, 4), make(2, 3, 4)
    for weight in (make(1), make(3)):
        wide, slopes = x.double().requires_grad_(), weight.double().requires_grad_()
        F.prelu(wide, slopes).backward(grad.double())
        yield [grad, x, weight, OUT, OUT], (wide.grad.to(x.dtype), slopes.grad.to(x.dtype))


def halves(x, dim):
    return x.chunk(2, dim)


def swiglu(x, dim):
    a, b = halves(x, dim)
    return F.silu(a) * b


def geglu(x, dim, approximate, left):
    value, gate = reversed(halves(x, dim)) if left else halves(x, dim)
    return value * F.gelu(gate, approximate=approximate)


GATED = {"aclnnGlu": F.glu, "aclnnSwiGlu": swiglu}


@case(*GATED, dtypes=FLOATS, tolerance=4)
def one_half_opens_the_other(make, operator):
    x = make(4, 6)
    for dim in (-1, 0):
        yield [x, dim, OUT], GATED[operator](x.double(), dim).to(x.dtype)


@case("aclnnGluBackward", "aclnnSwiGluGrad", dtypes=FLOATS, tolerance=4)
def the_gradient_of_both_halves(make, operator):
    x, grad = make(4, 6), make(4, 3)
    function = F.glu if operator == "aclnnGluBackward" else swiglu
    return [grad, x, -1, OUT], slope(lambda t: function(t, -1), grad, x)


@case("aclnnGeGlu", "aclnnGeGluV3", dtypes=FLOATS, tolerance=4)
def gelu_opens_a_half(make, operator):
    x = make(4, 6)
    for number, name in enumerate(("none", "tanh")):
        for left in (False, True) if operator.endswith("V3") else (False,):
            gate = halves(x, -1)[0 if left else 1]
            expected = geglu(x.double(), -1, name, left).to(x.dtype), F.gelu(gate, approximate=name)
            yield [x, -1, number, *([left] if operator.endswith("V3") else []), OUT, OUT], expected


@case("aclnnGeGluBackward", "aclnnGeGluV3Backward", dtypes=FLOATS, tolerance=4)
def the_gradient_of_a_half_that_gelu_opens(make, operator):
    x, grad = make(4, 6), make(4, 3)
    for number, name in enumerate(("none", "tanh")):
        for left in (False, True) if "V3" in operator else (False,):
            gelu = F.gelu(halves(x, -1)[0 if left else 1], approximate=name)
            expected = slope(lambda t, n=name, side=left: geglu(t, -1, n, side), grad, x)
            yield [grad, x, gelu, -1, number, *([left] if "V3" in operator else []), OUT], expected


@case("aclnnGeluMul", dtypes=FLOATS, tolerance=4)
def gelu_of_the_first_half_times_the_second(make):
    x = make(4, 6)
    for name in ("none", "tanh"):
        yield [x, name, OUT], geglu(x.double(), -1, name, True).to(x.dtype)


@case("aclnnSiluMul", dtypes=FLOATS, tolerance=4)
def silu_of_one_tensor_times_another(make):
    x, y = make(4, 6), make(4, 6)
    return [x, y, OUT], (F.silu(x.double()) * y).to(x.dtype)


@case("aclnnFatreluMul", dtypes=FLOATS)
def what_exceeds_a_threshold_times_the_second_half(make):
    x, limit = make(4, 6), torch.tensor([0.5], dtype=make.dtype)
    a, b = halves(x, -1)
    return [x, limit, OUT], torch.where(a > limit, a, 0) * b


@case("aclnnClippedSwiglu", dtypes=FLOATS, tolerance=4)
def both_halves_clipped_before_one_opens_the_other(make):
    def expected(x, interleaved):
        wide = x.double()
        gate, value = (wide[..., ::2], wide[..., 1::2]) if interleaved else halves(wide, -1)
        gate, value = gate.clamp(max=1.5), value.clamp(-1.5, 1.5)
        return (gate * torch.sigmoid(1.702 * gate) * (value + 1)).to(x.dtype)

    x = make(4, 6)
    for interleaved in (False, True):
        yield [x, None, -1, 1.702, 1.5, 1.0, interleaved, OUT], expected(x, interleaved)
    # Groups of 1 and 2 rows: the last row is left as it was.
    result = expected(x, False)
    result[3] = 7
    before = torch.full_like(result, 7)
    yield [x, torch.tensor([1, 2]), -1, 1.702, 1.5, 1.0, False, Inplace(before)], result


@case("aclnnReluGradV4", dtypes=FLOATS)
def the_gradient_of_what_exceeds_a_threshold(make):
    grad, x = make(3, 4), make(3, 4)
    return [grad, x, 0.5, OUT], torch.where(x > 0.5, grad, 0)


@case("aclnnRReluWithNoise", "aclnnInplaceRReluWithNoise", dtypes=FLOATS)
def without_training_the_slope_is_in_the_middle(make, operator):
    x = make(3, 4)
    noise = torch.zeros_like(x)
    out = [] if "Inplace" in operator else [OUT]
    self = Inplace(x) if "Inplace" in operator else x
    return [self, noise, 0.1, 0.3, False, 1, 0, *out], F.leaky_relu(x, 0.2)


@case("aclnnRReluWithNoise", dtypes=FLOATS)
def in_training_every_negative_element_has_a_slope_of_its_own(make):
    x = make(40, 50)
    seen = {}

    def look_at_slopes(slopes):
        seen["slopes"] = slopes.double()
        negative = seen["slopes"][x <= 0]
        assert ((negative >= 0.1 - 1e-3) & (negative <= 0.3 + 1e-3)).all()
        assert negative.unique().numel() > 20
        assert (slopes[x > 0] == 1).all()

    def look_at_result(result):
        torch.testing.assert_close(result.double(), x.double() * seen["slopes"], rtol=1e-2, atol=1e-2)

    shape = tuple(x.shape)
    return (
        [
            x,
            Check(shape, x.dtype, look_at_slopes),
            0.1,
            0.3,
            True,
            1,
            0,
            Check(shape, x.dtype, look_at_result),
        ],
        (None, None),
    )
