"""A device that a program brings along. Its name is given once per process, so each test is a program of its own."""

import os
import subprocess
import sys
import textwrap

import pytest

START = """
import types
import mindtorch_v2 as torch
from mindtorch_v2 import library

calls = []
device = types.ModuleType("device")
device.is_available = lambda: True
device.is_initialized = lambda: True
device.device_count = lambda: 2
device.current_device = lambda: 1
device._is_in_bad_fork = lambda: False
device.manual_seed_all = lambda seed: calls.append(("seed", seed))
device.synchronize = lambda index=None: calls.append(("synchronize", index))
device.get_rng_state = lambda index: calls.append(("state of", index))
device.set_rng_state = lambda state, index: calls.append(("state for", index))
device.get_amp_supported_dtype = lambda: [torch.float16]
device._get_device_index = lambda device, optional=False: 1 if device is None else device
torch.utils.rename_privateuse1_backend("tpux")
torch._register_device_module("tpux", device)
"""


def run(program, npu="off", start=START):
    made = subprocess.run(
        [sys.executable, "-c", start + textwrap.dedent(program)],
        env=os.environ | {"MINDTORCH_NPU": npu},
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert made.returncode == 0, made.stderr
    return made.stdout


def test_its_module_is_found_by_its_name():
    program = """
    import sys
    assert torch.tpux is device is torch.get_device_module("tpux:0") is sys.modules["mindtorch_v2.tpux"]
    assert torch.get_device_module() is device
    """
    run(program)


def test_it_is_the_accelerator_where_there_is_no_other():
    program = """
    assert torch.accelerator.is_available() and torch.accelerator.device_count() == 2
    assert torch.accelerator.current_device_index() == 1
    torch.accelerator.synchronize(0)
    assert calls == [("synchronize", 0)]
    """
    run(program)


def test_an_accelerator_of_this_build_comes_first():
    program = """
    assert torch.accelerator.current_accelerator() == torch.device("npu")
    assert torch.get_device_module() is torch.npu
    """
    run(program, npu="soft")


def test_seeds_and_states_of_generators_reach_it():
    program = """
    torch.manual_seed(7)
    with torch.random.fork_rng(devices=[0], device_type="tpux"):
        pass
    assert calls == [("seed", 7), ("state of", 0), ("state for", 0)]
    """
    run(program)


def test_classes_get_methods_that_are_called_after_it():
    program = """
    torch.utils.generate_methods_for_privateuse1_backend(for_storage=True, unsupported_dtype=[torch.float32])
    x = torch.ones(2)
    sequence = torch.nn.utils.rnn.pack_sequence([x])
    for thing in (x, x.untyped_storage(), x.storage(), sequence):
        assert thing.is_tpux is False and callable(thing.tpux)
    assert torch.Tensor.tpux.__name__ == torch.nn.Module.tpux.__name__ == "tpux"
    for call, text in {
        lambda: x.tpux("cpu"): "Invalid device, must be tpux device",
        lambda: torch.nn.Linear(2, 2).tpux("cpu"): "Invalid device, must be tpux device",
        x.storage().tpux: "Cannot create tpux storage as torch.float32 dtype is not supported by this backend",
    }.items():
        try:
            call()
        except RuntimeError as error:
            assert str(error) == text, error
        else:
            raise AssertionError(text)
    """
    run(program)


@pytest.mark.parametrize("make", ["x", "x.storage()", "x.untyped_storage()", "nn.Linear(2, 2)", "sequence"])
def test_methods_called_after_an_accelerator_of_this_build_take_its_devices_only(make):
    program = f"""
    from mindtorch_v2 import nn
    x = torch.ones(2)
    sequence = nn.utils.rnn.pack_sequence([x])
    thing = {make}
    assert thing.npu.__name__ == "npu" and thing.npu(0) is not None and thing.npu("npu:0") is not None
    try:
        thing.npu("cpu")
    except RuntimeError as error:
        assert str(error) == "Invalid device, must be npu device", error
    else:
        raise AssertionError("not refused")
    """
    run(program, npu="soft")


def test_what_a_device_says_of_itself_takes_the_place_of_what_was_there():
    program = """
    from mindtorch_v2._devices import registry
    from mindtorch_v2._devices.accelerator import Accelerator

    class Own(Accelerator):
        runtime = "own"

    before = registry.accelerators["tpux"]
    registry.register_accelerator(Own("tpux", device))
    found = registry.accelerators["tpux"]
    assert found.runtime == "own" and found.number == before.number == registry.accelerators["npu"].number + 1
    assert torch.profiler.DeviceType.TPUX == found.number
    """
    run(program)


def test_profilers_have_an_activity_and_a_clock_that_are_called_after_it():
    program = """
    from mindtorch_v2.profiler import DeviceType, ProfilerActivity
    assert ProfilerActivity.TPUX in ProfilerActivity and str(ProfilerActivity.TPUX) == "ProfilerActivity.TPUX"
    assert ProfilerActivity.TPUX in torch.profiler.supported_activities()
    assert ProfilerActivity.TPUX is not ProfilerActivity.PrivateUse1
    assert DeviceType(DeviceType.TPUX.value) is DeviceType.TPUX and DeviceType.TPUX.name == "TPUX"
    """
    run(program)


def test_kernels_of_operators_are_registered_for_it_as_private_use():
    program = """
    @library.custom_op("mine::twice", mutates_args=(), device_types="cpu")
    def twice(x: torch.Tensor) -> torch.Tensor:
        return x * 2
    library.register_kernel("mine::twice", "PrivateUse1")(lambda x: x)
    assert set(library._operator("mine::twice")._kernels) == {"cpu", "tpux"}
    """
    run(program)


def test_files_may_name_its_storages_and_say_when_it_is_not_there():
    program = """
    from mindtorch_v2._serialization import restricted
    assert "torch.tpux.FloatStorage" in restricted.allowed_by_default()
    device.is_available = lambda: False
    try:
        torch.serialization.default_restore_location(torch.ones(1).untyped_storage(), "tpux:0")
    except RuntimeError as error:
        assert "on a TPUX device but torch.tpux.is_available() is False" in str(error), error
    else:
        raise AssertionError("not refused")
    """
    run(program)


def test_a_name_that_comes_after_the_module_is_the_modules_too():
    program = """
    import types
    import mindtorch_v2 as torch

    device = types.ModuleType("device")
    device.is_available = lambda: True
    torch._register_device_module("privateuseone", device)
    torch.utils.rename_privateuse1_backend("Late")
    assert torch._C._get_privateuse1_backend_name() == "late" and torch.privateuseone is device
    assert torch.get_device_module("late") is device is torch.get_device_module("privateuseone")
    """
    run(program, start="")


@pytest.mark.parametrize(
    "call, text",
    [
        ("torch.utils.rename_privateuse1_backend('other')", "has already been set! Current backend: tpux"),
        ("torch._register_device_module('tpux', device)", "module of 'tpux' has already been registered"),
        ("torch._register_device_module('npu', device)", "module of 'npu' has already been registered"),
        ("torch._register_device_module('nothing', device)", "Expected one of"),
    ],
)
def test_what_is_taken_is_refused(call, text):
    program = f"""
    try:
        {call}
    except RuntimeError as error:
        assert {text!r} in str(error), error
    else:
        raise AssertionError("not refused")
    """
    run(program)
