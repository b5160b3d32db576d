"""Memory that is not the one cache of a device: pools of their own, and allocators that a program brings along.

A device module derives ``MemPool`` and its pluggable allocator from these, with ``_functions`` (its
:class:`~memory_functions.MemoryFunctions`), and makes its functions from an :class:`AllocatorFunctions`.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any, ClassVar

from . import pools as _pools
from .memory_functions import MemoryFunctions


class Allocator:
    """Functions that hand memory out and take it back, as ``MemPool`` and ``change_current_allocator`` take them."""

    def __init__(self, functions: tuple[int, int] | None) -> None:
        self._functions = functions  # the addresses of the two functions, None for the caching allocator

    def allocator(self) -> Allocator:
        return self


class PluggableAllocator(Allocator):
    """An allocator of a shared library: ``void* alloc(ssize_t size, int device, stream)`` and
    ``void free(void* ptr, ssize_t size, int device, stream)``."""

    def __init__(self, path_to_so_file: str, alloc_fn_name: str, free_fn_name: str) -> None:
        import ctypes  # slow to import, and seldom needed

        self._library = ctypes.CDLL(path_to_so_file)
        addresses = []
        for name in (alloc_fn_name, free_fn_name):
            function = getattr(self._library, name, None)
            if function is None:
                raise AttributeError(f"{path_to_so_file} has no function {name}")
            addresses.append(ctypes.cast(function, ctypes.c_void_p).value or 0)
        super().__init__((addresses[0], addresses[1]))


class MemPool:
    """Memory of its own for what is allocated inside ``use_mem_pool``. It goes back when the pool is gone and
    its tensors are."""

    _functions: ClassVar[MemoryFunctions]

    def __init__(
        self, allocator: Allocator | None = None, use_on_oom: bool = False, no_split: bool = False
    ) -> None:
        if allocator is not None and not isinstance(allocator, Allocator):
            raise TypeError(
                f"MemPool wants a {self._functions._module}.{self._functions._device_name}PluggableAllocator or None, "
                f"but got {allocator!r}"
            )
        self._number = next(_pools.pool_numbers)
        self._kept: Allocator | None = allocator  # its library must stay loaded
        functions = allocator.allocator()._functions if allocator is not None else None
        self._options = (bool(use_on_oom), bool(no_split), functions)
        self._device = self._functions._index_of(None)
        self._devices: list[int] = []
        self._native(self._device).retain_pool(self._number, *self._options)
        self._devices.append(self._device)

    def _native(self, device: int) -> Any:
        return self._functions._get_allocator(device)._native

    @property
    def id(self) -> tuple[int, int]:
        """The pool's id in snapshots."""
        return (0, self._number)

    @property
    def allocator(self) -> Allocator | None:
        return self._kept

    @property
    def device(self) -> int:
        return self._device

    def use_count(self) -> int:
        """How many hold the pool: this object, and each ``use_mem_pool`` that is inside."""
        return int(self._native(self._device).pool_users(self._number))

    def snapshot(self, include_traces: bool = True) -> list[dict[str, Any]]:
        """The pool's segments on all its devices."""
        return [
            segment
            for device in self._devices
            for segment in self._functions.memory_snapshot(device, self.id, include_traces)["segments"]
        ]

    def _enter(self, device: int) -> None:
        native = self._native(device)
        if device not in self._devices:
            native.retain_pool(self._number, *self._options)
            self._devices.append(device)
        native.begin_pool(self._number, *self._options)

    def _exit(self, device: int) -> None:
        self._native(device).end_pool(self._number)

    def __del__(self) -> None:
        if sys.is_finalizing() or self._functions._native.is_in_bad_fork():
            return
        for device in getattr(self, "_devices", ()):
            native = self._native(device)
            native.release_pool(self._number)
            native.empty_pool(self._number)


class AllocatorFunctions:
    """The functions of ``torch.<device>`` about pools, and about allocators that serve all its devices."""

    def __init__(self, functions: MemoryFunctions, pool: type[MemPool]) -> None:
        self._functions, self._pool = functions, pool
        self._current: Allocator | None = None

    @contextlib.contextmanager
    def use_mem_pool(self, pool: MemPool, device: Any = None) -> Iterator[None]:
        """This thread's allocations on a device (the current one) come from the pool inside a ``with`` block."""
        if not isinstance(pool, self._pool):
            raise TypeError(f"use_mem_pool wants a {self._functions._module}.MemPool, but got {pool!r}")
        index = self._functions._index_of(device)
        pool._enter(index)
        try:
            yield
        finally:
            pool._exit(index)

    def change_current_allocator(self, allocator: Allocator) -> None:
        """Makes an allocator serve all devices. Only before the first tensor on one; nothing is cached then."""
        if not isinstance(allocator, Allocator):
            raise TypeError(f"expected a pluggable allocator, but got {type(allocator).__name__}")
        pools = self._functions._pools
        if pools.allocators:
            raise RuntimeError("Can't swap an already initialized allocator")
        self._current = allocator
        if self._use_functions not in pools.prepare:
            pools.prepare.append(self._use_functions)

    def _use_functions(self, made: Any) -> None:
        if self._current is not None and self._current._functions is not None:
            made._native.set_caching(False, self._current._functions)

    def _get_current_allocator(self) -> Allocator:
        return self._current or Allocator(None)

    def get_allocator_backend(self) -> str:
        """ "native", or "pluggable" after :meth:`change_current_allocator`."""
        return "native" if self._current is None else "pluggable"
