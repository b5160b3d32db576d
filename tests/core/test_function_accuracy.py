"""Functions of one number beside values with 30 digits (tools/function_values.py)."""

from __future__ import annotations

import decimal
import json
import math
import os
import platform
import random
from fractions import Fraction
from pathlib import Path

import pytest

import mindtorch_v2 as torch

VALUES: dict[str, list[tuple[float, str]]] = json.loads(
    Path(__file__).with_name("function_values.json").read_text()
)
# In units of the last place: a unit where PyTorch has it. A processor without fused products and sums, which no
# accelerator's host is, loses up to half a unit more, and so does a build with a sanitizer, whose compiler fuses none;
# tails of single numbers are computed in single (Note [Tails in floats] in vector_error.h).
SANITIZED = os.environ.get("MINDTORCH_BUILD") in ("asan", "tsan")
FUSES = not SANITIZED and (
    platform.machine() == "aarch64" or torch.backends.cpu.get_cpu_capability() != "DEFAULT"
)
ONE = 1.0 if FUSES else 1.7
LIMITS = dict.fromkeys(
    ("exp", "exp2", "expm1", "log1p", "sin", "cos", "tan", "sinh", "cosh", "tanh", "asin", "acos", "atan", "atanh"), ONE
) | {
    "log": 0.8, "log2": 0.8, "log10": 0.8, "asinh": 1.5, "acosh": 1.5, "erf": 1.2, "erfc": 4.0, "special.i1": 32.0,
}  # fmt: skip
SINGLE = dict.fromkeys(
    (
        "exp",
        "exp2",
        "log",
        "log2",
        "log10",
        "log1p",
        "sin",
        "cos",
        "tan",
        "tanh",
        "asin",
        "acos",
        "atan",
        "erf",
    ),
    ONE,
) | {"erfc": 1.5, "erfinv": 1.0, "special.ndtr": 1.5, "special.ndtri": 1.5}


def function(name: str):
    space = torch
    for part in name.split("."):
        space = getattr(space, part)
    return space


def error(got: float, want: str, digits: int) -> float:
    """The distance in units of the last of `digits` binary places."""
    exact = Fraction(want)
    place = Fraction(2) ** (math.frexp(float(exact))[1] - digits)
    return float(abs(Fraction(got) - exact) / place)


@pytest.mark.parametrize("name", sorted(VALUES))
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_function_is_within_few_places_of_the_exact_value(name, dtype):
    arguments = torch.tensor([x for x, _ in VALUES[name]], dtype=getattr(torch, dtype))
    results = function(name)(arguments).tolist()
    digits, limit = (53, LIMITS.get(name, 8.0)) if dtype == "float64" else (24, SINGLE.get(name, 0.6))
    errors = [error(r, want, digits) for r, (_, want) in zip(results, VALUES[name], strict=True)]
    worst = max(range(len(errors)), key=errors.__getitem__)
    assert errors[worst] <= limit, f"{name}({VALUES[name][worst][0]!r}) is {errors[worst]:.2f} places off"


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_power_is_within_one_place_of_the_exact_value(dtype):
    draw = random.Random(dtype)
    bases = [draw.uniform(0.1, 5.0) for _ in range(200)] + [10 ** draw.uniform(-12, 12) for _ in range(200)]
    exponents = [draw.uniform(-3.0, 3.0) for _ in bases]
    kind = getattr(torch, dtype)
    a, b = torch.tensor(bases, dtype=kind), torch.tensor(exponents, dtype=kind)
    digits = 53 if dtype == "float64" else 24
    with decimal.localcontext(prec=60):
        for base, exponent, got in zip(a.tolist(), b.tolist(), (a**b).tolist(), strict=True):
            exact = (decimal.Decimal(base).ln() * decimal.Decimal(exponent)).exp()
            assert error(got, str(exact), digits) <= 1.0, (base, exponent)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_remainders_lengths_and_neighbours_are_those_of_the_c_library(dtype):
    draw = random.Random(7)
    a = torch.tensor([draw.uniform(-1, 1) * 10 ** draw.uniform(-3, 6) for _ in range(2000)], dtype=dtype)
    b = torch.tensor([draw.uniform(-1, 1) * 10 ** draw.uniform(-2, 2) for _ in range(2000)], dtype=dtype)
    pairs = list(zip(a.tolist(), b.tolist(), strict=True))
    assert torch.fmod(a, b).tolist() == [math.fmod(x, y) for x, y in pairs]
    # the rest takes the divisor's sign, as Python's does; in single precision, rounded once
    wanted = torch.tensor([math.fmod(math.fmod(x, y) + y, y) for x, y in pairs], dtype=torch.float64)
    found = torch.remainder(a, b).double()
    close = (found - wanted).abs() <= 1e-6 * b.double().abs()
    assert (close | ((found - wanted).abs() >= (1 - 1e-6) * b.double().abs())).all()
    lengths = torch.hypot(a, b).double() / torch.tensor(
        [math.hypot(x, y) for x, y in pairs], dtype=torch.float64
    )
    assert (lengths - 1).abs().max() <= torch.finfo(dtype).eps
    if dtype == torch.float64:
        assert torch.nextafter(a, b).tolist() == [math.nextafter(x, y) for x, y in pairs]
    corners = torch.tensor([0.0, -0.0, math.inf, -math.inf, math.nan, 1.0, -1.0], dtype=torch.float64)
    for x in corners.tolist():
        found = torch.nextafter(torch.full_like(corners, x), corners).tolist()
        for got, y in zip(found, corners.tolist(), strict=True):
            assert repr(got) == repr(math.nextafter(x, y)), (x, y)


def test_powers_at_the_edges_of_their_range():
    inf, nan = math.inf, math.nan
    cases = {
        (0.0, -1.5): inf, (-0.0, 3.5): 0.0, (inf, -2.5): 0.0, (-inf, 4.5): inf, (-8.0, 5.0): -32768.0,
        (-8.0, 4.0): 4096.0, (-8.0, 2.5): nan, (nan, 0.0): 1.0, (1.0, nan): 1.0, (2.0, 1e300): inf,
        (2.0, -1e300): 0.0, (5e-324, 0.25): 2.0**-268.5, (1e200, 2.5): inf, (1e-200, 2.5): 0.0, (3.0, 4.0): 81.0,
    }  # fmt: skip
    bases, exponents = (torch.tensor(list(each), dtype=torch.float64) for each in zip(*cases, strict=True))
    for (base, exponent), got in zip(cases, (bases**exponents).tolist(), strict=True):
        want = cases[base, exponent]
        same = math.isnan(got) if math.isnan(want) else got == want or math.isclose(got, want, rel_tol=1e-15)
        assert same, (base, exponent, got, want)
        alone = (
            torch.tensor([base], dtype=torch.float64) ** torch.tensor([exponent], dtype=torch.float64)
        ).item()
        assert repr(alone) == repr(got), (base, exponent)


@pytest.mark.parametrize("name", ["erfinv", "special.ndtri"])
def test_inverses_reach_the_ends_of_their_range(name):
    low, high = (-1.0, 1.0) if name == "erfinv" else (0.0, 1.0)
    for dtype in (torch.float64, torch.float32):
        found = function(name)(
            torch.tensor([low, high, low - 0.5, high + 0.5, math.nan], dtype=dtype)
        ).tolist()
        assert found[:2] == [-math.inf, math.inf]
        assert all(math.isnan(x) for x in found[2:])


def test_a_result_does_not_depend_on_its_neighbours():
    x = torch.linspace(-0.9999999, 0.9999999, 1031, dtype=torch.float64)
    for f in (
        torch.erfinv, torch.sin, torch.tanh, torch.expm1, torch.special.i1e, torch.erfc, torch.log, torch.log10,
        torch.atan, torch.cosh, torch.exp2, torch.tan,
    ):  # fmt: skip
        whole = f(x).nan_to_num(nan=77.0)
        for i in (0, 1, 255, 256, 515, 600, 1030):
            assert torch.equal(f(x[i : i + 1]).nan_to_num(nan=77.0), whole[i : i + 1]), (f, i)


def test_zeros_keep_their_sign_and_infinities_their_place():
    edges = torch.tensor([-0.0, 0.0, math.inf, -math.inf, math.nan], dtype=torch.float64)
    for f in (
        torch.sin, torch.tan, torch.sinh, torch.tanh, torch.expm1, torch.log1p, torch.asin, torch.atan, torch.asinh,
        torch.atanh, torch.erf,
    ):  # fmt: skip
        assert [math.copysign(1, v) for v in f(edges).tolist()[:2]] == [-1, 1], f
        assert math.isnan(f(edges).tolist()[4]), f
    assert torch.exp(edges).tolist()[:4] == [1, 1, math.inf, 0]
    assert torch.exp2(edges).tolist()[:4] == [1, 1, math.inf, 0]
    assert torch.cosh(edges).tolist()[:4] == [1, 1, math.inf, math.inf]
    assert torch.sinh(edges).tolist()[2:4] == [math.inf, -math.inf]
    assert torch.asinh(edges).tolist()[2:4] == [math.inf, -math.inf]
    for f in (torch.log, torch.log2, torch.log10):
        assert f(edges).tolist()[:3] == [-math.inf, -math.inf, math.inf]
        assert all(math.isnan(x) for x in f(edges).tolist()[3:])
    assert torch.atan(edges).tolist()[2:4] == [math.pi / 2, -math.pi / 2]
    tiny = torch.tensor([5e-324, 1e-310, 1.7e308], dtype=torch.float64)
    for f, of in (
        (torch.log, math.log),
        (torch.log2, math.log2),
        (torch.log10, math.log10),
        (torch.asinh, math.asinh),
    ):
        assert torch.allclose(
            f(tiny), torch.tensor([of(x) for x in tiny.tolist()], dtype=torch.float64), rtol=1e-15
        )
    assert torch.tanh(edges).tolist()[2:4] == [1, -1]
    assert torch.erfc(edges).tolist()[2:4] == [0, 2]
    assert torch.isposinf(edges).tolist() == [False, False, True, False, False]
    assert torch.isneginf(edges).tolist() == [False, False, False, True, False]
