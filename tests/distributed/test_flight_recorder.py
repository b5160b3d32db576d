"""The last collectives of each group, and who is behind."""

import json
import pickle

import npu_ranks
import pytest
import worlds

import mindtorch_v2 as torch
from mindtorch_v2 import distributed as dist
from mindtorch_v2._cli import main
from mindtorch_v2.distributed.flight_recorder import fr_trace
from mindtorch_v2.distributed.flight_recorder.recorder import Position
from mindtorch_v2.distributed.flight_recorder.verdict import verdict


@pytest.fixture
def alone(request, monkeypatch):
    """A group of one process of four, whose collectives count and do nothing."""
    for name, value in getattr(request, "param", {}).items():
        monkeypatch.setenv(name, value)
    dist.init_process_group("fake", rank=1, world_size=4)
    yield
    dist.destroy_process_group()


def dumped():
    return pickle.loads(torch._C._distributed_c10d._dump_fr_trace())


def test_entries_say_what_was_called_and_how_far_it_is(alone):
    dist.all_gather_single(torch.empty(4, 2), torch.ones(1, 2))
    work = dist.all_reduce(torch.ones(3, dtype=torch.int64), async_op=True)
    work.wait()
    dist.send(torch.ones(5), 2)
    found = dumped()
    gathered, reduced, sent = found["entries"]
    assert gathered["profiling_name"] == "fake:all_gather" and gathered["state"] == "completed"
    assert (gathered["input_sizes"], gathered["output_sizes"]) == ([[1, 2]], [[4, 2]])
    assert (reduced["input_dtypes"], reduced["collective_seq_id"]) == (["Long"], 2)
    assert sent["is_p2p"] and (sent["collective_seq_id"], sent["p2p_seq_id"]) == (2, 1)
    times = ("time_created_ns", "time_discovered_started_ns", "time_discovered_completed_ns")
    assert [reduced[each] for each in times] == sorted(reduced[each] for each in times)
    assert found["pg_config"]["0"] == {"name": "0", "desc": "default_pg", "ranks": "[0, 1, 2, 3]"}
    assert found["pg_status"]["0"]["last_completed_collective"] == 2


def test_a_work_that_nobody_began_is_scheduled(alone):
    flight, values = dist.group.WORLD._flight, [torch.ones(3)]
    asked = flight.add("fake", "all_reduce", values, values, False, False)
    (entry,) = dumped()["entries"]
    assert entry["state"] == "scheduled" and entry["time_discovered_started_ns"] is None
    active = json.loads(torch._C._distributed_c10d._dump_fr_trace_json(onlyActive=True))
    assert [each["state"] for each in active["entries"]] == ["scheduled"]
    flight.start(asked)
    assert [each["state"] for each in dumped()["entries"]] == ["started"]
    flight.end(asked)
    assert not json.loads(torch._C._distributed_c10d._dump_fr_trace_json(onlyActive=True))["entries"]


@pytest.mark.parametrize(
    "alone", [{"TORCH_FR_BUFFER_SIZE": "3"}, {"TORCH_NCCL_TRACE_BUFFER_SIZE": "3"}], indirect=True
)
def test_only_the_last_entries_are_kept(alone):
    for _ in range(5):
        dist.barrier()
    assert [entry["collective_seq_id"] for entry in dumped()["entries"]] == [3, 4, 5]
    torch._C._distributed_c10d._reset_fr_recording_nccl()
    dist.barrier()
    assert [entry["collective_seq_id"] for entry in dumped()["entries"]] == [6]


@pytest.mark.parametrize("alone", [{"TORCH_FR_BUFFER_SIZE": "0"}], indirect=True)
def test_a_size_of_zero_keeps_nothing_and_still_counts(alone):
    dist.barrier()
    assert dumped()["entries"] == [] and dumped()["pg_status"]["0"]["last_enqueued_collective"] == 1


def test_a_wrong_size_is_refused(monkeypatch):
    monkeypatch.setenv("TORCH_FR_BUFFER_SIZE", "many")
    with pytest.raises(ValueError, match="TORCH_FR_BUFFER_SIZE must be a number of entries"):
        dist.init_process_group("fake", rank=0, world_size=2)


@pytest.mark.parametrize("alone", [{"TORCH_FR_PYTHON_STACK": "1"}], indirect=True)
def test_entries_have_the_python_stack_if_asked_for(alone):
    dist.barrier()
    (entry,) = dumped()["entries"]
    assert __file__ in {frame["filename"] for frame in entry["frames"]}


def test_the_rank_that_is_behind_is_named_with_where_it_is():
    at = Position(4, 4, 3, "all_reduce")
    assert verdict({0: at, 1: Position(3, 3, 3, "broadcast"), 2: at}) == (
        "rank 1 is behind: its last collective is broadcast (number 3), which is done; ranks 0, 2 called all_reduce "
        "(number 4)"
    )
    assert verdict({0: at, 1: None}) == (
        "rank 1 does not answer, being gone or stuck; rank 0 called all_reduce (number 4)"
    )
    assert verdict({0: at, 1: Position(0, 0, 0, "")}).startswith(
        "rank 1 is behind: its last collective is none yet"
    )
    assert verdict({0: at, 1: Position(4, 4, 3, "reduce")}) == (
        "rank 0 called all_reduce (number 4); rank 1 called reduce (number 4)"
    )
    assert verdict({0: at, 1: at}) == ""


HANGS = """
dist.broadcast(torch.ones(2), 0)
if rank == 1:
    from pathlib import Path
    while not Path(os.environ["END"]).exists():
        time.sleep(0.05)
    os._exit(0)
print(error_of(lambda: dist.all_reduce(torch.ones(3, 4))))
dist.get_world_size()
if rank == 0:
    open(os.environ["END"], "w")
"""


def test_a_rank_that_hangs_is_named_and_all_write_their_collectives(tmp_path, capsys):
    ended = worlds.run(
        HANGS, 3, seconds=4, END=str(tmp_path / "end"), TORCH_FR_DUMP_TEMP_FILE=str(tmp_path / "fr" / "rank_")
    )
    said = "rank 1 is behind: its last collective is broadcast (number 1), which is done"
    for rank in (0, 2):
        assert said in ended[rank].said, ended[rank].said
        assert f"the last collectives are in {tmp_path}/fr/rank_{rank}" in ended[rank].said
    assert main(["flight", str(tmp_path / "fr")]) == 0
    shown = capsys.readouterr().out
    assert said in shown and "rank 0 is not done with all_reduce of Float[3, 4] (number 2, started)" in shown
    assert main(["flight", "-j", str(tmp_path / "fr")]) == 0
    assert "rank 1  group 0  number 1  broadcast of Float[2]  completed" in capsys.readouterr().out


def test_who_waits_with_a_time_limit_of_its_own_is_told_who_is_behind(tmp_path):
    worlds.check(
        """
        dist.barrier()
        if rank == 0:
            work = dist.all_reduce(torch.ones(3), async_op=True)
            text = error_of(lambda: work.wait(timedelta(seconds=0.5)))
            assert text.startswith("all_reduce was not done after 0.5 s; another process may be late"), text
            assert "rank 1 is behind: its last collective is barrier (number 1), which is done" in text, text
            open(os.environ["END"], "w")
            work.wait()
        else:
            while not os.path.exists(os.environ["END"]):
                time.sleep(0.05)
            dist.all_reduce(torch.ones(3))
        """,
        END=str(tmp_path / "end"),
    )


def test_a_rank_that_dies_is_one_that_does_not_answer(tmp_path):
    ended = worlds.run(
        """
        dist.barrier()
        if rank == 1:
            os._exit(9)
        print(error_of(lambda: dist.all_reduce(torch.ones(3))))
        """,
        2,
        TORCH_FR_DUMP_TEMP_FILE=str(tmp_path / "rank_"),
    )
    assert "rank 1 does not answer" in ended[0].said, ended[0].said
    assert (tmp_path / "rank_0").exists() and not (tmp_path / "rank_1").exists()
    lines = fr_trace.report(fr_trace.read_all([str(tmp_path)], "rank_"))
    assert "  there is no file of rank 1: gone, or stuck" in lines


def test_nothing_is_written_where_nobody_wants_files(tmp_path):
    worlds.check(
        """
        if rank == 0:
            text = error_of(lambda: dist.all_reduce(torch.ones(3)))
            assert "the last collectives are in" not in text
        """,
        2,
        seconds=3,
        TORCH_FR_DUMP_TEMP_FILE=str(tmp_path / "rank_"),
        TORCH_NCCL_DUMP_ON_TIMEOUT="0",
    )
    assert not list(tmp_path.iterdir())


def written(tmp_path, rank, names):
    """A file of a rank of two that called these."""
    entries = [
        {
            "process_group": ["0", "default_pg"], "is_p2p": False, "collective_seq_id": number, "p2p_seq_id": 0,
            "profiling_name": f"nccl:{name}", "input_sizes": [sizes], "input_dtypes": ["Float"], "state": "started",
        }
        for number, (name, sizes) in enumerate(names, 1)
    ]  # fmt: skip
    config = {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1]"}}
    path = tmp_path / f"trace_rank_{rank}"
    path.write_text(json.dumps({"version": "2.10", "pg_config": config, "entries": entries}))
    return str(path)


def test_different_collectives_in_the_files_are_shown(tmp_path):
    files = [
        written(tmp_path, 0, [("all_reduce", [3]), ("broadcast", [2])]),
        written(tmp_path, 1, [("all_reduce", [4]), ("broadcast", [2])]),
    ]
    lines = fr_trace.report(fr_trace.read_all(files))
    assert (
        "  number 1 differs: rank 0 called all_reduce of Float[3]; rank 1 called all_reduce of Float[4]"
        in lines
    )
    assert not any("number 2 differs" in line for line in lines)


def test_files_that_are_none_are_refused(tmp_path, capsys):
    evil = tmp_path / "rank_0"
    evil.write_bytes(pickle.dumps(print))
    assert main(["flight", str(evil)]) == 2
    assert "is no file of a flight recorder: it asks for builtins.print" in capsys.readouterr().err
    assert main(["flight", str(tmp_path / "nothing_1")]) == 2
    (tmp_path / "trace_0").write_text("{}")
    with pytest.raises(ValueError, match="two files are of rank 0"):
        fr_trace.read_all([written(tmp_path, 0, []), written(tmp_path, 0, [])])


def reduce_and_look(rank):
    tensor = torch.ones(3, device="npu")
    for _ in range(3):
        dist.all_reduce(tensor)
    torch.npu.synchronize()
    return [entry["state"] for entry in dumped()["entries"]]


def test_works_on_streams_are_done_when_the_stream_is_past_them(tmp_path):
    with npu_ranks.group_of(2, tmp_path) as ranks:
        assert ranks.run(reduce_and_look) == [["completed"] * 3] * 2
