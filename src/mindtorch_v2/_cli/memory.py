"""``mindtorch memory``: where the memory went, and what would need less."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

from .. import memory_tools


def add(subcommands: Any) -> None:
    parser = subcommands.add_parser(
        "memory",
        help="read, replay and compare memory snapshots",
        description="Reads snapshots of torch.npu.memory._dump_snapshot, torch.cuda.memory._dump_snapshot and "
        "torch_npu (pickle or JSON; only plain data is read). See docs/memory_tools.md.",
    )
    commands = parser.add_subparsers(metavar="what", required=True)
    for name, run, text in (
        ("replay", _replay, "what the program would have needed under other settings, or on a smaller card"),
        ("advise", _advise, "the settings that need least, and the smallest card"),
        ("diff", _diff, "what one snapshot holds more than another"),
        ("leaks", _leaks, "what grows step after step"),
        ("view", _view, "a page to look at the history in a browser"),
    ):
        command = commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        command.set_defaults(run=run)
        if name == "diff":
            command.add_argument("before", help="a snapshot")
            command.add_argument("after", help="a later one, or another program's")
        else:
            command.add_argument("snapshot", help="a file of _dump_snapshot")
        command.add_argument(
            "--device", type=int, help="the device (default: the one with the longest history)"
        )
        command.add_argument(
            "--memory-limit", default="8GiB", metavar="SIZE", help="what reading may take (default: 8GiB)"
        )
        if name in ("replay", "advise"):
            command.add_argument(
                "--conf",
                action="append",
                metavar="SETTINGS",
                help='such as "expandable_segments:True"; may be repeated',
            )
            command.add_argument("--capacity", metavar="SIZE", help="memory of the device, such as 40GiB")
        if name == "view":
            command.add_argument(
                "-o", "--out", metavar="FILE", help="the page (default: the snapshot's name with .html)"
            )


class _Progress:
    """A line on a terminal, rewritten; nothing elsewhere, and nothing for what is done within a second."""

    def __init__(self) -> None:
        self._begun, self._shown = time.monotonic(), False

    def __call__(self, what: str, done: int, of: int) -> None:
        if sys.stderr.isatty() and time.monotonic() - self._begun > 1:
            self._shown = True
            sys.stderr.write(f"\r\x1b[K{what}: {done / max(of, 1):.0%}")

    def end(self) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[K")


def _read(path: str, parsed: argparse.Namespace, progress: _Progress) -> memory_tools.Snapshot:
    return memory_tools.read(path, memory_tools.size_of(parsed.memory_limit), progress)


def _replay(parsed: argparse.Namespace) -> int:
    progress = _Progress()
    snapshot = _read(parsed.snapshot, parsed, progress)
    outcomes = [memory_tools.replay(snapshot, None, None, parsed.device, progress)]
    if parsed.capacity is not None:
        outcomes.append(memory_tools.replay(snapshot, None, parsed.capacity, parsed.device, progress))
    for conf in parsed.conf or ():
        outcomes.append(memory_tools.replay(snapshot, conf, parsed.capacity, parsed.device, progress))
    progress.end()
    before = outcomes[0].steps.known_before
    if before.blocks:
        print(
            f"{before.blocks} blocks ({memory_tools.text_of(before.live_bytes)}) are older than the history: with "
            "other settings they are laid out anew, so their fragments are not those of the program."
        )
    if snapshot.maker != "mindtorch_v2":
        print(
            f"The snapshot is {snapshot.maker}'s; it is replayed on this package's allocator, which has its policy."
        )
    print(memory_tools.table(outcomes, snapshot, parsed.device))
    return 0


def _advise(parsed: argparse.Namespace) -> int:
    progress = _Progress()
    snapshot = _read(parsed.snapshot, parsed, progress)
    more = {"confs": parsed.conf} if parsed.conf else {}
    found = memory_tools.advise(
        snapshot, capacity=parsed.capacity, device=parsed.device, progress=progress, **more
    )
    progress.end()
    print(memory_tools.table([found.recorded, *found.tried], snapshot, parsed.device))
    print()
    print(found)
    return 0


def _diff(parsed: argparse.Namespace) -> int:
    progress = _Progress()
    before, after = _read(parsed.before, parsed, progress), _read(parsed.after, parsed, progress)
    progress.end()
    print(memory_tools.diff(before, after, parsed.device))
    return 0


def _leaks(parsed: argparse.Namespace) -> int:
    progress = _Progress()
    snapshot = _read(parsed.snapshot, parsed, progress)
    found = memory_tools.leaks(snapshot, parsed.device)
    progress.end()
    print(memory_tools.leaks_text(found))
    return 1 if found else 0


def _view(parsed: argparse.Namespace) -> int:
    progress = _Progress()
    snapshot = _read(parsed.snapshot, parsed, progress)
    out = Path(parsed.out) if parsed.out else Path(parsed.snapshot).with_suffix(".html")
    memory_tools.view(snapshot, out, progress)
    progress.end()
    print(f"wrote {out}")
    return 0
