"""Runs a program on proxies and keeps what it did as a graph."""

from __future__ import annotations

import collections
import functools
import inspect
import math
import warnings
from collections.abc import Callable
from itertools import chain
from types import CodeType, FunctionType, ModuleType
from typing import Any

import mindtorch_v2 as torch

from .._absent import names_of
from ..utils import _pytree as pytree
from ._compatibility import compatibility
from ._lazy_graph_module import _make_graph_module
from ._patching import _autowrap_check, _new_patcher, _patch_wrapped_functions, wrap
from ._patching import _create_wrapped_func as _create_wrapped_func
from ._patching import _Patcher as _Patcher
from ._patching import _wrapped_fns_to_patch as _wrapped_fns_to_patch
from ._patching import _wrapped_methods_to_patch as _wrapped_methods_to_patch
from ._qualified_names import is_of_package, public_module
from .graph import Graph, _PyTreeCodeGen, _PyTreeInfo
from .graph_module import GraphModule, default_tracer
from .node import Argument, base_types, map_aggregate
from .proxy import ParameterProxy, Proxy, Scope, ScopeContextManager, TracerBase

__all__ = [
    "PH", "PHBase", "PHWithMeta", "ProxyableClassMeta", "Tracer", "is_fx_tracing", "symbolic_trace", "wrap",
]  # fmt: skip

# What tracers of other libraries replace and call.
_orig_module_call = torch.nn.Module.__call__
_orig_module_getattr = torch.nn.Module.__getattr__

_is_fx_tracing_flag = False


def is_fx_tracing() -> bool:
    """Whether a program is being traced."""
    return _is_fx_tracing_flag


is_fx_symbolic_tracing = is_fx_tracing


@compatibility(is_backward_compatible=True)
class ProxyableClassMeta(type):
    """A metaclass: an object made of proxies is recorded as the call that makes it."""

    _proxyable_classes: dict[type, None] = {}

    def __init__(cls, name: str, bases: tuple[type, ...], attrs: dict[str, Any]) -> None:
        ProxyableClassMeta._proxyable_classes.setdefault(cls)
        super().__init__(name, bases, attrs)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        instance = cls.__new__(cls)  # type: ignore[call-overload]
        if not is_fx_tracing():
            cls.__init__(instance, *args, **kwargs)  # type: ignore[misc]
            return instance
        found: list[Proxy] = []

        def note(value: Any) -> Any:
            if isinstance(value, Proxy):
                found.append(value)
            return value

        map_aggregate((args, kwargs), note)
        if not found:
            cls.__init__(instance, *args, **kwargs)  # type: ignore[misc]
            return instance
        if any(proxy.tracer is not found[0].tracer for proxy in found):
            raise AssertionError("Found multiple different tracers among the arguments of a proxyable class")
        return found[0].tracer.create_proxy("call_function", cls, args, kwargs)


@compatibility(is_backward_compatible=False)
class PHBase:
    """A place in ``concrete_args`` that stays an input."""

    def __repr__(self) -> str:
        return "PH"


PH = PHBase()


@compatibility(is_backward_compatible=False)
class PHWithMeta(PHBase):
    """A place whose attributes go to the node of the input."""

    def __init__(self, ph_key: str | None = None) -> None:
        super().__init__()
        self.ph_key = ph_key


def _transfer_attrs(fr: Any, to: Any) -> None:
    for name in dir(fr):
        value = getattr(fr, name)
        if not callable(value) and not name.startswith("__") and not hasattr(to, name):
            setattr(to, name, value)


def _assert_is_none(value: object, msg: str) -> None:
    """Checks an input that the function was specialised on."""
    if value is not None:
        raise AssertionError(msg)


def _patch_function(fn: Callable[..., Any], nargs: int) -> FunctionType:
    """The function with all its inputs positional: what stars collect is one value, for a proxy stands for it."""
    code: CodeType = fn.__code__
    starless = code.co_flags & ~(inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
    plain = code.replace(co_flags=starless, co_argcount=nargs, co_posonlyargcount=0, co_kwonlyargcount=0)
    return FunctionType(plain, fn.__globals__, fn.__name__, None, fn.__closure__)


@compatibility(is_backward_compatible=True)
class Tracer(TracerBase):
    """Traces a module or function. Programs derive from it to say what is a leaf, and what else to record."""

    _qualname_counter: dict[str, int] = collections.defaultdict(int)

    @compatibility(is_backward_compatible=True)
    def __init__(
        self,
        autowrap_modules: tuple[ModuleType, ...] = (math,),
        autowrap_functions: tuple[Callable[..., Any], ...] = (),
        param_shapes_constant: bool = False,
    ) -> None:
        """``autowrap``: functions that are recorded, not run, when a proxy is among their arguments.
        ``param_shapes_constant``: shapes of parameters are numbers, not nodes."""
        super().__init__()
        functions = [
            value
            for name, value in chain.from_iterable(vars(module).items() for module in autowrap_modules)
            if not name.startswith("_") and callable(value)
        ]
        self._autowrap_function_ids = {id(function) for function in (*functions, *autowrap_functions)}
        self._autowrap_search: list[ModuleType] = list(autowrap_modules)
        self.param_shapes_constant = param_shapes_constant
        self.submodule_paths: dict[torch.nn.Module, str] | None = None
        self.root_module_name = ""
        self.scope = Scope("", None)
        self.module_stack = collections.OrderedDict()
        self.num_calls: dict[str, int] = {}
        self.node_name_to_scope = {}

    # ---- what programs override ----------------------------------------------------------------------

    @compatibility(is_backward_compatible=True)
    def is_leaf_module(self, m: torch.nn.Module, module_qualified_name: str) -> bool:
        """Whether a call of the module is one node. Modules of torch.nn are, but those made of others."""
        module = public_module(type(m).__module__)
        return module.startswith(("torch.nn", "torch.ao.nn")) and not isinstance(m, torch.nn.Sequential)

    @compatibility(is_backward_compatible=True)
    def path_of_module(self, mod: torch.nn.Module) -> str:
        """The name of a module inside the root."""
        if self.submodule_paths is not None:
            path = self.submodule_paths.get(mod)
            if path is None:
                raise NameError("module is not installed as a submodule")
            return path
        for name, module in self.root.named_modules():
            if module is mod:
                return str(name)
        raise NameError("module is not installed as a submodule")

    @compatibility(is_backward_compatible=True)
    def call_module(
        self, m: torch.nn.Module, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """A call of a module that was met: a node if it is a leaf, otherwise what its forward does."""
        path = self.path_of_module(m)
        with ScopeContextManager(self.scope, Scope(path, type(m))):
            calls = self.num_calls.get(path, 0)
            self.num_calls[path] = calls + 1
            key = f"{path}@{calls}" if calls > 0 else path
            self.module_stack[key] = (path, type(m))
            try:
                if self.is_leaf_module(m, path):
                    return self.create_proxy("call_module", path, args, kwargs)
                return forward(*args, **kwargs)
            finally:
                self.module_stack.popitem()

    @compatibility(is_backward_compatible=False)
    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Proxy]) -> Any:
        """What reading an attribute of a module gives: a proxy for parameters, and for buffers if they are asked
        for."""
        found: str | None = None
        if isinstance(attr_val, torch.nn.Parameter):
            found = self._name_of(attr_val, self.root.named_parameters())
        elif self.proxy_buffer_attributes and isinstance(attr_val, torch.Tensor):
            found = self._name_of(attr_val, self.root.named_buffers())
        if found is None:
            return attr_val
        if found not in parameter_proxy_cache:
            factory: Any = None
            if self.param_shapes_constant and isinstance(attr_val, torch.nn.Parameter):
                factory = functools.partial(self._parameter_proxy, found, attr_val)
            # Programs override create_proxy, some without the last argument.
            given = {} if factory is None else {"proxy_factory_fn": factory}
            parameter_proxy_cache[found] = self.create_proxy("get_attr", found, (), {}, **given)
        return parameter_proxy_cache[found]

    def _parameter_proxy(self, name: str, parameter: torch.nn.Parameter, node: Any) -> ParameterProxy:
        return ParameterProxy(self, node, name, parameter)

    @staticmethod
    def _name_of(wanted: Any, named: Any) -> str | None:
        return next((name for name, value in named if value is wanted), None)

    @compatibility(is_backward_compatible=False)
    def get_fresh_qualname(self, prefix: str) -> str:
        """A name that the root has nothing under."""
        number = self._qualname_counter[prefix]
        while hasattr(self.root, f"{prefix}{number}"):
            number += 1
        self._qualname_counter[prefix] = number
        return f"{prefix}{number}"

    @compatibility(is_backward_compatible=True)
    def create_arg(self, a: Any) -> Argument:
        """A value as the argument of a node. Parameters, buffers, modules and other tensors are read from the
        root, which gets those that it has not."""
        if isinstance(a, torch.nn.Parameter):
            name = self._name_of(a, self.root.named_parameters())
            if name is None:
                name = self._kept(a, "_param_constant")
            return self.create_node("get_attr", name, (), {})
        if isinstance(a, torch.Tensor):
            name = self._name_of(a, self.root.named_buffers())
            if name is not None:
                return self.create_node("get_attr", name, (), {})
        elif isinstance(a, torch.nn.Module):
            name = self._name_of(a, self.root.named_modules())
            if name is not None:
                return self.create_node("get_attr", name, (), {})
        elif isinstance(a, tuple) and hasattr(a, "_fields"):
            return self.create_node(
                "call_function", type(a), tuple(self.create_arg(value) for value in a), {}
            )
        if isinstance(a, torch.Tensor):
            return self.create_node("get_attr", self._kept(a, "_tensor_constant"), (), {})
        if type(a) in ProxyableClassMeta._proxyable_classes:
            name = self._kept(a, f"_{type(a).__name__}_constant_")
            return self.create_node("get_attr", name, (), {})
        return super().create_arg(a)

    def _kept(self, value: Any, prefix: str) -> str:
        """The attribute of the root that holds a value which is nobody's."""
        key = id(value) if not isinstance(value, torch.Tensor) else value
        name = self.tensor_attrs.get(key)
        if name is None:
            number = 0
            while hasattr(self.root, f"{prefix}{number}"):
                number += 1
            name = f"{prefix}{number}"
            self.tensor_attrs[key] = name
            setattr(self.root, name, value)
        return name

    # ---- tracing -------------------------------------------------------------------------------------

    @compatibility(is_backward_compatible=True)
    def trace(
        self, root: torch.nn.Module | Callable[..., Any], concrete_args: dict[str, Any] | None = None
    ) -> Graph:
        """The graph of a module's forward or of a function. ``concrete_args`` are inputs that stay what they are."""
        global _is_fx_tracing_flag
        before, _is_fx_tracing_flag = _is_fx_tracing_flag, True
        try:
            return self._trace(root, concrete_args)
        finally:
            _is_fx_tracing_flag = before
            self.submodule_paths = None

    def _trace(self, root: Any, concrete_args: Any) -> Graph:
        if isinstance(root, torch.nn.Module):
            self.root: torch.nn.Module = root
            if not hasattr(type(root), self.traced_func_name):
                raise AssertionError(
                    f"traced_func_name={self.traced_func_name} doesn't exist in {type(root).__name__}"
                )
            fn = getattr(type(root), self.traced_func_name)
            self.root_module_name = root._get_name()
            self.submodule_paths = {module: name for name, module in root.named_modules()}
        else:
            self.root = torch.nn.Module()
            fn = root
        self.graph = Graph(tracer_cls=getattr(self, "__class__", None))
        if hasattr(fn, "__code__"):
            self.graph._co_fields = {
                "co_name": fn.__code__.co_name,
                "co_filename": fn.__code__.co_filename,
                "co_firstlineno": fn.__code__.co_firstlineno,
            }
        self.tensor_attrs: dict[Any, str] = {}
        self._note_tensors(self.root, "")
        if not isinstance(fn, FunctionType):
            raise AssertionError(f"Expected FunctionType, got {type(fn)}")
        fn_globals = fn.__globals__
        result_type = _annotation(inspect.unwrap(fn), "return")
        fn, args = self.create_args_for_root(fn, isinstance(root, torch.nn.Module), concrete_args)
        cache: dict[str, Proxy] = {}
        plain_call, plain_getattr = torch.nn.Module.__call__, torch.nn.Module.__getattr__

        @functools.wraps(plain_getattr)
        def reading(mod: Any, attr: str) -> Any:
            return self.getattr(attr, plain_getattr(mod, attr), cache)

        @functools.wraps(plain_call)
        def calling(mod: Any, *args: Any, **kwargs: Any) -> Any:
            def forward(*args: Any, **kwargs: Any) -> Any:
                return plain_call(mod, *args, **kwargs)

            inside = getattr(getattr(mod, "forward", mod), "__globals__", {})
            _autowrap_check(patcher, inside, self._autowrap_function_ids)
            return self.call_module(mod, forward, args, kwargs)

        with _new_patcher() as patcher:
            patcher.patch_method(torch.nn.Module, "__getattr__", reading, deduplicate=False)
            patcher.patch_method(torch.nn.Module, "__call__", calling, deduplicate=False)
            _patch_wrapped_functions(patcher)
            _autowrap_check(patcher, fn_globals, self._autowrap_function_ids)
            for module in self._autowrap_search:
                _autowrap_check(patcher, vars(module), self._autowrap_function_ids)
            self.create_node("output", "output", (self.create_arg(fn(*args)),), {}, type_expr=result_type)
        return self.graph

    def _note_tensors(self, module: torch.nn.Module, prefix: str) -> None:
        """Tensors that are plain attributes of modules are read from there."""
        for name, value in vars(module).items():
            if isinstance(value, torch.Tensor):
                self.tensor_attrs[value] = prefix + name
        for name, child in module.named_children():
            self._note_tensors(child, f"{prefix}{name}.")

    @compatibility(is_backward_compatible=False)
    def create_args_for_root(
        self,
        root_fn: Callable[..., Any],
        is_module: bool,
        concrete_args: dict[str, Any] | tuple[Any, ...] | None = None,
    ) -> tuple[Any, list[Any]]:
        """The function to run and its inputs: proxies, and what ``concrete_args`` says."""
        analysed = inspect.unwrap(root_fn)
        code = analysed.__code__
        total = code.co_argcount + code.co_kwonlyargcount
        names = list(code.co_varnames)
        args: list[Any] = []
        skipped = 0
        if is_module:
            if total == 0:
                raise RuntimeError("``self`` argument cannot be part of *args expansion!")
            skipped = 1
            args.append(self.root)
        signature = inspect.signature(analysed)
        if isinstance(concrete_args, tuple):
            wanted = names[skipped:total]
            if len(wanted) != len(concrete_args):
                raise RuntimeError(
                    f"Tracing expected {len(wanted)} arguments but got {len(concrete_args)} concrete arguments"
                )
            concrete_args = dict(zip(wanted, concrete_args, strict=True))
        args += [
            self._proxy_placeholder(name, concrete_args, signature, analysed) for name in names[skipped:total]
        ]
        if code.co_kwonlyargcount or code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS):
            following = iter(names[total:])
            for flag, stars in ((inspect.CO_VARARGS, "*"), (inspect.CO_VARKEYWORDS, "**")):
                if code.co_flags & flag:
                    name = stars + next(following)
                    args.append(self._proxy_placeholder(name, concrete_args, signature, analysed))
            root_fn = _patch_function(root_fn, len(args))
        leaves, spec = pytree.tree_flatten(tuple(args))
        if all(child.is_leaf() for child in spec.children()):
            return root_fn, args
        self.graph._codegen = codegen = _PyTreeCodeGen(_PyTreeInfo(names[:total], spec, None))

        def flattened(*leaves: Any) -> Any:
            result = root_fn(*pytree.tree_unflatten(list(leaves), spec))
            out_leaves, out_spec = pytree.tree_flatten(result)
            codegen.pytree_info = codegen.pytree_info._replace(out_spec=out_spec)
            return out_leaves

        return flattened, leaves

    def _proxy_placeholder(
        self,
        name: str,
        concrete_args: dict[str, Any] | None,
        sig: inspect.Signature,
        fn_for_analysis: Callable[..., Any],
    ) -> Any:
        bare = name.lstrip("*")
        parameter = sig.parameters[bare]
        default = () if parameter.default is inspect.Parameter.empty else (parameter.default,)
        if concrete_args is None or name not in concrete_args:
            kind = _annotation(fn_for_analysis, name)
            return self.create_proxy("placeholder", name, default, {}, type_expr=kind)
        count = 0

        def placed(value: Any) -> Any:
            nonlocal count
            count += 1
            made = self.create_proxy("placeholder", f"{name}_{count}", default, {})
            if isinstance(value, PHBase):
                if value is not PH:
                    _transfer_attrs(fr=value, to=made.node)
                return made
            message = f"{name} has been specialized to have value {value} but got another value"
            if isinstance(value, base_types) and not isinstance(value, torch.Tensor):
                torch._assert(made == value, message)
            elif value is None:
                self.create_proxy("call_function", _assert_is_none, (made, message), {})
            else:
                warnings.warn(
                    f"Was not able to add assertion to guarantee correct input {name} to specialized function. It is "
                    "up to the user to make sure that your inputs match the inputs you specialized the function "
                    "with.",
                    stacklevel=2,
                )
            return value

        return pytree.tree_map(placed, concrete_args[name])


default_tracer.append(Tracer)


def _annotation(function: Any, name: str) -> Any:
    """What a function says of an input or its result. The library's own annotations are text; of those, tensors are
    told."""
    said = getattr(function, "__annotations__", {}).get(name)
    if isinstance(said, str) and is_of_package(function):
        return torch.Tensor if said in ("Tensor", "torch.Tensor") else None
    return said


@compatibility(is_backward_compatible=True)
def symbolic_trace(
    root: torch.nn.Module | Callable[..., Any], concrete_args: dict[str, Any] | None = None
) -> GraphModule:
    """A module that does what ``root`` does, and whose graph and code can be read and changed."""
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = type(root).__name__ if isinstance(root, torch.nn.Module) else root.__name__
    return _make_graph_module(tracer.root, graph, name)


__getattr__ = names_of(__name__)
