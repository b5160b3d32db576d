"""``torch.cuda.amp.autocast_mode``: ``torch.autocast("cuda")`` and its decorators under older names."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import mindtorch_v2 as torch

from ...amp import autocast_mode
from ...amp._older_names import deprecated

__all__ = ["autocast", "custom_bwd", "custom_fwd"]

custom_bwd: Callable[..., Any] = functools.partial(autocast_mode.custom_bwd, device_type="cuda")
custom_fwd: Callable[..., Any] = functools.partial(autocast_mode.custom_fwd, device_type="cuda")


class autocast(autocast_mode.autocast):
    """torch.autocast("cuda", ...)."""

    def __init__(
        self, enabled: bool = True, dtype: torch.dtype = torch.float16, cache_enabled: bool = True
    ) -> None:
        deprecated("cuda", "autocast")
        super().__init__("cuda", dtype, enabled, cache_enabled)
