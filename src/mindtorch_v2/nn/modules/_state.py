"""A module's state as a flat dictionary, and loading it back."""

from __future__ import annotations

import warnings
from collections import OrderedDict, namedtuple
from collections.abc import Callable, Mapping
from typing import Any

import mindtorch_v2 as torch

from ...utils._swapping import swap_tensors
from ...utils.hooks import RemovableHandle, add_hook
from ..parameter import Parameter, is_lazy

EXTRA_STATE = "_extra_state"


def _parts_by_child(state: Mapping[str, Any], prefix: str) -> dict[str, dict[str, Any]]:
    """What belongs to each child, by name. All children in one pass: one pass for each takes time with the square of
    their number.
    """
    parts: dict[str, dict[str, Any]] = {}
    for key, value in state.items():
        name, dot, _ = key[len(prefix) :].partition(".")
        if dot and key.startswith(prefix):
            parts.setdefault(name, {})[key] = value
    return parts


class _IncompatibleKeys(namedtuple("_IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    """What ``load_state_dict`` could not match."""

    __slots__ = ()

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return super().__repr__()

    __str__ = __repr__


def _call_post_hooks(module: Any, incompatible: _IncompatibleKeys) -> None:
    for hook in module._load_state_dict_post_hooks.values():
        if hook(module, incompatible) is not None:
            raise RuntimeError(
                "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return "
                "new values, if incompatible_keys need to be modified, it should be done inplace."
            )


def _as_parameter(current: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    """A loaded tensor for the place of one of the module: a parameter where that is one."""
    if not isinstance(current, Parameter):
        return value
    if isinstance(value, Parameter):
        return value.requires_grad_(current.requires_grad)
    return Parameter(value, current.requires_grad)


def _swap_with(current: torch.Tensor, value: torch.Tensor, assign: bool) -> None:
    """Exchanges a tensor of the module with what its class makes of the loaded one."""
    made = current.module_load(value, assign=assign)
    if made is value or made is current:
        raise RuntimeError(
            "module_load returned one of self or other, please .detach() the result if returning one of the inputs "
            "in module_load"
        )
    swap_tensors(current, _as_parameter(current, made))


class ModuleState:
    """The part of ``Module`` that saves and loads. Only ``Module`` derives from it."""

    _version: int = 1  # of the layout; kept in the state's metadata so that later versions can convert
    _modules: dict[str, Any]  # of Module, which programs evaluate annotations without
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, torch.Tensor | None]
    _non_persistent_buffers_set: set[str]
    _state_dict_hooks: OrderedDict[int, Callable[..., Any]]
    _state_dict_pre_hooks: OrderedDict[int, Callable[..., Any]]
    _load_state_dict_pre_hooks: OrderedDict[int, tuple[Callable[..., Any], bool]]
    _load_state_dict_post_hooks: OrderedDict[int, Callable[..., Any]]

    # --- hooks

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """``hook(module, prefix, keep_vars)`` runs before the module's state is collected."""
        return add_hook(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """``hook(module, state_dict, prefix, local_metadata)`` may edit the collected state in place."""

        hook._from_public_api = True  # type: ignore[attr-defined] # what it returns is looked at by this mark
        return add_hook(self._state_dict_hooks, hook)

    def _register_state_dict_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """As the post hook, but what it returns (unless None) replaces the state."""
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError(
                "Cannot register the same function as the state dict post hook that was previously registered via "
                "register_state_dict_post_hook"
            )
        return add_hook(self._state_dict_hooks, hook)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """``hook(module, state_dict, prefix, local_metadata, strict, missing, unexpected, errors)``."""
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def _register_load_state_dict_pre_hook(
        self, hook: Callable[..., Any], with_module: bool = False
    ) -> RemovableHandle:
        # The flag is stored with the hook, so that a deep copy passes the copy and not this module.
        return add_hook(self._load_state_dict_pre_hooks, (hook, with_module))

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """``hook(module, incompatible_keys)`` may edit the lists of keys in place."""
        return add_hook(self._load_state_dict_post_hooks, hook)

    # --- saving

    def get_extra_state(self) -> Any:
        raise RuntimeError(
            "Reached a code path in Module.get_extra_state() that should never be called. "
            "Override it together with set_extra_state() to keep state that is not a tensor."
        )

    def set_extra_state(self, state: Any) -> None:
        raise RuntimeError(
            "Reached a code path in Module.set_extra_state() that should never be called. "
            "Override it together with get_extra_state() to keep state that is not a tensor."
        )

    def _local_state(self) -> dict[str, torch.Tensor]:
        state: dict[str, Any] = dict(self._parameters)
        state.update((k, v) for k, v in self._buffers.items() if k not in self._non_persistent_buffers_set)
        return {name: value for name, value in state.items() if value is not None}

    def _save_to_state_dict(self, destination: dict[str, Any], prefix: str, keep_vars: bool) -> None:
        for name, value in self._local_state().items():
            destination[prefix + name] = value if keep_vars else value.detach()
        if type(self).get_extra_state is not ModuleState.get_extra_state:
            destination[prefix + EXTRA_STATE] = self.get_extra_state()

    def state_dict(
        self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> dict[str, Any]:
        """Parameters and persistent buffers of the tree by dotted name. Without ``keep_vars`` they
        are detached.
        """
        if args:
            warnings.warn(
                "Positional args are being deprecated, use kwargs instead. "
                "state_dict(destination=..., prefix=..., keep_vars=...)",
                FutureWarning,
                stacklevel=2,
            )
            given = (*args, *(destination, prefix, keep_vars)[len(args) :])
            destination, prefix, keep_vars = given
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = metadata
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, child in self._modules.items():
            if child is not None:
                child.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in self._state_dict_hooks.values():
            replaced = hook(self, destination, prefix, metadata)
            if getattr(hook, "_from_public_api", False):
                if replaced is not None:
                    raise RuntimeError("state_dict post-hook must return None")
            elif replaced is not None:
                destination = replaced
        return destination  # type: ignore[no-any-return]

    # --- loading

    def _load_from_state_dict(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Takes this module's own entries (not its children's) and notes what is missing, left over
        or wrong.
        """
        for hook, with_module in self._load_state_dict_pre_hooks.values():
            first = (self,) if with_module else ()
            hook(
                *first, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
            )
        local = self._local_state()
        assign = local_metadata.get("assign_to_params_buffers", False)
        for name, current in local.items():
            key = prefix + name
            if key in state_dict:
                error = self._load_entry(name, current, key, state_dict[key], assign)
                if error:
                    error_msgs.append(error)
            elif strict:
                missing_keys.append(key)
        extra_key = prefix + EXTRA_STATE
        if type(self).set_extra_state is not ModuleState.set_extra_state:
            if extra_key in state_dict:
                self.set_extra_state(state_dict[extra_key])
            elif strict:
                missing_keys.append(extra_key)
        elif strict and extra_key in state_dict:
            unexpected_keys.append(extra_key)
        if strict:
            for key in state_dict:
                if key.startswith(prefix) and key != extra_key:
                    name, dot, _ = key[len(prefix) :].partition(".")
                    if name not in (self._modules if dot else local):
                        unexpected_keys.append(key)

    def _load_entry(self, name: str, current: torch.Tensor, key: str, value: Any, assign: bool) -> str | None:
        """Copies (or assigns) one tensor; returns what went wrong, because all errors are reported
        together.
        """
        if not isinstance(value, torch.Tensor):
            return (
                f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object '
                f"from checkpoint but received {type(value)}"
            )
        if is_lazy(current):  # and so is the value, or the shape would have been taken from it
            return None
        if current.dim() == 0 and value.shape == (1,):
            value = value[0]  # files written before there were 0-dim tensors
        if value.shape != current.shape:
            return (
                f"size mismatch for {key}: copying a param with shape {value.shape} from checkpoint, the "
                "shape in "
                f"current model is {current.shape}."
            )
        if current.is_meta and not value.is_meta and not assign:
            warnings.warn(
                f"for {key}: copying from a non-meta parameter in the checkpoint to a meta parameter in "
                "the current "
                "model, which is a no-op. (Did you mean to pass `assign=True` to assign items in the state "
                "dictionary to their corresponding key in the module instead of copying them in place?)",
                stacklevel=6,
            )
        swap = torch.__future__.get_swap_module_params_on_conversion()
        try:
            with torch.no_grad():
                if swap:
                    _swap_with(current, value, assign)
                elif assign:
                    setattr(self, name, _as_parameter(current, value))
                else:
                    current.copy_(value)
        except Exception as error:  # noqa: BLE001 - all of them are reported together
            action = "swapping" if swap else "copying"
            return (
                f'While {action} the parameter named "{key}", whose dimensions in the model are '
                f"{current.shape} and whose dimensions in the checkpoint are {value.shape}, "
                f"an exception occurred : {error.args}."
            )
        return None

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> _IncompatibleKeys:
        """Copies a state into this tree. ``strict``: the keys must be exactly ours. ``assign``: take
        the tensors.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        missing: list[str] = []
        unexpected: list[str] = []
        errors: list[str] = []
        metadata = getattr(state_dict, "_metadata", None)
        everything: Any = OrderedDict(state_dict)
        if metadata is not None:
            everything._metadata = metadata  # pre-hooks may look at it

        # On a list and not by a function that calls itself: that would hold the state until the collector comes.
        incompatible = _IncompatibleKeys(missing, unexpected)
        waiting: list[tuple[Any, dict[str, Any] | None, str]] = [(self, everything, "")]
        while waiting:
            module, state, prefix = waiting.pop()
            if state is None:  # its children are done
                _call_post_hooks(module, incompatible)
                continue
            local_metadata = {} if metadata is None else dict(metadata.get(prefix[:-1], {}))
            if assign:
                local_metadata["assign_to_params_buffers"] = assign
            module._load_from_state_dict(state, prefix, local_metadata, True, missing, unexpected, errors)
            waiting.append((module, None, prefix))
            parts = _parts_by_child(state, prefix)
            for name, child in reversed(module._modules.items()):
                if child is not None:
                    waiting.append((child, parts.get(name, {}), f"{prefix}{name}."))
        if strict:
            listings = []
            for title, keys in (("Missing", missing), ("Unexpected", unexpected)):
                if keys:
                    names = ", ".join(f'"{key}"' for key in keys)
                    listings.append(f"{title} key(s) in state_dict: {names}. ")
            errors = listings + errors
        if errors:
            details = "\n\t".join(errors)
            raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t{details}")
        return _IncompatibleKeys(missing, unexpected)
