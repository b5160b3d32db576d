"""Elementwise operators and activations: what comparing values with PyTorch does not show."""

from __future__ import annotations

import math
import operator
import platform

import numpy as np
import pytest

import mindtorch_v2 as torch
import mindtorch_v2.nn.functional as F


def test_aliases_are_the_same_callable_with_the_same_in_place_form():
    x = torch.tensor([0.25, -0.5])
    for name, alias in [("acos", "arccos"), ("neg", "negative"), ("trunc", "fix"), ("clamp", "clip")]:
        arguments = (0.0,) if name == "clamp" else ()
        expected = getattr(x, name)(*arguments)
        assert torch.equal(getattr(torch, alias)(x, *arguments), expected)
        assert torch.equal(getattr(x.clone(), f"{alias}_")(*arguments), expected)


def test_clamp_refuses_to_have_no_bound():
    with pytest.raises(RuntimeError, match="At least one of 'min' or 'max' must not be None"):
        torch.clamp(torch.ones(2))


def test_clamp_with_a_lower_bound_above_the_upper_gives_the_upper():
    x = torch.tensor([-1.0, 0.0, 5.0], requires_grad=True)
    y = x.clamp(3, 1)
    y.sum().backward()
    assert y.tolist() == [1, 1, 1] and x.grad.tolist() == [0, 0, 0]


def test_clamp_of_integers_by_a_fraction_promotes():
    assert torch.clamp(torch.tensor([0, 3]), 0.5).tolist() == [0.5, 3]


def test_clamp_with_tensors_broadcasts_and_gives_the_bounds_their_gradient():
    x = torch.tensor([[0.0, 1.0, 2.0]], requires_grad=True)
    low = torch.tensor([[0.5], [1.5]], requires_grad=True)
    torch.clamp(x, low).sum().backward()
    assert x.grad.tolist() == [[0, 1, 2]] and low.grad.tolist() == [[1], [2]]


def test_division_rounds_as_asked():
    a, b = torch.tensor([7.0, -7.0]), torch.tensor([2.0, 2.0])
    assert torch.div(a, b, rounding_mode="trunc").tolist() == [3, -3]
    assert torch.div(a, 2, rounding_mode="floor").tolist() == [3, -4]
    assert torch.div(a.long(), 2, rounding_mode="floor").dtype == torch.int64
    with pytest.raises(RuntimeError, match="one of None, 'trunc', or 'floor' but found 'up'"):
        torch.div(a, b, rounding_mode="up")


def test_integer_division_by_zero_raises_in_every_rounding_mode():
    one, zero = torch.tensor([1]), torch.tensor([0])
    for mode in ("trunc", "floor"):
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            torch.div(one, zero, rounding_mode=mode)


def test_the_smallest_integer_divided_by_minus_one_does_not_trap():
    smallest = torch.tensor([-(2**63)])
    assert torch.div(smallest, torch.tensor([-1]), rounding_mode="trunc").tolist() == [-(2**63)]
    assert torch.gcd(smallest, torch.tensor([-1])).tolist() == [1]


def test_a_number_may_stand_on_the_left_of_arithmetic():
    x = torch.tensor([1, 2])
    assert torch.add(1, x).tolist() == [2, 3] and torch.sub(5, x, alpha=2).tolist() == [3, 1]
    assert torch.mul(2, x).tolist() == [2, 4] and torch.div(2, x).tolist() == [2.0, 1.0]
    assert torch.pow(2, x).tolist() == [2, 4] and torch.remainder(5, x).tolist() == [0, 1]


def test_operators_without_a_number_overload_refuse_numbers():
    for name in ("fmax", "hypot", "gcd", "logaddexp", "heaviside"):
        with pytest.raises(TypeError):
            getattr(torch, name)(torch.ones(2), 2)


def test_shifts_beyond_the_width_move_everything_out():
    x = torch.tensor([-8, 8])
    assert (x << 64).tolist() == [0, 0] and (x >> 70).tolist() == [-1, 0]
    assert (x << -1).tolist() == [0, 0] and (x >> 2).tolist() == [-2, 2]
    assert (1 << torch.tensor([3])).tolist() == [8]
    with pytest.raises(NotImplementedError):
        torch.ones(2) << 1


def test_in_place_composites_keep_what_backward_reads():
    x = torch.tensor([0.5, 2.0], requires_grad=True)
    y = x * 1
    y.ldexp_(torch.tensor([1.0, 2.0]))
    y.clamp_(torch.tensor([0.0, 0.0]), torch.tensor([5.0, 5.0]))
    y.sum().backward()
    assert y.tolist() == [1, 5] and x.grad.tolist() == [2, 0]


def test_out_is_resized_and_returned():
    out = torch.empty(0)
    assert torch.addcmul(torch.ones(3), torch.ones(3), torch.ones(3), value=2, out=out) is out
    assert out.tolist() == [3, 3, 3]
    mantissa, exponent = torch.empty(0), torch.empty(0, dtype=torch.int32)
    torch.frexp(torch.tensor([3.0]), out=(mantissa, exponent))
    assert mantissa.tolist() == [0.75] and exponent.tolist() == [2]


def test_addcdiv_of_integers_is_refused():
    whole = torch.ones(2, dtype=torch.int64)
    with pytest.raises(RuntimeError, match="Integer division with addcdiv is no longer supported"):
        torch.addcdiv(whole, whole, whole)


def test_lerp_wants_one_dtype_and_reaches_its_end_exactly():
    a, b = torch.tensor([0.1]), torch.tensor([0.7])
    assert torch.lerp(a, b, 1.0).tolist() == b.tolist()
    with pytest.raises(RuntimeError, match="expected dtype float for `end` but got dtype double"):
        torch.lerp(a, b.double(), 0.5)


def test_three_operands_broadcast_on_meta_too():
    x = torch.empty(2, 1, device="meta")
    y = torch.addcmul(x, torch.empty(3, device="meta"), torch.empty(1, 3, device="meta"))
    assert y.shape == (2, 3) and y.device.type == "meta"


def test_comparisons_of_infinity_refuse_complex_numbers():
    with pytest.raises(RuntimeError, match="isposinf does not support complex inputs"):
        torch.isposinf(torch.zeros(1, dtype=torch.complex64))


def test_nan_to_num_uses_the_limits_of_the_dtype():
    x = torch.tensor([math.nan, math.inf, -math.inf], dtype=torch.float16)
    assert torch.nan_to_num(x).tolist() == [0, 65504, -65504]
    assert torch.nan_to_num(x, nan=1, posinf=2, neginf=3).tolist() == [1, 2, 3]
    assert torch.nan_to_num(torch.tensor([7])).tolist() == [7]


def test_neighbours_of_half_types_are_their_own():
    one = torch.ones(1, dtype=torch.bfloat16)
    assert torch.nextafter(one, one * 2).item() == 1 + 2**-7
    assert torch.nextafter(one.half(), -one.half()).item() == 1 - 2**-11
    assert torch.nextafter(one.half() * 0, one.half()).item() == 2**-24


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_erfinv_undoes_erf(dtype):
    x = torch.tensor(np.linspace(-0.999, 0.999, 401)).to(getattr(torch, dtype))
    back = torch.erf(torch.erfinv(x)).numpy()
    np.testing.assert_allclose(back, x.numpy(), rtol=2e-6 if dtype == "float32" else 1e-14)
    edges = torch.erfinv(torch.tensor([1.0, -1.0, 2.0])).tolist()
    assert edges[:2] == [math.inf, -math.inf] and math.isnan(edges[2])


def test_digamma_is_the_slope_of_lgamma():
    x = torch.tensor([-2.5, 0.3, 1.0, 4.0, 50.0], dtype=torch.float64, requires_grad=True)
    torch.lgamma(x).sum().backward()
    step = 1e-6
    slope = (torch.lgamma(x.detach() + step) - torch.lgamma(x.detach() - step)) / (2 * step)
    np.testing.assert_allclose(x.grad.numpy(), slope.numpy(), rtol=1e-7)
    assert math.isclose(torch.digamma(torch.tensor(1.0, dtype=torch.float64)).item(), -0.5772156649015329)


def test_logarithms_of_whole_powers_are_whole():
    assert torch.log2(torch.tensor([2.0**k for k in range(-140, 128)])).tolist() == list(range(-140, 128))
    assert torch.log10(torch.tensor([10.0**k for k in range(11)])).tolist() == list(range(11))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.int16])
@pytest.mark.parametrize("shape", [(16, 16), (37, 150), (64, 1024), (3, 40, 130)])
def test_operands_that_lie_across_memory_meet_those_that_do_not(shape, dtype):
    rng = np.random.default_rng(0)
    straight, across = (
        rng.integers(-9, 9, s).astype(dtype) for s in (shape, (*shape[:-2], shape[-1], shape[-2]))
    )
    across = across.swapaxes(-1, -2)
    row, column, number = straight[..., :1, :], straight[..., :1], straight.ravel()[:1]
    for left, right in (
        (straight, across),
        (across, row),
        (across, column),
        (across, number),
        (number, across),
    ):
        x, y = torch.from_numpy(left), torch.from_numpy(right)
        assert np.array_equal((x - y).numpy(), left - right)
        assert np.array_equal((x < y).numpy(), left < right)
    made = torch.where(torch.from_numpy(straight) > 0, torch.from_numpy(across), torch.from_numpy(row))
    assert np.array_equal(made.numpy(), np.where(straight > 0, across, row))
    into = torch.from_numpy(straight.copy())
    into[..., 1:] += torch.from_numpy(across)[..., 1:]
    assert np.array_equal(into[..., 1:].numpy(), (straight + across)[..., 1:])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_roots_are_rounded_as_the_processors(dtype):
    rng = np.random.default_rng(0)
    kind, limits = (np.uint32 if dtype == np.float32 else np.uint64), np.finfo(dtype)
    bits = rng.integers(0, kind(limits.max.view(kind)), 100_003, dtype=kind)  # numbers of every size
    near = np.nextafter(dtype(1), dtype(2)) * np.arange(1, 3001).astype(dtype) ** 2
    edges = np.array(
        [0.0, -0.0, np.inf, np.nan, -1.0, limits.tiny, limits.smallest_subnormal, limits.max], dtype
    )
    with np.errstate(invalid="ignore"):
        for x in (bits.view(dtype), near, np.zeros(300, dtype), np.resize(edges, 600)):
            np.testing.assert_array_equal(torch.sqrt(torch.from_numpy(x)).numpy(), np.sqrt(x))


def test_vector_functions_are_right_at_the_edges():
    x = torch.tensor([math.inf, -math.inf, math.nan, -0.0, 3e38, -200.0])
    with np.errstate(all="ignore"):
        for name in ("exp", "log", "log1p", "tanh", "sin", "cos", "arctan", "arcsin", "arccos", "exp2"):
            wanted = getattr(np, name)(x.numpy().astype(np.float64)).astype(np.float32)
            np.testing.assert_allclose(getattr(torch, name)(x).numpy(), wanted, rtol=1e-6, err_msg=name)


def test_isclose_and_allclose_want_one_dtype_and_sensible_tolerances():
    with pytest.raises(RuntimeError, match="Float did not match Double"):
        torch.isclose(torch.ones(1), torch.ones(1).double())
    with pytest.raises(RuntimeError, match="rtol must be greater than or equal to zero"):
        torch.allclose(torch.ones(1), torch.ones(1), rtol=-1)
    assert torch.isclose(torch.tensor([math.inf]), torch.tensor([math.inf])).tolist() == [True]


def test_fill_with_a_tensor_takes_its_gradient_and_only_a_single_value():
    value = torch.tensor(2.0, requires_grad=True)
    torch.zeros(2, 3).fill_(value).sum().backward()
    assert value.grad.item() == 6
    with pytest.raises(RuntimeError, match="fill_ only supports 0-dimension value tensor"):
        torch.zeros(2).fill_(torch.ones(2))


def test_gelu_names_its_approximations():
    with pytest.raises(RuntimeError, match="approximate argument must be either none or tanh."):
        F.gelu(torch.ones(1), approximate="sigmoid")


def test_glu_wants_an_even_dimension():
    with pytest.raises(RuntimeError, match="Halving dimension must be even, but dimension 1 is size 3"):
        F.glu(torch.ones(2, 3))


def test_prelu_wants_a_weight_per_channel():
    with pytest.raises(RuntimeError, match="Found parameter numbers = 2 and channel size = 3"):
        F.prelu(torch.ones(2, 3), torch.ones(2))


def test_softshrink_and_hardtanh_refuse_bad_bounds():
    with pytest.raises(RuntimeError, match=r"lambda must be in range \[0, 3.40282e\+38\]"):
        F.softshrink(torch.ones(1), -1)
    with pytest.raises(ValueError, match="min_val cannot be greater than max_val"):
        F.hardtanh(torch.ones(1), 2, 1)


@pytest.mark.parametrize("name", ["relu6", "leaky_relu", "elu", "selu", "celu", "silu", "mish", "hardswish"])
def test_activations_in_place_have_the_gradient_of_their_other_form(name):
    x = torch.tensor([-2.0, -0.3, 0.7, 4.0], requires_grad=True)
    getattr(F, name)(x).sum().backward()
    expected = x.grad.tolist()
    x.grad = None
    y = x * 1
    assert getattr(F, name)(y, inplace=True) is y
    y.sum().backward()
    assert x.grad.tolist() == expected


@pytest.mark.parametrize("name", ["silu", "mish", "gelu", "softplus", "elu", "hardswish"])
def test_second_derivatives_match_differences_of_the_first(name):
    def slope(at):
        x = torch.tensor(at, dtype=torch.float64, requires_grad=True)
        (first,) = torch.autograd.grad(getattr(F, name)(x).sum(), x, create_graph=True)
        return x, first

    points = [-2.1, -0.4, 0.6, 2.2]
    x, first = slope(points)
    (second,) = torch.autograd.grad(first.sum(), x)
    step = 1e-6
    high, low = slope([p + step for p in points])[1], slope([p - step for p in points])[1]
    wanted = ((high - low) / (2 * step)).detach().numpy()
    np.testing.assert_allclose(second.numpy(), wanted, rtol=1e-6, atol=1e-8)


def test_rrelu_draws_its_slopes_between_the_bounds_in_training():
    x = torch.full((1000,), -1.0)
    y = F.rrelu(x, 0.2, 0.4, training=True)
    assert -0.4 <= y.min().item() < y.max().item() <= -0.2
    with pytest.raises(RuntimeError, match="Lower bound should be less than or equal to the upper bound"):
        F.rrelu(x, 0.5, 0.1)


def test_empty_and_single_values_go_through_everything():
    for name in ("gelu", "silu", "softplus", "hardshrink", "logsigmoid"):
        assert getattr(F, name)(torch.empty(0, 3)).shape == (0, 3)
        assert getattr(F, name)(torch.tensor(0.5)).shape == ()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("length", [1, 3, 4, 15, 16, 17, 1000])
def test_clamping_keeps_nan_and_does_not_depend_on_the_place(dtype, length):
    kind = getattr(torch, dtype)
    for value, low, high, wanted in (
        (5.0, -1, 2, 2.0),
        (-5.0, -1, 2, -1.0),
        (1.5, -1, 2, 1.5),
        (1.5, 3, 2, 2.0),
        (math.inf, -1, 2, 2.0),
    ):
        assert torch.full([length], value, dtype=kind).clamp(low, high).tolist() == [wanted] * length
    nan = torch.full([length], math.nan, dtype=kind)
    for clamped in (
        nan.clamp(-1, 2),
        nan.clamp_min(0),
        nan.clamp_max(0),
        torch.zeros(length).clamp(min=math.nan),
    ):
        assert all(map(math.isnan, clamped.tolist()))


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int16", "float32", "float64", "complex128", "bfloat16"])
def test_a_choice_takes_whole_elements(dtype):
    rng = np.random.default_rng(0)
    condition = torch.tensor(rng.random((37, 65)) < 0.5)
    a, b = (torch.tensor(rng.integers(0, 2, (37, 65))).to(getattr(torch, dtype)) for _ in range(2))
    pairs = zip(condition.flatten().tolist(), a.flatten().tolist(), b.flatten().tolist(), strict=True)
    assert torch.where(condition, a, b).flatten().tolist() == [x if c else y for c, x, y in pairs]


def test_the_noise_of_dropout_is_asked_for_no_gradient():
    x = torch.ones(8, requires_grad=True)
    y = F.dropout(x, 0.5)
    inputs = [node for node, _ in y.grad_fn.next_functions]
    assert [type(node).__name__ for node in inputs if node is not None] == ["AccumulateGrad"]


@pytest.mark.parametrize("shapes", [((2100, 1), (2100,)), ((3, 1, 2100), (1, 4, 1)), ((2, 2100), ())])
def test_broadcasts_over_long_rows_are_numpys(shapes):
    rng = np.random.default_rng(0)
    for dtype in ("float32", "int16", "complex64"):
        a, b = (rng.integers(-8, 8, shape).astype(dtype) for shape in shapes)
        assert (torch.tensor(a) * torch.tensor(b)).tolist() == (a * b).tolist()


def test_the_reciprocal_of_an_infinite_complex_number_is_zero():
    infinite = torch.tensor([complex(float("inf"), 0), complex(0, float("-inf"))] * 9, dtype=torch.complex64)
    assert (infinite.reciprocal() == 0).all()
    large = torch.tensor([complex(1e38, -1e38)])
    assert torch.allclose(large.reciprocal() * 1e38, torch.tensor([complex(0.5, 0.5)]))


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_bytes_shift_by_every_count(dtype):
    first = int(np.iinfo(dtype).min)
    values = torch.arange(first, first + 256).to(getattr(torch, dtype)).reshape(256, 1).expand(256, 256)
    counts = values.t().contiguous()
    a, b = values.numpy().astype(np.int64), counts.numpy().astype(np.int64)
    inside = (b >= 0) & (b < 8)
    left = np.where(inside, a << np.where(inside, b, 0), 0).astype(dtype)
    right = np.where(inside, a >> np.where(inside, b, 0), np.where(a < 0, -1, 0)).astype(dtype)
    assert np.array_equal(torch.bitwise_left_shift(values, counts).numpy(), left)
    assert np.array_equal(torch.bitwise_right_shift(values, counts).numpy(), right)


def test_a_number_beside_rows_that_are_not_dense():
    x = torch.arange(3 * 700, dtype=torch.int16).reshape(3, 700)[:, ::2]
    assert np.array_equal((x + 5).numpy(), x.numpy() + 5)
    wide = torch.arange(6.0).reshape(6, 1).expand(6, 3000)
    assert np.array_equal((wide * 2.5).numpy(), wide.numpy() * np.float32(2.5))
    assert np.array_equal(
        torch.where(wide > 2, wide, 1.0).numpy(), np.where(wide.numpy() > 2, wide.numpy(), 1)
    )


def test_complex_quotients_and_powers_of_single_precision():
    rng = np.random.default_rng(3)
    a, b = (torch.tensor(rng.standard_normal(500) + 1j * rng.standard_normal(500)) for _ in range(2))
    x, y = a.to(torch.complex64), b.to(torch.complex64)
    exact_x, exact_y = x.numpy().astype(complex), y.numpy().astype(complex)
    np.testing.assert_allclose((x / y).numpy(), exact_x / exact_y, rtol=2e-7)
    np.testing.assert_allclose((x / (2 - 1j)).numpy(), exact_x / (2 - 1j), rtol=2e-7)
    np.testing.assert_allclose((x**2.5).numpy(), exact_x**2.5, rtol=3e-7)
    np.testing.assert_allclose((x**y).numpy(), exact_x**exact_y, rtol=3e-7)


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_bytes_are_shifted_by_every_count(dtype):
    kind = np.dtype(dtype)
    a = np.repeat(np.arange(256, dtype=np.uint8).view(kind), 12)
    counts = np.tile(np.array([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 100, 127], kind), 256)
    wide, out = a.astype(np.int64), counts > 7
    x, by = torch.from_numpy(a), torch.from_numpy(counts)
    np.testing.assert_array_equal(
        x >> by, np.where(out, np.where(wide < 0, -1, 0), wide >> np.minimum(counts, 7))
    )
    np.testing.assert_array_equal(x << by, np.where(out, 0, wide << np.minimum(counts, 7)).astype(kind))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_a_sign_is_copied_to_every_half(dtype):
    bits = torch.arange(-(2**15), 2**15, dtype=torch.int16)
    x = bits.view(dtype)
    for sign, mask in ((torch.tensor(-1.0), -(2**15)), (torch.full_like(x, 2.0), 0)):
        assert torch.equal(torch.copysign(x, sign).view(torch.int16), (bits & 0x7FFF) | mask)


def test_complex_logarithms_are_added_up():
    draw = np.random.default_rng(0)
    a, b = (draw.standard_normal(50) + 1j * draw.standard_normal(50) for _ in range(2))
    x, y = torch.from_numpy(a).requires_grad_(), torch.from_numpy(b).requires_grad_()
    sums = torch.logaddexp(x, y)
    np.testing.assert_allclose(np.exp(sums.detach().numpy()), np.exp(a) + np.exp(b), rtol=1e-12)
    assert torch.autograd.gradcheck(
        torch.logaddexp, (x[:5].detach().requires_grad_(), y[:5].detach().requires_grad_())
    )
    nothing = complex(-math.inf, 0.5)
    edges = torch.logaddexp(
        torch.tensor([nothing, nothing, complex(math.nan, 1)]), torch.tensor([nothing, 2 - 3j, 1j])
    )
    assert (
        edges[0].real.item() == -math.inf and edges[1].item() == 2 - 3j and math.isnan(edges[2].imag.item())
    )


def test_a_complex_number_is_interpolated_from_the_nearer_end():
    a, b = torch.tensor([1 + 2j, 3 - 1j, -2 + 0.5j]), torch.tensor([4 - 1j, 0.25 + 7j, 1 + 1j])
    weight = torch.tensor([0.25 + 0.1j, 1 + 0j, 0.7 - 0.2j])
    np.testing.assert_allclose(
        torch.lerp(a, b, weight), a.numpy() + weight.numpy() * (b - a).numpy(), rtol=1e-6
    )
    assert torch.lerp(a, b, weight)[1].item() == b[1].item()


def assert_same_but_rounding(got, wanted):
    """The same numbers; on x86-64, where a kernel's levels are chosen when it runs, their last digit may be another:
    Note [Sums of two products]."""
    if platform.machine() == "aarch64":
        assert torch.equal(got, wanted)
    else:
        near = 4 * torch.finfo(wanted.dtype).eps
        torch.testing.assert_close(got, wanted, rtol=near, atol=near)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "name",
    "exp expm1 exp2 log log2 log10 log1p sin cos tan sinc sinh cosh tanh sigmoid atan atan2 asin pow hypot erf lgamma "
    "nn.functional.gelu nn.functional.silu special.ndtr special.i0e".split(),
)
def test_results_do_not_depend_on_neighbours(name, dtype):
    """Loops of vectors and those of what is left over."""
    function = operator.attrgetter(name)(torch)
    generator = torch.Generator().manual_seed(4)
    x = torch.rand(6000, generator=generator, dtype=getattr(torch, dtype)) + 0.4
    operands = (x, x.flip(0)) if name in ("atan2", "pow", "hypot") else (x,)
    if name == "asin":
        operands = (x - 0.9,)
    whole = function(*operands)
    for length in (1, 2, 3):
        parts = [function(*pieces) for pieces in zip(*(t.split(length) for t in operands), strict=True)]
        assert_same_but_rounding(torch.cat(parts), whole)


@pytest.mark.parametrize("threads", [2, 16])
@pytest.mark.parametrize("name", ["add", "exp", "tan", "lgamma", "special.bessel_y0", "special.zeta"])
def test_functions_of_any_cost_are_shared_by_threads(name, threads):
    function = operator.attrgetter(name)(torch)
    x = torch.rand(300, 211) + 1.5
    operands = [x, x.double(), x.t()]
    if "special" not in name:
        operands.append(x.bfloat16())
    if name in ("add", "exp", "tan"):
        operands.append(torch.complex(x, x))
    before = torch.get_num_threads()
    try:
        for operand in operands:
            arguments = (operand, operand[:1]) if name in ("add", "special.zeta") else (operand,)
            torch.set_num_threads(1)
            alone = function(*arguments)
            torch.set_num_threads(threads)
            assert_same_but_rounding(function(*arguments), alone)
    finally:
        torch.set_num_threads(before)


# Functions of floats that are rounded once; a number beside a tensor multiplies and divides as it is.
ROUNDED_ONCE = {
    "square": lambda x, y, z: x.square(),
    "reciprocal": lambda x, y, z: x.reciprocal(),
    "rsqrt": lambda x, y, z: x.abs().rsqrt(),
    "floor": lambda x, y, z: x.floor(),
    "deg2rad": lambda x, y, z: x.deg2rad(),
    "expm1": lambda x, y, z: x.expm1(),
    "conj_physical": lambda x, y, z: torch.conj_physical(x),
    "mul": lambda x, y, z: x * y,
    "div": lambda x, y, z: x / y,
    "div_number": lambda x, y, z: x / 3.1,
    "mul_number": lambda x, y, z: x * 0.1,
    "add_alpha": lambda x, y, z: torch.add(x, y, alpha=2),
    "maximum": lambda x, y, z: torch.maximum(x, y),
    "lerp": lambda x, y, z: torch.lerp(x, y, 0.25),
    "lerp_tensor": lambda x, y, z: torch.lerp(x, y, z),
    "addcmul": lambda x, y, z: torch.addcmul(x, y, z, value=0.5),
    "tanh_backward": lambda x, y, z: torch.ops.aten.tanh_backward(x, y),
    "gt": lambda x, y, z: x > y,
    "ne": lambda x, y, z: x != y,
    "isnan": lambda x, y, z: x.isnan(),
    "isreal": lambda x, y, z: x.isreal(),
    "signbit": lambda x, y, z: x.signbit(),
}


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", ROUNDED_ONCE)
def test_halves_are_computed_in_floats_and_rounded_once(name, dtype):
    function = ROUNDED_ONCE[name]
    torch.manual_seed(0)
    odd_ones = [0.0, -0.0, math.inf, -math.inf, math.nan, 1e-7, -6e-8, 65504.0, 1e30, 2.5]
    for count in (1, 15, 16, 64, 71, 200, 1025):
        operands = [(3 * torch.randn(count + 12)).to(dtype) for _ in range(3)]
        for at, x in enumerate(operands):
            x[at : at + 10] = torch.tensor(odd_ones).to(dtype)
        for x, y, z in (operands, [x[1:] for x in operands], [x[::2] for x in operands]):
            wanted = function(x.float(), y.float(), z.float())
            if wanted.is_floating_point():
                wanted = wanted.to(dtype)
            assert torch.equal(*(torch.nan_to_num(r.float(), 7e4) for r in (function(x, y, z), wanted)))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_halves_change_in_place_and_beside_other_dtypes(dtype):
    x = torch.randn(300).to(dtype)
    wanted = (x.float() * x.float()).to(dtype)
    into = torch.empty(300)
    assert torch.equal(x.clone().mul_(x), wanted)
    assert torch.equal(x.clone().square_(), wanted)
    assert torch.equal(torch.mul(x, x, out=into).to(dtype), wanted)
    rows = x.reshape(3, 100)
    assert torch.equal(rows * rows[:, :1], (rows.float() * rows[:, :1].float()).to(dtype))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_integers_beside_halves_are_rounded_to_them(dtype):
    x = torch.full((6,), 3.0, dtype=dtype)
    integers = torch.tensor([1, 255, 257, 2049, 70000, -65521])
    for whole in (integers, integers.int(), integers.repeat_interleave(2)[::2]):
        rounded = whole.to(dtype)
        for function in (
            torch.mul, torch.div, torch.add, torch.sub, torch.fmod, torch.maximum, torch.eq, torch.gt,
        ):  # fmt: skip
            for ours, wanted in (
                (function(x, whole), function(x, rounded)),
                (function(whole, x), function(rounded, x)),
            ):
                assert ours.dtype == wanted.dtype
                assert torch.equal(ours.float().nan_to_num(7.5), wanted.float().nan_to_num(7.5))
        assert torch.equal(torch.addcmul(x, x, whole), torch.addcmul(x, x, rounded))
    # A single number multiplies and divides as it is.
    assert (x * torch.tensor(257))[0].item() == torch.tensor(771.0).to(dtype).item()
