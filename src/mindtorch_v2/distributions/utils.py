"""``torch.distributions.utils``: what distributions are written with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mindtorch_v2 as torch

from ..overrides import is_tensor_like

__all__ = [
    "broadcast_all",
    "logits_to_probs",
    "clamp_probs",
    "probs_to_logits",
    "lazy_property",
    "tril_matrix_to_vec",
    "vec_to_tril_matrix",
]

euler_constant = 0.57721566490153286060


def broadcast_all(*values: Any) -> tuple[Any, ...]:
    """Numbers and tensors as tensors of one shape; numbers take the dtype and the device of the first tensor."""
    if not all(is_tensor_like(value) or isinstance(value, (int, float, complex)) for value in values):
        raise ValueError(
            "Input arguments must all be instances of Number, torch.Tensor or objects implementing __torch_function__."
        )
    if not all(is_tensor_like(value) for value in values):
        options: dict[str, Any] = {"dtype": torch.get_default_dtype()}
        for value in values:
            if isinstance(value, torch.Tensor):
                options = {"dtype": value.dtype, "device": value.device}
                break
        values = tuple(v if is_tensor_like(v) else torch.tensor(v, **options) for v in values)
    return tuple(torch.broadcast_tensors(*values))


def _standard_normal(shape: Any, dtype: Any, device: Any) -> Any:
    return torch.normal(torch.zeros(shape, dtype=dtype, device=device), 1.0)


def _uniform(shape: Any, like: Any) -> Any:
    return torch.rand(shape, dtype=like.dtype, device=like.device)


def _sum_rightmost(value: Any, dim: int) -> Any:
    """The sum over the last ``dim`` dimensions."""
    return value if dim == 0 else value.reshape(value.shape[:-dim] + (-1,)).sum(-1)


def logits_to_probs(logits: Any, is_binary: bool = False) -> Any:
    """The probabilities that logits mean: of one event, or of each of the last dimension's."""
    return torch.sigmoid(logits) if is_binary else torch.softmax(logits, dim=-1)


def clamp_probs(probs: Any) -> Any:
    """Probabilities kept off 0 and 1 by the least that their dtype can tell."""
    eps = torch.finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs: Any, is_binary: bool = False) -> Any:
    """The logits that give these probabilities."""
    safe = clamp_probs(probs)
    return torch.log(safe) - torch.log1p(-safe) if is_binary else torch.log(safe)


class lazy_property:
    """An attribute that is computed when it is first asked for, and then kept."""

    def __init__(self, wrapped: Callable[[Any], Any]) -> None:
        self.wrapped = wrapped
        self.__name__, self.__doc__ = wrapped.__name__, wrapped.__doc__

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        with torch.enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.__name__, value)
        return value


def tril_matrix_to_vec(mat: Any, diag: int = 0) -> Any:
    """The lower triangle of matrices, row after row, as vectors."""
    size = mat.shape[-1]
    if not -size <= diag < size:
        raise ValueError(f"diag ({diag}) provided is outside [{-size}, {size - 1}].")
    rows, columns = torch.tril_indices(size, size, diag, device=mat.device)
    return mat[..., rows, columns]


def vec_to_tril_matrix(vec: Any, diag: int = 0) -> Any:
    """Matrices with the vectors in their lower triangle, row after row."""
    # n rows have (n + diag)(n + diag + 1) / 2 elements there, less those of a triangle that is cut off.
    length = vec.shape[-1]
    size = (-(1 + 2 * diag) + ((1 + 2 * diag) ** 2 + 8 * length + 4 * abs(diag) * (diag + 1)) ** 0.5) / 2
    if abs(size - round(size)) > torch.finfo(vec.dtype).eps:
        raise ValueError(
            f"The size of last dimension is {length} which cannot be expressed as the lower triangular part of a "
            "square D x D matrix."
        )
    count = round(size)
    matrix = vec.new_zeros(vec.shape[:-1] + (count, count))
    rows, columns = torch.tril_indices(count, count, diag, device=vec.device)
    matrix[..., rows, columns] = vec
    return matrix
