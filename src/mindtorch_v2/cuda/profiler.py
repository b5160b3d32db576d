"""``torch.cuda.profiler``: switches of NVIDIA's profilers, which cannot be attached here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["profile", "start", "stop"]


def start() -> None:
    """Begins what Nsight records."""
    raise AssertionError("Torch not compiled with CUDA enabled")


def stop() -> None:
    """Ends what Nsight records."""
    raise AssertionError("Torch not compiled with CUDA enabled")


@contextmanager
def profile() -> Iterator[None]:
    """What Nsight records, around a ``with`` block; ``torch.profiler.profile`` records here."""
    start()
    yield
