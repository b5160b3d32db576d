"""Compares what HolisticTraceAnalysis finds in our traces with our own key_averages().

    python tools/check_trace_with_hta.py record traces [--device cuda]   # with mindtorch_v2: records training steps
    python tools/check_trace_with_hta.py compare traces                  # with HolisticTraceAnalysis 0.5.0 installed

They are two steps because the analyser brings an environment of its own. The second ends with an error if a figure is
more than 1 % off. A GPT is trained alone, and an MLP by two processes with an NPU each: their communication and how
much of it lies beside computation must be what the intervals of the trace say. On a GPU there is the GPT alone.
"""

import argparse
import gzip
import json
import multiprocessing
import os
import sys
from pathlib import Path

LIMIT = 0.01
RANKS = 2


def record(folder: Path, device: str) -> None:
    sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
    from gpt_step import gpt_step

    import mindtorch_v2 as torch

    folder.mkdir(parents=True, exist_ok=True)
    step = gpt_step(torch, device)
    step().item()
    plan = torch.profiler.schedule(wait=0, warmup=1, active=3, repeat=1)
    # The analyser looks for the names of CUDA's calls.
    cuda = torch.profiler._ExperimentalConfig(custom_profiler_config="names=cuda")
    with torch.profiler.profile(schedule=plan, record_shapes=True, experimental_config=cuda) as prof:
        for _ in range(4):
            step().item()
            prof.step()
    prof.export_chrome_trace(folder / "rank0.json.gz")
    on_device = [row for row in prof.key_averages() if row.device_type.name == device.upper()]
    figures = {row.key: (row.self_device_time_total, row.count) for row in on_device}
    (folder / "key_averages.txt").write_text(json.dumps(figures))
    print(f"{sum(count for _, count in figures.values())} tasks in {folder}")


def record_rank(rank: int, folder: Path) -> None:
    """One of two processes that train together."""
    import mindtorch_v2 as torch
    from mindtorch_v2 import distributed as dist

    torch.npu.set_device(rank)
    dist.init_process_group("hccl", init_method=f"file://{folder}/store", rank=rank, world_size=RANKS)
    layers = [layer for _ in range(6) for layer in (torch.nn.Linear(512, 512), torch.nn.ReLU())]
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(*layers).npu(), bucket_cap_mb=1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    inputs = torch.randn(256, 512, device="npu")

    def step() -> None:
        optimizer.zero_grad()
        model(inputs).square().mean().backward()
        optimizer.step()
        torch.npu.synchronize()

    step()
    step()  # the buckets are made anew after the first pass
    cuda = torch.profiler._ExperimentalConfig(custom_profiler_config="names=cuda")
    plan = torch.profiler.schedule(wait=0, warmup=1, active=3, repeat=1)
    with torch.profiler.profile(schedule=plan, experimental_config=cuda) as prof:
        for _ in range(4):
            step()
            prof.step()
    prof.export_chrome_trace(folder / f"ddp_rank{rank}.json.gz")
    dist.destroy_process_group()


def record_ranks(folder: Path) -> None:
    os.environ["SOFTNPU_DEVICES"] = str(RANKS)
    (folder / "store").unlink(missing_ok=True)
    spawn = multiprocessing.get_context("spawn")
    ranks = [spawn.Process(target=record_rank, args=(rank, folder.resolve())) for rank in range(RANKS)]
    for rank in ranks:
        rank.start()
    for rank in ranks:
        rank.join()
    if any(rank.exitcode for rank in ranks):
        sys.exit("a rank failed")


def length(spans: list[tuple[float, float]]) -> float:
    """Of what at least one of them covers."""
    total, end = 0.0, float("-inf")
    for first, last in sorted(spans):
        total += max(0.0, last - max(first, end))
        end = max(end, last)
    return total


def communication(path: Path) -> tuple[float, float]:
    """Microseconds of communication in a trace, and the percentage of it beside computation."""
    trace = json.loads(gzip.decompress(path.read_bytes()))
    tasks = [each for each in trace["traceEvents"] if each.get("cat") == "kernel"]
    spans = {True: [], False: []}
    for task in tasks:
        spans["Collective name" in task["args"]].append((task["ts"], task["ts"] + task["dur"]))
    both = length(spans[True]) + length(spans[False]) - length(spans[True] + spans[False])
    return length(spans[True]), 100 * both / length(spans[True])


def compare_ranks(folder: Path) -> float:
    """The largest difference."""
    from hta.trace_analysis import TraceAnalysis

    files = {rank: str(folder / f"ddp_rank{rank}.json.gz") for rank in range(RANKS)}
    analysis = TraceAnalysis(trace_files=files, trace_dir=str(folder), include_last_profiler_step=True)
    overlap = analysis.get_comm_comp_overlap(visualize=False)
    print(analysis.get_temporal_breakdown(visualize=False).to_string())
    types, _ = analysis.get_gpu_kernel_breakdown(visualize=False)
    print(types.to_string())
    if "COMMUNICATION" not in set(types["kernel_type"]):
        sys.exit("HTA finds no communication")
    worst = 0.0
    for rank in range(RANKS):
        time, share = communication(Path(files[rank]))
        found = float(overlap[overlap["rank"] == rank]["comp_comm_overlap_pctg"].iloc[0])
        worst = max(worst, abs(share - found) / 100)
        print(
            f"rank {rank}: {time:.1f} µs of communication, beside computation {share:.2f} %, HTA finds {found:.2f} %"
        )
    return worst


def compare(folder: Path) -> None:
    # By default HTA cuts times to microseconds, against events that overlap by rounding. Ours do not, and tasks of
    # the software NPU are a few microseconds long.
    os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"
    from hta.trace_analysis import TraceAnalysis

    ours = json.loads((folder / "key_averages.txt").read_text())
    is_memory = {name: name.startswith(("Memcpy", "Memset")) for name in ours}
    ours_by_type = {
        "COMPUTATION": sum(time for name, (time, _) in ours.items() if not is_memory[name]),
        "MEMORY": sum(time for name, (time, _) in ours.items() if is_memory[name]),
    }
    analysis = TraceAnalysis(
        trace_files={0: str(folder / "rank0.json.gz")}, trace_dir=str(folder), include_last_profiler_step=True
    )
    worst = 0.0

    def line(what: str, mine: float, found: float, cut: int = 0) -> None:
        """`cut`: how many times HTA has cut to whole microseconds in the sum."""
        nonlocal worst
        off = max(abs(found - mine) - cut, 0) / mine
        worst = max(worst, off)
        print(f"{what:60} {mine:14.1f} {found:14.1f} {100 * off:8.3f} %")

    print(f"{'':60} {'ours, µs':>14} {'HTA, µs':>14}")
    temporal = analysis.get_temporal_breakdown(visualize=False)
    print(temporal.to_string())
    line("temporal breakdown: compute", ours_by_type["COMPUTATION"], float(temporal["compute_time(us)"][0]))
    busy = float(temporal["compute_time(us)"][0] + temporal["non_compute_time(us)"][0])
    line("temporal breakdown: busy", sum(ours_by_type.values()), busy)
    types, kernels = analysis.get_gpu_kernel_breakdown(
        visualize=False, num_kernels=1000, duration_ratio=1.0, include_memory_kernels=True
    )
    for kind, found in zip(types["kernel_type"], types["sum"], strict=True):
        if kind in ours_by_type:
            count = sum(count for name, (_, count) in ours.items() if is_memory[name] == (kind == "MEMORY"))
            line(f"kernel breakdown: {kind}", ours_by_type[kind], float(found), cut=count)
    for name, found in zip(kernels["name"], kernels["sum (us)"], strict=True):
        if name in ours:
            line(f"kernel breakdown: {name}", ours[name][0], float(found))
    if list(folder.glob("ddp_rank*")):
        worst = max(worst, compare_ranks(folder))
    missing = set(ours) - set(kernels["name"])
    print(f"the largest difference is {100 * worst:.3f} %; not listed by HTA: {sorted(missing) or 'none'}")
    if worst > LIMIT or missing:
        sys.exit(1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("record", "compare"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--device", choices=("npu", "cuda"), default="npu")
    options = parser.parse_args()
    if options.what == "compare":
        compare(options.folder)
    else:
        record(options.folder, options.device)
        if options.device == "npu":
            record_ranks(options.folder)


if __name__ == "__main__":
    main()
