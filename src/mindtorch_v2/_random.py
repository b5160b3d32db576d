"""The random number generator of the CPU, and seeding of all of them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator

from . import _C
from ._C import Generator, Tensor
from ._devices import registry
from ._functions import empty

default_generator: Generator = _C._default_generator("cpu")


def _state_tensor(generator: Generator) -> Tensor:
    state = generator._state()
    with _C._DisableTorchDispatch():  # a state is bytes, whatever modes make of tensors
        tensor = empty(len(state), dtype=_C.uint8)
        tensor._storage_handle().buffer()[:] = state
    return tensor


def _state_bytes(state: Tensor) -> bytes:
    if not isinstance(state, Tensor) or state.dtype is not _C.uint8 or state.device.type != "cpu":
        raise TypeError("RNG state must be a torch.ByteTensor")
    with _C._DisableTorchDispatch():
        return bytes(state.contiguous().clone()._storage_handle().buffer())


def _get_state(self: Generator) -> Tensor:
    """The generator's state, as a ByteTensor in PyTorch's layout."""
    return _state_tensor(self)


def _set_state(self: Generator, new_state: Tensor) -> None:
    """Restores a state from get_state()."""
    self._set_state(_state_bytes(new_state))


def _seed(self: Generator) -> int:
    """Seeds from the operating system and returns the seed."""
    value = int.from_bytes(os.urandom(8), "little")
    self.manual_seed(value)
    return value


def _clone_state(self: Generator) -> Generator:
    """A generator of its own that goes on from this one's state."""
    clone = Generator(self.device)
    clone._set_state(self._state())
    return clone


def _reduce(self: Generator) -> tuple[type[Generator], tuple[_C.device], tuple[int, None, Tensor]]:
    """Pickled with its state."""
    return Generator, (self.device,), (self.initial_seed(), None, _state_tensor(self))


def _set_pickled_state(self: Generator, state: tuple[int, int | None, Tensor]) -> None:
    seed, _, values = state
    self.manual_seed(seed)
    self._set_state(_state_bytes(values))


def _get_offset(self: Generator) -> int:
    """How far a device's generator has counted; the CPU's has no such number."""
    raise RuntimeError(f"{self.device.type.upper()} Generator does not use offset")


def _set_offset(self: Generator, offset: int) -> None:
    raise RuntimeError(f"{self.device.type.upper()} Generator does not use offset")


for _name, _method in {
    "get_offset": _get_offset,
    "set_offset": _set_offset,
    "get_state": _get_state,
    "set_state": _set_state,
    "seed": _seed,
    "clone_state": _clone_state,
    "__reduce__": _reduce,
    "__setstate__": _set_pickled_state,
}.items():
    setattr(Generator, _name, _method)


def manual_seed(seed: int) -> Generator:
    """Seeds the generators of all devices."""
    seed = int(seed)
    for found in registry.accelerators.values():
        found.seed_all(seed)
    return default_generator.manual_seed(seed)


def seed() -> int:
    """Seeds the generators of all devices from the operating system and returns the seed."""
    value = int.from_bytes(os.urandom(8), "little")
    manual_seed(value)
    return value


def initial_seed() -> int:
    """The seed the CPU generator started from."""
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """The state of the CPU generator."""
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Restores the CPU generator's state."""
    default_generator.set_state(new_state)


@contextlib.contextmanager
def fork_rng(
    devices: Iterable[int] | None = None, enabled: bool = True, device_type: str | None = None
) -> Iterator[None]:
    """Random numbers drawn inside leave no trace outside."""
    accelerator = registry.accelerator() if device_type is None else registry.accelerators.get(device_type)
    if accelerator is None and device_type != "cpu":
        raise RuntimeError(f"torch has no module of `{device_type}`: its generators cannot be forked")
    if not enabled:
        yield
        return
    module = (accelerator or registry.accelerator()).module
    if devices is not None:
        indices = list(devices)
    else:
        indices = list(range(module.device_count())) if module.is_initialized() else []
    state = get_rng_state()
    device_states = [module.get_rng_state(i) for i in indices]
    try:
        yield
    finally:
        set_rng_state(state)
        for index, device_state in zip(indices, device_states, strict=True):
            module.set_rng_state(device_state, index)
