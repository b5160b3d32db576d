"""``mindtorch plan``: memory and traffic of each card for a model on many cards, without any card."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from typing import Any

from .._plan.cases import DTYPES, NAMED, OPTIMIZERS, WAYS, Case, Links, Sizes


def add(subcommands: Any) -> None:
    parser = subcommands.add_parser(
        "plan",
        help="memory and traffic of a model on many cards",
        description="Says what training a model needs on each of many cards: memory for parameters, gradients, "
        "optimizer, activations and communication, and what the cards send. Nothing is computed: the program runs on "
        "meta, as one process of as many as wanted.",
    )
    parser.add_argument(
        "--model",
        default="7B",
        help=f"{', '.join(NAMED)}, or file.py:function, which gives a model and a tuple of its inputs",
    )
    of_decoder = parser.add_argument_group("another decoder, by its numbers (those left out are of --model)")
    for name in ("layers", "hidden", "heads", "key-heads", "feed-forward", "vocabulary"):
        of_decoder.add_argument(f"--{name}", type=int)
    parser.add_argument("--batch", type=int, default=1, help="sequences for each card (1)")
    parser.add_argument("--sequence", type=int, default=4096, help="tokens of a sequence (4096)")
    parser.add_argument(
        "--attention", choices=["fused", "composed"], default="fused",
        help="composed keeps the matrix of a sequence with itself",
    )  # fmt: skip
    parser.add_argument("--cards", type=int, nargs="+", default=[8, 64, 1024], help="(8 64 1024)")
    parser.add_argument("--ways", choices=list(WAYS), nargs="+", default=list(WAYS), help="of training (all)")
    parser.add_argument("--checkpointing", choices=["yes", "no", "both"], default="both", help="(both)")
    parser.add_argument(
        "--tensor-parallel", type=int, default=8, help="cards that compute a layer together (8)"
    )
    parser.add_argument("--dtype", choices=DTYPES, default="bfloat16", help="of everything (bfloat16)")
    parser.add_argument("--optimizer", choices=OPTIMIZERS, default="adamw")
    parser.add_argument("--inside", type=float, default=Links.inside, help="GB/s within a machine (200)")
    parser.add_argument("--between", type=float, default=Links.between, help="GB/s between machines (25)")
    parser.add_argument("--cards-per-machine", type=int, default=Links.cards_per_machine, help="(8)")
    parser.add_argument("--traffic", action="store_true", help="show every kind of collective too")
    parser.add_argument("--json", action="store_true", help="write everything as JSON")
    parser.set_defaults(run=_run)


def _subject(parsed: argparse.Namespace) -> Any:
    from .._plan.models import decoder, of_file  # the other commands need not load what trains on many cards

    changed = {name: value for name in Sizes.__annotations__ if (value := getattr(parsed, name)) is not None}
    if parsed.model not in NAMED:
        if changed:
            raise ValueError(
                f"--{next(iter(changed)).replace('_', '-')} is for decoders, not for {parsed.model}"
            )
        return of_file(parsed.model)
    for name in ("batch", "sequence"):
        if getattr(parsed, name) < 1:
            raise ValueError(f"--{name} is {getattr(parsed, name)}, expected a positive number")
    sizes = Sizes(**asdict(NAMED[parsed.model]) | changed)
    name = "a decoder" if changed else parsed.model
    return decoder(name, sizes, parsed.batch, parsed.sequence, fused=parsed.attention == "fused")


def _cases(parsed: argparse.Namespace) -> list[Case]:
    wanted = {"yes": (True,), "no": (False,), "both": (False, True)}[parsed.checkpointing]
    return [
        Case(way, cards, on, parsed.dtype, parsed.optimizer, parsed.tensor_parallel).checked()
        for way in parsed.ways
        for on in wanted
        for cards in parsed.cards
    ]


def _run(parsed: argparse.Namespace) -> int:
    from .._plan import tables
    from .._plan.measure import measure

    subject, cases = _subject(parsed), _cases(parsed)
    links = Links(parsed.inside, parsed.between, parsed.cards_per_machine).checked()
    found = []
    for number, case in enumerate(cases, 1):
        _progress(f"{number} of {len(cases)}: {WAYS[case.way]} on {case.cards:,} cards")
        found.append(measure(subject, case, links))
    _progress("")
    if parsed.json:
        cases_found = [each.as_dict() for each in found]
        print(json.dumps({"model": subject.name, "links": asdict(links), "cases": cases_found}, indent=1))
        return 0
    what = f"{found[0].parameters / 1e9:.3g} billion parameters, {parsed.dtype}, {parsed.optimizer}"
    print(f"{subject.name}: {what}\n\n{tables.memory_table(found)}\n")
    if parsed.traffic:
        print(f"{tables.traffic_table(found)}\n")
    print(tables.legend(links))
    return 0


def _progress(text: str) -> None:
    """On a terminal, a line that the next replaces."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
