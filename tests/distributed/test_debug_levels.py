"""TORCH_DISTRIBUTED_DEBUG: what the processes check of each other, and what they say."""

import time

import npu_ranks
import pytest
import worlds

import mindtorch_v2 as torch
from mindtorch_v2 import distributed as dist
from mindtorch_v2.distributed._fingerprints import LENGTH, Fingerprint, compare
from mindtorch_v2.distributed.errors import DistBackendError


@pytest.fixture
def level():
    before = dist.get_debug_level()
    yield
    dist.set_debug_level(before)


def test_the_level_is_that_of_the_environment_or_the_one_that_was_set(level, monkeypatch):
    monkeypatch.setenv("TORCH_DISTRIBUTED_DEBUG", "info")
    dist.set_debug_level_from_env()
    assert dist.get_debug_level() is dist.DebugLevel.INFO
    dist.set_debug_level(dist.DebugLevel.DETAIL)
    assert dist.get_debug_level() is dist.DebugLevel.DETAIL
    monkeypatch.delenv("TORCH_DISTRIBUTED_DEBUG")
    dist.set_debug_level_from_env()
    assert dist.get_debug_level() is dist.DebugLevel.OFF
    monkeypatch.setenv("TORCH_DISTRIBUTED_DEBUG", "LOUD")
    with pytest.raises(RuntimeError, match="must be OFF, INFO, or DETAIL, got LOUD"):
        dist.set_debug_level_from_env()


def fingerprint(name="all_reduce", number=3, how=(dist.ReduceOp.SUM,), sizes=(4,), dtype=torch.float32):
    tensors = [torch.empty(sizes, dtype=dtype)]
    return Fingerprint.of(name, number, how, tensors, tensors)


@pytest.mark.parametrize(
    ("changed", "word"),
    [
        ({"name": "broadcast"}, "collective"),
        ({"number": 4}, "number"),
        ({"how": (dist.ReduceOp.MAX,)}, "how"),
        ({"sizes": (2, 2)}, "shapes"),
        ({"dtype": torch.bfloat16}, "dtypes"),
    ],
)
def test_the_rank_that_differs_is_named_with_what_differs(changed, word):
    odd = fingerprint(**changed)
    with pytest.raises(DistBackendError) as caught:
        compare([fingerprint(), odd, fingerprint()], [0, 2, 4])
    text = str(caught.value)
    assert text.startswith(
        f"Detected mismatch between collectives on ranks. Rank 2 is running collective: {odd};"
    )
    assert f"but Ranks 0, 4 are running collective: {fingerprint()}" in text
    assert text.endswith(f"differ in the following aspects: {word}")


def test_processes_may_give_all_to_all_parts_of_any_size():
    compare([fingerprint("all_to_all_single", sizes=(size,)) for size in (3, 5)], [0, 1])


def test_a_fingerprint_of_many_tensors_has_its_length_and_still_tells_them_apart():
    tensors = [torch.empty(size) for size in range(200)]
    first, second = (
        Fingerprint.of("all_reduce", 1, (), each, each) for each in (tensors, [*tensors[:-1], tensors[0]])
    )
    assert len(first.packed()) == len(second.packed()) == LENGTH
    assert Fingerprint.unpacked(first.packed()) == first != second


def test_different_roots_are_an_error_before_anything_is_sent():
    worlds.check(
        """
        dist.barrier()
        tensor = torch.full((2,), float(rank))
        text = error_of(lambda: dist.broadcast(tensor, src=rank))
        assert "Detected mismatch" in text and "differ in the following aspects: how" in text, text
        assert tensor.tolist() == [rank, rank]
        """,
        TORCH_DISTRIBUTED_DEBUG="DETAIL",
    )


@worlds.needs_mpi
def test_over_mpi_different_shapes_are_an_error_that_names_the_rank():
    ended = worlds.run_mpi(
        """
        dist.set_debug_level(dist.DebugLevel.DETAIL)
        text = error_of(lambda: dist.all_reduce(torch.ones(4 if rank == 2 else 3)))
        assert "Rank 2 is running collective: all_reduce SUM of Float [[4]] on cpu (number 1)" in text, text
        assert "but Ranks 0, 1 are running collective" in text and "aspects: shapes" in text, text
        """,
        3,
    )
    assert ended.code == 0, ended.said


def reduce_differently(rank):
    dist.set_debug_level(dist.DebugLevel.DETAIL)
    same = torch.ones(3, device="npu")
    dist.all_reduce(same)
    try:
        dist.all_reduce(torch.ones(3 + rank, device="npu"))
    except DistBackendError as error:
        return same.tolist(), str(error)
    return None


def test_on_npus_different_shapes_are_an_error_that_names_both(tmp_path):
    with npu_ranks.group_of(2, tmp_path) as ranks:
        for values, text in ranks.run(reduce_differently):
            assert values == [2.0, 2.0, 2.0]
            assert "all_reduce SUM of Float [[3]] on npu (number 2)" in text
            assert "all_reduce SUM of Float [[4]] on npu (number 2)" in text


UNUSED = """
class Two(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2, bias=False)
        self.both = True

    def forward(self, x):
        return self.second(self.first(x)) if self.both else self.first(x)

model = torch.nn.parallel.DistributedDataParallel(Two(), find_unused_parameters=True)
for both in (True, False, False, True):
    model.module.both = both
    model(torch.ones(1, 2)).sum().backward()
"""


@pytest.mark.parametrize(("level", "lines"), [("OFF", 0), ("INFO", 2), ("DETAIL", 2)])
def test_parameters_that_a_pass_does_not_use_are_shown_by_name_when_they_change(level, lines):
    for rank, ended in enumerate(worlds.run(UNUSED, TORCH_DISTRIBUTED_DEBUG=level)):
        assert ended.code == 0, ended.said
        said = [line for line in ended.said.splitlines() if "DistributedDataParallel" in line]
        expected = [
            f"rank {rank}: DistributedDataParallel: this pass does not use second.weight",
            f"rank {rank}: DistributedDataParallel: this pass uses all parameters",
        ]
        assert said == expected[:lines]


def hang_and_ask(rank):
    if rank == 1:
        return ""
    dist.all_reduce(torch.ones(3, device="npu"))
    while not (text := dist.group.WORLD.stream_problem()):
        time.sleep(0.01)
    return text


def test_on_npus_a_rank_that_does_not_come_is_named_although_nobody_waits(tmp_path):
    with npu_ranks.group_of(2, tmp_path, seconds=4) as ranks:
        ranks.run(reduce_and_wait)
        text, _ = ranks.run(hang_and_ask)
        assert "rank 0: a collective of the group 0 failed" in text
        assert "rank 1 is behind: its last collective is all_reduce (number 1), which is done" in text


def reduce_and_wait(rank):
    dist.all_reduce(torch.ones(3, device="npu"))
    torch.npu.synchronize()
