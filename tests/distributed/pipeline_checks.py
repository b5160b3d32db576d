"""What a world of processes checks about pipelines, for test_pipelines.py.

Each function below is one check: it runs on every process of the world and asserts.
"""

import copy
import os
import warnings

import world_checks

import mindtorch_v2 as torch
import mindtorch_v2.distributed as dist
import mindtorch_v2.nn.functional as F
from mindtorch_v2 import nn
from mindtorch_v2.distributed.device_mesh import init_device_mesh
from mindtorch_v2.distributed.fsdp import fully_shard
from mindtorch_v2.distributed.pipelining import (
    PipelineStage,
    Schedule1F1B,
    ScheduleDualPipeV,
    ScheduleGPipe,
    ScheduleInterleaved1F1B,
    ScheduleInterleavedZeroBubble,
    ScheduleLoopedBFS,
    ScheduleZBVZeroBubble,
    SplitPoint,
    pipe_split,
    pipeline,
)
from mindtorch_v2.distributed.pipelining.microbatch import TensorChunkSpec, _Replicate
from mindtorch_v2.nn.parallel import DistributedDataParallel

DEVICE = os.environ.get("PIPELINE_DEVICE", "cpu")
WORDS, WIDTH, LENGTH, BATCH = 11, 8, 6, 8


def same(found, wanted, within=1e-5):
    torch.testing.assert_close(found.cpu(), wanted.cpu(), atol=within, rtol=within)


def rank():
    return dist.get_rank()


def size():
    return dist.get_world_size()


def error_of(call, kind):
    try:
        call()
    except kind as error:
        return str(error)
    raise AssertionError("nothing was raised")


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.mix = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH))

    def forward(self, x):
        batch, length, width = x.shape
        if batch < 1:  # a choice that a graph cannot hold
            return x
        query, key, value = (
            self.mix(self.norm(x)).view(batch, length, 3, 2, width // 2).permute(2, 0, 3, 1, 4)
        )
        mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        return x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))


class Start(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, WIDTH), nn.Embedding(LENGTH, WIDTH)

    def forward(self, indices):
        return self.words(indices) + self.places(torch.arange(indices.shape[1], device=indices.device))


class GPT(nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.start = Start()
        self.blocks = nn.ModuleList(Block() for _ in range(layers))
        self.last, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WORDS, bias=False)

    def forward(self, indices):
        x = self.start(indices)
        for block in self.blocks:
            x = block(x)
        return self.head(self.last(x))


def loss_of(scores, wanted):
    return F.cross_entropy(scores.flatten(0, 1), wanted.flatten())


def by_hand(model, stages):
    """A GPT as the modules of so many stages."""
    parts = [[] for _ in range(stages)]
    parts[0].append(model.start)
    for number, block in enumerate(model.blocks):
        parts[number * stages // len(model.blocks)].append(block)
    parts[-1] += [model.last, model.head]
    return [nn.Sequential(*part) for part in parts]


def batches(count):
    return [torch.randint(WORDS, (BATCH, LENGTH + 1)).to(DEVICE) for _ in range(count)]


def trained(model, steps):
    """The losses of one process."""
    optimizer, losses = torch.optim.AdamW(model.parameters(), lr=0.01), []
    for batch in batches(steps):
        loss = loss_of(model(batch[:, :-1]), batch[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def has_last(schedule):
    return any(stage.is_last for stage in schedule._stages)


def trained_in_stages(schedule, parameters, steps):
    """The same of a pipeline; only the last stage's process has losses."""
    optimizer, losses = torch.optim.AdamW(parameters, lr=0.01), []
    for batch in batches(steps):
        found = []
        optimizer.zero_grad()
        inputs = (batch[:, :-1],) if rank() == 0 else ()
        target = batch[:, 1:] if has_last(schedule) else None
        schedule.step(*inputs, target=target, losses=found, return_outputs=False)
        optimizer.step()
        losses.append(sum(each.item() for each in found) / max(1, len(found)))
    return losses


STEPS = 50 if DEVICE == "cpu" and os.environ["WORLD_SIZE"] != "3" else 8


def trains_alike(make, layers, steps=STEPS):
    """A pipeline of a copy of the model gives its losses, and its parameters."""
    torch.manual_seed(1)
    model = GPT(layers).to(DEVICE)
    schedule, modules = make(copy.deepcopy(model))
    torch.manual_seed(2)
    wanted = trained(model, steps)
    torch.manual_seed(2)
    found = trained_in_stages(schedule, [p for part in modules for p in part.parameters()], steps)
    if has_last(schedule):
        same(torch.tensor(found), torch.tensor(wanted))
        same(modules[-1][-1].weight if isinstance(modules[-1], nn.Sequential) else modules[-1].head.weight,
             model.head.weight, 1e-4)  # fmt: skip
    assert steps < 50 or wanted[-1] < wanted[0]


def single(kind, microbatches):
    def make(model):
        part = by_hand(model, size())[rank()]
        return kind(PipelineStage(part, rank(), size(), DEVICE), microbatches, loss_of), [part]

    return make


def several(kind, microbatches, in_a_v=False):
    def make(model):
        parts = by_hand(model, 2 * size())
        second = 2 * size() - 1 - rank() if in_a_v else rank() + size()
        mine = {index: parts[index] for index in (rank(), second)}
        stages = [PipelineStage(part, index, 2 * size(), DEVICE) for index, part in mine.items()]
        return kind(stages, microbatches, loss_of), list(mine.values())

    return make


def check_gpipe_trains_as_one_process():
    trains_alike(single(ScheduleGPipe, 4), size())


def check_1f1b_trains_as_one_process():
    trains_alike(single(Schedule1F1B, 8), size())


def check_interleaved_1f1b_trains_as_one_process():
    trains_alike(several(ScheduleInterleaved1F1B, 8 if size() == 4 else 4), 2 * size(), steps=8)


def check_interleaved_zero_bubble_trains_as_one_process():
    trains_alike(several(ScheduleInterleavedZeroBubble, 8 if size() == 4 else 4), 2 * size(), steps=8)


def check_zero_bubble_in_a_v_trains_as_one_process():
    trains_alike(several(ScheduleZBVZeroBubble, 8, in_a_v=True), 2 * size(), steps=8)


def check_dual_pipe_in_a_v_trains_as_one_process():
    trains_alike(several(ScheduleDualPipeV, 8, in_a_v=True), 2 * size(), steps=8)


def check_looped_bfs_trains_as_one_process():
    trains_alike(several(ScheduleLoopedBFS, 4), 2 * size(), steps=8)


def check_a_model_cut_by_its_graph_trains_as_one_process():
    def make(model):
        points = {f"blocks.{number}": SplitPoint.BEGINNING for number in range(1, size())}
        pipe = pipeline(model, (torch.zeros(2, LENGTH, dtype=torch.int64, device=DEVICE),), split_spec=points)
        assert pipe.num_stages == size()
        stage = pipe.build_stage(rank(), DEVICE)
        return Schedule1F1B(stage, 4, loss_of), [stage.submod]

    trains_alike(make, size(), steps=8)


def check_uneven_microbatches_pass_with_their_own_shapes():
    torch.manual_seed(0)
    model = nn.Sequential(*(nn.Linear(3, 3) for _ in range(size()))).to(DEVICE)
    schedule = ScheduleGPipe(PipelineStage(model[rank()], rank(), size(), DEVICE), 4)
    batch = torch.randn(7, 3).to(DEVICE)
    for _ in range(2):
        found = schedule.step(*((batch,) if rank() == 0 else ()))
        if rank() == size() - 1:
            same(found, model(batch))


class Many(nn.Module):
    """Takes and gives several tensors, of several dtypes, some without gradients and some unused."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, x, kept=None, number=None, unused=None):
        kept = x.sin() if kept is None else kept
        number = torch.arange(x.shape[0], device=x.device) if number is None else number + 1
        return self.linear(x) * kept + number[:, None], kept, number, x.exp()


def check_stages_take_and_give_several_tensors():
    torch.manual_seed(0)
    parts = [Many().to(DEVICE) for _ in range(size())]
    batch, target = torch.randn(4, 3).to(DEVICE), torch.randn(4, 3).to(DEVICE)

    def loss(outputs, target):
        return (outputs[0] - target).pow(2).mean() + outputs[1].mean()

    alone = copy.deepcopy(parts)
    for half in (slice(0, 2), slice(2, 4)):
        values = (batch[half],)
        for part in alone:
            values = part(*values)
        (loss(values, target[half]) / 2).backward()
    schedule = ScheduleGPipe(PipelineStage(parts[rank()], rank(), size(), DEVICE), 2, loss)
    schedule.step(*((batch,) if rank() == 0 else ()), target=target if rank() == size() - 1 else None)
    same(parts[rank()].linear.weight.grad, alone[rank()].linear.weight.grad)


class Skips(nn.Module):
    """Values pass over stages, inputs are used late, and the result comes of two stages."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.third = (nn.Linear(4, 4) for _ in range(3))
        self.gain = nn.Parameter(torch.tensor(2.0))

    def forward(self, x, *, mask):
        y = self.first(x)
        places = torch.arange(x.size(0), device=x.device).unsqueeze(1)
        if size() > 2:
            pipe_split()
        z = self.second(y).relu()
        if size() > 3:
            pipe_split()
            z = z * 2
        pipe_split()
        return self.third(z) * self.gain + y * mask + places, z


def check_values_pass_over_stages():
    torch.manual_seed(0)
    model = Skips().to(DEVICE)
    alone = copy.deepcopy(model)
    batch, mask, target = (torch.randn(4, 4).to(DEVICE) for _ in range(3))

    def loss(outputs, target):
        return (outputs[0] - target).pow(2).mean() + outputs[1].mean()

    keys = list(model.state_dict())
    pipe = pipeline(model, (batch[:2],), {"mask": mask[:2]})
    assert pipe.num_stages == size() and list(model.state_dict()) == keys
    assert sorted(key for i in range(size()) for key in pipe.get_stage_module(i).state_dict()) == sorted(keys)
    for found, wanted in zip(pipe(batch[:2], mask[:2]), alone(batch[:2], mask=mask[:2]), strict=True):
        same(found, wanted)
    for half in (slice(0, 2), slice(2, 4)):
        (loss(alone(batch[half], mask=mask[half]), target[half]) / 2).backward()
    stage = pipe.build_stage(rank(), DEVICE)
    schedule = ScheduleGPipe(stage, 2, loss)
    inputs = ((batch,), {"mask": mask}) if rank() == 0 else ((), {})
    schedule.step(*inputs[0], target=target if rank() == size() - 1 else None, **inputs[1])
    gradients = {name: parameter.grad for name, parameter in alone.named_parameters()}
    for name, parameter in stage.submod.named_parameters():
        same(parameter.grad, gradients[name])


def check_gradients_are_added_up_and_scaled_when_asked():
    torch.manual_seed(0)
    for scales in (True, False):
        model = nn.Sequential(*(nn.Linear(3, 3) for _ in range(size()))).to(DEVICE)
        batch, target = torch.randn(4, 3).to(DEVICE), torch.randn(4, 3).to(DEVICE)
        stage = PipelineStage(model[rank()], rank(), size(), DEVICE)
        schedule = ScheduleGPipe(stage, 4, F.mse_loss, scale_grads=scales)
        alone = copy.deepcopy(model)
        for _ in range(2):
            F.mse_loss(alone(batch), target).backward()
        inputs = (batch,) if rank() == 0 else ()
        schedule.step(*inputs, target=target)
        scaled = model[rank()].weight.grad.clone()
        same(scaled * (1 if scales else 0.25), alone[rank()].weight.grad / 2)
        model.zero_grad()
        schedule.step(*inputs, target=target)
        same(model[rank()].weight.grad, scaled)


def check_eval_computes_outputs_and_losses_without_gradients():
    torch.manual_seed(0)
    model = nn.Sequential(*(nn.Linear(3, 3) for _ in range(size()))).to(DEVICE)
    batch, target = torch.randn(4, 3).to(DEVICE), torch.randn(4, 3).to(DEVICE)
    stage = PipelineStage(model[rank()], rank(), size(), DEVICE)
    inputs, losses = (batch,) if rank() == 0 else (), []
    schedule = Schedule1F1B(stage, 4, F.mse_loss)
    with torch.no_grad():
        found = schedule.eval(*inputs, target=target, losses=losses)
        assert "Please call eval() instead" in error_of(
            lambda: schedule.step(*inputs, target=target), RuntimeError
        )
    schedule.step(*inputs, target=target)
    again = schedule.eval(*inputs)
    if rank() == size() - 1:
        same(found, model(batch))
        same(again, model(batch))
        same(torch.stack(losses).mean(), F.mse_loss(model(batch), target))
    else:
        assert found is None and losses == []


def check_arguments_are_cut_as_specified():
    class Add(nn.Module):
        def forward(self, x, y=None, factor=1):
            return x if y is None else x * factor + y

    batch, other = torch.randn(4, 6).to(DEVICE), torch.randn(3).to(DEVICE)
    schedule = ScheduleGPipe(
        PipelineStage(Add(), rank(), size(), DEVICE), 2,
        args_chunk_spec=(TensorChunkSpec(1), _Replicate()), kwargs_chunk_spec={"factor": _Replicate()},
        output_merge_spec=TensorChunkSpec(1),
    )  # fmt: skip
    found = schedule.step(batch, other, factor=3) if rank() == 0 else schedule.step()
    if rank() == size() - 1:
        same(found, batch * 3 + torch.cat([other, other]))


def check_stages_are_averaged_over_their_copies():
    """A mesh of two pipelines, each with two stages: DDP and FSDP over the copies of a stage."""
    if size() != 4:
        return
    mesh = init_device_mesh(DEVICE, (2, 2), mesh_dim_names=("copies", "stages"))
    copies, stages = mesh["copies"], mesh["stages"]
    for wrap in (
        lambda part: DistributedDataParallel(part, process_group=copies.get_group()),
        lambda part: fully_shard(part, mesh=copies),
    ):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 3)).to(DEVICE)
        alone, here = copy.deepcopy(model), stages.get_local_rank()
        batch, target = torch.randn(8, 3).to(DEVICE), torch.randn(8, 3).to(DEVICE)
        F.mse_loss(alone(batch), target).backward()
        part = wrap(model[here])
        stage = PipelineStage(part, here, 2, DEVICE, group=stages.get_group())
        schedule = Schedule1F1B(stage, 2, F.mse_loss)
        mine = slice(4 * copies.get_local_rank(), 4 * copies.get_local_rank() + 4)
        for _ in range(2):
            part.zero_grad()
            schedule.step(*((batch[mine],) if here == 0 else ()), target=target[mine])
            gradient = next(part.parameters()).grad
            same(
                gradient.full_tensor() if hasattr(gradient, "full_tensor") else gradient,
                alone[here].weight.grad,
            )


def check_wrong_uses_are_told():
    part = nn.Linear(3, 3).to(DEVICE)
    stage = PipelineStage(part, rank(), size(), DEVICE)
    assert "out of range" in error_of(lambda: PipelineStage(part, 9, size(), DEVICE), ValueError)
    assert "cannot be larger" in error_of(lambda: PipelineStage(part, 0, 1, DEVICE), RuntimeError)
    assert "greater than or equal" in error_of(lambda: Schedule1F1B(stage, 1), ValueError)
    assert "takes one stage" in error_of(lambda: ScheduleGPipe([stage], 2), TypeError)
    wrong = PipelineStage(part, (rank() + 1) % size(), size(), DEVICE)
    assert "has the stages" in error_of(lambda: ScheduleGPipe(wrong, 2), ValueError)
    assert "number of rounds" in error_of(
        lambda: several(ScheduleInterleaved1F1B, 2 * size() + 1)(GPT(8)), ValueError
    )
    assert "exactly 2 stages per rank" in error_of(lambda: ScheduleZBVZeroBubble([stage], 4), ValueError)
    assert "as many microbatches as stages" in error_of(
        lambda: several(ScheduleDualPipeV, 2 * size() - 1, in_a_v=True)(GPT(8)), ValueError
    )
    if rank() == 0:
        short = torch.zeros(2, 3).to(DEVICE)
        assert "Expecting 4" in error_of(lambda: ScheduleGPipe(stage, 4).step(short), ValueError)
        told = PipelineStage(part, 0, size(), DEVICE, input_args=torch.zeros(2, 3))
        wide = torch.zeros(8, 3).to(DEVICE)
        assert "input_args says float32[2, 3]" in error_of(
            lambda: ScheduleGPipe(told, 1).step(wide), ValueError
        )
    if rank() == size() - 1:
        schedule = ScheduleGPipe(stage, 2, F.mse_loss)
        assert "must give step() a target" in error_of(lambda: schedule.step(), ValueError)


def check_models_that_cannot_be_cut_are_told():
    class Chooses(nn.Module):
        def __init__(self):
            super().__init__()
            self.one, self.other = nn.Linear(3, 3), nn.Linear(3, 3)

        def forward(self, x):
            x = self.one(x)
            return self.other(x) if x.sum() > 0 else x

    class Draws(Chooses):
        def forward(self, x):
            return self.other(self.one(x) + torch.randn(3))

    class Tied(Chooses):
        def forward(self, x):
            x = self.one(x)
            pipe_split()
            return self.one(self.other(x))

    example, points = (torch.zeros(2, 3),), {"other": SplitPoint.BEGINNING}
    assert "PipelineStage" in error_of(lambda: pipeline(Chooses(), example, split_spec=points), ValueError)
    assert "random numbers" in error_of(lambda: pipeline(Draws(), example, split_spec=points), ValueError)
    never = {"other": SplitPoint.END}
    model = Tied()
    model.forward = lambda x: model.one(x)
    assert "does not call it" in error_of(lambda: pipeline(model, example, split_spec=never), ValueError)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        pipe = pipeline(Tied(), example)
    assert any("trains its own copy" in str(each.message) for each in found)
    assert {"submod_pp_0": "one.weight", "submod_pp_1": "one.weight"} in pipe.replicated_params
    assert "has no attribute" in error_of(
        lambda: pipeline(Tied(), example, split_spec={"zz": SplitPoint.END}), AttributeError
    )
    assert "split point type" in error_of(
        lambda: pipeline(Tied(), example, split_spec={"one": 1}), ValueError
    )


def check_shapes_that_change_are_told():
    pair = dist.new_group([0, 1])
    if rank() > 1:
        return
    stage = PipelineStage(nn.Linear(3, 3).to(DEVICE), rank(), 2, DEVICE, group=pair)
    schedule = ScheduleGPipe(stage, 2)
    schedule.step(*((torch.zeros(4, 3).to(DEVICE),) if rank() == 0 else ()))
    if rank() == 0:
        assert "a schedule keeps its shapes" in error_of(
            lambda: schedule.step(torch.zeros(8, 3).to(DEVICE)), ValueError
        )


if __name__ == "__main__":
    world_checks.main(globals(), os.environ.get("PIPELINE_BACKEND", "gloo"))
