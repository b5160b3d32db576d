"""``torch.fx.experimental.symbolic_shapes``: sizes that are not numbers; nested tensors have them."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch

from ..._absent import names_of


def is_nested_int(s: Any) -> bool:
    """Whether a size is that of a ragged dimension."""
    return isinstance(s, torch.SymInt)


__getattr__ = names_of(__name__)
