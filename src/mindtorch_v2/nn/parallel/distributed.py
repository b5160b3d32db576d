"""One process per device: the same module in each, with gradients averaged over all."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ... import _C
from ..._C import Tensor, _functions
from ..._devices import registry
from ...autograd import Function, no_grad
from ...distributed import collectives
from ...distributed.algorithms.join import Join, Joinable, JoinHook
from ...distributed.objects import all_gather_object
from ...distributed.process_group import ProcessGroup
from ...distributed.reduce_op import ReduceOp
from ...distributed.reducer import GradBucket, Reducer
from ...distributed.world import resolved
from ...futures import Future
from ...utils._pytree import tree_flatten, tree_map
from ..modules.module import Module

__all__ = ["DistributedDataParallel"]

_MiB = 1 << 20


class DistributedDataParallel(Module, Joinable):
    """A module whose gradients are the average of those of all processes. Note [Buckets] in distributed/reducer.py."""

    module: Module

    def __init__(
        self,
        module: Module,
        device_ids: list[Any] | None = None,
        output_device: Any = None,
        dim: int = 0,
        broadcast_buffers: bool | None = None,
        init_sync: bool = True,
        process_group: ProcessGroup | None = None,
        bucket_cap_mb: float | None = None,
        find_unused_parameters: bool = False,
        check_reduction: bool = False,
        gradient_as_bucket_view: bool = False,
        static_graph: bool = False,
        delay_all_reduce_named_params: Any = None,
        param_to_hook_all_reduce: Any = None,
        mixed_precision: Any = None,
        device_mesh: Any = None,
        skip_all_reduce_unused_params: bool = False,
        bucket_cap_mb_list: list[int] | None = None,
        batched_grad_copy: bool = False,
        forward_sync_buffers: bool | None = None,
    ) -> None:
        Module.__init__(self)
        Joinable.__init__(self)
        given = {
            "delay_all_reduce_named_params": delay_all_reduce_named_params, "mixed_precision": mixed_precision,
            "param_to_hook_all_reduce": param_to_hook_all_reduce, "bucket_cap_mb_list": bucket_cap_mb_list,
        }  # fmt: skip
        for name, value in given.items():
            if value is not None:
                raise NotImplementedError(f"DistributedDataParallel: {name} is not here yet; leave it out")
        if process_group is not None and device_mesh is not None:
            raise RuntimeError("Cannot specify both process_group and device_mesh arguments.")
        if device_mesh is not None:
            process_group = device_mesh.get_group()
        self.module = module
        self.parameters_to_ignore = set(getattr(module, "_ddp_params_and_buffers_to_ignore", []))
        named = self._trained()
        if not named:
            raise RuntimeError(
                "DistributedDataParallel is not needed when a module doesn't have any parameter that requires a "
                "gradient."
            )
        if device_ids is not None and len(device_ids) > 1:
            raise ValueError("device_ids can only be None or contain a single element.")
        self.process_group = resolved(process_group)
        self.device = named[0][1].device
        self.device_ids = None if device_ids is None else [_index(each) for each in device_ids]
        self.output_device = output_device
        self.dim = dim
        wanted = forward_sync_buffers if broadcast_buffers is None else broadcast_buffers
        self.broadcast_buffers = True if wanted is None else wanted
        self.bucket_bytes_cap = int((25 if bucket_cap_mb is None else bucket_cap_mb) * _MiB)
        self.find_unused_parameters = find_unused_parameters
        self.gradient_as_bucket_view, self.static_graph = gradient_as_bucket_view, static_graph
        self.require_backward_grad_sync = self.require_forward_param_sync = True
        self._divide_by_initial_world_size = True
        if init_sync:
            self._check_alike(named)
            self._sync(list(self._state()), 0)
        self._buffer_places = self._places_of_buffers()
        self.reducer = self._new_reducer()

    def _trained(self) -> list[tuple[str, Tensor]]:
        named = self.module.named_parameters()
        return [pair for pair in named if pair[0] not in self.parameters_to_ignore and pair[1].requires_grad]

    def _state(self) -> Iterator[Tensor]:
        """Parameters and buffers that the processes have in common."""
        members = itertools.chain(self.module.named_parameters(), self.module.named_buffers())
        for name, tensor in members:
            if name not in self.parameters_to_ignore:
                yield tensor.detach()

    def _places_of_buffers(self) -> list[tuple[Module, str]]:
        """Where the buffers are that the processes share: walking through a model at each pass would cost."""
        seen: set[int] = set()
        places = []
        for prefix, owner in self.module.named_modules():
            for name, buffer in owner._buffers.items():
                full = f"{prefix}.{name}" if prefix else name
                if buffer is None or id(buffer) in seen or full in self.parameters_to_ignore:
                    continue
                seen.add(id(buffer))
                places.append((owner, name))
        return places

    def _buffers_shared(self) -> list[Tensor]:
        found = (owner._buffers.get(name) for owner, name in self._buffer_places)
        return [buffer.detach() for buffer in found if buffer is not None]

    def _check_alike(self, named: list[tuple[str, Tensor]]) -> None:
        own = [(name, tuple(parameter.shape), str(parameter.dtype)) for name, parameter in named]
        everybody: list[Any] = [None] * self.process_group.size()
        all_gather_object(everybody, own, self.process_group)
        for rank, other in enumerate(everybody):
            if len(other) != len(own):
                raise RuntimeError(
                    f"DDP expects same model across all ranks, but Rank {self.process_group.rank()} has {len(own)} "
                    f"params, while rank {rank} has inconsistent {len(other)} params."
                )
            for mine, theirs in zip(own, other, strict=True):
                if mine[1:] != theirs[1:]:
                    raise RuntimeError(
                        f"[{self.process_group.rank()}]: {mine[0]} is {mine[2]}{list(mine[1])} here, but on "
                        f"rank {rank} {theirs[0]} is {theirs[2]}{list(theirs[1])}: params must be the same on all ranks"
                    )

    def _sync(self, tensors: list[Tensor], root: int) -> None:
        """Gives all the values of one, in a message for each dtype."""
        kinds: dict[Any, list[Tensor]] = {}
        for tensor in tensors:
            kinds.setdefault((tensor.dtype, tensor.device), []).append(tensor)
        with no_grad():
            for alike in kinds.values():
                flat = _functions.cat([tensor.reshape(-1) for tensor in alike])
                collectives.broadcast(flat, group=self.process_group, group_src=root)
                parts = flat.split([tensor.numel() for tensor in alike])
                for tensor, part in zip(alike, parts, strict=True):
                    tensor.copy_(part.view(tensor.shape))

    # ---- passes ------------------------------------------------------------------------------------------------

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        syncs = _C.is_grad_enabled() and self.require_backward_grad_sync
        work = Join.notify_join_context(self)
        if work is not None:
            counted = work.result()[0]
            work.wait()
            self.reducer.divisor = self._divisor(int(counted.item()))
        if self._join_config.enable:
            self._share_sync(syncs)
        if syncs:
            self.reducer.check_finished()
        if self.will_sync_module_buffers():
            self._sync(self._buffers_shared(), self._root_of_buffers(joined=False))
        if self.device_ids:
            target = _C.device(registry.accelerator().type, self.device_ids[0])
            inputs, kwargs = tree_map(
                lambda x: x.to(target) if isinstance(x, Tensor) else x, (inputs, kwargs)
            )
        output = self.module(*inputs, **kwargs)
        if syncs:
            self.require_forward_param_sync = True
            if self.reducer.is_counting:
                output = tree_map(lambda x: _counted(self.reducer, x), output)
            found = None
            if self.find_unused_parameters and not self.static_graph:
                found = [each for each in tree_flatten(output)[0] if isinstance(each, Tensor)]
            self.reducer.prepare(found)
        else:
            self.require_forward_param_sync = False
            self.reducer._expecting = False
        return output

    def will_sync_module_buffers(self) -> bool:
        """Whether a forward pass gives all processes the buffers of rank 0."""
        return self.require_forward_param_sync and self.broadcast_buffers and bool(self._buffer_places)

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Gradients of passes inside stay local, and are averaged by the first pass outside."""
        before = self.require_backward_grad_sync
        self.require_backward_grad_sync = False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    def register_comm_hook(self, state: object, hook: Callable[[Any, GradBucket], Future[Any]]) -> None:
        """Lets a function reduce the buckets: it gets the state and a bucket, and gives a future of the vector."""
        if not callable(hook):
            raise TypeError("Communication hook must be callable.")
        if self.reducer.hook is not None:
            raise RuntimeError("register_comm_hook or register_builtin_comm_hook can only be called once.")
        self.reducer.hook, self.reducer.hook_state = hook, state

    def _set_static_graph(self) -> None:
        if self.static_graph:
            warnings.warn("You've set static_graph to be True, no need to set it again.", stacklevel=2)
        self.static_graph = self.reducer.static = True

    def train(self, mode: bool = True) -> DistributedDataParallel:
        super().train(mode)
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {
            name: value for name, value in self.__dict__.items() if name not in ("process_group", "reducer")
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.process_group = resolved(None)
        self.reducer = self._new_reducer()

    def _new_reducer(self) -> Reducer:
        named = self._trained()
        return Reducer(
            [parameter for _, parameter in named], [name for name, _ in named], self.process_group,
            self.bucket_bytes_cap, self.find_unused_parameters, self.gradient_as_bucket_view, self.static_graph,
        )  # fmt: skip

    # ---- processes without inputs ------------------------------------------------------------------------------

    def join(
        self,
        divide_by_initial_world_size: bool = True,
        enable: bool = True,
        throw_on_early_termination: bool = False,
    ) -> Join:
        """A context for a loop whose length differs between processes."""
        return Join(
            [self],
            enable,
            throw_on_early_termination,
            divide_by_initial_world_size=divide_by_initial_world_size,
        )

    def join_hook(self, **kwargs: Any) -> JoinHook:
        return _Shadow(self, kwargs.get("divide_by_initial_world_size", True))

    @property
    def join_device(self) -> Any:
        return self.device

    @property
    def join_process_group(self) -> Any:
        return self.process_group

    def _divisor(self, active: int) -> int:
        return self.process_group.size() if self._divide_by_initial_world_size else active

    def _share_sync(self, syncs: bool) -> bool:
        """Whether this iteration's gradients are averaged, which those without inputs are told."""
        flag = _functions.full([1], float(syncs), dtype=_C.float32, device=self.device)
        collectives.all_reduce(flag, group=self.process_group)
        return bool(flag.item())

    def _root_of_buffers(self, joined: bool) -> int:
        """Whose buffers count: rank 0's, or while processes have joined, those of the last rank with inputs."""
        if not self._join_config.enable:
            return 0
        rank = -1.0 if joined else float(self.process_group.rank())
        found = _functions.full([1], rank, dtype=_C.float32, device=self.device)
        collectives.all_reduce(found, ReduceOp.MAX, group=self.process_group)
        return int(found.item())


class _Shadow(JoinHook):
    """A process without inputs in the place of one with."""

    def __init__(self, ddp: DistributedDataParallel, divide_by_initial_world_size: bool) -> None:
        ddp._divide_by_initial_world_size = divide_by_initial_world_size
        self.ddp = ddp

    def main_hook(self) -> None:
        ddp = self.ddp
        syncs = ddp._share_sync(False)
        if ddp.will_sync_module_buffers():
            ddp._sync(ddp._buffers_shared(), ddp._root_of_buffers(joined=True))
        ddp.require_forward_param_sync = syncs
        if syncs:
            ddp.reducer._rebuild()
            with no_grad():
                ddp.reducer.shadow()

    def post_hook(self, is_last_joiner: bool) -> None:
        ddp = self.ddp
        rank = float(ddp.process_group.rank()) if is_last_joiner else -1.0
        last = _functions.full([1], rank, dtype=_C.float32, device=ddp.device)
        collectives.all_reduce(last, ReduceOp.MAX, group=ddp.process_group)
        ddp._sync(list(ddp._state()), int(last.item()))
        ddp.reducer.divisor = ddp.process_group.size()


class _Counted(Function):
    """The identity, whose backward pass is where that of the whole begins."""

    @staticmethod
    def forward(ctx: Any, reducer: Reducer, tensor: Tensor) -> Tensor:
        ctx.reducer = reducer
        return tensor.clone()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        ctx.reducer.count()
        return None, grad


def _counted(reducer: Reducer, value: Any) -> Any:
    return _Counted.apply(reducer, value) if isinstance(value, Tensor) and value.requires_grad else value


def _index(device: Any) -> int:
    return device if isinstance(device, int) else (_C.device(device).index or 0)
