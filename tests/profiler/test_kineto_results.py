"""prof.profiler.kineto_results: what tools read that were written for PyTorch's own recorder."""

import json

import mindtorch_v2 as torch
from mindtorch_v2.profiler import ProfilerActivity, profile, record_function


def recorded(**options):
    x = torch.ones(4, 4, requires_grad=True)
    with profile(record_shapes=True, profile_memory=True, **options) as found:
        with record_function("mine"):
            y = (x @ x).sum()
        y.backward()
    return found


def test_there_are_no_results_before_the_end():
    found = profile()
    assert found.profiler is None or found.profiler.kineto_results is None


def test_events_have_pytorchs_methods():
    results = recorded().profiler.kineto_results
    events = results.events()
    names = [event.name() for event in events]
    assert {"mine", "aten::mm", "aten::sum", "[memory]"} <= set(names)
    product = events[names.index("aten::mm")]
    assert product.shapes() == [[4, 4], [4, 4]] and product.dtypes() == ["float", "float"]
    assert (
        product.activity_type() == "cpu_op" and product.scope() == 0 and product.device_type().name == "CPU"
    )
    assert product.end_ns() - product.start_ns() == product.duration_ns() > 0
    assert results.trace_start_ns() <= product.start_ns()
    mine = events[names.index("mine")]
    assert mine.is_user_annotation() and mine.scope() == 7
    assert mine.start_ns() <= product.start_ns() and product.end_ns() <= mine.end_ns()
    assert any(event.nbytes() == 64 for event in events if event.name() == "[memory]")


def test_what_a_device_did_is_there_too():
    x = torch.ones(8, device="npu")
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.NPU]) as found:
        x + 1
        torch.npu.synchronize()
    events = found.profiler.kineto_results.events()
    kernels = [event for event in events if event.activity_type() == "kernel"]
    assert [event.name() for event in kernels] == ["aclnnAdds"]
    launches = [
        event for event in events if event.linked_correlation_id() == kernels[0].linked_correlation_id()
    ]
    assert len(launches) == 2 and launches[0].start_ns() <= kernels[0].start_ns()


def test_the_tree_holds_what_happened_inside_of_what():
    types = torch._C._profiler._EventType
    tree = recorded().profiler.kineto_results.experimental_event_tree()
    mine = next(node for node in tree if node.name == "mine")
    assert mine.tag is types.TorchOp and mine.extra_fields.scope.name == "USER_SCOPE"
    inside = [mine]
    for node in inside:
        inside += node.children
        assert all(child.parent is node for child in node.children)
    names = {node.name for node in inside}
    assert {"aten::mm", "aten::sum"} <= names
    memory = next(node for node in inside if node.tag is types.Allocation)
    assert memory.typed == (types.Allocation, memory.extra_fields)
    assert memory.extra_fields.alloc_size != 0 and memory.extra_fields.device == torch.device("cpu")


def test_results_are_saved_as_a_trace(tmp_path):
    recorded().profiler.kineto_results.save(str(tmp_path / "trace.json"))
    names = {event.get("name") for event in json.loads((tmp_path / "trace.json").read_text())["traceEvents"]}
    assert "aten::mm" in names


def test_generated_code_annotates_with_the_fast_form():
    with profile() as found, torch._C._profiler._RecordFunctionFast("generated", input_values=[1]):
        torch.ones(2) + 1
    assert "generated" in [event.name for event in found.events()]
