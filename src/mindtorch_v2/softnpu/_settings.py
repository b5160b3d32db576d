"""What the software NPU is like: devices, memory, chip, speed, and what its memory holds."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator

from .._backends.npu import acl_loader
from ._library import library

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_MOST_DEVICES = 64
_MOST_MEMORY = 1 << 42
_MOST_DELAY = 1_000_000_000


def parse_bytes(size: int | str) -> int:
    """``64MiB`` or ``2GiB`` as a number of bytes."""
    if isinstance(size, int):
        number = size
    else:
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?\s*", size, re.IGNORECASE)
        if match is None:
            raise ValueError(
                f"memory is {size!r}; wanted a number of bytes, or a text such as '64MiB' or '2GiB'"
            )
        number = int(float(match[1]) * _UNITS[match[2].upper()])
    if not 1 <= number <= _MOST_MEMORY:
        raise ValueError(f"memory is {size!r}; wanted at least 1 byte and at most 4TiB")
    return number


def _check(name: str, value: int, least: int, most: int) -> int:
    if not least <= value <= most:
        raise ValueError(f"{name} is {value}; wanted a number from {least} to {most}")
    return value


def use(
    devices: int | None = None,
    memory: int | str | None = None,
    soc: str | None = None,
    delay_us: int | None = None,
    poison: bool | None = None,
    sanitize: bool | str | None = None,
    schedule: int | None = None,
) -> None:
    """Makes the software NPU this process's NPU. Call it before the first use of a device.

    ``devices`` and ``memory`` (for each device, in bytes or as a text such as ``"64MiB"``) cannot change
    later. ``soc``, ``sanitize`` and ``schedule`` can, but only hold as a whole if they are set before the
    first use: programs ask for the chip once, and the sanitizer does not know memory that is older than it.
    ``delay_us`` and ``poison`` hold from the moment they are set.
    """
    acl_loader.request_software()
    too_late = "a device of the software NPU is in use already; call use() before the first use of the device"
    loaded = library()
    if devices is not None and not loaded.softnpu_set_devices(_check("devices", devices, 0, _MOST_DEVICES)):
        raise RuntimeError(f"cannot set devices to {devices}: {too_late}")
    if memory is not None and not loaded.softnpu_set_memory(parse_bytes(memory)):
        raise RuntimeError(f"cannot set memory to {memory}: {too_late}")
    if soc is not None:
        set_soc(soc)
    if delay_us is not None:
        set_delay(delay_us)
    if poison is not None:
        set_poison(poison)
    if sanitize is not None:
        from ._sanitizer import sanitize as set_sanitizer

        set_sanitizer(sanitize)
    if schedule is not None:
        set_schedule(schedule)


def socs() -> list[str]:
    """The chips that :func:`set_soc` knows."""
    names: str = library().softnpu_socs().decode()
    return names.split(", ")


def set_soc(name: str) -> None:
    """The chip it passes for: its name, core counts, cache, and whether it has bfloat16.

    ``"Ascend910B1"`` or short ``"910B1"``; :func:`socs` lists them. Best before the first use of a device.
    """
    if not library().softnpu_set_soc(name.encode()):
        raise ValueError(f"soc is {name!r}; wanted one of {', '.join(socs())}")


def set_delay(microseconds: int) -> None:
    """How much longer every operator and copy takes. At any time."""
    library().softnpu_set_delay(_check("microseconds", microseconds, 0, _MOST_DELAY))


@contextlib.contextmanager
def delayed(microseconds: int) -> Iterator[None]:
    """:func:`set_delay` inside the block."""
    set_delay(microseconds)
    try:
        yield
    finally:
        set_delay(0)


def set_poison(on: bool) -> None:
    """Fills fresh and freed device memory with values that show up as NaN. At any time."""
    library().softnpu_set_poison(int(on))


@contextlib.contextmanager
def poisoned() -> Iterator[None]:
    """:func:`set_poison` inside the block."""
    set_poison(True)
    try:
        yield
    finally:
        set_poison(False)


def set_schedule(seed: int | None) -> None:
    """Adversarial scheduling: the seed decides which stream goes first wherever no event does; None ends it.

    A program with a missing event fails with some seeds, and with such a seed every time. Best before the
    first stream is made.
    """
    if seed is None:
        library().softnpu_schedule(0, 0)
    else:
        library().softnpu_schedule(_check("seed", seed, 0, (1 << 64) - 1), 1)


@contextlib.contextmanager
def scheduled(seed: int) -> Iterator[None]:
    """:func:`set_schedule` inside the block."""
    set_schedule(seed)
    try:
        yield
    finally:
        set_schedule(None)


@contextlib.contextmanager
def gate(stream: int | None = None) -> Iterator[None]:
    """Holds back the work of a stream (None: of every stream) inside the block. 1024 tasks can wait."""
    loaded = library()
    loaded.softnpu_gate(stream, 1)
    try:
        yield
    finally:
        loaded.softnpu_gate(stream, 0)
