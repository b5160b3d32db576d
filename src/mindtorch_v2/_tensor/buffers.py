"""Tensors over memory of others: buffers, files, and whatever asarray() is given."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from .. import _C
from .._C import Tensor
from .._creation import _from_array, _is_array, _over_storage, tensor
from .._storage import UntypedStorage
from .._storage_typed import TypedStorage
from .._types.dtypes import LEGACY_NAMES


def _with_grad(made: Tensor, requires_grad: bool) -> Tensor:
    if requires_grad and not (made.is_floating_point() or made.is_complex()):
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    return made.requires_grad_(True) if requires_grad else made


def frombuffer(
    buffer: Any, *, dtype: _C.dtype, count: int = -1, offset: int = 0, requires_grad: bool = False
) -> Tensor:
    """A tensor over the memory of an object with the buffer protocol."""
    import numpy

    try:
        memory = memoryview(buffer)
    except TypeError:
        raise ValueError("object does not implement Python buffer protocol.") from None
    length, size = memory.nbytes, dtype.itemsize
    if length == 0 or count == 0:
        raise ValueError(f"both buffer length ({length}) and count ({count}) must not be 0")
    if not 0 <= offset < length:
        raise ValueError(
            f"offset ({offset} bytes) must be non-negative and no greater than buffer length "
            f"({length} bytes) minus 1"
        )
    if count > 0 and offset + count * size > length:
        raise ValueError(
            f"requested buffer length ({count} * {size} bytes) after offset ({offset} bytes) must not be "
            f"greater than actual buffer length ({length} bytes)"
        )
    if count < 0:
        if (length - offset) % size:
            raise ValueError(
                f"buffer length ({length - offset} bytes) after offset ({offset} bytes) must be a multiple "
                f"of element size ({size})"
            )
        count = (length - offset) // size
    taken = numpy.frombuffer(memory, dtype=numpy.uint8, count=count * size, offset=offset)
    if memory.readonly:
        # Writing through the tensor would change what its owner holds for constant, so it gets a copy.
        warnings.warn(
            "The given buffer is not writable, and PyTorch does not support non-writable tensors. This means "
            "you can write to the underlying (supposedly non-writable) buffer using the tensor. You may want "
            "to copy the buffer to protect its data or make it writable before converting it to a tensor. "
            "This type of warning will be suppressed for the rest of this program.",
            UserWarning,
            stacklevel=2,
        )
        taken = taken.copy()
    storage = _C._from_array(taken)._storage_handle()
    return _with_grad(_C.tensor_from_storage(storage, dtype, 0, [count], [1]), requires_grad)


def from_file(
    filename: str, shared: bool | None = None, size: int | None = 0, *, dtype: _C.dtype | None = None,
    layout: Any = None, device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """`size` elements of a file, mapped; shared=True writes changes back and makes the file long enough."""
    dtype = _C.get_default_dtype() if dtype is None else dtype
    count = size or 0
    if count < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {count}: [{count}]")
    storage = UntypedStorage.from_file(filename, bool(shared), count * dtype.itemsize)
    made = _C.tensor_from_storage(storage._handle, dtype, 0, [count], [1])
    if device is not None:
        made = made.to(device)
    return _with_grad(made.pin_memory() if pin_memory else made, requires_grad)


def asarray(
    obj: Any, *, dtype: _C.dtype | None = None, device: Any = None, copy: bool | None = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """`obj` as a tensor. copy=None copies only where its memory cannot be shared, False refuses to."""
    shared: Tensor | None = None
    if isinstance(obj, Tensor):
        shared = obj
    elif _is_array(obj):
        if copy is False and not hasattr(obj, "__setitem__"):
            raise RuntimeError(
                "can't alias NumPy scalars. Either remove copy=False or transform it in a ndarray. "
            )
        shared = _from_array(obj)
    elif type(obj).__name__ == "PyCapsule":  # of DLPack; its memory is taken over
        shared = _C._from_dlpack(obj)
    elif isinstance(obj, (UntypedStorage, TypedStorage)) and copy is not False:
        shared = _over_storage(obj, dtype)
    elif not isinstance(obj, (str, Sequence)) or isinstance(obj, (bytes, bytearray, memoryview)):
        try:
            memoryview(obj)
        except TypeError:
            pass
        else:
            shared = frombuffer(obj, dtype=dtype or _C.get_default_dtype())
    if shared is None:
        if copy is False:
            raise ValueError("can't alias arbitrary sequence into a tensor.")
        return tensor(obj, dtype=dtype, device=device, requires_grad=requires_grad)
    wanted = shared.dtype if dtype is None else dtype
    target = shared.device if device is None else _C.device(device)
    if copy is False and wanted is not shared.dtype:
        names = [LEGACY_NAMES[d.name] for d in (shared.dtype, wanted)]
        raise ValueError(f"can't alias tensor with dtype '{names[0]}' into dtype '{names[1]}'.")
    if copy is False and target.type != shared.device.type:
        raise ValueError(f"can't alias tensor from device '{shared.device}' to '{target}'.")
    made = shared.to(device=target, dtype=wanted)
    if copy and made is shared:
        made = shared.clone()
    return made if made.requires_grad else _with_grad(made, requires_grad)
