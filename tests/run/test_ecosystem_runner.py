"""``tests/ecosystem/run.py`` lets nothing pass that is not PyTorch's numbers."""

import argparse
import sys
from pathlib import Path

import numpy as np
import pytest

ECOSYSTEM = Path(__file__).resolve().parents[1] / "ecosystem"


@pytest.fixture
def runner(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(ECOSYSTEM))
    for name in ("run", "cuda_stand_ins"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    import run

    monkeypatch.setattr(run, "KEPT", tmp_path)
    return run


def numbers(**values):
    return {name: np.asarray(value, dtype=np.float64) for name, value in values.items()}


def test_the_largest_difference_is_relative_above_one(runner):
    expected = numbers(loss=[1000.0, 0.5], norm=2.0)
    assert runner.compare(expected, numbers(loss=[1000.1, 0.5], norm=2.0)) == pytest.approx(1e-4)


@pytest.mark.parametrize(
    "got, problem",
    [
        (numbers(loss=[1.0, 2.01]), "loss differs by 0.005"),
        (numbers(loss=[1.0, float("nan")]), "loss differs by nan"),
        (numbers(loss=[1.0]), r"loss has shape \(1,\), with PyTorch \(2,\)"),
        (numbers(loss=[1.0, 2.0], norm=1.0), r"gave \['loss', 'norm'\], PyTorch \['loss'\]"),
    ],
)
def test_other_numbers_do_not_pass(runner, got, problem):
    with pytest.raises(RuntimeError, match=problem):
        runner.compare(numbers(loss=[1.0, 2.0]), got)


def test_a_program_that_fails_or_hangs_says_so(runner, tmp_path):
    failing, hanging = tmp_path / "failing.py", tmp_path / "hanging.py"
    failing.write_text("def run(device):\n    raise ValueError('no such model')\n")
    hanging.write_text("import threading\nthreading.Event().wait()\n")
    with pytest.raises(RuntimeError, match=r"ValueError: no such model \(exit status 1\)"):
        runner.numbers_of(failing, "cpu", ours=True, options=argparse.Namespace(timeout=60))
    with pytest.raises(RuntimeError, match="not done after 0.5 s"):
        runner.numbers_of(hanging, "cpu", ours=True, options=argparse.Namespace(timeout=0.5))


def test_a_program_that_never_used_its_device_does_not_pass(runner, tmp_path):
    program = tmp_path / "elsewhere.py"
    program.write_text("import torch\ndef run(device):\n    return {'sum': torch.ones(2).sum()}\n")
    with pytest.raises(RuntimeError, match="it never used the device npu"):
        runner.numbers_of(program, "npu", ours=True, options=argparse.Namespace(timeout=60))
    found = runner.numbers_of(program, "cpu", ours=True, options=argparse.Namespace(timeout=60))
    assert found == {"sum": 2.0}


def test_what_waits_is_a_program_that_is_there(runner, monkeypatch, tmp_path):
    (tmp_path / "waiting.toml").write_text('peft = "why"\ntrl = { npu = "why not there" }\n')
    monkeypatch.setattr(runner, "HERE", tmp_path)
    programs = [Path("peft.py"), Path("trl.py")]
    assert runner.waiting_programs(programs) == {
        "peft.cpu": "why",
        "peft.npu": "why",
        "trl.npu": "why not there",
    }
    with pytest.raises(SystemExit, match="waiting.toml names 'trl'"):
        runner.waiting_programs(programs[:1])
