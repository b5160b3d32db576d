"""The GPT of char_gpt.py on several processes: each keeps a part of every parameter, and a part of the batch.

    mindtorch launch --nproc-per-node 2 examples/fsdp_gpt.py --device cpu    on this machine's processor
    mindtorch launch --npu soft --nproc-per-node 2 examples/fsdp_gpt.py      on two software NPUs
    torchrun --nproc-per-node 2 examples/fsdp_gpt.py                         the same program on PyTorch

fully_shard puts the parameters of a block together before it computes, and cuts them again after it. Gradients are
summed and cut the same way, so that a process keeps a part of them and of the optimizer's state.
"""

from __future__ import annotations

import char_gpt
import processes
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard


def main() -> None:
    options = processes.parser(__doc__, steps=300).parse_args()
    device = processes.start(options)
    data, alphabet = char_gpt.documentation()
    model = char_gpt.GPT(processes.config_of(options, len(alphabet))).to(device)
    whole = sum(parameter.numel() for parameter in model.parameters())
    mesh = init_device_mesh(device.type, (dist.get_world_size(),))
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
    kept = sum(parameter.to_local().numel() for parameter in model.parameters())
    if dist.get_rank() == 0:
        print(f"{whole:,} parameters, of which a process keeps {kept:,}")
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)

    def step(_):
        window = processes.part_of(char_gpt.windows(data, options.batch, options.context)).to(device)
        loss = char_gpt.loss_of(model(window[:, :-1]), window[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    processes.train(step, options)


if __name__ == "__main__":
    main()
