"""One process of a pipeline that trains a small GPT by every schedule and writes down its losses: for our library and
for PyTorch.

python pipeline_program.py torch FOLDER RANK SIZE
"""

import importlib
import json
import sys
import warnings
from pathlib import Path

WORDS, WIDTH, LENGTH = 13, 16, 8


def main(framework: str, folder: str, rank: int, size: int) -> None:
    torch = importlib.import_module(framework)
    dist = importlib.import_module(f"{framework}.distributed")
    pipelining = importlib.import_module(f"{framework}.distributed.pipelining")
    nn, F = torch.nn, torch.nn.functional
    warnings.simplefilter("ignore")
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=size)

    class Start(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.places = nn.Embedding(WORDS, WIDTH), nn.Embedding(LENGTH, WIDTH)

        def forward(self, indices):
            return self.words(indices) + self.places(torch.arange(indices.shape[1], device=indices.device))

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm, self.mix = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 3 * WIDTH)
            self.out = nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH))

        def forward(self, x):
            batch, length, width = x.shape
            parts = self.mix(self.norm(x)).view(batch, length, 3, 2, width // 2).permute(2, 0, 3, 1, 4)
            mixed = F.scaled_dot_product_attention(*parts, is_causal=True)
            return x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))

    class GPT(nn.Module):
        def __init__(self, layers):
            super().__init__()
            self.start = Start()
            self.blocks = nn.ModuleList(Block() for _ in range(layers))
            self.last, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WORDS)

        def forward(self, indices):
            x = self.start(indices)
            for block in self.blocks:
                x = block(x)
            return self.head(self.last(x))

    def loss_of(scores, wanted):
        return F.cross_entropy(scores.flatten(0, 1), wanted.flatten())

    def model_of(layers):
        """Weights by a formula: the frameworks need not draw alike."""
        model = GPT(layers)
        with torch.no_grad():
            for number, parameter in enumerate(model.parameters()):
                values = torch.arange(parameter.numel(), dtype=torch.float32)
                shift = 1.0 if parameter.dim() == 1 and number % 2 == 0 else 0.0
                parameter.copy_((torch.sin(values * 1.7 + number) * 0.2 + shift * 0.1).view(parameter.shape))
        return model

    def by_hand(model, stages):
        parts = [[] for _ in range(stages)]
        parts[0].append(model.start)
        for number, block in enumerate(model.blocks):
            parts[number * stages // len(model.blocks)].append(block)
        parts[-1] += [model.last, model.head]
        return [nn.Sequential(*part) for part in parts]

    def stages_of(count, in_a_v=False):
        parts = by_hand(model_of(count), count)
        mine = (rank, count - 1 - rank) if in_a_v else range(rank, count, size)
        return [pipelining.PipelineStage(parts[index], index, count, torch.device("cpu")) for index in mine]

    def traced():
        points = {f"blocks.{index}": pipelining.SplitPoint.BEGINNING for index in range(1, size)}
        example = (torch.zeros(2, LENGTH, dtype=torch.int64),)
        return pipelining.pipeline(model_of(size), example, split_spec=points).build_stage(
            rank, torch.device("cpu")
        )

    found: dict = {}
    cases = {
        "GPipe": lambda: pipelining.ScheduleGPipe(stages_of(size)[0], 4, loss_of),
        "1F1B": lambda: pipelining.Schedule1F1B(stages_of(size)[0], 4, loss_of),
        "1F1B, not scaled": lambda: pipelining.Schedule1F1B(
            stages_of(size)[0], 4, loss_of, scale_grads=False
        ),
        "interleaved": lambda: pipelining.ScheduleInterleaved1F1B(stages_of(2 * size), 4, loss_of),
        "looped": lambda: pipelining.ScheduleLoopedBFS(stages_of(2 * size), 4, loss_of),
        "zero bubble": lambda: pipelining.ScheduleInterleavedZeroBubble(stages_of(2 * size), 4, loss_of),
        "in a V": lambda: pipelining.ScheduleZBVZeroBubble(stages_of(2 * size, True), 8, loss_of),
        "both ways": lambda: pipelining.ScheduleDualPipeV(stages_of(2 * size, True), 8, loss_of),
        "traced": lambda: pipelining.ScheduleGPipe(traced(), 4, loss_of),
    }
    for name, make in cases.items():
        schedule = make()
        stages = getattr(schedule, "_stages", None) or [schedule._stage]
        parameters = [each for stage in stages for each in stage.submod.parameters()]
        optimizer = torch.optim.AdamW(parameters, lr=0.005)
        losses = []
        for step in range(6):
            batch = (torch.arange(8 * (LENGTH + 1)) * (step + 3) % WORDS).view(8, LENGTH + 1)
            optimizer.zero_grad()
            each: list = []
            inputs = (batch[:, :-1],) if rank == 0 else ()
            target = batch[:, 1:] if any(stage.is_last for stage in stages) else None
            outputs = schedule.step(*inputs, target=target, losses=each)
            optimizer.step()
            losses.append([loss.item() for loss in each])
        found[name] = {
            "losses": losses,
            "outputs": None if outputs is None else outputs.tolist(),
            "gradients": [each.grad.abs().sum().item() for each in parameters],
        }
        # PyTorch's own record of 1F1B counts the last stage's microbatches from 1; where backward passes are in halves,
        # the order is this library's own.
        if name in ("GPipe", "interleaved", "looped", "traced"):
            found[name]["order"] = {
                who: [str(each) for each in some if each is not None and "REDUCE" not in str(each)]
                for who, some in schedule.pipeline_order.items()
            }
    (Path(folder) / f"{rank}.json").write_text(json.dumps(found))
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    framework, folder, rank, size = sys.argv[1:]
    main(framework, folder, int(rank), int(size))
