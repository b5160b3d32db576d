"""TypedStorage: a storage with a dtype, and the names it had per dtype (FloatStorage, …)."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from numbers import Integral
from typing import Any

from . import _C
from ._creation import tensor
from ._devices import methods, registry
from ._settings.typed_storages import _warn_typed_storage_removal, quietly, warns
from ._storage import StorageConversions, UntypedStorage, describe, wrap_index
from ._types.dtypes import LEGACY_NAMES, dtype_of

_USAGE = """TypedStorage.__init__ received an invalid combination of arguments. Expected one of:
 * (*, torch.device device, torch.dtype dtype)
 * (int size, *, torch.device device, torch.dtype dtype)
 * (Sequence data, *, torch.device device, torch.dtype dtype)
 * (*, UntypedStorage wrap_storage, torch.dtype dtype)
"""


class TypedStorage(StorageConversions):
    is_sparse = False

    def __init__(
        self,
        *args: Any,
        wrap_storage: UntypedStorage | None = None,
        dtype: Any = None,
        device: Any = None,
        _internal: bool | None = None,
    ) -> None:
        if not _internal:
            _warn_typed_storage_removal()
        self._dtype = dtype
        if wrap_storage is not None:
            if args:
                raise RuntimeError(
                    _USAGE + "No positional arguments should be given when using 'wrap_storage'"
                )
            if dtype is None:
                raise RuntimeError(_USAGE + "Argument 'dtype' must be specified")
            if not isinstance(dtype, _C.dtype):
                raise TypeError(_USAGE + f"Argument 'dtype' must be torch.dtype, not {type(dtype)}")
            if not isinstance(wrap_storage, UntypedStorage):
                raise TypeError(
                    _USAGE + f"Argument 'wrap_storage' must be UntypedStorage, but got {type(wrap_storage)}"
                )
            if device is not None:
                raise RuntimeError(
                    _USAGE + "Argument 'device' should not be specified when 'wrap_storage' is given"
                )
            self._untyped_storage = wrap_storage
            return
        if len(args) > 1:
            raise RuntimeError(_USAGE + "Too many positional arguments")
        self._dtype = _C.get_default_dtype() if dtype is None else dtype
        if device is not None and _C.device(device).type not in (
            "cpu",
            "meta",
            "cuda",
            *registry.accelerators,
        ):
            raise RuntimeError(_USAGE + f"Storage device not recognized: {_C.device(device).type}")
        content = args[0] if args else 0
        if isinstance(content, Integral):
            self._untyped_storage = UntypedStorage(int(content) * self._dtype.itemsize, device=device)
        elif isinstance(content, Sequence):
            values = tensor(content, dtype=self._dtype, device="cpu" if device is None else device)
            self._untyped_storage = values.untyped_storage()
        else:
            raise TypeError(_USAGE + f"Argument type not recognized: {type(content)}")

    @classmethod
    def from_file(cls, filename: str, shared: bool = False, size: int = 0) -> TypedStorage:
        """``size`` elements of a file, mapped; see UntypedStorage.from_file."""
        dtype = cls._legacy_dtype()
        untyped = UntypedStorage.from_file(filename, shared, size * dtype.itemsize)
        return TypedStorage(wrap_storage=untyped, dtype=dtype, _internal=True)

    @classmethod
    def from_buffer(cls, *args: Any, **kwargs: Any) -> TypedStorage:
        """A copy of elements of a buffer; see UntypedStorage.from_buffer."""
        _warn_typed_storage_removal()
        return cls._from_buffer(*args, **kwargs)

    @classmethod
    def _from_buffer(cls, *args: Any, dtype: Any = None, **kwargs: Any) -> TypedStorage:
        dtype = cls._legacy_dtype() if dtype is None else dtype
        made = UntypedStorage.from_buffer(*args, dtype=dtype, **kwargs)
        return TypedStorage(wrap_storage=made, dtype=dtype, _internal=True)

    @classmethod
    def _legacy_dtype(cls) -> Any:
        return _C.get_default_dtype()

    @staticmethod
    def _dtype_named(name: Any) -> Any:
        """The dtype that a storage class, its name ("torch.FloatStorage") or a dtype stands for."""
        if isinstance(name, str):
            found = [dtype for dtype, legacy in STORAGE_NAMES.items() if name == f"torch.{legacy}"]
            if not found:
                raise ValueError(
                    f"{name!r} names no storage type: expected a name such as 'torch.FloatStorage'"
                )
            return dtype_of(found[0])
        return name._dtype if isinstance(name, _PerDtype) else name

    # --- what it is

    @property
    def dtype(self) -> Any:
        return self._dtype

    @property
    def device(self) -> Any:
        return self._untyped_storage.device

    @property
    def is_cuda(self) -> bool:
        return self._untyped_storage.is_cuda

    @property
    def _cdata(self) -> int:
        return self._untyped_storage._cdata

    @property
    def filename(self) -> str | None:
        """The file or shared-memory object behind the elements."""
        return self._untyped_storage.filename

    def get_device(self) -> int:
        return self._untyped_storage.get_device()

    def untyped(self) -> UntypedStorage:
        return self._untyped_storage

    def untyped_storage(self) -> UntypedStorage:
        return self._untyped_storage

    def nbytes(self) -> int:
        return self._untyped_storage.nbytes()

    def element_size(self) -> int:
        return int(self._dtype.itemsize)

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self._untyped_storage.nbytes()

    def size(self) -> int:
        return self.nbytes() // self.element_size()

    def __len__(self) -> int:
        return self.size()

    def data_ptr(self) -> int:
        return self._untyped_storage.data_ptr()

    def pickle_storage_type(self) -> str:
        """The name that PyTorch's file format uses for this dtype."""
        return STORAGE_NAMES[self._dtype.name]

    def type(self, dtype: Any = None, non_blocking: bool = False) -> Any:
        if dtype is None:
            where = "" if self.device.type in ("cpu", "meta") else f"{self.device.type}."
            return f"torch.{where}{self.pickle_storage_type()}"
        return self._converted(self._dtype_named(dtype))

    # --- elements

    def _elements(self) -> _C.Tensor:
        if self.device.type == "meta":
            raise NotImplementedError("Not available for 'meta' device type")
        return _C.tensor_from_storage(self._untyped_storage._handle, self._dtype, 0, [self.size()], [1])

    def tolist(self) -> list[Any]:
        return self._elements().cpu().tolist()  # type: ignore[no-any-return]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def _position(self, index: Any) -> int:
        try:
            position = operator.index(index)
        except TypeError:
            raise TypeError(f"can't index a {self.type()} with {type(index).__name__}") from None
        return wrap_index(position, self.size())

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        return self._elements()[self._position(index)].item()

    def __setitem__(self, index: Any, value: Any) -> None:
        if not isinstance(index, (Integral, slice)):
            raise RuntimeError(f"can't index a {type(self)} with {type(index)}")
        if is_storage(value):
            raise RuntimeError(f"cannot set item with value type {type(value)}")
        elements = self._elements()
        elements[index if isinstance(index, slice) else self._position(index)] = value

    def fill_(self, value: Any) -> TypedStorage:
        self[:] = value
        return self

    def copy_(self, source: Any, non_blocking: bool | None = None) -> TypedStorage:
        """Copies the bytes of ``source``, or its values where the dtype differs and the length agrees."""
        if isinstance(source, TypedStorage) and source.dtype != self._dtype and source.size() == self.size():
            self._elements().copy_(source._elements())
        else:
            self._untyped_storage.copy_(source.untyped(), non_blocking)
        return self

    def _converted(self, dtype: Any) -> TypedStorage:
        if dtype == self._dtype:
            return self
        made = self._elements().to(dtype).untyped_storage()
        return TypedStorage(wrap_storage=made, dtype=dtype, _internal=True)

    # --- size and place

    def _over(self, untyped: UntypedStorage) -> TypedStorage:
        return self if untyped is self._untyped_storage else self._new_wrapped_storage(untyped)

    def resizable(self) -> bool:
        return self._untyped_storage.resizable()

    def resize_(self, size: int) -> TypedStorage:
        self._untyped_storage.resize_(size * self.element_size())
        return self

    def clone(self) -> TypedStorage:
        return self._over(self._untyped_storage.clone())

    def __copy__(self) -> TypedStorage:
        return self.clone()

    def __deepcopy__(self, memo: dict[int, Any]) -> TypedStorage:
        return self._over(self._untyped_storage.__deepcopy__(memo))

    def to(self, *, device: Any, non_blocking: bool = False) -> TypedStorage:
        return self._over(self._untyped_storage.to(device=device, non_blocking=non_blocking))

    def cpu(self) -> TypedStorage:
        return self._over(self._untyped_storage.cpu())

    def pin_memory(self, device: Any = None) -> TypedStorage:
        return self._over(self._untyped_storage.pin_memory(device))

    def is_pinned(self, device: Any = None) -> bool:
        return self._untyped_storage.is_pinned(device)

    def is_shared(self) -> bool:
        return self._untyped_storage.is_shared()

    def share_memory_(self) -> TypedStorage:
        self._untyped_storage.share_memory_()
        return self

    def _share_fd_cpu_(self) -> tuple[int, int]:
        descriptor, nbytes = self._untyped_storage._share_fd_cpu_()
        return descriptor, nbytes // self.element_size()

    def _share_filename_cpu_(self) -> tuple[bytes, bytes, int]:
        manager, name, nbytes = self._untyped_storage._share_filename_cpu_()
        return manager, name, nbytes // self.element_size()

    def _write_file(self, *args: Any) -> None:
        self._untyped_storage._write_file(*args)

    def _set_from_file(self, *args: Any) -> TypedStorage:
        return self._over(self._untyped_storage._set_from_file(*args))

    def _new_wrapped_storage(self, untyped_storage: UntypedStorage) -> TypedStorage:
        return TypedStorage(wrap_storage=untyped_storage, dtype=self._dtype, _internal=True)

    def __reduce__(self) -> Any:
        return _rebuild_typed, (self._untyped_storage, self._dtype.name)

    # --- comparison and text

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TypedStorage):
            return False
        return self._dtype == other._dtype and self._untyped_storage == other._untyped_storage

    def __hash__(self) -> int:
        return hash(self._untyped_storage)

    def __repr__(self) -> str:
        return describe(self, f"torch.storage.TypedStorage(dtype={self._dtype}, device={self.device})")

    __str__ = __repr__


TypedStorage.__module__ = f"{__name__.partition('.')[0]}.storage"  # where people and files know it


def _rebuild_typed(untyped: UntypedStorage, dtype: str) -> TypedStorage:
    return TypedStorage(wrap_storage=untyped, dtype=dtype_of(dtype), _internal=True)


# Note [Typed storages warn] in _settings/typed_storages.py
_PUBLIC = (
    "__deepcopy__ __copy__ __getitem__ __iter__ __len__ __setitem__ bfloat16 bool byte char clone complex_double "
    "complex_float copy_ cpu data_ptr double element_size fill_ float float8_e4m3fn float8_e4m3fnuz float8_e5m2 "
    "float8_e5m2fnuz get_device half int is_pinned is_shared long nbytes pickle_storage_type pin_memory resizable "
    "resize_ share_memory_ short size to tolist type untyped"
)
_QUIET = "data_ptr element_size is_shared nbytes pickle_storage_type resize_ share_memory_ size"
for _name in _QUIET.split():
    setattr(TypedStorage, f"_{_name}", quietly(getattr(TypedStorage, _name)))
TypedStorage._deepcopy = quietly(TypedStorage.__deepcopy__)  # type: ignore[attr-defined]
TypedStorage._getitem = quietly(TypedStorage.__getitem__)  # type: ignore[attr-defined]
TypedStorage._setitem = quietly(TypedStorage.__setitem__)  # type: ignore[attr-defined]
TypedStorage.__repr__ = TypedStorage.__str__ = quietly(TypedStorage.__repr__)  # type: ignore[method-assign]
for _name in _PUBLIC.split():
    setattr(TypedStorage, _name, warns(getattr(TypedStorage, _name)))
for _name in ("is_cuda", "filename"):
    setattr(TypedStorage, _name, property(warns(vars(TypedStorage)[_name].fget)))


# The dtypes whose storages have a class of their own, and its name.
STORAGE_NAMES = {
    name: f"{LEGACY_NAMES[name]}Storage"
    for name in ("float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool",
                 "complex128", "complex64")
}  # fmt: skip


class _PerDtype(type):
    """``isinstance(storage, FloatStorage)`` asks for the dtype: there are no instances of
    FloatStorage itself.
    """

    _dtype: Any

    @property
    def dtype(cls) -> Any:
        _warn_typed_storage_removal()
        return cls._dtype

    def __instancecheck__(cls, instance: Any) -> bool:
        return type(instance) is TypedStorage and instance.dtype == cls.__dict__.get("_dtype")


class _LegacyStorage(TypedStorage, metaclass=_PerDtype):
    def __new__(cls, *args: Any, wrap_storage: Any = None, _internal: bool = False, **kwargs: Any) -> Any:
        usage = (
            f"{cls}.__new__ received an invalid combination of arguments. Expected one of:\n * no arguments\n"
            " * (int size)\n * (Sequence data)\n * (*, UntypedStorage wrap_storage)\n"
        )
        if cls is _LegacyStorage:
            raise RuntimeError("Only child classes of _LegacyStorage can be instantiated")
        for name in kwargs:
            if name not in ("device", "dtype"):
                raise TypeError(f"{cls}.__new__ got an unexpected keyword argument {name!r}")
            raise RuntimeError(usage + f"Keyword argument '{name}' cannot be specified")
        if not _internal:
            _warn_typed_storage_removal()
        if wrap_storage is not None and not args and not isinstance(wrap_storage, UntypedStorage):
            raise TypeError(
                usage + f"Argument 'wrap_storage' must be UntypedStorage, but got {type(wrap_storage)}"
            )
        return TypedStorage(*args, wrap_storage=wrap_storage, dtype=cls._dtype, _internal=True)

    @classmethod
    def _legacy_dtype(cls) -> Any:
        return cls._dtype


def _legacy_class(name: str, dtype: Any) -> Any:
    return _PerDtype(name, (_LegacyStorage,), {"_dtype": dtype, "__module__": "torch"})


DoubleStorage = _legacy_class("DoubleStorage", _C.float64)
FloatStorage = _legacy_class("FloatStorage", _C.float32)
HalfStorage = _legacy_class("HalfStorage", _C.float16)
BFloat16Storage = _legacy_class("BFloat16Storage", _C.bfloat16)
LongStorage = _legacy_class("LongStorage", _C.int64)
IntStorage = _legacy_class("IntStorage", _C.int32)
ShortStorage = _legacy_class("ShortStorage", _C.int16)
CharStorage = _legacy_class("CharStorage", _C.int8)
ByteStorage = _legacy_class("ByteStorage", _C.uint8)
BoolStorage = _legacy_class("BoolStorage", _C.bool)
ComplexDoubleStorage = _legacy_class("ComplexDoubleStorage", _C.complex128)
ComplexFloatStorage = _legacy_class("ComplexFloatStorage", _C.complex64)


UntypedStorage._typed = TypedStorage


def _called_after(kind: str) -> dict[str, Any]:
    """``storage.is_<kind>`` and ``storage.<kind>()``."""

    def moved(self: TypedStorage, device: Any = None, non_blocking: bool = False) -> TypedStorage:
        if self.dtype in methods.unsupported_dtypes.get(kind, ()):
            raise RuntimeError(
                f"Cannot create {kind} storage as {self.dtype} dtype is not supported by this backend"
            )
        target = methods.target_of(kind, device)
        return self.to(device=target, non_blocking=non_blocking)

    return {f"is_{kind}": property(lambda self: self.device.type == kind), kind: moved}


methods.made_for_each_type("storage", TypedStorage, _called_after)


def is_storage(obj: Any) -> bool:
    """Whether `obj` is a storage, typed or not."""
    return isinstance(obj, (UntypedStorage, TypedStorage))


# By dtype, and the other way round: how storages are called.
def _dtype_to_storage_type_map() -> dict[Any, str]:
    return {dtype_of(name): legacy for name, legacy in STORAGE_NAMES.items()}


def _typed_class(dtype: Any) -> Any:
    """The class of typed storages of a dtype; TypedStorage itself where it has none of its own."""
    return next((kind for kind in _LegacyStorage.__subclasses__() if kind._dtype == dtype), TypedStorage)


def _storage_type_to_dtype_map() -> dict[str, Any]:
    return {legacy: dtype_of(name) for name, legacy in STORAGE_NAMES.items()}


# All classes of storages, which programs look through.
_storage_classes = {UntypedStorage, TypedStorage, *_LegacyStorage.__subclasses__()}
