"""repr against PyTorch's over shapes, dtypes, kinds of values and print options."""

import numpy as np
import pytest

SHAPES = [(), (1,), (7,), (20,), (1001,), (2, 3), (40, 30), (2, 3, 4), (11, 12, 13), (0,), (0, 3), (3, 500)]
KINDS = {
    "normal": lambda r, s: r.normal(size=s),
    "whole": lambda r, s: r.integers(-9, 9, s),
    "large whole": lambda r, s: r.integers(-9_999_999, 9_999_999, s),
    "large": lambda r, s: r.normal(size=s) * 1e9,
    "small": lambda r, s: r.normal(size=s) * 1e-5,
    "wide": lambda r, s: np.exp(r.normal(size=s) * 8),
    "zero": lambda r, s: np.zeros(s),
    "infinite": lambda r, s: np.where(r.uniform(size=s) > 0.5, np.inf, r.normal(size=s)),
    "not a number": lambda r, s: np.where(r.uniform(size=s) > 0.5, np.nan, r.integers(-9, 9, s)),
}
DTYPES = ["float32", "float64", "float16", "bfloat16", "int64", "int32", "uint8", "bool", "complex64"]
OPTIONS = [
    {},
    {"precision": 2},
    {"sci_mode": True},
    {"sci_mode": False},
    {"linewidth": 40},
    {"threshold": 5, "edgeitems": 2, "precision": 8},
    {"threshold": 5, "edgeitems": 0},
    {"profile": "short"},
]


@pytest.mark.filterwarnings("ignore:invalid value encountered")  # numpy casting nan and inf to integers
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_text_is_pytorchs(both, dtype, options):
    random = np.random.default_rng(0)
    for module in both:
        module.set_printoptions(profile="default")
        module.set_printoptions(**options)
    try:
        for shape in SHAPES:
            for kind, draw in KINDS.items():
                values = np.asarray(draw(random, shape), dtype=np.float64)
                if dtype == "complex64":
                    values = values + 1j * np.asarray(draw(random, shape))
                elif not dtype.startswith(("float", "bfloat")):
                    values = np.abs(np.nan_to_num(values, posinf=0, neginf=0)) % 100
                texts = [
                    repr(module.from_numpy(np.array(values)).to(getattr(module, dtype))) for module in both
                ]
                assert texts[1] == texts[0], f"{kind} {shape}"
    finally:
        for module in both:
            module.set_printoptions(profile="default")
