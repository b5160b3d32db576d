"""Making a batch of samples."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy

import mindtorch_v2 as torch
from mindtorch_v2 import _C

from . import worker
from .containers import is_named_tuple, like_mapping, like_sequence

CollateMap = dict[type | tuple[type, ...], Callable[..., Any]]

np_str_obj_array_pattern = re.compile(r"[SaUO]")
# Below this many bytes a copy through the socket is cheaper than mapping memory in two processes.
SMALL_BYTES = 1 << 15


def default_convert(data: Any) -> Any:
    """Numpy arrays, wherever they are in the data, as tensors; the rest as it is."""
    kind = type(data)
    if isinstance(data, torch.Tensor):
        return data
    if kind.__module__ == "numpy" and kind.__name__ not in ("str_", "string_", "bytes_"):
        if isinstance(data, numpy.ndarray) and np_str_obj_array_pattern.search(data.dtype.str):
            return data
        return torch.as_tensor(data)
    if isinstance(data, Mapping):
        return like_mapping(data, {key: default_convert(data[key]) for key in data})
    if is_named_tuple(data):
        return kind(*[default_convert(item) for item in data])
    if isinstance(data, tuple):
        return [default_convert(item) for item in data]
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return like_sequence(data, [default_convert(item) for item in data])
    return data


def collate(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Any:
    """A batch of samples; ``collate_fn_map`` says how samples of a type are put together."""
    first = batch[0]
    kind = type(first)
    if collate_fn_map is not None:
        function = collate_fn_map.get(kind)
        if function is None:
            function = next((f for known, f in collate_fn_map.items() if isinstance(first, known)), None)
        if function is not None:
            return function(batch, collate_fn_map=collate_fn_map)

    def column(samples: Any) -> Any:
        return collate(samples, collate_fn_map=collate_fn_map)

    if isinstance(first, Mapping):
        return like_mapping(first, {key: column([sample[key] for sample in batch]) for key in first})
    if is_named_tuple(first):
        return kind(*[column(samples) for samples in zip(*batch, strict=False)])
    if isinstance(first, Sequence):
        if any(len(sample) != len(first) for sample in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        columns = [column(samples) for samples in zip(*batch, strict=True)]
        return columns if isinstance(first, tuple) else like_sequence(first, columns)
    raise TypeError(
        f"default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {kind}"
    )


def collate_tensor_fn(batch: Any, *, collate_fn_map: CollateMap | None = None) -> torch.Tensor:
    first = batch[0]
    if first.layout is not torch.strided:
        raise RuntimeError(
            "Batches of sparse tensors are not currently supported by the default collate_fn; please provide a "
            "custom collate_fn to handle them appropriately."
        )
    if worker.get_worker_info() is None:
        return torch.stack(batch, 0)
    count = len(batch) * first.numel()
    nbytes = count * first.element_size()
    alike = first.device.type == "cpu" and all(
        sample.dtype is first.dtype and sample.shape == first.shape and not sample.requires_grad
        for sample in batch
    )
    if nbytes < SMALL_BYTES or first.dim() == 0 or not alike:
        return torch.stack(batch, 0)
    # The loader's process maps this memory, so the samples are copied once only.
    storage = worker.blocks.take(nbytes)
    out = _C.tensor_from_storage(storage._handle, first.dtype, 0, [count], [1])
    torch.cat(batch, 0, out=out.view(len(batch) * first.size(0), *first.shape[1:]))
    return out.view(len(batch), *first.shape)


def collate_numpy_array_fn(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Any:
    first = batch[0]
    if np_str_obj_array_pattern.search(first.dtype.str):
        raise TypeError(
            "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found "
            f"{first.dtype}"
        )
    return collate([torch.as_tensor(sample) for sample in batch], collate_fn_map=collate_fn_map)


def collate_numpy_scalar_fn(batch: Any, *, collate_fn_map: CollateMap | None = None) -> torch.Tensor:
    return torch.as_tensor(batch)


def collate_float_fn(batch: Any, *, collate_fn_map: CollateMap | None = None) -> torch.Tensor:
    return torch.tensor(batch, dtype=torch.float64)


def collate_int_fn(batch: Any, *, collate_fn_map: CollateMap | None = None) -> torch.Tensor:
    return torch.tensor(batch)


def collate_str_fn(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Any:
    return batch


default_collate_fn_map: CollateMap = {
    torch.Tensor: collate_tensor_fn,
    numpy.ndarray: collate_numpy_array_fn,
    (numpy.bool_, numpy.number, numpy.object_): collate_numpy_scalar_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}


def default_collate(batch: Any) -> Any:
    """Samples as one batch: tensors and arrays stacked, numbers as a tensor, containers element by element."""
    return collate(batch, collate_fn_map=default_collate_fn_map)
