"""What the other processes are told when one of them fails: nothing hangs, and an error names rank and collective."""

import os
import subprocess
import sys

import links
import pytest
import worlds

import mindtorch_v2.distributed as dist

pytestmark = pytest.mark.skipif(
    not dist.is_gloo_available(), reason="the extra 'distributed' is not installed"
)


def test_different_shapes_are_an_error_on_every_rank_that_names_both():
    for small, large in ((3, 4), (30_000, 40_000)):
        worlds.check(
            f"""
            count = {small} if rank == 0 else {large}
            said = error_of(lambda: dist.all_reduce(torch.ones(count)))
            assert f"rank {{rank}}: all_reduce" in said, said
            assert "all_reduce SUM of {large} float32" in said and "all_reduce SUM of {small} float32" in said, said
            """
        )


def test_different_collectives_are_an_error_that_names_both():
    ended = worlds.run(
        """
        if rank == 0:
            dist.all_reduce(torch.ones(3))
        else:
            dist.broadcast(torch.ones(3), 0)
        """,
        seconds=3,
    )
    assert all(each.code for each in ended)
    assert any(
        "all_reduce SUM of 3 float32" in each.said and "broadcast from 0" in each.said for each in ended
    )


def test_a_receiver_with_less_room_than_what_is_sent_is_told():
    worlds.check(
        """
        if rank == 0:
            said = error_of(lambda: (dist.send(torch.ones(20_000), 1), dist.barrier()))
        else:
            said = error_of(lambda: dist.recv(torch.ones(10), 0))
            assert "message of 80000 bytes" in said and "expected message of 40 bytes" in said, said
        """
    )


def test_a_killed_process_is_an_error_of_the_others_at_once():
    ended = worlds.run(
        """
        dist.barrier()
        if rank == 1:
            os.kill(os.getpid(), 9)
        said = error_of(lambda: [dist.all_reduce(torch.ones(3)) for _ in range(1000)])
        assert f"rank {rank}: all_reduce" in said and "rank 1" in said, said
        """,
        size=3,
        seconds=60,
    )
    assert [each.code for each in ended] == [0, -9, 0], ended
    assert max(each.seconds for each in ended) < 50


def test_a_lost_connection_is_an_error_of_both_ends():
    ended = worlds.run(
        """
        import socket
        dist.barrier()
        if rank == 1:
            for entry in os.listdir("/proc/self/fd"):
                try:
                    connection = socket.socket(fileno=os.dup(int(entry)))
                    peer = connection.getpeername()
                except OSError:
                    continue
                if peer[1] != int(os.environ["MASTER_PORT"]):  # the store may be gone, too; it says what failed first
                    connection.shutdown(socket.SHUT_RDWR)
        said = error_of(lambda: [dist.all_reduce(torch.ones(3)) for _ in range(1000)])
        assert f"rank {rank}: all_reduce" in said and f"no answer from rank {1 - rank}" in said, said
        """,
        seconds=20,
    )
    assert [each.code for each in ended] == [0, 0], ended
    # Gloo tells the other end at once. Who closed its own end is told when the time is up if it was about to send.
    assert ended[0].seconds < 18 and ended[1].seconds < 40, ended


CUT = """
import os, subprocess, sys, time
own_network()
ranks = [
    subprocess.Popen([sys.executable, "-c", os.environ["PROGRAM"]], env=os.environ | {"RANK": str(rank)},
                     stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    for rank in range(3)
]
for each in ranks:
    line = each.stdout.readline()
    assert line == "ready\\n", line + each.stdout.read()
loopback(False)
for each in ranks:
    each.stdin.write("go\\n")
    each.stdin.flush()
for each in ranks:
    print(each.communicate(timeout=60)[0])
print("codes", [each.returncode for each in ranks])
"""


def test_a_cut_network_is_an_error_of_all_within_the_time_limit(tmp_path):
    program = worlds.program(
        """
        tensor = torch.ones(1000)
        dist.all_reduce(tensor)
        assert tensor[0] == 3
        print("ready", flush=True)
        input()
        began = time.monotonic()
        said = error_of(lambda: [dist.all_reduce(tensor) for _ in range(1000)])
        assert f"rank {rank}: all_reduce" in said and "no answer from rank" in said, said
        assert time.monotonic() - began < 7.5, time.monotonic() - began
        print("said", said, flush=True)
        os._exit(0)  # nobody hears a farewell
        """,
        "gloo",
        3,
    )
    environment = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29511", "WORLD_SIZE": "3", "PROGRAM": program}
    environment["WORLD_MEETS"] = str(tmp_path)
    ended = subprocess.run(
        [sys.executable, "-c", links.LOOPBACK + CUT], env=os.environ | environment, capture_output=True, text=True,
        timeout=100,
    )  # fmt: skip
    assert "codes [0, 0, 0]" in ended.stdout, ended.stdout + ended.stderr


def test_a_hanging_process_is_an_error_within_the_time_limit():
    ended = worlds.run(
        """
        if rank == 1:
            dist.new_group([1])
            threading.Event().wait(6)
        else:
            dist.new_group([1])
            began = time.monotonic()
            said = error_of(lambda: dist.all_reduce(torch.ones(3)))
            assert "rank 0: all_reduce" in said and "no answer from rank 1" in said, said
            assert 1.5 < time.monotonic() - began < 6
        """,
        seconds=2,
    )
    assert ended[0].code == 0, ended


def test_a_wait_with_its_own_time_limit_ends_before_that_of_the_group():
    worlds.check(
        """
        if rank == 0:
            work = dist.all_reduce(torch.ones(3), async_op=True)
            assert "all_reduce was not done after 0.3 s" in error_of(lambda: work.wait(timedelta(seconds=0.3)))
            dist.send(torch.ones(1), 1)
            assert work.wait()
        else:
            dist.recv(torch.ones(1), 0)
            dist.all_reduce(torch.ones(3))
        """
    )


def test_a_monitored_barrier_names_who_did_not_come():
    worlds.check(
        """
        if rank == 0:
            said = error_of(lambda: dist.monitored_barrier(timeout=timedelta(seconds=1), wait_all_ranks=True))
            assert "ranks 1, 2 failed to reach it within 1 s" in said, said
        dist.barrier()
        """,
        size=3,
    )


def test_with_debugging_in_detail_every_engine_compares_what_the_ranks_do():
    worlds.check(
        """
        if rank == 0:
            said = error_of(lambda: dist.all_gather_single(torch.ones(2), torch.ones(1)))
        else:
            said = error_of(lambda: dist.all_reduce(torch.ones(1)))
        assert "Rank 1 is running collective: all_reduce SUM of Float [[1]] on cpu (number 1)" in said, said
        assert "Rank 0 is running collective: all_gather_into_tensor of Float [[1]]" in said, said
        """,
        TORCH_DISTRIBUTED_DEBUG="DETAIL",
    )


@pytest.mark.parametrize("backend", ["gloo", "hccl"])
def test_a_wrong_address_and_a_missing_process_are_errors_within_the_time_limit(backend):
    worlds.check(
        f"""
        limit = timedelta(seconds=1)
        free = "tcp://127.0.0.1:{worlds.free_port()}"
        began = time.monotonic()
        said = error_of(lambda: dist.init_process_group("{backend}", free, limit, rank=1, world_size=2))
        assert "trying to connect to (127.0.0.1" in said and "MASTER_ADDR" in said, said
        said = error_of(lambda: dist.init_process_group("{backend}", free, limit, rank=0, world_size=2))
        assert "1/2 clients joined" in said, said
        beyond = lambda: dist.init_process_group("{backend}", free, rank=2, world_size=2)
        assert "rank 2 is not one of the 2 processes" in error_of(beyond, ValueError)
        assert time.monotonic() - began < 10 and not dist.is_initialized()
        """,
        size=1,
        backend="",
    )


@pytest.mark.parametrize(("backend", "device"), [("gloo", "cpu"), ("hccl", "npu")])
def test_a_process_that_stops_answering_is_an_error_within_the_time_limit(backend, device):
    processes = worlds.start(
        f"""
        import signal
        if "{device}" == "npu":
            torch.npu.set_device(rank)
        tensor = torch.ones(3, device="{device}")
        dist.all_reduce(tensor)
        assert tensor.tolist() == [2.0] * 3
        if rank == 1:
            os.kill(os.getpid(), signal.SIGSTOP)  # its connections stay, and nothing answers
        began = time.monotonic()
        said = error_of(lambda: (dist.all_reduce(tensor), tensor.tolist()))
        assert 1 < time.monotonic() - began < 20, said
        print("said:", said)
        said = error_of(lambda: (dist.all_reduce(tensor), tensor.tolist()))  # and so is the next one
        """,
        backend=backend,
        seconds=3,
        MINDTORCH_NPU="soft",
        SOFTNPU_DEVICES="2",
    )
    try:
        said = processes[0].communicate(timeout=60)[0]
    finally:
        for process in processes:
            process.kill()
    assert processes[0].returncode == 0, said
    assert "rank 0" in said and "rank 1" in said, said
    assert ("all_reduce (number 2)" if backend == "gloo" else "a collective of rank 0 of 2") in said, said


@worlds.needs_mpi
def test_a_process_of_mpi_that_stops_answering_is_an_error_within_the_time_limit():
    ended = worlds.run_mpi(
        """
        import signal
        dist.barrier()
        if rank == 1:
            os.kill(os.getpid(), signal.SIGSTOP)
        dist.all_reduce(torch.ones(3))
        """,
        2,
        3,
    )
    assert ended.code != 0 and ended.seconds < 40
    assert "rank 0: all_reduce (number 2) of float32[3] on cpu failed" in ended.said, ended.said
    assert "was not done after 3 s" in ended.said and "rank 1" in ended.said, ended.said
