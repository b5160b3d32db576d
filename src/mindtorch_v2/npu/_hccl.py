"""Collectives of NPUs, by HCCL. It is loaded at the first use, from where AscendCL came from."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

from .. import _C
from .._backends.npu import acl_loader
from .._C import Tensor, _functions
from ..distributed.engine import Place
from ..distributed.errors import DistBackendError
from ..distributed.reduce_op import RedOpType, ReduceOp
from ..distributed.stream_engine import StreamEngine

# How the library numbers them.
_REDUCTIONS = {RedOpType.SUM: 0, RedOpType.PRODUCT: 1, RedOpType.MAX: 2, RedOpType.MIN: 3}
_BITWISE: dict[RedOpType, Callable[[Tensor, Tensor], Tensor]] = {
    RedOpType.BAND: _functions.bitwise_and,
    RedOpType.BOR: _functions.bitwise_or,
    RedOpType.BXOR: _functions.bitwise_xor,
}
_MESSAGE_BUFFER = 20  # MiB: lines for messages are many, and the library's buffer for collectives is large


def is_available() -> bool:
    """Whether there are NPUs and their library of collectives."""
    return acl_loader.find() is not None and not _C._npu.hccl_problem()


def make_engine(place: Place) -> HcclEngine:
    """The engine of a group."""
    return HcclEngine(place)


def _checked(call: Callable[..., Any]) -> Callable[..., Any]:
    """What the library refuses is a failure of the group."""

    @functools.wraps(call)
    def checked(*args: Any, **kwargs: Any) -> Any:
        try:
            return call(*args, **kwargs)
        except DistBackendError:
            raise
        except RuntimeError as error:
            raise DistBackendError(str(error)) from error

    return checked


def _index(device: _C.device) -> int:
    assert device.index is not None
    return device.index


def _premultiplied(tensor: Tensor, op: ReduceOp) -> Tensor:
    return tensor if op.factor is None else tensor * op.factor


class HcclEngine(StreamEngine):
    """Reductions that the library has not are made of those it has."""

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

    @_checked
    def connect(
        self, device: _C.device, address: bytes, size: int, rank: int, name: str, messages: bool
    ) -> Any:
        seconds = math.ceil(self.place.timeout.total_seconds())
        buffer = _MESSAGE_BUFFER if messages else 0
        return _C._npu.Communicator(_index(device), address, size, rank, name, seconds, buffer)

    def _all(self, tensor: Tensor) -> Any:
        return self.line("collectives", tensor.device).communicator

    @_checked
    def broadcast(self, tensor: Tensor, root: int) -> None:
        self._all(tensor).broadcast(tensor, root)

    @_checked
    def all_reduce(self, tensor: Tensor, op: ReduceOp) -> None:
        if (fold := _BITWISE.get(op.op)) is not None:
            room = _functions.empty(
                [self.place.size, *tensor.shape], dtype=tensor.dtype, device=tensor.device
            )
            self._all(tensor).all_gather(room, tensor)
            tensor.copy_(functools.reduce(fold, room))
            return
        if op.op is RedOpType.PREMUL_SUM:
            tensor.copy_(_premultiplied(tensor, op))
        self._all(tensor).all_reduce(tensor, _REDUCTIONS.get(op.op, 0))
        self._divide(tensor, op)

    @_checked
    def reduce(self, tensor: Tensor, root: int, op: ReduceOp) -> None:
        if op.op in _BITWISE:
            mine = tensor if self.place.rank == root else tensor.clone()
            self.all_reduce(mine, op)
            return
        mine = _premultiplied(tensor, op)
        self._all(mine).reduce(mine, root, _REDUCTIONS.get(op.op, 0))
        if self.place.rank == root:
            self._divide(mine, op)
            if mine is not tensor:
                tensor.copy_(mine)

    def _divide(self, tensor: Tensor, op: ReduceOp) -> None:
        if op.op is RedOpType.AVG:
            whole = not (tensor.is_floating_point() or tensor.is_complex())
            tensor.div_(self.place.size, rounding_mode="trunc" if whole else None)

    @_checked
    def all_gather(self, out: Tensor, tensor: Tensor) -> None:
        self._all(tensor).all_gather(out, tensor)

    @_checked
    def reduce_scatter(self, out: Tensor, tensor: Tensor, op: ReduceOp) -> None:
        if (fold := _BITWISE.get(op.op)) is not None:
            room = _functions.empty([self.place.size, *out.shape], dtype=out.dtype, device=out.device)
            counts = [out.numel()] * self.place.size
            self._all(tensor).all_to_all(room, tensor, counts, counts)
            out.copy_(functools.reduce(fold, room))
            return
        source = _premultiplied(tensor, op)
        self._all(tensor).reduce_scatter(out, source, _REDUCTIONS.get(op.op, 0))
        self._divide(out, op)

    @_checked
    def all_to_all(
        self, out: Tensor, tensor: Tensor, out_counts: Sequence[int], counts: Sequence[int]
    ) -> None:
        self._all(tensor).all_to_all(out, tensor, list(out_counts), list(counts))

    @_checked
    def gather(self, out: Tensor | None, tensor: Tensor, root: int) -> None:
        """The library has none: everybody sends to the root alone."""
        room = _functions.empty([0], dtype=tensor.dtype, device=tensor.device) if out is None else out
        receives = [0 if out is None else tensor.numel()] * self.place.size
        sends = [0] * self.place.size
        sends[root] = tensor.numel()
        self._all(tensor).all_to_all(room, tensor, receives, sends)

    @_checked
    def scatter(self, out: Tensor, tensor: Tensor | None, root: int) -> None:
        self._all(out).scatter(out, tensor, root)

    @_checked
    def send(self, tensor: Tensor, peer: int, tag: int) -> None:
        line = self.line(("to", peer, tag), tensor.device)
        line.communicator.send(tensor, int(self.place.rank < peer))

    @_checked
    def receive(self, tensor: Tensor, peer: int | None, tag: int) -> int:
        assert peer is not None
        line = self.line(("from", peer, tag), tensor.device)
        line.communicator.receive(tensor, int(self.place.rank < peer))
        return peer

    @_checked
    def barrier(self) -> None:
        self.line("collectives", self.home()).communicator.barrier()
