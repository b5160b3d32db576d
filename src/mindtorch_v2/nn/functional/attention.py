"""Attention."""

from __future__ import annotations

import math
import warnings

import mindtorch_v2 as torch

from ..._C import _nn
from .dropout import dropout
from .matmul import linear

__all__ = ["multi_head_attention_forward", "scaled_dot_product_attention"]

scaled_dot_product_attention = _nn.scaled_dot_product_attention


# Programs that vary attention call the next functions, so they have PyTorch's private names.


def _none_or_dtype(input: torch.Tensor | None) -> torch.dtype | None:
    if input is not None and not isinstance(input, torch.Tensor):
        raise RuntimeError("input to _none_or_dtype() must be None or torch.Tensor")
    return None if input is None else input.dtype


def _canonical_mask(
    mask: torch.Tensor | None,
    mask_name: str,
    other_type: torch.dtype | None,
    other_name: str,
    target_type: torch.dtype,
    check_other: bool = True,
) -> torch.Tensor | None:
    """A mask that is added to scores; of a bool one, what is True is hidden."""
    if mask is None:
        return None
    if mask.dtype != torch.bool and not mask.is_floating_point():
        raise AssertionError(f"only bool and floating types of {mask_name} are supported")
    if check_other and other_type is not None and mask.dtype != other_type:
        warnings.warn(
            f"Support for mismatched {mask_name} and {other_name} is deprecated. Use same type for both instead.",
            stacklevel=4,
        )
    if mask.dtype != torch.bool:
        return mask
    return torch.zeros(mask.shape, dtype=target_type, device=mask.device).masked_fill(mask, -math.inf)


def _mha_shape_check(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    key_padding_mask: torch.Tensor | None,
    attn_mask: torch.Tensor | None,
    num_heads: int,
) -> bool:
    """Whether there is a batch; everything else must agree with the query."""
    if query.dim() not in (2, 3):
        raise AssertionError(
            f"query should be unbatched 2D or batched 3D tensor but received {query.dim()}-D query tensor"
        )
    batched = query.dim() == 3
    kind = "batched (3-D)" if batched else "unbatched (2-D)"
    if key.dim() != query.dim() or value.dim() != query.dim():
        raise AssertionError(
            f"For {kind} `query`, expected `key` and `value` to be {query.dim()}-D but found {key.dim()}-D "
            f"and {value.dim()}-D tensors respectively"
        )
    if key_padding_mask is not None and key_padding_mask.dim() != query.dim() - 1:
        raise AssertionError(
            f"For {kind} `query`, expected `key_padding_mask` to be `None` or {query.dim() - 1}-D but found "
            f"{key_padding_mask.dim()}-D tensor instead"
        )
    if attn_mask is not None and attn_mask.dim() not in (2, 3):
        raise AssertionError(
            f"For {kind} `query`, expected `attn_mask` to be `None`, 2-D or 3-D but found "
            f"{attn_mask.dim()}-D tensor instead"
        )
    if not batched and attn_mask is not None and attn_mask.dim() == 3:
        wanted = (num_heads, query.shape[0], key.shape[0])
        if tuple(attn_mask.shape) != wanted:
            raise AssertionError(f"Expected `attn_mask` shape to be {wanted} but got {attn_mask.shape}")
    return batched


def _widened(mask: torch.Tensor | None, count: int) -> torch.Tensor | None:
    """A mask with zeros for keys that were appended."""
    if mask is None:
        return None
    zeros = torch.zeros((*mask.shape[:-1], count), dtype=mask.dtype, device=mask.device)
    return torch.cat([mask, zeros], -1)


def _in_projection_packed(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, w: torch.Tensor, b: torch.Tensor | None = None
) -> list[torch.Tensor]:
    """Query, key and value from one weight; one product where they are the same tensor."""
    width = q.size(-1)
    if q is k and k is v:
        return list(linear(q, w, b).unflatten(-1, (3, -1)).unbind(-2))
    weights = w.split([width, width, width])
    biases = [None] * 3 if b is None else b.split([width, width, width])
    return [linear(x, own, bias) for x, own, bias in zip((q, k, v), weights, biases, strict=True)]


def _in_projection(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    w_q: torch.Tensor,
    w_k: torch.Tensor,
    w_v: torch.Tensor,
    b_q: torch.Tensor | None = None,
    b_k: torch.Tensor | None = None,
    b_v: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Query, key and value, each from its own weight."""
    width = q.size(-1)
    for name, weight, wanted in (
        ("query", w_q, (width, width)),
        ("key", w_k, (width, k.size(-1))),
        ("value", w_v, (width, v.size(-1))),
    ):
        if tuple(weight.shape) != wanted:
            raise AssertionError(f"expecting {name} weights shape of {wanted}, but got {weight.shape}")
    for name, bias in (("query", b_q), ("key", b_k), ("value", b_v)):
        if bias is not None and tuple(bias.shape) != (width,):
            raise AssertionError(f"expecting {name} bias shape of {(width,)}, but got {bias.shape}")
    return linear(q, w_q, b_q), linear(k, w_k, b_k), linear(v, w_v, b_v)


def _heads(x: torch.Tensor, count: int, head_width: int) -> torch.Tensor:
    """(length, batch, width) as (batch * heads, length, head width)."""
    return x.reshape(x.size(0), count, head_width).transpose(0, 1)


def _static_heads(static: torch.Tensor, name: str, count: int, head_width: int) -> torch.Tensor:
    if static.size(0) != count:
        raise AssertionError(f"expecting {name}.size(0) of {count}, but got {static.size(0)}")
    if static.size(2) != head_width:
        raise AssertionError(f"expecting {name}.size(2) of {head_width}, but got {static.size(2)}")
    return static


def multi_head_attention_forward(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: torch.Tensor | None,
    in_proj_bias: torch.Tensor | None,
    bias_k: torch.Tensor | None,
    bias_v: torch.Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: torch.Tensor,
    out_proj_bias: torch.Tensor | None,
    training: bool = True,
    key_padding_mask: torch.Tensor | None = None,
    need_weights: bool = True,
    attn_mask: torch.Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: torch.Tensor | None = None,
    k_proj_weight: torch.Tensor | None = None,
    v_proj_weight: torch.Tensor | None = None,
    static_k: torch.Tensor | None = None,
    static_v: torch.Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[torch.Tensor, torch.Tensor | None]:
    batched = _mha_shape_check(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not batched:
        same = query is key, key is value
        query = query.unsqueeze(1)
        key = query if same[0] else key.unsqueeze(1)
        value = key if same[1] else value.unsqueeze(1)
        if key_padding_mask is not None:
            key_padding_mask = key_padding_mask.unsqueeze(0)
    length, batch, width = query.shape
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
            "`generate_square_subsequent_mask` to create this mask."
        )
    padding = _canonical_mask(
        key_padding_mask, "key_padding_mask", _none_or_dtype(attn_mask), "attn_mask", query.dtype
    )
    if is_causal and padding is None and not need_weights:
        mask = None  # the kernel knows what is hidden
    else:
        mask = _canonical_mask(attn_mask, "attn_mask", None, "", query.dtype, check_other=False)
        is_causal = is_causal and padding is None
    if width != embed_dim_to_check:
        raise AssertionError(f"was expecting embedding dimension of {embed_dim_to_check}, but got {width}")
    head_width = width // num_heads
    if head_width * num_heads != width:
        raise AssertionError(f"embed_dim {width} not divisible by num_heads {num_heads}")
    if use_separate_proj_weight:
        if key.shape[:2] != value.shape[:2]:
            raise AssertionError(
                f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}"
            )
    elif key.shape != value.shape:
        raise AssertionError(f"key shape {key.shape} does not match value shape {value.shape}")

    if use_separate_proj_weight:
        weights = []
        for name, weight in (("q", q_proj_weight), ("k", k_proj_weight), ("v", v_proj_weight)):
            if weight is None:
                raise AssertionError(f"use_separate_proj_weight is True but {name}_proj_weight is None")
            weights.append(weight)
        biases = [None] * 3 if in_proj_bias is None else in_proj_bias.chunk(3)
        q, k, v = _in_projection(query, key, value, *weights, *biases)
    else:
        if in_proj_weight is None:
            raise AssertionError("use_separate_proj_weight is False but in_proj_weight is None")
        q, k, v = _in_projection_packed(query, key, value, in_proj_weight, in_proj_bias)

    if mask is not None and mask.dim() == 2:
        wanted = (length, key.shape[0])
        if tuple(mask.shape) != wanted:
            raise RuntimeError(f"The shape of the 2D attn_mask is {mask.shape}, but should be {wanted}.")
        mask = mask.unsqueeze(0)
    elif mask is not None:
        full = (batch * num_heads, length, key.shape[0])
        if tuple(mask.shape) != full:
            raise RuntimeError(f"The shape of the 3D attn_mask is {mask.shape}, but should be {full}.")

    if (bias_k is None) != (bias_v is None):
        raise AssertionError("bias_k and bias_v must both be given, or neither")
    if bias_k is not None and bias_v is not None:
        if static_k is not None or static_v is not None:
            raise AssertionError("bias cannot be added to static key or value.")
        k = torch.cat([k, bias_k.expand(1, batch, bias_k.size(-1))])
        v = torch.cat([v, bias_v.expand(1, batch, bias_v.size(-1))])
        mask, padding = _widened(mask, 1), _widened(padding, 1)

    count = batch * num_heads
    q = _heads(q, count, head_width)
    k = (
        _heads(k, count, head_width)
        if static_k is None
        else _static_heads(static_k, "static_k", count, head_width)
    )
    v = (
        _heads(v, count, head_width)
        if static_v is None
        else _static_heads(static_v, "static_v", count, head_width)
    )
    if add_zero_attn:
        zeros = torch.zeros((count, 1, head_width), dtype=k.dtype, device=k.device)
        k, v = torch.cat([k, zeros], 1), torch.cat([v, zeros], 1)
        mask, padding = _widened(mask, 1), _widened(padding, 1)
    source = k.size(1)

    if padding is not None:
        if tuple(padding.shape) != (batch, source):
            raise AssertionError(
                f"expecting key_padding_mask shape of {(batch, source)}, but got {padding.shape}"
            )
        padding = padding.view(batch, 1, 1, source).expand(batch, num_heads, 1, source)
        padding = padding.reshape(count, 1, source)
        mask = padding if mask is None else mask + padding
    if not training:
        dropout_p = 0.0

    weights_out: torch.Tensor | None = None
    if need_weights:
        scores = torch.bmm(q * math.sqrt(1.0 / head_width), k.transpose(1, 2))
        if mask is not None:
            scores = scores + mask
        probabilities = scores.softmax(-1)
        if dropout_p > 0.0:
            probabilities = dropout(probabilities, dropout_p)
        merged = torch.bmm(probabilities, v).transpose(0, 1).reshape(length * batch, width)
        weights_out = probabilities.view(batch, num_heads, length, source)
        if average_attn_weights:
            weights_out = weights_out.mean(1)
        if not batched:
            weights_out = weights_out.squeeze(0)
    else:
        if mask is not None:
            shared = mask.size(0) == 1 and mask.dim() == 3
            mask = mask.unsqueeze(0) if shared else mask.view(batch, num_heads, mask.size(-2), source)
        attended = scaled_dot_product_attention(
            q.view(batch, num_heads, length, head_width),
            k.view(batch, num_heads, source, head_width),
            v.view(batch, num_heads, source, head_width),
            mask,
            dropout_p,
            is_causal,
        )
        merged = attended.permute(2, 0, 1, 3).reshape(batch * length, width)
    out = linear(merged, out_proj_weight, out_proj_bias).view(length, batch, out_proj_weight.size(0))
    return (out if batched else out.squeeze(1)), weights_out
