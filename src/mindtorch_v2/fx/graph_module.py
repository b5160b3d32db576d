"""A module that runs a graph."""

from __future__ import annotations

import contextlib
import copy
import linecache
import os
import sys
import textwrap
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import mindtorch_v2 as torch

from ._codegen import PythonCode, _PyTreeCodeGen
from ._compatibility import compatibility
from ._source import _exec_with_source as _exec_with_source
from ._source import _format_import_block, _format_import_statement, _forward_from_src, for_this_package
from .graph import Graph
from .node import Node

__all__ = ["GraphModule", "reduce_graph_module"]

_USER_PRESERVED_ATTRIBUTES_KEY = "_user_preserved_attributes"
_REMINDER = "# To see more debug info, please use `graph_module.print_readable()`"
_KEPT_BY_COPIES = (
    "_state_dict_hooks", "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks", "_replace_hooks",
    "_create_node_hooks", "_erase_node_hooks", "_deepcopy_hooks",
)  # fmt: skip


# ---- attributes by path ------------------------------------------------------------------------------


def _owner(model: torch.nn.Module, path: str, make: bool = False) -> tuple[Any, str]:
    """The module that has the last part of a path, and that part."""
    *parts, last = path.split(".")
    found: Any = model
    for part in parts:
        if make and getattr(found, part, None) is None:
            setattr(found, part, torch.nn.Module())
        found = getattr(found, part)
    return found, last


def _get_attr(model: torch.nn.Module, attr_name: str) -> Any:
    owner, name = _owner(model, attr_name)
    return getattr(owner, name)


def _has_attr(model: torch.nn.Module, attr_name: str) -> bool:
    try:
        _get_attr(model, attr_name)
    except AttributeError:
        return False
    return True


def _del_attr(model: torch.nn.Module, attr_name: str) -> None:
    owner, name = _owner(model, attr_name)
    delattr(owner, name)


def _assign_attr(from_obj: object, to_module: torch.nn.Module, target: str) -> None:
    """Sets an attribute, with the modules on the way to it; a tensor becomes a buffer."""
    owner, name = _owner(to_module, target, make=True)
    if isinstance(from_obj, torch.Tensor) and not isinstance(from_obj, torch.nn.Parameter):
        owner.register_buffer(name, from_obj)
    else:
        setattr(owner, name, from_obj)


def _copy_attr(from_module: torch.nn.Module, to_module: torch.nn.Module, target: str) -> None:
    source: Any = from_module
    made: Any = to_module
    *parts, last = target.split(".")
    for part in parts:
        source = getattr(source, part)
        if getattr(made, part, None) is source:
            return  # the same module is there already, with everything in it
        if getattr(made, part, None) is None:
            setattr(made, part, torch.nn.Module())
        made = getattr(made, part)
    _assign_attr(getattr(source, last), made, last)


class _CodeOnlyModule(torch.nn.Module):
    """A module with the attributes of another."""

    def __init__(self, body: dict[str, Any]) -> None:
        super().__init__()
        self.__dict__ = body


# The tracer that traces where nobody says another; _symbolic_trace puts it here.
default_tracer: list[Any] = []


# ---- pickles -----------------------------------------------------------------------------------------


@compatibility(is_backward_compatible=True)
def reduce_graph_module(body: dict[str, Any], import_block: str) -> torch.nn.Module:
    """What a pickle calls: the module's attributes, its code, and the imports of that."""
    # Older files have "code".
    source = body.get("_code") or body["code"]
    return _deserialize_graph_module(
        _forward_from_src(for_this_package(import_block) + "\n" + source, {}), body
    )


def _deserialize_graph_module(
    forward: Callable[..., Any], body: dict[str, Any], graph_module_cls: type[GraphModule] | None = None
) -> torch.nn.Module:
    """Note [Graphs in pickles]: a pickle holds the code, and the graph is found by tracing it again, with every module
    a leaf, by the tracer that made it."""
    _CodeOnlyModule.forward = forward  # type: ignore[method-assign]
    tracer_cls = body.get("_tracer_cls")
    if tracer_cls is None:
        tracer_cls = default_tracer[0]
    name = body.get("_graphmodule_cls_name", "GraphModule")
    shell = _CodeOnlyModule(body)

    class KeepModules(tracer_cls):  # type: ignore[misc,valid-type]
        def is_leaf_module(self, m: torch.nn.Module, module_qualified_name: str) -> bool:
            return True

    graph = KeepModules().trace(shell, **(body.get("_tracer_extras") or {}))
    graph._tracer_cls = tracer_cls
    made = (graph_module_cls or GraphModule)(shell, graph, class_name=name)
    for key, value in body.items():
        if not hasattr(made, key):
            setattr(made, key, value)
    result: torch.nn.Module = made
    return result


# ---- calls -------------------------------------------------------------------------------------------


class _WrappedCall:
    """Calls the module; an error inside generated code is shown with the line of that code."""

    def __init__(self, cls: type, cls_call: Callable[..., Any] | None) -> None:
        self.cls, self.cls_call = cls, cls_call

    @staticmethod
    def _generate_error_message(frame_summary: traceback.FrameSummary) -> str:
        number = frame_summary.lineno or 0
        lines = linecache.getlines(frame_summary.filename)
        mark = "~" * (len(lines[number - 1].strip()) if 0 < number <= len(lines) else 0) + "~~~ <--- HERE"
        return "\n".join([
            f"Call using an FX-traced Module, line {number} of the traced Module's generated forward function:",
            "".join(lines[max(0, number - 2) : number]),
            mark,
            "\n".join(lines[number : number + 2]),
        ])  # fmt: skip

    def __call__(self, obj: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            if self.cls_call is not None:
                return self.cls_call(obj, *args, **kwargs)
            return super(self.cls, obj).__call__(*args, **kwargs)  # type: ignore[arg-type]
        except Exception as error:
            if not error.__traceback__:
                raise
            innermost = traceback.extract_tb(error.__traceback__)[-1]
            if "eval_with_key" not in innermost.filename:
                raise
            print(traceback.format_exc(), file=sys.stderr)
            print(self._generate_error_message(innermost), file=sys.stderr)
            raise error.with_traceback(None) from None


@compatibility(is_backward_compatible=True)
class GraphModule(torch.nn.Module):
    """A module made of a graph. Its ``forward`` is ``code``, written from ``graph`` when that is set, and again by
    ``recompile`` after a change."""

    def __new__(cls, *args: Any, **kwargs: Any) -> GraphModule:
        # Every module has a forward of its own, so it has a class of its own.
        base = next(c for c in cls.__mro__ if c.__qualname__.split(".")[-1] != "GraphModuleImpl")

        class GraphModuleImpl(base):  # type: ignore[misc,valid-type]
            pass

        return super().__new__(GraphModuleImpl)

    @compatibility(is_backward_compatible=True)
    def __init__(
        self, root: torch.nn.Module | dict[str, Any], graph: Graph, class_name: str = "GraphModule"
    ) -> None:
        """``root`` has what the graph calls and reads: a module, or a dict with the names that the graph uses."""
        super().__init__()
        type(self).__name__ = class_name
        targets = [str(n.target) for n in graph.nodes if n.op in ("get_attr", "call_module")]
        if isinstance(root, torch.nn.Module):
            if hasattr(root, "training"):
                self.training = root.training
            for target in targets:
                _copy_attr(root, self, target)
        elif isinstance(root, dict):
            for node in graph.nodes:
                if node.op in ("get_attr", "call_module") and node.target not in root:
                    raise RuntimeError(
                        f"Node {node} referenced target {node.target} but that target was not provided in ``root``!"
                    )
            # What is outside comes first.
            for target in sorted(dict.fromkeys(targets), key=lambda target: target.count(".")):
                _assign_attr(root[target], self, target)
        else:
            raise RuntimeError(f"Unsupported type {root} passed for root!")
        self.graph = graph
        # A class inside a function cannot be found by a pickle.
        tracer = graph._tracer_cls
        self._tracer_cls = tracer if tracer is not None and "<locals>" not in tracer.__qualname__ else None
        self._tracer_extras = graph._tracer_extras or {}
        self.meta: dict[str, Any] = {}
        self._replace_hooks: list[Callable[..., object]] = []
        self._create_node_hooks: list[Callable[[Node], object]] = []
        self._erase_node_hooks: list[Callable[[Node], object]] = []
        self._deepcopy_hooks: list[Callable[[GraphModule], object]] = []

    # Set per instance's class by recompile.
    _code: str
    __jit_unused_properties__ = ["graph", "_boxed_call"]

    @property
    def _boxed_call(self) -> bool:
        return bool(getattr(self._graph._codegen, "_boxed_call", False))

    @property
    def graph(self) -> Graph:
        """The graph. Setting one writes the code; after changing one, call ``recompile``."""
        return self._graph

    @graph.setter
    def graph(self, g: Graph) -> None:
        if not isinstance(g, Graph):
            raise AssertionError(f"Expected a Graph instance, but got {type(g)}")
        self._graph = g
        g.owning_module = self
        self.recompile()

    @property
    def code(self) -> str:
        """The source of ``forward``."""
        if not hasattr(self, "_code"):
            raise RuntimeError("Code has not been generated! Please report a bug to PyTorch")
        return self._code

    @compatibility(is_backward_compatible=True)
    def recompile(self) -> PythonCode:
        """Writes ``forward`` again from the graph."""
        codegen = self._graph._codegen
        if isinstance(codegen, _PyTreeCodeGen):
            self._in_spec = codegen.pytree_info.in_spec
            self._out_spec = codegen.pytree_info.out_spec
        code = self._graph.python_code(root_module="self")
        self._code, self._lineno_map, self._prologue_start = code.src, code._lineno_map, code._prologue_start
        cls = type(self)
        cls.forward = _forward_from_src(self._code, code.globals, self._graph._co_fields)  # type: ignore[method-assign]
        if "_wrapped_call" not in vars(cls):
            cls._wrapped_call = _WrappedCall(cls, vars(cls).get("__call__"))  # type: ignore[attr-defined]

            def call_wrapped(self: Any, *args: Any, **kwargs: Any) -> Any:
                return self._wrapped_call(self, *args, **kwargs)

            cls.__call__ = call_wrapped  # type: ignore[method-assign]
        return code

    def _recompile_submodules(self) -> list[tuple[str, PythonCode]]:
        return [(n, m.recompile()) for n, m in self.named_modules() if isinstance(m, GraphModule)]

    # ---- modules inside ------------------------------------------------------------------------------

    @compatibility(is_backward_compatible=False)
    def add_submodule(self, target: str, m: torch.nn.Module) -> bool:
        """Puts a module at a path, with empty ones on the way; False if something else stands in the way."""
        *parts, last = target.split(".")
        found: torch.nn.Module = self
        for part in parts:
            following = getattr(found, part, None)
            if following is None:
                following = torch.nn.Module()
                setattr(found, part, following)
            if not isinstance(following, torch.nn.Module):
                return False
            found = following
        found.add_module(last, m)
        return True

    @compatibility(is_backward_compatible=False)
    def delete_submodule(self, target: str) -> bool:
        """Takes out a module; False if there is none."""
        *parts, last = target.split(".")
        found: Any = self
        for part in parts:
            found = getattr(found, part, None)
            if not isinstance(found, torch.nn.Module):
                return False
        if not isinstance(getattr(found, last, None), torch.nn.Module):
            return False
        delattr(found, last)
        return True

    @compatibility(is_backward_compatible=False)
    def delete_all_unused_submodules(self) -> None:
        """Takes out the modules that no node calls or reads from, and that hold none of those."""
        used: set[str] = set()
        for node in self.graph.nodes:
            if node.op not in ("call_module", "get_attr"):
                continue
            parts = str(node.target).split(".")
            used.update(".".join(parts[: end + 1]) for end in range(len(parts)))
            if node.op == "call_module":
                try:
                    inside = self.get_submodule(str(node.target)).named_modules()
                except AttributeError:
                    continue  # the graph calls what is not there
                used.update(f"{node.target}.{name}" for name, _ in inside if name)
        for name in [name for name, _ in self.named_modules() if name and name not in used]:
            self.delete_submodule(name)

    # ---- files ---------------------------------------------------------------------------------------

    @compatibility(is_backward_compatible=False)
    def to_folder(self, folder: str | os.PathLike[str], module_name: str = "FxModule") -> None:
        """Writes a package whose module ``module_name`` is this one: code, tensors, and pickles of modules that
        cannot be written as code."""
        path = Path(folder)
        path.mkdir(exist_ok=True)
        torch.save(self.state_dict(), path / "state_dict.pt")
        spaces, code = " " * 4, self.graph.python_code(root_module="self")
        imports = "\n".join(_format_import_statement(name, obj) for name, obj in code.globals.items())
        lines = [
            f"class {module_name}(torch.nn.Module):",
            "    def __init__(self):",
            "        super().__init__()",
        ]
        pickled = []
        for name, module in self.named_children():
            text = _as_code(module)
            if text is None:
                pickled.append(name)
                file = path / f"{name}.pt"
                torch.save(module, file)
                text = f"torch.load(r'{file}', weights_only=False) # {' '.join(str(module).splitlines())}"
            lines.append(f"        setattr(self, '{name}', {text})")
        for name, buffer in self._buffers.items():
            if buffer is not None:
                lines.append(
                    f"        self.register_buffer('{name}', torch.empty({list(buffer.shape)}, dtype={buffer.dtype}))"
                )
        for name, parameter in self._parameters.items():
            if parameter is not None:
                shape, kind = list(parameter.shape), parameter.dtype
                lines.append(
                    f"        setattr(self, '{name}', torch.nn.Parameter(torch.empty({shape}, dtype={kind})))"
                )
        lines.append(f"        self.load_state_dict(torch.load(r'{path / 'state_dict.pt'}'))")
        header = for_this_package(f"\nimport torch\n{imports}\n\nfrom torch.nn import *\n")
        body = header + "\n".join(lines) + "\n" + textwrap.indent(code.src, spaces).rstrip(" ") + "\n"
        (path / "module.py").write_text(body)
        (path / "__init__.py").write_text("from .module import *")
        if pickled:
            warnings.warn(
                "Was not able to save the following children modules as reprs -saved as pickled files instead: "
                f"{pickled}",
                stacklevel=2,
            )

    def __reduce__(self) -> tuple[Any, ...]:
        """Note [Graphs in pickles]."""
        body = self.__dict__.copy()
        code = self.recompile()
        del body["_graph"]
        return reduce_graph_module, (body, _format_import_block(code.globals))

    # ---- copies --------------------------------------------------------------------------------------

    def _deepcopy_init(self) -> Callable[..., None]:
        return GraphModule.__init__

    def __deepcopy__(self, memo: dict[int, Any]) -> GraphModule:
        made = type(self).__new__(type(self))
        memo[id(self)] = made
        shell = _CodeOnlyModule(copy.deepcopy(self.__dict__, memo))
        self._deepcopy_init()(made, shell, shell.__dict__["_graph"])
        type(made).__name__ = type(self).__name__
        for name in _KEPT_BY_COPIES:
            if name in self.__dict__:
                setattr(made, name, copy.deepcopy(self.__dict__[name], memo))
        made.meta = copy.deepcopy(getattr(self, "meta", {}), memo)
        for name, value in made.meta.get(_USER_PRESERVED_ATTRIBUTES_KEY, {}).items():
            setattr(made, name, value)
        for hook in self._deepcopy_hooks:
            hook(made)
        return made

    def __copy__(self) -> GraphModule:
        made = GraphModule(self, self.graph)
        made.meta = getattr(self, "meta", {})
        return made

    # ---- texts ---------------------------------------------------------------------------------------

    @compatibility(is_backward_compatible=False)
    def print_readable(
        self,
        print_output: bool = True,
        include_stride: bool = False,
        include_device: bool = False,
        colored: bool = False,
        *,
        fast_sympy_print: bool = False,
        expanded_def: bool = False,
        additional_meta: list[str] | None = None,
    ) -> str:
        """The code of this module and of those inside, with shapes and where lines come from; prints it."""
        options = {
            "include_stride": include_stride,
            "include_device": include_device,
            "colored": colored,
            "expanded_def": expanded_def,
            "additional_meta": additional_meta,
        }
        text = _readable(self, self._get_name(), options)
        if print_output:
            print(text)
        return text

    def __str__(self) -> str:
        return "\n".join([super().__str__(), self._code, _REMINDER])

    def _replicate_for_data_parallel(self) -> Any:
        made = self.__copy__()
        made._is_replica = True
        return made

    # ---- who hears of changes ------------------------------------------------------------------------

    @contextlib.contextmanager
    def _set_replace_hook(self, f: Callable[[Node, str, Node], object]) -> Iterator[None]:
        self._register_replace_node_hook(f)
        try:
            yield
        finally:
            self._unregister_replace_node_hook(f)

    def _register_replace_node_hook(self, f: Callable[[Node, str, Node], object]) -> None:
        self._replace_hooks.append(_callable(f, "replace_node"))

    def _unregister_replace_node_hook(self, f: Callable[[Node, str, Node], object]) -> None:
        self._replace_hooks.remove(f)

    def _register_create_node_hook(self, f: Callable[[Node], object]) -> None:
        self._create_node_hooks.append(_callable(f, "create_node"))

    def _unregister_create_node_hook(self, f: Callable[[Node], object]) -> None:
        self._create_node_hooks.remove(f)

    def _register_erase_node_hook(self, f: Callable[[Node], object]) -> None:
        self._erase_node_hooks.append(_callable(f, "erase_node"))

    def _unregister_erase_node_hook(self, f: Callable[[Node], object]) -> None:
        self._erase_node_hooks.remove(f)

    def _register_deepcopy_hook(self, f: Callable[[GraphModule], object]) -> None:
        self._deepcopy_hooks.append(_callable(f, "deepcopy"))

    def _unregister_deepcopy_hook(self, f: Callable[[GraphModule], object]) -> None:
        self._deepcopy_hooks.remove(f)


def _callable(function: Any, kind: str) -> Any:
    if not callable(function):
        raise AssertionError(f"{kind} hook must be a callable.")
    return function


_WRITTEN_AS_CODE = (
    torch.nn.Linear, torch.nn.Conv1d, torch.nn.Conv2d, torch.nn.Conv3d, torch.nn.BatchNorm1d,
    torch.nn.BatchNorm2d, torch.nn.BatchNorm3d,
)  # fmt: skip


def _as_code(module: torch.nn.Module) -> str | None:
    """The call that makes a module like this one, if its text is that."""
    return repr(module) if type(module) in _WRITTEN_AS_CODE else None


def _readable(module: GraphModule, name: str, options: dict[str, Any]) -> str:
    own = module.graph.python_code(root_module="self", verbose=True, **options).src.strip("\n ")
    parts = [f"class {name}(torch.nn.Module):\n{textwrap.indent(own, '    ')}\n"]
    for child_name, child in module.named_children():
        if isinstance(child, GraphModule):
            parts.append(textwrap.indent(_readable(child, child_name, options), "    "))
    return "\n".join(parts)
