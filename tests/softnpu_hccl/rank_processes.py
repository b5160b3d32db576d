"""Several processes, each one rank of HCCL, that run functions of the tests."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable
from typing import Any

from function_processes import FunctionProcesses, answer_calls
from hccl_rank import HcclError, Rank


def _serve(pipe: Any, rank: int, ranks: int, device: int, environment: dict[str, str]) -> None:
    os.environ.update(environment)
    state = Rank(rank, ranks, device)

    def call(function: Callable[..., Any], *arguments: Any) -> Any:
        answer = function(state, *arguments)
        state.free_buffers()
        return answer

    def failure(error: Exception) -> Exception:
        return error if isinstance(error, HcclError) else RuntimeError(traceback.format_exc())

    answer_calls(pipe, call, failure)


class Ranks(FunctionProcesses):
    """``ranks.run(function, argument)`` calls ``function(rank, argument)`` on all."""

    def __init__(self, count: int, environment: dict[str, str] | None = None, devices: int = 1) -> None:
        settings = {"SOFTNPU_DEVICES": str(devices), "SOFTNPU_MEMORY": "256MiB", **(environment or {})}
        super().__init__(
            _serve, [(rank, count, rank if devices > 1 else 0, settings) for rank in range(count)]
        )

    def run_on(self, rank: int, function: Callable[..., Any], *arguments: Any) -> Any:
        return self.run(function, *arguments, on=[rank])[0]

    def connect(self, **config: Any) -> None:
        info = self.run_on(0, Rank.root_info)
        self.run(_join, info, config)


def _join(rank: Rank, info: bytes, config: dict[str, Any]) -> None:
    rank.join(info, **config)
