"""Attention whose scores and mask are functions of the places of query and key.

The functions get whole tensors of indices that broadcast against each other, where PyTorch gives them one element
at a time; what they compute elementwise, or by indexing tables, is the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from mindtorch_v2 import Tensor

from .block_mask import (
    _DEFAULT_SPARSE_BLOCK_SIZE,
    BlockMask,
    and_masks,
    create_block_mask,
    create_mask,
    noop_mask,
    or_masks,
    places,
)

_score_mod_signature = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]
_mask_mod_signature = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]

__all__ = [
    "AuxOutput",
    "AuxRequest",
    "BlockMask",
    "_DEFAULT_SPARSE_BLOCK_SIZE",
    "and_masks",
    "create_block_mask",
    "create_mask",
    "flex_attention",
    "noop_mask",
    "or_masks",
]

ScoreFunction = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]


class AuxRequest(NamedTuple):
    """What ``flex_attention`` should return besides its result."""

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """What was asked for by an `AuxRequest`; the rest is None."""

    lse: Tensor | None = None
    max_scores: Tensor | None = None


def _check(query: Tensor, key: Tensor, value: Tensor, enable_gqa: bool) -> None:
    if query.dim() != 4 or key.dim() != 4 or value.dim() != 4:
        raise NotImplementedError("NYI: query, key, and value must be 4D tensors")
    if query.size(-1) != key.size(-1):
        raise ValueError(
            "Expect query and key/value to have the same embedding dimension but got "
            f"E={query.size(-1)} and E={key.size(-1)}."
        )
    if not enable_gqa and query.size(1) != key.size(1):
        raise ValueError(
            "Expect query and key/value to have the same number of heads but got "
            f"Hq={query.size(1)} and Hkv={key.size(1)}. Try setting enable_gqa=True for GQA."
        )
    if enable_gqa and query.size(1) % key.size(1) != 0:
        raise ValueError(
            "Expect number of query heads to be a multiple of kv heads for GQA but got "
            f"Hq={query.size(1)} and Hkv={key.size(1)}."
        )


def _check_mask(block_mask: BlockMask, q_len: int, kv_len: int) -> None:
    if block_mask.seq_lengths != (q_len, kv_len):
        raise ValueError(
            f"block_mask was created for block_mask.shape={block_mask.shape} but got q_len={q_len} and "
            f"kv_len={kv_len}. Create a new block mask with the correct length."
        )


def flex_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    score_mod: ScoreFunction | None = None,
    block_mask: BlockMask | None = None,
    scale: float | None = None,
    enable_gqa: bool = False,
    return_lse: bool = False,
    kernel_options: Any = None,
    *,
    return_aux: AuxRequest | None = None,
) -> Any:
    """Attention over (batch, heads, length, width). ``score_mod(score, b, h, q, kv)`` changes the scores;
    ``block_mask`` says which keys a query sees. All scores are computed and then hidden: the blocks save nothing
    here.
    """
    _check(query, key, value, enable_gqa)
    heads, q_len, kv_len = query.size(1), query.size(2), key.size(2)
    if key.size(1) != heads:
        key = key.repeat_interleave(heads // key.size(1), 1)
        value = value.repeat_interleave(heads // value.size(1), 1)
    factor = 1.0 / math.sqrt(query.size(-1)) if scale is None else scale
    scores = (query @ key.transpose(-2, -1)) * factor
    where = places(query.size(0), heads, q_len, kv_len, query.device)
    if score_mod is not None:
        scores = score_mod(scores, *where).expand(scores.shape)
    if block_mask is not None:
        _check_mask(block_mask, q_len, kv_len)
        hidden = ~block_mask.mask_mod(*where)
        scores = scores.masked_fill(hidden, -math.inf)
    # A query that sees nothing gives zeros, not the mean of nothing.
    lse = scores.logsumexp(-1)
    weights = (scores - lse.masked_fill(lse == -math.inf, 0.0).unsqueeze(-1)).exp()
    output = weights.to(value.dtype) @ value
    if return_aux is not None:
        largest = scores.amax(-1) if return_aux.max_scores else None
        return output, AuxOutput(lse if return_aux.lse else None, largest)
    return (output, lse) if return_lse else output
