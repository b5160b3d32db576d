"""What a program may allow: faster formats and shorter numbers. Nothing here uses them, so results never change."""

from __future__ import annotations


class _Config:
    """``torch.npu.config``: whether operators may keep tensors in formats of their own."""

    allow_internal_format: bool = False


class _Products:
    """``torch.npu.matmul`` and ``torch.npu.conv``: whether products of float32 may be computed in HF32."""

    allow_hf32: bool = False


config = _Config()
matmul = _Products()
conv = _Products()
