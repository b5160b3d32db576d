"""Several processes, each with an NPU of its own in one group, that run functions of the tests."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from function_processes import FunctionProcesses, answer_calls


def _serve(pipe: Any, rank: int, size: int, folder: str, seconds: float, environment: dict[str, str]) -> None:
    os.environ.update(environment)
    import mindtorch_v2 as torch
    from mindtorch_v2 import distributed as dist

    torch.npu.set_device(rank)
    dist.init_process_group(
        "hccl",
        init_method=f"file://{folder}/store",
        rank=rank,
        world_size=size,
        timeout=timedelta(seconds=seconds),
    )

    def call(function: Callable[..., Any], *arguments: Any) -> Any:
        return function(rank, *arguments)

    def failure(error: Exception) -> Exception:
        return Failed(type(error).__name__, str(error), traceback.format_exc())

    answer_calls(pipe, call, failure)


class Failed(Exception):
    """What a function raised, in another process."""

    def __init__(self, kind: str, message: str, trace: str) -> None:
        super().__init__(kind, message, trace)
        self.kind, self.message, self.trace = kind, message, trace

    def __str__(self) -> str:
        return self.trace


class Ranks(FunctionProcesses):
    """``ranks.run(function, argument)`` calls ``function(rank, argument)`` on all."""

    def __init__(self, size: int, folder: Path, seconds: float = 60, **environment: str) -> None:
        settings = {
            "MINDTORCH_NPU": "soft",
            "SOFTNPU_DEVICES": str(size),
            "SOFTNPU_MEMORY": "256MiB",
            **environment,
        }
        super().__init__(_serve, [(rank, size, str(folder), seconds, settings) for rank in range(size)])


@contextmanager
def group_of(size: int, folder: Path, seconds: float = 60, **environment: str) -> Iterator[Ranks]:
    """A group for the time of a test."""
    ranks = Ranks(size, folder, seconds, **environment)
    try:
        yield ranks
    finally:
        ranks.stop()
