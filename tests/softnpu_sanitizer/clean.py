"""Programs without a defect: the sanitizer says nothing. Run as ``python clean.py name``; never imported."""

import sys

import mindtorch_v2 as torch
from mindtorch_v2 import nn


def training():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4)).to("npu")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    x, target = torch.randn(32, 8, device="npu"), torch.randint(0, 4, (32,), device="npu")
    losses = []
    for _ in range(8):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), target)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0], losses


def training_with_uploads_on_another_stream():
    torch.manual_seed(0)
    model = nn.Linear(8, 1).to("npu")
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    uploads, main = torch.npu.Stream(), torch.npu.current_stream()
    for _ in range(6):
        with torch.npu.stream(uploads):
            batch = torch.randn(32, 8).pin_memory().to("npu", non_blocking=True)
        main.wait_stream(uploads)
        batch.record_stream(main)
        optimizer.zero_grad()
        model(batch).square().mean().backward()
        optimizer.step()
    torch.npu.synchronize()


def forward_on_one_stream_backward_on_another():
    side, main = torch.npu.Stream(), torch.npu.current_stream()
    w = torch.ones(16, device="npu", requires_grad=True)
    side.wait_stream(main)
    with torch.npu.stream(side):
        loss = (w * w).sum()
    main.wait_stream(side)
    loss.backward()
    assert w.grad.tolist() == [2.0] * 16


def gradients_from_two_streams_meet():
    first, second, main = torch.npu.Stream(), torch.npu.Stream(), torch.npu.current_stream()
    w = torch.ones(1024, device="npu", requires_grad=True)
    shared = w * 3
    losses = []
    for side in (first, second):
        side.wait_stream(main)
        with torch.npu.stream(side):
            losses.append((shared * 2).sum())
        main.wait_stream(side)
    for _ in range(3):
        w.grad = None
        torch.autograd.backward(losses, retain_graph=True)
        assert w.grad.tolist() == [12.0] * 1024


def views():
    x = torch.zeros(8, 6, device="npu")
    x[:, ::2] = 1
    x[:, 1::2] = 2
    y = x.t().contiguous()
    z = torch.cat([y, y + x.t()])
    assert z.sum().item() == 216.0, z
    w = torch.empty(4, 8, device="npu")
    w[1:3, ::2] = 5
    assert w[1:3, ::2].sum().item() == 40.0


def memory_comes_and_goes():
    for size in (10, 1000, 1 << 20):
        x = torch.ones(size, device="npu")
        y = x * 2
        del x
        assert y.mean().item() == 2.0
        del y
        torch.npu.empty_cache()


if __name__ == "__main__":
    globals()[sys.argv[1]]()
