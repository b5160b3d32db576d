"""Collectives of NPUs, by HCCL. It is loaded at the first use, from where AscendCL came from."""

from __future__ import annotations

import math
from typing import Any

from .. import _C
from .._backends.npu import acl_loader
from ..distributed.communicator_engine import CommunicatorEngine, checked
from ..distributed.engine import Place
from ..distributed.errors import DistBackendError

_MESSAGE_BUFFER = 20  # MiB: lines for messages are many, and the library's buffer for collectives is large


def is_available() -> bool:
    """Whether there are NPUs and their library of collectives."""
    return acl_loader.find() is not None and not _C._npu.hccl_problem()


def make_engine(place: Place) -> HcclEngine:
    """The engine of a group."""
    return HcclEngine(place)


def _index(device: _C.device) -> int:
    assert device.index is not None
    return device.index


class HcclEngine(CommunicatorEngine):
    """The library keeps the time limit itself."""

    name = "hccl"

    def __init__(self, place: Place) -> None:
        acl_loader.load()
        if problem := _C._npu.hccl_problem():
            raise DistBackendError(f"the backend hccl cannot be used: {problem}")
        super().__init__(place)

    def current_device(self) -> _C.device:
        return _C.device("npu", _C._npu.current_device())

    def new_address(self, device: _C.device) -> bytes:
        return _C._npu.new_root_info(_index(device))

    @checked
    def connect(
        self, device: _C.device, address: bytes, size: int, rank: int, name: str, messages: bool
    ) -> Any:
        seconds = math.ceil(self.place.timeout.total_seconds())
        buffer = _MESSAGE_BUFFER if messages else 0
        return _C._npu.Communicator(_index(device), address, size, rank, name, seconds, buffer)


ENGINE = HcclEngine
