"""What there is to override, found in the namespaces themselves: nothing here is kept by hand but what is left out."""

from __future__ import annotations
import __future__

import functools
import keyword
import re
import types
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from .. import _C
from .._C import Tensor

if TYPE_CHECKING:
    import inspect

Function = Callable[..., Any]

# What makes, names or compares objects themselves, and what asking is made of.
_NOT_ASKED = frozenset({
    "__class__", "__delattr__", "__dict__", "__dir__", "__doc__", "__getattribute__", "__hash__", "__init__",
    "__init_subclass__", "__iter__", "__module__", "__new__", "__setattr__", "__subclasshook__", "__torch_dispatch__",
    "__torch_function__", "__weakref__", "_gradient_hooks", "_legacy_new", "_make_subclass", "_make_wrapper_subclass",
    "_register_accumulated_hook", "_register_hook", "_retains_grad", "_storage_handle", "_typed_storage", "as_subclass",
})  # fmt: skip
# Functions of torch that are about settings, seeds, types or numbers of elements rather than values of tensors.
_NOT_OPERATORS = frozenset({
    "are_deterministic_algorithms_enabled", "as_tensor", "asarray", "broadcast_shapes", "compile",
    "compiled_with_cxx11_abi", "fork_rng", "from_dlpack", "from_file", "from_numpy", "frombuffer",
    "get_default_device", "get_deterministic_debug_mode", "get_device_module", "get_float32_matmul_precision",
    "get_num_interop_threads", "get_printoptions", "get_rng_state", "initial_seed",
    "is_deterministic_algorithms_warn_only_enabled", "is_storage", "is_tensor", "is_warn_always_enabled",
    "load", "manual_seed", "printoptions", "save", "seed", "set_default_device", "set_default_dtype",
    "set_default_tensor_type", "set_deterministic_debug_mode", "set_float32_matmul_precision",
    "set_flush_denormal", "set_num_interop_threads", "set_printoptions", "set_rng_state", "set_warn_always",
    "tensor", "to_dlpack", "typename",
    "use_deterministic_algorithms", "vmap",
})  # fmt: skip

# Operators whose names are private, and that programs override nevertheless: all ask, PyTorch lists these.
_PRIVATE_OPERATORS = (
    "_assert_async", "_conj_copy", "_functional_assert_async", "_fused_rms_norm", "_fw_primal_copy", "_indices_copy",
    "_make_dual_copy", "_native_batch_norm_legit", "_neg_view_copy", "_reshape_alias_copy", "_rowwise_prune",
    "_sparse_broadcast_to_copy", "_sym_acos", "_sym_asin", "_sym_atan", "_sym_cos", "_sym_cosh", "_sym_sin",
    "_sym_sinh", "_sym_sqrt", "_sym_tan", "_sym_tanh", "_values_copy",
)  # fmt: skip
# The namespaces whose functions ask, by their public names. The package fills it in once it is complete.
namespaces: dict[str, Any] = {}
# Modules with functions that ask: their names, and which of those they have ask. Those written in Python are changed
# once somebody listens.
asking_modules: list[tuple[Any, Callable[[str], bool]]] = []


def ignored() -> set[Function]:
    """Functions of the namespaces that do not ask."""
    torch = namespaces["torch"]
    found = {getattr(torch, name) for name in _NOT_OPERATORS}
    found |= {value for name in _NOT_ASKED if callable(value := getattr(Tensor, name, None))}
    return found | {f for space in _spaces() for _, f in _functions_of(space) if not _asks(f)}


def _named_spaces() -> dict[str, Any]:
    torch = namespaces["torch"]
    return {"torch": torch, "torch.functional": torch.functional, **namespaces}


def _spaces() -> list[Any]:
    return list(_named_spaces().values())


@functools.cache
def _complete(space: Any) -> None:
    """Loads what a namespace loads when it is asked for; modes see nothing of it."""
    modes = _C._set_function_modes(0)
    try:
        for name in getattr(space, "_LAZY_NAMES", ()):
            getattr(space, name)
    finally:
        _C._set_function_modes(modes)


def _functions_of(space: Any) -> Iterator[tuple[str, Function]]:
    _complete(space)
    for name, value in list(vars(space).items()):
        if name.startswith("_") or isinstance(value, (type, types.ModuleType, __future__._Feature)):
            continue
        if callable(value) and hasattr(value, "__name__") and not _is_absent(value):
            yield name, value


def _is_absent(value: Any) -> bool:
    """Names of PyTorch's that only refuse."""
    return (getattr(value, "__module__", None) or "").startswith(_C.__name__.rpartition(".")[0] + "._absent")


def _attributes() -> Iterator[tuple[str, Any]]:
    """The methods and properties of Tensor."""
    import inspect  # slow to load, and few programs come here

    for name in dir(Tensor):
        value = inspect.getattr_static(Tensor, name)
        if (
            name in _NOT_ASKED
            or getattr(object, name, None) is value
            or isinstance(value, (type, staticmethod))
        ):
            continue
        yield name, value


def _is_property(value: Any) -> bool:
    return isinstance(value, (property, types.GetSetDescriptorType))


@functools.cache
def by_namespace() -> dict[Any, list[Function]]:
    found: dict[Any, list[Function]] = {}
    left_out = ignored()
    for space in _spaces():
        found[space] = [f for _, f in _functions_of(space) if f not in left_out]
    found[Tensor] = []
    for _, value in _attributes():
        if _is_property(value):
            found[value] = [value.__get__]
        elif callable(value):
            found[Tensor].append(value)
    return found


@functools.cache
def of_tensor() -> frozenset[Function]:
    found: set[Function] = set()
    for _, value in _attributes():
        if _is_property(value):
            found |= {value.__get__, value.__set__} if hasattr(value, "__set__") else {value.__get__}
        elif callable(value):
            found.add(value)
    return frozenset(found)


@functools.cache
def names() -> dict[Function, str]:
    """By function, its public name: in the first namespace that has it."""
    found: dict[Function, str] = {}
    for label, space in _named_spaces().items():
        for name, function in _functions_of(space):
            found.setdefault(function, f"{label}.{name}")
    for name, value in _attributes():
        if _is_property(value):
            found[value.__get__] = f"torch.Tensor.{name}.__get__"
            found[value.__set__] = f"torch.Tensor.{name}.__set__"
        elif callable(value):
            found.setdefault(value, f"torch.Tensor.{name}")
    return found


# ---- signatures ----------------------------------------------------------------------------------


@functools.cache
def _schemas() -> dict[str, list[str]]:
    """By name, the schemas of an operator's overloads."""
    found: dict[str, list[str]] = {}
    for name, overload, schema in _C._dispatch.operators():
        if not overload.endswith("out"):
            found.setdefault(name.removeprefix("aten::"), []).append(schema)
    return found


_PARAMETER = re.compile(r"(?P<type>[\w\[\]?()!]+) (?P<name>\w+)(=(?P<default>.*))?")


def _split(text: str) -> list[str]:
    """At commas outside of brackets."""
    return [part.strip() for part in re.split(r",\s*(?![^\[(]*[\])])", text) if part.strip()]


def _parameters_of_schema(schema: str, method: bool) -> list[inspect.Parameter]:
    import inspect  # slow to load, and few programs come here

    made: list[inspect.Parameter] = []
    kind: Any = inspect.Parameter.POSITIONAL_OR_KEYWORD
    for text in _split(schema[1 : schema.rindex(") ->")]):
        if text == "*":
            kind = inspect.Parameter.KEYWORD_ONLY
            continue
        found = _PARAMETER.fullmatch(text)
        if found is None:
            continue
        name = found["name"] if method or found["name"] != "self" else "input"
        name += "_" * keyword.iskeyword(name)  # random_(from, to)
        default = inspect.Parameter.empty if found["default"] is None else None
        made.append(inspect.Parameter(name, kind, default=default))
    return made


def _schemas_of(function: Function) -> list[str]:
    name = getattr(function, "__name__", "")
    return _schemas().get(name) or _schemas().get(name.removesuffix("_"), [])


def _asks(function: Function) -> bool:
    if isinstance(function, types.FunctionType):
        return hasattr(function, "__asks__")
    schemas = _schemas_of(function)
    takes_tensors = not schemas or any("Tensor" in schema[: schema.rindex(") ->")] for schema in schemas)
    return isinstance(function, types.BuiltinFunctionType) and takes_tensors


def _of_overloads(schemas: list[str], method: bool) -> list[inspect.Parameter]:
    """What fits all overloads: the parameters of the longest, those that others lack with a default, and theirs."""
    lists = sorted(
        (_parameters_of_schema(schema, method) for schema in schemas), key=_positional, reverse=True
    )
    made = {parameter.name: parameter for parameter in lists[0]}
    least = min(_required(parameters) for parameters in lists)
    for i, parameter in enumerate(lists[0]):
        if i >= least and parameter.default is parameter.empty:
            made[parameter.name] = parameter.replace(default=None)
    for parameter in (p for parameters in lists[1:] for p in parameters):
        if parameter.name not in made:
            made[parameter.name] = parameter.replace(default=None, kind=parameter.KEYWORD_ONLY)
    ordered = sorted(made.values(), key=lambda p: p.kind)
    if not method and all(name not in made for name in ("out",)):
        kinds = type(ordered[0])
        ordered.append(kinds("out", kinds.KEYWORD_ONLY, default=None))
    return ordered


def _positional(parameters: list[inspect.Parameter]) -> int:
    return sum(p.kind is p.POSITIONAL_OR_KEYWORD for p in parameters)


def _required(parameters: list[inspect.Parameter]) -> int:
    return sum(p.kind is p.POSITIONAL_OR_KEYWORD and p.default is p.empty for p in parameters)


def _parameters(function: Function, method: bool) -> list[inspect.Parameter]:
    import inspect  # slow to load, and few programs come here

    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # written in C
        pass
    if schemas := _schemas_of(function):
        return _of_overloads(schemas, method)
    kinds = inspect.Parameter
    own = [kinds("self" if method else "input", kinds.POSITIONAL_OR_KEYWORD)]
    return [*own, kinds("args", kinds.VAR_POSITIONAL), kinds("kwargs", kinds.VAR_KEYWORD)]


def _dummy(parameters: list[inspect.Parameter]) -> Function:
    """A function of these parameters that returns -1."""
    values: dict[str, Any] = {}
    texts: list[str] = []
    keyword_only = False
    for i, parameter in enumerate(parameters):
        stars: dict[Any, str] = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}
        text = stars.get(parameter.kind, "") + parameter.name
        if parameter.default is not parameter.empty:
            values[f"_{i}"] = parameter.default
            text += f"=_{i}"
        keyword_only |= parameter.kind is parameter.VAR_POSITIONAL
        if parameter.kind is parameter.KEYWORD_ONLY and not keyword_only:
            keyword_only = True
            texts.append("*")
        texts.append(text)
    made: Function = eval(f"lambda {', '.join(texts)}: -1", values)
    return made


@functools.cache
def dummies() -> dict[Function, Function]:
    made: dict[Function, Function] = {}
    for space, functions in by_namespace().items():
        for function in functions:
            if _is_property(space):
                made[function] = lambda self: -1
            else:
                made[function] = _dummy(_parameters(function, method=space is Tensor))
    torch = namespaces["torch"]
    others = [getattr(torch, name) for name in _PRIVATE_OPERATORS]
    for module, which in asking_modules:
        others += [
            f for name, f in list(vars(module).items()) if isinstance(f, types.FunctionType) and which(name)
        ]
    for function in others:
        if function not in made:
            made[function] = _dummy(_parameters(function, method=False))
    return made
