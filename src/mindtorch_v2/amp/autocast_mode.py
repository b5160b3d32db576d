"""``torch.autocast``, and its part in ``torch.autograd.Function``."""

from __future__ import annotations

import collections.abc
import functools
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import mindtorch_v2 as torch

from .. import _C
from .._devices import registry
from . import _state

__all__ = ["autocast", "autocast_decorator", "custom_bwd", "custom_fwd", "is_autocast_available"]

_LOWER_WITHOUT_ACCELERATOR = (torch.bfloat16, torch.float16)
# Devices that are not here, but a program on meta is meant for, with those whose casts are the same.
stands_for: dict[str, str] = {}


def is_autocast_available(device_type: str) -> bool:
    """Whether ``torch.autocast`` knows the device, which may be one that is not here."""
    return _state.absent(device_type) is not None or bool(_C._is_autocast_available(device_type))


class autocast:
    """Inside, operators run in ``dtype`` where that is safe, and in float32 where it is not.

    A context manager and a decorator. ``enabled=False`` switches it off again inside another one.
    """

    def __init__(
        self,
        device_type: str,
        dtype: torch.dtype | None = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ) -> None:
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        self.device = device_type
        self._cache_enabled = torch.is_autocast_cache_enabled() if cache_enabled is None else cache_enabled
        device_type = stands_for.get(device_type, device_type)
        if not is_autocast_available(device_type):
            raise RuntimeError(f"User specified an unsupported autocast device_type '{device_type}'")
        self.device = device_type.partition(":")[0]
        if enabled and _state.no_gpu(self.device):
            warnings.warn("CUDA is not available. Disabling autocast.", stacklevel=2)
            enabled = False
        self.fast_dtype = torch.get_autocast_dtype(self.device) if dtype is None else dtype
        if enabled and self.fast_dtype not in (lower := self._lower_dtypes()):
            name = self.device.upper()
            supported = ", ".join(str(each) for each in lower)
            warnings.warn(
                f"In {name} autocast, but the target dtype is not supported. Disabling autocast.\n"
                f"{name} Autocast only supports dtypes of {supported} currently.",
                stacklevel=2,
            )
            enabled = False
        self._enabled = enabled

    @property
    def custom_backend_name(self) -> str:
        return registry.accelerator().type

    def _lower_dtypes(self) -> Sequence[torch.dtype]:
        found = registry.accelerators.get(self.device)
        return _LOWER_WITHOUT_ACCELERATOR if found is None else found.lower_dtypes()

    def __enter__(self) -> autocast:
        self.prev_cache_enabled = torch.is_autocast_cache_enabled()
        self.prev = torch.is_autocast_enabled(self.device)
        self.prev_fastdtype = torch.get_autocast_dtype(self.device)
        torch.set_autocast_enabled(self.device, self._enabled)
        torch.set_autocast_dtype(self.device, self.fast_dtype)
        torch.autocast_increment_nesting()
        torch.set_autocast_cache_enabled(self._cache_enabled)
        return self

    def __exit__(self, exc_type: Any, exc_val: Any, exc_tb: Any) -> None:
        if torch.autocast_decrement_nesting() == 0:
            torch.clear_autocast_cache()  # the outermost one ends: parameters may change from here on
        torch.set_autocast_enabled(self.device, self.prev)
        torch.set_autocast_dtype(self.device, self.prev_fastdtype)
        torch.set_autocast_cache_enabled(self.prev_cache_enabled)

    def __call__(self, func: Callable[..., Any]) -> Callable[..., Any]:
        return autocast_decorator(self, func)


def autocast_decorator(autocast_instance: autocast, func: Callable[..., Any]) -> Callable[..., Any]:
    """The function, run inside the autocast."""

    @functools.wraps(func)
    def decorate_autocast(*args: Any, **kwargs: Any) -> Any:
        with autocast_instance:
            return func(*args, **kwargs)

    return decorate_autocast


def _enter_autocast(*vals: Any) -> autocast:
    """An autocast that was entered; ``_exit_autocast`` leaves it."""
    mode = autocast(*vals)
    mode.__enter__()
    return mode


def _exit_autocast(mode: autocast) -> None:
    mode.__exit__(None, None, None)


def _cast(value: Any, device_type: str, dtype: torch.dtype) -> Any:
    """The value with its floating tensors of the device cast; containers are rebuilt."""
    if isinstance(value, torch.Tensor):
        eligible = (
            value.is_floating_point() and value.device.type == device_type and value.dtype != torch.float64
        )
        return value.to(dtype) if eligible else value
    if isinstance(value, (str, bytes)):
        return value
    if isinstance(value, collections.abc.Mapping):
        return {_cast(k, device_type, dtype): _cast(v, device_type, dtype) for k, v in value.items()}
    if isinstance(value, collections.abc.Iterable) and not hasattr(value, "__array__"):
        made = (_cast(entry, device_type, dtype) for entry in value)
        return type(value)(made) if isinstance(value, (list, tuple)) else made
    return value


def custom_fwd(
    fwd: Callable[..., Any] | None = None, *, device_type: str, cast_inputs: torch.dtype | None = None
) -> Callable[..., Any]:
    """For ``forward`` of a ``torch.autograd.Function``: notes whether autocast is on, for ``custom_bwd``.

    With ``cast_inputs``, floating tensors are cast to it and autocast is off inside.
    """
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def decorate_fwd(*args: Any, **kwargs: Any) -> Any:
        ctx = args[0]
        ctx._dtype = torch.get_autocast_dtype(device_type)
        enabled = torch.is_autocast_enabled(device_type)
        if cast_inputs is None:
            ctx._fwd_used_autocast = enabled
            return fwd(*args, **kwargs)
        ctx._fwd_used_autocast = False
        if not enabled:
            return fwd(*args, **kwargs)
        with autocast(device_type=device_type, enabled=False):
            return fwd(*_cast(args, device_type, cast_inputs), **_cast(kwargs, device_type, cast_inputs))

    return decorate_fwd


def custom_bwd(bwd: Callable[..., Any] | None = None, *, device_type: str) -> Callable[..., Any]:
    """For ``backward`` of a ``torch.autograd.Function``: runs it with the autocast that ``forward`` had."""
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def decorate_bwd(*args: Any, **kwargs: Any) -> Any:
        with autocast(device_type=device_type, enabled=args[0]._fwd_used_autocast, dtype=args[0]._dtype):
            return bwd(*args, **kwargs)

    return decorate_bwd


def in_float32(*tensors: Any) -> tuple[Any, ...]:
    """For functions composed in Python that autocast runs in float32: their tensors, cast where it is on."""
    if not _C._is_any_autocast_enabled():
        return tensors
    return tuple(
        _cast(tensor, tensor.device.type, torch.float32)
        if isinstance(tensor, torch.Tensor) and _is_on_for(tensor)
        else tensor
        for tensor in tensors
    )


def _is_on_for(tensor: torch.Tensor) -> bool:
    """A tensor on meta is taken for one of the device that meta stands for."""
    kind = _C._meta_stands_for() if tensor.is_meta else tensor.device.type
    return kind != "meta" and torch.is_autocast_enabled(kind)
