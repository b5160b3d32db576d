"""Names in files: what is ours is called ``torch…`` there, so that PyTorch opens what we write and the reverse.

PyTorch itself is never imported.
"""

from __future__ import annotations

import importlib
import pickle
import struct
from functools import cache
from types import FunctionType
from typing import Any

from .. import _C
from .._devices import registry
from .._storage_typed import STORAGE_NAMES
from .._types.dtypes import LEGACY_NAMES, dtype_of

_OURS = __name__.split(".", 1)[0]

# What PyTorch keeps elsewhere, or kept elsewhere in older versions; vendors' packages say it of themselves.
_MOVED_MODULES = {"torch.tensor": "torch._tensor"}
registry.for_each_accelerator(lambda found: _MOVED_MODULES.update(found.moved_modules))


def written_name(obj: Any, name: str | None = None) -> tuple[str, str] | None:
    """The module and name that stand for one of our objects in a file; None for an object of others."""
    module = getattr(obj, "__module__", None) or ""
    qualified = name if name is not None else str(getattr(obj, "__qualname__", ""))
    root, dot, rest = module.partition(".")
    if root not in (_OURS, "torch") or "<locals>" in qualified:
        return None
    outside = f"torch{dot}{rest}"
    try:
        found = resolve(outside, qualified)
    except AttributeError:
        found = None
    if found is not obj:
        # A program's own `torch…` module, or an object that its module does not have: pickle knows what to say.
        return None
    return outside, qualified


def resolve(module: str, name: str) -> Any:
    """The object of ours that ``torch…`` and a name in a file mean."""
    module = _MOVED_MODULES.get(module, module)
    path = module.split(".")[1:]
    # A class may live in another file here; then a package around it has it too.
    for length in [len(path), *range(len(path) - 1, 0, -1)]:
        try:
            found: Any = importlib.import_module(".".join([_OURS, *path[:length]]))
            for part in name.split("."):
                found = getattr(found, part)
        except (ModuleNotFoundError, AttributeError):
            continue
        if getattr(found, "__refuses__", False):  # Note [Names that refuse] in _absent
            continue
        return found
    if module in ("torch", *device_modules()) and name.removesuffix("Tensor") in LEGACY_NAMES.values():
        return _C.Tensor  # files from before 0.4 name the type, which their storages have as well
    raise AttributeError(
        f"the file refers to {module}.{name}, which mindtorch_v2 does not have; if the object matters, save its "
        "state_dict() instead of the object itself"
    )


def device_modules() -> list[str]:
    """The modules whose tensor and storage classes files may name: of PyTorch's own device, and of those here."""
    return ["torch.cuda", *(f"torch.{kind}" for kind in registry.accelerators)]


def _vendor_packages() -> list[str]:
    return [name for found in registry.accelerators.values() for name in found.packages]


def is_torch_name(module: str) -> bool:
    return module.split(".", 1)[0] in ("torch", *_vendor_packages())


@cache
def pickler_class(pickle_module: Any) -> Any:
    """The module's Pickler, in Python where there is one, because only that lets us choose the names written."""
    base = pickle._Pickler if pickle_module is pickle else pickle_module.Pickler

    class Pickler(base):  # type: ignore[misc, valid-type]
        dispatch = dict(getattr(base, "dispatch", {}))

        def save_global(self, obj: Any, name: str | None = None) -> None:
            outside = written_name(obj, name)
            if outside is None:
                super().save_global(obj, name)
            elif self.proto >= 4:
                self.save(outside[0])
                self.save(outside[1])
                self.write(pickle.STACK_GLOBAL)
                self.memoize(obj)
            else:
                self.write(pickle.GLOBAL + f"{outside[0]}\n{outside[1]}\n".encode())
                self.memoize(obj)

        dispatch[FunctionType] = save_global

    return Pickler


@cache
def unpickler_class(pickle_module: Any) -> Any:
    class Unpickler(pickle_module.Unpickler):  # type: ignore[misc]
        def find_class(self, module: str, name: str) -> Any:
            if module in ("torch", "torch.storage", *device_modules(), *_vendor_packages()):
                kind = storage_type(name)
                if kind is not None:
                    return kind
            if is_torch_name(module):
                return resolve(module, name)
            return super().find_class(module, name)

    return Unpickler


class StorageType:
    """What a storage class in a file stands for: the dtype of the elements counted."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype

    def __str__(self) -> str:
        return f"StorageType(dtype={self.dtype})"


def storage_type(name: str) -> StorageType | None:
    """The type that a name such as ``FloatStorage`` means; None for other names."""
    if name == "UntypedStorage":
        return StorageType(_C.uint8)
    for dtype, legacy in STORAGE_NAMES.items():
        if legacy == name:
            return StorageType(dtype_of(dtype))
    return None


def read_exactly(read: Any, size: int) -> bytes:
    data: bytes = read(size)
    if len(data) != size:
        raise pickle.UnpicklingError("pickle data was truncated")
    return data


def unpack_from(read: Any, form: str) -> Any:
    return struct.unpack(form, read_exactly(read, struct.calcsize(form)))[0]
