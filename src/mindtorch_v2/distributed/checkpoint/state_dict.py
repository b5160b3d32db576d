"""The state of a model and its optimizers under the names that the model has on one process.

Note [Names of parameters]
Optimizers number parameters, and wrappers (DistributedDataParallel, a compiled or checkpointed module) put words of
their own into names. Here a parameter is called what it is called in the model without any of that, in the state of
optimizers too, so a state loads into a model that is cut or wrapped in another way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from ..._absent import names_of
from ..._C import Tensor, _functions
from ...nn import Module
from ...nn.parallel import DistributedDataParallel
from ...optim import Optimizer
from .. import collectives, objects
from ..fsdp import FullyShardedDataParallel, StateDictType
from ..tensor._api import DTensor, distribute_tensor
from ..world import default_group, get_rank, is_initialized

__all__ = [
    "StateDictOptions", "get_model_state_dict", "get_optimizer_state_dict", "get_state_dict", "set_model_state_dict",
    "set_optimizer_state_dict", "set_state_dict",
]  # fmt: skip

# What annotations of packages say.
FQNS_T = set[str]
PrimitiveType = Tensor | int | float | str
ValueType = Any
DictValueType = dict[str, ValueType]
ListDictValueType = list[DictValueType]
OptimizerStateType = dict[str, DictValueType | ListDictValueType]

_STATE, _GROUPS, _PARAMETERS = "state", "param_groups", "params"
_WRAPPERS = ("_orig_mod", "_checkpoint_wrapped_module", "_fsdp_wrapped_module")


@dataclass
class StateDictOptions:
    """How states are taken and given back.

    ``full_state_dict``: tensors are whole, not in parts. ``cpu_offload``: in host memory, and if they are whole, on the
    first process alone. ``ignore_frozen_params``: without parameters that need no gradient. ``strict``: nothing may be
    missing or too much. ``broadcast_from_rank0``: only the first process brings the (full) state, and sends it.
    ``flatten_optimizer_state_dict``: the state of optimizers has one value for each parameter and name.
    """

    full_state_dict: bool = False
    cpu_offload: bool = False
    ignore_frozen_params: bool = False
    keep_submodule_prefixes: bool = True
    strict: bool = True
    broadcast_from_rank0: bool = False
    flatten_optimizer_state_dict: bool = False
    dsd_fqn_modifiers: str = "_fqn_modifiers"


def _checked(options: StateDictOptions | None) -> StateDictOptions:
    options = options or StateDictOptions()
    if options.broadcast_from_rank0 and not options.full_state_dict:
        raise ValueError("full_state_dict must be True when broadcast_from_rank0 is True.")
    return options


# ---- names -------------------------------------------------------------------------------------------


def _own_name(model: Module, name: str) -> str:
    """A name of the model's state without the words of wrappers. Note [Names of parameters]."""
    kept: list[str] = []
    here: Any = model
    for word in name.split("."):
        wrapped = word in _WRAPPERS or (word == "module" and isinstance(here, DistributedDataParallel))
        if not wrapped:
            kept.append(word)
        here = getattr(here, word, None)
    return ".".join(kept)


def _get_fqns(
    model: Module,
    name: str,
    dsd_fqn_modifiers: str = "_fqn_modifiers",
    skip_ddp_prefix: bool = True,
    skip_compiler_prefix: bool = True,
) -> set[str]:
    return {_own_name(model, name)}


def _names_of_parameters(model: Module) -> dict[Tensor, str]:
    """A shared parameter has the first of its names."""
    return {parameter: _own_name(model, name) for name, parameter in model.named_parameters()}


def _optimizers(given: Optimizer | Iterable[Optimizer]) -> tuple[Optimizer, ...]:
    return (given,) if isinstance(given, Optimizer) else tuple(given)


# ---- tensors -----------------------------------------------------------------------------------------


def _mapped(value: Any, change: Callable[[Tensor], Any]) -> Any:
    """Dicts, lists and tuples with their tensors changed."""
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, dict):
        return {key: _mapped(each, change) for key, each in value.items()}
    if type(value) in (list, tuple):
        return type(value)(_mapped(each, change) for each in value)
    return value


def _as_asked(state: Any, options: StateDictOptions) -> Any:
    """Whole, and in host memory, if that was asked for."""
    keeps = not (options.full_state_dict and options.cpu_offload and is_initialized() and get_rank() != 0)

    def change(tensor: Tensor) -> Any:
        if options.full_state_dict and isinstance(tensor, DTensor):
            tensor = tensor.full_tensor().detach()  # all processes take part
        if options.cpu_offload and keeps:
            if isinstance(tensor, DTensor):
                local = tensor._local_tensor.cpu()
                return DTensor(local, tensor._spec, requires_grad=tensor.requires_grad)
            return tensor.cpu()
        return tensor if keeps else None

    changed = _mapped(state, change)
    return changed if keeps else {}


def _cut_like(value: Any, pattern: Any) -> Any:
    """A whole tensor in parts as the pattern is; memory on the pattern's device."""
    if not isinstance(value, Tensor) or isinstance(value, DTensor) or not isinstance(pattern, DTensor):
        return value
    return distribute_tensor(value.detach(), pattern.device_mesh, pattern.placements, src_data_rank=None)


@dataclass
class _Mark:
    """Stands for a tensor that is sent after the state that it belongs to."""

    shape: tuple[int, ...]
    dtype: Any


def _from_first(state: Any) -> Iterator[tuple[Any, Any]]:
    """The (key, value) pairs of the first process's state, one after the other, on all."""
    device = default_group().object_device
    sends = get_rank() == 0
    told: list[Any] = [
        _mapped(state, lambda tensor: _Mark(tuple(tensor.shape), tensor.dtype)) if sends else None
    ]
    objects.broadcast_object_list(told, src=0)

    def received(mark: Any, own: Any) -> Any:
        if isinstance(mark, _Mark):
            if sends:
                whole = own.detach().to(device, copy=True).contiguous()  # the caller keeps its own
            else:
                whole = _functions.empty(mark.shape, dtype=mark.dtype, device=device)
            collectives.broadcast(whole, src=0)
            return whole
        if isinstance(mark, dict):
            return {key: received(each, own[key] if sends else None) for key, each in mark.items()}
        if type(mark) in (list, tuple):
            owns = own if sends else [None] * len(mark)
            return type(mark)(received(each, one) for each, one in zip(mark, owns, strict=True))
        return mark

    for key, mark in told[0].items():
        yield key, received(mark, state[key] if sends else None)


# ---- models ------------------------------------------------------------------------------------------


def _in_parts(model: Module) -> AbstractContextManager[Any]:
    """The older wrappers give whole tensors unless they are told otherwise."""
    if any(isinstance(each, FullyShardedDataParallel) for each in model.modules()):
        said: AbstractContextManager[Any] = FullyShardedDataParallel.state_dict_type(
            model, StateDictType.SHARDED_STATE_DICT
        )
        return said
    return nullcontext()


def get_model_state_dict(
    model: Module, *, submodules: set[Module] | None = None, options: StateDictOptions | None = None
) -> dict[str, Any]:
    """The state of a model. Note [Names of parameters]."""
    options = _checked(options)
    frozen = {
        _own_name(model, name)
        for name, parameter in model.named_parameters(remove_duplicate=False)
        if not parameter.requires_grad
    }
    state = {}
    with _in_parts(model):
        held = model.state_dict()
    for name, value in held.items():
        own = _own_name(model, name)
        if not (options.ignore_frozen_params and own in frozen):
            state[own] = value
    if submodules is not None:
        state = _of_submodules(model, state, submodules, options.keep_submodule_prefixes)
    made: dict[str, Any] = _as_asked(state, options)
    return made


def _of_submodules(
    model: Module, state: dict[str, Any], submodules: set[Module], keep_prefixes: bool
) -> dict[str, Any]:
    found = {}
    for name, module in model.named_modules():
        if module not in submodules:
            continue
        prefix = f"{_own_name(model, name)}."
        for key, value in state.items():
            if key.startswith(prefix):
                found[key if keep_prefixes else key.removeprefix(prefix)] = value
    return found


def set_model_state_dict(
    model: Module, model_state_dict: dict[Any, Any], *, options: StateDictOptions | None = None
) -> Any:
    """Gives a model its state; says which names were missing or too many."""
    options = _checked(options)
    state = _under_full_names(model, model_state_dict)
    with _in_parts(model):
        present = model.state_dict()
    names = {_own_name(model, name): name for name in present}
    if options.broadcast_from_rank0:
        pairs: Iterable[tuple[str, Any]] = _from_first(state)
    else:
        pairs = state.items()
    found, in_place = {}, True
    for own, value in pairs:
        name = names.get(own, own)
        pattern = present.get(name)
        if options.full_state_dict and isinstance(pattern, Tensor):
            if pattern.device.type == "meta":  # without memory: takes what comes
                in_place = False
            value = _cut_like(value, pattern)
        found[name] = value
    with _in_parts(model):
        return model.load_state_dict(found, strict=options.strict, assign=not in_place)


def _under_full_names(model: Module, state: dict[Any, Any]) -> dict[str, Any]:
    """States may be given for submodules, by the module."""
    if not any(isinstance(key, Module) for key in state):
        return state
    names = {module: _own_name(model, name) for name, module in model.named_modules()}
    found: dict[str, Any] = {}
    for module, part in state.items():
        if module not in names:
            raise ValueError(f"a state was given for {type(module).__name__}, which is no part of the model")
        prefix = f"{names[module]}." if names[module] else ""
        found.update({f"{prefix}{key}": value for key, value in part.items()})
    return found


# ---- optimizers --------------------------------------------------------------------------------------


def _init_optim_state(optim: Optimizer) -> None:
    """Lets an optimizer that has not taken a step make its state, by one that changes nothing."""
    parameters = [each for group in optim.param_groups for each in group[_PARAMETERS] if each.requires_grad]
    if optim.state or any(each.grad is not None for each in parameters):
        return
    rates = [group.get("lr") for group in optim.param_groups]
    for each in parameters:
        each.grad = _functions.zeros_like(each)
    for group, rate in zip(optim.param_groups, rates, strict=True):
        if rate is not None:
            group["lr"] = _functions.zeros_like(rate) if isinstance(rate, Tensor) else 0.0
    try:
        optim.step()
    finally:
        for group, rate in zip(optim.param_groups, rates, strict=True):
            if rate is not None:
                group["lr"] = rate
        optim.zero_grad(set_to_none=True)


def _name(names: dict[Tensor, str], parameter: Tensor) -> str:
    found = names.get(parameter)
    if found is None:
        raise KeyError(
            f"the optimizer has a parameter of shape {list(parameter.shape)} that the model does not have; make the "
            "optimizer after the model was cut or wrapped, from model.parameters()"
        )
    return found


def get_optimizer_state_dict(
    model: Module,
    optimizers: Optimizer | Iterable[Optimizer],
    *,
    submodules: set[Module] | None = None,
    options: StateDictOptions | None = None,
) -> dict[str, Any]:
    """The state of optimizers, by the names of parameters."""
    options = _checked(options)
    given = _optimizers(optimizers)
    if not given:
        return {}
    names = _names_of_parameters(model)
    state: dict[str, Any] = {}
    groups: list[dict[str, Any]] = []
    for optim in given:
        _init_optim_state(optim)
        for group in optim.param_groups:
            for parameter in group[_PARAMETERS]:
                own = _name(names, parameter)
                if parameter in optim.state:
                    state[own] = dict(optim.state[parameter])
            called = [names[parameter] for parameter in group[_PARAMETERS]]
            groups.append({**{k: v for k, v in group.items() if k != _PARAMETERS}, _PARAMETERS: called})
    found = {_STATE: state, _GROUPS: groups}
    if options.flatten_optimizer_state_dict:
        found = _flat(found)
    made: dict[str, Any] = _as_asked(found, options)
    return made


def _flat(state: dict[str, Any]) -> dict[str, Any]:
    """One value for each parameter and name."""
    flat = {
        f"{_STATE}.{own}.{name}": value for own, held in state[_STATE].items() for name, value in held.items()
    }
    for group in state[_GROUPS]:
        for own in group[_PARAMETERS]:
            flat |= {f"{_GROUPS}.{own}.{name}": value for name, value in group.items() if name != _PARAMETERS}
    return flat


def _unflat(flat: dict[str, Any], optim: Optimizer, names: dict[Tensor, str]) -> dict[str, Any]:
    """Back again, with the names that this optimizer has for its values."""
    state: dict[str, Any] = {}
    groups = []
    for group in optim.param_groups:
        called = [_name(names, parameter) for parameter in group[_PARAMETERS]]
        for own, parameter in zip(called, group[_PARAMETERS], strict=True):
            held = {name: flat[f"{_STATE}.{own}.{name}"] for name in optim.state.get(parameter, ())}
            if held:
                state[own] = held
        of_group = {
            name: flat[f"{_GROUPS}.{called[0]}.{name}"] for name in group if name != _PARAMETERS and called
        }
        groups.append({**of_group, _PARAMETERS: called})
    return {_STATE: state, _GROUPS: groups}


def set_optimizer_state_dict(
    model: Module,
    optimizers: Optimizer | Iterable[Optimizer],
    optim_state_dict: dict[str, Any],
    *,
    options: StateDictOptions | None = None,
) -> None:
    """Gives optimizers their state."""
    options = _checked(options)
    given = _optimizers(optimizers)
    if not given:
        return
    if options.broadcast_from_rank0:
        optim_state_dict = dict(_from_first(optim_state_dict))
    if not optim_state_dict:
        raise RuntimeError(
            "The option indicates that model state_dict is required to save, or load but optim state_dict is empty. "
            f"{optim_state_dict}"
        )
    names = _names_of_parameters(model)
    for optim in given:
        _init_optim_state(optim)
        flat = _STATE not in optim_state_dict
        state = _unflat(optim_state_dict, optim, names) if flat else optim_state_dict
        optim.load_state_dict(_numbered(optim, state, names, options))


def _numbered(
    optim: Optimizer, state: dict[str, Any], names: dict[Tensor, str], options: StateDictOptions
) -> dict[str, Any]:
    """An optimizer's own form of a state: parameters by number."""
    group_of = {own: group for group in state[_GROUPS] for own in group[_PARAMETERS]}
    numbered: dict[int, Any] = {}
    groups: list[dict[str, Any]] = []
    count = 0
    for group in optim.param_groups:
        called = [_name(names, parameter) for parameter in group[_PARAMETERS]]
        first = next((group_of[own] for own in called if own in group_of), None)
        if first is None and called and options.strict:
            raise RuntimeError(
                f"the state has no group with {called[0]!r}; it has {list(group_of)[:8]}. To load anyway, use "
                "StateDictOptions(strict=False)"
            )
        taken = first if first is not None else group
        for own, parameter in zip(called, group[_PARAMETERS], strict=True):
            held = state[_STATE].get(own)
            if held is None and parameter in optim.state:
                if options.strict:
                    raise RuntimeError(
                        f"Missing optimizer state for parameter '{own}' in checkpoint. The parameter requires "
                        "gradients but has no saved optimizer state. To load anyway, use "
                        "StateDictOptions(strict=False)."
                    )
                held = optim.state[parameter]
            if held is not None:
                numbered[count + called.index(own)] = {
                    name: _like_parameter(value, parameter) if options.full_state_dict else value
                    for name, value in held.items()
                }
        told = {name: value for name, value in taken.items() if name != _PARAMETERS}
        groups.append({**told, _PARAMETERS: list(range(count, count + len(called)))})
        count += len(called)
    return {_STATE: numbered, _GROUPS: groups}


def _like_parameter(value: Any, parameter: Tensor) -> Any:
    """A state of the parameter's shape lies as the parameter does."""
    alike = isinstance(value, Tensor) and value.shape == parameter.shape
    return _cut_like(value, parameter) if alike else value


# ---- both --------------------------------------------------------------------------------------------


def get_state_dict(
    model: Module,
    optimizers: Optimizer | Iterable[Optimizer],
    *,
    submodules: set[Module] | None = None,
    options: StateDictOptions | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The states of a model and of its optimizers."""
    of_model = get_model_state_dict(model, submodules=submodules, options=options)
    return of_model, get_optimizer_state_dict(model, optimizers, submodules=submodules, options=options)


def set_state_dict(
    model: Module,
    optimizers: Optimizer | Iterable[Optimizer],
    *,
    model_state_dict: dict[Any, Any],
    optim_state_dict: dict[str, Any],
    options: StateDictOptions | None = None,
) -> Any:
    """Gives a model and its optimizers their states; says which names of the model were missing or too many."""
    found = set_model_state_dict(model, model_state_dict, options=options)
    set_optimizer_state_dict(model, optimizers, optim_state_dict, options=options)
    return found


__getattr__ = names_of(__name__)
