"""What PyTorch computed for small samples of its operator database (tests/recorded/record.py wrote it down)."""

import json
from pathlib import Path

import numpy as np
import pytest

import mindtorch_v2 as torch

_FILE = np.load(Path(__file__).parents[1] / "recorded" / "opinfo.npz")
_CALLS = json.loads(_FILE["calls"].tobytes())
_DATA = _FILE["data"].tobytes()
_TOLERANCE = {"float64": 1e-7, "complex128": 1e-7, "float16": 1e-3}


def _array(dtype, shape, offset):
    count = int(np.prod(shape))
    return np.frombuffer(_DATA, dtype, count, offset).reshape(shape).copy()


def _decode(value):
    if not isinstance(value, list):
        return value
    kind, *parts = value
    if kind == "tensor":
        return torch.from_numpy(_array(*parts))
    if kind == "attribute":
        return getattr(torch, parts[0])
    if kind in ("float", "complex"):
        return {"float": float, "complex": complex}[kind](parts[0])
    if kind == "dict":
        return {k: _decode(v) for k, v in parts[0].items()}
    return list(map(_decode, parts)) if kind == "list" else tuple(map(_decode, parts))


def _compare(got, wanted):
    if isinstance(wanted, list) and wanted[0] == "tensor":
        _, dtype, shape, _ = wanted
        assert str(got.dtype) == f"torch.{dtype}" and list(got.shape) == shape
        values, expected = got.detach().resolve_conj().numpy(), _array(*wanted[1:])
        if expected.dtype.kind in "fc":
            tolerance = _TOLERANCE.get(dtype, 1e-5)
            finite = np.abs(expected[np.isfinite(expected)])
            scale = max(1.0, float(finite.max())) if finite.size else 1.0
            np.testing.assert_allclose(values, expected, tolerance, tolerance * scale)
        else:
            np.testing.assert_array_equal(values, expected)
    elif isinstance(wanted, list) and wanted[0] in ("list", "tuple"):
        assert len(got) == len(wanted) - 1
        for mine, other in zip(got, wanted[1:], strict=True):
            _compare(mine, other)
    else:
        assert got == _decode(wanted)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", list(_CALLS))
def test_the_values_are_pytorchs(name):
    for path, first, args, kwargs, wanted in _CALLS[name]:
        function = torch
        for part in path.split("."):
            function = getattr(function, part)
        _compare(function(_decode(first), *_decode(args), **_decode(kwargs)), wanted)
