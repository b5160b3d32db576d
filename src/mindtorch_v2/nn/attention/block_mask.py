"""Masks in blocks: which blocks of (query, key) places are hidden, full, or neither."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, Self

import mindtorch_v2 as torch
from mindtorch_v2 import Tensor

_DEFAULT_SPARSE_BLOCK_SIZE = 128

MaskFunction = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]


def noop_mask(batch: Tensor, head: Tensor, token_q: Tensor, token_kv: Tensor) -> Tensor:
    """Hides nothing."""
    return batch.new_ones((), dtype=torch.bool, device=batch.device)


def places(B: int, H: int, q_len: int, kv_len: int, device: Any) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The indices of batch, head, query and key, which broadcast to (B, H, q_len, kv_len)."""
    made = []
    for dim, size in enumerate((B, H, q_len, kv_len)):
        shape = [1] * 4
        shape[dim] = size
        made.append(torch.arange(size, device=device).reshape(shape))
    return made[0], made[1], made[2], made[3]


def _checked(mask_mods: tuple[Any, ...]) -> None:
    if not all(callable(mask_mod) for mask_mod in mask_mods):
        raise RuntimeError(f"All inputs should be callable mask_mods: {mask_mods}")


def and_masks(*mask_mods: MaskFunction) -> MaskFunction:
    """A mask that shows what all of them show."""
    _checked(mask_mods)

    def and_mask(b: Tensor, h: Tensor, q_idx: Tensor, kv_idx: Tensor) -> Tensor:
        result = noop_mask(b, h, q_idx, kv_idx)
        for mask_mod in mask_mods:
            result = result & mask_mod(b, h, q_idx, kv_idx)
        return result

    return and_mask


def or_masks(*mask_mods: MaskFunction) -> MaskFunction:
    """A mask that shows what one of them shows."""
    _checked(mask_mods)

    def or_mask(b: Tensor, h: Tensor, q_idx: Tensor, kv_idx: Tensor) -> Tensor:
        result = ~noop_mask(b, h, q_idx, kv_idx)
        for mask_mod in mask_mods:
            result = result | mask_mod(b, h, q_idx, kv_idx)
        return result

    return or_mask


def create_mask(
    mod_fn: Any, B: int | None, H: int | None, Q_LEN: int, KV_LEN: int, device: Any = None
) -> Tensor:
    """What a mask function gives everywhere, as a tensor of (B, H, Q_LEN, KV_LEN)."""
    batch, heads = 1 if B is None else B, 1 if H is None else H
    device = torch.get_default_device() if device is None else device
    made: Tensor = mod_fn(*places(batch, heads, Q_LEN, KV_LEN, device))
    return made.expand(batch, heads, Q_LEN, KV_LEN)


def _ordered(dense: Tensor) -> tuple[Tensor, Tensor]:
    """How many blocks each row has, and their columns, those it has first."""
    counts = dense.sum(-1).to(torch.int32)
    columns = torch.argsort(dense.to(torch.int32), dim=-1, descending=True, stable=True)
    return counts, columns.to(torch.int32)


def _dense(counts: Tensor, columns: Tensor) -> Tensor:
    """The map of blocks that `_ordered` was made from."""
    width = columns.size(-1)
    taken = torch.arange(width, device=counts.device) < counts.unsqueeze(-1)
    empty = torch.zeros(columns.shape, dtype=torch.int32, device=counts.device)
    return empty.scatter(-1, columns.to(torch.int64), taken.to(torch.int32))


class BlockMask:
    """For every row of blocks the columns that are partly shown (``kv_indices``) and wholly (``full_kv_indices``)."""

    _TENSORS = (
        "kv_num_blocks",
        "kv_indices",
        "full_kv_num_blocks",
        "full_kv_indices",
        "q_num_blocks",
        "q_indices",
        "full_q_num_blocks",
        "full_q_indices",
    )

    def __init__(
        self,
        seq_lengths: tuple[int, int],
        kv_num_blocks: Tensor,
        kv_indices: Tensor,
        full_kv_num_blocks: Tensor | None,
        full_kv_indices: Tensor | None,
        q_num_blocks: Tensor | None,
        q_indices: Tensor | None,
        full_q_num_blocks: Tensor | None,
        full_q_indices: Tensor | None,
        BLOCK_SIZE: tuple[int, int] = (_DEFAULT_SPARSE_BLOCK_SIZE, _DEFAULT_SPARSE_BLOCK_SIZE),
        mask_mod: MaskFunction = noop_mask,
    ) -> None:
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        if (full_kv_num_blocks is None) != (full_kv_indices is None):
            raise AssertionError("full_kv_num_blocks and full_kv_indices must be both provided or omitted")
        self.seq_lengths = seq_lengths
        self.kv_num_blocks = kv_num_blocks
        self.kv_indices = kv_indices
        self.full_kv_num_blocks = full_kv_num_blocks
        self.full_kv_indices = full_kv_indices
        self.q_num_blocks = q_num_blocks
        self.q_indices = q_indices
        self.full_q_num_blocks = full_q_num_blocks
        self.full_q_indices = full_q_indices
        self.BLOCK_SIZE = BLOCK_SIZE
        self.mask_mod = mask_mod

    @classmethod
    def from_kv_blocks(
        cls,
        kv_num_blocks: Tensor,
        kv_indices: Tensor,
        full_kv_num_blocks: Tensor | None = None,
        full_kv_indices: Tensor | None = None,
        BLOCK_SIZE: int | tuple[int, int] = _DEFAULT_SPARSE_BLOCK_SIZE,
        mask_mod: MaskFunction | None = None,
        seq_lengths: tuple[int, int] | None = None,
        compute_q_blocks: bool = True,
    ) -> Self:
        """From the columns of every row; the rows of every column follow."""
        sizes = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
        by_column: list[Any] = [None] * 4
        if compute_q_blocks:
            by_column[:2] = _ordered(_dense(kv_num_blocks, kv_indices).transpose(-2, -1))
            if full_kv_num_blocks is not None and full_kv_indices is not None:
                by_column[2:] = _ordered(_dense(full_kv_num_blocks, full_kv_indices).transpose(-2, -1))
        if seq_lengths is None:
            seq_lengths = (kv_indices.size(-2) * sizes[0], kv_indices.size(-1) * sizes[1])
        return cls(
            seq_lengths,
            kv_num_blocks,
            kv_indices,
            full_kv_num_blocks,
            full_kv_indices,
            by_column[0],
            by_column[1],
            by_column[2],
            by_column[3],
            BLOCK_SIZE=sizes,
            mask_mod=noop_mask if mask_mod is None else mask_mod,
        )

    @property
    def shape(self) -> tuple[int, ...]:
        return (*self.kv_indices.shape[:-2], *self.seq_lengths)

    def numel(self) -> int:
        count = 1
        for size in self.shape:
            count *= size
        return count

    def to_dense(self) -> Tensor:
        """1 for every block that is not hidden as a whole."""
        blocks = _dense(self.kv_num_blocks, self.kv_indices)
        if self.full_kv_num_blocks is not None and self.full_kv_indices is not None:
            blocks = blocks | _dense(self.full_kv_num_blocks, self.full_kv_indices)
        return blocks

    def sparsity(self) -> float:
        """The share of places in hidden blocks, in percent."""
        shown = int(self.to_dense().sum()) * self.BLOCK_SIZE[0] * self.BLOCK_SIZE[1]
        return 100 * (1 - shown / self.numel())

    def to(self, device: Any) -> BlockMask:
        moved = copy.copy(self)
        for name in self._TENSORS:
            tensor = getattr(self, name)
            setattr(moved, name, None if tensor is None else tensor.to(device))
        return moved

    def __repr__(self) -> str:
        lines = []
        for name in self._TENSORS:
            tensor = getattr(self, name)
            lines.append(f"    {name}={None if tensor is None else tensor.shape},\n")
        return f"BlockMask(\n{''.join(lines)}    BLOCK_SIZE={self.BLOCK_SIZE},\n    shape={self.shape},\n)"

    def __str__(self) -> str:
        return f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%)"


def create_block_mask(
    mask_mod: MaskFunction,
    B: int | None,
    H: int | None,
    Q_LEN: int,
    KV_LEN: int,
    device: Any = None,
    BLOCK_SIZE: int | tuple[int, int] = _DEFAULT_SPARSE_BLOCK_SIZE,
    _compile: bool = False,
    separate_full_blocks: bool = True,
) -> BlockMask:
    """Looks at a mask function's result block by block."""
    if not callable(mask_mod):
        raise TypeError(f"{mask_mod} is not a callable object")
    rows, columns = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
    mask = create_mask(mask_mod, B, H, Q_LEN, KV_LEN, device)
    # The last blocks reach beyond the sequences; nothing is shown there.
    padded = torch.nn.functional.pad(mask.to(torch.int32), (0, -KV_LEN % columns, 0, -Q_LEN % rows))
    batch, heads = mask.shape[:2]
    blocks = padded.reshape(batch, heads, padded.size(2) // rows, rows, padded.size(3) // columns, columns)
    shown = blocks.sum([3, 5])
    full = (shown == rows * columns) if separate_full_blocks else torch.zeros_like(shown, dtype=torch.bool)
    counts, indices = _ordered((shown > 0) & ~full)
    full_counts, full_indices = _ordered(full) if separate_full_blocks else (None, None)
    return BlockMask.from_kv_blocks(
        counts, indices, full_counts, full_indices, (rows, columns), mask_mod, (Q_LEN, KV_LEN)
    )
