"""Tensors of the meta device with the geometry of others."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch

from .._absent import names_of
from ..utils.weak import WeakIdKeyDictionary
from ._exceptions import UnsupportedFakeTensorException

Tensor = torch.Tensor


def assert_eq(a: Any, b: Any) -> None:
    """Refuses two values that differ."""
    if a != b:
        raise AssertionError(f"{a} != {b}")


class MetaConverter:
    """Gives the tensor without memory that stands for a real one. Tensors that share a storage share one here too."""

    def __init__(self) -> None:
        self.tensor_memo: WeakIdKeyDictionary = WeakIdKeyDictionary()
        self._memory: dict[tuple[int, torch.dtype], Tensor] = {}
        self._storages: list[Any] = []  # whose addresses are keys

    def meta_tensor(self, t: Tensor) -> Tensor:
        """Shape, strides, offset and dtype of ``t`` on the meta device; no history."""
        if t in self.tensor_memo:
            return self.tensor_memo[t]  # type: ignore[no-any-return]
        made = self._memory_of(t).as_strided(t.size(), t.stride(), t.storage_offset())
        self.tensor_memo[t] = made
        return made

    def _memory_of(self, t: Tensor) -> Tensor:
        if t.layout != torch.strided:
            raise UnsupportedFakeTensorException(f"there are no fake tensors of layout {t.layout}")
        storage = t.untyped_storage()
        key = (storage._cdata, t.dtype)
        if key not in self._memory:
            self._storages.append(storage)
            elements = storage.nbytes() // t.element_size()
            self._memory[key] = torch.empty(elements, dtype=t.dtype, device="meta")
        return self._memory[key]

    def __call__(self, t: Any) -> Any:
        if not isinstance(t, Tensor):
            return t
        made = self.meta_tensor(t.detach() if t.requires_grad else t)
        made = made.requires_grad_(t.requires_grad) if t.requires_grad else made
        return torch.nn.Parameter(made, t.requires_grad) if isinstance(t, torch.nn.Parameter) else made


__getattr__ = names_of(__name__)
