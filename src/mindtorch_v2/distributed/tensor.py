"""``torch.distributed.tensor``: the class of tensors spread over processes, of which there are none."""

from __future__ import annotations

from typing import Any


class DTensor:
    """A tensor spread over processes; ``isinstance`` says that no tensor is one."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError("torch.distributed.tensor.DTensor: this library runs in one process")
