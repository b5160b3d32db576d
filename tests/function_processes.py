"""Several processes that run functions of the tests, each in a state of its own."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Sequence
from typing import Any

_spawn = multiprocessing.get_context("spawn")
PATIENCE = 60  # seconds until a process that does not answer fails the test


def answer_calls(pipe: Any, call: Callable[..., Any], failure: Callable[[Exception], Exception]) -> None:
    """Serves a process: ``call(function, *arguments)`` for what a test sends; what it raises is sent as ``failure``."""
    while True:
        function, arguments = pipe.recv()
        try:
            answer = call(function, *arguments)
        except Exception as error:  # noqa: BLE001  (the test process looks at it)
            answer = failure(error)
        pipe.send(answer)


class FunctionProcesses:
    """``processes.run(function, argument)`` lets all call ``function(state, argument)``; the results by process."""

    def __init__(self, serve: Callable[..., None], states: Sequence[tuple[Any, ...]]) -> None:
        """``serve(pipe, *state)`` is what each runs: it ends in :func:`answer_calls`."""
        self.size, self.pipes, self.processes = len(states), [], []
        for state in states:
            ours, theirs = _spawn.Pipe()
            process = _spawn.Process(target=serve, args=(theirs, *state), daemon=True)
            process.start()
            theirs.close()
            self.pipes.append(ours)
            self.processes.append(process)

    def start(self, function: Callable[..., Any], *arguments: Any, on: Sequence[int] | None = None) -> None:
        for rank in range(self.size) if on is None else on:
            self.pipes[rank].send((function, arguments))

    def answers(self, on: Sequence[int] | None = None) -> list[Any]:
        """The results of the last start, or the exceptions."""
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
            if isinstance(result, Exception):
                raise result
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
