"""Memory pools of a kind of device: the native caching allocator, with the device calls it needs as attributes.

The native pool is the truth, and it calls its device natively. A program or a test may replace ``_raw_malloc``,
``_raw_free``, ``_mem_get_info``, ``_sync_device``, ``_record_event``, ``_event_complete`` and ``_release_event`` (and
those of virtual memory) on an object; the pool then calls what it finds there when it grows, shrinks or waits for
another stream, and never when a cached block fits.
"""

from __future__ import annotations

import itertools
import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from typing import Any, NamedTuple

from .. import _C
from . import memory as _memory

_native = _C._allocator
stacks = _memory.StackTable()
pool_numbers = itertools.count(1)  # of private pools, of all devices


# --- settings -------------------------------------------------------------------------------------------


def _warn(text: str) -> None:
    """A warning at the line outside this package whose allocation asked for the settings."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_memory.PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, UserWarning, stacklevel=level)


class PoolSettings:
    """The settings of a kind of device, from the first of its environment variables that is set. They are read once.

    ``without_effect`` are keys that programs set and that change nothing here, with the reason. ``refusal`` says why
    segments cannot grow in place, or is empty.
    """

    def __init__(
        self, variables: Sequence[str], without_effect: Mapping[str, str], refusal: Callable[[], str]
    ) -> None:
        self.variables = tuple(variables)
        self.source: tuple[str, str] = (self.variables[0], "")  # the variable, and its text
        self._without_effect = without_effect
        self._refusal = refusal
        self._conf: Any = None  # an AllocConf
        self._lock = threading.RLock()

    def _read(self) -> tuple[str, str]:
        for name in self.variables:
            text = os.environ.get(name)
            if text:
                return name, text
        return self.variables[0], ""

    def _unknown_keys(self, source: str, unknown: list[str]) -> str:
        """Warns of keys without effect; the others, with what they may be misspellings of, are returned as text."""
        known = _native.alloc_conf_keys()
        described = []
        for key in unknown:
            if key in self._without_effect:
                _warn(f"{source}: {key} has no effect: {self._without_effect[key]}.")
            else:
                import difflib

                close = difflib.get_close_matches(key, known, n=1)
                described.append(f"'{key}'" + (f" (did you mean '{close[0]}'?)" if close else ""))
        return ", ".join(described)

    def current(self, force: bool = False) -> Any:
        """The parsed settings; ``force`` reads the environment again, for pools made afterwards."""
        with self._lock:
            if self._conf is None or force:
                source, text = self._read()
                conf = _native.parse_alloc_conf(text, source)
                self._conf, self.source = conf, (source, text)
                if unknown := self._unknown_keys(source, conf.unknown):
                    known = ", ".join(_native.alloc_conf_keys())
                    _warn(f"{source}: unknown key {unknown} ignored. Known keys: {known}.")
            return self._conf

    def for_device(self) -> Any:
        """The settings, without what the device in use cannot do."""
        conf = self.current()
        if conf.expandable_segments and (reason := self._refusal()):
            conf.expandable_segments = False
            _warn(
                f"{self.source[0]}: expandable_segments:True has no effect; {reason}, so segments have a fixed size."
            )
        return conf

    def replace(self, text: str) -> None:
        """Other settings, in the text form of the environment variable."""
        source = "allocator settings"
        with self._lock:
            conf = _native.parse_alloc_conf(text, source)
            if unknown := self._unknown_keys(source, conf.unknown):
                known = ", ".join(_native.alloc_conf_keys())
                raise ValueError(f"{source}: unknown key {unknown}. Known keys: {known}.")
            self._conf, self.source = conf, (self.variables[0], text)

    def forget(self) -> None:
        with self._lock:
            self._conf = None


# --- views of the native pool ---------------------------------------------------------------------------


class Block(NamedTuple):
    """A cached piece of memory, as ``DeviceAllocator._cached[pool]`` holds them. Stream None is the default."""

    ptr: int
    size: int
    requested: int
    pool: str
    stream: int | None


class _Statistics(MutableMapping[str, int]):
    """The native counters by name. Writing sets the counter itself."""

    def __init__(self, native: Any) -> None:
        self._native = native

    def __getitem__(self, key: str) -> int:
        if key not in _STAT_NAMES:
            raise KeyError(key)
        return int(self._native.stat(key))

    def __setitem__(self, key: str, value: int) -> None:
        self._native.set_stat(key, value)

    def __delitem__(self, key: str) -> None:
        raise TypeError("allocator statistics cannot be deleted; set them to 0 instead")

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(_STAT_NAMES))

    def __len__(self) -> int:
        return len(_STAT_NAMES)


_STAT_NAMES = frozenset(_native.stat_names())


class _CachedBlocks(Sequence[Block]):
    """The free blocks of one pool, by stream, size and address."""

    def __init__(self, native: Any, pool: str) -> None:
        self._native = native
        self._pool = pool

    def _blocks(self) -> list[Block]:
        return [
            Block(ptr, size, 0, self._pool, stream or None)
            for ptr, size, stream in self._native.cached_blocks(self._pool)
        ]

    def __len__(self) -> int:
        return len(self._native.cached_blocks(self._pool))

    def __getitem__(self, index: Any) -> Any:
        return self._blocks()[index]

    def __iter__(self) -> Iterator[Block]:
        return iter(self._blocks())

    def append(self, block: Block) -> None:
        """Takes over memory of the device as a cached segment of its own."""
        self._native.adopt(block.ptr, block.size, block.stream, self._pool)


# --- pools ----------------------------------------------------------------------------------------------


class _Pool:
    """The device calls of a memory pool. They are the native ones until a program replaces them on the object."""

    _native: Any
    device_id: int

    def _made(self, native: Any) -> None:
        """``native`` is this object's pool. A subclass replaces calls for all its objects."""
        self._native = native
        for name in _HOOKS:
            if getattr(type(self), name, None) is not getattr(_Pool, name):
                native.set_replaced(name, True)

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)
        if name in _HOOKS:
            # What monkeypatch puts back is the method of the class, bound.
            own = getattr(value, "__func__", None) is getattr(_Pool, name)
            self._native.set_replaced(name, not own)

    def __delattr__(self, name: str) -> None:
        object.__delattr__(self, name)
        if name in _HOOKS:
            self._native.set_replaced(name, getattr(type(self), name) is not getattr(_Pool, name))

    def _raw_malloc(self, size: int) -> tuple[int, int]:
        address, size = self._native.raw_malloc(size)
        return int(address), int(size)

    def _raw_free(self, ptr: int) -> None:
        self._native.raw_free(ptr)

    def _mem_get_info(self) -> tuple[int, int]:
        free, total = self._native.mem_get_info()
        return int(free), int(total)

    def _sync_device(self) -> None:
        """Waits for all streams that may use the memory."""
        self._native.sync_device()

    def _record_event(self, stream: int) -> Any:
        return self._native.record_event(stream)

    def _event_complete(self, event: Any) -> bool:
        return bool(self._native.event_complete(event))

    def _release_event(self, event: Any) -> None:
        if isinstance(
            event, int
        ):  # else whatever a replaced _record_event returned: it cleans up after itself
            self._native.release_event(event)

    def _has_virtual_memory(self) -> bool:
        return bool(self._native.has_virtual_memory())

    def _reserve_addresses(self, size: int) -> int:
        return int(self._native.reserve_addresses(size))

    def _release_addresses(self, address: int) -> None:
        self._native.release_addresses(address)

    def _map_memory(self, address: int, size: int) -> int:
        return int(self._native.map_memory(address, size))

    def _unmap_memory(self, address: int, handle: int) -> None:
        self._native.unmap_memory(address, handle)


_HOOKS = frozenset(_native.hook_names())


class DeviceAllocator(_Pool):
    """The caching allocator of one device. Addresses and streams are integers; stream None is the default."""

    device_type: str
    settings: PoolSettings
    no_caching_variable: str  # in the environment, set and not 0: every tensor asks the device

    def __init__(self, device_id: int = 0) -> None:
        self.device_id = device_id
        conf = self.settings.for_device()
        self._conf_source = self.settings.source
        self._made(_native.CachingAllocator(self, self.device_type, device_id, conf))
        self._stats = _Statistics(self._native)
        if os.environ.get(self.no_caching_variable, "") not in ("", "0"):
            self._native.set_caching(False)
        self._cached = {pool: _CachedBlocks(self._native, pool) for pool in ("small_pool", "large_pool")}

    def malloc(self, size: int, stream: int | None = None) -> int:
        """The address of at least ``size`` bytes for work on ``stream``; 0 for no bytes."""
        return int(self._native.malloc(size, stream))

    def free(self, ptr: int, stream: int | None = None) -> None:
        """Gives memory of :meth:`malloc` back. ``stream`` is one that used it, if not its own."""
        self._native.free(ptr, stream)

    def record_stream(self, ptr: int, stream: int | None) -> None:
        """Memory of :meth:`malloc` is used on ``stream``: after :meth:`free`, its reuse waits for that."""
        self._native.record_stream(ptr, stream)

    def empty_cache(self) -> None:
        """Gives every segment without live blocks back to the device."""
        self._native.empty_cache()

    @property
    def max_split_size(self) -> int:
        return int(self._native.max_split_size)

    @max_split_size.setter
    def max_split_size(self, size: int) -> None:
        self._native.max_split_size = size

    def _maybe_collect_garbage(self) -> None:
        self._native.collect_garbage()

    def _enforce_memory_fraction(self, size: int) -> None:
        """Raises OutOfMemoryError if ``size`` more bytes would pass the limit of this process."""
        self._native.check_limit(size)

    def set_memory_fraction(self, fraction: float) -> None:
        """The part of the device's memory that this process may reserve, from 0 to 1."""
        self._native.set_memory_fraction(fraction)

    def get_memory_fraction(self) -> float:
        return float(self._native.settings()["per_process_memory_fraction"])

    def set_memory_limit(self, size: int | None) -> None:
        """The bytes that this process may reserve; None for no limit."""
        self._native.set_memory_limit(size)

    def memory_stats(self) -> dict[str, int]:
        """All counters, sorted by name, as PyTorch names them; private pools add theirs."""
        stats = self._native.stats()
        if pools := self._native.reserved_by_pools():
            stats.update(_memory.flat({"reserved_bytes_by_private_pools": pools}))
        return dict(sorted(stats.items()))

    def reset_peak_memory_stats(self) -> None:
        self._native.reset_peak_stats()

    def reset_accumulated_memory_stats(self) -> None:
        self._native.reset_accumulated_stats()

    def record_memory_history(
        self,
        max_entries: int,
        with_stacks: bool = True,
        clear: bool = False,
        skip_actions: Sequence[str] = (),
    ) -> None:
        """Keeps the last ``max_entries`` actions, with the Python stacks that caused them; 0 stops."""
        self._native.record_history(max_entries, clear, list(skip_actions))
        recorder = stacks.capture if with_stacks and max_entries else None
        self._native.set_stack_recorder(recorder, stacks.describe)

    def set_out_of_memory_observer(self, observer: Any) -> None:
        """``observer(bytes, total, free)`` is called before an OutOfMemoryError is raised; None for nobody."""
        self._native.set_out_of_memory_observer(observer)

    def snapshot(self, include_traces: bool = True) -> dict[str, Any]:
        """Segments, blocks, history and settings of this device (see ``_memory.torch_snapshot``)."""
        result = _memory.complete_snapshot(self._native.snapshot(include_traces), self.device_id, stacks)
        source, text = self._conf_source
        result["settings"][source] = text
        if result["segments"]:  # else nobody may have asked the device for anything yet
            result["settings"]["device_total"] = self._mem_get_info()[1]
        return {"device": self.device_id, "allocator": self.device_type, **result}


class DevicePinnedPool(_Pool):
    """Cached page-locked host memory, from which copies to the devices are asynchronous."""

    device_type: str
    settings: PoolSettings

    def __init__(self, device_id: int = 0) -> None:
        self.device_id = device_id
        self._made(_native.PinnedPool(self, self.device_type, self.settings.current()))

    def malloc(self, size: int) -> int:
        return int(self._native.malloc(size))

    def free(self, ptr: int) -> None:
        self._native.free(ptr)

    def record_stream(self, ptr: int, stream: int | None) -> None:
        """An asynchronous copy on ``stream`` reads or writes the memory at ``ptr``."""
        self._native.record_stream(ptr, stream or 0)

    def is_pinned(self, ptr: int) -> bool:
        return bool(self._native.is_pinned(ptr))

    def empty_cache(self) -> None:
        self._native.empty_cache()

    def host_memory_stats(self) -> dict[str, int]:
        return _memory.flat(self._native.stats())

    def reset_peak_host_memory_stats(self) -> None:
        self._native.reset_peak_stats()

    def reset_accumulated_host_memory_stats(self) -> None:
        self._native.reset_accumulated_stats()


class DevicePools:
    """The pools of all devices of a kind, made at their first use. Native code that needs one asks here, too."""

    def __init__(
        self, runtime: Any, allocator: type[DeviceAllocator], pinned_pool: type[DevicePinnedPool]
    ) -> None:
        self._lock = threading.RLock()
        self._allocator_class, self._pinned_class = allocator, pinned_pool
        self.settings = allocator.settings
        self.allocators: dict[int, Any] = {}
        self._pinned: Any = None
        # Called with every allocator before its first use: who watches, or replaces, the memory of all devices.
        self.prepare: list[Callable[[Any], None]] = []
        runtime.set_pool_makers(self.allocator, self.pinned_pool)

    def allocator(self, device: Any = None) -> Any:
        """The allocator of a device: an index, a torch.device or None for device 0."""
        index = getattr(device, "index", device)
        index = 0 if index is None else int(index)
        with self._lock:
            found = self.allocators.get(index)
            if found is None:
                found = self._allocator_class(index)
                for prepare in self.prepare:
                    prepare(found)
                found._native.serve()
                self.allocators[index] = found
            return found

    def pinned_pool(self) -> Any:
        """The process's pool of pinned memory."""
        with self._lock:
            if self._pinned is None:
                made = self._pinned_class()
                made._native.serve()
                self._pinned = made
            return self._pinned

    def apply_settings(self, text: str) -> None:
        """Replaces the settings of all pools there are and will be."""
        with self._lock:
            self.settings.replace(text)
            for allocator in self.allocators.values():
                allocator._native.configure(self.settings.for_device())
                allocator._conf_source = self.settings.source
            if self._pinned is not None:
                self._pinned._native.configure(self.settings.current())
