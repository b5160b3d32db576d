"""What all distributions have: shapes, checks, sampling and the names of their statistics."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, ClassVar

import mindtorch_v2 as torch

from .._types.size import Size
from . import constraints
from .utils import broadcast_all, lazy_property

__all__ = ["Distribution"]

_Shape = Any
_EMPTY = Size()


class Distribution:
    """``batch_shape`` independent distributions over values of shape ``event_shape``.

    Note [How a distribution is written]

    ``arg_constraints`` names the parameters, ``_set_parameters`` broadcasts, keeps and checks them, and the rest is
    formulas. ``_expands`` lists the attributes that belong to the batch, parameters or distributions: from it comes
    ``expand``. A class without it, or one that changes ``__init__`` below the class that has it, writes its own.
    """

    has_rsample: ClassVar[bool] = False
    has_enumerate_support: ClassVar[bool] = False
    _validate_args: bool = __debug__

    if TYPE_CHECKING:  # parameters are kept under the names they are given by

        def __getattr__(self, name: str) -> Any: ...

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Whether arguments and values are checked where it is not said."""
        if value not in (True, False):
            raise ValueError
        Distribution._validate_args = value

    def __init__(
        self, batch_shape: _Shape = _EMPTY, event_shape: _Shape = _EMPTY, validate_args: bool | None = None
    ) -> None:
        self._batch_shape, self._event_shape = batch_shape, event_shape
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_parameters()
        super().__init__()

    def _set_parameters(self, validate_args: bool | None, **parameters: Any) -> None:
        """Broadcasts parameters of single values, keeps them under their names, and checks them."""
        for name, value in zip(parameters, broadcast_all(*parameters.values()), strict=True):
            setattr(self, name, value)
            shape = value.shape
        Distribution.__init__(self, shape, validate_args=validate_args)

    def _check_parameters(self) -> None:
        try:
            named = self.arg_constraints
        except NotImplementedError:
            named = {}
            warnings.warn(
                f"{self.__class__} does not define `arg_constraints`. Please set `arg_constraints = {{}}` or "
                "initialize the distribution with `validate_args=False` to turn off validation.",
                stacklevel=3,
            )
        for name, constraint in named.items():
            if constraints.is_dependent(constraint):
                continue
            if name not in self.__dict__ and isinstance(getattr(type(self), name), lazy_property):
                continue  # made from another parameter when it is first asked for
            value = getattr(self, name)
            if not constraint.check(value).all():
                raise ValueError(
                    f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of distribution "
                    f"{self!r} to satisfy the constraint {constraint!r}, but found invalid values:\n{value}"
                )

    def expand(self, batch_shape: _Shape, _instance: Any = None) -> Any:
        """The same distributions with the batch expanded to another shape."""
        owner: Any = next((kind for kind in type(self).__mro__ if "_expands" in vars(kind)), None)
        if owner is None:
            raise NotImplementedError
        made = self._get_checked_instance(owner, _instance)
        shape = Size(batch_shape)
        for name, value in vars(self).items():
            if name in owner._expands:
                if isinstance(value, Distribution):
                    value = value.expand(shape)
                else:
                    events = value.dim() - len(self._batch_shape)
                    value = value.expand(shape + value.shape[-events:] if events else shape)
            elif name in vars(made) or isinstance(getattr(type(self), name, None), lazy_property):
                continue
            setattr(made, name, value)
        made._batch_shape = shape
        return made

    def _get_checked_instance(self, cls: type, _instance: Any = None) -> Any:
        """A new object of this class, for ``expand``; classes with an ``__init__`` of their own must fill it."""
        if _instance is None and type(self).__init__ != cls.__init__:  # type: ignore[misc] # comparing functions
            raise NotImplementedError(
                f"Subclass {self.__class__.__name__} of {cls.__name__} that defines a custom __init__ method must also "
                "define a custom .expand() method."
            )
        return self.__new__(type(self)) if _instance is None else _instance

    @property
    def batch_shape(self) -> Any:
        return self._batch_shape

    @property
    def event_shape(self) -> Any:
        return self._event_shape

    @property
    def arg_constraints(self) -> Any:
        """The set that each parameter must lie in."""
        raise NotImplementedError

    @property
    def support(self) -> Any:
        """The set of values there are."""
        raise NotImplementedError

    @property
    def mean(self) -> Any:
        raise NotImplementedError

    @property
    def mode(self) -> Any:
        raise NotImplementedError(f"{self.__class__} does not implement mode")

    @property
    def variance(self) -> Any:
        raise NotImplementedError

    @property
    def stddev(self) -> Any:
        return self.variance.sqrt()

    def sample(self, sample_shape: _Shape = ()) -> Any:
        """Draws values, without a gradient."""
        with torch.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: _Shape = ()) -> Any:
        """Draws values through which gradients reach the parameters."""
        raise NotImplementedError

    def sample_n(self, n: int) -> Any:
        """The older form of ``sample((n,))``."""
        warnings.warn(
            "`sample_n(n)` will be deprecated. Use `sample((n,))` instead.", FutureWarning, stacklevel=2
        )
        return self.sample(Size((n,)))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density, or of the probability, at a value."""
        raise NotImplementedError

    def cdf(self, value: Any) -> Any:
        """The probability of values up to this one."""
        raise NotImplementedError

    def icdf(self, value: Any) -> Any:
        """The value up to which there is this probability."""
        raise NotImplementedError

    def enumerate_support(self, expand: bool = True) -> Any:
        """All values there are, along a new first dimension."""
        raise NotImplementedError

    def entropy(self) -> Any:
        raise NotImplementedError

    def perplexity(self) -> Any:
        return torch.exp(self.entropy())

    def _extended_shape(self, sample_shape: _Shape = ()) -> Any:
        return Size(sample_shape) + self._batch_shape + self._event_shape

    def _along_batch(self, values: Any, expand: bool) -> Any:
        """Values, events along their first dimension, as ``enumerate_support`` gives them."""
        values = values.view(values.shape[:1] + (1,) * len(self._batch_shape) + values.shape[1:])
        return values.expand((-1, *self._batch_shape, *self._event_shape)) if expand else values

    def _validate_sample(self, value: Any) -> None:
        if not isinstance(value, torch.Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        start = value.dim() - len(self._event_shape)
        if value.shape[start:] != self._event_shape:
            raise ValueError(
                f"The right-most size of value must match event_shape: {value.shape} vs {self._event_shape}."
            )
        actual, wanted = value.shape, self._batch_shape + self._event_shape
        for i, j in zip(reversed(actual), reversed(wanted), strict=False):
            if i != 1 and j != 1 and i != j:
                raise ValueError(
                    f"Value is not broadcastable with batch_shape+event_shape: {actual} vs {wanted}."
                )
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(
                f"{self.__class__} does not define `support` to enable sample validation. Please initialize the "
                "distribution with `validate_args=False` to turn off validation.",
                stacklevel=3,
            )
            return
        if not support.check(value).all():
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) to be within the "
                f"support ({support!r}) of the distribution {self!r}, but found invalid values:\n{value}"
            )

    def _check(self, value: Any) -> None:
        if self._validate_args:
            self._validate_sample(value)

    def __repr__(self) -> str:
        known = {name: self.__dict__[name] for name in self.arg_constraints if name in self.__dict__}
        shown = (f"{name}: {value if value.numel() == 1 else value.size()}" for name, value in known.items())
        return f"{self.__class__.__name__}({', '.join(shown)})"
