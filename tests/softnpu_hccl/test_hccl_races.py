"""The sanitizer and collectives: what a stream does to their memory without waiting for them is a race."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hccl_rank import Rank, hccl_type, reduction
from rank_processes import Ranks

FLOAT, BYTES = hccl_type("float32"), 16


def all_reduce(rank: Rank, buffers: list[int]) -> None:
    rank.call.HcclAllReduce(buffers[0], buffers[1], 4, FLOAT, reduction("sum"), rank.comm, rank.stream)


def send_or_receive(rank: Rank, buffers: list[int]) -> None:
    if rank.rank == 0:
        rank.call.HcclSend(buffers[0], 4, FLOAT, 1, rank.comm, rank.stream)
    else:
        rank.call.HcclRecv(buffers[0], 4, FLOAT, 0, rank.comm, rank.stream)


def fill_beside(rank: Rank, operation: Callable[[Rank, list[int]], None], which: int, ordered: bool) -> None:
    buffers = [rank.buffer(np.ones(4, np.float32)).address for _ in range(2)]
    other = rank.new_stream()
    operation(rank, buffers)
    if ordered:
        event = ctypes.c_void_p()
        rank.call.aclrtCreateEvent(ctypes.byref(event))
        rank.call.aclrtRecordEvent(event, rank.stream)
        rank.call.aclrtStreamWaitEvent(other, event)
    rank.call.aclrtMemsetAsync(buffers[which], BYTES, 0, BYTES, other)


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize(
    ("operation", "which", "names"),
    [
        (all_reduce, 0, {"HcclAllReduce"}),
        (all_reduce, 1, {"HcclAllReduce"}),
        (send_or_receive, 0, {"HcclSend", "HcclRecv"}),
    ],
)
def test_memory_of_a_collective_that_another_stream_writes_is_a_race(
    tmp_path: Path,
    operation: Callable[[Rank, list[int]], None],
    which: int,
    names: set[str],
    ordered: bool,
) -> None:
    log = tmp_path / "reports.jsonl"
    ranks = Ranks(2, {"SOFTNPU_SANITIZE": "1", "SOFTNPU_SANITIZE_LOG": str(log)})
    try:
        ranks.connect(exec_timeout=30)
        ranks.run(fill_beside, operation, which, ordered)
    finally:
        ranks.stop()
    reports = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    if ordered:
        assert reports == []
        return
    assert {report["kind"] for report in reports} == {"race"}
    for name in names:
        assert any(name in json.dumps(report) for report in reports)
