"""Where the processes' output goes: to the console, to files, or both with the name of the process before each line."""

from __future__ import annotations

import os
import re
import selectors
import sys
import tempfile
import threading
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from enum import IntFlag
from typing import Any, BinaryIO, TextIO


class Std(IntFlag):
    """Streams of a process."""

    NONE = 0
    OUT = 1
    ERR = 2
    ALL = OUT | ERR

    @classmethod
    def from_str(cls, vm: str) -> Std | dict[int, Std]:
        """``"3"`` for all processes, or ``"0:1,2:3"`` by local rank."""
        if re.fullmatch(r"[0-3]", vm):
            return cls(int(vm))
        if re.fullmatch(r"\d+:[0-3](,\d+:[0-3])*", vm):
            return {int(rank): cls(int(value)) for rank, value in (each.split(":") for each in vm.split(","))}
        raise ValueError(
            f"{vm!r} does not say which streams are meant: give 0 to 3 (1 for stdout, 2 for stderr), or a list such as "
            "0:1,1:2 of local ranks and streams"
        )


def _of(which: Std | dict[int, Std], rank: int) -> Std:
    return which.get(rank, Std.NONE) if isinstance(which, dict) else which


def to_map(val_or_map: Std | dict[int, Std], local_world_size: int) -> dict[int, Std]:
    """The streams of each of so many processes."""
    return {rank: _of(val_or_map, rank) for rank in range(local_world_size)}


@dataclass
class LogsDest:
    """Files of one attempt by local rank; an empty name is the console alone."""

    stdouts: dict[int, str] = field(default_factory=dict)
    stderrs: dict[int, str] = field(default_factory=dict)
    tee_stdouts: dict[int, str] = field(default_factory=dict)
    tee_stderrs: dict[int, str] = field(default_factory=dict)
    error_files: dict[int, str] = field(default_factory=dict)


class LogsSpecs(ABC):
    """Which streams go where."""

    def __init__(
        self,
        log_dir: str | None = None,
        redirects: Std | dict[int, Std] = Std.NONE,
        tee: Std | dict[int, Std] = Std.NONE,
        local_ranks_filter: set[int] | None = None,
    ) -> None:
        self._root_log_dir = log_dir
        self._redirects, self._tee, self._local_ranks_filter = redirects, tee, local_ranks_filter

    @abstractmethod
    def reify(self, envs: dict[int, dict[str, str]]) -> LogsDest:
        """Files for an attempt; ``envs`` are the environments of its processes."""

    @property
    @abstractmethod
    def root_log_dir(self) -> str:
        """The folder of all attempts."""


class DefaultLogsSpecs(LogsSpecs):
    """``<folder>/<run id>_…/attempt_<n>/<local rank>/{stdout.log, stderr.log, error.json}``."""

    def __init__(self, log_dir: str | None = None, *streams: Any, **named: Any) -> None:
        if log_dir is None:
            log_dir = tempfile.mkdtemp(prefix="torchelastic_")
        elif os.path.exists(log_dir) and not os.path.isdir(log_dir):
            raise NotADirectoryError(f"the folder for logs, {log_dir}, is a file; give another --log-dir")
        super().__init__(log_dir, *streams, **named)
        self._run_log_dir: str | None = None

    @property
    def root_log_dir(self) -> str:
        """The folder that was given, or one made for this run."""
        return str(self._root_log_dir)

    def reify(self, envs: dict[int, dict[str, str]]) -> LogsDest:
        """Makes the folders of an attempt."""
        some = next(iter(envs.values()), {})
        if self._run_log_dir is None:
            os.makedirs(self.root_log_dir, exist_ok=True)
            run = some.get("TORCHELASTIC_RUN_ID", "run").replace(os.sep, "_")
            self._run_log_dir = tempfile.mkdtemp(prefix=f"{run}_", dir=self.root_log_dir)
        attempt = os.path.join(self._run_log_dir, f"attempt_{some.get('TORCHELASTIC_RESTART_COUNT', '0')}")
        to = LogsDest()
        for rank in envs:
            folder = os.path.join(attempt, str(rank))
            os.makedirs(folder, exist_ok=True)
            to.error_files[rank] = os.path.join(folder, "error.json")
            seen = not self._local_ranks_filter or rank in self._local_ranks_filter
            for stream, name, kept, teed in (
                (Std.OUT, "stdout.log", to.stdouts, to.tee_stdouts),
                (Std.ERR, "stderr.log", to.stderrs, to.tee_stderrs),
            ):
                tee = stream in _of(self._tee, rank)
                # A process that is not to be seen on the console is redirected.
                file = tee or stream in _of(self._redirects, rank) or not seen
                kept[rank] = os.path.join(folder, name) if file else ""
                if tee and seen:
                    teed[rank] = kept[rank]
        return to


class Tee:
    """Reads what processes write, keeps it in files and shows it line by line with a prefix."""

    def __init__(self) -> None:
        self._waiting = selectors.DefaultSelector()
        self._thread: threading.Thread | None = None
        self._open = 0

    def end_for(self, path: str, prefix: str, console: TextIO) -> int:
        """The end of a pipe for a process to write to; the caller closes it once the process has it."""
        read, write = os.pipe()
        self._waiting.register(read, selectors.EVENT_READ, _Stream(open(path, "ab"), prefix, console))
        self._open += 1
        return write

    def start(self) -> None:
        """Begins to read."""
        if self._open:
            self._thread = threading.Thread(target=self._run, name="output of the processes", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Returns when all is shown that was written before the processes ended."""
        if self._thread is not None:
            self._thread.join(timeout=5)  # a process of a process may still hold the other end
        self._thread = None

    def _run(self) -> None:
        while self._open:
            for key, _ in self._waiting.select():
                part = os.read(key.fd, 1 << 16)
                key.data.add(part)
                if not part:
                    self._waiting.unregister(key.fd)
                    os.close(key.fd)
                    self._open -= 1


class _Stream:
    def __init__(self, file: BinaryIO, prefix: str, console: TextIO) -> None:
        self._file: BinaryIO | None = file
        self._prefix, self._console, self._rest = prefix, console, b""

    def add(self, part: bytes) -> None:
        self._keep(part)
        lines = (self._rest + part).split(b"\n")
        self._rest = lines.pop()
        if not part and self._rest:
            lines.append(self._rest)
        for line in lines:
            self._console.write(f"{self._prefix}{line.decode(errors='replace')}\n")
        if lines:
            self._console.flush()

    def _keep(self, part: bytes) -> None:
        if self._file is None:
            return
        try:
            self._file.write(part)
            self._file.flush()
            if part:
                return
        except OSError as error:  # a full disk must not stop the program
            self._console.write(f"{self._prefix}its log ends here: {error}\n")
        self._file.close()
        self._file = None


def console_of(stream: Std) -> TextIO:
    """Where a stream of a process is shown."""
    return sys.stdout if stream is Std.OUT else sys.stderr
