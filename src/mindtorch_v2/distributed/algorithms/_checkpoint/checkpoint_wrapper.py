"""Wrappers that do not keep a module's intermediate results, or keep them on the host. Names in ``state_dict`` do not
change."""

from __future__ import annotations

import functools
from abc import ABC
from collections.abc import Callable, Iterator
from enum import Enum, auto
from typing import Any

from .... import nn
from ...._absent import names_of
from ...._C import Tensor
from ....autograd.graph import save_on_cpu
from ....utils.checkpoint import checkpoint
from ...fsdp.wrap import _Policy, _recursive_wrap, lambda_auto_wrap_policy, wrap_chosen

_CHECKPOINT_WRAPPED_MODULE = "_checkpoint_wrapped_module"
_CHECKPOINT_PREFIX = _CHECKPOINT_WRAPPED_MODULE + "."


class CheckpointImpl(Enum):
    """Which of the two ways of ``torch.utils.checkpoint`` is taken."""

    REENTRANT = auto()
    NO_REENTRANT = auto()


class ActivationWrapper(nn.Module, ABC):
    """A module around a module that is looked through: by attributes, and by names of parameters."""

    def __init__(self, mod: nn.Module) -> None:
        super().__init__()
        self.add_module(_CHECKPOINT_WRAPPED_MODULE, mod)
        self._register_state_dict_hook(self._without_prefix)
        self._register_load_state_dict_pre_hook(self._with_prefix)

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            wrapped = self.__dict__.get("_modules", {}).get(_CHECKPOINT_WRAPPED_MODULE)
            if wrapped is None:
                raise
            return getattr(wrapped, name)

    def __getitem__(self, key: Any) -> Any:
        return self._checkpoint_wrapped_module[key]

    def named_parameters(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, nn.Parameter]]:
        """By the names of the module inside."""
        for name, parameter in super().named_parameters(*args, **kwargs):
            yield name.replace(_CHECKPOINT_PREFIX, ""), parameter

    @staticmethod
    def _without_prefix(module: nn.Module, state_dict: dict[str, Any], prefix: str, _: Any) -> None:
        inside = prefix + _CHECKPOINT_PREFIX
        for key in [key for key in state_dict if key.startswith(inside)]:
            state_dict[prefix + key.removeprefix(inside)] = state_dict.pop(key)

    @staticmethod
    def _with_prefix(state_dict: dict[str, Any], prefix: str, *_: Any) -> None:
        for key in [key for key in state_dict if key.startswith(prefix)]:
            state_dict[prefix + _CHECKPOINT_PREFIX + key.removeprefix(prefix)] = state_dict.pop(key)


class CheckpointWrapper(ActivationWrapper):
    """Computes again in backward."""

    def __init__(
        self,
        mod: nn.Module,
        checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT,
        checkpoint_fn: Callable[..., Any] | None = None,
        **checkpoint_fn_kwargs: Any,
    ) -> None:
        super().__init__(mod)
        self.checkpoint_impl = checkpoint_impl
        if checkpoint_fn is None:
            reentrant = checkpoint_impl is CheckpointImpl.REENTRANT
            self.checkpoint_fn: Callable[..., Any] = functools.partial(
                checkpoint, use_reentrant=reentrant, **checkpoint_fn_kwargs
            )
        else:
            self.checkpoint_fn = functools.partial(checkpoint_fn, **checkpoint_fn_kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The module's."""
        wrapped = self._checkpoint_wrapped_module
        if self.checkpoint_impl is not CheckpointImpl.REENTRANT or not kwargs:
            return self.checkpoint_fn(wrapped, *args, **kwargs)
        # The reentrant way takes arguments by position only.
        count, names = len(args), list(kwargs)

        def by_position(*values: Any) -> Any:
            return wrapped(*values[:count], **dict(zip(names, values[count:], strict=True)))

        return self.checkpoint_fn(by_position, *args, *kwargs.values())


class OffloadWrapper(ActivationWrapper):
    """Keeps what backward needs on the host."""

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The module's."""
        with save_on_cpu(pin_memory=_on_accelerator(self)):
            return self._checkpoint_wrapped_module(*args, **kwargs)


def _on_accelerator(module: nn.Module) -> bool:
    first: Tensor | None = next(module.parameters(), None)
    return first is not None and first.device.type != "cpu"


def checkpoint_wrapper(
    module: nn.Module,
    checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT,
    checkpoint_fn: Callable[..., Any] | None = None,
    **checkpoint_fn_kwargs: Any,
) -> nn.Module:
    """The module, computing again in backward."""
    return CheckpointWrapper(module, checkpoint_impl, checkpoint_fn, **checkpoint_fn_kwargs)


def offload_wrapper(module: nn.Module) -> nn.Module:
    """The module, keeping what backward needs on the host."""
    return OffloadWrapper(module)


def apply_activation_checkpointing(
    model: nn.Module,
    checkpoint_wrapper_fn: Callable[..., nn.Module] = checkpoint_wrapper,
    check_fn: Callable[[nn.Module], bool] = lambda _: True,
    auto_wrap_policy: Callable[..., bool] | _Policy | None = None,
) -> None:
    """Wraps the modules of a model that a function, or a policy of FullyShardedDataParallel, chooses."""
    if isinstance(auto_wrap_policy, _Policy):
        chosen = auto_wrap_policy._run_policy(model, set(), {})
        chosen.pop(model, None)
        wrap_chosen(model, chosen, checkpoint_wrapper_fn)
        return
    policy = auto_wrap_policy or functools.partial(lambda_auto_wrap_policy, lambda_fn=check_fn)
    _recursive_wrap(model, policy, checkpoint_wrapper_fn, set(), set(), only_wrap_children=True)


__getattr__ = names_of(__name__)
