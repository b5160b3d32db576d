"""MPI, through mpi4py; the processes are started by ``mpiexec``.

Note [Time limits of MPI]
A call of MPI cannot be given up: it returns when the others have answered. So a thread watches how long the calls of
this process take, and when one is over the group's limit it says which and ends all processes of ``mpiexec``.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from functools import cache
from itertools import accumulate
from typing import Any

from ... import _C
from ..._C import Tensor
from ..engine import Place
from ..errors import DistBackendError
from ..reduce_op import RedOpType, ReduceOp
from .pairwise import PairwiseEngine, begin_fold, end_fold

_KINDS = {
    "SUM": "SUM", "AVG": "SUM", "PREMUL_SUM": "SUM", "PRODUCT": "PROD", "MIN": "MIN", "MAX": "MAX", "BAND": "BAND",
    "BOR": "BOR", "BXOR": "BXOR",
}  # fmt: skip
_TYPES = {
    "int8": "INT8_T", "uint8": "UINT8_T", "int16": "INT16_T", "uint16": "UINT16_T", "int32": "INT32_T",
    "uint32": "UINT32_T", "int64": "INT64_T", "uint64": "UINT64_T", "float32": "FLOAT", "float64": "DOUBLE",
    "complex64": "C_FLOAT_COMPLEX", "complex128": "C_DOUBLE_COMPLEX",
}  # fmt: skip


def is_available() -> bool:
    """Whether mpi4py is installed."""
    return importlib.util.find_spec("mpi4py") is not None


@cache
def _mpi() -> Any:
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        raise DistBackendError(
            f"the backend mpi needs mpi4py and an MPI library ({error}): pip install 'mindtorch_v2[distributed]' "
            "brings both; start the program with mpiexec -n N python program.py"
        ) from error
    if MPI.Query_thread() < MPI.THREAD_MULTIPLE:
        raise DistBackendError("this MPI does not allow several threads, which asynchronous works need")
    return MPI


def world() -> tuple[int, int]:
    """Rank and number of all processes, which mpiexec decides."""
    everybody = _mpi().COMM_WORLD
    return everybody.Get_rank(), everybody.Get_size()


class MpiEngine(PairwiseEngine):
    """MPI's own collectives; reductions of dtypes that it does not know are made of messages."""

    name = "mpi"

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        mpi = self._mpi = _mpi()
        self._types = {getattr(_C, name): getattr(mpi, known) for name, known in _TYPES.items()}
        self._kinds = {RedOpType[name]: getattr(mpi, known) for name, known in _KINDS.items()}
        group = mpi.COMM_WORLD.Get_group().Incl(list(place.ranks))
        self._collectives = mpi.COMM_WORLD.Create_group(group)
        self._messages = mpi.COMM_WORLD.Create_group(group, tag=1)
        self._calls: dict[int, tuple[float, str]] = {}  # under way, by thread
        self._closed = threading.Event()
        threading.Thread(target=self._watch, name=f"{place.name}: time limits", daemon=True).start()

    def _watch(self) -> None:
        """Note [Time limits of MPI]."""
        limit = self.place.timeout.total_seconds()
        while not self._closed.wait(min(1.0, limit / 4)):
            for began, what in list(self._calls.values()):
                if time.monotonic() > began + limit:
                    rank = self.place.ranks[self.place.rank]
                    said = f"rank {rank}: {what} over mpi was not done after {limit:g} s; another rank is late or gone"
                    print(f"{said}. All processes are ended.", file=sys.stderr, flush=True)
                    os._exit(1)  # not Abort: mpiexec then ends before it has shown what was written

    def _call(self, call: Callable[..., Any], *arguments: Any) -> Any:
        thread = threading.get_ident()
        self._calls[thread] = time.monotonic(), call.__name__
        try:
            return call(*arguments)
        except self._mpi.Exception as error:
            raise DistBackendError(f"{call.__name__}: {error}") from error
        finally:
            del self._calls[thread]

    def _memory(self, tensor: Tensor, parts: int = 1) -> list[Any]:
        """The bytes of a tensor, or of one of its equal parts, as MPI counts them."""
        memory = self._mpi.buffer.fromaddress(tensor.data_ptr(), tensor.nbytes)
        return [memory, tensor.nbytes // parts, self._mpi.BYTE]

    def _numbers(self, tensor: Tensor) -> list[Any]:
        memory = self._mpi.buffer.fromaddress(tensor.data_ptr(), tensor.nbytes)
        return [memory, tensor.numel(), self._types[tensor.dtype]]

    def _knows(self, tensor: Tensor, op: ReduceOp) -> bool:
        return tensor.dtype in self._types and op.op in self._kinds

    def all_reduce(self, tensor: Tensor, op: ReduceOp) -> None:
        if not self._knows(tensor, op):
            return super().all_reduce(tensor, op)
        begin_fold(tensor, op)
        kind = self._kinds[op.op]
        self._call(self._collectives.Allreduce, self._mpi.IN_PLACE, self._numbers(tensor), kind)
        return end_fold(tensor, op, self.place.size)

    def reduce(self, tensor: Tensor, root: int, op: ReduceOp) -> None:
        if not self._knows(tensor, op):
            return super().reduce(tensor, root, op)
        kind = self._kinds[op.op]
        work = tensor if self.place.rank == root else tensor.clone()  # the others keep their values
        begin_fold(work, op)
        if self.place.rank == root:
            self._call(self._collectives.Reduce, self._mpi.IN_PLACE, self._numbers(work), kind, root)
            return end_fold(work, op, self.place.size)
        self._call(self._collectives.Reduce, self._numbers(work), None, kind, root)
        return None

    def reduce_scatter(self, out: Tensor, tensor: Tensor, op: ReduceOp) -> None:
        if not self._knows(tensor, op):
            return super().reduce_scatter(out, tensor, op)
        work = tensor.clone() if op.op is RedOpType.PREMUL_SUM else tensor
        begin_fold(work, op)
        taken = self._numbers(out)
        given = [self._memory(work)[0], *taken[1:]]  # MPI counts the elements of a part
        self._call(self._collectives.Reduce_scatter_block, given, taken, self._kinds[op.op])
        return end_fold(out, op, self.place.size)

    def broadcast(self, tensor: Tensor, root: int) -> None:
        self._call(self._collectives.Bcast, self._memory(tensor), root)

    def all_gather(self, out: Tensor, tensor: Tensor) -> None:
        self._call(self._collectives.Allgather, self._memory(tensor), self._memory(out, self.place.size))

    def gather(self, out: Tensor | None, tensor: Tensor, root: int) -> None:
        target = None if out is None else self._memory(out, self.place.size)
        self._call(self._collectives.Gather, self._memory(tensor), target, root)

    def scatter(self, out: Tensor, tensor: Tensor | None, root: int) -> None:
        source = None if tensor is None else self._memory(tensor, self.place.size)
        self._call(self._collectives.Scatter, source, self._memory(out), root)

    def all_to_all(
        self, out: Tensor, tensor: Tensor, out_counts: Sequence[int], counts: Sequence[int]
    ) -> None:
        def parts(whole: Tensor, elements: Sequence[int]) -> list[Any]:
            sizes = [count * whole.element_size() for count in elements]
            starts = list(accumulate(sizes, initial=0))[:-1]
            return [self._memory(whole)[0], (sizes, starts), self._mpi.BYTE]

        self._call(self._collectives.Alltoallv, parts(tensor, counts), parts(out, out_counts))

    def barrier(self) -> None:
        self._call(self._collectives.Barrier)

    def put(self, tensor: Tensor, peer: int, slot: int, label: str) -> None:
        self._call(self._messages.Send, self._memory(tensor), peer, slot)

    def take(self, tensor: Tensor, peer: int, slot: int, label: str) -> None:
        self._receive(tensor, peer, slot)

    def _swap(
        self, outgoing: Tensor, incoming: Tensor, peer: int, label: str, their_label: str | None = None
    ) -> None:
        given, taken = self._memory(outgoing), self._memory(incoming)
        self._call(self._messages.Sendrecv, given, peer, 0, taken, peer, 0)

    def receive(self, tensor: Tensor, peer: int | None, tag: int) -> int:
        return self._receive(tensor, self._mpi.ANY_SOURCE if peer is None else peer, tag + 1)

    def _receive(self, tensor: Tensor, peer: int, slot: int) -> int:
        status = self._mpi.Status()
        self._call(self._messages.Recv, self._memory(tensor), peer, slot, status)
        sender, length = int(status.Get_source()), status.Get_count(self._mpi.BYTE)
        if length != tensor.nbytes:
            ranks = self.place.ranks
            raise DistBackendError(
                f"rank {ranks[sender]} sent {length} bytes, rank {ranks[self.place.rank]} expected {tensor.nbytes}"
            )
        return sender

    def close(self, finish: bool = True) -> None:
        super().close(finish)
        self._closed.set()
        if finish and not self._mpi.Is_finalized():
            self._collectives.Free()
            self._messages.Free()
