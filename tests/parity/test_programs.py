"""Small programs of the kind people write: the same result, the same exception, the same warnings as PyTorch's.

A program is a few lines whose last one is an expression. The cases are in program_cases.py, by subject.
"""

import re
import warnings

import numpy
import pytest
import torch
from program_cases import PROGRAMS

import mindtorch_v2


def shown(value, lib):
    if isinstance(value, lib.Tensor):
        return f"{type(value).__name__} {value!r} {value.dtype} {tuple(value.shape)}"
    if isinstance(value, (tuple, list)):
        return f"{type(value).__name__}({', '.join(shown(v, lib) for v in value)})"
    if isinstance(value, dict):
        return str({key: shown(v, lib) for key, v in value.items()})
    return repr(value)


def same_words(text):
    """What both libraries say, without their names, addresses and places in the source."""
    text = str(text).replace("mindtorch_v2", "torch")
    text = re.sub(r"\s*\(Triggered internally at .*?\)$", "", text)
    return re.sub(r"0x[0-9a-f]+", "0x…", text)


# Both libraries say these once in a process, so that it depends on the tests before this one whether they do here.
_ONCE = (
    "This overload of",
    "Using backward() with create_graph=True",
    "The given NumPy array is not writable",
)


def outcome(program, lib):
    """(what came of it, warnings)"""
    *before, last = program.strip().split("\n")
    names = {"torch": lib, "np": numpy, "nn": lib.nn, "F": lib.nn.functional}
    lib.manual_seed(0)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            exec("\n".join(before), names)
            result = shown(eval(last, names), lib)
        except Exception as error:  # noqa: BLE001 - whatever PyTorch raises is what is wanted
            result = f"{type(error).__name__}: {error}"
    heard = [(w.category.__name__, same_words(w.message)) for w in heard]
    return same_words(result), [each for each in heard if not each[1].startswith(_ONCE)]


CASES = [
    pytest.param(program, id=f"{subject} {number}")
    for subject, programs in PROGRAMS.items()
    for number, program in enumerate(programs)
]


@pytest.mark.parametrize("program", CASES)
def test_a_program_does_what_it_does_with_pytorch(program):
    assert outcome(program, mindtorch_v2) == outcome(program, torch)
