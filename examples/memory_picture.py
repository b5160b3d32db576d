"""Draws a memory snapshot (of torch.npu.memory._snapshot or torch.cuda.memory._snapshot) as a PNG: memory over time.

python examples/memory_picture.py memory_snapshot.pickle memory.png
"""

from __future__ import annotations

import pickle
import struct
import sys
import zlib
from pathlib import Path

WIDTH, HEIGHT = 960, 420
LEFT, RIGHT, TOP, BOTTOM = 120, 24, 40, 48  # margins of the plot
WHITE, INK, GRID = (255, 255, 255), (60, 64, 72), (228, 231, 235)
ALLOCATED, RESERVED = (86, 140, 216), (214, 96, 77)

# Five columns of seven dots a letter; a row is written as a number of base 32.
FONT = {
    "0": "EHJLPHE", "1": "4C4444E", "2": "EH1248V", "3": "V2421HE", "4": "26AIV22", "5": "VGU11HE",
    "6": "68GUHHE", "7": "V124888", "8": "EHHEHHE", "9": "EHHF12C", ".": "00000CC", " ": "0000000",
    "M": "HRLLHHH", "K": "HIKOKIH", "G": "EHGNHHF", "B": "UHHUHHU", "i": "40C444E", "a": "00E1FHF",
    "b": "GGMPHHU", "c": "00EGGHE", "d": "11DJHHF", "e": "00EHVGE", "k": "889ACA9", "l": "C44444E",
    "m": "00QLLLL", "n": "00MPHHH", "o": "00EHHHE", "p": "00UHUGG", "r": "00MPGGG", "s": "00FGE1U",
    "t": "88S8896", "v": "00HHHA4", "y": "00HHF1E", "f": "698S888", "u": "00HHHJD", "h": "GGMPHHH",
}  # fmt: skip


class Canvas:
    def __init__(self, width: int, height: int) -> None:
        self.width, self.height = width, height
        self.rows = [bytearray(bytes(WHITE) * width) for _ in range(height)]

    def box(self, left: int, top: int, right: int, bottom: int, colour: tuple[int, int, int]) -> None:
        """From (left, top) up to, but without, (right, bottom)."""
        left, right = max(left, 0), min(right, self.width)
        if left >= right:
            return
        for y in range(max(top, 0), min(bottom, self.height)):
            self.rows[y][3 * left : 3 * right] = bytes(colour) * (right - left)

    def text(
        self, x: int, y: int, text: str, colour: tuple[int, int, int] = INK, right: bool = False
    ) -> None:
        """Letters two pixels a dot, from x on, or up to x if `right`."""
        x -= 12 * len(text) if right else 0
        for letter in text:
            for row, digit in enumerate(FONT[letter]):
                for column in range(5):
                    if int(digit, 32) >> (4 - column) & 1:
                        self.box(x + 2 * column, y + 2 * row, x + 2 * column + 2, y + 2 * row + 2, colour)
            x += 12

    def save(self, path: Path) -> None:
        def chunk(kind: bytes, data: bytes) -> bytes:
            body = kind + data
            return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

        header = struct.pack(">IIBBBBB", self.width, self.height, 8, 2, 0, 0, 0)
        pixels = zlib.compress(b"".join(b"\0" + bytes(row) for row in self.rows), 9)
        parts = [chunk(b"IHDR", header), chunk(b"IDAT", pixels), chunk(b"IEND", b"")]
        path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(parts))


def curves(snapshot: dict) -> list[tuple[float, int, int]]:
    """(seconds, bytes allocated, bytes reserved) after each event of the device that had the most."""
    events = max(snapshot["device_traces"], key=len, default=[])
    if not events:
        raise ValueError(
            "the snapshot has no history: call _record_memory_history() before the program's work"
        )
    change = {"alloc": (1, 0), "free_completed": (-1, 0), "segment_alloc": (0, 1), "segment_free": (0, -1),
              "segment_map": (0, 1), "segment_unmap": (0, -1)}  # fmt: skip
    known = [event for event in events if event["action"] in change]
    # What was there before the history began follows from what is there at its end.
    device = max(range(len(snapshot["device_traces"])), key=lambda d: len(snapshot["device_traces"][d]))
    segments = [s for s in snapshot["segments"] if s["device"] == device]
    allocated = sum(s["allocated_size"] for s in segments)
    reserved = sum(s["total_size"] for s in segments)
    for event in known:
        allocated -= change[event["action"]][0] * event["size"]
        reserved -= change[event["action"]][1] * event["size"]
    start, points = events[0]["time_us"], []
    for event in known:
        allocated += change[event["action"]][0] * event["size"]
        reserved += change[event["action"]][1] * event["size"]
        points.append(((event["time_us"] - start) / 1e6, allocated, reserved))
    return points


def round_step(span: float) -> float:
    """1, 2 or 5 times a power of ten, so that three to eight of them make up `span`."""
    power = 10.0 ** (len(f"{int(span * 1e6)}") - 8)
    return next(step * power for step in (1, 2, 5, 10, 20, 50, 100) if span / (step * power) <= 8)


def size_unit(size: float) -> tuple[str, int]:
    units = (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10), ("B", 1))
    return next((name, one) for name, one in units if size >= one)


def draw(snapshot: dict, path: Path) -> None:
    points = curves(snapshot)
    canvas = Canvas(WIDTH, HEIGHT)
    span = points[-1][0] or 1e-6
    top = max(max(allocated, reserved) for _, allocated, reserved in points) * 1.08 or 1
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT

    def height(size: float) -> int:
        return round(bottom - (bottom - TOP) * size / top)

    unit, one = size_unit(top)
    step = round_step(top / one)
    for line in range(int(top / one / step) + 1):
        y = height(line * step * one)
        canvas.box(LEFT, y, right, y + 1, GRID)
        canvas.text(LEFT - 8, y - 7, f"{line * step:g} {unit}", right=True)
    at, shown = 0, points[0]
    for x in range(LEFT, right):
        now = span * (x - LEFT) / (right - LEFT - 1)
        peak = 0  # of all events that fall into this column: a spike must not vanish between two pixels
        while at < len(points) and points[at][0] <= now:
            shown = points[at]
            peak = max(peak, shown[1])
            at += 1
        canvas.box(x, height(max(peak, shown[1])), x + 1, bottom, ALLOCATED)
        canvas.box(x, height(shown[2]) - 1, x + 1, height(shown[2]) + 1, RESERVED)
    canvas.box(LEFT, bottom, right, bottom + 1, INK)
    step = round_step(span * 1e3)
    for tick in range(int(span * 1e3 / step) + 1):
        x = LEFT + round((right - LEFT - 1) * tick * step / (span * 1e3))
        canvas.box(x, bottom, x + 1, bottom + 6, INK)
        canvas.text(x + 20, bottom + 14, f"{tick * step:g} ms", right=True)
    canvas.text(LEFT, 12, "allocated", ALLOCATED)
    canvas.text(LEFT + 140, 12, "reserved", RESERVED)
    canvas.save(path)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    draw(pickle.loads(Path(sys.argv[1]).read_bytes()), Path(sys.argv[2]))
