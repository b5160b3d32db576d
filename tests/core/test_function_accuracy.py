"""Functions of one number beside values with 30 digits (tools/function_values.py)."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path

import pytest

import mindtorch_v2 as torch

VALUES: dict[str, list[tuple[float, str]]] = json.loads(
    Path(__file__).with_name("function_values.json").read_text()
)
# In units of the last place, for double, also on processors without fused products and sums; single has what is left
# after rounding, or a little more.
LIMITS = {
    "exp": 1.0, "expm1": 1.3, "log1p": 1.1, "sin": 1.05, "cos": 1.05, "tanh": 1.25, "asin": 1.0, "acos": 1.0,
    "atanh": 2.0, "asinh": 2.0, "acosh": 2.0, "erf": 1.0, "erfc": 4.0, "special.i1": 32.0,
}  # fmt: skip
SINGLE = {"exp": 2.0, "log1p": 2.0, "sin": 2.0, "cos": 2.0, "tanh": 2.0, "asin": 2.0, "acos": 2.0, "erf": 2.0}


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
    for f in (torch.erfinv, torch.sin, torch.tanh, torch.expm1, torch.special.i1e, torch.erfc):
        whole = f(x)
        assert all(torch.equal(f(x[i : i + 1]), whole[i : i + 1]) for i in (0, 1, 255, 256, 515, 1030))


def test_zeros_keep_their_sign_and_infinities_their_place():
    edges = torch.tensor([-0.0, 0.0, math.inf, -math.inf, math.nan], dtype=torch.float64)
    for f in (torch.sin, torch.tanh, torch.expm1, torch.log1p, torch.asin, torch.atanh, torch.erf):
        assert [math.copysign(1, v) for v in f(edges).tolist()[:2]] == [-1, 1], f
    assert torch.exp(edges).tolist()[:4] == [1, 1, math.inf, 0]
    assert torch.tanh(edges).tolist()[2:4] == [1, -1]
    assert torch.erfc(edges).tolist()[2:4] == [0, 2]
    assert torch.isposinf(edges).tolist() == [False, False, True, False, False]
    assert torch.isneginf(edges).tolist() == [False, False, False, True, False]
