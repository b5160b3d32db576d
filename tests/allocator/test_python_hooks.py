"""NpuAllocator and NpuPinnedPool over hooks: what is called when, what exceptions do, and threads."""

import gc
import threading
import time

import pytest

from mindtorch_v2 import _C
from mindtorch_v2._backends.npu import allocator

MiB = 1 << 20


@pytest.fixture
def device(make_device):
    return make_device(64 * MiB)


@pytest.fixture
def pool(device):
    return device.attach(allocator.NpuAllocator())


def test_a_cache_hit_calls_no_hook(pool, device):
    pool.free(pool.malloc(1000))
    device.calls.clear()
    for _ in range(10):
        pool.free(pool.malloc(1000))
    assert device.calls == []


def test_out_of_memory_is_a_runtime_error_with_one_argument(pool):
    pool.malloc(40 * MiB)
    with pytest.raises(RuntimeError) as info:
        pool.malloc(30 * MiB)
    error = info.value
    assert type(error) is _C.OutOfMemoryError
    assert len(error.args) == 1
    assert error.args[0].startswith("NPU out of memory. Tried to allocate 30.00 MiB.")
    assert "acl.rt.malloc failed: 207001" in error.args[0]


def test_after_out_of_memory_the_allocator_goes_on(pool, device):
    first = pool.malloc(40 * MiB)
    with pytest.raises(_C.OutOfMemoryError):
        pool.malloc(30 * MiB)
    pool.free(first)
    second = pool.malloc(50 * MiB)
    pool.free(second)
    pool.empty_cache()
    assert device.used == 0
    assert pool.memory_stats()["reserved_bytes.all.current"] == 0


@pytest.mark.parametrize("kind", [KeyboardInterrupt, TypeError, ZeroDivisionError])
def test_other_exceptions_of_a_hook_come_through_unchanged(pool, kind):
    def broken(size):
        raise kind("from the hook")

    good = pool._raw_malloc
    pool._raw_malloc = broken
    with pytest.raises(kind, match="from the hook"):
        pool.malloc(100)
    pool._raw_malloc = good
    pool.free(pool.malloc(100))
    assert pool._stats["num_ooms"] == 0


def test_a_hook_that_returns_nonsense_is_named(pool):
    pool._raw_malloc = lambda size: (4096, size - 1)
    with pytest.raises(TypeError, match="_raw_malloc must return"):
        pool.malloc(100)


def test_a_failing_synchronisation_is_raised_and_loses_nothing(pool, device):
    address = pool.malloc(3 * MiB)
    pool.record_stream(address, 9)
    pool.free(address)

    def broken():
        raise RuntimeError("device lost")

    good, pool._sync_device = pool._sync_device, broken
    with pytest.raises(RuntimeError, match="device lost"):
        pool.empty_cache()
    assert pool._stats["active.all.current"] == 1
    pool._sync_device = good
    pool.empty_cache()
    assert device.used == 0


def test_events_are_recorded_for_other_streams_only(pool, device):
    pool.free(pool.malloc(1000, stream=5), stream=5)
    assert "record" not in device.calls
    address = pool.malloc(1000, stream=5)
    pool.free(address, stream=6)
    assert device.calls.count("record") == 1
    assert pool.malloc(1000, stream=5) != address
    device.finish()
    assert pool.malloc(1000, stream=5) == address


def test_freeing_what_was_not_allocated_is_an_error(pool):
    address = pool.malloc(10)
    pool.free(address)
    for wrong in (address, 12345):
        with pytest.raises(RuntimeError, match="was not allocated here"):
            pool.free(wrong)
    assert pool.malloc(0) == 0
    pool.free(0)


def test_statistics_have_exactly_the_names_of_pytorch(pool):
    stats = pool.memory_stats()
    assert len(stats) == 123
    assert list(stats) == sorted(stats)
    assert stats["max_split_size"] == -1
    pool._stats["num_ooms"] = 7
    assert pool.memory_stats()["num_ooms"] == 7
    assert dict(pool._stats) == pool.memory_stats()
    with pytest.raises(KeyError):
        pool._stats["no.such.name"]
    with pytest.raises(RuntimeError, match="not an allocator statistic"):
        pool._stats["no.such.name"] = 1


def test_cached_blocks_can_be_listed_and_added(pool, device):
    pool.free(pool.malloc(1000))
    (block,) = pool._cached["small_pool"]
    assert (block.size, block.pool, block.stream) == (2 * MiB, "small_pool", None)
    assert len(pool._cached["large_pool"]) == 0
    device.held[77] = 4 * MiB
    pool._cached["large_pool"].append(allocator.Block(77, 4 * MiB, 0, "large_pool", None))
    assert pool.malloc(4 * MiB) == 77
    with pytest.raises(RuntimeError, match="held already"):
        pool._cached["large_pool"].append(allocator.Block(77, 4 * MiB, 0, "large_pool", None))


def test_the_allocator_of_a_device_is_one_object():
    assert allocator.get_allocator(1) is allocator.get_allocator(1)
    assert allocator.get_allocator(1) is not allocator.get_allocator(2)
    assert allocator.get_allocator().device_id == 0


def test_an_allocator_can_be_collected(make_device):
    import weakref

    pool = make_device(MiB * 8).attach(allocator.NpuAllocator())
    pool.malloc(100)
    seen = weakref.ref(pool)
    del pool
    gc.collect()
    assert seen() is None


def test_threads_with_slow_hooks_do_not_lock_up(make_device):
    """A thread inside a hook needs the GIL while others, which hold it, want blocks."""
    device = make_device(48 * MiB)
    pool = device.attach(allocator.NpuAllocator())
    slow_malloc, slow_free = pool._raw_malloc, pool._raw_free
    pool._raw_malloc = lambda size: (time.sleep(0.0002), slow_malloc(size))[1]
    pool._raw_free = lambda address: (time.sleep(0.0002), slow_free(address))[1]
    failures = []

    def work(number):
        held = []
        try:
            for step in range(400):
                size = (step * 7919 * (number + 1)) % (3 * MiB) + 1
                try:
                    held.append(pool.malloc(size, stream=number % 2))
                except _C.OutOfMemoryError:
                    while held:
                        pool.free(held.pop())
                if step % 3 == 0 and held:
                    pool.free(held.pop(0), stream=7)
                if step % 50 == 0:
                    pool.empty_cache()
                    device.finish()
            while held:
                pool.free(held.pop())
        except BaseException as error:  # noqa: BLE001 - handed to the main thread, which fails the test
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,), daemon=True) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
        assert not thread.is_alive(), "the threads are locked up"
    assert failures == []
    pool.empty_cache()
    assert device.used == 0
    assert pool.memory_stats()["active_bytes.all.current"] == 0


def test_pinned_memory_is_cached_and_counted(make_device):
    device = make_device(64 * MiB)
    pool = device.attach(allocator.NpuPinnedPool())
    address = pool.malloc(5000)
    assert pool.is_pinned(address + 10)
    assert not pool.is_pinned(address - 10)
    pool.free(address)
    assert not pool.is_pinned(address)
    assert pool.malloc(8000) == address
    stats = pool.host_memory_stats()
    assert stats["active_bytes.current"] == 8192
    assert stats["num_host_alloc"] == 1
    assert {"allocations.peak", "host_alloc_time.avg", "host_free_time.count"} <= set(stats)
    pool.record_stream(address, 3)
    pool.free(address)
    assert pool.malloc(8000) != address
    device.finish()
    assert pool.malloc(8000) == address
    with pytest.raises(RuntimeError, match="no block in use"):
        pool.free(99)
