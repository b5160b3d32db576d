"""Groups of processes over Gloo: how they are made, what works do, what is refused."""

import pytest
import worlds

import mindtorch_v2.distributed as dist

pytestmark = pytest.mark.skipif(
    not dist.is_gloo_available(), reason="the extra 'distributed' is not installed"
)


def test_processes_find_each_other_by_environment_address_file_and_store(tmp_path):
    worlds.check(
        f"""
        def once(**how):
            dist.init_process_group("gloo", timeout=timedelta(seconds=20), **how)
            tensor = torch.ones(3) * (rank + 1)
            dist.all_reduce(tensor)
            assert tensor.tolist() == [3.0] * 3 and dist.get_rank() == rank and dist.get_world_size() == size
            assert dist.get_backend() == "gloo" and dist.is_initialized()
            dist.barrier()
            dist.destroy_process_group()
            assert not dist.is_initialized()

        once()
        once(init_method="tcp://127.0.0.1:" + str({worlds.free_port()}), rank=rank, world_size=size)
        once(init_method="file://{tmp_path}/one", rank=rank, world_size=size)
        once(store=dist.FileStore("{tmp_path}/two", size), rank=rank, world_size=size)
        assert not [each for each in threading.enumerate() if "gloo" in each.name]
        """,
        backend="",
    )


def test_works_are_waited_for_later_and_have_futures_and_results():
    worlds.check(
        """
        tensors = [torch.full((1000,), float(rank + i)) for i in range(10)]
        works = [dist.all_reduce(tensor, async_op=True) for tensor in tensors]
        future = works[-1].get_future().then(lambda done: done.value()[0][0].item())
        assert future.wait() == 19.0 and works[-1].is_completed() and works[-1].is_success()
        for i, work in enumerate(works):
            assert work.wait() and work.wait(timedelta(seconds=5)) and work.exception() is None
            assert work.result()[0] is tensors[i] and tensors[i][0] == 2 * i + 1
        """
    )


def test_other_threads_of_python_run_while_a_collective_waits():
    worlds.check(
        """
        ticks, go_on = [0], threading.Event()
        def count():
            while not go_on.is_set():
                ticks[0] += 1
                go_on.wait(0.005)
        if rank == 0:
            counting = threading.Thread(target=count)
            counting.start()
            dist.barrier()
            go_on.set()
            assert ticks[0] > 20, ticks
        else:
            threading.Event().wait(0.5)  # the other one waits here
            dist.barrier()
        """
    )


def test_messages_of_different_tags_overtake_each_other():
    worlds.check(
        """
        if rank == 0:
            works = [dist.isend(torch.full((5,), float(tag)), 1, tag=tag) for tag in range(4)]
            for work in works:
                work.wait()
        else:
            for tag in reversed(range(4)):
                tensor = torch.zeros(5)
                assert dist.recv(tensor, 0, tag=tag) == 0 and tensor.tolist() == [tag] * 5
        """
    )


def test_sums_of_multiplied_values_and_averages_of_every_dtype():
    worlds.check(
        """
        half = dist._make_nccl_premul_sum(0.5)
        for count in (3, 40_000):
            tensor = torch.full((count,), float(rank + 1))
            dist.all_reduce(tensor, half)
            assert set(tensor.tolist()) == {1.5}
            out, given = torch.zeros(count), torch.full((2 * count,), float(rank + 1))
            dist.reduce_scatter_single(out, given, half)
            assert set(out.tolist()) == {1.5} and given[0] == rank + 1
        for dtype in (torch.int16, torch.uint8, torch.bfloat16, torch.float64, torch.complex128):
            tensor = torch.tensor([3 + 2 * rank, 7], dtype=dtype)
            dist.all_reduce(tensor, dist.ReduceOp.AVG)
            assert tensor.tolist() == [4, 7]
        """
    )


def test_a_group_is_cut_into_parts():
    worlds.check(
        """
        part = dist.split_group(split_ranks=[[0, 2], [1]])
        tensor = torch.tensor(float(rank))
        dist.all_reduce(tensor, group=part)
        assert tensor.item() == {0: 2.0, 1: 1.0, 2: 2.0}[rank]
        own, every = dist.new_subgroups(1)
        assert dist.get_world_size(own) == 1 and len(every) == 3
        outside = dist.new_group([1])
        assert (dist.get_rank(outside) == -1) == (rank != 1)
        dist.destroy_process_group(part)
        dist.barrier()
        """,
        size=3,
    )


def test_a_mesh_has_a_group_for_each_row_and_column():
    worlds.check(
        """
        mesh = dist.init_device_mesh("cpu", (2, 2), mesh_dim_names=("rows", "columns"))
        assert mesh.get_coordinate() == (rank // 2, rank % 2) and mesh.get_local_rank("columns") == rank % 2
        tensor = torch.tensor(float(rank))
        dist.all_reduce(tensor, group=mesh.get_group("columns"))
        assert tensor.item() == (1.0 if rank < 2 else 5.0)
        assert dist.get_process_group_ranks(mesh["rows"].get_group()) == [rank % 2, rank % 2 + 2]
        assert mesh["rows", "columns"]._flatten("all").mesh.tolist() == [0, 1, 2, 3]
        assert dist.DeviceMesh.from_group(mesh.get_group("rows"), "cpu").mesh.tolist() == [rank % 2, rank % 2 + 2]
        """,
        size=4,
    )


def test_subclasses_are_asked_before_a_collective_runs():
    worlds.check(
        """
        class Own(torch.Tensor):
            @classmethod
            def __torch_function__(cls, function, types, args=(), kwargs=None):
                return function
        own = torch.ones(2).as_subclass(Own)
        assert dist.all_reduce(own) is dist.all_reduce and dist.send(own, 1) is dist.send
        assert dist.all_gather([own], torch.ones(2)) is dist.all_gather
        """,
        size=1,
    )


def test_arguments_that_cannot_be_meant_are_refused_before_anything_is_sent():
    worlds.check(
        """
        x = torch.ones(2)
        assert "of type torch.Tensor" in error_of(lambda: dist.all_reduce(3), TypeError)
        assert "expected a torch.distributed.ReduceOp" in error_of(lambda: dist.all_reduce(x, 7), TypeError)
        assert "ReduceOp.BAND" in error_of(lambda: dist.all_reduce(x, dist.ReduceOp.BAND))
        assert "expected length 1, got 2" in error_of(lambda: dist.all_gather([x, x], x))
        assert "expected (2,), got (3,)" in error_of(lambda: dist.all_gather([torch.ones(3)], x))
        assert "invalid root rank: 3" in error_of(lambda: dist.broadcast(x, 3))
        assert "Must specify" in error_of(lambda: dist.broadcast(x), ValueError)
        assert "same as the rank" in error_of(lambda: dist.send(x, 0), ValueError)
        assert "gather_list" in error_of(lambda: dist.gather(x), ValueError)
        assert "does not have 1 times" in error_of(lambda: dist.all_gather_single(torch.ones(5), x))
        assert "not 1 parts" in error_of(lambda: dist.all_to_all_single(x, x, [1], [2]))
        assert "twice" in error_of(lambda: dist.init_process_group("gloo"), ValueError)
        assert "out of range" in error_of(lambda: dist.new_group([3]), ValueError)
        assert "duplicate" in error_of(lambda: dist.new_group([0, 0]), ValueError)
        assert "No backend type" in error_of(lambda: dist.all_reduce(torch.ones(2, device="meta")))
        """,
        size=1,
    )


def test_processes_that_spawn_starts_form_a_group(tmp_path):
    script = tmp_path / "spawned.py"
    script.write_text(
        "import sys\nimport mindtorch_v2 as torch, mindtorch_v2.distributed as dist\n"
        "import mindtorch_v2.multiprocessing as mp\n"
        "def work(rank, path):\n"
        "    dist.init_process_group('gloo', init_method=f'file://{path}', rank=rank, world_size=2)\n"
        "    tensor = torch.ones(2)\n    dist.all_reduce(tensor)\n    assert tensor.tolist() == [2.0, 2.0]\n"
        "    dist.destroy_process_group()\n"
        "if __name__ == '__main__':\n    mp.spawn(work, (sys.argv[1],), nprocs=2)\n    print('both done')\n"
    )
    worlds.check(
        f"""
        import subprocess
        done = subprocess.run([sys.executable, "{script}", "{tmp_path}/store"], capture_output=True, text=True)
        assert done.stdout == "both done\\n", done
        """,
        size=1,
        backend="",
    )


def test_a_group_has_pytorchs_methods_with_lists_and_options():
    worlds.check(
        """
        group = dist.group.WORLD
        tensor, total = torch.ones(2) * (rank + 1), dist.AllreduceOptions()
        total.reduceOp = dist.ReduceOp.MAX
        group.allreduce([tensor], total).wait()
        assert tensor.tolist() == [2.0, 2.0]
        group.allreduce(tensor).wait()
        assert tensor.tolist() == [4.0, 4.0]
        parts, whole = [torch.zeros(1) for _ in range(2)], torch.zeros(2)
        group.allgather([parts], [torch.tensor([float(rank)])]).wait()
        group._allgather_base(whole, torch.tensor([float(rank)])).wait()
        assert [part.item() for part in parts] == whole.tolist() == [0.0, 1.0]
        out = torch.zeros(1)
        group._reduce_scatter_base(out, torch.arange(2.0)).wait()
        assert out.item() == 2.0 * rank
        group.alltoall_base(whole, torch.arange(2.0) + 10 * rank, [], []).wait()
        assert whole.tolist() == [rank, 10.0 + rank]
        if rank == 0:
            group.send(torch.ones(3), 1, 0).wait()
        else:
            group.recv([out.resize_(3)], 0, 0).wait()
            assert out.tolist() == [1.0] * 3
        assert "expected one tensor, got 2" in error_of(lambda: group.allreduce([tensor, tensor]), ValueError)
        group.barrier().wait()
        """
    )


def test_worlds_at_one_address_follow_each_other_however_fast_a_process_is():
    worlds.check(
        """
        for turn in range(6):
            dist.init_process_group("gloo", timeout=timedelta(seconds=60))
            if turn % 2:
                tensor = torch.tensor(float(rank))
                dist.all_reduce(tensor)
                assert tensor.item() == 3.0
            dist.destroy_process_group()
        """,
        size=3,
        backend="",
    )


def test_the_port_of_a_world_that_has_ended_is_free_for_another_store():
    worlds.check(
        """
        dist.init_process_group("gloo")
        dist.destroy_process_group()
        store = dist.TCPStore("127.0.0.1", int(os.environ["MASTER_PORT"]), is_master=True)
        store.set("key", "value")
        assert store.get("key") == b"value"
        """,
        size=1,
        backend="",
    )
