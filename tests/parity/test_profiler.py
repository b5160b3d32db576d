"""Tables, schedules and traces beside PyTorch's own."""

import importlib.util
import itertools
import json
import re
from pathlib import Path

import pytest
import torch
from torch.profiler._trace_validator import validate_trace

import mindtorch_v2

pytestmark = pytest.mark.filterwarnings("ignore:Profiler won't be using warmup")
LIBRARIES = (torch, mindtorch_v2)
CPU_ONLY = {"record_shapes": True, "profile_memory": True, "with_flops": True}


def profiled(library, **options):
    """The same few operators, which neither library makes of others."""
    x, y = library.ones(8, 8), library.ones(8)
    activities = [library.profiler.ProfilerActivity.CPU]
    with library.profiler.profile(activities=activities, **options) as prof:
        with library.profiler.record_function("block"):
            kept = library.add(x, y)
            for _ in range(3):
                library.mul(kept, kept)
        for _ in range(2):
            library.exp(y)
        library.add(y, y)
        del kept
    return prof


def masked(table):
    """Lines without the numbers that differ between runs: times and shares of time."""
    lines = table.splitlines()
    rule = next(line for line in lines if set(line) <= {"-", " "} and line)
    places = [match.span() for match in re.finditer("-+", rule)]
    result = []
    for line in lines:
        if re.match(r"Self \w+ time total", line):
            result.append(line.partition(":")[0])
        elif len(line) >= len(rule) and line != rule and "Self CPU %" not in line:
            cells = [line[begin:end].strip() for begin, end in places]
            result.append([re.sub(r"^-?[\d.]+(us|ms|s|%)$", "time", cell) for cell in cells])
        else:
            result.append(line)
    return result


@pytest.mark.parametrize(
    ("options", "grouping", "table"),
    [
        ({}, {}, {"sort_by": "count"}),
        ({}, {}, {"sort_by": "count", "row_limit": 2, "header": "HEADER"}),
        ({}, {}, {"sort_by": "count", "top_level_events_only": True}),
        ({"record_shapes": True}, {"group_by_input_shape": True}, {"sort_by": "count"}),
        ({"record_shapes": True}, {"group_by_input_shape": True}, {"max_shapes_column_width": 10}),
        ({}, {}, {"max_name_column_width": 12}),
        ({"profile_memory": True}, {}, {"sort_by": "self_cpu_memory_usage"}),
        ({"with_flops": True}, {}, {"sort_by": "flops"}),
        (CPU_ONLY, {"group_by_input_shape": True}, {"sort_by": "count", "time_unit": "us"}),
    ],
)
def test_tables_are_the_same_but_for_the_times(options, grouping, table):
    theirs, ours = (
        profiled(library, **options).key_averages(**grouping).table(**table) for library in LIBRARIES
    )
    assert masked(ours) == masked(theirs)


@pytest.mark.parametrize("skip_first_wait", [0, 1])
def test_schedules_do_the_same_in_every_step(skip_first_wait):
    ranges = itertools.product(range(3), range(3), range(1, 3), range(3), range(3))
    for wait, warmup, active, repeat, skip_first in ranges:
        options = {
            "wait": wait, "warmup": warmup, "active": active, "repeat": repeat, "skip_first": skip_first,
            "skip_first_wait": skip_first_wait,
        }  # fmt: skip
        theirs, ours = (library.profiler.schedule(**options) for library in LIBRARIES)
        for step in range(16):
            assert ours(step).name == theirs(step).name, (options, step)


@pytest.mark.parametrize(
    "call",
    [
        lambda library: library.profiler.schedule(wait=-1, warmup=0, active=1),
        lambda library: library.profiler.schedule(wait=0, warmup=0, active=0),
        lambda library: library.profiler.schedule(wait=0, warmup=0, active=1)(-1),
        lambda library: library.profiler.profile(activities=[]),
        lambda library: library.profiler.profile(schedule=5),
        lambda library: library.profiler.profile().stop(),
        lambda library: profiled(library).events().export_stacks("unused", "beauty"),
        lambda library: profiled(library).export_stacks("unused"),
        lambda library: profiled(library).key_averages().table(sort_by="beauty"),
        lambda library: library.profiler.profile(activities=["CPU"]),
        lambda library: library.profiler._KinetoProfile(
            activities=[library.profiler.ProfilerActivity.CPU] * 2
        ),
        lambda library: library.profiler._KinetoProfile().start_trace(),
        lambda library: library.profiler._KinetoProfile().stop_trace(),
        lambda library: profiled(
            library, experimental_config=library.profiler._ExperimentalConfig(trace_only=True)
        ).events(),
    ],
)
def test_errors_are_of_the_same_type_and_wording(call):
    messages = []
    for library in LIBRARIES:
        with pytest.raises(Exception) as caught:
            call(library)
        messages.append((caught.type, str(caught.value).partition("[")[0]))
    assert messages[0] == messages[1]


def test_events_have_the_same_numbers():
    theirs, ours = (profiled(library, **CPU_ONLY).events() for library in LIBRARIES)
    for name in ("aten::add", "aten::mul", "aten::exp", "block"):
        first, second = (next(e for e in events if e.name == name) for events in (theirs, ours))
        for attribute in (
            "input_shapes", "concrete_inputs", "input_dtypes", "cpu_memory_usage", "self_cpu_memory_usage", "flops",
            "is_user_annotation", "is_async", "scope", "count", "node_id", "use_device",
        ):  # fmt: skip
            if name == "block" and attribute in ("input_shapes", "concrete_inputs", "input_dtypes"):
                continue  # PyTorch shows the text that comes with an annotation as an argument
            assert getattr(second, attribute) == getattr(first, attribute), (name, attribute)


# Of the table, of what Kineto knows of CUDA's kernels, and of how PyTorch builds its lists.
INTERNAL = {
    "append_cpu_child", "append_kernel", "set_cpu_parent", "self_cpu_percent", "total_cpu_percent",
    "total_device_percent",
}  # fmt: skip


def names_of(thing):
    return {name for name in dir(thing) if not name.startswith("__")}


def test_events_have_the_same_attributes():
    theirs, ours = (profiled(library, **CPU_ONLY) for library in LIBRARIES)
    assert names_of(theirs.events()[0]) - INTERNAL <= names_of(ours.events()[0])
    assert names_of(theirs.key_averages()[0]) - INTERNAL <= names_of(ours.key_averages()[0])
    assert {n for n in names_of(theirs.events()) if not n.startswith("_")} <= names_of(ours.events())


def without_numbers(text):
    """And without what PyTorch leaves out, or counts where there is nothing to count: overloads, sequence numbers."""
    return re.sub(r"-?[\d.]+(us|ms)?\b", "number", text.replace("overload_name=Tensor", "overload_name="))


def test_events_are_written_the_same():
    for name in ("aten::mul", "block"):
        theirs, ours = (
            without_numbers(
                repr(next(e for e in prof.events() if e.name == name))
                + repr(next(a for a in prof.key_averages() if a.key == name))
            )
            for prof in (profiled(library, **CPU_ONLY) for library in LIBRARIES)
        )
        assert ours == theirs


@pytest.mark.parametrize(
    "old", ["cuda_time", "cuda_time_total", "self_cuda_time_total", "self_cuda_memory_usage", "metadata_json"]
)
def test_older_attributes_warn_in_the_same_words(old):
    warned = []
    for library in LIBRARIES:
        with pytest.warns(FutureWarning) as caught:
            value = getattr(profiled(library).events()[0], old)
        warned.append((str(caught[0].message), value))
    assert warned[0] == warned[1]


@pytest.mark.parametrize("options", [{"use_cuda": True}, {"use_device": "abacus"}])
def test_the_older_profiler_warns_in_the_same_words(options):
    warned = []
    for library in LIBRARIES:
        with pytest.warns() as caught:
            library.autograd.profiler.profile(**options)
        warned.append((caught[0].category, str(caught[0].message)))
    assert warned[0] == warned[1]


def called_inside(x):
    return x * 2


def called_outside(x):
    return called_inside(x) + sorted([2, 1])[0]


def test_python_calls_are_the_same_events_in_each_other():
    recorded = []
    for library in LIBRARIES:
        x = library.ones(2)
        activities = [library.profiler.ProfilerActivity.CPU]
        with library.profiler.profile(activities=activities, with_stack=True) as prof:
            called_outside(x)
        events = prof.events()
        own = [e for e in events if e.is_python_function and Path(__file__).name in e.name]
        by_id = {e.python_id: e.name for e in events if e.is_python_function}
        recorded.append(
            [
                (
                    e.name,
                    e.activity_type,
                    by_id[e.python_parent_id].split(":")[-1],
                    e.python_module_id,
                    e.scope,
                )
                for e in own
            ]
        )
        (operator,) = (e for e in events if e.name == "aten::mul")
        inside = next(e for e in own if e.name.endswith(": called_inside"))
        assert inside.python_id in (operator.cpu_parent.python_id, operator.cpu_parent.python_parent_id)
        assert "<built-in function sorted>" in {e.name for e in events}
    ours, theirs = recorded[1], recorded[0]
    assert [row[0].rpartition("/")[2] for row in ours] == [row[0].rpartition("/")[2] for row in theirs]
    assert [row[1:] for row in ours] == [row[1:] for row in theirs]


def test_enumerations_have_the_same_members():
    for name in ("ProfilerActivity", "RecordScope", "DeviceType", "ProfilerAction"):
        theirs, ours = (getattr(library.profiler, name) for library in LIBRARIES)
        for member in theirs.__members__:
            if member == "DEVICE_STOPPED":
                continue  # for profilers of devices that stop by themselves
            first, second = theirs.__members__[member], ours.__members__[member]
            assert first.value == second.value
            assert str(first) == str(second) or member == "PrivateUse1"


def test_backward_is_recorded_under_the_same_names():
    recorded = []
    for library in LIBRARIES:
        x = library.ones(4, requires_grad=True)
        with library.profiler.profile(activities=[library.profiler.ProfilerActivity.CPU]) as prof:
            library.mul(x, x).exp().sum().backward()
        nodes = [e for e in prof.events() if "Backward0" in e.name or "AccumulateGrad" in e.name]
        recorded.append([(e.name, e.scope, e.sequence_nr >= 0, (e.fwd_thread or 0) > 0) for e in nodes])
    assert recorded[1] == recorded[0]


def test_a_training_step_passes_the_validator(tmp_path):
    path = Path(__file__).parents[2] / "benchmarks" / "gpt_step.py"
    spec = importlib.util.spec_from_file_location("gpt_step", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    step = module.gpt_step(
        mindtorch_v2, "npu", layers=2, heads=2, width=32, context=16, vocabulary=32, batch=2
    )
    side = mindtorch_v2.npu.Stream()
    plan = mindtorch_v2.profiler.schedule(wait=0, warmup=1, active=2, repeat=1)
    # The validator knows CUDA's names only.
    config = mindtorch_v2.profiler._ExperimentalConfig(
        custom_profiler_config="names=cuda", enable_cuda_sync_events=True
    )
    options = {"record_shapes": True, "profile_memory": True, "experimental_config": config}
    with mindtorch_v2.profiler.profile(schedule=plan, **options) as prof:
        for _ in range(3):
            loss = step()
            side.wait_stream(mindtorch_v2.npu.current_stream())
            with mindtorch_v2.npu.stream(side):
                loss = loss + 1
            side.synchronize()
            loss.item()
            prof.step()
    trace = tmp_path / "trace.json"
    prof.export_chrome_trace(trace)
    passed, violations = validate_trace(str(trace))
    assert passed, [str(violation) for violation in violations[:5]]
    events = json.loads(trace.read_text())["traceEvents"]
    # What its rules are about is there.
    assert {"cudaLaunchKernel", "cudaEventRecord"} <= {event["name"] for event in events}
    kinds = {event.get("args", {}).get("cuda_sync_kind") for event in events}
    assert {"Stream Wait Event", "Stream Sync"} <= kinds
