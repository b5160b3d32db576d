"""Module: the base class of everything with parameters.

Its three large concerns live beside it (`_traversal`, `_conversion`, `_state`); here is what a module is: its
attributes, its hooks, its call and its text.
"""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any, Self

import mindtorch_v2 as torch

from ...utils.hooks import RemovableHandle, add_hook
from ..parameter import Buffer, Parameter
from ._conversion import ModuleConversion
from ._state import ModuleState
from ._traversal import ModuleTraversal


class Module(ModuleTraversal, ModuleConversion, ModuleState):
    """Holds parameters, buffers and other modules as attributes and computes in ``forward``."""

    dump_patches: bool = False
    call_super_init: bool = False  # True: Module.__init__ passes its arguments on to the next class (mixins)
    training: bool

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self.call_super_init:
            if kwargs:
                name = next(iter(kwargs))
                raise TypeError(
                    f"{type(self).__name__}.__init__() got an unexpected keyword argument '{name}'"
                )
            if args:
                raise TypeError(
                    f"{type(self).__name__}.__init__() takes 1 positional argument but {len(args) + 1} "
                    "were given"
                )
        # Written past __setattr__, which needs these tables to decide where a value belongs.
        self.__dict__.update(
            training=True,
            _parameters={},
            _buffers={},
            _non_persistent_buffers_set=set(),
            _modules={},
            _forward_hooks=OrderedDict(),
            _forward_hooks_with_kwargs=OrderedDict(),
            _forward_hooks_always_called=OrderedDict(),
            _forward_pre_hooks=OrderedDict(),
            _forward_pre_hooks_with_kwargs=OrderedDict(),
            _state_dict_hooks=OrderedDict(),
            _state_dict_pre_hooks=OrderedDict(),
            _load_state_dict_pre_hooks=OrderedDict(),
            _load_state_dict_post_hooks=OrderedDict(),
        )
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the module computes; every subclass defines it. Call the module, not this: hooks run then."""
        raise NotImplementedError(
            f'Module [{type(self).__name__}] is missing the required "forward" function'
        )

    # --- attributes

    def _check_new_name(self, kind: str, name: Any, table: str) -> None:
        if table not in self.__dict__:
            raise AttributeError(f"cannot assign {kind} before Module.__init__() call")
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {type_name(name)}")
        if "." in name:
            got = f", got: {name}" if kind == "module" else ""
            raise KeyError(f'{kind} name can\'t contain "."{got}')
        if name == "":
            raise KeyError(f'{kind} name can\'t be empty string ""')
        if hasattr(self, name) and name not in self.__dict__[table]:
            raise KeyError(f"attribute '{name}' already exists")

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        self._check_new_name("parameter", name, "_parameters")
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign '{type_name(param)}' object to parameter '{name}' (torch.nn.Parameter or "
                "None required)"
            )
        if param is not None and param.grad_fn is not None:
            raise ValueError(
                f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created "
                "explicitly. "
                f"To express '{name}' as a function of another Tensor, compute the value in the forward() "
                "method."
            )
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: torch.Tensor | None, persistent: bool = True) -> None:
        """A tensor that moves with the module. ``persistent``: it is also part of ``state_dict``."""
        self._check_new_name("buffer", name, "_buffers")
        if tensor is not None and not isinstance(tensor, torch.Tensor):
            raise TypeError(
                f"cannot assign '{type_name(tensor)}' object to buffer '{name}' (torch Tensor or None "
                "required)"
            )
        self._buffers[name] = tensor
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def add_module(self, name: str, module: Module | None) -> None:
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{type_name(module)} is not a Module subclass")
        self._check_new_name("module", name, "_modules")
        self._modules[name] = module

    def register_module(self, name: str, module: Module | None) -> None:
        self.add_module(name, module)

    def _forget(self, name: str, keep: str) -> None:
        """Removes ``name`` from wherever it is, except from the table it is about to enter."""
        self.__dict__.pop(name, None)
        for table in ("_parameters", "_buffers", "_modules"):
            if table != keep:
                self.__dict__[table].pop(name, None)
        if keep != "_buffers":
            self._non_persistent_buffers_set.discard(name)

    def __setattr__(self, name: str, value: Any) -> None:
        tables = self.__dict__
        if isinstance(value, Parameter):
            if "_parameters" not in tables:
                raise AttributeError("cannot assign parameters before Module.__init__() call")
            self._forget(name, keep="_parameters")
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            if "_modules" not in tables:
                raise AttributeError("cannot assign module before Module.__init__() call")
            self._forget(name, keep="_modules")
            self._modules[name] = value
        elif isinstance(value, Buffer):
            if "_buffers" not in tables:
                raise AttributeError("cannot assign buffer before Module.__init__() call")
            self._forget(name, keep="_buffers")
            self.register_buffer(name, value, value.persistent)
        elif name in tables.get("_parameters", ()):
            if value is not None:
                raise TypeError(
                    f"cannot assign '{type_name(value)}' as parameter '{name}' (torch.nn.Parameter or "
                    "None expected)"
                )
            self._parameters[name] = None
        elif name in tables.get("_modules", ()):
            if value is not None:
                raise TypeError(
                    f"cannot assign '{type_name(value)}' as child module '{name}' (torch.nn.Module or "
                    "None expected)"
                )
            self._modules[name] = None
        elif name in tables.get("_buffers", ()):
            if value is not None and not isinstance(value, torch.Tensor):
                raise TypeError(
                    f"cannot assign '{type_name(value)}' as buffer '{name}' "
                    "(torch.nn.Buffer, torch.Tensor or None expected)"
                )
            self._buffers[name] = value
        else:
            super().__setattr__(name, value)

    def __getattr__(self, name: str) -> Any:
        # Reached only when the usual lookup found nothing.
        tables = self.__dict__
        for table in ("_parameters", "_buffers", "_modules"):
            if table in tables and name in tables[table]:
                return tables[table][name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __delattr__(self, name: str) -> None:
        for table in (self._parameters, self._buffers, self._modules):
            if name in table:
                del table[name]
                self._non_persistent_buffers_set.discard(name)
                return
        super().__delattr__(name)

    def __dir__(self) -> list[str]:
        names = set(dir(type(self))) | set(self.__dict__)
        names |= set(self._parameters) | set(self._buffers) | set(self._modules)
        return sorted(name for name in names if not name[0].isdigit())  # what can be written after a dot

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    # --- hooks and the call

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

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._forward_hooks or self._forward_pre_hooks:
            return self._call_with_hooks(args, kwargs)
        return self.forward(*args, **kwargs)

    def _call_with_hooks(self, args: Any, kwargs: dict[str, Any]) -> Any:
        done: set[int] = set()
        result = None
        try:
            for key, hook in list(self._forward_pre_hooks.items()):
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
            result = self.forward(*args, **kwargs)
            for key, hook in list(self._forward_hooks.items()):
                done.add(key)
                changed = self._call_forward_hook(key, hook, args, kwargs, result)
                if changed is not None:
                    result = changed
        except Exception:  # not swallowed: the hooks that must run do, then it is raised again
            for key, hook in list(self._forward_hooks.items()):
                if key in self._forward_hooks_always_called and key not in done:
                    try:
                        self._call_forward_hook(key, hook, args, kwargs, result)
                    except Exception as error:  # noqa: BLE001 - the first exception is the one to raise
                        warnings.warn(
                            "module forward hook with ``always_call=True`` raised an exception that was "
                            "silenced as "
                            f"another error was raised in forward: {error}",
                            stacklevel=3,
                        )
            raise
        return result

    def _call_forward_hook(self, key: int, hook: Any, args: Any, kwargs: dict[str, Any], result: Any) -> Any:
        if key in self._forward_hooks_with_kwargs:
            return hook(self, args, kwargs, result)
        return hook(self, args, result)

    # --- modes

    def train(self, mode: bool = True) -> Self:
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for child in self.children():
            child.train(mode)
        return self

    def eval(self) -> Self:
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        clear_gradients(self.parameters(), set_to_none)

    # --- text

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """What stands in the parentheses of this module's own line."""
        return ""

    def __repr__(self) -> str:
        own = self.extra_repr()
        lines = own.split("\n") if own else []
        children = [f"({name}): {indent_lines(repr(child))}" for name, child in self._modules.items()]
        if not children and len(lines) <= 1:
            return f"{self._get_name()}({own})"
        body = "\n  ".join(lines + children)
        return f"{self._get_name()}(\n  {body}\n)"


def clear_gradients(parameters: Iterable[torch.Tensor], set_to_none: bool) -> None:
    for parameter in parameters:
        gradient = parameter.grad
        if gradient is None:
            continue
        if set_to_none:
            parameter.grad = None
            continue
        if gradient.grad_fn is not None:
            gradient.detach_()
        else:
            gradient.requires_grad_(False)
        gradient.zero_()


def indent_lines(text: str) -> str:
    """All lines but the first moved two columns in."""
    return text.replace("\n", "\n  ")


def type_name(value: Any) -> str:
    """A type as error messages name it: ``torch.FloatTensor``, ``int``, ``package.Class``."""
    if isinstance(value, torch.Tensor):
        return value.type()
    kind = type(value)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
