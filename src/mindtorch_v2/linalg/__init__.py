"""torch.linalg: decompositions, solves, norms and products of matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._C import _linalg as _native
from .._C import _LinAlgError as LinAlgError

if TYPE_CHECKING:  # what the update below brings
    from .._C._linalg import *  # noqa: F403

__all__ = ["LinAlgError"]

_operators = {name: value for name, value in vars(_native).items() if not name.startswith("_")}
globals().update(_operators, __all__=[*_operators, "LinAlgError"])
