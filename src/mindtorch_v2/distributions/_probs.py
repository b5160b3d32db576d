"""Distributions over events whose chances are given as probabilities or as logits."""

from __future__ import annotations

from typing import Any

from .._types.size import Size
from .distribution import Distribution
from .utils import broadcast_all, lazy_property, logits_to_probs, probs_to_logits


class ProbsOrLogits(Distribution):
    """Has ``probs`` and ``logits``: one is given, the other is made when asked for."""

    _is_binary = True

    @staticmethod
    def _the_one(probs: Any, logits: Any) -> str:
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        return "logits" if probs is None else "probs"

    def _set_probs(self, probs: Any, logits: Any, validate_args: bool | None, **others: Any) -> None:
        """Keeps the one that is given, and other parameters broadcast and of the same dtype."""
        name = self._the_one(probs, logits)
        given = logits if probs is None else probs
        *more, param = broadcast_all(*others.values(), given)
        setattr(self, name, param)
        for other, value in zip(others, more, strict=True):
            setattr(self, other, value.type_as(param))
        Distribution.__init__(self, param.shape, validate_args=validate_args)

    @lazy_property
    def logits(self) -> Any:
        return probs_to_logits(self.probs, self._is_binary)

    @lazy_property
    def probs(self) -> Any:
        return logits_to_probs(self.logits, self._is_binary)

    @property
    def _param(self) -> Any:
        return self.__dict__["probs"] if "probs" in self.__dict__ else self.__dict__["logits"]

    @property
    def param_shape(self) -> Size:
        return Size(self._param.size())

    def _new(self, *args: Any, **kwargs: Any) -> Any:
        return self._param.new(*args, **kwargs)


class OverCategorical(Distribution):
    """Values made of the draws of a categorical distribution, ``_categorical``, whose events are the last dimension."""

    _categorical: Any

    def _set_categorical(self, categorical: Any, validate_args: bool | None) -> None:
        self._categorical = categorical
        Distribution.__init__(
            self, categorical.batch_shape, categorical.param_shape[-1:], validate_args=validate_args
        )

    @property
    def probs(self) -> Any:
        return self._categorical.probs

    @property
    def logits(self) -> Any:
        return self._categorical.logits

    @property
    def _param(self) -> Any:
        return self._categorical._param

    @property
    def param_shape(self) -> Size:
        return Size(self._categorical.param_shape)

    def _new(self, *args: Any, **kwargs: Any) -> Any:
        return self._categorical._new(*args, **kwargs)
