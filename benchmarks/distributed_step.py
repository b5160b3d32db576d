"""Milliseconds of a training step of examples/ddp_gpt.py on several processes, beside PyTorch's over Gloo.

    python benchmarks/distributed_step.py [--ranks 2] [--rounds 15] [--steps 2] [-- options of the example]

All worlds are there at once and take turns, some steps each, so that all see the same machine; those that are not in
turn sleep. A time is that of a step on the slowest rank: the median of all rounds, and the best one. On a busy machine
a wait for a processor is most of that; the processor time of a step, of all ranks together, says what the step itself
costs. "alone" is the same without DistributedDataParallel: the rest is what averaging gradients costs.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import socket
import statistics
import subprocess
import sys
import time
from pathlib import Path

EXAMPLES = Path(__file__).parents[1] / "examples"
STARTED = {"torch": [], "mindtorch": ["-m", "mindtorch_v2", "run", "--npu", "off"]}


def measure(kind: str, steps: int, options: list[str]) -> None:
    """One process of a world: makes some steps for each line that it reads, and says what a step cost."""
    sys.path.insert(0, str(EXAMPLES))
    import ddp_gpt
    import processes
    import torch.distributed as dist

    def train(step, _):
        for _line in sys.stdin:
            step(0)
            dist.barrier()
            before, start = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
            for _ in range(steps):
                step(0)
            seconds, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF)
            busy = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            print(json.dumps([seconds / steps, busy / steps]), flush=True)
        dist.destroy_process_group()

    processes.train = train
    if kind == "alone":
        ddp_gpt.DistributedDataParallel = lambda module: module
    sys.argv = ["ddp_gpt.py", "--device", "cpu", *options]
    ddp_gpt.main()


class World:
    """The processes of a library, and the pipes to them."""

    def __init__(self, library: str, kind: str, arguments: argparse.Namespace) -> None:
        command = [sys.executable, "-W", "ignore", *STARTED[library], __file__, "--measure", kind]
        command += ["--steps", str(arguments.steps), "--", *arguments.options]
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = str(probe.getsockname()[1])
        shared = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": str(arguments.ranks)}
        shared = os.environ | shared | {"OMP_NUM_THREADS": "1"}
        self.name, self.found = f"{library}, {kind}", []
        self.ranks = [
            subprocess.Popen(
                command,
                env=shared | {"RANK": str(rank), "LOCAL_RANK": str(rank)},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for rank in range(arguments.ranks)
        ]

    def turn(self) -> None:
        """Some steps; keeps the time of the slowest rank, and the processor time of all."""
        for rank in self.ranks:
            print("go", file=rank.stdin, flush=True)
        times, busy = zip(*(json.loads(rank.stdout.readline()) for rank in self.ranks), strict=True)
        self.found.append((max(times), sum(busy)))

    def stop(self) -> None:
        for rank in self.ranks:
            rank.stdin.close()
        for rank in self.ranks:
            rank.wait(60)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--steps", type=int, default=2, help="of a turn")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    parser.add_argument("options", nargs="*", help="of the example, after --")
    arguments = parser.parse_args()
    if arguments.measure:
        return measure(arguments.measure, arguments.steps, arguments.options)
    worlds = [World(library, kind, arguments) for kind in ("DDP", "alone") for library in STARTED]
    for number in range(arguments.rounds + 1):
        for world in worlds:
            world.turn()
            if number == 0:
                world.found.clear()  # the first turn makes what later ones use again
    for world in worlds:
        world.stop()
    print(f"a step of ddp_gpt.py, {arguments.ranks} processes: milliseconds, and x times PyTorch's")
    print(f"{'':20}{'median':>16}{'best':>16}{'processor time':>18}")
    for at, world in enumerate(worlds):
        theirs, own = (summary(each.found) for each in (worlds[at - at % 2], world))
        cells = [f"{mine:9.2f} {mine / other:5.2f}x" for mine, other in zip(own, theirs, strict=True)]
        print(f"{world.name:20}{cells[0]:>16}{cells[1]:>16}{cells[2]:>18}")
    return None


def summary(found: list[tuple[float, float]]) -> tuple[float, float, float]:
    """Median and best time, and the median of the processor time, in milliseconds."""
    times, busy = zip(*found, strict=True)
    return statistics.median(times) * 1e3, min(times) * 1e3, statistics.median(busy) * 1e3


if __name__ == "__main__":
    main()
