"""A training in parts, as a program writes it, on any device: what is planned on ``meta`` runs on a real one too."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from .. import Tensor, autocast, bfloat16, device, float16, float32, nn, optim
from ..distributed.device_mesh import DeviceMesh, init_device_mesh
from ..distributed.fsdp import fully_shard
from ..distributed.optim import ZeroRedundancyOptimizer
from ..distributed.tensor.parallel import parallelize_module
from ..distributed.world import get_world_size
from ..nn.parallel import DistributedDataParallel
from ..utils._pytree import tree_leaves, tree_map_only
from ..utils.checkpoint import checkpoint
from .cases import Case
from .memory import Purpose, assign, making, meant_for
from .models import Subject, blocks_of

_DTYPES = {"bfloat16": bfloat16, "float16": float16, "float32": float32}
_OPTIMIZERS: dict[str, Callable[..., Any]] = {
    "adamw": optim.AdamW,
    "adam": optim.Adam,
    "sgd": optim.SGD,
    "momentum": functools.partial(optim.SGD, momentum=0.9),
}


class Training:
    """A model in the parts of this process, its optimizer, and steps. The group of all processes is there."""

    def __init__(self, subject: Subject, case: Case, where: str) -> None:
        with device(where), meant_for(Purpose.PARAMETERS):  # type: ignore[attr-defined]
            model, inputs = subject.build()
            kind = _DTYPES[case.dtype]
            model = model.to(kind)
            self.inputs = tree_map_only(Tensor, lambda x: x.to(kind) if x.is_floating_point() else x, inputs)
        assign(tree_leaves(self.inputs), Purpose.INPUTS)
        blocks = blocks_of(model)
        if case.checkpointing:
            for block in blocks:
                block.forward = functools.partial(checkpoint, block.forward, use_reentrant=False)  # type: ignore[method-assign]
        self.model: Any = model
        self.case = case
        getattr(self, f"_as_{case.way}")(model, blocks, case, where)
        make = _OPTIMIZERS[case.optimizer]
        if case.way == "zero":
            self.optimizer = ZeroRedundancyOptimizer(model.parameters(), make, lr=1e-4)  # type: ignore[arg-type]
            self.optimizer._sync = making(Purpose.COMMUNICATION, self.optimizer._sync)  # type: ignore[method-assign]
        else:
            self.optimizer = make(model.parameters(), lr=1e-4)

    def _as_alone(self, model: nn.Module, blocks: list[nn.Module], case: Case, where: str) -> None:
        for parameter in model.parameters():
            parameter.register_post_accumulate_grad_hook(lambda each: assign([each.grad], Purpose.GRADIENTS))

    def _as_ddp(self, model: nn.Module, blocks: list[nn.Module], case: Case, where: str) -> None:
        self._as_alone(model, blocks, case, where)
        self.model = DistributedDataParallel(model, init_sync=False)

    _as_zero = _as_ddp

    def _as_fsdp(self, model: nn.Module, blocks: list[nn.Module], case: Case, where: str) -> None:
        self._shard(model, blocks, init_device_mesh(where, (get_world_size(),)))

    def _as_tp_fsdp(self, model: nn.Module, blocks: list[nn.Module], case: Case, where: str) -> None:
        plan = getattr(model, "tensor_parallel_plan", None)
        if plan is None:
            raise ValueError(
                f"{type(model).__name__} has no method tensor_parallel_plan(), which gives what parallelize_module "
                "takes, a style for each name; write one, or leave tp_fsdp out (--ways ddp zero fsdp)"
            )
        shape = (get_world_size() // case.together, case.together)
        mesh = init_device_mesh(where, shape, mesh_dim_names=("parts", "together"))
        with meant_for(Purpose.PARAMETERS):
            parallelize_module(model, mesh["together"], plan())
        self._shard(model, blocks, mesh["parts"])

    def _shard(self, model: nn.Module, blocks: list[nn.Module], mesh: DeviceMesh) -> None:
        for module in (*blocks, model):
            with meant_for(Purpose.PARAMETERS):
                fully_shard(module, mesh=mesh)
            group = module._fsdp().group
            for name in ("begin_unshard", "unshard"):
                setattr(group, name, making(Purpose.COMMUNICATION, getattr(group, name)))
            group.reduce_gradients = self._reducing(group, group.reduce_gradients)

    @staticmethod
    def _reducing(group: Any, reduce: Callable[[], None]) -> Callable[[], None]:
        """Gradients come out of messages."""

        def wrapped() -> None:
            with meant_for(Purpose.COMMUNICATION):
                reduce()
            assign((each.sharded.grad for each in group.parameters), Purpose.GRADIENTS)

        return wrapped

    def _precision(self) -> AbstractContextManager[Any]:
        if not self.case.autocast:
            return nullcontext()
        return autocast(self.case.device, dtype=_DTYPES[self.case.autocast])

    def step(self) -> None:
        """One step of training."""
        with meant_for(Purpose.ACTIVATIONS), self._precision():
            found = self.model(*self.inputs)
            found = getattr(found, "loss", found)
            self.loss = (
                found if found.dim() == 0 else found.float().mean()
            )  # programs hold it until the next one
            del found
        with meant_for(Purpose.TEMPORARY):
            self.loss.backward()
            self.optimizer.step()
        self.optimizer.zero_grad()

    def settle(self) -> None:
        """After the first step: what stays from one to the next is known for what it is."""
        owner = getattr(self.optimizer, "optim", self.optimizer)
        kept = (value for state in owner.state.values() for value in state.values())
        assign(kept, Purpose.OPTIMIZER)
        if isinstance(self.model, DistributedDataParallel):
            assign((bucket.buffer() for bucket in self.model.reducer.buckets), Purpose.COMMUNICATION)
