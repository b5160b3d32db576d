"""Windows of images as columns, and pixels moved between channels and space."""

from __future__ import annotations

from collections.abc import Iterable

import mindtorch_v2 as torch

from ... import _functions
from ..._C import _nn

__all__ = ["channel_shuffle", "fold", "native_channel_shuffle", "pixel_shuffle", "pixel_unshuffle", "unfold"]

channel_shuffle = _functions.channel_shuffle
native_channel_shuffle = _functions.native_channel_shuffle
pixel_shuffle = _functions.pixel_shuffle
pixel_unshuffle = _functions.pixel_unshuffle

_Pair = int | tuple[int, ...]


def _pair(value: _Pair) -> tuple[int, ...]:
    return tuple(value) if isinstance(value, Iterable) else (value, value)


def unfold(
    input: torch.Tensor, kernel_size: _Pair, dilation: _Pair = 1, padding: _Pair = 0, stride: _Pair = 1
) -> torch.Tensor:
    """The patches under a sliding window as columns: (N, C, H, W) becomes (N, C * kernel, places)."""
    return _nn.im2col(input, _pair(kernel_size), _pair(dilation), _pair(padding), _pair(stride))


def fold(
    input: torch.Tensor,
    output_size: _Pair,
    kernel_size: _Pair,
    dilation: _Pair = 1,
    padding: _Pair = 0,
    stride: _Pair = 1,
) -> torch.Tensor:
    """Columns of patches summed up in the image they came from: what ``unfold`` takes apart."""
    return _nn.col2im(
        input, _pair(output_size), _pair(kernel_size), _pair(dilation), _pair(padding), _pair(stride)
    )
