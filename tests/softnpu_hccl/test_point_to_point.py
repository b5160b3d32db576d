"""Sends and receives, alone, in batches, in groups and on several streams."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator

import numpy as np
import pytest
from hccl_rank import HcclError, Rank, SendRecvItem, hccl_type
from rank_processes import Ranks

SEND, RECEIVE = 0, 1
SMALL, LARGE = 5, 300_000  # the second one is longer than a channel
FLOAT = hccl_type("float32")


@pytest.fixture(scope="module")
def ranks() -> Iterator[Ranks]:
    group = Ranks(3)
    group.connect()
    yield group
    group.stop()


def values(rank: int, count: int) -> np.ndarray:
    return np.arange(count, dtype=np.float32) + 1000 * rank


def pass_on(rank: Rank, count: int) -> np.ndarray:
    """0 sends to 1, which sends what it got to 2."""
    buffer = rank.buffer(values(rank.rank, count))
    if rank.rank > 0:
        rank.call.HcclRecv(buffer.address, count, FLOAT, rank.rank - 1, rank.comm, rank.stream)
    if rank.rank < 2:
        rank.call.HcclSend(buffer.address, count, FLOAT, rank.rank + 1, rank.comm, rank.stream)
    rank.synchronize()
    return buffer.read()


@pytest.mark.parametrize("count", [SMALL, LARGE])
def test_what_is_sent_is_received(ranks: Ranks, count: int) -> None:
    for result in ranks.run(pass_on, count):
        np.testing.assert_array_equal(result, values(0, count))


def exchange_in_a_batch(rank: Rank, count: int) -> list[np.ndarray]:
    """Everybody sends to everybody, itself included, receives last."""
    send = rank.buffer(values(rank.rank, count))
    receive = [rank.buffer(np.zeros(count, np.float32)) for _ in range(rank.ranks)]
    items = [SendRecvItem(SEND, send.address, count, FLOAT, other) for other in range(rank.ranks)]
    items += [
        SendRecvItem(RECEIVE, receive[other].address, count, FLOAT, other) for other in range(rank.ranks)
    ]
    rank.call.HcclBatchSendRecv((SendRecvItem * len(items))(*items), len(items), rank.comm, rank.stream)
    rank.synchronize()
    return [buffer.read() for buffer in receive]


@pytest.mark.parametrize("count", [SMALL, LARGE])
def test_a_batch_needs_no_order_among_its_items(ranks: Ranks, count: int) -> None:
    for results in ranks.run(exchange_in_a_batch, count):
        for other, result in enumerate(results):
            np.testing.assert_array_equal(result, values(other, count))


def exchange_in_a_group(rank: Rank, count: int) -> np.ndarray:
    send, receive = rank.buffer(values(rank.rank, count)), rank.buffer(np.zeros(count, np.float32))
    following, previous = (rank.rank + 1) % rank.ranks, (rank.rank - 1) % rank.ranks
    active = ctypes.c_bool()
    rank.call.HcclGroupStart()
    rank.call.HcclSend(send.address, count, FLOAT, following, rank.comm, rank.stream)
    rank.call.HcclGroupStatusGet(ctypes.byref(active))
    assert active.value
    rank.call.HcclRecv(receive.address, count, FLOAT, previous, rank.comm, rank.stream)
    rank.call.HcclGroupEnd()
    rank.synchronize()
    return receive.read()


def test_sends_and_receives_of_a_group_do_not_block_each_other(ranks: Ranks) -> None:
    for rank, result in enumerate(ranks.run(exchange_in_a_group, LARGE)):
        np.testing.assert_array_equal(result, values((rank - 1) % 3, LARGE))


def exchange_on_two_streams(rank: Rank, count: int) -> np.ndarray:
    send, receive = rank.buffer(values(rank.rank, count)), rank.buffer(np.zeros(count, np.float32))
    other_stream = rank.new_stream()
    rank.call.HcclSend(send.address, count, FLOAT, (rank.rank + 1) % rank.ranks, rank.comm, rank.stream)
    rank.call.HcclRecv(receive.address, count, FLOAT, (rank.rank - 1) % rank.ranks, rank.comm, other_stream)
    rank.synchronize()
    rank.call.aclrtSynchronizeStream(other_stream)
    rank.call.aclrtDestroyStream(other_stream)
    return receive.read()


def test_a_send_does_not_hold_up_a_receive_on_another_stream(ranks: Ranks) -> None:
    for rank, result in enumerate(ranks.run(exchange_on_two_streams, LARGE)):
        np.testing.assert_array_equal(result, values((rank - 1) % 3, LARGE))


def many_messages(rank: Rank, times: int) -> list[float]:
    """Messages from 0 to 1, on two streams in turn on both sides."""
    streams = [rank.stream, rank.new_stream()]
    buffers = [
        rank.buffer(np.array([index + 1 if rank.rank == 0 else 0], np.float32)) for index in range(times)
    ]
    for index, buffer in enumerate(buffers):
        stream = streams[index % 2]
        if rank.rank == 0:
            rank.call.HcclSend(buffer.address, 1, FLOAT, 1, rank.comm, stream)
        elif rank.rank == 1:
            rank.call.HcclRecv(buffer.address, 1, FLOAT, 0, rank.comm, stream)
    for stream in streams:
        rank.call.aclrtSynchronizeStream(stream)
    rank.call.aclrtDestroyStream(streams[1])
    return [float(buffer.read()[0]) for buffer in buffers]


def test_messages_between_two_ranks_keep_the_order_of_the_calls(ranks: Ranks) -> None:
    assert ranks.run(many_messages, 40)[1] == [index + 1 for index in range(40)]


def receive(rank: Rank) -> np.ndarray:
    buffer = rank.buffer(np.zeros(LARGE, np.float32))
    rank.call.HcclRecv(buffer.address, LARGE, FLOAT, 0, rank.comm, rank.stream)
    rank.synchronize()
    return buffer.read()


def test_a_call_returns_before_the_other_rank_has_made_its_own() -> None:
    ranks = Ranks(2)
    try:
        ranks.connect()
        assert ranks.run_on(0, sender_returns)
        np.testing.assert_array_equal(ranks.run_on(1, receive), values(0, LARGE))
        ranks.run_on(0, Rank.synchronize)
    finally:
        ranks.stop()


def sender_returns(rank: Rank) -> bool:
    """Nobody receives yet, and still the call is done and the stream is not."""
    rank.free_buffers = lambda: None  # type: ignore[method-assign]  # what is being sent must stay
    buffer = rank.buffer(values(0, LARGE))
    rank.call.HcclSend(buffer.address, LARGE, FLOAT, 1, rank.comm, rank.stream)
    status = ctypes.c_int(-1)
    rank.call.aclrtStreamQuery(rank.stream, ctypes.byref(status))
    return status.value != 0


def wrong_arguments(rank: Rank) -> list[tuple[int, str]]:
    buffer = rank.buffer(values(0, SMALL))
    host = values(0, SMALL)
    found = []
    for arguments in (
        (buffer.address, SMALL, FLOAT, rank.rank, rank.comm, rank.stream),
        (buffer.address, SMALL, FLOAT, 3, rank.comm, rank.stream),
        (buffer.address, 200 * SMALL, FLOAT, (rank.rank + 1) % 3, rank.comm, rank.stream),
        (host.ctypes.data, SMALL, FLOAT, (rank.rank + 1) % 3, rank.comm, rank.stream),
        (None, SMALL, FLOAT, (rank.rank + 1) % 3, rank.comm, rank.stream),
        (buffer.address, SMALL, 99, (rank.rank + 1) % 3, rank.comm, rank.stream),
        (buffer.address, SMALL, FLOAT, (rank.rank + 1) % 3, rank.stream, rank.stream),
        (buffer.address, SMALL, FLOAT, (rank.rank + 1) % 3, None, rank.stream),
        (buffer.address, SMALL, FLOAT, (rank.rank + 1) % 3, rank.comm, 4096),
    ):
        with pytest.raises(HcclError) as error:
            rank.call.HcclSend(*arguments)
        found.append((error.value.code, error.value.message))
    return found


def test_wrong_arguments_are_refused_by_name(ranks: Ranks) -> None:
    para, pointer, runtime = 1, 2, 15
    wanted = [
        (para, "destRank is 0, the calling rank itself"),
        (para, "destRank is 3, but there are 3 ranks"),
        (para, "is not 1000 elements of float32 in live device memory"),
        (para, "is not 5 elements of float32 in live device memory"),
        (pointer, "sendBuf is NULL, but the count is 5"),
        (para, "the data type is 99"),
        (para, "is not one, or was destroyed"),
        (pointer, "comm is NULL"),
        (runtime, "is not one, or was destroyed"),
    ]
    for (code, message), (wanted_code, part) in zip(ranks.run(wrong_arguments)[0], wanted, strict=True):
        assert code == wanted_code
        assert part in message
        assert message.startswith("HcclSend: ")
