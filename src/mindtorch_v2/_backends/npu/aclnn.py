"""Every ACLNN operator by name: ``aclnn.add(a, b, 1, out)``, ``aclnn.call("aclnnGelu", x, out)``.

The names, parameters and types come from the ABI table, so an operator needs no code here. Arguments are in
the order of the C function: tensors (None for an optional one), numbers, lists, dtypes, texts. The operators
that tensors use every day go another, native way; this one is for what has no PyTorch name, and for trials.
"""

from __future__ import annotations

import contextlib
import ctypes
import difflib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from ... import _C
from . import allocator
from . import runtime as _runtime

_npu = _C._npu

_DTYPES = {
    "float32": 0, "float16": 1, "int8": 2, "int32": 3, "uint8": 4, "int16": 6, "uint16": 7, "uint32": 8,
    "int64": 9, "uint64": 10, "float64": 11, "bool": 12, "complex64": 16, "complex128": 17, "bfloat16": 27,
}  # fmt: skip
_FORMATS = {3: 47, 4: 0, 5: 30}  # NCL, NCHW, NCDHW
_FORMAT_ND = 2
_NUMBERS: dict[str, Any] = {
    "bool": ctypes.c_bool, "float": ctypes.c_float, "double": ctypes.c_double, "int": ctypes.c_int,
    "int8_t": ctypes.c_int8, "int32_t": ctypes.c_int32, "int64_t": ctypes.c_int64,
    "uint32_t": ctypes.c_uint32, "uint64_t": ctypes.c_uint64, "aclDataType": ctypes.c_int,
}  # fmt: skip


class Parameter(NamedTuple):
    name: str
    type: str  # without const: "aclTensor*", "int64_t"


# --- the table ------------------------------------------------------------------------------------------


@cache
def _table() -> dict[str, list[str]]:
    path = Path(__file__).with_name("aclnn_operators.json")
    return json.loads(path.read_text())["two_phase"]  # type: ignore[no-any-return]


@cache
def _names() -> dict[str, str]:
    """Names without their prefix, case and underscores, as attributes of this module are looked up."""
    return {name.removeprefix("aclnn").lower(): name for name in reversed(_table())}


@cache
def signature(name: str) -> tuple[Parameter, ...]:
    """The parameters of an operator, without the workspace and executor that every operator has."""
    declared = _table().get(name)
    if declared is None:
        close = difflib.get_close_matches(name, _table(), n=3)
        hint = f" Did you mean {' or '.join(close)}?" if close else ""
        raise AttributeError(f"ACLNN has no operator '{name}'.{hint}")
    result = []
    for text in declared:
        kind, _, label = text.replace("*", "* ").rpartition(" ")
        result.append(Parameter(label, kind.removeprefix("const ").replace(" ", "")))
    return tuple(result)


def operators() -> list[str]:
    """The names of all two-phase operators of the table."""
    return list(_table())


# --- calling --------------------------------------------------------------------------------------------


def _blocking() -> bool:
    variables = ("ACL_LAUNCH_BLOCKING", "ASCEND_LAUNCH_BLOCKING")
    return any(os.environ.get(variable, "") not in ("", "0") for variable in variables)


def call(name: str, *args: Any, runtime: Any = None) -> None:
    """Enqueues an operator on the current stream of its device; with ACL_LAUNCH_BLOCKING=1 it also waits."""
    parameters = signature(name)
    if len(args) != len(parameters):
        wanted = ", ".join(f"{p.type} {p.name}" for p in parameters)
        raise TypeError(f"{name} takes {len(parameters)} arguments ({wanted}), got {len(args)}")
    if runtime is None:
        runtime = _runtime_of(name, args)
    _launch(name, args, runtime)
    if _blocking():
        runtime.synchronize()


def call_for_shapes(name: str, *args: Any) -> list[tuple[int, ...]]:
    """Runs an operator whose results' sizes depend on data, waits, and returns the shape of every tensor argument.

    Such an operator (``aclnnNonzero``, ``aclnnMaskedSelect``) gets results of the largest size that is possible and
    says in their descriptors how much of them it filled.
    """
    runtime = _runtime_of(name, args)
    shapes: list[tuple[int, ...]] = []
    _launch(name, args, runtime, shapes)
    return shapes


def __getattr__(attribute: str) -> Callable[..., None]:
    name = _names().get(attribute.replace("_", "").lower()) if not attribute.startswith("__") else None
    if name is None:
        raise AttributeError(
            f"module '{__name__}' has no attribute '{attribute}', nor ACLNN such an operator"
        )

    def operator(*args: Any, runtime: Any = None) -> None:
        call(name, *args, runtime=runtime)

    operator.__name__ = attribute
    operator.__qualname__ = attribute
    operator.__doc__ = f"{name}({', '.join(f'{p.type} {p.name}' for p in signature(name))})"
    return operator


def _runtime_of(name: str, args: Sequence[Any]) -> Any:
    for arg in args:
        for item in arg if isinstance(arg, (list, tuple)) else (arg,):
            device = getattr(item, "device", None)
            if device is not None and device.type == "npu":
                return _runtime.get_runtime(device)
    raise TypeError(f"{name}: no argument is an npu tensor, so there is no device to run on; pass runtime=")


@cache
def _function(name: str, *types: Any, result: Any = ctypes.c_int) -> Any:
    address = _npu.symbol(name)
    if address == 0:
        raise NotImplementedError(f"The loaded libraries ({_npu.loaded_from()}) have no {name}.")
    return ctypes.CFUNCTYPE(result, *types)(address)


_pointer = ctypes.c_void_p
_u64 = ctypes.c_uint64


def _made(function: str, types: tuple[Any, ...], *values: Any) -> int:
    handle = _function(function, *types, result=_pointer)(*values)
    if not handle:
        raise RuntimeError(f"{function} failed: {_npu.error_text(200000, function)}")
    return int(handle)


def _make_tensor(tensor: Any) -> int:
    if tensor.device.type != "npu":
        raise TypeError(f"expected a tensor on an npu device, got one on '{tensor.device}'")
    rank = tensor.dim()
    dims = ctypes.c_int64 * max(rank, 1)
    storage = tensor.untyped_storage()
    elements = ctypes.c_int64(storage.nbytes() // tensor.element_size())
    types = (_pointer, _u64, ctypes.c_int, _pointer, ctypes.c_int64, ctypes.c_int, _pointer, _u64, _pointer)
    return _made(
        "aclCreateTensor", types, dims(*tensor.shape), rank, _DTYPES[tensor.dtype.name],
        dims(*tensor.stride()), tensor.storage_offset(), _FORMATS.get(rank, _FORMAT_ND),
        ctypes.addressof(elements), 1, storage.data_ptr() if storage.nbytes() else None,
    )  # fmt: skip


def _fitting(value: Any, kind: Any) -> int:
    """An integer that a C type can hold; ctypes would cut it off."""
    number = int(value.__index__())
    if kind(number).value != number:
        bits = 8 * ctypes.sizeof(kind)
        raise TypeError(f"{number} does not fit {bits} bits")
    return number


def _make_scalar(value: Any) -> int:
    held: Any
    if isinstance(value, bool):
        held, kind = (ctypes.c_bool * 1)(value), 12
    elif isinstance(value, int):
        held, kind = (ctypes.c_int64 * 1)(_fitting(value, ctypes.c_int64)), 9
    elif isinstance(value, float):
        held, kind = (ctypes.c_double * 1)(value), 11
    elif isinstance(value, complex):
        held, kind = (ctypes.c_double * 2)(value.real, value.imag), 17
    else:
        raise TypeError(f"expected a number, got {type(value).__name__}")
    return _made("aclCreateScalar", (_pointer, ctypes.c_int), ctypes.addressof(held), kind)


def _make_array(kind: str, element: Any) -> Callable[[Any], int]:
    def make(values: Any) -> int:
        if element is ctypes.c_int64:
            values = [_fitting(value, element) for value in values]
        held = (element * max(len(values), 1))(*values)
        return _made(f"aclCreate{kind}", (_pointer, _u64), ctypes.addressof(held), len(values))

    return make


def _make_list(kind: str, make_element: Callable[[Any], int], destroy_element: str) -> Callable[[Any], int]:
    """A list destroys its elements, but only once it exists."""

    def make(values: Any) -> int:
        elements: list[int] = []
        try:
            for value in values:
                elements.append(make_element(value))
            held = (_pointer * max(len(elements), 1))(*elements)
            return _made(f"aclCreate{kind}", (_pointer, _u64), ctypes.addressof(held), len(elements))
        except BaseException:
            for element in elements:
                _function(destroy_element, _pointer)(element)
            raise

    return make


_DESCRIPTORS: dict[str, tuple[Callable[[Any], int], str]] = {
    "aclTensor*": (_make_tensor, "aclDestroyTensor"),
    "aclScalar*": (_make_scalar, "aclDestroyScalar"),
    "aclIntArray*": (_make_array("IntArray", ctypes.c_int64), "aclDestroyIntArray"),
    "aclFloatArray*": (_make_array("FloatArray", ctypes.c_float), "aclDestroyFloatArray"),
    "aclBoolArray*": (_make_array("BoolArray", ctypes.c_bool), "aclDestroyBoolArray"),
    "aclTensorList*": (_make_list("TensorList", _make_tensor, "aclDestroyTensor"), "aclDestroyTensorList"),
    "aclScalarList*": (_make_list("ScalarList", _make_scalar, "aclDestroyScalar"), "aclDestroyScalarList"),
}


def _number(parameter: Parameter, value: Any) -> Any:
    if parameter.type == "aclDataType" and not isinstance(value, int):
        return _DTYPES[value.name]
    if parameter.type in ("float", "double"):
        return float(value)
    if parameter.type == "bool":
        return bool(_fitting(value, ctypes.c_bool))
    return _fitting(value, _NUMBERS[parameter.type])


@contextlib.contextmanager
def _converted(name: str, args: Sequence[Any]) -> Iterator[tuple[list[Any], list[Any]]]:
    """The C types and values of the arguments; descriptors are destroyed at the end."""
    types: list[Any] = []
    values: list[Any] = []
    with contextlib.ExitStack() as cleanup:
        for parameter, value in zip(signature(name), args, strict=True):
            try:
                if parameter.type in _NUMBERS:
                    types.append(_NUMBERS[parameter.type])
                    values.append(_number(parameter, value))
                elif parameter.type == "char*":
                    types.append(ctypes.c_char_p)
                    values.append(None if value is None else str(value).encode())
                else:
                    make, destroy = _DESCRIPTORS[parameter.type]
                    handle = None if value is None else make(value)
                    if handle is not None:
                        cleanup.callback(_function(destroy, _pointer), handle)
                    types.append(_pointer)
                    values.append(handle)
            except (TypeError, AttributeError, KeyError) as error:
                raise TypeError(
                    f"{name}: argument '{parameter.name}' must fit {parameter.type}, "
                    f"got {type(value).__name__}: {error}"
                ) from error
        yield types, values


@cache
def _delete_array() -> Any:
    """C++'s delete[]: ACL allocates the shapes it returns with new[] and leaves them to the caller."""
    function = ctypes.CDLL("libstdc++.so.6")._ZdaPv
    function.argtypes, function.restype = (_pointer,), None
    return function


def _shape_of(handle: int) -> tuple[int, ...]:
    dims, count = ctypes.POINTER(ctypes.c_int64)(), ctypes.c_uint64(0)
    read = _function("aclGetViewShape", _pointer, _pointer, _pointer)
    code = read(handle, ctypes.addressof(dims), ctypes.addressof(count))
    _runtime.check(code, "aclGetViewShape")
    shape = tuple(dims[: count.value])
    _delete_array()(dims)
    return shape


def _launch(
    name: str, args: Sequence[Any], runtime: Any, shapes: list[tuple[int, ...]] | None = None
) -> None:
    """Both phases of an operator: plan, workspace from the caching allocator, launch on current stream.

    With `shapes`, it waits and appends the shapes that the tensors' descriptors have then.
    """
    runtime.activate()
    stream = _npu.current_stream(runtime.device_id)
    with _converted(name, args) as (types, values):
        size, executor = ctypes.c_uint64(0), _pointer()
        plan = _function(f"{name}GetWorkspaceSize", *types, _pointer, _pointer)
        launch = _function(name, _pointer, _u64, _pointer, _pointer)
        code = plan(*values, ctypes.addressof(size), ctypes.addressof(executor))
        _runtime.check(code, f"{name}GetWorkspaceSize")
        pool = allocator.get_allocator(runtime.device_id)
        try:
            workspace = pool.malloc(size.value, stream)
        except BaseException:
            _function("aclDestroyAclOpExecutor", _pointer)(executor)  # only a launch would have freed it
            raise
        try:
            code = launch(workspace or None, size.value, executor, stream)
        finally:
            pool.free(workspace)  # the stream runs in order, so its next user comes after this operator
        _runtime.check(code, name)
        if shapes is not None:
            runtime.synchronize()
            tensors = zip(signature(name), values, strict=True)
            shapes += [
                _shape_of(value) for parameter, value in tensors if parameter.type == "aclTensor*" and value
            ]
