"""The functions about memory that the module of every accelerator has: ``torch.<device>.memory_stats`` and the others.

A device module makes its functions from a :class:`MemoryFunctions`; what replaces or divides its memory is in
``memory_pools.py``.
"""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any, Literal

from .. import _C
from . import memory as _memory
from . import pinned as _pinned
from . import pools as _pools
from . import streams as _streams


def _earlier_arguments(
    enabled: bool, context: Any, trace_alloc_max_entries: Any, known: dict[str, Any]
) -> tuple[Literal["state", "all"] | None, str | None, int]:
    """What ``_record_memory_history(True, record_context, trace_alloc_max_entries, ...)`` asks for today."""
    unknown = set(known) - _EARLIER_NAMES
    if unknown:
        raise TypeError(f"_record_memory_history() got an unexpected keyword argument {min(unknown)!r}")
    entries = known.get("trace_alloc_max_entries", trace_alloc_max_entries)
    entries = 1 if entries == "all" else int(entries)
    with_stacks = bool(known.get("record_context", context))
    kept: Literal["state", "all"] | None = ("all" if entries > 1 else "state") if enabled else None
    return kept, "all" if with_stacks else None, entries


_EARLIER_NAMES = {
    "record_context",
    "trace_alloc_max_entries",
    "trace_alloc_record_context",
    "record_context_cpp",
}


class MemoryFunctions:
    """The memory functions of ``torch.<device>``. Allocators are looked up at every call."""

    def __init__(
        self, device_name: str, native: Any, pools: _pools.DevicePools, index_of: Callable[[Any], int],
        count: Callable[[], int], get_allocator: Callable[[Any], Any] | None = None,
    ) -> None:  # fmt: skip
        self._device_name = device_name
        self._module = f"torch.{device_name.lower()}"
        self._native = native
        self._pools = pools
        self._index_of = index_of
        self._count = count  # of all devices
        self._get_allocator = get_allocator or (lambda device: pools.allocator(index_of(device)))
        self._raw: dict[int, int] = {}  # the device of each address that caching_allocator_alloc handed out

    def _in_use(self) -> list[int]:
        """The devices that have an allocator."""
        return sorted(self._pools.allocators)

    def memory_stats(self, device: Any = None) -> dict[str, Any]:
        """All counters of the caching allocator, as PyTorch names them."""
        return dict(self._get_allocator(device).memory_stats())

    def memory_stats_as_nested_dict(self, device: Any = None) -> dict[str, Any]:
        return _memory.nested(self.memory_stats(device))

    def memory_allocated(self, device: Any = None) -> int:
        """Bytes now in tensors."""
        return int(self.memory_stats(device).get("allocated_bytes.all.current", 0))

    def max_memory_allocated(self, device: Any = None) -> int:
        return int(self.memory_stats(device).get("allocated_bytes.all.peak", 0))

    def memory_reserved(self, device: Any = None) -> int:
        """Bytes taken from the device, in tensors or cached."""
        return int(self.memory_stats(device).get("reserved_bytes.all.current", 0))

    def max_memory_reserved(self, device: Any = None) -> int:
        return int(self.memory_stats(device).get("reserved_bytes.all.peak", 0))

    def reset_peak_memory_stats(self, device: Any = None) -> None:
        """Lets the peaks begin again at what is in use now."""
        self._get_allocator(device).reset_peak_memory_stats()

    def memory_cached(self, device: Any = None) -> int:
        """The old name of :meth:`memory_reserved`."""
        self._renamed("memory_cached", "memory_reserved")
        return self.memory_reserved(device)

    def max_memory_cached(self, device: Any = None) -> int:
        """The old name of :meth:`max_memory_reserved`."""
        self._renamed("max_memory_cached", "max_memory_reserved")
        return self.max_memory_reserved(device)

    def reset_max_memory_allocated(self, device: Any = None) -> None:
        """As :meth:`reset_peak_memory_stats`."""
        self._resets_all("reset_max_memory_allocated")
        self.reset_peak_memory_stats(device)

    def reset_max_memory_cached(self, device: Any = None) -> None:
        """As :meth:`reset_peak_memory_stats`."""
        self._resets_all("reset_max_memory_cached")
        self.reset_peak_memory_stats(device)

    def _renamed(self, old: str, new: str) -> None:
        warnings.warn(
            f"`{self._module}.{old}` has been renamed to `{self._module}.{new}`", FutureWarning, stacklevel=3
        )

    def _resets_all(self, name: str) -> None:
        warnings.warn(
            f"{self._module}.{name} now calls {self._module}.reset_peak_memory_stats, "
            "which resets /all/ peak memory stats.",
            FutureWarning,
            stacklevel=3,
        )

    def reset_accumulated_memory_stats(self, device: Any = None) -> None:
        self._get_allocator(device).reset_accumulated_memory_stats()

    def memory_summary(self, device: Any = None, abbreviated: bool = False) -> str:
        """The counters as a table."""
        return _memory.memory_summary(
            self.memory_stats(device), self._index_of(device), abbreviated, self._device_name
        )

    def memory_snapshot(
        self, device: Any = None, mempool_id: tuple[int, int] | None = None, include_traces: bool = True
    ) -> dict[str, Any]:
        """Segments, blocks, history and settings of one device's allocator, or of one pool of it."""
        if isinstance(device, tuple):  # PyTorch's function takes the pool first
            device, mempool_id = None, device
        found = dict(self._get_allocator(device).snapshot(*([] if include_traces else [False])))
        if mempool_id is not None:
            found["segments"] = [s for s in found["segments"] if s["segment_pool_id"] == tuple(mempool_id)]
        return found

    def _snapshot(self, device: Any = None, augment_with_fx_traces: bool = False) -> dict[str, Any]:
        """The state of all devices (or one) in PyTorch's schema. No graph is compiled, so no stack needs the
        lines of its source added."""
        devices = self._in_use() if device is None else [self._index_of(device)]
        return _memory.torch_snapshot(self._get_allocator(index).snapshot() for index in devices)

    def _dump_snapshot(
        self, filename: str = "dump_snapshot.pickle", augment_with_fx_traces: bool = False
    ) -> None:
        """Writes the state of all devices to a file that PyTorch's memory viewer opens."""
        _memory.dump_snapshot(self._snapshot(), filename)

    def _record_memory_history(
        self,
        enabled: Literal["state", "all"] | bool | None = "all",
        context: Any = "all",
        stacks: Any = "all",
        max_entries: int = sys.maxsize,
        device: Any = None,
        clear_history: bool = False,
        compile_context: bool = False,
        global_record_annotations: bool = False,
        skip_actions: list[str] | None = None,
        **before_2_1: Any,
    ) -> None:
        """Records where memory is allocated: live blocks ("state") or every action ("all"). None stops and
        forgets. Stacks are Python's; nothing is compiled, so there is no compile context to record."""
        if isinstance(enabled, bool):  # as it was called before PyTorch 2.1
            enabled, context, max_entries = _earlier_arguments(enabled, context, stacks, before_2_1)
        elif before_2_1:
            raise TypeError(
                f"_record_memory_history() got an unexpected keyword argument {next(iter(before_2_1))!r}"
            )
        elif stacks not in ("python", "all"):
            raise RuntimeError(f"expected stacks to be 'python', or 'all', but got {stacks!r}")
        if enabled not in (None, "state", "all"):
            raise RuntimeError(f"expected state to be 'state', 'all', or None, but got {enabled!r}")
        if context not in (None, "state", "alloc", "all"):
            raise RuntimeError(
                f"expected context to be 'state', 'alloc', 'all', or None, but got {context!r}"
            )
        if not isinstance(max_entries, int) or max_entries < 0:
            raise ValueError(f"max_entries is a number of actions, but got {max_entries!r}")
        if isinstance(skip_actions, str):
            raise TypeError(
                f"skip_actions is a list of actions, but got {skip_actions!r}; write [{skip_actions!r}]"
            )
        if global_record_annotations:
            raise NotImplementedError(
                "global_record_annotations=True: use torch.profiler to record annotations with memory"
            )
        entries = {None: 0, "state": 1, "all": max_entries}[enabled]
        # All devices, also those that are used later.
        indices = range(max(self._count(), 1)) if device is None else [self._index_of(device)]
        for index in indices:
            self._get_allocator(index).record_memory_history(
                entries, context is not None, clear_history or enabled is None, skip_actions or []
            )

    def _allocation_traceback(self, data_ptr: int) -> list[dict[str, Any]] | None:
        """Where the live block that holds an address was allocated; None if no block does."""
        for index in self._in_use():
            for segment in self._get_allocator(index).snapshot(False)["segments"]:
                for block in segment["blocks"]:
                    inside = block["address"] <= data_ptr < block["address"] + block["size"]
                    if inside and block["state"] != "inactive":
                        return list(block["frames"])
        return None

    def set_per_process_memory_fraction(self, fraction: float, device: Any = None) -> None:
        """The part of the device's memory this process may take, from 0 to 1."""
        if not isinstance(fraction, (int, float)):
            raise TypeError(f"Invalid type for fraction argument, must be `float`, got {type(fraction)}")
        if fraction < 0 or fraction > 1:
            raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0~1")
        self._get_allocator(device).set_memory_fraction(fraction)

    def get_per_process_memory_fraction(self, device: Any = None) -> float:
        return float(self._get_allocator(device).get_memory_fraction())

    def set_per_process_memory_limit(self, size: int | None, device: Any = None) -> None:
        """The bytes of a device's memory that this process may reserve; None for no limit."""
        if size is not None and (not isinstance(size, int) or isinstance(size, bool) or size < 0):
            raise ValueError(f"the limit is a number of bytes or None, but got {size!r}")
        self._get_allocator(device).set_memory_limit(size)

    # --- the device's whole memory

    def mem_get_info(self, device: Any = None) -> tuple[int, int]:
        """Free and total bytes of a device's memory, as its driver counts them."""
        free, total = self._native.memory_info(self._index_of(device))
        return int(free), int(total)

    def device_memory_used(self, device: Any = None) -> int:
        """Bytes of a device's memory in use by all processes, as the driver counts them."""
        free, total = self.mem_get_info(device)
        return total - free

    def list_gpu_processes(self, device: Any = None) -> str:
        """Who uses a device's memory, as far as the driver tells: this process, and the others together."""
        index, name = self._index_of(device), self._device_name
        own, used = self.memory_reserved(index), self.device_memory_used(index)
        lines = [f"{name}:{index}"]
        if not used:
            lines.append("no processes are running")
        if own:
            lines.append(f"process {os.getpid():>10d} uses {own / (1 << 20):>12.3f} MB {name} memory")
        if used > own:
            lines.append(
                f"the runtime and other processes use {(used - own) / (1 << 20):.3f} MB {name} memory"
            )
        return "\n".join(lines)

    # --- the cache

    def empty_cache(self) -> None:
        """Gives cached memory that no tensor uses back to the devices; in a fork it is not this process's to give."""
        if self._native.is_in_bad_fork():
            return
        for index in self._in_use():
            self._get_allocator(index).empty_cache()

    def caching_allocator_alloc(self, size: int, device: Any = None, stream: Any = None) -> int:
        """The address of memory from the caching allocator, for use on a stream (the current one)."""
        if not isinstance(size, int) or size < 0:
            raise ValueError(f"caching_allocator_alloc wants a number of bytes, but got {size!r}")
        index = self._index_of(device)
        if stream is None:
            stream = self._native.current_stream(index)
        if isinstance(stream, _streams.Stream):
            stream = stream.handle
        if not isinstance(stream, int):
            raise TypeError(
                f"Invalid type for stream argument, must be `{self._module}.Stream` or `int` representing a pointer to "
                "an existing stream"
            )
        address = int(self._get_allocator(index).malloc(size, stream))
        if address:
            self._raw[address] = index
        return address

    def caching_allocator_delete(self, mem_ptr: int) -> None:
        """Gives memory of :meth:`caching_allocator_alloc` back."""
        if mem_ptr == 0:
            return
        if mem_ptr not in self._raw:
            raise RuntimeError(
                f"invalid device pointer: {mem_ptr:#x} was not handed out by caching_allocator_alloc"
            )
        self._get_allocator(self._raw[mem_ptr]).free(mem_ptr)
        del self._raw[mem_ptr]

    def caching_allocator_enable(self, value: bool = True) -> None:
        """Switches caching on or off: without it, every tensor takes its memory from the device and returns it."""
        for index in self._in_use() or [self._index_of(None)]:
            self._get_allocator(index)._native.set_caching(bool(value))

    @contextlib.contextmanager
    def caching_allocator_disabled(self) -> Iterator[None]:
        """No caching inside a ``with`` block."""
        indices = self._in_use() or [self._index_of(None)]
        before = {index: self._get_allocator(index)._native.caching() for index in indices}
        self.caching_allocator_enable(False)
        try:
            yield
        finally:
            for index, on in before.items():
                self._get_allocator(index)._native.set_caching(on)

    def _set_allocator_settings(self, env: str) -> None:
        """Changes the settings of the allocator's variable while the program runs."""
        self._pools.apply_settings(env)

    def _set_memory_metadata(self, metadata: str) -> None:
        """A text that the history keeps with every allocation from now on."""
        if not isinstance(metadata, str):
            raise TypeError(f"metadata is a text, but got {type(metadata).__name__}")
        _pools.stacks.label = metadata

    def _get_memory_metadata(self) -> str:
        return _pools.stacks.label

    # --- pinned host memory

    def pin_memory(self, tensor: _C.Tensor) -> Any:
        """A copy of a CPU tensor in pinned memory, from which copies with ``non_blocking=True`` do not wait."""
        return _pinned.pin_memory(self._native, tensor)

    def is_pinned(self, tensor: Any) -> bool:
        """Whether a tensor lies in pinned host memory."""
        return bool(self._native.is_pinned(tensor))

    def host_memory_stats(self) -> dict[str, Any]:
        """The counters of the pinned memory pool."""
        return dict(self._pools.pinned_pool().host_memory_stats())

    def host_memory_stats_as_nested_dict(self) -> dict[str, Any]:
        return _memory.nested(self.host_memory_stats())

    def reset_accumulated_host_memory_stats(self) -> None:
        self._pools.pinned_pool().reset_accumulated_host_memory_stats()

    def reset_peak_host_memory_stats(self) -> None:
        self._pools.pinned_pool().reset_peak_host_memory_stats()

    def host_empty_cache(self) -> None:
        """Gives cached pinned memory back to the system."""
        self._pools.pinned_pool().empty_cache()
