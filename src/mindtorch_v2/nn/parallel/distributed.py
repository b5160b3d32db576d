"""One process per device."""

from __future__ import annotations

from typing import Any

from ..modules.module import Module

__all__ = ["DistributedDataParallel"]


class DistributedDataParallel(Module):
    """The class that programs ask ``isinstance`` of; making one needs process groups, which are not here yet."""

    module: Module

    def __init__(self, module: Module, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(
            "DistributedDataParallel: gradients are not averaged over processes yet; train in one process with "
            "the module itself"
        )
