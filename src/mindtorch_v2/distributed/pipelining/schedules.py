"""Schedules: in which order the stages of a process compute their microbatches, and the loop that does it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from ... import _C
from ..._absent import names_of
from ..._C import Tensor
from ...utils import _pytree
from . import _actions
from ._actions import BACKWARD_INPUT, BACKWARD_WEIGHT, FORWARD, FULL_BACKWARD, Order
from ._actions import _Action as _Action
from ._actions import _ComputationType as _ComputationType
from ._exchange import Exchange, needed_by, sent_by
from .microbatch import merge_chunks, split_args_kwargs_into_chunks
from .stage import _PipelineStageBase, as_tuple

__all__ = [
    "PipelineScheduleMulti", "PipelineScheduleSingle", "Schedule1F1B", "ScheduleDualPipeV", "ScheduleGPipe",
    "ScheduleInterleaved1F1B", "ScheduleInterleavedZeroBubble", "ScheduleLoopedBFS", "ScheduleZBVZeroBubble",
    "get_schedule_class",
]  # fmt: skip


class _PipelineSchedule:
    """Runs the actions of this process. The schedules below say which those are."""

    def __init__(
        self,
        stages: list[_PipelineStageBase],
        n_microbatches: int,
        loss_fn: Callable[..., Tensor] | None,
        args_chunk_spec: Any,
        kwargs_chunk_spec: Any,
        output_merge_spec: Any,
        scale_grads: bool,
    ) -> None:
        if not stages:
            raise ValueError("a schedule needs a stage at least")
        if n_microbatches < 1:
            raise ValueError(f"a schedule needs a microbatch at least, got n_microbatches={n_microbatches}")
        self._stages, self._n_microbatches, self._loss_fn = list(stages), n_microbatches, loss_fn
        self._args_chunk_spec, self._kwargs_chunk_spec = args_chunk_spec, kwargs_chunk_spec
        self._output_merge_spec, self.scale_grads = output_merge_spec, scale_grads
        self._has_backward = loss_fn is not None
        self._num_stages = stages[0].num_stages
        self.rank, self.pp_group_size = stages[0].group_rank, stages[0].group_size
        self.stage_index_to_group_rank = self._placed()
        for each in stages:
            each.stage_index_to_group_rank = self.stage_index_to_group_rank
        wanted = [stage for stage, rank in self.stage_index_to_group_rank.items() if rank == self.rank]
        if [each.stage_index for each in stages] != wanted:
            raise ValueError(
                f"rank {self.rank} of {self.pp_group_size} has the stages {wanted} of {self._num_stages}, got "
                f"{[each.stage_index for each in stages]}"
            )
        self.pipeline_order: Order = self._order()
        self._exchanges: dict[bool, Exchange] = {}

    def _placed(self) -> dict[int, int]:
        """The process of each stage."""
        return self._stages[0].stage_index_to_group_rank

    def _order(self) -> Order:
        raise NotImplementedError(f"{type(self).__name__} does not say in which order actions are run")

    def _get_pipeline_order(self) -> Order:
        return self.pipeline_order

    # ---- what users call ---------------------------------------------------------------------------------------

    def step(
        self,
        *args: Any,
        target: Any = None,
        losses: list[Any] | None = None,
        return_outputs: bool = True,
        loss_kwargs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> Any:
        """One batch forward and, with a loss function, backward. The first stage's process gives the batch, the last
        one's the target; the latter gets the outputs, and in ``losses`` the loss of each microbatch."""
        if self._has_backward and not _C.is_grad_enabled():
            raise RuntimeError(
                "step() requires gradients to be enabled for backward computation; it should not be used under "
                "torch.no_grad() context. Please call eval() instead."
            )
        return self._run(args, kwargs, target, losses, return_outputs, loss_kwargs or {}, self._has_backward)

    def eval(self, *args: Any, target: Any = None, losses: list[Any] | None = None, **kwargs: Any) -> Any:
        """One batch, forward only."""
        return self._run(args, kwargs, target, losses, True, {}, False)

    # ---- a step ------------------------------------------------------------------------------------------------

    def _run(
        self,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        target: Any,
        losses: list[Any] | None,
        return_outputs: bool,
        loss_kwargs: dict[str, Any],
        trains: bool,
    ) -> Any:
        arguments, keywords = self._split_inputs(args, kwargs)
        targets = self._split_target(target, trains)
        stages = {each.stage_index: each for each in self._stages}
        for each in self._stages:
            each.clear_runtime_states()
            each.has_backward = trains
        exchange = self._exchange(trains)
        exchange.begin()
        actions = self._actions(self.pipeline_order[self.rank], trains)
        passes = (FULL_BACKWARD, BACKWARD_INPUT)
        left = Counter(each.stage_index for each in actions if each.computation_type in passes)
        made: dict[int, Tensor] = {}
        for number, action in enumerate(actions):
            for coming in actions[number : number + 2]:
                exchange.ask_for(coming)
            stage, microbatch = stages[action.stage_index], action.microbatch_index
            received = {message.source: exchange.take(message) for message in needed_by(stage.routes, action)}
            if action.computation_type is FORWARD:
                inputs: Any = arguments[microbatch]
                if not stage.is_first:
                    inputs = self._as_inputs(exchange, action, received, stage)
                output = stage.forward_one_chunk(microbatch, inputs, keywords[microbatch])
                if stage.is_last:
                    self._keep(stage, output, trains and self._has_backward, return_outputs)
                    if targets is not None and self._loss_fn is not None:
                        made[microbatch] = self._loss_fn(output, targets[microbatch], **loss_kwargs)
                for message in sent_by(stage.routes, action):
                    exchange.send(message, stage.picked(as_tuple(output), message.target))
            elif action.computation_type is BACKWARD_WEIGHT:
                stage.backward_weight_one_chunk(microbatch)
            else:
                left[stage.stage_index] -= 1
                whole = action.computation_type is FULL_BACKWARD
                run = stage.backward_one_chunk if whole else stage.backward_input_one_chunk
                gradients = run(
                    microbatch,
                    made[microbatch] if stage.is_last else None,
                    received,
                    last=left[stage.stage_index] == 0,
                )
                self._send_back(exchange, action, stage, gradients)
        if trains and self.scale_grads:
            for each in self._stages:
                each.scale_grads(self._n_microbatches)
        exchange.finish()
        last = next((each for each in self._stages if each.is_last), None)
        if last is None:
            return None
        if losses is not None:
            losses[:] = [made[number] for number in sorted(made)]
        return self._merge_outputs(last.output_chunks) if return_outputs else None

    def _exchange(self, trains: bool) -> Exchange:
        if trains not in self._exchanges:
            order = {rank: self._actions(some, trains) for rank, some in self.pipeline_order.items()}
            first = self._stages[0]
            self._exchanges[trains] = Exchange(
                first.members, first.device, order, self.stage_index_to_group_rank, first.routes, trains
            )
        return self._exchanges[trains]

    @staticmethod
    def _actions(order: list[_Action], trains: bool) -> list[_Action]:
        return [each for each in order if trains or each.computation_type is FORWARD]

    @staticmethod
    def _as_inputs(
        exchange: Exchange, action: _Action, received: dict[int, list[Tensor]], stage: _PipelineStageBase
    ) -> list[Tensor]:
        """What was received as the beginning of a graph of its own."""
        inputs = []
        for message in needed_by(stage.routes, action):
            shapes = exchange.describes(message)
            for tensor, shape in zip(received[message.source], shapes, strict=True):
                inputs.append(tensor.requires_grad_(shape.requires_grad))
        return inputs

    @staticmethod
    def _send_back(
        exchange: Exchange, action: _Action, stage: _PipelineStageBase, gradients: list[Tensor | None]
    ) -> None:
        """Gives each stage before the gradients of what it sent."""
        forward = action._replace(computation_type=FORWARD)
        back = {message.target: message for message in sent_by(stage.routes, action)}
        at = 0
        for message in needed_by(stage.routes, forward):
            count = len(exchange.describes(message))
            mine = [each for each in gradients[at : at + count] if each is not None]
            exchange.send(back[message.source], mine)
            at += count

    @staticmethod
    def _keep(stage: _PipelineStageBase, output: Any, detached: bool, wanted: bool) -> None:
        if wanted:
            kept = output
            if detached:  # the graph is freed by the backward pass
                kept = _pytree.tree_map(
                    lambda each: each.detach() if isinstance(each, Tensor) else each, output
                )
            stage.output_chunks.append(kept)

    def _split_inputs(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[list[tuple[Any, ...]], list[dict[str, Any]]]:
        count = self._n_microbatches
        if not args and not kwargs:
            return [()] * count, [{}] * count
        specs = (self._args_chunk_spec if args else None, self._kwargs_chunk_spec if kwargs else None)
        found = split_args_kwargs_into_chunks(args, kwargs, count, *specs)
        if len(found[0]) != count:
            raise ValueError(
                f"Expecting {count} arg_mbs but got {len(found[0])}: an argument is shorter than n_microbatches"
            )
        return found

    def _split_target(self, target: Any, trains: bool) -> list[Any] | None:
        if not any(each.is_last for each in self._stages):
            return None
        if target is None:
            if trains:
                raise ValueError("the process of the last stage must give step() a target= for its loss")
            return None
        (found, _) = split_args_kwargs_into_chunks((target,), None, self._n_microbatches)
        if len(found) != self._n_microbatches:
            raise ValueError(
                f"Expecting {self._n_microbatches} target_mbs but got {len(found)}: the target is shorter than "
                "n_microbatches"
            )
        return [each for (each,) in found]

    def _merge_outputs(self, output_chunks: list[Any]) -> Any:
        return merge_chunks(output_chunks, self._output_merge_spec)


class PipelineScheduleSingle(_PipelineSchedule):
    """Schedules with one stage on each process."""

    def __init__(
        self,
        stage: _PipelineStageBase,
        n_microbatches: int,
        loss_fn: Callable[..., Tensor] | None = None,
        args_chunk_spec: Any = None,
        kwargs_chunk_spec: Any = None,
        output_merge_spec: Any = None,
        scale_grads: bool = True,
    ) -> None:
        if not isinstance(stage, _PipelineStageBase):
            raise TypeError(
                f"{type(self).__name__} takes one stage, got {type(stage).__name__}; ScheduleInterleaved1F1B and "
                "ScheduleLoopedBFS take several"
            )
        super().__init__(
            [stage],
            n_microbatches,
            loss_fn,
            args_chunk_spec,
            kwargs_chunk_spec,
            output_merge_spec,
            scale_grads,
        )
        self._stage = stage


class _ScheduleForwardOnly(PipelineScheduleSingle):
    """Forward passes alone."""

    def _order(self) -> Order:
        if self._has_backward:
            raise ValueError("_ScheduleForwardOnly takes no loss_fn: it runs nothing backward")
        return _actions.forward_only(self._num_stages, self._n_microbatches)


class ScheduleGPipe(PipelineScheduleSingle):
    """All microbatches forward, then all backward."""

    def _order(self) -> Order:
        return _actions.gpipe(self._num_stages, self._n_microbatches)


class Schedule1F1B(PipelineScheduleSingle):
    """One forward and one backward in turn, so that at most as many microbatches are kept as there are stages."""

    def _order(self) -> Order:
        if self._n_microbatches < self._num_stages:
            raise ValueError(
                f"Number of microbatches ({self._n_microbatches}) must be greater than or equal to the number of "
                f"stages ({self._num_stages})."
            )
        return _actions.one_forward_one_backward(self._num_stages, self._n_microbatches)


class PipelineScheduleMulti(_PipelineSchedule):
    """Schedules with several stages on each process: stage s on process s modulo their number, or in a V."""

    def __init__(
        self,
        stages: list[_PipelineStageBase],
        n_microbatches: int,
        loss_fn: Callable[..., Tensor] | None = None,
        args_chunk_spec: Any = None,
        kwargs_chunk_spec: Any = None,
        output_merge_spec: Any = None,
        use_full_backward: bool | None = None,
        scale_grads: bool = True,
        backward_requires_autograd: bool = True,
    ) -> None:
        if use_full_backward is False or not backward_requires_autograd:
            raise NotImplementedError("backward passes run whole, by autograd: leave the options out")
        super().__init__(
            stages,
            n_microbatches,
            loss_fn,
            args_chunk_spec,
            kwargs_chunk_spec,
            output_merge_spec,
            scale_grads,
        )

    @property
    def n_local_stages(self) -> int:
        """How many stages each process has."""
        if self._num_stages % self.pp_group_size:
            raise ValueError(
                f"{self._num_stages} stages cannot be shared equally by {self.pp_group_size} processes"
            )
        return self._num_stages // self.pp_group_size


class ScheduleLoopedBFS(PipelineScheduleMulti):
    """Each stage of a process with all microbatches before its next stage (arXiv 2211.05953)."""

    def __init__(
        self,
        stages: list[_PipelineStageBase],
        n_microbatches: int,
        loss_fn: Callable[..., Tensor] | None = None,
        output_merge_spec: Any = None,
        scale_grads: bool = True,
        backward_requires_autograd: bool = True,
        defer_pp_recv: bool = False,  # what is received never holds up the one who sends
    ) -> None:
        super().__init__(
            stages, n_microbatches, loss_fn, None, None, output_merge_spec, None, scale_grads,
            backward_requires_autograd,
        )  # fmt: skip

    def _order(self) -> Order:
        return _actions.looped_breadth_first(self.pp_group_size, self.n_local_stages, self._n_microbatches)


class _Interleaved(PipelineScheduleMulti):
    """Several stages on each process, one forward and one backward in turn."""

    def __init__(
        self,
        stages: list[_PipelineStageBase],
        n_microbatches: int,
        loss_fn: Callable[..., Tensor] | None = None,
        args_chunk_spec: Any = None,
        kwargs_chunk_spec: Any = None,
        output_merge_spec: Any = None,
        scale_grads: bool = True,
        backward_requires_autograd: bool = True,
        defer_pp_recv: bool = False,
    ) -> None:
        super().__init__(
            stages, n_microbatches, loss_fn, args_chunk_spec, kwargs_chunk_spec, output_merge_spec, None, scale_grads,
            backward_requires_autograd,
        )  # fmt: skip


class ScheduleInterleaved1F1B(_Interleaved):
    """One forward and one backward in turn over several stages on each process (arXiv 2104.04473)."""

    def _order(self) -> Order:
        return _actions.interleaved(self.pp_group_size, self.n_local_stages, self._n_microbatches)


class ScheduleInterleavedZeroBubble(_Interleaved):
    """Interleaved 1F1B whose waits are filled with the gradients of weights (arXiv 2401.10241)."""

    def _order(self) -> Order:
        return _actions.interleaved_zero_bubble(self.pp_group_size, self.n_local_stages, self._n_microbatches)


class _ScheduleV(ScheduleInterleavedZeroBubble):
    """Two stages on each process: the first process has the first and the last, the last one the two in the middle."""

    def _placed(self) -> dict[int, int]:
        if self.n_local_stages != 2:
            raise ValueError(f"ZBV requires exactly 2 stages per rank, but got {self.n_local_stages}.")
        return _actions.v_shaped(self.pp_group_size)


class ScheduleZBVZeroBubble(_ScheduleV):
    """Zero bubble on stages in a V (arXiv 2401.10241, section 6)."""

    def _order(self) -> Order:
        return _actions.v_zero_bubble(self.pp_group_size, self._n_microbatches)


class ScheduleDualPipeV(_ScheduleV):
    """DualPipeV: one way forward beside the other way backward (after arXiv 2412.19437)."""

    def _order(self) -> Order:
        return _actions.dual_pipe_v(self.pp_group_size, self._n_microbatches)


_BY_NAME: dict[str, type[_PipelineSchedule]] = {
    "1F1B": Schedule1F1B, "Interleaved1F1B": ScheduleInterleaved1F1B, "GPipe": ScheduleGPipe,
    "LoopedBFS": ScheduleLoopedBFS, "InterleavedZeroBubble": ScheduleInterleavedZeroBubble,
    "PipelineScheduleSingle": PipelineScheduleSingle, "PipelineScheduleMulti": PipelineScheduleMulti,
    "ZBVZeroBubble": ScheduleZBVZeroBubble, "DualPipeV": ScheduleDualPipeV,
}  # fmt: skip


def get_schedule_class(schedule_name: str) -> type[_PipelineSchedule]:
    """The class of a name, in whatever case."""
    for name, found in _BY_NAME.items():
        if name.lower() == schedule_name.lower():
            return found
    raise ValueError(f"Unknown schedule name '{schedule_name}'. The valid options are {[*_BY_NAME]}")


__getattr__ = names_of(__name__)
