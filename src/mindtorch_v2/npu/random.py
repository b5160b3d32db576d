"""The random number generators of the NPUs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .. import _C
from .._backends.npu import acl_loader
from .._backends.npu import runtime as _runtime

__all__ = [
    "get_rng_state", "get_rng_state_all", "initial_seed", "manual_seed", "manual_seed_all", "seed", "seed_all",
    "set_rng_state", "set_rng_state_all",
]  # fmt: skip

_npu = _C._npu
_SEED_BITS = 0xFFFFFFFFFFFFFFFF


def _generator(device: Any) -> Any:
    return _C._default_generator(_C.device("npu", _runtime.device_index(device)))


def _default_generators() -> tuple[Any, ...]:
    """``torch.npu.default_generators``: one for each device."""
    return tuple(_generator(index) for index in range(acl_loader.device_count()))


def manual_seed(seed: int) -> None:
    """Seeds the current device's generator."""
    _npu.seed_device(_npu.current_device(), int(seed) & _SEED_BITS)


def manual_seed_all(seed: int) -> None:
    """Seeds the generators of all devices, also of those not used yet."""
    _npu.seed_all(int(seed) & _SEED_BITS)


def seed() -> None:
    """Seeds the current device's generator with a number from the system."""
    _generator(None).seed()


def seed_all() -> None:
    """Seeds the generators of all devices with one number from the system."""
    manual_seed_all(int(_generator(None).seed()))


def initial_seed() -> int:
    """The seed of the current device's generator."""
    return int(_generator(None).initial_seed())


def get_rng_state(device: Any = "npu") -> Any:
    """The state of a device's generator, as a ByteTensor of seed and offset."""
    return _generator(device).get_state()


def set_rng_state(new_state: Any, device: Any = "npu") -> None:
    """Restores a state of :func:`get_rng_state`."""
    _generator(device).set_state(new_state)


def get_rng_state_all() -> list[Any]:
    return [generator.get_state() for generator in _default_generators()]


def set_rng_state_all(new_states: Iterable[Any]) -> None:
    for index, state in enumerate(new_states):
        set_rng_state(state, index)
