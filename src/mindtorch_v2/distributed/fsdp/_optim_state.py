"""The state of an optimizer over sharded parameters, by the names that they have in the unwrapped model."""

from __future__ import annotations

from typing import Any

from ... import nn
from ..._C import Tensor, _functions
from ...autograd.grad_mode import no_grad
from .. import collectives
from ..objects import broadcast_object_list
from ..tensor._api import DTensor
from ._common_utils import clean_tensor_name
from ._group import ShardedParameter
from ._sharding import states_below
from .api import OptimStateKeyType, StateDictSettings, StateDictType


def _names(model: nn.Module) -> dict[int, str]:
    """The name of each parameter, by its identity."""
    for state in states_below(model):
        state.group.reshard()
    found: dict[int, str] = {}
    for name, parameter in nn.Module.named_parameters(model):
        found[id(parameter)] = clean_tensor_name(name)
    return found


def _sharded(model: nn.Module) -> dict[int, ShardedParameter]:
    return {id(each.sharded): each for state in states_below(model) for each in state.group.parameters}


def _named(model: nn.Module, parameter: Any, names: dict[int, str]) -> str:
    name = names.get(id(parameter))
    if name is None:
        raise ValueError(
            f"the optimizer has a parameter of shape {tuple(parameter.shape)} that the model has not; make the "
            "optimizer of the parameters of this model"
        )
    return name


@no_grad()
def saved(
    model: nn.Module, optim: Any, given: dict[str, Any] | None, said: StateDictSettings
) -> dict[str, Any]:
    """``optim.state_dict()`` by names."""
    names = _names(model)
    current = optim.state_dict() if given is None else given
    parameters = [each for group in optim.param_groups for each in group["params"]]
    by_number = [_named(model, each, names) for each in parameters]
    config, kind = said.optim_state_dict_config, said.state_dict_type
    first_only = bool(getattr(config, "rank0_only", False))
    keeps = not first_only or _is_first(model)

    def made(value: Any) -> Any:
        if isinstance(value, DTensor):
            if kind is StateDictType.FULL_STATE_DICT:
                value = value.full_tensor()
            elif kind is StateDictType.LOCAL_STATE_DICT:
                value = value._local_tensor
            elif config.offload_to_cpu and value._local_tensor.device.type != "cpu":
                return DTensor(value._local_tensor.cpu(), value._spec, requires_grad=False)
        if isinstance(value, Tensor) and config.offload_to_cpu and not isinstance(value, DTensor):
            return value.cpu()
        return value

    state: dict[str, Any] = {}
    for number, values in current["state"].items():
        whole = {key: made(value) for key, value in values.items()}  # all processes take part
        if keeps:
            state[number if isinstance(number, str) else by_number[number]] = whole
    if not keeps:
        return {}
    groups = []
    for group in current["param_groups"]:
        numbers = group["params"]
        groups.append(
            group | {"params": [each if isinstance(each, str) else by_number[each] for each in numbers]}
        )
    return {"state": state, "param_groups": groups}


def _is_first(model: nn.Module) -> bool:
    return all(
        group.rank() == 0 for state in states_below(model) for group in state.group.mesh.get_all_groups()
    )


@no_grad()
def to_load(
    model: nn.Module,
    optim: Any,
    given: dict[str, Any] | None,
    said: StateDictSettings,
    by_name: bool = False,
) -> dict[str, Any]:
    """A state by names as ``optim.load_state_dict`` takes it: in parts, by number."""
    names, sharded = _names(model), _sharded(model)
    if getattr(said.optim_state_dict_config, "rank0_only", False):
        given = _from_first(model, given)
    if given is None:
        raise ValueError("optim_state_dict is None; only with rank0_only=True may other ranks give nothing")
    by_id = {id(each): each for each in model.parameters()}
    parameters = {name: by_id[key] for key, name in names.items()}

    def made(parameter: Any, value: Any) -> Any:
        each = sharded.get(id(parameter))
        if each is None or not isinstance(value, Tensor) or value.dim() == 0:
            return value
        if isinstance(value, DTensor):
            if value._spec.mesh == each.spec.mesh:
                return value.redistribute(placements=each.spec.placements)
            value = value.full_tensor()
        elif said.state_dict_type is StateDictType.LOCAL_STATE_DICT:
            return each.from_part(value.to(parameter._local_tensor.device))
        if value.shape != parameter.shape:
            return value
        return each.cut(value.to(parameter._local_tensor.device))

    def key_of(name: str) -> str:
        clean = clean_tensor_name(name)
        if clean not in parameters:
            raise KeyError(f"the state has {name!r}, and the model has no such parameter")
        return clean

    state = {
        key_of(name): {key: made(parameters[key_of(name)], value) for key, value in values.items()}
        for name, values in given["state"].items()
    }
    groups = [
        group | {"params": [key_of(name) for name in group["params"]]} for group in given["param_groups"]
    ]
    if by_name or optim is None:
        return {"state": state, "param_groups": groups}
    return _numbered(model, optim, names, state, groups)


def _numbered(
    model: nn.Module, optim: Any, names: dict[int, str], state: dict[str, Any], groups: list[dict[str, Any]]
) -> dict[str, Any]:
    """In the optimizer's own order."""
    order: dict[str, int] = {}
    own = []
    for group in optim.param_groups:
        named = [_named(model, each, names) for each in group["params"]]
        for name in named:
            order[name] = len(order)
        own.append(named)
    by_first = {name: group for group in groups for name in group["params"]}
    made = []
    for at, named in enumerate(own):
        source = by_first.get(named[0]) if named else (groups[at] if at < len(groups) else None)
        if source is None:
            raise KeyError(f"the state has no group of parameters with {named[0] if named else at!r}")
        made.append(source | {"params": [order[name] for name in named]})
    return {
        "state": {order[name]: value for name, value in state.items() if name in order},
        "param_groups": made,
    }


class _Sent:
    """A tensor of the first process, which follows in a message of its own."""

    def __init__(self, tensor: Tensor) -> None:
        self.shape, self.dtype = tuple(tensor.shape), tensor.dtype


def _from_first(model: nn.Module, given: dict[str, Any] | None) -> dict[str, Any]:
    """The state of the first process on all."""
    states = states_below(model)
    if states:
        mesh = states[0].group.mesh
        for group in reversed(mesh.get_all_groups()):
            if group.size() > 1:
                given = _broadcast(given, group, mesh.device_type)
    assert given is not None
    return given


def _broadcast(given: dict[str, Any] | None, group: Any, device: Any) -> dict[str, Any]:
    tensors: list[Tensor] = []

    def sent(value: Any) -> Any:
        if isinstance(value, Tensor) and value.dim():
            tensors.append(value)
            return _Sent(value)
        return value

    first = group.rank() == 0
    outline = None
    if first and given:
        outline = {
            "state": {
                name: {key: sent(value) for key, value in values.items()}
                for name, values in given["state"].items()
            },
            "param_groups": given["param_groups"],
        }
    holder = [outline]
    broadcast_object_list(holder, group=group, group_src=0)
    told: Any = holder[0]
    if told is None:
        raise ValueError("rank0_only=True, and the first process gave no optim_state_dict")
    arriving = iter(tensors)

    def received(value: Any) -> Any:
        if not isinstance(value, _Sent):
            return value
        if first:
            full = next(arriving).to(device).contiguous()
        else:
            full = _functions.empty(value.shape, dtype=value.dtype, device=device)
        collectives.broadcast(full, group=group, group_src=0)
        return full

    state = {
        name: {key: received(value) for key, value in values.items()}
        for name, values in told["state"].items()
    }
    return {"state": state, "param_groups": told["param_groups"]}


def rekeyed(given: dict[str, Any], kind: OptimStateKeyType, model: nn.Module, optim: Any) -> dict[str, Any]:
    """A state with names for numbers, or numbers for names."""
    names = _names(model)
    parameters = [each for group in optim.param_groups for each in group["params"]] if optim else None
    order = [names[id(each)] for each in parameters] if parameters is not None else list(names.values())
    if kind is OptimStateKeyType.PARAM_NAME:
        to: dict[Any, Any] = dict(enumerate(order))
    else:
        to = {name: number for number, name in enumerate(order)}
    already = all(
        not isinstance(key, int if kind is OptimStateKeyType.PARAM_NAME else str) for key in given["state"]
    )

    def renamed(key: Any) -> Any:
        return key if already else to[key]

    return {
        "state": {renamed(key): value for key, value in given["state"].items()},
        "param_groups": [
            group | {"params": [renamed(key) for key in group["params"]]} for group in given["param_groups"]
        ],
    }
