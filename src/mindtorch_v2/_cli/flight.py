"""``mindtorch flight``: who is behind, from the files that ranks wrote when a collective failed."""

from __future__ import annotations

from typing import Any

from ..distributed.flight_recorder import fr_trace


def add(subcommands: Any) -> None:
    parser = subcommands.add_parser(
        "flight",
        help="say which rank is behind when a collective failed",
        description="Reads the files that the ranks of a run wrote when a collective failed, and says which of them is "
        "behind and at which collective.",
    )
    fr_trace.add_arguments(parser)
    parser.set_defaults(run=fr_trace.run)
