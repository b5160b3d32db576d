"""Every test may use the NPU: the software one, asked for before the package is imported."""

import gc
import os

import pytest

os.environ.setdefault("MINDTORCH_NPU", "soft")

# Tests that need a GPU are no tests elsewhere: `make cuda`, which says what is missing, is what runs them.
collect_ignore = [] if os.environ.get("MINDTORCH_CUDA_TESTS") else ["cuda_device"]


# Their files take minutes: at the end, one would keep a process busy while the others have nothing left to do.
LONG = ("distributed", "cuda")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.path.parent.name not in LONG)


def pytest_collection_finish() -> None:
    """What thousands of tests are made of stays: no search for cycles need look at it, which takes half a second."""
    gc.collect()
    gc.freeze()
