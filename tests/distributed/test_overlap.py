"""Communication beside the backward pass, from traces."""

import importlib.util
import json
import sys
from pathlib import Path

import pytest
import worlds

ROOT = Path(__file__).parents[2]


def loaded(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


overlap = loaded(ROOT / "benchmarks" / "overlap.py")

TRAIN = """
from mindtorch_v2.profiler import profile, record_function
layers = [torch.nn.Linear(64, 64) for _ in range(6)]
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(*layers), bucket_cap_mb=0.01)
model(torch.ones(2, 64)).sum().backward()  # the buckets are made anew after it
with profile() as prof:
    with record_function("step 0"):
        model(torch.ones(2, 64)).sum().backward()
prof.export_chrome_trace(os.environ["TRACES"] + f"/gloo_rank{rank}.json")
"""


@pytest.fixture(scope="module")
def traces(tmp_path_factory):
    folder = tmp_path_factory.mktemp("traces")
    worlds.check(TRAIN, TRACES=str(folder))
    return [folder / f"gloo_rank{rank}.json" for rank in range(2)]


def test_every_bucket_but_the_last_is_asked_for_while_the_backward_pass_goes_on(traces):
    for path in traces:
        events = [e for e in json.loads(path.read_text())["traceEvents"] if e["ph"] == "X"]
        asked = sorted(e["ts"] for e in events if e["name"] == "record_param_comms")
        nodes = [e["ts"] for e in events if e["name"].startswith("autograd::engine::evaluate_function")]
        assert len(asked) == 7  # one that tells the order of the buckets, and six buckets
        assert all(time < max(nodes) for time in asked[:-1]) and asked[-1] >= max(nodes)


def test_the_benchmark_reads_the_same_steps_and_collectives_from_all_ranks(traces):
    first, second = map(overlap.Trace, traces)
    assert len(first.steps) == len(second.steps) == 1
    assert first.collectives.keys() == second.collectives.keys()
    ((total, share),) = overlap.shares([first, second])
    assert total > 0 and 0 <= share <= 1


def made(tmp_path, rank, collectives, last):
    """The trace of a step from 0 to 100 whose backward pass is from 20 to ``last``."""

    def event(name, begin, end, category, **args):
        return {"ph": "X", "name": name, "cat": category, "ts": begin, "dur": end - begin, "args": args}

    node = "autograd::engine::evaluate_function: AddmmBackward0"
    events = [
        event("step 0", 0, 100, "user_annotation"),
        event(node, 20, 30, "cpu_op"),
        event(node, last - 10, last, "cpu_op"),
    ]
    for number, (begin, end) in enumerate(collectives):
        args = {"bandwidth (GB/s)": 1.0, "Seq": number}
        events.append(event("gloo:all_reduce", begin, end, "user_annotation", **args))
    path = tmp_path / f"rank{rank}.json"
    path.write_text(json.dumps({"traceEvents": events}))
    return overlap.Trace(path)


def test_the_share_is_that_of_the_rank_that_ends_last_without_waiting(tmp_path):
    early = made(tmp_path, 0, [(30, 60), (50, 90)], last=50)
    late = made(tmp_path, 1, [(40, 60), (70, 90)], last=80)
    # Both take part from 40 to 60 and from 70 to 90; the late rank's pass ends at 80.
    assert overlap.shares([early, late]) == [(40, 0.75)]


def test_a_picture_shows_communication_in_its_own_colour(traces, tmp_path):
    draw = loaded(ROOT / "tools" / "draw_trace.py")
    events = draw.load(str(traces[0]))
    picture = draw.Picture(events, *draw.window(events, "step 0", None)).draw("A step")
    assert (
        "gloo:all_reduce" in picture
        and "communication" in picture
        and draw.KINDS["communication"][0] in picture
    )
