"""Nodes of a graph: one call, input, attribute or result each."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, Union

import mindtorch_v2 as torch

from ..utils._dtype_abbrs import dtype_abbrs as dtype_abbrs
from ._compatibility import compatibility
from ._qualified_names import public_module, qualified_name
from ._side_effects import _side_effectful_functions as _side_effectful_functions
from ._side_effects import has_side_effect as has_side_effect
from ._side_effects import is_impure
from .immutable_collections import immutable_dict, immutable_list

if TYPE_CHECKING:
    from .graph import Graph
    from .operator_schemas import ArgsKwargsPair

__all__ = ["Node", "has_side_effect", "map_aggregate", "map_arg"]

BaseArgumentTypes = Union[  # noqa: UP007 - programs ask for its parts
    str, int, float, bool, complex, torch.dtype, torch.Tensor, torch.device, torch.memory_format, torch.layout,
]  # fmt: skip
base_types = BaseArgumentTypes.__args__  # type: ignore[attr-defined]
Target = Union[Callable[..., Any], str]  # noqa: UP007
Argument = Any
ArgumentT = TypeVar("ArgumentT")

_legal_ops = dict.fromkeys(
    ["placeholder", "call_method", "call_module", "call_function", "get_attr", "output", "root"]
)


# ---- texts -------------------------------------------------------------------------------------------


def _get_qualified_name(func: Any) -> str:
    """Where generated code finds a function. Note [Public names of functions]."""
    return qualified_name(func)


def _find_module_of_method(orig_method: Callable[..., Any]) -> str:
    return qualified_name(orig_method).rpartition(".")[0]


def _type_repr(obj: object) -> str:
    """A type as annotations write it."""
    if type(obj) is not types.GenericAlias and isinstance(obj, type):  # list[int] says it is a type
        if obj.__module__ == "builtins":
            return obj.__qualname__
        return f"{public_module(obj.__module__)}.{obj.__qualname__}"
    if obj is ...:
        return "..."
    if isinstance(obj, types.FunctionType):
        return obj.__name__
    return repr(obj).replace("mindtorch_v2.", "torch.")


def _format_arg(arg: object, max_list_len: float = float("inf")) -> str:
    """An argument as the text of a graph shows it: nodes have a percent sign, strings no quotes."""
    if hasattr(arg, "_custom_fx_repr_fn"):
        return str(arg._custom_fx_repr_fn())
    if isinstance(arg, (list, tuple)):
        shown = [_format_arg(a) for i, a in enumerate(arg) if i < max_list_len]
        if len(arg) > len(shown):
            shown[-1] = f"{shown[-1]}, ...[total_len={len(arg)}]"
        if isinstance(arg, list):
            return f"[{', '.join(shown)}]"
        return f"({', '.join(shown)}{',' if len(arg) == 1 else ''})"
    if isinstance(arg, dict):
        return "{" + ", ".join(f"{key}: {_format_arg(value)}" for key, value in arg.items()) + "}"
    return f"%{arg}" if isinstance(arg, Node) else str(arg)


# ---- arguments ---------------------------------------------------------------------------------------


@compatibility(is_backward_compatible=True)
def map_aggregate(a: Any, fn: Callable[[Any], Any]) -> Any:
    """The same tuples, lists, dicts and slices with ``fn`` of what they hold; lists and dicts become immutable."""
    if isinstance(a, tuple):
        made = [map_aggregate(value, fn) for value in a]
        return type(a)(*made) if hasattr(a, "_fields") else tuple(made)
    if isinstance(a, list):
        return immutable_list([map_aggregate(value, fn) for value in a])
    if isinstance(a, dict):
        return immutable_dict({key: map_aggregate(value, fn) for key, value in a.items()})
    if isinstance(a, slice):
        return slice(map_aggregate(a.start, fn), map_aggregate(a.stop, fn), map_aggregate(a.step, fn))
    return fn(a)


@compatibility(is_backward_compatible=True)
def map_arg(a: Any, fn: Callable[[Node], Any]) -> Any:
    """``map_aggregate`` that calls ``fn`` of nodes only."""
    if not callable(fn):
        raise AssertionError("torch.fx.map_arg(a, fn): fn must be a callable")
    return map_aggregate(a, lambda value: fn(value) if isinstance(value, Node) else value)


class _NodeBase:
    """What a node is to the list it stands in: its neighbours, and its rank among all."""

    graph: Graph
    _prev: Node
    _next: Node
    _rank: int = 0
    _erased = False

    @property
    def _sort_key(self) -> tuple[int]:
        self.graph._number_nodes()
        return (self._rank,)

    def __lt__(self, other: _NodeBase) -> bool:
        return self._sort_key < other._sort_key

    def __gt__(self, other: _NodeBase) -> bool:
        return self._sort_key > other._sort_key

    def __le__(self, other: _NodeBase) -> bool:
        return self is other or self < other

    def __ge__(self, other: _NodeBase) -> bool:
        return self is other or self > other

    def _remove_from_list(self) -> None:
        self._prev._next, self._next._prev = self._next, self._prev


@compatibility(is_backward_compatible=True)
class Node(_NodeBase):
    """One step of a graph. ``op`` says which kind, ``target`` what is called, read or given, ``args`` with what.

    ``users`` has the nodes that take this one as an argument, as keys; ``meta`` is for whoever works on the graph.
    """

    _args: tuple[Any, ...]
    _kwargs: dict[str, Any]
    _repr_fn: Callable[[Node], str] | None

    @compatibility(is_backward_compatible=True)
    def __init__(
        self,
        graph: Graph,
        name: str,
        op: str,
        target: Target,
        args: tuple[Argument, ...],
        kwargs: dict[str, Argument],
        return_type: Any | None = None,
    ) -> None:
        if op not in _legal_ops:
            raise AssertionError(f"op '{op}' is not in _legal_ops")
        wanted = "a Callable" if op == "call_function" else "a str"
        if not (callable(target) if op == "call_function" else isinstance(target, str)):
            raise ValueError(
                f"Node [graph = {graph}, name = '{name}'] target {target} has type {torch.typename(target)} but "
                f"{wanted} is expected"
            )
        self.graph, self.name, self.op, self.target = graph, name, op, target
        self._input_nodes: dict[Node, None] = {}
        self.users: dict[Node, None] = {}
        self.type: Any | None = return_type
        self._prev = self._next = self
        self._repr_fn = None
        self.meta: dict[str, Any] = {}
        self._update_args_kwargs(args, kwargs)

    # ---- its place in the list -----------------------------------------------------------------------

    @property
    def next(self) -> Node:
        """The node after this one; the graph's root after the last."""
        return self._next

    @property
    def prev(self) -> Node:
        """The node before this one; the graph's root before the first."""
        return self._prev

    @compatibility(is_backward_compatible=True)
    def prepend(self, x: Node) -> None:
        """Moves ``x`` to the place before this node."""
        if self.graph is not x.graph:
            raise AssertionError("Attempting to move a Node into a different Graph")
        if self is x:
            return
        x._remove_from_list()
        before = self._prev
        before._next, x._prev = x, before
        x._next, self._prev = self, x
        self.graph._note_order(x)

    @compatibility(is_backward_compatible=True)
    def append(self, x: Node) -> None:
        """Moves ``x`` to the place after this node."""
        self._next.prepend(x)

    # ---- its arguments -------------------------------------------------------------------------------

    @property
    def args(self) -> tuple[Argument, ...]:
        """The positional arguments. Setting them keeps the users of the nodes among them right."""
        return self._args

    @args.setter
    def args(self, a: tuple[Argument, ...]) -> None:
        self._update_args_kwargs(a, self._kwargs)

    @property
    def kwargs(self) -> dict[str, Argument]:
        """The keyword arguments, as ``args``."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, k: dict[str, Argument]) -> None:
        self._update_args_kwargs(self._args, k)

    def _update_args_kwargs(self, new_args: tuple[Argument, ...], new_kwargs: Mapping[str, Argument]) -> None:
        def use(node: Node) -> Node:
            self._input_nodes.setdefault(node)
            node.users.setdefault(self)
            return node

        for old in self._input_nodes:
            old.users.pop(self, None)
        self._input_nodes = {}
        self._args = map_arg(new_args, use)
        self._kwargs = map_arg(dict(new_kwargs), use)

    @property
    def all_input_nodes(self) -> list[Node]:
        """The nodes among the arguments, each once, in the order they are met."""
        return list(self._input_nodes)

    @compatibility(is_backward_compatible=True)
    def update_arg(self, idx: int, arg: Argument) -> None:
        """Replaces one positional argument."""
        args = list(self.args)
        args[idx] = arg
        self.args = tuple(args)

    @compatibility(is_backward_compatible=True)
    def insert_arg(self, idx: int, arg: Argument) -> None:
        """Puts a positional argument before the one at ``idx``."""
        if not 0 <= idx <= len(self.args):
            raise AssertionError("insert_args index must be between 0 and len(self.args)")
        self.args = (*self.args[:idx], arg, *self.args[idx:])

    @compatibility(is_backward_compatible=True)
    def update_kwarg(self, key: str, arg: Argument) -> None:
        """Sets one keyword argument."""
        self.kwargs = {**self.kwargs, key: arg}

    @compatibility(is_backward_compatible=True)
    def replace_input_with(self, old_input: Node, new_input: Node) -> None:
        """Puts ``new_input`` wherever ``old_input`` is an argument."""

        def swap(node: Node) -> Node:
            return new_input if node is old_input else node

        self._tell_replaced(old_input, new_input, self)
        self._update_args_kwargs(map_arg(self.args, swap), map_arg(self.kwargs, swap))

    @compatibility(is_backward_compatible=True)
    def replace_all_uses_with(
        self,
        replace_with: Node,
        delete_user_cb: Callable[[Node], bool] | None = None,
        *,
        propagate_meta: bool = False,
    ) -> list[Node]:
        """Makes the users of this node users of another, if ``delete_user_cb`` agrees; returns those it changed."""
        if propagate_meta:
            if replace_with.meta:
                raise AssertionError(
                    "Called node.replace_all_uses_with(replace_with, propagate_meta=True), but replace_with "
                    "already has .meta keys"
                )
            replace_with.meta.update(self.meta)
        changed = [user for user in list(self.users) if delete_user_cb is None or delete_user_cb(user)]
        for user in changed:
            user.replace_input_with(self, replace_with)
        return changed

    def _tell_replaced(self, old: Node, new: Node, user: Node) -> None:
        for hook in getattr(self.graph.owning_module, "_replace_hooks", ()):
            hook(old=old, new=new.name, user=user)

    # ---- what it says of itself ----------------------------------------------------------------------

    @property
    def stack_trace(self) -> str | None:
        """Where the program was when the node was recorded."""
        return self.meta.get("stack_trace")

    @stack_trace.setter
    def stack_trace(self, trace: str | None) -> None:
        self.meta["stack_trace"] = trace

    def __repr__(self) -> str:
        return self._repr_fn(self) if self._repr_fn else self.name

    @staticmethod
    def _pretty_print_target(target: object) -> str:
        if isinstance(target, str):
            return target
        module = getattr(target, "__module__", None)
        if module in ("builtins", "_operator") and hasattr(target, "__name__"):
            return f"{module.removeprefix('_')}.{target.__name__}"
        return _get_qualified_name(target)

    @compatibility(is_backward_compatible=True)
    def format_node(
        self,
        placeholder_names: list[str] | None = None,
        maybe_return_typename: list[str] | None = None,
        *,
        include_tensor_metadata: bool = False,
    ) -> str | None:
        """The line of a graph's text. Given names of others, a placeholder joins them and has no line."""
        kind = f"{_type_repr(self.type)} " if self.type else ""
        if self.op == "placeholder":
            if placeholder_names:
                placeholder_names.append(str(self.target) + (f": {kind.rstrip()}" if kind else ""))
                return None
            default = f"(default={self.args[0]})" if self.args else ""
            return f"{self._lead(kind, include_tensor_metadata)}{default}"
        if self.op == "get_attr":
            return self._lead(kind, include_tensor_metadata)
        if self.op == "output":
            if self.type and maybe_return_typename:
                maybe_return_typename[0] = f" -> {_type_repr(self.type)}"
            return f"return {self.args[0]}"
        args, kwargs = _format_arg(self.args), _format_arg(self.kwargs)
        return f"{self._lead(kind, include_tensor_metadata)}(args = {args}, kwargs = {kwargs})"

    def _lead(self, kind: str, with_metadata: bool) -> str:
        about = ""
        if with_metadata and (text := _tensor_text(self)):
            about = f"{text} "
        target = self._pretty_print_target(self.target)
        return f"%{self.name} : {kind}{about}[num_users={len(self.users)}] = {self.op}[target={target}]"

    # ---- what it does --------------------------------------------------------------------------------

    @compatibility(is_backward_compatible=False)
    def is_impure(self, impure_random: bool = True) -> bool:
        """Whether running it matters though nobody takes its result. ``impure_random``: drawing numbers does."""
        return is_impure(self, impure_random)

    @compatibility(is_backward_compatible=False)
    def normalized_arguments(
        self,
        root: torch.nn.Module,
        arg_types: tuple[Any] | None = None,
        kwarg_types: dict[str, Any] | None = None,
        normalize_to_only_use_kwargs: bool = False,
    ) -> ArgsKwargsPair | None:
        """The arguments by the parameters of what is called, None if it cannot be told."""
        from .operator_schemas import normalize_function, normalize_module

        if self.op == "call_function" and callable(self.target):
            return normalize_function(
                self.target, self.args, self.kwargs, arg_types, kwarg_types, normalize_to_only_use_kwargs
            )
        if self.op == "call_module":
            return normalize_module(
                root, str(self.target), self.args, self.kwargs, normalize_to_only_use_kwargs
            )
        return None

    def _rename(self, candidate: str) -> None:
        if candidate == self.name:
            return
        self.name = self.graph._graph_namespace.create_name(candidate, None)
        self.graph._graph_namespace._rename_object(self, self.name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in ("op", "target") and "_args" in self.__dict__:
            table = self.graph._find_nodes_lookup_table
            if stands_in_graph := self in table:
                table.remove(self)
            object.__setattr__(self, name, value)
            if stands_in_graph:
                table.insert(self)
            return
        if name == "name" and "name" in self.__dict__ and "_args" in self.__dict__:
            self.graph._graph_namespace._rename_object(self, value)
        object.__setattr__(self, name, value)


def _tensor_text(node: Node) -> str:
    value = node.meta.get("val")
    if isinstance(value, torch.Tensor):
        return f"{dtype_abbrs.get(value.dtype, str(value.dtype))}{list(value.shape)}"
    return ""


def nodes_in(arguments: Iterable[Any] | Sequence[Any] | Mapping[str, Any]) -> list[Node]:
    """The nodes among arguments, with repetitions, in the order they are met."""
    found: list[Node] = []
    map_arg(arguments, lambda node: found.append(node) or node)  # type: ignore[func-returns-value]
    return found
