"""What torchvision asks of its compiled part besides tensors."""

from __future__ import annotations


def cuda_version() -> int:
    """-1: compiled without CUDA."""
    return -1
