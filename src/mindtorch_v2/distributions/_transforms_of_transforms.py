"""Transforms of transforms: what all are, their inverses, chains and reshaping."""

from __future__ import annotations

import math
import weakref
from typing import Any

import mindtorch_v2 as torch

from .._types.size import Size
from . import constraints
from .utils import _sum_rightmost


def _too_few() -> ValueError:
    return ValueError("Too few dimensions on input")


class Transform:
    """y = t(x), ``t.inv`` its inverse, and log |dy/dx|.

    ``domain`` and ``codomain`` are the sets of x and y. A transform that takes arguments names them in ``_arguments``,
    which gives ``with_cache``; with ``_alike`` two with equal arguments are equal.
    """

    bijective = False
    domain: Any
    codomain: Any
    _arguments: tuple[str, ...] = ()
    _alike = False

    def __init__(self, cache_size: int = 0) -> None:
        self._cache_size = cache_size
        self._inv: Any = None  # the inverse, weakly: it holds this one
        if cache_size not in (0, 1):
            raise ValueError("cache_size must be 0 or 1")
        if cache_size == 1:
            self._cached_x_y: tuple[Any, Any] = (None, None)  # so that the inverse of a sample is exact
        super().__init__()

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        if isinstance(self._inv, weakref.ref):
            state["_inv"] = None
        return state

    @property
    def event_dim(self) -> int:
        if self.domain.event_dim == self.codomain.event_dim:
            return int(self.domain.event_dim)
        raise ValueError("Please use either .domain.event_dim or .codomain.event_dim")

    @property
    def inv(self) -> Any:
        found = self._inv() if self._inv is not None else None
        if found is None:
            found = self._inverted()
            self._inv = weakref.ref(found)
        return found

    def _inverted(self) -> Any:
        return _InverseTransform(self)

    @property
    def sign(self) -> Any:
        """Whether the function rises (1) or falls (-1)."""
        raise NotImplementedError

    def with_cache(self, cache_size: int = 1) -> Any:
        """The same transform, remembering the last pair of values or not."""
        if self._cache_size == cache_size:
            return self
        owner = next(kind for kind in type(self).__mro__ if "__init__" in vars(kind))
        if owner is not Transform and "_arguments" not in vars(owner):
            raise NotImplementedError(f"{type(self)}.with_cache is not implemented")
        kind: Any = type(self)
        return kind(*self._values(), cache_size=cache_size)

    def _values(self) -> list[Any]:
        return [getattr(self, name) for name in self._arguments]

    def __eq__(self, other: Any) -> Any:
        if not self._alike:
            return self is other
        return type(other) is type(self) and all(
            bool((mine == yours).all()) if isinstance(mine == yours, torch.Tensor) else mine == yours
            for mine, yours in zip(self._values(), other._values(), strict=True)
        )

    __hash__ = None  # type: ignore[assignment] # PyTorch's have none

    def __ne__(self, other: Any) -> Any:
        return not self.__eq__(other)

    def __call__(self, x: Any) -> Any:
        if self._cache_size == 0:
            return self._call(x)
        x_old, y_old = self._cached_x_y
        if x is x_old:
            return y_old
        y = self._call(x)
        self._cached_x_y = x, y
        return y

    def _inv_call(self, y: Any) -> Any:
        if self._cache_size == 0:
            return self._inverse(y)
        x_old, y_old = self._cached_x_y
        if y is y_old:
            return x_old
        x = self._inverse(y)
        self._cached_x_y = x, y
        return x

    def _call(self, x: Any) -> Any:
        raise NotImplementedError

    def _inverse(self, y: Any) -> Any:
        raise NotImplementedError

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        raise NotImplementedError

    def forward_shape(self, shape: Any) -> Any:
        """The shape of y for the shape of x."""
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        """The shape of x for the shape of y."""
        return shape

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class _InverseTransform(Transform):
    """The other direction of a transform, which it keeps."""

    def __init__(self, transform: Transform) -> None:
        super().__init__(cache_size=transform._cache_size)
        self._inv: Any = transform

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        return self._inv.codomain

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        return self._inv.domain

    @property
    def bijective(self) -> bool:  # type: ignore[override] # the other direction's
        return bool(self._inv.bijective)

    @property
    def sign(self) -> Any:
        return self._inv.sign

    @property
    def inv(self) -> Any:
        return self._inv

    def with_cache(self, cache_size: int = 1) -> Any:
        return self._inv.with_cache(cache_size).inv

    def __eq__(self, other: Any) -> Any:
        return isinstance(other, _InverseTransform) and self._inv == other._inv

    def __call__(self, x: Any) -> Any:
        return self._inv._inv_call(x)

    def _inv_call(self, y: Any) -> Any:
        return self._inv(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -self._inv.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: Any) -> Any:
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self._inv.forward_shape(shape)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._inv!r})"


def _at_least(constraint: Any, event_dim: int) -> Any:
    more = event_dim - constraint.event_dim
    return constraints.independent(constraint, more) if more > 0 else constraint


class ComposeTransform(Transform):
    """Several transforms, the first one first. What is cached, its parts cache."""

    _arguments = ("parts",)
    _alike = True

    def __init__(self, parts: list[Any], cache_size: int = 0) -> None:
        if cache_size:
            parts = [part.with_cache(cache_size) for part in parts]
        super().__init__(cache_size=cache_size)
        self.parts = parts

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        if not self.parts:
            return constraints.real
        events = self.parts[-1].domain.event_dim
        for part in reversed(self.parts):
            events += part.domain.event_dim - part.codomain.event_dim
            events = max(events, part.domain.event_dim)
        return _at_least(self.parts[0].domain, events)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        if not self.parts:
            return constraints.real
        events = self.parts[0].codomain.event_dim
        for part in self.parts:
            events += part.codomain.event_dim - part.domain.event_dim
            events = max(events, part.codomain.event_dim)
        return _at_least(self.parts[-1].codomain, events)

    @property
    def bijective(self) -> bool:  # type: ignore[override] # that of all parts
        return all(part.bijective for part in self.parts)

    @property
    def sign(self) -> Any:
        return math.prod(part.sign for part in self.parts)

    def _inverted(self) -> Any:
        turned = ComposeTransform([part.inv for part in reversed(self.parts)])
        turned._inv = weakref.ref(self)
        return turned

    def __call__(self, x: Any) -> Any:
        for part in self.parts:
            x = part(x)
        return x

    def _inv_call(self, y: Any) -> Any:
        return self.inv(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        if not self.parts:
            return torch.zeros_like(x)
        values = [x]
        for part in self.parts[:-1]:
            values.append(part(values[-1]))
        values.append(y)
        total: Any = 0
        events = self.domain.event_dim
        for part, before, after in zip(self.parts, values[:-1], values[1:], strict=True):
            stretch = part.log_abs_det_jacobian(before, after)
            total = total + _sum_rightmost(stretch, events - part.domain.event_dim)
            events += part.codomain.event_dim - part.domain.event_dim
        return total

    def forward_shape(self, shape: Any) -> Any:
        for part in self.parts:
            shape = part.forward_shape(shape)
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return shape

    def __repr__(self) -> str:
        return f"{type(self).__name__}(\n    " + ",\n    ".join(map(repr, self.parts)) + "\n)"


identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """A transform whose last dimensions belong together: what it stretches there is added."""

    _arguments = ("base_transform", "reinterpreted_batch_ndims")

    def __init__(self, base_transform: Any, reinterpreted_batch_ndims: int, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.base_transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        return constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        return constraints.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims)

    @property
    def bijective(self) -> bool:  # type: ignore[override] # the base's
        return bool(self.base_transform.bijective)

    @property
    def sign(self) -> Any:
        return self.base_transform.sign

    def _call(self, x: Any) -> Any:
        if x.dim() < self.domain.event_dim:
            raise _too_few()
        return self.base_transform(x)

    def _inverse(self, y: Any) -> Any:
        if y.dim() < self.codomain.event_dim:
            raise _too_few()
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return _sum_rightmost(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)

    def forward_shape(self, shape: Any) -> Any:
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self.base_transform.inverse_shape(shape)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_transform!r}, {self.reinterpreted_batch_ndims})"


def _with_tail(shape: Any, old: Any, new: Size) -> Any:
    """The shape with the last sizes, which must be ``old``, replaced."""
    start = len(shape) - len(old)
    if start < 0:
        raise _too_few()
    if tuple(shape[start:]) != tuple(old):
        raise ValueError(f"Shape mismatch: expected {shape[start:]} but got {old}")
    return Size(shape[:start]) + new


class ReshapeTransform(Transform):
    """The same elements in another shape."""

    bijective = True
    _arguments = ("in_shape", "out_shape")

    def __init__(self, in_shape: Any, out_shape: Any, cache_size: int = 0) -> None:
        self.in_shape, self.out_shape = Size(in_shape), Size(out_shape)
        if self.in_shape.numel() != self.out_shape.numel():
            raise ValueError("in_shape, out_shape have different numbers of elements")
        super().__init__(cache_size=cache_size)

    @constraints.dependent_property
    def domain(self) -> Any:
        return constraints.independent(constraints.real, len(self.in_shape))

    @constraints.dependent_property
    def codomain(self) -> Any:
        return constraints.independent(constraints.real, len(self.out_shape))

    def _call(self, x: Any) -> Any:
        return x.reshape(x.shape[: x.dim() - len(self.in_shape)] + self.out_shape)

    def _inverse(self, y: Any) -> Any:
        return y.reshape(y.shape[: y.dim() - len(self.out_shape)] + self.in_shape)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return x.new_zeros(x.shape[: x.dim() - len(self.in_shape)])

    def forward_shape(self, shape: Any) -> Any:
        return _with_tail(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape: Any) -> Any:
        return _with_tail(shape, self.out_shape, self.in_shape)


# Where programs and files know them.
for _kind in (Transform, _InverseTransform, ComposeTransform, IndependentTransform, ReshapeTransform):
    _kind.__module__ = f"{__package__}.transforms"
