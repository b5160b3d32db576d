"""Values of functions with 30 digits, which tests/core/test_function_accuracy.py compares with: writes its table.

Arguments are floats of single precision, so that one table serves single and double. Needs mpmath:

    python tools/function_values.py > tests/core/function_values.json
"""

from __future__ import annotations

import json
import random
import struct
from collections.abc import Callable

import mpmath as mp

mp.mp.dps = 60
POINTS = 150


def single(x: float) -> float:
    return float(struct.unpack("f", struct.pack("f", x))[0])


def normal_below(x: mp.mpf) -> mp.mpf:
    return mp.erfc(-x / mp.sqrt(2)) / 2


def inverse_normal(p: mp.mpf) -> mp.mpf:
    return mp.sqrt(2) * inverse_erf(2 * p - 1)


def inverse_erf(x: mp.mpf) -> mp.mpf:
    return mp.findroot(lambda y: mp.log(mp.erfc(y) / (1 - abs(x))), mp.sqrt(-mp.log(1 - abs(x)))) * mp.sign(x)


# name: the function, the range of its arguments, whether small ones are wanted too (then of both signs)
FUNCTIONS: dict[str, tuple[Callable[[mp.mpf], mp.mpf], float, float, bool]] = {
    "exp": (mp.exp, -80, 80, False),
    "expm1": (mp.expm1, 1e-6, 80, True),
    "exp2": (lambda x: mp.mpf(2) ** x, -120, 120, False),
    "log": (mp.log, 1e-3, 50, False),
    "log2": (lambda x: mp.log(x, 2), 1e-3, 50, False),
    "log10": (mp.log10, 1e-3, 50, False),
    "log1p": (mp.log1p, -0.99, 50, False),
    "sin": (mp.sin, 1e-3, 9000, True),
    "cos": (mp.cos, 1e-3, 9000, True),
    "tan": (mp.tan, 1e-3, 9000, True),
    "sinh": (mp.sinh, 1e-3, 80, True),
    "cosh": (mp.cosh, 1e-3, 80, True),
    "tanh": (mp.tanh, 1e-4, 15, True),
    "atan": (mp.atan, 1e-3, 1e3, True),
    "asin": (mp.asin, 1e-4, 1, True),
    "acos": (mp.acos, -1, 1, False),
    "asinh": (mp.asinh, 1e-4, 1e6, True),
    "acosh": (mp.acosh, 1, 40, False),
    "atanh": (mp.atanh, 1e-4, 1, True),
    "erf": (mp.erf, 1e-4, 4, True),
    "erfc": (mp.erfc, -3, 9, False),
    "erfinv": (inverse_erf, 1e-3, 0.999999, True),
    "special.erfcx": (lambda x: mp.exp(x * x) * mp.erfc(x), -5, 40, False),
    "special.ndtr": (normal_below, -5, 5, False),
    "special.log_ndtr": (lambda x: mp.log(normal_below(x)), -30, 5, False),
    "special.ndtri": (inverse_normal, 1e-6, 0.99, False),
    "special.i0": (lambda x: mp.besseli(0, x), 1e-2, 40, True),
    "special.i0e": (lambda x: mp.besseli(0, x) * mp.exp(-abs(x)), 1e-2, 80, True),
    "special.i1": (lambda x: mp.besseli(1, x), 1e-2, 40, True),
    "special.i1e": (lambda x: mp.besseli(1, x) * mp.exp(-abs(x)), 1e-2, 80, True),
}


def arguments(low: float, high: float, small: bool, seed: str) -> list[float]:
    draw = random.Random(seed)
    if not small:
        return [single(draw.uniform(low, high)) for _ in range(POINTS)]
    return [single(low * (high / low) ** draw.random() * draw.choice((1, -1))) for _ in range(POINTS)]


def main() -> None:
    table = {}
    for name, (f, low, high, small) in FUNCTIONS.items():
        table[name] = [[x, mp.nstr(f(mp.mpf(x)), 30)] for x in arguments(low, high, small, name)]
    print("{")
    print(",\n".join(f"{json.dumps(name)}: {json.dumps(rows)}" for name, rows in table.items()))
    print("}")


if __name__ == "__main__":
    main()
