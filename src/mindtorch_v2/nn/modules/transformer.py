"""The Transformer: layers of attention and feed-forward networks, and stacks of them."""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Callable
from typing import Any, ClassVar

import mindtorch_v2 as torch
from mindtorch_v2 import Tensor

from .. import functional as F
from .. import init
from .activation import MultiheadAttention
from .container import ModuleList
from .dropout import Dropout
from .linear import Linear
from .module import Module
from .normalization import LayerNorm

__all__ = [
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
]

Activation = str | Callable[[Tensor], Tensor]
Mask = Tensor | None


def _generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
    """Minus infinity above the diagonal: no place sees those after it."""
    return torch.full((sz, sz), -math.inf, dtype=dtype, device=device).triu(1)


def _detect_is_causal_mask(mask: Mask, is_causal: bool | None = None, size: int | None = None) -> bool:
    """What ``is_causal`` says, or whether ``mask`` is the causal mask if it says nothing."""
    if is_causal is not None or mask is None:
        return is_causal is True
    length = mask.size(-2) if size is None else size
    causal = _generate_square_subsequent_mask(
        length, mask.device, mask.dtype if mask.is_floating_point() else None
    )
    return mask.shape == causal.shape and bool((mask == causal).all())


def _get_activation_fn(activation: str) -> Callable[[Tensor], Tensor]:
    if activation == "relu":
        return F.relu
    if activation == "gelu":
        return F.gelu
    raise RuntimeError(f"activation should be relu/gelu, not {activation}")


def _is(function: Any, other: Any) -> bool:
    """Whether two functions are one, with or without the part that asks for overrides."""
    return getattr(function, "__wrapped__", function) is getattr(other, "__wrapped__", other)


def _get_clones(module: Module, N: int) -> ModuleList:
    return ModuleList([copy.deepcopy(module) for _ in range(N)])


def _length(sequence: Tensor, batch_first: bool) -> int:
    return sequence.size(1 if batch_first and sequence.dim() == 3 else 0)


class _Layer(Module):
    """What encoder and decoder layers share: attentions, a feed-forward part, a norm and a dropout for each."""

    _attentions: ClassVar[tuple[str, ...]]
    self_attn: MultiheadAttention
    norm1: LayerNorm
    norm2: LayerNorm
    dropout1: Dropout
    dropout2: Dropout

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        options: dict[str, Any] = {"bias": bias, "device": device, "dtype": dtype}
        super().__init__()
        for name in self._attentions:
            attention = MultiheadAttention(d_model, nhead, dropout, batch_first=batch_first, **options)
            setattr(self, name, attention)
        self.linear1 = Linear(d_model, dim_feedforward, **options)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, **options)
        self.norm_first = norm_first
        parts = range(1, len(self._attentions) + 2)
        for part in parts:
            setattr(self, f"norm{part}", LayerNorm(d_model, layer_norm_eps, **options))
        for part in parts:
            setattr(self, f"dropout{part}", Dropout(dropout))
        if _is(activation, F.relu):
            activation = "relu"  # F's own may ask for overrides by now
        self.activation = _get_activation_fn(activation) if isinstance(activation, str) else activation
        # 1 and 2 name relu and gelu; 0 is any other.
        self.activation_relu_or_gelu = (
            1 if _is(self.activation, F.relu) else 2 if _is(self.activation, F.gelu) else 0
        )

    def _sa_block(
        self, x: Tensor, attn_mask: Mask, key_padding_mask: Mask, is_causal: bool = False
    ) -> Tensor:
        attended = self.self_attn(
            x,
            x,
            x,
            attn_mask=attn_mask,
            key_padding_mask=key_padding_mask,
            is_causal=is_causal,
            need_weights=False,
        )
        return self.dropout1(attended[0])  # type: ignore[no-any-return]

    def _feed_forward(self, x: Tensor) -> Tensor:
        return self.linear2(self.dropout(self.activation(self.linear1(x))))  # type: ignore[no-any-return]

    def _add(self, x: Tensor, norm: Module, block: Callable[[Tensor], Tensor]) -> Tensor:
        """The residual connection, with the norm before the block or after the sum."""
        if self.norm_first:
            return x + block(norm(x))
        return norm(x + block(x))  # type: ignore[no-any-return]


class TransformerEncoderLayer(_Layer):
    """Self-attention, then a feed-forward network."""

    _attentions = ("self_attn",)

    def forward(
        self,
        src: Tensor,
        src_mask: Mask = None,
        src_key_padding_mask: Mask = None,
        is_causal: bool = False,
    ) -> Tensor:
        x = self._add(src, self.norm1, lambda y: self._sa_block(y, src_mask, src_key_padding_mask, is_causal))
        return self._add(x, self.norm2, self._ff_block)

    def _ff_block(self, x: Tensor) -> Tensor:
        return self.dropout2(self._feed_forward(x))  # type: ignore[no-any-return]


class TransformerDecoderLayer(_Layer):
    """Self-attention, attention to the encoder's output, then a feed-forward network."""

    _attentions = ("self_attn", "multihead_attn")
    multihead_attn: MultiheadAttention
    norm3: LayerNorm
    dropout3: Dropout

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Mask = None,
        memory_mask: Mask = None,
        tgt_key_padding_mask: Mask = None,
        memory_key_padding_mask: Mask = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        x = self._add(
            tgt, self.norm1, lambda y: self._sa_block(y, tgt_mask, tgt_key_padding_mask, tgt_is_causal)
        )
        x = self._add(
            x,
            self.norm2,
            lambda y: self._mha_block(y, memory, memory_mask, memory_key_padding_mask, memory_is_causal),
        )
        return self._add(x, self.norm3, self._ff_block)

    def _mha_block(
        self, x: Tensor, mem: Tensor, attn_mask: Mask, key_padding_mask: Mask, is_causal: bool = False
    ) -> Tensor:
        attended = self.multihead_attn(
            x,
            mem,
            mem,
            attn_mask=attn_mask,
            key_padding_mask=key_padding_mask,
            is_causal=is_causal,
            need_weights=False,
        )
        return self.dropout2(attended[0])  # type: ignore[no-any-return]

    def _ff_block(self, x: Tensor) -> Tensor:
        return self.dropout3(self._feed_forward(x))  # type: ignore[no-any-return]


def _why_not_nested(layer: Any) -> str:
    """Why PyTorch would not use nested tensors for such layers; empty if it would."""
    if not isinstance(layer, TransformerEncoderLayer):
        return "encoder_layer was not TransformerEncoderLayer"
    if layer.norm_first:
        return "encoder_layer.norm_first was True"
    attention = layer.self_attn
    if not attention.batch_first:
        return "encoder_layer.self_attn.batch_first was not True(use batch_first for better inference performance)"
    if not attention._qkv_same_embed_dim:
        return "encoder_layer.self_attn._qkv_same_embed_dim was not True"
    if attention.in_proj_bias is None:
        return "encoder_layer.self_attn was passed bias=False"
    if not layer.activation_relu_or_gelu:
        return "encoder_layer.activation_relu_or_gelu was not True"
    if layer.norm1.eps != layer.norm2.eps:
        return "encoder_layer.norm1.eps was not equal to encoder_layer.norm2.eps"
    if attention.num_heads % 2 == 1:
        return "encoder_layer.self_attn.num_heads is odd"
    return ""


class TransformerEncoder(Module):
    """A stack of encoder layers."""

    def __init__(
        self,
        encoder_layer: Module,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        self.layers = _get_clones(encoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm
        self.enable_nested_tensor = enable_nested_tensor
        self.mask_check = mask_check
        why_not = _why_not_nested(encoder_layer)
        if enable_nested_tensor and why_not:
            warnings.warn(
                f"enable_nested_tensor is True, but self.use_nested_tensor is False because {why_not}",
                stacklevel=2,
            )
        self.use_nested_tensor = enable_nested_tensor and not why_not

    def _padding_becomes_zero(self, src: Tensor, mask: Mask, padding: Tensor) -> bool:
        """Whether PyTorch would take the padding out of the batch for the run, and put zeros in its place."""
        first: Any = self.layers[0]
        if not self.use_nested_tensor or first.training or src.dim() != 3 or mask is not None:
            return False
        if torch.is_grad_enabled() and (
            src.requires_grad or any(weight.requires_grad for weight in first.parameters())
        ):
            return False
        if not self.mask_check:
            return True
        hidden = padding != 0
        return not bool((hidden[:, :-1] & ~hidden[:, 1:]).any())  # all padding stands at the end

    def forward(
        self,
        src: Tensor,
        mask: Mask = None,
        src_key_padding_mask: Mask = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        first: Any = self.layers[0]
        batch_first = getattr(getattr(first, "self_attn", None), "batch_first", False)
        causal = _detect_is_causal_mask(mask, is_causal, _length(src, batch_first))
        output = src
        for layer in self.layers:
            output = layer(output, src_mask=mask, is_causal=causal, src_key_padding_mask=src_key_padding_mask)
        if src_key_padding_mask is not None and self._padding_becomes_zero(src, mask, src_key_padding_mask):
            output = output.masked_fill((src_key_padding_mask != 0).unsqueeze(-1), 0.0)
        return output if self.norm is None else self.norm(output)


class TransformerDecoder(Module):
    """A stack of decoder layers."""

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = _get_clones(decoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Mask = None,
        memory_mask: Mask = None,
        tgt_key_padding_mask: Mask = None,
        memory_key_padding_mask: Mask = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        first: Any = self.layers[0]
        batch_first = getattr(getattr(first, "self_attn", None), "batch_first", False)
        causal = _detect_is_causal_mask(tgt_mask, tgt_is_causal, _length(tgt, batch_first))
        output = tgt
        for layer in self.layers:
            output = layer(
                output,
                memory,
                tgt_mask=tgt_mask,
                memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask,
                tgt_is_causal=causal,
                memory_is_causal=memory_is_causal,
            )
        return output if self.norm is None else self.norm(output)


class Transformer(Module):
    """An encoder and a decoder."""

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        custom_encoder: Any = None,
        custom_decoder: Any = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        options: dict[str, Any] = {"device": device, "dtype": dtype}

        def layer(kind: Any) -> Module:
            return kind(  # type: ignore[no-any-return]
                d_model,
                nhead,
                dim_feedforward,
                dropout,
                activation,
                layer_norm_eps,
                batch_first,
                norm_first,
                bias,
                **options,
            )

        def norm() -> Module:
            return LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **options)

        if custom_encoder is not None:
            self.encoder = custom_encoder
        else:
            self.encoder = TransformerEncoder(layer(TransformerEncoderLayer), num_encoder_layers, norm())
        if custom_decoder is not None:
            self.decoder = custom_decoder
        else:
            self.decoder = TransformerDecoder(layer(TransformerDecoderLayer), num_decoder_layers, norm())
        self._reset_parameters()
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Mask = None,
        tgt_mask: Mask = None,
        memory_mask: Mask = None,
        src_key_padding_mask: Mask = None,
        tgt_key_padding_mask: Mask = None,
        memory_key_padding_mask: Mask = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        batch = 0 if self.batch_first else 1
        if src.dim() == 3 and src.size(batch) != tgt.size(batch):
            raise RuntimeError("the batch number of src and tgt must be equal")
        if src.size(-1) != self.d_model or tgt.size(-1) != self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(
            src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal
        )
        return self.decoder(  # type: ignore[no-any-return]
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
        """Minus infinity above the diagonal: no place sees those after it."""
        return _generate_square_subsequent_mask(sz, device, dtype)

    def _reset_parameters(self) -> None:
        for parameter in self.parameters():
            if parameter.dim() > 1:
                init.xavier_uniform_(parameter)
