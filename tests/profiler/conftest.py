"""What several tests of the profiler share."""

import importlib.util
from pathlib import Path

import pytest

import mindtorch_v2 as torch


@pytest.fixture
def gpt_step():
    """The training step of the benchmarks, tiny: a function of a device."""
    path = Path(__file__).parents[2] / "benchmarks" / "gpt_step.py"
    spec = importlib.util.spec_from_file_location("gpt_step", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    def make(device):
        return module.gpt_step(torch, device, layers=2, heads=2, width=32, context=16, vocabulary=32, batch=2)

    return make
