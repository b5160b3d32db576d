"""The control functions of the software NPU's libascendcl.so, called through ctypes."""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path
from typing import Any

from .._backends.npu import acl_loader

LaunchNote = ctypes.CFUNCTYPE(ctypes.c_void_p)

_U64 = ctypes.c_uint64
_FUNCTIONS: tuple[tuple[Any, ...], ...] = (  # name, result, parameters...
    ("softnpu_set_devices", ctypes.c_int, ctypes.c_uint32),
    ("softnpu_set_memory", ctypes.c_int, _U64),
    ("softnpu_set_soc", ctypes.c_int, ctypes.c_char_p),
    ("softnpu_socs", ctypes.c_char_p),
    ("softnpu_fail", None, ctypes.c_char_p, _U64, ctypes.c_int, ctypes.c_int64),
    ("softnpu_fail_clear", None),
    ("softnpu_failures", _U64),
    ("softnpu_calls_reset", None),
    ("softnpu_calls", _U64),
    ("softnpu_trace", ctypes.c_int, ctypes.c_char_p),
    ("softnpu_set_delay", None, ctypes.c_uint32),
    ("softnpu_set_poison", None, ctypes.c_int),
    ("softnpu_gate", None, ctypes.c_void_p, ctypes.c_int),
    ("softnpu_sanitize", ctypes.c_int, ctypes.c_char_p),
    ("softnpu_sanitizing", ctypes.c_int),
    ("softnpu_sanitizer_reports", _U64),
    ("softnpu_sanitize_log", ctypes.c_int, ctypes.c_char_p),
    ("softnpu_set_launch_note", None, LaunchNote),
    ("softnpu_mark_used", None, ctypes.c_void_p, _U64),
    ("softnpu_mark_free", None, ctypes.c_void_p, _U64),
    ("softnpu_schedule", None, _U64, ctypes.c_int),
    ("softnpu_live_bytes", _U64, ctypes.c_int32),
    ("softnpu_live_streams", _U64),
    ("softnpu_live_events", _U64),
)


def python_folder() -> Path:
    """Where a module ``acl`` with pyACL's functions is: for PYTHONPATH of programs that import it."""
    return Path(__file__).resolve().parent / "python"


def lib_folder() -> Path:
    """Where libascendcl.so and the other libraries are: for LD_LIBRARY_PATH of other ACL programs."""
    return acl_loader.software_folder()


@cache
def library() -> Any:
    """The loaded library. Raises if the software NPU was not asked for."""
    acl_loader.load_software_libraries()
    loaded = ctypes.CDLL(str(lib_folder() / "libascendcl.so"))
    for name, result, *parameters in _FUNCTIONS:
        function = getattr(loaded, name)
        function.restype, function.argtypes = result, parameters
    return loaded
