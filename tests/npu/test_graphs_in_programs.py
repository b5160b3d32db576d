"""Graphs of training steps, of modules and functions, of the accelerator, and in profiles."""

import pytest
from captures import captured

import mindtorch_v2 as torch
from mindtorch_v2 import nn, softnpu

NOT_PERMITTED = "operation not permitted when stream is capturing"
pytestmark = pytest.mark.usefixtures("nothing_is_left_capturing")


# --- training -----------------------------------------------------------------------------------------------


def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.LayerNorm(16), nn.Linear(16, 4)).to("npu")


def batches(count):
    generator = torch.Generator().manual_seed(1)
    return [
        (torch.randn(5, 8, generator=generator), torch.randn(5, 4, generator=generator)) for _ in range(count)
    ]


OPTIMIZERS = {
    "SGD": lambda p: torch.optim.SGD(p, 0.1, momentum=0.9),
    "SGD fused": lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, fused=True),
    "Adam": lambda p: torch.optim.Adam(p, 0.01, capturable=True),
    "Adam foreach": lambda p: torch.optim.Adam(p, 0.01, capturable=True, foreach=True),
    "Adam fused": lambda p: torch.optim.Adam(p, 0.01, capturable=True, fused=True),
    "AdamW": lambda p: torch.optim.AdamW(p, 0.01, capturable=True, amsgrad=True),
    "AdamW with a tensor": lambda p: torch.optim.AdamW(p, torch.tensor(0.01, device="npu"), capturable=True),
    "NAdam": lambda p: torch.optim.NAdam(p, 0.01, capturable=True),
    "RAdam": lambda p: torch.optim.RAdam(p, 0.01, capturable=True),
    "Adamax": lambda p: torch.optim.Adamax(p, 0.01, capturable=True),
    "Adadelta": lambda p: torch.optim.Adadelta(p, 0.5, capturable=True),
    "ASGD": lambda p: torch.optim.ASGD(p, 0.1, capturable=True),
    "Rprop": lambda p: torch.optim.Rprop(p, 0.01, capturable=True),
    "RMSprop": lambda p: torch.optim.RMSprop(p, 0.01, capturable=True, centered=True, momentum=0.5),
}


def train_eagerly(make, steps):
    model = network()
    optimizer = make(model.parameters())
    losses = []
    for x, y in steps:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x.to("npu")), y.to("npu"))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_captured_training_step_trains_as_the_operators_do(name):
    make, steps = OPTIMIZERS[name], batches(8)
    wanted = train_eagerly(make, steps)
    model = network()
    optimizer = make(model.parameters())
    x, y = torch.zeros(5, 8, device="npu"), torch.zeros(5, 4, device="npu")

    def step():
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    losses = []
    side = torch.npu.Stream()
    side.wait_stream(torch.npu.current_stream())
    with torch.npu.stream(side):  # what is made at the first step is made outside the graph
        for batch in steps[:3]:
            x.copy_(batch[0]), y.copy_(batch[1])
            losses.append(step().item())
    torch.npu.current_stream().wait_stream(side)
    graph, loss = captured(step)
    for batch in steps[3:]:
        x.copy_(batch[0]), y.copy_(batch[1])
        graph.replay()
        losses.append(loss.item())
    assert losses == pytest.approx(wanted, rel=1e-5)
    assert losses[-1] != losses[-2]


def test_a_replay_is_one_call_of_the_driver():
    model = network()
    optimizer = torch.optim.AdamW(model.parameters(), 0.01, capturable=True)
    x = torch.ones(5, 8, device="npu")

    def step():
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()

    step()
    graph, _ = captured(step)
    softnpu.start_counting()
    step()
    operators = softnpu.calls()
    softnpu.start_counting()
    graph.replay()
    assert softnpu.calls() == 1 < operators / 100


def test_an_optimizer_that_counts_on_the_host_is_refused():
    model = network()
    optimizer = torch.optim.Adam(model.parameters(), 0.01)
    model(torch.ones(1, 8, device="npu")).sum().backward()
    optimizer.step()
    with pytest.raises(RuntimeError, match="capturable is False"):
        captured(optimizer.step)


def test_a_step_with_a_gradient_scaler_skips_when_it_overflows():
    model = network()
    optimizer = torch.optim.AdamW(model.parameters(), 0.01, capturable=True, fused=True)
    scaler = torch.amp.GradScaler("npu", init_scale=4.0, growth_interval=1)
    x = torch.ones(2, 8, device="npu")

    def step():
        optimizer.zero_grad()
        with torch.autocast("npu", dtype=torch.float16, cache_enabled=False):
            loss = model(x).sum()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()

    for _ in range(2):
        step()
    torch.npu.synchronize()
    graph, _ = captured(step)
    before, scale = model[0].weight.tolist(), scaler.get_scale()
    graph.replay()
    assert model[0].weight.tolist() != before
    assert scaler.get_scale() == 2 * scale
    before = model[0].weight.tolist()
    x.fill_(float("inf"))
    graph.replay()
    assert model[0].weight.tolist() == before
    assert scaler.get_scale() == scale


# --- graphed callables --------------------------------------------------------------------------------------


def test_a_graphed_module_trains_as_the_module_does():
    steps = batches(6)
    make = OPTIMIZERS["SGD"]
    wanted = train_eagerly(make, steps)
    model = network()
    sample = torch.zeros(5, 8, device="npu")
    graphed = torch.npu.make_graphed_callables(model, (sample,))
    assert graphed is model
    optimizer = make(model.parameters())
    losses = []
    for x, y in steps:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x.to("npu")), y.to("npu"))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses == pytest.approx(wanted, rel=1e-5)
    model.eval()
    with torch.no_grad():  # the mode that was not captured runs as before, with other shapes, too
        assert model(torch.zeros(3, 8, device="npu")).shape == (3, 4)


def test_functions_and_modules_are_graphed_together():
    first, second = nn.Linear(4, 3).to("npu"), nn.Linear(3, 2).to("npu")

    def between(x, y):
        return torch.relu(x) * y, y.detach() + 1

    x = torch.randn(2, 4, device="npu", requires_grad=True)
    scale = torch.randn(2, 3, device="npu", requires_grad=True)

    def all_of(a, b, c):
        hidden, rest = b(a(x), scale)
        (c(hidden).sum() + rest.sum()).backward()
        found = [x.grad, scale.grad, first.weight.grad, second.bias.grad]
        for tensor in (x, scale, *first.parameters(), *second.parameters()):
            tensor.grad = None
        return [g.cpu() for g in found]

    wanted = all_of(first, between, second)
    samples = (
        (torch.zeros(2, 4, device="npu", requires_grad=True),),
        (
            torch.zeros(2, 3, device="npu", requires_grad=True),
            torch.zeros(2, 3, device="npu", requires_grad=True),
        ),
        (torch.zeros(2, 3, device="npu", requires_grad=True),),
    )
    graphed = torch.npu.make_graphed_callables((first, between, second), samples)
    for got, expected in zip(all_of(*graphed), wanted, strict=True):
        assert torch.allclose(got, expected, rtol=1e-5)


def test_what_cannot_be_graphed_is_refused():
    model, sample = nn.Linear(2, 2).to("npu"), torch.zeros(1, 2, device="npu")
    with pytest.raises(RuntimeError, match="only Tensors"):
        torch.npu.make_graphed_callables(model, (sample, 3))
    handle = model.register_forward_hook(lambda *_: None)
    with pytest.raises(RuntimeError, match="must not have hooks"):
        torch.npu.make_graphed_callables(model, (sample,))
    handle.remove()
    model.register_buffer("kept", torch.zeros(1, device="npu", requires_grad=True))
    with pytest.raises(RuntimeError, match="only parameters may be trainable"):
        torch.npu.make_graphed_callables(model, (sample,))
    with torch.autocast("npu"), pytest.raises(RuntimeError, match="cache_enabled=False"):
        torch.npu.make_graphed_callables(model, (sample,))


# --- the accelerator's graph, and what belongs to the NPU alone -----------------------------------------------


def test_the_accelerators_graph_is_the_same():
    x = torch.zeros(2, device="npu")
    graph = torch.accelerator.Graph(pool=torch.npu.graph_pool_handle(), capture_error_mode="relaxed")
    with torch.Stream(), graph:
        x += 2
    graph.replay()
    graph.replay()
    assert x.tolist() == [4, 4]
    assert graph.pool() == graph.graph_pool
    with pytest.raises(RuntimeError, match="keep_graph"):
        graph.instantiate()


def test_a_task_group_is_updated_between_replays():
    x, out = torch.ones(2, device="npu"), torch.zeros(2, device="npu")
    graph, update = torch.npu.NPUGraph(), torch.npu.Stream()
    with torch.npu.graph(graph):
        stream = torch.npu.current_stream()
        torch.npu.graph_task_group_begin(stream)
        torch.mul(x, 2.0, out=out)
        group = torch.npu.graph_task_group_end(stream)
    graph.replay()
    assert out.tolist() == [2, 2]
    with torch.npu.stream(update):
        torch.npu.graph_task_update_begin(update, group)
        torch.mul(x, 5.0, out=out)
        torch.npu.graph_task_update_end(update)
    update.synchronize()
    graph.replay()
    assert out.tolist() == [5, 5]


def test_updates_by_dispatch_say_what_to_use_instead():
    graph = torch.npu.NPUGraph()
    with pytest.raises(NotImplementedError, match="graph_task_group_begin"):
        graph.update([{}])
    with pytest.raises(NotImplementedError, match="graph_task_group_begin"):
        torch.npu.graph(graph, auto_dispatch_capture=True)


def test_a_profile_shows_replays_and_not_what_was_captured():
    x = torch.ones(4, device="npu")
    with torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.NPU]
    ) as p:
        graph, y = captured(lambda: x * 2)
        graph.replay()
        torch.npu.synchronize()
    assert y.tolist() == [2] * 4
    assert any(event.name == "Graph" for event in p.events())
