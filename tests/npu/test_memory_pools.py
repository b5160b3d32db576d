"""MemPool, allocators of other libraries, working without a cache, raw memory, and what happens when memory ends."""

import ctypes
import os
import pickle
import subprocess
import sys

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import softnpu
from mindtorch_v2._devices import memory_pools
from mindtorch_v2.npu import memory

MiB = 1 << 20


def run(code, **changes):
    environment = {**os.environ, "MINDTORCH_NPU": "soft", **changes}
    command = [sys.executable, "-c", code]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


class Functions:
    """An allocator as a shared library would have it, that counts what is asked."""

    def __init__(self):
        self.held = {}
        acl = ctypes.CDLL(str(softnpu.lib_folder() / "libascendcl.so"))
        acl.aclrtMalloc.argtypes = [ctypes.POINTER(ctypes.c_void_p), ctypes.c_size_t, ctypes.c_int]
        acl.aclrtFree.argtypes = [ctypes.c_void_p]

        def allocate(size, device, stream):
            address = ctypes.c_void_p()
            if acl.aclrtMalloc(ctypes.byref(address), size, 0) != 0:
                return None
            self.held[address.value] = size
            return address.value

        def free(address, size, device, stream):
            assert self.held.pop(address) == size
            acl.aclrtFree(address)

        allocate_type = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p)
        free_type = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p)
        self.callbacks = allocate_type(allocate), free_type(free)
        addresses = [ctypes.cast(function, ctypes.c_void_p).value for function in self.callbacks]
        self.allocator = memory_pools.Allocator(tuple(addresses))


def test_tensors_of_a_pool_come_from_its_own_segments():
    pool = torch.npu.MemPool()
    assert pool.use_count() == 1
    with torch.npu.use_mem_pool(pool):
        assert pool.use_count() == 2
        inside = torch.ones(MiB, device="npu")
    outside = torch.ones(MiB, device="npu")
    assert pool.use_count() == 1
    (segment,) = pool.snapshot()
    assert segment["segment_pool_id"] == pool.id and pool.id[0] == 0
    assert segment["address"] <= inside.data_ptr() < segment["address"] + segment["total_size"]
    assert not segment["address"] <= outside.data_ptr() < segment["address"] + segment["total_size"]
    name = f"reserved_bytes_by_private_pools.0_{pool.id[1]}.all.current"
    assert torch.npu.memory_stats()[name] == segment["total_size"]


def test_a_pool_that_is_gone_gives_its_memory_back():
    torch.npu.empty_cache()
    before = torch.npu.memory_reserved()
    pool = torch.npu.MemPool()
    with torch.npu.use_mem_pool(pool):
        x = torch.ones(30 * MiB, dtype=torch.uint8, device="npu")
    assert torch.npu.memory_reserved() == before + 30 * MiB
    del x
    torch.npu.empty_cache()
    assert torch.npu.memory_reserved() == before + 30 * MiB  # the pool keeps it for its next tensor
    del pool
    assert torch.npu.memory_reserved() == before


def test_an_exception_inside_a_pool_ends_its_use():
    pool = torch.npu.MemPool()
    with pytest.raises(ZeroDivisionError), torch.npu.use_mem_pool(pool):
        raise ZeroDivisionError
    assert pool.use_count() == 1


def test_a_pool_over_functions_takes_its_segments_from_them():
    functions = Functions()
    pool = torch.npu.MemPool(functions.allocator)
    with torch.npu.use_mem_pool(pool):
        x = torch.full((MiB,), 3.0, device="npu")
    assert sum(functions.held.values()) == 20 * MiB
    assert x.sum().item() == 3.0 * MiB
    del x, pool
    assert functions.held == {}


def test_a_library_without_the_function_is_named():
    library = str(softnpu.lib_folder() / "libascendcl.so")
    with pytest.raises(AttributeError, match="has no function no_such_function"):
        torch.npu.NPUPluggableAllocator(library, "aclrtMalloc", "no_such_function")
    assert isinstance(
        torch.npu.NPUPluggableAllocator(library, "aclrtMalloc", "aclrtFree"), memory_pools.Allocator
    )


def test_the_allocator_cannot_be_changed_once_it_is_used():
    torch.ones(1, device="npu")
    with pytest.raises(RuntimeError, match="Can't swap an already initialized allocator"):
        torch.npu.change_current_allocator(memory_pools.Allocator(None))
    assert torch.npu.get_allocator_backend() == "native"


def test_an_allocator_chosen_before_the_first_tensor_serves_all():
    code = (
        "import sys; sys.path.insert(0, 'tests/npu')\n"
        "import mindtorch_v2 as torch\n"
        "from test_memory_pools import Functions\n"
        "functions = Functions()\n"
        "torch.npu.change_current_allocator(functions.allocator)\n"
        "x = torch.ones(1000, device='npu')\n"
        "assert x.data_ptr() in functions.held and functions.held[x.data_ptr()] == 4096\n"
        "y = (x + x).sum().item()\n"
        "del x\n"
        "print(y, len(functions.held), torch.npu.get_allocator_backend())"
    )
    assert run(code) == "2000.0 0 pluggable"


def test_without_caching_memory_goes_straight_back():
    torch.npu.empty_cache()
    before = softnpu.live_bytes()
    with torch.npu.caching_allocator_disabled():
        x = torch.ones(5 * MiB, dtype=torch.uint8, device="npu")
        assert softnpu.live_bytes() >= before + 5 * MiB
        del x
        assert softnpu.live_bytes() == before
    x = torch.ones(5 * MiB, dtype=torch.uint8, device="npu")
    del x
    assert softnpu.live_bytes() > before


def test_raw_memory_is_handed_out_and_taken_back():
    before = torch.npu.memory_allocated()
    address = torch.npu.caching_allocator_alloc(1000)
    assert torch.npu.memory_allocated() == before + 1024
    torch.npu.caching_allocator_delete(address)
    assert torch.npu.memory_allocated() == before
    with pytest.raises(RuntimeError, match="not handed out"):
        torch.npu.caching_allocator_delete(address)
    with pytest.raises(TypeError, match="Invalid type for stream argument"):
        torch.npu.caching_allocator_alloc(1000, stream="default")


def test_a_limit_in_bytes_is_a_limit():
    limit = torch.npu.memory_reserved() + 8 * MiB
    torch.npu.set_per_process_memory_limit(limit)
    try:
        with pytest.raises(torch.OutOfMemoryError, match="limit"):
            torch.ones(400 * MiB, dtype=torch.uint8, device="npu")
    finally:
        torch.npu.set_per_process_memory_limit(None)
    with pytest.raises(ValueError, match="number of bytes"):
        torch.npu.set_per_process_memory_limit(-1)


def test_observers_hear_of_an_allocation_before_it_fails():
    seen = []

    def observe(device, size, total, free):
        seen.append((device, size, total == torch.npu.mem_get_info()[1], free <= total))

    torch.npu.attach_out_of_memory_observer(observe)
    try:
        with pytest.raises(torch.OutOfMemoryError):
            torch.empty(1 << 45, dtype=torch.uint8, device="npu")
    finally:
        torch.npu.detach_out_of_memory_observer(observe)
    assert seen == [(0, 1 << 45, True, True)]
    with pytest.raises(torch.OutOfMemoryError):
        torch.empty(1 << 45, dtype=torch.uint8, device="npu")
    assert len(seen) == 1


def test_a_snapshot_is_written_when_memory_runs_out(tmp_path):
    code = (
        "import mindtorch_v2 as torch\n"
        "def fill():\n"
        "    return [torch.ones(1 << 20, device='npu') for _ in range(100)]\n"
        "try: fill()\n"
        "except torch.OutOfMemoryError: print('out of memory')"
    )
    settings = {
        "OOM_SNAPSHOT_ENABLE": "1",
        "OOM_SNAPSHOT_PATH": str(tmp_path),
        "SOFTNPU_MEMORY": str(64 * MiB),
    }
    assert run(code, **settings) == "out of memory"
    (path,) = tmp_path.glob("oom_snapshot_npu0_*.pickle")
    assert '"fill"' in path.with_suffix(".html").read_text()  # the page, with the names on its stacks
    snapshot = pickle.loads(path.read_bytes())
    actions = [entry["action"] for entry in snapshot["device_traces"][0]]
    assert actions.count("oom") == 1 and actions.count("alloc") > 10
    assert any(frame["name"] == "fill" for frame in snapshot["device_traces"][0][-2]["frames"])
    bad = subprocess.run(
        [sys.executable, "-c", "import mindtorch_v2"],
        env={**os.environ, "OOM_SNAPSHOT_ENABLE": "yes"}, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert "OOM_SNAPSHOT_ENABLE is 'yes'" in bad.stderr


def test_the_error_names_who_pins_stranded_memory():
    code = (
        "import mindtorch_v2 as torch\n"
        "torch.ones(1, device='npu')\n"
        "torch.npu._record_memory_history()\n"
        "kept = [torch.empty(4 << 20, dtype=torch.uint8, device='npu') for _ in range(10)]\n"
        "kept = kept[::5]\n"
        "try: torch.empty(30 << 20, dtype=torch.uint8, device='npu')\n"
        "except torch.OutOfMemoryError as error: print(error)"
    )
    text = run(code, SOFTNPU_MEMORY=str(64 * MiB))
    assert "kept by 1 block(s) of together 4.00 MiB, allocated at <string>:4 in " in text


def test_history_keeps_labels_and_leaves_out_actions():
    torch.npu._record_memory_history(skip_actions=["free_requested"], clear_history=True)
    try:
        memory._set_memory_metadata("step 7")
        x = torch.ones(1000, device="npu")
        assert memory._get_memory_metadata() == "step 7"
        frames = torch.npu._allocation_traceback(x.data_ptr() + 8)
        del x
        trace = torch.npu._snapshot()["device_traces"][0]
    finally:
        memory._set_memory_metadata("")
        torch.npu._record_memory_history(None)
    assert any(frame["name"] == "test_history_keeps_labels_and_leaves_out_actions" for frame in frames)
    assert "free_requested" not in [entry["action"] for entry in trace]
    assert [entry["user_metadata"] for entry in trace if entry["action"] == "alloc"] == ["step 7"]
    assert torch.npu._allocation_traceback(12345) is None
    with pytest.raises(ValueError, match="no action 'nonsense'"):
        torch.npu._record_memory_history(skip_actions=["nonsense"])


def test_settings_can_be_changed_while_the_program_runs():
    torch.ones(1, device="npu")
    try:
        memory._set_allocator_settings("max_split_size_mb:100,roundup_power2_divisions:4")
        assert torch.npu.memory_stats()["max_split_size"] == 100 * MiB
        with pytest.raises(ValueError, match="unknown key 'max_splt'"):
            memory._set_allocator_settings("max_splt:1")
        with pytest.raises(ValueError, match="backend must be native"):
            memory._set_allocator_settings("backend:cudaMallocAsync")
    finally:
        memory._set_allocator_settings("")
    assert torch.npu.memory_stats()["max_split_size"] == -1


def test_host_memory_is_counted():
    torch.npu.host_empty_cache()
    before = torch.npu.host_memory_stats_as_nested_dict()
    pinned = torch.npu.pin_memory(torch.ones(5 * MiB))  # 20 MiB, rounded to a power of two
    after = torch.npu.host_memory_stats_as_nested_dict()
    assert after["active_bytes"]["current"] - before["active_bytes"]["current"] == 32 * MiB
    assert after["num_host_alloc"] == before["num_host_alloc"] + 1
    del pinned
    torch.npu.host_empty_cache()
    torch.npu.reset_peak_host_memory_stats()
    torch.npu.reset_accumulated_host_memory_stats()
    stats = torch.npu.host_memory_stats()
    assert stats["active_bytes.current"] == before["active_bytes"]["current"]
    assert stats["num_host_alloc"] == 0 and stats["allocated_bytes.peak"] == stats["allocated_bytes.current"]


def actions():
    return [entry["action"] for entry in torch.npu._snapshot(augment_with_fx_traces=True)["device_traces"][0]]


def test_history_is_forgotten_when_it_stops():
    torch.npu._record_memory_history()
    torch.ones(1000, device="npu")
    assert "alloc" in actions()
    torch.npu._record_memory_history(None)
    assert "alloc" not in actions()


def test_history_is_asked_for_as_before_pytorch_2_1():
    try:
        torch.npu._record_memory_history(True, trace_alloc_max_entries=100, trace_alloc_record_context=True)
        torch.ones(1000, device="npu")
        assert "alloc" in actions()
        with pytest.raises(TypeError, match="unexpected keyword argument 'entries'"):
            torch.npu._record_memory_history(True, entries=3)
    finally:
        torch.npu._record_memory_history(False)
    assert "alloc" not in actions()


@pytest.mark.parametrize(
    ("known", "wanted"),
    [
        ({"enabled": "yes"}, "expected state to be 'state', 'all', or None"),
        ({"context": "never"}, "expected context to be 'state', 'alloc', 'all', or None"),
        ({"stacks": "c"}, "expected stacks to be 'python', or 'all'"),
    ],
)
def test_a_kind_of_history_that_there_is_not_is_pytorchs_error(known, wanted):
    with pytest.raises(RuntimeError, match=wanted):
        torch.npu._record_memory_history(**known)


def test_history_is_kept_of_devices_that_are_used_later():
    code = (
        "import mindtorch_v2 as torch\n"
        "torch.npu._record_memory_history()\n"
        "x = torch.ones(5, device='npu:1')\n"
        "print([entry['action'] for entry in torch.npu._snapshot()['device_traces'][1]][:2])"
    )
    environment = {**os.environ, "SOFTNPU_DEVICES": "2"}
    result = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60
    )
    assert result.stdout.strip() == "['segment_alloc', 'alloc']", result.stderr


@pytest.mark.parametrize(
    ("call", "wanted"),
    [
        (lambda: torch.npu.MemPool(3), "wants a torch.npu.NPUPluggableAllocator or None, but got 3"),
        (lambda: torch.npu.use_mem_pool("pool").__enter__(), "wants a torch.npu.MemPool, but got 'pool'"),
        (lambda: memory.detach_out_of_memory_observer(print), "was not attached"),
        (lambda: memory._record_memory_history(max_entries=-1), "a number of actions, but got -1"),
        (lambda: memory._record_memory_history(skip_actions="alloc"), r"write \['alloc'\]"),
    ],
)
def test_what_makes_no_sense_is_refused_with_what_was_wanted(call, wanted):
    with pytest.raises((TypeError, ValueError), match=wanted):
        call()
