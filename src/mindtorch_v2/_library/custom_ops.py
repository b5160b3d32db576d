"""Custom operators: kernels by device, a fake one for meta, a backward; called through their schema."""

from __future__ import annotations

import threading
import types
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .. import _C, _functions
from .._C import Tensor
from .._devices import registry
from .._types.tag import Tag
from ..autograd._mapped_function import batch_level, by_rule, wrapped
from ..autograd.function import Function
from ..autograd.grad_mode import set_grad_enabled
from ..utils._pytree import tree_flatten, tree_leaves
from . import schema as _schema
from . import table_operators
from .overloads import OneOverload, takers
from .table_operators import TableOperator

_lock = threading.Lock()
_operators: dict[str, CustomOperator] = {}
# Kernels of operators that are not defined yet, each with its place: packages load in any order.
_waiting: dict[str, list[tuple[str | None, Callable[..., Any]]]] = {}
# What a program may call a place for a kernel; None is every device.
_PLACES: dict[str, str | None] = {
    "CPU": "cpu", "Meta": "meta", "CUDA": "cuda", "XPU": "xpu",
    "CompositeExplicitAutograd": None, "CompositeExplicitAutogradNonFunctional": None, "default": None,
}  # fmt: skip


def _kind_of(place: str) -> str | None:
    """The type of device that a place is on: one of the dispatcher's names, or the type itself."""
    if place == "PrivateUse1":
        return registry.outside_pytorch().type
    titles = {found.title: found.type for found in registry.accelerators.values()}
    return titles.get(place) or _PLACES.get(place, place)


def _shown(kind: str) -> str:
    """The dispatcher's name of a type of device."""
    return "PrivateUse1" if kind in registry.accelerators else kind.upper()


def find(name: str) -> CustomOperator | TableOperator:
    """The operator called ``ns::name``."""
    operator = found(name)
    if operator is None:
        raise RuntimeError(
            f"There is no operator '{name}'; define it first with define or custom_op (from torch import library)."
        )
    return operator


def found(name: str) -> CustomOperator | TableOperator | None:
    """The operator called ``ns::name``, if there is one."""
    return _operators.get(name) or table_operators.found(name)


def add(schema: _schema.Schema, tags: Tag | Sequence[Tag] = ()) -> CustomOperator:
    """A new operator without kernels."""
    with _lock:
        if found(schema.qualified) is not None:
            raise RuntimeError(
                f"Tried to register an operator ({schema}) with the same name and overload name multiple times. Each "
                "overload's schema should only be registered with a single call to def()."
            )
        operator = _operators[schema.qualified] = CustomOperator(schema)
        operator._tags = [tags] if isinstance(tags, Tag) else list(tags)
        for place, kernel in _waiting.pop(schema.qualified, ()):
            operator.set_kernel(place, kernel)
    return operator


def set_kernel(name: str, place: str | None, kernel: Callable[..., Any]) -> None:
    """A kernel of the operator called ``ns::name``, now or when it is defined; those of PyTorch's are all defined."""
    with _lock:
        operator = find(name) if name.startswith(("aten::", "prim::")) else found(name)
        if operator is None:
            _waiting.setdefault(name, []).append((place, kernel))
        else:
            operator.set_kernel(place, kernel)


class CustomOperator(OneOverload):
    """What ``torch.ops.ns.name`` and its only overload, ``.default``, are."""

    def __init__(self, schema: _schema.Schema) -> None:
        super().__init__(schema.qualified)
        self._schema = schema
        self._kernels: dict[str | None, Callable[..., Any]] = {}
        self._composite: Callable[..., Any] | None = None  # differentiated through its parts
        self._autograd: Callable[..., Any] | None = None  # does what autograd needs itself
        self._backward: Callable[..., Any] | None = None
        self._setup_context: Callable[..., Any] | None = None
        self._cast_inputs: dict[str, _C.dtype] = {}
        self._vmap: Callable[..., Any] | None = None
        self._fresh_results = False  # custom_op promises that no result is an input
        self._function: type[Function] | None = None

    def set_kernel(self, place: str | None, kernel: Callable[..., Any]) -> None:
        """``place`` is a device type, or one of the dispatcher's names."""
        if place == "CompositeImplicitAutograd":
            self._composite = kernel
        elif place is not None and place.startswith("Autograd"):
            self._autograd = kernel
        else:
            self._kernels[_kind_of(place) if place is not None else None] = kernel

    def set_gradient(self, backward: Callable[..., Any], setup_context: Callable[..., Any] | None) -> None:
        """What runs backward, and what keeps values for it."""
        if any(argument.mutated for argument in self._schema.arguments):
            raise RuntimeError(
                f"Cannot register autograd formula for non-functional operator {self} with schema {self._schema}. "
                "Please create a functional operator and register an autograd formula for that."
            )
        self._backward, self._setup_context = backward, setup_context

    def set_vmap(self, rule: Callable[..., Any]) -> None:
        """What runs it on batches: ``rule(info, in_dims, *args)`` gives the results and where their batch lies."""
        self._vmap = rule

    def set_autocast(self, device_type: str, cast_inputs: _C.dtype) -> None:
        """Casts floating-point inputs where autocast is on for that device."""
        self._cast_inputs[device_type] = cast_inputs

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        values, keywords = self._schema.bind(args, kwargs)
        if self._cast_inputs:
            values, keywords = self._cast(values, keywords)
        if self._autograd is not None:
            return self._autograd(*values, **keywords)
        if self._composite is not None:
            return self._composite(*values, **keywords)
        tensors = [leaf for leaf in tree_leaves((values, keywords)) if isinstance(leaf, Tensor)]
        wanted = self._backward is not None or self._fresh_results
        if wanted and _C.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors):
            return self._with_gradient(values, keywords)
        return self._run(values, keywords)

    def _on_batches(self, level: int, values: list[Any], keywords: dict[str, Any]) -> Any:
        """Inside vmap: by the rule that was registered, else slice by slice, one level down."""
        leaves, spec = tree_flatten((values, keywords))
        below = [
            _C._functorch._unwrap_batched(leaf, level) if isinstance(leaf, Tensor) else (leaf, None)
            for leaf in leaves
        ]
        if self._vmap is not None:
            plain, names = spec.unflatten([value for value, _ in below])
            dims, _ = spec.unflatten([dim for _, dim in below])
            return by_rule(self._vmap, level, tuple(dims), plain, names)
        made = []
        for i in range(_C._functorch._mapped(level)[0]):
            slices, names = spec.unflatten([v if d is None else v.select(d, i) for v, d in below])
            made.append(tree_flatten(self(*slices, **names)))
        columns = zip(*(results for results, _ in made), strict=True)
        return wrapped(made[0][1].unflatten([_functions.stack(column) for column in columns]), 0, level)

    def _run(self, values: list[Any], keywords: dict[str, Any]) -> Any:
        for who in takers:
            if who.wanted([*values, *keywords.values()]):
                return who.ask(self, tuple(values), keywords)
        tensors = [leaf for leaf in tree_leaves((values, keywords)) if isinstance(leaf, Tensor)]
        level = batch_level(tensors)
        if level > 0:
            return self._on_batches(level, values, keywords)
        place = next((t.device.type for t in tensors if t.device.type != "cpu"), "cpu")
        kernel = self._kernels.get(place)
        if kernel is None and place != "meta":
            kernel = self._kernels.get(None)
        if kernel is None:
            raise self._missing(place)
        result = kernel(*values, **keywords)
        if self._fresh_results:
            self._check_fresh(tensors, result)
        return result

    def _missing(self, place: str) -> NotImplementedError:
        if place == "meta":
            return NotImplementedError(
                f"{self._name}: attempted to run this operator with Meta tensors, but there was no fake impl or Meta "
                "kernel registered. Add one with register_fake."
            )
        shown, there = _shown(place), ", ".join(sorted(_shown(p) for p in self._kernels if p))
        return NotImplementedError(
            f"Could not run '{self._name}' with arguments from the '{shown}' backend. '{self._name}' is only available "
            f"for these backends: [{there}]. Add a kernel with register_kernel."
        )

    def _check_fresh(self, inputs: list[Tensor], result: Any) -> None:
        seen = {tensor._storage_handle()._cdata for tensor in inputs if not tensor.is_meta and tensor.numel()}
        for leaf in tree_leaves(result):
            if not isinstance(leaf, Tensor) or leaf.is_meta or not leaf.numel():
                continue
            place = leaf._storage_handle()._cdata
            if place in seen:
                raise RuntimeError(
                    f"{self._name}: The output of this custom operator (1) must not also be an input to this custom "
                    "operator and (2) may not alias any inputs to this custom operator or other returns. The most "
                    "common way to trigger this error is if we have y = custom_op(x) and y and x are the same Tensor. "
                    "Please instead return a clone of the offending output tensor(s) (e.g. return x.clone()) or "
                    "refactor the custom operator to not return y."
                )
            seen.add(place)

    def _cast(self, values: list[Any], keywords: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """What register_autocast asked for, where autocast is on."""
        import mindtorch_v2 as torch

        for kind, dtype in self._cast_inputs.items():
            if torch.is_autocast_enabled(kind):
                leaves, spec = tree_flatten((values, keywords))
                floats = [isinstance(leaf, Tensor) and leaf.is_floating_point() for leaf in leaves]
                cast = [
                    leaf.to(dtype) if is_float else leaf
                    for leaf, is_float in zip(leaves, floats, strict=True)
                ]
                values, keywords = spec.unflatten(cast)
        return values, keywords

    def _with_gradient(self, values: list[Any], keywords: dict[str, Any]) -> Any:
        """Runs as one node of the graph. Lists are handed over flat, since a node's inputs are tensors."""
        if self._function is None:
            self._function = _make_function(self)
        inputs, inside = tree_flatten((values, keywords))
        results: Any = None

        def run(*leaves: Any) -> tuple[Any, ...]:
            nonlocal results
            with set_grad_enabled(batch_level(leaves) > 0):  # what lies below a batch has graphs of its own
                results = self._run(*inside.unflatten(leaves))
            return tuple(tree_leaves(results))

        def rebuild(leaves: tuple[Any, ...]) -> Any:
            return tree_flatten(results)[1].unflatten(leaves)

        outputs = self._function.apply(_Call(self, run, inside, rebuild), *inputs)
        return rebuild(outputs)


class _Call:
    """One call on its way through autograd: what runs it, and the nesting of its arguments and results."""

    def __init__(
        self, operator: CustomOperator, run: Callable[..., Any], inside: Any, rebuild: Callable[..., Any]
    ) -> None:
        self.operator, self.run, self.inside, self.rebuild = operator, run, inside, rebuild


def _make_function(operator: CustomOperator) -> type[Function]:
    def forward(ctx: Any, call: _Call, *leaves: Any) -> tuple[Any, ...]:
        ctx.call = call
        outputs: tuple[Any, ...] = call.run(*leaves)
        if operator._setup_context is not None:
            values, keywords = call.inside.unflatten(leaves)
            known = {"ctx": ctx, "inputs": tuple(values), "output": call.rebuild(outputs)}
            if keywords:
                known["keyword_only_inputs"] = keywords
            operator._setup_context(**known)
        return outputs

    def backward(ctx: Any, *grads: Any) -> tuple[Any, ...]:
        if operator._backward is None:
            raise RuntimeError(
                f"Trying to backward through {operator} but no autograd formula was registered. "
                "Please use register_autograd to add one."
            )
        nested = ctx.call.rebuild(grads)
        several = isinstance(nested, tuple)
        found = operator._backward(ctx, *nested) if several else operator._backward(ctx, nested)
        results = list(found) if isinstance(found, tuple) else [found]
        places = ctx.call.inside.children_specs[0].children_specs
        if len(results) != len(places):
            raise RuntimeError(
                f"{operator}: the backward returned {len(results)} gradients, wanted {len(places)}, one per "
                "positional argument"
            )
        flat: list[Any] = [None]
        for place, result in zip(places, results, strict=True):
            flat += [result] if place.is_leaf() else list(result or [None] * place.num_leaves)
        return (*flat, *[None] * ctx.call.inside.children_specs[1].num_leaves)

    name = f"GeneratedBackwardFor_{operator._name.replace('::', '_')}_default"
    members = {"forward": staticmethod(forward), "backward": staticmethod(backward), "_takes_batches": True}
    made: type[Function] = types.new_class(name, (Function,), exec_body=lambda space: space.update(members))
    return made


class CustomOpDef:
    """What :func:`custom_op` makes of a function: call it, or register more for it."""

    def __init__(self, operator: CustomOperator, function: Callable[..., Any]) -> None:
        self._opoverload = operator
        self._init_fn = function
        self._qualname = operator._name
        self._namespace, _, self._name = operator._name.partition("::")
        self.__name__ = function.__name__
        self.__doc__ = function.__doc__

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._opoverload(*args, **kwargs)

    def register_kernel(
        self, device_types: str | Sequence[str] | None, fn: Callable[..., Any] | None = None, /
    ) -> Any:
        """Registers the implementation for some devices; None is for all."""

        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            places = [device_types] if device_types is None or isinstance(device_types, str) else device_types
            for place in places:
                self._opoverload.set_kernel(place, function)
            return function

        return register if fn is None else register(fn)

    def register_fake(self, fn: Callable[..., Any], /) -> Callable[..., Any]:
        """Registers what makes empty results: the implementation on the meta device."""
        self._opoverload.set_kernel("meta", fn)
        return fn

    def register_autograd(
        self, backward: Callable[..., Any], /, *, setup_context: Callable[..., Any] | None = None
    ) -> None:
        """Registers the backward, and what keeps values for it."""
        self._opoverload.set_gradient(backward, setup_context)

    def register_vmap(self, func: Callable[..., Any] | None = None) -> Any:
        """Registers ``func(info, in_dims, *args)``, which runs the operator on batches and gives the results and where
        their batch dimensions lie."""

        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            self._opoverload.set_vmap(function)
            return function

        return register if func is None else register(func)

    def register_autocast(self, device_type: str, cast_inputs: _C.dtype) -> None:
        """Casts floating-point inputs where autocast is on for that device."""
        self._opoverload.set_autocast(device_type, cast_inputs)


def custom_op(
    name: str,
    fn: Callable[..., Any] | None = None,
    /,
    *,
    mutates_args: str | Iterable[str],
    device_types: str | Sequence[str] | None = None,
    schema: str | None = None,
    tags: Tag | Sequence[Tag] | None = None,
) -> Any:
    """Makes a function an operator, ``torch.ops.ns.name``, that autograd sees as one step."""

    def make(function: Callable[..., Any]) -> CustomOpDef:
        namespace, colons, short = name.partition("::")
        if not (namespace and colons and short) or "." in short:
            raise ValueError(f"custom_op(name): expected name of the form 'namespace::name', got {name!r}")
        text = _schema.infer_schema(function, mutates_args=mutates_args) if schema is None else schema
        said = [tags] if isinstance(tags, Tag) else list(tags or ())
        operator = add(_schema.parse(name, text), [Tag.pt2_compliant_tag, *said])
        operator._fresh_results = True
        made = CustomOpDef(operator, function)
        made.register_kernel(device_types, function)
        return made

    return make if fn is None else make(fn)
