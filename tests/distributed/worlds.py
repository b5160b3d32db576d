"""Starts processes that form a world, for tests: each runs the same text with its rank."""

import importlib.util
import itertools
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from mindtorch_v2.distributed.engines.mpi import packaged

_LONGEST = 100  # seconds that a world may take

_START = f"""
import faulthandler, os, sys, threading, time
faulthandler.dump_traceback_later({_LONGEST - 20}, exit=True)  # who hangs says where
from datetime import timedelta
from pathlib import Path
import mindtorch_v2 as torch
import mindtorch_v2.distributed as dist
rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])

def error_of(call, kind=RuntimeError):
    try:
        call()
    except kind as error:
        return str(error)
    raise AssertionError("nothing was raised")

if meeting := os.environ.get("WORLD_MEETS"):  # time limits begin when all have started, however long that took
    Path(meeting, str(rank)).touch()
    while len(os.listdir(meeting)) < size:
        time.sleep(0.01)
"""


@dataclass
class Ended:
    """How a process ended."""

    code: int
    said: str
    seconds: float


_meetings: list[tempfile.TemporaryDirectory[str]] = []  # removed when the tests end

# Below the ports that a system gives to whoever asks for any, and others for each process that runs tests.
_ports = itertools.count(
    10_000 + 1_000 * int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:]) + os.getpid() % 500
)


def free_port() -> int:
    for port in _ports:
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise AssertionError("unreachable: ports are counted without end")


def program(text: str, backend: str, seconds: float) -> str:
    """The text, after a group of all was made; a group is not made for no backend."""
    made = f"dist.init_process_group({backend!r}, timeout=timedelta(seconds={seconds}))\n" if backend else ""
    return _START + made + textwrap.dedent(text)


def start(text: str, size: int = 2, backend: str = "gloo", seconds: float = 20, **environment: str):
    """The processes of a world, started."""
    port = str(free_port())
    _meetings.append(tempfile.TemporaryDirectory())
    shared = (
        os.environ
        | {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": str(size)}
        | {"WORLD_MEETS": _meetings[-1].name}
        | environment
    )
    return [
        subprocess.Popen(
            [sys.executable, "-c", program(text, backend, seconds)],
            env=shared | {"RANK": str(rank), "LOCAL_RANK": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in range(size)
    ]


def run(
    text: str, size: int = 2, backend: str = "gloo", seconds: float = 20, **environment: str
) -> list[Ended]:
    """How each process of a world ended; none is left."""
    began = time.monotonic()
    processes = start(text, size, backend, seconds, **environment)
    try:
        return [_ended(process, began) for process in processes]
    finally:
        for process in processes:
            process.kill()


def _ended(process: subprocess.Popen, began: float) -> Ended:
    said = process.communicate(timeout=_LONGEST)[0]
    return Ended(process.returncode, said, time.monotonic() - began)


def check(text: str, size: int = 2, backend: str = "gloo", seconds: float = 20, **environment: str) -> None:
    """Every process of a world ends well."""
    for rank, ended in enumerate(run(text, size, backend, seconds, **environment)):
        assert ended.code == 0, f"rank {rank} ended with {ended.code}:\n{ended.said}"


def mpiexec() -> str | None:
    """The starter of MPI's processes that belongs to this environment."""
    return str(packaged("mpiexec") or shutil.which("mpiexec") or "") or None


needs_mpi = pytest.mark.skipif(
    importlib.util.find_spec("mpi4py") is None or mpiexec() is None,
    reason="the extra 'distributed' is not installed",
)


def run_mpi(text: str, size: int, seconds: float = 20, around: Sequence[str] = ()) -> Ended:
    """How a world of MPI ended; ``around`` is a command that runs each process."""
    began = time.monotonic()
    text = "import os\nos.environ['RANK'] = os.environ['PMI_RANK']\n" + program(text, "mpi", seconds)
    ended = subprocess.run(
        [mpiexec(), "-n", str(size), *around, sys.executable, "-c", text],
        env=os.environ | {"WORLD_SIZE": str(size)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=_LONGEST,
    )
    return Ended(ended.returncode, ended.stdout, time.monotonic() - began)
