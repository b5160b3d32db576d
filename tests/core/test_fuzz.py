"""Arbitrary arguments never crash the process: every call returns tensors or raises a Python exception.

The draws are derandomised: a failure is repeated by running the test again, and it prints the call.
"""

import pickle

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from opcases import CALLABLE, ROWS, VALUELESS

import mindtorch_v2 as torch

_DTYPES = [
    torch.float32,
    torch.float64,
    torch.float16,
    torch.bfloat16,
    torch.int64,
    torch.int32,
    torch.int8,
    torch.uint8,
    torch.bool,
    torch.complex64,
    torch.uint16,
    torch.int16,
    torch.complex128,
    torch.uint64,
]
# Whatever a library may raise for a bad argument; anything else (SystemError, a crash) fails the test.
_ALLOWED = (
    RuntimeError,
    TypeError,
    ValueError,
    IndexError,
    NotImplementedError,
    OverflowError,
    MemoryError,
    ZeroDivisionError,
)

small_ints = st.integers(-4, 5)
wild_ints = st.one_of(
    small_ints, st.sampled_from([2**31, -(2**31) - 1, 2**62, 2**63 - 1, -(2**63), 2**70, -(2**64)])
)
numbers = st.one_of(
    small_ints,
    st.booleans(),
    st.floats(allow_nan=True, allow_infinity=True),
    st.complex_numbers(max_magnitude=10),
    wild_ints,
)
shapes = st.lists(st.integers(0, 4), max_size=4)


@st.composite
def tensors(draw):
    shape, dtype = draw(shapes), draw(st.sampled_from(_DTYPES))
    device = draw(st.sampled_from(["cpu", "cpu", "npu", "meta"]))
    x = torch.zeros(shape, dtype=dtype) if draw(st.booleans()) else torch.ones(shape, dtype=dtype)
    x = x.to(device)
    if draw(st.booleans()) and dtype.is_floating_point:
        x.requires_grad_()
    change = draw(st.sampled_from(["none", "transpose", "slice", "expand", "none"]))
    if change == "transpose" and x.dim() > 1:
        x = x.transpose(0, -1)
    elif change == "slice" and x.dim() > 0:
        x = x[1:]
    elif change == "expand":
        x = x.unsqueeze(0).expand([2, *x.shape])
    return x


_anything = st.one_of(
    tensors(),
    numbers,
    st.none(),
    st.text(max_size=3),
    st.lists(small_ints, max_size=4),
    st.lists(tensors(), max_size=3),
    st.sampled_from(
        [
            torch.float32,
            torch.int8,
            "cpu",
            "npu",
            "npu:7",
            "meta",
            torch.channels_last,
            object(),
            np.float32(2),
            np.int64(3),
        ]
    ),
)
_BY_TYPE = {
    "Tensor": tensors(),
    "Tensor?": st.one_of(st.none(), tensors()),
    "Tensor[]": st.lists(tensors(), max_size=3),
    "Scalar": numbers,
    "Scalar?": st.one_of(st.none(), numbers),
    "int": wild_ints,
    "int?": st.one_of(st.none(), wild_ints),
    "float": st.floats(),
    "bool": st.booleans(),
    "int[]": st.lists(wild_ints, max_size=5),
    "int[1]": st.one_of(small_ints, st.lists(small_ints, max_size=4)),
    "int[1]?": st.one_of(st.none(), wild_ints, st.lists(small_ints, max_size=4)),
    "ScalarType": st.sampled_from(_DTYPES),
    "ScalarType?": st.one_of(st.none(), st.sampled_from(_DTYPES)),
    "Device?": st.sampled_from([None, "cpu", "npu", "meta", "npu:9"]),
    "MemoryFormat": st.sampled_from([torch.contiguous_format, torch.channels_last, torch.preserve_format]),
    "MemoryFormat?": st.sampled_from(
        [None, torch.contiguous_format, torch.channels_last, torch.channels_last_3d]
    ),
    "Generator?": st.none(),
}
# A size of millions is legal and slow; these rows get sizes from the small side only.
_SIZED = {r.name for r in CALLABLE if r.factory}


@st.composite
def calls(draw):
    """(row, arguments, keywords): mostly of the right type, sometimes of any."""
    row = ROWS[draw(st.sampled_from([r.name for r in CALLABLE]))]
    sane = draw(st.integers(0, 4)) > 0
    args, kwargs = [], {}
    for a in row.schema.arguments:
        strategy = _BY_TYPE[a.type] if sane or not args else _anything
        if row.name in _SIZED and a.type in ("int[]", "int"):
            strategy = st.lists(small_ints, max_size=4) if a.type == "int[]" else small_ints
        elif row.name in _SIZED and a.type == "Scalar":
            strategy = st.one_of(small_ints, st.floats(-5, 5))
        value = draw(strategy)
        if a.keyword_only:
            kwargs[a.name] = value
        else:
            args.append(value)
    return row, args, kwargs, draw(st.sampled_from(["function", "inplace", "out"]))


def _run(row, args, kwargs, variant):
    method = "function" not in row.variants
    if variant == "inplace" and "inplace" in row.variants:
        return getattr(args[0], row.cpp_name + "_")(*args[1:], **kwargs)
    if variant == "out" and "out" in row.variants:
        kwargs = {**kwargs, "out": torch.zeros(1)}
    if method:
        return getattr(args[0], row.cpp_name)(*args[1:], **kwargs)
    return getattr(torch._C._functions, row.cpp_name)(*args, **kwargs)


def _use(result):
    """Reads the result, so that what the NPU still has to say is said here."""
    for r in result if isinstance(result, tuple) else (result,):
        assert isinstance(r, torch.Tensor)
        if not r.is_meta and r.numel() < 10_000:
            r.tolist()


@settings(
    max_examples=4000, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
@given(calls())
@pytest.mark.timeout(110)
def test_no_call_crashes(call):
    row, args, kwargs, variant = call
    try:
        result = _run(row, args, kwargs, variant)
        _use(result)
        first = result[0] if isinstance(result, tuple) and result else result
        if isinstance(first, torch.Tensor) and first.requires_grad and row.name not in VALUELESS:
            first.sum().backward()
    except _ALLOWED:
        pass


_items = st.one_of(
    wild_ints,
    st.none(),
    st.just(Ellipsis),
    st.slices(5),
    st.builds(slice, wild_ints, wild_ints, wild_ints),
    st.text(max_size=1),
    st.floats(),
    tensors(),
    st.lists(small_ints, max_size=2),
    st.booleans(),
)


@settings(
    max_examples=1000, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
@given(tensors(), st.one_of(_items, st.lists(_items, max_size=5).map(tuple)), _anything)
def test_no_index_crashes(x, index, value):
    try:
        _use(x[index])
        x.detach()[index] = value
        x.tolist()
    except _ALLOWED:
        pass


@settings(
    max_examples=500, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
@given(_anything)
def test_no_data_crashes_the_constructors(data):
    for make in (torch.tensor, torch.as_tensor, torch.Tensor, torch.from_numpy):
        try:
            if make is torch.Tensor and isinstance(data, int) and abs(data) > 100:
                continue  # a size
            made = make(data)
            assert isinstance(made, torch.Tensor)
        except (*_ALLOWED, AttributeError):
            pass


@settings(
    max_examples=200, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
@given(shapes, st.lists(wild_ints, max_size=4), wild_ints, st.sampled_from(_DTYPES))
def test_no_geometry_reaches_outside_the_storage(shape, stride, offset, dtype):
    x = torch.zeros(8, dtype=dtype)
    try:
        y = x.as_strided(shape, stride, offset)
    except _ALLOWED:
        return
    reach = offset + sum((n - 1) * s for n, s in zip(shape, stride, strict=True)) if y.numel() else 0
    assert 0 <= reach < 8
    y.tolist()


@settings(
    max_examples=300, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
@given(tensors().filter(lambda x: not x.is_meta), st.integers(0, 400), st.integers(0, 255))
def test_a_damaged_pickle_raises_or_loads_a_tensor(x, place, byte):
    data = bytearray(pickle.dumps(x.detach()))
    data[place % len(data)] = byte
    try:
        made = pickle.loads(bytes(data))
        if isinstance(made, torch.Tensor):
            made.cpu().tolist()
    except Exception as error:  # noqa: BLE001 - a damaged pickle may name any class; only a crash is a failure
        assert error is not None
