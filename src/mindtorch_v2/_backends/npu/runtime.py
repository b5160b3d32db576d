"""The runtime of each NPU: its context, its default stream, waiting, and pointers to free when it is idle.

``acl`` is the pyACL-shaped module through which everything here talks to the device; handles are plain
integers that the native side uses too.
"""

from __future__ import annotations

import threading
from typing import Any

from ... import _C
from . import acl_loader

_npu = _C._npu
_HBM_MEM = 1  # ACL_HBM_MEM

acl: Any = _C._acl

_lock = threading.RLock()
_runtimes: dict[int, _Runtime] = {}


def ensure_acl() -> Any:
    """The ``acl`` module, with its libraries loaded. Raises RuntimeError if there is no NPU."""
    global acl
    acl_loader.load()
    if acl is _C._acl:
        acl = acl_loader.real_pyacl() or acl
    return acl


def check(code: int, function: str, advice: bool = True) -> None:
    """Raises an AcceleratorError that says what the code of a function of AscendCL means, if it failed."""
    if code != 0:
        error = _C.AcceleratorError(_npu.error_text(code, function, advice))
        error.error_code = code  # type: ignore[attr-defined]
        raise error


class _Runtime:
    """One device: its context, its default stream, and pointers to free when it is idle.

    The native runtime waits for the device by itself. It calls ``synchronize`` of this object only when a program has
    replaced it there, or has pointers waiting to be freed.
    """

    def __init__(self) -> None:
        self.initialized = False
        self.device_id = -1
        self.context: Any = None
        self.stream: Any = None
        self._opened = False  # by open(): the handles are the native side's
        self._deferred: list[int] = []
        self._lock = threading.Lock()

    def open(self, device_id: int) -> None:
        ensure_acl()
        self.context, self.stream = _npu.open(device_id)
        self.device_id = device_id
        self._opened = self.initialized = True

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)
        if name == "synchronize":
            self._tell_runtime()

    def __delattr__(self, name: str) -> None:
        object.__delattr__(self, name)
        if name == "synchronize":
            self._tell_runtime()

    def _tell_runtime(self) -> None:
        if not self._opened:
            return
        replaced = getattr(self.synchronize, "__func__", None) is not _Runtime.synchronize
        _npu.replace_wait(self.device_id, self.synchronize if replaced or self._deferred else None)

    def activate(self) -> None:
        """Makes the device current for AscendCL on the calling thread."""
        _npu.open(self.device_id)

    def synchronize(self) -> None:
        """Waits for the default stream, then frees what was deferred."""
        if self._opened:
            _npu.synchronize_stream(self.device_id, self.stream)
        else:
            check(acl.rt.synchronize_stream(self.stream), "aclrtSynchronizeStream")
        self._free_deferred()

    def synchronize_device(self) -> None:
        """Waits for all streams of the device, then frees what was deferred."""
        _npu.synchronize_device(self.device_id)
        self._free_deferred()

    def defer_free(self, ptr: int) -> None:
        """Frees device memory at the next :meth:`synchronize`, when nothing enqueued can use it any more."""
        with self._lock:
            self._deferred.append(ptr)
        self._tell_runtime()

    def _free_deferred(self) -> None:
        if not self._deferred:
            return
        with self._lock:
            pointers, self._deferred = self._deferred, []
        for done, ptr in enumerate(pointers):
            code = acl.rt.free(ptr)
            if code != 0:
                with self._lock:
                    self._deferred[:0] = pointers[done + 1 :]
                check(code, "aclrtFree")
        self._tell_runtime()


def device_index(device: Any = None) -> int:
    """The index of a device given as None (the current one), a number, "npu:1" or a torch.device."""
    if device is None:
        return int(_npu.current_device())
    if isinstance(device, int):
        if device < 0:
            return int(_npu.current_device())
        return device
    parsed = _C.device(device) if isinstance(device, str) else device
    if getattr(parsed, "type", None) != "npu":
        raise ValueError(f"Expected an npu device, but got: {device}")
    return int(_npu.current_device() if parsed.index is None else parsed.index)


def get_runtime(device: Any = None) -> _Runtime:
    """The runtime of a device, made ready at the first call."""
    index = device if isinstance(device, int) and device >= 0 else device_index(device)
    found = _runtimes.get(index)
    if found is not None:
        return found
    with _lock:
        found = _runtimes.get(index)
        if found is None:
            found = _Runtime()
            found.open(index)
            _runtimes[index] = found
        return found


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """Free and total bytes of the device's memory."""
    get_runtime(device).activate()
    free, total, code = acl.rt.get_mem_info(_HBM_MEM)
    check(code, "aclrtGetMemInfo")
    return free, total


_npu.set_loader(ensure_acl)
