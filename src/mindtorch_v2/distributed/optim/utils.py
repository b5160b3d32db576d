"""Optimizers as functions of a parameter and a gradient, for hooks that update one parameter at a time."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from ... import optim
from ..._C import Tensor

__all__ = ["as_functional_optim", "functional_optim_map", "register_functional_optim"]


class _PerParameter:
    """Another optimizer, a copy for each parameter, made when the parameter's first gradient comes."""

    def __init__(
        self,
        kind: type[optim.Optimizer],
        params: Sequence[Tensor],
        *args: Any,
        _allow_empty_param_list: bool = False,
        **kwargs: Any,
    ) -> None:
        if not params and not _allow_empty_param_list:
            raise ValueError("optimizer got an empty parameter list")
        self._kind, self._args, self._kwargs = kind, args, kwargs
        self._optimizers: dict[Tensor, optim.Optimizer] = {}
        self.params = list(params)
        kind([Tensor()], *args, **kwargs)  # refuses now what it would refuse in the middle of a pass

    def step_param(self, param: Tensor, grad: Tensor | None) -> None:
        """Updates one parameter; its own ``grad`` is not looked at."""
        if param not in self._optimizers:
            self._optimizers[param] = self._kind([param], *self._args, **self._kwargs)
        kept, param.grad = param.grad, grad
        try:
            self._optimizers[param].step()
        finally:
            param.grad = kept

    def step(self, gradients: Sequence[Tensor | None]) -> None:
        """Updates all that it was made for."""
        if len(gradients) != len(self.params):
            raise ValueError(
                "the gradients passed in does not equal to the size of the parameters!Params length: "
                f"{len(self.params)}. Gradients length: {len(gradients)}"
            )
        for param, grad in zip(self.params, gradients, strict=True):
            self.step_param(param, grad)


_KINDS = (
    optim.Adagrad, optim.Adam, optim.AdamW, optim.SGD, optim.Adadelta, optim.RMSprop, optim.Rprop, optim.Adamax,
)  # fmt: skip
functional_optim_map: dict[Any, Any] = {kind: partial(_PerParameter, kind) for kind in _KINDS}


def register_functional_optim(key: Any, optim: Any) -> None:
    """Adds one of a program's own.

    It is made with a list of parameters and the optimizer's arguments, and ``_allow_empty_param_list=True``.
    """
    functional_optim_map.setdefault(key, optim)


def as_functional_optim(optim_cls: type, *args: Any, **kwargs: Any) -> Any:
    """An object whose ``step_param(parameter, gradient)`` does what the optimizer does for one parameter."""
    if optim_cls not in functional_optim_map:
        raise ValueError(f"Optimizer {optim_cls} does not have a functional counterpart!")
    return functional_optim_map[optim_cls]([], *args, **kwargs, _allow_empty_param_list=True)
