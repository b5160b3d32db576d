"""The sanitizer on programs of our framework: every planted defect is found, with the right names."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent


def run(script: str, name: str, log: Path, **settings: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "SOFTNPU_SANITIZE": "1", "SOFTNPU_SANITIZE_LOG": str(log), **settings}
    return subprocess.run(
        [sys.executable, str(FOLDER / script), name],
        env=environment,
        capture_output=True,
        text=True,
        timeout=100,
    )


# The kind of report, the operation that is caught, and the other side (or None).
PLANTED = {
    "use_after_free_of_a_tensor": ("use after free", "aclrtMemcpy", None),
    "use_after_free_of_raw_memory": ("use after free", "aclrtMemcpy", None),
    "out_of_bounds_of_a_tensor": ("out of bounds", "aclrtMemcpy", None),
    "out_of_bounds_before_the_next_tensor": ("out of bounds", "aclrtMemset", None),
    "uninitialised_operand": ("uninitialised read", "aclnnAdds", None),
    "uninitialised_copy_to_the_host": ("uninitialised read", "aclrtMemcpy", None),
    "race_without_wait_stream": ("race", "aclnnAdds", "aclnnInplaceMuls"),
    "race_without_record_stream": ("race", "aclnnInplaceZero", "aclnnMuls"),
    "race_of_an_upload_and_its_use": ("race", "aclnnAdds", "aclrtMemcpyAsync"),
    "race_of_the_host_and_an_operator": ("race", "aclrtMemcpy", "aclnnInplaceMuls"),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_defect_is_reported_once_with_the_names_of_both_sides(name, tmp_path):
    log = tmp_path / "reports.jsonl"
    result = run("planted.py", name, log)
    assert result.returncode == 0, result.stderr
    reports = [json.loads(line) for line in log.read_text().splitlines()]
    found = [(r["kind"], r["operation"]["name"], r.get("other", {}).get("name")) for r in reports]
    assert found == [PLANTED[name]], result.stderr
    assert f"softnpu sanitizer: {PLANTED[name][0]}: {PLANTED[name][1]} " in result.stderr
    assert reports[0]["allocation"]["bytes"] == 64


@pytest.mark.parametrize(
    "name",
    [
        "training",
        "training_with_uploads_on_another_stream",
        "forward_on_one_stream_backward_on_another",
        "gradients_from_two_streams_meet",
        "views",
        "memory_comes_and_goes",
    ],
)
def test_a_clean_program_gets_no_report(name, tmp_path):
    result = run("clean.py", name, tmp_path / "reports.jsonl", SOFTNPU_SCHEDULE="7")
    assert result.returncode == 0, result.stderr
    assert "softnpu sanitizer" not in result.stderr


def test_the_stream_tests_of_the_framework_get_no_report(tmp_path):
    environment = {**os.environ, "SOFTNPU_SANITIZE": "1", "SOFTNPU_SANITIZE_LOG": str(tmp_path / "log")}
    tests = FOLDER.parent / "npu" / "test_streams.py"
    result = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tests)],
        env=environment, capture_output=True, text=True, timeout=110,
    )  # fmt: skip
    assert result.returncode == 0, result.stdout
    assert (tmp_path / "log").read_text() == ""


def test_a_report_names_the_line_of_the_program_when_asked(tmp_path):
    program = (
        "import mindtorch_v2 as torch\n"
        "from mindtorch_v2 import softnpu\n"
        "softnpu.sanitize('uninitialised', lines=True)\n"
        "def step():\n"
        "    return torch.empty(4, device='npu') + 1\n"
        "step()\n"
        "assert softnpu.sanitizer_reports() == 1\n"
    )
    path = tmp_path / "program.py"
    path.write_text(program)
    result = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, timeout=100)
    assert result.returncode == 0, result.stderr
    assert f"launched by {path}:5 in step" in result.stderr


MISSING_EVENT = """
import mindtorch_v2 as torch
x, y = torch.ones(4, device="npu"), torch.zeros(4, device="npu")
first, second = torch.npu.Stream(), torch.npu.Stream()
torch.npu.synchronize()
with torch.npu.stream(first):
    y.add_(x)
with torch.npu.stream(second):  # should say second.wait_stream(first)
    z = y * 1
    print(z[0].item())
"""


def test_a_seed_gives_a_missing_event_the_same_outcome_every_time_and_some_seed_makes_it_fail():
    def outcome(seed: int) -> str:
        return subprocess.run(
            [sys.executable, "-c", MISSING_EVENT],
            env={**os.environ, "SOFTNPU_SCHEDULE": str(seed)}, capture_output=True, text=True, check=True,
        ).stdout.strip()  # fmt: skip

    outcomes = {seed: outcome(seed) for seed in range(4)}
    assert set(outcomes.values()) == {"0.0", "1.0"}
    assert {seed: outcome(seed) for seed in outcomes} == outcomes
