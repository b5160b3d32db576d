"""A function of some columns of a sample."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any


def on_columns(fn: Callable[..., Any], data: Any, input_col: Any, output_col: Any) -> Any:
    """The sample with ``fn`` of its columns in place of one of them, or at its end for ``output_col=-1``."""
    if input_col is None:
        return fn(data)
    several = isinstance(input_col, (list, tuple))
    result = fn(*(data[column] for column in input_col)) if several else fn(data[input_col])
    changed = list(data) if isinstance(data, tuple) else copy.copy(data)
    target = output_col[0] if isinstance(output_col, (list, tuple)) else output_col
    if target == -1:
        changed.append(result)
    elif target is not None:
        changed[target] = result
    elif several:
        changed[input_col[0]] = result
        for column in sorted(input_col[1:], reverse=True):
            del changed[column]
    else:
        changed[input_col] = result
    return tuple(changed) if isinstance(data, tuple) else changed
