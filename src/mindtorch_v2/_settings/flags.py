"""Process-wide settings that programs write, and questions they ask about the build."""

from __future__ import annotations

import warnings

_deterministic = {"mode": False, "warn_only": False}
_precision = "highest"
_warn_always = False
_interop_threads = 1


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Asks for results that do not change from run to run, which these kernels give anyway."""
    _deterministic.update(mode=bool(mode), warn_only=bool(warn_only))


def are_deterministic_algorithms_enabled() -> bool:
    """Whether :func:`use_deterministic_algorithms` is on."""
    return _deterministic["mode"]


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether :func:`use_deterministic_algorithms` was told to warn instead of raise."""
    return _deterministic["warn_only"]


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """Sets both: 0 "default", 1 "warn" or 2 "error"."""
    names = {"default": 0, "warn": 1, "error": 2}
    if not isinstance(debug_mode, (int, str)):
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode)}")
    if isinstance(debug_mode, str):
        if debug_mode not in names:
            raise RuntimeError(
                "invalid value of debug_mode, expected one of `default`, `warn`, `error`, but got "
                + debug_mode
            )
        debug_mode = names[debug_mode]
    if debug_mode not in (0, 1, 2):
        raise RuntimeError(f"invalid value of debug_mode, expected 0, 1, or 2, but got {debug_mode}")
    use_deterministic_algorithms(debug_mode > 0, warn_only=debug_mode == 1)


def get_deterministic_debug_mode() -> int:
    """0, 1 or 2 as in :func:`set_deterministic_debug_mode`."""
    if not _deterministic["mode"]:
        return 0
    return 1 if _deterministic["warn_only"] else 2


def set_float32_matmul_precision(precision: str) -> None:
    """How exact float32 products must be: "highest", "high" or "medium". They are always exact here."""
    global _precision
    if precision not in ("highest", "high", "medium"):
        warnings.warn(
            f"{precision} is not one of 'highest', 'high', or 'medium'; the current setFloat32MatmulPrecision call has "
            "no effect.",
            stacklevel=2,
        )
        return
    _precision = precision


def get_float32_matmul_precision() -> str:
    """What :func:`set_float32_matmul_precision` was told."""
    return _precision


def set_warn_always(b: bool) -> None:
    """Whether a warning is shown every time instead of once; ours follow Python's own filters."""
    global _warn_always
    _warn_always = bool(b)


def is_warn_always_enabled() -> bool:
    """What :func:`set_warn_always` was told."""
    return _warn_always


def set_flush_denormal(mode: bool) -> bool:
    """Whether tiny numbers are taken for zero. False: that cannot be set here."""
    return False


def set_num_interop_threads(threads: int) -> None:
    """How many operators may run at once on the CPU: they run one after another, so only 1 changes nothing."""
    global _interop_threads
    if threads < 1:
        raise RuntimeError("expected a positive number of threads")
    _interop_threads = int(threads)


def get_num_interop_threads() -> int:
    """What :func:`set_num_interop_threads` was told, otherwise 1."""
    return _interop_threads


def compiled_with_cxx11_abi() -> bool:
    """True: the library is built with the C++11 ABI."""
    return True
