"""CUDA's settings. Where there is no GPU they can be written and read, and change nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from .. import _C
from .._absent import names_of
from .._C import Tensor
from .._settings import flags as _flags


class _Products:
    """What products of matrices may do for speed."""

    allow_tf32 = False
    allow_fp16_reduced_precision_reduction = True
    allow_bf16_reduced_precision_reduction = True
    fp32_precision = "none"

    def __setattr__(self, name: str, value: Any) -> None:
        if not hasattr(type(self), name):
            raise AttributeError(f"torch.backends.cuda.matmul has no setting {name!r}")
        super().__setattr__(name, value)
        _C._cuda.set_vendor_setting("tf32_products", self.allow_tf32 or self.fp32_precision == "tf32")
        _C._cuda.set_vendor_setting(
            "reduced_sums",
            bool(self.allow_fp16_reduced_precision_reduction and self.allow_bf16_reduced_precision_reduction),
        )


matmul = _Products()


def _precision_changed(precision: str) -> None:
    matmul.allow_tf32 = precision != "highest"


_flags.precision_listeners.append(_precision_changed)

_attention = {"flash": True, "mem_efficient": True, "math": True, "cudnn": True}


def is_built() -> bool:
    """Whether GPUs can be driven here."""
    return "cuda" in _C._accelerator_types()


def is_flash_attention_available() -> bool:
    """Whether CUDA's flash attention is compiled in: no."""
    return False


def flash_sdp_enabled() -> bool:
    """Whether scaled_dot_product_attention may use flash attention on CUDA."""
    return _attention["flash"]


def enable_flash_sdp(enabled: bool) -> None:
    """Sets :func:`flash_sdp_enabled`."""
    _attention["flash"] = bool(enabled)


def mem_efficient_sdp_enabled() -> bool:
    """Whether scaled_dot_product_attention may use the memory-efficient kernel on CUDA."""
    return _attention["mem_efficient"]


def enable_mem_efficient_sdp(enabled: bool) -> None:
    """Sets :func:`mem_efficient_sdp_enabled`."""
    _attention["mem_efficient"] = bool(enabled)


def math_sdp_enabled() -> bool:
    """Whether scaled_dot_product_attention may be composed of other operators on CUDA."""
    return _attention["math"]


def enable_math_sdp(enabled: bool) -> None:
    """Sets :func:`math_sdp_enabled`."""
    _attention["math"] = bool(enabled)


def cudnn_sdp_enabled() -> bool:
    """Whether scaled_dot_product_attention may use cuDNN on CUDA."""
    return _attention["cudnn"]


def enable_cudnn_sdp(enabled: bool) -> None:
    """Sets :func:`cudnn_sdp_enabled`."""
    _attention["cudnn"] = bool(enabled)


class SDPAParams(NamedTuple):
    """The arguments of an attention, to ask whether one of CUDA's kernels can compute it."""

    query: Tensor
    key: Tensor
    value: Tensor
    attn_mask: Tensor | None
    dropout: float
    is_causal: bool
    enable_gqa: bool


@contextmanager
def sdp_kernel(
    enable_flash: bool = True,
    enable_math: bool = True,
    enable_mem_efficient: bool = True,
    enable_cudnn: bool = True,
) -> Iterator[None]:
    """Sets the four choices inside a ``with`` block."""
    before = dict(_attention)
    wanted = {"flash": enable_flash, "mem_efficient": enable_mem_efficient}
    _attention.update(wanted, math=enable_math, cudnn=enable_cudnn)
    try:
        yield
    finally:
        _attention.update(before)


__getattr__ = names_of(__name__)
