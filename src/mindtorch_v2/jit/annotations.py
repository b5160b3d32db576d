"""``torch.jit.annotations``: the names that annotations for TorchScript use. Nothing reads them here."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple, Union  # noqa: UP035 - part of the namespace

from ..futures import Future

__all__ = [
    "Any", "BroadcastingList1", "BroadcastingList2", "BroadcastingList3", "Dict", "Future", "List", "Optional",
    "Tuple", "Union",
]  # fmt: skip


class BroadcastingListCls:
    """``BroadcastingList2[int]``: one value, or a list of two; a mark for TorchScript."""

    def __getitem__(self, types: Any) -> None:
        return None


BroadcastingList1 = BroadcastingList2 = BroadcastingList3 = BroadcastingListCls()
BroadcastingList4 = BroadcastingList5 = BroadcastingList6 = BroadcastingList1
