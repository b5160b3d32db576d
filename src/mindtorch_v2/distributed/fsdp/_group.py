"""The parameters that are put together and cut together: those of one ``fully_shard``.

Note [Sharded parameters]
A parameter exists twice. The sharded one is a DTensor, cut along its first dimension (or the one that
``shard_placement_fn`` names, which then comes first in messages), and is what optimizers and ``state_dict`` see. The
whole one is a plain parameter that computes; its memory exists only while it is needed, its object always, because the
graph refers to it. A group gathers the parts of all its parameters in one message, and sums and cuts all its gradients
in another. A message holds the parts one behind the other; parts of one parameter are as long on every process (filled
up with zeros), so what a process receives is a table with a row for each process and a range of columns for each
parameter.

Note [Parts kept nearby]
``reshard_after_forward=n`` cuts a module after its forward into n parts instead of one for each process: of the table
that was gathered each process keeps the rows of its place among its n neighbours, and backward gathers those from the
neighbours alone. A forward always starts from the sharded parameters, which may have changed.
"""

from __future__ import annotations

import math
import weakref
from typing import Any

from ... import _C, nn
from ..._C import Tensor, _functions
from ...utils._swapping import swap_tensors
from .. import collectives
from ..device_mesh import DeviceMesh
from ..process_group import ProcessGroup
from ..reduce_op import ReduceOp
from ..tensor._api import DTensor
from ..tensor._redistribute import local_shape_and_offset
from ..tensor.placement_types import DTensorSpec, Placement, Replicate, Shard, TensorMeta, _StridedShard
from ._policies import CPUOffloadPolicy, MixedPrecisionPolicy, OffloadPolicy


def _combined(mesh: DeviceMesh, other: DeviceMesh) -> DeviceMesh:
    """The mesh with the dimensions of both, which are parts of one."""
    root = mesh._get_root_mesh()
    names, others = mesh.mesh_dim_names, other.mesh_dim_names
    if root is not other._get_root_mesh() or not names or not others or set(names) & set(others):
        raise ValueError(
            f"a parameter lies on {other} and is to be cut over {mesh}: take both from one mesh with names, as in "
            "mesh = init_device_mesh(device, (2, 2), mesh_dim_names=('dp', 'tp')); mesh['dp'], mesh['tp']"
        )
    return root[(*names, *others)]


class ShardedParameter:
    """One parameter, whole and in parts. Note [Sharded parameters]."""

    def __init__(
        self,
        parameter: Any,  # a plain parameter, or a DTensor of tensor parallelism
        places: list[tuple[nn.Module, str]],
        mesh: DeviceMesh,
        policy: MixedPrecisionPolicy,
        offload: OffloadPolicy,
        dim: int = 0,  # along which it is cut
    ) -> None:
        self.dim = dim
        self.places, self.policy, self.offload = places, policy, offload
        self.dtype = parameter.dtype
        # What tensor parallelism left of it on this process is the whole here.
        self.parallel: DTensorSpec | None = parameter._spec if isinstance(parameter, DTensor) else None
        local: Tensor = (parameter._local_tensor if self.parallel is not None else parameter).detach()
        on_meta = local.device.type == "meta"
        if local.device.type not in (mesh.device_type, "meta"):
            local = local.to(mesh.device_type)
        self.device = _C.device(mesh.device_type) if on_meta else local.device
        self.shape = local.shape
        self.parts = mesh.size(mesh.ndim - 1)
        coordinate = mesh.get_coordinate()
        assert coordinate is not None
        rows = self.shape[dim]
        self.begin, self.length = Shard(0).part(rows, self.parts, coordinate[-1])
        self.rows = -(-rows // self.parts)  # of the longest part
        self.row_size = math.prod(self.shape[:dim] + self.shape[dim + 1 :])
        self.filled = self.rows * self.row_size
        self.spec = self._sharded_spec(mesh, parameter)
        part = self._part_of(local)
        if isinstance(offload, CPUOffloadPolicy) and not on_meta:
            part = part.cpu()
        self.sharded: Any = nn.Parameter(self._distributed(part), parameter.requires_grad)
        for name, value in vars(parameter).items():
            if name not in ("_local_tensor", "_spec"):
                setattr(self.sharded, name, value)
        # Whoever else finds one of the two in another module shares a parameter across groups.
        known: list[Any] = [parameter, self.sharded]
        for each in known:
            each._in_group_of = type(places[0][0]).__name__
        computed = policy.param_dtype or self.dtype
        # A tensor of its own: the caller's parameter may be referred to elsewhere.
        self._room = _functions.empty(self.shape, dtype=computed, device=self.device)
        self.whole = self._whole_over(self._room, parameter.requires_grad)
        self._free()
        self.put(self.sharded)

    def _sharded_spec(self, mesh: DeviceMesh, parameter: Tensor) -> DTensorSpec:
        meta = TensorMeta(parameter.shape, parameter.stride(), parameter.dtype)
        copies: tuple[Placement, ...] = (Replicate(),) * (mesh.ndim - 1)
        if self.parallel is None:
            return DTensorSpec(mesh, (*copies, Shard(self.dim)), meta)
        after = self.parallel.placements
        inner = 1
        for dim, placement in enumerate(after):
            inner *= self.parallel.mesh.size(dim) if placement.is_shard(self.dim) else 1
        cut = Shard(self.dim) if inner == 1 else _StridedShard(self.dim, split_factor=inner)
        return DTensorSpec(_combined(mesh, self.parallel.mesh), (*copies, cut, *after), meta)

    def _whole_over(self, local: Tensor, requires_grad: bool) -> nn.Parameter:
        """A parameter that computes, over the memory of ``local``."""
        if self.parallel is None:
            return nn.Parameter(local, requires_grad)
        old = self.parallel.tensor_meta
        assert old is not None
        meta = TensorMeta(old.shape, old.stride, local.dtype)
        spec = DTensorSpec(self.parallel.mesh, self.parallel.placements, meta)
        return nn.Parameter(DTensor(local, spec, requires_grad=False), requires_grad)

    def _part_of(self, whole: Tensor) -> Tensor:
        return whole.narrow(self.dim, self.begin, self.length).clone(memory_format=_C.contiguous_format)

    def _distributed(self, part: Tensor) -> DTensor:
        return DTensor(part, self.spec, requires_grad=False)

    def cut(self, whole: Tensor) -> DTensor:
        """A tensor of the parameter's full shape, in parts as the parameter is."""
        sizes, begins = local_shape_and_offset(self.spec.shape, self.spec.mesh, self.spec.placements)
        for dim, (begin, length) in enumerate(zip(begins, sizes, strict=True)):
            whole = whole.narrow(dim, begin, length)
        return self.from_part(whole.clone(memory_format=_C.contiguous_format))

    def from_part(self, part: Tensor) -> DTensor:
        """A tensor as the parameter is, of which this process has ``part``."""
        meta = self.spec.tensor_meta
        assert meta is not None
        spec = DTensorSpec(
            self.spec.mesh, self.spec.placements, TensorMeta(meta.shape, meta.stride, part.dtype)
        )
        return DTensor(part, spec, requires_grad=False)

    def become(self, original: nn.Parameter) -> None:
        """The sharded parameter takes the place of the program's object, unless somebody else could tell."""
        if weakref.getweakrefs(original) or original._use_count() > 1 or original.grad is not None:
            return
        swap_tensors(original, self.sharded)
        self.sharded = original
        self.put(original)

    def take_over(self, parameter: Any) -> None:
        """Another object stands in the modules: conversions and ``load_state_dict(assign=True)`` put it there."""
        if not isinstance(parameter, DTensor) or parameter.shape != self.spec.shape:
            raise RuntimeError(
                f"the sharded {self.places[0][1]!r} of a {type(self.places[0][0]).__name__} was replaced by a "
                f"{type(parameter).__name__} of shape {tuple(parameter.shape)}; wanted a DTensor of shape "
                f"{tuple(self.spec.shape)}"
            )
        if parameter.placements != self.spec.placements:
            moved = parameter.redistribute(placements=self.spec.placements)
            parameter = nn.Parameter(moved.detach(), parameter.requires_grad)
        self.sharded = parameter
        if parameter.dtype != self.dtype:
            self.dtype = parameter.dtype
            if self.policy.param_dtype is None:  # it computes in the dtype that it has
                self.change_dtype(self.dtype)
        self.put(parameter)

    def replace_values(self, made: DTensor) -> None:
        """The sharded parameter gets other values, of another dtype perhaps, and stays the object that it is."""
        self.sharded.data = made
        self.sharded._local_tensor, self.sharded._spec = made._local_tensor, made._spec
        self.spec, self.dtype = made._spec, made.dtype
        if self.policy.param_dtype is None and self._room.dtype != self.dtype:
            self.change_dtype(self.dtype)

    def change_dtype(self, wanted: Any) -> None:
        """The whole parameter gets another dtype."""
        requires_grad = self.whole.requires_grad
        self._room = _functions.empty(self.shape, dtype=wanted, device=self.device)
        self.whole = self._whole_over(self._room, requires_grad)
        self._free()

    def put(self, parameter: nn.Parameter) -> None:
        """Puts it into the modules."""
        for module, name in self.places:
            module._parameters[name] = parameter

    def _free(self) -> None:
        self._room.untyped_storage().resize_(0)

    def part(self, wanted: Any = None) -> Tensor:
        """What this process brings to the message."""
        module, name = self.places[0]
        now = module._parameters[name]
        if now is not self.sharded and now is not self.whole and now is not None:
            self.take_over(now)
        return self.filled_part(self.sharded._local_tensor.detach(), wanted or self._room.dtype)

    def filled_part(self, local: Tensor, wanted: Any) -> Tensor:
        """A part as a row as long as that of every process."""
        return self._row_by_row(local.to(device=self.device, dtype=wanted), self.filled)

    def _row_by_row(self, tensor: Tensor, length: int) -> Tensor:
        """Its values as a message has them, filled up with zeros."""
        flat = tensor.movedim(self.dim, 0).reshape(-1)
        missing = length - flat.numel()
        return _functions.cat([flat, flat.new_zeros(missing)]) if missing else flat

    def _from_rows(self, rows: Tensor) -> Tensor:
        """The same back: a tensor of the parameter's shape but for the number of rows."""
        others = self.shape[: self.dim] + self.shape[self.dim + 1 :]
        return rows.view(-1 if self.row_size else self.length, *others).movedim(0, self.dim)

    def from_table(self, table: Tensor) -> Tensor:
        """The whole, of its columns of what was gathered."""
        return self._from_rows(table.reshape(self.parts * self.rows, self.row_size)[: self.shape[self.dim]])

    def table_of(self, gradient: Tensor) -> Tensor:
        """Its columns of the table of gradients."""
        return self._row_by_row(gradient, self.parts * self.filled).view(self.parts, self.filled)

    def use_whole(self, table: Tensor) -> None:
        """Fills the whole parameter from its columns of the table and puts it into the modules."""
        self._room.untyped_storage().resize_(self._room.numel() * self._room.element_size())
        # data: the graph must not take this for a change of values
        self._room.data.copy_(self.from_table(table))
        self.put(self.whole)

    def use_part(self) -> None:
        """Puts the sharded parameter into the modules and frees the whole one."""
        self.put(self.sharded)
        self._free()

    def whole_gradient(self) -> Tensor | None:
        """The gradient of this process, before it is summed."""
        gradient: Any = self.whole.grad
        if self.parallel is not None and gradient is not None:
            if gradient.placements != self.parallel.placements:
                gradient = gradient.redistribute(placements=self.parallel.placements)
            gradient = gradient._local_tensor
        whole: Tensor | None = gradient
        return whole

    def add_gradient(self, part: Tensor) -> None:
        """Adds what came of the message to the sharded parameter's gradient."""
        local: Tensor = self.sharded._local_tensor
        mine = self._from_rows(part[: local.numel()]).to(dtype=self.dtype, device=local.device)
        if self.sharded.grad is None:
            self.sharded.grad = self.from_part(mine.clone(memory_format=_C.contiguous_format))
        else:
            self.sharded.grad._local_tensor.add_(mine)


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
        self.hook: Any = None  # a program's own reduction: hook(table, mine)
        self._waiting: tuple[Any, Tensor] | None = None
        self.nearby: ProcessGroup | None = None  # Note [Parts kept nearby]
        self._kept: Tensor | None = None
        self._pending: set[int] = set()
        self._watched: list[nn.Parameter | None] = [None] * len(parameters)
        self._watch()

    def _watch(self) -> None:
        """Hears of gradients of the whole parameters, which need one if the sharded ones do."""
        for at, each in enumerate(self.parameters):
            wanted = each.sharded.requires_grad
            if each.whole.requires_grad != wanted:
                each.whole.requires_grad_(wanted)
            if wanted and self._watched[at] is not each.whole:
                each.whole.register_post_accumulate_grad_hook(self._when_accumulated(at))
                self._watched[at] = each.whole

    def begin_unshard(self, from_nearby: bool = False) -> None:
        """Starts to gather, in backward from the neighbours if they kept parts; the program goes on."""
        if self.is_whole or self._waiting is not None or not self.parameters:
            return
        if from_nearby and self.nearby is not None and self._kept is not None:
            received = self._kept.new_empty(self.nearby.size() * self._kept.numel())
            work = collectives.all_gather_single(received, self._kept, group=self.nearby, async_op=True)
            self._waiting = (work, received)
            return
        self._kept = None
        by_dtype = [each.part() for each in self.parameters]
        self._watch()
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

    def unshard(self, from_nearby: bool = False) -> None:
        """The modules have whole parameters when this returns."""
        if self.is_whole or not self.parameters:
            return
        self.begin_unshard(from_nearby)
        assert self._waiting is not None
        work, received = self._waiting
        self._waiting = None
        work.wait()
        table, begin = received.view(self.shards.size(), -1), 0
        for each in self.parameters:
            each.use_whole(table[:, begin : begin + each.filled])
            begin += each.filled
        if self.nearby is not None and not from_nearby:
            self._kept = received.view(self.nearby.size(), -1)[self.nearby.rank()].clone()
        self.is_whole = True

    def full_values(self, tensors: list[DTensor]) -> list[Tensor]:
        """Full tensors of such as lie as the parameters do, in one message."""
        if any(each.parallel for each in self.parameters) or len({each.dtype for each in tensors}) > 1:
            return [each.full_tensor() for each in tensors]
        if not tensors:
            return []
        pairs = list(zip(self.parameters, tensors, strict=True))
        sent = _functions.cat(
            [each.filled_part(value._local_tensor.detach(), value.dtype) for each, value in pairs]
        )
        received = sent.new_empty(self.shards.size() * sent.numel())
        collectives.all_gather_single(received, sent, group=self.shards)
        table, begin, made = received.view(self.shards.size(), -1), 0, []
        for each in self.parameters:
            made.append(each.from_table(table[:, begin : begin + each.filled]).clone())
            begin += each.filled
        return made

    def reshard(self, keep_nearby: bool = False) -> None:
        """The modules have sharded parameters, and the memory of whole ones is free."""
        if not keep_nearby:
            self._kept = None
        if self._waiting is not None:  # gathered ahead and never used: the parts may change from here on
            self._waiting[0].wait()
            self._waiting = None
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
            gradient = each.whole_gradient()
            assert gradient is not None
            columns.append(each.table_of(gradient.detach().to(kind)))
            each.whole.grad = None
        table = _functions.cat(columns, 1) if len(columns) > 1 else columns[0].contiguous()
        mine = table.new_empty(table.shape[1])
        how = ReduceOp.AVG if self.divisor is None else ReduceOp.SUM
        if self.hook is not None:
            self.hook(table.reshape(-1), mine)
        else:
            collectives.reduce_scatter_single(mine, table.reshape(-1), how, group=self.shards)
        if self.copies is not None and self.reduces_copies and (self.hook is None or self.shards.size() > 1):
            collectives.all_reduce(mine, how, group=self.copies)
        if self.divisor is not None:
            mine = mine / self.divisor
        begin = 0
        for each in having:
            each.add_gradient(mine[begin : begin + each.filled])
            begin += each.filled
