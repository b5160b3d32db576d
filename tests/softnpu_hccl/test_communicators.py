"""How communicators are made and described, and that nothing of them is left behind."""

from __future__ import annotations

import ctypes
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hccl_rank import CODES, HcclError, Libraries, Rank, configuration, hccl_type, reduction
from rank_processes import Ranks

FLOAT, SUM = hccl_type("float32"), reduction("sum")


@pytest.fixture(scope="module")
def ranks() -> Iterator[Ranks]:
    group = Ranks(4, {"HCCL_CONNECT_TIMEOUT": "20"}, devices=4)
    group.connect(name="everyone")
    yield group
    group.stop()


def total(rank: Rank, comm: Any) -> float:
    """The sum of the ranks' numbers (those of the whole), over a communicator."""
    buffer = rank.buffer(np.array([rank.rank + 1], np.float32))
    rank.call.HcclAllReduce(buffer.address, buffer.address, 1, FLOAT, SUM, comm, rank.stream)
    rank.synchronize()
    return float(buffer.read()[0])


def describe(rank: Rank, comm: Any) -> tuple[int, int, str]:
    size, own, name = ctypes.c_uint32(), ctypes.c_uint32(), ctypes.create_string_buffer(128)
    rank.call.HcclGetRankSize(comm, ctypes.byref(size))
    rank.call.HcclGetRankId(comm, ctypes.byref(own))
    rank.call.HcclGetCommName(comm, name)
    return size.value, own.value, name.value.decode()


def describe_whole(rank: Rank) -> tuple[int, int, str]:
    found = ctypes.c_void_p()
    rank.call.HcclCommGetHandleWithName(b"everyone", ctypes.byref(found))
    assert found.value == rank.comm.value
    return describe(rank, rank.comm)


def test_a_communicator_knows_its_ranks_and_its_name(ranks: Ranks) -> None:
    assert ranks.run(describe_whole) == [(4, rank, "everyone") for rank in range(4)]


def split(rank: Rank, members: list[int], number: int) -> Any:
    """A sub-communicator; those outside ask for none."""
    comm = ctypes.c_void_p(1)
    if rank.rank not in members:
        rank.call.HcclCreateSubCommConfig(
            ctypes.byref(rank.comm), 0, None, 0xFFFFFFFF, 0, configuration(), ctypes.byref(comm)
        )
        assert comm.value is None
        return None
    ids = (ctypes.c_uint32 * len(members))(*members)
    place = members.index(rank.rank)
    rank.call.HcclCreateSubCommConfig(
        ctypes.byref(rank.comm), len(members), ids, number, place, configuration(), ctypes.byref(comm)
    )
    return comm


def halves(rank: Rank) -> tuple[float, tuple[int, int, str]]:
    comm = split(rank, [0, 2] if rank.rank % 2 == 0 else [1, 3], rank.rank % 2)
    result = total(rank, comm), describe(rank, comm)
    rank.call.HcclCommDestroy(comm)
    return result


def test_sub_communicators_work_side_by_side(ranks: Ranks) -> None:
    even, odd = 1.0 + 3.0, 2.0 + 4.0
    for _ in range(3):  # the same ones again, after they were destroyed
        assert ranks.run(halves) == [
            (even, (2, 0, "everyone_sub_0")), (odd, (2, 0, "everyone_sub_1")),
            (even, (2, 1, "everyone_sub_0")), (odd, (2, 1, "everyone_sub_1")),
        ]  # fmt: skip


def three_of_four(rank: Rank) -> float | None:
    comm = split(rank, [3, 0, 1], 7)
    return None if comm is None else total(rank, comm)


def test_a_rank_may_stay_outside(ranks: Ranks) -> None:
    assert ranks.run(three_of_four) == [7.0, 7.0, None, 7.0]


def wrong_split(rank: Rank, members: list[int], place: int) -> None:
    ids, comm = (ctypes.c_uint32 * len(members))(*members), ctypes.c_void_p()
    rank.call.HcclCreateSubCommConfig(
        ctypes.byref(rank.comm), len(members), ids, 9, place, configuration(), ctypes.byref(comm)
    )


@pytest.mark.parametrize(
    ("members", "place", "message"),
    [
        ([0, 0], 0, "rankIds has a rank twice"),
        ([0, 4], 0, "rankIds has the rank 4, but the communicator has 4 ranks"),
        ([0, 1], 1, "subCommRankId is 1, which is not the place of rank 0 in rankIds"),
        ([0, 1, 2, 3, 4], 0, "rankNum is 5, but the communicator has 4 ranks"),
    ],
)
def test_a_wrong_sub_communicator_is_refused(
    ranks: Ranks, members: list[int], place: int, message: str
) -> None:
    with pytest.raises(HcclError, match=message):
        ranks.run_on(0, wrong_split, members, place)


def table(devices: list[Any], status: str = "completed") -> dict[str, Any]:
    listed = [
        {"device_id": str(device), "device_ip": "192.0.2.1", "rank_id": str(rank)}
        for rank, device in enumerate(devices)
    ]
    server = {"server_id": "192.0.2.9", "device": listed}
    return {"version": "1.0", "server_count": "1", "server_list": [server], "status": status}


def by_rank_table(rank: Rank, path: str) -> tuple[float, int]:
    comm = ctypes.c_void_p()
    rank.call.HcclCommInitClusterInfo(path.encode(), rank.rank, ctypes.byref(comm))
    result = total(rank, comm), describe(rank, comm)[1]
    rank.call.HcclCommDestroy(comm)
    return result


def test_ranks_find_each_other_by_a_rank_table(ranks: Ranks, tmp_path: Path) -> None:
    path = tmp_path / "ranks.json"
    path.write_text(json.dumps(table([0, 1, 2, 3])))
    for _ in range(3):
        assert ranks.run(by_rank_table, str(path)) == [(10.0, rank) for rank in range(4)]


TWO_SERVERS = table([0, 1])
TWO_SERVERS["server_list"] *= 2


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is not JSON: it ends too early at character 1"),
        ('{"status": "completed" "x"}', "is not JSON: '}' was expected"),
        ("[]", "has the status '', wanted 'completed'"),
        (json.dumps(table([0], "initializing")), "has the status 'initializing'"),
        (json.dumps({"status": "completed"}), "has no list 'server_list'"),
        (json.dumps(TWO_SERVERS), "names 2 servers"),
        (json.dumps(table([3, 0])), "gives rank 0 the device 3, but the current device is 0"),
        (json.dumps(table(["zero"])), "has a device whose device_id is 'zero', wanted a number"),
    ],
)
def test_a_wrong_rank_table_is_refused(ranks: Ranks, tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "ranks.json"
    path.write_text(content)
    with pytest.raises(HcclError) as error:
        ranks.run_on(0, by_rank_table, str(path))
    assert message in error.value.message


def test_a_rank_table_that_is_not_there_is_named(ranks: Ranks) -> None:
    with pytest.raises(HcclError, match="the rank table /nowhere cannot be opened") as error:
        ranks.run_on(0, by_rank_table, "/nowhere")
    assert error.value.code == CODES["HCCL_E_OPEN_FILE_FAILURE"]


def all_devices(rank: Rank) -> list[float]:
    """Two ranks of this process: their streams wait for each other, and the caller for neither."""
    devices, comms = (ctypes.c_int32 * 2)(1, 3), (ctypes.c_void_p * 2)()
    rank.call.HcclCommInitAll(2, devices, comms)
    buffers, streams = [], []
    for index, device in enumerate(devices):
        rank.call.aclrtSetDevice(device)
        streams.append(rank.new_stream())
        buffers.append(rank.buffer(np.array([index + 1], np.float32)))
        for _ in range(10):
            rank.call.HcclAllReduce(
                buffers[-1].address, buffers[-1].address, 1, FLOAT, SUM, comms[index], streams[-1]
            )
    results = []
    for index, device in enumerate(devices):
        rank.call.aclrtSetDevice(device)
        rank.call.aclrtSynchronizeStream(streams[index])
        results.append(float(buffers[index].read()[0]))
        rank.call.HcclCommDestroy(comms[index])
    rank.call.aclrtSetDevice(rank.rank)
    return results


def test_one_process_can_be_all_ranks(ranks: Ranks) -> None:
    assert ranks.run_on(0, all_devices) == [3.0 * 2**9] * 2


def two_streams(rank: Rank) -> list[float]:
    """Collectives on two streams with nothing between them: they run in the order of the calls."""
    streams = [rank.stream, rank.new_stream()]
    buffers = [rank.buffer(np.array([index + 1], np.float32)) for index in range(20)]
    for index, buffer in enumerate(buffers):
        rank.call.HcclAllReduce(buffer.address, buffer.address, 1, FLOAT, SUM, rank.comm, streams[index % 2])
    for stream in streams:
        rank.call.aclrtSynchronizeStream(stream)
    rank.call.aclrtDestroyStream(streams[1])
    return [float(buffer.read()[0]) for buffer in buffers]


def test_collectives_on_two_streams_of_a_rank_do_not_mix(ranks: Ranks) -> None:
    assert ranks.run(two_streams) == [[4.0 * (index + 1) for index in range(20)]] * 4


def leave_and_count(rank: Rank) -> tuple[list[str], list[str], int]:
    """What is visible of shared memory: files, sockets without a file, and open descriptors."""
    sockets = [line for line in Path("/proc/net/unix").read_text().splitlines() if "softnpu-hccl" in line]
    return sorted(os.listdir("/dev/shm")), sockets, len(os.listdir("/proc/self/fd"))


def test_nothing_is_left_of_communicators(ranks: Ranks, tmp_path: Path) -> None:
    path = tmp_path / "ranks.json"
    path.write_text(json.dumps(table([0, 1, 2, 3])))
    ranks.run(by_rank_table, str(path))
    before = ranks.run(leave_and_count)
    for _ in range(3):
        ranks.run(by_rank_table, str(path))
        ranks.run(halves)
        ranks.run_on(0, all_devices)
    assert ranks.run(leave_and_count) == before
    crashing = Ranks(2)
    crashing.connect()
    crashing.run_on(0, Rank.root_info)  # one that nobody will ever join
    crashing.stop()
    assert ranks.run(leave_and_count) == before


def join_alone(rank: Rank, ranks: int, own: int, info: bytes) -> None:
    rank.call.HcclCommInitRootInfo(ranks, info, own, ctypes.byref(ctypes.c_void_p()))


def test_who_is_missing_is_named_when_time_is_up() -> None:
    ranks = Ranks(1, {"HCCL_CONNECT_TIMEOUT": "1"})
    try:
        info = ranks.run_on(0, Rank.root_info)
        with pytest.raises(HcclError, match="of 3 ranks these are missing: 0, 2") as error:
            ranks.run_on(0, join_alone, 3, 1, info)
        assert error.value.code == CODES["HCCL_E_TIMEOUT"]
    finally:
        ranks.stop()


def test_a_time_limit_that_is_no_number_is_refused() -> None:
    ranks = Ranks(1, {"HCCL_CONNECT_TIMEOUT": "soon"})
    try:
        info = ranks.run_on(0, Rank.root_info)
        with pytest.raises(HcclError, match="HCCL_CONNECT_TIMEOUT is 'soon'; wanted seconds, from 1 to 7200"):
            ranks.run_on(0, join_alone, 1, 0, info)
    finally:
        ranks.stop()


@pytest.mark.parametrize(
    ("count", "own", "message"),
    [(0, 0, "the number of ranks is 0"), (2, 2, "the rank is 2, but there are 2 ranks")],
)
def test_wrong_numbers_of_ranks_are_refused(ranks: Ranks, count: int, own: int, message: str) -> None:
    info = ranks.run_on(0, Rank.root_info)
    with pytest.raises(HcclError, match=message):
        ranks.run_on(1, join_alone, count, own, info)


def test_a_root_info_from_elsewhere_is_refused(ranks: Ranks) -> None:
    with pytest.raises(HcclError, match="rootInfo does not come from HcclGetRootInfo"):
        ranks.run_on(1, join_alone, 2, 1, bytes(4108))


def test_a_root_info_can_be_used_once() -> None:
    ranks = Ranks(1)
    try:
        info = ranks.run_on(0, Rank.root_info)
        ranks.run_on(0, join_alone, 1, 0, info)
        with pytest.raises(HcclError, match="has ended, or all its ranks have joined already"):
            ranks.run_on(0, join_alone, 1, 0, info)
    finally:
        ranks.stop()


def wrong_configuration(rank: Rank, info: bytes) -> None:
    config = ctypes.create_string_buffer(2248)
    rank.call.HcclCommInitRootInfoConfig(1, info, 0, config, ctypes.byref(ctypes.c_void_p()))


def test_a_configuration_that_was_not_initialised_is_refused(ranks: Ranks) -> None:
    info = ranks.run_on(0, Rank.root_info)
    with pytest.raises(HcclError, match="config was not initialised with HcclCommConfigInit"):
        ranks.run_on(0, wrong_configuration, info)


def settings(rank: Rank) -> tuple[int, int, str, str]:
    value = ctypes.c_int(-1)
    rank.call.HcclSetConfig(0, 1)
    rank.call.HcclGetConfig(0, ctypes.byref(value))
    text = rank.call.hccl.HcclGetErrorString
    text.restype = ctypes.c_char_p
    capability = rank.call.hccl.HcclGetCommConfigCapability()
    return value.value, capability, text(9).decode(), text(77).decode()


def test_settings_are_remembered_and_codes_have_texts(ranks: Ranks) -> None:
    assert ranks.run_on(0, settings) == (1, 12, "time-out", "unknown error")


def test_libhcomm_finds_the_functions_of_libhccl() -> None:
    folder = Path(Libraries().hccl._name).parent
    assert ctypes.CDLL(str(folder / "libhcomm.so")).HcclGroupEnd is not None
