"""One process, several devices. Here a wrapper around one device, because that is what such programs fall back to."""

from __future__ import annotations

from typing import Any

from ..._devices import registry
from ..modules.module import Module

__all__ = ["DataParallel", "data_parallel"]


def _one_device(device_ids: Any) -> list[int]:
    """The devices to use, at most one: a batch is not split over several."""
    if device_ids is None:
        accelerator = registry.available()
        device_ids = [] if accelerator is None else range(accelerator.module.device_count())
    ids = [getattr(device, "index", device) for device in device_ids]
    if len(ids) > 1:
        raise NotImplementedError(
            f"DataParallel: splitting a batch over several devices ({ids}) is not implemented; pass "
            "device_ids=[0], or run one process per device"
        )
    return ids


class DataParallel(Module):
    """Calls its module, on the one device that is used. Several devices are refused."""

    def __init__(
        self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0
    ) -> None:
        super().__init__()
        # With no device there is nothing to do, as in PyTorch without a GPU.
        self.device_ids = _one_device(device_ids)
        self.dim = dim
        self.module = module
        if self.device_ids:
            self.output_device = self.device_ids[0] if output_device is None else output_device

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        return self.module(*inputs, **kwargs)


def data_parallel(
    module: Module,
    inputs: Any,
    device_ids: Any = None,
    output_device: Any = None,
    dim: int = 0,
    module_kwargs: dict[str, Any] | None = None,
) -> Any:
    """Calls ``module`` once as `DataParallel` would."""
    _one_device(device_ids)
    given = inputs if isinstance(inputs, tuple) else () if inputs is None else (inputs,)
    return module(*given, **(module_kwargs or {}))
