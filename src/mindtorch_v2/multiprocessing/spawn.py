"""Starting the same function in several processes, and telling the caller what went wrong in one of them."""

from __future__ import annotations

import ctypes
import multiprocessing
import multiprocessing.connection
import os
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from typing import Any

_PR_SET_PDEATHSIG = 1


class ProcessException(Exception):
    """A process failed: which one, by its index and process id."""

    def __init__(self, msg: str, error_index: int, error_pid: int) -> None:
        super().__init__(msg)
        self.msg = msg
        self.error_index = error_index
        self.error_pid = error_pid

    def __reduce__(self) -> Any:
        return type(self), (self.msg, self.error_index, self.error_pid)


class ProcessRaisedException(ProcessException):
    """The process's function raised; the text has its traceback."""


class ProcessExitedException(ProcessException):
    """The process was ended by a signal or exited with a code other than 0."""

    def __init__(
        self, msg: str, error_index: int, error_pid: int, exit_code: int, signal_name: str | None = None
    ) -> None:
        super().__init__(msg, error_index, error_pid)
        self.exit_code = exit_code
        self.signal_name = signal_name

    def __reduce__(self) -> Any:
        return type(self), (self.msg, self.error_index, self.error_pid, self.exit_code, self.signal_name)


def _run(function: Callable[..., Any], index: int, args: tuple[Any, ...], error_file: str) -> None:
    # A child must not outlive its parent.
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGINT))
    try:
        function(index, *args)
    except KeyboardInterrupt:
        pass  # the parent stops us, or is stopped itself
    except Exception:  # noqa: BLE001 - it goes to the parent, which raises it
        with open(error_file, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(traceback.format_exc())
        sys.exit(1)


class ProcessContext:
    """Processes that were started together."""

    def __init__(self, processes: list[Any], error_files: list[str]) -> None:
        self.processes = processes
        self.error_files = error_files
        self.sentinels = {process.sentinel: index for index, process in enumerate(processes)}

    def pids(self) -> list[int]:
        return [process.pid for process in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Waits for a process to end. True when all have; raises when one failed, after stopping the others."""
        if not self.sentinels:
            return True
        ready = multiprocessing.connection.wait(list(self.sentinels), timeout)
        for sentinel in ready:
            index = self.sentinels.pop(sentinel)
            self.processes[index].join()
            if self.processes[index].exitcode != 0:
                self._stop_all(grace_period)
                self._raise(index)
        return not self.sentinels

    def _join_until(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        for process in self.processes:
            process.join(max(0.0, end - time.monotonic()))

    def _stop_all(self, grace_period: float | None) -> None:
        if grace_period is not None:
            self._join_until(grace_period)
        for process in self.processes:
            if process.is_alive():
                process.terminate()
        self._join_until(30 if grace_period is None else grace_period)
        for process in self.processes:
            if process.is_alive():  # it does not hear the signal
                process.kill()
            process.join()

    def _raise(self, index: int) -> None:
        process = self.processes[index]
        if os.path.exists(self.error_files[index]):
            with open(self.error_files[index], encoding="utf-8") as file:
                trace = file.read()
            os.unlink(self.error_files[index])
            raise ProcessRaisedException(
                f"\n\n-- Process {index} terminated with the following error:\n{trace}", index, process.pid
            )
        code = process.exitcode
        if code >= 0:
            raise ProcessExitedException(
                f"process {index} terminated with exit code {code}", index, process.pid, code
            )
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"<Unknown signal {-code}>"
        raise ProcessExitedException(
            f"process {index} terminated with signal {name}", index, process.pid, code, name
        )


def start_processes(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Runs ``fn(i, *args)`` in ``nprocs`` processes. ``join=False`` returns their context instead of waiting."""
    context: Any = multiprocessing.get_context(start_method)
    processes, error_files = [], []
    for index in range(nprocs):
        # A name nobody else has; the file is there only if the process has something to say.
        handle, path = tempfile.mkstemp(prefix="mindtorch-error-", suffix=".txt")
        os.close(handle)
        os.unlink(path)
        process = context.Process(target=_run, args=(fn, index, args, path), daemon=daemon)
        process.start()
        processes.append(process)
        error_files.append(path)
    started = ProcessContext(processes, error_files)
    if not join:
        return started
    while not started.join():
        pass
    return None


def spawn(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Runs ``fn(i, *args)`` in ``nprocs`` fresh processes; when one fails, the others are stopped and it raises."""
    if start_method != "spawn":
        warnings.warn(
            f"This method only supports start_method=spawn (got: {start_method}).\nTo use a different start_method "
            "use:\n\t\t torch.multiprocessing.start_processes(...)",
            FutureWarning,
            stacklevel=2,
        )
    return start_processes(fn, args, nprocs, join, daemon, start_method="spawn")
