"""AdamW: Adam whose weight decay does not pass through the averages."""

from __future__ import annotations

import inspect
from typing import Any

from ._options import DECOUPLED, declared, fixed, not_negative, option
from .adam import Adam, adam

__all__ = ["AdamW", "adamw"]


@declared(last_in_signature="foreach capturable differentiable fused")
class AdamW(Adam):
    weight_decay: float = option(default=1e-2, check=not_negative, meaning=DECOUPLED)
    decoupled_weight_decay: bool = fixed(default=True, init=False)


def adamw(*args: Any, **kwargs: Any) -> None:
    """One step of AdamW over lists of parameters and their state."""
    adam(*args, decoupled_weight_decay=True, **kwargs)  # type: ignore[misc]


_adam = inspect.signature(adam)
adamw.__signature__ = _adam.replace(  # type: ignore[attr-defined]
    parameters=[place for name, place in _adam.parameters.items() if name != "decoupled_weight_decay"]
)
