"""What goes wrong, and how the next step still works."""

import inspect

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import softnpu
from mindtorch_v2._backends.npu import aclnn, ops


@pytest.fixture(autouse=True)
def no_faults_left():
    yield
    softnpu.clear()
    torch.npu.synchronize()


def test_an_error_names_the_function_the_code_and_its_meaning():
    x = torch.ones(4, device="npu")
    softnpu.fail("aclnnAddGetWorkspaceSize", 1, 161002)
    with pytest.raises(
        RuntimeError, match="aclnnAddGetWorkspaceSize failed with error 161002 .*ACLNN_ERR_PARAM_INVALID"
    ):
        x + x
    assert (x + x).tolist() == [2.0] * 4


def test_a_failing_launch_leaves_nothing_behind():
    x = torch.ones(4, device="npu")
    allocated = torch.npu.memory_allocated()
    softnpu.fail("aclnnAdd", 1, 361001)
    with pytest.raises(RuntimeError, match="aclnnAdd failed with error 361001"):
        x + x
    assert torch.npu.memory_allocated() == allocated


def test_an_operator_that_fails_on_the_device_is_reported_at_the_next_wait():
    x = torch.ones(4, device="npu")
    torch.npu.synchronize()
    softnpu.fail("task:aclnnAdd", 1, 507015)
    x + x
    with pytest.raises(RuntimeError, match="507015.*ACL_ERROR_RT_AICORE_EXCEPTION"):
        torch.npu.synchronize()
    torch.npu.synchronize()
    assert (x + x).tolist() == [2.0] * 4


def test_a_device_that_does_not_exist_is_named():
    with pytest.raises(RuntimeError, match="Invalid NPU device index 5"):
        torch.ones(1, device="npu:5")


def test_mixed_devices_are_refused():
    with pytest.raises(RuntimeError, match="same device"):
        torch.ones(3, device="npu") + torch.ones(3)


def test_indices_of_a_host_tensor_are_not_fetched_from_the_device():
    x, index = torch.arange(3.0), torch.tensor([1], device="npu")
    words = r"indices should be either on cpu or on the same device as the indexed tensor \(cpu\)"
    with pytest.raises(RuntimeError, match=words):
        x[index]
    with pytest.raises(RuntimeError, match=words):
        x[index] = 1.0
    assert x.npu()[torch.tensor([1])].tolist() == [1.0]


def test_any_operator_of_the_table_can_be_called_by_name():
    a, b = torch.tensor([1.0, 2.0], device="npu"), torch.tensor([10.0, 20.0], device="npu")
    out = torch.empty(2, device="npu")
    aclnn.add(a, b, 2, out)
    assert out.tolist() == [21.0, 42.0]
    aclnn.call("aclnnInplaceCopy", out, a)
    assert out.tolist() == [1.0, 2.0]


def test_an_operator_called_with_the_wrong_arguments_says_what_it_takes():
    x = torch.ones(2, device="npu")
    with pytest.raises(TypeError, match=r"aclnnAdd takes 4 arguments \(aclTensor\* self"):
        aclnn.add(x, x)
    with pytest.raises(TypeError, match="argument 'other' must fit aclTensor"):
        aclnn.add(x, "text", 1, x)


def test_an_unknown_operator_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no_such_operator"):
        aclnn.no_such_operator  # noqa: B018
    with pytest.raises(AttributeError, match="Did you mean aclnnAdd"):
        aclnn.call("aclnnAd")


def test_the_operator_library_can_be_asked_what_it_has():
    assert ops.is_available("aclnnAdd")
    assert not ops.is_available("aclnnNoSuchOperator")


def test_unsupported_types_are_refused_by_the_operator():
    x = torch.ones(4, device="npu")
    out = torch.empty(3, device="npu")
    with pytest.raises(RuntimeError, match="aclnnAddGetWorkspaceSize failed"):
        aclnn.add(x, x, 1, out)


def test_a_failure_on_the_device_names_the_operator_and_the_line_that_launched_it():
    x = torch.ones(4, device="npu")
    torch.npu.synchronize()
    x * x
    softnpu.fail("task:aclnnAdd", 1, 507015)
    x + x  # the line that the message must name
    line = inspect.currentframe().f_lineno - 1
    x * x
    with pytest.raises(RuntimeError, match="aclnnAdd was launched at .*test_errors.py") as info:
        torch.npu.synchronize()
    assert f"test_errors.py:{line} in test_a_failure_on_the_device" in str(info.value)


def test_lines_before_the_last_wait_are_not_suspected():
    x = torch.ones(4, device="npu")
    x + x
    x.cpu()
    softnpu.fail("task:aclnnAdd", 1, 507015)
    x + x
    line = inspect.currentframe().f_lineno - 1
    with pytest.raises(RuntimeError) as info:
        x.cpu()
    assert str(info.value).count("test_errors.py") == 1 and f"test_errors.py:{line} " in str(info.value)


def test_a_failure_in_a_backward_pass_names_the_line_that_started_it():
    w = torch.ones(4, device="npu", requires_grad=True)
    loss = w.exp().sum()
    torch.npu.synchronize()
    softnpu.fail("task:aclnnMul", 1, 507015)
    loss.backward()
    line = inspect.currentframe().f_lineno - 1
    with pytest.raises(RuntimeError, match=rf"aclnnMul was launched at .*test_errors.py:{line} in"):
        torch.npu.synchronize()


def test_a_failed_synchronisation_of_which_nothing_is_known_lists_the_last_launches():
    x = torch.ones(4, device="npu")
    torch.npu.synchronize()
    x + x
    softnpu.fail("aclrtSynchronizeDevice", 1, 507899)
    with pytest.raises(RuntimeError, match="newest first: aclnnAdd at .*test_errors.py"):
        torch.npu.synchronize()


def test_an_error_of_the_device_has_its_code():
    x = torch.ones(4, device="npu")
    torch.npu.synchronize()
    softnpu.fail("aclnnAdd", 1, 361001)
    with pytest.raises(torch.AcceleratorError) as launch:
        x + x
    softnpu.fail("task:aclnnAdd", 1, 507015)
    x + x
    with pytest.raises(torch.AcceleratorError) as later:
        (x + 1).cpu()
    assert (launch.value.error_code, later.value.error_code) == (361001, 507015)
    assert isinstance(launch.value, RuntimeError) and not isinstance(launch.value, torch.OutOfMemoryError)
    assert torch.npu.AcceleratorError is torch.AcceleratorError


def test_numbers_that_the_operator_cannot_take_are_refused():
    x, out = torch.ones(2, 2, device="npu"), torch.empty(2, device="npu")
    with pytest.raises(TypeError, match="argument 'alpha' must fit aclScalar.*does not fit 64 bits"):
        aclnn.add(x, x, 2**70, x)
    with pytest.raises(TypeError, match="argument 'dims' must fit aclIntArray"):
        aclnn.reduce_sum(x, [2**70], False, torch.float32, out)
    with pytest.raises(TypeError, match="argument 'keepDims' must fit bool"):
        aclnn.reduce_sum(x, [1], "False", torch.float32, out)
    aclnn.reduce_sum(x, [1], False, torch.float32, out)
    assert out.tolist() == [2.0, 2.0]


@pytest.mark.parametrize(
    ("code", "name", "advice"),
    [
        (507899, "ACL_ERROR_RT_DRV_INTERNAL_ERROR: an error inside the driver", "npu-smi info"),
        (
            507054,
            "ACL_ERROR_RT_HBM_MULTI_BIT_ECC_ERROR: memory of the device is damaged",
            "have the card checked",
        ),
        (561003, "ACLNN_ERR_INNER_FIND_KERNEL_ERROR: no kernel for these inputs", "kernel package"),
    ],
)
def test_errors_that_cards_report_have_a_name_and_a_next_step(code, name, advice):
    x = torch.ones(4, device="npu")
    with softnpu.failing("aclnnAdd", 1, code), pytest.raises(torch.AcceleratorError) as info:
        x + x
    assert name in str(info.value) and advice in str(info.value)
