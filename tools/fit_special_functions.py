"""Chebyshev coefficients of the special functions: writes csrc/base/special_fits.h.

Each entry is a smooth function of t in [-1, 1], sampled with 60 digits at Chebyshev points; coefficients
below the last place of a double are dropped. Needs mpmath:

    python tools/fit_special_functions.py > csrc/base/special_fits.h
"""

from __future__ import annotations

from collections.abc import Callable

import mpmath as mp

mp.mp.dps = 60
Function = Callable[[mp.mpf], mp.mpf]


def chebyshev(f: Function, n: int = 64) -> list[mp.mpf]:
    """The coefficients c of sum c[k] T_k(t), c[0] not halved."""
    angles = [mp.pi * (j + mp.mpf(1) / 2) / n for j in range(n)]
    values = [f(mp.cos(a)) for a in angles]
    out = []
    for k in range(n):
        total = mp.fsum(v * mp.cos(k * a) for v, a in zip(values, angles, strict=True))
        out.append(total * (1 if k == 0 else 2) / n)
    return out


def trimmed(coefficients: list[mp.mpf]) -> list[mp.mpf]:
    largest = max(abs(c) for c in coefficients)
    while abs(coefficients[-1]) < largest * mp.mpf(2) ** -56:
        coefficients.pop()
    return coefficients


# ---- Bessel functions: a power series below 8, amplitude and phase above -----------------------------------


def over_square(g: Function) -> Function:
    """g(x) for 0 < x <= 8 in the variable t = x*x/32 - 1."""
    return lambda t: g(mp.sqrt(max(32 * (t + 1), mp.mpf(10) ** -40)))


def asymptotic(order: int, of_sine: bool) -> Function:
    """P and Q of J = sqrt(2/(pi x)) (P cos(c) - Q sin(c)) and Y = sqrt(2/(pi x)) (P sin(c) + Q cos(c)),
    where c = x - (2*order + 1) pi/4, in t = 128/(x*x) - 1; Q is divided by 8/x."""

    def f(t: mp.mpf) -> mp.mpf:
        x = mp.sqrt(128 / max(t + 1, mp.mpf(10) ** -12))
        with mp.workdps(80):
            c = x - (2 * order + 1) * mp.pi / 4
            j, y, scale = mp.besselj(order, x), mp.bessely(order, x), mp.sqrt(mp.pi * x / 2)
            if of_sine:
                return scale * (y * mp.cos(c) - j * mp.sin(c)) * x / 8
            return scale * (j * mp.cos(c) + y * mp.sin(c))

    return f


def y0_rest(x: mp.mpf) -> mp.mpf:
    return mp.bessely(0, x) - 2 / mp.pi * mp.log(x) * mp.besselj(0, x)


def y1_rest(x: mp.mpf) -> mp.mpf:
    return (mp.bessely(1, x) - 2 / mp.pi * (mp.log(x) * mp.besselj(1, x) - 1 / x)) / x


def scaled_i_low(order: int) -> Function:
    """exp(-x) I(x) / x^order for 0 <= x <= 8 in t = x/4 - 1."""

    def f(t: mp.mpf) -> mp.mpf:
        x = max(4 * (t + 1), mp.mpf(10) ** -30)
        return mp.exp(-x) * mp.besseli(order, x) / x**order

    return f


def scaled_i_high(order: int) -> Function:
    """sqrt(x) exp(-x) I(x) for x >= 8 in t = 16/x - 1."""

    def f(t: mp.mpf) -> mp.mpf:
        x = 16 / max(t + 1, mp.mpf(10) ** -12)
        return mp.sqrt(x) * mp.exp(-x) * mp.besseli(order, x)

    return f


def scaled_k(order: int) -> Function:
    """sqrt(x) exp(x) K(x) for x >= 2 in t = 4/x - 1."""

    def f(t: mp.mpf) -> mp.mpf:
        x = 4 / max(t + 1, mp.mpf(10) ** -12)
        if x > 10**6:
            return mp.sqrt(mp.pi / 2) * (1 + (4 * mp.mpf(order) ** 2 - 1) / (8 * x))
        return mp.sqrt(x) * mp.exp(x) * mp.besselk(order, x)

    return f


# ---- Airy function: amplitude and phase below -4, decay above 2 ---------------------------------------------

AIRY_LEFT = mp.mpf(16) / 3  # zeta = 2/3 |x|^1.5 at x = -4
AIRY_RIGHT = mp.mpf(2) * 2 ** mp.mpf(1.5) / 3  # at x = 2


def airy_decay(t: mp.mpf) -> mp.mpf:
    """2 sqrt(pi) x^(1/4) exp(zeta) Ai(x) for x >= 2 in t = 2 * AIRY_RIGHT / zeta - 1."""
    zeta = 2 * AIRY_RIGHT / max(t + 1, mp.mpf(10) ** -9)
    x = (zeta * 3 / 2) ** (mp.mpf(2) / 3)
    if zeta > 10**6:
        return 1 - mp.mpf(5) / 72 / zeta + mp.mpf(385) / 10368 / zeta**2
    return 2 * mp.sqrt(mp.pi) * x ** mp.mpf(0.25) * mp.exp(zeta) * mp.airyai(x)


def airy_wave(of_cosine: bool) -> Function:
    """P and Q of Ai(-x) = (P sin(c) - Q cos(c)) / (sqrt(pi) x^(1/4)), c = zeta + pi/4, in
    t = 2 (AIRY_LEFT / zeta)^2 - 1; Q is divided by AIRY_LEFT / zeta."""

    def f(t: mp.mpf) -> mp.mpf:
        zeta = AIRY_LEFT * mp.sqrt(2 / max(t + 1, mp.mpf(10) ** -8))
        x = (zeta * 3 / 2) ** (mp.mpf(2) / 3)
        with mp.workdps(80):
            c, scale = zeta + mp.pi / 4, mp.sqrt(mp.pi) * x ** mp.mpf(0.25)
            a, b = mp.airyai(-x), mp.airybi(-x)
            if of_cosine:
                return scale * (b * mp.sin(c) - a * mp.cos(c)) * zeta / AIRY_LEFT
            return scale * (a * mp.sin(c) + b * mp.cos(c))

    return f


def scaled_erfc(t: mp.mpf) -> mp.mpf:
    """(1 + 2x) exp(x*x) erfc(x) for x >= 0 in t = (x - 4)/(x + 4)."""
    x = 4 * (1 + t) / max(1 - t, mp.mpf(10) ** -12)
    if x > 10**4:
        return (1 + 2 * x) / (x * mp.sqrt(mp.pi)) * (1 - 1 / (2 * x * x))
    return (1 + 2 * x) * mp.exp(x * x) * mp.erfc(x)


def inverse_erf(s: mp.mpf) -> mp.mpf:
    """erfinv(x) / x where s * s = -log(1 - x * x)."""
    s = max(s, mp.mpf(10) ** -12)
    x = mp.sqrt(-mp.expm1(-s * s))
    if x < 0.5:
        y = mp.erfinv(x)
    else:  # the place where log(erfc) is log(1 - x), which is log(1 - x^2) - log(1 + x)
        log_tail, y = -s * s - mp.log1p(x), s
        for _ in range(40):
            tail = mp.erfc(y)
            step = (mp.log(tail) - log_tail) * tail * mp.sqrt(mp.pi) / 2 * mp.exp(y * y)
            y += step
            if abs(step) < mp.mpf(10) ** -45:
                break
    return y / x


def inverse_erf_low(t: mp.mpf) -> mp.mpf:
    """For s <= 3, in t = 2 s^2 / 9 - 1."""
    return inverse_erf(mp.sqrt(9 * (t + 1) / 2))


def inverse_erf_high(t: mp.mpf) -> mp.mpf:
    """Divided by s, for 3 <= s <= 28, which all positive doubles are below, in 1/s = 1/28 + (t + 1) (1/3 - 1/28)/2."""
    s = 1 / (mp.mpf(1) / 28 + (t + 1) * (mp.mpf(1) / 3 - mp.mpf(1) / 28) / 2)
    return inverse_erf(s) / s


# ---- the gamma function's logarithm ---------------------------------------------------------------------------


def log_gamma_low(t: mp.mpf) -> mp.mpf:
    """Divided by its zeros, (z - 1) (z - 2), for 1 <= z <= 3, in z = t + 2."""
    z = t + 2
    return mp.loggamma(z) / ((z - 1) * (z - 2))


def log_gamma_high(t: mp.mpf) -> mp.mpf:
    """z times what Stirling's formula lacks, for z >= 3, in 1/z^2 = (t + 1) / 18."""
    z = 1 / mp.sqrt(max(t + 1, mp.mpf(10) ** -12) / 18)
    return z * (mp.loggamma(z) - ((z - mp.mpf(1) / 2) * mp.log(z) - z + mp.log(2 * mp.pi) / 2))


FITS: dict[str, Function] = {
    "bessel_j0_low": over_square(lambda x: mp.besselj(0, x)),
    "bessel_j1_low": over_square(lambda x: mp.besselj(1, x) / x),
    "bessel_y0_low": over_square(y0_rest),
    "bessel_y1_low": over_square(y1_rest),
    "bessel_0_cosine": asymptotic(0, False),
    "bessel_0_sine": asymptotic(0, True),
    "bessel_1_cosine": asymptotic(1, False),
    "bessel_1_sine": asymptotic(1, True),
    "bessel_i0_low": scaled_i_low(0),
    "bessel_i0_high": scaled_i_high(0),
    "bessel_i1_low": scaled_i_low(1),
    "bessel_i1_high": scaled_i_high(1),
    "bessel_k0_high": scaled_k(0),
    "bessel_k1_high": scaled_k(1),
    "airy_decay": airy_decay,
    "airy_middle": lambda t: mp.airyai(3 * t - 1),
    "airy_sine": airy_wave(False),
    "airy_cosine": airy_wave(True),
    "scaled_erfc": scaled_erfc,
    "inverse_erf_low": inverse_erf_low,
    "inverse_erf_high": inverse_erf_high,
    "log_gamma_low": log_gamma_low,
    "log_gamma_high": log_gamma_high,
}


def main() -> None:
    print(
        "// Chebyshev coefficients of special functions, for every device's way of evaluating them, written by"
    )
    print("// tools/fit_special_functions.py, which says what each one fits.")
    print("#pragma once\n\nnamespace mt::coefficients {\n")
    for name, f in FITS.items():
        numbers = ", ".join(mp.nstr(c, 18) for c in trimmed(chebyshev(f)))
        print(f"inline constexpr double {name}[] = {{{numbers}}};")
    print("\n}  // namespace mt::coefficients")


if __name__ == "__main__":
    main()
