"""These tests run under ``mindtorch run``, where ``import torch`` means mindtorch_v2: ``make hf``, and ``make cuda``
for models and Trainer on a GPU."""

import os
import sys
from pathlib import Path

import pytest

os.environ["HF_HUB_OFFLINE"] = "1"
sys.path.insert(0, str(Path(__file__).parent))

import torch

if torch.__path__ != __import__("mindtorch_v2").__path__:
    raise pytest.UsageError("tests/hf run on mindtorch_v2: mindtorch run -m pytest tests/hf")


@pytest.fixture(params=["cuda"] if os.environ.get("MINDTORCH_CUDA_TESTS") else ["cpu", "npu"])
def device(request: pytest.FixtureRequest) -> str:
    return request.param
