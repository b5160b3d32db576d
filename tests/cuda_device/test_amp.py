"""Mixed precision on a GPU: the casts, and a scaled training step, are PyTorch's."""

import pytest
import torch as reference

import mindtorch_v2 as torch


def losses(library, dtype, steps=8):
    """Of an MLP trained under autocast, and the scale at the end. The third step's gradients overflow."""
    nn = library.nn
    library.manual_seed(0)
    model = nn.Sequential(nn.Linear(32, 64), nn.LayerNorm(64), nn.GELU(), nn.Linear(64, 8)).cuda()
    with library.no_grad():
        for number, parameter in enumerate(model.parameters()):
            values = library.arange(parameter.numel(), dtype=library.float32).add(number).sin().mul(0.2)
            parameter.copy_(values.view(parameter.shape))
    inputs = library.arange(16 * 32, dtype=library.float32).cos().view(16, 32).cuda()
    wanted = library.arange(16).remainder(8).cuda()
    optimizer = library.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    scaler = library.amp.GradScaler("cuda", init_scale=1024.0, growth_interval=3)
    found, dtypes = [], []
    for step in range(steps):
        optimizer.zero_grad()
        with library.autocast("cuda", dtype=getattr(library, dtype)):
            made = model(inputs)
            loss = nn.functional.cross_entropy(made, wanted)
        dtypes.append((str(made.dtype), str(loss.dtype)))
        scaler.scale(loss * (float("inf") if step == 2 else 1.0)).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        found.append(loss.item())
    return found, dtypes, scaler.get_scale()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_a_scaled_step_under_autocast_is_pytorchs(dtype):
    (ours, our_dtypes, our_scale), (theirs, their_dtypes, their_scale) = (
        losses(library, dtype) for library in (torch, reference)
    )
    assert our_dtypes == their_dtypes and our_dtypes[0] == (f"torch.{dtype}", "torch.float32")
    assert our_scale == their_scale
    assert ours[3] == ours[2]  # the step that overflowed was left out
    assert ours == pytest.approx(theirs, abs=2e-2 if dtype == "bfloat16" else 2e-3)
    assert ours[-1] < ours[0]
