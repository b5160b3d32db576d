"""A graph as the source of a Python function.

Note [Values are let go]
The line after which nobody needs a value sets its variable to None, so that a run holds no more than an eager one.
"""

from __future__ import annotations

import enum
import re
import types
import typing
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import mindtorch_v2 as torch

from ..utils import _pytree as pytree
from ._compatibility import compatibility
from ._names import _custom_builtins, _Namespace
from ._qualified_names import is_of_package, is_operator, qualified_name
from .node import Node, _type_repr, dtype_abbrs, nodes_in

if TYPE_CHECKING:
    from ._node_list import _node_list

reflectable_magic_methods = {
    "add": "{} + {}", "sub": "{} - {}", "mul": "{} * {}", "floordiv": "{} // {}", "truediv": "{} / {}",
    "div": "{} / {}", "mod": "{} % {}", "pow": "{} ** {}", "lshift": "{} << {}", "rshift": "{} >> {}",
    "and_": "{} & {}", "or_": "{} | {}", "xor": "{} ^ {}", "getitem": "{}[{}]", "matmul": "{} @ {}",
}  # fmt: skip
magic_methods = {
    "eq": "{} == {}", "ne": "{} != {}", "lt": "{} < {}", "gt": "{} > {}", "le": "{} <= {}", "ge": "{} >= {}",
    "pos": "+{}", "neg": "-{}", "invert": "~{}", **reflectable_magic_methods,
}  # fmt: skip
inplace_methods = {
    "iadd": "{} += {}", "iand": "{} &= {}", "ifloordiv": "{} //= {}", "ilshift": "{} <<= {}", "imod": "{} %= {}",
    "imul": "{} *= {}", "imatmul": "{} @= {}", "ior": "{} |= {}", "ipow": "{} **= {}", "irshift": "{} >>= {}",
    "isub": "{} -= {}", "itruediv": "{} /= {}", "ixor": "{} ^= {}", "setitem": "{}[{}] = {}",
}  # fmt: skip
# What annotations write for the classes behind typing's names.
_origin_type_map = {
    list: typing.List, dict: typing.Dict, set: typing.Set, frozenset: typing.FrozenSet, tuple: typing.Tuple,  # noqa: UP006
}  # fmt: skip


@compatibility(is_backward_compatible=True)
@dataclass
class PythonCode:
    """Source, and the globals it needs."""

    src: str
    globals: dict[str, Any]
    # The line of the function's body that a node of that number wrote, and the line where the function begins.
    _lineno_map: dict[int, int | None] | None
    _prologue_start: int = 0


class _ParsedStackTrace(NamedTuple):
    """The innermost line of a recorded stack."""

    file: str
    lineno: str
    name: str
    code: str

    def get_summary_str(self) -> str:
        return f"File: {self.file}:{self.lineno} in {self.name}, code: {self.code}"


def _parse_stack_trace(
    stack_trace: str, filter_fn: Callable[[str, str, str], bool] | None = None
) -> _ParsedStackTrace | None:
    lines = stack_trace.strip().split("\n")
    for index in range(len(lines) - 2, -1, -1):
        match = re.match(r'^File "(.+)", line (\d+), in (.+)$', lines[index].strip())
        if match and (filter_fn is None or filter_fn(match[1], match[3], lines[index + 1].strip())):
            return _ParsedStackTrace(match[1], match[2], match[3], lines[index + 1].strip())
    return None


def _format_target(base: str, target: str) -> str:
    """``self.layers.0`` as Python can write it."""
    for part in target.split("."):
        base = f"{base}.{part}" if part.isidentifier() else f'getattr({base}, "{part}")'
    return base


class _Globals:
    """The names that the code takes from outside."""

    def __init__(self, namespace: _Namespace) -> None:
        self.namespace = namespace
        self.found: dict[str, Any] = {}
        for name, (_, thing) in _custom_builtins.items():
            self.add(name, thing)

    def add(self, hint: str, thing: Any) -> str:
        """The name under which the code has a thing."""
        if is_of_package(thing) and thing is not torch.device and not isinstance(thing, types.ModuleType):
            return qualified_name(thing)
        name = hint.replace(".", "_")
        if name in self.found and self.found[name] is thing:
            return name
        name = self.namespace.create_name(name, thing if _hashable(thing) else None)
        self.found[name] = thing
        return name

    def type(self, annotation: Any) -> str:
        """An annotation."""
        if annotation == ():
            return "()"
        if annotation is ...:
            return self.add("_", annotation)
        if isinstance(annotation, types.UnionType):
            return "|".join(self.type(part) for part in annotation.__args__)
        origin = getattr(annotation, "__origin__", None)
        if origin is None:
            return self.add(_type_repr(annotation), annotation)
        if not hasattr(annotation, "__args__"):  # typing's own name without brackets
            return self.add(_type_repr(origin), origin)
        if not isinstance(annotation, types.GenericAlias):
            origin = _origin_type_map.get(origin, origin)
        parts = ",".join(self.type(part) for part in annotation.__args__)
        return self.add(_type_repr(origin), origin) + (f"[{parts}]" if parts else "")


def _hashable(thing: Any) -> bool:
    try:
        hash(thing)
    except TypeError:
        return False
    return True


@compatibility(is_backward_compatible=False)
class CodeGen:
    """Writes the function. A program derives from it to change the signature, the result, or what happens around."""

    def __init__(self) -> None:
        self._body_transformer: Callable[[list[str]], list[str]] | None = None
        self._func_name = "forward"

    def gen_fn_def(
        self, free_vars: list[str], maybe_return_annotation: str, *, expanded_def: bool = False
    ) -> str:
        """The line with ``def``. ``free_vars`` are the inputs, with annotations and defaults."""
        if not free_vars or free_vars[0] != "self":
            free_vars.insert(0, "self")
        if expanded_def:
            inputs = "".join(f"    {variable},\n" for variable in free_vars)
            return f"def {self._func_name}(\n{inputs}){maybe_return_annotation}:"
        return f"def {self._func_name}({', '.join(free_vars)}){maybe_return_annotation}:"

    def generate_output(
        self,
        output_args: Any,
        *,
        descs: Any = None,
        repr_fn: Callable[[object], str] | None = None,
    ) -> str:
        """The line with ``return``."""
        return f"return {(repr_fn or repr)(output_args)}"

    def process_inputs(self, *args: Any) -> Any:
        """What the graph's inputs are, given those of the function; for interpreters."""
        return args

    def process_outputs(self, outputs: Any) -> Any:
        """What the function returns, given the graph's result; for interpreters."""
        return outputs

    def additional_globals(self) -> list[tuple[str, Any]]:
        """Names that the lines written here need: pairs of a name and what it means."""
        return []

    def _gen_python_code(
        self,
        nodes: _node_list | Iterable[Node],
        root_module: str,
        namespace: _Namespace,
        *,
        verbose: bool = False,
        include_stride: bool = False,
        include_device: bool = False,
        colored: bool = False,
        expanded_def: bool = False,
        record_func: bool = False,
        additional_meta: list[str] | None = None,
    ) -> PythonCode:
        known = _Globals(namespace)
        for name, thing in self.additional_globals():
            known.found[name] = thing
        writer = _Writer(self, known, root_module, verbose, include_stride, include_device, colored)
        writer.additional_meta = additional_meta or []
        origin = {}
        for index, node in enumerate(nodes):
            before = len(writer.body)
            writer.write(node)
            origin.update({line: index for line in writer.body[before:]})
        body = writer.body or ["pass\n"]
        if self._body_transformer:
            body = self._body_transformer(body)
        numbers: dict[int, int | None] = {}
        current: int | None = None
        for line in body:
            current = origin.get(line, current)
            for _ in line.split("\n")[:-1]:
                numbers[len(numbers) + 1] = current
        numbers[len(numbers) + 1] = current
        annotation = writer.return_annotation
        prologue = (
            self.gen_fn_def(writer.free_vars, annotation, expanded_def=True)
            if expanded_def
            else self.gen_fn_def(writer.free_vars, annotation)
        )
        wraps = "\n".join(f'torch.fx._symbolic_trace.wrap("{name}")' for name in writer.wrapped)
        code = "".join(body).lstrip("\n") if verbose else "".join(body)
        text = "\n".join("    " + line for line in code.split("\n"))
        if verbose:
            text = "\n".join(line.rstrip() for line in text.split("\n"))
        start = f"\n{wraps}\n\n{prologue}".count("\n") + 1
        return PythonCode(f"\n{wraps}\n\n{prologue}\n{text}", known.found, numbers, start)


class _Writer:
    """Writes the lines of the body, node by node."""

    def __init__(
        self,
        codegen: CodeGen,
        known: _Globals,
        root: str,
        verbose: bool,
        strides: bool,
        device: bool,
        colored: bool,
    ) -> None:
        self.codegen, self.known, self.root = codegen, known, root
        self.verbose, self.strides, self.device = verbose, strides, device
        self.colored = colored
        self.additional_meta: list[str] = []
        self.body: list[str] = []
        self.free_vars: list[str] = []
        self.wrapped: dict[str, None] = {}
        self.return_annotation = ""
        self._last_uses: dict[Node, list[Node]] | None = None
        self._said: str | None = None

    # ---- values --------------------------------------------------------------------------------------

    def value(self, thing: Any) -> str:
        """A value as Python writes it."""
        if isinstance(thing, Node):
            return repr(thing)
        if isinstance(thing, tuple) and hasattr(thing, "_fields"):
            name = self.known.add(qualified_name(type(thing)), type(thing))
            return f"{name}({', '.join(map(self.value, thing))})"
        if isinstance(thing, (tuple, list)):
            inside = ", ".join(map(self.value, thing))
            if isinstance(thing, list):
                return f"[{inside}]"
            return f"({inside}{',' if len(thing) == 1 else ''})"
        if isinstance(thing, dict):
            return "{" + ", ".join(f"{key!r}: {self.value(value)}" for key, value in thing.items()) + "}"
        if isinstance(thing, slice):
            return f"slice({', '.join(map(self.value, (thing.start, thing.stop, thing.step)))})"
        if isinstance(thing, enum.Enum):
            kind = type(thing)
            return f"{self.known.add(qualified_name(kind), kind)}.{thing.name}"
        if isinstance(thing, type) or is_operator(thing):
            return self.known.add(qualified_name(thing), thing)
        return repr(thing)

    def arguments(self, args: Iterable[Any], kwargs: dict[str, Any]) -> str:
        return ", ".join(
            [*map(self.value, args), *(f"{name} = {self.value(thing)}" for name, thing in kwargs.items())]
        )

    # ---- what is said of values ----------------------------------------------------------------------

    def annotation(self, node: Node) -> str:
        if self.verbose and (shape := self._shape(node)):
            return f': "{shape}"'
        return "" if node.type is None else f" : {self.known.type(node.type)}"

    def _shape(self, node: Node) -> str:
        value: Any = node.meta.get("val", node.meta.get("tensor_meta", node.meta.get("example_value")))
        if not hasattr(value, "dtype") or not hasattr(value, "shape"):
            return ""
        text = f"{dtype_abbrs.get(value.dtype, value.dtype)}{list(value.shape)}"
        if isinstance(value, torch.Tensor):
            text += str(list(value.stride())) if self.strides else ""
            text += str(value.device) if self.device else ""
        return text

    def _dim(self, text: str) -> str:
        return f"\033[2m{text}\033[0m" if self.colored else text

    def _comment(self, node: Node) -> None:
        """Where the node comes from, when that is another line than before."""
        if node.op in ("placeholder", "output"):
            return
        said = node.stack_trace or ""
        if said == self._said:
            return
        self._said = said
        if not said:
            text = "No stacktrace found for following nodes"
        elif (parsed := _parse_stack_trace(said)) is not None:
            text = parsed.get_summary_str()
        else:
            return
        self.body.append(f"\n{self._dim(f'# {text}')}\n")

    # ---- lines ---------------------------------------------------------------------------------------

    def write(self, node: Node) -> None:
        if self.verbose:
            self._comment(node)
            for key in self.additional_meta:
                if key in node.meta:
                    self.body.append(f"# {key}: {node.meta[key]}\n")
        line = getattr(self, f"_{node.op}", None)
        if line is None:
            raise NotImplementedError(f"node: {node.op} {node.target}")
        if (text := line(node)) is not None:
            self.body.append(text + self._letting_go(node))

    def _placeholder(self, node: Node) -> None:
        default = f" = {self.value(node.args[0])}" if node.args else ""
        self.free_vars.append(f"{node.target}{self.annotation(node)}{default}")
        name = str(node.target).replace("*", "")
        if name != repr(node):
            self.body.append(f"{node!r} = {name}\n")

    def _call_method(self, node: Node) -> str:
        method = _format_target(self.value(node.args[0]), str(node.target))
        return f"{node!r}{self.annotation(node)} = {method}({self.arguments(node.args[1:], node.kwargs)})"

    def _call_function(self, node: Node) -> str:
        target: Any = node.target
        name = getattr(target, "__name__", None)
        lead = f"{node!r}{self.annotation(node)} = "
        if getattr(target, "__module__", None) == "_operator" and name is not None:
            operands = [self.value(argument) for argument in node.args]
            if name in magic_methods:
                return lead + magic_methods[name].format(*operands)
            if name in inplace_methods:
                return f"{inplace_methods[name].format(*operands)};  {lead}{operands[0]}"
        called = self.known.add(qualified_name(target), target)
        if called == "getattr" and len(node.args) == 2 and not node.kwargs:
            owner, attribute = node.args
            if isinstance(attribute, str) and attribute.isidentifier():
                return lead + _format_target(self.value(owner), attribute)
        if node.meta.get("is_wrapped", False):
            self.wrapped.setdefault(called)
        return f"{lead}{called}({self.arguments(node.args, node.kwargs)})"

    def _call_module(self, node: Node) -> str:
        module = _format_target(self.root, str(node.target))
        return f"{node!r}{self.annotation(node)} = {module}({self.arguments(node.args, node.kwargs)})"

    def _get_attr(self, node: Node) -> str:
        return f"{node!r}{self.annotation(node)} = {_format_target(self.root, str(node.target))}"

    def _output(self, node: Node) -> str:
        if node.type is not None:
            self.return_annotation = f" -> {self.known.type(node.type)}"
        if self.verbose:
            return self.codegen.generate_output(node.args[0], repr_fn=self.value)
        if type(self.codegen).generate_output in _OWN_OUTPUTS:
            return self.codegen.generate_output(node.args[0], repr_fn=self.value)
        return self.codegen.generate_output(node.args[0])

    def _letting_go(self, node: Node) -> str:
        """Note [Values are let go]."""
        if node.op == "output":
            return "\n"
        if self._last_uses is None:
            self._last_uses = _last_uses(node.graph.nodes)
        done = self._last_uses.get(node, [])
        if not node.users:
            done = [*done, node]
        if not done:
            return "\n"
        text = " = ".join([*map(repr, done), "None"])
        return f";  {self._dim(text)}\n"


def _last_uses(nodes: Iterable[Node]) -> dict[Node, list[Node]]:
    """For each node, those whose last user it is, in the order of its arguments."""
    seen: set[Node] = set()
    found: dict[Node, list[Node]] = defaultdict(list)
    for user in reversed(list(nodes)):
        for node in nodes_in((user.args, user.kwargs)):
            if node not in seen:
                seen.add(node)
                found[user].append(node)
    return found


# ---- nested inputs and outputs -----------------------------------------------------------------------


class _PyTreeInfo(NamedTuple):
    """Names of the inputs, and how they and the result are nested."""

    orig_args: list[str]
    in_spec: pytree.TreeSpec
    out_spec: pytree.TreeSpec | None


@compatibility(is_backward_compatible=False)
class _PyTreeCodeGen(CodeGen):
    """A function with nested inputs around a graph whose inputs are their leaves."""

    def __init__(self, pytree_info: _PyTreeInfo) -> None:
        super().__init__()
        self.pytree_info = pytree_info

    def process_inputs(self, *inputs: Any) -> Any:
        return pytree.arg_tree_leaves(*inputs)

    def process_outputs(self, out: Any) -> Any:
        if self.pytree_info.out_spec is None:
            return out
        leaves = out if isinstance(out, (list, tuple)) else [out]
        return pytree.tree_unflatten(leaves, self.pytree_info.out_spec)

    def gen_var_bindings(self, fn_args: list[str], free_vars: list[str], expanded_def: bool) -> str:
        """The line that takes the inputs apart."""
        names = [variable.split(":")[0].split("=")[0].strip() for variable in free_vars]
        bare = [name.split(":")[0].split("=")[0].strip() for name in fn_args]
        given = f"[{', '.join(bare)}]"
        if (
            len(names) > 0
            and self.pytree_info.in_spec.num_children == 2
            and _is_call(self.pytree_info.in_spec)
        ):
            count = self.pytree_info.in_spec.children_specs[0].num_children
            keywords = self.pytree_info.in_spec.children_specs[1].context
            pairs = ", ".join(f"'{key}':{name}" for key, name in zip(keywords, bare[count:], strict=False))
            given = f"([{', '.join(bare[:count])}], {{{pairs}}})"
        return f"\n    {''.join(f'{name}, ' for name in names)}= fx_pytree.tree_flatten_spec({given}, self._in_spec)"

    def gen_fn_def(
        self, free_vars: list[str], maybe_return_annotation: str, *, expanded_def: bool = False
    ) -> str:
        arguments = list(self.pytree_info.orig_args)
        has_self = bool(arguments) and arguments[0] == "self"
        own = arguments[1:] if has_self else arguments
        line = super().gen_fn_def(own[:], maybe_return_annotation, expanded_def=expanded_def)
        if not free_vars:
            return line
        return line + self.gen_var_bindings(own, free_vars, expanded_def)

    def generate_output(
        self,
        output_args: Any,
        *,
        descs: Any = None,
        repr_fn: Callable[[object], str] | None = None,
    ) -> str:
        shown = repr_fn or repr
        if self.pytree_info.out_spec is None:
            return f"return {shown(output_args)}"
        leaves = output_args if isinstance(output_args, (list, tuple)) else [output_args]
        return f"return pytree.tree_unflatten([{', '.join(map(shown, leaves))}], self._out_spec)"


def _is_call(spec: pytree.TreeSpec) -> bool:
    """Whether a description is that of the two parts of a call: a tuple of arguments, a dict of keywords."""
    first, second = spec.children_specs
    return spec.type is tuple and first.type is tuple and second.type is dict


class _BoxedCodeGen(CodeGen):
    """A function of one list, which it empties: the caller's references do not outlive their use."""

    def gen_fn_def(
        self, free_vars: list[str], maybe_return_annotation: str, *, expanded_def: bool = False
    ) -> str:
        line = f"def {self._func_name}(self, args_list){maybe_return_annotation}:"
        if free_vars:
            names = [variable.split(":")[0].split("=")[0].strip() for variable in free_vars]
            line += f"\n    {''.join(f'{name}, ' for name in names)}= args_list"
        return line + "\n    args_list.clear()"


_OWN_OUTPUTS = (CodeGen.generate_output, _PyTreeCodeGen.generate_output)


__all__ = ["CodeGen", "PythonCode", "inplace_methods", "magic_methods", "reflectable_magic_methods"]
