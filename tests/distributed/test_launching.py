"""Launching: processes of one machine and of several (agents on two loopback addresses), restarts, signals, logs."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mindtorch_v2.distributed import run as torchrun
from mindtorch_v2.distributed.elastic.agent import Job
from mindtorch_v2.distributed.elastic.agent import run as run_job
from mindtorch_v2.distributed.elastic.meeting import RendezvousTimeoutError, Terms, parse_endpoint
from mindtorch_v2.distributed.elastic.multiprocessing import ChildFailedError, DefaultLogsSpecs, Std
from mindtorch_v2.distributed.elastic.multiprocessing.errors import record
from mindtorch_v2.distributed.elastic.utils.distributed import get_free_port
from mindtorch_v2.distributed.launcher import LaunchConfig, elastic_launch

ALONE = Terms("test", 1, 1, "localhost:0", serves=True)


def program(tmp_path, text):
    path = tmp_path / "program.py"
    path.write_text(
        f"import os, sys, time\nrank, world = os.environ['RANK'], os.environ['WORLD_SIZE']\n{text}"
    )
    return str(path)


def job(tmp_path, text, processes=2, **options):
    logs = DefaultLogsSpecs(str(tmp_path / "logs"), tee=Std.ALL)
    options = {"terms": ALONE, "logs": logs, **options}
    return Job(sys.executable, (program(tmp_path, text),), processes, **options)


def words(capfd):
    return sorted(capfd.readouterr().out.split("\n"))[1:]


def agent(tmp_path, number, path, *options):
    """torchrun in a process of its own, which stands for a machine."""
    command = [sys.executable, "-m", "mindtorch_v2.distributed.run", *options, path]
    out = open(tmp_path / f"agent{number}.txt", "w")
    return subprocess.Popen(
        command, stdout=out, stderr=subprocess.STDOUT, env=os.environ | {"OMP_NUM_THREADS": "1"}
    )


def said(tmp_path, number):
    return Path(tmp_path / f"agent{number}.txt").read_text()


def test_every_process_knows_its_rank_and_each_line_names_its_process(tmp_path, capfd):
    run_job(job(tmp_path, "print(rank, world, os.environ['LOCAL_RANK'])", processes=3, prefix="<${rank}>"))
    assert words(capfd) == ["<0>0 3 0", "<1>1 3 1", "<2>2 3 2"]


def test_the_first_failure_is_told_with_its_traceback_and_the_others_are_stopped(tmp_path):
    begun = time.monotonic()
    with pytest.raises(ChildFailedError) as failed:
        run_job(job(tmp_path, "if rank == '1': raise ValueError('the reason')\ntime.sleep(60)"))
    assert time.monotonic() - begun < 20
    rank, first = failed.value.get_first_failure()
    assert (rank, first.exitcode) == (1, 1)
    assert "ValueError: the reason" in str(failed.value) and "SIGTERM" in str(failed.value)


def test_a_recorded_function_leaves_its_error_in_the_launchers_file(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCHELASTIC_ERROR_FILE", str(tmp_path / "error.json"))

    @record
    def fails():
        raise KeyError("lost")

    with pytest.raises(KeyError):
        fails()
    what = json.loads((tmp_path / "error.json").read_text())["message"]
    assert what["message"] == "KeyError: 'lost'" and "in fails" in what["extraInfo"]["py_callstack"]


def test_processes_are_started_again_and_know_how_often(tmp_path, capfd):
    text = "n = os.environ['TORCHELASTIC_RESTART_COUNT']\nif rank == '1' and n != '2': sys.exit(3)\n"
    text += "print(rank, 'round', n)\ntime.sleep(0.3)"
    run_job(job(tmp_path, text, max_restarts=2))
    shown = words(capfd)
    assert "[default0]:0 round 2" in shown and "[default1]:1 round 2" in shown


def test_restarts_end_where_they_were_said_to(tmp_path):
    counted = tmp_path / "count"
    text = f"open({str(counted)!r}, 'a').write('x')\nsys.exit(7)"
    with pytest.raises(ChildFailedError, match="exitcode  : 7"):
        run_job(job(tmp_path, text, processes=1, max_restarts=2))
    assert counted.read_text() == "xxx"


def test_a_signal_ends_all_processes_and_what_they_started(tmp_path):
    path = program(
        tmp_path,
        "import subprocess\nchild = subprocess.Popen(['sleep', '60'])\n"
        f"open({str(tmp_path)!r} + '/pid' + rank, 'w').write(f'{{os.getpid()}} {{child.pid}}\\n')\ntime.sleep(60)",
    )
    launched = agent(tmp_path, 0, path, "--nproc-per-node", "2")
    files = [tmp_path / "pid0", tmp_path / "pid1"]
    wait_until(lambda: all(each.exists() and each.read_text().endswith("\n") for each in files))
    pids = [int(pid) for each in files for pid in each.read_text().split()]
    launched.send_signal(signal.SIGTERM)
    assert launched.wait(30) == 128 + signal.SIGTERM
    wait_until(lambda: not any(alive(pid) for pid in pids))
    assert "SIGTERM" in said(tmp_path, 0)


def test_processes_end_when_their_launcher_is_killed(tmp_path):
    path = program(
        tmp_path, f"open({str(tmp_path)!r} + '/pid' + rank, 'w').write(f'{{os.getpid()}}\\n')\ntime.sleep(60)"
    )
    launched = agent(tmp_path, 0, path, "--nproc-per-node", "1")
    file = tmp_path / "pid0"
    wait_until(lambda: file.exists() and file.read_text().endswith("\n"))
    launched.kill()
    launched.wait(10)
    wait_until(lambda: not alive(int(file.read_text())))


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_until(holds, seconds=30):
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)


@pytest.mark.parametrize("how", ["static", "c10d"])
def test_machines_meet_and_count_their_processes_together(tmp_path, how):
    path = program(tmp_path, "print('rank', rank, 'of', world, 'machine', os.environ['GROUP_RANK'])")
    port = get_free_port()
    options = [
        [
            "--nnodes",
            "2",
            "--nproc-per-node",
            str(count),
            "--rdzv-endpoint",
            f"127.0.0.2:{port}",
            "--rdzv-id",
            "run",
        ]
        + (["--rdzv-backend", "c10d"] if how == "c10d" else ["--node-rank", str(node)])
        for node, count in ((0, 1), (1, 2))
    ]
    agents = [agent(tmp_path, node, path, *options[node]) for node in (1, 0)]
    assert [each.wait(60) for each in agents] == [0, 0], said(tmp_path, 0) + said(tmp_path, 1)
    lines = sorted(line for node in (0, 1) for line in said(tmp_path, node).splitlines())
    assert [line.rpartition(" machine")[0] for line in lines] == [f"rank {rank} of 3" for rank in range(3)]
    if how == "static":
        assert [line[-1] for line in lines] == ["0", "1", "1"]


def test_a_failure_on_one_machine_ends_the_others_and_is_named_there(tmp_path):
    path = program(tmp_path, "if rank == '1': sys.exit(5)\ntime.sleep(60)")
    port = get_free_port()
    agents = [
        agent(tmp_path, node, path, "--nnodes", "2", "--node-rank", str(node), "--master-port", str(port))
        for node in (0, 1)
    ]
    assert [each.wait(60) for each in agents] == [1, 1]
    assert "on another machine" in said(tmp_path, 0) and "rank 1 failed with exit code 5" in said(tmp_path, 0)


def test_all_machines_start_again_when_one_fails(tmp_path):
    path = program(
        tmp_path,
        "n = os.environ['TORCHELASTIC_RESTART_COUNT']\nif rank == '1' and n == '0': sys.exit(5)\n"
        "if n == '0': time.sleep(60)\nprint('rank', rank, 'round', n)",
    )
    port = get_free_port()
    agents = [
        agent(
            tmp_path,
            node,
            path,
            "--nnodes",
            "2",
            "--node-rank",
            str(node),
            "--master-port",
            str(port),
            "--max-restarts",
            "1",
        )
        for node in (0, 1)
    ]
    assert [each.wait(60) for each in agents] == [0, 0], said(tmp_path, 0) + said(tmp_path, 1)
    assert "rank 0 round 1" in said(tmp_path, 0) and "rank 1 round 1" in said(tmp_path, 1)


def test_a_machine_may_join_later(tmp_path):
    text = "print('world', world, flush=True)\nif world == '1': time.sleep(60)"
    path = program(tmp_path, text)
    options = ["--nnodes", "1:2", "--rdzv-backend", "c10d", "--rdzv-endpoint", f"localhost:{get_free_port()}"]
    options += ["--rdzv-id", "grows", "--rdzv-conf", "last_call_timeout=0.2"]
    first = agent(tmp_path, 0, path, *options)
    wait_until(lambda: "world 1" in said(tmp_path, 0))
    second = agent(tmp_path, 1, path, *options)
    assert [first.wait(60), second.wait(60)] == [0, 0], said(tmp_path, 0) + said(tmp_path, 1)
    assert "world 2" in said(tmp_path, 0) and "world 2" in said(tmp_path, 1)


def test_machines_that_do_not_come_are_waited_for_a_while(tmp_path):
    terms = Terms("lonely", 2, 2, "localhost:0", serves=True, patience=0.3)
    with pytest.raises(RendezvousTimeoutError, match="only 1 of 2 machines came"):
        run_job(job(tmp_path, "", terms=terms))


def test_the_machine_with_the_store_going_away_ends_the_others(tmp_path):
    path = program(tmp_path, f"open({str(tmp_path)!r} + '/up' + rank, 'w').close()\ntime.sleep(60)")
    port = get_free_port()
    agents = [
        agent(tmp_path, node, path, "--nnodes", "2", "--node-rank", str(node), "--master-port", str(port))
        for node in (0, 1)
    ]
    wait_until(lambda: (tmp_path / "up0").exists() and (tmp_path / "up1").exists())
    agents[0].kill()
    assert agents[1].wait(60) == 1
    agents[0].wait(10)
    assert "the machine that serves the store is gone" in said(tmp_path, 1)


def _square(number):
    return number * number + int(os.environ["RANK"])


def test_a_function_returns_its_values_by_rank(tmp_path):
    config = LaunchConfig(
        1, 1, 2, DefaultLogsSpecs(str(tmp_path)), rdzv_endpoint="localhost:0", start_method="fork"
    )
    assert elastic_launch(config, _square)(5) == {0: 25, 1: 26}


def _raise(*_):
    raise RuntimeError("inside the function")


def test_what_a_function_raises_is_told(tmp_path):
    config = LaunchConfig(1, 1, 1, DefaultLogsSpecs(str(tmp_path)), max_restarts=0, start_method="fork")
    with pytest.raises(ChildFailedError, match="inside the function"):
        elastic_launch(config, _raise)(1)


def test_streams_are_chosen_by_number_or_by_process():
    assert Std.from_str("3") == Std.ALL
    assert Std.from_str("0:1,2:2") == {0: Std.OUT, 2: Std.ERR}
    with pytest.raises(ValueError, match="does not say which streams"):
        Std.from_str("4")


def test_only_asked_for_processes_are_shown_and_all_are_kept(tmp_path, capfd):
    logs = DefaultLogsSpecs(str(tmp_path / "logs"), local_ranks_filter={1})
    run_job(job(tmp_path, "print('from', rank)", logs=logs))
    assert words(capfd) == ["from 1"]
    assert [each.read_text() for each in (tmp_path / "logs").rglob("0/stdout.log")] == ["from 0\n"]


@pytest.mark.parametrize(
    ("endpoint", "parsed"),
    [("host:12", ("host", 12)), ("", ("localhost", 7)), ("[::1]:8", ("::1", 8)), ("host", ("host", 7))],
)
def test_endpoints_are_a_host_and_a_port(endpoint, parsed):
    assert parse_endpoint(endpoint, 7) == parsed


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--nnodes", "2:x"], "MIN_NODES:MAX_NODES"),
        (["--nproc-per-node", "many"], "Unsupported nproc_per_node"),
        (["--rdzv-backend", "etcd"], "is not in this library"),
        (["--rdzv-conf", "alone"], "<key1>=<value1>"),
        (["--signals-to-handle", "SIGNONE"], "there is no signal 'SIGNONE'"),
        (["--nnodes", "2", "--node-rank", "2"], "--node-rank is 2"),
    ],
)
def test_options_that_say_nothing_are_refused(tmp_path, options, says):
    with pytest.raises((ValueError, RuntimeError, NotImplementedError), match=says):
        torchrun.main([*options, program(tmp_path, "")])
