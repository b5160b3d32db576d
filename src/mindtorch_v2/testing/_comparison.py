"""``assert_close``: compares tensors, numbers and containers of them, and says exactly where they differ."""

from __future__ import annotations

import cmath
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import mindtorch_v2 as torch

from .._C import Tensor
from .._sparse.parts import all_parts

_TOLERANCES = {  # rtol, atol; exact dtypes are compared exactly
    "float16": (1e-3, 1e-5), "bfloat16": (1.6e-2, 1e-5), "float32": (1.3e-6, 1e-5), "float64": (1e-7, 1e-7),
    "complex64": (1.3e-6, 1e-5), "complex128": (1e-7, 1e-7),
}  # fmt: skip


def default_tolerances(*inputs: Any) -> tuple[float, float]:
    """The largest of the tolerances of these tensors or dtypes."""
    dtypes = [value.dtype if isinstance(value, Tensor) else value for value in inputs]
    pairs = [_TOLERANCES.get(dtype.name, (0.0, 0.0)) for dtype in dtypes]
    return max(rtol for rtol, _ in pairs), max(atol for _, atol in pairs)


class _Comparison:
    """What one call of assert_close was asked to check."""

    def __init__(
        self, rtol: float | None, atol: float | None, equal_nan: bool, checks: dict[str, bool]
    ) -> None:
        if (rtol is None) != (atol is None):
            missing = "rtol" if rtol is None else "atol"
            raise ValueError(
                f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {missing}."
            )
        self.rtol, self.atol, self.equal_nan, self.checks = rtol, atol, equal_nan, checks

    def tolerances(self, *inputs: Any) -> tuple[float, float]:
        if self.rtol is not None and self.atol is not None:
            return self.rtol, self.atol
        return default_tolerances(*inputs)


class _Mismatch(Exception):
    """A difference, and the path to it."""

    def __init__(self, message: str, path: tuple[Any, ...]) -> None:
        self.message, self.path = message, path

    def __str__(self) -> str:
        if not self.path:
            return self.message
        return f"{self.message}\n\nThe failure occurred for item {''.join(f'[{key!r}]' for key in self.path)}"


def _allowed(tolerance: float) -> str:
    return f" (up to {tolerance} allowed)"


def _difference_message(kind: str, equal: bool) -> str:
    return f"{kind} are not {'equal' if equal else 'close'}!"


def _compare_numbers(
    actual: Any, expected: Any, rtol: float, atol: float, equal_nan: bool, path: tuple[Any, ...]
) -> None:
    """Numbers, and tensors with one."""
    if actual == expected or (equal_nan and cmath.isnan(actual) and cmath.isnan(expected)):
        return
    difference = abs(actual - expected)
    if cmath.isfinite(actual) and cmath.isfinite(expected) and difference <= atol + rtol * abs(expected):
        return
    exact = rtol == 0 and atol == 0
    relative = float("inf") if expected == 0 else difference / abs(expected)
    raise _Mismatch(
        f"{_difference_message('Scalars', exact)}\n\nExpected {expected} but got {actual}.\n"
        f"Absolute difference: {difference}{'' if exact else _allowed(atol)}\n"
        f"Relative difference: {relative}{'' if exact else _allowed(rtol)}",
        path,
    )


def _check_attributes(
    actual: Tensor, expected: Tensor, checks: dict[str, bool], path: tuple[Any, ...]
) -> None:
    def differ(name: str, left: Any, right: Any) -> None:
        raise _Mismatch(f"The values for attribute '{name}' do not match: {left} != {right}.", path)

    if actual.shape != expected.shape:
        differ("shape", actual.shape, expected.shape)
    if checks["layout"] and actual.layout != expected.layout:
        differ("layout", actual.layout, expected.layout)
    if checks["stride"] and actual.stride() != expected.stride():
        differ("stride()", actual.stride(), expected.stride())
    if checks["device"] and actual.device != expected.device:
        differ("device", actual.device, expected.device)
    if checks["dtype"] and actual.dtype != expected.dtype:
        differ("dtype", actual.dtype, expected.dtype)


def _compare_tensors(actual: Tensor, expected: Tensor, wanted: _Comparison, path: tuple[Any, ...]) -> None:
    if actual.is_nested or expected.is_nested:
        return _compare_nested(actual, expected, wanted, path)
    _check_attributes(actual, expected, wanted.checks, path)
    rtol, atol = wanted.tolerances(actual, expected)
    left, right = actual.detach().cpu(), expected.detach().cpu()
    if left.dtype != right.dtype:
        common = torch.promote_types(left.dtype, right.dtype)
        left, right = left.to(common), right.to(common)
    if left.layout != right.layout:
        left, right = left.to_dense(), right.to_dense()
    if left.layout is not torch.strided:
        return _compare_sparse(left, right, wanted, path, rtol, atol)
    _compare_values(left, right, wanted, path, rtol, atol, "Tensor-likes")


def _compare_nested(actual: Tensor, expected: Tensor, wanted: _Comparison, path: tuple[Any, ...]) -> None:
    """Tensor by tensor."""
    if actual.is_nested != expected.is_nested:
        raise _Mismatch(
            f"The values for attribute 'is_nested' do not match: {actual.is_nested} != {expected.is_nested}.",
            path,
        )
    if actual.layout is torch.jagged and expected.layout is torch.jagged:
        _check_attributes(actual, expected, wanted.checks, path)
    mine, theirs = actual.unbind(), expected.unbind()
    if len(mine) != len(theirs):
        raise _Mismatch(f"The numbers of nested tensors do not match: {len(mine)} != {len(theirs)}.", path)
    for at, (left, right) in enumerate(zip(mine, theirs, strict=True)):
        _compare_tensors(left, right, wanted, (*path, at))


def _compare_sparse(
    left: Tensor, right: Tensor, wanted: _Comparison, path: tuple[Any, ...], rtol: float, atol: float
) -> None:
    """Part by part: places must be equal, values close."""
    name = f"Sparse {repr(left.layout)[-3:].upper()}"
    if left._nnz() != right._nnz():
        kind = name.replace("Sparse", "sparse")
        raise _Mismatch(
            f"The number of specified values in {kind} tensors does not match: {left._nnz()} != {right._nnz()}",
            path,
        )
    _, *mine, _ = all_parts(left)
    _, *theirs, _ = all_parts(right)
    if left.is_sparse:
        titles = ["indices", "", "values"]
    elif name.endswith("R"):
        titles = ["crow_indices", "col_indices", "values"]
    else:
        titles = ["ccol_indices", "row_indices", "values"]
    for title, a, b in zip(titles, mine, theirs, strict=True):
        if isinstance(a, Tensor) and isinstance(b, Tensor):
            exact = (0.0, 0.0) if title != "values" else (rtol, atol)
            _compare_values(a, b, wanted, path, *exact, f"{name} {title}")


def _compare_values(
    left: Tensor,
    right: Tensor,
    wanted: _Comparison,
    path: tuple[Any, ...],
    rtol: float,
    atol: float,
    kind: str,
) -> None:
    if left.dtype.name.startswith("float8"):
        left, right = left.float(), right.float()
    close = torch.isclose(left, right, rtol=rtol, atol=atol, equal_nan=wanted.equal_nan)
    if bool(close.all()):
        return
    if left.numel() == 1 and left.dim() == 0:
        _compare_numbers(left.item(), right.item(), rtol, atol, wanted.equal_nan, path)
    raise _Mismatch(_describe(left, right, ~close, rtol, atol, kind), path)


def _describe(left: Tensor, right: Tensor, differs: Tensor, rtol: float, atol: float, kind: str) -> str:
    """How many elements differ, and by how much at most."""
    count, total = int(differs.sum()), differs.numel()
    whole = not (left.is_floating_point() or left.is_complex())
    if whole:
        left, right = left.long(), right.long()
    differs = differs.reshape(-1)
    absolute = (left - right).abs().reshape(-1)
    relative = absolute / right.abs().reshape(-1)
    exact = rtol == 0 and atol == 0
    lines = [
        _difference_message(kind, exact),
        "",
        f"Mismatched elements: {count} / {total} ({count / total:.1%})",
    ]
    for name, values, tolerance in (("absolute", absolute, atol), ("relative", relative, rtol)):
        values = torch.where(differs, values, torch.zeros_like(values))
        place = int(values.argmax())
        index = tuple(int(i) for i in torch.unravel_index(torch.tensor(place), tuple(right.shape)))
        tail = "" if exact else _allowed(tolerance)
        lines.append(f"Greatest {name} difference: {values[place].item()} at index {index}{tail}")
    return "\n".join(lines)


def _compare(actual: Any, expected: Any, wanted: _Comparison, path: tuple[Any, ...]) -> None:
    if isinstance(actual, Sequence) and isinstance(expected, Sequence) and not isinstance(actual, str):
        if len(actual) != len(expected):
            raise _Mismatch(f"The length of the sequences mismatch: {len(actual)} != {len(expected)}", path)
        for index, (left, right) in enumerate(zip(actual, expected, strict=True)):
            _compare(left, right, wanted, (*path, index))
        return
    if isinstance(actual, Mapping) and isinstance(expected, Mapping):
        if missing_or_more := actual.keys() ^ expected.keys():
            missing = sorted((k for k in missing_or_more if k in expected), key=str)
            more = sorted((k for k in missing_or_more if k in actual), key=str)
            lines = ["The keys of the mappings do not match:"]
            lines += [f"Missing keys in the actual mapping: {missing}"] if missing else []
            lines += [f"Additional keys in the actual mapping: {more}"] if more else []
            raise _Mismatch("\n".join(lines), path)
        for key in sorted(actual, key=str):
            _compare(actual[key], expected[key], wanted, (*path, key))
        return
    _compare_leaves(actual, expected, wanted, path)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, complex)) and not isinstance(value, bool)


def _is_array(value: Any) -> bool:
    return type(value).__module__ == "numpy" and hasattr(value, "__array_interface__")


def _compare_leaves(actual: Any, expected: Any, wanted: _Comparison, path: tuple[Any, ...]) -> None:
    if actual is None or expected is None:
        if actual is not expected:
            raise _Mismatch(f"None mismatch: {actual} is not {expected}", path)
    elif isinstance(actual, bool) and isinstance(expected, bool):
        if actual is not expected:
            raise _Mismatch(f"Booleans mismatch: {actual} is not {expected}", path)
    elif _is_number(actual) and _is_number(expected):
        if wanted.checks["dtype"] and type(actual) is not type(expected):
            raise _Mismatch(f"The (d)types do not match: {type(actual)} != {type(expected)}.", path)
        kinds = {int: torch.int64, float: torch.float64, complex: torch.complex128}
        rtol, atol = wanted.tolerances(kinds[type(actual)], kinds[type(expected)])
        _compare_numbers(actual, expected, rtol, atol, wanted.equal_nan, path)
    elif isinstance(actual, Tensor) and isinstance(expected, Tensor):
        if not wanted.checks["subclasses"] and type(actual) is not type(expected):
            _no_pair(actual, expected)
        _compare_tensors(actual, expected, wanted, path)
    elif _is_array(actual) and _is_array(expected):
        _compare_tensors(torch.as_tensor(actual), torch.as_tensor(expected), wanted, path)
    else:
        _no_pair(actual, expected)


def _no_pair(actual: Any, expected: Any) -> None:
    raise TypeError(
        f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}."
    )


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """Raises AssertionError unless ``|actual - expected| <= atol + rtol * |expected|`` for all elements.

    Tolerances depend on the dtype unless both are given. Sequences and mappings are compared item by item.
    """
    checks = {"device": check_device, "dtype": check_dtype, "layout": check_layout, "stride": check_stride,
              "subclasses": allow_subclasses}  # fmt: skip
    try:
        _compare(actual, expected, _Comparison(rtol, atol, equal_nan, checks), ())
    except _Mismatch as mismatch:
        text = str(mismatch)
        raise AssertionError(text if msg is None else msg(text) if callable(msg) else msg) from None
