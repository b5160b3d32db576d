"""Mixed precision: operators in a lower precision where that is safe, and a scale for small gradients."""

from typing import TYPE_CHECKING, Any

from .._absent import names_of
from .autocast_mode import (
    _enter_autocast,
    _exit_autocast,
    autocast,
    custom_bwd,
    custom_fwd,
    is_autocast_available,
)

if TYPE_CHECKING:
    from .grad_scaler import GradScaler

__all__ = [
    "GradScaler",
    "_enter_autocast",
    "_exit_autocast",
    "autocast",
    "custom_bwd",
    "custom_fwd",
    "is_autocast_available",
]


_others = names_of(__name__)


def __getattr__(name: str) -> Any:
    if name == "GradScaler":  # loaded when it is asked for
        from .grad_scaler import GradScaler

        globals()[name] = GradScaler
        return GradScaler
    return _others(name)
