"""Ready parametrizations: orthogonal, of spectral norm 1, and as length and direction."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2 import Tensor

from ..modules.module import Module
from . import parametrize
from .spectral_norm import default_dim

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]

_MAPS = ("matrix_exp", "cayley", "householder")


def _is_orthogonal(Q: Tensor, eps: float | None = None) -> bool:
    rows, columns = Q.size(-2), Q.size(-1)
    if eps is None:
        eps = 10.0 * rows * torch.finfo(Q.dtype).eps
    identity = torch.eye(columns, dtype=Q.dtype, device=Q.device)
    return bool(torch.allclose(Q.mH @ Q, identity, atol=eps))


def _make_orthogonal(A: Tensor) -> Tensor:
    """An orthogonal matrix of the same column space."""
    packed, tau = torch.geqrf(A)
    Q = torch.linalg.householder_product(packed, tau)
    # The signs of the diagonal make a matrix that is orthogonal already stay what it is.
    return Q * packed.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


class _Orthogonal(Module):
    """``base`` times the orthogonal matrix that a map makes of the original; without a base, that alone."""

    base: Tensor | None

    def __init__(self, weight: Tensor, orthogonal_map: str, *, use_trivialization: bool = True) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map == "householder":
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Tensor) -> Tensor:
        transposed = X.size(-2) < X.size(-1)
        if transposed:
            X = X.mT
        rows, columns = X.size(-2), X.size(-1)
        if self.orthogonal_map == "householder":
            vectors = X.tril(-1)
            tau = 2.0 / (1.0 + (vectors * vectors).sum(-2))
            Q = torch.linalg.householder_product(vectors, tau)
            Q = Q * X.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)
        else:
            A = X.tril()
            if rows != columns:
                zeros = torch.zeros((*A.shape[:-2], rows, rows - columns), dtype=A.dtype, device=A.device)
                A = torch.cat([A, zeros], -1)
            A = A - A.mH
            if self.orthogonal_map == "matrix_exp":
                Q = torch.linalg.matrix_exp(A)
            else:
                identity = torch.eye(rows, dtype=A.dtype, device=A.device)
                Q = torch.linalg.solve(identity - 0.5 * A, identity + 0.5 * A)
            if rows != columns:
                Q = Q[..., :columns]
        base = self._buffers.get("base")
        if base is not None:
            Q = base @ Q
        return Q.mT if transposed else Q

    def right_inverse(self, Q: Tensor) -> Tensor:
        if Q.shape != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape "
                f"{Q.shape}."
            )
        before = Q
        transposed = Q.size(-2) < Q.size(-1)
        if transposed:
            Q = Q.mT
        rows, columns = Q.size(-2), Q.size(-1)
        if "base" not in self._buffers:
            if self.orthogonal_map != "householder":
                raise NotImplementedError(
                    "It is not possible to assign to the matrix exponential or the Cayley parametrizations "
                    "when use_trivialization=False."
                )
            packed, tau = torch.geqrf(Q)
            diagonal = packed.diagonal(dim1=-2, dim2=-1)
            diagonal.sign_()
            # Where tau is zero there is no reflection, and the sign of the diagonal is the matrix's own.
            diagonal.mul_(torch.where(tau == 0, -1.0, 1.0).to(diagonal.dtype))
            return packed.mT if transposed else packed
        if rows == columns:
            Q = Q.clone() if _is_orthogonal(Q) else _make_orthogonal(Q)
        else:
            shape = (*Q.shape[:-2], rows, rows - columns)
            filling = torch.randn(shape, dtype=Q.dtype, device=Q.device)
            Q = _make_orthogonal(torch.cat([Q, filling], -1))
        self.base = Q
        # Minus the identity is what every map sends to the identity.
        start = torch.zeros_like(before)
        start.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
        return start


def _tensor_of(module: Module, name: str) -> Tensor:
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    return weight


def orthogonal(
    module: Module,
    name: str = "weight",
    orthogonal_map: str | None = None,
    *,
    use_trivialization: bool = True,
) -> Module:
    """Keeps a weight orthogonal: its columns, or its rows where those are fewer."""
    weight = _tensor_of(module, name)
    if weight.dim() < 2:
        raise ValueError(
            f"Expected a matrix or batch of matrices. Got a tensor of {weight.dim()} dimensions."
        )
    if orthogonal_map is None:
        square = weight.size(-2) == weight.size(-1)
        orthogonal_map = "matrix_exp" if square or weight.is_complex() else "householder"
    if orthogonal_map not in _MAPS:
        raise ValueError(
            f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}'
        )
    made = _Orthogonal(weight, orthogonal_map, use_trivialization=use_trivialization)
    return parametrize.register_parametrization(module, name, made, unsafe=True)


class _WeightNorm(Module):
    """A weight from its length along ``dim`` and its direction."""

    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return torch._weight_norm(weight_v, weight_g, self.dim)

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return torch.norm_except_dim(weight, 2, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Trains the length of a weight apart from its direction. Loads states of the older weight_norm too."""
    parametrize.register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def rename(state_dict: dict[str, Any], prefix: str, *_: Any) -> None:
        for end, new in (("_g", "original0"), ("_v", "original1")):
            old = f"{prefix}{name}{end}"
            if old in state_dict:
                state_dict[f"{prefix}parametrizations.{name}.{new}"] = state_dict.pop(old)

    module._register_load_state_dict_pre_hook(rename)
    return module


class _SpectralNorm(Module):
    """A weight divided by an estimate of its largest singular value, which gets better in training."""

    _u: Tensor
    _v: Tensor

    def __init__(self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        dims = weight.dim()
        if dim >= dims or dim < -dims:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [-{dims}, {dims - 1}] but got {dim})"
            )
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.dim = dim if dim >= 0 else dim + dims
        self.eps = eps
        if dims > 1:
            self.n_power_iterations = n_power_iterations
            matrix = self._matrix(weight).detach()
            for name, size in zip(("_u", "_v"), matrix.shape, strict=True):
                start = torch.empty(size, dtype=matrix.dtype, device=matrix.device).normal_(0, 1)
                self.register_buffer(name, self._normalized(start))
            self._improve(matrix, 15)

    def _normalized(self, x: Tensor) -> Tensor:
        return torch.nn.functional.normalize(x, dim=0, eps=self.eps)

    def _matrix(self, weight: Tensor) -> Tensor:
        if self.dim != 0:
            weight = weight.permute(self.dim, *(d for d in range(weight.dim()) if d != self.dim))
        return weight.flatten(1)

    def _improve(self, matrix: Tensor, times: int) -> None:
        with torch.no_grad():
            for _ in range(times):
                self._u.copy_(self._normalized(torch.mv(matrix, self._v)))
                self._v.copy_(self._normalized(torch.mv(matrix.mH, self._u)))

    def forward(self, weight: Tensor) -> Tensor:
        if weight.dim() == 1:
            return self._normalized(weight)
        matrix = self._matrix(weight)
        if self.training:
            self._improve(matrix, self.n_power_iterations)
        # The next call changes the buffers; backward needs them as they are now.
        u, v = self._u.clone(), self._v.clone()
        return weight / torch.vdot(u, torch.mv(matrix, v))

    def right_inverse(self, value: Tensor) -> Tensor:
        # The value need not have spectral norm 1; the next call divides it.
        return value


def spectral_norm(
    module: Module,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Module:
    """Divides a weight by an estimate of its largest singular value."""
    weight = _tensor_of(module, name)
    along = default_dim(module) if dim is None else dim
    made = _SpectralNorm(weight, n_power_iterations, along, eps)
    return parametrize.register_parametrization(module, name, made)
