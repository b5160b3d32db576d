"""``make_fx``: the operators that a function calls on tensors, as a graph.

Note [Traced by operators]
The function runs on tensors, real or fake, while a dispatch mode (``ProxyTorchDispatchMode``) writes down every
operator. A tensor that the mode has met has a proxy; what it meets for the first time is a constant, which the graph's
module keeps. Gradients are operators as well: the graph of a function that calls ``autograd.grad`` has them all.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._library import interception
from mindtorch_v2._subclasses.fake_tensor import (
    FakeTensor,
    FakeTensorMode,
    fake_tensor_tls,
    is_fake,
    no_modes,
    unset_fake_temporarily,
)
from mindtorch_v2.utils import _pytree as pytree
from mindtorch_v2.utils._python_dispatch import TorchDispatchMode

from ..._absent import names_of
from .._lazy_graph_module import _make_graph_module
from .._symbolic_trace import PH, Tracer
from ..graph import Graph
from ..graph_module import GraphModule
from ..passes.shape_prop import _extract_tensor_metadata
from ..proxy import Proxy

__all__ = [
    "DecompositionInterpreter", "PythonKeyTracer", "dispatch_trace", "get_innermost_proxy_mode", "get_proxy_mode",
    "make_fx",
]  # fmt: skip

aten = torch.ops.aten
CONSTANT_NUMEL_LIMIT = 1
Table = Mapping[Any, Callable[..., Any]]

# The decompositions of the make_fx that runs.
CURRENT_DECOMPOSITION_TABLE: Table = {}


@contextmanager
def decompose(decomposition_table: Table | None) -> Iterator[Table]:
    """Inside, operators of the table are traced as what its functions call."""
    global CURRENT_DECOMPOSITION_TABLE
    before, CURRENT_DECOMPOSITION_TABLE = CURRENT_DECOMPOSITION_TABLE, decomposition_table or {}
    try:
        yield CURRENT_DECOMPOSITION_TABLE
    finally:
        CURRENT_DECOMPOSITION_TABLE = before


class _Tracked:
    """What the tracer knows of a tensor, which it keeps so that no other has its address."""

    def __init__(self, tensor: torch.Tensor, proxy: Proxy, constant: torch.Tensor | None) -> None:
        self.tensor, self.proxy, self.constant = tensor, proxy, constant


def _place(tensor: torch.Tensor) -> Any:
    """Where its elements lie; None if it has none, or is not made of memory."""
    inner = tensor._elem if isinstance(tensor, FakeTensor) else tensor
    if (
        type(inner) not in (torch.Tensor, torch.nn.Parameter)
        or inner.layout != torch.strided
        or not inner.numel()
    ):
        return None
    with no_modes():
        storage = inner.untyped_storage()._cdata
        return storage, inner.storage_offset(), tuple(inner.shape), inner.stride(), inner.dtype


class PythonKeyTracer(Tracer):
    """A tracer of operators: modules are called as they are, and tensors that nobody has met are constants."""

    def __init__(self) -> None:
        super().__init__(autowrap_modules=())
        self.tracked: dict[int, _Tracked] = {}
        self.places: dict[Any, _Tracked] = {}
        self.root = torch.nn.Module()
        self.tensor_attrs = {}

    def call_module(
        self, m: torch.nn.Module, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        return forward(*args, **kwargs)

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Proxy]) -> Any:
        return attr_val

    def create_arg(self, a: Any) -> Any:
        if isinstance(a, torch.nn.Parameter):
            return self.create_node("get_attr", self._kept(a, "_param_constant"), (), {})
        if isinstance(a, torch.Tensor):
            return self.create_node("get_attr", self._kept(a, "_tensor_constant"), (), {})
        return super().create_arg(a)

    def unwrap_proxy(self, e: Any) -> Any:
        """The proxy of a tensor; other values as they are."""
        if not isinstance(e, torch.Tensor):
            return e
        found = self.find(e)
        return e if found is None else found.proxy

    def find(self, tensor: torch.Tensor) -> _Tracked | None:
        """What is known of a tensor, or of its place in memory: a node of autograd keeps a tensor as another one."""
        found = self.tracked.get(id(tensor))
        return self.places.get(_place(tensor)) if found is None else found

    def track(self, tensor: torch.Tensor, proxy: Proxy, constant: torch.Tensor | None = None) -> None:
        """From now on the tensor is the proxy's value."""
        known = self.tracked[id(tensor)] = _Tracked(tensor, proxy, constant)
        place = _place(tensor)
        if place is not None:
            self.places[place] = known


def extract_val(val: Any) -> Any:
    """What a node's ``meta`` says of a value: fake tensors for tensors."""

    def described(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        with no_modes():
            if isinstance(value, FakeTensor):
                return FakeTensor(value.fake_mode, value._elem.view(value._elem.shape), value.device)
            mode = FakeTensorMode()
            elem = torch.empty_strided(value.size(), value.stride(), dtype=value.dtype, device="meta")
            return FakeTensor(mode, elem, value.device)

    return pytree.tree_map(described, val)


def set_meta(proxy: Proxy, val: Any) -> Proxy:
    """Describes the value of a proxy's node."""
    proxy.node.meta["val"] = extract_val(val)
    if isinstance(val, torch.Tensor):
        proxy.node.meta["tensor_meta"] = _extract_tensor_metadata(val)
    return proxy


def track_tensor(tensor: torch.Tensor, proxy: Proxy, *, constant: torch.Tensor | None, tracer: Any) -> None:
    """From now on the tensor is the proxy's value."""
    tracer.track(tensor, proxy, constant)


def track_tensor_tree(inner_res: Any, proxy_res: Any, *, constant: Any, tracer: Any) -> Any:
    """The same for tensors in containers, whose proxies are items of the container's."""

    def walk(value: Any, proxy: Any, known: Any) -> None:
        if isinstance(value, torch.Tensor):
            set_meta(proxy, value)
            tracer.track(value, proxy, known)
        elif isinstance(value, (tuple, list)):
            if isinstance(proxy, Proxy):
                set_meta(proxy, value)
            for index, item in enumerate(value):
                walk(item, proxy[index], None)
        elif isinstance(value, dict):
            for key, item in value.items():
                walk(item, proxy[key], None)

    walk(inner_res, proxy_res, constant)
    return inner_res


def maybe_handle_decomp(
    proxy_mode: ProxyTorchDispatchMode, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """What the current table makes of an operator; NotImplemented if it has nothing."""
    if op in CURRENT_DECOMPOSITION_TABLE:
        with proxy_mode:
            return CURRENT_DECOMPOSITION_TABLE[op](*args, **kwargs)
    return NotImplemented


def proxy_call(
    proxy_mode: ProxyTorchDispatchMode,
    func: Any,
    pre_dispatch: bool,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """Runs an operator and writes it down."""
    made = maybe_handle_decomp(proxy_mode, func, args, kwargs)
    if made is not NotImplemented:
        return made
    tracer = proxy_mode.tracer
    tensors = [t for t in pytree.tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor)]
    name = str(func)
    if name == "aten._local_scalar_dense.default":
        return _value(proxy_mode, func, args[0])
    if name == "aten.lift_fresh.default":
        func = aten.lift_fresh_copy.default
    known = [tracer.find(t) for t in tensors]
    constants = [each.constant if each is not None else t for each, t in zip(known, tensors, strict=True)]
    p_args, p_kwargs = pytree.tree_map(tracer.unwrap_proxy, (args, kwargs))
    proxy_out = tracer.create_proxy(
        "call_function",
        func,
        p_args,
        p_kwargs,
        name=tracer.graph._target_to_str(func.overloadpacket.__name__.partition(".")[0]),
    )
    out = func(*args, **kwargs)
    written = func._schema.is_mutable if hasattr(func, "_schema") else False
    if written and args and isinstance(args[0], torch.Tensor):
        tracer.track(args[0], proxy_out)
    constant = None
    if name == "aten.lift_fresh.default":
        if not is_fake(args[0]) and args[0].numel() <= CONSTANT_NUMEL_LIMIT:
            with no_modes():
                constant = args[0].clone()
    elif constants and not written and all(c is not None and not is_fake(c) for c in constants):
        constant = _constant(func, args, kwargs, tracer, out)
    track_tensor_tree(out, proxy_out, constant=constant, tracer=tracer)
    return out


def _constant(func: Any, args: Any, kwargs: Any, tracer: PythonKeyTracer, out: Any) -> Any:
    """The value of a small result of constants, which a program may read."""
    if not isinstance(out, torch.Tensor) or out.numel() > CONSTANT_NUMEL_LIMIT:
        return None

    def plain(value: Any) -> Any:
        found = tracer.find(value) if isinstance(value, torch.Tensor) else None
        return value if found is None else found.constant

    with unset_fake_temporarily(), disable_proxy_modes_tracing():
        given = pytree.tree_map(plain, (args, kwargs))
        return func(*given[0], **given[1])


def _value(mode: ProxyTorchDispatchMode, func: Any, tensor: torch.Tensor) -> Any:
    """A number that a program reads from a tensor: only constants have one."""
    found = mode.tracer.find(tensor)
    constant = tensor if found is None else found.constant
    if constant is not None and not is_fake(constant):
        with unset_fake_temporarily():
            return constant.item()
    if mode._error_on_data_dependent_ops:
        raise RuntimeError(
            f"It appears that you're trying to get value out of a tracing tensor with {func} - erroring out! It's "
            "likely that this is caused by data-dependent control flow or similar.  It may be possible to trace this "
            "with dynamic shapes; try setting tracing_mode='symbolic' in your make_fx call."
        )
    return func(tensor)


class ProxyTorchDispatchMode(TorchDispatchMode):
    """Writes down every operator that the thread calls. Note [Traced by operators]."""

    _infra_kind = "PROXY"

    def __init__(
        self,
        tracer: PythonKeyTracer,
        tracing_mode: str,
        pre_dispatch: bool = False,
        _allow_fake_constant: bool = False,
        _error_on_data_dependent_ops: bool = True,
        decomposition_table: Table | None = None,
    ) -> None:
        super().__init__()
        self.tracer, self.tracing_mode = tracer, tracing_mode
        self.pre_dispatch = pre_dispatch
        self._allow_fake_constant = _allow_fake_constant
        self._error_on_data_dependent_ops = _error_on_data_dependent_ops
        self.decomposition_table = decomposition_table or {}

    @classmethod
    def is_infra_mode(cls) -> bool:
        return True

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        return proxy_call(self, func, self.pre_dispatch, args, kwargs or {})


# ---- modes -------------------------------------------------------------------------------------------


def get_proxy_mode() -> ProxyTorchDispatchMode | None:
    """The innermost mode that traces; None if there is none."""
    modes = [mode for mode in interception.stack() if isinstance(mode, ProxyTorchDispatchMode)]
    return modes[-1] if modes else None


get_innermost_proxy_mode = get_proxy_mode


@contextmanager
def disable_proxy_modes_tracing(enable_current: bool = False) -> Iterator[ProxyTorchDispatchMode | None]:
    """Inside, nothing is traced; gives the mode that was on."""
    mode = get_proxy_mode()
    with nullcontext() if mode is None else interception.without_mode(mode):
        yield mode


def maybe_disable_fake_tensor_mode() -> Any:
    """Inside, no fake mode is on."""
    return unset_fake_temporarily()


@contextmanager
def _allowing_real_inputs(allowed: bool) -> Iterator[None]:
    before = fake_tensor_tls.allow_non_fake_inputs_override
    fake_tensor_tls.allow_non_fake_inputs_override = True if allowed else before
    try:
        yield
    finally:
        fake_tensor_tls.allow_non_fake_inputs_override = before


# ---- make_fx -----------------------------------------------------------------------------------------


def fake_signature(fn: Callable[..., Any], nargs: int) -> Callable[..., Any]:
    """A function whose inputs have names: ``arg0`` and so on."""
    names = ", ".join(f"arg{i}" for i in range(nargs))
    made: Callable[..., Any] = eval(f"lambda {names}: fn({names})", {"fn": fn})
    return made


def wrap_key(
    f: Callable[..., Any], tensors: Any, tracer: PythonKeyTracer, pre_dispatch: bool = False
) -> Callable[..., Any]:
    """The function of proxies that runs ``f`` on tensors and gives the proxies of what it returns."""
    flat_tensors = pytree.tree_leaves(tensors)

    @functools.wraps(f)
    def wrapped(*proxies: Any, **_unused: Any) -> Any:
        flat_proxies = pytree.tree_leaves(proxies)
        with disable_proxy_modes_tracing():
            for tensor, proxy in zip(flat_tensors, flat_proxies, strict=True):
                if isinstance(tensor, torch.Tensor):
                    track_tensor_tree(tensor, proxy, constant=None, tracer=tracer)
        out = f(*tensors)
        return pytree.tree_map(tracer.unwrap_proxy, out)

    return wrapped


def dispatch_trace(
    root: torch.nn.Module | Callable[..., Any], tracer: Tracer, concrete_args: tuple[Any, ...] | None = None
) -> GraphModule:
    """The graph of a function whose operators are traced."""
    graph = tracer.trace(root, concrete_args)  # type: ignore[arg-type]
    name = root.__class__.__name__ if isinstance(root, torch.nn.Module) else root.__name__
    return _make_graph_module(tracer.root, graph, name)


def make_fx(
    f: Callable[..., Any],
    decomposition_table: Table | None = None,
    tracing_mode: str = "real",
    _allow_non_fake_inputs: bool = False,
    *,
    pre_dispatch: bool = False,
    record_module_stack: bool = False,
    _allow_fake_constant: bool = False,
    _error_on_data_dependent_ops: bool = True,
    record_stack_traces: bool = False,
    proxy_module_inputs: bool = False,
    _disable_torch_fn_metadata_mode: bool = False,
) -> Callable[..., GraphModule]:
    """A function of ``f``'s arguments that gives the graph of the operators ``f`` calls on them.

    ``tracing_mode``: "real" runs on the tensors, "fake" on fake ones. ``decomposition_table`` has, by operator,
    functions whose operators are traced instead.
    """
    if tracing_mode not in ("real", "fake", "symbolic"):
        raise AssertionError(f"tracing_mode must be 'real', 'fake' or 'symbolic', got {tracing_mode!r}")
    if tracing_mode == "symbolic":
        raise NotImplementedError(
            "make_fx(tracing_mode='symbolic'): there are no symbolic shapes here; trace with 'fake' for each shape"
        )
    if pre_dispatch:
        raise NotImplementedError(
            "make_fx(pre_dispatch=True): operators made of others are traced as their parts here"
        )

    @functools.wraps(f if not isinstance(f, torch.nn.Module) else f.forward)
    def traced(*args: Any) -> GraphModule:
        tracer = PythonKeyTracer()
        tracer.record_stack_traces = record_stack_traces
        mode = ProxyTorchDispatchMode(
            tracer,
            tracing_mode,
            False,
            _allow_fake_constant,
            _error_on_data_dependent_ops,
            decomposition_table,
        )
        fake_mode: Any = nullcontext()
        if tracing_mode == "fake":
            fake_mode = torch._guards.detect_fake_mode(args) or FakeTensorMode(
                allow_fallback_kernels=True, allow_non_fake_inputs=_allow_non_fake_inputs
            )
            args = pytree.tree_map(
                lambda t: fake_mode.from_tensor(t) if isinstance(t, torch.Tensor) else t, args
            )
        places = pytree.tree_map(lambda _: PH, args)
        code = getattr(inspect.unwrap(f), "__code__", None)
        function = f
        if code is None or code.co_flags & inspect.CO_VARARGS or isinstance(f, torch.nn.Module):
            function = fake_signature(f, len(places))
        wrapped = wrap_key(function, args, tracer)
        with decompose(decomposition_table), fake_mode, mode:
            return dispatch_trace(wrapped, tracer, tuple(places))

    return traced


def get_isolated_graphmodule(
    func: Callable[..., Any],
    args: tuple[object, ...],
    kwargs: dict[str, object],
    tracing_mode: str = "real",
    decomposition_table: Table | None = None,
) -> GraphModule:
    """The graph of a call, traced as if nothing else were."""
    leaves, spec = pytree.tree_flatten((args, kwargs))

    def of_leaves(given: list[Any]) -> Any:
        unflattened = pytree.tree_unflatten(given, spec)
        return func(*unflattened[0], **unflattened[1])

    with disable_proxy_modes_tracing():
        return make_fx(of_leaves, decomposition_table=decomposition_table, tracing_mode=tracing_mode)(leaves)


class DecompositionInterpreter(torch.fx.Interpreter):
    """Runs a graph's module and writes its operators into another graph, decomposed by a table."""

    def __init__(
        self, module: GraphModule, new_graph: Graph, decomposition_table: Table | None = None, **kwargs: Any
    ) -> None:
        super().__init__(module, **kwargs)
        self.new_graph = new_graph
        self.tracer = PythonKeyTracer()
        self.tracer.graph = new_graph
        self.decomposition_table = decomposition_table or {}
        self.mode = ProxyTorchDispatchMode(self.tracer, tracing_mode="real")

    def placeholder(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        out = super().placeholder(target, args, kwargs)
        proxy = Proxy(self.new_graph.placeholder(target), self.tracer)
        return track_tensor_tree(out, proxy, constant=None, tracer=self.tracer)

    def get_attr(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        out = super().get_attr(target, args, kwargs)
        proxy = Proxy(self.new_graph.get_attr(target), self.tracer)
        return track_tensor_tree(out, proxy, constant=None, tracer=self.tracer)

    def output(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        out = super().output(target, args, kwargs)

        def node(value: Any) -> Any:
            proxy = self.tracer.unwrap_proxy(value)
            return proxy.node if isinstance(proxy, Proxy) else proxy

        self.new_graph.output(pytree.tree_map(node, out))
        return out

    def run(self, *args: Any, **kwargs: Any) -> Any:
        with decompose(self.decomposition_table), self.mode:
            return super().run(*args, **kwargs)


__getattr__ = names_of(__name__)
