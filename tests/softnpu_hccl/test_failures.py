"""What happens when a rank dies, leaves, is late, or calls something else than the others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hccl_rank import CODES, HcclError, Rank, counts, hccl_type, reduction
from rank_processes import Ranks

FLOAT = hccl_type("float32")
REMOTE_ERROR, TASK_TIMEOUT, TASK_FAILED = 507057, 107020, 507018  # of the runtime


@pytest.fixture
def ranks() -> Iterator[Ranks]:
    group = Ranks(2)
    group.connect(exec_timeout=30)
    yield group
    group.stop()


def all_reduce(rank: Rank, count: int = 4, dtype: str = "float32", op: str = "sum") -> None:
    buffer = rank.buffer(np.ones(count, dtype))
    rank.call.HcclAllReduce(
        buffer.address, buffer.address, count, hccl_type(dtype), reduction(op), rank.comm, rank.stream
    )
    rank.synchronize()


def broadcast(rank: Rank, root: int = 0) -> None:
    buffer = rank.buffer(np.ones(4, np.float32))
    rank.call.HcclBroadcast(buffer.address, 4, FLOAT, root, rank.comm, rank.stream)
    rank.synchronize()


def receive(rank: Rank, count: int, dtype: str = "float32") -> None:
    buffer = rank.buffer(np.ones(count, dtype))
    rank.call.HcclRecv(buffer.address, count, hccl_type(dtype), 1 - rank.rank, rank.comm, rank.stream)
    rank.synchronize()


def send(rank: Rank, count: int) -> None:
    buffer = rank.buffer(np.ones(count, np.float32))
    rank.call.HcclSend(buffer.address, count, FLOAT, 1 - rank.rank, rank.comm, rank.stream)
    rank.synchronize()


def failure(answer: Any) -> HcclError:
    assert isinstance(answer, HcclError), answer
    return answer


@pytest.mark.parametrize(("function", "arguments"), [(all_reduce, ()), (receive, (4,))])
def test_a_rank_that_dies_is_noticed_by_those_who_wait_for_it(
    ranks: Ranks, function: Any, arguments: tuple[Any, ...]
) -> None:
    ranks.run(all_reduce)
    ranks.start(function, *arguments, on=[0])
    ranks.kill(1)
    error = failure(ranks.answers(on=[0])[0])
    assert error.code == REMOTE_ERROR
    assert f"rank 1 (process {ranks.processes[1].pid}) has ended, but rank 0 waits for it" in error.message
    code, message = ranks.run_on(0, Rank.async_error)
    assert code == CODES["HCCL_E_REMOTE"]
    assert "has ended" in message
    with pytest.raises(HcclError, match="the communicator cannot be used any more: rank 1 .* has ended"):
        ranks.run_on(0, function, *arguments)


def test_a_rank_that_destroys_the_communicator_is_missed(ranks: Ranks) -> None:
    ranks.start(all_reduce, on=[0])
    ranks.run_on(1, Rank.destroy)
    error = failure(ranks.answers(on=[0])[0])
    assert error.code == REMOTE_ERROR
    assert "has destroyed the communicator, but rank 0 waits for it in HcclAllReduce" in error.message


@pytest.mark.parametrize(
    ("other", "arguments", "named"),
    [
        (all_reduce, (5,), "HcclAllReduce(count 5, float32, sum)"),
        (all_reduce, (4, "int32"), "HcclAllReduce(count 4, int32, sum)"),
        (all_reduce, (4, "float32", "max"), "HcclAllReduce(count 4, float32, max)"),
        (broadcast, (), "HcclBroadcast(count 4, float32, root 0)"),
    ],
)
def test_ranks_that_disagree_are_told_what_both_called(
    ranks: Ranks, other: Any, arguments: tuple[Any, ...], named: str
) -> None:
    ranks.start(all_reduce, on=[0])
    ranks.start(other, *arguments, on=[1])
    for error in map(failure, ranks.answers()):
        assert error.code in (TASK_FAILED, REMOTE_ERROR)
        assert f"called {named}" in error.message
        assert "called HcclAllReduce(count 4, float32, sum)" in error.message
    codes = {code for code, _ in ranks.run(Rank.async_error)}
    assert codes <= {CODES["HCCL_E_PARA"], CODES["HCCL_E_REMOTE"]}
    assert CODES["HCCL_E_PARA"] in codes


def test_a_receive_of_another_length_than_the_send_fails_on_both_sides(ranks: Ranks) -> None:
    ranks.start(send, 8, on=[0])
    ranks.start(receive, 6, on=[1])
    for error in map(failure, ranks.answers()):
        assert "rank 0 sends 8 elements of float32 to rank 1, which wants to receive 6 of float32" in str(
            error
        )


def gather_wrong_lengths(rank: Rank) -> None:
    """Rank 1 sends two elements, where rank 0 expects three."""
    lengths = [1, 3] if rank.rank == 0 else [1, 2]
    send, receive = rank.buffer(np.ones(3, np.float32)), rank.buffer(np.ones(4, np.float32))
    rank.call.HcclAllGatherV(
        send.address,
        rank.rank + 1,
        receive.address,
        counts(lengths),
        counts([0, 1]),
        FLOAT,
        rank.comm,
        rank.stream,
    )
    rank.synchronize()


def test_a_rank_that_sends_less_than_another_expects_is_named(ranks: Ranks) -> None:
    ranks.start(gather_wrong_lengths)
    first = failure(ranks.answers()[0])
    assert "HcclAllGatherV: rank 1 sends 8 bytes to rank 0, which expects 12 bytes" in first.message


def exchange_in_place(rank: Rank) -> None:
    buffer = rank.buffer(np.ones(8, np.float32))
    rank.call.HcclAlltoAll(buffer.address, 2, FLOAT, buffer.address + 4, 2, FLOAT, rank.comm, rank.stream)


def test_an_exchange_between_overlapping_buffers_is_refused(ranks: Ranks) -> None:
    with pytest.raises(HcclError, match="sendBuf and recvBuf overlap"):
        ranks.run(exchange_in_place)


def test_a_rank_that_is_late_is_waited_for_as_long_as_the_time_limit_says() -> None:
    ranks = Ranks(2, {"HCCL_EXEC_TIMEOUT": "1"})
    try:
        ranks.connect()
        ranks.start(all_reduce, on=[0])
        error = failure(ranks.answers(on=[0])[0])
        assert error.code == TASK_TIMEOUT
        assert "rank 0 waited 1 s (HCCL_EXEC_TIMEOUT) for rank 1" in error.message
        assert ranks.run_on(0, Rank.async_error)[0] == CODES["HCCL_E_TIMEOUT"]
        code, message = ranks.run_on(1, Rank.async_error)
        assert code == CODES["HCCL_E_REMOTE"]
        assert "rank 0 of the communicator has failed: rank 0 waited" in message
    finally:
        ranks.stop()


def test_an_operation_that_fails_on_one_device_fails_on_all() -> None:
    ranks = Ranks(2)
    try:
        ranks.connect(exec_timeout=30)
        ranks.run_on(0, fail_next_all_reduce)
        ranks.start(all_reduce)
        injected, other = map(failure, ranks.answers())
        assert injected.code == 507015
        assert "rank 0 of the communicator has failed: HcclAllReduce was dropped" in other.message
    finally:
        ranks.stop()


def fail_next_all_reduce(rank: Rank) -> None:
    rank.call.acl.softnpu_fail(b"task:HcclAllReduce", 1, 507015, 1)
