"""Time the same eager program on PyTorch and on mindtorch_v2, and print the ratios.

    python benchmarks/host.py                        # both on cpu
    python benchmarks/host.py --device npu           # mindtorch_v2 on its NPU beside PyTorch on cpu
    python benchmarks/host.py --cases host,ew --rounds 5 --json out/bench.json

Each round runs every module once, in a process of its own and in turn, so that a machine that slows down
slows both; the table shows medians over the rounds. Only the ratio means anything: absolute times belong to
the machine. `host.*` is microseconds per call on tensors so small that only the framework's own work is
seen, and on an asynchronous device it is the time until the call returns. The other cases are milliseconds,
waiting included.
"""

import argparse
import importlib
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

REFERENCE = "torch"
CANDIDATE = "mindtorch_v2"

Case = tuple[str, Callable[[], object]]


def host_cases(torch: Any, device: str) -> Iterator[Case]:
    x = torch.randn(16, device=device)
    y = torch.randn(16, device=device)
    accumulator = torch.zeros(16, device=device)
    square = torch.randn(4, 4, device=device)
    leaf = torch.randn(16, device=device, requires_grad=True)

    def backward_of_three() -> None:
        (leaf * y + y).sum().backward()

    yield "add", lambda: x + y
    yield "add_", lambda: accumulator.add_(y)
    yield "add_scalar", lambda: x + 1.0
    yield "mul", lambda: x * y
    yield "relu", lambda: torch.relu(x)
    yield "sum", lambda: x.sum()
    yield "matmul", lambda: square @ square
    yield "softmax", lambda: torch.softmax(square, -1)
    yield "view", lambda: square.view(16)
    yield "transpose", lambda: square.t()
    yield "index", lambda: square[1]
    yield "empty", lambda: torch.empty(16, device=device)
    yield "add_grad", lambda: leaf + y
    yield "backward3", backward_of_three


def elementwise_cases(torch: Any, device: str) -> Iterator[Case]:
    x = torch.randn(1 << 20, device=device)
    y = torch.randn(1 << 20, device=device)
    rows = x.view(-1, 1024)
    yield "add", lambda: x + y
    yield "exp", lambda: torch.exp(x)
    yield "tanh", lambda: torch.tanh(x)
    yield "sum", lambda: x.sum()
    yield "sum_rows", lambda: rows.sum(-1)
    yield "sum_columns", lambda: rows.sum(0)
    yield "softmax", lambda: torch.softmax(rows, -1)
    yield "transpose_copy", lambda: rows.t().contiguous()


def matmul_cases(torch: Any, device: str) -> Iterator[Case]:
    for size in (64, 256, 1024):
        square = torch.randn(size, size, device=device)
        yield str(size), lambda square=square: square @ square


def training_cases(torch: Any, device: str) -> Iterator[Case]:
    functional = importlib.import_module(torch.__name__ + ".nn.functional")
    torch.manual_seed(0)
    for name, optimizer_class, rate in (("sgd", torch.optim.SGD, 0.1), ("adam", torch.optim.Adam, 1e-3)):
        model = torch.nn.Sequential(torch.nn.Linear(784, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10)).to(
            device
        )
        optimizer = optimizer_class(model.parameters(), lr=rate)
        images = torch.randn(64, 784).to(device)
        labels = torch.randint(0, 10, (64,)).to(device)

        def step(model=model, optimizer=optimizer, images=images, labels=labels) -> None:
            optimizer.zero_grad()
            functional.cross_entropy(model(images), labels).backward()
            optimizer.step()

        yield f"mlp_{name}", step


def optimizer_cases(torch: Any, device: str) -> Iterator[Case]:
    width, words, length = 128, 512, 64
    block = [(width,)] * 4 + [(3 * width, width), (3 * width,), (width, width), (width,)]
    block += [(4 * width, width), (4 * width,), (width, 4 * width), (width,)]
    gpt = [(words, width), (length, width), *block * 4, (width,), (width,)]
    mlp = [(256, 784), (256,), (10, 256), (10,)]
    for name, optimizer_class, shapes, options in (
        ("adamw_gpt", torch.optim.AdamW, gpt, {}),
        ("adamw_mlp", torch.optim.AdamW, mlp, {}),
        ("sgd_mlp", torch.optim.SGD, mlp, {"lr": 0.1}),
        ("sgd_momentum_gpt", torch.optim.SGD, gpt, {"lr": 0.1, "momentum": 0.9}),
        ("adamw_small", torch.optim.AdamW, [(16,)] * 50, {}),
    ):
        params = [torch.randn(*shape, device=device).requires_grad_() for shape in shapes]
        for param in params:
            param.grad = torch.full_like(param, 1e-3)
        yield name, optimizer_class(params, **options).step


GROUPS: dict[str, Callable[[Any, str], Iterator[Case]]] = {
    "host": host_cases,
    "ew": elementwise_cases,
    "mm": matmul_cases,
    "optim": optimizer_cases,
    "train": training_cases,
}


def seconds_per_call(call: Callable[[], object], synchronize: Callable[[], None], wait: bool) -> float:
    """The best of several repetitions, each long enough (about 20 ms) for the clock to be exact."""
    call()
    synchronize()
    start = time.perf_counter()
    for _ in range(5):
        call()
    synchronize()
    guess = max((time.perf_counter() - start) / 5, 1e-8)
    # Without waiting, a long loop would measure the device's queue once that is full.
    count = min(max(int(0.02 / guess), 3), 100_000 if wait else 2_000)
    best = float("inf")
    for _ in range(7):
        synchronize()
        start = time.perf_counter()
        for _ in range(count):
            call()
        if wait:
            synchronize()
        best = min(best, (time.perf_counter() - start) / count)
        synchronize()
    return best


def run_module(module: str, device: str, groups: list[str]) -> None:
    """The child process: time one module and print one JSON line per case."""
    torch = importlib.import_module(module)
    device_type = device.split(":")[0]
    synchronize = (lambda: None) if device_type == "cpu" else getattr(torch, device_type).synchronize
    for group in groups:
        is_host = group == "host"
        for name, call in GROUPS[group](torch, device):
            # Only these cases are about autograd; the others measure what runs under no_grad.
            with torch.set_grad_enabled(group == "train" or name in ("add_grad", "backward3")):
                seconds = seconds_per_call(call, synchronize, wait=not is_host or device_type == "cpu")
            value = seconds * (1e6 if is_host else 1e3)
            print(
                json.dumps({"case": f"{group}.{name}", "value": value, "unit": "us" if is_host else "ms"}),
                flush=True,
            )


def measure(module: str, device: str, groups: list[str]) -> dict[str, tuple[float, str]]:
    command = [sys.executable, __file__, "--child", module, "--device", device, "--cases", ",".join(groups)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=os.environ)
    if done.returncode != 0:
        raise SystemExit(
            f"benchmarks/host.py: {module} on {device} ended with status {done.returncode}; see above."
        )
    rows = (json.loads(line) for line in done.stdout.splitlines())
    return {row["case"]: (row["value"], row["unit"]) for row in rows}


def compare(device: str, groups: list[str], rounds: int) -> list[dict[str, Any]]:
    devices = {REFERENCE: "cpu" if device.startswith("npu") else device, CANDIDATE: device}
    results: dict[str, list[dict[str, tuple[float, str]]]] = {REFERENCE: [], CANDIDATE: []}
    for number in range(rounds):
        for module, where in devices.items():
            print(f"round {number + 1}/{rounds}: {module} on {where}", file=sys.stderr)
            results[module].append(measure(module, where, groups))
    table = []
    for case, (_, unit) in results[REFERENCE][0].items():
        reference, candidate = (
            statistics.median(round_[case][0] for round_ in results[module])
            for module in (REFERENCE, CANDIDATE)
        )
        ratio = candidate / reference
        table.append({"case": case, "unit": unit, REFERENCE: reference, CANDIDATE: candidate, "ratio": ratio})
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description="Time mindtorch_v2 beside PyTorch.")
    parser.add_argument(
        "--device", default="cpu", help="cpu, npu or cuda; PyTorch stays on cpu when it is npu"
    )
    parser.add_argument("--cases", default="host,ew,mm,train", help=f"groups out of {', '.join(GROUPS)}")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path, help="also write the table to this file")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    groups = arguments.cases.split(",")
    unknown = [group for group in groups if group not in GROUPS]
    if unknown:
        parser.error(f"unknown cases {', '.join(unknown)}; choose from {', '.join(GROUPS)}")
    if arguments.rounds < 1:
        parser.error(f"--rounds is {arguments.rounds}; it must be at least 1")
    if arguments.child:
        run_module(arguments.child, arguments.device, groups)
        return

    table = compare(arguments.device, groups, arguments.rounds)
    print(f"\n{'case':<20}{'':>4}{REFERENCE:>14}{CANDIDATE:>14}{'ratio':>9}")
    for row in table:
        print(
            f"{row['case']:<20}{row['unit']:>4}{row[REFERENCE]:>14.3f}{row[CANDIDATE]:>14.3f}{row['ratio']:>8.3f}x"
        )
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(table, indent=1))


if __name__ == "__main__":
    main()
