"""Linear algebra in terms of the native decompositions and products."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import mindtorch_v2 as torch
from mindtorch_v2 import _C
from mindtorch_v2._C import _functions as _native

from .._types.size import from_front

if TYPE_CHECKING:
    from mindtorch_v2 import Tensor

Order = float | int | str


def _real_dtype(dtype: torch.dtype) -> torch.dtype:
    return {torch.complex64: torch.float32, torch.complex128: torch.float64}.get(dtype, dtype)


_LEGACY = {
    torch.uint8: "Byte", torch.int8: "Char", torch.int16: "Short", torch.int32: "Int", torch.int64: "Long",
    torch.bool: "Bool", torch.float16: "Half", torch.bfloat16: "BFloat16", torch.float32: "Float",
    torch.float64: "Double", torch.complex64: "ComplexFloat", torch.complex128: "ComplexDouble",
}  # fmt: skip


def _legacy_name(dtype: torch.dtype) -> str:
    """The dtype as PyTorch's older messages spell it."""
    return _LEGACY.get(dtype, str(dtype))


# ---- norms, condition numbers, products of several matrices ------------------------------------------


def _in_dtype(self: Tensor, dtype: torch.dtype | None, name: str) -> Tensor:
    kind = dtype if dtype is not None else self.dtype
    if not (kind.is_floating_point or kind.is_complex):
        raise RuntimeError(
            f"{name}: Expected a floating point or complex tensor as input. Got {_legacy_name(kind)}"
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
    rows, columns = (from_front(d, self.dim()) for d in pair)
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


def matrix_exp(self: Tensor) -> Tensor:
    """Scaling and squaring: exp(A) = exp(A / 2^s)^(2^s), each matrix of a batch with an s of its own that
    brings its norm below 1/2, where the Taylor series needs few terms."""
    name = "linalg.matrix_exp"
    if self.dim() < 2:
        raise RuntimeError(f"{name}: The input tensor A must have at least 2 dimensions.")
    if not (self.is_floating_point() or self.is_complex()):
        raise RuntimeError(
            f"{name}: Expected a floating point or complex tensor as input. Got {_legacy_name(self.dtype)}"
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
    most = 0 if self.is_meta else torch._C._functorch._of_all_slices(squarings).amax().item()
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
        moved = [from_front(d, self.dim()) for d in dims]
        if len(set(moved)) != len(moved):
            raise RuntimeError(f"movedim: repeated dim in `source` ({list(dims)})")
        if self.dim() > 0:
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


# ---- reflections, least squares, pseudo-inverses, ranks ----------------------------------------------


def _wants_gradient(*tensors: Tensor) -> bool:
    """Whether one of them is differentiated, backward or forward."""
    return (torch.is_grad_enabled() and any(t.requires_grad for t in tensors)) or (
        _C._forward.levels() > 0 and _C._forward.highest_level(tensors) > 0
    )


def _reflect(reflectors: Tensor, tau: Tensor, matrix: Tensor, order: list[int], conjugate: bool) -> Tensor:
    """H_i … applied to `matrix` from the left in the given order, where H_i = I - tau_i v_i v_i^H and v_i is
    the part of column i below its diagonal, under a one. Each step is a product, so gradients flow."""
    rows = reflectors.size(-2)
    places = torch.arange(rows, device=reflectors.device)
    for i in order:
        column = reflectors[..., i]
        v = torch.where(places > i, column, 0) + (places == i).to(column.dtype)
        v = v.unsqueeze(-1)
        factor = tau[..., i].unsqueeze(-1).unsqueeze(-1)
        if conjugate and factor.is_complex():
            factor = factor.conj()
        matrix = matrix - factor * (v @ (v.mH @ matrix))
    return matrix


def householder_product(input: Tensor, tau: Tensor) -> Tensor:
    if not _wants_gradient(input, tau):
        return _native._linalg_householder_product(input, tau)
    _native._linalg_householder_product(input.detach(), tau.detach())  # its checks
    rows, columns = input.shape[-2:]
    start = (
        torch.eye(rows, columns, dtype=input.dtype, device=input.device) + input * 0
    )  # part of the graph even without reflections
    return _reflect(input, tau, start, list(range(tau.size(-1)))[::-1], False)


def orgqr(self: Tensor, input2: Tensor) -> Tensor:
    return householder_product(self, input2)


def ormqr(self: Tensor, input2: Tensor, input3: Tensor, left: bool = True, transpose: bool = False) -> Tensor:
    if not _wants_gradient(self, input2, input3):
        return _native._linalg_ormqr(self, input2, input3, left, transpose)
    _native._linalg_ormqr(self.detach(), input2.detach(), input3.detach(), left, transpose)  # its checks
    order = list(range(input2.size(-1)))
    if left:
        return _reflect(self, input2, input3, order if transpose else order[::-1], transpose)
    # C Q = (Q^H C^H)^H
    turned = _reflect(self, input2, input3.mH, order[::-1] if transpose else order, not transpose)
    return turned.mH


def lstsq(
    self: Tensor, b: Tensor, rcond: float | None = None, driver: str | None = None
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    name = "torch.linalg.lstsq"
    if self.dim() < 2:
        raise RuntimeError(f"{name}: input must have at least 2 dimensions.")
    if b.dim() < 1:
        raise RuntimeError(f"{name}: other must have at least 1 dimension.")
    if self.dtype != b.dtype:
        raise RuntimeError(
            f"{name}: Expected input and other to have the same dtype, but got input's dtype "
            f"{_legacy_name(self.dtype)} and other's dtype {_legacy_name(b.dtype)}"
        )
    if not (self.is_floating_point() or self.is_complex()):
        raise RuntimeError(
            f"{name}: Expected a floating point or complex tensor as input. Got {_legacy_name(self.dtype)}"
        )
    difference = self.dim() - b.dim()
    if not 0 <= difference <= 1:
        raise RuntimeError(
            f"{name}: input.dim() must be greater or equal to other.dim() and "
            "(input.dim() - other.dim()) <= 1"
        )
    vector = difference == 1
    right = b.unsqueeze(-1) if vector else b
    if self.size(-2) != right.size(-2):
        dim = -1 if vector else -2
        raise RuntimeError(f"{name}: input.size(-2) should match other.size({dim})")
    driver = "gelsy" if driver is None else driver.lower()
    if driver not in ("gels", "gelsy", "gelsd", "gelss"):
        raise RuntimeError(f"{name}: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)")
    rows, columns = self.shape[-2:]
    if rcond is None:
        rcond = torch.finfo(_real_dtype(self.dtype)).eps * max(rows, columns)
    solution, rank, values = _native._linalg_lstsq(self.detach(), right.detach(), rcond, driver)
    if _wants_gradient(self, b):  # the minimal solution, as an expression that can be differentiated
        solution = torch.linalg.pinv(self) @ right
    residuals = solution.reshape(-1)[:0].abs()
    # With deficient rank a matrix of the batch has none, and so neither has the batch.
    if rows > columns and driver != "gelsy":
        if driver == "gels" or bool(torch._C._functorch._of_all_slices(rank == columns).all()):
            misses = (self @ solution - right).abs()
            residuals = (misses * misses).sum(-2)
    return (solution.squeeze(-1) if vector else solution), residuals, rank, values


def _tolerances(
    matrix: Tensor, atol: Tensor | float | None, rtol: Tensor | float | None
) -> tuple[Tensor, Tensor]:
    """Absolute and relative tolerance as float64 tensors. With neither, or only a non-positive absolute one,
    the relative tolerance is eps * max(m, n); with an absolute one it is 0."""
    usual = torch.finfo(_real_dtype(matrix.dtype)).eps * max(matrix.shape[-2:])

    def number(value: Tensor | float) -> Tensor:
        if isinstance(value, torch.Tensor):
            return value.to(torch.float64)
        return torch.full((), value, dtype=torch.float64, device=matrix.device)

    absolute = number(0.0 if atol is None else atol)
    if rtol is not None:
        return absolute, number(rtol)
    if atol is None:
        return absolute, number(usual)
    return absolute, torch.where(absolute > 0, torch.zeros_like(absolute), number(usual))


def pinv(
    self: Tensor,
    rcond: Tensor | float | None = None,
    atol: Tensor | float | None = None,
    rtol: Tensor | float | None = None,
    hermitian: bool = False,
) -> Tensor:
    if self.dim() < 2 or not (self.is_floating_point() or self.is_complex()):
        zero = torch.zeros((), dtype=torch.float64, device=self.device)
        return _native._linalg_pinv(self, zero, zero, hermitian)  # which refuses it
    if rcond is not None:
        rtol = rcond
    return _native._linalg_pinv(self, *_tolerances(self, atol, rtol), hermitian)


def pinverse(self: Tensor, rcond: float = 1e-15) -> Tensor:
    return pinv(self, rcond)


def matrix_rank(
    input: Tensor,
    tol: Tensor | float | None = None,
    atol: Tensor | float | None = None,
    rtol: Tensor | float | None = None,
    hermitian: bool = False,
) -> Tensor:
    if input.dim() < 2:
        raise RuntimeError(
            "torch.linalg.matrix_rank: The input tensor input must have at least 2 dimensions."
        )
    for value, name in ((atol, "atol"), (rtol, "rtol"), (tol, "tol")):
        if isinstance(value, torch.Tensor) and value.is_complex():
            raise RuntimeError(f"torch.linalg.matrix_rank: {name} tensor of complex type is not supported.")
    if not (input.is_floating_point() or input.is_complex()):
        raise RuntimeError("This function doesn't handle types other than float and double")
    if tol is not None:
        atol, rtol = tol, 0.0
    absolute, relative = _tolerances(input, atol, rtol)
    if input.numel() == 0:
        return torch.zeros(input.shape[:-2], dtype=torch.int64, device=input.device)
    matrix = input.detach()
    values = torch.linalg.eigvalsh(matrix).abs() if hermitian else torch.linalg.svdvals(matrix)
    largest = values.amax(-1)
    least = torch.maximum(absolute.to(largest.dtype), relative.to(largest.dtype) * largest)
    return (values > least.unsqueeze(-1)).sum(-1)
