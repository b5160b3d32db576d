"""Objects that give their state and take it back."""

from __future__ import annotations

from typing import Any, Protocol, TypeVar, runtime_checkable

__all__ = ["Stateful", "StatefulT"]


@runtime_checkable
class Stateful(Protocol):
    """Saved as what ``state_dict`` gives, loaded by ``load_state_dict``: modules and optimizers are such."""

    def state_dict(self) -> dict[str, Any]:
        """Its state."""
        ...

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes a state back."""
        ...


StatefulT = TypeVar("StatefulT", bound=Stateful)
