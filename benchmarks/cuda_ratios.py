"""Time the same programs on a GPU with PyTorch and with mindtorch_v2; a table and a picture of the ratios.

    python benchmarks/cuda_ratios.py             # writes docs/cuda_ratios.* and docs/cuda.md
    python benchmarks/cuda_ratios.py --only exp  # a part, printed only
    python benchmarks/cuda_ratios.py --draw      # again from docs/cuda_ratios.json; needs no GPU

Each round runs every case in a process per library, in turn; the ratio is that of the medians over the rounds. Cases of
the group "host" end when the call returns, all others when the GPU is done.
"""

import argparse
import importlib
import json
import math
import os
import platform
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from attention import CASES as ATTENTION
from attention import Side
from gpt_step import gpt_step
from host import CANDIDATE, REFERENCE, host_cases, seconds_per_call, training_cases
from map_page import COLOURS, colour_of

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
BEGIN, END = "<!-- ratios, by benchmarks/cuda_ratios.py -->", "<!-- end of the ratios -->"

HOST = "host time of an operator"
LARGE = "64 M numbers"
PRODUCTS = "products and convolutions"
TRAINING = "training step"
# What benchmarks/host.py calls them, and what the page does.
HOST_NAMES = {"add": "a + b", "add_scalar": "a + 1.0", "add_": "add_", "relu": "relu", "sum": "sum",
              "softmax": "softmax", "matmul": "a @ b", "view": "view", "transpose": "t", "empty": "empty",
              "index": "m[1]", "backward3": "three, and backward"}  # fmt: skip
GPTS = {
    "GPT, 4 layers of 128": {},
    "GPT, 6 layers of 384": {"layers": 6, "heads": 6, "width": 384, "context": 256, "batch": 16},
    "GPT, 12 layers of 768": {"layers": 12, "heads": 12, "width": 768, "context": 512, "batch": 4},
}

Case = tuple[str, str, Callable[[], object]]


def small_cases(torch: Any) -> Iterator[Case]:
    calls = dict(host_cases(torch, "cuda"))
    for name, title in HOST_NAMES.items():
        yield HOST, title, calls[name]


def large_cases(torch: Any) -> Iterator[Case]:
    functional = importlib.import_module(torch.__name__ + ".nn.functional")
    x, y = (torch.randn(1 << 26, device="cuda") for _ in range(2))
    rows = x.view(-1, 1024)
    weight, bias = torch.ones(1024, device="cuda"), torch.zeros(1024, device="cuda")
    yield LARGE, "sum of two", lambda: x + y
    yield LARGE, "exp", lambda: torch.exp(x)
    yield LARGE, "sum of all", lambda: x.sum()
    yield LARGE, "softmax of rows", lambda: torch.softmax(rows, -1)
    yield LARGE, "layer_norm", lambda: functional.layer_norm(rows, (1024,), weight, bias)


def product_cases(torch: Any) -> Iterator[Case]:
    for size, dtype in ((1024, "float32"), (4096, "bfloat16"), (4096, "float32")):
        a, b = (torch.randn(size, size, device="cuda", dtype=getattr(torch, dtype)) for _ in range(2))
        yield PRODUCTS, f"{size} × {size}, {dtype}", lambda a=a, b=b: a @ b
    functional = importlib.import_module(torch.__name__ + ".nn.functional")
    images = torch.randn(32, 64, 56, 56, device="cuda", requires_grad=True)
    weight = torch.randn(64, 64, 3, 3, device="cuda", requires_grad=True)
    gradient = torch.randn(32, 64, 56, 56, device="cuda")

    def convolve() -> None:
        made = functional.conv2d(images, weight, padding=1)
        torch.autograd.grad(made, (images, weight), gradient)

    yield PRODUCTS, "convolution 3 × 3, both ways", convolve


def step_cases(torch: Any) -> Iterator[Case]:
    yield TRAINING, "MLP", dict(training_cases(torch, "cuda"))["mlp_adam"]
    for title, sizes in GPTS.items():
        yield TRAINING, title, gpt_step(torch, "cuda", **sizes)


def attention_cases(torch: Any) -> Iterator[Case]:
    for dtype in ("float32", "bfloat16"):
        for sizes in ATTENTION.values():
            side = Side(torch, sizes, dtype)
            made = side.forward()
            title = " × ".join(map(str, sizes))
            yield f"attention in {dtype}, causal", f"{title}, forward", side.forward
            yield (
                f"attention in {dtype}, causal",
                f"{title}, backward",
                lambda side=side, made=made: side.backward(made, again=True),
            )


def all_cases(torch: Any) -> Iterator[Case]:
    for cases in (small_cases, large_cases, product_cases, step_cases, attention_cases):
        yield from cases(torch)


# ---- measuring -----------------------------------------------------------------------------------


def run_library(module: str, only: list[str]) -> None:
    """The child process: one library, a JSON line for each case."""
    torch = importlib.import_module(module)
    name = torch.cuda.get_device_name(0)
    print(json.dumps({"machine": name, "version": torch.__version__}), flush=True)
    for group, case, call in all_cases(torch):
        if only and case not in only:
            continue
        graph = group not in (HOST, LARGE) or "backward" in case
        with torch.set_grad_enabled(graph):
            seconds = seconds_per_call(call, torch.cuda.synchronize, wait=group != HOST)
        print(json.dumps({"group": group, "case": case, "us": seconds * 1e6}), flush=True)


def one_run(module: str, only: list[str], label: str) -> tuple[dict[str, str], list[dict[str, Any]]]:
    command = [sys.executable, __file__, "--child", module, *(f"--only={name}" for name in only)]
    lines: list[dict[str, Any]] = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ) as child:
        assert child.stdout is not None
        for line in child.stdout:
            lines.append(json.loads(line))
            if len(lines) > 1:
                print(
                    f"\r{label}, {module}: {len(lines) - 1} cases, {lines[-1]['case']:<40}",
                    end="",
                    file=sys.stderr,
                )
    print(file=sys.stderr)
    if child.returncode != 0:
        raise SystemExit(
            f"benchmarks/cuda_ratios.py: {module} ended with status {child.returncode}; see above."
        )
    return lines[0], lines[1:]


def measure(rounds: int, only: list[str]) -> dict[str, Any]:
    times: dict[tuple[str, str], dict[str, list[float]]] = {}
    about: dict[str, dict[str, str]] = {}
    for number in range(rounds):
        for module in (REFERENCE, CANDIDATE):
            about[module], lines = one_run(module, only, f"round {number + 1} of {rounds}")
            for line in lines:
                sides = times.setdefault((line["group"], line["case"]), {REFERENCE: [], CANDIDATE: []})
                sides[module].append(line["us"])
    cases = []
    for (group, case), sides in times.items():
        theirs, ours = (statistics.median(sides[module]) for module in (REFERENCE, CANDIDATE))
        cases.append({"group": group, "case": case, "ratio": round(ours / theirs, 3),
                      "ours_us": round(ours, 2), "theirs_us": round(theirs, 2)})  # fmt: skip
    where = f"{about[REFERENCE]['machine']}, {platform.machine()}, PyTorch {about[REFERENCE]['version']}"
    return {"machine": where, "cases": cases}


# ---- the pages -----------------------------------------------------------------------------------

WIDTH, LEFT, RIGHT, TOP, ROW, GROUP = 860, 290, 60, 76, 18, 30
LOW, HIGH = 0.015, 5.0  # ratios at the picture's edges


def grouped(cases: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    groups: dict[str, list[dict[str, Any]]] = {}
    for c in cases:
        groups.setdefault(c["group"], []).append(c)
    return groups


def table(kept: dict[str, Any]) -> str:
    """A line for each group: its cases with their ratios."""
    lines = ["| time over PyTorch's, same run | |", "|---|---|"]
    for group, members in grouped(kept["cases"]).items():
        cells = " · ".join(f"{c['case']} **{c['ratio']:.2f}**" for c in members)
        lines.append(f"| {group} | {cells} |")
    return "\n".join(lines)


def with_table(page: str, made: str) -> str:
    before, rest = page.split(BEGIN)
    return before + BEGIN + "\n" + made + "\n" + END + rest.split(END)[1]


def place_of(ratio: float) -> float:
    part = math.log(min(max(ratio, LOW), HIGH) / LOW) / math.log(HIGH / LOW)
    return LEFT + part * (WIDTH - LEFT - RIGHT)


def draw(kept: dict[str, Any]) -> str:
    """Bars from 1 to each ratio, left is faster; on a sheet of its own, for light and dark pages."""
    groups = grouped(kept["cases"])
    bottom = TOP + GROUP * len(groups) + ROW * len(kept["cases"])
    height = bottom + 40
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        'font-family="Helvetica, Arial, sans-serif" font-size="11">',
        f'<rect width="{WIDTH}" height="{height}" rx="8" fill="#ffffff"/>',
        '<text x="16" y="26" font-size="15" font-weight="600" fill="#1f2933">'
        "Our time over PyTorch&#8217;s on a GPU</text>",
        f'<text x="16" y="44" fill="#52606d">{escape(kept["machine"])}</text>',
    ]
    for ratio in (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0):
        x = place_of(ratio)
        parts.append(
            f'<path d="M{x:.1f} {TOP - 8} V{bottom}" stroke="#e4e7eb"/>'
            f'<text x="{x:.1f}" y="{TOP - 13}" text-anchor="middle" fill="#7b8794">{ratio:g}</text>'
        )
    one, y = place_of(1.0), TOP
    for group, members in groups.items():
        parts.append(f'<text x="16" y="{y + 20}" font-weight="600" fill="#1f2933">{escape(group)}</text>')
        y += GROUP
        for c in members:
            x, ratio = place_of(c["ratio"]), c["ratio"]
            side, anchor = (x - 5, "end") if ratio < 1 else (max(x, one) + 5, "start")
            parts.append(
                f'<text x="{LEFT - 10}" y="{y + 12}" text-anchor="end" fill="#1f2933">{escape(c["case"])}</text>'
                f'<rect x="{min(x, one):.1f}" y="{y + 3}" width="{max(abs(x - one), 1):.1f}" height="{ROW - 6}" '
                f'fill="{colour_of(ratio)}"/>'
                f'<text x="{side:.1f}" y="{y + 12}" text-anchor="{anchor}" fill="#52606d">{ratio:.2f}</text>'
            )
            y += ROW
    parts.append(f'<path d="M{one:.1f} {TOP - 8} V{bottom}" stroke="#52606d"/>')
    x = 16.0
    for _, colour, name in COLOURS:
        parts.append(
            f'<rect x="{x:.0f}" y="{bottom + 15}" width="9" height="9" fill="{colour}"/>'
            f'<text x="{x + 14:.0f}" y="{bottom + 23}" fill="#52606d">{name}</text>'
        )
        x += 44 + len(name) * 5.8
    return "\n".join([*parts, "</svg>", ""])


def write(kept: dict[str, Any]) -> None:
    (DOCS / "cuda_ratios.json").write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", "utf-8")
    (DOCS / "cuda_ratios.svg").write_text(draw(kept), "utf-8")
    page = DOCS / "cuda.md"
    page.write_text(with_table(page.read_text("utf-8"), table(kept)), "utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--only", action="append", default=[], help="a case; may be repeated; nothing is written"
    )
    parser.add_argument("--draw", action="store_true", help="measure nothing: draw docs/cuda_ratios.json")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        run_library(args.child, args.only)
        return
    if args.draw:
        write(json.loads((DOCS / "cuda_ratios.json").read_text("utf-8")))
        return
    kept = measure(args.rounds, args.only)
    if not args.only:
        write(kept)
    print(table(kept))


if __name__ == "__main__":
    main()
