"""``state_dict`` of a model with wrappers in it: names without them, and tensors as ``state_dict_type`` says."""

from __future__ import annotations

from typing import Any

from ... import _C, nn
from ..._C import Tensor, _functions
from ...autograd.grad_mode import no_grad
from ..tensor._api import DTensor
from ._common_utils import FSDP_PREFIX, clean_tensor_name
from ._group import ShardedParameter
from ._sharding import _State
from .api import FullStateDictConfig, StateDictType


def names_of_group(state: _State) -> list[list[str]]:
    """Of each parameter of a wrapper its names, as the unwrapped module has them; several where it is shared."""
    paths: dict[int, list[str]] = {}
    for root in state.modules:
        for path, module in root.named_modules(remove_duplicate=False):
            paths.setdefault(id(module), []).append(clean_tensor_name(f"{path}." if path else ""))
    return [
        [f"{path}{name}" for module, name in each.places for path in paths.get(id(module), [])]
        for each in state.group.parameters
    ]


def after_saving(module: Any, state_dict: dict[str, Any], prefix: str, _: Any) -> None:
    """Replaces the parts of this wrapper by what was asked for, and takes its name out of the keys."""
    inside = prefix + FSDP_PREFIX
    for key in [key for key in state_dict if key.startswith(inside)]:
        state_dict[prefix + key.removeprefix(inside)] = state_dict.pop(key)
    state, said = module._state, module._settings
    if state.summoned:  # full parameters stand in the modules
        return
    kind, config = said.state_dict_type, said.state_dict_config
    names = [[prefix + name for name in found] for found in names_of_group(state)]
    present = [[name for name in found if name in state_dict] for found in names]
    if kind is StateDictType.FULL_STATE_DICT:
        with no_grad():
            values: list[Any] = [each.sharded for each in state.group.parameters]
            full = state.group.full_values(values)
        for found, value in zip(present, full, strict=True):
            made = value.cpu() if config.offload_to_cpu else value
            for name in found:
                state_dict[name] = made
    else:
        for found, each in zip(present, state.group.parameters, strict=True):
            local: Tensor = each.sharded._local_tensor.detach()
            if config.offload_to_cpu:
                local = local.cpu()
            for name in found:
                state_dict[name] = local if kind is StateDictType.LOCAL_STATE_DICT else each.from_part(local)
    _restore_buffers(module, state_dict, prefix, config.offload_to_cpu)
    if isinstance(config, FullStateDictConfig) and config.rank0_only and _is_not_first(state):
        for key in [key for key in state_dict if key.startswith(prefix)]:
            del state_dict[key]


def _is_not_first(state: _State) -> bool:
    return any(group.rank() != 0 for group in state.group.mesh.get_all_groups())


def _restore_buffers(module: Any, state_dict: dict[str, Any], prefix: str, offload: bool) -> None:
    """Buffers have the dtypes that they had in the unwrapped model."""
    for path, part in module.module.named_modules():
        for name, buffer in part._buffers.items():
            key = prefix + clean_tensor_name(f"{path}.{name}" if path else name)
            if buffer is None or key not in state_dict:
                continue
            value = state_dict[key].to(module._buffer_dtypes.get((id(part), name), buffer.dtype))
            state_dict[key] = value.cpu() if offload else value


def before_loading(module: Any, state_dict: dict[str, Any], prefix: str, *_: Any) -> None:
    """Puts this wrapper's name into the keys, and cuts what belongs to its parameters."""
    state, kind = module._state, module._settings.state_dict_type
    if not state.summoned:
        for found, each in zip(names_of_group(state), state.group.parameters, strict=True):
            for name in found:
                value = state_dict.get(prefix + name)
                if isinstance(value, Tensor):
                    state_dict[prefix + name] = _in_parts(each, value, kind, prefix + name)
    for key in [key for key in state_dict if key.startswith(prefix)]:
        state_dict[prefix + FSDP_PREFIX + key.removeprefix(prefix)] = state_dict.pop(key)


def _in_parts(each: ShardedParameter, value: Any, kind: StateDictType, name: str) -> Tensor:
    if isinstance(value, DTensor):
        value = value._detached()
        if value._spec.mesh == each.spec.mesh:
            moved: Tensor = value.redistribute(placements=each.spec.placements)
            return moved
        value = value.full_tensor()
    elif kind is StateDictType.LOCAL_STATE_DICT:
        wanted = each.sharded._local_tensor.shape
        if value.shape != wanted:
            raise RuntimeError(
                f"{name}: the part of this process has the shape {tuple(wanted)}, and one of {tuple(value.shape)} was "
                "given; a LOCAL_STATE_DICT is loaded by as many processes as saved it"
            )
        return each.from_part(value)
    if value.shape != each.spec.shape:
        whole: Tensor = value
        return whole  # load_state_dict says what does not fit
    return each.cut(value.detach())


class FlatView:
    """The parameters of a wrapper as one: what libraries ask of PyTorch's flat parameter."""

    def __init__(self, wrapper: Any) -> None:
        self._group, self._names = wrapper._state.group, names_of_group(wrapper._state)

    @property
    def _first(self) -> nn.Parameter:
        first: nn.Parameter = self._group.parameters[0].sharded
        return first

    @property
    def dtype(self) -> Any:
        """Of the parts."""
        return self._first.dtype

    @property
    def device(self) -> Any:
        """Of the parts."""
        return self._first._local_tensor.device  # type: ignore[attr-defined]

    @property
    def requires_grad(self) -> bool:
        """Whether one of them does."""
        return any(each.sharded.requires_grad for each in self._group.parameters)

    @property
    def _fqns(self) -> list[str]:
        return [found[0] for found in self._names if found]

    @property
    def data(self) -> Tensor:
        """The parts of this process, one behind the other."""
        return _functions.cat([each.sharded._local_tensor.reshape(-1) for each in self._group.parameters])

    @data.setter
    def data(self, values: Tensor) -> None:
        begin = 0
        for each in self._group.parameters:
            local = each.sharded._local_tensor
            part = values[begin : begin + local.numel()].view(local.shape)
            begin += local.numel()
            made = each.from_part(part.clone(memory_format=_C.contiguous_format))
            each.replace_values(made)

    @property
    def _orig_param_dtype(self) -> Any:
        return self.dtype

    @_orig_param_dtype.setter
    def _orig_param_dtype(self, wanted: Any) -> None:
        if wanted != self.dtype:
            raise RuntimeError(
                f"the parameters have the dtype {self.dtype}: convert them by assigning to data"
            )
