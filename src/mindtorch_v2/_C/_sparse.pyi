"""Sparse tensors taken apart and put together (csrc/bindings/init_sparse.cpp)."""

from collections.abc import Sequence

from . import Tensor

def make(
    layout: str,
    size: Sequence[int],
    indices: Tensor,
    plain_indices: Tensor | None,
    values: Tensor,
    coalesced: bool,
) -> Tensor: ...
def parts(tensor: Tensor) -> tuple[str, Tensor, Tensor | None, Tensor, bool] | None: ...
def layout(tensor: Tensor) -> str: ...
def set_parts(
    tensor: Tensor,
    size: Sequence[int],
    indices: Tensor,
    plain_indices: Tensor | None,
    values: Tensor,
    coalesced: bool,
) -> None: ...
