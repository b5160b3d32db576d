"""Control of the software NPU: its size, faults, delays, and what it was asked to do. For tests and tools.

The same settings by environment, read once: ``SOFTNPU_DEVICES``, ``SOFTNPU_MEMORY``, ``SOFTNPU_SOC``,
``SOFTNPU_DELAY_US``, ``SOFTNPU_POISON``, ``SOFTNPU_TRACE``, ``SOFTNPU_FAIL``; ``include/softnpu_control.h``
explains them.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from .._backends.npu import acl_loader

__all__ = [
    "calls", "clear", "fail", "failures", "gate", "library_folder", "live_bytes", "live_events",
    "live_streams", "python_folder", "set_delay", "set_poison", "start_counting", "trace", "use",
]  # fmt: skip

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def library_folder() -> Path:
    """Where libascendcl.so, libnnopbase.so and libopapi.so are: for LD_LIBRARY_PATH of other ACL programs."""
    return acl_loader.software_folder()


def python_folder() -> Path:
    """Where a module ``acl`` with pyACL's functions is: for PYTHONPATH of programs that import it."""
    return Path(__file__).resolve().parent / "python"


@cache
def _library() -> Any:
    acl_loader.load_software_libraries()
    library = ctypes.CDLL(str(library_folder() / "libascendcl.so"))
    u64, text = ctypes.c_uint64, ctypes.c_char_p
    for name, result, *parameters in (
        ("softnpu_set_devices", ctypes.c_int, ctypes.c_uint32),
        ("softnpu_set_memory", ctypes.c_int, u64),
        ("softnpu_set_soc", None, text),
        ("softnpu_fail", None, text, u64, ctypes.c_int, ctypes.c_int64),
        ("softnpu_fail_clear", None),
        ("softnpu_failures", u64),
        ("softnpu_calls_reset", None),
        ("softnpu_calls", u64),
        ("softnpu_trace", ctypes.c_int, text),
        ("softnpu_set_delay", None, ctypes.c_uint32),
        ("softnpu_set_poison", None, ctypes.c_int),
        ("softnpu_gate", None, ctypes.c_void_p, ctypes.c_int),
        ("softnpu_live_bytes", u64, ctypes.c_int32),
        ("softnpu_live_streams", u64),
        ("softnpu_live_events", u64),
    ):
        function = getattr(library, name)
        function.restype, function.argtypes = result, parameters
    return library


def _bytes(size: int | str) -> int:
    if isinstance(size, int):
        return size
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?\s*", size, re.IGNORECASE)
    if match is None:
        raise ValueError(f"memory is {size!r}; wanted a number of bytes, or a text such as '64MiB' or '2GiB'")
    return int(float(match[1]) * _UNITS[match[2].upper()])


def use(
    devices: int | None = None,
    memory: int | str | None = None,
    soc: str | None = None,
    delay_us: int | None = None,
    poison: bool | None = None,
) -> None:
    """Makes the software NPU this process's NPU. Before the first use of a device.

    ``memory`` is for each device, in bytes or as a text such as ``"64MiB"``.
    """
    acl_loader.request_software()
    too_late = "a device of the software NPU is in use already; call use() before the first use of the device"
    library = _library()
    if devices is not None and not library.softnpu_set_devices(devices):
        raise RuntimeError(f"cannot set devices to {devices}: {too_late}")
    if memory is not None and not library.softnpu_set_memory(_bytes(memory)):
        raise RuntimeError(f"cannot set memory to {memory}: {too_late}")
    if soc is not None:
        library.softnpu_set_soc(soc.encode())
    if delay_us is not None:
        set_delay(delay_us)
    if poison is not None:
        set_poison(poison)


def fail(function: str, nth: int = 1, code: int = 507899, count: int = 1) -> None:
    """Makes the ``nth`` call of ``function`` from now return ``code``, and the ``count - 1`` after it.

    A ``count`` of -1 means always.

    ``"*"`` matches every call that can fail without being a defect of its own (see the control header);
    ``"task:aclnnAdd"`` fails the operator on the device, which the next synchronisation reports.
    """
    if nth < 1:
        raise ValueError(f"nth is {nth}; the next call is 1")
    _library().softnpu_fail(function.encode(), nth, code, count)


def clear() -> None:
    """Takes all rules of :func:`fail` away."""
    _library().softnpu_fail_clear()


def failures() -> int:
    """How many calls have been made to fail since the last :func:`clear`."""
    return int(_library().softnpu_failures())


def start_counting() -> None:
    """Starts :func:`calls` at 0."""
    _library().softnpu_calls_reset()


def calls() -> int:
    """How many calls ``fail("*")`` could have reached since :func:`start_counting`."""
    return int(_library().softnpu_calls())


@contextlib.contextmanager
def trace(path: str | os.PathLike[str]) -> Iterator[None]:
    """Writes every call as a line of JSON (function, arguments, thread, time) to ``path``."""
    if not _library().softnpu_trace(os.fsencode(path)):
        raise OSError(f"the trace file {os.fspath(path)!r} cannot be opened for writing")
    try:
        yield
    finally:
        _library().softnpu_trace(None)


def set_delay(microseconds: int) -> None:
    """How much longer every operator and copy takes."""
    _library().softnpu_set_delay(microseconds)


def set_poison(on: bool) -> None:
    """Fills fresh and freed device memory with values that show up as NaN."""
    _library().softnpu_set_poison(int(on))


@contextlib.contextmanager
def gate(stream: int | None = None) -> Iterator[None]:
    """Holds back the work of a stream (None: of every stream) inside the block. 1024 tasks can wait."""
    library = _library()
    library.softnpu_gate(stream, 1)
    try:
        yield
    finally:
        library.softnpu_gate(stream, 0)


def live_bytes(device: int = 0) -> int:
    """Bytes of device memory that are allocated."""
    return int(_library().softnpu_live_bytes(device))


def live_streams() -> int:
    return int(_library().softnpu_live_streams())


def live_events() -> int:
    return int(_library().softnpu_live_events())
