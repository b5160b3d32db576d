"""Streams and events. Time is controlled with gates: a closed gate holds a stream's work back."""

import threading

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import softnpu


def test_operators_return_before_the_device_has_run_them():
    x = torch.ones(8, device="npu")
    torch.npu.synchronize()
    stream = torch.npu.current_stream()
    with softnpu.gate(stream.npu_stream):
        y = (x + x) * 3
        assert not stream.query()
    assert y.tolist() == [6.0] * 8
    assert stream.query()


def test_a_backward_pass_is_enqueued_without_waiting():
    w = torch.ones(4, device="npu", requires_grad=True)
    torch.npu.synchronize()
    with softnpu.gate(torch.npu.current_stream().npu_stream):
        (w * w).sum().backward()
        assert not torch.npu.current_stream().query()
    assert w.grad.tolist() == [2.0] * 4


def test_the_default_stream_is_current_until_another_is_chosen():
    assert torch.npu.current_stream() == torch.npu.default_stream()
    side = torch.npu.Stream()
    assert side != torch.npu.default_stream()
    with torch.npu.stream(side):
        assert torch.npu.current_stream() == side
    assert torch.npu.current_stream() == torch.npu.default_stream()


def test_the_current_stream_belongs_to_the_thread():
    side = torch.npu.Stream()
    seen = []
    with torch.npu.stream(side):
        thread = threading.Thread(target=lambda: seen.append(torch.npu.current_stream()))
        thread.start()
        thread.join()
    assert seen == [torch.npu.default_stream()]


def test_an_exception_inside_a_stream_context_restores_the_stream():
    with pytest.raises(ZeroDivisionError), torch.npu.stream(torch.npu.Stream()):
        raise ZeroDivisionError
    assert torch.npu.current_stream() == torch.npu.default_stream()


def test_a_stream_runs_beside_a_stopped_one():
    side = torch.npu.Stream()
    torch.npu.synchronize()
    with softnpu.gate(torch.npu.default_stream().npu_stream):
        with torch.npu.stream(side):
            y = torch.full((4,), 7.0, device="npu")
        side.synchronize()
        with torch.npu.stream(side):
            assert y.tolist() == [7.0] * 4


def test_wait_stream_orders_work_across_streams():
    first, second = torch.npu.Stream(), torch.npu.Stream()
    with softnpu.gate(first.npu_stream):
        with torch.npu.stream(first):
            x = torch.ones(4, device="npu")
        second.wait_stream(first)
        with torch.npu.stream(second):
            y = x + 1
        assert not second.query()
    with torch.npu.stream(second):
        assert y.tolist() == [2.0] * 4
    x.record_stream(second)


def test_a_wait_keeps_the_version_of_the_event_it_saw():
    first, second = torch.npu.Stream(), torch.npu.Stream()
    event = first.record_event()
    first.synchronize()
    with softnpu.gate(first.npu_stream):
        with softnpu.gate(second.npu_stream):
            second.wait_event(event)
            event.record(first)
        second.synchronize()  # would hang if it waited for the second recording
        assert not event.query()
    event.synchronize()
    assert event.query()


def test_an_event_that_was_never_recorded_is_complete():
    event = torch.npu.Event()
    assert event.query()
    event.synchronize()
    event.wait()


def test_elapsed_time_is_measured_on_the_device():
    begin, end = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    begin.record()
    torch.ones(1000, device="npu").sum()
    end.record()
    end.synchronize()
    assert begin.elapsed_time(end) >= 0


def test_elapsed_time_wants_timing_and_recorded_events():
    plain = torch.npu.Event()
    plain.record()
    plain.synchronize()
    with pytest.raises(RuntimeError, match="enable_timing=True"):
        plain.elapsed_time(plain)
    timed = torch.npu.Event(enable_timing=True)
    with pytest.raises(RuntimeError, match="recorded"):
        timed.elapsed_time(timed)


def test_memory_used_by_another_stream_is_not_reused_before_that_stream_is_done():
    side = torch.npu.Stream()
    x = torch.full((256,), 1.0, device="npu")
    side.wait_stream(torch.npu.current_stream())
    torch.npu.synchronize()
    with softnpu.gate(side.npu_stream):
        with torch.npu.stream(side):
            y = x + 1
        address = x.data_ptr()
        x.record_stream(side)
        del x
        assert torch.empty(256, device="npu").data_ptr() != address
    side.synchronize()
    with torch.npu.stream(side):
        assert y.tolist() == [2.0] * 256
