"""``torch.cpu.amp``: autocast and GradScaler bound to the host."""

from __future__ import annotations

import mindtorch_v2 as torch

from ..amp import autocast_mode
from ..amp._older_names import OlderGradScaler, deprecated

__all__ = ["GradScaler", "autocast"]


class autocast(autocast_mode.autocast):
    def __init__(
        self, enabled: bool = True, dtype: torch.dtype = torch.bfloat16, cache_enabled: bool = True
    ) -> None:
        deprecated("cpu", "autocast")
        super().__init__("cpu", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)


class GradScaler(OlderGradScaler):
    _bound_to = "cpu"
