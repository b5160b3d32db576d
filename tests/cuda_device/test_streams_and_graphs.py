"""Streams, events and graphs, on a GPU."""

import pytest

import mindtorch_v2 as torch

N = 1 << 22


def test_a_stream_runs_its_work_in_order_and_others_wait_where_they_are_told():
    side, x = torch.cuda.Stream(), torch.zeros(N, device="cuda")
    event = torch.cuda.Event()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        assert torch.cuda.current_stream() == side
        for _ in range(100):
            x.add_(1)
        event.record()
    torch.cuda.current_stream().wait_event(event)
    y = x * 2
    assert y.min().item() == y.max().item() == 200
    assert side.query()
    assert event.query()


def test_events_measure_time_on_the_device():
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    x = torch.ones(N, device="cuda")
    x.exp()
    torch.cuda.synchronize()
    begin.record()
    for _ in range(100):
        x.exp()
    end.record()
    end.synchronize()
    assert 0.1 < begin.elapsed_time(end) < 1000


def test_backward_runs_on_the_stream_of_its_forward():
    side, x = torch.cuda.Stream(), torch.ones(N, device="cuda", requires_grad=True)
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        y = (x * x).sum()
    torch.cuda.current_stream().wait_stream(side)
    y.backward()
    assert x.grad.min().item() == x.grad.max().item() == 2


def test_a_graph_replays_what_was_captured_with_new_values():
    x = torch.zeros(1000, device="cuda")
    (x + 1).mul_(2)  # kernels are compiled outside of captures
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = (x + 1).mul_(2)
    for value in (0.0, 5.0):
        x.fill_(value)
        graph.replay()
        torch.cuda.synchronize()
        assert y.tolist() == [2 * (value + 1)] * 1000


def test_a_wait_inside_a_capture_is_refused_and_the_device_stays_usable():
    x = torch.ones(4, device="cuda")
    x + 1
    with pytest.raises(RuntimeError):
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            (x + 1).tolist()
    assert (x + 1).tolist() == [2.0] * 4


def test_a_training_step_in_a_graph_learns_as_without():
    def step_of(model, optimizer, inputs):
        optimizer.zero_grad(set_to_none=False)
        loss = model(inputs).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    losses = []
    for captured in (False, True):
        torch.manual_seed(3)
        model = torch.nn.Linear(16, 16).to("cuda")
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        inputs = torch.ones(8, 16, device="cuda")
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                step_of(model, optimizer, inputs)
        torch.cuda.current_stream().wait_stream(side)
        if captured:
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                loss = step_of(model, optimizer, inputs)
            for _ in range(4):
                graph.replay()
        else:
            for _ in range(4):
                loss = step_of(model, optimizer, inputs)
        losses.append(loss.item())
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)
