"""The speed map as pages: a table sorted by ratio, and a picture of every case by area."""

from __future__ import annotations

import math
import platform
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from map_reasons import LIMIT, reason_for

Measured = dict[str, Any]
WIDTH, LEFT, RIGHT, TOP, ROW = 1200, 120, 24, 88, 26
LOW, HIGH = 0.05, 20.0  # ratios at the picture's edges
COLOURS = ((0.9, "#3a7d44", "faster than PyTorch"), (1.1, "#9aa5b1", "within a tenth"),
           (2.0, "#e0a030", "slower"), (math.inf, "#c0392b", "more than twice as slow"))  # fmt: skip


def machine() -> str:
    names = [
        line.split(":", 1)[1].strip()
        for line in Path("/proc/cpuinfo").read_text().splitlines()
        if line.startswith(("model name", "CPU part"))
    ]
    parts = {"0xd0c": "Neoverse N1", "0xd40": "Neoverse V1", "0xd49": "Neoverse N2", "0xd01": "TaiShan v110"}
    name = names[0] if names else "unknown"
    return f"{platform.machine()}, {parts.get(name, name)}, {len(names)} cores"


def mean(cases: list[Measured]) -> float:
    return math.exp(sum(math.log(c["ratio"]) for c in cases) / len(cases))


def summary_line(cases: list[Measured]) -> str:
    over = {limit: sum(c["ratio"] > limit for c in cases) for limit in (1.1, 1.5, 2.0)}
    shares = ", ".join(f"{n} ({n / len(cases):.0%}) over {limit}" for limit, n in over.items())
    return f"{len(cases)} cases, geometric mean {mean(cases):.2f}, {shares}"


def summary(cases: list[Measured], worst: int = 20) -> str:
    lines = []
    for threads in sorted({c["threads"] for c in cases}):
        chosen = sorted((c for c in cases if c["threads"] == threads), key=lambda c: -c["ratio"])
        lines.append(f"{threads} threads: {summary_line(chosen)}")
        lines += [f"  {c['ratio']:7.2f}  {c['area']}: {c['case']}" for c in chosen[:worst]]
    return "\n".join(lines)


def write(kept: dict[str, Any], page: Path, picture: Path) -> None:
    cases = list(kept["cases"].values())
    if not cases:
        raise SystemExit("nothing was timed yet: run without --draw first")
    picture.write_text(draw(cases, kept["machine"]), encoding="utf-8")
    scaling = page.with_name(page.name.replace("map", "scaling")).with_suffix(".svg")
    pictures = [("The map", picture.name)]
    if scaling.exists():  # of benchmarks/scaling.py
        pictures.append(("Ten large operators with more and more threads", scaling.name))
    page.write_text(table(kept, cases, pictures), encoding="utf-8")


def table(kept: dict[str, Any], cases: list[Measured], pictures: list[tuple[str, str]]) -> str:
    lines = [
        f"# Speed map, {platform.machine()}",
        "",
        "Our time over PyTorch's, case by case, as `make map` measured it: below 1 is faster than PyTorch.",
        f"Machine: {kept['machine']}. PyTorch {kept['versions']['torch']}. Times are microseconds.",
        f"Areas of the table that were measured: {', '.join(sorted({c['area'] for c in cases}))}."
        + (f" {kept['how']}" if kept.get("how") else ""),
        "",
        *(f"![{title}]({name})" for title, name in pictures),
        "",
        "| threads | cases | geometric mean | over 1.1 | over 1.5 | over 2 |",
        "|---|---|---|---|---|---|",
    ]
    for threads in sorted({c["threads"] for c in cases}):
        chosen = [c for c in cases if c["threads"] == threads]
        over = [sum(c["ratio"] > limit for c in chosen) for limit in (1.1, 1.5, 2.0)]
        shares = " | ".join(f"{n} ({n / len(chosen):.0%})" for n in over)
        lines.append(f"| {threads} | {len(chosen)} | {mean(chosen):.2f} | {shares} |")
    lines += [
        "",
        f"Cases over {LIMIT} have a line that says why (`benchmarks/map_reasons.py`).",
        "",
        "| ratio | area | case | threads | ours | PyTorch | why |",
        "|---|---|---|---|---|---|---|",
    ]
    for c in sorted(cases, key=lambda c: (-c["ratio"], c["area"], c["case"], c["threads"])):
        why = (reason_for(c["row"], c["case"]) or "not known") if c["ratio"] > LIMIT else ""
        lines.append(
            f"| {c['ratio']:.2f} | {c['area']} | {c['case']} | {c['threads']} | {c['ours_us']:.6g} | "
            f"{c['theirs_us']:.6g} | {why} |"
        )
    if kept.get("without"):
        rows = ", ".join(f"`{name}`" for name in kept["without"])
        lines += [
            "",
            f"Rows without a case, because PyTorch has no operator of that name or no sample of it: {rows}.",
        ]
    return "\n".join(lines) + "\n"


# ---- the picture ---------------------------------------------------------------------------------


def _x(ratio: float) -> float:
    part = math.log(min(max(ratio, LOW), HIGH) / LOW) / math.log(HIGH / LOW)
    return LEFT + part * (WIDTH - LEFT - RIGHT)


def colour_of(ratio: float) -> str:
    return next(colour for limit, colour, _ in COLOURS if ratio <= limit)


def draw(cases: list[Measured], where: str) -> str:
    """A line for each area, the worst area first; a dot for each case, at its ratio."""
    areas: dict[str, list[Measured]] = {}
    for c in cases:
        areas.setdefault(c["area"], []).append(c)
    ordered = sorted(areas.items(), key=lambda item: -mean(item[1]))
    height = TOP + ROW * len(ordered) + 44
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        'font-family="Helvetica, Arial, sans-serif" font-size="11">',
        f'<rect width="{WIDTH}" height="{height}" rx="8" fill="#ffffff"/>',
        '<text x="16" y="26" font-size="15" font-weight="600" fill="#1f2933">'
        "Our time over PyTorch&#8217;s, for each operator</text>",
        f'<text x="16" y="44" fill="#52606d">{escape(where)}: {escape(summary_line(cases))}</text>',
    ]
    bottom = TOP + ROW * len(ordered)
    for ratio in (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0):
        x, strong = _x(ratio), ratio == 1.0
        parts.append(
            f'<path d="M{x:.1f} {TOP - 12} V{bottom}" stroke="{"#52606d" if strong else "#e4e7eb"}"/>'
            f'<text x="{x:.1f}" y="{TOP - 17}" text-anchor="middle" fill="#7b8794">{ratio:g}</text>'
        )
    for place, (area, members) in enumerate(ordered):
        middle = TOP + ROW * place + ROW / 2
        parts.append(
            f'<text x="{LEFT - 10}" y="{middle + 4:.0f}" text-anchor="end" fill="#1f2933">{escape(area)}</text>'
        )
        for i, c in enumerate(sorted(members, key=lambda c: c["case"])):
            y = middle + (i % 5 - 2) * 3.4
            text = f"{c['case']}, {c['threads']} threads: {c['ratio']:.2f}"
            parts.append(
                f'<circle cx="{_x(c["ratio"]):.1f}" cy="{y:.1f}" r="2" fill="{colour_of(c["ratio"])}" opacity="0.65">'
                f"<title>{escape(text)}</title></circle>"
            )
        x = _x(mean(members))
        parts.append(
            f'<path d="M{x:.1f} {middle - 9:.0f} V{middle + 9:.0f}" stroke="#1f2933" stroke-width="2"/>'
        )
    x = float(LEFT)
    for _, colour, name in COLOURS:
        parts.append(
            f'<circle cx="{x:.0f}" cy="{bottom + 22}" r="4" fill="{colour}"/>'
            f'<text x="{x + 9:.0f}" y="{bottom + 26}" fill="#52606d">{name}</text>'
        )
        x += 44 + len(name) * 5.8
    parts.append(f'<text x="{x:.0f}" y="{bottom + 26}" fill="#52606d">| geometric mean of the area</text>')
    return "\n".join([*parts, "</svg>", ""])
