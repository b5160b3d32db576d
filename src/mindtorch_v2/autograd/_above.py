"""What this room needs of one above it: the complete package hands it down."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

func: Callable[[], Any]  # gives the module torch.func, which is loaded when it is first asked for
