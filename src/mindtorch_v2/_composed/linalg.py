"""Norms, condition numbers and products of several matrices, in terms of other operators."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import mindtorch_v2 as torch

from .decompositions import legacy_name

if TYPE_CHECKING:
    from mindtorch_v2 import Tensor

Order = float | int | str


def _wrapped(dims: Sequence[int], ndim: int) -> list[int]:
    limit = max(ndim, 1)
    for d in dims:
        if not -limit <= d < limit:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-limit}, {limit - 1}], but got {d})"
            )
    return [d % limit for d in dims]


def _in_dtype(self: Tensor, dtype: torch.dtype | None, name: str) -> Tensor:
    kind = dtype if dtype is not None else self.dtype
    if not (kind.is_floating_point or kind.is_complex):
        raise RuntimeError(
            f"{name}: Expected a floating point or complex tensor as input. Got {legacy_name(kind)}"
        )
    return self if dtype is None else self.to(dtype)


def matrix_norm(
    self: Tensor,
    ord: Order = "fro",
    dim: int | Sequence[int] = (-2, -1),
    keepdim: bool = False,
    dtype: torch.dtype | None = None,
) -> Tensor:
    name = "linalg.matrix_norm"
    if self.dim() < 2:
        raise RuntimeError(f"{name}: The input tensor A must have at least 2 dimensions.")
    pair = [dim] if isinstance(dim, int) else list(dim)
    if len(pair) != 2:
        raise RuntimeError(f"{name}: dim must be a 2-tuple. Got {' '.join(str(d) for d in pair)}")
    rows, columns = _wrapped(pair, self.dim())
    if rows == columns:
        raise RuntimeError(f"{name}: dims must be different. Got ({pair[0]}, {pair[1]})")
    x = _in_dtype(self, dtype, name)
    if ord == "fro":
        return torch.linalg.vector_norm(x, 2, [rows, columns], keepdim)
    if ord == "nuc" or (not isinstance(ord, str) and abs(ord) == 2):
        rest = [d for d in range(x.dim()) if d not in (rows, columns)]
        values = torch.linalg.svdvals(x.permute([*rest, rows, columns]))
        if ord == "nuc":
            out = values.sum(-1)
        else:
            out = _largest(values, -1) if ord == 2 else values.amin(-1)
        if keepdim:
            for d in sorted((rows, columns)):
                out = out.unsqueeze(d)
        return out
    if isinstance(ord, str) or abs(ord) not in (1, math.inf):
        raise RuntimeError(f"{name}: Order {ord} not supported.")
    summed, kept = (rows, columns) if abs(ord) == 1 else (columns, rows)
    sums = x.abs().sum(summed, True)
    out = _largest(sums, kept, True) if ord > 0 else sums.amin(kept, True)
    return out if keepdim else _without(out, rows, columns)


def _largest(values: Tensor, dim: int, keepdim: bool = False) -> Tensor:
    """The largest of values that are not negative: of none, 0."""
    return values.amax(dim, keepdim) if values.size(dim) else values.sum(dim, keepdim)


def _without(x: Tensor, rows: int, columns: int) -> Tensor:
    for d in sorted((rows, columns), reverse=True):
        x = x.squeeze(d)
    return x


def norm(
    self: Tensor,
    ord: Order | None = None,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    dtype: torch.dtype | None = None,
) -> Tensor:
    dims = [dim] if isinstance(dim, int) else None if dim is None else list(dim)
    if dims is not None and len(dims) not in (1, 2):
        raise RuntimeError(f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {dims}")
    if dims is None and ord is not None and self.dim() not in (1, 2):
        raise RuntimeError(
            f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {self.dim()}D."
        )
    if isinstance(ord, str):
        return matrix_norm(self, ord, dims if dims is not None else (-2, -1), keepdim, dtype)
    if ord is not None and ((dims is not None and len(dims) == 2) or (dims is None and self.dim() == 2)):
        return matrix_norm(self, ord, dims if dims is not None else (0, 1), keepdim, dtype)
    return torch.linalg.vector_norm(self, 2 if ord is None else ord, dims, keepdim, dtype=dtype)


def cond(self: Tensor, p: Order | None = None) -> Tensor:
    if self.dim() < 2:
        raise RuntimeError("linalg.cond: The input tensor must have at least 2 dimensions.")
    allowed = ("fro", "nuc") if isinstance(p, str) else (None, 1, -1, 2, -2, math.inf, -math.inf)
    if p not in allowed:
        raise RuntimeError(f"linalg.cond got an invalid norm type: {p}")
    if p is None or p in (2, -2):
        if self.numel() == 0:
            values = self.abs()  # of the real dtype
            return torch.zeros(self.shape[:-2], dtype=values.dtype, device=self.device)
        values = torch.linalg.svdvals(self)
        largest, smallest = values[..., 0], values[..., -1]
        return smallest / largest if p == -2 else largest / smallest
    if self.size(-2) != self.size(-1):
        raise RuntimeError(
            f"linalg.cond(ord={p}): A must be batches of square matrices, but they are "
            f"{self.size(-2)} by {self.size(-1)} matrices"
        )
    if self.numel() == 0:
        return torch.zeros(self.shape[:-2], dtype=self.abs().dtype, device=self.device)
    inverse, info = torch.linalg.inv_ex(self)
    singular = (info > 0).unsqueeze(-1).unsqueeze(-1)
    inverse = torch.where(singular, torch.full_like(inverse, math.inf), inverse)
    return matrix_norm(self, p) * matrix_norm(inverse, p)


def _cheapest_splits(sizes: Sequence[int]) -> list[list[int]]:
    """Where to split the product of matrices i…j for the fewest multiplications; matrix i is sizes[i] by
    sizes[i + 1]."""
    count = len(sizes) - 1
    cost = [[0] * count for _ in range(count)]
    split = [[0] * count for _ in range(count)]
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            cost[i][j], split[i][j] = min(
                (cost[i][k] + cost[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j)
            )
    return split


def _product(matrices: Sequence[Tensor], split: list[list[int]], i: int, j: int) -> Tensor:
    if i == j:
        return matrices[i]
    k = split[i][j]
    return _product(matrices, split, i, k) @ _product(matrices, split, k + 1, j)


def multi_dot(tensors: Sequence[Tensor]) -> Tensor:
    name, count = "multi_dot()", len(tensors)
    if count < 2:
        raise RuntimeError(f"{name}: expected at least 2 tensors but got {count}")
    first, last = tensors[0], tensors[-1]
    for tensor, place in ((first, "first"), (last, "last")):
        if tensor.dim() not in (1, 2):
            raise RuntimeError(f"{name}: the {place} tensor must be 1D or 2D but got {tensor.dim()}D")
    for i, tensor in enumerate(tensors):
        if 0 < i < count - 1 and tensor.dim() != 2:
            raise RuntimeError(f"{name}: tensor {i} must be 2D but got {tensor.dim()}D")
        if tensor.dtype != first.dtype:
            raise RuntimeError(
                f"{name}: all tensors must have be the same dtype but tensor 0 is {first.dtype} and tensor "
                f"{i} {tensor.dtype}"
            )
    matrices = [
        first.unsqueeze(0) if first.dim() == 1 else first,
        *tensors[1:-1],
        last.unsqueeze(1) if last.dim() == 1 else last,
    ]
    for i in range(count - 1):
        if matrices[i].size(1) != matrices[i + 1].size(0):
            raise RuntimeError(
                f"{name}: tensors {i} and {i + 1} with shapes {list(tensors[i].shape)} and "
                f"{list(tensors[i + 1].shape)} cannot be multiplied"
            )
    split = _cheapest_splits([m.size(0) for m in matrices] + [matrices[-1].size(1)])
    out = _product(matrices, split, 0, count - 1)
    if last.dim() == 1:
        out = out.squeeze(1)
    return out.squeeze(0) if first.dim() == 1 else out


def matrix_exp(self: Tensor) -> Tensor:
    """Scaling and squaring: exp(A) = exp(A / 2^s)^(2^s), each matrix of a batch with an s of its own that
    brings its norm below 1/2, where the Taylor series needs few terms."""
    name = "linalg.matrix_exp"
    if self.dim() < 2:
        raise RuntimeError(f"{name}: The input tensor A must have at least 2 dimensions.")
    if not (self.is_floating_point() or self.is_complex()):
        raise RuntimeError(
            f"{name}: Expected a floating point or complex tensor as input. Got {legacy_name(self.dtype)}"
        )
    n = self.size(-1)
    if self.size(-2) != n:
        raise RuntimeError(
            f"{name}: A must be batches of square matrices, but they are {self.size(-2)} by {n} matrices"
        )
    if self.numel() == 0:
        return self.clone()
    wider = {torch.float32: torch.float64, torch.complex64: torch.complex128}.get(self.dtype)
    if wider is not None:  # repeated squaring doubles the error each time
        return matrix_exp(self.to(wider)).to(self.dtype)
    size = self.detach().abs().sum(-1).amax(-1)
    squarings = ((size.clamp_min(1e-30).log() / math.log(2.0)).ceil() + 1).clamp_min(0).clamp_max(1000)
    times = squarings.unsqueeze(-1).unsqueeze(-1)
    small = self / torch.pow(torch.full_like(times, 2.0), times)
    terms = 15  # (1/2)^k / k! is below the rounding of float64 at k = 14
    one = torch.eye(n, dtype=self.dtype, device=self.device).expand(self.shape)
    out = one + small / terms
    for k in range(terms - 1, 0, -1):
        out = one + (small @ out) / k
    most = 0 if self.is_meta else squarings.amax().item()
    for i in range(int(most) if math.isfinite(most) else 0):
        out = torch.where(times > i, out @ out, out)
    return out


def tensorinv(self: Tensor, ind: int = 2) -> Tensor:
    if ind <= 0:
        raise RuntimeError(f"Expected a strictly positive integer for 'ind', but got {ind}")
    front, back = list(self.shape[:ind]), list(self.shape[ind:])
    rows, columns = math.prod(front), math.prod(back)
    if rows != columns:
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), "
            f"but got {columns} != {rows}"
        )
    return torch.linalg.inv(self.reshape(rows, columns)).reshape([*back, *front])


def tensorsolve(self: Tensor, other: Tensor, dims: Sequence[int] | None = None) -> Tensor:
    matrix = self
    if dims is not None:
        moved = _wrapped(dims, self.dim())
        if len(set(moved)) != len(moved):
            raise RuntimeError(f"movedim: repeated dim in `source` ({list(dims)})")
        matrix = self.permute([d for d in range(self.dim()) if d not in moved] + moved)
    back = list(matrix.shape[other.dim() :])
    rows, columns = math.prod(matrix.shape[: other.dim()]), math.prod(back)
    if rows != columns:
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == "
            f"prod(self.shape[:other.ndim]), but got {columns} != {rows}"
        )
    return torch.linalg.solve(matrix.reshape(rows, columns), other.reshape(-1)).reshape(back)


def vander(x: Tensor, N: int | None = None) -> Tensor:
    count = (x.size(-1) if x.dim() > 0 else 1) if N is None else N
    if count <= 1:
        raise RuntimeError("N must be greater than 1.")
    if not (x.is_floating_point() or x.is_complex()):
        x = x.to(torch.int64)
    if x.dim() == 0:
        x = x.reshape(1)
    repeated = x.unsqueeze(-1).expand([*x.shape, count - 1])
    return torch.cat([torch.ones_like(x).unsqueeze(-1), repeated.cumprod(-1)], -1)
