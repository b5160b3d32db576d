"""ACLNN operators called by name from Python: their signatures, their arguments, and how they are launched."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import softnpu
from mindtorch_v2._backends.npu import aclnn, runtime
from mindtorch_v2.profiler import ProfilerActivity, profile

DESCRIPTION = Path(__file__).parents[2] / "abi/operators.json"


def on_npu(*shape, dtype=torch.float32):
    return torch.ones(*shape, dtype=dtype, device="npu")


def without_const(declaration):
    kind, _, name = declaration.removeprefix("const ").rpartition(" ")
    return name, kind


def traced(tmp_path, call):
    """The functions of the vendor's libraries that a call calls."""
    path = tmp_path / "trace.json"
    with softnpu.trace(path):
        call()
    return [json.loads(line)["function"] for line in path.read_text().splitlines()]


# --- signatures


def test_signatures_are_those_of_the_abi_description():
    described = json.loads(DESCRIPTION.read_text())["two_phase"]
    assert aclnn.operators() == sorted(described)
    for name, declarations in described.items():
        assert list(aclnn.signature(name)) == [without_const(each) for each in declarations], name


def test_a_signature_has_names_and_types():
    alpha = aclnn.signature("aclnnAdd")[2]
    assert (alpha.name, alpha.type) == ("alpha", "aclScalar*")
    assert (
        aclnn.add.__doc__ == "aclnnAdd(aclTensor* self, aclTensor* other, aclScalar* alpha, aclTensor* out)"
    )


# --- arguments


@pytest.mark.parametrize(("alpha", "wanted"), [(True, 2.0), (3, 4.0), (0.5, 1.5), (np.float64(0.5), 1.5)])
def test_a_scalar_is_any_number(alpha, wanted):
    out = torch.empty(2, device="npu")
    aclnn.add(on_npu(2), on_npu(2), alpha, out)
    assert out.tolist() == [wanted] * 2


def test_a_scalar_may_be_complex():
    x, out = on_npu(2, dtype=torch.complex64), torch.empty(2, dtype=torch.complex64, device="npu")
    aclnn.muls(x, 2 + 1j, out)
    assert out.tolist() == [2 + 1j] * 2


@pytest.mark.parametrize("dims", [[1], (1,), torch.Size([1]), np.array([1]), range(1, 2)])
def test_an_array_of_integers_is_any_sequence_of_them(dims):
    out = torch.empty(2, device="npu")
    aclnn.reduce_sum(on_npu(2, 3), dims, False, torch.float32, out)
    assert out.tolist() == [3.0, 3.0]


@pytest.mark.parametrize("dtype", [torch.float32, 0, float])
def test_a_data_type_is_a_dtype_or_its_number(dtype):
    out = torch.empty(2, dtype=torch.float64 if dtype is float else torch.float32, device="npu")
    aclnn.cast(on_npu(2, dtype=torch.int32), dtype, out)
    assert out.tolist() == [1.0, 1.0]


def test_lists_hold_tensors_and_numbers():
    x, y, out = on_npu(2), on_npu(2), torch.empty(4, device="npu")
    aclnn.cat((x, y), 0, out)
    assert out.tolist() == [1.0] * 4
    results = [torch.empty(2, device="npu"), torch.empty(2, device="npu")]
    aclnn.foreach_mul_scalar_list([x, y], [2.0, 3.0], results)
    assert [result.tolist() for result in results] == [[2.0, 2.0], [3.0, 3.0]]


@pytest.mark.parametrize("true", [True, 1, np.True_])
def test_an_array_of_flags_says_which_results_are_wanted(true):
    x, weight = on_npu(1, 1, 3, 3), on_npu(1, 1, 2, 2)
    gradient, of_input = on_npu(1, 1, 2, 2), torch.zeros(1, 1, 3, 3, device="npu")
    options = [[1], [1, 1], [0, 0], [1, 1], False, [0, 0], 1, [true, False, False], 0]
    aclnn.convolution_backward(gradient, x, weight, *options, of_input, None, None)
    assert of_input.sum().item() == 16.0


def test_text_reaches_the_operator_and_so_does_its_absence():
    x, scale = on_npu(2, 3) * 2.5, on_npu(3)
    out = torch.empty(2, 3, dtype=torch.int8, device="npu")
    for mode, wanted in [("round", 2), ("ceil", 3), (None, 2)]:
        aclnn.ascend_quant(x, scale, None, False, mode, 2, out)
        assert out.flatten().tolist() == [wanted] * 6
    with pytest.raises(RuntimeError, match="aclnnAscendQuantGetWorkspaceSize failed.*sideways"):
        aclnn.ascend_quant(x, scale, None, False, "sideways", 2, out)


def test_unsigned_numbers_reach_the_operator_whole():
    drawn = [torch.empty(4, device="npu") for _ in range(3)]
    for out, seed in zip(drawn, (2**64 - 1, 2**64 - 1, 2**63 - 1), strict=True):
        aclnn.inplace_uniform(out, 0.0, 1.0, seed, 0)
    assert drawn[0].tolist() == drawn[1].tolist() != drawn[2].tolist()


def test_float8_tensors_are_described(tmp_path):
    x = torch.empty(2, dtype=torch.float8_e5m2, device="npu")
    path = tmp_path / "trace.json"
    with softnpu.trace(path), pytest.raises(RuntimeError, match="aclnnAbsGetWorkspaceSize failed"):
        aclnn.abs(x, x)
    first = json.loads(path.read_text().splitlines()[0])
    assert (first["function"], first["args"]["dataType"]) == ("aclCreateTensor", 35)


# --- bad arguments


@pytest.mark.parametrize(
    ("name", "replaced", "words"),
    [
        ("aclnnAdd", {1: "text"}, "'other' must fit aclTensor.*, got str: expected a tensor"),
        ("aclnnAdd", {1: torch.ones(2)}, "expected a tensor on an npu device, got one on 'cpu'"),
        ("aclnnAdd", {2: "1"}, "'alpha' must fit aclScalar.*, got str: expected a number, got str"),
        ("aclnnAdd", {2: -(2**63) - 1}, "-9223372036854775809 does not fit 64 bits"),
        ("aclnnReduceSum", {1: 1}, "'dims' must fit aclIntArray.*, got int"),
        ("aclnnReduceSum", {1: [1.5]}, "'dims' must fit aclIntArray.*, got list: .*float"),
        ("aclnnReduceSum", {2: 2}, "'keepDims' must fit bool, got int: 2 is neither True nor False"),
        ("aclnnReduceSum", {2: None}, "'keepDims' must fit bool, got NoneType"),
        ("aclnnReduceSum", {3: "float32"}, "'dtype' must fit aclDataType, got str"),
        ("aclnnReduceSum", {3: 2**31}, "2147483648 does not fit 32 bits"),
        ("aclnnMm", {3: 128}, "'cubeMathType' must fit int8_t, got int: 128 does not fit 8 bits"),
        ("aclnnMm", {3: 1.0}, "'cubeMathType' must fit int8_t, got float"),
        ("aclnnInplaceUniform", {3: -1}, "'seed' must fit uint64_t, got int: -1 does not fit 64 bits"),
        ("aclnnInplaceUniform", {3: 2**64}, "18446744073709551616 does not fit 64 bits"),
        ("aclnnInplaceUniform", {1: "0"}, "'from' must fit double, got str"),
        ("aclnnCat", {0: [1]}, "'tensors' must fit aclTensorList.*, got list: expected a tensor, got int"),
        ("aclnnCat", {0: [None]}, "got list: expected a tensor, got NoneType"),
        ("aclnnAscendQuant", {4: 3}, "'roundMode' must fit char.*, got int: expected a text"),
        ("aclnnAscendQuant", {4: "round\0up"}, "cannot hold the character 0"),
        ("aclnnConvolutionBackward", {10: ["False", 1, 1]}, "'outputMask' must fit aclBoolArray.*, got list"),
    ],
)
def test_an_argument_that_does_not_fit_is_named(name, replaced, words):
    x = on_npu(2, 2)
    good = {
        "aclTensor*": x, "aclScalar*": 1, "aclIntArray*": [1], "aclTensorList*": [x], "char*": "round",
        "aclDataType": torch.float32, "bool": False, "double": 0.0,
    }  # fmt: skip
    arguments = [good.get(parameter.type, 0) for parameter in aclnn.signature(name)]
    for index, value in replaced.items():
        arguments[index] = value
    with pytest.raises(TypeError, match=f"^{name}: argument .*{words}"):
        aclnn.call(name, *arguments)


def test_an_error_of_an_argument_s_own_is_the_cause_or_passes():
    class Odd:
        def __init__(self, error):
            self.error = error

        def __index__(self):
            raise self.error

    x, out = on_npu(2, 2), torch.empty(2, device="npu")
    with pytest.raises(TypeError, match="'dims' must fit aclIntArray.*no index today") as info:
        aclnn.reduce_sum(x, [Odd(TypeError("no index today"))], False, torch.float32, out)
    assert isinstance(info.value.__cause__, TypeError)
    with pytest.raises(KeyboardInterrupt):
        aclnn.reduce_sum(x, [Odd(KeyboardInterrupt())], False, torch.float32, out)


@pytest.mark.parametrize("call", [aclnn.call, aclnn.call_for_shapes])
def test_every_call_checks_the_name_the_count_and_the_device(call):
    with pytest.raises(
        AttributeError, match="ACLNN has no operator 'aclnnNonzer'. Did you mean aclnnNonzero"
    ):
        call("aclnnNonzer", on_npu(2), on_npu(2))
    with pytest.raises(
        TypeError, match=r"aclnnNonzero takes 2 arguments \(aclTensor\* self, aclTensor\* out\), got 1"
    ):
        call("aclnnNonzero", on_npu(2))
    with pytest.raises(
        TypeError, match="aclnnNonzero: no argument is an npu tensor, so there is no device to run on"
    ):
        call("aclnnNonzero", torch.ones(2), None)


def test_what_was_made_for_a_call_is_destroyed_when_it_fails(tmp_path):
    x, wrong = on_npu(2), on_npu(3)

    def call():
        with pytest.raises(TypeError):  # once a tensor and a scalar are made
            aclnn.call("aclnnAdd", x, x, 2, "text")
        with pytest.raises(TypeError):  # once a list is made, which owns its tensors
            aclnn.foreach_mul_scalar_list([x, x], [1.0, "two"], [x, x])
        with pytest.raises(RuntimeError):  # by the operator
            aclnn.add(x, x, 1, wrong)
        with softnpu.failing("aclCreateTensor", nth=2), pytest.raises(RuntimeError):  # inside a list
            aclnn.cat([x, x], 0, x)

    calls = traced(tmp_path, call)
    assert calls.count("aclCreateTensorList") == calls.count("aclDestroyTensorList") == 1
    assert calls.count("aclCreateTensor") == 2 + 2 + 3 + 2 and calls.count("aclDestroyTensor") == 2 + 3 + 1
    assert calls.count("aclCreateScalar") == calls.count("aclDestroyScalar") == 2


# --- launching


def test_a_call_runs_on_the_current_stream_without_waiting():
    x, out, side = on_npu(2), torch.zeros(2, device="npu"), torch.npu.Stream()
    torch.npu.synchronize()
    with softnpu.gate(side.npu_stream):
        with torch.npu.stream(side):
            aclnn.add(x, x, 1, out)
        assert not side.query() and torch.npu.default_stream().query()
    side.synchronize()
    assert out.tolist() == [2.0, 2.0]


def test_shapes_are_those_after_the_current_stream_is_done():
    x, out = torch.tensor([0.0, 1.0, 2.0], device="npu"), torch.empty(3, 1, dtype=torch.int64, device="npu")
    torch.npu.synchronize()
    with torch.npu.stream(torch.npu.Stream()), softnpu.delayed(20_000):
        assert aclnn.call_for_shapes("aclnnNonzero", x, out) == [(3,), (2, 1)]


def test_a_runtime_says_the_device():
    x, out = on_npu(2), torch.empty(2, device="npu")
    aclnn.add(x, x, 1, out, runtime=runtime.get_runtime(0))
    assert out.tolist() == [2.0, 2.0]
    with pytest.raises(RuntimeError, match="Invalid NPU device index"):
        aclnn.add(x, x, 1, out, runtime=type("Elsewhere", (), {"device_id": 99}))


def test_launch_blocking_waits_after_every_call_by_name():
    code = (
        "import mindtorch_v2 as torch\n"
        "from mindtorch_v2._backends.npu import aclnn\n"
        "x = torch.ones(1000, device='npu')\n"
        "for stream in (torch.npu.default_stream(), torch.npu.Stream()):\n"
        "    with torch.npu.stream(stream):\n"
        "        aclnn.inplace_add(x, x, 1)\n"
        "        assert stream.query()\n"
        "print('idle')"
    )
    environment = {**os.environ, "ACL_LAUNCH_BLOCKING": "1", "SOFTNPU_DELAY_US": "200"}
    result = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60
    )
    assert result.stdout.strip() == "idle", result.stderr


@pytest.mark.parametrize("call", [aclnn.swi_glu, lambda *args: aclnn.call("aclnnSwiGlu", *args)])
def test_a_failure_on_the_device_names_the_operator_and_the_line_that_called_it_by_name(call):
    x, out = on_npu(4), torch.empty(2, device="npu")
    torch.npu.synchronize()
    softnpu.fail("task:aclnnSwiGlu", 1, 507015)
    call(x, 0, out)
    words = r"aclnnSwiGlu was launched at .*test_aclnn_by_name.py:\d+ in (test_a_failure|<lambda>)"
    with pytest.raises(torch.AcceleratorError, match=words) as info:
        torch.npu.synchronize()
    assert info.value.error_code == 507015


def test_the_profiler_sees_calls_by_name():
    x = on_npu(2)
    torch.npu.synchronize()
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.PrivateUse1]) as prof:
        aclnn.inplace_add(x, x, 1)
        torch.npu.synchronize()
    assert {"aclnnLaunch", "aclnnInplaceAdd"} <= {event.name for event in prof.events()}
