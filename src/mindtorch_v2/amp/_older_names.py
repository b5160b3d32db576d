"""What ``torch.cpu.amp`` and ``torch.cuda.amp`` share: the names that ``torch.amp`` has replaced."""

from __future__ import annotations

import warnings
from typing import ClassVar

from . import grad_scaler


def deprecated(device: str, name: str) -> None:
    """PyTorch's warning, at the line that made the object."""
    warnings.warn(
        f"`torch.{device}.amp.{name}(args...)` is deprecated. Please use `torch.amp.{name}('{device}', args...)` "
        "instead.",
        FutureWarning,
        stacklevel=3,
    )


class OlderGradScaler(grad_scaler.GradScaler):
    """``torch.amp.GradScaler`` bound to a device."""

    _bound_to: ClassVar[str]

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        deprecated(self._bound_to, "GradScaler")
        super().__init__(self._bound_to, init_scale, growth_factor, backoff_factor, growth_interval, enabled)
