"""The processes of one machine: started together, watched together, stopped together."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .errors import ProcessFailure, get_error_handler
from .logs import LogsDest, LogsSpecs, Std, Tee, console_of

_PR_SET_PDEATHSIG = 1
_prctl = ctypes.CDLL(None).prctl


def _end_with_parent() -> None:
    """In a new process: it ends when the one that started it does."""
    _prctl(_PR_SET_PDEATHSIG, int(signal.SIGTERM))


@dataclass
class RunProcsResult:
    """How all processes ended, by local rank."""

    return_values: dict[int, Any] = field(default_factory=dict)
    failures: dict[int, ProcessFailure] = field(default_factory=dict)
    stdouts: dict[int, str] = field(default_factory=dict)
    stderrs: dict[int, str] = field(default_factory=dict)

    def is_failed(self) -> bool:
        """Whether one failed."""
        return bool(self.failures)


class PContext(ABC):
    """Processes that belong together: when one fails the others are stopped."""

    def __init__(
        self,
        name: str,
        envs: Mapping[int, Mapping[str, str]],
        logs: LogsDest,
        prefixes: Mapping[int, str] | None = None,
    ) -> None:
        self.name, self.envs, self.logs = name, envs, logs
        self._prefixes = prefixes or {}
        self._tee = Tee()
        self._ended: dict[int, int] = {}  # exit codes, in the order in which processes ended

    def start(self) -> None:
        """Starts them. The thread that calls this must live as long as they do."""
        for rank in self.envs:
            ends = [self._end(Std.OUT, rank), self._end(Std.ERR, rank)]
            try:
                self._start(rank, *ends)
            finally:
                for end in ends:
                    if end is not None:
                        os.close(end)
        self._tee.start()

    def _end(self, stream: Std, rank: int) -> int | None:
        """What a process writes to; None for what this process writes to."""
        files, teed = (
            (self.logs.stdouts, self.logs.tee_stdouts)
            if stream is Std.OUT
            else (self.logs.stderrs, self.logs.tee_stderrs)
        )
        if rank in teed:
            prefix = self._prefixes.get(rank, f"[{self.name}{rank}]:")
            return self._tee.end_for(teed[rank], prefix, console_of(stream))
        if files.get(rank):
            return os.open(files[rank], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        return None

    @abstractmethod
    def _start(self, rank: int, out: int | None, err: int | None) -> None: ...

    @abstractmethod
    def _exit_code(self, rank: int) -> int | None:
        """None while it runs."""

    @abstractmethod
    def pids(self) -> dict[int, int]:
        """Process ids by local rank."""

    def _value(self, rank: int) -> Any:
        return None

    def _look(self) -> None:
        for rank in self.envs:
            if rank not in self._ended and (code := self._exit_code(rank)) is not None:
                self._ended[rank] = code

    def wait(self, timeout: float = -1, period: float = 0.1) -> RunProcsResult | None:
        """What came of them once all have ended or one has failed; None when the time is over (-1: never is)."""
        end = None if timeout < 0 else time.monotonic() + timeout
        while True:
            self._look()
            failed = any(code != 0 for code in self._ended.values())
            if failed:
                self.close()
            if failed or len(self._ended) == len(self.envs):
                self._tee.close()
                return self._result()
            if end is not None and time.monotonic() >= end:
                return None
            time.sleep(period)

    def _result(self) -> RunProcsResult:
        result = RunProcsResult(stdouts=dict(self.logs.stdouts), stderrs=dict(self.logs.stderrs))
        pids = self.pids()
        for rank, code in self._ended.items():
            if code == 0:
                result.return_values[rank] = self._value(rank)
                continue
            error_file, log = self.logs.error_files.get(rank, ""), self.logs.stderrs.get(rank)
            result.failures[rank] = ProcessFailure(rank, pids[rank], code, error_file, log)
        return result

    def close(self, death_sig: signal.Signals | None = None, timeout: float = 30) -> None:
        """Ends what runs, with everything it started: asks first, and does not ask after ``timeout`` seconds."""
        for sent, patience in ((death_sig or signal.SIGTERM, timeout), (signal.SIGKILL, 5.0)):
            self._look()
            running = [pid for rank, pid in self.pids().items() if rank not in self._ended]
            for pid in running:
                _send(pid, sent)
            end = time.monotonic() + patience
            while len(self._ended) < len(self.pids()) and time.monotonic() < end:
                time.sleep(0.02)
                self._look()
        for pid in self.pids().values():
            _send(pid, signal.SIGKILL)  # what a process left behind in its group
        self._tee.close()


def _send(pid: int, what: signal.Signals) -> None:
    try:
        os.killpg(pid, what)  # each process leads a group of its own
    except ProcessLookupError:
        pass  # it has ended meanwhile, which is what was wanted


class _Commands(PContext):
    def __init__(self, name: str, commands: Mapping[int, list[str]], *rest: Any) -> None:
        super().__init__(name, *rest)
        self._commands = commands
        self._running: dict[int, subprocess.Popen[bytes]] = {}

    def _start(self, rank: int, out: int | None, err: int | None) -> None:
        surroundings = dict(os.environ) | dict(self.envs[rank])
        surroundings["TORCHELASTIC_ERROR_FILE"] = self.logs.error_files.get(rank, "")
        self._running[rank] = subprocess.Popen(
            self._commands[rank],
            env=surroundings,
            stdout=out,
            stderr=err,
            start_new_session=True,
            preexec_fn=_end_with_parent,  # one system call, no lock: safe although there are threads
        )

    def _exit_code(self, rank: int) -> int | None:
        return self._running[rank].poll()

    def pids(self) -> dict[int, int]:
        return {rank: process.pid for rank, process in self._running.items()}


class _Functions(PContext):
    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        args: Mapping[int, tuple[Any, ...]],
        start: str,
        *rest: Any,
    ) -> None:
        super().__init__(name, *rest)
        self._function, self._args = function, args
        self._context: Any = multiprocessing.get_context(start)
        self._running: dict[int, Any] = {}
        self._answers: dict[int, Any] = {}
        self._values: dict[int, Any] = {}

    def _start(self, rank: int, out: int | None, err: int | None) -> None:
        answer, to = self._context.Pipe(duplex=False)
        surroundings = dict(self.envs[rank]) | {
            "TORCHELASTIC_ERROR_FILE": self.logs.error_files.get(rank, "")
        }
        ends = [multiprocessing.reduction.DupFd(end) if end is not None else None for end in (out, err)]
        process = self._context.Process(
            target=_call,
            args=(self._function, self._args.get(rank, ()), surroundings, ends, to),
            daemon=False,
        )
        process.start()
        to.close()
        self._running[rank], self._answers[rank] = process, answer

    def _exit_code(self, rank: int) -> int | None:
        self._receive(rank)  # a value that fills the pipe would keep the process from ending
        code: int | None = self._running[rank].exitcode
        if code is not None:
            self._receive(rank)
        return code

    def _receive(self, rank: int) -> None:
        try:
            if rank not in self._values and self._answers[rank].poll():
                self._values[rank] = self._answers[rank].recv()
        except EOFError:
            self._values[rank] = None

    def _value(self, rank: int) -> Any:
        return self._values.get(rank)

    def pids(self) -> dict[int, int]:
        return {rank: process.pid for rank, process in self._running.items()}


def _call(
    function: Callable[..., Any], args: tuple[Any, ...], envs: dict[str, str], ends: list[Any], to: Any
) -> None:
    """The life of a process that runs a function."""
    os.setsid()
    _end_with_parent()
    os.environ.update(envs)
    for number, end in ((1, ends[0]), (2, ends[1])):
        if end is not None:
            os.dup2(end.detach(), number)
    try:
        to.send(function(*args))
    except Exception as error:  # noqa: BLE001 - it goes to the parent, through the file and the log
        get_error_handler().record_exception(error)
        sys.excepthook(type(error), error, error.__traceback__)
        sys.exit(1)


def start_processes(
    name: str,
    entrypoint: Callable[..., Any] | str,
    args: dict[int, tuple[Any, ...]],
    envs: dict[int, dict[str, str]],
    logs_specs: LogsSpecs,
    log_line_prefixes: dict[int, str] | None = None,
    start_method: str = "spawn",
) -> PContext:
    """Starts a command or a function once for each local rank."""
    if args.keys() != envs.keys():
        raise RuntimeError(
            f"arguments are given for {sorted(args)} and environments for {sorted(envs)}: they must be the same"
        )
    rest = (envs, logs_specs.reify(envs), log_line_prefixes)
    processes: PContext
    if isinstance(entrypoint, str):
        commands = {rank: [entrypoint, *(str(each) for each in given)] for rank, given in args.items()}
        processes = _Commands(name, commands, *rest)
    else:
        processes = _Functions(name, entrypoint, args, start_method, *rest)
    try:
        processes.start()
    except BaseException:
        processes.close()
        raise
    return processes
