"""Microseconds of an all_reduce between processes of this machine, beside PyTorch's Gloo.

    python benchmarks/distributed.py [--ranks 2] [--rounds 20] [--backends gloo,mpi]

All worlds are there at once and take turns, some calls each, so that all see the same machine; those that are not in
turn sleep. A time is that of a call in a row of calls, on the slowest rank; the median of all rounds and the best one
are given, and their ratios to PyTorch's. On a busy machine a wait for a processor is most of that: the processor time
of a call of all ranks, and how often a thread of theirs went to sleep, say what the call itself costs.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import resource
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

SIZES = {"4 B": 1, "4 KiB": 1 << 10, "4 MiB": 1 << 20, "64 MiB": 1 << 24}  # elements of float32
CALLS = {"4 B": 50, "4 KiB": 50, "4 MiB": 5, "64 MiB": 1}  # in a row


def measure(framework: str, backend: str, control: str) -> None:
    """One process of a world: does what it is told through a socket, and says what it cost."""
    torch = importlib.import_module(framework)
    dist = importlib.import_module(f"{framework}.distributed")
    if backend == "mpi":
        os.environ["RANK"] = os.environ["PMI_RANK"]
    dist.init_process_group(backend)
    tensors = {name: torch.ones(count) for name, count in SIZES.items()}
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(control)
        told = connection.makefile("rw")
        for line in told:
            tensor, calls = tensors[line.strip()], CALLS[line.strip()]
            tensor.fill_(1.0)
            dist.all_reduce(tensor)
            assert tensor[0] == dist.get_world_size()
            tensor.fill_(0.0)
            dist.barrier()
            before, start = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
            for _ in range(calls):
                dist.all_reduce(tensor)
            seconds, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF)
            busy = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            print(
                json.dumps([seconds / calls, busy / calls, (after.ru_nvcsw - before.ru_nvcsw) / calls]),
                file=told,
            )
            told.flush()
    dist.destroy_process_group()


def mpiexec() -> str:
    """The starter of MPI's processes: that of the package mpich, or of the machine."""
    from mindtorch_v2.distributed.engines.mpi import packaged

    found = packaged("mpiexec") or shutil.which("mpiexec")
    if found is None:
        raise SystemExit("mpiexec is not installed: pip install 'mindtorch_v2[distributed]'")
    return str(found)


class World:
    """The processes of a backend, and the connections to them."""

    def __init__(self, framework: str, backend: str, ranks: int, folder: Path) -> None:
        control = str(folder / f"{framework} {backend}")
        command = [sys.executable, "-W", "ignore", __file__, "--measure", framework, backend, control]
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = str(probe.getsockname()[1])
        shared = os.environ | {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": str(ranks)}
        shared["OMP_NUM_THREADS"] = "1"
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(control)
            listener.listen(ranks)
            listener.settimeout(120)
            if backend == "mpi":
                self.processes = [subprocess.Popen([mpiexec(), "-n", str(ranks), *command], env=shared)]
            else:
                self.processes = [
                    subprocess.Popen(command, env=shared | {"RANK": str(rank)}) for rank in range(ranks)
                ]
            self.ranks = [listener.accept()[0].makefile("rw") for _ in range(ranks)]
        self.found: dict[str, list[tuple[float, float, float]]] = {name: [] for name in SIZES}

    def turn(self, name: str) -> None:
        """Some calls in a row; keeps the time of the slowest rank, and what all cost."""
        for rank in self.ranks:
            print(name, file=rank, flush=True)
        each = [json.loads(rank.readline()) for rank in self.ranks]
        times, busy, sleeps = zip(*each, strict=True)
        self.found[name].append((max(times), sum(busy), sum(sleeps)))

    def stop(self) -> None:
        for rank in self.ranks:
            rank.close()
        for process in self.processes:
            process.wait(60)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--backends", default="gloo,mpi")
    parser.add_argument("--sizes", default=",".join(SIZES))
    parser.add_argument("--measure", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        return measure(*arguments.measure)
    names = arguments.sizes.split(",")
    with tempfile.TemporaryDirectory() as folder:
        kinds = [("torch", "gloo"), *(("mindtorch_v2", each) for each in arguments.backends.split(","))]
        worlds = [World(*kind, arguments.ranks, Path(folder)) for kind in kinds]
        for _ in range(arguments.rounds):
            for name in names:
                for world in worlds:
                    world.turn(name)
        for world in worlds:
            world.stop()
    print(
        f"all_reduce of {arguments.ranks} processes: microseconds, median (best), and x times PyTorch's Gloo"
    )
    for name in names:
        print(name)
        theirs = None
        for kind, world in zip(kinds, worlds, strict=True):
            theirs = theirs or summary(world.found[name])
            print(f"  {' '.join(kind):20}{line(summary(world.found[name]), theirs)}")
    return None


def summary(found: list[tuple[float, float, float]]) -> dict[str, float]:
    """Of all rounds of a world."""
    times, busy, sleeps = zip(*found, strict=True)
    return {
        "time": statistics.median(times) * 1e6,
        "best": min(times) * 1e6,
        "busy": statistics.median(busy) * 1e6,
        "sleeps": statistics.median(sleeps),
    }


def line(own: dict[str, Any], theirs: dict[str, Any]) -> str:
    """A row of the table."""
    times = {name: f"{own[name] / theirs[name]:.2f}x" for name in own}
    return (
        f"{own['time']:>9.0f} ({own['best']:.0f})".ljust(20)
        + f"{times['time']} ({times['best']})".ljust(16)
        + f"processor {own['busy']:.0f} {times['busy']}".ljust(26)
        + f"sleeps {own['sleeps']:.1f}"
    )


if __name__ == "__main__":
    main()
