"""``torch.cuda.nccl``: the library of collectives of GPUs. Collectives are called through ``torch.distributed``."""

from __future__ import annotations

from typing import Any

from .._absent import names_of

__all__ = ["is_available", "version"]


def version() -> tuple[int, ...]:
    """Of the library: (2, 27, 3)."""
    from ._nccl import version  # brings torch.distributed along

    return version()


def is_available(tensors: Any) -> bool:
    """Whether NCCL can work on these: dense contiguous tensors, each on a GPU of its own."""
    devices = set()
    for tensor in tensors:
        if (
            tensor.is_sparse
            or not tensor.is_contiguous()
            or tensor.device.type != "cuda"
            or tensor.device in devices
        ):
            return False
        devices.add(tensor.device)
    from ._nccl import is_available

    return is_available()


__getattr__ = names_of(__name__)
