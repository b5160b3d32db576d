"""Streams and events. Time is controlled with gates: a closed gate holds a stream's work back."""

import subprocess
import sys
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
    with pytest.raises(ValueError, match="enable_timing=True"):
        plain.elapsed_time(plain)
    timed = torch.npu.Event(enable_timing=True)
    with pytest.raises(ValueError, match="recorded"):
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


def test_torch_stream_and_event_are_those_of_the_device():
    stream, event = torch.Stream("npu"), torch.Event("npu", enable_timing=True)
    assert isinstance(stream, torch.npu.Stream) and isinstance(event, torch.npu.Event)
    assert isinstance(torch.npu.Stream(), torch.Stream) and isinstance(torch.npu.Event(), torch.Event)
    assert stream.device == torch.device("npu:0") and stream.native_handle == stream.npu_stream
    assert torch.Stream(stream_id=stream.stream_id, device_index=0, device_type=stream.device_type) == stream
    with stream:
        assert torch.npu.current_stream() == stream
        with torch.Stream("npu"):
            assert torch.npu.current_stream() != stream
        assert torch.npu.current_stream() == stream
    assert torch.npu.current_stream() == torch.npu.default_stream()
    stream.record_event(event)
    event.synchronize()
    assert event.query()


def test_the_cpu_has_a_stream_that_is_always_idle():
    stream, event = torch.Stream("cpu"), torch.Event("cpu")
    stream.record_event(event)
    stream.wait_event(event)
    assert stream.query() and event.query() and stream.device == torch.device("cpu")
    assert repr(stream).startswith("torch.Stream device_type=cpu")
    with pytest.raises(RuntimeError, match="'meta' is not supported"):
        torch.Stream("meta")


def test_a_stream_that_other_code_made_can_be_used():
    from mindtorch_v2._backends.npu import runtime

    torch.npu.init()
    handle, code = runtime.ensure_acl().rt.create_stream()
    assert code == 0
    stream = torch.npu.ExternalStream(handle)
    with torch.npu.stream(stream):
        y = torch.ones(4, device="npu") + 1
        assert y.tolist() == [2.0] * 4
    assert torch.npu.get_stream_from_external(handle) == stream
    stream.synchronize()
    del y
    with pytest.raises(ValueError, match="handle of a stream"):
        torch.npu.ExternalStream(0)


def test_a_wait_inside_an_operator_can_be_made_a_warning_or_an_error():
    x = torch.ones(4, device="npu")
    try:
        torch.npu.set_sync_debug_mode("warn")
        assert torch.npu.get_sync_debug_mode() == 1
        with pytest.warns(UserWarning, match="called a synchronizing NPU operation"):
            x.sum().item()
        torch.npu.set_sync_debug_mode("error")
        y = x + x  # enqueues and returns
        for wait in (x.cpu, x.tolist, torch.npu.current_stream().synchronize):
            with pytest.raises(RuntimeError, match="called a synchronizing NPU operation"):
                wait()
        torch.npu.synchronize()  # waiting is what it is for
    finally:
        torch.npu.set_sync_debug_mode(0)
    assert y.tolist() == [2.0] * 4
    with pytest.raises(RuntimeError, match="expected one of `default`, `warn`, `error`"):
        torch.npu.set_sync_debug_mode("loud")


def test_streams_have_priorities():
    high, low = torch.npu.Stream(priority=-1), torch.npu.Stream(priority=3)
    assert (high.priority, low.priority) == (-1, 3) and high != low
    assert torch.npu.Stream.priority_range() == torch.npu.stream_priority_range()


WAITER = """
import sys
import mindtorch_v2 as torch
event = torch.npu.Event.from_ipc_handle("npu:0", bytes.fromhex(sys.argv[1]))
print("opened", flush=True)
event.synchronize()
print("passed", event.query())
"""


def test_an_event_is_waited_for_in_another_process():
    event = torch.npu.Event(interprocess=True)
    stream = torch.npu.Stream()
    handle = event.ipc_handle().hex()
    with softnpu.gate(stream.npu_stream):
        event.record(stream)
        assert not event.query()
        command = [sys.executable, "-c", WAITER, handle]
        waiter = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert waiter.stdout.readline() == "opened\n"
    out, _ = waiter.communicate(timeout=60)
    assert out == "passed True\n"
    with pytest.raises(RuntimeError, match="interprocess=True"):
        torch.npu.Event().ipc_handle()
    with pytest.raises(RuntimeError, match="cannot measure time"):
        torch.npu.Event(enable_timing=True, interprocess=True)


def test_what_is_no_stream_or_event_is_refused():
    stream, event = torch.npu.Stream(), torch.npu.Event(enable_timing=True)
    wrong = [
        lambda: torch.npu.Stream(priority="high"),
        lambda: event.record(3),
        lambda: event.wait("stream"),
        lambda: event.elapsed_time(1.0),
        lambda: stream.wait_event(None),
        lambda: stream.wait_stream(event),
        lambda: stream.record_event(stream),
        lambda: torch.npu.set_stream(7),
        lambda: torch.npu.stream("npu"),
        lambda: torch.npu.set_sync_debug_mode(1.0),
        lambda: torch.ones(1, device="npu").record_stream(3),
    ]
    for call in wrong:
        with pytest.raises(TypeError, match="must be|wants|is a number"):
            call()
    with pytest.raises(
        RuntimeError, match="Event device type npu does not match recording stream's device type cpu"
    ):
        event.record(torch.Stream("cpu"))


def test_only_device_memory_is_used_in_the_order_of_streams():
    for device in ("cpu", "meta"):
        with pytest.raises(NotImplementedError, match="Could not run 'aten::record_stream'"):
            torch.ones(1, device=device).record_stream(torch.npu.current_stream())


def test_an_event_says_what_it_is():
    event = torch.npu.Event(True, True)
    assert repr(event) == "<torch.npu.Event uninitialized>" and event.enable_timing and event.blocking
    event.record()
    assert repr(event) == f"<torch.npu.Event {event.event_id:#x}>" and event.npu_event == event.event_id
    with pytest.raises(NotImplementedError, match="ExternalEvent"):
        torch.npu.Event(external=True)
