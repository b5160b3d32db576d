"""What the NPU did: tasks with times of their own, linked to the calls that launched them."""

import json

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.profiler import DeviceType, ProfilerActivity, profile, record_function, schedule

pytestmark = pytest.mark.skipif(not torch.npu.is_available(), reason="no NPU, hardware or software")


def exported(prof, path):
    prof.export_chrome_trace(path)
    return json.loads(path.read_text())["traceEvents"]


def tasks(prof):
    return [e for e in prof.events() if e.device_type is DeviceType.NPU]


def of(events, category):
    return [e for e in events if e.get("cat") == category and e["ph"] == "X"]


def end(event):
    return event["ts"] + event["dur"]


def test_every_launch_is_a_task_of_the_device():
    x = torch.ones(64, 64, device="npu")
    with profile() as prof:
        y = x @ x
        y.exp()
    assert [e.name for e in tasks(prof)] == ["aclnnMm", "aclnnExp"]
    (mm,) = (e for e in prof.events() if e.name == "aten::mm")
    assert [kernel.name for kernel in mm.kernels] == ["aclnnMm"]
    task = tasks(prof)[0]
    assert mm.self_device_time_total == pytest.approx(task.device_time_total)
    assert task.cpu_time_total == 0 and task.self_device_time_total > 0
    assert task["kind"] == "task" and task["device_type"] == "NPU" and task.device_index == 0


def test_a_task_begins_after_its_launch_and_after_the_task_before():
    x = torch.ones(64, 64, device="npu")
    with profile() as prof:
        for _ in range(400):
            x + x
    calls = {e.linked_correlation_id: e for e in prof.events() if e.name == "aclnnLaunch"}
    found = tasks(prof)
    assert len(found) == len(calls) == 400
    for before, task in zip(found, found[1:], strict=False):
        assert task.time_range.start >= calls[task.linked_correlation_id].time_range.start
        assert task.time_range.start >= before.time_range.end


def test_copies_and_waits_are_events_of_their_own(tmp_path):
    pinned = torch.ones(1024).pin_memory()
    side = torch.npu.Stream()
    with profile() as prof:
        x = pinned.to("npu", non_blocking=True)
        mark = torch.npu.Event()
        mark.record()
        with torch.npu.stream(side):
            side.wait_event(mark)
            y = x + x
        side.synchronize()
        y.cpu()
        torch.npu.synchronize()
    events = exported(prof, tmp_path / "trace.json")
    copies = of(events, "gpu_memcpy")
    assert [e["name"] for e in copies] == [
        "Memcpy HtoD (Pinned -> Device)", "Memcpy DtoH (Device -> Pageable)",
    ]  # fmt: skip
    assert all(e["args"]["bytes"] == 4096 and e["args"]["memory bandwidth (GB/s)"] > 0 for e in copies)
    waits = {e["name"]: e for e in of(events, "npu_sync")}
    assert {"Stream Wait Event", "Stream Sync", "Context Sync"} <= set(waits)
    runtime = {e["name"]: e for e in of(events, "privateuse1_runtime")}
    awaited = waits["Stream Wait Event"]["args"]["wait_on_event_record_corr_id"]
    assert runtime["aclrtRecordEvent"]["args"]["correlation"] == awaited
    (kernel,) = of(events, "kernel")
    assert kernel["tid"] == 2 and copies[0]["tid"] == 1
    named = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    assert named[0, 1] == "stream 1 (default)" and named[0, 2] == "stream 2"


def test_launches_and_tasks_share_correlation_and_are_joined_by_arrows(tmp_path):
    x = torch.ones(64, 64, device="npu")
    with profile() as prof:
        x + x
    events = exported(prof, tmp_path / "trace.json")
    (add,) = (e for e in events if e["name"] == "aten::add")
    (launch,), (kernel,) = of(events, "privateuse1_runtime"), of(events, "kernel")
    assert launch["name"] == "aclnnLaunch" and kernel["name"] == "aclnnAdd"
    assert launch["args"]["correlation"] == kernel["args"]["correlation"]
    assert launch["args"]["External id"] == kernel["args"]["External id"] == add["args"]["External id"]
    assert kernel["pid"] == 0 and kernel["args"]["stream"] == 1
    start, finish = (next(e for e in events if e.get("cat") == "ac2g" and e["ph"] == p) for p in "sf")
    assert start["id"] == finish["id"] == kernel["args"]["correlation"]
    assert (start["ts"], start["tid"]) == (launch["ts"], launch["tid"])
    assert (finish["ts"], finish["pid"], finish["tid"]) == (kernel["ts"], 0, 1)


def copy_compute_and_wait():
    """A call of every kind that waits or hands work to the NPU."""
    x = torch.ones(1024).pin_memory().to("npu", non_blocking=True)
    side, mark = torch.npu.Stream(), torch.npu.Event()
    mark.record()
    side.wait_event(mark)
    with torch.npu.stream(side):
        y = (x + x).zero_()
    side.synchronize()
    mark.synchronize()
    y.cpu()
    torch.npu.synchronize()


def test_calls_have_acls_names_unless_cudas_are_asked_for(tmp_path):
    written = {}
    for names in ("", "names=acl", "names=cuda"):
        config = torch.profiler._ExperimentalConfig(
            custom_profiler_config=names, enable_cuda_sync_events=True
        )
        with profile(experimental_config=config) as prof:
            copy_compute_and_wait()
        written[names] = exported(prof, tmp_path / "trace.json")
    for names in ("", "names=acl"):
        categories = {e["cat"] for e in written[names] if "cat" in e}
        assert {"privateuse1_runtime", "npu_sync"} < categories
        assert not [text for text in (*categories, *(e["name"] for e in written[names])) if "cuda" in text]
        assert not any("cuda" in key for e in written[names] for key in e.get("args", ()))
    calls = [e["name"] for e in of(written[""], "privateuse1_runtime")]
    assert {"aclnnLaunch", "aclrtMemcpyAsync", "aclrtRecordEvent", "aclrtSynchronizeStream"} < set(calls)
    assert all(name.startswith(("aclrt", "aclnn")) for name in calls)
    as_cuda = of(written["names=cuda"], "cuda_runtime")
    assert [e["args"]["call"] for e in as_cuda] == calls
    assert all(e["name"].startswith("cuda") for e in as_cuda)
    assert {e["args"]["cuda_sync_kind"] for e in of(written["names=cuda"], "cuda_sync")} == {
        e["args"]["sync_kind"] for e in of(written[""], "npu_sync")
    }


def test_waits_are_written_under_cudas_names_only_if_asked_for(tmp_path):
    config = torch.profiler._ExperimentalConfig(custom_profiler_config="names=cuda")
    with profile(experimental_config=config) as prof:
        copy_compute_and_wait()
    trace = exported(prof, tmp_path / "trace.json")
    assert of(trace, "kernel") and not of(trace, "cuda_sync")


def test_other_settings_of_the_devices_profiler_are_refused():
    config = torch.profiler._ExperimentalConfig(custom_profiler_config="names=hip")
    with pytest.raises(NotImplementedError, match="'names=acl'.*or 'names=cuda'"):
        profile(experimental_config=config)


def test_annotations_cover_their_tasks_on_the_device(tmp_path):
    x = torch.ones(64, 64, device="npu")
    with profile() as prof:
        with record_function("block"):
            x + x
            x * x
        x - x
    events = exported(prof, tmp_path / "trace.json")
    (block,) = (e for e in events if e.get("cat") == "gpu_user_annotation")
    first, second, third = of(events, "kernel")
    assert block["name"] == "block"
    assert block["ts"] < first["ts"] and end(second) < end(block) <= third["ts"] + 0.002


def test_the_npu_alone_or_the_host_alone_can_be_recorded():
    x = torch.ones(64, 64, device="npu")
    with profile(activities=[ProfilerActivity.NPU]) as prof:
        x + x
    assert {e.name for e in prof.events()} == {"aclnnLaunch", "aclnnAdd"}
    with profile(activities=[ProfilerActivity.CPU]) as prof:
        x + x
    assert {e.name for e in prof.events()} == {"aten::add"}
    assert "NPU" not in prof.key_averages().table()


def test_tables_have_the_devices_columns():
    x = torch.ones(64, 64, device="npu")
    with profile() as prof:
        x @ x
    table = prof.key_averages().table(sort_by="self_npu_time_total", row_limit=2)
    titles = table.splitlines()[1]
    for title in ("Self NPU", "Self NPU %", "NPU total", "NPU time avg"):
        assert title in titles
    assert "Self NPU time total: " in table.splitlines()[-1]
    total = sum(e.self_device_time_total for e in tasks(prof))
    rows = {row.key: row for row in prof.key_averages()}
    assert rows["aten::mm"].self_device_time_total == pytest.approx(rows["aclnnMm"].self_device_time_total)
    assert rows["aclnnMm"].self_device_time_total == pytest.approx(total)


def test_a_factory_ran_where_its_work_went():
    with profile() as prof:
        torch.full((4,), 2.5, device="npu")
        torch.ones(4).to("npu")
    assert {e["device_type"] for e in prof.events() if e.name in ("aten::full", "aten::_to_copy")} == {"NPU"}
    assert {e["device_type"] for e in prof.events() if e.name == "aten::ones"} == {"CPU"}


def test_a_failed_launch_leaves_the_profiler_working():
    x = torch.ones(4, 4, device="npu")
    with profile() as prof:
        with pytest.raises(RuntimeError):
            x @ torch.ones(3, 3, device="npu")
        x + x
    assert "aclnnAdd" in [e.name for e in tasks(prof)]


def test_a_training_step_is_consistent(tmp_path, gpt_step):
    step = gpt_step("npu")
    step()
    with profile(schedule=schedule(wait=0, warmup=1, active=2, repeat=1), record_shapes=True) as prof:
        for _ in range(3):
            step().item()
            prof.step()
    events = exported(prof, tmp_path / "trace.json")
    kernels = of(events, "kernel")
    launches = {e["args"]["correlation"]: e for e in of(events, "privateuse1_runtime")}
    assert len(kernels) > 200
    for kernel in kernels:
        assert kernel["ts"] >= launches[kernel["args"]["correlation"]]["ts"]
    for sync in of(events, "npu_sync"):
        if sync["name"] == "Stream Sync":
            assert not any(k["ts"] < sync["ts"] < end(k) for k in kernels if k["tid"] == sync["tid"])
    on_device = sum(e["dur"] for c in ("kernel", "gpu_memcpy", "gpu_memset") for e in of(events, c))
    rows = prof.key_averages()
    assert sum(r.self_device_time_total for r in rows if r.device_type is DeviceType.NPU) == pytest.approx(
        on_device, rel=1e-6
    )
    by_operator = sum(r.self_device_time_total for r in rows if r.device_type is DeviceType.CPU)
    assert by_operator == pytest.approx(on_device, rel=1e-6)
    numbers = [
        e["args"]["Sequence number"]
        for e in events
        if e["name"].startswith("autograd::engine::evaluate_function:") and "Sequence number" in e["args"]
    ]
    assert len(numbers) == len(set(numbers)) > 20


def test_nothing_is_measured_while_nobody_records():
    x = torch.ones(64, 64, device="npu")
    with profile() as prof:
        pass
    x + x
    torch.npu.synchronize()
    assert tasks(prof) == []
    assert torch.npu.profiler.profile is profile
