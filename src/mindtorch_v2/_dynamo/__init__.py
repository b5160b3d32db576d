"""``torch._dynamo``: the names libraries use although it is private. There is no compiler behind them."""

from __future__ import annotations

from typing import Any

from .._absent import names_of
from ..compiler import (
    allow_in_graph as allow_in_graph,
)
from ..compiler import (
    assume_constant_result as assume_constant_result,
)
from ..compiler import (
    disable as disable,
)
from ..compiler import (
    is_compiling as is_compiling,
)
from ..compiler import (
    list_backends as list_backends,
)
from ..compiler import (
    reset as reset,
)
from ..compiler import (
    set_stance as set_stance,
)
from ..compiler import (
    substitute_in_graph as substitute_in_graph,
)
from . import config as config
from . import eval_frame as eval_frame
from .eval_frame import OptimizedModule as OptimizedModule


def graph_break(msg: str = "") -> None:
    """Ends a compiled graph; there is none."""


def mark_dynamic(t: Any, index: Any, **limits: Any) -> None:
    """Says that a dimension changes, which eager execution allows anyway."""


maybe_mark_dynamic = mark_static = mark_dynamic


def mark_static_address(t: Any, guard: bool = False) -> None:
    """Says that a tensor stays where it is, which eager execution has no use for."""


__getattr__ = names_of(__name__)
