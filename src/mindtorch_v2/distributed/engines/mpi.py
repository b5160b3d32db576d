"""MPI, through mpi4py; the processes are started by ``mpiexec``.

Note [Waiting for MPI]
MPI's own waits keep a processor busy until the others have answered. Where processes share processors the one that is
waited for then gets none. So every call is begun, and asked whether it is done: at first without a pause, for about as
long as the bytes take on an idle machine, so that nothing is lost there; who waits longer waits for another
process, and sleeps between questions.

So the time limit of a group is kept, too. A call of MPI cannot be taken back, though: what it reads and writes is
kept, and the process, which cannot take leave of the others any more, ends without, so that ``mpiexec`` ends all. So
does one that an error ends: the others would not come to take leave.

Note [Who is there]
MPI makes a group when all members have come, however long that takes, and ``mpiexec`` may not hear of a process that
was killed (a script between them that goes on is enough). So the members of a group first meet in the store, with a
time limit, and tell each other their machine and process. Who has waited a while looks whether those on its own machine
still run: no process leaves an MPI world before the others do, unless it was killed.

The first that knows whether all have come decides it for all: where one has given up and another, which came just
then, goes on, that one would wait in MPI for ever.

Note [Comparing before]
MPI trusts its callers: different collectives or sizes give wrong values, or wait for ever. So the processes first
compare what they are about to do, by a number made of its label (Note [Labels] in ``pairwise.py``).

Note [Large reductions over MPI]
MPICH reduces into a buffer as large as the message, which it takes from the system and gives back in every call: half
of the time went into pages of zeros. Its messages are fast, though, as one process reads another's memory where the
system allows it. So large reductions are made of messages here, as ``pairwise.py`` does for everybody: all_reduce of
64 MiB by 2 processes takes 14 ms instead of 29.
"""

from __future__ import annotations

import atexit
import importlib.util
import os
import socket
import sys
import time
import zlib
from array import array
from collections.abc import Callable, Sequence
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import Any

from ... import _C
from ..._C import Tensor
from ..engine import Place
from ..errors import DistBackendError, DistStoreError
from ..flight_recorder.verdict import ranks_named
from ..reduce_op import RedOpType, ReduceOp
from ..stores import HashStore, PrefixStore, Store
from ..tcp_store import TCPStore, host_name
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


_PATIENCE, _PER_BYTE = 1e-4, 6e-10  # seconds of asking without a pause
_LOOK = 0.5  # seconds between two looks at the others' processes
_OWN_WAY = 1 << 17  # bytes for each process from which on reductions are made of messages
_NOBODY = "nobody"
_LABEL = 128  # bytes of what is compared
_given_up: list[Any] = []  # calls that were not done in time, with their memory
# What mpiexec tells the processes that it starts: MPICH and its kin, Open MPI, MVAPICH.
_STARTED = ("PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "MV2_COMM_WORLD_RANK")


def is_available() -> bool:
    """Whether mpi4py is installed and this process can reach others by it: torchrun's, which mpiexec did not start,
    cannot, and programs that ask choose Gloo."""
    alone = int(os.environ.get("WORLD_SIZE") or 1) == 1
    started = any(name in os.environ for name in _STARTED)
    return (alone or started) and importlib.util.find_spec("mpi4py") is not None


def packaged(name: str) -> Path | None:
    """A file of the package mpich, which an environment may have from another one that it builds upon."""
    from importlib import metadata  # takes a fifth of the time that torch.distributed takes to import

    try:
        found = [file for file in metadata.files("mpich") or [] if file.name == name]
    except metadata.PackageNotFoundError:
        return None
    return Path(str(found[0].locate())).resolve() if found else None


@cache
def _mpi() -> Any:
    library = packaged("libmpi.so.12")
    if (
        library is not None and Path(sys.prefix).resolve() not in library.parents
    ):  # where mpi4py does not look
        os.environ.setdefault("MPI4PY_LIBMPI", str(library))
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        raise DistBackendError(
            f"the backend mpi needs mpi4py and an MPI library ({error}): pip install 'mindtorch_v2[distributed]' "
            "brings both; start the program with mpiexec -n N python program.py"
        ) from error
    if MPI.Query_thread() < MPI.THREAD_MULTIPLE:
        raise DistBackendError("this MPI does not allow several threads, which asynchronous works need")
    atexit.register(_leave)
    MPI.COMM_WORLD.Barrier()
    _forget_names()
    return MPI


def _forget_names() -> None:
    """Removes the names of memory that the processes share, which all have by now: MPICH removes them at a process's
    orderly end, and one that is killed would leave them behind."""
    with open("/proc/self/maps") as maps:
        names = {line.split()[-1] for line in maps if "/dev/shm/mpich" in line and "(deleted)" not in line}
    for name in names:
        Path(name).unlink(missing_ok=True)


def _runs(process: int) -> bool:
    """Whether a process of this machine has not ended."""
    try:
        state = Path(f"/proc/{process}/stat").read_bytes().rpartition(b")")[2].split()[0]
    except OSError:
        return False
    return state not in (b"Z", b"X")  # ended, and its parent has not asked how


def _leave() -> None:
    """Ends the process where MPI cannot be ended. Note [Waiting for MPI]."""
    if _given_up or hasattr(sys, "last_value"):  # which Python keeps when nobody caught an error
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(1)


def world() -> tuple[int, int]:
    """Rank and number of all processes, which mpiexec decides."""
    everybody = _mpi().COMM_WORLD
    return everybody.Get_rank(), everybody.Get_size()


@cache
def shared_store() -> TCPStore:
    """A store of all processes, which the first one serves: MPI has none, and brings the address."""
    everybody = _mpi().COMM_WORLD
    if everybody.Get_rank() == 0:
        made = TCPStore(host_name(), 0, is_master=True, multi_tenant=True)
        everybody.bcast((made.host, made.port))
        return made
    host, port = everybody.bcast(None)
    return TCPStore(host, port)


class MpiEngine(PairwiseEngine):
    """MPI's own collectives; reductions of much, or of dtypes that it does not know, are made of messages."""

    name = "mpi"
    both_at_once = 0

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        mpi = self._mpi = _mpi()
        self._types = {getattr(_C, name): getattr(mpi, known) for name, known in _TYPES.items()}
        self._kinds = {RedOpType[name]: getattr(mpi, known) for name, known in _KINDS.items()}
        self._processes = self._meet()
        group = mpi.COMM_WORLD.Get_group().Incl(list(place.ranks))
        self._collectives = mpi.COMM_WORLD.Create_group(group)
        self._messages = mpi.COMM_WORLD.Create_group(group, tag=1)
        self._giving: Any = None  # what is on its way to another process, with its memory

    def _meet(self) -> dict[int, int]:
        """Waits for the members; the processes of those on this machine, by rank. Note [Who is there]."""
        place = self.place
        store: Store = place.store
        while isinstance(store, PrefixStore):
            store = store.underlying_store
        if place.size == 1 or isinstance(store, HashStore):  # which no other process has
            return {}
        own = place.ranks[place.rank]
        keys = [f"process of {rank}" for rank in place.ranks]
        place.store.set(keys[place.rank], f"{os.getpid()} {socket.gethostname()}")
        missed = ""
        try:
            place.store.wait(keys, place.timeout)
        except DistStoreError:
            absent = [
                rank for rank, key in zip(place.ranks, keys, strict=True) if not place.store.check([key])
            ]
            if absent:
                missed = (
                    f"rank {own} waited {place.timeout.total_seconds():g} s for the group {place.name} of ranks "
                    f"{ranks_named(place.ranks)}, and {ranks_named(absent)} did not come"
                )
        decided = place.store.compare_set("who did not come", "", missed or _NOBODY).decode()
        if decided != _NOBODY:
            raise DistBackendError(f"mpi: {missed or f'rank {own} is without its group: {decided}'}")
        said = [each.decode().split(" ", 1) for each in place.store.multi_get(keys)]
        here = socket.gethostname()
        return {
            rank: int(number)
            for rank, (number, host) in zip(place.ranks, said, strict=True)
            if host == here and rank != place.ranks[place.rank]
        }

    def _check_others(self, label: str) -> None:
        """Note [Who is there]."""
        gone = [rank for rank, process in self._processes.items() if not _runs(process)]
        if gone:
            what = ", ".join(f"rank {rank} (process {self._processes[rank]})" for rank in gone)
            raise DistBackendError(f"{label} over mpi: {what} is gone")

    def _call(self, label: str, tensors: Sequence[Tensor], begin: Callable[..., Any], *arguments: Any) -> Any:
        """Begins a call and waits for it; gives its status. Note [Waiting for MPI]."""
        status = self._mpi.Status()
        try:
            request = begin(*arguments)
            if request.Test(status):
                return status
            start, limit = time.perf_counter(), self.place.timeout.total_seconds()
            patience = _PATIENCE + _PER_BYTE * sum(tensor.nbytes for tensor in tensors)
            look = _LOOK
            try:
                while not request.Test(status):
                    past = time.perf_counter() - start
                    if past > limit:
                        raise DistBackendError(
                            f"{label} over mpi was not done after {limit:g} s; another rank is late or gone"
                        )
                    if past > look:
                        self._check_others(label)
                        look = past + _LOOK
                    if past > patience:
                        time.sleep(min(past / 8, 1e-3))
            except DistBackendError:
                _given_up.append((request, arguments, tensors, self._giving))
                raise
        except self._mpi.Exception as error:
            raise DistBackendError(f"{label}: {error}") from error
        return status

    def _label(self, name: str, tensor: Tensor | None) -> str:
        """Note [Comparing before]."""
        label = super()._label(name, tensor)
        code = zlib.crc32(label.encode())
        ends = array("q", [code, -code])
        self._call(label, (), self._collectives.Iallreduce, self._mpi.IN_PLACE, ends, self._mpi.MAX)
        if ends[0] == -ends[1]:
            return label
        everybody = bytearray(_LABEL * self.place.size)
        own = label.encode()[:_LABEL].ljust(_LABEL)
        self._call(label, (), self._collectives.Iallgather, own, everybody)
        said = [everybody[at : at + _LABEL].decode().strip() for at in range(0, len(everybody), _LABEL)]
        what = ", ".join(f"rank {rank}: {each}" for rank, each in zip(self.place.ranks, said, strict=True))
        raise DistBackendError(f"the ranks do different things: {what}")

    def _memory(self, tensor: Tensor, parts: int = 1) -> list[Any]:
        """The bytes of a tensor, or of one of its equal parts, as MPI counts them."""
        memory = self._mpi.buffer.fromaddress(tensor.data_ptr(), tensor.nbytes)
        return [memory, tensor.nbytes // parts, self._mpi.BYTE]

    def _numbers(self, tensor: Tensor) -> list[Any]:
        memory = self._mpi.buffer.fromaddress(tensor.data_ptr(), tensor.nbytes)
        return [memory, tensor.numel(), self._types[tensor.dtype]]

    def _knows(self, tensor: Tensor, op: ReduceOp) -> bool:
        return tensor.dtype in self._types and op.op in self._kinds

    def _does(self, tensor: Tensor, op: ReduceOp) -> bool:
        """Whether MPI's way is the faster one. Note [Large reductions over MPI]."""
        return self._knows(tensor, op) and tensor.nbytes < _OWN_WAY * self.place.size

    def all_reduce(self, tensor: Tensor, op: ReduceOp) -> None:
        if not self._does(tensor, op):
            return super().all_reduce(tensor, op)
        label = self._label(f"all_reduce {op.op.name}", tensor)
        begin_fold(tensor, op)
        begin, place = self._collectives.Iallreduce, self._mpi.IN_PLACE
        self._call(label, [tensor], begin, place, self._numbers(tensor), self._kinds[op.op])
        return end_fold(tensor, op, self.place.size)

    def reduce(self, tensor: Tensor, root: int, op: ReduceOp) -> None:
        if not self._knows(tensor, op):
            return super().reduce(tensor, root, op)
        label = self._label(f"reduce {op.op.name} to {root}", tensor)
        work = tensor if self.place.rank == root else tensor.clone()  # the others keep their values
        begin_fold(work, op)
        at_root = self.place.rank == root
        ends = (self._mpi.IN_PLACE, self._numbers(work)) if at_root else (self._numbers(work), None)
        self._call(label, [work], self._collectives.Ireduce, *ends, self._kinds[op.op], root)
        return end_fold(work, op, self.place.size) if at_root else None

    def reduce_scatter(self, out: Tensor, tensor: Tensor, op: ReduceOp) -> None:
        if not self._does(tensor, op):
            return super().reduce_scatter(out, tensor, op)
        label = self._label(f"reduce_scatter {op.op.name}", tensor)
        work = tensor.clone() if op.op is RedOpType.PREMUL_SUM else tensor
        begin_fold(work, op)
        taken = self._numbers(out)
        given = [self._memory(work)[0], *taken[1:]]  # MPI counts the elements of a part
        begin = self._collectives.Ireduce_scatter_block
        self._call(label, [out, work], begin, given, taken, self._kinds[op.op])
        return end_fold(out, op, self.place.size)

    def broadcast(self, tensor: Tensor, root: int) -> None:
        label = self._label(f"broadcast from {root}", tensor)
        self._call(label, [tensor], self._collectives.Ibcast, self._memory(tensor), root)

    def all_gather(self, out: Tensor, tensor: Tensor) -> None:
        label = self._label("all_gather", tensor)
        ends = self._memory(tensor), self._memory(out, self.place.size)
        self._call(label, [out, tensor], self._collectives.Iallgather, *ends)

    def gather(self, out: Tensor | None, tensor: Tensor, root: int) -> None:
        label = self._label(f"gather to {root}", tensor)
        target = None if out is None else self._memory(out, self.place.size)
        used = [tensor] if out is None else [tensor, out]
        self._call(label, used, self._collectives.Igather, self._memory(tensor), target, root)

    def scatter(self, out: Tensor, tensor: Tensor | None, root: int) -> None:
        label = self._label(f"scatter from {root}", out)
        source = None if tensor is None else self._memory(tensor, self.place.size)
        used = [out] if tensor is None else [out, tensor]
        self._call(label, used, self._collectives.Iscatter, source, self._memory(out), root)

    def all_to_all(
        self, out: Tensor, tensor: Tensor, out_counts: Sequence[int], counts: Sequence[int]
    ) -> None:
        def parts(whole: Tensor, elements: Sequence[int]) -> list[Any]:
            sizes = [count * whole.element_size() for count in elements]
            starts = list(accumulate(sizes, initial=0))[:-1]
            return [self._memory(whole)[0], (sizes, starts), self._mpi.BYTE]

        label = self._label("all_to_all", None)  # everybody has counts of its own
        ends = parts(tensor, counts), parts(out, out_counts)
        self._call(label, [out, tensor], self._collectives.Ialltoallv, *ends)

    def barrier(self) -> None:
        self._label("barrier", None)  # which is one

    def put(self, tensor: Tensor, peer: int, slot: int, label: str, agreed: bool = False) -> None:
        self._call(label, [tensor], self._messages.Isend, self._memory(tensor), peer, slot)

    def take(self, tensor: Tensor, peer: int, slot: int, label: str, agreed: bool = False) -> None:
        self._receive(tensor, peer, slot, label)

    def _give(
        self, pieces: Sequence[Tensor], peer: int, label: str, agreed: bool = False
    ) -> Callable[[], object]:
        requests = [self._messages.Isend(self._memory(piece), peer, 0) for piece in pieces]
        self._giving = (requests, pieces)

        def wait() -> None:
            for request, piece in zip(requests, pieces, strict=True):
                self._call(label, [piece], lambda request=request: request)
            self._giving = None

        return wait

    def receive(self, tensor: Tensor, peer: int | None, tag: int) -> int:
        label = f"message of {tensor.nbytes} bytes with tag {tag}"
        return self._receive(tensor, self._mpi.ANY_SOURCE if peer is None else peer, tag + 1, label)

    def _receive(self, tensor: Tensor, peer: int, slot: int, label: str) -> int:
        status = self._call(label, [tensor], self._messages.Irecv, self._memory(tensor), peer, slot)
        sender, length = int(status.Get_source()), status.Get_count(self._mpi.BYTE)
        if length != tensor.nbytes:
            ranks = self.place.ranks
            raise DistBackendError(
                f"rank {ranks[sender]} sent {length} bytes, rank {ranks[self.place.rank]} expected {tensor.nbytes}"
            )
        return sender

    def close(self, finish: bool = True) -> None:
        super().close(finish)
        if finish and not _given_up and not self._mpi.Is_finalized():
            self._collectives.Free()
            self._messages.Free()
