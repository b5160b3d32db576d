"""Dimensions that a tensor does not have: every row refuses them where PyTorch does, with its kind of error."""

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from opcases import CALLABLE

import mindtorch_v2

ALONG = ("dim", "dims", "dim0", "dim1", "dim2", "axis", "axis0", "axis1", "start_dim", "end_dim", "source")
SHAPES = ((), (2, 3), (2, 3, 4))
ABSENT = (7, -8)
# What else is wrong with the arguments made here, which is looked at before the dimension there or here.
OTHERWISE = {
    "gradient.tensorarray": "as many spacings as dimensions",
    "gradient.tensorarrayint": "as many spacings as dimensions",
    "_fft_c2r": "an assertion about sizes",
    "_fft_r2c": "an assertion about sizes",
    "scatter.reduce": "the name of the reduction",
    "scatter.value_reduce": "the name of the reduction",
    "repeat_interleave.self_Tensor": "the shape of the repetitions",
    "segment_reduce": "lengths that are not given",
    "_chunk_cat": "a dimension that all tensors must have",
    "narrow_copy": "an assertion about dimensions",
    "_sparse_sum": "a tensor that is not sparse",
}
NAMESPACES = {"linalg": "linalg", "fft": "fft", "special": "special", "nn": "nn.functional"}


def _function(lib: Any, row: Any) -> Callable[..., Any] | None:
    place = lib
    for name in NAMESPACES.get(row.module, "").split("."):
        place = getattr(place, name) if name else place
    for owner in (place, lib.nn.functional, lib.Tensor):
        if found := getattr(owner, row.public_name, None):
            return found
    return None


def _given(lib: Any, row: Any, shape: tuple[int, ...], dim: int) -> dict[str, Any]:
    """Something for each argument that must be given, and `dim` for all dimensions."""
    some: dict[str, Any] = {
        "Tensor": lib.ones(shape), "Tensor[]": [lib.ones(shape)] * 2, "int": 1, "SymInt": 1, "float": 1.0,
        "Scalar": 1.0, "bool": False, "str": "sum", "ScalarType": lib.float32,
    }  # fmt: skip
    given: dict[str, Any] = {}
    for argument in row.schema.arguments:
        kind = argument.type.name
        if argument.name in ALONG:
            given[argument.name] = [dim] if "[" in kind else dim
        elif argument.default is None:
            given[argument.name] = [1] if kind.startswith(("int[", "SymInt[")) else some.get(kind)
    return given


def _outcome(lib: Any, row: Any, shape: tuple[int, ...], dim: int) -> str:
    function = _function(lib, row)
    given = _given(lib, row, shape, dim)
    first = [given.pop("self")] if "self" in given else []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            function(*first, **given)
    except Exception as error:  # noqa: BLE001  the kind is what is compared
        return type(error).__name__
    return "a result"


def _rows() -> list[Any]:
    """Rows with dimensions that both libraries have under one name, and that take what is made here."""
    found = []
    for row in CALLABLE:
        if row.name in OTHERWISE or not any(each.name in ALONG for each in row.schema.arguments):
            continue
        if (
            _function(torch, row)
            and _function(mindtorch_v2, row)
            and _outcome(torch, row, (2, 3), 7) == "IndexError"
        ):
            found.append(row)
    return found


ROWS = _rows()


def test_most_rows_with_dimensions_are_looked_at():
    assert len(ROWS) > 100


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_absent_dimensions_are_refused_as_pytorch_refuses_them(row):
    for shape in SHAPES:
        for dim in ABSENT:
            assert _outcome(mindtorch_v2, row, shape, dim) == _outcome(torch, row, shape, dim), (shape, dim)
