"""What layers of networks call: normalizations, embeddings, attention, losses."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch

from .nested_tensor import (
    NestedTensor,
    components,
    dense_values,
    lengths_of,
    lengths_on_host,
    owners,
    values_of,
    without_holes,
    wrap,
)
from .pointwise import laid_out
from .rules import rule


@rule("layer_norm", "rms_norm", "native_layer_norm")
def normalize(func: Any, input: NestedTensor, normalized_shape: Any, *args: Any, **kwargs: Any) -> Any:
    name = func.__name__.partition(".")[0]
    shape = [normalized_shape] if isinstance(normalized_shape, int) else list(normalized_shape)
    first = input.dim() - len(shape)
    if first <= 0:
        raise RuntimeError(
            f"{name}(): normalized_shape {shape} takes in the batch of a nested tensor of shape {tuple(input.shape)}"
        )
    if first > input._ragged_idx:
        return wrap(func(values_of(input), shape, *args, **kwargs), input)
    if name == "layer_norm" and first == 1 and shape == list(input.shape[1:]):
        given = dict(zip(("weight", "bias", "eps"), args, strict=False)) | kwargs
        return _over_sequences(input, **given)
    raise RuntimeError(
        f"{name}(): normalized_shape {shape} must be of dimensions behind the ragged one, got {tuple(input.shape)}"
    )


def _over_sequences(
    input: NestedTensor, weight: Any = None, bias: Any = None, eps: float = 1e-5, **_: Any
) -> NestedTensor:
    """Each sequence is normalized over all of its elements."""
    input = without_holes(input)
    rows = values_of(input).movedim(input._ragged_idx - 1, 0)
    flat = rows.flatten(1) if rows.dim() > 1 else rows.unsqueeze(1)
    batch, count = input._offsets.shape[0] - 1, flat.shape[1]
    counts = (lengths_of(input) * count).to(flat.dtype)

    def mean(x: torch.Tensor) -> torch.Tensor:
        each = flat.new_zeros(batch).index_add(0, owners(input), x.sum(1)) / counts
        return each.index_select(0, owners(input)).unsqueeze(1)

    centred = flat - mean(flat)
    made = centred * (mean(centred * centred) + eps).rsqrt()
    made = made.view_as(rows).movedim(0, input._ragged_idx - 1)
    made = made if weight is None else made * weight
    return wrap(made if bias is None else made + bias, input)


@rule("embedding")
def embedding(func: Any, input: Any, weight: torch.Tensor, *args: Any, **kwargs: Any) -> NestedTensor:
    if not isinstance(input, NestedTensor):
        if isinstance(input, torch.Tensor) and isinstance(weight, torch.Tensor) and not weight.is_nested:
            return func(input, weight, *args, **kwargs)  # type: ignore[no-any-return]
        if not isinstance(weight, NestedTensor):
            raise TypeError(
                f"embedding(): wanted tensors, got {type(input).__name__} and {type(weight).__name__}"
            )
        input, weight = weight, input  # the operator has the weight first
        return wrap(func(weight, values_of(input), *args, **kwargs), input)
    return wrap(func(values_of(input), weight, *args, **kwargs), input)


@rule("embedding_bag")
def embedding_bag(
    func: Any, input: Any, weight: Any, offsets: Any = None, *args: Any, **kwargs: Any
) -> torch.Tensor:
    if not isinstance(input, NestedTensor):
        raise RuntimeError("embedding_bag(): the indices may be nested, the weight is dense")
    if offsets is not None or input.dim() != 2:
        raise RuntimeError(
            f"embedding_bag(): a nested tensor of two dimensions has bags of its own, got shape {tuple(input.shape)}"
            + (" and offsets" if offsets is not None else "")
        )
    whole = without_holes(input)
    if (weights := kwargs.get("per_sample_weights")) is not None and weights.is_nested:
        kwargs["per_sample_weights"] = dense_values(weights)
    return func(values_of(whole), weight, whole._offsets[:-1], *args, **kwargs)  # type: ignore[no-any-return]


@rule("one_hot")
def one_hot(func: Any, tensor: NestedTensor, num_classes: int = -1) -> NestedTensor:
    return wrap(func(values_of(tensor), num_classes), tensor)


# ---- attention -----------------------------------------------------------------------------------------


def _check_attention(query: Any, key: Any, value: Any) -> None:
    if not all(isinstance(t, NestedTensor) for t in (query, key, value)):
        raise ValueError(
            "scaled_dot_product_attention(): Expected query, key, and value to be nested or dense tensors alike, got "
            + ", ".join("nested" if t.is_nested else "dense" for t in (query, key, value))
        )
    if not query.dtype == key.dtype == value.dtype:
        raise ValueError(
            "Expected query, key, and value to have the same dtype, "
            f"but got query.dtype: {query.dtype}, key.dtype: {key.dtype}, and value.dtype: {value.dtype} instead."
        )
    if query.device != key.device or query.device != value.device:
        raise ValueError(
            "Expected query, key, and value to have the same device type, "
            f"but got query.device: {query.device}, key.device: {key.device}, and value.device: {value.device} instead."
        )
    if min(t.dim() for t in (query, key, value)) < 3:
        raise ValueError(
            "Expected query, key, and value to all be  at least 3 dimensional, but got query.dim: "
            f"{query.dim()}, key.dim: {key.dim()} and value.dim: {value.dim()} instead."
        )
    if any(t._ragged_idx != t.dim() - 2 for t in (query, key, value)):
        raise ValueError(
            "Expected query, key, and value to all be ragged on the same dimension, the last but one, but got "
            f"shapes {', '.join(str(tuple(t.shape)) for t in (query, key, value))}; transpose(1, 2) puts heads in "
            "front of steps"
        )
    if lengths_on_host(key) != lengths_on_host(value):
        raise ValueError(
            f"Expected key and value of the same lengths, got shapes {key.shape} and {value.shape}"
        )


@rule("scaled_dot_product_attention")
def attention(
    func: Any,
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> NestedTensor:
    """Each sequence attends to its own: one call if all have the same length, else one for each."""
    _check_attention(query, key, value)
    if attn_mask is not None:
        raise ValueError(
            "Masks are not yet supported! attn_mask must be None for nested tensors; is_causal may be set"
        )
    options = {"dropout_p": dropout_p, "is_causal": is_causal, "scale": scale, "enable_gqa": enable_gqa}
    query, key, value = map(without_holes, (query, key, value))
    place, batch = query._ragged_idx - 1, query._offsets.shape[0] - 1
    if len({*lengths_on_host(query)}) == 1 and len({*lengths_on_host(key)}) == 1:

        def together(nested: NestedTensor) -> torch.Tensor:
            return values_of(nested).unflatten(place, (batch, -1)).movedim(place, 0)

        made = func(together(query), together(key), together(value), **options)
        return wrap(made.movedim(0, place).flatten(place, place + 1), query)
    parts = zip(components(query), components(key), components(value), strict=True)
    each = [
        func(q.unsqueeze(0), k.unsqueeze(0), v.unsqueeze(0), **options).squeeze(0) if q.shape[-2] else q
        for q, k, v in parts
    ]
    return wrap(torch.cat(each, dim=place), query)


# ---- losses --------------------------------------------------------------------------------------------


@rule("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy", "binary_cross_entropy_with_logits",
      "kl_div", "soft_margin_loss")  # fmt: skip
def loss(func: Any, input: Any, target: Any, *args: Any, **kwargs: Any) -> Any:
    """Of elements: without reduction it is nested too."""
    if not isinstance(input, NestedTensor):
        raise RuntimeError(f"{func.__name__}(): the target is nested and the input is not; make both nested")
    target = laid_out(func.__name__, target, input)
    kwargs = {k: laid_out(func.__name__, v, input) for k, v in kwargs.items()}
    if input._lengths is not None:
        raise RuntimeError(f"{func.__name__}(): the nested tensor has holes; use contiguous() first")
    made = func(values_of(input), target, *args, **kwargs)
    return wrap(made, input) if made.dim() == input._values.dim() and made.dim() else made


@rule("pad", "constant_pad_nd")
def pad(func: Any, input: NestedTensor, pad: Any, *args: Any, **kwargs: Any) -> NestedTensor:
    if len(pad) // 2 >= input.dim() - input._ragged_idx:
        raise RuntimeError(
            "pad(): only dimensions behind the ragged one may be padded; to_padded_tensor() pads that"
        )
    return wrap(func(values_of(input), pad, *args, **kwargs), input)
