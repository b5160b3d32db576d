"""The backend hccl: works on streams of their own, messages, and what goes wrong, on software NPUs."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from npu_ranks import Failed, Ranks, group_of

import mindtorch_v2 as torch
from mindtorch_v2 import distributed as dist
from mindtorch_v2 import softnpu

kept: dict[str, Any] = {}  # of a rank, between functions


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ranks]:
    folder = tmp_path_factory.mktemp("pair")
    log = folder / "reports.jsonl"
    with group_of(2, folder, SOFTNPU_SANITIZE="1", SOFTNPU_SANITIZE_LOG=str(log)) as ranks:
        ranks.run(sum_of, 4)  # the first one connects, and waits
        yield ranks
        assert not log.exists() or log.read_text() == ""


def numbers(rank: int, count: int = 4) -> torch.Tensor:
    return torch.arange(float(count), device="npu") + 10 * rank


# --- works on streams --------------------------------------------------------------------------------------------


def begin_and_go_on(rank: int) -> bool:
    tensor = numbers(rank)
    work = dist.all_reduce(tensor, async_op=True)
    early = work.is_completed()
    work.wait()
    kept["sum"] = tensor + 1  # on the current stream, behind the collective
    kept["work"] = work
    return early


def result(rank: int, name: str) -> list[float]:
    return kept.pop(name).tolist()


def test_the_host_does_not_wait_for_other_processes(pair: Ranks) -> None:
    assert pair.run(begin_and_go_on, on=[0]) == [False]  # rank 1 has not called it
    pair.run(begin_and_go_on, on=[1])
    assert pair.run(result, "sum") == [[11, 13, 15, 17]] * 2
    assert pair.run(states) == [(True, True, None)] * 2


def states(rank: int) -> tuple[bool, bool, None]:
    work = kept.pop("work")
    return work.is_completed(), work.is_success(), work.exception()


def drop_and_fill(rank: int) -> None:
    tensor = torch.full([1 << 18], float(rank + 1), device="npu")
    dist.all_reduce(tensor[: 1 << 17], async_op=True)
    source = torch.full([1 << 18], 3.0, device="npu")
    out = torch.zeros([2 << 18], device="npu")
    work = dist.all_gather_single(out, source, async_op=True)
    del tensor, source
    for _ in range(4):
        torch.full([1 << 18], 7.0, device="npu")  # would get the memory, if it were free
    work.wait()
    kept["gathered"] = out


def test_memory_of_works_under_way_is_not_used_again(pair: Ranks) -> None:
    pair.run(drop_and_fill, on=[0])
    pair.run(drop_and_fill, on=[1])
    for gathered in pair.run(all_three):
        assert gathered


def all_three(rank: int) -> bool:
    return bool((kept.pop("gathered") == 3).all())


def on_another_stream(rank: int) -> list[float]:
    stream = torch.npu.Stream()
    with torch.npu.stream(stream):
        tensor = numbers(rank, 1 << 16)
        for _ in range(3):
            tensor = tensor * 2
        dist.all_reduce(tensor)
        tensor += 1
    torch.npu.current_stream().wait_stream(stream)
    tensor.record_stream(torch.npu.current_stream())
    return tensor[:3].tolist()


def test_works_are_ordered_with_the_stream_that_calls_them(pair: Ranks) -> None:
    assert pair.run(on_another_stream) == [[81, 97, 113]] * 2


def with_futures(rank: int) -> list[float]:
    tensor = numbers(rank)
    future = dist.all_reduce(tensor, async_op=True).get_future().then(lambda done: done.value()[0] / 2)
    return future.wait().tolist()


def test_what_follows_a_future_is_enqueued_behind_the_work(pair: Ranks) -> None:
    assert pair.run(with_futures) == [[5, 6, 7, 8]] * 2


def many_futures(rank: int) -> list[float]:
    total = torch.zeros([1 << 14], device="npu")
    works = [dist.all_reduce(torch.ones_like(total), async_op=True) for _ in range(8)]
    for future in [work.get_future() for work in works]:
        # Free at once, and the next callback, which waits for nothing here, would get its memory.
        total += future.then(lambda done: done.value()[0] * 2).wait()
    return total[:2].tolist()


def test_what_a_callback_makes_can_be_used_and_dropped(pair: Ranks) -> None:
    assert pair.run(many_futures) == [[32, 32]] * 2


def not_contiguous(rank: int) -> list[list[float]]:
    whole = torch.zeros([2, 3], device="npu")
    column = whole[:, 1]
    column += rank + 1
    dist.all_reduce(column)
    parts = [torch.zeros([2], device="npu") for _ in range(2)]
    dist.all_gather(parts, whole[:, 1] * (rank + 1))
    return [whole[0].tolist(), *(part.tolist() for part in parts)]


def test_tensors_need_not_be_contiguous(pair: Ranks) -> None:
    assert pair.run(not_contiguous) == [[[0, 3, 0], [3, 3], [6, 6]]] * 2


def with_a_limit(rank: int) -> str:
    work = dist.all_reduce(numbers(rank), async_op=True)
    try:
        work.wait(timedelta(seconds=0.2))
    except RuntimeError as error:
        return str(error)
    return ""


def test_wait_with_a_time_limit_waits_on_the_host(pair: Ranks) -> None:
    (said,) = pair.run(with_a_limit, on=[0])
    assert said.startswith(
        "all_reduce was not done after 0.2 s; another process may be late; rank 1 is behind"
    )
    assert pair.run(with_a_limit, on=[1]) == [""]


def barrier_elsewhere(rank: int) -> bool:
    torch.npu.set_device(1 - rank)
    dist.barrier()
    torch.npu.set_device(rank)
    return True


def test_a_barrier_is_on_the_devices_that_the_group_works_on(pair: Ranks) -> None:
    assert pair.run(barrier_elsewhere) == [True, True]


# --- messages ----------------------------------------------------------------------------------------------------


def send_first(rank: int, tag: int) -> list[list[float]]:
    received = [torch.zeros([1 << 16], device="npu") for _ in range(3)]
    works = [dist.isend(numbers(rank, 1 << 16) + i, 1 - rank, tag=tag) for i in range(3)]
    works += [dist.irecv(tensor, 1 - rank, tag=tag) for tensor in received]
    for work in works:
        work.wait()
    return [tensor[:2].tolist() for tensor in received]


@pytest.mark.parametrize("tag", [0, 7])
def test_two_processes_that_send_first_do_not_wait_for_each_other(pair: Ranks, tag: int) -> None:
    assert pair.run(send_first, tag) == [[[10, 11], [11, 12], [12, 13]], [[0, 1], [1, 2], [2, 3]]]


def receive_beside(rank: int) -> list[list[float]]:
    received, tensor = torch.zeros([4], device="npu"), numbers(rank)
    if rank == 0:
        work = dist.irecv(received, 1)
    dist.all_reduce(tensor)
    if rank == 0:
        work.wait()
        assert work.source_rank() == 1
    else:
        dist.send(tensor + 1, 0)
    return [received.tolist(), tensor.tolist()]


def test_a_message_and_a_collective_do_not_wait_for_each_other(pair: Ranks) -> None:
    assert pair.run(receive_beside) == [
        [[11, 13, 15, 17], [10, 12, 14, 16]],
        [[0, 0, 0, 0], [10, 12, 14, 16]],
    ]


def from_anybody(rank: int) -> None:
    dist.recv(torch.zeros([4], device="npu"))


def test_a_message_from_anybody_is_refused(pair: Ranks) -> None:
    pair.start(from_anybody)
    for answer in pair.answers():
        assert answer.kind == "DistBackendError"
        assert "hccl cannot receive from whoever sends first; name the sender" in answer.message


def left_allocated(rank: int) -> int:
    received = torch.zeros([1 << 16], device="npu")
    works = [dist.isend(numbers(rank, 1 << 16), 1 - rank, tag=9), dist.irecv(received, 1 - rank, tag=9)]
    for work in works:
        work.wait()
    del received, works, work
    torch.npu.synchronize()
    gc.collect()
    return torch.npu.memory_allocated()


def test_a_group_holds_no_tensor_of_a_message_that_is_done(pair: Ranks) -> None:
    assert pair.run(left_allocated) == [0, 0]


def ring(rank: int, size: int) -> list[float]:
    received = torch.zeros([2], device="npu")
    works = [
        dist.isend(torch.full([2], float(rank), device="npu"), (rank + 1) % size),
        dist.irecv(received, (rank - 1) % size),
    ]
    for work in works:
        work.wait()
    return received.tolist()


def halves(rank: int) -> tuple[list[float], list[float]]:
    tensor, other = numbers(rank), numbers(rank)
    group, _ = dist.new_subgroups(2)
    dist.all_reduce(tensor, group=group)
    dist.all_reduce(other)
    return tensor.tolist(), other.tolist()


def test_four_processes_in_a_ring_and_in_groups_of_two(tmp_path: Path) -> None:
    with group_of(4, tmp_path) as four:
        assert four.run(ring, 4) == [[3, 3], [0, 0], [1, 1], [2, 2]]
        everybody = [60, 64, 68, 72]
        low, high = [10, 12, 14, 16], [50, 52, 54, 56]
        assert four.run(halves) == [(low, everybody)] * 2 + [(high, everybody)] * 2


# --- what goes wrong ---------------------------------------------------------------------------------------------


def sum_of(rank: int, count: int) -> list[float]:
    tensor = numbers(rank, count)
    dist.all_reduce(tensor)
    return tensor.tolist()


def root_gives(rank: int) -> list[float]:
    tensor = numbers(rank)
    dist.broadcast(tensor, 0)
    return tensor.tolist()


def end(rank: int) -> None:
    dist.destroy_process_group()


def failed(answer: Any) -> Failed:
    assert isinstance(answer, Failed), f"it gave {answer}"
    return answer


def test_a_killed_process_ends_the_others_with_an_error_that_names_it(tmp_path: Path) -> None:
    with group_of(3, tmp_path) as ranks:
        ranks.run(sum_of, 4)
        ranks.start(sum_of, 4, on=[0, 2])
        pid = ranks.processes[1].pid
        ranks.kill(1)
        for answer in ranks.answers(on=[0, 2]):
            assert f"rank 1 (process {pid}) has ended" in failed(answer).message
            assert "in HcclAllReduce" in answer.message
        ranks.run(end, on=[0, 2])


def test_a_process_that_does_not_come_ends_the_others_when_the_time_is_up(tmp_path: Path) -> None:
    with group_of(2, tmp_path, seconds=1) as ranks:
        ranks.run(sum_of, 4)
        ranks.start(sum_of, 4, on=[0])
        message = failed(ranks.answers(on=[0])[0]).message
        assert "rank 0 waited 1 s" in message and "for rank 1" in message and "HcclAllReduce" in message


def test_a_process_that_never_connects_is_named(tmp_path: Path) -> None:
    with group_of(2, tmp_path, seconds=1) as ranks:
        ranks.start(sum_of, 4, on=[0])
        message = failed(ranks.answers(on=[0])[0]).message
        assert "rank 0 waited 1 s for rank 1 to connect" in message


@pytest.mark.parametrize("other", ["another collective", "another shape"])
def test_processes_that_disagree_hear_what_each_called(tmp_path: Path, other: str) -> None:
    with group_of(2, tmp_path) as ranks:
        ranks.run(sum_of, 4)
        ranks.start(sum_of, 4, on=[0])
        if other == "another collective":
            ranks.start(root_gives, on=[1])
        else:
            ranks.start(sum_of, 5, on=[1])
        for answer in ranks.answers():
            message = failed(answer).message
            assert "HcclAllReduce(count 4, float32, sum)" in message
            assert ("HcclBroadcast(count 4" if other == "another collective" else "count 5") in message
        ranks.run(end)


def read_twice(rank: int) -> list[float]:
    tensor, mine = numbers(rank), numbers(rank)
    dist.all_reduce(tensor, async_op=True)
    try:
        torch.npu.synchronize()
    except RuntimeError:
        return mine.tolist()
    return []


def test_what_failed_is_raised_once_and_other_tensors_stay_readable(tmp_path: Path) -> None:
    with group_of(2, tmp_path) as ranks:
        ranks.run(sum_of, 4)
        ranks.kill(1)
        assert ranks.run(read_twice, on=[0]) == [[0, 1, 2, 3]]


PROBLEM = "import mindtorch_v2 as t; t.zeros(1, device='npu'); print(t._C._npu.hccl_problem())"


@pytest.mark.parametrize("library", ["none", "another"])
def test_a_library_that_lacks_functions_is_refused_by_their_names(tmp_path: Path, library: str) -> None:
    folder = tmp_path / "lib64"
    folder.mkdir()
    for name in ("libascendcl.so", "libnnopbase.so", "libopapi.so"):
        (folder / name).symlink_to(Path(softnpu.lib_folder()) / name)
    if library == "another":
        (folder / "libhccl.so").symlink_to(folder / "libnnopbase.so")
    environment = os.environ | {"ASCEND_HOME_PATH": str(tmp_path), "MINDTORCH_NPU": "hardware"}
    done = subprocess.run(
        [sys.executable, "-c", PROBLEM], env=environment, capture_output=True, text=True, check=True
    )
    wanted = "libhccl.so" if library == "none" else "lacks HcclGetErrorString, HcclGetRootInfo"
    assert wanted in done.stdout
