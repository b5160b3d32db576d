"""What a process leaves behind when it fails, and how a launcher tells of it.

A process that was started by a launcher knows a file by TORCHELASTIC_ERROR_FILE; a function under :func:`record` writes
what it raised there. Without it the launcher looks for a traceback in what the process wrote to its log.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import time
from collections.abc import Callable
from datetime import datetime
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from .error_handler import ErrorHandler
from .handlers import get_error_handler

__all__ = ["ChildFailedError", "ErrorHandler", "ProcessFailure", "get_error_handler", "record"]

P = ParamSpec("P")
R = TypeVar("R")
_HOW = (
    "none was recorded: keep its log with --tee 3, or decorate the program's main function with "
    "torch.distributed.elastic.multiprocessing.errors.record"
)
_LONGEST = 100_000  # bytes of a log that are searched for a traceback


def record(fn: Callable[P, R], error_handler: ErrorHandler | None = None) -> Callable[P, R | None]:
    """What ``fn`` raises reaches the launcher with its traceback."""
    handler = error_handler or get_error_handler()

    @wraps(fn)
    def recorded(*args: P.args, **kwargs: P.kwargs) -> R:
        handler.initialize()
        try:
            return fn(*args, **kwargs)
        except SystemExit as stop:
            if stop.code not in (None, 0):
                handler.record_exception(stop)
            raise
        except ChildFailedError as failed:
            _, first = failed.get_first_failure()
            if first.text is not None:
                handler.record_exception(failed)
            raise
        except Exception as error:
            handler.record_exception(error)
            raise

    return recorded


class ProcessFailure:
    """A process that ended as it should not: which, when, and what it said."""

    def __init__(
        self, local_rank: int, pid: int, exitcode: int, error_file: str, log: str | None = None
    ) -> None:
        self.local_rank, self.pid, self.exitcode = local_rank, pid, exitcode
        self.error_file = "<N/A>"
        self.timestamp = int(time.time())
        self.text: str | None = None
        self.message: Any = (
            f"Signal {-exitcode} ({self.signal_name()}) received by PID {pid}" if exitcode < 0 else ""
        )
        if os.path.isfile(error_file):
            self.error_file = error_file
            self._read(error_file)
        elif log is not None and os.path.isfile(log):
            self.text = _last_traceback(log)

    def _read(self, path: str) -> None:
        try:
            what = json.loads(Path(path).read_text(encoding="utf-8"))["message"]
        except (ValueError, KeyError, TypeError) as error:
            self.text = f"the error file cannot be read: {error}"
            return
        if isinstance(what, str):
            self.message = self.text = what
            return
        self.message = what
        extra = what.get("extraInfo", {})
        self.text = extra.get("py_callstack") or what.get("message")
        self.timestamp = int(extra.get("timestamp", self.timestamp))

    def signal_name(self) -> str:
        """The name of the signal that ended it, or ``<N/A>``."""
        if self.exitcode >= 0:
            return "<N/A>"
        try:
            return signal.Signals(-self.exitcode).name
        except ValueError:
            return "<Invalid>"

    def timestamp_isoformat(self) -> str:
        """When it failed."""
        return datetime.fromtimestamp(self.timestamp).isoformat(sep="_")


def _last_traceback(path: str) -> str | None:
    with open(path, "rb") as file:
        file.seek(0, os.SEEK_END)
        file.seek(max(0, file.tell() - _LONGEST))
        text = file.read().decode(errors="replace")
    at = text.rfind("Traceback (most recent call last)")
    return text[at:].rstrip() if at >= 0 else None


class ChildFailedError(Exception):
    """Processes failed; the text has all of them and says which was the first."""

    def __init__(self, name: str, failures: dict[int, ProcessFailure]) -> None:
        self.name, self.failures = name, failures
        if not failures:
            raise ValueError("a ChildFailedError tells of at least one failure, and none was given")
        super().__init__(self.format_msg())

    def get_first_failure(self) -> tuple[int, ProcessFailure]:
        """The rank of the process that failed first, and how."""
        # Of those of one second, a process that failed by itself before those that were stopped for it.
        rank = min(
            self.failures, key=lambda each: (self.failures[each].timestamp, self.failures[each].exitcode < 0)
        )
        return rank, self.failures[rank]

    def format_msg(self, boarder_delim: str = "=", section_delim: str = "-") -> str:
        """All failures as a text."""
        first, _ = self.get_first_failure()
        others = [
            _told(at, rank, self.failures[rank]) for at, rank in enumerate(self.failures) if rank != first
        ]
        root = _told(list(self.failures).index(first), first, self.failures[first])
        title = f"{self.name} FAILED"
        wide = max(60, len(title))
        return "\n".join(
            [
                "",
                boarder_delim * wide,
                title,
                section_delim * wide,
                "Failures:",
                *(others or ["  <NO_OTHER_FAILURES>"]),
                section_delim * wide,
                "Root Cause (first observed failure):",
                root,
                boarder_delim * wide,
            ]
        )


def _told(at: int, rank: int, failure: ProcessFailure) -> str:
    how = f"({failure.signal_name()})" if failure.exitcode < 0 else ""
    said = failure.text or (failure.message if isinstance(failure.message, str) and failure.message else _HOW)
    said = said.replace("\n", "\n    ")
    return (
        f"[{at}]:\n  time      : {failure.timestamp_isoformat()}\n  host      : {socket.gethostname()}\n"
        f"  rank      : {rank} (local_rank: {failure.local_rank})\n"
        f"  exitcode  : {failure.exitcode} (pid: {failure.pid}) {how}\n  error_file: {failure.error_file}\n"
        f"  traceback : {said}"
    )
