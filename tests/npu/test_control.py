"""``mindtorch_v2.softnpu``: faults, settings, and what it says about bad values."""

import json
import os
import subprocess
import sys

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import softnpu


def run_program(program: str, **settings: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", program], env=os.environ | settings, capture_output=True, text=True, check=True
    ).stdout


def test_failing_holds_inside_the_block_only():
    x = torch.ones(4, device="npu")
    with softnpu.failing("aclnnNeg", code=507015), pytest.raises(RuntimeError, match="507015"):
        x.neg()
    assert softnpu.failures() == 0
    assert x.neg().tolist() == [-1.0] * 4


def test_the_nth_call_fails_and_the_others_do_not():
    x = torch.ones(4, device="npu")
    with softnpu.failing("aclnnNeg", nth=3, code=507015):
        x.neg().neg()
        with pytest.raises(RuntimeError, match="aclnnNeg"):
            x.neg()
        x.neg()
        assert softnpu.failures() == 1


def test_a_task_that_fails_on_the_device_is_reported_by_the_next_synchronisation():
    x = torch.ones(4, device="npu")
    torch.npu.synchronize()
    with softnpu.failing("task:aclnnNeg", code=507015):
        x.neg()
        with pytest.raises(RuntimeError, match="aclnnNeg failed on device 0"):
            torch.npu.synchronize()


def test_the_trace_has_the_calls_of_the_block(tmp_path):
    x = torch.ones(4, device="npu")
    with softnpu.trace(tmp_path / "calls.jsonl"):
        x.neg()
    functions = [json.loads(line)["function"] for line in (tmp_path / "calls.jsonl").read_text().splitlines()]
    assert "aclnnNeg" in functions
    with pytest.raises(OSError, match="cannot be opened for writing"), softnpu.trace("/no/such/folder/file"):
        pass


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: softnpu.fail("aclrtMaloc"), "no function is called 'aclrtMaloc'"),
        (lambda: softnpu.fail("task:aclnnAd"), "no function is called 'aclnnAd'"),
        (lambda: softnpu.fail("aclrtMalloc", nth=0), "nth is 0; the next call is 1"),
        (lambda: softnpu.fail("aclrtMalloc", code=0), "code is 0, which means success"),
        (lambda: softnpu.fail("aclrtMalloc", count=0), "count is 0; wanted how many calls fail"),
        (lambda: softnpu.set_delay(-1), "microseconds is -1; wanted a number from 0 to"),
        (lambda: softnpu.set_soc("H100"), "soc is 'H100'; wanted one of Ascend910B1"),
        (lambda: softnpu.set_schedule(-1), "seed is -1; wanted a number from 0 to"),
        (lambda: softnpu.sanitize("speed"), "what is 'speed'; wanted True, False, or a list"),
        (lambda: softnpu.use(memory="much"), "memory is 'much'; wanted a number of bytes"),
        (lambda: softnpu.use(memory=0), "memory is 0; wanted at least 1 byte"),
        (lambda: softnpu.use(devices=65), "devices is 65; wanted a number from 0 to 64"),
    ],
)
def test_a_bad_value_is_refused_with_what_was_wanted(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_devices_and_memory_cannot_change_once_a_device_is_in_use():
    torch.ones(1, device="npu")
    with pytest.raises(RuntimeError, match="in use already"):
        softnpu.use(devices=4)
    with pytest.raises(RuntimeError, match="in use already"):
        softnpu.use(memory="1GiB")


CHIP = """
import mindtorch_v2 as torch
from mindtorch_v2 import softnpu
softnpu.use(soc="{}", memory="64MiB")
properties = torch.npu.get_device_properties(0)
try:
    bfloat16 = (torch.ones(2, device="npu", dtype=torch.bfloat16) + 1).tolist() == [2.0, 2.0]
except RuntimeError as error:
    assert "bfloat16, which Ascend" in str(error), error
    bfloat16 = False
print(properties.name, torch.npu.get_device_name(), bfloat16)
"""


@pytest.mark.parametrize(
    ("soc", "name", "bfloat16"),
    [
        ("910B1", "Ascend910B1", "True"),
        ("Ascend910A", "Ascend910A", "False"),
        ("310P", "Ascend310P3", "False"),
        ("950", "Ascend950PR_9579", "True"),
    ],
)
def test_a_chip_has_its_name_and_its_dtypes(soc, name, bfloat16):
    assert run_program(CHIP.format(soc)).split() == [name, name, bfloat16]


def test_fresh_memory_is_nan_when_it_is_poisoned():
    program = (
        "import mindtorch_v2 as torch\n"
        "from mindtorch_v2 import softnpu\n"
        "softnpu.use(poison=True)\n"
        "print(torch.empty(4, device='npu').isnan().all().item())"
    )
    assert run_program(program).strip() == "True"
