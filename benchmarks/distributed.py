"""Microseconds of an all_reduce between processes of this machine, beside PyTorch's Gloo.

    python benchmarks/distributed.py [--ranks 2] [--rounds 3] [--backends gloo,mpi]

The worlds run in turn, so that all see the same machine; a number is the median of all calls of all rounds on rank 0,
the ratio that of the medians. The best call is given too: on a loaded machine medians say how busy it was.
"""

import argparse
import importlib
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import time
from pathlib import Path

SIZES = {"4 B": 1, "4 KiB": 1 << 10, "4 MiB": 1 << 20, "64 MiB": 1 << 24}  # elements of float32
CALLS = {"4 B": 200, "4 KiB": 200, "4 MiB": 20, "64 MiB": 5}


def measure(framework: str, backend: str) -> None:
    """One process of a world; rank 0 prints the seconds of each call."""
    torch = importlib.import_module(framework)
    dist = importlib.import_module(f"{framework}.distributed")
    if backend == "mpi":
        os.environ["RANK"] = os.environ["PMI_RANK"]
    dist.init_process_group(backend)
    found = {}
    for name, count in SIZES.items():
        tensor = torch.ones(count)
        for _ in range(3):
            dist.all_reduce(tensor)
        times = []
        for _ in range(CALLS[name]):
            tensor.fill_(1.0)
            dist.barrier()
            start = time.perf_counter()
            dist.all_reduce(tensor)
            times.append(time.perf_counter() - start)
        assert tensor[0] == dist.get_world_size()
        found[name] = times
    if dist.get_rank() == 0:
        print(json.dumps(found))
    dist.destroy_process_group()


def world(framework: str, backend: str, ranks: int) -> dict[str, list[float]]:
    """The times of a world of that many processes."""
    command = [sys.executable, "-W", "ignore", __file__, "--measure", framework, backend]
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    shared = os.environ | {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": str(ranks)}
    shared["OMP_NUM_THREADS"] = "1"
    if backend == "mpi":
        places = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
        started = shutil.which("mpiexec", path=places)
        if started is None:
            raise SystemExit("mpiexec is not installed: pip install 'mindtorch_v2[distributed]'")
        command = [started, "-n", str(ranks), *command]
        return json.loads(
            subprocess.run(command, env=shared, check=True, capture_output=True, text=True).stdout
        )
    processes = [
        subprocess.Popen(command, env=shared | {"RANK": str(rank)}, stdout=subprocess.PIPE, text=True)
        for rank in range(ranks)
    ]
    said = [process.communicate()[0] for process in processes]
    if any(process.returncode for process in processes):
        raise SystemExit(f"{framework} over {backend} failed")
    return json.loads(said[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--backends", default="gloo,mpi")
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        return measure(*arguments.measure)
    ours = arguments.backends.split(",")
    worlds = [("torch", "gloo"), *(("mindtorch_v2", backend) for backend in ours)]
    times: dict[tuple[str, str], dict[str, list[float]]] = {
        each: {name: [] for name in SIZES} for each in worlds
    }
    for _ in range(arguments.rounds):
        for each in worlds:
            for name, seconds in world(*each, arguments.ranks).items():
                times[each][name] += seconds
    print(f"all_reduce of {arguments.ranks} processes, microseconds: median (best), ratio to PyTorch's Gloo")
    print(f"{'':8}{'PyTorch gloo':>20}" + "".join(f"{backend:>30}" for backend in ours))
    for name in SIZES:
        theirs = times["torch", "gloo"][name]
        row = f"{name:8}{statistics.median(theirs) * 1e6:>10.0f} ({min(theirs) * 1e6:.0f})".ljust(30)
        for backend in ours:
            found = times["mindtorch_v2", backend][name]
            ratio, best = statistics.median(found) / statistics.median(theirs), min(found) / min(theirs)
            row += f"{statistics.median(found) * 1e6:>12.0f} ({min(found) * 1e6:.0f}) {ratio:.2f}x ({best:.2f}x)".ljust(
                30
            )
        print(row)
    return None


if __name__ == "__main__":
    main()
