"""Times, sizes and shares as PyTorch's profiler writes them."""

from __future__ import annotations

import math

_TIME_UNITS = {"us": 1.0, "ms": 1e3, "s": 1e6}
_FLOPS_UNITS = ("FLOPs", "KFLOPs", "MFLOPs", "GFLOPs", "TFLOPs", "PFLOPs")


def format_time(microseconds: float, unit: str | None = None) -> str:
    """``12.345us``, ``1.234ms``, ``2.000s``; always in ``unit`` if one is given."""
    if unit is None:
        unit = "s" if microseconds >= 1e6 else "ms" if microseconds >= 1e3 else "us"
    if unit not in _TIME_UNITS:
        raise ValueError(f"time_unit must be one of {', '.join(_TIME_UNITS)}, got {unit!r}")
    return f"{microseconds / _TIME_UNITS[unit]:.3f}{unit}"


def format_memory(size: int) -> str:
    """``512 B``, ``1.00 KB``, ``-2.50 MB``."""
    for unit, scale in (("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10)):
        if abs(size) >= scale:
            return f"{size / scale:.2f} {unit}"
    return f"{size} B"


def format_share(part: float, whole: float) -> str:
    return f"{100 * part / whole:.2f}%" if whole else "NaN"


def flops_unit(smallest: int) -> tuple[float, str]:
    """The unit that shows the smallest count as a number above one: its size and name."""
    step = min(int(math.log10(smallest) / 3), len(_FLOPS_UNITS) - 1)
    return 10.0 ** (3 * step), _FLOPS_UNITS[step]


def shorten(text: str, width: int | None) -> str:
    """One line, cut where it does not fit."""
    line = text.encode("unicode_escape").decode("ascii") if not text.isprintable() else text
    return line if width is None or len(line) < width - 3 else line[: width - 3] + "..."


def shorten_front(path: str, width: int) -> str:
    """The end of a path, which tells more than its beginning."""
    return path if len(path) <= width else ("..." + path[len(path) - width + 3 :])[:width]
