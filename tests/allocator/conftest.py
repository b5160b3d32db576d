"""A device made of Python functions, behind the hooks of an NpuAllocator."""

import pytest


class HookedDevice:
    """Memory of ``total`` bytes at made-up addresses. Streams finish when ``finish`` is called."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.held: dict[int, int] = {}
        self.next_address = 1 << 32
        self.calls: list[str] = []
        self.unfinished: set[object] = set()
        self.fail_next_mallocs = 0

    @property
    def used(self) -> int:
        return sum(self.held.values())

    def raw_malloc(self, size):
        self.calls.append("malloc")
        if self.fail_next_mallocs or self.used + size > self.total:
            self.fail_next_mallocs = max(0, self.fail_next_mallocs - 1)
            raise RuntimeError("acl.rt.malloc failed: 207001")
        address = self.next_address
        self.next_address += size
        self.held[address] = size
        return address, size

    def raw_free(self, address):
        self.calls.append("free")
        del self.held[address]

    def mem_get_info(self):
        self.calls.append("info")
        return self.total - self.used, self.total

    def sync_device(self):
        self.calls.append("sync")
        self.unfinished.clear()

    def record_event(self, stream):
        self.calls.append("record")
        event = object()
        self.unfinished.add(event)
        return event

    def event_complete(self, event):
        return event not in self.unfinished

    def finish(self):
        self.unfinished.clear()

    def attach(self, pool):
        pool._raw_malloc = self.raw_malloc
        pool._raw_free = self.raw_free
        pool._mem_get_info = self.mem_get_info
        pool._sync_device = self.sync_device
        pool._record_event = self.record_event
        pool._event_complete = self.event_complete
        return pool


@pytest.fixture
def make_device():
    return HookedDevice


@pytest.fixture(autouse=True)
def fresh_conf(monkeypatch):
    """No configuration from outside, and none left for the next test."""
    from mindtorch_v2._backends.npu import allocator

    for name in ("MINDTORCH_NPU_ALLOC_CONF", "PYTORCH_NPU_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"):
        monkeypatch.delenv(name, raising=False)
    allocator._reset_alloc_conf_for_test()
    yield
    allocator._reset_alloc_conf_for_test()
