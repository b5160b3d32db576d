"""A graph: nodes in the order in which they run."""

from __future__ import annotations

import contextlib
import copy
import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch

from ._codegen import CodeGen as CodeGen
from ._codegen import PythonCode as PythonCode
from ._codegen import _BoxedCodeGen as _BoxedCodeGen
from ._codegen import _format_target as _format_target
from ._codegen import _origin_type_map as _origin_type_map
from ._codegen import _parse_stack_trace as _parse_stack_trace
from ._codegen import _ParsedStackTrace as _ParsedStackTrace
from ._codegen import _PyTreeCodeGen as _PyTreeCodeGen
from ._codegen import _PyTreeInfo as _PyTreeInfo
from ._codegen import inplace_methods as inplace_methods
from ._codegen import magic_methods as magic_methods
from ._codegen import reflectable_magic_methods as reflectable_magic_methods
from ._compatibility import compatibility
from ._names import _custom_builtins as _custom_builtins
from ._names import _CustomBuiltin as _CustomBuiltin
from ._names import _is_magic as _is_magic
from ._names import _Namespace as _Namespace
from ._names import _register_custom_builtin as _register_custom_builtin
from ._names import _snake_case as _snake_case
from ._names import name_of_target
from ._node_list import _FindNodesLookupTable, _InsertPoint, _node_list
from ._qualified_names import is_of_package as _is_from_torch  # noqa: F401 - a name of PyTorch's
from ._table_text import table_text
from .node import Argument as Argument
from .node import Node as Node
from .node import Target as Target
from .node import _get_qualified_name as _get_qualified_name
from .node import _type_repr as _type_repr
from .node import dtype_abbrs as dtype_abbrs
from .node import map_arg, nodes_in

if TYPE_CHECKING:
    from ._symbolic_trace import Tracer
    from .graph_module import GraphModule

__all__ = ["CodeGen", "Graph", "PythonCode"]

_legal_ops = dict.fromkeys(
    ["call_function", "call_method", "get_attr", "call_module", "placeholder", "output"]
)
_NO_REFERENCE = (
    "Attempted to insert a {kind} Node with no underlying reference in the owning GraphModule! Call "
    "GraphModule.add_submodule to add the necessary submodule"
)
_NOTHING = object()
TransformCodeFunc = Callable[[list[str]], list[str]]


@compatibility(is_backward_compatible=True)
class Graph:
    """Inputs, calls and a result. ``print(graph)`` shows them, a ``GraphModule`` runs them."""

    @compatibility(is_backward_compatible=True)
    def __init__(
        self,
        owning_module: GraphModule | None = None,
        tracer_cls: type[Tracer] | None = None,
        tracer_extras: dict[str, Any] | None = None,
    ) -> None:
        self._root = Node(self, "", "root", "", (), {})
        self._len = 0
        self._insert: Callable[[Node], None] = self._root.prepend
        self._used_names: dict[str, int] = {}
        self._graph_namespace = _Namespace()
        self._owning_module = owning_module
        self._owners = int(owning_module is not None)
        self._tracer_cls = tracer_cls
        self._tracer_extras = tracer_extras
        self._codegen = CodeGen()
        self._co_fields: dict[str, Any] = {}
        self._find_nodes_lookup_table = _FindNodesLookupTable()

    @property
    def owning_module(self) -> GraphModule | None:
        """The module that runs the graph."""
        return self._owning_module

    @owning_module.setter
    def owning_module(self, mod: GraphModule | None) -> None:
        self._owning_module = mod

    # ---- order ---------------------------------------------------------------------------------------

    _is_numbered = True

    def _note_order(self, node: Node) -> None:
        """A node came to another place: at the end it gets the next number, elsewhere all are numbered later."""
        if node._next is self._root and self._is_numbered:
            node._rank = node._prev._rank + 1
        else:
            self._is_numbered = False

    def _number_nodes(self) -> None:
        if not self._is_numbered:
            for rank, node in enumerate(self.nodes, 1):
                node._rank = rank
            self._is_numbered = True

    # ---- nodes ---------------------------------------------------------------------------------------

    @property
    def nodes(self) -> _node_list:
        """The nodes, in order."""
        return _node_list(self)

    @compatibility(is_backward_compatible=False)
    def output_node(self) -> Node:
        """The node that returns."""
        return next(iter(self.find_nodes(op="output")))

    @compatibility(is_backward_compatible=False)
    def find_nodes(self, *, op: str, target: Target | None = None, sort: bool = True) -> list[Node]:
        """The nodes of a kind, for calls of functions those of one function; in order, unless that is not needed."""
        found = self._find_nodes_lookup_table.find_nodes(op=op, target=target)
        return sorted(found) if sort else found

    @compatibility(is_backward_compatible=True)
    def create_node(
        self,
        op: str,
        target: Target,
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        name: str | None = None,
        type_expr: Any | None = None,
    ) -> Node:
        """Adds a node at the insertion point, the end unless ``inserting_before`` or ``_after`` said otherwise."""
        args = () if args is None else args
        kwargs = {} if kwargs is None else kwargs
        if not isinstance(args, tuple):
            raise AssertionError(f"args must be a tuple, got {type(args)}")
        if not isinstance(kwargs, dict):
            raise AssertionError(f"kwargs must be a dict, got {type(kwargs)}")
        candidate = name if name is not None else name_of_target(target)
        node = Node(
            self, self._graph_namespace.create_name(candidate, None), op, target, args, kwargs, type_expr
        )
        self._graph_namespace.associate_name_with_obj(node.name, node)
        for hook in getattr(self._owning_module, "_create_node_hooks", ()):
            hook(node)
        self._insert(node)
        self._find_nodes_lookup_table.insert(node)
        self._len += 1
        return node

    @compatibility(is_backward_compatible=True)
    def erase_node(self, to_erase: Node) -> None:
        """Takes out a node that nobody uses."""
        if to_erase.users:
            raise RuntimeError(
                f"Tried to erase Node {to_erase} but it still had {len(to_erase.users)} users in the graph: "
                f"{to_erase.users}!"
            )
        if to_erase.graph is not self:
            raise RuntimeError(f"Attempting to remove {to_erase} from wrong graph!")
        if to_erase._erased:
            warnings.warn(f"erase_node({to_erase}) on an already erased node", stacklevel=2)
            return
        for hook in getattr(self._owning_module, "_erase_node_hooks", ()):
            hook(to_erase)
        self._find_nodes_lookup_table.remove(to_erase)
        to_erase._remove_from_list()
        to_erase._erased = True
        self._len -= 1
        to_erase._update_args_kwargs((), {})

    @compatibility(is_backward_compatible=True)
    def inserting_before(self, n: Node | None = None) -> _InsertPoint:
        """New nodes go before ``n``, at the beginning if it is None; inside a ``with``, only there."""
        if n is None:
            return self.inserting_after(self._root)
        if n.graph is not self:
            raise AssertionError("Node to insert before is not in graph.")
        return _InsertPoint(self, n.prepend)

    @compatibility(is_backward_compatible=True)
    def inserting_after(self, n: Node | None = None) -> _InsertPoint:
        """New nodes go after ``n``, at the end if it is None; inside a ``with``, only there."""
        if n is None:
            return self.inserting_before(self._root)
        if n.graph is not self:
            raise AssertionError("Node to insert after is not in graph.")
        return _InsertPoint(self, n.append)

    @compatibility(is_backward_compatible=True)
    def placeholder(self, name: str, type_expr: Any | None = None, default_value: Any = _NOTHING) -> Node:
        """An input. ``name`` may begin with stars, as in a function."""
        args = () if default_value is _NOTHING else (default_value,)
        return self.create_node("placeholder", name, args=args, type_expr=type_expr)

    @compatibility(is_backward_compatible=True)
    def get_attr(self, qualified_name: str, type_expr: Any | None = None) -> Node:
        """An attribute of the module that runs the graph."""
        if self.owning_module is not None and not _has_attribute(self.owning_module, qualified_name):
            message = _NO_REFERENCE.format(kind="get_attr")
            warnings.warn(
                f"{message}, GraphModule.add_parameter to add the necessary Parameter, or nn.Module.register_buffer "
                "to add the necessary buffer",
                stacklevel=2,
            )
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    @compatibility(is_backward_compatible=True)
    def call_module(
        self,
        module_name: str,
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        type_expr: Any | None = None,
    ) -> Node:
        """A call of a module inside the one that runs the graph."""
        if self.owning_module is not None and self.owning_module.get_submodule(module_name) is None:
            warnings.warn(_NO_REFERENCE.format(kind="call_module"), stacklevel=2)
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    @compatibility(is_backward_compatible=True)
    def call_method(
        self,
        method_name: str,
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        type_expr: Any | None = None,
    ) -> Node:
        """A call of a method of the first argument."""
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    @compatibility(is_backward_compatible=True)
    def call_function(
        self,
        the_function: Callable[..., Any],
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        type_expr: Any | None = None,
        name: str | None = None,
    ) -> Node:
        """A call of a function."""
        return self.create_node("call_function", the_function, args, kwargs, name=name, type_expr=type_expr)

    @compatibility(is_backward_compatible=True)
    def output(self, result: Argument, type_expr: Any | None = None) -> Node:
        """What the graph returns."""
        return self.create_node("output", "output", args=(result,), type_expr=type_expr)

    # ---- copies --------------------------------------------------------------------------------------

    @compatibility(is_backward_compatible=True)
    def node_copy(self, node: Node, arg_transform: Callable[[Node], Argument] = lambda x: x) -> Node:
        """Adds a copy of a node, of another graph as a rule; ``arg_transform`` says what its inputs are here."""
        copied = self.create_node(
            node.op,
            node.target,
            map_arg(node.args, arg_transform),
            map_arg(node.kwargs, arg_transform),
            node.name,
            node.type,
        )
        copied.meta = copy.copy(node.meta)
        return copied

    @compatibility(is_backward_compatible=True)
    def graph_copy(
        self, g: Graph, val_map: dict[Node, Node], return_output_node: bool = False
    ) -> Argument | None:
        """Adds copies of the nodes of ``g``, which ``val_map`` has not yet, and returns its result for them."""
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                result = map_arg(node.args[0], lambda n: val_map[n])
                return (result, node) if return_output_node else result
            val_map[node] = self.node_copy(node, lambda n: val_map[n])
        return None

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Graph:
        made = Graph(tracer_cls=self._tracer_cls)
        known: dict[Node, Node] = {}
        found = made.graph_copy(self, known, return_output_node=True)
        made._codegen = copy.deepcopy(self._codegen)
        if found is not None:
            result, old = found
            made.output(result, type_expr=old.type).meta = copy.copy(old.meta)
        if memo is not None:
            memo[id(self)] = made
            memo.update({id(old): new for old, new in known.items()})
        return made

    # ---- code ----------------------------------------------------------------------------------------

    @compatibility(is_backward_compatible=True)
    def process_inputs(self, *args: Any) -> Any:
        """The values of the placeholders, given the arguments of the function."""
        return self._codegen.process_inputs(*args)

    @compatibility(is_backward_compatible=True)
    def process_outputs(self, out: Any) -> Any:
        """What the function returns, given what the output node holds."""
        return self._codegen.process_outputs(out)

    @compatibility(is_backward_compatible=False)
    def set_codegen(self, codegen: CodeGen) -> None:
        """Says who writes the function."""
        self._codegen = codegen

    @compatibility(is_backward_compatible=False)
    def on_generate_code(
        self, make_transformer: Callable[[TransformCodeFunc | None], TransformCodeFunc]
    ) -> contextlib.AbstractContextManager[None]:
        """Changes the lines of the function's body; ``make_transformer`` is given who does so already.

        What it returns is a context manager whose end takes that back.
        """
        before = self._codegen._body_transformer
        self._codegen._body_transformer = make_transformer(before)

        @contextlib.contextmanager
        def until() -> Iterator[None]:
            try:
                yield
            finally:
                self._codegen._body_transformer = before

        return until()

    def _target_to_str(self, target: Target | None) -> str:
        return name_of_target(target)

    @compatibility(is_backward_compatible=True)
    def python_code(self, root_module: str, **options: Any) -> PythonCode:
        """The source of the graph's function. ``root_module`` is what it calls the module, usually ``self``.

        Options, all off: ``verbose`` (comments that say where nodes come from, and shapes), ``include_stride``,
        ``include_device``, ``colored``, ``expanded_def`` (a line per input), ``additional_meta`` (a list of keys).
        """
        # Nodes are printed under names that no global of the code has.
        namespace = _Namespace()

        def shown(node: Node) -> str:
            return namespace.create_name(node.name, node)

        before = {node: node._repr_fn for node in self.nodes}
        try:
            for node in self.nodes:
                node._repr_fn = shown
            return self._python_code(root_module, namespace, **options)
        finally:
            for node, function in before.items():
                node._repr_fn = function

    def _python_code(self, root_module: str, namespace: _Namespace, **options: Any) -> PythonCode:
        return self._codegen._gen_python_code(self.nodes, root_module, namespace, **options)

    def __str__(self) -> str:
        lines = [line for node in self.nodes if (line := node.format_node()) is not None]
        return "\n    ".join(["graph():", *lines])

    @compatibility(is_backward_compatible=True)
    def print_tabular(self) -> None:
        """Prints a table with a row for each node."""
        rows = [[n.op, n.name, n.target, n.args, n.kwargs] for n in self.nodes]
        print(table_text(["opcode", "name", "target", "args", "kwargs"], rows))

    # ---- checks --------------------------------------------------------------------------------------

    @compatibility(is_backward_compatible=True)
    def lint(self) -> None:
        """Raises RuntimeError if a node is used before it runs, belongs elsewhere, or means what is not there."""
        names: set[str] = set()
        seen: set[Node] = set()
        for node in self.nodes:
            if node.op not in _legal_ops:
                raise RuntimeError(f"Node {node} had unknown opcode {node.op}!")
            if node.graph is not self:
                raise RuntimeError(f"Node '{node}' does not belong to this Graph!")
            if node not in self._find_nodes_lookup_table:
                raise RuntimeError(f"Node '{node}' is not added to the side table")
            for argument in nodes_in((node.args, node.kwargs)):
                _check_argument(argument, node, self, seen)
            seen.add(node)
            if node.name in names:
                raise RuntimeError(f"Node redefined name {node.name}!")
            names.add(node.name)
        if self.owning_module is not None:
            for node in self.nodes:
                if node.op in ("get_attr", "call_module"):
                    _check_reference(self.owning_module, node)

    @compatibility(is_backward_compatible=True)
    def eliminate_dead_code(self, is_impure_node: Callable[[Node], bool] | None = None) -> bool:
        """Erases nodes that nobody uses and that do nothing else; says whether there were any."""
        self.lint()
        impure = is_impure_node or (lambda node: node.is_impure())
        changed = False
        for node in reversed(self.nodes):
            if not node.users and not impure(node):
                self.erase_node(node)
                changed = True
        return changed

    def _clear_nodes(self) -> None:
        for node in reversed(self.nodes):
            node.users.clear()
            self.erase_node(node)


def _has_attribute(module: Any, path: str) -> bool:
    for part in path.split("."):
        if not hasattr(module, part):
            return False
        module = getattr(module, part)
    return True


def _check_argument(argument: Node, node: Node, graph: Graph, seen: set[Node]) -> None:
    if argument.graph is not graph:
        raise RuntimeError(
            f"Argument '{argument}' of Node '{node}' does not belong to this Graph, but was used as an argument! If "
            f"you are copying nodes from another graph, make sure to use ``arg_transform`` on node_copy() to remap "
            f"values\n{graph}"
        )
    if argument not in seen:
        raise RuntimeError(
            f"Argument '{argument}' of Node '{node}' was used before it has been defined! Please check that Nodes in "
            f"the graph are topologically ordered\n{graph}"
        )


def _check_reference(owner: Any, node: Node) -> None:
    parts = str(node.target).split(".")
    found: Any = owner
    for index, part in enumerate(parts):
        before = ".".join(parts[:index])
        following = getattr(found, part, None) if hasattr(found, part) else _NOTHING
        if following is _NOTHING:
            raise RuntimeError(
                f"Node {node} target {node.target} references nonexistent attribute {part} of {before}"
            )
        if (
            index == len(parts) - 1
            and node.op == "call_module"
            and not isinstance(following, torch.nn.Module)
        ):
            raise RuntimeError(
                f"Node {node} target {node.target} {part} of {before} does not reference an nn.Module"
            )
        found = following


for _class in (CodeGen, PythonCode, _BoxedCodeGen, _PyTreeCodeGen, _PyTreeInfo, _node_list):
    _class.__module__ = __name__  # where programs and files know them
