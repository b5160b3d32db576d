"""Parity tests run beside the real PyTorch (`make parity` installs it)."""

import pytest
import torch

import mindtorch_v2


@pytest.fixture
def both():
    """(PyTorch, MindTorch) with the same seed."""
    torch.manual_seed(0)
    mindtorch_v2.manual_seed(0)
    return torch, mindtorch_v2
