"""profile_memory=True: the NPU's memory around operators, and every allocation."""

import gc
import json

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.profiler import profile, record_function

BEFORE, AFTER, DELTA = (f"npu_memory_allocated_{name}" for name in ("before", "after", "delta"))
needs_npu = pytest.mark.skipif(not torch.npu.is_available(), reason="no NPU, hardware or software")
BYTES = 256 * 256 * 4

pytestmark = needs_npu


def event(prof, name):
    return next(e for e in prof.events() if e.name == name)


def test_before_and_after_are_the_allocators_own_numbers():
    x = torch.ones((256, 256), device="npu")
    before = torch.npu.memory_allocated()
    with profile(profile_memory=True) as prof:
        y = x + x
    add = event(prof, "aten::add")
    assert add.metadata == {BEFORE: before, AFTER: before + BYTES, DELTA: BYTES}
    assert torch.npu.memory_allocated() == before + BYTES
    assert add[DELTA] == BYTES and DELTA in add and add["device_type"] == "NPU"
    del y


def test_a_factory_without_tensor_inputs_is_known_by_what_it_allocates():
    with profile(profile_memory=True) as prof:
        x = torch.empty((256, 256), device="npu")
    empty = event(prof, "aten::empty")
    assert empty["device_type"] == "NPU" and empty[DELTA] == BYTES
    del x


def test_operators_on_the_cpu_have_the_same_fields_of_the_cpu():
    x = torch.ones((256, 256))
    with profile(profile_memory=True) as prof:
        y = x + 1
    add = event(prof, "aten::add")
    assert add["device_type"] == "CPU" and add["cpu_memory_allocated_delta"] == BYTES
    assert add["cpu_memory_allocated_after"] - add["cpu_memory_allocated_before"] == BYTES
    assert DELTA not in add
    assert add.cpu_memory_usage == add.self_cpu_memory_usage == BYTES
    del y


def test_what_an_operator_did_with_memory_is_told_in_five_numbers():
    x = torch.ones((256, 256), device="npu")
    with profile(profile_memory=True) as prof:
        y = x + x
        with record_function("block"):
            first = x * 2
            second = first * 2
            del first, y
    block = event(prof, "block").memory
    assert (block.allocated, block.freed_own, block.freed_others) == (2 * BYTES, BYTES, BYTES)
    assert (block.retained, block.peak) == (BYTES, 2 * BYTES)
    table = prof.key_averages().table(memory_details=True)
    for column in ("Allocated", "Freed own", "Freed others", "Retained", "Peak"):
        assert column in table
    assert "Freed own" not in prof.key_averages().table()
    del second


def test_without_profile_memory_nothing_of_memory_is_recorded():
    x = torch.ones((256, 256), device="npu")
    with profile() as prof:
        x + x
    assert event(prof, "aten::add").metadata == {}
    assert event(prof, "aten::add")["device_type"] == "NPU"
    assert all(e.device_memory_usage == 0 for e in prof.events())


def test_memory_usage_counts_what_was_allocated_inside():
    x = torch.ones((256, 256), device="npu")
    with profile(profile_memory=True) as prof:
        with record_function("block"):
            y = x + x
            z = y * y
    block = event(prof, "block")
    assert block.device_memory_usage == 2 * BYTES
    assert block.self_device_memory_usage == 0
    assert event(prof, "aten::add").self_device_memory_usage == BYTES
    table = prof.key_averages().table(sort_by="self_npu_memory_usage")
    assert "Self NPU Mem" in table and "512.00 KB" in table
    del y, z


def test_frees_outside_operators_are_events_of_their_own():
    x = torch.ones((256, 256), device="npu")
    with profile(profile_memory=True) as prof:
        del x
    freed = [e for e in prof.events() if e.name == "[memory]"]
    assert [e.device_memory_usage for e in freed if e.npu >= 0] == [-BYTES]


def test_traces_hold_every_allocation_as_an_instant(tmp_path):
    x = torch.ones((256, 256), device="npu")
    with profile(profile_memory=True) as prof:
        y = x + x
        del y
    path = tmp_path / "trace.json"
    prof.export_chrome_trace(path)
    trace = json.loads(path.read_text())
    instants = [e for e in trace["traceEvents"] if e["name"] == "[memory]"]
    for e in instants:
        assert e["ph"] == "i" and e["cat"] == "cpu_instant_event"
    instants = [e for e in instants if e["args"]["Device Type"] == 20]
    sizes = [e["args"]["Bytes"] for e in instants]
    assert BYTES in sizes and -BYTES in sizes
    for e in instants:
        assert e["args"]["Device Type"] == 20 and e["args"]["Device Id"] == 0
        assert e["args"]["Total Allocated"] <= e["args"]["Total Reserved"]
    assert trace["profile_memory"] == 1
    assert [p["id"] for p in trace["deviceProperties"]] == [0]
    assert trace["deviceProperties"][0]["totalGlobalMem"] > 0


def test_the_allocator_is_left_unwatched_after_the_profile():
    with profile(profile_memory=True) as prof:
        pass
    torch.ones((256, 256), device="npu") + 1
    assert all(e.npu < 0 for e in prof.events())
    with profile() as after:
        torch.ones((256, 256), device="npu")
    assert all(e.name != "[memory]" for e in after.events())


def test_an_allocation_that_failed_is_an_event_of_its_own(tmp_path):
    gc.collect()  # or else the allocator does it, after the attempt that the event is about
    size = torch.npu.get_device_properties(0).total_memory
    with profile(profile_memory=True) as prof:
        x = torch.ones(256, device="npu")
        with pytest.raises(torch.OutOfMemoryError):
            torch.empty(2 * size, dtype=torch.uint8, device="npu")
    (failed,) = (e for e in prof.events() if e.name == "[OutOfMemory]")
    assert failed.device_memory_usage == 2 * size and failed.cpu_parent is None
    assert event(prof, "aten::empty").self_device_memory_usage == 0
    prof.export_chrome_trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    (instant,) = (e for e in events if e["name"] == "[OutOfMemory]")
    assert instant["args"]["Bytes"] == 2 * size
    assert instant["args"]["Total Allocated"] == torch.npu.memory_allocated()
    del x
