"""Values that stand for what a graph will compute: whatever is done with one is recorded.

Note [How calls are recorded]
Operators of Python's syntax are methods of Proxy. Functions of torch ask a Proxy among their arguments through
``__torch_function__``, as they ask subclasses of Tensor (``overrides.py``). Attributes are nodes once somebody uses the
value; a call of one is a call of a method instead.
"""

from __future__ import annotations

import collections
import copy
import dis
import inspect
import operator
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn

import mindtorch_v2 as torch

from .. import overrides
from . import traceback as fx_traceback
from ._compatibility import compatibility
from ._python_signatures import as_written_in_python
from ._qualified_names import is_operator
from ._stacks import current_stack
from .graph import magic_methods, reflectable_magic_methods
from .node import Argument as Argument
from .node import Node, Target, base_types, map_aggregate
from .operator_schemas import check_for_mutable_operation

if TYPE_CHECKING:
    from .graph import Graph

__all__ = [
    "Attribute", "GraphAppendingTracer", "ParameterProxy", "Proxy", "Scope", "ScopeContextManager", "TraceError",
    "TracerBase",
]  # fmt: skip


@compatibility(is_backward_compatible=False)
class Scope:
    """Where the tracer is: the path and the class of the module whose forward runs."""

    def __init__(self, module_path: str, module_type: Any) -> None:
        self.module_path, self.module_type = module_path, module_type


@compatibility(is_backward_compatible=False)
class ScopeContextManager:
    """Inside, a scope is another's; it is changed in place, because the tracer holds it."""

    def __init__(self, scope: Scope, current_scope: Scope) -> None:
        self._before = copy.copy(scope)
        scope.module_path, scope.module_type = current_scope.module_path, current_scope.module_type
        self._scope = scope

    def __enter__(self) -> Scope:
        return self._scope

    def __exit__(self, *exception: object) -> None:
        self._scope.module_path, self._scope.module_type = self._before.module_path, self._before.module_type


@compatibility(is_backward_compatible=True)
class TraceError(ValueError):
    """The program does something with a value that a graph cannot hold."""


@compatibility(is_backward_compatible=True)
class TracerBase:
    """Puts into a graph what is done with proxies."""

    graph: Graph
    record_stack_traces: bool = False
    _record_forward_stack_traces_only: bool = False
    # Whether calls that change an argument in place are refused.
    check_mutable_operations: bool = False
    # Whether assert statements on proxies become nodes.
    trace_asserts: bool = False
    # Whether reading a buffer is a proxy, rather than the tensor until somebody uses it.
    proxy_buffer_attributes: bool = False
    # The method of the root module that is traced.
    traced_func_name: str = "forward"
    scope: Scope
    module_stack: OrderedDict[str, tuple[str, Any]]
    node_name_to_scope: dict[str, tuple[str, type]]

    @compatibility(is_backward_compatible=True)
    def create_node(
        self,
        kind: str,
        target: Target,
        args: tuple[Argument, ...],
        kwargs: dict[str, Argument],
        name: str | None = None,
        type_expr: Any | None = None,
    ) -> Node:
        """Adds a node to the graph; a tracer derives from it to do more, or to refuse."""
        if kind == "call_function" and self.check_mutable_operations and callable(target):
            check_for_mutable_operation(target, args, kwargs)
        node = self.graph.create_node(kind, target, args, kwargs, name, type_expr)
        self.node_name_to_scope[node.name] = (self.scope.module_path, self.scope.module_type)
        if fx_traceback.has_preserved_node_meta():
            node.meta.update(fx_traceback.meta_for_new_node())
        if self.module_stack:
            node.meta["nn_module_stack"] = copy.copy(self.module_stack)
        if self.record_stack_traces and kind not in ("placeholder", "output") and not node.stack_trace:
            node.stack_trace = current_stack()
        return node

    @compatibility(is_backward_compatible=True)
    def proxy(self, node: Node) -> Proxy:
        """The value that stands for a node."""
        return Proxy(node, self)  # type: ignore[no-any-return]

    @compatibility(is_backward_compatible=True)
    def create_proxy(
        self,
        kind: str,
        target: Target,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        name: str | None = None,
        type_expr: Any | None = None,
        proxy_factory_fn: Callable[[Node], Proxy] | None = None,
    ) -> Proxy:
        """Records a call, whose arguments may hold proxies, and returns what stands for its result."""
        node_args, node_kwargs = self.create_arg(args), self.create_arg(kwargs)
        if not isinstance(node_args, tuple):
            raise AssertionError(f"Expected tuple, got {type(node_args)}")
        if not isinstance(node_kwargs, dict):
            raise AssertionError(f"Expected dict, got {type(node_kwargs)}")
        node = self.create_node(kind, target, node_args, node_kwargs, name, type_expr)
        return self.proxy(node) if proxy_factory_fn is None else proxy_factory_fn(node)

    def _find_user_frame(self) -> FrameType | None:
        """The innermost frame that is not of torch.fx."""
        frame = inspect.currentframe()
        while frame is not None and _is_own_file(frame.f_code.co_filename):
            frame = frame.f_back
        return frame

    @compatibility(is_backward_compatible=True)
    def create_arg(self, a: Any) -> Argument:
        """A value as the argument of a node: proxies become their nodes, containers are walked."""
        if isinstance(a, Proxy):
            return a.node
        if hasattr(a, "__fx_create_arg__"):
            return a.__fx_create_arg__(self)
        if isinstance(a, tuple):
            parts = [self.create_arg(value) for value in a]
            return type(a)(*parts) if hasattr(a, "_fields") else tuple(parts)
        if isinstance(a, list):
            return [self.create_arg(value) for value in a]
        if isinstance(a, dict):
            return {_key(self.create_arg(key)): self.create_arg(value) for key, value in a.items()}
        if isinstance(a, slice):
            return slice(self.create_arg(a.start), self.create_arg(a.stop), self.create_arg(a.step))
        if isinstance(a, range):
            return range(self.create_arg(a.start), self.create_arg(a.stop), self.create_arg(a.step))
        if is_dataclass(a) and not isinstance(a, type):
            values = {field.name: self.create_arg(getattr(a, field.name)) for field in fields(a)}
            return self.create_node("call_function", type(a), (), values)
        if isinstance(a, base_types) or a is None or a is ... or is_operator(a):
            return a
        raise NotImplementedError(f"argument of type: {type(a)}")

    @compatibility(is_backward_compatible=True)
    def to_bool(self, obj: Proxy) -> bool:
        """What ``if proxy:`` means: an error, unless a tracer knows better."""
        raise TraceError("symbolically traced variables cannot be used as inputs to control flow")

    @compatibility(is_backward_compatible=True)
    def iter(self, obj: Proxy) -> Iterator[Proxy]:
        """What ``for x in proxy:`` means: an error, unless a tracer knows better."""
        raise TraceError(
            "Proxy object cannot be iterated. This can be attempted when the Proxy is used in a loop or as a *args or "
            "**kwargs function argument. See the torch.fx docs on pytorch.org for a more detailed explanation of what "
            "types of control flow can be traced, and check out the Proxy docstring for help troubleshooting Proxy "
            "iteration errors"
        )

    @compatibility(is_backward_compatible=True)
    def keys(self, obj: Proxy) -> Any:
        """What ``**proxy`` asks for: a node, unless a tracer knows better."""
        return Attribute(obj, "keys")()


def _key(key: Any) -> Any:
    def refuse(value: Any) -> Any:
        if isinstance(value, Node):
            raise RuntimeError(
                f"Keys for dictionaries used as an argument cannot contain a Node. Got key: {key}"
            )
        return value

    map_aggregate(key, refuse)
    return key


def _is_own_file(name: str) -> bool:
    return name.startswith(_OWN_FOLDER)


_OWN_FOLDER = __file__.rpartition("proxy")[0]


@compatibility(is_backward_compatible=True)
class GraphAppendingTracer(TracerBase):
    """Adds to a graph that is there, for programs that make proxies of its nodes."""

    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self.graph = graph
        self.scope = Scope("", None)
        self.module_stack = collections.OrderedDict()
        self.node_name_to_scope = {}


@compatibility(is_backward_compatible=False)
def assert_fn(x: object) -> None:
    """An assert statement of a traced program."""
    if not x:
        raise AssertionError


@compatibility(is_backward_compatible=True)
class Proxy:
    """Stands for the value of a node while a program is traced. Note [How calls are recorded].

    What Python wants to know at once, a truth value, a length or the items of a loop, it cannot answer: such code is
    traced with a ``Tracer`` that answers, moved to a leaf (``torch.fx.wrap``), or given ``concrete_args``.
    """

    @compatibility(is_backward_compatible=True)
    def __init__(self, node: Node, tracer: TracerBase | None = None) -> None:
        overrides.listen()  # functions written in Python ask from now on
        self.tracer = GraphAppendingTracer(node.graph) if tracer is None else tracer
        self.node = node

    def __repr__(self) -> str:
        return f"Proxy({self.node.name})"

    def __getattr__(self, k: str) -> Attribute:
        return Attribute(self, k)  # type: ignore[no-any-return]

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ = state

    def __deepcopy__(self, memo: dict[int, Any]) -> Proxy:
        made = Proxy.__new__(type(self))
        made.__dict__ = copy.deepcopy(self.__dict__, memo)
        return made

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self) -> Iterator[Any]:
        frame = sys._getframe(1)
        instruction, _ = _instructions_at(frame)
        if instruction.opname == "UNPACK_SEQUENCE":  # a, b = proxy
            return (self[index] for index in range(instruction.argval))  # type: ignore[index] # set below
        return self.tracer.iter(self)

    def __abs__(self) -> Proxy:
        return self.tracer.create_proxy("call_function", operator.abs, (self,), {})

    def __bool__(self) -> bool:
        if self.tracer.trace_asserts:
            instruction, following = _instructions_at(sys._getframe(1))
            if (
                instruction.opname.endswith("IF_TRUE")
                and following[:1] == ["LOAD_ASSERTION_ERROR"]
                and following[1:2] == ["RAISE_VARARGS"]
            ):
                self.tracer.create_proxy("call_function", assert_fn, (self,), {})
                return True
        return self.tracer.to_bool(self)

    @compatibility(is_backward_compatible=True)
    def keys(self) -> Any:
        """What ``**proxy`` asks for."""
        return self.tracer.keys(self)

    def __len__(self) -> NoReturn:
        raise RuntimeError(
            "'len' is not supported in symbolic tracing by default. If you want this call to be recorded, please call "
            "torch.fx.wrap('len') at module scope"
        )

    @classmethod
    def __torch_function__(
        cls,
        orig_method: Callable[..., Any],
        types: tuple[type, ...],
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
    ) -> Proxy:
        args, kwargs = args or (), kwargs or {}
        tracers: dict[Any, None] = {}

        def note(value: Any) -> Any:
            if isinstance(value, cls):
                tracers.setdefault(value.tracer)
            return value

        map_aggregate((args, kwargs), note)
        if len(tracers) > 1:
            raise RuntimeError(
                f"Found multiple different tracers {list(tracers)} while trying to trace operations {orig_method}"
            )
        (tracer,) = tracers
        args, kwargs = as_written_in_python(orig_method, args, kwargs)
        if overrides.is_tensor_method_or_property(orig_method):
            return tracer.create_proxy("call_method", orig_method.__name__, args, kwargs)  # type: ignore[no-any-return]
        return tracer.create_proxy(  # type: ignore[no-any-return]
            "call_function", orig_method, args, kwargs, name=tracer.graph._target_to_str(orig_method)
        )


def _instructions_at(frame: FrameType) -> tuple[dis.Instruction, list[str]]:
    """The instruction that a frame is at, and the names of the two after it."""
    instructions = list(dis.get_instructions(frame.f_code))
    at = next(i for i, instruction in enumerate(instructions) if instruction.offset == frame.f_lasti)
    return instructions[at], [instruction.opname for instruction in instructions[at + 1 : at + 3]]


@compatibility(is_backward_compatible=True)
class Attribute(Proxy):
    """An attribute of a proxy: a node of its own once it is used as a value."""

    @compatibility(is_backward_compatible=True)
    def __init__(self, root: Proxy, attr: str) -> None:
        self.root, self.attr, self.tracer = root, attr, root.tracer
        self._node: Node | None = None

    @property
    def node(self) -> Node:  # type: ignore[override]
        """The node that reads the attribute."""
        if self._node is None:
            self._node = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {}).node
        return self._node

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


@compatibility(is_backward_compatible=False)
class ParameterProxy(Proxy):
    """Stands for a parameter, whose shape is known while the program is traced."""

    def __init__(self, tracer: TracerBase, node: Node, name: str, param: torch.nn.Parameter) -> None:
        super().__init__(node, tracer)
        if not isinstance(param, torch.nn.Parameter):
            raise AssertionError(f"Expected Parameter, got {type(param)}")
        self.param, self.name = param, name

    def __repr__(self) -> str:
        return f"ParameterProxy({self.name})"

    @property
    def shape(self) -> torch.Size:
        """The parameter's."""
        return self.param.shape

    def size(self, *dim: int) -> Any:
        """The parameter's."""
        return self.param.size(*dim)

    def dim(self) -> int:
        """The parameter's."""
        return self.param.dim()

    @property
    def ndim(self) -> int:
        """The parameter's."""
        return self.param.ndim

    def numel(self) -> int:
        """The parameter's."""
        return self.param.numel()

    def nelement(self) -> int:
        """The parameter's."""
        return self.param.nelement()


def _define(name: str) -> None:
    function = getattr(operator, name)

    def method(*args: Any, **kwargs: Any) -> Proxy:
        return args[0].tracer.create_proxy("call_function", function, args, kwargs)  # type: ignore[no-any-return]

    method.__name__ = f"__{name.strip('_')}__"
    setattr(Proxy, method.__name__, method)


def _define_reflectable(orig_method_name: str) -> None:
    function = getattr(operator, orig_method_name)

    def method(self: Proxy, rhs: Any) -> Proxy:
        return self.tracer.create_proxy("call_function", function, (rhs, self), {})

    method.__name__ = f"__r{orig_method_name.strip('_')}__"
    setattr(Proxy, method.__name__, method)


for _name in magic_methods:
    if hasattr(operator, _name):
        _define(_name)
for _name in reflectable_magic_methods:
    if hasattr(operator, _name) and _name != "getitem":
        _define_reflectable(_name)
