"""What factories make when they are asked for a sparse layout."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch

from .._C import Tensor
from .creation import without_elements

_EMPTY = ("zeros", "empty")
_TITLES = {
    "strided": "Strided", "sparse_coo": "Sparse", "sparse_csr": "SparseCsr", "sparse_csc": "SparseCsc",
    "sparse_bsr": "SparseBsr", "sparse_bsc": "SparseBsc",
}  # fmt: skip


def make(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    """Native factories call it with their name and their arguments."""
    layout = repr(kwargs.pop("layout")).removeprefix("torch.")
    if not layout.startswith("sparse_"):
        raise RuntimeError(f"{name}(): there are no tensors of the layout torch.{layout}")
    if (out := kwargs.get("out")) is not None and repr(out.layout) != f"torch.{layout}":
        names = [_TITLES[name] for name in (layout, repr(out.layout).removeprefix("torch."))]
        raise RuntimeError(f"layout {names[0]} does not match layout of out parameter ({names[1]})")
    dtype, device = kwargs.get("dtype"), kwargs.get("device")
    base = name.removesuffix("_like").removeprefix("new_")
    if base not in _EMPTY:
        base = "full" if base == "ones" else base
        raise RuntimeError(f"{base}(...) is not implemented for sparse layout")
    if name != base:
        like = args[0] if args else kwargs["input"]
        dtype, device = dtype or like.dtype, device or like.device
        size = like.shape if name.endswith("_like") else _size(args[1:], kwargs)
    else:
        size = _size(args, kwargs)
    made = without_elements(list(size), layout, dtype, device)
    return made.requires_grad_(True) if kwargs.get("requires_grad") else made


def _size(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if not args:
        return kwargs["size"]
    return args[0] if isinstance(args[0], (tuple, list, torch.Size)) else args
