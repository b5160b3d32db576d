"""The engines beside Gloo: MPI, the fake one, and those that programs register."""

from pathlib import Path

import pytest
import worlds

import mindtorch_v2 as torch
import mindtorch_v2.distributed as dist


def shared_memory() -> set[str]:
    """The names of MPI's memory that processes share."""
    return {path.name for path in Path("/dev/shm").glob("mpich_shm_*")}


@pytest.fixture
def fake():
    dist.init_process_group("fake", rank=3, world_size=1024)
    yield dist.group.WORLD
    dist.destroy_process_group()


@worlds.needs_mpi
def test_collectives_over_mpi_of_dtypes_that_it_knows_and_that_it_does_not():
    ended = worlds.run_mpi(
        """
        for name in ("float32", "int64", "bool", "bfloat16", "float16", "complex64", "uint8"):
            dtype = getattr(torch, name)
            tensor = torch.tensor([1, rank, 3]).to(dtype)
            expected = torch.stack([torch.tensor([1, i, 3]).to(dtype) for i in range(size)]).sum(0).to(dtype)
            dist.all_reduce(tensor)
            assert tensor.tolist() == expected.tolist(), (dtype, tensor, expected)
            parts = [torch.zeros(2, dtype=dtype) for _ in range(size)]
            dist.all_gather(parts, torch.tensor([rank, 1]).to(dtype))
            assert [part[0].item() for part in parts] == [torch.tensor(i).to(dtype).item() for i in range(size)]
            out = torch.zeros(1, dtype=dtype)
            dist.reduce_scatter_single(out, torch.ones(size).to(dtype))
            assert out.item() == (1 if name == "bool" else size)
        big = torch.full((50_000,), float(rank), dtype=torch.bfloat16)
        dist.all_reduce(big, dist.ReduceOp.AVG)
        assert set(big.tolist()) == {sum(range(size)) / size}
        value = torch.tensor([float(rank)])
        dist.reduce(value, 1)
        assert value.item() == (sum(range(size)) if rank == 1 else rank)
        dist.broadcast(value, 1)
        assert value.item() == sum(range(size))
        out = torch.zeros(size, dtype=torch.int64)
        dist.all_to_all_single(out, torch.arange(size) + 10 * rank)
        assert out.tolist() == [rank + 10 * i for i in range(size)]
        if rank == 0:
            got = torch.zeros(1)
            assert sorted(dist.recv(got) for _ in range(size - 1)) == list(range(1, size))
        else:
            dist.send(torch.ones(1), 0)
        works = [dist.all_reduce(torch.ones(100), async_op=True) for _ in range(20)]
        assert all(work.wait() for work in works)
        everything = [None] * size
        dist.all_gather_object(everything, {"rank": rank})
        assert everything[1] == {"rank": 1}
        group = dist.new_group([0, size - 1])
        if rank in (0, size - 1):
            dist.barrier(group)
        assert dist.get_backend() == "mpi"
        dist.barrier()
        dist.destroy_process_group()
        sys.stdout.write(f"done {rank}\\n")  # in one piece: the processes share a console
        """,
        3,
    )
    assert ended.code == 0 and all(f"done {rank}" in ended.said for rank in range(3)), ended.said


LARGE_REDUCTIONS = """
    for count in (700_001, 2_500_003):  # some pieces, parts of different sizes
        for op, fold in ((dist.ReduceOp.SUM, torch.sum), (dist.ReduceOp.MAX, torch.amax)):
            everybody = torch.stack([torch.arange(count) % 89 * (i + 1) for i in range(size)]).float()
            tensor = everybody[rank].clone()
            dist.all_reduce(tensor, op)
            assert tensor.equal(fold(everybody, 0)), (count, op)
        inputs = torch.stack([torch.arange(size * count) % 97 + i for i in range(size)]).float()
        expected = inputs.mean(0).view(size, count)[rank]
        out = torch.empty(count)
        dist.reduce_scatter_tensor(out, inputs[rank], dist.ReduceOp.AVG)
        torch.testing.assert_close(out, expected)
        within = inputs[rank].clone()
        dist.reduce_scatter_tensor(within.view(size, count)[0], within, dist.ReduceOp.AVG)  # lies in another's part
        torch.testing.assert_close(within.view(size, count)[0], expected)
    dist.barrier()
    dist.destroy_process_group()
"""


@worlds.needs_mpi
def test_large_reductions_over_mpi():
    ended = worlds.run_mpi(LARGE_REDUCTIONS, 3)
    assert ended.code == 0, ended.said


@pytest.mark.skipif(not dist.is_gloo_available(), reason="the extra 'distributed' is not installed")
def test_large_reductions_over_gloo():
    worlds.check(LARGE_REDUCTIONS, 3)


@pytest.mark.skipif(not dist.is_gloo_available(), reason="the extra 'distributed' is not installed")
def test_the_thread_of_gloo_does_not_take_the_processor_from_who_works_for_it():
    worlds.check(
        """
        from pathlib import Path
        names = {int(each.name): (each / "comm").read_text().strip() for each in Path("/proc/self/task").iterdir()}
        kinds = {name: os.sched_getscheduler(thread) for thread, name in names.items()}
        assert kinds["gloo_tcp_loop"] == os.SCHED_BATCH, kinds
        assert os.sched_getscheduler(0) == os.SCHED_OTHER
        """
    )


@worlds.needs_mpi
def test_processes_of_mpi_share_a_store():
    ended = worlds.run_mpi(
        """
        dist.monitored_barrier()
        if rank == 0:
            said = error_of(lambda: dist.monitored_barrier(timeout=timedelta(seconds=1)))
            assert "ranks 1 failed to reach it within 1 s" in said, said
        dist.destroy_process_group()
        dist.init_process_group("mpi")
        dist.monitored_barrier()
        """,
        3,
    )
    assert ended.code == 0, ended.said


@worlds.needs_mpi
@pytest.mark.parametrize(
    ("other", "named"),
    [
        ("dist.broadcast(torch.ones(4), 0)", "broadcast from 0 of 4 float32"),
        ("dist.all_reduce(torch.ones(5))", "all_reduce SUM of 5 float32"),
    ],
)
def test_processes_of_mpi_that_disagree_hear_what_each_called(other, named):
    ended = worlds.run_mpi(
        f"""
        said = error_of(lambda: {other} if rank == 1 else dist.all_reduce(torch.ones(4)))
        assert f"rank {{rank}}: " in said and "rank 0: all_reduce SUM of 4 float32, number 1" in said, said
        assert "rank 1: {named}, number 1" in said, said
        """,
        3,
    )
    assert ended.code == 0, ended.said


@worlds.needs_mpi
def test_a_process_of_mpi_that_is_killed_ends_all_is_named_and_leaves_nothing():
    before = shared_memory()
    ended = worlds.run_mpi(
        """
        dist.barrier()
        if rank == 1:
            os.kill(os.getpid(), 9)
        dist.all_reduce(torch.ones(1))
        """,
        3,
        60,
    )
    assert ended.code != 0 and ended.seconds < 50 and shared_memory() <= before
    assert "EXIT CODE: 9" in ended.said or "KILLED BY SIGNAL: 9" in ended.said, ended.said


@worlds.needs_mpi
def test_a_hanging_process_of_mpi_ends_all_within_the_time_limit_and_is_named():
    before = shared_memory()
    ended = worlds.run_mpi(
        "if rank == 0: dist.all_reduce(torch.ones(1))\nelse: threading.Event().wait(60)", 2, 10
    )
    assert ended.code != 0 and ended.seconds < 50 and shared_memory() <= before
    assert (
        "rank 0: all_reduce (number 1) of float32[1] on cpu failed: all_reduce SUM of 1 float32" in ended.said
    )
    assert "over mpi was not done after 10 s; another rank is late or gone" in ended.said


@worlds.needs_mpi
@pytest.mark.parametrize("killed", [0, 1])
def test_who_survives_a_killed_process_of_mpi_names_it_at_once(killed, tmp_path):
    ended = worlds.run_mpi(
        f"""
        dist.barrier()
        if rank == {killed}:
            os.kill(os.getpid(), 9)
        said = error_of(lambda: dist.all_reduce(torch.ones(1)))
        open("{tmp_path}/said", "w").write(said)
        open("{tmp_path}/told", "w").close()
        """,
        2,
        60,
        # mpiexec, which would end the other one at once, sees a shell that lives until that one has told
        ["sh", "-c", f'"$0" "$@" || until [ -e {tmp_path}/told ]; do sleep 0.1; done'],
    )
    rank, said = 1 - killed, (tmp_path / "said").read_text()
    assert ended.seconds < 50
    assert f"rank {rank}: all_reduce (number 2) of float32[1] on cpu failed: all_reduce SUM" in said, said
    assert f"over mpi: rank {killed} (process " in said, said


@worlds.needs_mpi
def test_a_group_of_mpi_whose_members_do_not_come_is_an_error_within_the_time_limit():
    ended = worlds.run_mpi(
        """
        if rank != 2:
            short = timedelta(seconds=1)
            said = error_of(lambda: dist.new_group([0, 1, 2], timeout=short, use_local_synchronization=True))
            assert f"rank {rank} waited 1 s for the group" in said and "rank 2 did not come" in said, said
        dist.barrier()
        group = dist.new_group([0, 2])
        if rank != 1:
            dist.barrier(group)
        """,
        3,
    )
    assert ended.code == 0 and ended.seconds < 20, ended.said


@worlds.needs_mpi
def test_who_comes_to_a_group_of_mpi_that_others_gave_up_is_told():
    ended = worlds.run_mpi(
        """
        store = dist.distributed_c10d._get_default_store()
        if rank == 1:
            store.wait(["given up"])
        short = timedelta(seconds=1)
        said = error_of(lambda: dist.new_group([0, 1], timeout=short, use_local_synchronization=True))
        assert "rank 0 waited 1 s for the group" in said and "rank 1 did not come" in said, said
        assert ("rank 1 is without its group" in said) == (rank == 1), said
        store.set("given up", "")
        dist.barrier()
        """,
        2,
    )
    assert ended.code == 0 and ended.seconds < 20, ended.said


@worlds.needs_mpi
def test_an_error_of_a_process_of_mpi_ends_all():
    ended = worlds.run_mpi("if rank == 0: raise ValueError('on purpose')\nthreading.Event().wait(60)", 2, 60)
    assert ended.code != 0 and ended.seconds < 25 and "ValueError: on purpose" in ended.said, ended


def test_the_fake_engine_has_any_number_of_processes_and_counts_bytes(fake):
    tensor = torch.ones(10)
    dist.all_reduce(tensor)
    whole = torch.zeros(10 * 1024)
    dist.all_gather_single(whole, tensor)
    planned = torch.ones(1024, 7, device="meta")
    out = torch.empty(1, 7, device="meta")
    dist.reduce_scatter_single(out, planned)
    assert dist.get_rank() == 3 and dist.get_world_size() == 1024 and tensor.tolist() == [1.0] * 10
    assert fake.engine_of(tensor).traffic == {
        "all_reduce": 40, "all_gather": 40 * 1024, "reduce_scatter": 4 * 7 * 1024,
    }  # fmt: skip
    assert fake.engine_of(planned) is fake.engine_of(tensor)


def test_the_fake_engine_still_checks_what_it_is_given(fake):
    with pytest.raises(RuntimeError, match="does not have 1024 times the elements"):
        dist.all_gather_single(torch.zeros(5), torch.ones(5))
    with pytest.raises(RuntimeError, match="Cannot use ReduceOp.BOR"):
        dist.all_reduce(torch.ones(5), dist.ReduceOp.BOR)


class Doubling:
    """A backend as PyTorch's extensions write it: methods that take lists and options, and give works."""

    def __init__(self, store, rank, size, timeout):
        self.place = rank, size

    def allreduce(self, tensors, options):
        assert options.reduceOp == dist.ReduceOp.SUM
        tensors[0].mul_(2)
        return _Done()

    def allgather(self, outputs, inputs, options):
        for output in outputs[0]:
            output.copy_(inputs[0])
        return _Done()


class _Done:
    def wait(self):
        return True


def test_a_backend_that_a_program_registers_is_called():
    dist.Backend.register_backend("doubling", Doubling, devices=["cpu"])
    dist.init_process_group("doubling", store=dist.HashStore(), rank=0, world_size=2)
    try:
        tensor, out = torch.ones(3), [torch.zeros(3), torch.zeros(3)]
        dist.all_reduce(tensor)
        dist.all_gather(out, tensor)
        assert tensor.tolist() == [2.0] * 3 and out[1].tolist() == [2.0] * 3
        assert dist.get_backend() == "doubling" and dist.is_backend_available("doubling")
    finally:
        dist.destroy_process_group()
    with pytest.raises(AssertionError, match="already exist"):
        dist.Backend.register_backend("doubling", Doubling)
    with pytest.raises(AssertionError, match="Unknown backend type nothing; known are"):
        dist.init_process_group("nothing", store=dist.HashStore(), rank=0, world_size=1)
