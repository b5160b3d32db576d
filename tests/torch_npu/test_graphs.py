"""torch_npu's graphs: NPUGraph, torch.npu.graph and make_graphed_callables."""

import gc
from collections.abc import Iterator

import pytest
import torch
from torch import nn


@pytest.fixture(autouse=True)
def graphs_are_gone_afterwards() -> Iterator[None]:
    yield
    gc.collect()  # so that other tests can count memory


def captured(function, **options):
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph, **options):
        result = function()
    return graph, result


def network() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4)).to("npu")


def batches(count: int) -> list[tuple[torch.Tensor, torch.Tensor]]:
    generator = torch.Generator().manual_seed(1)
    return [
        (torch.randn(5, 8, generator=generator), torch.randn(5, 4, generator=generator)) for _ in range(count)
    ]


def train(model: nn.Module, steps: list, optimizer: torch.optim.Optimizer) -> list[float]:
    losses = []
    for x, y in steps:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x.to("npu")), y.to("npu"))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def test_a_captured_graph_runs_again_with_new_values() -> None:
    x, weight = torch.ones(4, 8, device="npu"), torch.full((8, 2), 0.5, device="npu")
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        y = torch.relu(x @ weight) + 1
    for value in (1.0, 2.0, -3.0):
        x.fill_(value)
        graph.replay()
        torch.npu.synchronize()
        assert y.flatten().tolist() == [max(4 * value, 0.0) + 1] * 8


def test_a_captured_training_step_gives_the_losses_of_the_operators() -> None:
    steps = batches(6)
    model = network()
    wanted = train(model, steps, torch.optim.SGD(model.parameters(), 0.1))
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    x, y = torch.zeros(5, 8, device="npu"), torch.zeros(5, 4, device="npu")

    def step() -> torch.Tensor:
        optimizer.zero_grad(set_to_none=True)
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    losses = []
    side = torch.npu.Stream()
    side.wait_stream(torch.npu.current_stream())
    with torch.npu.stream(side):
        for batch in steps[:2]:
            x.copy_(batch[0]), y.copy_(batch[1])
            losses.append(step().item())
    torch.npu.synchronize()
    graph, loss = captured(step)
    for batch in steps[2:]:
        x.copy_(batch[0]), y.copy_(batch[1])
        graph.replay()
        losses.append(loss.item())
    assert losses == pytest.approx(wanted, rel=1e-4)


def test_a_graphed_module_trains_as_the_module_does() -> None:
    steps = batches(5)
    model = network()
    wanted = train(model, steps, torch.optim.SGD(model.parameters(), 0.1))
    model = torch.npu.make_graphed_callables(network(), (torch.zeros(5, 8, device="npu"),))
    losses = train(model, steps, torch.optim.SGD(model.parameters(), 0.1))
    assert losses == pytest.approx(wanted, rel=1e-4)


def test_replays_draw_new_random_numbers() -> None:
    x = torch.ones(256, device="npu")
    graph, y = captured(lambda: nn.functional.dropout(x, 0.5) + torch.rand(256, device="npu"))
    seen = []
    for _ in range(3):
        graph.replay()
        torch.npu.synchronize()
        seen.append(y.tolist())
    assert seen[0] != seen[1] != seen[2]


def test_streams_that_fork_and_join_are_part_of_the_graph() -> None:
    x, side = torch.ones(4, device="npu"), torch.npu.Stream()

    def fork() -> torch.Tensor:
        main = torch.npu.current_stream()
        side.wait_stream(main)
        with torch.npu.stream(side):
            a = x * 2
        b = x * 3
        main.wait_stream(side)
        return a + b

    graph, y = captured(fork)
    x.fill_(10)
    graph.replay()
    torch.npu.synchronize()
    assert y.tolist() == [50] * 4


def test_graphs_share_a_pool() -> None:
    first, a = captured(lambda: torch.full((1024,), 2.0, device="npu").sum())
    second, b = captured(lambda: torch.full((1024,), 3.0, device="npu").sum(), pool=first.pool())
    first.replay()
    assert a.item() == 2048
    second.replay()
    assert b.item() == 3072


def test_the_current_stream_tells_whether_it_is_captured() -> None:
    assert not torch.npu.is_current_stream_capturing()
    graph, inside = captured(torch.npu.is_current_stream_capturing)
    assert inside
    graph.reset()


def test_a_task_group_is_updated_between_replays() -> None:
    x, out = torch.ones(2, device="npu"), torch.zeros(2, device="npu")
    graph, update = torch.npu.NPUGraph(), torch.npu.Stream()
    with torch.npu.graph(graph):
        stream = torch.npu.current_stream()
        torch.npu.graph_task_group_begin(stream)
        torch.mul(x, 2.0, out=out)
        group = torch.npu.graph_task_group_end(stream)
    graph.replay()
    torch.npu.synchronize()
    assert out.tolist() == [2, 2]
    with torch.npu.stream(update):
        torch.npu.graph_task_update_begin(update, group)
        torch.mul(x, 5.0, out=out)
        torch.npu.graph_task_update_end(update)
    update.synchronize()
    graph.replay()
    torch.npu.synchronize()
    assert out.tolist() == [5, 5]


def test_a_stream_sleeps_for_cycles() -> None:
    begin, end = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    begin.record()
    torch.npu._sleep(20_000_000)
    end.record()
    torch.npu.synchronize()
    assert begin.elapsed_time(end) >= 20
