"""Dropout: of elements, of whole channels, and the kind that suits SELU."""

from __future__ import annotations

import warnings

import mindtorch_v2 as torch

__all__ = ["alpha_dropout", "dropout", "dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout"]

_DEPRECATED = (
    "{name}: Received a {dim}-D input to {name}, which is deprecated and will result in an error in a future "
    "release. To retain the behavior and silence this warning, please use dropout instead. Note that {name} "
    "exists to provide channel-wise dropout on inputs with {spatial} spatial dimensions, a channel "
    "dimension, and an optional batch dimension (i.e. {dims} inputs)."
)


def _check(p: float) -> None:
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def dropout(
    input: torch.Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> torch.Tensor:
    _check(p)
    return torch.dropout_(input, p, training) if inplace else torch.dropout(input, p, training)


def alpha_dropout(
    input: torch.Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> torch.Tensor:
    _check(p)
    return torch.alpha_dropout_(input, p, training) if inplace else torch.alpha_dropout(input, p, training)


def _channels(input: torch.Tensor, p: float, training: bool, inplace: bool, unbatched: bool) -> torch.Tensor:
    """Drops whole channels; `unbatched` input has no dimension for the batch."""
    batched = input.unsqueeze(0) if unbatched else input
    if inplace:
        torch.feature_dropout_(batched, p, training)
        return input
    result = torch.feature_dropout(batched, p, training)
    return result.squeeze(0) if unbatched else result


def dropout1d(
    input: torch.Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> torch.Tensor:
    _check(p)
    if input.dim() not in (2, 3):
        raise RuntimeError(
            f"dropout1d: Expected 2D or 3D input, but received a {input.dim()}D input. "
            "Note that dropout1d exists to provide channel-wise dropout on inputs with 1 "
            "spatial dimension, a channel dimension, and an optional batch dimension (i.e. 2D or 3D inputs)."
        )
    return _channels(input, p, training, inplace, unbatched=input.dim() == 2)


def dropout2d(
    input: torch.Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> torch.Tensor:
    _check(p)
    if input.dim() not in (3, 4):
        warnings.warn(
            _DEPRECATED.format(name="dropout2d", dim=input.dim(), spatial=2, dims="3D or 4D"), stacklevel=2
        )
    if input.dim() == 3:
        warnings.warn(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior "
            "is desired - input is interpreted as shape (N, C, L), where C is the channel dim. This behavior "
            "will change in a future release to interpret the input as one without a batch dimension, i.e. "
            "shape (C, H, W). To maintain the 1D channel-wise dropout behavior, please switch to using "
            "dropout1d instead.",
            stacklevel=2,
        )
    return _channels(input, p, training, inplace, unbatched=False)


def dropout3d(
    input: torch.Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> torch.Tensor:
    _check(p)
    if input.dim() not in (4, 5):
        warnings.warn(
            _DEPRECATED.format(name="dropout3d", dim=input.dim(), spatial=3, dims="4D or 5D"), stacklevel=2
        )
    return _channels(input, p, training, inplace, unbatched=input.dim() == 4)


def feature_alpha_dropout(
    input: torch.Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> torch.Tensor:
    _check(p)
    drop = torch.feature_alpha_dropout_ if inplace else torch.feature_alpha_dropout
    return drop(input, p, training)
