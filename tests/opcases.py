"""Samples for every row of the operator table, shared by the default suite and the parity suite.

A sample describes its inputs (shape, dtype, layout, values) instead of holding them, so that the same sample
can be built for MindTorch on any device, for PyTorch, and for numpy. Samples are made per family from the
schema; operators whose arguments have a meaning of their own (shapes, dimensions, classes) are listed by name
in opcases_named.py.
"""

from __future__ import annotations

import functools
import sys
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from codegen.bindings import has_inplace_method
from codegen.row import Row
from codegen.table import load_table

FLOATS = ("float32", "float64", "float16", "bfloat16")
INTEGERS = ("int64", "int32", "int16", "int8", "uint8")
DTYPES = (*FLOATS, *INTEGERS, "bool")
# (rtol, atol) by result dtype: PyTorch's own, and the software NPU computes like the CPU.
TOLERANCE = {
    "float64": (1e-7, 1e-7),
    "float32": (1.3e-6, 1e-5),
    "float16": (1e-3, 1e-4),
    "bfloat16": (1.6e-2, 4e-3),
}

ROWS: dict[str, Row] = {row.name: row for row in load_table()}
# What a Python program can call.
CALLABLE = [r for r in ROWS.values() if set(r.variants) & {"function", "method"}]
# Their values are drawn or left over; only shape and dtype can be compared.
VALUELESS = {
    "empty",
    "empty_strided",
    "empty_like",
    "rand",
    "randn",
    "randint",
    "randint.low",
    "randperm",
    "rand_like",
    "randn_like",
    "uniform_",
    "normal_",
    "bernoulli_.float",
    "random_.from",
}


@dataclass(frozen=True)
class Array:
    """A tensor to be: `dtype` None means the dtype under test."""

    shape: tuple[int, ...] = ()
    dtype: str | None = None
    layout: str = "plain"  # plain | transposed | sliced | expanded | offset
    values: str = "smooth"  # smooth | positive | above_one | unit | nonzero | classes:N | mask | special
    seed: int = 0
    differentiable: bool = True

    def numpy(self, dtype: str) -> np.ndarray:
        """The values, in the dtype itself or in float32 where numpy has none (bfloat16)."""
        name = self.dtype or dtype
        rng = np.random.default_rng(zlib.crc32(f"{self.shape}{self.values}{self.seed}".encode()))
        drawn = _values(self.values, self.shape, name, rng)
        return drawn.astype("float32" if name == "bfloat16" else name)


def _values(kind: str, shape: tuple[int, ...], dtype: str, rng: np.random.Generator) -> np.ndarray:
    kind, _, limit = kind.partition(":")
    if kind == "special":
        return np.resize(np.array(_special(dtype)), shape)
    if kind == "mask" or dtype == "bool":
        return rng.random(shape) < 0.5
    if kind == "classes":
        return rng.integers(0, int(limit), shape)
    if dtype in INTEGERS:
        low = 1 if kind in ("positive", "above_one", "nonzero", "unit") or dtype == "uint8" else -5
        return rng.integers(low, 6, shape)
    # Away from integers and halves, where floor, round, sign, relu and clamp have their corners: finite
    # differences and the rounding of half precision must not cross one.
    low, high = {"positive": (0, 3), "unit": (0, 1), "above_one": (1, 4)}.get(kind, (-3, 3))
    whole = rng.integers(low, high, shape)
    part = rng.uniform(0.15, 0.35, shape) + 0.5 * rng.integers(0, 2, shape)
    drawn = whole + part
    # float16 and bfloat16 hold these exactly, so every backend starts from the same numbers.
    return np.round(drawn * 64) / 64


def _special(dtype: str) -> list[Any]:
    if dtype == "bool":
        return [True, False]
    if dtype in INTEGERS:
        info = np.iinfo(dtype)
        return [0, 1, 2, 7, info.max, info.min, info.max - 1, 100]
    big = {"float16": 6e4, "bfloat16": 2.0**100, "float32": 2.0**100, "float64": 2.0**600}[dtype]
    return [
        0.0,
        -0.0,
        1.0,
        -1.0,
        np.inf,
        -np.inf,
        np.nan,
        0.5,
        -0.5,
        1.5,
        2.5,
        -2.5,
        big,
        -big,
        2.0**-14,
        30.0,
        -30.0,
    ]


@dataclass(frozen=True)
class Sample:
    """One call: positional arguments and keywords; Array stands for a tensor."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict, hash=False)
    forward_only: bool = False  # values at corners, where slopes are a matter of taste
    dtypes: tuple[str, ...] = DTYPES
    refused: bool = False  # an error whatever the dtype

    def arrays(self) -> list[Array]:
        return [a for a in _leaves([*self.args, *self.kwargs.values()]) if isinstance(a, Array)]

    def build(
        self, lib: Any, device: str, dtype: str, grad: bool = False
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments as `lib` (MindTorch or PyTorch) takes them."""
        args, kwargs = (
            _map(list(self.args), lib, device, dtype, grad),
            _map(self.kwargs, lib, device, dtype, grad),
        )
        return tuple(args), kwargs


def _leaves(value: Any) -> list[Any]:
    return [leaf for v in value for leaf in _leaves(v)] if isinstance(value, (list, tuple)) else [value]


def _map(value: Any, lib: Any, device: str, dtype: str, grad: bool) -> Any:
    if isinstance(value, Array):
        return make(lib, value, device, dtype, grad)
    if isinstance(value, DType):
        return getattr(lib, value.name)
    if isinstance(value, Named):
        return getattr(lib, value.name)
    if isinstance(value, list):
        return [_map(v, lib, device, dtype, grad) for v in value]
    if isinstance(value, dict):
        return {k: _map(v, lib, device, dtype, grad) for k, v in value.items()}
    return value


@dataclass(frozen=True)
class DType:
    """A dtype as an argument."""

    name: str


@dataclass(frozen=True)
class Named:
    """Another attribute of the library as an argument (a memory format)."""

    name: str


def make(lib: Any, array: Array, device: str, dtype: str, grad: bool = False) -> Any:
    """The tensor an Array describes: the right values in the right memory layout."""
    name = array.dtype or dtype
    values = array.numpy(dtype)
    n = len(array.shape)
    if array.layout == "transposed" and n >= 2:
        stored = np.ascontiguousarray(np.swapaxes(values, 0, n - 1))
    elif array.layout == "sliced" and n >= 1:
        stored = np.zeros((array.shape[0] * 2, *array.shape[1:]), values.dtype)
        stored[::2] = values
    elif array.layout == "offset" and n >= 1:
        stored = np.concatenate([np.ones((1, *array.shape[1:]), values.dtype), values])
    elif array.layout == "expanded" and n >= 1:
        stored = values[:1].copy()
    else:
        stored = values
    tensor = lib.from_numpy(np.array(stored)).to(getattr(lib, name)).to(device)
    leaf = tensor
    if grad and array.differentiable and name in FLOATS:
        leaf = tensor.requires_grad_(True)
    view = leaf
    if array.layout == "transposed" and n >= 2:
        view = leaf.transpose(0, n - 1)
    elif array.layout == "sliced" and n >= 1:
        view = leaf[::2]
    elif array.layout == "offset" and n >= 1:
        view = leaf[1:]
    elif array.layout == "expanded" and n >= 1:
        view = leaf.expand(array.shape)
    if view is not leaf and leaf.requires_grad:
        view.retain_grad()
    return view


# ---- families ------------------------------------------------------------------------------------

# Where a function is defined or smooth; any other takes every number.
_DOMAIN = {
    **dict.fromkeys(("acos", "asin", "atanh", "erfinv", "special_ndtri"), "unit"),
    **dict.fromkeys(("acosh", "special_zeta"), "above_one"),
    **dict.fromkeys(("log", "log1p", "log2", "log10", "sqrt", "rsqrt", "pow", "lerp", "hypot"), "positive"),
    **dict.fromkeys(("xlogy", "special_xlog1py", "special_entr"), "positive"),
    **dict.fromkeys(("lgamma", "digamma", "_polygamma", "igamma", "igammac", "_igamma_slope"), "positive"),
    **dict.fromkeys(("special_bessel_y0", "special_bessel_y1"), "positive"),
    **dict.fromkeys(("special_modified_bessel_k0", "special_modified_bessel_k1"), "positive"),
    **dict.fromkeys(("special_scaled_modified_bessel_k0", "special_scaled_modified_bessel_k1"), "positive"),
    **dict.fromkeys(("bitwise_left_shift", "bitwise_right_shift"), "positive"),
    **dict.fromkeys(("reciprocal", "div", "remainder", "fmod", "floor_divide", "atan2"), "nonzero"),
    **dict.fromkeys(("_div_floor", "_div_trunc", "copysign"), "nonzero"),
}
_SHAPES = [
    ((3,), "plain"),
    ((), "plain"),
    ((2, 3), "plain"),
    ((0,), "plain"),
    ((2, 0, 3), "plain"),
    ((4, 3), "transposed"),
    ((3, 2, 4), "sliced"),
    ((2, 3, 2, 2), "transposed"),
    ((3, 4), "expanded"),
    ((5,), "offset"),
    ((37, 65), "plain"),
]
_PAIRS = [
    (((3,), "plain"), ((3,), "plain")),
    (((), "plain"), ((), "plain")),
    (((2, 3), "plain"), ((3,), "plain")),
    (((2, 3), "plain"), ((), "plain")),
    (((), "plain"), ((2, 3), "plain")),
    (((2, 1, 3), "plain"), ((4, 1), "plain")),
    (((0, 3), "plain"), ((1, 3), "plain")),
    (((4, 3), "transposed"), ((4, 3), "plain")),
    (((4, 3), "transposed"), ((4, 3), "transposed")),
    (((3, 2, 4), "sliced"), ((2, 4), "transposed")),
    (((3, 4), "expanded"), ((4,), "offset")),
    (((37, 65), "plain"), ((37, 65), "plain")),
]
_MIXED = [
    ("int64", ()),
    ("float32", (3,)),
    ("float64", ()),
    ("uint8", (3,)),
    ("bool", (3,)),
    ("float16", (3,)),
    ("int8", (1, 3)),
]
_NUMBERS = [2, -1, 0.5, True]


def domain(row: Row) -> str:
    return _DOMAIN.get(row.cpp_name, "smooth")


def _extra(row: Row, skip: int) -> list[dict[str, Any]]:
    """Keywords beyond the operands: alpha of add and sub."""
    names = [a.name for a in row.schema.arguments[skip:]]
    return [{}, {"alpha": 2}] if names == ["alpha"] else [{}]


_UNARY_NUMBERS = {"_polygamma": (1, 2)}


def _unary(row: Row) -> list[Sample]:
    required = sum(a.default is None for a in row.schema.arguments) - 1
    numbers: list[tuple[Any, ...]] = [(n,) * required for n in _UNARY_NUMBERS.get(row.name, (1, 0.5))]
    if not required:
        numbers = [()]
    kind = domain(row)
    out = [Sample((Array(s, layout=layout, values=kind), *n)) for s, layout in _SHAPES for n in numbers]
    out.append(Sample((Array((24,), values="special"), *numbers[0]), forward_only=True))
    return out


def _is_refused(row: Row, boolean: bool) -> bool:
    """Subtraction wants no booleans; every other operator takes them as 0 and 1."""
    return boolean and row.cpp_name in ("sub", "rsub")


def _binary(row: Row) -> list[Sample]:
    kind = domain(row)
    fitting = {"Scalar": 0.5, "float": 0.5, "bool": False}
    rest = tuple(fitting[a.type.name] for a in row.schema.arguments[2:] if a.default is None)
    out = []
    for i, ((s1, l1), (s2, l2)) in enumerate(_PAIRS):
        for extra in _extra(row, 2) if i < 3 else [{}]:
            out.append(
                Sample(
                    (Array(s1, layout=l1, values=kind), Array(s2, layout=l2, values=kind, seed=1), *rest),
                    extra,
                )
            )
    if row.cpp_name.endswith("_backward"):  # a piece of a formula: its operands come from one forward call
        return out
    for other, shape in _MIXED:
        operands = (Array((2, 3), values=kind), Array(shape, dtype=other, values="nonzero", seed=1), *rest)
        out.append(Sample(operands, refused=_is_refused(row, other == "bool")))
    # PyTorch's lcm divides by zero there, and the process ends; a polynomial of such a degree takes for ever.
    if row.cpp_name != "lcm" and "polynomial" not in row.cpp_name:
        special = (Array((24, 1), values="special"), Array((24,), values="special"), *rest)
        out.append(Sample(special, forward_only=True))
    return out


def _binary_number(row: Row) -> list[Sample]:
    kind = domain(row)
    out = []
    for i, (s, layout) in enumerate(_SHAPES):
        for number in _NUMBERS if i < 3 else _NUMBERS[2:3] if row.cpp_name not in _BITWISE else _NUMBERS[:1]:
            for extra in _extra(row, 2) if i < 2 else [{}]:
                operands = (Array(s, layout=layout, values=kind), number)
                out.append(Sample(operands, extra, refused=_is_refused(row, number is True)))
    out.append(Sample((Array((24,), values="special"), 2), forward_only=True))
    return out


_BITWISE = ("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift")
INTEGER_ONLY = ("bitwise_not", *_BITWISE, "gcd", "lcm")


def _reduce(row: Row) -> list[Sample]:
    several = row.cpp_name != "prod"  # PyTorch's prod folds one dimension or all
    values = "unit" if row.cpp_name == "prod" else "smooth"
    out = [Sample((Array(s, layout=layout, values=values),)) for s, layout in _SHAPES]
    for s, layout in _SHAPES:
        if len(s) == 0:
            out.append(Sample((Array(s, values=values), 0)))
            continue
        out.append(Sample((Array(s, layout=layout, values=values), -1)))
        out.append(Sample((Array(s, layout=layout, values=values), 0, True)))
        if several and len(s) >= 2:
            out.append(Sample((Array(s, layout=layout, values=values),), {"dim": [0, -1]}))
            out.append(Sample((Array(s, layout=layout, values=values),), {"dim": [1], "keepdim": True}))
    if any(a.name == "dtype" for a in row.schema.arguments):
        out.append(Sample((Array((2, 3), values=values),), {"dtype": DType("float64")}))
        out.append(Sample((Array((2, 3), values=values), 1), {"dtype": DType("float32")}))
    out.append(Sample((Array((17, 4), values="special"), 1), forward_only=True, dtypes=FLOATS))
    if row.dtype == "same":  # no value to give for an empty set
        out = [replace(s, refused=_folds_nothing(s)) for s in out]
    return out


def _folds_nothing(sample: Sample) -> bool:
    shape = sample.args[0].shape
    dims = sample.kwargs.get("dim", sample.args[1] if len(sample.args) > 1 else range(len(shape)))
    return any(shape[d] == 0 for d in ([dims] if isinstance(dims, int) else dims) if shape)


_FAMILIES: dict[str, Callable[[Row], list[Sample]]] = {
    "unary": _unary,
    "predicate": _unary,
    "binary": _binary,
    "compare": _binary,
    "reduce": _reduce,
}


@functools.cache
def samples(name: str) -> tuple[Sample, ...]:
    """Every sample of the row."""
    from opcases_named import NAMED

    row = ROWS[name]
    if name in NAMED:
        return tuple(NAMED[name])
    if row.scalar_variant or row.family in _FAMILIES:
        made = _binary_number(row) if row.scalar_variant else _FAMILIES[row.family](row)
        if row.area == "special":  # at the ends of the dtypes PyTorch's are wrong, or loop for minutes
            made = [s for s in made if not s.forward_only]
        return tuple(made)
    raise KeyError(f"{row.source} has no samples: add them to tests/opcases_named.py under {name!r}")


@functools.cache
def sampled() -> tuple[Row, ...]:
    """The callable rows with samples; the others are run by PyTorch's own operator database
    (tests/parity/test_opinfo.py, and what was recorded of it for tests/core/test_recorded.py)."""
    from opcases_named import NAMED

    return tuple(r for r in CALLABLE if r.name in NAMED or r.family in _FAMILIES)


def cases(variant: str | None = None, dtypes: tuple[str, ...] = DTYPES) -> list[tuple[str, str, int]]:
    """(row, dtype, sample number) of every row with the variant (function or method, if none is named).

    float32 meets every sample; the other dtypes share them out, or the suite would be slow.
    """

    def taken(dtype: str, number: int, sample: Sample) -> bool:
        if dtype not in sample.dtypes:
            return False
        if dtype == "float32" or sample.forward_only:
            return True
        apart = 2 if dtype == "int64" else 6
        return number % apart == DTYPES.index(dtype) % apart

    out = []
    for row in sampled():
        if variant and variant not in row.variants:
            continue
        numbered = list(enumerate(samples(row.name)))
        out += [(row.name, dtype, i) for dtype in dtypes for i, s in numbered if taken(dtype, i, s)]
    return out


# ---- calling -------------------------------------------------------------------------------------


def ours(row: Row) -> Callable[..., Any]:
    """The row as MindTorch's users call it; a method is called on its first argument."""
    import mindtorch_v2

    if "function" in row.variants:
        return getattr(_module(mindtorch_v2, row), row.public_name)
    return lambda first, *args, **kwargs: getattr(first, row.cpp_name)(*args, **kwargs)


def _module(lib: Any, row: Row) -> Any:
    return getattr(lib._C, f"_{row.module or 'functions'}")


def ours_in_place(row: Row) -> Callable[..., Any]:
    """The in-place variant: a method, or a function of the row's module."""
    import mindtorch_v2

    if not has_inplace_method(row):
        return getattr(_module(mindtorch_v2, row), row.public_name + "_")
    return lambda first, *args, **kwargs: getattr(first, row.cpp_name + "_")(*args, **kwargs)


def has_cell(row: Row, device: str) -> bool:
    """Whether the table gives the row a kernel on the device; where it does not, calling it is an error."""
    return row.support(device) != "—"


def called(lib: Any, name: str, number: int, device: str, dtype: str) -> Any:
    """What a row makes of a sample."""
    row = ROWS[name]
    args, kwargs = samples(name)[number].build(lib, device, dtype)
    if row.factory:
        kwargs["device"] = device
    return ours(row)(*args, **kwargs)


def attempted(
    lib: Any, name: str, number: int, device: str, dtype: str
) -> tuple[list[Any] | None, Exception | None]:
    """(results, None) or (None, exception). What fails on an accelerator says so at the next synchronisation."""
    try:
        results = tensors_of(called(lib, name, number, device, dtype))
        if device not in ("cpu", "meta"):
            getattr(lib, device).synchronize()
        return results, None
    except (RuntimeError, IndexError) as error:
        return None, error


def same_refusal(lib: Any, on_cpu: Exception, on_device: Exception) -> bool:
    """Of the same type, or by the device's library."""
    by_library = isinstance(on_cpu, RuntimeError) and isinstance(on_device, lib.AcceleratorError)
    return by_library or type(on_cpu) is type(on_device)


def is_hole(error: BaseException) -> bool:
    """A composite or a formula reached an operator that has no cell on the device."""
    return isinstance(error, NotImplementedError) and "no kernel for that device" in str(error)


def as_numpy(tensor: Any) -> np.ndarray:
    """The values of a tensor of either library, half precisions as float32."""
    host = tensor.detach().cpu()
    if str(host.dtype).endswith("bfloat16"):
        host = host.float()
    values = host.numpy(force=True)  # PyTorch has tensors of zeros without memory
    return values if host.dim() else np.array(host.item(), dtype=values.dtype)


def dtype_name(tensor: Any) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def tensors_of(result: Any) -> list[Any]:
    return list(result) if isinstance(result, (tuple, list)) else [result]


def strides(tensor: Any) -> list[int]:
    """Strides that matter: of dimensions with more than one element."""
    if tensor.numel() == 0:
        return []
    return [s for n, s in zip(tensor.shape, tensor.stride(), strict=True) if n > 1]


def assert_close(got: np.ndarray, wanted: np.ndarray, dtype: str, loosen: float = 1.0) -> None:
    rtol, atol = TOLERANCE.get(dtype, (0.0, 0.0))
    np.testing.assert_allclose(got, wanted, rtol=rtol * loosen, atol=atol * loosen, equal_nan=True)
