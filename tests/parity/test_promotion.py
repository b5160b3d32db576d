"""The dtype of every pair of operands, as PyTorch promotes them."""

import itertools

import pytest
import torch

import mindtorch_v2

_NAMES = [
    "bool",
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "complex32",
    "complex64",
    "complex128",
]
_UNSIGNED = ["uint16", "uint32", "uint64"]
_NUMBERS = {"bool": True, "int": 2, "float": 1.5, "complex": 1 + 1j}
_OPERATIONS = {
    "add": lambda a, b: a + b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "lt": lambda a, b: a < b,
    "eq": lambda a, b: a == b,
    "sub": lambda a, b: a - b,
    "pow": lambda a, b: a**b,
    "floor_divide": lambda a, b: a // b,
}


def _operand(lib, kind, name):
    if kind == "number":
        return _NUMBERS[name]
    return lib.ones(() if kind == "0-dim" else (2,), dtype=getattr(lib, name))


def _outcome(lib, operation, left, right):
    try:
        return str(operation(_operand(lib, *left), _operand(lib, *right)).dtype)
    except (RuntimeError, TypeError, NotImplementedError) as error:
        return f"error: {error}"


def _agree(operation, left, right):
    wanted, got = (_outcome(lib, operation, left, right) for lib in (torch, mindtorch_v2))
    if "not implemented for" in wanted:  # PyTorch lacks a kernel; ours may have one
        return
    if wanted.startswith("error"):
        assert got.startswith("error"), f"{left} with {right}: PyTorch has {wanted}"
    else:
        assert got == wanted, f"{left} with {right}"


@pytest.mark.parametrize("operation", list(_OPERATIONS))
@pytest.mark.parametrize("left", _NAMES)
def test_tensors_promote_as_in_pytorch(operation, left):
    for right, kind1, kind2 in itertools.product(_NAMES, ("1-dim", "0-dim"), ("1-dim", "0-dim")):
        _agree(_OPERATIONS[operation], (kind1, left), (kind2, right))


@pytest.mark.parametrize("operation", list(_OPERATIONS))
@pytest.mark.parametrize("name", _NAMES)
def test_numbers_promote_as_in_pytorch(operation, name):
    for number, kind in itertools.product(_NUMBERS, ("1-dim", "0-dim")):
        _agree(_OPERATIONS[operation], (kind, name), ("number", number))
        _agree(_OPERATIONS[operation], ("number", number), (kind, name))


def test_promote_types_and_can_cast_are_pytorchs():
    for a, b in itertools.product(_NAMES + _UNSIGNED, repeat=2):
        theirs, ours = (
            (getattr(torch, a), getattr(torch, b)),
            (getattr(mindtorch_v2, a), getattr(mindtorch_v2, b)),
        )
        assert torch.can_cast(*theirs) == mindtorch_v2.can_cast(*ours), (a, b)
        try:
            wanted = str(torch.promote_types(*theirs))
        except RuntimeError:
            continue  # PyTorch does not promote some pairs of the wide unsigned types; we do
        assert str(mindtorch_v2.promote_types(*ours)) == wanted, (a, b)


@pytest.mark.parametrize("default", ["float32", "float64"])
def test_the_default_dtype_decides_what_numbers_become(default):
    torch.set_default_dtype(getattr(torch, default))
    mindtorch_v2.set_default_dtype(getattr(mindtorch_v2, default))
    try:
        for name, number in itertools.product(_NAMES, _NUMBERS):
            for operation in _OPERATIONS.values():
                _agree(operation, ("1-dim", name), ("number", number))
    finally:
        torch.set_default_dtype(torch.float32)
        mindtorch_v2.set_default_dtype(mindtorch_v2.float32)


@pytest.mark.parametrize("left", _NAMES)
def test_in_place_keeps_the_dtype_or_refuses(left):
    for right, kind in itertools.product(_NAMES, ("1-dim", "0-dim")):
        results = []
        for lib in (torch, mindtorch_v2):
            x = _operand(lib, "1-dim", left)
            try:
                x += _operand(lib, kind, right)
                results.append(str(x.dtype))
            except RuntimeError as error:
                results.append(str(error))
        assert results[1] == results[0], (left, kind, right)


@pytest.mark.parametrize("name", _NAMES)
def test_result_type_is_pytorchs(name):
    for number in _NUMBERS.values():
        wanted = str(torch.result_type(torch.ones(2, dtype=getattr(torch, name)), number))
        assert (
            str(mindtorch_v2.result_type(mindtorch_v2.ones(2, dtype=getattr(mindtorch_v2, name)), number))
            == wanted
        )
