"""Compares what HolisticTraceAnalysis finds in our traces with our own key_averages().

    python tools/check_trace_with_hta.py record traces    # with mindtorch_v2: records a training step on the NPU
    python tools/check_trace_with_hta.py compare traces   # with HolisticTraceAnalysis 0.5.0 installed

They are two steps because the analyser brings an environment of its own. The second ends with an error if a figure is
more than 1 % off.
"""

import argparse
import json
import os
import sys
from pathlib import Path

LIMIT = 0.01


def record(folder: Path) -> None:
    sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
    from gpt_step import gpt_step

    import mindtorch_v2 as torch

    folder.mkdir(parents=True, exist_ok=True)
    step = gpt_step(torch, "npu")
    step().item()
    plan = torch.profiler.schedule(wait=0, warmup=1, active=3, repeat=1)
    # The analyser looks for the names of CUDA's calls.
    cuda = torch.profiler._ExperimentalConfig(custom_profiler_config="names=cuda")
    with torch.profiler.profile(schedule=plan, record_shapes=True, experimental_config=cuda) as prof:
        for _ in range(4):
            step().item()
            prof.step()
    prof.export_chrome_trace(folder / "rank0.json.gz")
    on_device = [row for row in prof.key_averages() if row.device_type is torch.profiler.DeviceType.NPU]
    figures = {row.key: (row.self_device_time_total, row.count) for row in on_device}
    (folder / "key_averages.txt").write_text(json.dumps(figures))
    print(f"{sum(count for _, count in figures.values())} tasks in {folder}")


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
    missing = set(ours) - set(kernels["name"])
    print(f"the largest difference is {100 * worst:.3f} %; not listed by HTA: {sorted(missing) or 'none'}")
    if worst > LIMIT or missing:
        sys.exit(1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("record", "compare"))
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    (record if options.what == "record" else compare)(options.folder)


if __name__ == "__main__":
    main()
