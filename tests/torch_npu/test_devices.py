"""Streams, events, memory and the functions of torch.npu."""

import pytest
import torch

MEBIBYTE = 1 << 20


def test_the_device_says_what_it_is() -> None:
    assert torch.npu.is_available() and torch.npu.device_count() >= 1
    assert torch.npu.current_device() == 0
    assert torch.npu.get_device_name(0).startswith("Ascend910B")
    properties = torch.npu.get_device_properties(0)
    assert properties.name == torch.npu.get_device_name(0)
    torch.npu.set_device(0)  # the runtime tells the memory of the device that is set
    free, total = torch.npu.mem_get_info()
    assert 0 < free <= total
    assert properties.total_memory == total
    assert torch.npu.is_bf16_supported()


def test_an_unknown_device_is_refused() -> None:
    with pytest.raises(RuntimeError):
        torch.npu.set_device(torch.npu.device_count())


def test_memory_statistics_count_what_is_allocated() -> None:
    torch.npu.synchronize()
    torch.npu.empty_cache()
    torch.npu.reset_peak_memory_stats()
    before = torch.npu.memory_allocated()
    block = torch.empty(4 * MEBIBYTE, dtype=torch.uint8, device="npu")
    # The allocator keeps 32 bytes more than asked for and rounds up to 512.
    assert torch.npu.memory_allocated() - before == 4 * MEBIBYTE + 512
    assert torch.npu.memory_reserved() >= torch.npu.memory_allocated()
    del block
    assert torch.npu.memory_allocated() == before
    assert torch.npu.max_memory_allocated() >= before + 4 * MEBIBYTE
    assert torch.npu.memory_stats()["allocation.all.allocated"] > 0
    torch.npu.empty_cache()
    assert "Allocated memory" in torch.npu.memory_summary()


def test_a_snapshot_shows_the_segments_in_use() -> None:
    block = torch.empty(3 * MEBIBYTE, dtype=torch.uint8, device="npu")
    segments = torch.npu.memory_snapshot()
    assert any(
        segment["address"] <= block.data_ptr() < segment["address"] + segment["total_size"]
        for segment in segments
    )


def test_work_on_a_side_stream_is_seen_after_waiting_for_its_event() -> None:
    x = torch.arange(1000, dtype=torch.float32, device="npu")
    side, done = torch.npu.Stream(), torch.npu.Event()
    side.wait_stream(torch.npu.current_stream())
    with torch.npu.stream(side):
        assert torch.npu.current_stream() == side
        y = x * 2
        done.record()
    torch.npu.current_stream().wait_event(done)
    assert (y + 1).sum().item() == 999 * 1000 + 1000
    side.synchronize()
    assert side.query() and done.query()


def test_events_measure_time_between_each_other() -> None:
    start, end = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    start.record()
    torch.ones(100, 100, device="npu") @ torch.ones(100, 100, device="npu")
    end.record()
    end.synchronize()
    assert start.elapsed_time(end) > 0


def test_copies_of_pinned_memory_are_asynchronous_and_right() -> None:
    x = torch.arange(5000, dtype=torch.float32).pin_memory()
    assert x.is_pinned()
    y = x.to("npu", non_blocking=True)
    back = torch.empty(5000, dtype=torch.float32).pin_memory()
    back.copy_(y * 2, non_blocking=True)
    torch.npu.synchronize()
    assert torch.equal(back, x * 2)


def test_the_state_of_the_generator_can_be_kept_and_restored() -> None:
    state = torch.npu.get_rng_state()
    first = torch.rand(8, device="npu")
    torch.npu.set_rng_state(state)
    assert torch.equal(torch.rand(8, device="npu"), first)
    generator = torch.Generator(device="npu").manual_seed(5)
    assert generator.initial_seed() == 5


def test_the_gradient_scaler_skips_a_step_with_infinite_gradients() -> None:
    weight = torch.nn.Parameter(torch.ones(4, device="npu"))
    optimizer, scaler = torch.optim.SGD([weight], lr=1.0), torch.amp.GradScaler("npu", init_scale=16.0)
    for factor, expected in [(float("inf"), 1.0), (0.25, 0.75)]:
        optimizer.zero_grad()
        scaler.scale((weight * factor).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        assert weight.tolist() == [expected] * 4
    assert scaler.get_scale() == 8.0


def test_a_data_loader_pins_its_batches() -> None:
    data = torch.utils.data.TensorDataset(torch.arange(12.0).view(6, 2), torch.arange(6))
    loader = torch.utils.data.DataLoader(data, batch_size=2, pin_memory=True)
    seen = [y.to("npu", non_blocking=True) + x.to("npu", non_blocking=True).sum().long() for x, y in loader]
    assert torch.cat(seen).tolist() == [6, 7, 24, 25, 42, 43]
