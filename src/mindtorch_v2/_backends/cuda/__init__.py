"""Whether this machine has GPUs that can be driven, asked without opening anything."""

from __future__ import annotations

import os

# Files that NVIDIA's kernel module makes, and Windows' for Linux programs.
_SIGNS = ("/dev/nvidiactl", "/dev/dxg")

COMMAND_LINE = "cuda._command_line"  # needs no GPU


def may_be_there() -> bool:
    """MINDTORCH_CUDA=off hides GPUs, =on looks for the driver whatever the machine looks like."""
    asked = os.environ.get("MINDTORCH_CUDA", "auto").lower()
    if asked in ("on", "off"):
        return asked == "on"
    return any(os.path.exists(sign) for sign in _SIGNS)
