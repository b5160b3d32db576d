"""Tensors in the jagged layout.

Note [Nested tensors]
A nested tensor is a batch of sequences whose lengths differ along one dimension. In the jagged layout they lie one
after the other in one dense tensor (``_values``), whose dimensions are those of the batch without the first: dimension
``d`` of the nested tensor is ``d - 1`` of the values, and the ragged one, ``_ragged_idx``, has all sequences in a row.
``_offsets`` say where each begins and the last ends; ``_lengths``, if there are any, that some end earlier (holes).

To native code it is a tensor without memory whose operators Python takes over. What they do stands in the table of
``rules.py``: a rule takes the values out, calls operators on them, and puts what they give into a nested tensor again.
Both steps are functions with gradients (``_Values``, ``_Nested``), so that history is that of the dense operators, and
a nested tensor has ``grad_fn``, ``grad`` and hooks like any other; no formula ever sees a ragged size.
"""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._absent import names_of

from . import rules
from .nested_int import NestedInt, _tensor_symint_registry, ragged_size, share_size

__all__ = ["NestedTensor", "_tensor_symint_registry"]


class NestedTensor(torch.Tensor):
    """A batch of sequences of different lengths. Note [Nested tensors]."""

    _values: torch.Tensor  # type: ignore[assignment] # sparse tensors have a method of this name
    _offsets: torch.Tensor
    _lengths: torch.Tensor | None
    _ragged_idx: int
    _metadata_cache: dict[str, Any]
    _size: NestedInt
    is_nested = True

    @staticmethod
    def __new__(
        cls: type[NestedTensor],
        values: torch.Tensor,
        offsets: torch.Tensor,
        *,
        lengths: torch.Tensor | None = None,
        **kwargs: Any,
    ) -> NestedTensor:
        ragged_idx = kwargs.get("_ragged_idx", 1)
        if offsets is None or offsets.ndim != 1:
            raise RuntimeError(
                "a jagged tensor needs offsets of one dimension: where each sequence begins, and the end"
            )
        if values.is_nested:
            raise RuntimeError("the values of a jagged tensor are dense, got a nested tensor")
        if offsets.device != values.device:
            raise RuntimeError(
                f"values are on {values.device} and offsets on {offsets.device}; use offsets.to(...)"
            )
        if not 0 < ragged_idx <= values.dim():
            raise RuntimeError(f"jagged_dim is {ragged_idx}, wanted one from 1 to {values.dim()}")
        size = ragged_size(offsets if lengths is None else lengths)
        native = [offsets.shape[0] - 1, *values.shape]
        native[ragged_idx] = size.native
        made: NestedTensor = torch.Tensor._make_wrapper_subclass(
            cls, native, strides=[0] * len(native), dtype=values.dtype, device=values.device,
            requires_grad=kwargs.get("requires_grad", False),
        )  # fmt: skip
        made._values = values.detach() if values.requires_grad else values
        made._offsets, made._lengths, made._ragged_idx, made._size = offsets, lengths, ragged_idx, size
        cache = made._metadata_cache = dict(kwargs.get("_metadata_cache") or {})
        size.known.update({name: cache[name] for name in ("min_seqlen", "max_seqlen") if name in cache})
        return made

    def values(self) -> torch.Tensor:
        """The dense tensor in which the sequences lie; gradients flow through it."""
        return values_of(self)

    def offsets(self) -> torch.Tensor:
        """Where in the values each sequence begins, and where the last one ends."""
        return self._offsets

    def lengths(self) -> torch.Tensor | None:
        """The lengths of sequences that end before the next one begins; None if there are no holes."""
        return self._lengths

    # ---- lengths on the host: known once they have been asked for ------------------------------------

    def _get_max_seqlen(self) -> int:
        return known(self, "max_seqlen", lambda: max(lengths_on_host(self), default=0))  # type: ignore[no-any-return]

    def _get_min_seqlen(self) -> int:
        return known(self, "min_seqlen", lambda: min(lengths_on_host(self), default=0))  # type: ignore[no-any-return]

    _max_seqlen = property(_get_max_seqlen)
    _min_seqlen = property(_get_min_seqlen)

    @property
    def _maybe_max_seqlen(self) -> int | None:
        found: int | None = self._size.known.get("max_seqlen")
        return found

    @property
    def _maybe_min_seqlen(self) -> int | None:
        found: int | None = self._size.known.get("min_seqlen")
        return found

    @property
    def _max_seqlen_tensor(self) -> torch.Tensor | None:
        """PyTorch keeps a length as the size of an empty tensor; None if it is not known."""
        return None if self._maybe_max_seqlen is None else torch.empty(0, self._maybe_max_seqlen)

    @property
    def _min_seqlen_tensor(self) -> torch.Tensor | None:
        return None if self._maybe_min_seqlen is None else torch.empty(0, self._maybe_min_seqlen)

    # ---- taken over, taken apart ---------------------------------------------------------------------

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        return rules.jagged.call(func, args, kwargs or {})

    @classmethod
    def __torch_dispatch__(
        cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        return rules.jagged.call_below_history(func, args, kwargs or {})

    def __tensor_flatten__(self) -> tuple[list[str], dict[str, Any]]:
        inner = ["_values", "_offsets"] + (["_lengths"] if self._lengths is not None else [])
        return inner, {"requires_grad": self.requires_grad, "ragged_idx": self._ragged_idx}

    @staticmethod
    def __tensor_unflatten__(
        inner_tensors: dict[str, torch.Tensor], meta: dict[str, Any], outer_size: Any, outer_stride: Any
    ) -> NestedTensor:
        return NestedTensor(
            inner_tensors["_values"], inner_tensors["_offsets"], lengths=inner_tensors.get("_lengths"),
            requires_grad=meta["requires_grad"], _ragged_idx=meta["ragged_idx"],
        )  # fmt: skip

    def __reduce_ex__(self, protocol: Any) -> Any:
        parts: dict[str, Any] = {
            "values": self._values, "offsets": self._offsets, "lengths": self._lengths,
            "_ragged_idx": self._ragged_idx, "_metadata_cache": {}, "requires_grad": self.requires_grad,
        }  # fmt: skip
        return torch._tensor._rebuild_from_type_v2, (_rebuild_njt, type(self), (parts,), {})


# Where files and people know it.
def _rebuild_njt(constructor_kwargs: dict[str, Any]) -> NestedTensor:
    """A nested tensor from a file."""
    parts = dict(constructor_kwargs, _metadata_cache={})  # what it knows of lengths is found out again
    return NestedTensor(**parts)


# ---- values out, values in -------------------------------------------------------------------------


class Sequences:
    """All of a nested tensor but its values, which history must not keep."""

    def __init__(self, nested: NestedTensor) -> None:
        self._offsets, self._lengths = nested._offsets, nested._lengths
        self._ragged_idx, self._size = nested._ragged_idx, nested._size
        self.rows = nested._values.shape[nested._ragged_idx - 1]


class _Values(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, nested: NestedTensor) -> torch.Tensor:
        ctx.like = Sequences(nested)
        return nested._values.detach()

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> Any:
        return wrap(grad, ctx.like)


class _Nested(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, values: torch.Tensor, offsets: torch.Tensor, lengths: torch.Tensor | None, ragged_idx: int
    ) -> NestedTensor:
        made = NestedTensor(values.detach(), offsets, lengths=lengths, _ragged_idx=ragged_idx)
        ctx.like = Sequences(made)
        return made

    @staticmethod
    def backward(ctx: Any, grad: NestedTensor) -> Any:
        return values_like(grad, ctx.like), None, None, None


class _Written(torch.autograd.Function):
    """A nested tensor in which other values are now."""

    @staticmethod
    def forward(ctx: Any, nested: NestedTensor, values: torch.Tensor) -> NestedTensor:
        ctx.like = Sequences(nested)
        nested._values.copy_(values.detach())
        ctx.mark_dirty(nested)
        return nested

    @staticmethod
    def backward(ctx: Any, grad: NestedTensor) -> Any:
        return None, values_like(grad, ctx.like)


def values_of(nested: NestedTensor) -> torch.Tensor:
    """The values, with history."""
    if torch.is_grad_enabled() and nested.requires_grad:
        return _Values.apply(nested)  # type: ignore[no-any-return]
    return nested._values


def nested_of(
    values: torch.Tensor, offsets: torch.Tensor, lengths: torch.Tensor | None = None, ragged_idx: int = 1
) -> NestedTensor:
    """A nested tensor of values, with their history."""
    if torch.is_grad_enabled() and values.requires_grad:
        return _Nested.apply(values, offsets, lengths, ragged_idx)  # type: ignore[no-any-return]
    return NestedTensor(values, offsets, lengths=lengths, _ragged_idx=ragged_idx)


def wrap(values: torch.Tensor, like: NestedTensor | Sequences, ragged_idx: int | None = None) -> NestedTensor:
    """The same sequences with other values."""
    return nested_of(
        values, like._offsets, like._lengths, like._ragged_idx if ragged_idx is None else ragged_idx
    )


def values_like(grad: NestedTensor, like: Sequences) -> torch.Tensor:
    """The values of a gradient in the places that those of a tensor have: holes have none."""
    values = values_of(grad)
    if (grad._lengths is None) == (like._lengths is None):
        return values
    dim = like._ragged_idx - 1
    if like._lengths is None:
        return values.index_select(dim, places(grad))
    shape = [*values.shape[:dim], like.rows, *values.shape[dim + 1 :]]
    return values.new_zeros(shape).index_copy(dim, places(like), values)


def write(nested: NestedTensor, values: torch.Tensor) -> NestedTensor:
    """Puts values into a nested tensor; its history is then theirs."""
    if torch.is_grad_enabled() and (nested.requires_grad or values.requires_grad):
        return _Written.apply(nested, values)  # type: ignore[no-any-return]
    nested._values.copy_(values)
    return nested


# ---- what is known of the sequences ----------------------------------------------------------------


def known(nested: NestedTensor | Sequences, what: Any, find: Any) -> Any:
    """Something about the sequences that is found out once for all tensors that share them."""
    facts = nested._size.known
    if what not in facts:
        with torch.no_grad():
            facts[what] = find()
    return facts[what]


def lengths_of(nested: NestedTensor | Sequences) -> torch.Tensor:
    return nested._offsets.diff() if nested._lengths is None else nested._lengths


def lengths_on_host(nested: NestedTensor | Sequences) -> list[int]:
    return known(nested, "lengths", lambda: lengths_of(nested).tolist())  # type: ignore[no-any-return]


def starts_on_host(nested: NestedTensor) -> list[int]:
    if nested._lengths is not None:  # others with these lengths may begin elsewhere
        return nested._offsets[:-1].tolist()  # type: ignore[no-any-return]
    return known(nested, "starts", lambda: nested._offsets[:-1].tolist())  # type: ignore[no-any-return]


def owners(nested: NestedTensor | Sequences) -> torch.Tensor:
    """For each step of all sequences without holes, which sequence it belongs to."""

    def find() -> torch.Tensor:
        lengths = lengths_of(nested)
        return torch.arange(lengths.shape[0], device=lengths.device).repeat_interleave(lengths)

    return known(nested, ("owners", nested._offsets.device), find)  # type: ignore[no-any-return]


def steps(nested: NestedTensor | Sequences) -> torch.Tensor:
    """For each step of all sequences without holes, its place in its own sequence."""

    def find() -> torch.Tensor:
        lengths = lengths_of(nested)
        before = (lengths.cumsum(0) - lengths).index_select(0, owners(nested))
        return torch.arange(before.shape[0], device=before.device) - before

    return known(nested, ("steps", nested._offsets.device), find)  # type: ignore[no-any-return]


def places(nested: NestedTensor | Sequences) -> torch.Tensor:
    """For each step of all sequences without holes, where it is in the values."""
    return nested._offsets.index_select(0, owners(nested)) + steps(nested)


def dense_values(nested: NestedTensor) -> torch.Tensor:
    """The values without holes: only those that belong to a sequence."""
    values, dim = values_of(nested), nested._ragged_idx - 1
    if nested._lengths is not None:
        return values.index_select(dim, places(nested))
    return values


def without_holes(nested: NestedTensor) -> NestedTensor:
    """The same sequences, one directly after the other."""
    if nested._lengths is None:
        return nested
    zero = nested._lengths.new_zeros(1)
    offsets = torch.cat([zero, nested._lengths.cumsum(0)])
    return nested_of(dense_values(nested), offsets, None, nested._ragged_idx)


def components(nested: NestedTensor) -> tuple[torch.Tensor, ...]:
    """The sequences."""
    values, dim = values_of(nested), nested._ragged_idx - 1
    return tuple(
        values.narrow(dim, start, length)
        for start, length in zip(starts_on_host(nested), lengths_on_host(nested), strict=True)
    )


def flat_places(nested: NestedTensor | Sequences, longest: int) -> torch.Tensor:
    """For each step, its row in a padded tensor of which batch and steps are one dimension."""
    return owners(nested) * longest + steps(nested)


def padded(nested: NestedTensor, padding: Any, longest: int | None = None) -> torch.Tensor:
    """A dense tensor of the sequences, with ``padding`` behind the shorter ones."""
    longest = nested._get_max_seqlen() if longest is None else longest
    rows = dense_values(nested).movedim(nested._ragged_idx - 1, 0)
    batch = nested._offsets.shape[0] - 1
    filled = torch.full((batch * longest, *rows.shape[1:]), padding, dtype=rows.dtype, device=rows.device)
    filled = filled.index_copy(0, flat_places(nested, longest), rows)
    return filled.unflatten(0, (batch, longest)).movedim(1, nested._ragged_idx)


def from_padded(dense: torch.Tensor, like: NestedTensor) -> NestedTensor:
    """The sequences in a padded tensor, with the lengths of another one; holes of that are not kept."""
    ragged = like._ragged_idx
    rows = dense.movedim(ragged, 1)
    values = rows.flatten(0, 1).index_select(0, flat_places(like, rows.shape[1])).movedim(0, ragged - 1)
    if like._lengths is None:
        return wrap(values, like)
    return wrap(values, without_holes(like))


def copy_of_sizes(source: torch.Tensor | None, device: Any) -> torch.Tensor | None:
    """Offsets or lengths on another device: they stand for the same sequences."""
    if source is None or source.device == torch.device(device):
        return source
    made = source.to(device)
    share_size(made, ragged_size(source))
    return made


# ---- PyTorch's private names, which libraries call --------------------------------------------------


def nested_view_from_values_offsets(
    values: torch.Tensor,
    offsets: torch.Tensor,
    ragged_idx: int = 1,
    min_seqlen: Any = None,
    max_seqlen: Any = None,
) -> NestedTensor:
    """A nested tensor over values."""
    return nested_view_from_values_offsets_lengths(values, offsets, None, ragged_idx, min_seqlen, max_seqlen)


def nested_view_from_values_offsets_lengths(
    values: torch.Tensor,
    offsets: torch.Tensor,
    lengths: torch.Tensor | None,
    ragged_idx: int = 1,
    min_seqlen: Any = None,
    max_seqlen: Any = None,
) -> NestedTensor:
    """A nested tensor over values, with holes if there are lengths."""
    made = nested_of(values, offsets, lengths, ragged_idx)
    for name, value in (("min_seqlen", min_seqlen), ("max_seqlen", max_seqlen)):
        if value is not None:
            made._size.known[name] = made._metadata_cache[name] = int(value)
    return made


def buffer_from_jagged(jagged: NestedTensor) -> torch.Tensor:
    """The values of a nested tensor."""
    return values_of(jagged)


def get_tensor_symint(tensor: torch.Tensor, *, coeff: int = 1) -> NestedInt:
    """The size that belongs to offsets or lengths."""
    return ragged_size(tensor) * coeff if coeff != 1 else ragged_size(tensor)


__getattr__ = names_of(__name__)
