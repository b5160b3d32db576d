"""Arguments of a backend's methods as PyTorch writes them: an object for each collective."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from .reduce_op import RedOpType

__all__ = [
    "AllToAllOptions", "AllgatherOptions", "AllreduceCoalescedOptions", "AllreduceOptions", "BarrierOptions",
    "BroadcastOptions", "GatherOptions", "ReduceOptions", "ReduceScatterOptions", "ScatterOptions",
]  # fmt: skip


@dataclass
class _Options:
    timeout: timedelta = timedelta(milliseconds=-1)
    asyncOp: bool = True


@dataclass
class AllreduceOptions(_Options):
    """Of allreduce."""

    reduceOp: Any = RedOpType.SUM


@dataclass
class AllreduceCoalescedOptions(AllreduceOptions):
    """Of allreduce_coalesced."""


@dataclass
class ReduceOptions(AllreduceOptions):
    """Of reduce."""

    rootRank: int = 0
    rootTensor: int = 0


@dataclass
class ReduceScatterOptions(AllreduceOptions):
    """Of reduce_scatter."""


@dataclass
class BroadcastOptions(_Options):
    """Of broadcast."""

    rootRank: int = 0
    rootTensor: int = 0


@dataclass
class GatherOptions(_Options):
    """Of gather."""

    rootRank: int = 0


@dataclass
class ScatterOptions(GatherOptions):
    """Of scatter."""


@dataclass
class AllgatherOptions(_Options):
    """Of allgather."""


@dataclass
class AllToAllOptions(_Options):
    """Of alltoall."""


@dataclass
class BarrierOptions(_Options):
    """Of barrier."""

    device_ids: Any = None
    device: Any = None
