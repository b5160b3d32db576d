"""Several processes, each one rank, that run functions of the tests."""

from __future__ import annotations

import multiprocessing
import os
import traceback
from collections.abc import Callable, Sequence
from typing import Any

from hccl_rank import HcclError, Rank

_spawn = multiprocessing.get_context("spawn")
PATIENCE = 60  # seconds until a rank that does not answer fails the test


def _serve(pipe: Any, rank: int, ranks: int, device: int, environment: dict[str, str]) -> None:
    os.environ.update(environment)
    state = Rank(rank, ranks, device)
    while True:
        function, arguments = pipe.recv()
        try:
            answer = function(state, *arguments)
            state.free_buffers()
        except HcclError as error:
            answer = error
        except Exception:  # noqa: BLE001  (the test process raises it)
            answer = RuntimeError(traceback.format_exc())
        pipe.send(answer)


class Ranks:
    """``ranks.run(function, argument)`` calls ``function(rank, argument)`` on all; the results by rank."""

    def __init__(self, count: int, environment: dict[str, str] | None = None, devices: int = 1) -> None:
        settings = {"SOFTNPU_DEVICES": str(devices), "SOFTNPU_MEMORY": "256MiB", **(environment or {})}
        self.pipes, self.processes = [], []
        for rank in range(count):
            ours, theirs = _spawn.Pipe()
            device = rank if devices > 1 else 0
            process = _spawn.Process(target=_serve, args=(theirs, rank, count, device, settings), daemon=True)
            process.start()
            theirs.close()
            self.pipes.append(ours)
            self.processes.append(process)

    def start(self, function: Callable[..., Any], *arguments: Any, on: Sequence[int] | None = None) -> None:
        for rank in range(len(self.pipes)) if on is None else on:
            self.pipes[rank].send((function, arguments))

    def answers(self, on: Sequence[int] | None = None) -> list[Any]:
        """The results of the last start, or the exceptions."""
        results = []
        for rank in range(len(self.pipes)) if on is None else on:
            assert self.pipes[rank].poll(PATIENCE), f"rank {rank} does not answer"
            results.append(self.pipes[rank].recv())
        return results

    def run(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        self.start(function, *arguments)
        results = self.answers()
        for result in results:
            if isinstance(result, Exception):
                raise result
        return results

    def run_on(self, rank: int, function: Callable[..., Any], *arguments: Any) -> Any:
        self.start(function, *arguments, on=[rank])
        (result,) = self.answers(on=[rank])
        if isinstance(result, Exception):
            raise result
        return result

    def connect(self, **config: Any) -> None:
        info = self.run_on(0, Rank.root_info)
        self.run(_join, info, config)

    def kill(self, rank: int) -> None:
        self.processes[rank].kill()
        self.processes[rank].join()

    def stop(self) -> None:
        for process in self.processes:
            process.kill()
            process.join()
        for pipe in self.pipes:
            pipe.close()


def _join(rank: Rank, info: bytes, config: dict[str, Any]) -> None:
    rank.join(info, **config)
