"""Tensors from Python data."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import Any

from . import _C
from ._C import Tensor
from ._functions import empty
from ._settings.warning import frames_inside, warn_once
from ._types.dtypes import LEGACY_NAMES
from .utils.dlpack import from_dlpack


def _is_sequence(data: Any) -> bool:
    """Lists and tuples, and what else can be read in their way: ranges, deques, classes with a length and elements."""
    if isinstance(data, (list, tuple)):
        return True
    kind = type(data)
    return (
        hasattr(kind, "__getitem__")
        and hasattr(kind, "__len__")
        and not isinstance(data, (str, bytes, bytearray, Mapping, Tensor))
        and not hasattr(kind, "__array_interface__")
    )


_MOST_DIMENSIONS = 64


def _shape(data: Any) -> list[int]:
    """The shape of nested sequences, read along their first elements. Tensors count as the numbers they hold."""
    shape: list[int] = []
    while _is_sequence(data):
        try:
            shape.append(len(data))
            if len(data) == 0:
                break
            data = data[0]
        except Exception as error:
            raise ValueError(
                f"could not determine the shape of object type '{type(data).__name__}'"
            ) from error
        if isinstance(data, str) and data:
            raise ValueError("too many dimensions 'str'")
        if len(shape) > _MOST_DIMENSIONS:  # or the list contains itself
            raise ValueError(f"too many dimensions '{type(data).__name__}'")
    if _is_array(data) and not isinstance(data, Tensor):
        shape += data.shape
    return shape


_RANK = {bool: 0, int: 1, float: 2, complex: 3}
_LISTS = {list, tuple}


def _array_dtype(array: Any) -> _C.dtype:
    """Of a numpy array or scalar among the data."""
    found = getattr(_C, array.dtype.name, None)
    if found is None and array.dtype.kind in "US":
        raise ValueError("too many dimensions 'str'")
    if not isinstance(found, _C.dtype):
        raise TypeError(
            f"can't convert {type(array).__name__} of type {array.dtype.type.__name__} to a tensor; wanted "
            "numbers or booleans"
        )
    return found


def _natural_dtype(data: Any, depth: int) -> _C.dtype:
    """The dtype PyTorch gives to Python numbers: the highest kind among them, in sequences `depth` deep."""
    rank, level = -1, [data]
    own: _C.dtype | None = None
    for at in range(depth + 1):
        kinds = set(map(type, level))
        if kinds <= _RANK.keys():  # most data ends in plain numbers, which need not be looked at one by one
            rank = max(rank, *map(_RANK.__getitem__, kinds))
            break
        if kinds <= _LISTS and at < depth and not (at and any(value is data for value in level)):
            level = list(chain.from_iterable(level))
            if not level:
                break
            continue
        deeper: list[Any] = []
        for value in level:
            if _is_sequence(value):
                if at and value is data:
                    raise TypeError("new(): self-referential lists are incompatible")
                if at == depth:
                    if any(item is value for item in value):
                        raise TypeError("new(): self-referential lists are incompatible")
                    raise TypeError(f"must be real number, not {type(value).__name__}")
                deeper.extend(value)
            elif isinstance(value, Tensor):
                own = value.dtype if own is None else _C.promote_types(own, value.dtype)
            elif hasattr(value, "dtype"):  # of numpy
                found = _array_dtype(value)
                if hasattr(type(value), "__setitem__"):  # an array, not a number
                    _warn_slow_arrays()
                own = found if own is None else _C.promote_types(own, found)
            else:
                kind = next((k for k in _RANK if isinstance(value, k)), None)
                if kind is None:
                    if isinstance(value, (str, bytes)):
                        raise TypeError(f"new(): invalid data type '{type(value).__name__}'")
                    raise RuntimeError(f"Could not infer dtype of {type(value).__name__}")
                rank = max(rank, _RANK[kind])
        level = deeper
        if not level:
            break
    default = _C.get_default_dtype()
    numbers = [_C.bool, _C.int64, default, _C.complex128 if default is _C.float64 else _C.complex64]
    if rank < 0:
        return default if own is None else own
    return numbers[rank] if own is None else _C.promote_types(own, numbers[rank])


def _over_storage(storage: Any, dtype: _C.dtype | None) -> Tensor:
    """All of a storage; the bytes of an untyped one count as int64 unless told otherwise, as in PyTorch."""
    own = getattr(storage, "dtype", dtype or _C.int64)
    if dtype is not None and own is not dtype:
        names = [LEGACY_NAMES[d.name] for d in (dtype, own)]
        raise RuntimeError(f"Expected a Storage of type {names[0]} or an UntypedStorage, but got {names[1]}")
    untyped = storage._untyped_storage
    return _C.tensor_from_storage(untyped._handle, own, 0, [untyped.nbytes() // own.itemsize], [1])


def _is_storage(data: Any) -> bool:
    return hasattr(data, "_untyped_storage")


def _is_array(data: Any) -> bool:
    return hasattr(data, "__array_interface__")


def _from_array(data: Any) -> Tensor:
    if (
        not getattr(data, "flags", None)
        or any(s < 0 for s in getattr(data, "strides", ()))
        or not data.flags.writeable
    ):
        import numpy

        data = numpy.array(data)
    return _C._from_array(data)


def from_numpy(ndarray: Any) -> Tensor:
    """A tensor over the memory of a numpy array."""
    import numpy

    if not isinstance(ndarray, numpy.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(ndarray).__name__})")
    if not ndarray.flags.writeable:
        _warn_read_only()
    return _C._dispatch.lift(_C._from_array(ndarray))


def _warn_read_only() -> None:
    warn_once(
        "The given NumPy array is not writable, and PyTorch does not support non-writable tensors. This means "
        "writing to this tensor will result in undefined behavior. You may want to copy the array to protect its "
        "data or make it writable before converting it to a tensor. This type of warning will be suppressed for "
        "the rest of this program."
    )


def _warn_slow_arrays() -> None:
    warn_once(
        "Creating a tensor from a list of numpy.ndarrays is extremely slow. Please consider converting the list to a "
        "single numpy.ndarray with numpy.array() before converting to a tensor."
    )


def _warn_copy() -> None:
    import warnings

    warnings.warn(
        "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
        "sourceTensor.detach().clone().requires_grad_(True), rather than torch.tensor(sourceTensor).",
        stacklevel=1 + frames_inside(),
    )


def _stacked(arrays: Any) -> Tensor | None:
    """A list of numpy arrays that are alike, as one; None of anything else."""
    first: Any = arrays[0] if isinstance(arrays, (list, tuple)) and arrays else None
    if type(first).__module__ != "numpy" or not getattr(first, "shape", ()):
        return None
    import numpy

    if not all(
        type(x) is numpy.ndarray and x.dtype == first.dtype and x.shape == first.shape for x in arrays
    ):
        return None
    _array_dtype(first)
    _warn_slow_arrays()
    return _C._from_array(numpy.stack(arrays))


def _of_numbers(data: Any, shape: list[int], dtype: _C.dtype | None) -> Tensor:
    if (arrays := _stacked(data)) is not None:
        return arrays if dtype is None else arrays.to(dtype)
    made = empty(shape, dtype=dtype or _natural_dtype(data, len(shape)), device="cpu")
    _C._fill_from_list(made, data)
    return made


def tensor(
    data: Any,
    *,
    dtype: _C.dtype | None = None,
    device: _C.device | str | int | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A new tensor with a copy of `data`: numbers, nested sequences, an array or a tensor."""
    target = _C._get_default_device() if device is None else _C.device(device)
    if isinstance(data, Tensor):
        _warn_copy()
        where = data.device if device is None else target
        made = _C._functions._to_copy(data.detach(), dtype=dtype, device=where)
    elif _is_storage(data):
        made = _over_storage(data, dtype)
        made = made if device is None else made.to(target)
    elif _is_array(data):
        shared = _C._dispatch.lift(_from_array(data))
        made = _C._functions._to_copy(shared, dtype=dtype, device=target)
    elif hasattr(data, "__dlpack__"):
        made = from_dlpack(data)
        made = _C._functions._to_copy(made, dtype=dtype, device=made.device if device is None else target)
    else:
        shape = _shape(data)
        if _C._dispatch.modes():  # they see the tensor when it has its values
            with _C._DisableTorchDispatch():
                made = _of_numbers(data, shape, dtype)
            made = _C._dispatch.lift(made)
        else:
            made = _of_numbers(data, shape, dtype)
        if target.type != "cpu":
            made = _C._functions._to_copy(made, device=target)
    if pin_memory:
        made = made.pin_memory()
    if requires_grad and not (made.is_floating_point() or made.is_complex()):
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    return made.requires_grad_(requires_grad) if requires_grad else made


def as_tensor(
    data: Any, dtype: _C.dtype | None = None, device: _C.device | str | int | None = None
) -> Tensor:
    """`data` as a tensor, without copying where its memory can be shared."""
    if isinstance(data, Tensor):
        return data.to(device=data.device if device is None else device, dtype=dtype or data.dtype)
    if _is_array(data):
        shared = _from_array(data)
        return shared.to(
            device=_C._get_default_device() if device is None else device, dtype=dtype or shared.dtype
        )
    return tensor(data, dtype=dtype, device=device)


def _index_tensor(sequence: Any) -> Tensor:
    """What a list or an array means inside x[...]."""
    if _is_array(sequence):
        return _from_array(sequence)
    made = tensor(sequence if isinstance(sequence, (list, tuple, str)) else list(sequence))
    return made if made.numel() and not made.is_floating_point() else made.long()
