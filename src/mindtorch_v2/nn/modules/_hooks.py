"""Hooks of modules, and the call that runs them."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import mindtorch_v2 as torch

from ...utils.hooks import RemovableHandle, add_hook
from ._backward_hooks import ModuleGradients, hook_last_node

Hooks = OrderedDict[int, Callable[..., Any]]

# The hooks of all modules.
_global_backward_pre_hooks: Hooks = OrderedDict()
_global_backward_hooks: Hooks = OrderedDict()
_global_is_full_backward_hook: bool | None = None
_global_forward_pre_hooks: Hooks = OrderedDict()
_global_forward_hooks: Hooks = OrderedDict()
_global_forward_hooks_always_called: dict[int, bool] = OrderedDict()
_global_forward_hooks_with_kwargs: dict[int, bool] = OrderedDict()
_global_buffer_registration_hooks: Hooks = OrderedDict()
_global_module_registration_hooks: Hooks = OrderedDict()
_global_parameter_registration_hooks: Hooks = OrderedDict()


def _has_any_global_hook() -> bool:
    return bool(
        _global_backward_pre_hooks
        or _global_backward_hooks
        or _global_forward_pre_hooks
        or _global_forward_hooks
    )


def register_module_parameter_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """``hook(module, name, parameter)`` whenever a module gets a parameter; what it returns replaces it."""
    return add_hook(_global_parameter_registration_hooks, hook)


def register_module_buffer_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """``hook(module, name, buffer)`` whenever a module gets a buffer; what it returns replaces it."""
    return add_hook(_global_buffer_registration_hooks, hook)


def register_module_module_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """``hook(module, name, child)`` whenever a module gets a child; what it returns replaces it."""
    return add_hook(_global_module_registration_hooks, hook)


def register_module_forward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """``hook(module, args)`` before every module's ``forward``."""
    return add_hook(_global_forward_pre_hooks, hook)


def register_module_forward_hook(
    hook: Callable[..., Any], *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """``hook(module, args, output)`` after every module's ``forward``."""
    extra = [_global_forward_hooks_with_kwargs, _global_forward_hooks_always_called]
    handle = add_hook(_global_forward_hooks, hook, extra=extra)
    if with_kwargs:
        _global_forward_hooks_with_kwargs[handle.id] = True
    if always_call:
        _global_forward_hooks_always_called[handle.id] = True
    return handle


def _set_global_kind(full: bool) -> None:
    global _global_is_full_backward_hook
    if _global_is_full_backward_hook is (not full):
        raise RuntimeError(
            "Cannot use both regular backward hooks and full backward hooks as a global Module hook. Please "
            "use only one of them."
        )
    _global_is_full_backward_hook = full


def register_module_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """The older kind of backward hook for all modules; prefer ``register_module_full_backward_hook``."""
    _set_global_kind(full=False)
    return add_hook(_global_backward_hooks, hook)


def register_module_full_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """``hook(module, grad_input, grad_output)`` for every module."""
    _set_global_kind(full=True)
    return add_hook(_global_backward_hooks, hook)


def register_module_full_backward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """``hook(module, grad_output)`` for every module."""
    return add_hook(_global_backward_pre_hooks, hook)


class ModuleHooks:
    """The part of ``Module`` that calls ``forward`` with hooks around it. Only ``Module`` derives from it."""

    _backward_pre_hooks: Hooks
    _backward_hooks: Hooks
    _is_full_backward_hook: bool | None
    _forward_hooks: Hooks
    _forward_hooks_with_kwargs: dict[int, bool]
    _forward_hooks_always_called: dict[int, bool]
    _forward_pre_hooks: Hooks
    _forward_pre_hooks_with_kwargs: dict[int, bool]
    forward: Callable[..., Any]

    # --- registering

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """``hook(module, args)`` before ``forward``; what it returns replaces the arguments.

        With ``with_kwargs`` it is ``hook(module, args, kwargs)``, returning None or ``(args, kwargs)``.
        """
        handle = add_hook(
            self._forward_pre_hooks, hook, extra=self._forward_pre_hooks_with_kwargs, prepend=prepend
        )
        if with_kwargs:
            self._forward_pre_hooks_with_kwargs[handle.id] = True
        return handle

    def register_forward_hook(
        self,
        hook: Callable[..., Any],
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:
        """``hook(module, args, output)`` after ``forward``; what it returns (unless None) replaces the
        output.

        ``always_call``: also when ``forward`` raised, with None for the output.
        """
        extra = [self._forward_hooks_with_kwargs, self._forward_hooks_always_called]
        handle = add_hook(self._forward_hooks, hook, extra=extra, prepend=prepend)
        if with_kwargs:
            self._forward_hooks_with_kwargs[handle.id] = True
        if always_call:
            self._forward_hooks_always_called[handle.id] = True
        return handle

    def _set_backward_kind(self, full: bool) -> None:
        if self._is_full_backward_hook is (not full):
            raise RuntimeError(
                "Cannot use both regular backward hooks and full backward hooks on a single Module. Please use "
                "only one of them."
            )
        self._is_full_backward_hook = full

    def register_full_backward_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """``hook(module, grad_output)`` before the module's backward; it may return a new ``grad_output``."""
        return add_hook(self._backward_pre_hooks, hook, prepend=prepend)

    def register_full_backward_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """``hook(module, grad_input, grad_output)`` after the module's backward; it may return a new
        ``grad_input``.
        """
        self._set_backward_kind(full=True)
        return add_hook(self._backward_hooks, hook, prepend=prepend)

    def register_backward_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """The older kind, which sees only the last node of the module; prefer
        ``register_full_backward_hook``.
        """
        self._set_backward_kind(full=False)
        return add_hook(self._backward_hooks, hook)

    # --- calling

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if (
            self._forward_hooks
            or self._forward_pre_hooks
            or self._backward_hooks
            or self._backward_pre_hooks
            or _global_forward_hooks
            or _global_forward_pre_hooks
            or _global_backward_hooks
            or _global_backward_pre_hooks
        ):
            return self._call_with_hooks(args, kwargs)
        return self.forward(*args, **kwargs)

    def _call_impl(self, *args: Any, **kwargs: Any) -> Any:
        """Another name of the call, which wrappers of modules use."""
        return ModuleHooks.__call__(self, *args, **kwargs)

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Takes ``torch.compile``'s options. Modules run as they are written, compiled or not."""
        torch.compile(self._call_impl, *args, **kwargs)

    def _call_with_hooks(self, args: Any, kwargs: dict[str, Any]) -> Any:
        done: set[int] = set()
        result = None
        try:
            args, kwargs = self._run_pre_hooks(args, kwargs)
            full, older = self._get_backward_hooks()
            pre_hooks = self._get_backward_pre_hooks()
            gradients = ModuleGradients(self, full, pre_hooks) if full or pre_hooks else None
            if gradients is not None:
                args = gradients.watch_inputs(args)
            result = self.forward(*args, **kwargs)
            for key, hook, with_kwargs, _ in self._all_forward_hooks():
                done.add(key)
                changed = self._call_forward_hook(hook, with_kwargs, args, kwargs, result)
                if changed is not None:
                    result = changed
            if gradients is not None:
                result = gradients.watch_outputs(result)
            if older:
                hook_last_node(self, older, args, result)
        except Exception:  # not swallowed: the hooks that must run do, then it is raised again
            for key, hook, with_kwargs, always in self._all_forward_hooks():
                if always and key not in done:
                    try:
                        self._call_forward_hook(hook, with_kwargs, args, kwargs, result)
                    except Exception as error:  # noqa: BLE001 - the first exception is the one to raise
                        warnings.warn(
                            "module forward hook with ``always_call=True`` raised an exception that was "
                            f"silenced as another error was raised in forward: {error}",
                            stacklevel=3,
                        )
            raise
        return result

    def _run_pre_hooks(self, args: Any, kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        for key, hook in [*_global_forward_pre_hooks.items(), *self._forward_pre_hooks.items()]:
            if key in self._forward_pre_hooks_with_kwargs:
                changed = hook(self, args, kwargs)
                if changed is not None:
                    if not (isinstance(changed, tuple) and len(changed) == 2):
                        raise RuntimeError(
                            "forward pre-hook must return None or a tuple of (new_args, new_kwargs), "
                            f"but got {changed}."
                        )
                    args, kwargs = changed
            else:
                changed = hook(self, args)
                if changed is not None:
                    args = changed if isinstance(changed, tuple) else (changed,)
        return args, kwargs

    def _all_forward_hooks(self) -> list[tuple[int, Callable[..., Any], bool, bool]]:
        """(id, hook, wants kwargs, always called); those of all modules first."""
        tables = (
            (
                _global_forward_hooks,
                _global_forward_hooks_with_kwargs,
                _global_forward_hooks_always_called,
            ),
            (self._forward_hooks, self._forward_hooks_with_kwargs, self._forward_hooks_always_called),
        )
        return [
            (key, hook, key in with_kwargs, key in always)
            for hooks, with_kwargs, always in tables
            for key, hook in hooks.items()
        ]

    def _call_forward_hook(
        self, hook: Any, with_kwargs: bool, args: Any, kwargs: dict[str, Any], result: Any
    ) -> Any:
        return hook(self, args, kwargs, result) if with_kwargs else hook(self, args, result)

    def _get_backward_hooks(self) -> tuple[list[Any], list[Any]]:
        """(full hooks, hooks of the older kind)."""
        full: list[Any] = []
        older: list[Any] = []
        (full if _global_is_full_backward_hook else older).extend(_global_backward_hooks.values())
        (full if self._is_full_backward_hook else older).extend(self._backward_hooks.values())
        return full, older

    def _get_backward_pre_hooks(self) -> list[Any]:
        return [*_global_backward_pre_hooks.values(), *self._backward_pre_hooks.values()]
