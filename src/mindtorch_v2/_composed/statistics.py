"""Covariances and quantiles."""

from __future__ import annotations

import warnings

import mindtorch_v2 as torch
from mindtorch_v2 import Tensor

from .._types.dtypes import LEGACY_NAMES
from .._types.size import from_front

_INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")
_ROUNDING = {"lower": "floor", "higher": "ceil", "nearest": "round"}


def _legacy_name(dtype: torch.dtype) -> str:
    return LEGACY_NAMES[str(dtype).removeprefix("torch.")]


def _observations(self: Tensor, name: str) -> Tensor:
    if self.dim() > 2:
        raise RuntimeError(
            f"{name}(): expected input to have two or fewer dimensions but got an input with {self.dim()} "
            "dimensions"
        )
    return self.reshape(1, -1) if self.dim() < 2 else self


def _check_weights(name: str, weights: Tensor, count: int) -> None:
    if weights.dim() > 1:
        raise RuntimeError(
            f"cov(): expected {name} to have one or fewer dimensions but got {name} with {weights.dim()} "
            "dimensions"
        )
    kind = _legacy_name(weights.dtype)
    if name == "fweights" and (
        weights.is_floating_point() or weights.is_complex() or weights.dtype == torch.bool
    ):
        raise RuntimeError(
            f"cov(): expected fweights to have integral dtype but got fweights with {kind} dtype"
        )
    if name == "aweights" and not weights.is_floating_point():
        raise RuntimeError(
            f"cov(): expected aweights to have floating point dtype but got aweights with {kind} dtype"
        )
    if weights.numel() != count:
        raise RuntimeError(
            f"cov(): expected {name} to have the same numel as there are observations in the input but got "
            f"{weights.numel()} != {count}"
        )
    if weights.numel() and torch._C._functorch._of_all_slices(weights).min().item() < 0:
        raise RuntimeError(f"cov(): {name} cannot be negative")


def cov(
    self: Tensor, correction: int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None
) -> Tensor:
    """Covariances of the variables in the rows; columns are observations, which may have weights."""
    values = _observations(self, "cov")
    if self.dtype == torch.bool:
        raise RuntimeError("cov(): bool dtype is not supported for input")
    count = values.size(1)
    weights = fweights
    if fweights is not None:
        _check_weights("fweights", fweights, count)
    if aweights is not None:
        _check_weights("aweights", aweights, count)
        weights = aweights if fweights is None else fweights * aweights
    if not (values.is_floating_point() or values.is_complex()):
        values = values.to(torch.get_default_dtype())
    if weights is None:
        center = values.mean(1, keepdim=True)
        norm: int | Tensor = count - correction
    else:
        total = weights.sum()
        if count and torch._C._functorch._of_all_slices(total == 0).any().item():
            raise RuntimeError("cov(): weights sum to zero, can't be normalized")
        center = (values * weights).sum(1, keepdim=True) / total
        if aweights is None or correction == 0:
            norm = total - correction
        else:
            norm = total - correction * (weights * aweights).sum() / total
    without = (
        torch._C._functorch._of_all_slices(norm <= 0).any().item() if isinstance(norm, Tensor) else norm <= 0
    )
    if without:
        warnings.warn(
            "cov(): degrees of freedom is <= 0. Correction should be strictly less than the number of "
            "observations.",
            stacklevel=2,
        )
        norm = norm.clamp_min(0) if isinstance(norm, Tensor) else 0
    centered = values - center
    right = centered if weights is None else centered * weights
    right = right.transpose(0, 1)
    if right.is_complex():
        right = right.conj()
    product = centered @ right
    return (product / norm if isinstance(norm, Tensor) else torch.true_divide(product, norm)).squeeze()


def corrcoef(self: Tensor) -> Tensor:
    _observations(self, "corrcoef")
    c = cov(self)
    if c.dim() == 0:
        return c / c
    spread = c.diagonal()
    if spread.is_complex():
        spread = spread.real
    spread = spread.sqrt()
    result = c / spread.unsqueeze(1) / spread.unsqueeze(0)
    if result.is_complex():
        return torch.complex(result.real.clip(-1, 1), result.imag.clip(-1, 1))
    return result.clip(-1, 1)


def _check_quantile(name: str, self: Tensor, q: Tensor | float, interpolation: str) -> Tensor:
    if self.numel() == 0:
        raise RuntimeError(f"{name}() input tensor must be non-empty")
    if self.dtype not in (torch.float32, torch.float64):
        raise RuntimeError(f"{name}() input tensor must be either float or double dtype")
    if interpolation not in _INTERPOLATIONS:
        raise RuntimeError(
            f"{name}() interpolation must be one of linear, lower, higher, midpoint or nearest, but got "
            f"{interpolation}"
        )
    if not isinstance(q, Tensor):
        if not 0 <= q <= 1:
            raise RuntimeError(f"{name}() q must be in the range [0, 1] but got {q:g}")
        return torch.tensor(q, dtype=self.dtype, device=self.device)
    if q.dim() > 1:
        raise RuntimeError(f"{name}() q must be a scalar or 1D tensor")
    if q.dtype != self.dtype:
        raise RuntimeError(f"{name}() q tensor must be same dtype as the input tensor")
    if q.device != self.device:
        raise RuntimeError(f"{name}() q tensor must be on the same device as the input tensor")
    if not q.is_meta and not torch._C._functorch._of_all_slices((q >= 0) & (q <= 1)).all().item():
        raise RuntimeError(f"{name}() q values must be in the range [0, 1]")
    return q


def _quantile(
    name: str,
    self: Tensor,
    q: Tensor | float,
    dim: int | None,
    keepdim: bool,
    interpolation: str,
    skip_nan: bool,
) -> Tensor:
    points = _check_quantile(name, self, q, interpolation)
    if dim is not None:
        from_front(dim, self.dim())
    if dim is None or self.dim() == 0:
        lines = self.reshape(-1)
    else:
        lines = self.transpose(dim, -1)
    ordered = lines.sort(-1)[0]
    last = ordered.size(-1) - 1
    flat = points.reshape(-1)
    if skip_nan:
        # NaN sorts last, so that the ranks run over the numbers in front of it.
        ranks = flat * (ordered.isnan().logical_not().sum(-1, keepdim=True) - 1)
        ranks = torch.where(ranks < 0, 0.0, ranks)
    else:
        ranks = (flat * last).expand(*ordered.shape[:-1], flat.numel())
        # One NaN makes the whole line NaN: it is the last element, whose rank is taken.
        ranks = torch.where(ordered.isnan().any(-1, keepdim=True), float(last), ranks)
    if interpolation in _ROUNDING:
        ranks = getattr(ranks, _ROUNDING[interpolation])()
    below = ranks.to(torch.int64)
    result = ordered.gather(-1, below)
    if interpolation in ("linear", "midpoint"):
        share = 0.5 if interpolation == "midpoint" else ranks - below
        above = ordered.gather(-1, ranks.ceil().to(torch.int64))
        result = result + (above - result) * share
    # The points are the last dimension now and become the first.
    result = result.permute(-1, *range(result.dim() - 1))
    if dim is None or self.dim() == 0:
        result = result.reshape([flat.numel()] + [1] * (self.dim() if keepdim else 0))
    else:
        result = result.unsqueeze(-1).transpose(dim if dim < 0 else dim + 1, -1)
        if not keepdim:
            result = result.squeeze(dim if dim < 0 else dim + 1)
    return result.squeeze(0) if points.dim() == 0 else result


def quantile(
    self: Tensor,
    q: Tensor | float,
    dim: int | None = None,
    keepdim: bool = False,
    interpolation: str = "linear",
) -> Tensor:
    return _quantile("quantile", self, q, dim, keepdim, interpolation, False)


def nanquantile(
    self: Tensor,
    q: Tensor | float,
    dim: int | None = None,
    keepdim: bool = False,
    interpolation: str = "linear",
) -> Tensor:
    return _quantile("nanquantile", self, q, dim, keepdim, interpolation, True)
