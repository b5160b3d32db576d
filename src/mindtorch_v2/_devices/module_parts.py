"""What the modules of all accelerators share: the device context and random numbers.

A device module derives its classes from these, with ``_native`` (the functions of its runtime in ``_C``), and makes its
functions from :class:`RandomFunctions`. Streams and events are in ``streams.py``, memory in ``memory_functions.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Literal

from .. import _C


class DeviceContextBase:
    """``with torch.<device>.device(1):`` — the device is current inside. None and -1 change nothing."""

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


class RandomFunctions:
    """The functions of ``torch.<device>`` about random numbers. The numbers of a device are drawn by one generator."""

    _SEED_BITS = 0xFFFFFFFFFFFFFFFF

    def __init__(
        self, kind: str, native: Any, index_of: Callable[[Any], int], count: Callable[[], int]
    ) -> None:
        self._kind = kind
        self._native = native
        self._index_of = index_of
        self._count = count

    def generator(self, device: Any = None) -> Any:
        return _C._default_generator(_C.device(self._kind, self._index_of(device)))

    def generators(self) -> tuple[Any, ...]:
        """``torch.<device>.default_generators``."""
        return tuple(self.generator(index) for index in range(self._count()))

    def manual_seed(self, seed: int) -> None:
        """Seeds the current device's generator."""
        self._native.seed_device(self._native.current_device(), int(seed) & self._SEED_BITS)

    def manual_seed_all(self, seed: int) -> None:
        """Seeds the generators of all devices, also of those not used yet."""
        self._native.seed_all(int(seed) & self._SEED_BITS)

    def seed(self) -> None:
        """Seeds the current device's generator with a number from the system."""
        self.generator().seed()

    def seed_all(self) -> None:
        """Seeds the generators of all devices with one number from the system."""
        self.manual_seed_all(int(self.generator().seed()))

    def initial_seed(self) -> int:
        """The seed of the current device's generator."""
        return int(self.generator().initial_seed())

    def get_rng_state_all(self) -> list[Any]:
        return [generator.get_state() for generator in self.generators()]

    def set_rng_state_all(self, new_states: Iterable[Any]) -> None:
        for index, state in enumerate(new_states):
            self.generator(index).set_state(state)
