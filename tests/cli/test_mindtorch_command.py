"""The command ``mindtorch``, run as ``python -m mindtorch_v2``."""

import os
import shlex
import subprocess
import sys

import pytest

# MINDTORCH_BUILD is the tests' own: which build they are about.
SHOW = """import os
print({k: v for k, v in os.environ.items() if k.startswith(('SOFTNPU', 'MINDTORCH')) and k != 'MINDTORCH_BUILD'})"""


def mindtorch(*arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SOFTNPU")}
    return subprocess.run(
        [sys.executable, "-m", "mindtorch_v2", *arguments],
        env=environment | settings, capture_output=True, text=True, timeout=100,
    )  # fmt: skip


def test_run_hands_the_settings_to_the_program_by_environment():
    result = mindtorch(
        "softnpu", "run", "--memory", "64MiB", "--devices", "2", "--delay-us", "5", "--poison", "--sanitize",
        "--fail", "aclrtMalloc:3:207001", "--fail", "task:aclnnMm:1:507015:always", "--schedule", "9",
        "--", sys.executable, "-c", SHOW,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert eval(result.stdout) == {
        "MINDTORCH_NPU": "soft",
        "SOFTNPU_DELAY_US": "5",
        "SOFTNPU_DEVICES": "2",
        "SOFTNPU_FAIL": "aclrtMalloc:3:207001,task:aclnnMm:1:507015:always",
        "SOFTNPU_MEMORY": str(64 << 20),
        "SOFTNPU_POISON": "1",
        "SOFTNPU_SANITIZE": "all",
        "SOFTNPU_SCHEDULE": "9",
    }


def test_a_program_runs_on_the_device_that_was_described():
    program = (
        "import mindtorch_v2 as torch; torch.ones(2, device='npu:1');"
        "print(torch.npu.device_count(), torch.npu.get_device_name(0), torch.npu.mem_get_info()[1])"
    )
    result = mindtorch(
        "softnpu", "run", "--devices=2", "--soc=310P", "--memory=32MiB", "--", sys.executable, "-c", program
    )
    assert result.stdout.split() == ["2", "Ascend310P3", str(32 << 20)], result.stderr


def test_the_exit_status_and_the_arguments_of_the_program_are_its_own():
    program = "import sys; sys.exit(len(sys.argv[1:]) if sys.argv[1:] == ['--devices', 'a b'] else 99)"
    result = mindtorch("softnpu", "run", "--", sys.executable, "-c", program, "--devices", "a b")
    assert result.returncode == 2


def test_env_prints_what_a_shell_can_evaluate():
    result = mindtorch("softnpu", "env", "--trace", "a file.jsonl", LD_LIBRARY_PATH="/other")
    assert result.returncode == 0, result.stderr
    exported = dict(shlex.split(line)[1].split("=", 1) for line in result.stdout.splitlines())
    assert exported["SOFTNPU_TRACE"] == os.path.abspath("a file.jsonl")
    library, other = exported["LD_LIBRARY_PATH"].split(":")
    assert os.path.exists(os.path.join(library, "libascendcl.so")) and other == "/other"


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--memory=lots", "memory is 'lots'; wanted a number of bytes"),
        ("--devices=100", "--devices is 100; wanted a number from 0 to 64"),
        ("--fail=aclrtMalloc", "--fail is 'aclrtMalloc'; wanted FUNCTION:NTH:CODE"),
        ("--sanitize=speed", "--sanitize has 'speed'; wanted address, uninitialised or race"),
        ("--schedule=-1", "--schedule is -1; wanted a seed"),
    ],
)
def test_an_option_that_cannot_be_used_is_refused_before_the_program_starts(option, message):
    result = mindtorch("softnpu", "run", option, "--", sys.executable, "-c", "print('started')")
    assert result.returncode == 2
    assert message in result.stderr
    assert result.stdout == ""


def test_a_program_that_does_not_exist_is_named():
    result = mindtorch("softnpu", "run", "--", "./no-such-program")
    assert result.returncode == 2
    assert "cannot run './no-such-program': No such file or directory" in result.stderr


def test_info_names_the_versions_the_libraries_and_the_next_step():
    with_device = mindtorch("info", MINDTORCH_NPU="soft", SOFTNPU_DEVICES="2")
    assert with_device.returncode == 0, with_device.stderr
    for part in ("mindtorch_v2", "libascendcl.so", "npu:1", "Ascend910B1", "Next: torch.ones"):
        assert part in with_device.stdout
    without = mindtorch("info", MINDTORCH_NPU="soft", SOFTNPU_DEVICES="0")
    assert "none:" in without.stdout
    assert "mindtorch softnpu run -- python program.py" in without.stdout
