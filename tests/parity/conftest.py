"""Parity tests run beside the real PyTorch (`make parity` installs it)."""

import importlib.util
from pathlib import Path

import pytest
import torch

import mindtorch_v2


@pytest.fixture
def both():
    """(PyTorch, MindTorch) with the same seed."""
    torch.manual_seed(0)
    mindtorch_v2.manual_seed(0)
    return torch, mindtorch_v2


@pytest.fixture(scope="session")
def mnist_mlp():
    """The example, as a module."""
    path = Path(__file__).parents[2] / "examples" / "mnist_mlp.py"
    spec = importlib.util.spec_from_file_location("mnist_mlp", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
