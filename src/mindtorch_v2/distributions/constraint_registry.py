"""Which transform leads from all real numbers to a set."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import constraints
from .transforms import (
    AffineTransform,
    ComposeTransform,
    ExpTransform,
    LowerCholeskyTransform,
    SigmoidTransform,
    SoftmaxTransform,
    Transform,
)


class ConstraintRegistry:
    """Transforms by the kind of set they lead to: ``transform_to(constraints.positive)``."""

    def __init__(self) -> None:
        self._makers: dict[type, Callable[[Any], Transform]] = {}

    def register(self, constraint: Any, factory: Callable[[Any], Transform] | None = None) -> Any:
        """Registers what makes the transform for a set, or for all sets of its kind."""
        if factory is None:
            return lambda given: self.register(constraint, given)
        kind = constraint if isinstance(constraint, type) else type(constraint)
        if not issubclass(kind, constraints.Constraint):
            raise TypeError(
                f"Expected constraint to be either a Constraint subclass or instance, but got {constraint}"
            )
        self._makers[kind] = factory
        return factory

    def __call__(self, constraint: Any) -> Transform:
        maker = self._makers.get(type(constraint))
        if maker is None:
            raise NotImplementedError(f"Cannot transform {type(constraint).__name__} constraints")
        return maker(constraint)


biject_to = ConstraintRegistry()
transform_to = ConstraintRegistry()


def _both(*kinds: Any) -> Callable[[Callable[[Any], Transform]], Callable[[Any], Transform]]:
    def register(factory: Callable[[Any], Transform]) -> Callable[[Any], Transform]:
        for kind in kinds:
            biject_to.register(kind, factory)
            transform_to.register(kind, factory)
        return factory

    return register


@_both(constraints.real)
def _to_real(constraint: Any) -> Transform:
    return ComposeTransform([])


@_both(constraints.greater_than, constraints.greater_than_eq)
def _to_above(constraint: Any) -> Transform:
    return ComposeTransform([ExpTransform(), AffineTransform(constraint.lower_bound, 1)])


@_both(constraints.less_than)
def _to_below(constraint: Any) -> Transform:
    return ComposeTransform([ExpTransform(), AffineTransform(constraint.upper_bound, -1)])


@_both(constraints.interval, constraints.half_open_interval)
def _to_interval(constraint: Any) -> Transform:
    low, high = constraint.lower_bound, constraint.upper_bound
    if isinstance(low, (int, float)) and (low, high) == (0, 1):
        return SigmoidTransform()
    return ComposeTransform([SigmoidTransform(), AffineTransform(low, high - low)])


def _to_simplex(constraint: Any) -> Transform:
    return SoftmaxTransform()


def _to_lower_cholesky(constraint: Any) -> Transform:
    return LowerCholeskyTransform()


transform_to.register(constraints.simplex, _to_simplex)
transform_to.register(constraints.lower_cholesky, _to_lower_cholesky)
