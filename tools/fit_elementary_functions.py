"""Polynomials of the elementary functions in double: prints those of csrc/kernels/common/vector_math_double.h.

Each is the polynomial through a smooth function's values at Chebyshev points of an interval, found with 60 digits; its
distance from the function is printed beside it. Needs mpmath:

    python tools/fit_elementary_functions.py
"""

from __future__ import annotations

from collections.abc import Callable

import mpmath as mp

mp.mp.dps = 60
Function = Callable[[mp.mpf], mp.mpf]


def fitted(f: Function, low: float, high: float, count: int) -> tuple[list[mp.mpf], mp.mpf]:
    """`count` coefficients of powers, lowest first, and the largest error relative to the function."""
    middle, half = (mp.mpf(low) + high) / 2, (mp.mpf(high) - low) / 2
    points = [middle + half * mp.cos(mp.pi * (j + mp.mpf(1) / 2) / count) for j in range(count)]
    matrix = mp.matrix(count, count)
    for i, x in enumerate(points):
        for k in range(count):
            matrix[i, k] = x**k
    solution = mp.lu_solve(matrix, mp.matrix([f(x) for x in points]))
    c = [solution[k] for k in range(count)]
    worst = mp.mpf(0)
    for j in range(200):
        x = middle + half * mp.cos(mp.pi * (j + mp.mpf(1) / 3) / 200)
        worst = max(worst, abs(mp.polyval(c[::-1], x) / f(x) - 1))
    return c, worst


def rest(f: Function, of: Function) -> Function:
    """(f(s) - of(s)) / s**3 in z = s * s, for odd functions that start with `of`."""

    def g(z: mp.mpf) -> mp.mpf:
        s = mp.sqrt(z)
        return (f(s) - of(s)) / s**3

    return g


ONE: Function = lambda s: s  # noqa: E731
FITS: dict[str, tuple[Function, float, float, int]] = {
    # 2 atanh(s) = 2 s + s z P(z) for z = s^2
    "log": (rest(lambda s: 2 * mp.atanh(s), lambda s: 2 * s), 0, 0.02944, 8),
    "sin": (rest(mp.sin, ONE), 0, 0.6169, 7),
    # cos(s) = 1 - z/2 + z^2 P(z)
    "cos": (lambda z: (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2, 0, 0.6169, 6),
    "sinh": (rest(mp.sinh, ONE), 0, 1, 8),
    "asin": (rest(mp.asin, ONE), 0, 0.25, 14),
    "atan": (rest(mp.atan, ONE), 0, 0.25, 13),
    # 2 atanh(s) = 2 s + s z (2/3 + z P(z)), of powers
    "long log": (
        lambda z: (rest(lambda s: 2 * mp.atanh(s), lambda s: 2 * s)(z) - mp.mpf(2) / 3) / z,
        0,
        0.02944,
        8,
    ),
    # erf(s) = s P(z)
    "erf": (lambda z: mp.erf(mp.sqrt(z)) / mp.sqrt(z), 0, 1, 13),
}


# name: the function, what its error counts times, the range, how many, and the variable
WEIGHTED: dict[str, tuple[Function, Function, float, float, int, Function]] = {
    # exp(r) = 1 + r + r^2 / 2 + r^3 P(r)
    "exp": (
        lambda r: (mp.expm1(r) - r - r * r / 2) / r**3, lambda r: abs(r) ** 3, -0.34658, 0.34658, 9, lambda r: r
    ),
    # erf(x) = 1 - exp(-x^2) P(x - 2)
    "erf beyond 1": (
        lambda x: mp.exp(x * x) * mp.erfc(x), lambda x: mp.exp(-x * x), 1, 5.95, 21, lambda x: x - 2
    ),
}  # fmt: skip


def fitted_by_weight(
    f: Function, weight: Function, low: float, high: float, count: int, variable: Function
) -> tuple[list[mp.mpf], mp.mpf]:
    """As `fitted`, where errors count by a weight: least squares, whose own weights grow where errors are large."""
    middle, half, points = (mp.mpf(low) + high) / 2, (mp.mpf(high) - low) / 2, 100
    x = [middle + half * mp.cos(mp.pi * (j + mp.mpf(1) / 2) / points) for j in range(points)]
    values, weights, t = [f(v) for v in x], [weight(v) for v in x], [variable(v) for v in x]
    extra = [mp.mpf(1)] * points
    for _ in range(8):
        matrix, right = mp.matrix(points, count), mp.matrix(points, 1)
        for i in range(points):
            scale = mp.sqrt(extra[i]) * weights[i]
            right[i] = scale * values[i]
            for k in range(count):
                matrix[i, k] = scale * t[i] ** k
        solution = mp.lu_solve(matrix, right)
        c = [solution[k] for k in range(count)]
        errors = [abs(mp.polyval(c[::-1], t[i]) - values[i]) * weights[i] for i in range(points)]
        mean = mp.fsum(e * w for e, w in zip(extra, errors, strict=True)) / mp.fsum(extra)
        extra = [e * w / mean for e, w in zip(extra, errors, strict=True)]
    return c, max(errors)


def main() -> None:
    fits = {name: fitted(*rest) for name, rest in FITS.items()}
    fits |= {name: fitted_by_weight(*rest) for name, rest in WEIGHTED.items()}
    for name, (c, worst) in fits.items():
        print(f"// {name}: {mp.nstr(worst, 2)}")
        print(", ".join(mp.nstr(x, 17) for x in c))


if __name__ == "__main__":
    main()
