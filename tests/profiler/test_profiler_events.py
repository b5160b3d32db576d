"""The profiler on the CPU: what is recorded, when, and as which objects."""

import asyncio
import threading

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.profiler import ProfilerAction, profile, record_function, schedule

pytestmark = pytest.mark.filterwarnings("ignore:Profiler won't be using warmup")


def names(prof):
    return [event.name for event in prof.events()]


def operators(prof):
    return [event for event in prof.events() if not event.is_user_annotation]


def test_operators_are_recorded_in_the_order_in_which_they_begin():
    x = torch.ones(2, 3)
    with profile() as prof:
        (x * x).exp()
    recorded = names(prof)
    assert recorded.index("aten::mul") < recorded.index("aten::exp")


def test_nothing_outside_the_profiler_is_recorded():
    x = torch.ones(2)
    x.exp()
    with profile() as prof:
        x + x
    x.exp()
    assert "aten::exp" not in names(prof)


def test_annotations_are_parents_of_what_runs_inside_them():
    x = torch.ones(2)
    with profile() as prof:
        with record_function("outer"):
            with record_function("inner"):
                x + x
    outer, inner = (next(e for e in prof.events() if e.name == name) for name in ("outer", "inner"))
    (add,) = (e for e in prof.events() if e.name == "aten::add")
    assert outer.cpu_parent is None and inner.cpu_parent is outer and add.cpu_parent is inner
    assert inner in outer.cpu_children
    assert outer.is_user_annotation and not add.is_user_annotation


def test_the_self_time_of_an_event_is_its_time_without_its_children():
    x = torch.ones(2)
    with profile() as prof:
        with record_function("outer"):
            x + x
    outer = next(e for e in prof.events() if e.name == "outer")
    inside = sum(child.cpu_time_total for child in outer.cpu_children)
    assert inside > 0
    assert outer.self_cpu_time_total == pytest.approx(outer.cpu_time_total - inside)
    assert outer.cpu_time_total == pytest.approx(outer.duration_ns / 1000)


def test_record_function_decorates_functions_and_coroutines():
    @record_function("function")
    def double(x):
        return x + x

    @record_function("coroutine")
    async def triple(x):
        await asyncio.sleep(0)
        return x * 3

    with profile() as prof:
        assert double(torch.ones(2)).tolist() == [2, 2]
        assert asyncio.run(triple(torch.ones(2))).tolist() == [3, 3]
    by_name = {event.name: event for event in prof.events()}
    assert by_name["aten::add"].cpu_parent is by_name["function"]
    assert by_name["aten::mul"].cpu_parent is by_name["coroutine"]
    assert double.__name__ == "double"


def test_an_annotation_ends_when_its_body_raises():
    with profile() as prof:
        with pytest.raises(ValueError, match="inside"):
            with record_function("failing"):
                raise ValueError("inside")
        torch.ones(2) + 1
    assert all(event.cpu_parent is None or event.cpu_parent.name != "failing" for event in prof.events())


def test_an_exception_in_the_body_stops_the_recording_and_keeps_it():
    with pytest.raises(ValueError, match="inside"):
        with profile() as prof:
            torch.ones(2) + 1
            raise ValueError("inside")
    assert "aten::add" in names(prof)
    with profile() as again:
        torch.ones(2).exp()
    assert "aten::exp" in names(again) and "aten::add" not in names(again)


def test_a_second_profiler_takes_over_and_the_first_ends_with_nothing():
    with pytest.warns(UserWarning, match="took over"):
        with profile() as outer:
            torch.ones(2) + 1
            with profile() as inner:
                torch.ones(2).exp()
            torch.ones(2) * 1
    assert "aten::exp" in names(inner) and "aten::add" not in names(inner)
    assert names(outer) == []
    with profile() as after:
        torch.ones(2) + 1
    assert "aten::add" in names(after)


@pytest.mark.filterwarnings("ignore:Warning. Profiler clears events")
def test_a_profiler_can_be_used_again():
    prof = profile()
    for operator in ("exp", "log"):
        with prof:
            getattr(torch.ones(2), operator)()
        assert f"aten::{operator}" in names(prof)
    assert "aten::exp" not in names(prof)


def test_every_thread_is_recorded_with_a_number_of_its_own():
    def work():
        with record_function("worker"):
            torch.ones(2) + 1

    threads = [threading.Thread(target=work) for _ in range(3)]
    with profile() as prof:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    workers = [event for event in prof.events() if event.name == "worker"]
    assert len({event.thread for event in workers}) == 3
    for event in operators(prof):
        if event.name == "aten::add":
            assert event.cpu_parent.name == "worker" and event.cpu_parent.thread == event.thread


def test_arguments_of_every_kind_are_recorded_in_the_order_of_the_schema():
    x = torch.ones(2, 3)
    with profile(record_shapes=True) as prof:
        torch.cat([x, x], 1).sum(0, keepdim=True)
        torch.add(x, x, alpha=2.5)
    by_name = {event.name: event for event in prof.events()}
    cat, total, add = (by_name[f"aten::{name}"] for name in ("cat", "sum", "add"))
    assert cat.input_shapes == [[[2, 3], [2, 3]], []] and cat.input_dtypes == ["TensorList", "Scalar"]
    assert total.input_shapes[0] == [2, 6] and total.concrete_inputs[:3] == [None, [0], True]
    assert add.concrete_inputs == [None, None, 2.5]


def test_shapes_and_dtypes_are_recorded_when_asked_for():
    x, y = torch.ones(2, 3), torch.ones(3, 4)
    with profile(record_shapes=True) as prof:
        x @ y
    (mm,) = (event for event in prof.events() if event.name == "aten::mm")
    assert mm.input_shapes == [[2, 3], [3, 4]]
    assert mm.input_strides == [[3, 1], [4, 1]]
    assert mm.input_dtypes == ["float", "float"]
    with profile() as prof:
        x @ y
    assert all(event.input_shapes == [] for event in prof.events())


def test_events_can_be_read_as_mappings():
    with profile() as prof:
        with record_function("label"):
            torch.ones(2) + 1
    label = next(event for event in prof.events() if event.name == "label")
    add = next(event for event in prof.events() if event.name == "aten::add")
    assert (add["name"], add["kind"], add["device_type"]) == ("aten::add", "op", "CPU")
    assert label["kind"] == "scope"
    assert add["duration_ns"] == add.duration_ns > 0
    assert "npu_memory_allocated_before" not in add and add.get("npu_memory_allocated_before") is None
    assert dict(add)["step"] == 0
    with pytest.raises(KeyError):
        add["nothing"]


# --- schedules ---


def actions(count, **kwargs):
    plan = schedule(**kwargs)
    return "".join({0: "-", 1: "w", 2: "r", 3: "S"}[plan(step).value] for step in range(count))


@pytest.mark.parametrize(
    ("kwargs", "wanted"),
    [
        ({"wait": 1, "warmup": 1, "active": 2}, "-wrS-wrS"),
        ({"wait": 1, "warmup": 1, "active": 1, "repeat": 1}, "-wS-----"),
        ({"wait": 0, "warmup": 0, "active": 1}, "SSSSSSSS"),
        ({"wait": 1, "warmup": 0, "active": 1, "repeat": 2, "skip_first": 3}, "----S-S-"),
        ({"wait": 2, "warmup": 1, "active": 1, "skip_first": 1, "skip_first_wait": 1}, "-wS--wS-"),
    ],
)
def test_a_schedule_says_what_each_step_does(kwargs, wanted):
    assert actions(8, **kwargs) == wanted


def test_a_schedule_without_warmup_is_warned_about():
    with pytest.warns(UserWarning, match="won't be using warmup"):
        schedule(wait=1, warmup=0, active=1)


@pytest.mark.parametrize(
    "wrong", [{"wait": -1}, {"warmup": -1}, {"active": 0}, {"repeat": -1}, {"skip_first": -1}]
)
def test_a_schedule_refuses_bad_numbers(wrong):
    with pytest.raises(AssertionError, match="Invalid profiler schedule arguments"):
        schedule(**{"wait": 0, "warmup": 0, "active": 1, **wrong})


def run_steps(prof, steps):
    with prof:
        for step in range(steps):
            torch.full((step + 1,), 1.0) + 1
            prof.step()


@pytest.mark.parametrize(
    ("actions", "warning"),
    [
        ([ProfilerAction.WARMUP, ProfilerAction.NONE], "WARMUP followed by NONE"),
        ([ProfilerAction.RECORD, ProfilerAction.NONE], "RECORD followed by NONE"),
        ([ProfilerAction.RECORD, ProfilerAction.WARMUP, ProfilerAction.RECORD], "RECORD followed by WARMUP"),
    ],
)
def test_a_schedule_that_breaks_off_is_warned_about_and_not_handed_over(actions, warning):
    seen = []
    prof = profile(schedule=lambda step: actions[step], on_trace_ready=seen.append)
    with pytest.warns(UserWarning, match=f"Incorrect schedule: {warning}"):
        prof.start()
        prof.step()
    assert seen == []
    if len(actions) == 3:
        prof.step()
    prof.stop()
    assert len(seen) == (len(actions) == 3)


def test_stopping_what_was_never_started_is_an_error():
    with pytest.raises(AssertionError, match="must be initialized before stopping trace"):
        profile().stop()


@pytest.mark.parametrize("activities", [[], ["cpu"]])
def test_a_profiler_without_activities_is_refused(activities):
    with pytest.raises(AssertionError, match="No valid profiler activities found"):
        profile(activities=activities)


def test_only_active_steps_are_recorded_and_each_is_annotated():
    prof = profile(schedule=schedule(wait=1, warmup=1, active=2, repeat=1), record_shapes=True)
    run_steps(prof, 6)
    adds = [event for event in prof.events() if event.name == "aten::add"]
    assert [event.input_shapes[0] for event in adds] == [[3], [4]]
    assert [event["step"] for event in adds] == [2, 3]
    steps = [event for event in prof.events() if event.name == "ProfilerStep*"]
    assert [event["name"] for event in steps] == ["ProfilerStep#2", "ProfilerStep#3"]
    assert prof.step_num == 6 and prof.current_action is ProfilerAction.NONE


def test_on_trace_ready_is_called_once_per_cycle_with_its_events():
    seen = []

    def ready(prof):
        seen.append((prof.step_num, [e["step"] for e in prof.events() if e.name == "aten::add"]))

    run_steps(profile(schedule=schedule(wait=0, warmup=1, active=1, repeat=2), on_trace_ready=ready), 6)
    assert seen == [(2, [1]), (4, [3])]


def test_a_cycle_cut_short_is_handed_over_at_the_stop():
    seen = []
    prof = profile(
        schedule=schedule(wait=0, warmup=0, active=5), on_trace_ready=lambda prof: seen.append(names(prof))
    )
    run_steps(prof, 2)
    assert len(seen) == 1 and seen[0].count("aten::add") == 2


def test_acc_events_keeps_the_events_of_earlier_cycles():
    for keep, wanted in ((False, [1]), (True, [0, 1])):
        prof = profile(schedule=schedule(wait=0, warmup=0, active=1, repeat=2), acc_events=keep)
        run_steps(prof, 3)
        assert [e["step"] for e in prof.events() if e.name == "aten::add"] == wanted


def test_an_exception_in_on_trace_ready_leaves_no_recording_behind():
    def fail(prof):
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        with profile(on_trace_ready=fail):
            torch.ones(2) + 1
    with profile() as prof:
        torch.ones(2) + 1
    assert "aten::add" in names(prof)


def test_asking_for_results_before_anything_was_recorded_says_what_to_do():
    prof = profile(schedule=schedule(wait=5, warmup=1, active=1))
    run_steps(prof, 2)
    with pytest.raises(AssertionError, match="call step\\(\\) often enough"):
        prof.events()


# --- averages and tables ---


def test_key_averages_sum_up_events_of_one_name():
    x = torch.ones(2)
    with profile() as prof:
        x + x
        x + x
        x * x
    averages = {average.key: average for average in prof.key_averages()}
    assert averages["aten::add"].count == 2 and averages["aten::mul"].count == 1
    adds = [event.cpu_time_total for event in prof.events() if event.name == "aten::add"]
    assert averages["aten::add"].cpu_time_total == pytest.approx(sum(adds))
    assert averages["aten::add"].cpu_time == pytest.approx(sum(adds) / 2)


def test_key_averages_can_be_told_apart_by_shapes_and_overloads():
    x, y = torch.ones(2), torch.ones(3)
    with profile(record_shapes=True) as prof:
        x + x
        y + y
        x + 1
    by_shape = [a.input_shapes for a in prof.key_averages(group_by_input_shape=True) if a.key == "aten::add"]
    assert [[2], [2], []] in by_shape and [[3], [3], []] in by_shape
    overloads = {
        a.overload_name for a in prof.key_averages(group_by_overload_name=True) if a.key == "aten::add"
    }
    assert overloads >= {"Tensor"}


def test_a_table_is_sorted_cut_and_totalled():
    x = torch.ones(64, 64)
    with profile() as prof:
        for _ in range(3):
            x + x
        x.exp()
    text = prof.key_averages().table(sort_by="count", row_limit=1, header="THE HEADER")
    lines = text.splitlines()
    assert lines[1] == "THE HEADER"
    assert lines[3].split() == [
        "Name", "Self", "CPU", "%", "Self", "CPU", "CPU", "total", "%", "CPU", "total", "CPU", "time", "avg",
        "#", "of", "Calls",
    ]  # fmt: skip
    assert lines[5].split()[0] == "aten::add" and lines[5].split()[-1] == "3"
    assert "aten::exp" not in text
    assert lines[-1].startswith("Self CPU time total: ")


def test_a_table_refuses_to_sort_by_what_it_does_not_have():
    with profile() as prof:
        torch.ones(2) + 1
    with pytest.raises(AttributeError, match="no attribute 'beauty'"):
        prof.key_averages().table(sort_by="beauty")


def test_autograd_profiler_records_through_the_same_recorder():
    with torch.autograd.profiler.profile(record_shapes=True) as prof:
        with torch.autograd.profiler.record_function("label"):
            torch.ones(2) + 1
    assert {"label", "aten::add"} <= {event.name for event in prof.function_events}
    assert prof.total_average().count == len(prof.events())
    assert "aten::add" in prof.key_averages().table()
    with pytest.raises(RuntimeError, match="not reentrant"):
        prof.__enter__()
    with torch.autograd.profiler.profile(enabled=False) as off:
        torch.ones(2) + 1
    assert off is None


def test_an_unfinished_autograd_profile_says_so():
    prof = torch.autograd.profiler.profile()
    assert str(prof) == "<unfinished torch.autograd.profile>"
    with pytest.raises(RuntimeError, match="didn't finish running"):
        prof.key_averages()


def test_ranges_for_other_vendors_tools_are_refused_with_what_to_use():
    emit = torch.autograd.profiler.emit_itt
    with emit(enabled=False):
        pass
    with pytest.raises(NotImplementedError, match="emit_itt.*export_chrome_trace"):
        with emit():
            pass
