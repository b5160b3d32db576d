"""``torch.utils.cpp_extension``: PyTorch's C++ extensions do not load here; the errors say what to do instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

_INSTEAD = (
    "C++ extensions are compiled against PyTorch's C++ library, which is not here. Register an operator from "
    "Python with custom_op (from torch import library), or exchange tensors with native code by DLPack or numpy."
)


def _refusing(name: str) -> Callable[..., NoReturn]:
    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(f"torch.utils.cpp_extension.{name}: {_INSTEAD}")

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = "Raises NotImplementedError that names the ways there are."
    return refuse


load = _refusing("load")
load_inline = _refusing("load_inline")
CppExtension = _refusing("CppExtension")
CUDAExtension = _refusing("CUDAExtension")
BuildExtension = _refusing("BuildExtension")
include_paths = _refusing("include_paths")
library_paths = _refusing("library_paths")

CUDA_HOME: str | None = None
ROCM_HOME: str | None = None
