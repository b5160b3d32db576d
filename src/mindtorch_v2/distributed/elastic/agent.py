"""The agent of a machine: it comes to a round, starts the processes, watches them, and begins again when one fails."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from ..errors import DistError
from .meeting import Meeting, RendezvousClosedError, Round, Terms
from .multiprocessing import ChildFailedError, DefaultLogsSpecs, LogsSpecs, PContext, start_processes
from .multiprocessing.api import SignalException

_PATIENCE_AT_END = 300.0  # seconds for the processes of other machines to end after ours


class OtherMachineFailed(RuntimeError):
    """Processes of another machine failed for good."""


class StoreGone(OtherMachineFailed):
    """The machine whose agent has the store is not there any more."""


@dataclass
class Job:
    """What is run, as often on each machine as it says."""

    entrypoint: Callable[..., Any] | str
    args: tuple[Any, ...]
    processes: int
    terms: Terms
    role: str = "default"
    max_restarts: int = 0
    monitor_interval: float = 0.1
    start_method: str = "spawn"
    prefix: str | None = (
        None  # before each line that is shown; ${rank}, ${local_rank} and ${role_name} are replaced
    )
    logs: LogsSpecs = field(default_factory=DefaultLogsSpecs)
    signals: str = "SIGTERM,SIGINT,SIGHUP,SIGQUIT"
    shutdown_timeout: float = 30.0

    @property
    def name(self) -> str:
        """What the user calls it."""
        if not isinstance(self.entrypoint, str):
            return getattr(self.entrypoint, "__qualname__", repr(self.entrypoint))
        if self.entrypoint != sys.executable:
            return self.entrypoint
        return next((str(each) for each in self.args if not str(each).startswith("-")), self.entrypoint)


@contextmanager
def _stopped_by(names: str) -> Iterator[None]:
    """These signals raise in the main thread, so that the processes are stopped before the launcher is."""
    wanted = []
    for name in filter(None, (each.strip() for each in names.split(","))):
        if name not in signal.Signals.__members__:
            raise ValueError(
                f"there is no signal {name!r}; --signals-to-handle takes names such as SIGTERM,SIGUSR1"
            )
        wanted.append(signal.Signals[name])

    def stop(number: int, _: FrameType | None) -> None:
        sent = signal.Signals(number)
        raise SignalException(f"Process {os.getpid()} got signal: {sent.name}", sent)

    here = threading.current_thread() is threading.main_thread()
    before = {each: signal.signal(each, stop) for each in wanted} if here else {}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def surroundings(job: Job, place: Round, local_rank: int) -> dict[str, str]:
    """What a process finds in its environment."""
    rank = place.before + local_rank
    found = {
        "LOCAL_RANK": local_rank,
        "RANK": rank,
        "GROUP_RANK": place.rank,
        "ROLE_RANK": rank,
        "ROLE_NAME": job.role,
        "LOCAL_WORLD_SIZE": job.processes,
        "WORLD_SIZE": place.world_size,
        "GROUP_WORLD_SIZE": len(place.processes),
        "ROLE_WORLD_SIZE": place.world_size,
        "MASTER_ADDR": place.address,
        "MASTER_PORT": place.port,
        "TORCHELASTIC_RESTART_COUNT": place.number,
        "TORCHELASTIC_MAX_RESTARTS": job.max_restarts,
        "TORCHELASTIC_RUN_ID": job.terms.run_id,
        "TORCHELASTIC_USE_AGENT_STORE": True,  # the launcher serves the store at MASTER_ADDR
        "TORCHELASTIC_SIGNALS_TO_HANDLE": job.signals,
    }
    return {name: str(value) for name, value in found.items()}


def _start(job: Job, place: Round) -> PContext:
    envs = {rank: surroundings(job, place, rank) for rank in range(job.processes)}
    prefixes = None
    if job.prefix is not None:
        prefixes = {rank: _filled(job.prefix, envs[rank]) for rank in envs}
    args = {rank: job.args for rank in envs}
    return start_processes(job.role, job.entrypoint, args, envs, job.logs, prefixes, job.start_method)


def _filled(template: str, env: dict[str, str]) -> str:
    for name, of in (("role_name", "ROLE_NAME"), ("rank", "RANK"), ("local_rank", "LOCAL_RANK")):
        template = template.replace("${" + name + "}", env[of])
    return template


def run(job: Job) -> dict[int, Any]:
    """Runs it to its end. What functions returned on this machine, by rank; raises ChildFailedError."""
    with _stopped_by(job.signals):
        meeting = Meeting(job.terms, job.processes)
        try:
            returned = _rounds(job, meeting)
        except ChildFailedError as failed:
            rank, first = failed.get_first_failure()
            meeting.end(f"{job.name}: rank {rank} failed with exit code {first.exitcode}")
            raise
        except (SignalException, KeyboardInterrupt) as stopped:
            meeting.end(f"an agent was stopped: {stopped}")
            raise
        except StoreGone:
            raise
        except BaseException:
            meeting.leave()
            raise
        meeting.leave()
        return returned


def _rounds(job: Job, meeting: Meeting) -> dict[int, Any]:
    while True:
        place = meeting.come()
        processes = _start(job, place)
        try:
            returned = _watch(job, meeting, place, processes)
        except SignalException as stopped:
            processes.close(stopped.sigval, job.shutdown_timeout)
            raise
        finally:
            processes.close(timeout=job.shutdown_timeout)
        if returned is not None:
            return returned


def _watch(job: Job, meeting: Meeting, place: Round, processes: PContext) -> dict[int, Any] | None:
    """What they returned; None when a new round is wanted."""
    result = None
    end = None
    while True:
        if result is None:
            result = processes.wait(0)
            if result is not None and result.is_failed():
                failures = {place.before + rank: failure for rank, failure in result.failures.items()}
                failed = ChildFailedError(job.name, failures)
                if meeting.failed() > job.max_restarts:
                    raise failed
                print(f"{failed}\nstarting again: round {place.number + 1}", file=sys.stderr, flush=True)
                return None
        if result is not None and meeting.finished():
            return {place.before + rank: value for rank, value in result.return_values.items()}
        try:
            over = meeting.over()
            if over is not None:
                raise OtherMachineFailed(f"{job.name} was stopped, because on another machine {over}")
            if meeting.next_begun():
                return None
        except (DistError, RendezvousClosedError) as error:
            raise StoreGone(
                f"{job.name} was stopped: the machine that serves the store is gone ({error})"
            ) from error
        if result is not None:
            end = end or time.monotonic() + _PATIENCE_AT_END
            if time.monotonic() > end:
                raise OtherMachineFailed(
                    f"processes of other machines did not end within {_PATIENCE_AT_END:g} seconds after ours"
                )
        time.sleep(job.monitor_interval)
