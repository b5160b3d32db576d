"""memory_summary, nested statistics and snapshots in PyTorch's layout."""

import pickle
import pickletools

import pytest

from mindtorch_v2._backends.npu import allocator
from mindtorch_v2._devices import memory as _memory

MiB = 1 << 20


@pytest.fixture
def pool(make_device):
    return make_device(64 * MiB).attach(allocator.NpuAllocator())


def test_summary_is_a_table_of_one_width(pool):
    pool.malloc(5 * MiB)
    text = _memory.memory_summary(pool.memory_stats(), device=3)
    lines = text.splitlines()
    assert {len(line) for line in lines} == {77}
    assert "MindTorch NPU memory summary, device ID 3" in text
    assert text.count("from large pool") == 9
    (allocated,) = [line for line in lines if line.startswith("| Allocated memory ")]
    assert allocated.split("|")[2].split() == ["5120", "KiB"]


def test_abbreviated_summary_leaves_out_the_pools(pool):
    assert "from large pool" not in _memory.memory_summary(pool.memory_stats(), abbreviated=True)


def test_summary_treats_missing_keys_as_zero():
    text = _memory.memory_summary({"allocated_bytes.all.current": 2048})
    assert "2048 B" in text
    assert "Reserved memory" in text


def test_large_numbers_keep_the_width(pool):
    pool._stats["allocated_bytes.all.allocated"] = 5 << 50
    pool._stats["allocation.all.allocated"] = 10**9
    assert {len(line) for line in _memory.memory_summary(pool.memory_stats()).splitlines()} == {77}


def test_nested_and_flat_are_opposites(pool):
    stats = pool.memory_stats()
    nested = _memory.nested(stats)
    assert nested["allocated_bytes"]["all"]["peak"] == stats["allocated_bytes.all.peak"]
    assert _memory.flat(nested) == stats


def test_snapshot_blocks_tile_their_segments(pool):
    live = pool.malloc(1000)
    pool.free(pool.malloc(3000))
    waiting = pool.malloc(5000)
    pool.free(waiting, stream=8)
    snapshot = pool.snapshot()
    assert (snapshot["device"], snapshot["allocator"]) == (0, "npu")
    (segment,) = snapshot["segments"]
    assert segment["total_size"] == sum(block["size"] for block in segment["blocks"]) == 2 * MiB
    states = {block["address"]: block["state"] for block in segment["blocks"]}
    assert states[live] == "active_allocated"
    assert states[waiting] == "active_pending_free"
    assert segment["allocated_size"] == 1024
    assert segment["active_size"] == 1024 + 5120
    assert segment["requested_size"] == 1000 + 5000


def test_history_has_the_python_stack_of_the_allocation(pool):
    pool.record_memory_history(1000)
    address = pool.malloc(1000)
    snapshot = pool.snapshot()
    pool.record_memory_history(0)
    (entry,) = [entry for entry in snapshot["trace"] if entry["action"] == "alloc"]
    assert entry["addr"] == address
    assert entry["size"] == 1000
    names = [frame["name"] for frame in entry["frames"]]
    assert "test_history_has_the_python_stack_of_the_allocation" in names
    (block,) = [block for block in snapshot["segments"][0]["blocks"] if block["address"] == address]
    assert block["frames"] == entry["frames"]


def test_out_of_memory_is_in_the_history(pool):
    pool.record_memory_history(1000, with_stacks=False)
    with pytest.raises(RuntimeError):
        pool.malloc(100 * MiB)
    entry = pool.snapshot()["trace"][0]
    assert entry["action"] == "oom"
    assert entry["device_free"] == 64 * MiB
    assert "addr" not in entry


def test_equal_stacks_have_one_number():
    table = _memory.StackTable()
    first, second = (table.capture() for _ in range(2))
    assert first == second
    assert table.frames(0) == []
    assert table.capture() != first


def test_torch_snapshot_has_a_history_for_every_device(pool, make_device):
    other = make_device(8 * MiB).attach(allocator.NpuAllocator(device_id=2))
    other.malloc(10)
    pool.malloc(10)
    snapshot = _memory.torch_snapshot([pool.snapshot(), other.snapshot()])
    assert set(snapshot) == {"segments", "device_traces", "allocator_settings", "external_annotations"}
    assert [segment["device"] for segment in snapshot["segments"]] == [0, 2]
    assert len(snapshot["device_traces"]) == 3
    assert snapshot["allocator_settings"]["max_split_size"] == -1


def test_dumped_snapshot_uses_only_what_the_viewer_reads(pool, tmp_path):
    pool.record_memory_history(1000)
    pool.free(pool.malloc(1000))
    path = tmp_path / "snapshot.pickle"
    _memory.dump_snapshot(_memory.torch_snapshot([pool.snapshot()]), str(path))
    pool.record_memory_history(0)
    data = path.read_bytes()
    readable = set(
        "PROTO FRAME STOP MARK MEMOIZE BINPUT LONG_BINPUT BINGET LONG_BINGET NONE NEWTRUE NEWFALSE BININT "
        "BININT1 BININT2 LONG1 BINFLOAT SHORT_BINUNICODE BINUNICODE EMPTY_DICT DICT SETITEM SETITEMS "
        "EMPTY_LIST LIST APPEND APPENDS EMPTY_TUPLE TUPLE TUPLE1 TUPLE2 TUPLE3".split()
    )
    assert {opcode.name for opcode, _, _ in pickletools.genops(data)} <= readable
    assert pickle.loads(data)["device_traces"][0]
