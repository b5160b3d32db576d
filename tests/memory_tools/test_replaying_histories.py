"""A recorded history, repeated on the allocator: the same events under the same settings, and true predictions under
others."""

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import memory_tools

MiB = 1 << 20


def assert_exact(path):
    snapshot = memory_tools.read(path)
    outcome = memory_tools.replay(snapshot)
    assert memory_tools.differences(snapshot, outcome) == []
    assert outcome.steps.unmatched == 0
    return snapshot, outcome


@pytest.mark.parametrize(
    "conf",
    [
        "",
        "expandable_segments:True",
        "max_split_size_mb:4,roundup_power2_divisions:4",
        "large_segment_size_mb:40",
    ],
)
@pytest.mark.parametrize("name", ["gpt", "cnn", "generate"])
def test_the_recorded_settings_give_the_recorded_events(recorded, name, conf):
    snapshot, outcome = assert_exact(recorded(name, conf))
    # Under the same settings, and on a device without a limit, nothing but addresses can differ.
    assert memory_tools.replay(snapshot, conf).peak_reserved == outcome.peak_reserved


@pytest.mark.parametrize("conf", ["", "expandable_segments:True"])
@pytest.mark.parametrize("name", ["gpt", "cnn", "generate"])
def test_a_history_that_begins_in_the_middle_is_exact_as_well(recorded, name, conf):
    _, outcome = assert_exact(recorded(name, conf, late=True))
    assert outcome.steps.known_before.blocks > 0


def dumped(memory, tmp_path):
    path = tmp_path / "snapshot.pickle"
    memory._dump_snapshot(str(path))
    return path


def test_uses_by_other_streams_end_where_they_ended(memory, tmp_path):
    memory._record_memory_history()
    other = torch.npu.Stream()
    kept = []
    for number in range(12):
        x = torch.ones(1 << (16 + number % 3), device="npu")
        with torch.npu.stream(other):
            x.add_(1)
        x.record_stream(other)
        del x
        kept.append(torch.ones(70_000, device="npu"))
    torch.npu.synchronize()
    kept.append(torch.ones(90_000, device="npu"))
    assert_exact(dumped(memory, tmp_path))


def test_memory_that_ran_out_and_was_made_runs_out_again_at_the_same_place(memory, tmp_path):
    memory._record_memory_history()
    memory.set_per_process_memory_limit(64 * MiB)
    blocks = [torch.empty(8 * MiB, dtype=torch.uint8, device="npu") for _ in range(4)]
    del blocks[1:]
    large = torch.empty(30 * MiB, dtype=torch.uint8, device="npu")  # the cache must go first
    with pytest.raises(torch.OutOfMemoryError):
        torch.empty(60 * MiB, dtype=torch.uint8, device="npu")
    del large, blocks
    snapshot, outcome = assert_exact(dumped(memory, tmp_path))
    assert outcome.fits  # it failed then, too
    assert memory_tools.replay(snapshot, "").reached == 1


def test_pools_of_their_own_are_replayed(memory, tmp_path):
    memory._record_memory_history()
    pool = torch.npu.MemPool()
    with torch.npu.use_mem_pool(pool):
        x = torch.empty(3 * MiB, dtype=torch.uint8, device="npu")
        y = torch.empty(100, device="npu")
    z = torch.empty(3 * MiB, dtype=torch.uint8, device="npu")
    del x, y, pool
    memory.empty_cache()
    z.add_(1)
    assert_exact(dumped(memory, tmp_path))


@pytest.mark.parametrize("name", ["gpt", "cnn", "gen"])
def test_pytorchs_own_allocator_did_on_a_gpu_what_replay_does(pytorch_snapshot, pytorch_numbers, name):
    snapshot, outcome = assert_exact(pytorch_snapshot(name))
    assert outcome.peak_reserved == pytorch_numbers[name][""]["max_memory_reserved"]


@pytest.mark.parametrize("name", ["gpt", "cnn", "gen"])
def test_what_replay_predicts_for_other_settings_is_what_pytorch_then_reserved(
    pytorch_snapshot, pytorch_numbers, name
):
    snapshot = memory_tools.read(pytorch_snapshot(name))
    for conf, measured in pytorch_numbers[name].items():
        outcome = memory_tools.replay(snapshot, conf)
        assert outcome.peak_reserved == pytest.approx(measured["max_memory_reserved"], rel=0.01), conf
        assert outcome.device_allocations == pytest.approx(measured["num_device_alloc"], abs=1), conf


def test_a_smaller_card_runs_out_of_memory_and_the_line_is_named(pytorch_snapshot):
    snapshot = memory_tools.read(pytorch_snapshot("gpt"))
    outcome = memory_tools.replay(snapshot, "", "1200MiB")
    assert not outcome.fits and "out of memory" in outcome.failure
    text = memory_tools.table([outcome], snapshot)
    assert "at event" in text and "/home/user/train.py:" in text


def test_garbage_is_collected_where_it_is_asked_for(pytorch_snapshot):
    snapshot = memory_tools.read(pytorch_snapshot("cnn"))
    without = memory_tools.replay(snapshot, "", "2GiB")
    collecting = memory_tools.replay(snapshot, "garbage_collection_threshold:0.7", "2GiB")
    assert without.collections == 0 and collecting.collections > 0
    assert collecting.peak_reserved < without.peak_reserved


def test_advice_names_the_settings_that_need_least_and_the_smallest_memory(pytorch_snapshot, pytorch_numbers):
    snapshot = memory_tools.read(pytorch_snapshot("cnn"))
    advice = memory_tools.advise(snapshot)
    measured = pytorch_numbers["cnn"]["expandable_segments:True"]
    assert advice.best.conf == "expandable_segments:True"
    assert advice.best.peak_reserved == measured["max_memory_reserved"]
    assert memory_tools.replay(snapshot, advice.best.conf, advice.smallest).fits
    assert not memory_tools.replay(snapshot, advice.best.conf, advice.smallest - 2 * MiB).fits
    assert advice.best.peak_allocated <= advice.smallest <= advice.smallest_as_recorded
    assert advice.card == 4 << 30 and "expandable_segments:True" in str(advice)


def test_settings_that_there_are_not_and_snapshots_without_history_are_errors(pytorch_snapshot, memory):
    snapshot = memory_tools.read(pytorch_snapshot("cnn"))
    with pytest.raises(ValueError, match="unknown key 'max_splt'"):
        memory_tools.replay(snapshot, "max_splt:1")
    with pytest.raises(ValueError, match="size such as 40GiB"):
        memory_tools.replay(snapshot, "", "forty")
    with pytest.raises(memory_tools.SnapshotError, match="no device 3; it has 0"):
        memory_tools.replay(snapshot, "", device=3)
    x = torch.ones(4, device="npu")
    silent = memory_tools.from_data(memory._snapshot())
    with pytest.raises(memory_tools.SnapshotError, match="has no history"):
        memory_tools.replay(silent)
    del x


@pytest.mark.parametrize(
    ("text", "size"), [("40GiB", 40 << 30), ("512 MB", 512 * 10**6), ("1.5g", 3 << 29), ("100", 100), (7, 7)]
)
def test_sizes_are_written_as_people_write_them(text, size):
    assert memory_tools.size_of(text) == size
