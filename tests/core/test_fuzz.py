"""Arbitrary arguments never crash the process: every call returns tensors or raises one of PyTorch's exceptions.

The draws are always the same: a failure is repeated by running the test again, and it prints the call.
"""

import os
import pickle
import subprocess
import sys
import time
from pathlib import Path

import fuzz_calls
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

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
_CALLS = int(os.environ.get("MINDTORCH_FUZZ", "8000"))
_PATIENCE = 30  # seconds for one call


def _run_calls(folder, first, last):
    """Runs the calls in a process of their own: (the call that ended it or None, how, what it printed)."""
    log = folder / "number"
    script = Path(__file__).with_name("fuzz_calls.py")
    with open(folder / "output", "w+") as output:
        child = subprocess.Popen(
            [sys.executable, str(script), str(log), str(first), str(last)],
            stdout=output,
            stderr=output,
            cwd=folder,  # some calls write files
        )
        seen, since = -1, time.monotonic()
        while child.poll() is None:
            time.sleep(0.05)
            now = int(log.read_text() or first) if log.exists() else first
            if now != seen:
                seen, since = now, time.monotonic()
            elif time.monotonic() - since > _PATIENCE:
                child.kill()
                child.wait()
                return now, f"takes more than {_PATIENCE} s", ""
        output.seek(0)
        said = output.read()
    if child.returncode == 0:
        return None, "", said
    return int(log.read_text()), f"ends the process ({child.returncode})", said


@pytest.mark.timeout(60 + _CALLS / 100)
def test_no_call_crashes(tmp_path):
    """MINDTORCH_FUZZ=200000 makes more calls; number N is always the same call."""
    first, failures = 0, []
    while first < _CALLS and len(failures) < 40:
        number, how, said = _run_calls(tmp_path, first, _CALLS)
        failures += [line for line in said.splitlines() if line.startswith("call ")]
        if number is None:
            break
        failures.append(f"call {number} {how}: {fuzz_calls.Plan(number)}")
        first = number + 1
    assert not failures, "\n".join(failures)


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
        fuzz_calls.use(x[index], False)
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
