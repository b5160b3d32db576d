"""``torch.utils.cpp_extension``: PyTorch's C++ extensions do not load here; the errors say what to do instead."""

from __future__ import annotations

from .._absent import names_of

CUDA_HOME: str | None = None
ROCM_HOME: str | None = None

__getattr__ = names_of(__name__)
