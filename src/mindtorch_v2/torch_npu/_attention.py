"""``npu_fusion_attention``: attention in one operator, aclnnFlashAttentionScore."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mindtorch_v2 as torch

from .._backends.npu import aclnn
from .._C import Tensor
from ..autograd.function import Function

_STATISTIC = 8  # the operator repeats each row's maximum and sum this often


def _sizes(query: Tensor, key: Tensor, layout: str, heads: int) -> tuple[int, int, int]:
    """Batch, queries and keys of tensors in that layout."""
    batch_at, length_at = {"BSH": (0, 1), "SBH": (1, 0), "BNSD": (0, 2), "BSND": (0, 1)}[layout]
    return query.shape[batch_at], query.shape[length_at], key.shape[length_at]


def _drop_mask(kept: float, count: int, device: Any) -> Tensor:
    """A bit per probability, set where it is kept; the operator wants whole groups of 128."""
    bits = torch.rand(-(-count // 128) * 128, device=device) < kept
    weights = torch.tensor([1, 2, 4, 8, 16, 32, 64, 128], dtype=torch.int32, device=device)
    return (bits.view(-1, 8).to(torch.int32) * weights).sum(-1).to(torch.uint8)


class _FlashAttention(Function):
    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, value: Tensor, pse: Tensor | None, options: Any) -> Any:
        mask, drop, prefix, numbers, shape = options
        top, total = (torch.empty(shape, dtype=torch.float32, device=query.device) for _ in range(2))
        unused = torch.empty(0, dtype=query.dtype, device=query.device)
        out = torch.empty_like(query, memory_format=torch.contiguous_format)
        tensors = (query, key, value)
        aclnn.call(
            "aclnnFlashAttentionScore",
            *tensors,
            pse,
            drop,
            None,
            mask,
            prefix,
            *numbers,
            top,
            total,
            unused,
            out,
        )
        ctx.save_for_backward(query, key, value, pse, mask, drop, top, total, out)
        ctx.prefix, ctx.numbers = prefix, numbers
        ctx.mark_non_differentiable(top, total, unused)
        return out, top, total, unused

    @staticmethod
    def backward(ctx: Any, grad: Tensor, *others: Any) -> Any:
        query, key, value, pse, mask, drop, top, total, out = ctx.saved_tensors
        found = [torch.empty_like(x, memory_format=torch.contiguous_format) for x in (query, key, value)]
        pse_grad = None if pse is None else torch.empty_like(pse, memory_format=torch.contiguous_format)
        aclnn.call(
            "aclnnFlashAttentionScoreGrad", query, key, value, grad.contiguous(), pse, drop, None, mask, top, total,
            None, out, ctx.prefix, *ctx.numbers, *found, pse_grad,
        )  # fmt: skip
        return (*found, pse_grad, None)


def npu_fusion_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    head_num: int,
    input_layout: str,
    pse: Tensor | None = None,
    padding_mask: Tensor | None = None,
    atten_mask: Tensor | None = None,
    scale: float = 1.0,
    keep_prob: float = 1.0,
    pre_tockens: int = 2147483647,
    next_tockens: int = 2147483647,
    inner_precise: int = 0,
    prefix: Sequence[int] | None = None,
    actual_seq_qlen: Sequence[int] | None = None,
    actual_seq_kvlen: Sequence[int] | None = None,
    sparse_mode: int = 0,
    gen_mask_parallel: bool = True,
    sync: bool = False,
    softmax_layout: str = "",
    sink: Tensor | None = None,
    dropout_mask: Tensor | None = None,
    seed: int = 0,
    offset: int = 0,
) -> tuple[Tensor, Tensor, Tensor, Tensor, int, int, int]:
    """softmax(query key^T * scale, where atten_mask is False) value, with its rows' maxima and sums.

    ``input_layout`` names the dimensions: BSH, SBH, BSND or BNSD. A probability is dropped where ``keep_prob`` says.
    """
    if input_layout == "TND" or actual_seq_qlen is not None or actual_seq_kvlen is not None:
        raise NotImplementedError(
            "npu_fusion_attention: sequences of different lengths in one tensor (TND) are not there; pad them and give "
            "an atten_mask"
        )
    if input_layout not in ("BSH", "SBH", "BSND", "BNSD"):
        raise ValueError(
            f"npu_fusion_attention: input_layout is {input_layout!r}; wanted BSH, SBH, BSND or BNSD"
        )
    if padding_mask is not None or sink is not None:
        raise NotImplementedError("npu_fusion_attention: padding_mask and sink are not there; use atten_mask")
    if not 0 < keep_prob <= 1:
        raise ValueError(f"npu_fusion_attention: keep_prob is {keep_prob}; wanted more than 0 and at most 1")
    batch, queries, keys = _sizes(query, key, input_layout, head_num)
    drop, count = dropout_mask, 0
    if keep_prob < 1 and drop is None:
        count = batch * head_num * queries * keys
        drop = _drop_mask(keep_prob, count, query.device)
    numbers = (
        scale,
        keep_prob,
        pre_tockens,
        next_tockens,
        head_num,
        input_layout,
        inner_precise,
        sparse_mode,
    )
    shape = (batch, head_num, queries, _STATISTIC)
    options = (atten_mask, drop, None if prefix is None else list(prefix), numbers, shape)
    out, top, total, unused = _FlashAttention.apply(query, key, value, pse, options)
    return out, top, total, unused, seed, offset, count
