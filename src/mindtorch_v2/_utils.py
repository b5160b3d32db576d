"""How pickled tensors are taken apart and rebuilt, and how an exception travels between processes and threads.

Names and arguments are PyTorch's: they are what its files refer to.
"""

from __future__ import annotations

import copyreg
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from . import _C
from ._C import Tensor, _functions
from ._creation import from_numpy
from ._devices import registry
from ._sparse import invariants
from ._sparse.parts import COMPRESSED, make_compressed, make_coo

# Dtypes whose storages PyTorch saves untyped, with the dtype beside them.
_SAVED_UNTYPED = (
    "uint16", "uint32", "uint64", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz",
    "float8_e8m0fnu", "complex32",
)  # fmt: skip

# "Module", and the kinds of tensor that modules own, "Parameter" and "Buffer"; torch.nn puts them here.
of_modules: dict[str, Any] = {}


class _Loading(threading.local):
    """Of this thread: whether torch.load and torch.save leave data out, and the map_location of the load under way."""

    skip_data = False
    materialize_fake_tensors = False
    map_location: Any = None


loading = _Loading()

# ---- taking apart ------------------------------------------------------------------------------------


def _parts(tensor: Tensor) -> tuple[Callable[..., Tensor], tuple[Any, ...]]:
    """The function that rebuilds a plain tensor, and its arguments."""
    layout = _C._sparse.parts(tensor)
    if layout is not None:
        return _sparse_parts(tensor, *layout)
    if takes_operators_over(tensor) and not _C._has_storage(tensor):
        return _parts_of_fake(tensor) if is_saved_as_real(tensor) else _parts_of_wrapper(tensor)
    if tensor.is_meta:
        return _rebuild_meta_tensor_no_storage, (
            tensor.dtype, tuple(tensor.size()), tensor.stride(), tensor.requires_grad
        )  # fmt: skip
    # The empty dictionary is where PyTorch's format keeps hooks; they are never saved.
    window: tuple[Any, ...] = (
        tensor.storage_offset(), tuple(tensor.size()), tensor.stride(), tensor.requires_grad, OrderedDict()
    )  # fmt: skip
    if tensor.dtype.name in _SAVED_UNTYPED:
        return _rebuild_tensor_v3, (tensor.untyped_storage(), *window, tensor.dtype)
    return _rebuild_tensor_v2, (tensor._typed_storage(), *window)


def takes_operators_over(tensor: Tensor) -> bool:
    """Whether its class has a __torch_dispatch__ of its own."""
    own = getattr(type(tensor), "__torch_dispatch__", None)
    return own is not None and own is not getattr(Tensor, "__torch_dispatch__", None)


def _parts_of_wrapper(tensor: Tensor) -> tuple[Callable[..., Tensor], tuple[Any, ...]]:
    """Of a tensor without memory of its own: what it looks like. What it wraps is among its attributes."""
    return _rebuild_wrapper_subclass, (
        type(tensor), tensor.dtype, tuple(tensor.size()), tensor.stride(), tensor.storage_offset(), tensor.layout,
        tensor.device, tensor.requires_grad,
    )  # fmt: skip


def is_saved_as_real(tensor: Tensor) -> bool:
    """Whether it is a fake tensor, and torch.save was told to leave a hole of its size (serialization.skip_data)."""
    return loading.materialize_fake_tensors and hasattr(tensor, "fake_mode")


def _parts_of_fake(tensor: Any) -> tuple[Callable[..., Tensor], tuple[Any, ...]]:
    storage = tensor._elem.untyped_storage()  # of the meta device; views share it as the real ones would
    storage._fake_device = tensor.device
    window: tuple[Any, ...] = (
        tensor.storage_offset(), tuple(tensor.size()), tensor.stride(), tensor.requires_grad, OrderedDict()
    )  # fmt: skip
    return _rebuild_tensor_v3, (storage, *window, tensor.dtype)


def _sparse_parts(
    tensor: Tensor, name: str, indices: Tensor, plain: Tensor | None, values: Tensor, coalesced: bool
) -> tuple[Callable[..., Tensor], tuple[Any, ...]]:
    size = tensor.size()
    if plain is None:
        return _rebuild_sparse_tensor, (tensor.layout, (indices, values, size, coalesced))
    return _rebuild_sparse_tensor, (tensor.layout, (indices, plain, values, size))


def _get_obj_state(obj: Any) -> Any:
    """What a tensor carries besides its values: attributes, slots, or what its __getstate__ gives."""
    if getattr(type(obj), "__getstate__", None) is not object.__getstate__:
        return obj.__getstate__()
    slots = copyreg._slotnames(type(obj))  # type: ignore[attr-defined]
    if not slots:
        return obj.__dict__
    return obj.__dict__, {name: getattr(obj, name) for name in slots if hasattr(obj, name)}


def _set_obj_state(obj: Any, state: Any) -> Any:
    attributes, slots = state if isinstance(state, tuple) else (state, None)
    if isinstance(state, tuple) and len(state) != 2:
        raise RuntimeError(f"Invalid serialized state: {state}")
    for values in (attributes, slots):
        for name, value in (values or {}).items():
            if not isinstance(name, str) or name.startswith("__"):
                raise RuntimeError(f"a pickled tensor cannot set the attribute {name!r}")
            setattr(obj, name, value)
    return obj


# ---- rebuilding --------------------------------------------------------------------------------------


def _over(storage: Any, dtype: Any, offset: int, size: Any, stride: Any) -> Tensor:
    return _C.tensor_from_storage(storage._untyped_storage._handle, dtype, offset, list(size), list(stride))


def _rebuild_tensor(storage: Any, storage_offset: int, size: Any, stride: Any) -> Tensor:
    return _over(storage, storage.dtype, storage_offset, size, stride)


def _finish(made: Tensor, requires_grad: bool, metadata: dict[str, Any] | None) -> Tensor:
    made = _C._dispatch.lift(made)
    for name in metadata or {}:
        if name == "conj":
            made = made.conj()
        elif name == "neg":
            made = made.neg()
        else:
            for found in registry.accelerators.values():
                found.check_saved(name)
    return made.requires_grad_(True) if requires_grad else made


def _rebuild_tensor_v2(
    storage: Any,
    storage_offset: int,
    size: Any,
    stride: Any,
    requires_grad: bool,
    backward_hooks: Any,
    metadata: dict[str, Any] | None = None,
) -> Tensor:
    return _finish(_rebuild_tensor(storage, storage_offset, size, stride), requires_grad, metadata)


def _rebuild_tensor_v3(
    storage: Any,
    storage_offset: int,
    size: Any,
    stride: Any,
    requires_grad: bool,
    backward_hooks: Any,
    dtype: Any,
    metadata: dict[str, Any] | None = None,
) -> Tensor:
    return _finish(_over(storage, dtype, storage_offset, size, stride), requires_grad, metadata)


def _rebuild_meta_tensor_no_storage(dtype: Any, size: Any, stride: Any, requires_grad: bool) -> Tensor:
    return _finish(
        _functions.empty_strided(list(size), list(stride), dtype=dtype, device="meta"), requires_grad, None
    )


def _rebuild_sparse_tensor(layout: Any, data: tuple[Any, ...]) -> Tensor:
    """What comes from a file is checked: kernels trust the places."""
    name = repr(layout).removeprefix("torch.")
    if name == "sparse_coo":
        indices, values, size, *rest = data
        coalesced = bool(rest and rest[0])
        invariants.check_coordinates(indices, values, list(size), coalesced)
        return make_coo(indices, values, size, coalesced)
    if name not in COMPRESSED:
        raise NotImplementedError(f"rebuilding sparse tensor for layout {layout}")
    compressed, plain, values, size = data
    invariants.check_compressed(compressed, plain, values, list(size), name)
    return make_compressed(name, compressed, plain, values, size)


def _rebuild_nested_tensor(buffer: Tensor, sizes: Tensor, strides: Tensor, storage_offsets: Tensor) -> Tensor:
    nested = sys.modules[__name__.partition(".")[0]].nested  # loaded when it is asked for
    return nested._internal.strided.rebuild(buffer, sizes, strides, storage_offsets)  # type: ignore[no-any-return]


def _target_device(saved: Any) -> Any:
    """Where a tensor without a storage in the file goes: torch.load's map_location, else where it was."""
    wanted = loading.map_location
    if wanted is None:
        return saved
    if isinstance(wanted, dict):
        return wanted.get(str(saved), saved)
    if isinstance(wanted, (str, _C.device)):
        return wanted
    raise RuntimeError(
        "Callable map_location not supported with _rebuild_wrapper_subclass or _rebuild_device_tensor_from_numpy"
    )


def _rebuild_wrapper_subclass(
    cls: type[Tensor],
    dtype: Any,
    size: Any,
    stride: Any,
    storage_offset: int,
    layout: Any,
    device: Any,
    requires_grad: bool,
) -> Tensor:
    made: Tensor = Tensor._make_wrapper_subclass(
        cls, size, strides=stride, storage_offset=storage_offset, dtype=dtype, layout=layout,
        device=_target_device(device), requires_grad=requires_grad,
    )  # fmt: skip
    return made


def _rebuild_device_tensor_from_cpu_tensor(
    data: Tensor, dtype: Any, device: str, requires_grad: bool
) -> Tensor:
    return _finish(data.to(dtype=dtype, device=_target_device(device)), requires_grad, None)


def _rebuild_device_tensor_from_numpy(data: Any, dtype: Any, device: str, requires_grad: bool) -> Tensor:
    return _rebuild_device_tensor_from_cpu_tensor(from_numpy(data), dtype, device, requires_grad)


def _rebuild_parameter(data: Tensor, requires_grad: bool, backward_hooks: Any) -> Any:
    return of_modules["Parameter"](data, requires_grad)


def _rebuild_parameter_with_state(data: Tensor, requires_grad: bool, backward_hooks: Any, state: Any) -> Any:
    return _set_obj_state(_rebuild_parameter(data, requires_grad, backward_hooks), state)


# ---- exceptions that travel --------------------------------------------------------------------------


class KeyErrorMessage(str):
    """A text whose repr() is itself: KeyError shows the repr() of what it is given."""

    def __repr__(self) -> str:
        return str(self)


class ExceptionWrapper:
    """An exception of another thread or process: its type, its traceback as text, and where it was."""

    def __init__(self, exc_info: Any = None, where: str = "in background") -> None:
        import traceback  # late, because importing it takes longer than most of the package

        kind, error, trace = sys.exc_info() if exc_info is None else exc_info
        self.exc_type: Any = kind
        self.exc_msg = "".join(traceback.format_exception(kind, error, trace))
        self.where = where

    def reraise(self) -> None:
        """Raises an exception of the same type, whose text has the original traceback."""
        message = f"Caught {self.exc_type.__name__} {self.where}.\nOriginal {self.exc_msg}"
        if self.exc_type is KeyError:
            message = KeyErrorMessage(message)
        elif getattr(self.exc_type, "message", None):
            # Such types take their text by keyword.
            raise self.exc_type(message=message)
        try:
            error = self.exc_type(message)
        except Exception:  # noqa: BLE001 - the type wants other arguments, so another type carries the text
            raise RuntimeError(message) from None
        raise error


# Programs that exchange gradients themselves call these.


def _flatten_dense_tensors(tensors: Sequence[Tensor]) -> Tensor:
    """All elements in one dimension, one tensor after the other."""
    return _functions.cat([tensor.reshape(-1) for tensor in tensors])


def _unflatten_dense_tensors(flat: Tensor, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Views of what `_flatten_dense_tensors` made, in the shapes of the tensors."""
    parts = flat.split([tensor.numel() for tensor in tensors])
    return tuple(part.view(tensor.shape) for part, tensor in zip(parts, tensors, strict=True))


# ---- devices ------------------------------------------------------------------------------------------


def _get_available_device_type() -> str | None:
    """The kind of accelerator, if there is one."""
    found = registry.available()
    return None if found is None else found.type


def _get_device_module(device_type: str) -> Any:
    """The module of a kind of device: ``torch.cpu`` for "cpu"."""
    return registry.get_device_module(device_type)


def _get_device_index(device: Any, optional: bool = False, allow_cpu: bool = False) -> int:
    """The number of a device; with `optional`, None means the current accelerator."""
    if isinstance(device, str):
        device = _C.device(device)
    if isinstance(device, _C.device):
        if device.type == "cpu" and not allow_cpu:
            raise ValueError(f"Expected a non cpu device, but got: {device}")
        index = -1 if device.type == "cpu" else device.index
    else:
        index = device
    if isinstance(index, int):
        return index
    if not optional:
        raise ValueError(f"Expected a torch.device with a specified index or an integer, but got:{device}")
    return registry.accelerator().current_index()


def _element_size(dtype: _C.dtype) -> int:
    """Bytes of one element."""
    return dtype.itemsize


# ---- lists --------------------------------------------------------------------------------------------


def _take_tensors(tensors: Sequence[Tensor], size_limit: int) -> Iterator[list[Tensor]]:
    """The tensors in groups of one dtype and at most `size_limit` bytes each, unless one is larger alone."""
    waiting: dict[Any, tuple[list[Tensor], int]] = {}
    for tensor in tensors:
        nbytes = tensor.numel() * tensor.element_size()
        group, used = waiting.get(tensor.dtype, ([], 0))
        if group and used + nbytes > size_limit:
            yield group
            group, used = [], 0
        group.append(tensor)
        waiting[tensor.dtype] = (group, used + nbytes)
    yield from (group for group, _ in waiting.values() if group)


class classproperty:
    """An attribute of a class that a function computes."""

    def __init__(self, func: Callable[[Any], Any]) -> None:
        self.func = func

    def __get__(self, instance: Any, owner: Any) -> Any:
        return self.func(owner)
