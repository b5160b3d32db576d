"""A stage of a pipeline: a part of a model, and the microbatches that are on their way through it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ... import _C, nn
from ..._C import Tensor, _functions
from ...autograd import backward
from ...nn.parallel import DistributedDataParallel
from ...utils import _pytree
from ..fsdp import FSDPModule
from ..process_group import ProcessGroup
from ..world import resolved
from ._exchange import Described, Routes, described
from ._halves import Halves

if TYPE_CHECKING:
    from ._IR import PipeInfo

__all__ = ["PipelineStage", "build_stage"]


def as_tuple(output: Any) -> tuple[Any, ...]:
    """What a module returned as the tuple of what passes on."""
    return tuple(output) if isinstance(output, (tuple, list)) else (output,)


class _PipelineStageBase:
    """What schedules need of a stage."""

    routes: Routes  # of the whole pipeline

    def __init__(
        self, submodule: nn.Module, stage_index: int, num_stages: int, device: Any, group: ProcessGroup | None
    ) -> None:
        if not 0 <= stage_index < num_stages:
            raise ValueError(f"Stage index {stage_index} is out of range of {num_stages}")
        self.submod, self.stage_index, self.num_stages = submodule, stage_index, num_stages
        self.device, self.group = _C.device(device), group
        self.members = resolved(group)
        self.group_rank, self.group_size = self.members.rank(), self.members.size()
        if self.group_size > num_stages:
            raise RuntimeError(
                f"Pipeline group size {self.group_size} cannot be larger than number of stages {num_stages}"
            )
        self.stage_index_to_group_rank = {stage: stage % self.group_size for stage in range(num_stages)}
        self.has_backward = False
        self.clear_runtime_states()

    @property
    def is_first(self) -> bool:
        """Whether it takes the batch."""
        return self.stage_index == 0

    @property
    def is_last(self) -> bool:
        """Whether it gives the result."""
        return self.stage_index == self.num_stages - 1

    def clear_runtime_states(self) -> None:
        """Forgets the microbatches."""
        self._received: dict[int, list[Tensor]] = {}
        self._gave: dict[int, tuple[Any, ...]] = {}
        self._halves: dict[int, Halves] = {}
        self.output_chunks: list[Any] = []

    def check_inputs(self, tensors: Sequence[Any]) -> None:
        """Raises if inputs are not what the stage was told."""

    def check_outputs(self, tensors: Sequence[Any]) -> None:
        """Raises if outputs are not what the stage was told."""

    # ---- passes ------------------------------------------------------------------------------------------------

    def forward_one_chunk(self, microbatch: int, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Computes a microbatch; what its backward pass needs is kept."""
        if not self.is_first:
            self._received[microbatch] = list(args)
        self.check_inputs(args)
        if isinstance(self.submod, DistributedDataParallel):
            with self.submod.no_sync():  # the last backward pass averages the gradients of all microbatches
                output = self.submod(*args, **kwargs)
        else:
            output = self.submod(*args, **kwargs)
        outputs = as_tuple(output)
        self.check_outputs(outputs)
        if self.has_backward:
            self._gave[microbatch] = outputs
        else:
            self._received.pop(microbatch, None)
        return output

    def picked(self, outputs: tuple[Any, ...], target: int) -> list[Any]:
        """Those outputs that another stage takes."""
        which = self.routes[self.stage_index][target]
        return list(outputs) if which is None else [outputs[index] for index in which]

    def backward_one_chunk(
        self, microbatch: int, loss: Tensor | None, gradients: dict[int, list[Tensor]], last: bool
    ) -> list[Tensor | None]:
        """Runs a microbatch backward, from its loss or from the gradients that other stages sent; gives the
        gradients of what was received. ``last``: gradients of the parameters are complete."""
        roots, given = self._begun(microbatch, loss, gradients)
        self._prepare(roots, last)
        if roots:
            backward(roots, given)
        found: list[Tensor | None] = []
        for each in self._received.pop(microbatch, []):
            found.append(_known(each, each.grad))
            each.grad = None
        return found

    def backward_input_one_chunk(
        self, microbatch: int, loss: Tensor | None, gradients: dict[int, list[Tensor]], last: bool
    ) -> list[Tensor | None]:
        """As :meth:`backward_one_chunk`, but gradients of the parameters are left to
        :meth:`backward_weight_one_chunk`. Note [Two halves]."""
        if isinstance(self.submod, (DistributedDataParallel, FSDPModule)):
            return self.backward_one_chunk(microbatch, loss, gradients, last)
        roots, given = self._begun(microbatch, loss, gradients)
        received = self._received.pop(microbatch, [])
        halves = self._halves[microbatch] = Halves(roots, given, received)
        found = iter(halves.first())
        return [_known(each, next(found)) if each.requires_grad else None for each in received]

    def backward_weight_one_chunk(self, microbatch: int) -> None:
        """The second half."""
        halves = self._halves.pop(microbatch, None)
        if halves is not None:  # else the first was all of it
            halves.second()

    def _begun(
        self, microbatch: int, loss: Tensor | None, gradients: dict[int, list[Tensor]]
    ) -> tuple[list[Tensor], list[Any]]:
        """Where a backward pass begins, and with which gradients."""
        outputs = self._gave.pop(microbatch)
        return ([loss], [None]) if loss is not None else self._roots(outputs, gradients)

    def _roots(
        self, outputs: tuple[Any, ...], gradients: dict[int, list[Tensor]]
    ) -> tuple[list[Tensor], list[Any]]:
        """The outputs that have gradients, and the sum of what the other stages say of each."""
        sums: dict[int, Tensor] = {}
        for target, sent in gradients.items():
            which = self.routes[self.stage_index][target]
            indices = range(len(outputs)) if which is None else which
            wanted = [index for index in indices if outputs[index].requires_grad]
            for index, gradient in zip(wanted, sent, strict=True):
                sums[index] = sums[index] + gradient if index in sums else gradient
        return [outputs[index] for index in sums], list(sums.values())

    def _prepare(self, roots: list[Tensor], last: bool) -> None:
        """Tells what averages gradients over copies of the stage whether they are complete."""
        if isinstance(self.submod, DistributedDataParallel):
            if self.submod.static_graph:
                raise NotImplementedError("a stage of a pipeline cannot have static_graph=True: leave it out")
            if last:
                self.submod.reducer.prepare(roots if self.submod.find_unused_parameters else None)
        elif isinstance(self.submod, FSDPModule):
            self.submod.set_is_last_backward(last)
            self.submod.set_reshard_after_backward(last)
            self.submod.set_requires_gradient_sync(last)

    def scale_grads(self, grad_scale_factor: int) -> None:
        """Divides the gradients of the parameters: losses of microbatches are averages of fewer samples."""
        if grad_scale_factor != 1:
            for parameter in self.submod.parameters():
                if parameter.grad is not None:
                    parameter.grad.div_(grad_scale_factor)


def _known(received: Tensor, gradient: Tensor | None) -> Tensor | None:
    """Others wait for a gradient of everything that has one."""
    if gradient is None and received.requires_grad:
        return _functions.zeros_like(received)
    return gradient


class PipelineStage(_PipelineStageBase):
    """A stage cut by hand: it takes all that the stage before it gives, the first one the batch.

    ``input_args`` and ``output_args`` are not needed; what is given is what microbatches must look like.
    """

    def __init__(
        self,
        submodule: nn.Module,
        stage_index: int,
        num_stages: int,
        device: Any,
        input_args: Any = None,
        output_args: Any = None,
        output_grads: Any = None,
        input_grads: Any = None,
        group: ProcessGroup | None = None,
        dw_builder: Any = None,
        get_mesh: Any = None,
    ) -> None:
        super().__init__(submodule, stage_index, num_stages, device, group)
        refused = {
            "dw_builder": dw_builder, "get_mesh": get_mesh, "output_grads": output_grads, "input_grads": input_grads,
        }  # fmt: skip
        for name, value in refused.items():
            if value is not None:
                raise NotImplementedError(f"PipelineStage: {name} is not in this library; leave it out")
        self.routes = [dict.fromkeys(range(stage + 1, num_stages)[:1]) for stage in range(num_stages)]
        self._inputs, self._outputs = _told(input_args), _told(output_args)

    def check_inputs(self, tensors: Sequence[Any]) -> None:
        self._check("input", self._inputs, tensors)

    def check_outputs(self, tensors: Sequence[Any]) -> None:
        self._check("output", self._outputs, tensors)

    def _check(self, what: str, wanted: list[Described] | None, tensors: Sequence[Any]) -> None:
        if wanted is None:
            return
        found = [described(each) for each in tensors if isinstance(each, Tensor)]
        told, got = ([(*each.shape, each.dtype) for each in some] for some in (wanted, found))
        if told != got:
            raise ValueError(
                f"stage {self.stage_index}: the {what}s are {', '.join(map(str, found))}, but {what}_args says "
                f"{', '.join(map(str, wanted))}"
            )


def _told(tensors: Any) -> list[Described] | None:
    return None if tensors is None else [described(each) for each in as_tuple(tensors)]


class _PipelineStage(_PipelineStageBase):
    """A stage that :func:`pipeline` cut."""

    def __init__(
        self,
        stage_module: nn.Module,
        stage_index: int,
        pipe_info: PipeInfo,
        device: Any,
        group: ProcessGroup | None = None,
    ) -> None:
        super().__init__(stage_module, stage_index, pipe_info.num_stages, device, group)
        self.routes = pipe_info.routes
        if not any(each.is_meta for each in _pytree.arg_tree_leaves(*stage_module.parameters())):
            stage_module.to(self.device)

    def forward_one_chunk(self, microbatch: int, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        # All inputs of the model are given to the first stage, which passes on what others need.
        return super().forward_one_chunk(microbatch, args, kwargs if self.is_first else {})


def build_stage(
    stage_module: nn.Module,
    stage_index: int,
    pipe_info: PipeInfo,
    device: Any,
    group: ProcessGroup | None = None,
) -> _PipelineStage:
    """The stage of a module that :func:`pipeline` cut, perhaps wrapped since."""
    return _PipelineStage(stage_module, stage_index, pipe_info, device, group)
