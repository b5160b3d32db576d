"""Reads the files that the ranks wrote when a collective failed, and says who is behind.

``mindtorch flight FILES...`` or ``python -m torch.distributed.flight_recorder.fr_trace FOLDER``. The files may be this
library's or PyTorch's: pickles or JSON, with the rank at the end of their names.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import pickle
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from .recorder import Position
from .verdict import ranks_named, verdict

_LIBRARY = str(Path(__file__).parents[2])


class _Plain(pickle.Unpickler):
    """Reads numbers, texts, lists and dicts: a file that asks for more is no file of a flight recorder."""

    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"it asks for {module}.{name}")


def read(path: Path) -> dict[str, Any]:
    """The contents of one file."""
    data = path.read_bytes()
    try:
        found = json.loads(data) if data[:1] == b"{" else _Plain(io.BytesIO(data)).load()
    except (ValueError, EOFError, pickle.UnpicklingError) as error:
        raise ValueError(f"{path} is no file of a flight recorder: {error}") from error
    if not isinstance(found, dict) or "entries" not in found:
        raise ValueError(f"{path} is no file of a flight recorder: it has no entries")
    return found


def rank_of(path: Path) -> int:
    """The number at the end of the name."""
    found = re.search(r"(\d+)(\.\w+)?$", path.name)
    if found is None:
        raise ValueError(f"{path}: the name of the file must end with the rank")
    return int(found[1])


def read_all(given: Sequence[str], prefix: str = "") -> dict[int, dict[str, Any]]:
    """The files by rank; of a folder, those whose names begin with the prefix and end with a number."""
    paths: list[Path] = []
    for each in map(Path, given):
        inside = sorted(each.iterdir()) if each.is_dir() else [each]
        paths += [
            path for path in inside if path == each or re.fullmatch(rf"{re.escape(prefix)}.*\d", path.name)
        ]
    found: dict[int, dict[str, Any]] = {}
    for path in paths:
        rank = rank_of(path)
        if rank in found:
            raise ValueError(f"two files are of rank {rank}; name a folder with one run, or give --prefix")
        found[rank] = read(path)
    if not found:
        raise ValueError(f"there are no files of a flight recorder in {', '.join(given)}")
    return found


def _ranks(described: Any) -> list[int]:
    return [int(rank) for rank in (ast.literal_eval(described) if isinstance(described, str) else described)]


def _short(entry: Mapping[str, Any]) -> str:
    return str(entry["profiling_name"]).partition(":")[2] or str(entry["profiling_name"])


def _what(entry: Mapping[str, Any]) -> str:
    """``all_reduce of Float[3]``."""
    pairs = zip(entry["input_dtypes"], entry["input_sizes"], strict=False)
    tensors = ", ".join(f"{dtype}{list(sizes)}" for dtype, sizes in list(pairs)[:3])
    return f"{_short(entry)} of {tensors}" if tensors else _short(entry)


class Group:
    """One group in the files of all its members."""

    def __init__(self, name: str, description: str, ranks: list[int]) -> None:
        self.name, self.description, self.ranks = name, description, ranks
        self.positions: dict[int, Position | None] = dict.fromkeys(ranks)
        self.entries: dict[int, dict[int, dict[str, Any]]] = {}  # collectives by rank and number

    def add(self, rank: int, trace: Mapping[str, Any]) -> None:
        """What one member has."""
        own = [
            each
            for each in trace["entries"]
            if str(each["process_group"][0]) == self.name and not each["is_p2p"]
        ]
        self.entries[rank] = {each["collective_seq_id"]: each for each in own}
        last = own[-1] if own else None
        status = trace.get("pg_status", {}).get(self.name, {})
        created = int(status.get("last_enqueued_collective", last["collective_seq_id"] if last else 0))
        self.positions[rank] = Position(
            max(created, 0),
            int(status.get("last_started_collective", 0)),
            int(status.get("last_completed_collective", 0)),
            _short(last) if last else "a collective",
        )

    def differences(self) -> Iterator[str]:
        """Collectives of one number that are not the same on all members."""
        numbers = sorted({number for of_rank in self.entries.values() for number in of_rank})
        for number in numbers:
            said: dict[str, list[int]] = {}
            for rank, of_rank in self.entries.items():
                if number in of_rank:
                    said.setdefault(self._compared(of_rank[number]), []).append(rank)
            if len(said) > 1:
                parts = (f"{ranks_named(ranks)} called {what}" for what, ranks in said.items())
                yield f"number {number} differs: {'; '.join(parts)}"

    @staticmethod
    def _compared(entry: Mapping[str, Any]) -> str:
        """Of gather and scatter, and where parts are of any size, not all members have the same tensors."""
        return _short(entry) if _short(entry) in ("gather", "scatter", "all_to_all") else _what(entry)

    def unfinished(self) -> Iterator[str]:
        """What members have begun and not ended, the first of each."""
        for rank, of_rank in sorted(self.entries.items()):
            waiting = [each for each in of_rank.values() if each["state"] != "completed"]
            if waiting:
                first = min(waiting, key=lambda each: int(each["collective_seq_id"]))
                at = _caller(first)
                yield (
                    f"rank {rank} is not done with {_what(first)} (number {first['collective_seq_id']}, "
                    f"{first['state']}){at}"
                )


def _caller(entry: Mapping[str, Any]) -> str:
    """Where the program called it, if the stack is there."""
    outside = [frame for frame in entry.get("frames", []) if not frame["filename"].startswith(_LIBRARY)]
    return f" at {outside[0]['filename']}:{outside[0]['line']}" if outside else ""


def groups(traces: Mapping[int, Mapping[str, Any]]) -> list[Group]:
    """The groups of all files."""
    found: dict[str, Group] = {}
    for rank, trace in sorted(traces.items()):
        for name, config in trace.get("pg_config", {}).items():
            group = found.setdefault(name, Group(name, config["desc"], _ranks(config["ranks"])))
            group.add(rank, trace)
    return list(found.values())


def report(traces: Mapping[int, Mapping[str, Any]]) -> list[str]:
    """Lines for people."""
    lines = []
    for group in groups(traces):
        lines.append(f"group {group.name} ({group.description}), {ranks_named(group.ranks)}:")
        missing = [rank for rank in group.ranks if rank not in traces]
        if missing:
            lines.append(f"  there is no file of {ranks_named(missing)}: gone, or stuck")
        behind = verdict({rank: at for rank, at in group.positions.items() if at is not None})
        said = [*([behind] if behind else []), *group.differences(), *group.unfinished()]
        lines += [f"  {each}" for each in said]
        if not said and not missing:
            lines.append("  all members are done with all that they called")
    return lines


def entries(traces: Mapping[int, Mapping[str, Any]]) -> list[str]:
    """All entries, as they are in the files."""
    return [
        f"rank {rank}  group {each['process_group'][0]}  "
        f"{'message' if each['is_p2p'] else 'number'} {each['p2p_seq_id' if each['is_p2p'] else 'collective_seq_id']}  "
        f"{_what(each)}  {each['state']}"
        for rank, trace in sorted(traces.items())
        for each in trace["entries"]
    ]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options, which the command ``mindtorch flight`` shares."""
    parser.add_argument("files", nargs="+", help="files with the rank at the end of their names, or a folder")
    parser.add_argument("-p", "--prefix", default="", help="how the names of files in a folder begin")
    parser.add_argument(
        "-j", "--just_print_entries", action="store_true", help="print the entries, and no more"
    )


def run(options: argparse.Namespace) -> int:
    """Prints what the files say."""
    traces = read_all(options.files, options.prefix)
    print("\n".join(entries(traces) if options.just_print_entries else report(traces)))
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(description="Says who is behind, from the files of a flight recorder.")
    add_arguments(parser)
    try:
        return run(parser.parse_args(arguments))
    except (ValueError, OSError) as error:
        print(f"fr_trace: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
