"""What every allocator promises, on every upstream: the software NPU's memory and a device made of Python
functions, with segments of fixed size and with growing ones."""

import random
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import _C, softnpu
from mindtorch_v2._backends.npu import allocator

MiB = 1 << 20


class VirtualDevice:
    """Adds addresses without memory to the fixture's device."""

    def __init__(self, device):
        self.device = device
        self.ranges, self.mapped = {}, {}

    def attach(self, pool):
        self.device.attach(pool)
        pool._has_virtual_memory = lambda: True
        pool._reserve_addresses = self.reserve
        pool._release_addresses = self.release
        pool._map_memory = self.map
        pool._unmap_memory = self.unmap
        return pool

    def reserve(self, size):
        address = (1 << 44) + len(self.ranges) * (1 << 40)
        self.ranges[address] = size
        return address

    def release(self, address):
        size = self.ranges[address]
        assert not any(address <= mapped < address + size for mapped in self.mapped)

    def map(self, address, size):
        assert address not in self.mapped
        if self.device.used + size > self.device.total:
            raise RuntimeError("no memory left")
        self.mapped[address] = self.device.held[-address] = size
        return address

    def unmap(self, address, handle):
        assert handle == address
        del self.mapped[address], self.device.held[-address]


class OnDouble:
    def __init__(self, make_device, expandable):
        self.device = make_device(64 * MiB)
        self.pool = VirtualDevice(self.device).attach(made(expandable))

    def used(self):
        return self.device.used

    def stream(self):
        return 7

    def finish(self):
        self.device.finish()


class OnAcl:
    def __init__(self, make_device, expandable):
        torch.npu.synchronize()
        torch.npu.empty_cache()
        self.before = softnpu.live_bytes()
        self.pool = made(expandable)
        self.pool.set_memory_limit(64 * MiB)
        self.side = torch.npu.Stream()

    def used(self):
        return softnpu.live_bytes() - self.before

    def stream(self):
        return self.side.npu_stream

    def finish(self):
        self.side.synchronize()


def made(expandable):
    conf = _C._allocator.parse_alloc_conf(f"expandable_segments:{expandable}", "test")
    pool = allocator.NpuAllocator(0)
    pool._native.configure(conf)
    return pool


@pytest.fixture(params=["double", "acl"])
def upstream(request):
    return {"double": OnDouble, "acl": OnAcl}[request.param]


@pytest.fixture(params=[False, True], ids=["fixed", "expandable"])
def expandable(request):
    return request.param


def check(place, live):
    """Blocks tile their segments, live ones do not overlap, and the sums agree with what the device lends."""
    pool = place.pool
    snapshot, stats = pool.snapshot(False), pool.memory_stats()
    reserved, found = 0, {}
    for segment in snapshot["segments"]:
        address, free_before = segment["address"], False
        for block in segment["blocks"]:
            assert block["address"] == address
            is_free = block["state"] == "inactive"
            assert not (is_free and free_before), "free neighbours have not merged"
            free_before = is_free
            address += block["size"]
            if block["state"] == "active_allocated":
                found[block["address"]] = block
        assert address == segment["address"] + segment["total_size"]
        reserved += segment["total_size"]
    assert {address: block["requested_size"] for address, block in found.items()} == live
    assert stats["reserved_bytes.all.current"] == reserved
    # The software NPU counts what it puts around an allocation, too.
    assert reserved <= place.used() <= reserved + 1024 * len(snapshot["segments"])
    assert stats["allocated_bytes.all.current"] == sum(block["size"] for block in found.values())
    assert stats["requested_bytes.all.current"] >= sum(live.values())
    assert stats["allocation.all.current"] == len(live)


def program(place, seed, steps):
    generator = random.Random(seed)
    pool, live, refused = place.pool, {}, 0
    for step in range(steps):
        choice = generator.random()
        if choice < 0.5:
            size = generator.randrange(1, 2 ** generator.randrange(9, 26))
            stream = place.stream() if generator.random() < 0.3 else None
            try:
                address = pool.malloc(size, stream)
            except torch.OutOfMemoryError:
                refused += 1
                for address in generator.sample(sorted(live), len(live) // 2):
                    pool.free(address)
                    del live[address]
                continue
            assert all(address + size <= other or other + length <= address for other, length in live.items())
            live[address] = size
        elif live and choice < 0.93:
            address = generator.choice(sorted(live))
            del live[address]
            pool.free(address, place.stream() if generator.random() < 0.2 else None)
        elif choice < 0.98:
            place.finish()
        else:
            pool.empty_cache()
        if step % 20 == 0:
            check(place, live)
    for address in live:
        pool.free(address)
    pool.empty_cache()
    check(place, {})
    assert place.used() == 0
    return refused


def test_random_programs_keep_every_promise_and_give_everything_back(upstream, expandable, make_device):
    place = upstream(make_device, expandable)
    refused = sum(program(place, seed, 400) for seed in range(3))
    assert refused > 0  # memory ran out on the way


def test_threads_never_share_memory_and_lose_none(upstream, expandable, make_device):
    place = upstream(make_device, expandable)
    held, lock = {}, threading.Lock()

    def work(seed):
        generator, mine = random.Random(seed), []
        for _ in range(150):
            if len(mine) < 4 and generator.random() < 0.6:
                size = generator.randrange(1, 2 * MiB)
                address = place.pool.malloc(size)
                with lock:
                    assert all(
                        address + size <= other or other + length <= address for other, length in held.items()
                    )
                    held[address] = size
                mine.append(address)
            elif mine:
                address = mine.pop(generator.randrange(len(mine)))
                with lock:
                    del held[address]
                place.pool.free(address)
        for address in mine:
            with lock:
                del held[address]
            place.pool.free(address)

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(work, range(4)))
    place.pool.empty_cache()
    assert place.used() == 0
