"""``torch.utils._device``: a function mode that says where tensors are made."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from typing import Any

import mindtorch_v2 as torch

from ..overrides import TorchFunctionMode

CURRENT_DEVICE: torch.device | None = None


@cache
def _device_constructors() -> set[Callable[..., Any]]:
    """The functions that make tensors and take a device."""
    names = (
        "empty", "empty_permuted", "empty_strided", "empty_quantized", "ones", "arange", "bartlett_window",
        "blackman_window", "eye", "full", "hamming_window", "hann_window", "kaiser_window", "linspace", "logspace",
        "rand", "randn", "randint", "randperm", "range", "tril_indices", "triu_indices", "zeros", "asarray", "tensor",
        "as_tensor", "scalar_tensor",
    )  # fmt: skip
    found = {getattr(torch, name) for name in names if hasattr(torch, name)}
    return {*found, torch.fft.fftfreq, torch.fft.rfftfreq}


class DeviceContext(TorchFunctionMode):
    """Inside, functions that make tensors and are given no device make them on this one."""

    def __init__(self, device: Any) -> None:
        super().__init__()
        self.device = torch.device(device)

    def __enter__(self) -> Any:
        global CURRENT_DEVICE
        self.old_device, CURRENT_DEVICE = CURRENT_DEVICE, self.device
        return super().__enter__()

    def __exit__(self, *exception: Any) -> Any:
        global CURRENT_DEVICE
        CURRENT_DEVICE = self.old_device
        return super().__exit__(*exception)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func in _device_constructors() and kwargs.get("device") is None:
            kwargs["device"] = self.device
        return func(*args, **kwargs)


def device_decorator(device: Any, func: Callable[..., Any]) -> Callable[..., Any]:
    """The function, called inside the device's context."""

    @wraps(func)
    def called(*args: Any, **kwargs: Any) -> Any:
        with DeviceContext(device) if not hasattr(device, "__enter__") else device:
            return func(*args, **kwargs)

    return called


def set_device(device: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator: the function makes tensors on that device."""
    return lambda func: device_decorator(torch.device(device), func)
