"""The profiler with CUPTI, on a GPU."""

import json

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.profiler import profile, record_function, schedule

N = 1 << 24


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    x, weight = torch.ones(N, device="cuda"), torch.ones(1024, 1024, device="cuda")
    host = torch.ones(N).pin_memory()

    def work():
        with record_function("the work"):
            y = host.to("cuda", non_blocking=True) + x
            weight @ weight
            return y.sum().item()

    work()
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    with profile(record_shapes=True, with_stack=True) as prof:
        work()
        begin.record()
        x + x
        end.record()
        torch.cuda.synchronize()
    path = tmp_path_factory.mktemp("trace") / "trace.json"
    prof.export_chrome_trace(path)
    return prof, json.loads(path.read_text())["traceEvents"], begin.elapsed_time(end) * 1000


def of(trace, category):
    return [event for event in trace if event.get("cat") == category and event["ph"] == "X"]


def test_kernels_have_shapes_and_plausible_times(recorded):
    _, trace, measured = recorded
    adds = [event for event in of(trace, "kernel") if event["name"] == "add"]
    assert len(adds) == 2
    for add in adds:
        assert add["args"]["grid"][0] > 100
        assert add["args"]["block"] == [128, 1, 1]
        assert add["args"]["registers per thread"] > 0
    # The events around the second one see the launch, too.
    assert 0.3 * measured < adds[-1]["dur"] < 1.5 * measured


def test_a_product_is_a_kernel_with_the_library_s_name_and_linked_to_its_operator(recorded):
    prof, trace, _ = recorded
    operator = next(event for event in prof.events() if event.name == "aten::mm")
    assert operator.kernels
    names = {kernel.name for kernel in operator.kernels}
    assert not names & {"mm", "matmul"}, names  # such as nvjet_… or sm90_xmma_gemm_…
    assert operator.device_time_total > 1


def test_copies_have_bytes_and_a_bandwidth_that_a_bus_can_have(recorded):
    _, trace, _ = recorded
    (copy,) = (event for event in of(trace, "gpu_memcpy") if "HtoD (Pinned -> Device)" in event["name"])
    assert copy["args"]["bytes"] == 4 * N
    assert 1 < copy["args"]["memory bandwidth (GB/s)"] < 1000


def test_work_begins_after_its_call_and_arrows_join_them(recorded):
    _, trace, _ = recorded
    calls = {event["args"]["correlation"]: event for event in of(trace, "cuda_runtime")}
    ends = {event["id"] for event in trace if event.get("cat") == "ac2g" and event["ph"] == "f"}
    work = of(trace, "kernel") + of(trace, "gpu_memcpy")
    assert len(work) >= 5
    for event in work:
        call = calls[event["args"]["correlation"]]
        assert call["ts"] <= event["ts"] < call["ts"] + 1e6
        assert event["args"]["correlation"] in ends


def test_averages_add_up(recorded):
    prof, trace, _ = recorded
    averages = {event.key: event for event in prof.key_averages()}
    kernels = [event for event in of(trace, "kernel") if event["name"] == "add"]
    assert averages["aten::add"].device_time_total == pytest.approx(
        sum(event["dur"] for event in kernels), rel=1e-3
    )
    assert "Self CUDA time total" in prof.key_averages().table(sort_by="cuda_time_total")
    products = [event for event in prof.events() if event.name == "aten::mm"]
    assert any("test_profiler.py" in line for event in products for line in event.stack)


def test_schedules_and_repeated_profiles_see_their_own_work_only():
    x = torch.ones(1000, device="cuda")
    x + x
    counts = []

    def ready(prof):
        counts.append(sum(event.name == "add" and event.activity_type == "kernel" for event in prof.events()))

    with profile(schedule=schedule(wait=1, warmup=1, active=2, repeat=2), on_trace_ready=ready) as prof:
        for _ in range(8):
            x + x
            prof.step()
    for steps in (1, 3000):
        with profile() as prof:
            for _ in range(steps):
                x + x
        ready(prof)
    assert counts == [2, 2, 1, 3000]


def test_a_graph_shows_its_kernels():
    x = torch.ones(1000, device="cuda")
    x + x
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(5):
            x.add_(1)
    with profile() as prof:
        graph.replay()
        torch.cuda.synchronize()
    kernels = [event for event in prof.events() if event.activity_type == "kernel"]
    assert len(kernels) == 5
    assert len({event.linked_correlation_id for event in kernels}) == 1


def test_ranges_for_nsight_can_be_given():
    with torch.autograd.profiler.emit_nvtx(record_shapes=True), torch.cuda.nvtx.range("all"):
        torch.ones(3, device="cuda", requires_grad=True).sum().backward()
