"""``tools/score.py``, which makes the table of the README."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.timeout(600)  # each worker imports PyTorch and its database
TOOLS = Path(__file__).parents[2] / "tools"
sys.path.insert(0, str(TOOLS))
import score  # noqa: E402


def test_the_table_counts_operators_that_agree_and_is_compared_with_the_readme(tmp_path):
    readme = tmp_path / "README.md"
    readme.write_text("another table")
    only = [
        "--match",
        "eigvals",
        "--kinds",
        "forward",
        "--samples",
        "2",
        "--jobs",
        "1",
        "--readme",
        str(readme),
    ]
    command = [sys.executable, str(TOOLS / "score.py"), *only]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout == "| | cpu | npu |\n|---|---|---|\n| forward, float32 | 2 of 2 | 1 of 2 |\n", (
        done.stderr
    )
    assert "linalg.eigvals, forward on npu, float32: NotImplementedError" in done.stderr
    assert "4/4 asked, 1 disagree" in done.stderr
    assert done.returncode == 1 and "has another table" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--devices", "cuda"], "cuda: expected some of cpu, npu"),
        (["--kinds", "hessian"], "hessian: expected some of forward, gradient, tangent"),
        (["--match", "nothing at all"], "no operator's name contains 'nothing at all'"),
    ],
)
def test_what_does_not_exist_is_refused(arguments, complaint, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["score.py", *arguments])
    with pytest.raises(SystemExit):
        score.main()
    assert complaint in capsys.readouterr().err


@pytest.fixture
def worker():
    made = score.Worker(count=1, threads=1, limit=60)
    yield made
    made.process.kill()


def test_an_operator_that_crashes_or_hangs_has_failed_and_the_next_one_is_asked(worker):
    question = ("forward", "cpu", "float32", "exp")
    os.kill(worker.process.pid, signal.SIGSTOP)  # hangs
    worker.limit = 0
    worker.give(question)
    assert worker.answer() == "no answer within 0 s"
    os.kill(worker.process.pid, signal.SIGSTOP)
    worker.give(question)
    os.kill(worker.process.pid, signal.SIGKILL)
    assert worker.pipe.poll(300)
    assert worker.answer() == "the process ended with status -9"
    worker.give(question)
    assert worker.pipe.poll(300)
    assert worker.answer() is None
