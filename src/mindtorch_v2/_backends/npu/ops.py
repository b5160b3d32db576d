"""What the loaded operator library offers: libraries differ between CANN versions and chips."""

from __future__ import annotations

from ... import _C
from . import acl_loader, aclnn


def is_available(name: str) -> bool:
    """Whether the loaded libraries have both phases of an ACLNN operator, such as ``"aclnnAdd"``."""
    acl_loader.load()
    return bool(_C._npu.symbol(f"{name}GetWorkspaceSize")) and bool(_C._npu.symbol(name))


def missing() -> list[str]:
    """The operators of the ABI table that the loaded libraries lack."""
    return [name for name in aclnn.operators() if not is_available(name)]
