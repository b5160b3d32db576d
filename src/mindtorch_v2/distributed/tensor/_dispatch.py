"""Runs operators on distributed tensors: chooses placements, changes those of the arguments, runs on the local parts.

The choice is kept by operator, shapes and placements, so the second call of a kind costs a look-up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ... import _C
from ..._C import Tensor, _functions
from ..._library import interception
from ..._types.tag import Tag
from ...utils import _pytree
from ..device_mesh import DeviceMesh
from ._redistribute import local_shape_and_offset, redistribute
from ._strategies import Call, Strategy, size_of, strategies
from .placement_types import DTensorSpec, Partial, Placement, Replicate, Shard, TensorMeta, _StridedShard

# Operators whose second argument is the shape of their result.
_OF_A_SHAPE = frozenset(
    "view _unsafe_view reshape expand new_zeros new_ones new_empty new_full slice_backward select_backward".split()
)
_TO_HOST = {"_local_scalar_dense", "equal", "item", "is_nonzero"}  # what is asked of all values
_plans: dict[Any, Any] = {}
# What runs instead, by the operator's name: given its arguments, or NotImplemented to go on as usual.
TAKEN_OVER: dict[str, Callable[[tuple[Any, ...], dict[str, Any]], Any]] = {}


class _Plan:
    """What was chosen for calls of one kind."""

    def __init__(
        self,
        shapes: tuple[tuple[int, ...], ...],
        inputs: list[tuple[Placement, ...]],
        outputs: list[DTensorSpec],
    ) -> None:
        self.shapes, self.inputs, self.outputs = shapes, inputs, outputs


def cost(shape: Sequence[int], parts: int, before: Placement, after: Placement) -> float:
    """About how many elements a process sends for a change."""
    if before == after:
        return 0.0
    size = float(size_of(shape))
    if isinstance(before, Replicate):
        return (
            0.0 if isinstance(after, Shard) else 1 + size / 1024
        )  # to a sum: all processes but one take zeros
    if isinstance(after, Partial):
        return float("inf")
    if isinstance(before, Partial):
        return 1 + (2 * size if isinstance(after, Replicate) else size)
    if isinstance(after, Replicate):
        return 1 + size
    return 1 + size / parts


def _chosen(
    options: list[Strategy], shapes: Sequence[Sequence[int]], now: list[Placement], parts: int
) -> Strategy:
    def total(option: Strategy) -> tuple[float, int, int]:
        costs = sum(cost(s, parts, a, b) for s, a, b in zip(shapes, now, option.inputs, strict=True))
        # Of equal ones, what leaves the arguments as they are (a view must stay one), then what stays cut.
        changed = sum(a != b for a, b in zip(now, option.inputs, strict=True))
        return costs, changed, sum(each.is_replicate() for each in option.outputs)

    return min(options, key=total)


def _with_strides(
    options: list[Strategy], shapes: Sequence[Sequence[int]], now: list[Placement], parts: int
) -> Strategy:
    """The choice where some arguments are cut last along a dimension: the others, and the results, are then as well."""
    plain: list[Placement] = [Shard(each.dim) if isinstance(each, _StridedShard) else each for each in now]
    chosen = _chosen(options, shapes, plain, parts)
    factor = next(
        (
            before.split_factor
            for before, each in zip(now, chosen.inputs, strict=True)
            if isinstance(before, _StridedShard) and each == Shard(before.dim)
        ),
        None,
    )
    if factor is None:
        return chosen

    def strided(placements: Sequence[Placement]) -> tuple[Placement, ...]:
        return tuple(
            _StridedShard(each.dim, factor) if isinstance(each, Shard) else each for each in placements
        )

    return Strategy(strided(chosen.inputs), strided(chosen.outputs))


def _meta_of(tensor: Tensor) -> TensorMeta:
    return TensorMeta(tensor.shape, tensor.stride(), tensor.dtype)


def _whole_on_meta(spec: DTensorSpec) -> Tensor:
    meta = spec.tensor_meta
    assert meta is not None
    return _functions.empty_strided(meta.shape, meta.stride, dtype=meta.dtype, device="meta")


def _planned(
    func: Any, name: str, leaves: list[Any], tree: Any, specs: list[DTensorSpec], at: list[int]
) -> _Plan:
    mesh = specs[0].mesh
    on_meta = list(leaves)
    counted = _C._set_meta_counted(False)  # shapes are not memory that the program needs
    try:
        with interception.without(len(interception.stack())):  # nor operators that it runs
            for position, spec in zip(at, specs, strict=True):
                on_meta[position] = _whole_on_meta(spec)
            args, kwargs = _pytree.tree_unflatten(on_meta, tree)
            if "device" in kwargs:
                kwargs["device"] = "meta"
            found = _pytree.tree_leaves(func(*args, **kwargs))
        results = [each for each in found if isinstance(each, Tensor)]
    finally:
        _C._set_meta_counted(counted)
    shapes = tuple(tuple(spec.shape) for spec in specs)
    outputs = tuple(tuple(each.shape) for each in results)
    hidden = _pytree.tree_unflatten([None if isinstance(each, Tensor) else each for each in on_meta], tree)
    placed_in: list[list[Placement]] = [[] for _ in specs]
    placed_out: list[list[Placement]] = [[] for _ in results]
    for dim in range(mesh.ndim):
        call = Call(name, hidden[0], hidden[1], shapes, outputs, mesh.size(dim), Tag.pointwise in func.tags)
        now = [spec.placements[dim] for spec in specs]
        chosen = _with_strides(strategies(call), shapes, now, mesh.size(dim))
        for into, placement in zip(placed_in, chosen.inputs, strict=True):
            into.append(placement)
        for into, placement in zip(placed_out, chosen.outputs, strict=True):
            into.append(placement)
    _agree(mesh, shapes, outputs, placed_in, placed_out)
    made = [DTensorSpec(mesh, tuple(p), _meta_of(each)) for p, each in zip(placed_out, results, strict=True)]
    return _Plan(shapes, [tuple(each) for each in placed_in], made)


def _agree(
    mesh: DeviceMesh,
    shapes: Sequence[Sequence[int]],
    made: Sequence[Sequence[int]],
    inputs: list[list[Placement]],
    outputs: list[list[Placement]],
) -> None:
    """Two dimensions of the mesh that cut one dimension of a tensor must do so in all, or the parts do not match."""
    for dim in range(1, mesh.ndim):
        first = next((at for placed in inputs if (at := _cut_before(placed, dim)) is not None), None)
        if first is not None and not _cut_alike(mesh, shapes, made, inputs, outputs, first, dim):
            for each in (*inputs, *outputs):
                each[dim] = Replicate()


def _cut_before(placed: Sequence[Placement], dim: int) -> int | None:
    """The dimension of the mesh, to the left, that cuts what ``dim`` cuts."""
    here = placed[dim]
    if not isinstance(here, Shard):
        return None
    return next((at for at in range(dim) if placed[at].is_shard(here.dim)), None)


def _cut_alike(
    mesh: DeviceMesh,
    shapes: Sequence[Sequence[int]],
    made: Sequence[Sequence[int]],
    inputs: list[list[Placement]],
    outputs: list[list[Placement]],
    first: int,
    dim: int,
) -> bool:
    """Whether all arguments are cut twice or not at all, and the results as often, or sums over both."""
    lengths = set()
    for shape, placed in zip(shapes, inputs, strict=True):
        if placed[first].is_replicate() and placed[dim].is_replicate():
            continue
        here = placed[dim]
        if not isinstance(here, Shard) or not placed[first].is_shard(here.dim):
            return False
        lengths.add((shape[here.dim], type(placed[first]), type(here)))
    if len(lengths) != 1:
        return False
    (length, *kinds), both = lengths.pop(), mesh.size(first) * mesh.size(dim)
    for shape, placed in zip(made, outputs, strict=True):
        here, before = placed[dim], placed[first]
        if isinstance(here, Partial) and before == here:
            if here.reduce_op not in ("sum", "product", "norm") and length % both:
                return False
        elif not (
            isinstance(here, Shard)
            and before.is_shard(here.dim)
            and shape[here.dim] == length
            and [type(before), type(here)] == kinds
        ):
            return False
    return True


def dispatch(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], cls: Any) -> Any:
    """The operator on distributed tensors."""
    name = func._schema.name.partition("::")[2]
    if name in TAKEN_OVER and (taken := TAKEN_OVER[name](args, kwargs)) is not NotImplemented:
        return taken
    in_place = any(each.mutated for each in func._schema.arguments)
    if in_place and name.startswith(("_foreach_", "_fused_")):
        return _on_lists(func, args, kwargs, cls)
    leaves, tree = _pytree.tree_flatten((args, kwargs))
    mesh = next(each._spec.mesh for each in leaves if isinstance(each, cls))
    at, specs = [], []
    for position, leaf in enumerate(leaves):
        if isinstance(leaf, cls):
            if leaf._spec.mesh != mesh:
                raise NotImplementedError(
                    f"{name} has tensors of two meshes, {mesh} and {leaf._spec.mesh}; use one mesh"
                )
            at.append(position)
            specs.append(leaf._spec)
        elif isinstance(leaf, Tensor):
            leaves[position] = _implicit(leaf, mesh, name, cls)
            at.append(position)
            specs.append(leaves[position]._spec)
    if name in _TO_HOST:
        whole = [(Replicate(),) * mesh.ndim for _ in specs]
        args, kwargs = _pytree.tree_unflatten(_locals(leaves, specs, at, whole), tree)
        return func(*args, **kwargs)
    if in_place:
        return _in_place(func, name, leaves, tree, specs, at, cls)
    plan = _plan(func, name, leaves, tree, specs, at)
    local = _locals(leaves, specs, at, plan.inputs)
    result = _run(func, name, local, tree, plan, mesh)
    outputs = plan.outputs
    if (
        outputs and outputs[0].mesh is not mesh
    ):  # kept since another mesh of this shape, whose groups may be gone
        outputs = [DTensorSpec(mesh, each.placements, each.tensor_meta) for each in outputs]
    return _wrapped(result, outputs, cls)


def _plan(
    func: Any, name: str, leaves: list[Any], tree: Any, specs: list[DTensorSpec], at: list[int]
) -> _Plan:
    rest = tuple(None if isinstance(each, Tensor) else each for each in leaves)
    try:
        key = (func, rest, tuple(type(each) for each in rest), tuple(at), tuple(specs))
        found = _plans.get(key)
    except TypeError:  # an argument that cannot be a key
        return _planned(func, name, leaves, tree, specs, at)
    if found is None:
        found = _plans[key] = _planned(func, name, leaves, tree, specs, at)
    return found


def _implicit(tensor: Tensor, mesh: DeviceMesh, name: str, cls: Any) -> Any:
    if tensor.dim() > 0 and not cls._implicit_replication:
        raise RuntimeError(
            f"aten.{name}: got mixed torch.Tensor and DTensor, need to convert all torch.Tensor to DTensor before "
            "calling distributed operators! Use distribute_tensor, DTensor.from_local or implicit_replication()."
        )
    return cls(tensor, DTensorSpec(mesh, (Replicate(),) * mesh.ndim, _meta_of(tensor)), requires_grad=False)


def _locals(
    leaves: list[Any], specs: list[DTensorSpec], at: list[int], wanted: list[tuple[Placement, ...]]
) -> list[Any]:
    made = list(leaves)
    for position, spec, placements in zip(at, specs, wanted, strict=True):
        local = leaves[position]._local_tensor
        if spec.placements != placements:
            local = redistribute(local, spec.shape, spec.mesh, spec.placements, placements)
        made[position] = local
    return made


def _run(func: Any, name: str, leaves: list[Any], tree: Any, plan: _Plan, mesh: DeviceMesh) -> Any:
    args, kwargs = _pytree.tree_unflatten(leaves, tree)
    if name == "embedding" and any(each.is_shard(0) for each in plan.inputs[0]):
        return _rows_here(func, args, plan, mesh)
    if name in _OF_A_SHAPE:
        sizes, _ = local_shape_and_offset(plan.outputs[0].shape, mesh, plan.outputs[0].placements)
        args = (args[0], list(sizes), *args[2:])
    if name in ("view", "_unsafe_view"):
        args = (args[0].contiguous(), *args[1:])
    return func(*args, **kwargs)


def _rows_here(func: Any, args: tuple[Any, ...], plan: _Plan, mesh: DeviceMesh) -> Tensor:
    """Rows of a table that is cut along them; those of other processes are zero, and the sum over all is to be made."""
    table, indices = args[0], args[1]
    sizes, begins = local_shape_and_offset(plan.shapes[0], mesh, plan.inputs[0])
    if sizes[0] == 0:
        none: Tensor = table.new_zeros((*indices.shape, table.shape[1]))
        return none
    here = indices - begins[0]
    elsewhere = (here < 0) | (here >= sizes[0])
    rows: Tensor = func(table, here.masked_fill(elsewhere, 0))
    return rows.masked_fill(elsewhere.unsqueeze(-1), 0)


def _in_place(
    func: Any, name: str, leaves: list[Any], tree: Any, specs: list[DTensorSpec], at: list[int], cls: Any
) -> Any:
    """What is written keeps its placements, and the others follow."""
    plain = name.removesuffix("_")
    mesh, target = specs[0].mesh, specs[0]
    shapes = tuple(tuple(spec.shape) for spec in specs)
    hidden = _pytree.tree_unflatten([None if isinstance(each, Tensor) else each for each in leaves], tree)
    wanted: list[list[Placement]] = [[] for _ in specs]
    for dim in range(mesh.ndim):
        pointwise = Tag.pointwise in func.tags
        call = Call(plain, hidden[0], hidden[1], shapes, shapes[:1], mesh.size(dim), pointwise)
        own = target.placements[dim]
        own = Shard(own.dim) if isinstance(own, _StridedShard) else own
        fitting = [
            each for each in strategies(call) if each.inputs[0] == own and each.outputs[:1] == each.inputs[:1]
        ]
        if not fitting:
            return _in_place_on_whole(func, leaves, tree, specs, at)
        now = [spec.placements[dim] for spec in specs]
        chosen = _with_strides(fitting, shapes, now, mesh.size(dim))
        for into, placement in zip(wanted, chosen.inputs, strict=True):
            into.append(placement)
    local = _locals(leaves, specs, at, [tuple(each) for each in wanted])
    args, kwargs = _pytree.tree_unflatten(local, tree)
    func(*args, **kwargs)
    return leaves[at[0]]


def _on_lists(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], cls: Any) -> Any:
    """Element by element, on lists of which the first is written: what belongs to one of its tensors lies as it does.

    Plain tensors are among them where a model is distributed in parts.
    """
    leaders = [each._spec if isinstance(each, cls) else None for each in args[0]]

    def local(value: Any, leader: DTensorSpec | None) -> Any:
        if not isinstance(value, cls):
            return value
        spec = value._spec
        same = leader is not None and leader.shape == spec.shape
        wanted = leader.placements if same and leader is not None else (Replicate(),) * spec.mesh.ndim
        return _locals([value], [spec], [0], [wanted])[0]

    def locals_of(value: Any) -> Any:
        if isinstance(value, (list, tuple)) and len(value) == len(leaders):
            return [local(each, leader) for each, leader in zip(value, leaders, strict=True)]
        return local(value, None)

    func(*(locals_of(each) for each in args), **{name: locals_of(each) for name, each in kwargs.items()})
    return None


def _in_place_on_whole(
    func: Any, leaves: list[Any], tree: Any, specs: list[DTensorSpec], at: list[int]
) -> Any:
    mesh, target = specs[0].mesh, specs[0]
    whole = tuple(Replicate() for _ in range(mesh.ndim))
    local = _locals(leaves, specs, at, [whole for _ in specs])
    if target.placements == whole:
        local[at[0]] = local[at[0]].clone()
    args, kwargs = _pytree.tree_unflatten(local, tree)
    func(*args, **kwargs)
    back = redistribute(local[at[0]], target.shape, mesh, whole, target.placements)
    leaves[at[0]]._local_tensor.copy_(back)
    return leaves[at[0]]


def _wrapped(result: Any, specs: list[DTensorSpec], cls: Any) -> Any:
    remaining = iter(specs)

    def one(value: Any) -> Any:
        return cls(value, next(remaining), requires_grad=False) if isinstance(value, Tensor) else value

    if isinstance(result, Tensor):
        return one(result)
    if isinstance(result, (tuple, list)):
        return type(result)(one(each) for each in result)
    return result
