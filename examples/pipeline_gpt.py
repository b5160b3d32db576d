"""The GPT of char_gpt.py on several processes: each has some of the layers, and the batch passes in microbatches.

    mindtorch launch --nproc-per-node 2 examples/pipeline_gpt.py --device cpu    on this machine's processor
    mindtorch launch --npu soft --nproc-per-node 2 examples/pipeline_gpt.py      on two software NPUs
    torchrun --nproc-per-node 2 examples/pipeline_gpt.py                         the same program on PyTorch

While a process computes one microbatch, the next process computes the one before.
"""

from __future__ import annotations

import char_gpt
import processes
import torch
import torch.distributed as dist
from torch.distributed.pipelining import Schedule1F1B, SplitPoint, pipeline


def main() -> None:
    parser = processes.parser(__doc__, steps=300)
    parser.add_argument("--microbatches", type=int, default=4)
    options = parser.parse_args()
    device = processes.start(options)
    rank, size = dist.get_rank(), dist.get_world_size()
    data, alphabet = char_gpt.documentation()
    model = char_gpt.GPT(processes.config_of(options, len(alphabet)))
    example = torch.zeros(options.batch // options.microbatches, options.context, dtype=torch.long)
    points = {f"blocks.{options.layers * stage // size}": SplitPoint.BEGINNING for stage in range(1, size)}
    stage = pipeline(model, (example,), split_spec=points).build_stage(rank, device)
    schedule = Schedule1F1B(stage, options.microbatches, char_gpt.loss_of)
    optimizer = torch.optim.AdamW(stage.submod.parameters(), lr=2e-3)

    def step(_):
        window = char_gpt.windows(data, options.batch, options.context).to(device)  # the same for all
        losses = []
        optimizer.zero_grad()
        if rank == 0:
            schedule.step(window[:, :-1])
        else:
            schedule.step(target=window[:, 1:] if rank == size - 1 else None, losses=losses)
        optimizer.step()
        return torch.stack(losses).mean() if losses else None

    processes.train(step, options)


if __name__ == "__main__":
    main()
