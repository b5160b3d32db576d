"""Causal masks for queries and keys of different lengths, as objects that attention takes for a mask."""

from __future__ import annotations

import enum
from typing import Any, Self

import mindtorch_v2 as torch
from mindtorch_v2 import Tensor

__all__ = ["CausalBias", "CausalVariant", "causal_lower_right", "causal_upper_left"]


class CausalVariant(enum.IntEnum):
    """From which corner the diagonal starts."""

    UPPER_LEFT = 1
    LOWER_RIGHT = 2


class CausalBias(Tensor):
    """A mask that knows what it is; attention makes it when it needs it, where the query is."""

    variant: CausalVariant
    seq_len_q: int
    seq_len_kv: int

    def __new__(cls, variant: CausalVariant, seq_len_q: int, seq_len_kv: int) -> Self:
        if not isinstance(variant, CausalVariant):
            raise AssertionError(f"variant must be a CausalVariant, got {type(variant).__name__}")
        made: Self = torch.Tensor._make_subclass(cls, torch.empty(0), False)
        made.variant = variant
        made.seq_len_q = seq_len_q
        made.seq_len_kv = seq_len_kv
        return made

    def _materialize(self, device: Any = None) -> Tensor:
        """The mask as a bool tensor: True where a query sees a key."""
        beyond = 0 if self.variant == CausalVariant.UPPER_LEFT else self.seq_len_kv - self.seq_len_q
        everything = torch.ones(self.seq_len_q, self.seq_len_kv, device=device, dtype=torch.bool)
        return everything.tril(beyond)

    def __repr__(self) -> str:  # type: ignore[override]
        return self._materialize().__repr__()

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if getattr(func, "__name__", "") == "scaled_dot_product_attention":
            given = list(args)
            mask = given[3] if len(given) > 3 else kwargs.get("attn_mask")
            query = given[0] if given else kwargs["query"]
            if isinstance(mask, CausalBias):
                if kwargs.get("is_causal", len(given) > 5 and given[5]):
                    raise ValueError("CausalBias should not be used with causal=True")
                real = mask._materialize(query.device)
                if len(given) > 3:
                    given[3] = real
                else:
                    kwargs["attn_mask"] = real
            args = tuple(given)
        with torch._C.DisableTorchFunctionSubclass():  # type: ignore[operator]
            return func(*args, **kwargs)


def causal_upper_left(*size: int) -> CausalBias:
    """Query i sees the keys up to i."""
    if len(size) != 2:
        raise RuntimeError("causal_upper_left only supports 2D tensors")
    return CausalBias(CausalVariant.UPPER_LEFT, *size)


def causal_lower_right(*size: int) -> CausalBias:
    """The last query sees all keys, each one before it one less."""
    if len(size) != 2:
        raise RuntimeError("causal_lower_right only supports 2D tensors")
    return CausalBias(CausalVariant.LOWER_RIGHT, *size)
