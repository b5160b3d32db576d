"""``torch.cpu``: the CPU as a device module, for code that is written for any device."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

from .._absent import names_of
from ..backends._cpu_capabilities import get_capabilities as get_capabilities
from . import amp as amp


def is_available() -> bool:
    """True: a program runs on it."""
    return True


def _is_avx2_supported() -> bool:
    return bool(get_capabilities().get("avx2", False))


def _is_avx512_supported() -> bool:
    return bool(get_capabilities().get("avx512_f", False))


def _is_avx512_bf16_supported() -> bool:
    return bool(get_capabilities().get("avx512_bf16", False))


def _is_vnni_supported() -> bool:
    return bool(get_capabilities().get("avx512_vnni", False))


def _is_amx_tile_supported() -> bool:
    return bool(get_capabilities().get("amx_tile", False))


def _is_amx_fp16_supported() -> bool:
    return bool(get_capabilities().get("amx_fp16", False))


def is_initialized() -> bool:
    """True: it needs no start."""
    return True


def device_count() -> int:
    """1, whatever the number of cores."""
    return 1


def current_device() -> str:
    """Its name."""
    return "cpu"


def set_device(device: Any) -> None:
    """Changes nothing: there is one."""


def synchronize(device: Any = None) -> None:
    """Returns at once: work on the CPU is done when an operator returns."""


class Stream:
    """A queue of work: on the CPU always empty."""

    def __init__(self, priority: int = -1) -> None:
        self.priority = priority

    def wait_stream(self, stream: Any) -> None:
        """Returns at once."""

    def record_event(self) -> Event:
        """A mark that has been passed already."""
        return Event()

    def wait_event(self, event: Any) -> None:
        """Returns at once."""

    def synchronize(self) -> None:
        """Returns at once."""


class Event:
    """A mark in a stream: on the CPU always passed."""

    def query(self) -> bool:
        """True: everything before it is done."""
        return True

    def record(self, stream: Any = None) -> None:
        """Returns at once."""

    def synchronize(self) -> None:
        """Returns at once."""

    def wait(self, stream: Any = None) -> None:
        """Returns at once."""


_default_stream = Stream()


def current_stream(device: Any = None) -> Stream:
    """The one stream."""
    return _default_stream


class StreamContext(nullcontext[Any]):
    """Selects a stream inside a ``with`` block; on the CPU that changes nothing."""

    def __init__(self, stream: Any) -> None:
        super().__init__()


def stream(stream: Any) -> StreamContext:
    """A context that selects a stream."""
    return StreamContext(stream)


__getattr__ = names_of(__name__)
