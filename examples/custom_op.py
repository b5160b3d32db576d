"""An operator of one's own: registered by name, with a kernel, a shape rule and a gradient.

mindtorch run --npu soft examples/custom_op.py     on the software NPU
python examples/custom_op.py                       the same program on PyTorch
"""

from __future__ import annotations

import common
import torch
from torch import library


@library.custom_op("example::softclip", mutates_args=())
def softclip(x: torch.Tensor, limit: float) -> torch.Tensor:
    """`x` where it is small, and never more than `limit` in size."""
    return limit * torch.tanh(x / limit)


@softclip.register_fake
def _(x, limit):
    return torch.empty_like(x)


def save(ctx, inputs, output):
    _, ctx.limit = inputs
    ctx.save_for_backward(output)


def backward(ctx, grad):
    (output,) = ctx.saved_tensors
    return grad * (1 - (output / ctx.limit) ** 2), None


softclip.register_autograd(backward, setup_context=save)


def main() -> None:
    options = common.parser(__doc__, steps=200).parse_args()
    print("on meta:", softclip(torch.empty(3, 4, device="meta"), 1.0).shape)
    x = torch.randn(5, dtype=torch.float64, requires_grad=True)
    print("gradient right:", torch.autograd.gradcheck(lambda t: torch.ops.example.softclip(t, 2.0), (x,)))

    torch.manual_seed(options.seed)
    goal = torch.tensor([0.5, -0.5, 1.5, -1.5], device=options.device)
    weight = torch.zeros(4, device=options.device, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.1)

    def step(_):
        loss = (softclip(weight, 2.0) - goal).square().sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    common.train(step, options)


if __name__ == "__main__":
    main()
