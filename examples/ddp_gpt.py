"""The GPT of char_gpt.py on several processes: each has the whole model and a part of the batch.

    mindtorch launch --nproc-per-node 2 examples/ddp_gpt.py --device cpu     on this machine's processor
    mindtorch launch --npu soft --nproc-per-node 2 examples/ddp_gpt.py       on two software NPUs
    torchrun --nproc-per-node 2 examples/ddp_gpt.py                          the same program on PyTorch

DistributedDataParallel averages gradients while the backward pass still computes others.
"""

from __future__ import annotations

import char_gpt
import processes
import torch
from torch.nn.parallel import DistributedDataParallel


def main() -> None:
    options = processes.parser(__doc__, steps=300).parse_args()
    device = processes.start(options)
    data, alphabet = char_gpt.documentation()
    model = DistributedDataParallel(char_gpt.GPT(processes.config_of(options, len(alphabet))).to(device))
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
