"""The parts of Tensor that are written in Python: conversions, printing, pickling, backward.

Number slots and operators are native and must stay so: one Python dunder among them would slow down all of
them. Type checkers know the methods added here from codegen/stub_native.pyi.
"""

from __future__ import annotations

import copy
import copyreg
from collections.abc import Callable, Iterator
from typing import Any

from . import _C, _functions, _utils
from ._backends.common import convert
from ._C import Tensor
from ._storage import UntypedStorage
from ._storage_typed import TypedStorage
from ._tensor_str import _str
from ._types import strided

_LEGACY_NAMES = {
    "float32": "Float", "float64": "Double", "float16": "Half", "bfloat16": "BFloat16", "uint8": "Byte",
    "int8": "Char", "int16": "Short", "int32": "Int", "int64": "Long", "bool": "Bool",
    "complex64": "ComplexFloat", "complex128": "ComplexDouble", "uint16": "UInt16", "uint32": "UInt32",
    "uint64": "UInt64", "float8_e4m3fn": "Float8_e4m3fn", "float8_e5m2": "Float8_e5m2",
}  # fmt: skip


def _method(function: Callable[..., Any]) -> Callable[..., Any]:
    """Makes a function a method of Tensor."""
    setattr(Tensor, function.__name__, function)
    return function


# ---- construction and identity -----------------------------------------------------------------------


def _legacy_new(*args: Any, device: Any = None) -> Tensor:
    """Tensor(2, 3) is uninitialised, Tensor([1, 2]) holds values, both of the default dtype."""
    from ._creation import tensor

    dtype = _C.get_default_dtype()
    if len(args) == 1 and isinstance(args[0], (float, complex)):
        raise TypeError(f"new(): data must be a sequence (got {type(args[0]).__name__})")
    if not args:
        return _functions.empty(0, dtype=dtype, device=device)
    if len(args) == 1 and isinstance(args[0], Tensor):
        return args[0].detach().to(dtype=dtype)
    if len(args) == 1 and isinstance(args[0], str):
        raise TypeError("new(): invalid data type 'str'")
    if len(args) == 1 and not isinstance(args[0], int) and type(args[0]).__name__ != "Size":
        return tensor(args[0], dtype=dtype, device=device)
    return _functions.empty(*args, dtype=dtype, device=device)


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
    from ._creation import tensor

    part.copy_(value if isinstance(value, Tensor) else tensor(value, device=part.device))


_attributes: dict[str, Any] = {
    "__module__": __package__,
    "_legacy_new": staticmethod(_legacy_new),
    "layout": property(lambda self: strided),
    "is_cuda": property(lambda self: False),
    "H": property(lambda self: _hermitian(self, "H")),
    "mH": property(lambda self: _hermitian(self, "mH")),
    "real": property(_functions.real, lambda self, value: _set_part(_functions.real(self), value)),
    "imag": property(_functions.imag, lambda self, value: _set_part(_functions.imag(self), value)),
    "retains_grad": property(lambda self: self._retains_grad()),
    "__array_priority__": 1000,  # numpy's arrays and scalars leave operators to tensors
    "_grad": property(lambda self: self.grad, lambda self, value: setattr(self, "grad", value)),
}
for _name, _value in _attributes.items():
    setattr(Tensor, _name, _value)


@_method
def __repr__(self: Tensor, *, tensor_contents: str | None = None) -> str:
    return _str(self)


@_method
def __format__(self: Tensor, spec: str) -> str:
    if self.dim() == 0 and not self.is_meta:
        return format(self.item(), spec)
    return object.__format__(self, spec)


@_method
def __iter__(self: Tensor) -> Iterator[Tensor]:
    if self.dim() == 0:
        raise TypeError("iteration over a 0-d tensor")
    return iter(self.unbind(0))


@_method
def __contains__(self: Tensor, element: Any) -> bool:
    if not isinstance(element, (Tensor, bool, int, float, complex)):
        raise RuntimeError(
            f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}."
        )
    return bool((self == element).any().item())


@_method
def __complex__(self: Tensor) -> complex:
    if self.numel() != 1:
        raise ValueError("only one element tensors can be converted to Python scalars")
    return complex(self.item())


# ---- to and from -------------------------------------------------------------------------------------


@_method
def to(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """A tensor of another dtype or on another device; itself if it already is that."""
    return convert.to(self, *args, **kwargs)


@_method
def cpu(self: Tensor, memory_format: Any = None) -> Tensor:
    return convert.to(self, device="cpu", memory_format=memory_format)


@_method
def npu(self: Tensor, device: Any = None, non_blocking: bool = False, memory_format: Any = None) -> Tensor:
    target = _C.device("npu" if device is None else device)
    if target.type != "npu":
        raise RuntimeError("Invalid device, must be npu device")
    return convert.to(self, device=target, non_blocking=non_blocking, memory_format=memory_format)


@_method
def cuda(self: Tensor, device: Any = None, non_blocking: bool = False, memory_format: Any = None) -> Tensor:
    """Raises as in a PyTorch without CUDA: no such device is driven here."""
    raise AssertionError("Torch not compiled with CUDA enabled")


def _dtype_method(name: str, dtype: _C.dtype) -> None:
    def cast(self: Tensor, memory_format: Any = None) -> Tensor:
        return convert.to(self, dtype, memory_format=memory_format)

    cast.__name__ = name
    cast.__doc__ = f"self.to(torch.{dtype.name})."
    setattr(Tensor, name, cast)


for _name, _dtype in {
    "float": _C.float32, "double": _C.float64, "half": _C.float16, "bfloat16": _C.bfloat16, "int": _C.int32,
    "long": _C.int64, "short": _C.int16, "char": _C.int8, "byte": _C.uint8, "bool": _C.bool,
    "cfloat": _C.complex64, "cdouble": _C.complex128,
}.items():  # fmt: skip
    _dtype_method(_name, _dtype)


def _type(self: Tensor, dtype: Any = None, non_blocking: bool = False) -> Any:
    """The legacy type name, or a converted tensor if a dtype or a legacy type is given."""
    if dtype is not None:
        if not isinstance(dtype, _C.dtype):
            from . import _legacy_types
            from .npu import _legacy as _npu_types

            kind: Any = dtype
            if isinstance(dtype, str):
                on_npu = dtype.startswith("torch.npu.")
                kind = _npu_types.find(dtype) if on_npu else _legacy_types.find(dtype)
            if isinstance(kind, _legacy_types.tensortype):
                return convert.to(self, dtype=kind.dtype, device="cpu", non_blocking=non_blocking)
            if isinstance(kind, _npu_types.OfOneDtype):
                return convert.to(self, dtype=kind.dtype, device="npu", non_blocking=non_blocking)
        return convert.to(self, dtype=dtype, non_blocking=non_blocking)
    place = "" if self.device.type == "cpu" else f"{self.device.type}."
    return f"torch.{place}{_LEGACY_NAMES[self.dtype.name]}Tensor"


@_method
def type_as(self: Tensor, other: Tensor) -> Tensor:
    return convert.to(self, dtype=other.dtype, device=other.device)


class _Memory:
    """What numpy asks an object for to share its memory; keeps the tensor alive."""

    def __init__(self, tensor: Tensor) -> None:
        self._tensor = tensor
        self.__array_interface__ = _C._array_interface(tensor)


@_method
def numpy(self: Tensor, *, force: bool = False) -> Any:
    """A numpy array over the same memory; with force=True a detached copy on the host if it must be one."""
    import numpy as np

    source = self
    if force:
        source = self.detach().cpu()
    elif self.requires_grad:
        raise RuntimeError(
            "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
        )
    if source.numel() == 0:
        return np.empty(tuple(source.shape), dtype=_C._array_interface(source)["typestr"])
    return np.asarray(_Memory(source))


@_method
def __array__(self: Tensor, dtype: Any = None, copy: bool | None = None) -> Any:
    array = self.numpy()
    if dtype is not None:
        array = array.astype(dtype, copy=False)
    return array.copy() if copy else array


@_method
def __array_wrap__(self: Tensor, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
    """What numpy's functions give for tensors: tensors again."""
    from ._creation import from_numpy

    return from_numpy(array.astype("uint8") if array.dtype == bool else array)


@_method
def __dlpack__(
    self: Tensor,
    *,
    stream: Any = -1,
    max_version: tuple[int, int] | None = None,
    dl_device: Any = None,
    copy: bool | None = None,
) -> Any:
    if stream not in (None, -1) and self.is_cpu:
        raise AssertionError("stream should be None on cpu.")
    tensor = self.clone() if copy else self
    return _C._to_dlpack(tensor, max_version is not None and max_version[0] >= 1)


@_method
def __dlpack_device__(self: Tensor) -> tuple[int, int]:
    return (12, self.device.index or 0) if self.is_npu else (1, 0)


@_method
def pin_memory(self: Tensor, device: Any = None) -> Tensor:
    """A copy in pinned host memory."""
    from . import npu as module

    return module.pin_memory(self)


@_method
def is_pinned(self: Tensor, device: Any = None) -> bool:
    return self._storage_handle().is_pinned()


# ---- storage -----------------------------------------------------------------------------------------


@_method
def untyped_storage(self: Tensor) -> UntypedStorage:
    return UntypedStorage._wrap(self._storage_handle())


@_method
def storage(self: Tensor) -> TypedStorage:
    return TypedStorage(wrap_storage=self.untyped_storage(), dtype=self.dtype, _internal=True)


@_method
def share_memory_(self: Tensor) -> Tensor:
    self.untyped_storage().share_memory_()
    return self


@_method
def is_shared(self: Tensor) -> bool:
    return self._storage_handle().is_shared()


@_method
def record_stream(self: Tensor, stream: Any) -> None:
    """The memory is also used on `stream`: it is not given to others before that work is done."""
    from . import npu as module

    module._record_stream(self, stream)


# ---- autograd ----------------------------------------------------------------------------------------


class _NodeHookHandle:
    """Removes a hook from the node it was registered on."""

    def __init__(self, node: _C.Node, identity: int) -> None:
        self._node, self.id = node, identity

    def remove(self) -> None:
        self._node._remove_hook(self.id)

    def __enter__(self) -> _NodeHookHandle:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()


@_method
def register_hook(self: Tensor, hook: Callable[[Tensor], Tensor | None]) -> _NodeHookHandle:
    """Calls `hook` with this tensor's gradient each time it is computed; what it returns takes its place."""
    return _NodeHookHandle(*self._register_hook(hook))


@_method
def register_post_accumulate_grad_hook(self: Tensor, hook: Callable[[Tensor], None]) -> _NodeHookHandle:
    """Calls `hook` with this leaf each time a gradient has been added to its `.grad`."""
    return _NodeHookHandle(*self._register_accumulated_hook(hook))


def _node_register(name: str, native: str) -> None:
    def register(self: _C.Node, hook: Callable[..., Any]) -> _NodeHookHandle:
        return _NodeHookHandle(self, getattr(self, native)(hook))

    register.__name__ = name
    setattr(_C.Node, name, register)


_node_register("register_hook", "_register_hook")
_node_register("register_prehook", "_register_prehook")


# ---- shapes ------------------------------------------------------------------------------------------


@_method
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
    dtype = source.dtype if isinstance(source, (Tensor, TypedStorage)) else self.dtype
    holder = source if isinstance(source, UntypedStorage) else source.untyped_storage()
    if size is None:
        size = [holder.nbytes() // dtype.itemsize]
    if stride is None or len(stride) == 0:
        stride = _functions.empty(list(size), device="meta").stride()
    window = _C.tensor_from_storage(holder._handle, dtype, storage_offset, list(size), list(stride))
    return self._set_window(window)


@_method
def is_nonzero(self: Tensor) -> bool:
    return bool(self)


@_method
def new_tensor(
    self: Tensor, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    from ._creation import tensor

    return tensor(data, dtype=dtype or self.dtype, device=device or self.device, requires_grad=requires_grad)


# ---- copying and pickling ----------------------------------------------------------------------------


def _rebuild_from_type_v2(function: Callable[..., Tensor], kind: type, args: Any, state: Any) -> Any:
    """Rebuilds a tensor of a subclass, or with attributes of its own."""
    made: Any = function(*args)
    if kind is not Tensor:
        made = made.as_subclass(kind)
    if isinstance(state, dict) and state.get("_is_buffer"):
        from .nn.parameter import Buffer

        return Buffer(made, persistent=bool(state.get("persistent")))
    if getattr(type(made), "__setstate__", None) is not None:
        made.__setstate__(state)
        return made
    return _utils._set_obj_state(made, state)


@_method
def __reduce_ex__(self: Tensor, protocol: int) -> Any:
    function, args = _utils._parts(self)
    state = _utils._get_obj_state(self)
    if type(self) is Tensor and not state:
        return function, args
    return _rebuild_from_type_v2, (function, type(self), args, state)


@_method
def __deepcopy__(self: Tensor, memo: dict[Any, Any]) -> Tensor:
    known: Tensor | None = memo.get(id(self))
    if known is not None:
        return known
    if not self.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol "
            "at the moment.  If you were attempting to deepcopy a module, this may be because of a "
            "torch.nn.utils.weight_norm usage, see https://github.com/pytorch/pytorch/pull/103001"
        )
    # Tensors that share a storage share its copy.
    key = self._storage_handle().data_ptr() if not self.is_meta else id(self)
    storage = memo.get(("storage", key))
    if storage is None:
        storage = self.untyped_storage().clone()
        memo["storage", key] = storage
    made = _C.tensor_from_storage(
        storage._handle, self.dtype, self.storage_offset(), list(self.size()), list(self.stride())
    )
    if type(self) is not Tensor:
        made = made.as_subclass(type(self))
    made.requires_grad_(self.requires_grad)
    if self.grad is not None:
        made.grad = self.grad.__deepcopy__(memo)
    memo[id(self)] = made
    made.__dict__.update(copy.deepcopy(self.__dict__, memo))
    return made


# As a name of the package, which is how PyTorch's files have them.
copyreg.pickle(_C.dtype, lambda dtype: dtype.name)


@_method
def where(self: Tensor, condition: Tensor, other: Any) -> Tensor:
    """torch.where(condition, self, other)."""
    return _functions.where(condition, self, other)


# ---- functions that need no operator -----------------------------------------------------------------


def is_tensor(obj: Any) -> bool:
    """Whether `obj` is a Tensor."""
    return isinstance(obj, Tensor)


def is_floating_point(input: Tensor) -> bool:
    """Whether the dtype is a floating-point one."""
    return input.is_floating_point()


def is_complex(input: Tensor) -> bool:
    """Whether the dtype is a complex one."""
    return input.is_complex()


def is_conj(input: Tensor) -> bool:
    """Whether a conjugation is still to be done: never, because conj() does it at once."""
    return False


def is_neg(input: Tensor) -> bool:
    """Whether a negation is still to be done: never."""
    return False


def numel(input: Tensor) -> int:
    """The number of elements."""
    return input.numel()


def result_type(tensor1: Any, tensor2: Any) -> _C.dtype:
    """The dtype arithmetic between the two gives."""
    if isinstance(tensor1, Tensor):
        return _C._result_type(tensor1, tensor2)
    if isinstance(tensor2, Tensor):
        return _C._result_type(tensor2, tensor1)
    from ._creation import tensor

    return _C.promote_types(tensor(tensor1).dtype, tensor(tensor2).dtype)


def equal(input: Tensor, other: Tensor) -> bool:
    """Whether size and all elements are the same."""
    return input.shape == other.shape and bool((input == other).all().item())


def allclose(
    input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> bool:
    """Whether |input - other| <= atol + rtol * |other| everywhere."""
    return bool(_functions.isclose(input, other, rtol, atol, equal_nan).all().item())


for _name, _function in {
    "type": _type,
    "equal": equal,
    "allclose": allclose,
    "is_conj": is_conj,
    "is_neg": is_neg,
}.items():
    _function.__name__, _function.__qualname__ = (
        _name,
        f"Tensor.{_name}",
    )  # some have another here, beside a builtin's
    setattr(Tensor, _name, _function)
# Python 2's names, which PyTorch still has.
for _name, _target in {
    "__rdiv__": "__rtruediv__",
    "__div__": "__truediv__",
    "__idiv__": "__itruediv__",
}.items():
    setattr(Tensor, _name, getattr(Tensor, _target))
