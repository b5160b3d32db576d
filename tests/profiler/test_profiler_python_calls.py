"""``with_stack=True``: calls of Python functions as events."""

import contextlib
import json
import os
import sys
import threading

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.profiler import profile, record_function

HERE = "test_profiler_python_calls.py"


def inner(x):
    return x.exp()


def outer(x):
    return inner(x) + 1


def calls(prof):
    return [e for e in prof.events() if e.is_python_function]


def named(prof, end):
    return [e for e in prof.events() if e.name.endswith(end)]


def test_calls_are_events_with_their_callers_and_operators_inside():
    with profile(with_stack=True) as prof:
        outer(torch.ones(2))
    (first,), (second,) = named(prof, ": outer"), named(prof, ": inner")
    assert first.name.endswith(f"{HERE}({outer.__code__.co_firstlineno}): outer")
    assert first.activity_type == "python_function" and first["kind"] == "scope"
    assert second.cpu_parent is first and second.python_parent_id == first.python_id > 0
    native = next(e for e in prof.events() if e.name.startswith("<built-in method exp of "))
    assert native.cpu_parent is second
    (operator,) = (e for e in prof.events() if e.name == "aten::exp")
    assert operator.cpu_parent is native and operator.python_id == -1
    assert 0 <= second.self_cpu_time_total <= second.cpu_time_total <= first.cpu_time_total


def test_what_runs_when_the_recording_begins_is_around_everything():
    with profile(with_stack=True) as prof:
        outer(torch.ones(2))
    line = test_what_runs_when_the_recording_begins_is_around_everything.__code__.co_firstlineno + 1
    (test,) = named(prof, f"{HERE}({line}): test_what_runs_when_the_recording_begins_is_around_everything")
    assert named(prof, ": outer")[0].cpu_parent is test
    assert test.time_range.start == 0 and test.cpu_parent is not None


def test_the_profiler_itself_is_not_shown():
    model, x = torch.nn.Sequential(torch.nn.ReLU()), torch.ones(2)
    with profile(with_stack=True) as prof:
        with record_function("mine"):
            model(x)
    mine = next(e for e in prof.events() if e.is_user_annotation)
    assert [e.name for e in mine.cpu_children] == ["nn.Module: Sequential_0"]
    beside = [e.name for e in mine.cpu_parent.cpu_children if e.is_python_function]
    assert beside == []


def test_without_stacks_nothing_is_watched():
    with profile() as prof:
        assert sys.getprofile() is None and threading.getprofile() is None
        outer(torch.ones(2))
    assert not calls(prof)


def test_nothing_is_watched_any_more_after_the_recording():
    with contextlib.suppress(ValueError):
        with profile(with_stack=True):
            raise ValueError("inside")
    assert sys.getprofile() is None and threading.getprofile() is None


def test_a_profiler_that_takes_over_ends_the_watching_too():
    with pytest.warns(UserWarning, match="took over"), profile(with_stack=True):
        with profile() as prof:
            outer(torch.ones(2))
    assert not calls(prof)
    assert sys.getprofile() is None and threading.getprofile() is None


def test_a_function_that_raises_ends_with_the_exception():
    def fail():
        raise ValueError("inside")

    with profile(with_stack=True) as prof:
        with contextlib.suppress(ValueError):
            fail()
        outer(torch.ones(2))
    (failed,), (later,) = named(prof, ": fail"), named(prof, ": outer")
    assert failed.time_range.end <= later.time_range.start


def test_an_annotation_outlives_the_function_that_opened_it():
    @contextlib.contextmanager
    def region():
        with record_function("region"):
            yield

    with profile(with_stack=True) as prof:
        with region():
            outer(torch.ones(2))
    annotation = next(e for e in prof.events() if e.is_user_annotation)
    assert named(prof, ": outer")[0].cpu_parent is annotation
    assert all(e.self_cpu_time_total >= 0 for e in prof.events())


def test_threads_that_start_meanwhile_are_watched_and_left_alone_afterwards():
    left = []

    def work():
        outer(torch.ones(2))
        started.set()
        stopped.wait()
        left.append(sys.getprofile())

    started, stopped = threading.Event(), threading.Event()
    with profile(with_stack=True) as prof:
        worker = threading.Thread(target=work)
        worker.start()
        started.wait()
    stopped.set()
    worker.join()
    (call,) = named(prof, ": outer")
    assert call.thread != calls(prof)[0].thread
    assert left == [None]


def test_modules_are_named_as_such(tmp_path):
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU(), torch.nn.Linear(2, 2))
    with profile(with_stack=True) as prof:
        model(torch.ones(1, 2))
    modules = [e for e in calls(prof) if e.name.startswith("nn.Module: ")]
    names = [e.name.removeprefix("nn.Module: ") for e in modules]
    assert names == ["Sequential_0", "Linear_0", "ReLU_0", "Linear_1"]
    assert [e.python_module_id for e in modules] == [0, 0, 0, 1]


def test_traces_have_calls_that_refer_to_their_callers(tmp_path):
    with profile(with_stack=True) as prof:
        outer(torch.ones(2))
    prof.export_chrome_trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    found = {e["args"]["Python id"]: e for e in events if e.get("cat") == "python_function"}
    (call,) = (e for e in found.values() if e["name"].endswith(": inner"))
    caller = found[call["args"]["Python parent id"]]
    assert caller["name"].endswith(": outer")
    assert caller["ts"] <= call["ts"] and call["ts"] + call["dur"] <= caller["ts"] + caller["dur"]
    outermost = [e for e in found.values() if e["args"]["Python parent id"] is None]
    assert len(outermost) == 1
    assert "External id" not in call["args"]


def test_generators_are_called_each_time_they_go_on():
    def numbers():
        yield 1
        yield 2

    with profile(with_stack=True) as prof:
        assert list(numbers()) == [1, 2]
    assert len(named(prof, ": numbers")) == 3


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_does_not_record():
    with profile(with_stack=True):
        child = os.fork()
        if child == 0:
            recording = torch.autograd._profiler_enabled() or sys.getprofile() is not None
            outer(torch.ones(2))
            os._exit(1 if recording else 0)
        assert os.waitpid(child, 0)[1] == 0
        assert torch.autograd._profiler_enabled()


def test_threads_may_run_python_while_recordings_begin_and_end():
    done = threading.Event()

    def work():
        while not done.is_set():
            outer(torch.ones(2))

    workers = [threading.Thread(target=work) for _ in range(3)]
    for worker in workers:
        worker.start()
    try:
        for _ in range(20):
            with profile(with_stack=True) as prof:
                outer(torch.ones(2))
            events = prof.events()
            assert named(prof, ": outer")
            assert all(e.cpu_parent is None or e.cpu_parent.thread == e.thread for e in events)
    finally:
        done.set()
        for worker in workers:
            worker.join()
    assert sys.getprofile() is None
