"""Exported traces: what viewers rely on."""

import gzip
import json
import os
import threading

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.profiler import profile, record_function, schedule, tensorboard_trace_handler


def exported(prof, path):
    prof.export_chrome_trace(path)
    return json.loads(path.read_text())


def durations(trace, category):
    return [e for e in trace["traceEvents"] if e["ph"] == "X" and e["cat"] == category]


@pytest.fixture
def trace(tmp_path):
    with profile(record_shapes=True) as prof:
        with record_function("label"):
            torch.ones(2, 3) + torch.ones(3)
    return exported(prof, tmp_path / "trace.json")


def test_a_trace_has_the_top_level_of_kineto(trace):
    assert trace["schemaVersion"] == 1
    assert trace["deviceProperties"] == []
    assert trace["displayTimeUnit"] == "ms"
    assert trace["record_shapes"] == 1 and "profile_memory" not in trace
    assert trace["baseTimeNanoseconds"] % (7_889_238 * 10**9) == 0
    assert trace["traceName"].endswith("trace.json")


def test_operators_and_annotations_have_categories_and_numeric_times(trace):
    (label,) = durations(trace, "user_annotation")
    (add,) = (e for e in durations(trace, "cpu_op") if e["name"] == "aten::add")
    for event in (label, add):
        assert event["pid"] == os.getpid() and event["tid"] == threading.get_native_id()
        assert isinstance(event["ts"], float) and isinstance(event["dur"], float)
    assert label["ts"] <= add["ts"] and add["ts"] + add["dur"] <= label["ts"] + label["dur"] + 0.001
    assert add["args"]["Input Dims"] == [[2, 3], [3], []]
    assert add["args"]["Input Strides"] == [[3, 1], [1], []]
    assert add["args"]["Input type"] == ["float", "float", "Scalar"]
    assert add["args"]["Concrete Inputs"] == ["", "", "1"]
    assert add["args"]["device_type"] == "CPU"


def test_times_are_of_this_quarter_and_events_lie_in_the_span(trace):
    (span,) = durations(trace, "Trace")
    for event in durations(trace, "cpu_op"):
        assert span["ts"] <= event["ts"] and event["ts"] + event["dur"] <= span["ts"] + span["dur"] + 0.001


def test_external_ids_are_unique(trace):
    ids = [e["args"]["External id"] for c in ("cpu_op", "user_annotation") for e in durations(trace, c)]
    assert len(ids) == len(set(ids)) > 2


def test_processes_and_threads_are_named(trace):
    named = {e["name"]: e["args"] for e in trace["traceEvents"] if e["ph"] == "M"}
    assert named["process_name"] == {"name": "python"}
    assert named["process_labels"] == {"labels": "CPU"}
    assert named["thread_name"] == {"name": f"thread {threading.get_native_id()} (python)"}


def test_names_with_quotes_and_control_characters_survive(tmp_path):
    name = 'a "quoted"\nname\t\\ with ünïcode \x01'
    with profile() as prof:
        with record_function(name):
            torch.ones(2) + 1
    trace = exported(prof, tmp_path / "trace.json")
    assert [e["name"] for e in durations(trace, "user_annotation")] == [name]


def test_gz_is_compressed(tmp_path):
    with profile() as prof:
        torch.ones(2) + 1
    path = tmp_path / "trace.json.gz"
    prof.export_chrome_trace(str(path))
    trace = json.loads(gzip.decompress(path.read_bytes()))
    assert any(e["name"] == "aten::add" for e in durations(trace, "cpu_op"))


def test_steps_are_annotated_by_number(tmp_path):
    with profile(schedule=schedule(wait=0, warmup=1, active=2, repeat=1)) as prof:
        for _ in range(4):
            torch.ones(2) + 1
            prof.step()
    trace = exported(prof, tmp_path / "trace.json")
    steps = durations(trace, "user_annotation")
    assert [e["name"] for e in steps] == ["ProfilerStep#1", "ProfilerStep#2"]
    assert steps[0]["ts"] + steps[0]["dur"] <= steps[1]["ts"] + 0.001


def test_metadata_joins_the_top_level(tmp_path):
    with profile() as prof:
        torch.ones(2) + 1
        prof.add_metadata("run", 'the "first"')
        prof.add_metadata_json("sizes", "[1, 2]")
        with pytest.raises(ValueError, match="must be JSON text"):
            prof.add_metadata_json("sizes", "[1, 2")
    trace = exported(prof, tmp_path / "trace.json")
    assert trace["run"] == 'the "first"' and trace["sizes"] == [1, 2]
    assert trace["trace_id"] == prof.get_trace_id()


def test_the_tensorboard_handler_names_files_as_tensorboard_expects(tmp_path):
    handler = tensorboard_trace_handler(tmp_path / "logs", worker_name="worker0", use_gzip=True)
    with profile(on_trace_ready=handler):
        torch.ones(2) + 1
    (path,) = (tmp_path / "logs").iterdir()
    assert path.name.startswith("worker0.") and path.name.endswith(".pt.trace.json.gz")
    assert json.loads(gzip.decompress(path.read_bytes()))["schemaVersion"] == 1


def test_exporting_before_anything_was_recorded_says_so(tmp_path):
    with pytest.raises(AssertionError, match="before exporting chrome trace"):
        profile().export_chrome_trace(tmp_path / "trace.json")
    with profile() as prof:
        with pytest.raises(RuntimeError, match="stop the profiler first"):
            prof.export_chrome_trace(tmp_path / "trace.json")
    assert not (tmp_path / "trace.json").exists()
