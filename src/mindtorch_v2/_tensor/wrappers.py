"""Classes of tensors that take their operators over (``__torch_dispatch__``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import _C
from .._C import Tensor


def _disabled_torch_dispatch_impl(
    func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
) -> Any:
    """The ``__torch_dispatch__`` of Tensor: operators run as they are."""
    with _DisableTorchDispatch():
        return func(*args, **(kwargs or {}))


class _DisableTorchDispatch:
    """While it is on (a context manager), operators of this thread are taken over by nobody."""

    def __init__(self) -> None:
        self._before: list[bool] = []

    def __enter__(self) -> None:
        self._before.append(_C._dispatch.set_off(True))

    def __exit__(self, *exception: object) -> None:
        _C._dispatch.set_off(self._before.pop())


@staticmethod  # type: ignore[misc]
def _make_wrapper_subclass(
    cls: type[Tensor],
    size: Sequence[int],
    strides: Sequence[int] | None = None,
    storage_offset: int | None = None,
    memory_format: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    dispatch_sizes_strides_policy: str | None = None,
    dispatch_device: bool = False,
    dispatch_layout: bool = False,
    _extra_dispatch_keys: Any = None,
    storage_size: int | None = None,
) -> Tensor:
    """A tensor of the class that says it has this size and dtype and is on this device, and has no memory."""
    if pin_memory:
        raise NotImplementedError(
            "_make_wrapper_subclass(pin_memory=True): a tensor without memory has none to pin"
        )
    if memory_format is not None and strides is None:
        strides = _C._functions.empty(list(size), device="meta", memory_format=memory_format).stride()
    return _C._dispatch.wrapper(
        cls,
        list(size),
        None if strides is None else list(strides),
        storage_offset or 0,
        dtype or _C.get_default_dtype(),
        _C.device(device if device is not None else "cpu"),
        requires_grad,
    )


Tensor._make_wrapper_subclass = _make_wrapper_subclass
setattr(Tensor, "__torch_dispatch__", _disabled_torch_dispatch_impl)  # noqa: B010
_C._disabled_torch_dispatch_impl = _disabled_torch_dispatch_impl
_C._DisableTorchDispatch = _DisableTorchDispatch
