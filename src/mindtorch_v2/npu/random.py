"""The random number generators of the NPUs."""

from __future__ import annotations

from typing import Any

from .. import _C
from .._backends.npu import acl_loader
from .._backends.npu import runtime as _runtime
from .._devices import module_parts as _parts

__all__ = [
    "get_rng_state", "get_rng_state_all", "initial_seed", "manual_seed", "manual_seed_all", "seed", "seed_all",
    "set_rng_state", "set_rng_state_all",
]  # fmt: skip

_functions = _parts.RandomFunctions(
    "npu", _C._npu, lambda device: _runtime.device_index(device), acl_loader.device_count
)
manual_seed = _functions.manual_seed
manual_seed_all = _functions.manual_seed_all
seed = _functions.seed
seed_all = _functions.seed_all
initial_seed = _functions.initial_seed
get_rng_state_all = _functions.get_rng_state_all
set_rng_state_all = _functions.set_rng_state_all


def get_rng_state(device: Any = "npu") -> Any:
    """The state of a device's generator, as a ByteTensor of seed and offset."""
    return _functions.generator(device).get_state()


def set_rng_state(new_state: Any, device: Any = "npu") -> None:
    """Restores a state of :func:`get_rng_state`."""
    _functions.generator(device).set_state(new_state)
