"""The graph of a model with marks where its stages end.

Note [Tracing for stages]
Only modules that have a split point somewhere below them are taken apart: all others are one node each. The tracer
knows for every value what the example inputs make of it (a fake tensor, so nothing is computed), and answers with it
what is no tensor: shapes are numbers, lengths and dtypes are known, ``if`` decides. What depends on the values of
tensors, and random numbers drawn between split points, cannot be in a graph and is refused.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from typing import Any

from ... import nn
from ..._C import Tensor
from ..._random import get_rng_state
from ..._subclasses.fake_tensor import FakeTensorMode
from ...fx import GraphModule, Node, Proxy, Tracer
from ...fx.node import map_arg
from ...fx.proxy import TraceError
from ...utils import _pytree


class SplitPoint(Enum):
    """Whether a stage ends before a module is called or after it."""

    BEGINNING = 1
    END = 2


class _Seen:
    """Who is told of marks."""

    mark: Any = None


def pipe_split() -> None:
    """The end of a stage, in the forward of a model that :func:`pipeline` cuts; elsewhere it does nothing."""
    if _Seen.mark is not None:
        _Seen.mark()


@contextmanager
def _marks_go_to(function: Any) -> Iterator[None]:
    before, _Seen.mark = _Seen.mark, function
    try:
        yield
    finally:
        _Seen.mark = before


def _has_tensors(value: Any) -> bool:
    return any(isinstance(leaf, Tensor) for leaf in _pytree.tree_leaves(value))


class _Known(Proxy):
    """A value that says of itself what the example says. Note [Tracing for stages]."""

    @property
    def example(self) -> Any:
        return self.node.meta["example"]

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.example, name)
        return super().__getattr__(name) if callable(found) or _has_tensors(found) else found

    def __len__(self) -> int:  # type: ignore[override]
        return len(self.example)

    def __iter__(self) -> Iterator[Any]:
        return iter([self[index] for index in range(len(self))])  # type: ignore[index]

    def __bool__(self) -> bool:
        return bool(self.example)


class StageTracer(Tracer):
    """Note [Tracing for stages]."""

    def __init__(
        self, opened: set[nn.Module], points: dict[str, SplitPoint], example: Any, fake: FakeTensorMode
    ) -> None:
        super().__init__()
        self._opened, self._points, self._example, self._fake = opened, points, example, fake
        self._looking = False  # at what an example gives

    def create_args_for_root(
        self, root_fn: Any, is_module: bool, concrete_args: Any = None
    ) -> tuple[Any, list[Any]]:
        """An input of the graph for each argument of the example; those without tensors are what they are."""
        args, kwargs = self._example
        bound = inspect.signature(inspect.unwrap(root_fn)).bind(self.root, *args, **kwargs)
        bound.arguments[next(iter(bound.arguments))] = self.root
        for name, value in list(bound.arguments.items())[1:]:
            kind = bound.signature.parameters[name].kind
            if kind is inspect.Parameter.VAR_POSITIONAL:
                given: Any = tuple(self._input(f"{name}_{at}", each) for at, each in enumerate(value))
            elif kind is inspect.Parameter.VAR_KEYWORD:
                given = {key: self._input(key, each) for key, each in value.items()}
            else:
                given = self._input(name, value)
            bound.arguments[name] = given
        return lambda: root_fn(*bound.args, **bound.kwargs), []

    def _input(self, name: str, value: Any) -> Any:
        made = self.create_proxy("placeholder", name, (), {})
        made.node.meta["example"] = value
        return made if _has_tensors(value) else value

    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
        return m not in self._opened

    def mark(self) -> None:
        """Puts the end of a stage here."""
        if not self._looking:
            self.graph.call_function(pipe_split)

    def call_module(self, m: nn.Module, forward: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self._looking:
            return forward(*args, **kwargs)
        point = self._points.get(self.path_of_module(m))
        if point is SplitPoint.BEGINNING:
            self.mark()
        result = super().call_module(m, forward, args, kwargs)
        if point is SplitPoint.END:
            self.mark()
        return result

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Proxy]) -> Any:
        return attr_val if self._looking else super().getattr(attr, attr_val, parameter_proxy_cache)

    def proxy(self, node: Node) -> Proxy:
        return _Known(node, self)

    def create_proxy(self, kind: str, target: Any, args: Any, kwargs: Any, *more: Any, **options: Any) -> Any:
        made = super().create_proxy(kind, target, args, kwargs, *more, **options)
        if kind == "placeholder":
            return made
        value = self._example_of(made.node)
        if _has_tensors(value) or value is None:
            made.node.meta["example"] = value
            return made
        self.graph.erase_node(made.node)
        return value

    def _example_of(self, node: Node) -> Any:
        def look_up(each: Node) -> Any:
            if "example" not in each.meta:
                each.meta["example"] = self._attribute(str(each.target))  # create_arg made it
            return each.meta["example"]

        if node.op == "get_attr":
            return self._attribute(str(node.target))
        args, kwargs = map_arg((node.args, node.kwargs), look_up)
        self._looking = True
        try:
            with self._fake:
                if node.op == "call_module":
                    return self.root.get_submodule(str(node.target))(*args, **kwargs)
                if node.op == "call_method":
                    return getattr(args[0], str(node.target))(*args[1:], **kwargs)
                assert callable(node.target)
                return node.target(*args, **kwargs)
        finally:
            self._looking = False

    def _attribute(self, path: str) -> Any:
        found: Any = self.root
        self._looking = True
        try:
            for part in path.split("."):
                found = getattr(found, part)
        finally:
            self._looking = False
        return self._fake.from_tensor(found) if isinstance(found, Tensor) else found


@contextmanager
def _refusing(module: nn.Module) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        raise TraceError(
            f"{type(module).__name__} cannot be cut into stages here, because its graph cannot be found: "
            f"{type(error).__name__}: {error}. Cut it elsewhere, or by hand with PipelineStage"
        ) from error


def _opened(
    module: nn.Module, points: dict[str, SplitPoint], example: Any, fake: FakeTensorMode
) -> set[nn.Module]:
    """The modules with a split point below them: found by running the example, without values."""
    running: list[nn.Module] = []
    opened: set[nn.Module] = {module}
    by_module = {module.get_submodule(path) for path in points}
    called: set[nn.Module] = set()

    def entered(part: nn.Module, *_: Any) -> None:
        if part in by_module:
            opened.update(running)
            called.add(part)
        running.append(part)

    def left(part: nn.Module, *_: Any) -> None:
        running.pop()

    handles = []
    try:
        for part in module.modules():
            handles += [part.register_forward_pre_hook(entered), part.register_forward_hook(left)]
        with _refusing(module), fake, _marks_go_to(lambda: opened.update(running)):
            args, kwargs = example
            module(*args, **kwargs)
    finally:
        for handle in handles:
            handle.remove()
    for path in points:
        if module.get_submodule(path) not in called:
            raise ValueError(
                f"split_spec names {path}, but the forward of {type(module).__name__} does not call it"
            )
    return opened


def traced(
    module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], points: dict[str, SplitPoint]
) -> GraphModule:
    """The model as a graph with calls of ``pipe_split`` in it."""
    fake = FakeTensorMode(allow_non_fake_inputs=True)
    example = _pytree.tree_map(
        lambda each: fake.from_tensor(each) if isinstance(each, Tensor) else each, (args, kwargs)
    )
    tracer = StageTracer(_opened(module, points, example, fake), points, example, fake)
    chance, attributes = get_rng_state(), set(vars(module))
    try:
        with _refusing(module), _marks_go_to(tracer.mark):
            made = GraphModule(module, tracer.trace(module))
    finally:
        for name in set(vars(module)) - attributes:  # tensors that forward made: the graph has them now
            delattr(module, name)
    if not get_rng_state().equal(chance):
        raise TraceError(
            f"{type(module).__name__} draws random numbers between its split points, which a graph would repeat: draw "
            "them in a module of their own"
        )
    return made
