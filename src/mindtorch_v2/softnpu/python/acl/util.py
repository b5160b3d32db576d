"""Between Python's objects and addresses, and threads for callbacks."""

from __future__ import annotations

import ctypes
import errno
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

_threads: dict[int, _Thread] = {}
_CODES = np.typecodes["AllInteger"] + np.typecodes["AllFloat"] + "?"
_DTYPES: dict[int, np.dtype[Any]] = {np.dtype(code).num: np.dtype(code) for code in _CODES}


class _Thread(threading.Thread):
    """Keeps what its function raised for the one who stops it."""

    def __init__(self, function: Callable[[Any], Any], arguments: Any) -> None:
        super().__init__(daemon=True)
        self.function, self.arguments = function, arguments
        self.error: Exception | None = None

    def run(self) -> None:
        try:
            self.function(self.arguments)
        except Exception as error:  # noqa: BLE001  (stop_thread raises it)
            self.error = error


def bytes_to_ptr(data: bytes) -> int:
    """The address of the bytes, which the caller keeps alive."""
    return ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p).value or 0


def ptr_to_bytes(ptr: int, size: int) -> bytes:
    """A copy of ``size`` bytes of host memory."""
    return ctypes.string_at(ptr, size)


def numpy_to_ptr(array: np.ndarray[Any, Any]) -> int:
    """The address of the array's data, which the caller keeps alive."""
    _require_array(array)
    return array.ctypes.data


def numpy_contiguous_to_ptr(array: np.ndarray[Any, Any]) -> tuple[int, np.ndarray[Any, Any]]:
    """The address of the data in row-major order, and the array that owns it: a copy where necessary."""
    _require_array(array)
    contiguous = np.ascontiguousarray(array)
    return contiguous.ctypes.data, contiguous


def ptr_to_numpy(ptr: int, shape: tuple[int, ...], type: int) -> np.ndarray[Any, Any]:
    """Host memory seen as an array; ``type`` is numpy's type number (11 is float32)."""
    if type not in _DTYPES:
        raise ValueError(f"type is {type}, wanted a type number of numpy such as 11 (float32)")
    dtype = _DTYPES[type]
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    memory = memoryview((ctypes.c_char * size).from_address(ptr)).cast("B")
    return np.frombuffer(memory, dtype=dtype).reshape(shape)


def start_thread(function: Callable[[Any], Any], arguments: Any) -> tuple[int, int]:
    """Calls ``function(arguments)`` in a new thread; its id, which ``acl.rt.subscribe_report`` wants, and 0."""
    thread = _Thread(function, arguments)
    thread.start()
    assert thread.ident is not None  # it has started
    _threads[thread.ident] = thread
    return thread.ident, 0


def stop_thread(thread_id: int) -> int:
    """Waits until the function of :func:`start_thread` has returned; raises what it raised."""
    thread = _threads.pop(thread_id, None)
    if thread is None:
        return errno.ESRCH
    thread.join()
    if thread.error is not None:
        raise RuntimeError(f"the function of thread {thread_id} failed: {thread.error!r}") from thread.error
    return 0


def _require_array(array: Any) -> None:
    if not isinstance(array, np.ndarray):
        raise ValueError(f"wanted a numpy.ndarray, got {type(array).__name__}")
