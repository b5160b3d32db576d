"""Rows of the operator table against PyTorch: values, variants, shape rule and gradient.

Rows, not files: a new row of an elementwise family or a reduction is tested here as soon as it is in the table,
and so is one with samples in tests/opcases_named.py. test_opinfo.py has PyTorch's own samples for the rest; a
test says so where a row has neither.
"""

import numpy as np
import pytest
import torch
from cases_together import go_through, grouped
from opcases import (
    CALLABLE,
    FLOATS,
    INTEGERS,
    ROWS,
    VALUELESS,
    as_numpy,
    assert_close,
    cases,
    dtype_name,
    has_cell,
    is_hole,
    make,
    ours,
    ours_in_place,
    sampled,
    samples,
    strides,
    tensors_of,
)

import mindtorch_v2

DEVICES = ("cpu", "npu")
# What we compute although PyTorch's CPU has no kernel for it; test_what_we_compute_beyond_pytorch compares the values.
_BEYOND_PYTORCH = {
    ("dot", "cpu", "bool"),
    ("dot", "npu", "bool"),
    *(("hardtanh_backward", "cpu", dtype) for dtype in INTEGERS),
    ("hardtanh_backward", "npu", "int64"),
    ("hypot", "npu", "bool"),
    ("hypot", "npu", "int64"),
}


def theirs(row):
    """The same operator in PyTorch: its public function, or the one below it."""
    if "function" not in row.variants:
        return lambda first, *args, **kwargs: getattr(first, row.cpp_name)(*args, **kwargs)
    by_number = row.module == "nn" and any(a.name == "reduction" for a in row.schema.arguments)
    module = torch._C._nn if by_number else _THEIR_MODULES[row.module]
    public = getattr(module, row.public_name, None)
    return public or getattr(torch.ops.aten, row.cpp_name)


def theirs_with_out(row):
    """That takes out=, too, as those of nn.functional do not."""
    return getattr(torch._C._nn, row.cpp_name) if row.module == "nn" else theirs(row)


_THEIR_MODULES = {
    "": torch,
    "linalg": torch.linalg,
    "fft": torch.fft,
    "special": torch.special,
    "nn": torch.nn.functional,
}
# What PyTorch has too: a few pieces of formulas are ours alone.
_SHARED = {r.name for r in sampled() if hasattr(torch.ops.aten, r.cpp_name) or hasattr(torch, r.cpp_name)}
_SHARED.discard("_prelu_kernel")  # PyTorch's wants a weight of the input's shape
# The npu agrees with the cpu in every dtype (test_op_rows.py), so a few suffice here.
_NPU_DTYPES = ("float32", "int64", "float16", "bool")


def attempt(call, device="cpu"):
    """(result, None) or (None, exception). What fails on the NPU says so at the next synchronisation."""
    try:
        result = call()
        if device == "npu":
            mindtorch_v2.npu.synchronize()
        return result, None
    except (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError) as error:
        return None, error


def _nan_turns_negative(name, number, dtype):
    """Whether PyTorch makes the NaN of a sample negative when it converts it, as its vectors on x86-64 do."""
    args, _ = samples(name)[number].build(torch, "cpu", dtype)
    return any(bool(torch.signbit(x[x.isnan()]).any()) for x in args)


_NAN = "a conversion to bfloat16 keeps the sign of NaN, PyTorch's does not"
_NANS = [("signbit", "cpu", "bfloat16", 11), ("copysign.Tensor", "cpu", "bfloat16", 19)]
# What is known to differ, by row, device, dtype and sample. One that comes to agree fails here, and leaves the list.
_KNOWN = {
    **{
        (name, "meta", "int64", n): "PyTorch's CPU has no kernel, and its meta fails or promotes on the way"
        for name in ("elu", "leaky_relu", "softshrink", "mish_backward")
        for n in range(13)
    },
    **{
        (name, "meta", "int64", n): "PyTorch's CPU has no kernel, and its meta promotes"
        for name in ("igamma", "igammac")
        for n in (*range(13), 16, 18)
    },
    ("bmm", "cpu", "bool", 3): "no kernel for bool",
    ("bmm", "npu", "bool", 3): "no kernel for bool",
    **{case: _NAN for case in _NANS if _nan_turns_negative(case[0], case[3], case[2])},
    ("special_ndtr", "cpu", "float16", 2): "PyTorch rounds to half on the way",
    ("special_ndtr", "npu", "float16", 2): "PyTorch rounds to half on the way",
    ("special_airy_ai", "cpu", "float64", 7): "PyTorch's is off by more than the tolerance",
}


def parameters(selected, devices=DEVICES):
    """Cases of the rows that the table gives to the device, by row and device; test_holes_are_announced has the
    others."""
    chosen = [
        (name, device, dtype, number)
        for name, dtype, number in selected
        for device in devices
        if has_cell(ROWS[name], device) and name in _SHARED and (device != "npu" or dtype in _NPU_DTYPES)
    ]
    return grouped(chosen, lambda name, device, dtype, number: (name, device))


def same_failure(expected, failure, case):
    """PyTorch refused: so do we, with the same type, or with that of a device's library that refused."""
    if failure is None and isinstance(expected, NotImplementedError) and case in _BEYOND_PYTORCH:
        return
    assert failure is not None, f"{case}: PyTorch raises {type(expected).__name__}: {expected}"
    by_library = isinstance(failure, mindtorch_v2.AcceleratorError) and isinstance(expected, RuntimeError)
    same = by_library or type(failure) is type(expected)
    if (case[0], case[2]) == ("pow.Tensor_Tensor", "bool"):
        same = isinstance(failure, type(expected))  # refused for the dtype before shapes are looked at
    assert same, f"{case}: got {failure!r}, PyTorch raises {expected!r}"


# Rows that add elements up, in an order of their own.
_SUMS = ("sum", "mean", "nansum")


def _order_of_additions(row, args, kwargs, wanted):
    """What two orders of additions may make of one sum: 2 (n - 1) u times the sum of absolute values.

    Next to nothing where terms are alike; all of it where 2**600 and -2**600 meet, which take every smaller term along
    or not. PyTorch's own order hangs on the width of its vectors.
    """
    if row.cpp_name not in _SUMS or dtype_name(args[0]) not in FLOATS:
        return 0.0
    rounding = torch.finfo(torch.float64 if args[0].dtype is torch.float64 else torch.float32).eps / 2
    terms = args[0].numel() // max(1, wanted.numel())
    scale = as_numpy(theirs(row)(args[0].abs(), *args[1:], **kwargs)).astype(np.float64)
    return np.where(np.isfinite(scale), 2 * max(0, terms - 1) * rounding * scale, 0.0)


def compare(got, wanted, values=True, geometry=True, loosen=1.0, slack=0.0):
    got, wanted = tensors_of(got), tensors_of(wanted)
    assert len(got) == len(wanted)
    for mine, other in zip(got, wanted, strict=True):
        assert tuple(mine.shape) == tuple(other.shape)
        assert dtype_name(mine) == dtype_name(other)
        if geometry:
            assert strides(mine) == strides(other)
        if values:
            found, expected = as_numpy(mine), as_numpy(other)
            with np.errstate(invalid="ignore"):  # infinity less infinity
                found = (
                    np.where(np.abs(found - expected) <= slack, expected, found) if np.any(slack) else found
                )
            assert_close(found, expected, dtype_name(other), loosen)


# PyTorch composes these of other operators, and the layout of the result is theirs.
_LAYOUT_OPEN = ("rsub", "log_sigmoid", "conj_physical")


def _piece(row):
    return row.cpp_name.endswith("_backward") or row.cpp_name in _LAYOUT_OPEN


# Conversions that are methods only, or whose methods have other names than the operators behind them.
_OF_METHODS = {
    "to": {"tensor"},
    "cpu": {"memory_format"},
    **dict.fromkeys(("cuda", "xpu"), {"device", "non_blocking", "memory_format"}),
}


@pytest.mark.parametrize("name", [r.name for r in CALLABLE if hasattr(torch.ops.aten, r.cpp_name)])
def test_argument_names_are_pytorchs(name):
    packet = getattr(torch.ops.aten, ROWS[name].cpp_name)
    known = {a.name for overload in packet.overloads() for a in getattr(packet, overload)._schema.arguments}
    # `x` of the youngest special functions is `self` here; Python adds requires_grad= and as_tuple= itself.
    allowed = known | {"split_size", "requires_grad", "as_tuple"} | ({"self"} if "x" in known else set())
    allowed |= _OF_METHODS.get(ROWS[name].cpp_name, set())
    assert {a.name for a in ROWS[name].schema.arguments} <= allowed


def test_holes_are_announced():
    for row in sampled():
        if not has_cell(row, "npu"):
            args, kwargs = samples(row.name)[2].build(mindtorch_v2, "npu", "float32")
            with pytest.raises(NotImplementedError, match="no kernel for that device"):
                ours(row)(*args, **kwargs)


@pytest.mark.parametrize("cases", parameters(cases()))
def test_forward(cases):
    go_through(cases, _check_forward, _KNOWN)


def _check_forward(name, device, dtype, number):
    row, sample = ROWS[name], samples(name)[number]
    args, kwargs = sample.build(torch, "cpu", dtype)
    wanted, expected = attempt(lambda: theirs(row)(*args, **kwargs))
    slack = 0.0 if expected else _order_of_additions(row, args, kwargs, wanted)
    args, kwargs = sample.build(mindtorch_v2, device, dtype)
    if row.factory:
        kwargs["device"] = device
    got, failure = attempt(lambda: ours(row)(*args, **kwargs), device)
    if expected is not None:
        return same_failure(expected, failure, (name, device, dtype))
    if failure is not None:
        raise failure
    assert all(t.device.type == device for t in tensors_of(got))
    # PyTorch gives the pieces of backward formulas whatever layout suits it; nobody sees it.
    compare(got, wanted, values=name not in VALUELESS, geometry=not _piece(row), slack=slack)


@pytest.mark.parametrize("name, device, dtype", sorted(_BEYOND_PYTORCH))
def test_what_we_compute_beyond_pytorch(name, device, dtype):
    """The values are those of PyTorch in double precision. What PyTorch comes to compute leaves the list."""
    row, compared = ROWS[name], 0
    for sample in samples(name):
        if sample.forward_only:
            continue  # the largest integers, which double precision does not hold
        args, kwargs = sample.build(torch, "cpu", dtype)
        _, refused = attempt(lambda call=(args, kwargs): theirs(row)(*call[0], **call[1]))
        if not isinstance(refused, NotImplementedError):
            continue
        wider = [a.double() if isinstance(a, torch.Tensor) else a for a in args]
        wanted = theirs(row)(*wider, **kwargs)
        args, kwargs = sample.build(mindtorch_v2, device, dtype)
        got = ours(row)(*args, **kwargs)
        wanted = wanted.to(getattr(torch, dtype_name(got)))
        assert_close(as_numpy(got), as_numpy(wanted), dtype_name(got))
        compared += 1
    assert compared


_IN_PLACE_DTYPES = ("float32", "int64", "float16", "uint8", "bool")


def _writable(selected):
    """Without samples whose first operand is expanded: writing to those is an error."""
    return [case for case in selected if samples(case[0])[case[2]].args[0].layout != "expanded"]


@pytest.mark.parametrize("cases", parameters(_writable(cases("inplace", _IN_PLACE_DTYPES))))
def test_in_place(cases):
    go_through(cases, _check_in_place, _KNOWN)


def _check_in_place(name, device, dtype, number):
    row, sample = ROWS[name], samples(name)[number]
    args, kwargs = sample.build(torch, "cpu", dtype)
    name_ = row.cpp_name + "_"
    places = (torch._C._nn,) if row.module else (torch.Tensor, torch)
    write = next(getattr(place, name_) for place in places if hasattr(place, name_))
    wanted, expected = attempt(lambda: write(*args, **kwargs))
    args, kwargs = sample.build(mindtorch_v2, device, dtype)
    version = args[0]._version
    got, failure = attempt(lambda: ours_in_place(row)(*args, **kwargs), device)
    if expected is not None:
        return same_failure(expected, failure, (name, device, dtype))
    if failure is not None:
        raise failure
    assert got is args[0]
    assert got._version == version + 1
    compare(got, wanted)


def _single(selected):
    """With one result, whose values are determined."""
    return [c for c in selected if c[0] not in VALUELESS and len(ROWS[c[0]].schema.returns) == 1]


@pytest.mark.parametrize("cases", parameters(_single(cases("out", ("float32", "int64")))))
def test_out(cases):
    go_through(cases, _check_out, _KNOWN)


def _check_out(name, device, dtype, number):
    row, sample = ROWS[name], samples(name)[number]
    args, kwargs = sample.build(torch, "cpu", dtype)
    wanted, expected = attempt(lambda: theirs(row)(*args, **kwargs))
    if expected is not None:
        out = torch.zeros(0, dtype=getattr(torch, dtype))
        _, refused = attempt(lambda: theirs_with_out(row)(*args, **kwargs, out=out))
        expected = refused or expected  # with out=, PyTorch gives -inf for the max of nothing
    args, kwargs = sample.build(mindtorch_v2, device, dtype)
    if expected is not None:
        out = mindtorch_v2.zeros(0, dtype=getattr(mindtorch_v2, dtype), device=device)
        _, failure = attempt(lambda: ours(row)(*args, **kwargs, out=out), device)
        return same_failure(expected, failure, (name, device, dtype))
    slack = _order_of_additions(row, *sample.build(torch, "cpu", dtype), wanted)
    result_dtype = getattr(mindtorch_v2, dtype_name(wanted))
    # Of the right size but another layout, which is kept; and empty, which is resized.
    columns = mindtorch_v2.zeros(tuple(reversed(wanted.shape)), dtype=result_dtype, device=device)
    kept = columns.permute(*reversed(range(columns.dim()))) if columns.dim() > 1 else columns
    geometry = kept.stride()
    assert ours(row)(*args, **kwargs, out=kept) is kept
    assert kept.stride() == geometry
    compare(kept, wanted, geometry=False, slack=slack)
    resized = mindtorch_v2.empty(0, dtype=result_dtype, device=device)
    ours(row)(*args, **kwargs, out=resized)
    compare(resized, wanted, geometry=False, slack=slack)


@pytest.mark.parametrize("cases", parameters(cases(None, ("float32", "int64")), ("meta",)))
def test_meta(cases):
    go_through(cases, _check_meta, _KNOWN)


def _check_meta(name, device, dtype, number):
    """The shape rule by itself gives what PyTorch computes. Its own meta kernels and CPU disagree in places;
    we have one rule, so the CPU is the reference, where it has a kernel."""
    row, sample = ROWS[name], samples(name)[number]
    args, kwargs = sample.build(torch, "cpu", dtype)
    wanted, expected = attempt(lambda: theirs(row)(*args, **kwargs))
    if isinstance(expected, NotImplementedError) or "ZeroDivision" in str(expected):
        args, kwargs = sample.build(torch, "meta", dtype)  # knows neither kernels nor values
        wanted, expected = attempt(lambda: theirs(row)(*args, **kwargs))
    args, kwargs = sample.build(mindtorch_v2, device, dtype)
    if row.factory:
        kwargs["device"] = device
    got, failure = attempt(lambda: ours(row)(*args, **kwargs))
    if expected is not None:
        return same_failure(expected, failure, (name, device, dtype))
    if failure is not None:
        raise failure
    assert all(t.device.type == device for t in tensors_of(got))
    compare(got, wanted, values=False, geometry=not _piece(row))


def _differentiable(selected):
    """Calls with a floating input, which are no writes (test_autograd.py has graphs with those)."""
    out = []
    for name, dtype, number in selected:
        row, sample = ROWS[name], samples(name)[number]
        floating = any(a.differentiable and (a.dtype or dtype) in FLOATS for a in sample.arrays())
        once = name in ("silu_backward", "mish_backward", "hardsigmoid_backward")  # PyTorch goes no further
        if floating and not (sample.forward_only or row.factory or row.family == "inplace" or once):
            out.append((name, dtype, number))
    return out


def _gradients(lib, call, sample, device, dtype):
    """Gradients of sum(result * fixed numbers) for every floating input."""
    args, kwargs = sample.build(lib, device, dtype, grad=True)
    inputs = [
        a
        for v in args
        for a in (v if isinstance(v, list) else [v])
        if isinstance(a, lib.Tensor) and a.requires_grad
    ]
    results = [r for r in tensors_of(call(*args, **kwargs)) if r.requires_grad]
    if not results:
        return []
    rng = np.random.default_rng(5)
    directions = []
    for r in results:
        drawn = np.round(rng.uniform(-1, 1, tuple(r.shape)) * 64) / 64
        directions.append(lib.from_numpy(np.array(drawn)).to(r.dtype).to(device))
    lib.autograd.backward(results, directions)
    return [a.grad for a in inputs]


@pytest.mark.parametrize("cases", parameters(_differentiable(cases(None, ("float32", "float64")))))
def test_gradient(cases):
    go_through(cases, _check_gradient)


def _check_gradient(name, device, dtype, number):
    row, sample = ROWS[name], samples(name)[number]
    wanted, expected = attempt(lambda: _gradients(torch, theirs(row), sample, "cpu", dtype))
    got, failure = attempt(lambda: _gradients(mindtorch_v2, ours(row), sample, device, dtype), device)
    if failure is not None and device == "npu" and is_hole(failure):
        return
    if expected is not None and "derivative for" in str(expected):
        assert got == [] or failure is not None, "PyTorch has no derivative"
        return
    if expected is not None:
        return same_failure(expected, failure, (name, device, dtype))
    if failure is not None:
        raise failure
    assert len(got) == len(wanted), "differentiable in one library only"
    for mine, other in zip(got, wanted, strict=True):
        assert (mine is None) == (other is None)
        if mine is not None:
            compare(mine, other, geometry=False, loosen=10)
            assert mine.device.type == device


@pytest.mark.parametrize("dtype", FLOATS)
def test_the_samples_are_alike_in_both_libraries(dtype):
    for array in samples("add.Tensor")[7].arrays() + samples("exp")[8].arrays():
        compare(make(mindtorch_v2, array, "cpu", dtype), make(torch, array, "cpu", dtype))
