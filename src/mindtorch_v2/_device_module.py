"""What the modules of all accelerators share: the stream and device contexts and the memory functions.

A device module derives its classes from these, with ``_native`` (the functions of its runtime in ``_C``), and
makes its memory functions from a :class:`MemoryFunctions`. Streams and events are in ``_streams.py``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, ClassVar, Literal

from . import _memory


class StreamContext:
    """``with torch.npu.stream(s):`` — work inside goes to the stream, on the stream's device."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        if self.stream is not None:
            self.stream.__enter__()

    def __exit__(self, *error: object) -> None:
        if self.stream is not None:
            self.stream.__exit__(*error)


class DeviceContextBase:
    """``with torch.npu.device(1):`` — the device is current inside. None and -1 change nothing."""

    _native: ClassVar[Any]

    def __init__(self, device: Any) -> None:
        negative = isinstance(device, int) and device < 0
        self.idx = -1 if device is None or negative else self._index(device)
        self.prev_idx = -1

    @staticmethod
    def _index(device: Any) -> int:
        raise NotImplementedError

    def __enter__(self) -> None:
        if self.idx >= 0:
            self.prev_idx = self._native.current_device()
            self._native.set_device(self.idx)

    def __exit__(self, *error: object) -> Literal[False]:
        if self.idx >= 0:
            self._native.set_device(self.prev_idx)
        return False


class MemoryFunctions:
    """The memory functions of ``torch.<device>``. Allocators are looked up at every call."""

    def __init__(
        self, device_name: str, get_allocator: Callable[[Any], Any], index_of: Callable[[Any], int],
        in_use: Callable[[], list[int]],
    ) -> None:  # fmt: skip
        self._device_name = device_name
        self._get_allocator = get_allocator
        self._index_of = index_of
        self._in_use = in_use  # the devices that have an allocator

    def memory_stats(self, device: Any = None) -> dict[str, Any]:
        """All counters of the caching allocator, as ``torch.cuda.memory_stats`` names them."""
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
        self._get_allocator(device).reset_peak_memory_stats()

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
        if isinstance(device, tuple):  # torch.cuda's function takes the pool first
            device, mempool_id = None, device
        found = dict(self._get_allocator(device).snapshot(*([] if include_traces else [False])))
        if mempool_id is not None:
            found["segments"] = [s for s in found["segments"] if s["segment_pool_id"] == tuple(mempool_id)]
        return found

    def _snapshot(self, device: Any = None) -> dict[str, Any]:
        """The state of all devices (or one) in PyTorch's schema."""
        devices = self._in_use() if device is None else [self._index_of(device)]
        return _memory.torch_snapshot(self._get_allocator(index).snapshot() for index in devices)

    def _dump_snapshot(self, filename: str = "dump_snapshot.pickle") -> None:
        """Writes the state of all devices to a file that PyTorch's memory viewer opens."""
        _memory.dump_snapshot(self._snapshot(), filename)

    def _record_memory_history(
        self,
        enabled: Literal["state", "all"] | bool | None = "all",
        context: Literal["state", "alloc", "all"] | None = "all",
        stacks: Literal["python", "all"] = "all",
        max_entries: int = sys.maxsize,
        device: Any = None,
        clear_history: bool = False,
        compile_context: bool = False,
        global_record_annotations: bool = False,
        skip_actions: list[str] | None = None,
    ) -> None:
        """Records where memory is allocated: live blocks ("state") or every action ("all"). None stops.
        Stacks are Python's; nothing is compiled, so there is no compile context to record."""
        if isinstance(enabled, bool):  # as it was called before PyTorch 2.1
            enabled = "all" if enabled else None
        if enabled not in (None, "state", "all"):
            raise ValueError(f"enabled is {enabled!r}; wanted None, 'state' or 'all'")
        if global_record_annotations:
            raise NotImplementedError(
                "global_record_annotations=True: use torch.profiler to record annotations with memory"
            )
        entries = {None: 0, "state": 1, "all": max_entries}[enabled]
        indices = self._in_use() if device is None else [self._index_of(device)]
        for index in indices or [self._index_of(None)]:
            self._get_allocator(index).record_memory_history(
                entries, context is not None, clear_history, skip_actions or []
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
