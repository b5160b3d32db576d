"""Methods of Tensor: construction, identity, storage, hooks, shapes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from numbers import Integral
from typing import Any

from .. import _C, _functions
from .._C import Tensor
from .._creation import tensor
from .._devices import registry
from .._devices.streams import Stream
from .._settings.typed_storages import _warn_typed_storage_removal
from .._storage import UntypedStorage
from .._storage_typed import TypedStorage, is_storage
from .._tensor_str import _str
from .._types.dtypes import LEGACY_NAMES
from ._method import method

# ---- construction and identity -----------------------------------------------------------------------


def _legacy_new(*args: Any, device: Any = None) -> Tensor:
    """Tensor(2, 3) is uninitialised, Tensor([1, 2]) holds values, both of the default dtype and, whatever the default
    device is, on the host."""
    dtype = _C.get_default_dtype()
    if device is not None and _C.device(device).type not in ("cpu", "meta", *registry.accelerators):
        raise RuntimeError(
            f"legacy constructor expects device type: cpu but device type: {_C.device(device).type} was passed"
        )
    if len(args) == 1 and is_storage(args[0]):
        return _functions.empty(0, dtype=dtype, device=args[0].device).set_(args[0])
    if len(args) == 1 and isinstance(args[0], (float, complex)):
        raise TypeError(f"new(): data must be a sequence (got {type(args[0]).__name__})")
    if len(args) == 1 and isinstance(args[0], Tensor):
        if device is not None:
            raise RuntimeError("new(): a tensor has a device already; call it without device")
        return same_as_tensor(args[0])
    device = "cpu" if device is None else device
    if not args:
        return _functions.empty(0, dtype=dtype, device=device)
    if len(args) == 1 and isinstance(args[0], str):
        raise TypeError("new(): invalid data type 'str'")
    if len(args) == 1 and not isinstance(args[0], Integral) and type(args[0]).__name__ != "Size":
        return tensor(args[0], dtype=dtype, device=device)
    return _functions.empty(*args, dtype=dtype, device=device)


def same_as_tensor(given: Tensor) -> Tensor:
    """The same values and history as a tensor of no subclass."""
    with _C.DisableTorchFunctionSubclass():  # type: ignore[operator]
        return _C._aten.alias(given)


def _hermitian(self: Tensor, name: str) -> Tensor:
    """The conjugate of the transposed matrix (`H`), or of each of a batch of them (`mH`)."""
    dims = self.dim()
    if name == "H" and dims not in (0, 2):
        hint = " For batches of matrices, consider using tensor.mH" if dims > 2 else ""
        raise RuntimeError(
            f"tensor.H is only supported on matrices (2-D tensors). Got {dims}-D tensor.{hint}"
        )
    if dims == 1:
        raise RuntimeError("tensor.mH is only supported on matrices or batches of matrices. Got 1-D tensor.")
    return self.adjoint()


def _set_part(part: Tensor, value: Any) -> None:
    """Assigns to the real or imaginary part of a tensor: a tensor, or a number for all elements."""
    part.copy_(value if isinstance(value, Tensor) else tensor(value, device=part.device))


_attributes: dict[str, Any] = {
    "__module__": __name__.partition(".")[0],
    "_legacy_new": staticmethod(_legacy_new),
    "is_cuda": property(lambda self: False),
    "H": property(lambda self: _hermitian(self, "H")),
    "mH": property(lambda self: _hermitian(self, "mH")),
    "real": property(_functions.real, lambda self, value: _set_part(_functions.real(self), value)),
    "imag": property(_functions.imag, lambda self, value: _set_part(_functions.imag(self), value)),
    "retains_grad": property(lambda self: self._retains_grad()),
    "__array_priority__": 1000,  # numpy's arrays and scalars leave operators to tensors
    # A number by which packages tell tensors apart; a tensor has one object as long as somebody holds it.
    "_cdata": property(id),
    "_grad": property(lambda self: self.grad, lambda self, value: setattr(self, "grad", value)),
}
for _name, _value in _attributes.items():
    setattr(Tensor, _name, _value)


@method
def __repr__(self: Tensor, *, tensor_contents: str | None = None) -> str:
    return _str(self)


@method
def __format__(self: Tensor, spec: str) -> str:
    if self.dim() == 0 and not self.is_meta:
        return format(self.item(), spec)
    return object.__format__(self, spec)


@method
def __iter__(self: Tensor) -> Iterator[Tensor]:
    if self.dim() == 0:
        raise TypeError("iteration over a 0-d tensor")
    return iter(self.unbind(0))


@method
def __contains__(self: Tensor, element: Any) -> bool:
    if not isinstance(element, (Tensor, bool, int, float, complex)):
        raise RuntimeError(
            f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}."
        )
    return bool((self == element).any().item())


@method
def __complex__(self: Tensor) -> complex:
    if self.numel() != 1:
        raise ValueError("only one element tensors can be converted to Python scalars")
    return complex(self.item())


# ---- storage -----------------------------------------------------------------------------------------


@method
def untyped_storage(self: Tensor) -> UntypedStorage:
    return UntypedStorage._wrap(self._storage_handle())


@method
def storage(self: Tensor) -> TypedStorage:
    _warn_typed_storage_removal()
    return self._typed_storage()


@method
def _typed_storage(self: Tensor) -> TypedStorage:
    return TypedStorage(wrap_storage=self.untyped_storage(), dtype=self.dtype, _internal=True)


@method
def share_memory_(self: Tensor) -> Tensor:
    self.untyped_storage().share_memory_()
    return self


@method
def is_shared(self: Tensor) -> bool:
    return self._storage_handle().is_shared()


@method
def record_stream(self: Tensor, stream: Any) -> None:
    """The memory is also used on `stream`: it is not given to others before that work is done."""
    if registry.of(self) is None:
        raise NotImplementedError(
            f"Could not run 'aten::record_stream' with arguments from the '{self.device.type.upper()}' backend: "
            "only memory of an accelerator is given out in the order of streams"
        )
    if not isinstance(stream, Stream):
        raise TypeError(
            f"record_stream(): argument 's' (position 1) must be Stream, not {type(stream).__name__}"
        )
    _C._record_stream(self, stream.handle)


# ---- autograd ----------------------------------------------------------------------------------------


@method
def register_hook(self: Tensor, hook: Callable[[Tensor], Tensor | None]) -> _C._HookHandle:
    """Calls `hook` with this tensor's gradient each time it is computed; what it returns takes its place."""
    return self._register_hook(hook)


@method
def register_post_accumulate_grad_hook(self: Tensor, hook: Callable[[Tensor], None]) -> _C._HookHandle:
    """Calls `hook` with this leaf each time a gradient has been added to its `.grad`."""
    return self._register_accumulated_hook(hook)


# ---- shapes ------------------------------------------------------------------------------------------


@method
def set_(
    self: Tensor,
    source: Any = None,
    storage_offset: int = 0,
    size: Any = None,
    stride: Any = None,
) -> Tensor:
    """Makes this tensor a window on another one's storage, or on a storage."""
    if source is None:
        return self._set_window(_functions.empty(0, dtype=self.dtype, device=self.device))
    if isinstance(source, Tensor) and size is None:
        return self._set_window(source)
    if isinstance(source, TypedStorage) and source.dtype != self.dtype:
        wanted, given = (LEGACY_NAMES[kind.name] for kind in (self.dtype, source.dtype))
        raise RuntimeError(
            f"Expected a Storage of type {wanted} or an UntypedStorage, but got type {given} for argument 1 'storage'"
        )
    dtype = source.dtype if isinstance(source, Tensor) else self.dtype
    holder = source.untyped_storage() if isinstance(source, Tensor) else source._untyped_storage
    if size is None:
        size = [holder.nbytes() // dtype.itemsize]
    if stride is None or len(stride) == 0:
        stride = _functions.empty(list(size), device="meta").stride()
    window = _C.tensor_from_storage(holder._handle, dtype, storage_offset, list(size), list(stride))
    return self._set_window(window)


@method
def to_padded_tensor(self: Tensor, padding: float, output_size: Any = None) -> Tensor:
    raise NotImplementedError("to_padded_tensor(): input must be a nested tensor, got a dense one")


@method
def module_load(self: Tensor, other: Tensor, assign: bool = False) -> Tensor:
    """What ``load_state_dict`` puts in the place of this tensor when it swaps: the other one, or a copy of its values.

    Subclasses replace it. It is called without gradients; the result must be neither of the two.
    """
    return other.detach() if assign else self.copy_(other).detach()


@method
def is_nonzero(self: Tensor) -> bool:
    return bool(self)


@method
def new_tensor(
    self: Tensor, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    return tensor(data, dtype=dtype or self.dtype, device=device or self.device, requires_grad=requires_grad)


# Python 2's names, which PyTorch still has.
for _name, _target in {
    "__rdiv__": "__rtruediv__",
    "__div__": "__truediv__",
    "__idiv__": "__itruediv__",
}.items():
    setattr(Tensor, _name, getattr(Tensor, _target))
