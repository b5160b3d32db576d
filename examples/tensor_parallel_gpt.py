"""The GPT of char_gpt.py on several processes: each computes some heads of the attention and a part of each MLP.

    mindtorch launch --nproc-per-node 2 examples/tensor_parallel_gpt.py --device cpu    on this machine's processor
    mindtorch launch --npu soft --nproc-per-node 2 examples/tensor_parallel_gpt.py      on two software NPUs
    torchrun --nproc-per-node 2 examples/tensor_parallel_gpt.py                         the same program on PyTorch

A layer cut by columns feeds one cut by rows; between them nothing is sent, after them the parts are added up.
"""

from __future__ import annotations

import char_gpt
import processes
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torch.nn import functional as F


class AttentionByHeads(nn.Module):
    """The attention with three layers instead of one, so that each can be cut between heads."""

    def __init__(self, whole: char_gpt.Attention) -> None:
        super().__init__()
        self.size = whole.output.in_features // whole.heads  # of a head
        self.query, self.key, self.value = (
            self._layer(*parts)
            for parts in zip(
                whole.queries_keys_values.weight.chunk(3),
                whole.queries_keys_values.bias.chunk(3),
                strict=True,
            )
        )
        self.output = whole.output

    @staticmethod
    def _layer(weight, bias) -> nn.Linear:
        layer = nn.utils.skip_init(nn.Linear, weight.shape[1], weight.shape[0], device=weight.device)
        with torch.no_grad():
            layer.weight.copy_(weight)
            layer.bias.copy_(bias)
        return layer

    def forward(self, x):
        batch, length, _ = x.shape
        query, key, value = (
            layer(x).view(batch, length, -1, self.size).transpose(1, 2)
            for layer in (self.query, self.key, self.value)
        )
        mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.output(mixed.transpose(1, 2).reshape(batch, length, -1))


PLAN = {
    "attention.query": ColwiseParallel(),
    "attention.key": ColwiseParallel(),
    "attention.value": ColwiseParallel(),
    "attention.output": RowwiseParallel(),
    "mlp.0": ColwiseParallel(),
    "mlp.2": RowwiseParallel(),
}


def main() -> None:
    options = processes.parser(__doc__, steps=300).parse_args()
    device = processes.start(options)
    if options.heads % dist.get_world_size():
        raise SystemExit(f"{options.heads} heads cannot be shared by {dist.get_world_size()} processes")
    data, alphabet = char_gpt.documentation()
    model = char_gpt.GPT(processes.config_of(options, len(alphabet))).to(device)
    mesh = init_device_mesh(device.type, (dist.get_world_size(),))
    for block in model.blocks:
        block.attention = AttentionByHeads(block.attention)
        parallelize_module(block, mesh, PLAN)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)

    def step(_):
        window = char_gpt.windows(data, options.batch, options.context).to(device)  # the same for all
        loss = char_gpt.loss_of(model(window[:, :-1]), window[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    processes.train(step, options)


if __name__ == "__main__":
    main()
