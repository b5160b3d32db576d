"""The parameters that are put together and cut together: those of one ``fully_shard``.

Note [Sharded parameters]
A parameter exists twice. The sharded one is a DTensor, cut along its first dimension, and is what optimizers and
``state_dict`` see. The whole one is a plain parameter that computes; its memory exists only while it is needed, its
object always, because the graph refers to it. A group gathers the parts of all its parameters in one message, and sums
and cuts all its gradients in another. A message holds the parts one behind the other; parts of one parameter are as
long on every process (filled up with zeros), so what a process receives is a table with a row for each process and a
range of columns for each parameter.
"""

from __future__ import annotations

import math
from typing import Any

from ... import _C, nn
from ..._C import Tensor, _functions
from .. import collectives
from ..device_mesh import DeviceMesh
from ..reduce_op import ReduceOp
from ..tensor._api import DTensor
from ..tensor.placement_types import DTensorSpec, Placement, Replicate, Shard, TensorMeta
from ._policies import CPUOffloadPolicy, MixedPrecisionPolicy, OffloadPolicy


class ShardedParameter:
    """One parameter, whole and in parts. Note [Sharded parameters]."""

    def __init__(
        self,
        parameter: nn.Parameter,
        places: list[tuple[nn.Module, str]],
        mesh: DeviceMesh,
        policy: MixedPrecisionPolicy,
        offload: OffloadPolicy,
    ) -> None:
        self.places, self.policy, self.offload = places, policy, offload
        self.shape, self.dtype = parameter.shape, parameter.dtype
        self.parts = mesh.size(mesh.ndim - 1)
        coordinate = mesh.get_coordinate()
        assert coordinate is not None
        rows = self.shape[0]
        begin, length = Shard(0).part(rows, self.parts, coordinate[-1])
        self.rows = -(-rows // self.parts)  # of the longest part
        self.row_size = math.prod(self.shape[1:])
        self.filled = self.rows * self.row_size
        self.device = parameter.device
        placements: tuple[Placement, ...] = (*(Replicate(),) * (mesh.ndim - 1), Shard(0))
        meta = TensorMeta(parameter.shape, parameter.stride(), parameter.dtype)
        self.spec = DTensorSpec(mesh, placements, meta)
        part = parameter.detach().narrow(0, begin, length).clone(memory_format=_C.contiguous_format)
        if isinstance(offload, CPUOffloadPolicy):
            part = part.cpu()
        self.sharded = nn.Parameter(self._distributed(part), parameter.requires_grad)
        for name, value in vars(parameter).items():
            setattr(self.sharded, name, value)
        computed = policy.param_dtype or self.dtype
        # A tensor of its own: the caller's parameter may be referred to elsewhere.
        self.whole = nn.Parameter(
            _functions.empty(self.shape, dtype=computed, device=self.device), parameter.requires_grad
        )
        self._free()
        self._put(self.sharded)

    def _distributed(self, part: Tensor) -> DTensor:
        return DTensor(part, self.spec, requires_grad=False)

    def _put(self, parameter: nn.Parameter) -> None:
        for module, name in self.places:
            module._parameters[name] = parameter

    def _free(self) -> None:
        self.whole.untyped_storage().resize_(0)

    def part(self) -> Tensor:
        """What this process brings to the message."""
        local: Tensor = self.sharded._local_tensor.detach()  # type: ignore[attr-defined]
        local = local.to(device=self.device, dtype=self.whole.dtype).reshape(-1)
        missing = self.filled - local.numel()
        return _functions.cat([local, local.new_zeros(missing)]) if missing else local

    def use_whole(self, table: Tensor) -> None:
        """Fills the whole parameter from its columns of the table and puts it into the modules."""
        self.whole.untyped_storage().resize_(self.whole.numel() * self.whole.element_size())
        rows = table.reshape(self.parts * self.rows, self.row_size)[: self.shape[0]]
        self.whole.data.copy_(
            rows.view(self.shape)
        )  # data: the graph must not take this for a change of values
        self._put(self.whole)

    def use_part(self) -> None:
        """Puts the sharded parameter into the modules and frees the whole one."""
        self._put(self.sharded)
        self._free()

    def add_gradient(self, part: Tensor) -> None:
        """Adds what came of the message to the sharded parameter's gradient."""
        local: Tensor = self.sharded._local_tensor  # type: ignore[attr-defined]
        mine = part[: local.numel()].view(local.shape).to(dtype=self.dtype, device=local.device)
        if self.sharded.grad is None:
            self.sharded.grad = self._distributed(mine.clone())
        else:
            self.sharded.grad._local_tensor.add_(mine)  # type: ignore[attr-defined]


class ParameterGroup:
    """Gathers, and reduces, the parameters of one module together."""

    def __init__(
        self, parameters: list[ShardedParameter], mesh: DeviceMesh, policy: MixedPrecisionPolicy
    ) -> None:
        self.parameters, self.mesh, self.policy = parameters, mesh, policy
        self.shards = mesh.get_group(mesh.ndim - 1)
        self.copies = mesh.get_group(0) if mesh.ndim == 2 else None
        self.is_whole = False
        self.syncs = True  # whether gradients are summed over the processes
        self.reduces_copies = True
        self.divisor: float | None = None
        self._waiting: tuple[Any, Tensor] | None = None
        self._pending: set[int] = set()
        for at, each in enumerate(parameters):
            if each.whole.requires_grad:
                each.whole.register_post_accumulate_grad_hook(self._when_accumulated(at))

    def begin_unshard(self) -> None:
        """Starts to gather; the program goes on."""
        if self.is_whole or self._waiting is not None or not self.parameters:
            return
        by_dtype = [each.part() for each in self.parameters]
        kinds = {each.dtype for each in by_dtype}
        if len(kinds) > 1:
            raise ValueError(
                f"the parameters of one fully_shard have the dtypes {sorted(map(str, kinds))}; give those of another "
                "dtype a fully_shard of their own, or a MixedPrecisionPolicy(param_dtype=...)"
            )
        sent = _functions.cat(by_dtype) if len(by_dtype) > 1 else by_dtype[0]
        received = sent.new_empty(self.shards.size() * sent.numel())
        work = collectives.all_gather_single(received, sent, group=self.shards, async_op=True)
        self._waiting = (work, received)

    def unshard(self) -> None:
        """The modules have whole parameters when this returns."""
        if self.is_whole or not self.parameters:
            return
        self.begin_unshard()
        assert self._waiting is not None
        work, received = self._waiting
        self._waiting = None
        work.wait()
        table, begin = received.view(self.shards.size(), -1), 0
        for each in self.parameters:
            each.use_whole(table[:, begin : begin + each.filled])
            begin += each.filled
        self.is_whole = True

    def reshard(self) -> None:
        """The modules have sharded parameters, and the memory of whole ones is free."""
        if not self.is_whole:
            return
        for each in self.parameters:
            each.use_part()
        self.is_whole = False

    def expect_gradients(self, when_done: Any) -> None:
        """A backward pass comes: when all gradients are there they are reduced, and ``when_done`` is called."""
        self._pending = {at for at, each in enumerate(self.parameters) if each.whole.requires_grad}
        self._when_done = when_done

    def _when_accumulated(self, at: int) -> Any:
        def accumulated(_: Tensor) -> None:
            self._pending.discard(at)
            if not self._pending:
                self._when_done()

        return accumulated

    def reduce_gradients(self) -> None:
        """Sums the whole gradients over the processes; each keeps its part."""
        if not self.syncs:
            return
        having = [each for each in self.parameters if each.whole.grad is not None]
        if not having:
            return
        kind = self.policy.reduce_dtype or having[0].whole.dtype
        columns = []
        for each in having:
            gradient = each.whole.grad
            assert gradient is not None
            flat = gradient.detach().to(kind).reshape(-1)
            missing = each.parts * each.filled - flat.numel()
            flat = _functions.cat([flat, flat.new_zeros(missing)]) if missing else flat
            columns.append(flat.view(each.parts, each.filled))
            each.whole.grad = None
        table = _functions.cat(columns, 1) if len(columns) > 1 else columns[0].contiguous()
        mine = table.new_empty(table.shape[1])
        how = ReduceOp.AVG if self.divisor is None else ReduceOp.SUM
        collectives.reduce_scatter_single(mine, table.reshape(-1), how, group=self.shards)
        if self.copies is not None and self.reduces_copies:
            collectives.all_reduce(mine, how, group=self.copies)
        if self.divisor is not None:
            mine = mine / self.divisor
        begin = 0
        for each in having:
            each.add_gradient(mine[begin : begin + each.filled])
            begin += each.filled
