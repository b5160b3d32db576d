"""Host time of a captured training step beside that of its operators, on the software NPU.

    MINDTORCH_NPU=soft python benchmarks/graph_step.py [--blocks 30] [--layers 2]

A small GPT makes steps of AdamW, by turns with its operators and as a replay of a graph that was captured from such a
step. The stream is held back while a step is measured and catches up afterwards: the time until the calls return is
seen, not what the device does with them. Two copies of the model train, one either way; their losses must be equal.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

from gpt_step import gpt_step


def host_time(torch: Any, step: Callable[[], Any]) -> float:
    """Milliseconds until the step is enqueued."""
    from mindtorch_v2 import softnpu

    torch.npu.synchronize()
    with softnpu.gate(torch.npu.current_stream().npu_stream):
        begin = time.perf_counter()
        step()
        end = time.perf_counter()
    torch.npu.synchronize()
    return (end - begin) * 1e3


def main() -> None:
    parser = argparse.ArgumentParser(description="Time a captured training step beside its operators.")
    parser.add_argument("--blocks", type=int, default=30, help="pairs of steps")
    # A held stream takes 1024 tasks before a launch waits.
    parser.add_argument(
        "--layers", type=int, default=2, help="of the model; at most 3, so that a step fits the stream"
    )
    options = parser.parse_args()
    if options.blocks < 1 or not 1 <= options.layers <= 3:
        parser.error("--blocks must be at least 1, --layers from 1 to 3")

    import mindtorch_v2 as torch

    size = {"layers": options.layers, "width": 64, "context": 32, "capturable": True}
    eager, to_capture = gpt_step(torch, "npu", **size), gpt_step(torch, "npu", **size)
    losses = []
    for step in (eager, to_capture):
        side = torch.npu.Stream()
        side.wait_stream(torch.npu.current_stream())
        with torch.npu.stream(side):
            losses.append([step().item() for _ in range(3)])
        torch.npu.current_stream().wait_stream(side)
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        captured = to_capture()
    pairs = []
    last: dict[str, Any] = {}

    def eager_step() -> None:
        last["eager"] = eager()

    for _ in range(options.blocks):
        pairs.append((host_time(torch, eager_step), host_time(torch, graph.replay)))
        losses[0].append(last["eager"].item())
        losses[1].append(captured.item())
    for name, times in zip(("operators", "replay"), zip(*pairs, strict=True), strict=True):
        print(f"{name:10} {statistics.median(times):8.3f} ms")
    ratio = statistics.median(replay / operators for operators, replay in pairs)
    print(f"replay / operators {ratio:.4f}")
    difference = max(abs(a - b) for a, b in zip(*losses, strict=True))
    print(f"losses {losses[0][0]:.4f} -> {losses[0][-1]:.4f}, largest difference {difference:.2e}")
    if difference > 1e-4:
        raise SystemExit("benchmarks/graph_step.py: the replays train differently")


if __name__ == "__main__":
    main()
