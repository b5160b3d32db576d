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
    # exp(r) = 1 + r + r^2 P(r)
    "exp": (lambda r: (mp.expm1(r) - r) / r**2, -0.3466, 0.3466, 10),
    # 2 atanh(s) = 2 s + s z P(z) for z = s^2
    "log": (rest(lambda s: 2 * mp.atanh(s), lambda s: 2 * s), 0, 0.02944, 8),
    "sin": (rest(mp.sin, ONE), 0, 0.6169, 7),
    # cos(s) = 1 - z/2 + z^2 P(z)
    "cos": (lambda z: (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2, 0, 0.6169, 6),
    "tanh": (rest(mp.tanh, ONE), 0, 0.3907, 12),
    "asin": (rest(mp.asin, ONE), 0, 0.25, 14),
    "atan": (rest(mp.atan, ONE), 0, 1, 20),
    # erf(s) = s P(z)
    "erf": (lambda z: mp.erf(mp.sqrt(z)) / mp.sqrt(z), 0, 1, 13),
}


def main() -> None:
    for name, (f, low, high, count) in FITS.items():
        c, worst = fitted(f, low, high, count)
        print(f"// {name}: {mp.nstr(worst, 2)}")
        print(", ".join(mp.nstr(x, 17) for x in c))


if __name__ == "__main__":
    main()
