"""Which transform leads from all real numbers to a set.

``biject_to`` gives one that can be undone and knows how it stretches space, for samplers; ``transform_to`` any that
is good for optimizers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import constraints, transforms

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]

_Factory = Callable[[Any], Any]


class ConstraintRegistry:
    """Transforms by the kind of set they lead to: ``transform_to(constraints.positive)``."""

    def __init__(self) -> None:
        self._registry: dict[type, _Factory] = {}
        super().__init__()

    def register(self, constraint: Any, factory: _Factory | None = None) -> Any:
        """Registers what makes the transform for all sets of a kind, given as a class or as one of them."""
        if factory is None:
            return lambda given: self.register(constraint, given)
        kind = type(constraint) if isinstance(constraint, constraints.Constraint) else constraint
        if not isinstance(kind, type) or not issubclass(kind, constraints.Constraint):
            raise TypeError(
                f"Expected constraint to be either a Constraint subclass or instance, but got {kind}"
            )
        self._registry[kind] = factory
        return factory

    def __call__(self, constraint: Any) -> Any:
        factory = self._registry.get(type(constraint))
        if factory is None:
            raise NotImplementedError(f"Cannot transform {type(constraint).__name__} constraints")
        return factory(constraint)


biject_to = ConstraintRegistry()
transform_to = ConstraintRegistry()


def _to_above(constraint: Any) -> Any:
    shifted = transforms.AffineTransform(constraint.lower_bound, 1)
    return transforms.ComposeTransform([transforms.ExpTransform(), shifted])


def _to_below(constraint: Any) -> Any:
    turned = transforms.AffineTransform(constraint.upper_bound, -1)
    return transforms.ComposeTransform([transforms.ExpTransform(), turned])


def _to_interval(constraint: Any) -> Any:
    low, high = constraint.lower_bound, constraint.upper_bound
    if all(isinstance(end, (int, float)) for end in (low, high)) and (low, high) == (0, 1):
        return transforms.SigmoidTransform()
    return transforms.ComposeTransform(
        [transforms.SigmoidTransform(), transforms.AffineTransform(low, high - low)]
    )


def _registered_alike(registry: ConstraintRegistry) -> None:
    """What both registries have; sets made of sets ask the same registry for their parts."""
    registry.register(constraints.real, lambda constraint: transforms.identity_transform)
    kind: type[Any]
    for kind in (constraints.greater_than, constraints.greater_than_eq):
        registry.register(kind, _to_above)
    registry.register(constraints.less_than, _to_below)
    for kind in (constraints.interval, constraints.half_open_interval):
        registry.register(kind, _to_interval)
    registry.register(constraints.corr_cholesky, lambda constraint: transforms.CorrCholeskyTransform())

    def independent(constraint: Any) -> Any:
        inner = registry(constraint.base_constraint)
        return transforms.IndependentTransform(inner, constraint.reinterpreted_batch_ndims)

    def cat(constraint: Any) -> Any:
        parts = [registry(part) for part in constraint.cseq]
        return transforms.CatTransform(parts, constraint.dim, constraint.lengths)

    def stack(constraint: Any) -> Any:
        return transforms.StackTransform([registry(part) for part in constraint.cseq], constraint.dim)

    registry.register(constraints.independent, independent)
    registry.register(constraints.cat, cat)
    registry.register(constraints.stack, stack)


_registered_alike(biject_to)
_registered_alike(transform_to)
biject_to.register(constraints.simplex, lambda constraint: transforms.StickBreakingTransform())
transform_to.register(constraints.simplex, lambda constraint: transforms.SoftmaxTransform())
transform_to.register(constraints.lower_cholesky, lambda constraint: transforms.LowerCholeskyTransform())
for _kind in (constraints.positive_definite, constraints.positive_semidefinite):
    transform_to.register(_kind, lambda constraint: transforms.PositiveDefiniteTransform())
