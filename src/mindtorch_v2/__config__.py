"""What the package was built with, for bug reports."""

from __future__ import annotations

from . import _C
from ._settings.flags import get_num_interop_threads
from ._version import __version__


def show() -> str:
    """A text for people."""
    return f"MindTorch v2 {__version__} built with:\n  - C++20\n  - BLAS_INFO=open, LAPACK_INFO=open\n"


def _cxx_flags() -> str:
    """The compiler's options that matter for what is computed."""
    return "-std=c++20 -fno-math-errno -fno-trapping-math"


def parallel_info() -> str:
    """How many threads operators use."""
    return (
        "ATen/Parallel:\n"
        f"\tat::get_num_threads() : {_C.get_num_threads()}\n"
        f"\tat::get_num_interop_threads() : {get_num_interop_threads()}\n"
    )
