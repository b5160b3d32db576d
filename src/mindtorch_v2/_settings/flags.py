"""Process-wide settings that programs write, and questions they ask about the build."""

from __future__ import annotations

import warnings
from collections.abc import Callable

from .. import _C

_precision = "highest"
precision_listeners: list[Callable[[str], None]] = []  # of devices that have faster products
_interop_threads = 1


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Asks for results that do not change from run to run.

    These kernels give them anyway. The few operators whose result depends on the order of writes refuse (``warn_only``:
    warn), and new memory is filled: see ``torch.utils.deterministic``.
    """
    for name, value in (("'mode' (position 1)", mode), ("'warn_only'", warn_only)):
        if not isinstance(value, bool):
            raise TypeError(
                f"_set_deterministic_algorithms(): argument {name} must be bool, not {type(value).__name__}"
            )
    _C._set_deterministic_algorithms(mode, warn_only)


def are_deterministic_algorithms_enabled() -> bool:
    """Whether :func:`use_deterministic_algorithms` is on."""
    return _C._get_deterministic_algorithms()


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether :func:`use_deterministic_algorithms` was told to warn instead of raise."""
    return _C._get_deterministic_algorithms_warn_only()


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
    if not are_deterministic_algorithms_enabled():
        return 0
    return 1 if is_deterministic_algorithms_warn_only_enabled() else 2


def set_float32_matmul_precision(precision: str) -> None:
    """How exact float32 products must be: "highest", or faster ("high", "medium") on chips that have
    shorter floats for it."""
    global _precision
    if precision not in ("highest", "high", "medium"):
        warnings.warn(
            f"{precision} is not one of 'highest', 'high', or 'medium'; the current setFloat32MatmulPrecision call has "
            "no effect.",
            stacklevel=2,
        )
        return
    _precision = precision
    for tell in precision_listeners:
        tell(precision)


def get_float32_matmul_precision() -> str:
    """What :func:`set_float32_matmul_precision` was told."""
    return _precision


def set_warn_always(b: bool) -> None:
    """Whether warnings that are given once in a process are given every time."""
    if not isinstance(b, bool):
        raise TypeError(f"set_warn_always(): argument 'b' must be bool, not {type(b).__name__}")
    _C._set_warn_always(b)


def is_warn_always_enabled() -> bool:
    """What :func:`set_warn_always` was told."""
    return _C._is_warn_always()


def set_flush_denormal(mode: bool) -> bool:
    """Whether tiny numbers are taken for zero. False: that cannot be set here."""
    return False


def set_num_interop_threads(threads: int) -> None:
    """How many operators may run at once on the CPU: they run one after another, so only 1 changes nothing."""
    global _interop_threads
    if not 1 <= threads < 2**31:
        raise RuntimeError("expected a positive number of threads")
    _interop_threads = int(threads)


def get_num_interop_threads() -> int:
    """What :func:`set_num_interop_threads` was told, otherwise 1."""
    return _interop_threads


def compiled_with_cxx11_abi() -> bool:
    """True: the library is built with the C++11 ABI."""
    return True
