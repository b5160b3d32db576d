"""Collectives of GPUs, by NCCL. It is looked for at the first use."""

from __future__ import annotations

from typing import Any

from .. import _C
from ..distributed.communicator_engine import CommunicatorEngine, checked
from ..distributed.engine import Place
from ..distributed.errors import DistBackendError


def _library() -> Any:
    return next(each for each in _C._cuda.vendor_libraries() if each.title == "NCCL")


def is_available() -> bool:
    """Whether the library is there."""
    return bool(_library().available)


def version() -> tuple[int, ...]:
    """Of the library: (2, 27, 3)."""
    found = _library()
    if not found.available:
        raise RuntimeError(found.problem)
    return tuple(int(part) for part in found.version.split("."))


def make_engine(place: Place) -> NcclEngine:
    """The engine of a group."""
    return NcclEngine(place)


class NcclEngine(CommunicatorEngine):
    """The library waits for ever, so the engine looks after works that take too long."""

    name = "nccl"
    keeps_time = True

    def __init__(self, place: Place) -> None:
        found = _library()
        if not found.available:
            raise DistBackendError(f"the backend nccl cannot be used: {found.problem}")
        super().__init__(place)

    def current_device(self) -> _C.device:
        return _C.device("cuda", _C._cuda.current_device())

    @checked
    def new_address(self, device: _C.device) -> bytes:
        return _C._cuda.new_nccl_id()

    @checked
    def connect(
        self, device: _C.device, address: bytes, size: int, rank: int, name: str, messages: bool
    ) -> Any:
        return _C._cuda.Communicator(device, address, size, rank, name)


ENGINE = NcclEngine
