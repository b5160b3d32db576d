"""Optimizer: groups of parameters with their options, the state kept for each parameter, and hooks."""

from __future__ import annotations

import functools
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any, TypeAlias, TypeVar

import mindtorch_v2 as torch

from .. import _C
from .._absent import names_of
from .._devices import registry
from ..nn.modules.module import clear_gradients, type_name
from ..utils.hooks import RemovableHandle, add_hook

__all__ = ["Optimizer", "register_optimizer_step_post_hook", "register_optimizer_step_pre_hook"]

ParamsT: TypeAlias = Iterable[torch.Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, torch.Tensor]]
Function = TypeVar("Function", bound=Callable[..., Any])

StateDict: TypeAlias = dict[str, Any]
DeviceDict: TypeAlias = dict[torch.device | None, torch.Tensor]
# Sentences for the descriptions of optimizers that packages write.
_capturable_doc = "capturable (bool, optional): whether a step may be captured in a graph (default: False)"
_differentiable_doc = "differentiable (bool, optional): whether autograd records the step (default: False)"
_foreach_doc = "foreach (bool, optional): whether all parameters are computed together (default: None)"
_fused_doc = "fused (bool, optional): whether a step is one kernel (default: None)"
_maximize_doc = "maximize (bool, optional): whether the objective is maximized (default: False)"

# Hooks of all optimizers.
_global_optimizer_pre_hooks: OrderedDict[int, Callable[..., Any]] = OrderedDict()
_global_optimizer_post_hooks: OrderedDict[int, Callable[..., Any]] = OrderedDict()


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """``hook(optimizer, args, kwargs)`` before each step of every optimizer."""
    return add_hook(_global_optimizer_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """``hook(optimizer, args, kwargs)`` after each step of every optimizer."""
    return add_hook(_global_optimizer_post_hooks, hook)


class _RequiredParameter:
    """The default of an option that every group must give."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _RequiredParameter()


class Optimizer:
    """Base of all optimizers. A subclass defines ``step(closure=None)`` under ``@update_step``.

    ``param_groups`` is a list of dictionaries: the parameters of the group and its options. ``state`` maps a
    parameter to the dictionary kept for it. Both have PyTorch's keys, so state moves between the two.
    """

    def __init__(self, params: Any, defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        self.state: defaultdict[Any, Any] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        self._make_hook_tables()
        if isinstance(params, torch.Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                + type_name(params)
            )
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(dict(group))

    def _make_hook_tables(self) -> None:
        self._optimizer_step_pre_hooks: OrderedDict[int, Any] = OrderedDict()
        self._optimizer_step_post_hooks: OrderedDict[int, Any] = OrderedDict()
        self._optimizer_state_dict_pre_hooks: OrderedDict[int, Any] = OrderedDict()
        self._optimizer_state_dict_post_hooks: OrderedDict[int, Any] = OrderedDict()
        self._optimizer_load_state_dict_pre_hooks: OrderedDict[int, Any] = OrderedDict()
        self._optimizer_load_state_dict_post_hooks: OrderedDict[int, Any] = OrderedDict()
        self._patch_step_function()

    def _patch_step_function(self) -> None:
        """Lets the class's step call the hooks. Wrappers that never call ``__init__`` have none to call."""
        cls: Any = type(self)
        if not getattr(cls.step, "hooked", False):
            cls.step = self.profile_hook_step(cls.step)
            cls.step.hooked = True

    @staticmethod
    def _group_tensors_by_device_and_dtype(
        tensorlistlist: list[list[Any]], with_indices: bool = False
    ) -> dict[tuple[Any, Any], tuple[list[list[Any]], list[int]]]:
        return _group_tensors_by_device_and_dtype(tensorlistlist, with_indices)

    @staticmethod
    def profile_hook_step(step: Callable[..., Any]) -> Callable[..., Any]:
        """The step with its hooks around it, as one named range in a profile."""

        @functools.wraps(step)
        def run(*args: Any, **kwargs: Any) -> Any:
            self = args[0]
            with torch.profiler.record_function(f"Optimizer.step#{type(self).__name__}.step"):
                for hook in _all_of(_global_optimizer_pre_hooks, self._optimizer_step_pre_hooks):
                    changed = hook(self, args, kwargs)
                    if changed is not None:
                        if not (isinstance(changed, tuple) and len(changed) == 2):
                            raise RuntimeError(
                                f"{step} must return None or a tuple of (new_args, new_kwargs), but got "
                                f"{changed}."
                            )
                        args, kwargs = changed
                result = step(*args, **kwargs)
                for hook in _all_of(self._optimizer_step_post_hooks, _global_optimizer_post_hooks):
                    hook(self, args, kwargs)
            return result

        return run

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """One update of all parameters. ``closure`` computes the loss again and returns it."""
        raise NotImplementedError(f"{type(self).__name__} has no step(): a subclass of Optimizer defines it")

    def zero_grad(self, set_to_none: bool = True) -> None:
        with torch.profiler.record_function(f"Optimizer.zero_grad#{type(self).__name__}.zero_grad"):
            for group in self.param_groups:
                clear_gradients(group["params"], set_to_none)

    # --- groups

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        params = param_group["params"]
        if isinstance(params, torch.Tensor):
            params = [params]
        elif isinstance(params, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the ordering of "
                "tensors in "
                "sets will change between runs. Please use a list instead."
            )
        params = list(params)
        if params and any(isinstance(entry, tuple) for entry in params):
            if not all(isinstance(entry, tuple) for entry in params):
                raise ValueError(
                    "all optimizer params should be with/without names. Some param names are missing"
                )
            names = [name for name, _ in params]
            params = [param for _, param in params]
            param_group = {"params": params, "param_names": names, **_without(param_group, "params")}
        self._check_params(params)
        param_group["params"] = params
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(
                    f"parameter group didn't specify a value of required optimization parameter {name}"
                )
            param_group.setdefault(name, default)
        if len(params) != len(set(params)):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this will "
                "cause an "
                "error; see github.com/pytorch/pytorch/issues/40967 for more information",
                stacklevel=4,
            )
        if self.param_groups and ("param_names" in param_group) != ("param_names" in self.param_groups[0]):
            named = "with" if "param_names" in param_group else "without"
            raise ValueError(
                "all optimizer param groups should be with/without names. "
                f"cannot add param group {named} names to the optimizer"
            )
        known = set(chain.from_iterable(group["params"] for group in self.param_groups))
        if not known.isdisjoint(params):
            raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(param_group)

    def _check_params(self, params: list[Any]) -> None:
        for param in params:
            if not isinstance(param, torch.Tensor):
                raise TypeError(
                    f"optimizer can only optimize Tensors, but one of the params is {type_name(param)}"
                )
            if not self.defaults.get("differentiable") and not (param.is_leaf or param.retains_grad):
                raise ValueError("can't optimize a non-leaf Tensor")

    # --- hooks

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """``hook(optimizer, args, kwargs)`` before each step; may return new ``(args, kwargs)``."""
        return add_hook(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """``hook(optimizer, args, kwargs)`` after each step."""
        return add_hook(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        return add_hook(self._optimizer_state_dict_pre_hooks, hook, prepend=prepend)

    def register_state_dict_post_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        return add_hook(self._optimizer_state_dict_post_hooks, hook, prepend=prepend)

    def register_load_state_dict_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        return add_hook(self._optimizer_load_state_dict_pre_hooks, hook, prepend=prepend)

    def register_load_state_dict_post_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        return add_hook(self._optimizer_load_state_dict_post_hooks, hook, prepend=prepend)

    # --- state

    def state_dict(self) -> dict[str, Any]:
        """Options and state, with every parameter replaced by its position over all groups."""
        for hook in list(self._optimizer_state_dict_pre_hooks.values()):
            hook(self)
        positions: dict[int, int] = {}
        groups = []
        for group in self.param_groups:
            for param in group["params"]:
                positions.setdefault(id(param), len(positions))
            packed = _without(group, "params")
            packed["params"] = [positions[id(param)] for param in group["params"]]
            groups.append(packed)
        state = {
            positions[id(key)] if isinstance(key, torch.Tensor) else key: value
            for key, value in self.state.items()
        }
        result: dict[str, Any] = {"state": state, "param_groups": groups}
        for hook in list(self._optimizer_state_dict_post_hooks.values()):
            changed = hook(self, result)
            if changed is not None:
                result = changed
        return result

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes a state over; its tensors move to the parameters' device and dtype, ``step`` counters
        stay.
        """
        state_dict = dict(state_dict)  # hooks may edit it; the caller's stays
        for hook in list(self._optimizer_load_state_dict_pre_hooks.values()):
            changed = hook(self, state_dict)
            if changed is not None:
                state_dict = changed
        saved_groups = state_dict["param_groups"]
        if len(saved_groups) != len(self.param_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        for ours, saved in zip(self.param_groups, saved_groups, strict=True):
            if len(ours["params"]) != len(saved["params"]):
                raise ValueError(
                    "loaded state dict contains a parameter group that doesn't match the size of "
                    "optimizer's group"
                )
        param_of: dict[Any, tuple[torch.Tensor, dict[str, Any]]] = {}
        for ours, saved in zip(self.param_groups, saved_groups, strict=True):
            for position, param in zip(saved["params"], ours["params"], strict=True):
                param_of[position] = (param, saved)
        state: defaultdict[Any, Any] = defaultdict(dict)
        for key, value in state_dict["state"].items():
            if key in param_of:
                param, group = param_of[key]
                state[param] = _adopted(value, param, group)
            else:
                state[key] = value
        groups = []
        for ours, saved in zip(self.param_groups, saved_groups, strict=True):
            group = dict(saved)
            group["params"] = ours["params"]
            if "param_names" in ours:  # names describe our parameters, not the file's
                group["param_names"] = ours["param_names"]
            else:
                group.pop("param_names", None)
            groups.append(group)
        self.__setstate__({"state": state, "param_groups": groups})
        for hook in list(self._optimizer_load_state_dict_post_hooks.values()):
            hook(self)

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Subclasses fill in options that older states lack."""
        self.__dict__.update(state)
        if "_optimizer_step_pre_hooks" not in self.__dict__:
            self._make_hook_tables()

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for position, group in enumerate(self.param_groups):
            if position:
                lines.append("")
            lines.append(f"Parameter Group {position}")
            lines += [f"    {key}: {group[key]}" for key in sorted(group) if key != "params"]
        return "\n".join([*lines, ")"])


def _use_grad_for_differentiable(step: Function) -> Function:
    """Runs a ``step`` outside autograd, unless its optimizer is ``differentiable``."""

    @functools.wraps(step)
    def run(self: Optimizer, *args: Any, **kwargs: Any) -> Any:
        before = torch.is_grad_enabled()
        _C._set_grad_enabled(bool(self.defaults.get("differentiable")))
        try:
            return step(self, *args, **kwargs)
        finally:
            _C._set_grad_enabled(before)

    return run  # type: ignore[return-value]


def _all_of(first: dict[int, Any], second: dict[int, Any]) -> Iterable[Any]:
    """The hooks of two tables, as they are now: a hook may remove itself."""
    return [*first.values(), *second.values()] if first or second else ()


def loss_of(closure: Callable[[], Any] | None) -> Any:
    """What the closure of a step computes, with gradients on."""
    if closure is None:
        return None
    with torch.enable_grad():
        return closure()


def trainable(group: dict[str, Any]) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """The parameters of a group that have a gradient, and those gradients."""
    params, gradients = [], []
    for param in group["params"]:
        gradient = param.grad
        if gradient is not None:
            params.append(param)
            gradients.append(gradient)
    return params, gradients


def number(value: Any) -> Any:
    """An option that may be given as a tensor of one element."""
    return value.item() if isinstance(value, torch.Tensor) else value


def counter(param: torch.Tensor, group: dict[str, Any], value: float = 0.0) -> torch.Tensor:
    """A number of the state. It lives on the host, where it is read at every step, except where a step must
    not wait for the device."""
    on_device = group.get("capturable") or group.get("fused")
    return torch.tensor(
        value, dtype=_get_scalar_dtype(bool(group.get("fused"))), device=param.device if on_device else "cpu"
    )


def zeros_beside(param: torch.Tensor) -> torch.Tensor:
    return torch.zeros_like(param, memory_format=torch.preserve_format)


def _get_scalar_dtype(is_fused: bool = False) -> torch.dtype:
    """The dtype of counters."""
    if is_fused or torch.get_default_dtype() != torch.float64:
        return torch.float32
    return torch.float64


def _get_value(value: Any) -> Any:
    return number(value)


def _to_scalar(value: Any) -> Any:
    """A tensor of one element without its dimensions; a number as it is."""
    return value.squeeze() if isinstance(value, torch.Tensor) and value.dim() != 0 else value


def _get_capturable_supported_devices(supports_xla: bool = True) -> list[str]:
    """Devices on which ``capturable`` makes a difference."""
    return list(registry.accelerators)


def _get_foreach_kernels_supported_devices() -> list[str]:
    return ["cpu", *registry.accelerators]


def _get_fused_kernels_supported_devices() -> list[str]:
    return ["cpu", *registry.accelerators]


# What optimizers outside this package import, beside the above.


def _default_to_fused_or_foreach(
    params: list[torch.Tensor], differentiable: bool, use_fused: bool = False
) -> tuple[bool, bool]:
    """(fused, foreach): which of its implementations an optimizer should take where the program did not say."""
    if differentiable:
        return False, False

    def all_on(devices: list[str]) -> bool:
        return all(param.device.type in devices for param in params)

    floating = all(param.is_floating_point() for param in params)
    fused = use_fused and floating and all_on(_get_fused_kernels_supported_devices())
    return fused, not fused and all_on(_get_capturable_supported_devices())


def _group_tensors_by_device_and_dtype(
    tensorlistlist: list[list[Any]], with_indices: bool = False
) -> dict[tuple[Any, Any], tuple[list[list[Any]], list[int]]]:
    """Lists that belong together, element by element, split by the device and dtype of the first list's tensors."""
    lengths = {len(tensors) for tensors in tensorlistlist if tensors}
    if len(lengths) > 1:
        raise RuntimeError(
            f"wanted lists of one length, or empty ones; got {[len(t) for t in tensorlistlist]}"
        )
    groups: dict[tuple[Any, Any], tuple[list[list[Any]], list[int]]] = {}
    for index, first in enumerate(tensorlistlist[0]):
        key = (first.device, first.dtype)
        lists, indices = groups.setdefault(key, ([[] for _ in tensorlistlist], []))
        for into, tensors in zip(lists, tensorlistlist, strict=True):
            if tensors:
                into.append(tensors[index])
        if with_indices:
            indices.append(index)
    return groups


def _view_as_real(params: list[torch.Tensor], *state_and_grads: list[torch.Tensor]) -> None:
    """Puts real views in the place of complex parameters, and of their gradients and states."""
    for index, param in enumerate(params):
        if param.is_complex():
            for tensors in (params, *state_and_grads):
                tensors[index] = torch.view_as_real(tensors[index])


def _stack_if_compiling(x: Any) -> Any:
    """The values as they are: nothing is compiled."""
    return x


def _disable_dynamo_if_unsupported(single_tensor_fn: Any = None) -> Callable[[Function], Function]:
    """A decorator that changes nothing: nothing is compiled."""
    return lambda function: function


def _without(mapping: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in mapping.items() if key != name}


def _adopted(value: Any, param: torch.Tensor, group: dict[str, Any], key: str | None = None) -> Any:
    """A saved value, moved to where its parameter lives; containers are copied."""
    if isinstance(value, torch.Tensor):
        if key == "step":
            on_device = group.get("capturable") or group.get("fused")
            return value.to(dtype=torch.float32, device=param.device) if on_device else value
        if param.is_floating_point():
            return value.to(dtype=param.dtype, device=param.device)
        return value.to(device=param.device)
    if isinstance(value, dict):
        return {name: _adopted(entry, param, group, name) for name, entry in value.items()}
    if isinstance(value, (list, tuple, set)):
        return type(value)(_adopted(entry, param, group) for entry in value)
    return value


__getattr__ = names_of(__name__)
