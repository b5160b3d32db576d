"""Tensors as text, in PyTorch's layout."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from typing import Any

import mindtorch_v2 as torch

from . import _C


class PrintOptions:
    def __init__(self) -> None:
        self.precision = 4
        self.threshold: float = 1000
        self.edgeitems = 3
        self.linewidth = 80
        self.sci_mode: bool | None = None


PRINT_OPTS = PrintOptions()

_PROFILES: dict[str, dict[str, Any]] = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": math.inf, "edgeitems": 3, "linewidth": 80},
}


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """How tensors print. A profile sets all but ``sci_mode``; ``sci_mode=None`` lets the values decide."""
    changes: dict[str, Any] = {}
    if profile is not None:
        if profile not in _PROFILES:
            raise ValueError(f"unknown print profile {profile!r}: use one of {', '.join(sorted(_PROFILES))}")
        changes.update(_PROFILES[profile])
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    changes.update((name, value) for name, value in given.items() if value is not None)
    for name, value in {**changes, "sci_mode": sci_mode}.items():
        setattr(PRINT_OPTS, name, value)


def get_printoptions() -> dict[str, Any]:
    return dict(vars(PRINT_OPTS))


@contextlib.contextmanager
def printoptions(**options: Any) -> Iterator[None]:
    """Print options for the length of a ``with``."""
    saved = get_printoptions()
    set_printoptions(**{**saved, **options})
    try:
        yield
    finally:
        set_printoptions(**saved)


class _NumberFormat:
    """One format for all the real numbers of a tensor, so that they line up."""

    def __init__(self, values: list[Any], floating: bool) -> None:
        self.floating = floating
        self.integers = True  # all are whole: printed as "3."
        self.scientific = False
        self.width = 1
        if not floating:
            self.width = max((len(f"{value}") for value in values), default=1)
            return
        values = [value for value in values if math.isfinite(value) and value != 0]
        if values:
            magnitudes = [abs(value) for value in values]
            low, high = min(magnitudes), max(magnitudes)
            self.integers = all(value == math.ceil(value) for value in values)
            self.scientific = high / low > 1000 or high > 1e8 or (low < 1e-4 and not self.integers)
            if PRINT_OPTS.sci_mode is not None:
                self.scientific = PRINT_OPTS.sci_mode
            self.width = max(len(self._body(value)) for value in values)

    def _body(self, value: Any) -> str:
        if not self.floating:
            return f"{value}"
        if self.scientific:
            return f"{value:.{PRINT_OPTS.precision}e}"
        if self.integers:
            return f"{value:.0f}." if math.isfinite(value) else f"{value:.0f}"
        return f"{value:.{PRINT_OPTS.precision}f}"

    def __call__(self, value: Any) -> str:
        return self._body(value).rjust(self.width)


class _ComplexFormat:
    def __init__(self, values: list[complex]) -> None:
        self.real = _NumberFormat([value.real for value in values], floating=True)
        self.imaginary = _NumberFormat([value.imag for value in values], floating=True)
        self.width = self.real.width + self.imaginary.width + 1

    def __call__(self, value: complex) -> str:
        imaginary = (self.imaginary(value.imag) + "j").lstrip()
        sign = "" if imaginary[0] in "+-" else "+"
        return self.real(value.real) + sign + imaginary


_Format = _NumberFormat | _ComplexFormat


def _flat(nested: Any) -> list[Any]:
    if not isinstance(nested, list):
        return [nested]
    return [value for row in nested for value in _flat(row)]


def _edges(tensor: torch.Tensor) -> torch.Tensor:
    """The corners of a tensor that is too long to print; cut where it lives, so that little is copied."""
    keep = PRINT_OPTS.edgeitems
    for dim, size in enumerate(tensor.shape):
        if size > 2 * keep:
            ends = [tensor.narrow(dim, 0, keep), tensor.narrow(dim, size - keep, keep)]
            tensor = torch.cat(ends, dim)
    return tensor


def _layout(nested: Any, shape: tuple[int, ...], cut: bool, indent: int, form: _Format) -> str:
    """Brackets and line breaks. ``shape`` is the whole tensor's; ``nested`` holds its edges when ``cut``."""
    if not shape:
        return form(nested)
    keep = PRINT_OPTS.edgeitems
    cut_here = cut and shape[0] > 2 * keep
    if len(shape) == 1:
        cells = [form(value) for value in nested]
        if cut_here:
            cells = [*cells[:keep], " ...", *cells[keep:]] if keep else ["..."]
        per_line = max(1, (PRINT_OPTS.linewidth - indent) // (form.width + 2))
        lines = [", ".join(cells[start : start + per_line]) for start in range(0, len(cells), per_line)]
        return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"
    rows = [_layout(row, shape[1:], cut, indent + 1, form) for row in nested]
    if cut_here:
        rows = [*rows[:keep], "...", *rows[keep:]]
    return "[" + ("," + "\n" * (len(shape) - 1) + " " * (indent + 1)).join(rows) + "]"


def _tensor_str(tensor: torch.Tensor, indent: int) -> str:
    cut = tensor.numel() > PRINT_OPTS.threshold
    shown = _edges(tensor) if cut else tensor
    if shown.dtype.is_floating_point and shown.dtype != torch.float64:
        shown = shown.float()
    nested = shown.tolist()
    values = _flat(nested)
    form: _Format
    if tensor.dtype.is_complex:
        form = _ComplexFormat(values)
    else:
        form = _NumberFormat(values, tensor.dtype.is_floating_point)
    return _layout(nested, tuple(tensor.shape), cut, indent, form)


def _add_suffixes(tensor_str: str, suffixes: list[str], indent: int, force_newline: bool = False) -> str:
    """Appends ``, suffix`` to the last line, or starts a new one where it would pass the line width."""
    text, used = tensor_str, len(tensor_str) - tensor_str.rfind("\n") + 1
    for suffix in suffixes:
        if force_newline or used + len(suffix) + 2 > PRINT_OPTS.linewidth:
            text += ",\n" + " " * indent + suffix
            used, force_newline = indent + len(suffix), False
        else:
            text += ", " + suffix
            used += len(suffix) + 2
    return text + ")"


_PART_NAMES = {
    "sparse_csr": ("crow_indices", "col_indices"), "sparse_bsr": ("crow_indices", "col_indices"),
    "sparse_csc": ("ccol_indices", "row_indices"), "sparse_bsc": ("ccol_indices", "row_indices"),
}  # fmt: skip


def _part_str(name: str, part: torch.Tensor, indent: int) -> str:
    """A part of a sparse tensor, as far inside as its name ends."""
    opening = f"{name}=tensor("
    suffixes = []
    if part.is_meta or part.numel() == 0:
        suffixes.append(f"size={tuple(part.shape)}")
        contents = "..." if part.is_meta else "[]"
    else:
        contents = _tensor_str(part, indent + len(opening))
    return _add_suffixes(opening + contents, suffixes, indent)


def _sparse_str(tensor: torch.Tensor, layout: str, indent: int) -> str:
    """The parts of a sparse tensor, each on lines of its own."""
    _, indices, plain, values, _ = torch._C._sparse.parts(tensor) or ("", tensor, None, tensor, False)
    names = (*_PART_NAMES.get(layout, ("indices",)), "values")
    parts = [part for part in (indices, plain, values) if part is not None]
    texts = [_part_str(name, part, indent) for name, part in zip(names, parts, strict=True)]
    return (",\n" + " " * indent).join(texts)


def _is_default_device(device: Any) -> bool:
    return bool(device.type == "cpu")


def _str(self: Any, *, tensor_contents: str | None = None) -> str:
    """``repr`` of a tensor. ``tensor_contents`` replaces the numbers, for subclasses with their own."""
    if _C._functorch.is_batchedtensor(self):
        return _batch_str(self)
    plain = type(self).__name__ in ("Tensor", "Parameter", "Buffer")
    prefix = "tensor(" if plain else f"{type(self).__name__}("
    indent = len(prefix)
    tensor = self.detach()
    suffixes = []
    if not _is_default_device(tensor.device):
        suffixes.append(f"device='{tensor.device}'")
    default = torch.get_default_dtype()
    default_complex = torch.complex128 if default == torch.float64 else torch.complex64
    layout = torch._C._sparse.layout(tensor)
    if layout != "strided":
        suffixes.append(f"size={tuple(tensor.shape)}")
        if not tensor.is_meta:
            suffixes.append(f"nnz={tensor._nnz()}")
        if tensor.dtype not in (default, default_complex, torch.int64, torch.bool):
            suffixes.append(f"dtype={tensor.dtype}")
        suffixes.append(f"layout=torch.{layout}")
        contents = "" if tensor_contents is not None else _sparse_str(tensor, layout, indent)
    elif tensor.is_meta or tensor.numel() == 0:
        if tensor.is_meta or tensor.dim() != 1:
            suffixes.append(f"size={tuple(tensor.shape)}")
        if tensor.dtype != default:
            suffixes.append(f"dtype={tensor.dtype}")
        contents = "..." if tensor.is_meta else "[]"
    else:
        if PRINT_OPTS.edgeitems == 0:  # a cut tensor shows no element from which to guess its shape
            suffixes.append(f"size={tuple(tensor.shape)}")
        if tensor.dtype not in (default, default_complex, torch.int64, torch.bool):
            suffixes.append(f"dtype={tensor.dtype}")
        contents = "" if tensor_contents is not None else _tensor_str(tensor, indent)
    if tensor_contents is not None:
        contents = tensor_contents
    history = _history(self)
    if history is not None:
        suffixes.append(f"grad_fn=<{history}>")
    elif self.requires_grad:
        suffixes.append("requires_grad=True")
    for _, tangent in _C._forward.tangents(self):
        suffixes.append(f"tangent={tangent}")
    return _add_suffixes(prefix + contents, suffixes, indent, force_newline=layout == "sparse_coo")


def _history(self: Any) -> str | None:
    """The name of what made a tensor; of a view whose history nobody can tell, because of writes, just that."""
    try:
        made_by = self.grad_fn
    except RuntimeError:
        return "Invalid"
    return None if made_by is None else str(made_by.name().rsplit("::", 1)[-1])


def _batch_str(self: Any) -> str:
    """Of a tensor inside vmap: what lies below it, and its own history around that."""
    inside = _C._functorch
    level, value = inside.maybe_get_level(self), _str(inside.get_unwrapped(self))
    below = "\n".join("    " + line for line in value.splitlines())
    if inside.maybe_get_bdim(self) < 0:
        return f"GradTrackingTensor(lvl={level}, value=\n{below}\n)"
    return f"BatchedTensor(lvl={level}, bdim=0, value=\n{below}\n)"


_str_intern = _str  # PyTorch's inner one, which packages call for tensors of their own classes
