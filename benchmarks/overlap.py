"""Which share of the communication of data parallel training lies beside the backward pass, from traces.

    python benchmarks/overlap.py [--backends gloo,mpi,hccl] [--layers 40] [--width 1024] [--bucket-mb 8] [--traces out]

Two processes train a stack of linear layers with DistributedDataParallel; each exports the trace of a few steps. A
collective counts as far as it lies between the first and the last computation of a backward pass: of the host's nodes,
or on NPUs of the tasks that they launched. Waiting for a late process is no communication: a collective begins when
both take part, and the pass is that of the process that ends it last. What cannot lie there is the last bucket, which
is full when the pass is over, so the number of buckets bounds the share: a model of 1 GB has 40 of the default size,
this one 20 of its own.
"""

import argparse
import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

RANKS, STEPS = 2, 3
Span = tuple[float, float]


def train(backend: str, options: dict[str, Any]) -> None:
    """One process."""
    import mindtorch_v2 as torch
    from mindtorch_v2 import distributed as dist

    if backend == "mpi":
        os.environ["RANK"] = os.environ["PMI_RANK"]
    rank = int(os.environ["RANK"])
    device = "npu" if backend == "hccl" else "cpu"
    if device == "npu":
        torch.npu.set_device(rank)
    torch.set_num_threads(1)
    dist.init_process_group(backend)
    width = options["width"]
    layers = [torch.nn.Linear(width, width, device=device) for _ in range(options["layers"])]
    model = torch.nn.parallel.DistributedDataParallel(
        torch.nn.Sequential(*layers), bucket_cap_mb=options["bucket_mb"], gradient_as_bucket_view=True
    )
    inputs = torch.randn(options["batch"], width, device=device)

    def step() -> None:
        with torch.profiler.record_function("forward"):
            loss = model(inputs).square().mean()
        with torch.profiler.record_function("backward"):
            loss.backward()
        if device == "npu":
            torch.npu.synchronize()

    for _ in range(2):
        step()  # the buckets are made anew after the first pass
    dist.barrier()
    with torch.profiler.profile() as prof:
        for number in range(STEPS):
            with torch.profiler.record_function(f"step {number}"):
                step()
    prof.export_chrome_trace(Path(options["traces"]) / f"{backend}_rank{rank}.json")
    dist.destroy_process_group()


def length(spans: Iterable[Span]) -> float:
    """Of what at least one of them covers."""
    total, end = 0.0, float("-inf")
    for first, last in sorted(spans):
        total += max(0.0, last - max(first, end))
        end = max(end, last)
    return total


def span(event: dict[str, Any]) -> Span:
    return event["ts"], event["ts"] + event["dur"]


def inside(spans: Iterable[Span], around: Iterable[Span]) -> list[Span]:
    """What of the spans lies in those around."""
    pairs = ((max(a[0], b[0]), min(a[1], b[1])) for a in spans for b in around)
    return [each for each in pairs if each[0] < each[1]]


class Trace:
    """The spans of one rank's trace."""

    def __init__(self, path: Path) -> None:
        events = json.loads(path.read_text())["traceEvents"]
        done = [e for e in events if e["ph"] == "X"]
        self.tasks = [e for e in done if e["cat"] == "kernel"]
        carried = [e for e in self.tasks or done if "bandwidth (GB/s)" in e.get("args", {})]
        self.collectives = {e["args"]["Seq"]: span(e) for e in carried}
        self.nodes = [span(e) for e in done if e["name"].startswith("autograd::engine::evaluate_function")]
        self.launched = {e["id"]: e["ts"] for e in events if e["ph"] == "s" and e["cat"] == "ac2g"}
        annotations = [e for e in done if e["cat"] == "user_annotation"]
        self.steps = sorted(span(e) for e in annotations if e["name"].startswith("step "))

    def backward(self, step: Span) -> Span:
        """From the first to the last computation of the backward pass."""
        computed = inside(self.nodes, [step])
        if self.tasks:
            first, last = min(computed)[0], max(last for _, last in computed)
            computed = [
                span(task)
                for task in self.tasks
                if "Collective name" not in task["args"]
                and first <= self.launched[task["args"]["correlation"]] <= last
            ]
        return min(computed)[0], max(last for _, last in computed)


def shares(traces: list[Trace]) -> list[tuple[float, float]]:
    """Of each step: microseconds of communication, and the share of them beside the backward pass."""
    found = []
    for steps in zip(*(trace.steps for trace in traces), strict=True):
        passes = [trace.backward(step) for trace, step in zip(traces, steps, strict=True)]
        last = max(range(len(traces)), key=lambda rank: passes[rank][1])
        own = traces[last].collectives
        spans = [(max(trace.collectives[number][0] for trace in traces), own[number][1]) for number in own]
        communication = inside(spans, [steps[last]])
        beside = inside(communication, [passes[last]])
        found.append((length(communication), length(beside) / length(communication)))
    return found


def run(backend: str, options: dict[str, Any]) -> None:
    """A world of processes, and what their traces say."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    shared = os.environ | {
        "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": str(RANKS), "OMP_NUM_THREADS": "1",
    }  # fmt: skip
    if backend == "hccl":
        shared |= {"MINDTORCH_NPU": "soft", "SOFTNPU_DEVICES": str(RANKS)}
    command = [sys.executable, __file__, "--train", json.dumps([backend, options])]
    if backend == "mpi":
        places = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
        starter = shutil.which("mpiexec", path=places)
        if starter is None:
            raise SystemExit("mpiexec is not installed: pip install 'mindtorch_v2[distributed]'")
        processes = [subprocess.Popen([starter, "-n", str(RANKS), *command], env=shared)]
    else:
        processes = [subprocess.Popen(command, env=shared | {"RANK": str(rank)}) for rank in range(RANKS)]
    if any([process.wait() for process in processes]):
        raise SystemExit(f"{backend} failed")
    traces = [Trace(Path(options["traces"]) / f"{backend}_rank{rank}.json") for rank in range(RANKS)]
    steps = shares(traces)
    for number, (total, share) in enumerate(steps):
        print(
            f"{backend:5} step {number}: {total / 1000:8.1f} ms of communication, {share:6.1%} beside backward"
        )
    beside = sum(total * share for total, share in steps) / sum(total for total, _ in steps)
    print(f"{backend:5} all: {beside:.1%}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--backends", default="gloo,mpi,hccl")
    parser.add_argument("--layers", type=int, default=40)
    parser.add_argument("--width", type=int, default=1024)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--bucket-mb", type=float, default=8)
    parser.add_argument("--traces", default="out/overlap", help="the folder for the traces")
    parser.add_argument("--train", help=argparse.SUPPRESS)
    options = vars(parser.parse_args())
    given, backends = options.pop("train"), options.pop("backends")
    if given:
        return train(*json.loads(given))
    Path(options["traces"]).mkdir(parents=True, exist_ok=True)
    for backend in backends.split(","):
        run(backend, options)
    return None


if __name__ == "__main__":
    main()
