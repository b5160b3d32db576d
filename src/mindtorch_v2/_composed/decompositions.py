"""Decompositions in terms of the native ones: reflections, least squares, pseudo-inverses, ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import mindtorch_v2 as torch
from mindtorch_v2._C import _functions as _native

if TYPE_CHECKING:
    from mindtorch_v2 import Tensor


def real_dtype(dtype: torch.dtype) -> torch.dtype:
    return {torch.complex64: torch.float32, torch.complex128: torch.float64}.get(dtype, dtype)


_LEGACY = {
    torch.uint8: "Byte", torch.int8: "Char", torch.int16: "Short", torch.int32: "Int", torch.int64: "Long",
    torch.bool: "Bool", torch.float16: "Half", torch.bfloat16: "BFloat16", torch.float32: "Float",
    torch.float64: "Double", torch.complex64: "ComplexFloat", torch.complex128: "ComplexDouble",
}  # fmt: skip


def legacy_name(dtype: torch.dtype) -> str:
    """The dtype as PyTorch's older messages spell it."""
    return _LEGACY.get(dtype, str(dtype))


def _wants_gradient(*tensors: Tensor) -> bool:
    return torch.is_grad_enabled() and any(t.requires_grad for t in tensors)


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
            f"{legacy_name(self.dtype)} and other's dtype {legacy_name(b.dtype)}"
        )
    if not (self.is_floating_point() or self.is_complex()):
        raise RuntimeError(
            f"{name}: Expected a floating point or complex tensor as input. Got {legacy_name(self.dtype)}"
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
        rcond = torch.finfo(real_dtype(self.dtype)).eps * max(rows, columns)
    solution, rank, values = _native._linalg_lstsq(self.detach(), right.detach(), rcond, driver)
    if _wants_gradient(self, b):  # the minimal solution, as an expression that can be differentiated
        solution = torch.linalg.pinv(self) @ right
    residuals = solution.reshape(-1)[:0].abs()
    # With deficient rank a matrix of the batch has none, and so neither has the batch.
    if rows > columns and driver != "gelsy":
        if driver == "gels" or bool((rank == columns).all()):
            misses = (self @ solution - right).abs()
            residuals = (misses * misses).sum(-2)
    return (solution.squeeze(-1) if vector else solution), residuals, rank, values


def _tolerances(
    matrix: Tensor, atol: Tensor | float | None, rtol: Tensor | float | None
) -> tuple[Tensor, Tensor]:
    """Absolute and relative tolerance as float64 tensors. With neither, or only a non-positive absolute one,
    the relative tolerance is eps * max(m, n); with an absolute one it is 0."""
    usual = torch.finfo(real_dtype(matrix.dtype)).eps * max(matrix.shape[-2:])

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
