"""Where storages come from and go to: location tags such as "cpu" and "meta", and map_location."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from .. import _C
from .._devices import registry
from .._storage import UntypedStorage

Tagger = Callable[[Any], str | None]
Deserializer = Callable[[Any, str], Any]
_packages: list[tuple[int, Tagger, Deserializer]] = []


def register_package(priority: int, tagger: Tagger, deserializer: Deserializer) -> None:
    """Teaches save and load another place for storages. Lower priorities are asked first.

    ``tagger(storage)`` gives the location's text or None, ``deserializer(storage, location)`` the storage there
    or None.
    """
    _packages.append((priority, tagger, deserializer))
    _packages.sort(key=lambda package: package[0])


def location_tag(storage: Any) -> str:
    if (
        fake := getattr(storage, "_fake_device", None)
    ) is not None:  # of a fake tensor that is saved as a real one
        return str(fake)
    for _, tagger, _ in _packages:
        location = tagger(storage)
        if location:
            return location
    raise RuntimeError(f"don't know how to determine data location of {_type_name(storage)}")


def default_restore_location(storage: Any, location: str) -> Any:
    """The storage moved to where ``location`` says, by the first package that knows it."""
    for _, _, deserializer in _packages:
        restored = deserializer(storage, location)
        if restored is not None:
            return restored
    raise RuntimeError(
        f"don't know how to restore data location of {_type_name(storage)} (tagged with {location})"
    )


def _type_name(storage: Any) -> str:
    return f"torch.storage.{type(storage).__name__}"


def restorer(map_location: Any) -> Callable[[Any, str], Any]:
    """map_location as a function of a storage and its location."""
    if map_location is None:
        return default_restore_location
    if isinstance(map_location, dict):
        return lambda storage, location: default_restore_location(
            storage, map_location.get(location, location)
        )
    if isinstance(map_location, bytes):
        map_location = map_location.decode("ascii")
    if isinstance(map_location, (str, _C.device)):
        return lambda storage, location: default_restore_location(storage, str(map_location))

    def restore(storage: Any, location: str) -> Any:
        restored = map_location(storage, location)
        return default_restore_location(storage, location) if restored is None else restored

    return restore


def is_meta(map_location: Any) -> bool:
    return isinstance(map_location, (str, _C.device)) and str(map_location) == "meta"


def _device_of(location: str, kind: str) -> Any:
    module: Any = registry.get_device_module(kind)
    if not module.is_available():
        raise RuntimeError(
            f"Attempting to deserialize object on a {kind.upper()} device but torch.{kind}.is_available() is False. If "
            "you are running on a CPU-only machine, please use torch.load with map_location=torch.device('cpu') to map "
            "your storages to the CPU."
        )
    device = _C.device(location)
    count = module.device_count()
    if (device.index or 0) >= count:
        raise RuntimeError(
            f"Attempting to deserialize object on {kind.upper()} device {device.index} but "
            f"torch.{kind}.device_count() is {count}. Please use torch.load with map_location to map your "
            "storages to an existing device."
        )
    return device


def _accelerator(kind: str) -> tuple[Tagger, Deserializer]:
    def tag(storage: Any) -> str | None:
        return f"{kind}:{storage.device.index or 0}" if storage.device.type == kind else None

    def restore(storage: Any, location: str) -> Any:
        if not re.fullmatch(rf"{kind}(:\d+)?", location):
            return None
        return storage.to(device=_device_of(location, kind))

    return tag, restore


register_package(
    10,
    lambda storage: "cpu" if storage.device.type == "cpu" else None,
    lambda storage, location: storage.cpu() if location == "cpu" else None,
)
register_package(20, *_accelerator("cuda"))
register_package(
    22,
    lambda storage: "meta" if storage.device.type == "meta" else None,
    lambda storage, location: UntypedStorage(storage.nbytes(), device="meta") if location == "meta" else None,
)
registry.for_each_accelerator(lambda found: register_package(23, *_accelerator(found.type)))
