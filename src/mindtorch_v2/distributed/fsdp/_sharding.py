"""``fully_shard``: when the parameters of a module are gathered and cut again.

Note [When parameters are whole]
Before a module's forward its group is gathered, after it cut (unless told otherwise: the outermost module's parameters
are needed again at once). A hook on the gradient of what the module returned gathers them again in the backward pass;
when the last of its gradients is there, they are summed and cut. What nothing depended on waits for the pass's end.
The order of groups in the first forward is remembered, and while one computes the next one's parts are already under
way: forward in that order, backward in the reverse.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Iterable
from typing import Any

from ... import _C, nn
from ..._C import Tensor
from ...autograd import Variable
from ...utils import _pytree
from ..device_mesh import DeviceMesh, init_device_mesh
from ..process_group import ProcessGroup
from ..tensor.placement_types import Shard
from ..world import default_group, get_world_size, new_group
from ._group import ParameterGroup, ShardedParameter
from ._policies import MixedPrecisionPolicy, OffloadPolicy


class _Order:
    """The groups of one root, in the order of their forwards."""

    def __init__(self) -> None:
        self.groups: list[_State] = []
        self.final_asked = False

    def neighbour(self, state: _State, step: int) -> _State | None:
        if state not in self.groups:
            return None
        at = self.groups.index(state) + step
        return self.groups[at] if 0 <= at < len(self.groups) else None


class _State:
    """What ``fully_shard`` keeps of a module."""

    def __init__(self, modules: list[nn.Module], group: ParameterGroup, reshard: bool | None) -> None:
        self.modules, self.group = modules, group
        self._ran: set[int] = set()  # which of the modules ran in this forward
        self.summoned = False  # full parameters stand in the modules: see summon_full_params
        self.prefetch_after = False  # in backward, only when its own gradients are summed
        self.reshard_asked = reshard
        self.reshard_after_backward = True
        self.is_root: bool | None = None
        self.order = _Order()
        self.prefetch_forward: list[_State] | None = None
        self.prefetch_backward: list[_State] | None = None
        self.in_backward = False
        self.did_backward = False  # in the pass that runs

    @property
    def reshards_after_forward(self) -> bool:
        if self.reshard_asked is None:
            return not self.is_root
        return self.reshard_asked

    def before_forward(self, _: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
        if self.summoned:
            return args, kwargs
        if self.is_root is None:
            self._become_root()
        if self not in self.order.groups:
            self.order.groups.append(self)
        self.group.unshard()
        self._prefetch(self.prefetch_forward, 1)
        policy = self.group.policy
        if policy.cast_forward_inputs and policy.param_dtype is not None:
            wanted = policy.param_dtype
            args, kwargs = _pytree.tree_map(lambda each: _cast(each, wanted), (args, kwargs))
        return args, kwargs

    def _become_root(self) -> None:
        self.is_root = True
        for state in states_below(*self.modules):
            if state is not self:
                state.is_root, state.order = False, self.order

    def before_state_dict(self, *_: Any) -> None:
        """Saving and loading see the parts."""
        if not self.summoned:
            self.group.reshard()

    def _prefetch(self, given: list[_State] | None, step: int) -> None:
        neighbour = self.order.neighbour(self, step)
        for each in given if given is not None else ([neighbour] if neighbour else []):
            if step > 0 or not each.did_backward:
                each.group.begin_unshard(from_nearby=step < 0)

    def after_forward(self, module: nn.Module, _: Any, output: Any) -> Any:
        if self.summoned:
            return output
        policy = self.group.policy
        if policy.output_dtype is not None:
            output = _pytree.tree_map(lambda each: _cast(each, policy.output_dtype), output)
        tensors = [
            each for each in _pytree.tree_leaves(output) if isinstance(each, Tensor) and each.requires_grad
        ]
        if _C.is_grad_enabled() and tensors:
            self.in_backward = False
            for each in tensors:
                each.register_hook(self._before_backward)
        self._ran.add(id(module))
        if len(self._ran) == len(self.modules):
            self._ran.clear()
            if self.reshards_after_forward:
                self.group.reshard(keep_nearby=_C.is_grad_enabled())
        return output

    def _before_backward(self, gradient: Tensor) -> None:
        if self.in_backward:
            return
        self.in_backward = True
        if not self.order.final_asked:
            self.order.final_asked = True
            Variable._execution_engine.queue_callback(self._at_end)
        self.group.unshard(from_nearby=True)
        self.group.expect_gradients(self._after_backward)
        if not self.prefetch_after:
            self._prefetch(self.prefetch_backward, -1)

    def _after_backward(self) -> None:
        self.group.reduce_gradients()
        if self.reshard_after_backward:
            self.group.reshard()
        self.in_backward, self.did_backward = False, True
        if self.prefetch_after:
            self._prefetch(self.prefetch_backward, -1)

    def _at_end(self) -> None:
        self.order.final_asked = False
        for state in self.order.groups:
            if state.in_backward:  # some of its parameters were not used
                state._after_backward()
            state.did_backward = False
            if state.reshard_after_backward:
                state.group.reshard()


def _cast(value: Any, wanted: Any) -> Any:
    return value.to(wanted) if isinstance(value, Tensor) and value.is_floating_point() else value


def _state_of(module: Any) -> _State | None:
    state: _State | None = vars(module).get("_fsdp_state")
    return state


def states_below(*modules: nn.Module) -> list[_State]:
    """What ``fully_shard`` keeps of modules and of all below them."""
    found: dict[int, _State] = {}
    for module in modules:
        for part in module.modules():
            state = _state_of(part)
            if state is not None:
                found[id(state)] = state
    return list(found.values())


class UnshardHandle:
    """Parameters that are being gathered."""

    def __init__(self, state: _State | None) -> None:
        self._state = state

    def wait(self) -> None:
        """Returns when they are whole."""
        if self._state is not None:
            self._state.group.unshard()


class FSDPModule:
    """What a module can do after ``fully_shard``."""

    def _fsdp(self) -> _State:
        state = _state_of(self)
        assert state is not None
        return state

    def _fsdp_below(self, recurse: bool) -> list[_State]:
        if not recurse:
            return [self._fsdp()]
        return states_below(self)  # type: ignore[arg-type]

    def unshard(self, async_op: bool = False) -> UnshardHandle | None:
        """Gathers the parameters of this module's own group."""
        state = self._fsdp()
        if async_op:
            state.group.begin_unshard()
            return UnshardHandle(state)
        state.group.unshard()
        return None

    def reshard(self) -> None:
        """Cuts them again."""
        self._fsdp().group.reshard()

    def set_is_last_backward(self, is_last_backward: bool) -> None:
        """Every backward pass ends its own work here: nothing waits for the last."""

    def set_requires_gradient_sync(self, requires_gradient_sync: bool, *, recurse: bool = True) -> None:
        """Whether gradients are summed over the processes: False to accumulate them first."""
        for state in self._fsdp_below(recurse):
            state.group.syncs = requires_gradient_sync

    def set_requires_all_reduce(self, requires_all_reduce: bool, *, recurse: bool = True) -> None:
        """Whether gradients are also summed over the copies (a mesh of two dimensions)."""
        for state in self._fsdp_below(recurse):
            state.group.reduces_copies = requires_all_reduce

    def set_reshard_after_forward(self, reshard_after_forward: bool, recurse: bool = True) -> None:
        """Whether parameters are cut between forward and backward."""
        for state in self._fsdp_below(recurse):
            state.reshard_asked, state.group.nearby = reshard_after_forward, None

    def set_reshard_after_backward(self, reshard_after_backward: bool, *, recurse: bool = True) -> None:
        """Whether parameters are cut after backward."""
        for state in self._fsdp_below(recurse):
            state.reshard_after_backward = reshard_after_backward

    def set_modules_to_forward_prefetch(self, modules: list[FSDPModule]) -> None:
        """Which modules' parameters are gathered while this one computes."""
        self._fsdp().prefetch_forward = [each._fsdp() for each in modules]

    def set_modules_to_backward_prefetch(self, modules: list[FSDPModule]) -> None:
        """The same in backward."""
        self._fsdp().prefetch_backward = [each._fsdp() for each in modules]

    def set_gradient_divide_factor(self, factor: float) -> None:
        """What the sum of gradients is divided by, instead of the number of processes."""
        self._fsdp().group.divisor = factor

    set_reduce_scatter_divide_factor = set_gradient_divide_factor


def _own_parameters(
    modules: list[nn.Module], ignored: set[int]
) -> dict[nn.Parameter, list[tuple[nn.Module, str]]]:
    """Parameters of the modules and of what lies below them, as far as no fully_shard of a part has them."""
    found: dict[nn.Parameter, list[tuple[nn.Module, str]]] = {}
    seen: set[int] = set()

    def walk(part: nn.Module) -> None:
        if id(part) in seen or (part not in modules and _state_of(part) is not None):
            return
        seen.add(id(part))
        for name, parameter in part._parameters.items():
            if parameter is None or id(parameter) in ignored:
                continue
            if (other := vars(parameter).get("_in_group_of")) is not None:
                raise ValueError(
                    f"the parameter {name!r} of a {type(part).__name__} is shared with a {other} that was sharded "
                    "apart from it: shard the modules that share a parameter together, or their common parent"
                )
            found.setdefault(parameter, []).append((part, name))
        for child in part.children():
            walk(child)

    for module in modules:
        walk(module)
    return found


def _default_device(parameters: Iterable[nn.Parameter]) -> str:
    """Where the parameters are, if messages go from there; else where they do."""
    carried = [device.type for device in default_group()._device_types]
    here = next((each.device.type for each in parameters if each.device.type != "meta"), carried[0])
    return here if here in carried else carried[0]


def _move_buffers(modules: list[nn.Module], where: str) -> None:
    for module in modules:
        for part in module.modules():
            for name, buffer in part._buffers.items():
                if buffer is not None and buffer.device.type not in (where, "meta"):
                    part._buffers[name] = buffer.to(where)


_neighbours: weakref.WeakKeyDictionary[ProcessGroup, dict[int, ProcessGroup]] = weakref.WeakKeyDictionary()


def _nearby(shards: ProcessGroup, asked: bool | int | None) -> tuple[bool | None, ProcessGroup | None]:
    """What ``reshard_after_forward`` means: whether, and among how many. Note [Parts kept nearby]."""
    if asked is None or isinstance(asked, bool):
        return asked, None
    if not isinstance(asked, int):
        raise ValueError(
            "reshard_after_forward should be a bool or an int representing the group size to reshard to, not "
            f"{asked}"
        )
    size = shards.size()
    if asked < 1 or size % asked:
        raise ValueError(
            f"If passing reshard_after_forward as an int, it should be a factor of {size}, not {asked}"
        )
    if asked in (1, size):
        return asked == size, None
    known = _neighbours.setdefault(shards, {})
    if asked not in known:
        first = shards.rank() // asked * asked
        members = list(shards.ranks[first : first + asked])
        known[asked] = new_group(members, timeout=shards.timeout, use_local_synchronization=True)
    return True, known[asked]


def _dim_of(parameter: nn.Parameter, choose: Callable[[nn.Parameter], Any] | None) -> int:
    """The dimension along which a parameter is cut."""
    chosen = choose(parameter) if choose is not None else None
    if chosen is None:
        return 0
    if not isinstance(chosen, Shard):
        raise ValueError(
            f"Invalid shard_placement_fn result: {chosen}; wanted a Shard of a dimension, or None for the first"
        )
    dims = parameter.dim()
    if not -dims <= chosen.dim < dims:
        raise AssertionError(
            f"Shard dim {chosen.dim} is invalid for {dims}D tensor: {tuple(parameter.shape)}"
        )
    return chosen.dim % dims


def shard(
    modules: list[nn.Module],
    mesh: DeviceMesh | None,
    reshard_after_forward: bool | int | None,
    policy: MixedPrecisionPolicy,
    offload: OffloadPolicy,
    ignored: set[int],
    keep_objects: bool = False,
    choose: Callable[[nn.Parameter], Any] | None = None,
) -> _State:
    """Cuts the parameters of modules as one group, and gathers them around their forwards.

    ``choose`` says along which dimension. With ``keep_objects`` the sharded parameters are the objects that the
    program has, so that its optimizer knows them.
    """
    parameters = _own_parameters(modules, ignored)
    mesh = mesh or init_device_mesh(_default_device(parameters), (get_world_size(),))
    if mesh.ndim not in (1, 2):
        raise ValueError(f"fully_shard expects a 1D or 2D DeviceMesh but got {mesh}")
    _move_buffers(modules, mesh.device_type)
    for each in parameters:
        if each.dim() == 0:
            raise ValueError(
                "a parameter without dimensions cannot be cut: make it one of shape (1,), or ignore it"
            )
    reshard, nearby = _nearby(mesh.get_group(mesh.ndim - 1), reshard_after_forward)
    dims = [_dim_of(each, choose) for each in parameters]
    made = [
        ShardedParameter(each, places, mesh, policy, offload, dim)
        for (each, places), dim in zip(parameters.items(), dims, strict=True)
    ]
    if keep_objects:
        for original, sharded in zip(parameters, made, strict=True):
            sharded.become(original)
    state = _State(modules, ParameterGroup(made, mesh, policy), reshard)
    state.group.nearby = nearby
    for module in modules:
        vars(module)["_fsdp_state"] = state
        module.register_forward_pre_hook(state.before_forward, prepend=True, with_kwargs=True)
        module.register_forward_hook(state.after_forward)
        module.register_state_dict_pre_hook(state.before_state_dict)
        module._register_load_state_dict_pre_hook(state.before_state_dict)
    return state


def fully_shard(
    module: nn.Module | list[nn.Module],
    *,
    mesh: DeviceMesh | None = None,
    reshard_after_forward: bool | int | None = None,
    shard_placement_fn: Callable[[nn.Parameter], Any] | None = None,
    mp_policy: MixedPrecisionPolicy | None = None,
    offload_policy: OffloadPolicy | None = None,
    ignored_params: set[nn.Parameter] | None = None,
) -> Any:
    """Cuts a module's parameters over the processes; they are gathered when it computes. Parts first, then the whole.

    Several modules in a list are gathered together. Note [Sharded parameters], Note [When parameters are whole].
    """
    modules = [module] if isinstance(module, nn.Module) else list(module)
    for each in modules:
        if isinstance(each, (nn.ModuleList, nn.ModuleDict)) and not hasattr(each, "forward"):
            raise ValueError(
                f"fully_shard does not support containers that do not implement forward: {type(each).__name__}"
            )
        if _state_of(each) is not None:
            raise AssertionError(
                f"fully_shard was called twice on one {type(each).__name__}: call it once for each module"
            )
    policy, offload = mp_policy or MixedPrecisionPolicy(), offload_policy or OffloadPolicy()
    ignored = {id(each) for each in ignored_params or ()}
    shard(modules, mesh, reshard_after_forward, policy, offload, ignored, choose=shard_placement_fn)
    for each in modules:
        kind = type(each)
        each.__class__ = type(f"FSDP{kind.__name__}", (FSDPModule, kind), {"__module__": kind.__module__})
    return module


def register_fsdp_forward_method(module: nn.Module, method_name: str) -> None:
    """A method that computes as forward does: parameters are whole in it."""
    state = _state_of(module)
    if state is None:
        return
    method = getattr(module, method_name)

    @functools.wraps(method)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = state.before_forward(module, args, kwargs)
        return state.after_forward(module, args, method(*args, **kwargs))

    setattr(module, method_name, wrapped)
