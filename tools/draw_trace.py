"""Draws a stretch of an exported trace as an SVG picture: a row per depth of each thread, a row per stream.

    python tools/draw_trace.py trace.json docs/trace.svg --from "ProfilerStep#2" --width 1200

`--from` names the event whose time is drawn; without it, the whole trace is.
"""

import argparse
import gzip
import json
import zlib
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

ROW, GAP, LEFT, TOP = 18, 10, 150, 26
COLOURS = {
    "user_annotation": "#8ecae6", "gpu_user_annotation": "#8ecae6", "cpu_op": "#a3c585", "cuda_runtime": "#d9d9d9",
    "kernel": "#f4a261", "gpu_memcpy": "#e9c46a", "gpu_memset": "#e9c46a", "cuda_sync": "#e5989b",
    "python_function": "#cdb4db",
}  # fmt: skip

Event = dict[str, Any]


def load(path: str) -> list[Event]:
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8") as file:
        return list(json.load(file)["traceEvents"])


def track_names(events: list[Event]) -> dict[tuple[Any, Any], str]:
    devices = {e["pid"]: e["args"]["labels"] for e in events if e["name"] == "process_labels"}
    return {
        (e["pid"], e["tid"]): f"{devices.get(e['pid'], '')} {e['args']['name']}"
        for e in events
        if e["name"] == "thread_name"
    }


def depths(events: list[Event]) -> list[tuple[int, Event]]:
    """Events of one track with how many others they lie in."""
    result, ends = [], []
    for event in sorted(events, key=lambda e: (e["ts"], -e["dur"])):
        while ends and event["ts"] >= ends[-1]:
            ends.pop()
        result.append((len(ends), event))
        ends.append(event["ts"] + event["dur"])
    return result


def shade(event: Event) -> str:
    """The category's colour, a little different for each name."""
    colour = COLOURS.get(event["cat"], "#cccccc")
    shift = zlib.crc32(event["name"].encode()) % 41 - 20
    parts = (max(0, min(255, int(colour[i : i + 2], 16) + shift)) for i in (1, 3, 5))
    return "#" + "".join(f"{part:02x}" for part in parts)


def draw(events: list[Event], begin: float, end: float, width: int) -> str:
    names = track_names(events)
    scale = (width - LEFT - 10) / (end - begin)
    shown = [e for e in events if e["ph"] == "X" and e.get("cat") in COLOURS]
    shown = [e for e in shown if e["ts"] < end and e["ts"] + e["dur"] > begin]
    body, y = [], TOP
    for track in sorted({(e["pid"], e["tid"]) for e in shown}, key=lambda t: (t[0] in range(64), str(t))):
        if track not in names:
            continue
        rows = depths([e for e in shown if (e["pid"], e["tid"]) == track])
        body.append(f'<text x="6" y="{y + 13}" font-weight="bold">{escape(names[track])}</text>')
        for depth, event in rows:
            left = LEFT + max(event["ts"] - begin, 0) * scale
            right = LEFT + min(event["ts"] + event["dur"] - begin, end - begin) * scale
            wide = max(right - left, 0.6)
            top = y + depth * ROW
            title = escape(f"{event['name']}: {event['dur']:.1f} µs")
            body.append(
                f'<rect x="{left:.1f}" y="{top}" width="{wide:.1f}" height="{ROW - 2}" fill="{shade(event)}">'
                f"<title>{title}</title></rect>"
            )
            letters = int(wide / 6.2)
            if letters >= 4:
                text = event["name"] if len(event["name"]) <= letters else event["name"][: letters - 1] + "…"
                body.append(f'<text x="{left + 2:.1f}" y="{top + 12}">{escape(text)}</text>')
        y += (max(depth for depth, _ in rows) + 1) * ROW + GAP
    caption = f"{(end - begin) / 1000:.2f} ms"
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{y}" '
        'font-family="monospace" font-size="10">',
        f'<rect width="{width}" height="{y}" fill="white"/>',
        f'<text x="{LEFT}" y="16" fill="#555">{caption} from left to right</text>',
        *body,
        "</svg>",
        "",
    ])  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trace")
    parser.add_argument("picture")
    parser.add_argument("--from", dest="frame", help="name of the event whose time is drawn")
    parser.add_argument("--width", type=int, default=1200)
    options = parser.parse_args()
    events = load(options.trace)
    timed = [e for e in events if e["ph"] == "X" and e.get("cat") in COLOURS]
    frames = [e for e in timed if e["name"] == options.frame] if options.frame else timed
    if not frames:
        parser.error(f"no event is called {options.frame!r}")
    begin = min(e["ts"] for e in frames)
    end = max(e["ts"] + e["dur"] for e in frames)
    Path(options.picture).write_text(draw(events, begin, end, options.width), encoding="utf-8")


if __name__ == "__main__":
    main()
