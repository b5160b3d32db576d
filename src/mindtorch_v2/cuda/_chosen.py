"""The names of ``torch.cuda``: of a device where the machine has one, else those that say that there is none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._backends import cuda as _driver

if _driver.may_be_there() and not TYPE_CHECKING:
    from . import _device as names
else:
    from . import _absent as names

__all__ = ["names"]
