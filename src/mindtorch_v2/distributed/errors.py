"""What goes wrong between processes."""

from __future__ import annotations

__all__ = ["DistBackendError", "DistError", "DistNetworkError", "DistStoreError", "QueueEmptyError"]


class DistError(RuntimeError):
    """Something that several processes do together failed."""


class DistBackendError(DistError):
    """The library that carries the messages failed."""


class DistNetworkError(DistError):
    """A connection could not be made, or broke."""


class DistStoreError(DistError):
    """A store did not have what was asked for in time."""


class QueueEmptyError(DistStoreError):
    """A queue of a store has nothing in it."""


for _kind in (DistError, DistBackendError, DistNetworkError, DistStoreError, QueueEmptyError):
    _kind.__module__ = "torch.distributed"
