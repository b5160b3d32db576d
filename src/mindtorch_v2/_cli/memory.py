"""``mindtorch memory``: where the memory went, and what would need less."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

from .. import memory_tools
from .._plan.cases import ALONE, DTYPES, NAMED, OPTIMIZERS, WAYS


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
    _add_estimate(commands)
    text = "the memory of a running program, each second"
    command = commands.add_parser("watch", help=text, description=text[0].upper() + text[1:] + ".")
    command.set_defaults(run=_watch)
    command.add_argument("process", help="its number (it runs with MINDTORCH_MEMORY_WATCH=1), or its file")
    command.add_argument("--once", action="store_true", help="look once")
    command.add_argument("--page", action="store_true", help="say the address of a live page for a browser")


def _add_estimate(commands: Any) -> None:
    text = "the most memory that a step of training takes, without the device"
    command = commands.add_parser("estimate", help=text, description=text[0].upper() + text[1:] + ".")
    command.set_defaults(run=_estimate)
    command.add_argument(
        "model",
        help=f"{', '.join(NAMED)}, or file.py:function, which gives a model and a tuple of its inputs (with --batch, "
        "it takes an argument called batch)",
    )
    command.add_argument("--batch", help="samples of a step, or auto: the largest that fits into --capacity")
    command.add_argument("--sequence", type=int, default=4096, help=f"tokens, of {', '.join(NAMED)} (4096)")
    command.add_argument("--optimizer", choices=OPTIMIZERS, default="adamw")
    command.add_argument("--checkpointing", action="store_true", help="of the layers that the model repeats")
    command.add_argument("--autocast", choices=DTYPES, default="", help="(none)")
    command.add_argument("--dtype", choices=DTYPES, default="float32", help="of parameters (float32)")
    command.add_argument("--device", help="that it is to run on, or cpu (the accelerator)")
    command.add_argument("--conf", default="", metavar="SETTINGS", help="of the allocator")
    command.add_argument("--capacity", metavar="SIZE", help="memory of the device, such as 32GiB")
    command.add_argument("--cards", type=int, default=1, help="that train together (1)")
    command.add_argument("--way", choices=list(WAYS), default="ddp", help="of training on many cards (ddp)")
    command.add_argument(
        "--tensor-parallel", type=int, default=8, help="cards that compute a layer together (8)"
    )
    command.add_argument("--ranks", type=int, nargs="+", help="cards to look at (the first and the last)")
    command.add_argument("--json", action="store_true", help="write JSON")


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


def _build(parsed: argparse.Namespace) -> Any:
    from .._plan.models import decoder, of_file

    def build(batch: int | None = None) -> Any:
        if parsed.model in NAMED:
            return decoder(parsed.model, NAMED[parsed.model], batch or 1, parsed.sequence).build()
        return of_file(parsed.model, batch).build()

    return build


def _estimate(parsed: argparse.Namespace) -> int:
    from ..memory_tools.estimates import estimate  # the other commands need not load what trains

    batch = parsed.batch
    if batch not in (None, "auto"):
        if not batch.isdecimal():
            raise ValueError(f"--batch is {batch!r}, expected a positive number or auto")
        batch = int(batch)
    ranks = parsed.ranks or sorted({0, parsed.cards - 1})
    found = [
        estimate(
            _build(parsed), batch=batch, optimizer=parsed.optimizer, checkpointing=parsed.checkpointing,
            autocast=parsed.autocast, dtype=parsed.dtype, device=parsed.device, conf=parsed.conf,
            capacity=parsed.capacity, cards=parsed.cards, rank=rank, way=parsed.way if parsed.cards > 1 else ALONE,
            tensor_parallel=parsed.tensor_parallel,
        )
        for rank in ranks
    ]  # fmt: skip
    print(
        json.dumps([each.as_dict() for each in found], indent=1)
        if parsed.json
        else "\n".join(map(str, found))
    )
    return 0 if all(each.fits for each in found) else 1


def _watch(parsed: argparse.Namespace) -> int:
    if parsed.page:
        print(memory_tools.page_of(parsed.process))
        return 0
    if parsed.once:
        print(memory_tools.watch_text(memory_tools.look(parsed.process)))
        return 0
    lines = 0
    try:
        for told in memory_tools.watch(parsed.process):
            text = memory_tools.watch_text(told)
            if lines and sys.stdout.isatty():
                sys.stdout.write(f"\x1b[{lines}A\x1b[J")
            print(text, flush=True)
            lines = text.count("\n") + 1
        print(f"process {parsed.process} no longer answers")
    except KeyboardInterrupt:
        pass
    return 0
