"""What the module of a device that this library does not drive says: how many there are, and why nothing works.

Modules of PyTorch's own devices are made of these, so that programs that ask first find their way to another
device, and programs that do not ask get PyTorch's error.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NoReturn


class AbsentName(AttributeError, NotImplementedError):
    """A name that is known and not there. ``hasattr`` says False; who uses it reads what to use instead."""


class Absent:
    """The functions of an absent device; ``name`` as PyTorch spells it in "Torch not compiled with NAME enabled"."""

    def __init__(self, name: str) -> None:
        self.name = name

    def refuse(self) -> NoReturn:
        raise AssertionError(f"Torch not compiled with {self.name} enabled")

    def function(self, name: str) -> Callable[..., NoReturn]:
        """A function of that name that needs the device."""

        def refusing(*args: Any, **kwargs: Any) -> NoReturn:
            self.refuse()

        refusing.__name__ = refusing.__qualname__ = name
        refusing.__doc__ = f"Needs a device: raises because there is no {self.name} here."
        return refusing

    def kind(self, name: str, module: str, base: type = object) -> type:
        """A class of that name: good for annotations and isinstance, but it makes no objects."""

        def refusing(cls: type, *args: Any, **kwargs: Any) -> NoReturn:
            raise RuntimeError(f"torch.{self.name.lower()}.{name} requires {self.name} support")

        doc = f"Stands for PyTorch's {self.name} class in annotations; making one raises."
        return type(name, (base,), {"__new__": refusing, "__doc__": doc, "__module__": module})


def is_available() -> bool:
    """False: there is no such device."""
    return False


def is_initialized() -> bool:
    """False: there is no such device."""
    return False


def device_count() -> int:
    """0: there is no such device."""
    return 0


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """False: there is no such device."""
    return False


def is_tf32_supported() -> bool:
    """False: there is no such device."""
    return False


def is_current_stream_capturing() -> bool:
    """False: nothing is captured without a device."""
    return False


def get_arch_list() -> list[str]:
    """Empty: the library is compiled for none of them."""
    return []


def get_gencode_flags() -> str:
    """Empty: the library is compiled for none of them."""
    return ""


def manual_seed(seed: int) -> None:
    """Seeds the current device's generator; there is none, so the number is only checked."""
    int(seed)


def manual_seed_all(seed: int) -> None:
    """Seeds the generators of all devices; there are none, so the number is only checked."""
    int(seed)


def seed() -> None:
    """Seeds the current device's generator by chance; there is none."""


def seed_all() -> None:
    """Seeds the generators of all devices by chance; there are none."""


def get_rng_state_all() -> list[Any]:
    """The states of the generators of all devices: none."""
    return []


def set_rng_state_all(new_states: Any) -> None:
    """Restores what :func:`get_rng_state_all` returned."""
    if states := list(new_states):
        raise RuntimeError(f"got the states of {len(states)} generators, but there is no such device")


def empty_cache() -> None:
    """Gives cached memory back; nothing is cached."""


def memory_allocated(device: Any = None) -> int:
    """Bytes in use on a device: 0."""
    return 0


def memory_stats(device: Any = None) -> dict[str, Any]:
    """The counters of the allocator: none, it was never used."""
    return OrderedDict()
