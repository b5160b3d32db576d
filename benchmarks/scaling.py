"""Times ten large operators with 1, 2, 4, ... threads beside PyTorch, and draws both.

    python benchmarks/scaling.py          # writes docs/scaling_<architecture>.json and its picture
    python benchmarks/scaling.py --draw   # the picture again, from what was kept

Both libraries run in one process in turn, as in map.py, whose clock this is.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import os
import platform
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import map_page

DOCS = Path(__file__).resolve().parents[1] / "docs"
OURS, THEIRS = "mindtorch_v2", "torch"
COLOURS = {OURS: "#3a7d44", THEIRS: "#9aa5b1"}
COLUMNS, WIDTH, HEIGHT, EDGE = 5, 230, 190, 34

Times = dict[
    str, dict[str, list[float]]
]  # microseconds by operator and library, one for each number of threads


def operators(torch: Any) -> Iterator[tuple[str, Callable[[], object]]]:
    functional = importlib.import_module(torch.__name__ + ".nn.functional")
    x, y = (torch.randn(1 << 24) for _ in range(2))
    rows = torch.randn(4096, 4096)
    yield "sum of two, 16 M", lambda: x + y
    yield "exp, 16 M", lambda: torch.exp(x)
    yield "sum of all, 16 M", lambda: x.sum()
    yield "softmax, 4096 rows", lambda: torch.softmax(rows, -1)
    yield "layer_norm, 4096 rows", lambda: functional.layer_norm(rows, (4096,))
    a, b = (torch.randn(2048, 2048) for _ in range(2))
    yield "product, 2048²", lambda: a @ b
    image, weight = torch.randn(16, 64, 56, 56), torch.randn(64, 64, 3, 3)
    yield "convolution 3 × 3", lambda: functional.conv2d(image, weight, padding=1)
    q, k, v = (torch.randn(4, 8, 1024, 64) for _ in range(3))
    yield "attention, 1024 tokens", lambda: functional.scaled_dot_product_attention(q, k, v)
    numbers = torch.randn(1 << 22)
    yield "sort, 4 M", lambda: torch.sort(numbers)
    table, words = torch.randn(50000, 512), torch.randint(0, 50000, (32768,))
    yield "embedding, 32 k rows", lambda: functional.embedding(words, table)


def measured(counts: list[int], seconds: float) -> Times:
    from map import fastest

    libraries = [importlib.import_module(name) for name in (THEIRS, OURS)]
    for torch in libraries:
        torch.set_grad_enabled(False)
        torch.manual_seed(0)
    found: Times = {}
    for (title, theirs), (_, ours) in zip(*map(operators, libraries), strict=True):
        found[title] = {THEIRS: [], OURS: []}
        for count in counts:
            for torch in libraries:
                torch.set_num_threads(count)
            for name, time_of in zip(
                (THEIRS, OURS), fastest([theirs, ours], seconds, time.perf_counter, count), strict=True
            ):
                found[title][name].append(round(time_of * 1e6, 1))
        print(f"{title}: {found[title]}", file=sys.stderr, flush=True)
    return found


def _line(values: list[float], low: float, high: float) -> str:
    step = (WIDTH - 2 * EDGE) / max(len(values) - 1, 1)
    part = [(math.log(v) - math.log(low)) / (math.log(high) - math.log(low)) for v in values]
    return " ".join(
        f"{EDGE + i * step:.1f},{HEIGHT - EDGE - p * (HEIGHT - 2.2 * EDGE):.1f}" for i, p in enumerate(part)
    )


def draw(counts: list[int], times: Times, where: str) -> str:
    """A field for each operator: time over threads, both on scales where twice is always as far."""
    lines = math.ceil(len(times) / COLUMNS)
    width, height = WIDTH * COLUMNS + 20, HEIGHT * lines + 70
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'font-family="Helvetica, Arial, sans-serif" font-size="11">',
        f'<rect width="{width}" height="{height}" rx="8" fill="#ffffff"/>',
        '<text x="16" y="26" font-size="15" font-weight="600" fill="#1f2933">Time by number of threads</text>',
        f'<text x="16" y="44" fill="#52606d">{escape(where)}</text>',
    ]
    for i, (name, text) in enumerate(((OURS, "ours"), (THEIRS, "PyTorch"))):
        parts.append(
            f'<text x="{width - 130 + 60 * i}" y="26" fill="{COLOURS[name]}" font-weight="600">{text}</text>'
        )
    for place, (title, both) in enumerate(times.items()):
        row, column = divmod(place, COLUMNS)
        low, high = min(map(min, both.values())) / 1.3, max(map(max, both.values())) * 1.1
        parts.append(f'<g transform="translate({10 + column * WIDTH} {60 + row * HEIGHT})">')
        parts.append(f'<text x="{EDGE}" y="14" fill="#1f2933" font-weight="600">{escape(title)}</text>')
        parts.append(f'<path d="M{EDGE} {HEIGHT - EDGE} H{WIDTH - EDGE}" stroke="#e4e7eb"/>')
        step = (WIDTH - 2 * EDGE) / max(len(counts) - 1, 1)
        for i, count in enumerate(counts):
            x = EDGE + i * step
            parts.append(
                f'<text x="{x:.1f}" y="{HEIGHT - EDGE + 14}" text-anchor="middle" fill="#7b8794">{count}</text>'
            )
        for name in (THEIRS, OURS):
            points, colour = _line(both[name], low, high), COLOURS[name]
            parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
            for point, count, value in zip(points.split(), counts, both[name], strict=True):
                x, y = point.split(",")
                text = f"{name}, {count} threads: {value:,.0f} µs"
                parts.append(
                    f'<circle cx="{x}" cy="{y}" r="3" fill="{colour}"><title>{escape(text)}</title></circle>'
                )
        first, last = both[OURS][0], both[OURS][-1]
        theirs = both[THEIRS]
        note = f"{first / last:.1f} times as fast with {counts[-1]}; PyTorch {theirs[0] / theirs[-1]:.1f}"
        parts.append(f'<text x="{EDGE}" y="28" fill="#7b8794">{note}</text></g>')
    return "\n".join([*parts, "</svg>", ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draw", action="store_true", help="only draw again")
    parser.add_argument("--seconds", type=float, default=0.5, help="time for a case")
    parser.add_argument("--out", default=str(DOCS), help="folder of the results")
    options = parser.parse_args()
    kept = Path(options.out) / f"scaling_{platform.machine()}.json"
    if not options.draw:
        most = len(os.sched_getaffinity(0))
        counts = sorted({*(1 << i for i in range(most.bit_length())), most})
        result = {
            "machine": map_page.machine(),
            "threads": counts,
            "times": measured(counts, options.seconds),
        }
        kept.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n")
    if not kept.exists():
        raise SystemExit("nothing was timed yet: run without --draw first")
    result = json.loads(kept.read_text())
    kept.with_suffix(".svg").write_text(draw(result["threads"], result["times"], result["machine"]))
    print(f"written: {kept.with_suffix('.svg')}", file=sys.stderr)


if __name__ == "__main__":
    main()
