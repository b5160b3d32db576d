"""Differences and integrals of sampled functions."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat

import mindtorch_v2 as torch
from mindtorch_v2 import Tensor


def _refuse_bool(name: str, values: Tensor, argument: str) -> None:
    if values.dtype == torch.bool:
        raise RuntimeError(f"{name}: received a bool input for `{argument}`, but bool is not supported")


def _spacing(name: str, y: Tensor, x: Tensor, dim: int) -> Tensor:
    """The distances between samples, in a shape that meets y's neighbours along `dim`."""
    _refuse_bool(name, x, "x")
    if x.dim() == 1:
        if x.size(0) != y.size(dim):
            raise RuntimeError(f"{name}: There must be one `x` value for each sample point")
        shape = [1] * y.dim()
        shape[dim] = x.size(0)
        x = x.reshape(shape)
    elif x.dim() < y.dim():
        x = x.reshape([1] * (y.dim() - x.dim()) + list(x.shape))
    return x.narrow(dim, 1, x.size(dim) - 1) - x.narrow(dim, 0, x.size(dim) - 1)


def _middles(name: str, y: Tensor, x: Tensor | None, dx: float, dim: int) -> Tensor:
    """The area between each two neighbours."""
    _refuse_bool(name, y, "y")
    if isinstance(dx, complex):
        raise RuntimeError(f"{name}: Currently, we only support dx as a real number.")
    count = y.size(dim)
    if dim < 0:
        dim += y.dim()
    both = y.narrow(dim, 1, count - 1) + y.narrow(dim, 0, count - 1)
    if x is None:
        return both * (dx / 2.0)
    return both * _spacing(name, y, x, dim) / 2.0


def trapezoid(y: Tensor, x: Tensor | None = None, dx: float = 1, dim: int = -1) -> Tensor:
    _refuse_bool("trapezoid", y, "y")
    if y.dim() == 0:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    if y.size(dim) == 0:
        shape = list(y.shape)
        del shape[dim]
        return torch.zeros(shape, dtype=y.dtype, device=y.device)
    if x is None and not isinstance(dx, complex):
        # All samples but half of the first and the last: one pass over them.
        ends = y.select(dim, 0) + y.select(dim, -1)
        return (y.sum(dim) - ends * 0.5) * dx
    return _middles("trapezoid", y, x, dx, dim).sum(dim)


def cumulative_trapezoid(y: Tensor, x: Tensor | None = None, dx: float = 1, dim: int = -1) -> Tensor:
    _refuse_bool("cumulative_trapezoid", y, "y")
    if y.dim() == 0:
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    if y.size(dim) == 0:
        return y.clone()
    return _middles("cumulative_trapezoid", y, x, dx, dim).cumsum(dim)


def _joined(self: Tensor, dim: int, prepend: Tensor | None, append: Tensor | None) -> Tensor:
    for other in (prepend, append):
        if other is None:
            continue
        if other.dim() != self.dim():
            raise RuntimeError("diff expects prepend or append to be the same dimension as input")
        for i in range(self.dim()):
            if i != dim % self.dim() and other.size(i) != self.size(i):
                raise RuntimeError(
                    "diff expects the shape of tensor to prepend or append to match that of input except "
                    f"along the differencing dimension; input.size({i}) = {self.size(i)}, but got "
                    f"tensor.size({i}) = {other.size(i)}"
                )
    parts = [part for part in (prepend, self, append) if part is not None]
    return torch.cat(parts, dim) if len(parts) > 1 else self


def diff(
    self: Tensor, n: int = 1, dim: int = -1, prepend: Tensor | None = None, append: Tensor | None = None
) -> Tensor:
    if self.dim() == 0:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    self.size(dim)
    if n == 0:
        return self.clone()
    values = _joined(self, dim, prepend, append)
    for _ in repeat(None, min(n, values.size(dim))):
        count = max(values.size(dim) - 1, 0)
        start = values.size(dim) - count
        later, earlier = values.narrow(dim, start, count), values.narrow(dim, 0, count)
        values = later.logical_xor(earlier) if values.dtype == torch.bool else later - earlier
    return values


def _gradient_dims(self: Tensor, spacing: object, dim: int | Sequence[int] | None) -> list[int]:
    if dim is None:
        dims = list(range(self.dim()))
    else:
        dims = [dim] if isinstance(dim, int) else list(dim)
    seen = set()
    for d in dims:
        self.size(d)
        wrapped = d % self.dim()
        if wrapped in seen:
            raise RuntimeError(f"dim {wrapped} appears multiple times in the list of dims")
        seen.add(wrapped)
    if isinstance(spacing, (tuple, list)) and len(spacing) != len(dims):
        if dim is None:
            raise RuntimeError(
                "torch.gradient expected spacing to be unspecified, a scalar, or a list of length equal to "
                f"'self.dim() = {self.dim()}', since dim argument was not given, but got a list of length "
                f"{len(spacing)}"
            )
        raise RuntimeError(
            "torch.gradient expected spacing to be unspecified, a scalar or it's spacing and dim arguments "
            f"to have the same length, but got a spacing argument of length {len(spacing)} and a dim "
            f"argument of length {len(dims)}."
        )
    return dims


def _uniform_gradient(f: Tensor, step: float, dim: int, edge_order: int) -> Tensor:
    n = f.size(dim)

    def at(start: int, count: int) -> Tensor:
        return f.narrow(dim, start, count)

    inside = (at(2, n - 2) - at(0, n - 2)) / (step * 2)
    if edge_order == 1:
        first, last = (at(1, 1) - at(0, 1)) / step, (at(n - 1, 1) - at(n - 2, 1)) / step
    else:
        first = (at(0, 1) * -1.5 + at(1, 1) * 2 - at(2, 1) * 0.5) / step
        last = (at(n - 1, 1) * 1.5 - at(n - 2, 1) * 2 + at(n - 3, 1) * 0.5) / step
    return torch.cat([first, inside, last], dim)


def _located_gradient(f: Tensor, positions: Tensor, dim: int, edge_order: int) -> Tensor:
    """Samples at uneven positions: the parabola through three neighbours."""
    n = f.size(dim)
    shape = [1] * f.dim()
    shape[dim] = -1
    steps = positions.diff()

    def at(start: int, count: int) -> Tensor:
        return f.narrow(dim, start, count)

    def step(start: int, count: int) -> Tensor:
        return steps.narrow(0, start, count).reshape(shape)

    left, right = step(0, n - 2), step(1, n - 2)
    inside = (
        at(0, n - 2) * (-right / (left * (left + right)))
        + at(1, n - 2) * ((right - left) / (left * right))
        + at(2, n - 2) * (left / (right * (left + right)))
    )
    if edge_order == 1:
        first = (at(1, 1) - at(0, 1)) / step(0, 1)
        last = (at(n - 1, 1) - at(n - 2, 1)) / step(n - 2, 1)
    else:
        a, b = step(0, 1), step(1, 1)
        first = (
            at(0, 1) * (-(a * 2 + b) / (a * (a + b)))
            + at(1, 1) * ((a + b) / (a * b))
            - at(2, 1) * (a / (b * (a + b)))
        )
        a, b = step(n - 3, 1), step(n - 2, 1)
        last = (
            at(n - 3, 1) * (b / (a * (a + b)))
            - at(n - 2, 1) * ((a + b) / (a * b))
            + at(n - 1, 1) * ((a + b * 2) / (b * (a + b)))
        )
    return torch.cat([first, inside, last], dim)


def gradient(
    self: Tensor,
    spacing: float | Sequence[float] | Sequence[Tensor] | None = None,
    dim: int | Sequence[int] | None = None,
    edge_order: int = 1,
) -> tuple[Tensor, ...]:
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    dims = _gradient_dims(self, spacing, dim)
    for d in dims:
        if self.size(d) < edge_order + 1:
            raise RuntimeError("torch.gradient expected each dimension size to be at least edge_order+1")
    steps = (
        list(spacing)
        if isinstance(spacing, (tuple, list))
        else [1.0 if spacing is None else spacing] * len(dims)
    )
    results = []
    for d, step in zip(dims, steps, strict=True):
        d %= self.dim()
        if isinstance(step, Tensor):
            if step.device != self.device:
                raise RuntimeError(
                    "torch.gradient expected each tensor to be on the same device, but got devices "
                    f"{self.device} and {step.device}!"
                )
            if step.dim() != 1:
                raise RuntimeError(
                    "torch.gradient expected each element of spacing to have one dimension, but got an "
                    f"element with {step.dim()} dimensions!"
                )
            results.append(_located_gradient(self, step, d, edge_order))
        else:
            results.append(_uniform_gradient(self, step, d, edge_order))
    return tuple(results)
