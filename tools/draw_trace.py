"""Draws a stretch of an exported trace as an SVG picture: host threads, NPU streams, launches and NPU memory.

    python tools/draw_trace.py trace.json docs/trace.svg --from "training step 1" --title "A training step"
    python tools/draw_trace.py trace.json docs/overlap.svg --from backward --nth 1 --title "A backward pass"

`--from` names the annotation to draw: from its begin on the host to the end of its tasks on the NPU; of several with
that name, `--nth` chooses one. Without it the whole trace is drawn.
"""

import argparse
import gzip
import json
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

WIDTH, LEFT, RIGHT, TOP = 1200, 96, 16, 66
ROW, GAP, MEMORY_HEIGHT, DEEPEST = 19, 22, 64, 4
LETTER = 5.9  # the width of one, of the texts inside boxes
MOST_ARROWS = 48
# What is drawn: colour of the box and of its text, and what the legend calls it.
KINDS = {
    "user_annotation": ("#2f6690", "#ffffff", "annotation"),
    "gpu_user_annotation": ("#2f6690", "#ffffff", None),
    "python_function": ("#b8a1d9", "#2b2140", "module"),
    "cpu_op": ("#7fb685", "#12331a", "operator on the host"),
    "privateuse1_runtime": ("#b9bec6", "#30343a", "launch"),
    "kernel": ("#ef8354", "#43170a", "NPU task"),
    "gpu_memcpy": ("#e0b84c", "#40330a", "copy"),
    "gpu_memset": ("#e0b84c", "#40330a", None),
    "communication": ("#c1446e", "#ffffff", "communication"),
}  # fmt: skip
NPU_MEMORY = 20  # the device type of NPU allocations

Event = dict[str, Any]


def load(path: str) -> list[Event]:
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8") as file:
        return list(json.load(file)["traceEvents"])


def end_of(event: Event) -> float:
    return float(event["ts"] + event["dur"])


def kind_of(event: Event) -> str:
    """Its category; collectives, where they are carried out, are one of their own."""
    carried = event["cat"] in ("user_annotation", "kernel") and "Collective name" in event["args"]
    return "communication" if carried else str(event["cat"])


def window(events: list[Event], name: str | None, nth: int | None) -> tuple[float, float]:
    timed = [e for e in events if e["ph"] == "X" and e.get("cat") in KINDS]
    chosen = [e for e in timed if e["name"] == name] if name else timed
    if nth is not None:
        of_host = sorted((e for e in chosen if e["cat"] == "user_annotation"), key=lambda e: e["ts"])
        numbers = [e["args"]["External id"] for e in of_host][nth : nth + 1]
        chosen = [e for e in chosen if e["args"].get("External id") in numbers]
    if not chosen:
        raise SystemExit(f"no event is called {name!r}, or not so many")
    return min(e["ts"] for e in chosen), max(map(end_of, chosen))


class Picture:
    """Collects the parts from the top down; `y` is how far it has come."""

    def __init__(self, events: list[Event], begin: float, end: float) -> None:
        self.events = events
        self.begin, self.end = begin, end
        self.scale = (WIDTH - LEFT - RIGHT) / (end - begin)
        self.y = TOP
        self.parts: list[str] = []
        self.used: set[str] = set()
        self.places: dict[tuple[Any, Any], int] = {}  # of tracks
        self.devices = {e["pid"] for e in events if e.get("cat") == "kernel"}
        self.threads = {
            e["tid"]: e["args"]["name"].partition("(")[2][:-1] for e in events if e["name"] == "thread_name"
        }

    def x(self, time: float) -> float:
        return LEFT + (min(max(time, self.begin), self.end) - self.begin) * self.scale

    # --- boxes ---

    def tracks(self) -> list[tuple[tuple[Any, Any], list[Event]]]:
        found: dict[tuple[Any, Any], list[Event]] = {}
        for event in self.events:
            if event["ph"] == "X" and event.get("cat") in KINDS:
                if event["ts"] < self.end and end_of(event) > self.begin:
                    found.setdefault((event["pid"], event["tid"]), []).append(event)
        return sorted(found.items(), key=lambda item: (item[0][0] in self.devices, str(item[0])))

    def label(self, lines: list[str], height: int) -> None:
        top = self.y + height / 2 - 7 * (len(lines) - 1) + 4
        for place, line in enumerate(lines):
            weight = "600" if place == 0 else "400"
            self.parts.append(
                f'<text x="{LEFT - 10}" y="{top + 14 * place:.0f}" text-anchor="end" font-weight="{weight}" '
                f'fill="{"#1f2933" if place == 0 else "#7b8794"}">{escape(line)}</text>'
            )

    def track(self, track: tuple[Any, Any], events: list[Event]) -> None:
        rows: list[list[Event]] = []
        open_ends: list[float] = []
        for event in sorted(events, key=lambda e: (e["ts"], -e["dur"])):
            while open_ends and event["ts"] >= open_ends[-1]:
                open_ends.pop()
            depth = len(open_ends)
            open_ends.append(end_of(event))
            if depth < DEEPEST:
                while len(rows) <= depth:
                    rows.append([])
                rows[depth].append(event)
        height = len(rows) * ROW
        on_device = track[0] in self.devices
        thread = self.threads.get(track[1], "python")
        name = "Python thread" if thread == "python" else thread.rpartition(": ")[2]
        lines = [f"NPU {track[0]}", f"stream {track[1]}"] if on_device else ["host", name]
        self.label(lines, height)
        self.places[track] = self.y if on_device else self.y + height
        for depth, row in enumerate(rows):
            self.boxes(row, self.y + depth * ROW)
        self.y += height + GAP

    def boxes(self, row: list[Event], top: int) -> None:
        """Neighbours that are too narrow to tell apart become one box."""
        previous: tuple[float, float, str] | None = None
        for event in row:
            left, right = self.x(event["ts"]), self.x(end_of(event))
            category = kind_of(event)
            self.used.add(category)
            if right - left >= 1.2:
                self.box(left, right, top, event)
                previous = None
            elif previous is None or left - previous[1] > 0.6 or previous[2] != category:
                self.parts.append(
                    f'<rect x="{left:.1f}" y="{top}" width="0.8" height="{ROW - 2}" fill="{KINDS[category][0]}"/>'
                )
                previous = (left, left + 0.8, category)

    def box(self, left: float, right: float, top: int, event: Event) -> None:
        fill, ink, _ = KINDS[kind_of(event)]
        width = max(right - left - 0.6, 0.6)
        self.parts.append(
            f'<rect x="{left:.1f}" y="{top}" width="{width:.1f}" height="{ROW - 2}" rx="2" fill="{fill}">'
            f"<title>{escape(event['name'])}: {event['dur']:.1f} µs</title></rect>"
        )
        name = event["args"].get("call", event["name"])
        for prefix in ("aten::", "aclnn", "nn.Module: "):
            name = name.removeprefix(prefix)
        name = name.replace("autograd::engine::evaluate_function: ", "").replace("torch::autograd::", "")
        letters = int((width - 9) / LETTER)
        if letters >= min(len(name), 5):
            text = name if len(name) <= letters else name[: letters - 1] + "…"
            self.parts.append(
                f'<text x="{left + 4:.1f}" y="{top + 12.5}" font-size="10" fill="{ink}">{escape(text)}</text>'
            )

    # --- what connects and surrounds them ---

    def arrows(self) -> None:
        """From a launch on the host to its task, for some of them."""
        ends = {e["id"]: e for e in self.events if e["ph"] == "f" and e.get("cat") == "ac2g"}
        pairs = []
        for start in (e for e in self.events if e["ph"] == "s" and e.get("cat") == "ac2g"):
            end = ends.get(start["id"])
            if end and self.begin <= start["ts"] and end["ts"] <= self.end:
                pairs.append((start, end))
        for start, end in pairs[:: max(1, len(pairs) // MOST_ARROWS)]:
            tracks = (start["pid"], start["tid"]), (end["pid"], end["tid"])
            if tracks[0] not in self.places or tracks[1] not in self.places:
                continue
            (x0, y0), (x1, y1) = (
                (self.x(e["ts"]), self.places[t]) for e, t in zip((start, end), tracks, strict=True)
            )
            middle = (y0 + y1) / 2
            self.parts.append(
                f'<path d="M{x0:.1f} {y0} C{x0:.1f} {middle:.0f} {x1:.1f} {middle:.0f} {x1:.1f} {y1}" '
                'fill="none" stroke="#7b8794" stroke-width="0.7" opacity="0.45"/>'
            )

    def memory(self) -> None:
        changes = [
            (e["ts"], e["args"]["Total Allocated"])
            for e in self.events
            if e["name"] == "[memory]" and e["args"]["Device Type"] == NPU_MEMORY
        ]
        changes = sorted(c for c in changes if self.begin <= c[0] <= self.end)
        if not changes:
            return
        low, high = min(c[1] for c in changes), max(c[1] for c in changes)
        bottom = self.y + MEMORY_HEIGHT

        def height(size: float) -> float:
            return bottom - 4 - (size - low) / max(high - low, 1) * (MEMORY_HEIGHT - 10)

        points = [f"{LEFT},{bottom}", f"{LEFT},{height(changes[0][1]):.1f}"]
        last = changes[0][1]
        for time, size in changes:
            x = self.x(time)
            points += [f"{x:.1f},{height(last):.1f}", f"{x:.1f},{height(size):.1f}"]
            last = size
        points += [f"{WIDTH - RIGHT},{height(last):.1f}", f"{WIDTH - RIGHT},{bottom}"]
        self.label(["NPU memory", f"{low / 2**20:.1f} – {high / 2**20:.1f} MiB"], MEMORY_HEIGHT)
        self.parts.append(f'<polygon points="{" ".join(points)}" fill="#4a9bb5" opacity="0.75"/>')
        self.y = bottom + GAP

    def axis(self) -> list[str]:
        span = self.end - self.begin
        step = next(s for s in (10**n * m for n in range(9) for m in (1, 2, 5)) if span / s <= 12)
        parts = []
        for place in range(int(span / step) + 1):
            x = self.x(self.begin + place * step)
            text = f"{place * step / 1000:g} ms" if span >= 1000 else f"{place * step:g} µs"
            parts.append(
                f'<path d="M{x:.1f} {TOP - 8} V{self.y - GAP + 4}" stroke="#e4e7eb" stroke-width="1"/>'
                f'<text x="{x:.1f}" y="{TOP - 13}" text-anchor="middle" fill="#7b8794">{text}</text>'
            )
        return parts

    def legend(self) -> None:
        x = float(LEFT)
        for category, (fill, _, name) in KINDS.items():
            if name is None or category not in self.used:
                continue
            self.parts.append(
                f'<rect x="{x:.0f}" y="{self.y - 6}" width="12" height="12" rx="2" fill="{fill}"/>'
                f'<text x="{x + 17:.0f}" y="{self.y + 4}" fill="#52606d">{name}</text>'
            )
            x += 40 + len(name) * 5.6
        self.y += 18

    def draw(self, title: str) -> str:
        for track, events in self.tracks():
            self.track(track, events)
        self.memory()
        axis = self.axis()
        self.arrows()
        self.legend()
        return "\n".join([
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {self.y}" width="{WIDTH}" '
            f'height="{self.y}" font-family="Helvetica, Arial, sans-serif" font-size="11">',
            f'<rect width="{WIDTH}" height="{self.y}" rx="8" fill="#ffffff"/>',
            f'<text x="16" y="26" font-size="15" font-weight="600" fill="#1f2933">{escape(title)}</text>',
            *axis,
            *self.parts,
            "</svg>",
            "",
        ])  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trace")
    parser.add_argument("picture")
    parser.add_argument("--from", dest="frame", help="name of the annotation to draw")
    parser.add_argument("--title", default="")
    parser.add_argument("--nth", type=int, help="which of the annotations with that name, from 0")
    options = parser.parse_args()
    events = load(options.trace)
    begin, end = window(events, options.frame, options.nth)
    Path(options.picture).write_text(Picture(events, begin, end).draw(options.title), encoding="utf-8")


if __name__ == "__main__":
    main()
