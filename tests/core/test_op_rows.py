"""Every row of the operator table without PyTorch: values from numpy; variants and devices agree."""

import functools
import math
import warnings

import numpy as np
import pytest
from cases_together import go_through, grouped
from codegen.cells import Substitute
from opcases import (
    DTYPES,
    FLOATS,
    INTEGER_ONLY,
    ROWS,
    VALUELESS,
    as_numpy,
    assert_close,
    attempted,
    called,
    cases,
    dtype_name,
    has_cell,
    ours,
    ours_in_place,
    same_refusal,
    sampled,
    samples,
    strides,
    tensors_of,
)

import mindtorch_v2 as torch
from mindtorch_v2._plan import memory

_erf = np.vectorize(math.erf, otypes=[float])


def _softmax(x, dim):
    e = np.exp(x - x.max(axis=dim, keepdims=True)) if x.size else x
    return e / e.sum(axis=dim, keepdims=True)


def _axis(dim):
    return tuple(dim) if isinstance(dim, list) else dim


def _reduced(function):
    return lambda x, dim=None, keepdim=False, dtype=None: function(
        x, axis=_axis(dim) if x.ndim else None, keepdims=keepdim
    )


# What the operator means, in double precision. Rows that are not here are copies and pieces of formulas;
# their values the parity suite and the finite differences pin down.
NUMPY = {
    "add.Tensor": lambda a, b, alpha=1: a + alpha * b,
    "add.Scalar": lambda a, b, alpha=1: a + alpha * b,
    "sub.Tensor": lambda a, b, alpha=1: a - alpha * b,
    "sub.Scalar": lambda a, b, alpha=1: a - alpha * b,
    "mul.Tensor": np.multiply,
    "mul.Scalar": np.multiply,
    "div.Tensor": np.true_divide,
    "div.Scalar": np.true_divide,
    "pow.Tensor_Tensor": np.power,
    "pow.Tensor_Scalar": np.power,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "remainder.Tensor": np.mod,
    "remainder.Scalar": np.mod,
    "fmod.Tensor": np.fmod,
    "fmod.Scalar": np.fmod,
    "floor_divide": np.floor_divide,
    "floor_divide.Scalar": np.floor_divide,
    "atan2": np.arctan2,
    "eq.Tensor": np.equal,
    "ne.Tensor": np.not_equal,
    "lt.Tensor": np.less,
    "le.Tensor": np.less_equal,
    "gt.Tensor": np.greater,
    "ge.Tensor": np.greater_equal,
    "eq.Scalar": np.equal,
    "ne.Scalar": np.not_equal,
    "lt.Scalar": np.less,
    "le.Scalar": np.less_equal,
    "gt.Scalar": np.greater,
    "ge.Scalar": np.greater_equal,
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "logical_xor": np.logical_xor,
    "logical_not": np.logical_not,
    "isnan": np.isnan,
    "neg": np.negative,
    "abs": np.abs,
    "exp": np.exp,
    "log": np.log,
    "log1p": np.log1p,
    "expm1": np.expm1,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "reciprocal": lambda x: 1 / x,
    "square": np.square,
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "relu": lambda x: np.where(x < 0, 0.0, x),
    "erf": lambda x: _erf(x) if x.size else x,
    "sign": lambda x: np.where(np.isnan(x), 0.0, np.sign(x)),
    "floor": np.floor,
    "ceil": np.ceil,
    "round": np.round,
    "trunc": np.trunc,
    "clamp_min": np.maximum,
    "clamp_max": np.minimum,
    "clamp": lambda x, low=None, high=None: np.minimum(
        np.maximum(x, -np.inf if low is None else low), np.inf if high is None else high
    ),
    "sum": _reduced(np.sum),
    "mean": _reduced(np.mean),
    "amax": _reduced(np.amax),
    "amin": _reduced(np.amin),
    "any": _reduced(np.any),
    "all": _reduced(np.all),
    "prod": _reduced(np.prod),
    "argmax": lambda x, dim=None, keepdim=False: np.argmax(x, axis=dim, keepdims=keepdim),
    "argmin": lambda x, dim=None, keepdim=False: np.argmin(x, axis=dim, keepdims=keepdim),
    "max": np.max,
    "min": np.min,
    "max.other": np.maximum,
    "min.other": np.minimum,
    "max.dim": lambda x, dim, keepdim=False: (
        np.max(x, dim, keepdims=keepdim),
        np.argmax(x, dim, keepdims=keepdim),
    ),
    "min.dim": lambda x, dim, keepdim=False: (
        np.min(x, dim, keepdims=keepdim),
        np.argmin(x, dim, keepdims=keepdim),
    ),
    "mm": np.matmul,
    "bmm": np.matmul,
    "matmul": np.matmul,
    "dot": np.dot,
    "mv": np.matmul,
    "addmm": lambda c, a, b, beta=1, alpha=1: beta * c + alpha * (a @ b),
    "linear": lambda x, w, b=0: x @ w.T + b,
    "softmax.int": lambda x, dim, dtype=None: _softmax(x, dim),
    "_softmax": lambda x, dim, half: _softmax(x, dim),
    "log_softmax.int": lambda x, dim, dtype=None: np.log(_softmax(x, dim)),
    "_log_softmax": lambda x, dim, half: np.log(_softmax(x, dim)),
    "where.self": np.where,
    "where.ScalarSelf": np.where,
    "where.ScalarOther": np.where,
    "masked_fill.Scalar": lambda x, m, v: np.where(m, v, x),
    "cat": lambda xs, dim=0: np.concatenate([x for x in xs if x.shape != (0,)] or xs, dim),
    "stack": lambda xs, dim=0: np.stack(xs, dim),
    "clone": lambda x, memory_format=None: x,
    "contiguous": lambda x: x,
    "detach": lambda x: x,
    "t": np.transpose,
    "permute": np.transpose,
    "transpose.int": np.swapaxes,
    "reshape": np.reshape,
    "view": np.reshape,
    "unsqueeze": np.expand_dims,
    "select.int": lambda x, dim, i: np.take(x, i, dim),
    "diagonal": np.diagonal,
    "zeros": lambda size, **_: np.zeros(size),
    "ones": lambda size, **_: np.ones(size),
    "full": lambda size, v, **_: np.full(size, float(v)),
    "arange": lambda *a, **_: np.arange(*a),
    "arange.start": lambda *a, **_: np.arange(*a),
    "arange.start_step": lambda *a, **_: np.arange(*a),
}


def _as_arrays(value):
    if isinstance(value, torch.Tensor):
        array = as_numpy(value)
        return array.astype(np.float64) if dtype_name(value) in FLOATS else array
    return [_as_arrays(v) for v in value] if isinstance(value, list) else value


def _good(dtype, rows=None):
    """Cases that are no errors, for rows with a cell on the device."""
    out = []
    for name, _, number in cases(None, (dtype,)):
        if (
            (rows is None or name in rows)
            and not samples(name)[number].refused
            and ROWS[name].cpp_name not in INTEGER_ONLY
        ):
            out.append((name, number))
    return out


_call, _attempt = functools.partial(called, torch), functools.partial(attempted, torch)


@pytest.mark.parametrize("device", ["cpu", "npu"])
@pytest.mark.parametrize("cases", grouped(_good("float32", NUMPY), lambda name, number: (name,)))
def test_values_are_numpys(cases, device):
    go_through(cases, lambda name, number: _compare_with_numpy(name, number, device))


def _compare_with_numpy(name, number, device):
    if not has_cell(ROWS[name], device):
        with pytest.raises(NotImplementedError):
            _call(name, number, device, "float32")
        return
    args, kwargs = samples(name)[number].build(torch, "cpu", "float32")
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # numpy warns about the mean of nothing
        wanted = NUMPY[name](
            *[_as_arrays(a) for a in args], **{k: v for k, v in kwargs.items() if k not in ("dtype",)}
        )
    wanted = wanted if isinstance(wanted, tuple) else (wanted,)
    for got, expected in zip(tensors_of(_call(name, number, device, "float32")), wanted, strict=True):
        expected = np.asarray(expected)
        assert tuple(got.shape) == expected.shape
        assert got.device.type == device
        with np.errstate(all="ignore"):
            expected = expected.astype(dtype_name(got))
            assert_close(
                _as_arrays(got), expected, "float16" if dtype_name(got) == "float16" else "float32", loosen=4
            )


# Rows that compute nothing of a dtype, on any device.
_FLOATING_ONLY = {
    "elu", "frac", "hardshrink", "hardshrink_backward", "hardsigmoid", "hardsigmoid_backward", "hardswish",
    "hardswish_backward", "leaky_relu", "leaky_relu_backward", "lerp.Scalar", "log_sigmoid", "mish", "mish_backward",
    "sigmoid_backward", "silu", "silu_backward", "softplus", "softplus_backward", "softshrink", "softshrink_backward",
    "tanh_backward",
}  # fmt: skip
_NOT_LOGICAL = {
    "abs", "addmm", "argmax", "argmin", "ceil", "floor", "hardtanh", "hardtanh_backward", "linalg_cross", "neg", "relu",
    "relu6", "round", "rsub.Scalar", "rsub.Tensor", "sub.Scalar", "sub.Tensor", "threshold",
    "threshold_backward", "trunc",
}  # fmt: skip
_FULL_PRECISION = {
    "special_airy_ai", "special_erfcx", "special_log_ndtr", "special_ndtri", "special_spherical_bessel_j0",
    "special_zeta.other_scalar",
    *(f"special_bessel_{kind}" for kind in ("j0", "j1", "y0", "y1")),
    *(f"special_modified_bessel_{kind}" for kind in ("i0", "i1", "k0", "k1")),
    *(f"special_scaled_modified_bessel_{kind}" for kind in ("k0", "k1")),
    *(f"special_{how}chebyshev_polynomial_{k}.n_scalar" for how in ("", "shifted_") for k in "tuvw"),
    *(f"special_{k}.n_scalar" for k in ("hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l")),
    "special_legendre_polynomial_p.n_scalar",
}  # fmt: skip
_BITS_ONLY = {r.name for r in sampled() if r.cpp_name.startswith("bitwise_")}
_NOTHING_OF = {
    "float32": _BITS_ONLY,
    "float16": _BITS_ONLY | _FULL_PRECISION,
    "int64": _FLOATING_ONLY,
    "bool": _FLOATING_ONLY | _NOT_LOGICAL,
}
# The cpu has no kernel for some of these samples, as PyTorch's has none; the npu computes them.
_ONLY_ON_THE_NPU = {(name, dtype) for name in ("_prelu_kernel", "hypot") for dtype in ("int64", "bool")}


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool", "float16"])
@pytest.mark.parametrize(
    "name", [r.name for r in sampled() if r.name not in VALUELESS and has_cell(r, "npu")]
)
def test_the_npu_computes_what_the_cpu_computes_and_refuses_what_it_refuses(name, dtype):
    asked = [n for n, sample in enumerate(samples(name)) if dtype in sample.dtypes]
    computed, beyond = 0, 0
    for number in asked:
        wanted, refused = _attempt(name, number, "cpu", dtype)
        got, failure = _attempt(name, number, "npu", dtype)
        if refused is not None and failure is None:
            assert isinstance(refused, NotImplementedError), (number, refused)
            beyond += 1
            continue
        if refused is not None:
            assert same_refusal(torch, refused, failure), (number, refused, failure)
            continue
        if failure is not None:
            raise failure
        computed += 1
        for mine, other in zip(got, wanted, strict=True):
            assert dtype_name(mine) == dtype_name(other)
            assert_close(as_numpy(mine), as_numpy(other), dtype_name(other), loosen=2)
    if asked:
        assert (computed == 0) == (name in _NOTHING_OF[dtype]), f"{computed} of {len(asked)} samples computed"
    assert (beyond > 0) == ((name, dtype) in _ONLY_ON_THE_NPU)


_REFUSED = [
    (r.name, number, device)
    for device in ("cpu", "npu", "meta")
    for r in sampled()
    if has_cell(r, device)
    for number, sample in enumerate(samples(r.name))
    if sample.refused
]


def test_refused_samples_raise_everywhere():
    def refused(name, number, device):
        with pytest.raises((RuntimeError, IndexError)):
            _call(name, number, device, "float32")

    go_through(_REFUSED, refused)


@pytest.mark.parametrize("dtype", ["float32", "int64"])
@pytest.mark.parametrize("name", [r.name for r in sampled()])
def test_meta_has_the_cpus_shape_dtype_and_strides(name, dtype):
    for number, sample in enumerate(samples(name)):
        if sample.refused or dtype not in sample.dtypes:
            continue
        wanted, refused = _attempt(name, number, "cpu", dtype)
        if isinstance(refused, NotImplementedError) or "ZeroDivision" in str(refused):
            continue  # which dtypes have kernels, and what is in the data, meta does not know
        got, failure = _attempt(name, number, "meta", dtype)
        if refused is not None:
            assert type(failure) is type(refused), number
            continue
        if failure is not None:
            raise failure
        for mine, other in zip(got, wanted, strict=True):
            assert mine.is_meta and mine.dtype is other.dtype and mine.shape == other.shape
            assert strides(mine) == strides(other)


def _made_on_meta(name, number):
    """What a sample gives on meta, and how many tensors were made for it."""
    with memory.recording():
        got, failure = _attempt(name, number, "meta", "float32")
        return got, failure, len(memory.history())


_OF_PARTS = [r.name for r in sampled() if isinstance(getattr(r, "cells", {}).get("npu"), Substitute)]
_COPIES_ONLY = ("_conj_physical",)  # of real numbers


@pytest.mark.parametrize("name", _OF_PARTS)
def test_what_a_device_makes_of_parts_is_made_of_them_on_meta_that_stands_for_it(name):
    more = []
    for number, sample in enumerate(samples(name)):
        if sample.refused or "float32" not in sample.dtypes:
            continue
        wanted, refused, alone = _made_on_meta(name, number)
        with memory.standing_for("npu"):
            got, failure, made = _made_on_meta(name, number)
        assert type(failure) is type(refused), failure
        if failure is None:
            assert [(t.shape, t.dtype, t.is_meta) for t in got] == [(t.shape, t.dtype, True) for t in wanted]
            more.append(made > alone)
    assert any(more) == (name not in _COPIES_ONLY)


def _has_floats(sample):
    return any(isinstance(a, float) or getattr(a, "dtype", None) in FLOATS for a in sample.args)


def _accepts(row, args, kwargs, result):
    """Whether self can hold the result: the same shape, a dtype it can be cast to, and memory of its own."""
    return (
        args[0].shape == result.shape
        and torch.can_cast(result.dtype, args[0].dtype)
        and 0 not in args[0].stride()
    )


def _on_devices(rows):
    return [(row.name, device) for row in rows for device in ("cpu", "npu") if has_cell(row, device)]


@pytest.mark.parametrize("name, device", _on_devices(r for r in sampled() if "inplace" in r.variants))
def test_in_place_writes_what_the_function_returns(name, device):
    row, written = ROWS[name], 0
    for sample in samples(name):
        for dtype in ("float32", "int64"):
            args, kwargs = sample.build(torch, device, dtype)
            try:
                wanted = ours(row)(*args, **kwargs)
                values = as_numpy(wanted)
            except (RuntimeError, NotImplementedError):
                continue
            if not _accepts(row, args, kwargs, wanted):
                continue
            pointer, version = args[0].data_ptr(), args[0]._version
            assert ours_in_place(row)(*args, **kwargs) is args[0]
            assert args[0].data_ptr() == pointer and args[0]._version == version + 1
            np.testing.assert_array_equal(as_numpy(args[0]), values.astype(as_numpy(args[0]).dtype))
            written += 1
    assert written > 3


@pytest.mark.parametrize(
    "name, device",
    _on_devices(
        r for r in sampled() if "out" in r.variants and r.name not in VALUELESS and len(r.schema.returns) == 1
    ),
)
def test_out_receives_what_the_function_returns(name, device):
    row, written = ROWS[name], 0
    for sample in samples(name):
        whole = row.cpp_name in INTEGER_ONLY
        if sample.refused or (whole and _has_floats(sample)):
            continue
        args, kwargs = sample.build(torch, device, "int64" if whole else "float32")
        try:
            wanted = ours(row)(*args, **kwargs)
        except (RuntimeError, NotImplementedError):
            continue  # operands it does not take together
        turned = torch.zeros(tuple(reversed(wanted.shape)), dtype=wanted.dtype, device=device)
        kept = turned.permute(tuple(reversed(range(turned.dim()))))
        empty = torch.zeros(0, dtype=wanted.dtype, device=device)
        for out in (kept, empty):
            assert ours(row)(*args, **kwargs, out=out) is out
            assert out.shape == wanted.shape
            np.testing.assert_array_equal(as_numpy(out), as_numpy(wanted))
        assert turned.untyped_storage().data_ptr() == kept.untyped_storage().data_ptr()
        written += 1
    assert written > 1


@pytest.mark.parametrize(
    "name",
    [
        r.name
        for r in sampled()
        if {"function", "method"} <= set(r.variants) and not r.factory and r.name not in VALUELESS
    ],
)
def test_the_method_is_the_function(name):
    row = ROWS[name]
    dtype = "int64" if row.cpp_name in INTEGER_ONLY else "float32"
    sample = next(s for s in samples(name) if not s.refused and dtype in s.dtypes)
    args, kwargs = sample.build(torch, "cpu", dtype)
    by_function = tensors_of(ours(row)(*args, **kwargs))
    by_method = tensors_of(getattr(args[0], row.cpp_name)(*args[1:], **kwargs))
    for a, b in zip(by_function, by_method, strict=True):
        np.testing.assert_array_equal(as_numpy(a), as_numpy(b))


def test_every_dtype_has_a_row_that_uses_it():
    used = {dtype for _, dtype, _ in cases("inplace")}
    assert used == set(DTYPES)
