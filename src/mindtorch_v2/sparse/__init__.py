"""Functions over sparse tensors (``torch.sparse``)."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch

from .. import _C
from .._absent import names_of
from .._C import Tensor, _functions
from .._sparse import invariants
from .._sparse.parts import COO, compressed_parts, layout_of
from ._diagonals import spdiags as spdiags
from ._legacy_types import (
    BFloat16Tensor as BFloat16Tensor,
)
from ._legacy_types import (
    ByteTensor as ByteTensor,
)
from ._legacy_types import (
    CharTensor as CharTensor,
)
from ._legacy_types import (
    DoubleTensor as DoubleTensor,
)
from ._legacy_types import (
    FloatTensor as FloatTensor,
)
from ._legacy_types import (
    HalfTensor as HalfTensor,
)
from ._legacy_types import (
    IntTensor as IntTensor,
)
from ._legacy_types import (
    LongTensor as LongTensor,
)
from ._legacy_types import (
    ShortTensor as ShortTensor,
)

__all__ = [
    "addmm",
    "as_sparse_gradcheck",
    "check_sparse_tensor_invariants",
    "log_softmax",
    "mm",
    "sampled_addmm",
    "softmax",
    "spdiags",
    "spsolve",
    "sum",
]

sampled_addmm = _functions.sparse_sampled_addmm


def mm(mat1: Tensor, mat2: Tensor, reduce: str | None = None) -> Tensor:
    """The product of matrices; the gradient of a sparse one is sparse as well.

    ``reduce`` says what is made of the products of a row instead of their sum: "mean", "amax", "amin".
    """
    if reduce is not None:
        from .._sparse.products import product_reduced

        return product_reduced(mat1, mat2, reduce)
    sparse = [layout_of(matrix) != "strided" for matrix in (mat1, mat2)]
    if not any(sparse):
        return torch.mm(mat1, mat2)
    if all(sparse):
        return _functions._sparse_sparse_matmul(mat1, mat2)
    if sparse[1]:
        return torch.mm(mat1, mat2)
    zero = torch.zeros((), dtype=mat1.dtype, device=mat1.device)
    return _functions._sparse_addmm(zero.expand(mat1.shape[0], mat2.shape[1]), mat1, mat2, beta=0)


def addmm(mat: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1.0, alpha: Any = 1.0) -> Tensor:
    """``beta * mat + alpha * (mat1 @ mat2)``, with a sparse gradient of a sparse mat1."""
    return _functions._sparse_addmm(mat, mat1, mat2, beta=beta, alpha=alpha)


def sum(input: Tensor, dim: Any = None, dtype: _C.dtype | None = None) -> Tensor:
    """Sums over dimensions, sparse while a sparse dimension is left; the gradient is where the elements are."""
    if dtype is not None:
        input = input.to(dtype)
    if dim is None or (isinstance(dim, (tuple, list)) and not dim):
        return input.coalesce().values().sum()
    return _functions._sparse_sum(input, [dim] if isinstance(dim, int) else list(dim))


def softmax(input: Tensor, dim: int, *, dtype: _C.dtype | None = None) -> Tensor:
    """Softmax along a dimension over the elements that there are: the others count as minus infinity."""
    return _functions._sparse_softmax(input if dtype is None else input.to(dtype), dim, False)


def log_softmax(input: Tensor, dim: int, *, dtype: _C.dtype | None = None) -> Tensor:
    """The logarithm of softmax along a dimension over the elements that there are."""
    return _functions._sparse_log_softmax(input if dtype is None else input.to(dtype), dim, False)


def spsolve(A: Tensor, B: Tensor, *, left: bool = True) -> Tensor:
    """Solves with a sparse matrix: no library here does it."""
    raise NotImplementedError(
        "torch.sparse.spsolve(): there is no sparse solver here; use torch.linalg.solve(A.to_dense(), B)"
    )


class check_sparse_tensor_invariants:
    """Whether parts are checked whenever a sparse tensor is made: by enable(), or for the length of a ``with``."""

    def __init__(self, enable: bool = True) -> None:
        self.state = enable
        self._saved: bool | None = None

    @staticmethod
    def is_enabled() -> bool:
        return invariants.enabled()

    @staticmethod
    def enable() -> None:
        invariants.enable(True)

    @staticmethod
    def disable() -> None:
        invariants.enable(False)

    def __enter__(self) -> None:
        if self._saved is not None:
            raise RuntimeError(
                "This context manager instance is already activated. Use a different context manager instance for "
                "context nesting."
            )
        self._saved = invariants.enabled()
        invariants.enable(self.state)

    def __exit__(self, *exception: object) -> None:
        assert self._saved is not None
        invariants.enable(self._saved)
        self._saved = None

    def __call__(self, function: Any) -> Any:
        from functools import wraps

        @wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            with type(self)(self.state):
                return function(*args, **kwargs)

        return checked


def as_sparse_gradcheck(gradcheck: Any) -> Any:
    """A gradcheck that takes sparse tensors: it checks functions of their values.

    With ``masked=True``, which is what it is about, elements that are not there have no gradient.
    """
    from functools import wraps

    @wraps(gradcheck)
    def checked(func: Any, inputs: Any, **kwargs: Any) -> Any:
        kwargs.pop("masked", None)
        given = list(inputs) if isinstance(inputs, (tuple, list)) else [inputs]
        flat: list[Any] = []
        rebuild: list[Any] = []
        for value in given:
            if isinstance(value, Tensor) and layout_of(value) != "strided" and value.requires_grad:
                rebuild.append(_from_values(value))
                values = (
                    value.detach().coalesce().values() if layout_of(value) == COO else value.detach().values()
                )
                flat.append(values.clone().requires_grad_(True))
            else:
                rebuild.append(None)
                flat.append(value)

        def dense(result: Any) -> Any:
            if isinstance(result, Tensor):
                return result.to_dense(masked_grad=True)
            return type(result)(map(dense, result)) if isinstance(result, (tuple, list)) else result

        def function(*values: Any) -> Any:
            made = [v if make is None else make(v) for v, make in zip(values, rebuild, strict=True)]
            return dense(func(*made))

        return gradcheck(function, tuple(flat), **kwargs)

    return checked


def _from_values(tensor: Tensor) -> Any:
    """A function that makes a tensor with the same places of other values."""
    if layout_of(tensor) == COO:
        places = tensor.detach().coalesce()
        return lambda values: torch.sparse_coo_tensor(
            places.indices(), values, tensor.shape, is_coalesced=True
        )
    parts = compressed_parts(tensor)
    layout = tensor.layout
    return lambda values: torch.sparse_compressed_tensor(
        parts.compressed, parts.plain, values, tensor.shape, layout=layout
    )


__getattr__ = names_of(__name__)
