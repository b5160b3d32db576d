"""``torch.types``: the unions that annotations use."""

from __future__ import annotations

import builtins
import os
from collections.abc import Sequence
from typing import IO, TypeAlias

from ._C import Tensor as Tensor
from ._C import device as _device
from ._C import dtype as dtype
from ._storage import UntypedStorage
from ._storage_typed import TypedStorage
from ._types.size import Size as Size

__all__ = ["Device", "FileLike", "Number", "Storage"]

_dtype = dtype
_int, _float, _bool, _complex = builtins.int, builtins.float, builtins.bool, builtins.complex
_size: TypeAlias = Size | list[builtins.int] | tuple[builtins.int, ...]
_TensorOrTensors: TypeAlias = Tensor | Sequence[Tensor]

Number: TypeAlias = builtins.int | builtins.float | builtins.bool
_Number = (builtins.int, builtins.float, builtins.bool)
Device: TypeAlias = _device | str | builtins.int | None
Storage: TypeAlias = UntypedStorage | TypedStorage
FileLike: TypeAlias = str | os.PathLike[str] | IO[bytes]
