"""``torch.sparse.FloatTensor`` and its kin: constructors of old, and types to ask for with isinstance."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch

from .._C import Tensor
from .._sparse.parts import COO, layout_of
from .._types.dtypes import dtype_of

_DTYPES = {
    "BFloat16Tensor": "bfloat16", "ByteTensor": "uint8", "CharTensor": "int8", "DoubleTensor": "float64",
    "FloatTensor": "float32", "HalfTensor": "float16", "IntTensor": "int32", "LongTensor": "int64",
    "ShortTensor": "int16",
}  # fmt: skip


class _SparseType(type):
    dtype: Any
    is_sparse = True
    layout = property(lambda cls: torch.sparse_coo)

    def __instancecheck__(cls, instance: Any) -> bool:
        return (
            isinstance(instance, Tensor)
            and layout_of(instance) == COO
            and instance.dtype == cls.dtype
            and instance.is_cpu
        )

    def __call__(cls, *args: Any, device: Any = None) -> Tensor:
        if all(isinstance(value, int) for value in args):
            return torch.sparse_coo_tensor(args or (0,), dtype=cls.dtype, device=device)
        if len(args) == 1 and isinstance(args[0], (tuple, list, torch.Size)):
            return torch.sparse_coo_tensor(tuple(args[0]), dtype=cls.dtype, device=device)
        return torch.sparse_coo_tensor(*args, dtype=cls.dtype, device=device)


def _type(name: str) -> _SparseType:
    made = _SparseType(name, (), {"__module__": "mindtorch_v2.sparse"})
    made.dtype = dtype_of(_DTYPES[name])
    return made


(
    BFloat16Tensor,
    ByteTensor,
    CharTensor,
    DoubleTensor,
    FloatTensor,
    HalfTensor,
    IntTensor,
    LongTensor,
    ShortTensor,
) = map(_type, _DTYPES)
