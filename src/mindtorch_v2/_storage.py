"""UntypedStorage: the bytes that tensors view.

The native part (`_C.StorageBase`) is one object per block of memory: Note [Identity of storages] in
csrc/bindings/storage_object.h. What reads or writes the bytes goes through a tensor over them, so that it works
alike on every device.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Iterator, Sequence
from numbers import Integral
from typing import Any, ClassVar, Self

from . import _C
from ._devices import methods, registry

_SHARING_STRATEGIES = ("file_descriptor", "file_system")
_sharing_strategy = "file_descriptor"
# What is done before memory is shared. The package loads its `multiprocessing`, which knows how to pass storages on.
before_sharing: list[Callable[[], object]] = []


class _FileName(str):
    """The name of a file. Programs of the first MindTorch call it, as it was a method there."""

    __slots__ = ()

    def __call__(self) -> str:
        return str(self)


class StorageConversions:
    """``float()``, ``int()``, …: a typed copy of the elements. What both storage classes share."""

    def _converted(self, dtype: _C.dtype) -> Any:
        raise NotImplementedError

    def double(self) -> Any:
        return self._converted(_C.float64)

    def float(self) -> Any:
        return self._converted(_C.float32)

    def half(self) -> Any:
        return self._converted(_C.float16)

    def bfloat16(self) -> Any:
        return self._converted(_C.bfloat16)

    def long(self) -> Any:
        return self._converted(_C.int64)

    def int(self) -> Any:
        return self._converted(_C.int32)

    def short(self) -> Any:
        return self._converted(_C.int16)

    def char(self) -> Any:
        return self._converted(_C.int8)

    def byte(self) -> Any:
        return self._converted(_C.uint8)

    def bool(self) -> Any:
        return self._converted(_C.bool)

    def complex_double(self) -> Any:
        return self._converted(_C.complex128)

    def complex_float(self) -> Any:
        return self._converted(_C.complex64)

    def float8_e5m2(self) -> Any:
        return self._converted(_C.float8_e5m2)

    def float8_e4m3fn(self) -> Any:
        return self._converted(_C.float8_e4m3fn)

    def float8_e5m2fnuz(self) -> Any:
        return self._converted(_C.float8_e5m2fnuz)

    def float8_e4m3fnuz(self) -> Any:
        return self._converted(_C.float8_e4m3fnuz)


class _StorageBase(StorageConversions):
    """What programs ask ``isinstance`` of: storages of bytes."""


class UntypedStorage(_C.StorageBase, _StorageBase):
    """A block of bytes on a device: ``UntypedStorage(8)``, ``UntypedStorage([1, 2, 3], device="cpu")``."""

    is_sparse = False
    is_sparse_csr = False
    _typed: ClassVar[Any]  # the class TypedStorage, which is defined above this one and puts itself here

    @classmethod
    def from_file(cls, filename: str, shared: bool = False, nbytes: int = 0) -> Self:
        """The bytes of a file, mapped. ``shared``: writes reach the file, which grows to ``nbytes``
        if need be.
        """
        return cls._wrap(_C._StorageHandle.from_file(filename, shared, nbytes))

    @classmethod
    def from_buffer(
        cls,
        buffer: Any,
        byte_order: str | None = None,
        count: int = -1,
        offset: int = 0,
        *,
        dtype: _C.dtype,
    ) -> Self:
        """A copy of ``count`` elements of ``buffer`` after ``offset`` bytes, turned to this machine's
        byte order.
        """
        if byte_order is None and dtype.itemsize > 1:
            raise RuntimeError("function missing required argument 'byte_order' (pos 2)")
        data = bytes(memoryview(buffer).cast("B"))
        size = dtype.itemsize
        if not 0 <= offset <= len(data):
            raise ValueError(
                f"offset must be non-negative and no greater than buffer length ({len(data)}) , but got "
                f"{offset}"
            )
        rest = len(data) - offset
        if count < 0:
            if rest % size:
                raise ValueError(f"buffer size ({rest}) must be a multiple of element size ({size})")
            count = rest // size
        if count * size > rest:
            raise ValueError(
                f"buffer has only {rest // size} elements after offset {offset}, but specified a size of "
                f"{count}"
            )
        storage = cls._wrap(_from_bytes(data[offset : offset + count * size])._handle)
        if byte_order not in (None, "native", "little", "big"):
            raise ValueError(f"invalid byte_order '{byte_order}' (expected 'big', 'little', or 'native')")
        if byte_order == "big":  # every machine we run on is little endian
            storage.byteswap(dtype)
        return storage

    # --- what it is

    @property
    def device(self) -> Any:
        return self._handle.device

    @property
    def is_cuda(self) -> bool:
        return bool(self.device.type == "cuda")

    def get_device(self) -> int:
        return -1 if self.device.index is None else int(self.device.index)

    def nbytes(self) -> int:
        return int(self._handle.nbytes())

    def size(self) -> int:
        return self.nbytes()

    def __len__(self) -> int:
        return self.nbytes()

    def element_size(self) -> int:
        return 1

    def data_ptr(self) -> int:
        """The address of the first byte; a meta storage has none and raises RuntimeError."""
        return int(self._handle.data_ptr())

    def untyped(self) -> UntypedStorage:
        return self

    @property
    def _untyped_storage(self) -> UntypedStorage:
        return self

    def __sizeof__(self) -> int:
        return super().__sizeof__() + self.nbytes()

    def type(self, dtype: Any = None, non_blocking: bool = False) -> Any:
        """The class's name, or a typed storage with the bytes converted."""
        if dtype is None:
            return "torch.storage.UntypedStorage"
        return self._converted(self._typed._dtype_named(dtype))

    # --- bytes

    def _bytes(self) -> _C.Tensor:
        if self.device.type == "meta":
            raise NotImplementedError("Not available for 'meta' device type")
        return _C.tensor_from_storage(self._handle, _C.uint8, 0, [self.nbytes()], [1])

    def tolist(self) -> list[Any]:
        return self._bytes().cpu().tolist()  # type: ignore[no-any-return]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            start, stop = self._bounds(index)
            return type(self)._wrap(_window(self._handle, start, max(0, stop - start)))
        return self._bytes()[self._position(index)].item()

    def __setitem__(self, index: Any, value: Any) -> None:
        if isinstance(value, bool) or not isinstance(value, int):
            raise RuntimeError(
                f"can only set storage content with a int types, but got {_name(value)} instead"
            )
        if isinstance(index, slice):
            start, stop = self._bounds(index)
            self._bytes()[start:stop].fill_(value & 255)
        else:
            self._bytes()[self._position(index)].fill_(value & 255)

    def _bounds(self, index: slice) -> tuple[int, int]:
        start, stop, step = index.indices(self.nbytes())
        if step != 1:
            raise RuntimeError(f"Trying to slice with a step of {step}, but only a step of 1 is supported")
        return start, stop

    def _position(self, index: Any) -> int:
        try:
            position = operator.index(index)
        except TypeError:
            raise TypeError(f"can't index a torch.UntypedStorage with {_name(index)}") from None
        return wrap_index(position, self.nbytes())

    def fill_(self, value: Any) -> Self:
        if isinstance(value, bool) or not isinstance(value, int):
            raise RuntimeError(f"fill_ expects int, but got {_name(value)}")
        self._bytes().fill_(value & 255)
        return self

    def copy_(self, source: Any, non_blocking: bool | None = None) -> Self:
        source = source._untyped_storage
        if source.nbytes() != self.nbytes():
            raise RuntimeError(
                f"size does not match, self was {self.nbytes()} bytes but src was {source.nbytes()} bytes"
            )
        self._handle.copy_from(source._handle, bool(non_blocking))
        return self

    def byteswap(self, dtype: _C.dtype) -> None:
        """Reverses the bytes of every element (of every part of a complex one), in place."""
        size = dtype.itemsize // 2 if dtype.is_complex else dtype.itemsize
        if self.nbytes() % size:
            raise RuntimeError(f"byteswap: {self.nbytes()} bytes are not a whole number of {dtype} elements")
        data = self.cpu().tobytes()
        swapped = bytearray(len(data))
        for position in range(size):
            swapped[position::size] = data[size - 1 - position :: size]
        self.copy_(_from_bytes(bytes(swapped)))

    def tobytes(self) -> bytes:
        return bytes(self.cpu()._handle.buffer())

    # --- size and place

    def resizable(self) -> bool:
        return bool(self._handle.resizable())

    def resize_(self, size: int) -> Self:
        self._handle.resize(size)
        return self

    def new(self) -> UntypedStorage:
        return UntypedStorage(device=self.device)

    def clone(self) -> UntypedStorage:
        return UntypedStorage(self.nbytes(), device=self.device).copy_(self)

    def __copy__(self) -> UntypedStorage:
        return self.clone()

    def __deepcopy__(self, memo: dict[int, Any]) -> UntypedStorage:
        # Tensors that shared the storage share its copy, wherever the walk meets them.
        key: Any = ("storage", self._cdata)
        if key not in memo:
            memo[key] = self.clone()
        return memo[key]  # type: ignore[no-any-return]

    def to(self, *, device: Any, non_blocking: bool = False) -> UntypedStorage:
        device = registry.with_index(_device(device))
        if device.type == self.device.type and device.index in (None, self.device.index):
            return self
        return UntypedStorage(self.nbytes(), device=device).copy_(self, non_blocking)

    def cpu(self) -> UntypedStorage:
        """A copy in host memory; itself when it is there already."""
        return self.to(device="cpu")

    def pin_memory(self, device: Any = None) -> UntypedStorage:
        """A copy in host memory that the device can read asynchronously; itself when it is there already."""
        if self.device.type != "cpu":
            raise TypeError(f"cannot pin '{self.type()}' only CPU memory can be pinned")
        return self if self.is_pinned() else self._bytes().pin_memory().untyped_storage()

    def is_pinned(self, device: Any = None) -> bool:
        return bool(self._handle.is_pinned())

    # --- sharing

    def is_shared(self) -> bool:
        return bool(self._handle.is_shared())

    def share_memory_(self) -> Self:
        """Moves the bytes to memory that other processes can map, and lets `multiprocessing` pass it on."""
        if self.device.type == "meta":
            raise RuntimeError("share_memory_: only available on CPU, got a meta storage")
        if self.device.type == "cpu":
            self._handle.share_memory(_shared_by_name())
        return self

    def _share_fd_cpu_(self) -> tuple[int, int]:
        """Moves the bytes to shared memory without a name; its descriptor, which the caller closes, and its size."""
        self._share("_share_fd_cpu_", named=False)
        return os.dup(self._handle.descriptor()), self.nbytes()

    def _share_filename_cpu_(self) -> tuple[bytes, bytes, int]:
        """Moves the bytes to shared memory with a name: (nothing, the name, the size)."""
        self._share("_share_filename_cpu_", named=True)
        return b"", str(self._handle.filename()).encode(), self.nbytes()

    def _share(self, function: str, named: bool) -> None:
        if self.device.type != "cpu":
            raise RuntimeError(f"{function}: only available on CPU, got a {self.device.type} storage")
        self._handle.share_memory(named)

    @classmethod
    def _new_shared_fd_cpu(cls, descriptor: int, size: int) -> Self:
        """The bytes behind a descriptor of another process, which is closed by this."""
        return cls._wrap(_C._StorageHandle.from_descriptor(descriptor, size))

    @classmethod
    def _new_shared_filename_cpu(cls, manager: bytes, name: bytes, size: int) -> Self:
        """The bytes behind the name that another process gave them."""
        return cls._wrap(_C._StorageHandle.from_shared_name(os.fsdecode(name), size))

    # --- files

    def _write_file(self, file: Any, is_real_file: bool, save_size: bool, element_size: int) -> None:
        """Writes the bytes, after the number of elements if asked for."""
        data = self.tobytes()
        if save_size:
            file.write((len(data) // element_size).to_bytes(8, "little"))
        file.write(data)

    def _set_from_file(self, file: Any, offset: int | None, is_real_file: bool, element_size: int) -> Self:
        """Takes the bytes that `_write_file` wrote with their number, from a place in the file."""
        if offset is not None:
            file.seek(offset)
        count = int.from_bytes(_read(file, 8), "little")
        if self.nbytes() and self.nbytes() != count * element_size:
            raise RuntimeError(
                f"storage has wrong byte size: expected {self.nbytes()} got {count * element_size}"
            )
        self.resize_(count * element_size)
        return self.copy_(_from_bytes(_read(file, count * element_size)))

    @classmethod
    def _new_with_file(cls, file: Any, element_size: int) -> Self:
        """A new storage of what `_write_file` wrote with its number."""
        return cls()._set_from_file(file, None, True, element_size)

    @classmethod
    def _new_shared(cls, size: int, *, device: Any = "cpu") -> Self:
        """New bytes, all zero, that other processes can map."""
        if _device(device).type != "cpu":
            raise RuntimeError(f"only host memory is shared between processes, got device {device}")
        return cls._wrap(_C._StorageHandle.new_shared(size, _shared_by_name()))

    @property
    def filename(self) -> str | None:
        """The file or shared-memory object behind the bytes."""
        name: str | None = self._handle.filename()
        return None if name is None else _FileName(name)

    def _get_filename(self) -> str | None:
        return self.filename

    def __reduce__(self) -> Any:
        return _rebuild_from_bytes, (self.tobytes(), str(self.device))

    # --- comparison and text

    def _converted(self, dtype: _C.dtype) -> Any:
        return self._typed(wrap_storage=self, dtype=_C.uint8)._converted(dtype)

    @property
    def _cdata(self) -> int:
        """A number by which packages tell blocks of memory apart."""
        return int(self._handle._cdata)

    def __eq__(self, other: object) -> bool:
        """Whether both are the same block of memory."""
        return isinstance(other, UntypedStorage) and bool(self._handle.same(other._handle))

    def __hash__(self) -> int:
        return hash(self._handle._cdata)

    def __repr__(self) -> str:
        return describe(self, f"torch.storage.UntypedStorage(device={self.device})")

    __str__ = __repr__


UntypedStorage.__module__ = f"{__name__.partition('.')[0]}.storage"  # where people and files know it
_C._set_plain_storage_class(UntypedStorage)


def _made(*args: Any, device: Any = None) -> Any:
    """What a class derived from `_C.StorageBase` is called with, as a new block of memory."""
    if len(args) > 1:
        given = ", ".join(type(arg).__name__ for arg in args)
        raise TypeError(
            f"torch.UntypedStorage() received an invalid combination of arguments - got ({given}), but expected "
            "one of:\n * (*, torch.device device = None)\n * (int size, *, torch.device device = None)\n"
            " * (object sequence, *, torch.device device = None)\n"
        )
    content = args[0] if args else 0
    if isinstance(content, Integral):
        return _C._StorageHandle.new(int(content), _device(device))
    if not isinstance(content, (Sequence, UntypedStorage, bytes, bytearray, memoryview)):
        raise RuntimeError(
            f"torch.UntypedStorage(): Expected a sequence type, but got {type(content).__name__}"
        )
    for value in content:
        if not isinstance(value, Integral):
            raise RuntimeError(
                f"torch.UntypedStorage(): tried to construct a storage from a sequence ({type(content).__name__}), "
                f"but one of the items was of type {type(value).__name__} instead of int"
            )
    data = bytes(_byte(value) for value in content)
    handle = _C._StorageHandle.new(len(data), _device(device))
    if handle.device.type != "meta":
        handle.copy_from(_from_bytes(data)._handle, False)
    return handle


_C.StorageBase._made = staticmethod(_made)  # type: ignore[method-assign]


def get_all_sharing_strategies() -> set[str]:
    """The ways to share memory on this system."""
    return set(_SHARING_STRATEGIES)


def get_sharing_strategy() -> str:
    """How storages are shared: "file_descriptor" or "file_system". See Note [Sending a storage]."""
    return _sharing_strategy


def set_sharing_strategy(new_strategy: str) -> None:
    """Chooses how storages are shared from now on."""
    global _sharing_strategy
    if new_strategy not in _SHARING_STRATEGIES:
        raise AssertionError(
            f"invalid sharing strategy {new_strategy!r}, expected one of {get_all_sharing_strategies()}"
        )
    _sharing_strategy = new_strategy


def _shared_by_name() -> bool:
    """Whether memory that is shared now gets a name."""
    for prepare in before_sharing:
        prepare()
    return _sharing_strategy == "file_system"


def _called_after(kind: str) -> dict[str, Any]:
    """``storage.is_<kind>`` and ``storage.<kind>()``."""

    def moved(self: UntypedStorage, device: Any = None, non_blocking: bool = False) -> UntypedStorage:
        return self.to(device=methods.target_of(kind, device), non_blocking=non_blocking)

    return {f"is_{kind}": property(lambda self: self.device.type == kind), kind: moved}


methods.made_for_each_type("storage", UntypedStorage, _called_after)


def describe(storage: Any, title: str) -> str:
    """The text of both classes: one element a line, then what it is."""
    lines = "..." if storage.device.type == "meta" else " " + "\n ".join(str(x) for x in storage.tolist())
    return f"{lines}\n[{title} of size {len(storage)}]"


def wrap_index(position: int, size: int) -> int:
    if not -size <= position < size:
        raise IndexError(f"index {position} out of range for storage of size {size}")
    return position % size


def _device(device: Any) -> Any:
    return _C.device("cpu" if device is None else device)


def _name(value: Any) -> str:
    kind = type(value)
    return kind.__name__ if kind.__module__ == "builtins" else f"torch.storage.{kind.__name__}"


def _byte(value: Any) -> int:
    return operator.index(value) & 255


def _from_bytes(data: bytes) -> UntypedStorage:
    storage = UntypedStorage(len(data))
    storage._handle.buffer()[:] = data
    return storage


def _read(file: Any, count: int) -> bytes:
    data = bytes(file.read(count))
    if len(data) != count:
        raise RuntimeError(
            f"unexpected EOF, expected {count - len(data)} more bytes. The file might be corrupted."
        )
    return data


def _window(handle: Any, start: int, nbytes: int) -> Any:
    if handle.device.type != "cpu":
        raise NotImplementedError(
            f"a slice of a storage shares its memory, which works on the CPU only, got {handle.device}; "
            "slice a "
            "tensor over the storage instead"
        )
    return handle.window(start, nbytes)


def _rebuild_from_bytes(data: bytes, device: str) -> UntypedStorage:
    return _from_bytes(data).to(device=device)
