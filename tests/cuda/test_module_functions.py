"""The functions of torch.cuda that need a driver but no kernel, over a made-up one."""

import subprocess
import sys

import fake_gpu
import pytest


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    folder = tmp_path_factory.mktemp("driver")
    fake_gpu.build(folder)
    return fake_gpu.environment(folder)


def run(machine, program):
    done = subprocess.run(
        [sys.executable, "-c", "import mindtorch_v2 as torch\n" + program],
        env=machine, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_events_take_their_arguments_without_names(machine):
    run(
        machine,
        """
begin, end = torch.cuda.Event(True), torch.cuda.Event(True, False)
assert begin.enable_timing and not begin.blocking
begin.record(), end.record(), end.synchronize()
assert begin.elapsed_time(end) >= 0
try:
    torch.cuda.Event(external=True)
except NotImplementedError as error:
    assert "torch.cuda.Event(external=True)" in str(error)
else:
    raise AssertionError("no error")
""",
    )


def test_streams_have_priorities_and_only_those_of_gpus_are_taken(machine):
    run(
        machine,
        """
assert torch.cuda.Stream.priority_range() == (0, -5)
side = torch.cuda.Stream(priority=-1)
with torch.cuda.stream(side):
    assert torch.cuda.current_stream() == side != torch.cuda.default_stream()
outside = torch.cuda.get_stream_from_external(side.cuda_stream)
assert type(outside) is torch.cuda.ExternalStream and outside == side
torch.cuda.set_stream(side)
assert torch.cuda.current_stream() == side
for function in (torch.cuda.stream, torch.cuda.set_stream):
    try:
        function(torch.Stream("cpu"))
    except TypeError as error:
        assert "wants a stream of cuda or None" in str(error)
    else:
        raise AssertionError("no error")
torch.cuda.set_sync_debug_mode("warn")
assert torch.cuda.get_sync_debug_mode() == 1
""",
    )


def test_memory_comes_from_pools_and_goes_back(machine):
    run(
        machine,
        """
import os
assert torch.cuda.get_allocator_backend() == "native"
address = torch.cuda.caching_allocator_alloc(1000)
assert torch.cuda.memory_allocated() == 1024
assert torch.cuda.mem_get_info() == (1 << 30, 1 << 30) and torch.cuda.device_memory_used() == 0
assert f"process {os.getpid():>10d} uses        2.000 MB CUDA memory" in torch.cuda.list_gpu_processes()
torch.cuda.caching_allocator_delete(address)
assert torch.cuda.memory_allocated() == 0
pool = torch.cuda.MemPool()
with torch.cuda.use_mem_pool(pool):
    kept = torch.empty(1 << 20, device="cuda")
assert [segment["segment_pool_id"] for segment in pool.snapshot()] == [pool.id]
assert torch.cuda.memory_snapshot(pool.id)[0]["segment_pool_id"] == pool.id
del kept, pool
torch.cuda.empty_cache()
assert torch.cuda.memory_reserved() == 0
with torch.cuda.caching_allocator_disabled():
    torch.empty(1 << 20, device="cuda")
    assert torch.cuda.memory_reserved() == 0
torch.cuda.set_per_process_memory_limit(1 << 20)
try:
    torch.empty(1 << 20, device="cuda")
except torch.cuda.OutOfMemoryError:
    pass
else:
    raise AssertionError("no error")
torch.cuda.reset_peak_host_memory_stats()
torch.cuda.reset_accumulated_host_memory_stats()
assert torch.cuda.host_memory_stats_as_nested_dict()
""",
    )


def test_random_numbers_have_states(machine):
    run(
        machine,
        """
torch.cuda.manual_seed_all(7)
assert torch.cuda.initial_seed() == 7
states = torch.cuda.get_rng_state_all()
torch.cuda.manual_seed(8)
torch.cuda.set_rng_state_all(states)
assert torch.cuda.initial_seed() == 7 and len(torch.cuda.default_generators) == torch.cuda.device_count()
assert torch.equal(torch.cuda.get_rng_state(), states[0])
""",
    )


def test_autocast_and_scalers_are_on_where_a_gpu_is(machine):
    run(
        machine,
        """
import warnings
warnings.simplefilter("error")
with torch.autocast("cuda", dtype=torch.bfloat16) as mode:
    assert mode.device == "cuda" and torch.is_autocast_enabled("cuda") and torch.is_autocast_enabled()
    assert torch.get_autocast_dtype("cuda") == torch.get_autocast_gpu_dtype() == torch.bfloat16
with torch.autocast("cuda"), torch.autocast("cuda", enabled=False):
    assert not torch.is_autocast_enabled("cuda")
assert torch.amp.GradScaler().is_enabled() and torch.get_autocast_dtype("cuda") == torch.float16
""",
    )
