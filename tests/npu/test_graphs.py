"""Graphs: work that was captured once runs again with one call, at the same addresses."""

import gc
import json
import threading

import pytest
from captures import captured

import mindtorch_v2 as torch
from mindtorch_v2 import nn, softnpu

NOT_PERMITTED = "operation not permitted when stream is capturing"


pytestmark = pytest.mark.usefixtures("nothing_is_left_capturing")


# --- capture and replay -------------------------------------------------------------------------------------


def test_a_capture_records_and_does_not_run_and_each_replay_runs_it():
    x = torch.zeros(4, device="npu")
    graph, _ = captured(lambda: x.add_(1))
    assert x.tolist() == [0] * 4
    for _ in range(3):
        graph.replay()
    assert x.tolist() == [3] * 4


def test_a_replay_reads_new_values_from_the_tensors_of_the_capture():
    x = torch.ones(3, device="npu")
    graph, y = captured(lambda: (x * 2).exp().sum())
    for value in (0.0, 1.0, -2.0):
        x.fill_(value)
        graph.replay()
        assert y.item() == pytest.approx(3 * torch.tensor(2 * value).exp().item())


def test_a_replay_takes_its_turn_in_the_current_stream():
    x = torch.zeros(2, device="npu")
    graph, _ = captured(lambda: x.mul_(3))
    side = torch.npu.Stream()
    torch.npu.synchronize()
    with torch.npu.stream(side), softnpu.gate(side.npu_stream):
        x.fill_(5)
        graph.replay()
        x.add_(1)
        assert not side.query()
    side.synchronize()
    assert x.tolist() == [16, 16]


def test_a_stream_of_the_program_can_be_captured():
    x, own = torch.zeros(1, device="npu"), torch.npu.Stream()
    graph, stream = captured(lambda: (x.add_(1), torch.npu.current_stream())[1], stream=own)
    assert stream == own
    graph.replay()
    assert x.item() == 1


def test_the_current_stream_tells_whether_it_is_captured():
    x = torch.zeros(1, device="npu")
    graph, side = torch.npu.NPUGraph(), torch.npu.Stream()
    assert not torch.npu.is_current_stream_capturing()
    with torch.npu.stream(side):
        graph.capture_begin()
        assert torch.npu.is_current_stream_capturing() and side.is_capturing()
        assert not torch.npu.default_stream().is_capturing()
        x += 1
        graph.capture_end()
        assert not side.is_capturing()
    graph.replay()
    assert x.item() == 1


def test_a_graph_is_captured_once_until_it_is_reset():
    x = torch.zeros(1, device="npu")
    graph, _ = captured(lambda: x.add_(1))
    with pytest.raises(RuntimeError, match="already owns a captured graph"), torch.npu.graph(graph):
        pass
    graph.reset()
    with pytest.raises(RuntimeError, match="replay without a preceding successful capture"):
        graph.replay()
    with torch.npu.graph(graph):
        x.add_(10)
    graph.replay()
    assert x.item() == 10


def test_the_default_stream_is_not_captured():
    with pytest.raises(RuntimeError, match="must be captured on a non-default stream"):
        torch.npu.NPUGraph().capture_begin()


def test_a_capture_ends_on_the_stream_that_began_it():
    graph, side = torch.npu.NPUGraph(), torch.npu.Stream()
    with torch.npu.stream(side):
        graph.capture_begin()
        with (
            torch.npu.stream(torch.npu.Stream()),
            pytest.raises(RuntimeError, match="same stream it began on"),
        ):
            graph.capture_end()
        graph.capture_end()
    with pytest.raises(RuntimeError, match="not being captured"):
        graph.capture_end()


def test_unknown_modes_and_pools_are_refused():
    graph = torch.npu.NPUGraph()
    with pytest.raises(RuntimeError, match="Unknown capture error mode"):
        captured(lambda: None, capture_error_mode="strict")
    with pytest.raises(TypeError, match="graph_pool_handle"):
        captured(lambda: None, pool=7)
    with pytest.raises(TypeError, match="wants a graph"), torch.npu.graph(torch.npu.Stream()):
        pass
    with pytest.raises(RuntimeError, match="without a preceding successful capture"):
        graph.pool()


def test_a_graph_that_dies_in_its_capture_ends_it():
    side = torch.npu.Stream()
    with torch.npu.stream(side):
        graph = torch.npu.NPUGraph()
        graph.capture_begin()
        torch.ones(3, device="npu") + 1
        del graph
        gc.collect()
        assert not side.is_capturing()
        assert (torch.ones(3, device="npu") + 1).tolist() == [2] * 3


def test_a_dump_lists_what_the_graph_does(tmp_path):
    x = torch.ones(2, device="npu")
    graph, _ = captured(lambda: torch.exp(x))
    graph.debug_dump(tmp_path / "graph.json")
    assert any("aclnnExp" in task["name"] for task in json.loads((tmp_path / "graph.json").read_text()))


def test_an_error_of_the_program_leaves_the_capture_and_goes_on():
    x = torch.zeros(1, device="npu")
    graph = torch.npu.NPUGraph()
    with pytest.raises(ValueError, match="mine"), torch.npu.graph(graph):
        x += 1
        raise ValueError("mine")
    assert x.item() == 0


# --- what cannot be captured --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wait",
    [
        lambda x: x.sum().item(),
        lambda x: x.cpu(),
        lambda x: torch.npu.synchronize(),
        lambda x: torch.npu.current_stream().synchronize(),
        lambda x: torch.npu.current_stream().query(),
        lambda x: bool(x.any()),
        lambda x: x.nonzero(),
    ],
    ids=["item", "cpu", "synchronize", "stream", "query", "bool", "nonzero"],
)
def test_waiting_is_refused_and_ends_the_capture(wait):
    x = torch.ones(3, device="npu")
    graph = torch.npu.NPUGraph()
    with pytest.raises(RuntimeError, match="due to a previous error during capture") as caught:
        with torch.npu.graph(graph):
            with pytest.raises(RuntimeError, match=NOT_PERMITTED):
                wait(x)
            x + 1
    assert "records and does not run" in str(caught.value)
    with pytest.raises(RuntimeError, match="without a preceding successful capture"):
        graph.replay()
    assert (x + 1).tolist() == [2] * 3  # the device is as before


def test_pageable_memory_is_refused():
    graph, x = torch.npu.NPUGraph(), torch.zeros(3, device="npu")
    with pytest.raises(RuntimeError, match="due to a previous error"), torch.npu.graph(graph):
        with pytest.raises(RuntimeError, match="pin_memory"):
            x.copy_(torch.arange(3.0))


def test_a_number_becomes_part_of_the_graph():
    graph, x = captured(lambda: torch.full((2,), 7.0, device="npu") + torch.tensor(3.0, device="npu"))
    graph.replay()
    assert x.tolist() == [10, 10]


def test_a_copy_from_pinned_memory_reads_what_is_there_when_it_is_replayed():
    batch, x = torch.tensor([1.0, 2.0]).pin_memory(), torch.zeros(2, device="npu")
    graph, y = captured(lambda: x.copy_(batch, non_blocking=True) * 10)
    for values in ([3.0, 4.0], [5.0, 6.0]):
        batch.copy_(torch.tensor(values))
        graph.replay()
        assert y.tolist() == [10 * value for value in values]
        torch.npu.synchronize()


def test_pinned_memory_of_a_graph_is_not_used_for_anything_else():
    x = torch.zeros(1024, device="npu")

    def copy():
        x.copy_(torch.full((1024,), 7.0).pin_memory(), non_blocking=True)

    graph, _ = captured(copy)  # the pinned tensor is gone
    others = [torch.full((1024,), 1.0).pin_memory() for _ in range(4)]
    graph.replay()
    assert x.tolist() == [7.0] * 1024
    in_use = torch.npu.host_memory_stats()["active_requests.current"]
    graph.reset()
    torch.npu.synchronize()
    del others
    torch.empty(1).pin_memory()
    assert torch.npu.host_memory_stats()["active_requests.current"] == in_use - 5


def test_a_copy_to_pinned_memory_is_captured():
    x, host = torch.ones(2, device="npu"), torch.zeros(2).pin_memory()
    graph, _ = captured(lambda: host.copy_(x + 4, non_blocking=True))
    assert host.tolist() == [0, 0]
    graph.replay()
    torch.npu.synchronize()
    assert host.tolist() == [5, 5]


def test_a_wait_for_work_before_the_capture_is_refused():
    before = torch.npu.Event()
    before.record()
    with pytest.raises(RuntimeError, match="before the capture"):
        captured(before.wait)


def test_other_threads_may_wait_for_their_streams_while_one_captures():
    started, done = threading.Event(), threading.Event()
    found = []

    def other():
        started.wait()
        found.append(torch.full((3,), 2.0, device="npu").add(1).tolist())
        done.set()

    thread = threading.Thread(target=other)
    thread.start()
    x = torch.zeros(1, device="npu")
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph, capture_error_mode="thread_local"):
        x += 1
        started.set()
        done.wait()
        x += 1
    thread.join()
    graph.replay()
    assert found == [[3.0] * 3] and x.item() == 2


# --- streams ------------------------------------------------------------------------------------------------


def test_streams_that_fork_and_join_are_part_of_the_graph():
    x = torch.ones(4, device="npu")
    side = torch.npu.Stream()

    def fork():
        main = torch.npu.current_stream()
        side.wait_stream(main)
        with torch.npu.stream(side):
            assert torch.npu.is_current_stream_capturing()
            a = x * 2
        b = x * 3
        main.wait_stream(side)
        a.record_stream(main)
        return a + b

    graph, y = captured(fork)
    x.fill_(10)
    graph.replay()
    assert y.tolist() == [50] * 4
    assert not side.is_capturing()


def test_a_stream_that_does_not_join_again_is_an_error():
    x, side = torch.ones(4, device="npu"), torch.npu.Stream()

    def fork():
        side.wait_stream(torch.npu.current_stream())
        with torch.npu.stream(side):
            x + 1

    with pytest.raises(RuntimeError, match="wait_stream"):
        captured(fork)
    assert (x + 1).tolist() == [2] * 4


def test_an_event_of_a_capture_is_recorded_again_afterwards():
    x, event = torch.ones(2, device="npu"), torch.npu.Event()
    captured(lambda: (x + 1, event.record()))
    with pytest.raises(RuntimeError, match="capture"):
        event.synchronize()
    event.record()
    event.synchronize()
    assert event.query()


def test_an_external_event_lets_a_graph_wait_for_work_outside():
    x, y = torch.zeros(1, device="npu"), torch.zeros(1, device="npu")
    flag = torch.npu.ExternalEvent()

    def wait():
        flag.wait()
        flag.reset()
        y.copy_(x)

    graph, _ = captured(wait)
    side = torch.npu.Stream()
    for value in (1.0, 2.0):
        graph.replay()
        assert not torch.npu.current_stream().query()
        with torch.npu.stream(side):
            x.fill_(value)
            flag.record()
        assert y.item() == value


# --- memory -------------------------------------------------------------------------------------------------


def test_memory_of_a_graph_is_its_own():
    x = torch.ones(1 << 16, device="npu")
    graph, y = captured(lambda: (x * 2) + 1)  # x * 2 is gone
    taken = [torch.full((1 << 16,), 9.0, device="npu") for _ in range(8)]
    graph.replay()
    assert y.sum().item() == 3 * (1 << 16)
    assert all(t.sum().item() == 9 * (1 << 16) for t in taken)


def test_a_graph_gives_its_memory_back_when_it_is_gone():
    def reserved():
        gc.collect()
        torch.npu.synchronize()
        torch.npu.empty_cache()
        return torch.npu.memory_reserved()

    before = reserved()
    graph, y = captured(lambda: torch.zeros(1 << 22, device="npu") + 1)
    assert reserved() >= before + (1 << 24)
    graph.replay()
    del y
    assert reserved() >= before + (1 << 24)  # a replay writes there
    graph.reset()
    assert reserved() == before


def test_graphs_that_share_a_pool_reuse_its_memory():
    def step(value):
        return lambda: torch.full((1 << 20,), value, device="npu").sum()

    pool = torch.npu.graph_pool_handle()
    first, a = captured(step(2.0), pool=pool)
    reserved = torch.npu.memory_reserved()
    second, b = captured(step(3.0), pool=first.pool())
    assert first.pool() == second.pool() == pool
    assert torch.npu.memory_reserved() == reserved
    first.replay()
    assert a.item() == 2 << 20
    second.replay()
    assert b.item() == 3 << 20


def test_tensors_that_other_streams_use_are_kept_until_the_capture_ends():
    def active():
        return torch.npu.memory_stats()["active_bytes.all.current"]

    side = torch.npu.Stream()
    outside = torch.ones(1 << 12, device="npu")
    outside.record_stream(side)
    before = active()

    def use():
        nonlocal outside
        outside = None  # given back while events cannot be recorded
        assert active() == before
        return torch.zeros(1 << 12, device="npu") + 1

    graph, y = captured(use)
    graph.replay()
    assert y.sum().item() == 1 << 12
    torch.npu.empty_cache()
    assert active() == before  # the result instead


def test_running_out_of_memory_in_a_capture_is_told_and_the_device_goes_on():
    total = torch.npu.mem_get_info()[1]
    graph = torch.npu.NPUGraph()
    with pytest.raises(torch.OutOfMemoryError), torch.npu.graph(graph):
        torch.empty(total, dtype=torch.uint8, device="npu")
    assert torch.ones(3, device="npu").sum().item() == 3


def test_emptying_the_cache_in_a_capture_changes_nothing():
    x = torch.ones(4, device="npu")

    def step():
        y = x * 2
        torch.npu.empty_cache()
        return y + 1

    graph, y = captured(step)
    graph.replay()
    assert y.tolist() == [3] * 4


# --- random numbers -----------------------------------------------------------------------------------------

DRAWS = {
    "uniform": lambda: torch.rand(7, device="npu"),
    "normal": lambda: torch.randn(7, device="npu"),
    "integers": lambda: torch.randint(0, 1000, (7,), device="npu"),
    "full range": lambda: torch.empty(7, dtype=torch.int32, device="npu").random_(),
    "bernoulli": lambda: torch.empty(64, device="npu").bernoulli_(0.3),
    "booleans": lambda: torch.empty(64, dtype=torch.bool, device="npu").bernoulli_(0.5),
    "probabilities": lambda: torch.bernoulli(torch.full((64,), 0.4, device="npu")),
    "exponential": lambda: torch.empty(7, device="npu").exponential_(2.0),
    "multinomial": lambda: torch.multinomial(torch.ones(20, device="npu"), 5),
    "dropout": lambda: nn.functional.dropout(torch.ones(64, device="npu"), 0.5),
}


@pytest.mark.parametrize("name", DRAWS)
def test_replays_draw_what_the_operators_would(name):
    draw = DRAWS[name]
    torch.manual_seed(5)
    wanted = [draw().tolist() for _ in range(3)]
    graph, drawn = captured(draw)
    torch.manual_seed(5)
    got = []
    for _ in range(3):
        graph.replay()
        got.append(drawn.tolist())
    assert got == wanted
    assert got[0] != got[1] != got[2]


def test_replays_and_operators_take_turns_with_the_generator():
    torch.manual_seed(1)
    wanted = [torch.rand(3, device="npu").tolist() for _ in range(4)]
    graph, drawn = captured(lambda: torch.rand(3, device="npu"))
    torch.manual_seed(1)
    got = []
    for turn in range(4):
        if turn % 2:
            graph.replay()
        got.append((drawn if turn % 2 else torch.rand(3, device="npu")).tolist())
    assert got == wanted


def test_a_generator_of_the_program_is_registered():
    generator = torch.Generator("npu").manual_seed(3)
    wanted = [torch.rand(3, device="npu", generator=generator).tolist() for _ in range(2)]
    generator.manual_seed(3)
    with pytest.raises(RuntimeError, match="register_generator_state"):
        captured(lambda: torch.rand(3, device="npu", generator=generator))
    graph = torch.npu.NPUGraph()
    graph.register_generator_state(generator)
    with torch.npu.graph(graph):
        drawn = torch.rand(3, device="npu", generator=generator)
    got = []
    for _ in range(2):
        graph.replay()
        got.append(drawn.tolist())
    assert got == wanted
    with pytest.raises(TypeError, match=r"torch\.Generator"):
        torch.npu.NPUGraph().register_generator_state(3)


def test_the_state_of_a_generator_is_not_there_during_a_capture():
    for use in (torch.npu.get_rng_state, lambda: torch.npu.manual_seed(77)):
        with pytest.raises(RuntimeError, match="during a capture"):
            captured(use)


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.float32])
def test_each_replay_draws_another_permutation(dtype):
    graph, drawn = captured(lambda: torch.randperm(50, device="npu", dtype=dtype))
    got = []
    for seed in (5, 5, 6, None):  # the last goes on
        if seed is not None:
            torch.manual_seed(seed)
        graph.replay()
        got.append(drawn.tolist())
    assert all(sorted(each) == list(range(50)) for each in got)
    assert got[0] == got[1]
    assert len({tuple(each) for each in got}) == 3
