"""Every collective, between processes, against numpy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hccl_rank import TYPES, HcclError, Rank, counts, hccl_type, reduction
from rank_processes import Ranks

SMALL, LARGE = 7, 700_001  # the second one needs several rounds, and does not divide evenly
SIZES_AND_TYPES = [*((SMALL, name) for name in TYPES), (LARGE, "float32")]
NUMPY = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}


@pytest.fixture(scope="module", params=[2, 3, 4])
def ranks(request: pytest.FixtureRequest) -> Iterator[Ranks]:
    group = Ranks(request.param)
    group.connect()
    yield group
    group.stop()


def data(rank: int, count: int, dtype: str) -> np.ndarray:
    """Small whole numbers, so that sums and products are exact in every type."""
    numbers = (np.arange(count, dtype=np.int64) * (rank + 3) + rank) % 3 + 1
    return numbers.astype(dtype)


def run(rank: Rank, function: str, *arguments: Any) -> None:
    getattr(rank.call, function)(*arguments, rank.comm, rank.stream)
    rank.synchronize()


def bits(numbers: np.ndarray) -> np.ndarray:
    """bfloat16, which numpy does not know, as its bits: the upper half of a float32's."""
    return (numbers.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)


def all_reduce(rank: Rank, count: int, dtype: str, op: str) -> np.ndarray:
    send, receive = rank.buffer(data(rank.rank, count, dtype)), rank.buffer(np.zeros(count, dtype))
    run(rank, "HcclAllReduce", send.address, receive.address, count, hccl_type(dtype), reduction(op))
    return receive.read()


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("op", NUMPY)
def test_all_reduce_gives_every_rank_the_reduction(ranks: Ranks, dtype: str, op: str) -> None:
    size = len(ranks.pipes)
    expected = NUMPY[op].reduce([data(rank, SMALL, dtype) for rank in range(size)]).astype(dtype)
    for result in ranks.run(all_reduce, SMALL, dtype, op):
        np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_all_reduce_of_more_than_one_round(ranks: Ranks, dtype: str) -> None:
    expected = sum(data(rank, LARGE, dtype) for rank in range(len(ranks.pipes)))
    for result in ranks.run(all_reduce, LARGE, dtype, "sum"):
        np.testing.assert_array_equal(result, expected)


def all_reduce_bfloat16_in_place(rank: Rank) -> np.ndarray:
    buffer = rank.buffer(bits(data(rank.rank, SMALL, "float32")))
    run(rank, "HcclAllReduce", buffer.address, buffer.address, SMALL, hccl_type("BFP16"), reduction("sum"))
    return buffer.read()


def test_all_reduce_of_bfloat16_in_place(ranks: Ranks) -> None:
    expected = sum(data(rank, SMALL, "float32") for rank in range(len(ranks.pipes)))
    for result in ranks.run(all_reduce_bfloat16_in_place):
        np.testing.assert_array_equal(result, bits(np.asarray(expected)))


def reduce(rank: Rank, count: int, root: int) -> np.ndarray:
    send, receive = rank.buffer(data(rank.rank, count, "int32")), rank.buffer(np.zeros(count, np.int32))
    target = receive.address if rank.rank == root else None
    run(rank, "HcclReduce", send.address, target, count, hccl_type("int32"), reduction("max"), root)
    return receive.read()


@pytest.mark.parametrize("count", [SMALL, LARGE])
def test_reduce_gives_only_the_root_the_result(ranks: Ranks, count: int) -> None:
    expected = np.maximum.reduce([data(rank, count, "int32") for rank in range(len(ranks.pipes))])
    results = ranks.run(reduce, count, 1)
    np.testing.assert_array_equal(results[1], expected)
    np.testing.assert_array_equal(results[0], np.zeros(count, np.int32))


def broadcast(rank: Rank, count: int, dtype: str, root: int) -> np.ndarray:
    buffer = rank.buffer(data(rank.rank, count, dtype))
    run(rank, "HcclBroadcast", buffer.address, count, hccl_type(dtype), root)
    return buffer.read()


@pytest.mark.parametrize(("count", "dtype"), SIZES_AND_TYPES)
def test_broadcast_gives_everyone_the_data_of_the_root(ranks: Ranks, count: int, dtype: str) -> None:
    root = len(ranks.pipes) - 1
    for result in ranks.run(broadcast, count, dtype, root):
        np.testing.assert_array_equal(result, data(root, count, dtype))


def all_gather(rank: Rank, count: int, dtype: str) -> np.ndarray:
    send = rank.buffer(data(rank.rank, count, dtype))
    receive = rank.buffer(np.zeros((rank.ranks, count), dtype))
    run(rank, "HcclAllGather", send.address, receive.address, count, hccl_type(dtype))
    return receive.read()


@pytest.mark.parametrize(("count", "dtype"), SIZES_AND_TYPES)
def test_all_gather_puts_the_data_of_all_ranks_side_by_side(ranks: Ranks, count: int, dtype: str) -> None:
    expected = np.stack([data(rank, count, dtype) for rank in range(len(ranks.pipes))])
    for result in ranks.run(all_gather, count, dtype):
        np.testing.assert_array_equal(result, expected)


def all_gather_v(rank: Rank, step: int) -> np.ndarray:
    lengths = [step * (other + 1) for other in range(rank.ranks)]
    begins = [sum(lengths[:other]) + other for other in range(rank.ranks)]  # one element between the parts
    send = rank.buffer(data(rank.rank, lengths[rank.rank], "float32"))
    receive = rank.buffer(np.full(begins[-1] + lengths[-1], -1, np.float32))
    run(
        rank, "HcclAllGatherV", send.address, lengths[rank.rank], receive.address, counts(lengths),
        counts(begins), hccl_type("float32"),
    )  # fmt: skip
    return receive.read()


@pytest.mark.parametrize("step", [3, 200_000])
def test_all_gather_v_honours_counts_and_displacements(ranks: Ranks, step: int) -> None:
    parts: list[np.ndarray] = []
    for rank in range(len(ranks.pipes)):
        parts += [data(rank, step * (rank + 1), "float32"), np.array([-1], np.float32)]
    for result in ranks.run(all_gather_v, step):
        np.testing.assert_array_equal(result, np.concatenate(parts[:-1]))


def reduce_scatter(rank: Rank, count: int, dtype: str, in_place: bool) -> np.ndarray:
    send = rank.buffer(data(rank.rank, count * rank.ranks, dtype))
    receive = rank.buffer(np.zeros(count, dtype))
    own = send.address + rank.rank * count * np.dtype(dtype).itemsize
    target = own if in_place else receive.address
    run(rank, "HcclReduceScatter", send.address, target, count, hccl_type(dtype), reduction("sum"))
    return send.read()[rank.rank * count :][:count] if in_place else receive.read()


@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize(("count", "dtype"), SIZES_AND_TYPES)
def test_reduce_scatter_gives_each_rank_its_part(
    ranks: Ranks, in_place: bool, count: int, dtype: str
) -> None:
    size = len(ranks.pipes)
    total = sum(data(rank, count * size, dtype) for rank in range(size))
    for rank, result in enumerate(ranks.run(reduce_scatter, count, dtype, in_place)):
        np.testing.assert_array_equal(result, np.asarray(total)[rank * count :][:count])


def reduce_scatter_v(rank: Rank) -> np.ndarray:
    lengths = [2 * other + 1 for other in range(rank.ranks)]
    begins = [sum(lengths[:other]) for other in range(rank.ranks)]
    send = rank.buffer(data(rank.rank, sum(lengths), "float32"))
    receive = rank.buffer(np.zeros(lengths[rank.rank], np.float32))
    run(
        rank, "HcclReduceScatterV", send.address, counts(lengths), counts(begins), receive.address,
        lengths[rank.rank], hccl_type("float32"), reduction("prod"),
    )  # fmt: skip
    return receive.read()


def test_reduce_scatter_v_gives_each_rank_a_part_of_its_own_length(ranks: Ranks) -> None:
    size = len(ranks.pipes)
    total = np.multiply.reduce([data(rank, size * size, "float32") for rank in range(size)])
    for rank, result in enumerate(ranks.run(reduce_scatter_v)):
        np.testing.assert_array_equal(result, total[rank * rank :][: 2 * rank + 1])


def scatter(rank: Rank, count: int) -> np.ndarray:
    send, receive = rank.buffer(data(7, count * rank.ranks, "int16")), rank.buffer(np.zeros(count, np.int16))
    source = send.address if rank.rank == 1 else None
    run(rank, "HcclScatter", source, receive.address, count, hccl_type("int16"), 1)
    return receive.read()


@pytest.mark.parametrize("count", [SMALL, LARGE])
def test_scatter_divides_the_data_of_the_root(ranks: Ranks, count: int) -> None:
    whole = data(7, count * len(ranks.pipes), "int16")
    for rank, result in enumerate(ranks.run(scatter, count)):
        np.testing.assert_array_equal(result, whole[rank * count :][:count])


def all_to_all(rank: Rank, count: int, dtype: str) -> np.ndarray:
    send = rank.buffer(data(rank.rank, count * rank.ranks, dtype))
    receive = rank.buffer(np.zeros(count * rank.ranks, dtype))
    kind = hccl_type(dtype)
    run(rank, "HcclAlltoAll", send.address, count, kind, receive.address, count, kind)
    return receive.read()


@pytest.mark.parametrize(("count", "dtype"), SIZES_AND_TYPES)
def test_all_to_all_exchanges_blocks(ranks: Ranks, count: int, dtype: str) -> None:
    size = len(ranks.pipes)
    sent = np.stack([data(rank, count * size, dtype).reshape(size, count) for rank in range(size)])
    for rank, result in enumerate(ranks.run(all_to_all, count, dtype)):
        np.testing.assert_array_equal(result.reshape(size, count), sent[:, rank])


def exchange_lengths(ranks: int, step: int) -> np.ndarray:
    """How much each rank (row) sends to each; some send nothing."""
    return np.array([[step * ((i + 2 * j) % 3) for j in range(ranks)] for i in range(ranks)])


def all_to_all_v(rank: Rank, step: int, by_matrix: bool) -> np.ndarray:
    lengths = exchange_lengths(rank.ranks, step)
    sends, receives = lengths[rank.rank], lengths[:, rank.rank]
    send = rank.buffer(data(rank.rank, sends.sum(), "float32"))
    receive = rank.buffer(np.zeros(receives.sum(), np.float32))
    kind = hccl_type("float32")
    if by_matrix:
        matrix = counts(lengths.ravel())
        run(rank, "HcclAlltoAllVC", send.address, matrix, kind, receive.address, kind)
    else:
        begins = [counts(np.cumsum(part) - part) for part in (sends, receives)]
        run(
            rank, "HcclAlltoAllV", send.address, counts(sends), begins[0], kind, receive.address,
            counts(receives), begins[1], kind,
        )  # fmt: skip
    return receive.read()


@pytest.mark.parametrize("by_matrix", [False, True])
@pytest.mark.parametrize("step", [5, 150_000])
def test_all_to_all_v_exchanges_blocks_of_different_lengths(ranks: Ranks, by_matrix: bool, step: int) -> None:
    size = len(ranks.pipes)
    lengths = exchange_lengths(size, step)
    sent = [
        np.split(data(rank, lengths[rank].sum(), "float32"), np.cumsum(lengths[rank])[:-1])
        for rank in range(size)
    ]
    for rank, result in enumerate(ranks.run(all_to_all_v, step, by_matrix)):
        np.testing.assert_array_equal(result, np.concatenate([sent[other][rank] for other in range(size)]))


def opaque_all_gather(rank: Rank, name: str, size: int) -> np.ndarray:
    send = rank.buffer(np.full(4 * size, rank.rank + 1, np.uint8))
    receive = rank.buffer(np.zeros((rank.ranks, 4 * size), np.uint8))
    run(rank, "HcclAllGather", send.address, receive.address, 4, hccl_type(name))
    return receive.read()


@pytest.mark.parametrize(("name", "size"), [("INT128", 16), ("HIF8", 1), ("FP8E4M3", 1), ("FP8E8M0", 1)])
def test_types_without_arithmetic_can_be_moved_but_not_reduced(ranks: Ranks, name: str, size: int) -> None:
    expected = np.stack([np.full(4 * size, rank + 1, np.uint8) for rank in range(len(ranks.pipes))])
    for result in ranks.run(opaque_all_gather, name, size):
        np.testing.assert_array_equal(result, expected)
    with pytest.raises(HcclError, match="the reduction sum of .* is not supported"):
        ranks.run(reduce_opaque, name, size)


def reduce_opaque(rank: Rank, name: str, size: int) -> None:
    buffer = rank.buffer(np.zeros(4 * size, np.uint8))
    run(rank, "HcclAllReduce", buffer.address, buffer.address, 4, hccl_type(name), reduction("sum"))


def repeated_all_reduce(rank: Rank, times: int) -> np.ndarray:
    buffer = rank.buffer(np.ones(5, np.float64))
    for _ in range(times):
        rank.call.HcclAllReduce(
            buffer.address, buffer.address, 5, hccl_type("float64"), reduction("sum"), rank.comm, rank.stream
        )
        rank.call.HcclBarrier(rank.comm, rank.stream)
    rank.synchronize()
    return buffer.read()


def test_collectives_on_a_stream_run_in_their_order(ranks: Ranks) -> None:
    for result in ranks.run(repeated_all_reduce, 20):
        np.testing.assert_array_equal(result, np.full(5, float(len(ranks.pipes) ** 20)))


def nothing(rank: Rank) -> None:
    run(rank, "HcclAllReduce", None, None, 0, hccl_type("float32"), reduction("sum"))
    run(rank, "HcclBroadcast", None, 0, hccl_type("float32"), 0)


def test_a_count_of_zero_does_nothing(ranks: Ranks) -> None:
    ranks.run(nothing)
