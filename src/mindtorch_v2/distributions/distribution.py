"""What all distributions have: shapes, checks, sampling and the names of their statistics."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import mindtorch_v2 as torch

from .._types.size import Size
from . import constraints

_Shape = Any


class Distribution:
    """``batch_shape`` independent distributions over values of shape ``event_shape``."""

    has_rsample: ClassVar[bool] = False
    has_enumerate_support: ClassVar[bool] = False
    _validate_args: bool = __debug__
    arg_constraints: Any = {}
    support: Any = None

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Whether arguments and values are checked where it is not said."""
        if value not in (True, False):
            raise ValueError
        Distribution._validate_args = value

    def __init__(
        self, batch_shape: _Shape = (), event_shape: _Shape = (), validate_args: bool | None = None
    ) -> None:
        self._batch_shape, self._event_shape = Size(batch_shape), Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_arguments()

    def _check_arguments(self) -> None:
        for name, constraint in self.arg_constraints.items():
            if constraints.is_dependent(constraint) or name not in self.__dict__:
                continue  # made from another parameter when it is first asked for
            value = getattr(self, name)
            if not constraint.check(value).all():
                raise ValueError(
                    f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of distribution "
                    f"{self!r} to satisfy the constraint {constraint!r}, but found invalid values:\n{value}"
                )

    @property
    def batch_shape(self) -> Size:
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        return self._event_shape

    @property
    def mean(self) -> Any:
        raise NotImplementedError(f"{type(self)} has no mean")

    @property
    def mode(self) -> Any:
        raise NotImplementedError(f"{type(self)} does not implement mode")

    @property
    def variance(self) -> Any:
        raise NotImplementedError(f"{type(self)} has no variance")

    @property
    def stddev(self) -> Any:
        return self.variance.sqrt()

    def sample(self, sample_shape: _Shape = ()) -> Any:
        """Draws values, without a gradient."""
        with torch.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: _Shape = ()) -> Any:
        """Draws values through which gradients reach the parameters."""
        raise NotImplementedError(f"{type(self)}.rsample: its samples cannot be differentiated; use sample()")

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density, or of the probability, at a value."""
        raise NotImplementedError(f"{type(self)} does not implement log_prob")

    def cdf(self, value: Any) -> Any:
        """The probability of values up to this one."""
        raise NotImplementedError(f"{type(self)} does not implement cdf")

    def icdf(self, value: Any) -> Any:
        """The value up to which there is this probability."""
        raise NotImplementedError(f"{type(self)} does not implement icdf")

    def entropy(self) -> Any:
        raise NotImplementedError(f"{type(self)} does not implement entropy")

    def enumerate_support(self, expand: bool = True) -> Any:
        """All values there are."""
        raise NotImplementedError(f"{type(self)} does not implement enumerate_support")

    def expand(self, batch_shape: _Shape, _instance: Any = None) -> Any:
        """The same distributions with the batch expanded."""
        made = type(self).__new__(type(self)) if _instance is None else _instance
        shape = Size(batch_shape)
        for name, value in self.__dict__.items():
            if isinstance(value, torch.Tensor):
                constraint = self.arg_constraints.get(name)
                width: int = constraint.event_dim if constraint is not None else self._tail(name, value)
                value = value.expand(shape + value.shape[value.dim() - width :])
            setattr(made, name, value)
        made._batch_shape = shape
        return made

    def _tail(self, name: str, value: Any) -> int:
        """How many dimensions of an attribute that is no parameter belong to the event."""
        return max(0, int(value.dim()) - len(self._batch_shape))

    def perplexity(self) -> Any:
        return torch.exp(self.entropy())

    def _extended_shape(self, sample_shape: _Shape = ()) -> Size:
        return Size(tuple(sample_shape)) + self._batch_shape + self._event_shape

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
                f"{type(self)} does not define `support` to enable sample validation. Please initialize the "
                "distribution with `validate_args=False` to turn off validation.",
                stacklevel=3,
            )
            return
        if support is not None and not support.check(value).all():
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) to be within the "
                f"support ({support!r}) of the distribution {self!r}, but found invalid values:\n{value}"
            )

    def _check(self, value: Any) -> None:
        if self._validate_args:
            self._validate_sample(value)

    def __repr__(self) -> str:
        names = [name for name in self.arg_constraints if name in self.__dict__]
        shown = ", ".join(
            f"{name}: {self.__dict__[name] if self.__dict__[name].numel() == 1 else self.__dict__[name].size()}"
            for name in names
        )
        return f"{type(self).__name__}({shown})"


def broadcast_all(*values: Any) -> tuple[Any, ...]:
    """Numbers and tensors as tensors of one shape."""
    if not all(isinstance(value, (torch.Tensor, int, float)) for value in values):
        raise ValueError(
            "Input arguments must all be instances of Number, torch.Tensor or objects implementing __torch_function__."
        )
    given = [value for value in values if isinstance(value, torch.Tensor)]
    options: dict[str, Any] = {"dtype": torch.get_default_dtype()}
    if given:
        options = {"dtype": given[0].dtype, "device": given[0].device}
    tensors = [v if isinstance(v, torch.Tensor) else torch.tensor(v, **options) for v in values]
    return tuple(torch.broadcast_tensors(*tensors))
