"""Collectives in events and traces."""

import json
import sys
from pathlib import Path

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import distributed as dist
from mindtorch_v2.profiler import profile

sys.path.insert(0, str(Path(__file__).parents[1] / "distributed"))
import npu_ranks
import worlds


@pytest.fixture
def alone():
    """A group of one process of four, whose collectives count and do nothing."""
    dist.init_process_group("fake", rank=1, world_size=4)
    yield
    dist.destroy_process_group()


def recorded(work, tmp_path, **options):
    with profile(**options) as prof:
        work()
    prof.export_chrome_trace(tmp_path / "trace.json")
    return prof, json.loads((tmp_path / "trace.json").read_text())


def named(trace, name):
    return [e for e in trace["traceEvents"] if e["ph"] == "X" and e["name"] == name]


def test_a_collective_is_asked_for_and_carried_out_with_the_arguments_of_pytorchs_traces(alone, tmp_path):
    prof, trace = recorded(lambda: dist.all_reduce(torch.ones(10, 5, dtype=torch.bfloat16)), tmp_path)
    (asked,) = named(trace, "record_param_comms")
    (carried,) = named(trace, "fake:all_reduce")
    assert asked["cat"] == "cpu_op" and carried["cat"] == "user_annotation"
    expected = {
        "Collective name": "allreduce", "dtype": "BFloat16", "In msg nelems": 50, "Out msg nelems": 50,
        "Group size": 4, "Process Group Name": "0", "Process Group Description": "default_pg",
        "Process Group Ranks": [0, 1, 2, 3], "Rank": 1, "bytes": 100,
    }  # fmt: skip
    for event in (asked, carried):
        assert expected.items() <= event["args"].items()
    nanoseconds = carried["dur"] * 1000
    assert carried["args"]["bandwidth (GB/s)"] == pytest.approx(100 / nanoseconds, rel=1e-3)
    assert "bandwidth (GB/s)" not in asked["args"]
    (event,) = [each for each in prof.events() if each.name == "fake:all_reduce"]
    assert expected.items() <= event.metadata.items() and event.is_user_annotation


def test_inputs_and_outputs_of_collectives_that_differ_are_both_counted(alone, tmp_path):
    def work():
        dist.all_gather_single(torch.empty(12), torch.ones(3))
        dist.reduce_scatter_single(torch.empty(3), torch.ones(12))
        dist.send(torch.ones(7), 2, tag=5)

    _, trace = recorded(work, tmp_path)
    gathered, scattered, sent = (event["args"] for event in named(trace, "record_param_comms"))
    assert (gathered["Collective name"], scattered["Collective name"]) == (
        "_allgather_base",
        "_reduce_scatter_base",
    )
    assert [(each["In msg nelems"], each["Out msg nelems"]) for each in (gathered, scattered)] == [
        (3, 12),
        (12, 3),
    ]
    assert gathered["bytes"] == scattered["bytes"] == 48
    assert (sent["Dst Rank"], sent["Tag"]) == (2, 5)
    assert (
        named(trace, "fake:all_gather") and named(trace, "fake:reduce_scatter") and named(trace, "fake:send")
    )


def test_a_trace_says_which_groups_there_are_and_that_of_a_process_alone_does_not(alone, tmp_path):
    dist.new_group([1, 2], group_desc="pair")
    _, trace = recorded(lambda: None, tmp_path)
    found = trace["distributedInfo"]
    assert (found["backend"], found["rank"], found["world_size"], found["pg_count"]) == ("fake", 1, 4, 2)
    pair = {"pg_name": "1", "pg_desc": "pair", "pg_size": 2, "ranks": [1, 2]}
    assert pair.items() <= found["pg_config"][1].items()
    assert "fake" in found["pg_config"][1]["backend_config"]


def test_a_process_alone_has_no_groups_in_its_trace(tmp_path):
    _, trace = recorded(lambda: torch.ones(3), tmp_path)
    assert "distributedInfo" not in trace


def test_communication_beside_the_program_has_a_row_of_its_own(tmp_path):
    worlds.check(
        f"""
        import json
        from mindtorch_v2.profiler import profile
        tensor = torch.ones(1000)
        with profile() as prof:
            work = dist.all_reduce(tensor, async_op=True)
            while not work.is_completed():
                time.sleep(0.001)
        path = {str(tmp_path)!r} + f"/{{rank}}.json"
        prof.export_chrome_trace(path)
        events = json.load(open(path))["traceEvents"]
        (asked,) = [e for e in events if e["name"] == "record_param_comms"]
        (carried,) = [e for e in events if e["name"] == "gloo:all_reduce"]
        names = {{e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}}
        assert asked["tid"] == threading.get_native_id() != carried["tid"]
        assert names[carried["tid"]].endswith("(gloo 0: collectives)"), names
        assert names[asked["tid"]].endswith("(python)"), names
        """
    )


def reduce_and_export(rank, folder, names):
    config = torch.profiler._ExperimentalConfig(custom_profiler_config=names)
    tensor = torch.ones(1 << 16, device="npu")
    dist.all_reduce(tensor)
    with profile(experimental_config=config) as prof:
        dist.all_reduce(tensor)
        torch.npu.synchronize()
    path = f"{folder}/{rank}.json"
    prof.export_chrome_trace(path)
    with open(path) as file:
        return json.load(file)


def test_on_a_device_the_task_on_the_groups_stream_has_the_details(tmp_path):
    with npu_ranks.group_of(2, tmp_path) as ranks:
        for names, task in (("names=acl", "HcclAllReduce"), ("names=cuda", "ncclDevKernel_AllReduce")):
            for rank, trace in enumerate(ranks.run(reduce_and_export, str(tmp_path), names)):
                (event,) = [each for each in named(trace, task) if each["cat"] == "kernel"]
                assert event["tid"] != 1  # a stream of its own
                args = event["args"]
                assert (args["Collective name"], args["dtype"], args["Rank"]) == ("allreduce", "Float", rank)
                assert args["bytes"] == 1 << 18 and args["bandwidth (GB/s)"] > 0
                assert len(named(trace, "hccl:all_reduce")) == 2  # where it is launched, and on the stream
                assert trace["distributedInfo"]["backend"] == "hccl"
