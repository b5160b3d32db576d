"""A group of processes: what users call, over the plain functions of an engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial
from typing import Any

from .. import _C
from .._C import Tensor
from .._tensor.buffers import frombuffer
from ._described import details, event_name, recording, shown
from ._fingerprints import Fingerprint, compare
from ._told import tell
from .debug import DebugLevel, get_debug_level
from .engine import Engine, Place
from .errors import DistBackendError, DistError
from .flight_recorder import recorder, watch
from .group_methods import GroupMethods
from .reduce_op import ReduceOp, check_dtype
from .stores import HashStore, PrefixStore, Store
from .work import Work


def _described(tensor: Tensor) -> str:
    return f"{str(tensor.dtype).removeprefix('torch.')}{list(tensor.shape)} on {tensor.device}"


def _flat(tensors: Sequence[Tensor]) -> Tensor:
    """Room for tensors of one shape, one behind the other."""
    first = tensors[0]
    return _C._functions.empty([len(tensors), *first.shape], dtype=first.dtype, device=first.device)


def _check_alike(name: str, tensors: Sequence[Tensor], like: Tensor) -> None:
    for index, tensor in enumerate(tensors):
        if tensor.dtype is not like.dtype:
            raise ValueError(f"{name}: tensor {index} is of {tensor.dtype}, expected {like.dtype}")
        if tensor.numel() != like.numel():
            raise RuntimeError(
                f"{name}: invalid tensor size at index {index} (expected {tuple(like.shape)}, got "
                f"{tuple(tensor.shape)})"
            )


class ProcessGroup(GroupMethods):
    """Some of the processes, and an engine for each kind of device."""

    def __init__(self, place: Place, engines: dict[str, Engine], backend: str, description: str) -> None:
        self._place, self._engines = place, engines
        self._backend, self.group_desc = backend, description
        self.group_name = place.name
        self.bound_device_id: Any = None
        self._sequence = 0  # collectives so far, by which processes find out who is behind
        self._monitored = 0
        self.coalescing: list[Work] | None = None  # works that one call will wait for together
        self._flight = recorder.register(
            recorder.Flight(place.name, description, place.ranks, place.timeout.total_seconds())
        )

    def __repr__(self) -> str:
        return f"<ProcessGroup {self.group_name} ({self._backend}): rank {self.rank()} of {self.size()}>"

    def rank(self) -> int:
        """The place of this process among the members."""
        return self._place.rank

    def size(self) -> int:
        """How many members there are."""
        return self._place.size

    def name(self) -> str:
        """The name of the library."""
        return self._backend

    _get_backend_name = name

    @property
    def ranks(self) -> tuple[int, ...]:
        """The members among all processes."""
        return self._place.ranks

    def get_group_store(self) -> Store:
        """The store of this group alone."""
        return self._place.store

    @property
    def _device_types(self) -> list[_C.device]:
        return [_C.device(kind) for kind in self._engines]

    def _get_sequence_number_for_group(self) -> int:
        return self._sequence

    @property
    def timeout(self) -> timedelta:
        """How long processes wait for each other."""
        return self._place.timeout

    @property
    def object_device(self) -> _C.device:
        """Where bytes of objects are put to be sent."""
        return _C.device("cpu" if "cpu" in self._engines else next(iter(self._engines)))

    def next_monitored(self) -> int:
        """The number of the next monitored barrier."""
        self._monitored += 1
        return self._monitored

    def engine_of(self, tensor: Tensor) -> Engine:
        """The engine of the tensor's device."""
        return self.engine_for(tensor.device.type)

    def engine_for(self, kind: str) -> Engine:
        """The engine of a kind of device."""
        found = self._engines.get(kind)
        if found is None:
            has = ", ".join(f"{engine.name} for {known}" for known, engine in self._engines.items())
            raise RuntimeError(
                f"No backend type associated with device type {kind}: the group {self.group_name} has {has}; name one "
                f"in init_process_group, like '{kind}:name'"
            )
        return found

    def _get_backend(self, device: Any) -> Engine:
        return self.engine_for(_C.device(device).type)

    def close(self, finish: bool = True) -> None:
        """Ends its threads and connections; ``finish``: after the works that were begun."""
        for engine in set(self._engines.values()):
            engine.close(finish)
        recorder.forget(self._flight)

    shutdown = close

    def abort(self) -> None:
        """Ends its connections now: what is under way fails here and elsewhere."""
        self.close(finish=False)

    # ---- works -------------------------------------------------------------------------------------------------

    def _work(
        self,
        engine: Engine,
        name: str,
        tensors: list[Tensor],
        run: Callable[[], Any],
        lane: Any = "collectives",
        reads: Sequence[Tensor] = (),
        how: tuple[Any, ...] = (),
    ) -> Work:
        """``how`` is what else the processes must agree on: the reduction, or whose values they are."""
        is_message = lane != "collectives"
        tell(name)
        self._sequence += not is_message
        number = self._sequence
        inputs, flight = reads or tensors, self._flight
        entry = flight.add(engine.name, name, inputs, tensors, is_message, flight.stacks)

        def described() -> Any:
            flight.start(entry)
            before = _C.is_grad_enabled()
            _C._set_grad_enabled(False)  # gradients of collectives are torch.distributed.nn's business
            try:
                if not is_message and get_debug_level() is DebugLevel.DETAIL:
                    self._compare(engine, Fingerprint.of(name, number, how, inputs, tensors))
                result = run()
            except BaseException as error:
                flight.end(entry, failed=True)
                if isinstance(error, DistError):
                    what = f" of {', '.join(map(_described, tensors[:2]))}" if tensors else ""
                    raise self._failure(engine, f"{name} (number {number}){what}", error) from error
                raise
            finally:
                _C._set_grad_enabled(before)
            if engine.ends_with_run:
                flight.end(entry)
            return result

        if recording():
            said = details(self, name, number, inputs, tensors, lane)
            carried = partial(shown, described, event_name(engine.name, name), said, asked=False)
            start = partial(engine.start, name, tensors, carried, lane, reads)
            work: Work = shown(start, "record_param_comms", said, asked=True)
        else:
            work = engine.start(name, tensors, described, lane, reads)
        work.group = self
        if (mark := work.mark) is not None:
            flight.follow(entry, lane, mark)
        return work

    def _failure(self, engine: Engine, what: str, error: DistError) -> DistError:
        """The error that the program gets: what failed here, what failed first, and who is behind."""
        rank = self.ranks[self.rank()]
        text = f"rank {rank}: {what} failed: {error}"
        first = self._report(text)
        engine.disconnect()
        said = [text] if first in (text, None) else [text, f"what failed first is {first}"]
        return type(error)("; ".join(said + self._consequences(text, first)))

    def late(self, name: str, seconds: float) -> DistError:
        """The error of who has waited too long for a work that may still end."""
        said = f"{name} was not done after {seconds:g} s; another process may be late"
        return DistBackendError("; ".join([said, *self._consequences(said, said)]))

    def _consequences(self, failure: str, first: str | None) -> list[str]:
        """Note [Who is behind]; and where the last collectives were written to. Nobody is asked without a store."""
        own, behind = self._place.store, ""
        store = own.underlying_store if isinstance(own, PrefixStore) else own
        if first is not None and not isinstance(store, HashStore):
            behind = watch.who_is_behind(store, own, self.group_name, self.ranks, failure == first)
        return [each for each in (behind, recorder.write(self.ranks[self.rank()])) if each]

    def stream_problem(self) -> str:
        """What failed on a stream while nobody looked, and who is behind; empty: nothing."""
        found = next(filter(None, (engine.problem() for engine in set(self._engines.values()))), "")
        if not found:
            return ""
        text = f"rank {self.ranks[self.rank()]}: a collective of the group {self.group_name} failed: {found}"
        return "; ".join([text, *self._consequences(text, self._report(text))])

    def _compare(self, engine: Engine, own: Fingerprint) -> None:
        """Raises if the processes are about to do different things. A graph that is recorded compares nothing."""
        if _C._DeviceGraph.any_is_captured():
            return
        device = next(kind for kind, known in self._engines.items() if known is engine)
        data = frombuffer(bytearray(own.packed()), dtype=_C.uint8).to(device)
        room = _flat([data] * self.size())
        engine.all_gather(room, data)
        compare([Fingerprint.unpacked(bytes(each.cpu().numpy())) for each in room], self.ranks)

    def _report(self, failure: str) -> str | None:
        """Tells the others, through the store, what failed here; gives what failed first. None: the store is gone."""
        try:
            return self.get_group_store().compare_set("failure", "", failure).decode()
        except DistError:  # the process that has it may be the one that is gone
            return None

    def broadcast(self, tensor: Tensor, root: int) -> Work:
        """The root's values reach all."""
        self._check_rank("broadcast", root)
        engine = self.engine_of(tensor)
        return self._work(
            engine,
            "broadcast",
            [tensor],
            lambda: _whole(tensor, lambda t: engine.broadcast(t, root)),
            how=("from", root),
        )

    def all_reduce(self, tensors: list[Tensor], op: ReduceOp) -> Work:
        """All get the reduction of all."""
        for tensor in tensors:
            check_dtype("all_reduce", op, tensor)
        engine = self.engine_of(tensors[0])

        def run() -> None:
            for tensor in tensors:
                _whole(tensor, lambda t: engine.all_reduce(t, op))

        return self._work(engine, "all_reduce", tensors, run, how=(op.op,))

    def reduce(self, tensor: Tensor, root: int, op: ReduceOp) -> Work:
        """The root gets the reduction of all."""
        check_dtype("reduce", op, tensor)
        self._check_rank("reduce", root)
        engine = self.engine_of(tensor)
        return self._work(
            engine,
            "reduce",
            [tensor],
            lambda: _whole(tensor, lambda t: engine.reduce(t, root, op)),
            how=(op.op, "to", root),
        )

    def all_gather(self, outputs: list[Tensor], tensor: Tensor) -> Work:
        """Everybody's tensor reaches all."""
        if len(outputs) != self.size():
            raise RuntimeError(
                f"all_gather: invalid output tensor list (expected length {self.size()}, got {len(outputs)})"
            )
        return self._gathered("all_gather", [outputs], [tensor])

    def all_gather_many(self, outputs: list[list[Tensor]], tensors: list[Tensor]) -> Work:
        """Everybody's tensors reach all: ``outputs`` has a list for each process."""
        if len(outputs) != self.size() or any(len(each) != len(tensors) for each in outputs):
            raise RuntimeError(
                f"all_gather_coalesced: expected {self.size()} lists of {len(tensors)} tensors, got "
                f"{[len(each) for each in outputs]}"
            )
        return self._gathered(
            "all_gather_coalesced", [list(each) for each in zip(*outputs, strict=True)], tensors
        )

    def _gathered(self, name: str, outputs: list[list[Tensor]], tensors: list[Tensor]) -> Work:
        """``outputs`` has, for each tensor, one of each process."""
        for places, tensor in zip(outputs, tensors, strict=True):
            _check_alike(name, places, tensor)
        engine = self.engine_of(tensors[0])

        def run() -> None:
            for places, tensor in zip(outputs, tensors, strict=True):
                room = _flat([tensor] * self.size())
                engine.all_gather(room, tensor.contiguous())
                for place, part in zip(places, room, strict=True):
                    place.copy_(part.view(place.shape))

        return self._work(engine, name, [place for places in outputs for place in places], run, reads=tensors)

    def all_gather_into(self, output: Tensor, tensor: Tensor) -> Work:
        """Everybody's tensor, one behind the other."""
        self._check_parts("all_gather_into_tensor", output, tensor)
        engine = self.engine_of(tensor)
        return self._work(
            engine,
            "all_gather_into_tensor",
            [output],
            lambda: _whole(output, lambda t: engine.all_gather(t, tensor.contiguous())),
            reads=[tensor],
        )

    def _check_parts(self, name: str, whole: Tensor, part: Tensor) -> None:
        if whole.dtype is not part.dtype:
            raise ValueError(f"{name}: the tensors are of {whole.dtype} and {part.dtype}, expected one dtype")
        if whole.numel() != part.numel() * self.size():
            raise RuntimeError(
                f"{name}: invalid tensor size: {tuple(whole.shape)} does not have {self.size()} times the elements of "
                f"{tuple(part.shape)}"
            )

    def reduce_scatter(self, output: Tensor, inputs: list[Tensor], op: ReduceOp) -> Work:
        """Everybody gets the reduction of one of the tensors."""
        check_dtype("reduce_scatter", op, output)
        if len(inputs) != self.size():
            raise RuntimeError(f"reduce_scatter: expected {self.size()} tensors, got {len(inputs)}")
        _check_alike("reduce_scatter", inputs, output)
        engine = self.engine_of(output)

        def run() -> None:
            room = _flat(inputs)
            for part, tensor in zip(room, inputs, strict=True):
                part.copy_(tensor)
            _whole(output, lambda t: engine.reduce_scatter(t, room, op))

        return self._work(engine, "reduce_scatter", [output], run, reads=inputs, how=(op.op,))

    def reduce_scatter_from(self, output: Tensor, tensor: Tensor, op: ReduceOp) -> Work:
        """Everybody gets the reduction of its part."""
        check_dtype("reduce_scatter_tensor", op, output)
        self._check_parts("reduce_scatter_tensor", tensor, output)
        engine = self.engine_of(output)
        return self._work(
            engine,
            "reduce_scatter_tensor",
            [output],
            lambda: _whole(output, lambda t: engine.reduce_scatter(t, tensor.contiguous(), op)),
            reads=[tensor],
            how=(op.op,),
        )

    def gather(self, outputs: list[Tensor] | None, tensor: Tensor, root: int) -> Work:
        """Everybody's tensor reaches the root."""
        self._check_rank("gather", root)
        engine = self.engine_of(tensor)
        self._check_roots_list("gather", "destination", outputs, tensor, root)

        def run() -> None:
            room = _flat([tensor] * self.size()) if outputs else None
            engine.gather(room, tensor.contiguous(), root)
            for output, part in zip(outputs or [], [] if room is None else room, strict=True):
                output.copy_(part.view(output.shape))

        return self._work(engine, "gather", outputs or [], run, reads=[tensor], how=("to", root))

    def scatter(self, output: Tensor, inputs: list[Tensor] | None, root: int) -> Work:
        """Each of the root's tensors reaches one process."""
        self._check_rank("scatter", root)
        engine = self.engine_of(output)
        self._check_roots_list("scatter", "source", inputs, output, root)

        def run() -> None:
            room = None
            if inputs:
                room = _flat(inputs)
                for part, tensor in zip(room, inputs, strict=True):
                    part.copy_(tensor)
            _whole(output, lambda t: engine.scatter(t, room, root))

        return self._work(engine, "scatter", [output], run, reads=inputs or [], how=("from", root))

    def _check_roots_list(
        self, name: str, role: str, tensors: list[Tensor] | None, like: Tensor, root: int
    ) -> None:
        """The root has a tensor for each process, the others have none."""
        if self.rank() != root:
            if tensors:
                raise ValueError(f"Argument ``{name}_list`` must NOT be specified on non-{role} ranks.")
            return
        if not tensors or len(tensors) != self.size():
            raise ValueError(
                f"Argument ``{name}_list`` must be specified on {role} rank: a tensor for each of the {self.size()} "
                f"processes, got {len(tensors or [])}"
            )
        _check_alike(name, tensors, like)

    def all_to_all(self, outputs: list[Tensor], inputs: list[Tensor]) -> Work:
        """Tensor i reaches process i."""
        for name, tensors in (("output", outputs), ("input", inputs)):
            if len(tensors) != self.size():
                raise RuntimeError(f"all_to_all: expected {self.size()} {name} tensors, got {len(tensors)}")
        engine = self.engine_of(inputs[0])
        counts, out_counts = [t.numel() for t in inputs], [t.numel() for t in outputs]

        def run() -> None:
            source = _C._functions.cat([t.reshape(-1) for t in inputs])
            room = _C._functions.empty([sum(out_counts)], dtype=source.dtype, device=source.device)
            engine.all_to_all(room, source, out_counts, counts)
            for output, part in zip(outputs, room.split(out_counts), strict=True):
                output.copy_(part.view(output.shape))

        return self._work(engine, "all_to_all", outputs, run, reads=inputs)

    def all_to_all_single(
        self, output: Tensor, tensor: Tensor, out_sizes: Sequence[int] | None, sizes: Sequence[int] | None
    ) -> Work:
        """Part i of the first dimension reaches process i."""
        counts = self._counts("input", tensor, sizes)
        out_counts = self._counts("output", output, out_sizes)
        engine = self.engine_of(tensor)
        return self._work(
            engine,
            "all_to_all_single",
            [output],
            lambda: _whole(output, lambda t: engine.all_to_all(t, tensor.contiguous(), out_counts, counts)),
            reads=[tensor],
        )

    def _counts(self, what: str, tensor: Tensor, sizes: Sequence[int] | None) -> list[int]:
        rows = tensor.shape[0] if tensor.dim() else 1
        if not sizes:
            if rows % self.size():
                raise RuntimeError(f"all_to_all_single: {rows} rows do not divide equally across group size")
            sizes = [rows // self.size()] * self.size()
        if len(sizes) != self.size() or sum(sizes) != rows:
            raise RuntimeError(
                f"all_to_all_single: the {what} split sizes {list(sizes)} are not {self.size()} parts of {rows} rows"
            )
        each = tensor.numel() // rows if rows else 0
        return [size * each for size in sizes]

    def send(self, tensor: Tensor, peer: int, tag: int) -> Work:
        """To one of the others."""
        self._check_rank("send", peer)
        engine = self.engine_of(tensor)
        return self._work(
            engine, "send", [tensor], lambda: engine.send(tensor.contiguous(), peer, tag), ("to", peer, tag)
        )

    def receive(self, tensor: Tensor, peer: int | None, tag: int) -> Work:
        """From one of the others, or from anybody."""
        if peer is not None:
            self._check_rank("recv", peer)
        engine = self.engine_of(tensor)
        run: Callable[[], Any] = lambda: _whole(tensor, lambda t: engine.receive(t, peer, tag))  # noqa: E731
        return self._work(engine, "recv", [tensor], run, ("from", peer, tag))

    def barrier(self) -> Work:
        """Returns when all have called it."""
        engine = next(iter(self._engines.values()))
        return self._work(engine, "barrier", [], engine.barrier)

    def _check_rank(self, name: str, rank: int) -> None:
        if not 0 <= rank < self.size():
            raise RuntimeError(f"{name}: invalid root rank: {rank}, expected one of 0 to {self.size() - 1}")


def _whole(tensor: Tensor, run: Callable[[Tensor], Any]) -> Any:
    """Runs a function that writes a contiguous tensor."""
    if tensor.is_contiguous():
        return run(tensor)
    room = tensor.contiguous()
    result = run(room)
    tensor.copy_(room)
    return result
