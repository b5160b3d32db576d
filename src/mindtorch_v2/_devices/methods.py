"""Attributes that are called after a kind of device: ``tensor.is_<type>``, ``tensor.<type>()``, ``module.<type>()``.

Classes say how theirs are made of a type's name, devices that they are there; whoever comes first.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from types import GetSetDescriptorType
from typing import Any

from .. import _C

Maker = Callable[[str], dict[str, Any]]
_classes: dict[type, tuple[str, Maker]] = {}
_types: dict[str, Collection[str]] = {}  # and the groups of classes that have its attributes
unsupported_dtypes: dict[str, Collection[Any]] = {}  # of typed storages, by type of device
GROUPS = ("tensor", "module", "packed_sequence", "storage")


def made_for_each_type(group: str, owner: type, make: Maker) -> None:
    """`make` gives the attributes that `owner` has for a type of device."""
    _classes[owner] = (group, make)
    for kind, groups in _types.items():
        if group in groups:
            _add(owner, make(kind))


def add(kind: str, groups: Collection[str] = GROUPS) -> None:
    """Classes of the groups get the attributes of a type of device, now or when they are defined."""
    _types[kind] = {*_types.get(kind, ()), *groups}
    for owner, (group, make) in _classes.items():
        if group in groups:
            _add(owner, make(kind))


def check_absent(kind: str, groups: Collection[str]) -> None:
    """Raises where a class of the groups has one of the attributes already."""
    for owner, (group, make) in _classes.items():
        if group in groups:
            for name in make(kind):
                if hasattr(owner, name) and not _is_native(owner, name):
                    raise RuntimeError(
                        f"The custom device module of {owner} has already been registered with {name}"
                    )


def _is_native(owner: type, name: str) -> bool:
    return isinstance(vars(owner).get(name), GetSetDescriptorType)


def _add(owner: type, attributes: dict[str, Any]) -> None:
    for name, value in attributes.items():
        if not _is_native(owner, name):  # which is faster
            if not isinstance(value, property):
                value.__name__, value.__qualname__ = name, f"{owner.__name__}.{name}"
                value.__module__ = owner.__module__
            setattr(owner, name, value)


def target_of(kind: str, device: Any) -> Any:
    """The device that ``tensor.<kind>(device)`` means."""
    if device is not None and not isinstance(device, str | int | _C.device):
        raise TypeError(
            f"{kind}(): argument 'device' (position 1) must be torch.device, not {type(device).__name__}"
        )
    if isinstance(device, int):
        target = _C.device(kind, device)
    else:
        target = _C.device(kind if device is None else device)
    if target.type != kind:
        raise RuntimeError(f"Invalid device, must be {kind} device")
    return target
