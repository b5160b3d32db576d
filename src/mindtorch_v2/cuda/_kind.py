"""GPUs as a kind of device: what the library asks of one besides its module. Note [A kind of device]."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .. import _C
from .._devices.accelerator import Accelerator


class Cuda(Accelerator):
    known_to_analysers = True
    steps_in_one_kernel = True
    collectives: Mapping[str, str] = {"nccl": "cuda._nccl"}

    def __init__(self, module: Any) -> None:
        super().__init__("cuda", module, _C._cuda.current_device)

    def lower_dtypes(self) -> Sequence[Any]:
        return _C.float16, _C.bfloat16, _C.float32
