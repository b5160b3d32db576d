"""Several processes, each with an NPU of its own in one group, that run functions of the tests."""

from __future__ import annotations

import multiprocessing
import os
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

_spawn = multiprocessing.get_context("spawn")
PATIENCE = 60  # seconds until a rank that does not answer fails the test


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
    while True:
        function, arguments = pipe.recv()
        try:
            answer = function(rank, *arguments)
        except Exception as error:  # noqa: BLE001  (the test process looks at it)
            answer = Failed(type(error).__name__, str(error), traceback.format_exc())
        pipe.send(answer)


class Failed:
    """What a function raised, in another process."""

    def __init__(self, kind: str, message: str, trace: str) -> None:
        self.kind, self.message, self.trace = kind, message, trace


class Ranks:
    """``ranks.run(function, argument)`` calls ``function(rank, argument)`` on all; the results by rank."""

    def __init__(self, size: int, folder: Path, seconds: float = 60, **environment: str) -> None:
        settings = {
            "MINDTORCH_NPU": "soft",
            "SOFTNPU_DEVICES": str(size),
            "SOFTNPU_MEMORY": "256MiB",
            **environment,
        }
        self.size, self.pipes, self.processes = size, [], []
        for rank in range(size):
            ours, theirs = _spawn.Pipe()
            arguments = (theirs, rank, size, str(folder), seconds, settings)
            process = _spawn.Process(target=_serve, args=arguments, daemon=True)
            process.start()
            theirs.close()
            self.pipes.append(ours)
            self.processes.append(process)

    def start(self, function: Callable[..., Any], *arguments: Any, on: Sequence[int] | None = None) -> None:
        for rank in range(self.size) if on is None else on:
            self.pipes[rank].send((function, arguments))

    def answers(self, on: Sequence[int] | None = None) -> list[Any]:
        """The results of the last start, or what was raised."""
        results = []
        for rank in range(self.size) if on is None else on:
            assert self.pipes[rank].poll(PATIENCE), f"rank {rank} does not answer"
            results.append(self.pipes[rank].recv())
        return results

    def run(
        self, function: Callable[..., Any], *arguments: Any, on: Sequence[int] | None = None
    ) -> list[Any]:
        self.start(function, *arguments, on=on)
        results = self.answers(on)
        for result in results:
            assert not isinstance(result, Failed), result.trace
        return results

    def kill(self, rank: int) -> None:
        self.processes[rank].kill()
        self.processes[rank].join()

    def stop(self) -> None:
        for process in self.processes:
            process.kill()
            process.join()
        for pipe in self.pipes:
            pipe.close()


@contextmanager
def group_of(size: int, folder: Path, seconds: float = 60, **environment: str) -> Iterator[Ranks]:
    """A group for the time of a test."""
    ranks = Ranks(size, folder, seconds, **environment)
    try:
        yield ranks
    finally:
        ranks.stop()
