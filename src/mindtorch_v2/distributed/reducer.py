"""The gradients of a module, averaged over processes while the backward pass goes on.

Note [Buckets]
Small messages are slow, so gradients are put one behind the other into buckets. They become ready from the last layer
to the first, so the parameters are taken in reverse, and once the first pass has shown the real order, in that one. A
bucket whose gradients are all there is reduced at once, beside the rest of the pass. All processes reduce the buckets
in one order, that of their numbers, because a collective must meet its like. The first bucket is small, so that
communication begins early.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from .. import _C
from .._C import Tensor, _functions
from ..futures import Future
from . import collectives
from .debug import DebugLevel, get_debug_level
from .process_group import ProcessGroup
from .reduce_op import ReduceOp

FIRST_BUCKET_BYTES = 1 << 20
_log = logging.getLogger("torch.nn.parallel.distributed")


def step_in_backward(parameter: Any) -> None:
    """Lets the optimizers that a parameter has for itself step, and drops its gradient. Note [Steps in backward]."""
    for optimizer in parameter._in_backward_optimizers:
        optimizer.step()
    parameter.grad = None


class GradBucket:
    """Gradients that are reduced together; communication hooks get it."""

    def __init__(self, index: int, parameters: list[Tensor], numbers: list[int]) -> None:
        self._index, self._parameters, self.numbers = index, parameters, numbers
        self._last = False
        first = parameters[0]
        total = sum(parameter.numel() for parameter in parameters)
        self._buffer = _functions.zeros([total], dtype=first.dtype, device=first.device)
        self.left = 0  # gradients that are not there yet
        self.future: Future[Any] | None = None
        self._lay_out()

    def _lay_out(self) -> None:
        parts = self._buffer.split([parameter.numel() for parameter in self._parameters])
        pairs = zip(parts, self._parameters, strict=True)
        self.views = [part.view(parameter.shape) for part, parameter in pairs]

    def index(self) -> int:
        """Its number: buckets are reduced in their order."""
        return self._index

    def buffer(self) -> Tensor:
        """The gradients as one vector."""
        return self._buffer

    def set_buffer(self, buffer: Tensor) -> None:
        """Puts another vector in its place."""
        self._buffer = buffer
        self._lay_out()

    def gradients(self) -> list[Tensor]:
        """The gradients in their shapes."""
        return list(self.views)

    def parameters(self) -> list[Tensor]:
        """Whose gradients they are."""
        return list(self._parameters)

    def is_last(self) -> bool:
        """Whether no other is reduced after it."""
        return self._last


class Reducer:
    """Averages gradients. Note [Buckets]."""

    def __init__(
        self,
        parameters: list[Tensor],
        names: list[str],
        group: ProcessGroup,
        bucket_bytes: int,
        find_unused: bool,
        as_views: bool,
        static: bool,
    ) -> None:
        self.parameters, self.names, self.group = parameters, names, group
        self.find_unused, self.as_views, self.static = find_unused, as_views, static
        self.hook: Callable[[Any, GradBucket], Future[Any]] | None = None
        self.hook_state: Any = None
        self.divisor = group.size()
        self._bucket_bytes = bucket_bytes
        self._expecting = False  # between forward and the end of the backward pass
        self._order: list[int] = []  # in which gradients became ready the first time
        self._rebuilt = False
        self._used_by: list[int] | None = None  # how many processes use each parameter, if that is asked
        self._counts: list[int] | None = None
        self._unused: list[str] = []  # by name, as they were shown last
        self._times: list[int] | None = None  # how often each gradient is added to, in a static graph
        self._stepping = any(hasattr(each, "_in_backward_optimizers") for each in parameters)
        for handle in (h for each in parameters for h in getattr(each, "_in_backward_handles", ())):
            handle.remove()  # they would step with the gradients of this process alone
        self.buckets = self._filled(list(reversed(range(len(parameters)))))
        self._handles = [
            parameter.register_post_accumulate_grad_hook(partial(self._accumulated, number))
            for number, parameter in enumerate(parameters)
        ]

    def _filled(self, order: Sequence[int]) -> list[GradBucket]:
        """Buckets of one dtype and device each, with the parameters in that order."""
        open_ones: dict[Any, list[int]] = {}
        closed: list[list[int]] = []
        limit = min(FIRST_BUCKET_BYTES, self._bucket_bytes)
        for number in order:
            parameter = self.parameters[number]
            key = parameter.dtype, parameter.device
            numbers = open_ones.setdefault(key, [])
            numbers.append(number)
            if sum(self.parameters[each].nbytes for each in numbers) >= limit:
                closed.append(open_ones.pop(key))
                limit = self._bucket_bytes
        closed += open_ones.values()
        place: dict[int, tuple[GradBucket, int]] = {}
        buckets = []
        for index, numbers in enumerate(closed):
            bucket = GradBucket(index, [self.parameters[number] for number in numbers], numbers)
            place |= {number: (bucket, at) for at, number in enumerate(numbers)}
            buckets.append(bucket)
        self._place = [place[number] for number in range(len(self.parameters))]
        buckets[-1]._last = True
        return buckets

    def prepare(self, outputs: list[Tensor] | None) -> None:
        """Before a backward pass; ``outputs``, with ``find_unused``: where it will begin."""
        self.check_finished()
        self._rebuild()
        self._expecting, self._next = True, 0
        self._ready = [False] * len(self.parameters)
        for bucket in self.buckets:
            bucket.left, bucket.future = len(bucket.numbers), None
        self._left = list(self._times) if self._times is not None else [1] * len(self.parameters)
        self._used: Tensor | None = None
        if self.static:
            for number, times in enumerate(self._times or []):
                if not times:
                    self._mark(number)
        elif self.find_unused and outputs is not None:
            reached = _reached(outputs)
            used = [id(parameter) in reached for parameter in self.parameters]
            self._share_used(used)
            self._tell_unused([name for name, each in zip(self.names, used, strict=True) if not each])
            for number in range(len(self.parameters)):
                if not used[number]:
                    self._mark(number)

    def _tell_unused(self, names: list[str]) -> None:
        """Shows, if the processes are to say more, which parameters a pass does not use; the same ones once."""
        if names != self._unused and get_debug_level() is not DebugLevel.OFF:
            what = f"does not use {', '.join(names)}" if names else "uses all parameters"
            _log.warning("rank %d: DistributedDataParallel: this pass %s", self.group.rank(), what)
            self._unused = names

    def check_finished(self) -> None:
        """Raises if gradients of the last pass never came."""
        if not self._expecting or not any(self._ready):
            return
        absent = [number for number, ready in enumerate(self._ready) if not ready]
        if not absent:
            return
        self._expecting = False
        raise RuntimeError(
            "Expected to have finished reduction in the prior iteration before starting a new one. This error "
            "indicates that your module has parameters that were not used in producing loss. You can enable unused "
            "parameter detection by passing the keyword argument `find_unused_parameters=True` to "
            "`torch.nn.parallel.DistributedDataParallel`, and by making sure all `forward` function outputs "
            "participate in calculating loss. Parameter indices which did not receive grad for rank "
            f"{self.group.rank()}: {' '.join(map(str, absent))} ({', '.join(self.names[number] for number in absent)})"
        )

    def _share_used(self, used: list[bool]) -> None:
        """Who of the processes uses a parameter: nobody must change the gradient of one that none does."""
        self._used = _functions.zeros([len(used)], dtype=_C.int32)
        for number, each in enumerate(used):
            if each:
                self._used[number] = 1
        self._used = self._used.to(self.group.object_device)

    def _accumulated(self, number: int, _: Tensor) -> None:
        if not self._expecting:
            return
        if self.static and self.is_counting:
            if self._counts is not None:
                self._counts[number] += 1
            return
        if self._ready[number]:
            if self.find_unused and self._left[number] > 0:  # it was reached in another way after all
                return
            self._expecting = False
            raise RuntimeError(
                "Expected to mark a variable ready only once. This error is caused by a parameter that is used in "
                "several backward passes of one iteration (reentrant checkpoints, or backward called twice): "
                f"{self.names[number]}, number {number}. Pass static_graph=True if every iteration does the same."
            )
        left = self._left[number] = self._left[number] - 1
        if left == 0:
            if not self._rebuilt:
                self._order.append(number)
            self._mark(number)

    @property
    def is_counting(self) -> bool:
        """Whether the next pass shows what every pass of a static graph does."""
        return self.static and self._times is None

    def count(self) -> None:
        """At the beginning of that pass, the outermost one: checkpoints have passes of their own inside it."""
        if self._counts is not None:  # the module has several outputs
            return
        self._counts = [0] * len(self.parameters)
        _C._queue_callback(self._count_static)

    def _count_static(self) -> None:
        """After it."""
        assert self._counts is not None
        self._times = self._counts
        self._share_used([times > 0 for times in self._times])
        self._ready = [False] * len(self.parameters)
        for number in range(len(self.parameters)):
            self._mark(number, queue=False)
        self._finish()

    def _mark(self, number: int, queue: bool = True) -> None:
        """The gradient is final: into its bucket, and on with the buckets that are full."""
        bucket, at = self._place[number]
        self._ready[number] = True
        gradient, view = self.parameters[number].grad, bucket.views[at]
        if gradient is None:
            view.zero_()
        elif gradient.is_sparse:
            raise RuntimeError(
                f"DistributedDataParallel: the gradient of {self.names[number]} is sparse, which is not reduced; "
                "make the layer with sparse=False"
            )
        elif not self.as_views or gradient.data_ptr() != view.data_ptr():
            view.copy_(gradient.detach() if gradient.requires_grad else gradient)
        bucket.left -= 1
        if bucket.left:
            return
        while self._next < len(self.buckets) and not self.buckets[self._next].left:
            self._launch(self.buckets[self._next])
            self._next += 1
        if queue and self._next == len(self.buckets):
            _C._queue_callback(self._finish)

    def _launch(self, bucket: GradBucket) -> None:
        before = _C.is_grad_enabled()
        _C._set_grad_enabled(False)
        try:
            if self.hook is not None:
                bucket.future = self.hook(self.hook_state, bucket)
                return
            if self.divisor != 1:
                bucket.buffer().div_(self.divisor)
            work = self.group.all_reduce([bucket.buffer()], ReduceOp(ReduceOp.SUM))
            bucket.future = work.get_future()  # which begins it
        finally:
            _C._set_grad_enabled(before)

    def _finish(self) -> None:
        """After the last bucket was begun: waits, and gives the parameters their gradients."""
        self._expecting = False
        if self._used is not None:
            collectives.all_reduce(self._used, group=self.group)
            self._used_by = self._used.tolist()
        used = self._used_by
        before = _C.is_grad_enabled()
        _C._set_grad_enabled(False)
        try:
            for bucket in self.buckets:
                assert bucket.future is not None
                result = bucket.future.wait()
                result = result[0] if isinstance(result, (list, tuple)) else result
                if result.data_ptr() != bucket.buffer().data_ptr():
                    bucket.buffer().copy_(result.view(-1))
                bucket.future = None
                self._give(bucket, used)
        finally:
            _C._set_grad_enabled(before)

    def _give(self, bucket: GradBucket, used: list[int] | None) -> None:
        """The parameters of a bucket, those that anybody used, get their gradients."""
        gradients, values = [], []
        for number, parameter, view in zip(bucket.numbers, bucket.parameters(), bucket.views, strict=True):
            if used is not None and not used[number]:
                continue
            if self.as_views:
                parameter.grad = view
            elif (gradient := parameter.grad) is None:
                parameter.grad = view.clone()
            else:
                gradients.append(gradient)
                values.append(view)
        if gradients:
            _functions._foreach_copy_(gradients, values)
        if self._stepping:
            for parameter in bucket.parameters():
                if hasattr(parameter, "_in_backward_optimizers"):
                    step_in_backward(parameter)

    def _rebuild(self) -> None:
        """Takes the order that the first pass had on rank 0; not where processes may use different parameters."""
        apart = self.find_unused and not self.static
        if self._rebuilt or apart or len(self._order) != len(self.parameters):
            return
        self._rebuilt = True
        order = _functions.zeros([len(self._order)], dtype=_C.int64)
        for at, number in enumerate(self._order):
            order[at] = number
        order = order.to(self.group.object_device)
        collectives.broadcast(order, group=self.group, group_src=0)
        self.buckets = self._filled([int(number) for number in order.tolist()])

    def shadow(self) -> None:
        """For a process without inputs: takes part in the reduction of a pass with zeros."""
        for bucket in self.buckets:
            bucket.buffer().zero_()
            self._launch(bucket)
        for bucket in self.buckets:
            assert bucket.future is not None
            bucket.future.wait()


def _reached(outputs: list[Tensor]) -> set[int]:
    """The ids of the leaves that the backward pass of these tensors reaches."""
    seen: set[Any] = set()
    found: set[int] = {id(output) for output in outputs if output.is_leaf}
    waiting = [output.grad_fn for output in outputs if output.grad_fn is not None]
    while waiting:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        variable = getattr(node, "variable", None)
        if variable is not None:
            found.add(id(variable))
        waiting += [each for each, _ in node.next_functions if each is not None]
    return found
