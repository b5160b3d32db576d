"""The tensor types of old programs, such as ``torch.FloatTensor``: classes that stand for a dtype on the CPU."""

from __future__ import annotations

from typing import Any

from .. import _C, _functions
from .._C import Tensor
from .._creation import tensor
from .._devices import registry
from .._settings.warning import warn_once
from .._storage import UntypedStorage
from .._storage_typed import TypedStorage
from .._types.formats import strided
from .._types.size import Size
from .methods import same_as_tensor


class OfOneDtype(type):
    """What the legacy types of all devices share: each stands for a dtype on a kind of device."""

    dtype: _C.dtype
    device_type: str


class tensortype(OfOneDtype):
    """The type of the legacy tensor types: their instances are the CPU tensors of their dtype."""

    device_type = "cpu"
    layout = strided

    def __new__(mcs, name: str, bases: tuple[type, ...], described: dict[str, Any]) -> tensortype:
        if bases:
            raise TypeError(f"type 'torch.{bases[0].__name__}' is not an acceptable base type")
        return super().__new__(mcs, name, bases, described)

    is_cuda = False
    is_sparse = False
    is_xpu = False

    def __call__(cls, *args: Any, device: Any = None) -> Tensor:
        """FloatTensor(2, 3) is uninitialised, FloatTensor([1, 2]) holds values."""
        if device is not None and _C.device(device).type != "cpu":
            raise RuntimeError(
                f"legacy constructor expects device type: cpu but device type: {device} was passed"
            )
        if not args:
            return _functions.empty(0, dtype=cls.dtype, device="cpu")
        first = args[0]
        if len(args) == 1 and isinstance(first, Tensor):
            if first.dtype is not cls.dtype or first.device.type != "cpu":
                raise TypeError(
                    f"expected a CPU tensor of dtype {cls.dtype} (got {first.dtype} on {first.device}); "
                    f"convert it with .to({cls.dtype})"
                )
            return same_as_tensor(first)
        if len(args) == 1 and isinstance(first, (UntypedStorage, TypedStorage)):
            return _functions.empty(0, dtype=cls.dtype, device="cpu").set_(first)
        if len(args) == 1 and not isinstance(first, (int, Size)):
            return tensor(first, dtype=cls.dtype, device="cpu")
        return _functions.empty(*args, dtype=cls.dtype, device="cpu")

    def __instancecheck__(cls, instance: Any) -> bool:
        if not isinstance(instance, Tensor) or instance.layout is not strided:
            return False
        return instance.dtype is cls.dtype and instance.device.type == "cpu"


_PACKAGE = __name__.partition(".")[0]
tensortype.__module__ = _PACKAGE


def _make(name: str, dtype: _C.dtype) -> tensortype:
    return tensortype(name, (), {"dtype": dtype, "__module__": _PACKAGE, "__doc__": f"{dtype} on the CPU."})


BFloat16Tensor = _make("BFloat16Tensor", _C.bfloat16)
BoolTensor = _make("BoolTensor", _C.bool)
ByteTensor = _make("ByteTensor", _C.uint8)
CharTensor = _make("CharTensor", _C.int8)
DoubleTensor = _make("DoubleTensor", _C.float64)
FloatTensor = _make("FloatTensor", _C.float32)
HalfTensor = _make("HalfTensor", _C.float16)
IntTensor = _make("IntTensor", _C.int32)
LongTensor = _make("LongTensor", _C.int64)
ShortTensor = _make("ShortTensor", _C.int16)


_tensor_classes = {kind for kind in list(globals().values()) if isinstance(kind, tensortype)}


def find(name: str) -> Any:
    """The type called ``torch.FloatTensor``, or ``torch.<device>.FloatTensor``."""
    start, *place, kind = name.split(".") if "." in name else ("", name)
    found: Any = globals().get(kind) if not place else None
    if len(place) == 1 and kind.endswith("Tensor"):
        accelerator = registry.accelerators.get(place[0])
        found = None if accelerator is None else getattr(accelerator.module, kind, None)
    if start != "torch" or not isinstance(found, OfOneDtype):
        raise ValueError(f"invalid type: '{name}'")
    return found


def set_default_tensor_type(t: tensortype | str) -> None:
    """Makes the dtype of a legacy type the default one. Use :func:`set_default_dtype` in new programs."""
    warn_once(
        "torch.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use torch.set_default_dtype() and "
        "torch.set_default_device() as alternatives."
    )
    kind = find(t) if isinstance(t, str) else t
    if getattr(kind, "__module__", "") == "torch.cuda":
        raise TypeError(
            f"type torch.cuda.{kind.__name__} not available. Torch not compiled with CUDA enabled."
        )
    if not isinstance(kind, tensortype):
        raise ValueError(f"invalid type: '{t}'") if isinstance(t, str) else TypeError("invalid type object")
    _C.set_default_dtype(kind.dtype)
