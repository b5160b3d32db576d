"""``torch.npu.FloatTensor``, ``torch.npu.FloatStorage`` and their like: classes of one dtype on an NPU."""

from __future__ import annotations

from functools import cache
from typing import Any

from .. import _C
from .._creation import tensor
from .._functions import empty
from .._storage_typed import STORAGE_NAMES, TypedStorage
from .._tensor.legacy_types import OfOneDtype
from .._types.dtypes import LEGACY_NAMES, dtype_of
from .._types.size import Size

DTYPES = {name: dtype_of(dtype) for dtype, name in STORAGE_NAMES.items()} | {
    f"{LEGACY_NAMES[dtype]}Tensor": dtype_of(dtype)
    for dtype in STORAGE_NAMES
    if not dtype.startswith("complex")
}


class _OnNpu(OfOneDtype):
    """Instances are tensors (or storages) of the class's dtype that lie on an NPU."""

    device_type = "npu"

    def __instancecheck__(cls, instance: Any) -> bool:
        kind = TypedStorage if cls.__name__.endswith("Storage") else _C.Tensor
        return isinstance(instance, kind) and instance.device.type == "npu" and instance.dtype == cls.dtype

    def __call__(cls, *args: Any, **known: Any) -> Any:
        known = {"device": "npu", **known}
        if cls.__name__.endswith("Storage"):
            return TypedStorage(*args, dtype=cls.dtype, **known)
        if not args:
            return empty(0, dtype=cls.dtype, **known)
        if len(args) == 1 and not isinstance(args[0], (int, Size)):
            return tensor(args[0], dtype=cls.dtype, **known)
        return empty(*args, dtype=cls.dtype, **known)


@cache
def make(name: str) -> Any:
    """The class of a name in ``DTYPES``."""
    made = _OnNpu(name, (), {"__module__": "torch.npu", "__doc__": f"A {name} on an NPU."})
    made.dtype = DTYPES[name]
    return made
