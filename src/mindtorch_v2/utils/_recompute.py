"""The part of ``checkpoint`` that runs a function a second time when backward asks for what the first run did not keep.

Note [Places for what was not kept]
While the function runs first, each tensor that a node would save is replaced by a place. When backward reaches one, the
function runs again, and what is saved then fills the places of that backward pass in the same order. The arguments are
saved by a node in front of the function, so that a checkpoint around this one decides whether they are kept.
"""

from __future__ import annotations

import contextlib
import itertools
import traceback
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import mindtorch_v2 as torch

from .. import _C
from ..autograd.function import Function
from ..autograd.graph import saved_tensors_hooks


class CheckpointError(RuntimeError):
    """The second run of a checkpointed function did not save what the first one did."""


class StopRecomputation(Exception):
    """The second run has saved everything that backward needs."""


class _Place:
    """Stands for a tensor that was not kept."""

    def __init__(self) -> None:
        self.filled: dict[int, torch.Tensor] = {}  # by the number of the backward pass


class _Inputs(Function):
    """Saves the arguments of the function in front of it."""

    @staticmethod
    def forward(ctx: Any, start: torch.Tensor, run: Any, *args: Any) -> torch.Tensor:
        ctx.others = [None if isinstance(a, torch.Tensor) else a for a in args]
        ctx.places = [i for i, a in enumerate(args) if isinstance(a, torch.Tensor)]
        ctx.save_for_backward(*(args[i] for i in ctx.places))
        return start.detach()

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        raise AssertionError("the node that keeps the arguments of a checkpoint has no gradient to pass on")

    @staticmethod
    def arguments(node: Any) -> list[Any]:
        args = list(node.others)
        for place, saved in zip(node.places, node.saved_tensors, strict=True):
            args[place] = saved
        return args


_outside = itertools.count(-2, -1)  # numbers for those who ask outside of a backward pass


class Frame:
    """One checkpointed call."""

    def __init__(
        self,
        run: Callable[..., Any],
        inputs: torch.Tensor,
        again: Callable[[], contextlib.AbstractContextManager[Any]],
        check: Callable[[torch.Tensor], Any],
        early_stop: bool,
        explaining: Callable[[], contextlib.AbstractContextManager[Any]],
    ) -> None:
        self.run, self.inputs, self.again, self.check, self.early_stop = run, inputs, again, check, early_stop
        self.explaining = explaining
        self.places: list[weakref.ref[_Place]] = []
        self.facts: list[Any] = []  # of the tensors of the first run
        self.filled: set[int] = set()  # backward passes for which the function has run again
        self.first_run_done = False
        self.cut_short = False  # it ran again before it had run once to its end

    def hooks(self) -> saved_tensors_hooks:
        """For the first run."""
        return saved_tensors_hooks(self.pack, self.unpack)

    def pack(self, tensor: torch.Tensor) -> _Place:
        place = _Place()
        self.places.append(weakref.ref(place))
        if not self.first_run_done:
            self.facts.append(self.check(tensor))
        return place

    def unpack(self, place: _Place) -> torch.Tensor:
        number = _C._current_graph_task_id()
        if number == -1:  # nobody will ask for the others
            number = next(_outside)
            with self.explaining():
                self.fill(number)
            found = place.filled[number]
            for other in filter(None, (reference() for reference in self.places)):
                other.filled.pop(number, None)
            self.filled.discard(number)
            return found
        if number not in self.filled:
            with self.explaining():
                self.fill(number)
        if number not in place.filled:
            raise CheckpointError(
                "torch.utils.checkpoint: Unpack is being triggered for a tensor that was already unpacked once. If "
                "you are calling ctx.saved_tensors in backward, make sure to do so only once. Otherwise please open "
                "an issue with details on your use case."
            )
        return place.filled.pop(number)

    def fill(self, number: int) -> None:
        count = 0
        facts: list[Any] = []

        def keep(tensor: torch.Tensor) -> torch.Tensor:
            nonlocal count
            at, count = count, count + 1
            if at >= len(self.places):
                if not self.first_run_done:  # a gradient inside the function asks for what came so far
                    self.cut_short = True
                    return tensor
                raise CheckpointError(
                    "torch.utils.checkpoint: trying to save more tensors during recomputation than during the "
                    f"original forward pass.\n{self.advice()}"
                )
            kept = tensor.detach() if tensor.requires_grad else tensor
            facts.append(self.check(kept))
            place = self.places[at]()
            if place is not None:  # somebody may still ask for it
                place.filled[number] = kept
            if self.early_stop and count == len(self.places):
                raise StopRecomputation
            return kept

        with torch.enable_grad():  # what needed a gradient needs one again
            args = _Inputs.arguments(self.inputs.grad_fn)
        with self.again(), saved_tensors_hooks(keep, lambda kept: kept), torch.enable_grad():
            with contextlib.suppress(StopRecomputation):
                self.run(*args)
        self.filled.add(number)
        self.compare(count, facts)

    def compare(self, count: int, facts: list[Any]) -> None:
        if self.cut_short:
            return
        if count != len(self.places):
            raise CheckpointError(
                "torch.utils.checkpoint: A different number of tensors was saved during the original forward and "
                f"recomputation.\nNumber of tensors saved during forward: {len(self.places)}\n"
                f"Number of tensors saved during recomputation: {count}.\n{self.advice()}"
            )
        different = [
            f"tensor at position {i}:\nsaved metadata: {first}\nrecomputed metadata: {second}"
            for i, (first, second) in enumerate(zip(self.facts, facts, strict=True))
            if first != second
        ]
        if different:
            raise CheckpointError(
                "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than "
                "during the forward pass.\n" + "\n".join(different) + f"\n{self.advice()}"
            )

    def advice(self) -> str:
        return (
            "Tip: To see a more detailed error message, either pass `debug=True` to "
            "`torch.utils.checkpoint.checkpoint(...)` or wrap the code block with "
            "`with torch.utils.checkpoint.set_checkpoint_debug_enabled(True):` around the place that runs it."
        )


def frame_of(
    run: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    again: Callable[[], contextlib.AbstractContextManager[Any]],
    check: Callable[[torch.Tensor], Any],
    early_stop: bool,
    explaining: Callable[[], contextlib.AbstractContextManager[Any]],
) -> Frame:
    """A frame whose arguments are saved in front of the function. (The names of ``kwargs`` are no tensors.)"""
    names, count = list(kwargs), len(args)

    def run_all(*values: Any) -> Any:
        return run(*values[:count], **dict(zip(names, values[count:], strict=True)))

    start = torch.empty((0,), requires_grad=True)
    inputs = _Inputs.apply(start, None, *args, *kwargs.values())
    return Frame(run_all, inputs, again, check, early_stop, explaining)


class Trace:
    """For ``debug=True``: the operators of both runs with the lines that called them, shown if they differ."""

    def __init__(self) -> None:
        self.runs: tuple[list[str], list[str]] = ([], [])

    def of_run(self, which: int) -> Any:
        from ._python_dispatch import TorchDispatchMode

        lines = self.runs[which]

        class Recorder(TorchDispatchMode):
            def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                made = func(*args, **(kwargs or {}))
                stack = "".join(traceback.format_stack()[:-1])
                lines.append(f"{func}\n{stack}")
                return made

        return Recorder()

    @contextlib.contextmanager
    def explaining(self) -> Iterator[None]:
        """Errors of checkpoints inside come with what both runs did."""
        try:
            yield
        except CheckpointError as error:
            first, second = (
                "\n".join(f"{i + 1}. {line}" for i, line in enumerate(lines)) for lines in self.runs
            )
            raise CheckpointError(
                "An error happened while unpacking tensors; dumping logs of latest computation because you passed "
                "`debug=True` to `torch.utils.checkpoint.checkpoint()`.\n"
                f"Operators of the original forward:\n{first}\n\nOperators of the recomputation:\n{second}\n\n"
                "You are seeing this error because you passed `debug=True` to checkpoint and tensors to be saved "
                f"during the original forward and differ between those saved during recomputation.\n{error}"
            ) from error
