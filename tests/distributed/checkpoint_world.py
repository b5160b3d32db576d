"""What processes save and load for test_checkpoints.py: the same state under any cut."""

import os
from functools import cache

import mindtorch_v2 as torch
import mindtorch_v2.distributed as dist
import mindtorch_v2.distributed.checkpoint as dcp
from mindtorch_v2 import nn
from mindtorch_v2.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from mindtorch_v2.distributed.device_mesh import init_device_mesh
from mindtorch_v2.distributed.fsdp import FullyShardedDataParallel, fully_shard
from mindtorch_v2.distributed.fsdp.wrap import ModuleWrapPolicy
from mindtorch_v2.distributed.tensor import Replicate, Shard, distribute_tensor
from mindtorch_v2.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

DEVICE = os.environ.get("CHECKPOINT_DEVICE", "cpu")
SHAPES = {"long": (11,), "table": (5, 6), "few": (2, 3), "scalar": (), "cube": (3, 4, 5), "none": (0, 4)}


def values(name):
    """The whole tensor of a name, the same everywhere."""
    shape = SHAPES[name]
    count = 1
    for size in shape:
        count *= size
    return (torch.arange(count, dtype=torch.float32) + len(name)).reshape(shape)


@cache
def mesh():
    return init_device_mesh(DEVICE, (dist.get_world_size(),))


@cache
def grid():
    size = dist.get_world_size()
    return init_device_mesh(DEVICE, (size // 2, 2) if size % 2 == 0 else (1, size))


def cuts(shape):
    """Every way to lay a tensor of a shape out that is tried here."""
    yield "plain", None, None
    yield "whole", mesh(), [Replicate()]
    for dim in range(len(shape)):
        yield f"cut{dim}", mesh(), [Shard(dim)]
        yield f"copies{dim}", grid(), [Replicate(), Shard(dim)]
        for other in range(len(shape)):
            yield f"grid{dim}{other}", grid(), [Shard(dim), Shard(other)]


def laid_out(whole, where, placements):
    whole = whole.to(DEVICE)
    return whole if where is None else distribute_tensor(whole, where, placements, src_data_rank=None)


def whole_of(tensor):
    return (tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor).cpu()


def part_of(tensor):
    return tensor.to_local() if hasattr(tensor, "to_local") else tensor


def save_all_cuts(folder):
    state = {}
    for name, shape in SHAPES.items():
        for cut, where, placements in cuts(shape):
            state.setdefault(cut, {})[name] = laid_out(values(name), where, placements)
    state["step"], state["notes"] = 17, [{"text": "kept"}, (1, None)]
    return dcp.save(state, checkpoint_id=folder)


def load_all_cuts(folder):
    """What was saved in any cut is loaded in every other."""
    known = dcp.FileSystemReader(folder).read_metadata().state_dict_metadata
    laid = {name: list(cuts(shape)) for name, shape in SHAPES.items()}
    for at in range(max(map(len, laid.values()))):
        state = {}
        for saved, _, name in (key.rpartition(".") for key in known):
            if name in SHAPES:
                _, where, placements = laid[name][at % len(laid[name])]
                state.setdefault(saved, {})[name] = laid_out(
                    torch.full(SHAPES[name], -1.0), where, placements
                )
        dcp.load(state, checkpoint_id=folder)
        for saved, tensors in state.items():
            for name, tensor in tensors.items():
                placed = getattr(tensor, "device_mesh", None), getattr(tensor, "placements", None)
                wanted = laid_out(values(name), *placed)
                assert torch.equal(part_of(tensor), part_of(wanted)), (saved, name, tensor)
    state = {"step": 0, "notes": [{"text": ""}, None]}
    dcp.load(state, checkpoint_id=folder)
    assert state == {"step": 17, "notes": [{"text": "kept"}, (1, None)]}, state


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(6, 12), nn.Linear(12, 3)
        self.register_buffer("mean", torch.zeros(6))

    def forward(self, x):
        return self.down(torch.relu(self.up(x - self.mean)))


def network(how):
    """A model cut in one of several ways, with its optimizer."""
    torch.manual_seed(3)
    model = Network().to(DEVICE)
    if how == "ddp":
        model = nn.parallel.DistributedDataParallel(model)
    elif how == "fsdp":
        for part in (model.up, model.down, model):
            fully_shard(part, mesh=mesh())
    elif how == "wrapper":
        policy = ModuleWrapPolicy({nn.Linear})
        model = FullyShardedDataParallel(model, auto_wrap_policy=policy, device_mesh=mesh())
    elif how == "tensor":
        parallelize_module(model, mesh(), {"up": ColwiseParallel(), "down": RowwiseParallel()})
    return model, torch.optim.AdamW(model.parameters(), lr=0.05)


def loss_of(model, step):
    """The same data on every process, so that every cut computes the same."""
    made = torch.Generator().manual_seed(step)
    x, y = torch.randn(12, 6, generator=made).to(DEVICE), torch.randn(12, 3, generator=made).to(DEVICE)
    return ((model(x) - y) ** 2).mean()


def train(model, optimizer, steps):
    losses = []
    for step in steps:
        optimizer.zero_grad()
        loss = loss_of(model, step)
        loss.backward()
        optimizer.step()
        losses.append(float(whole_of(loss.detach())))
    return losses


class Training:
    """A model and its optimizer as one object with a state."""

    def __init__(self, how):
        self.model, self.optimizer = network(how)

    def state_dict(self):
        model, optimizer = get_state_dict(self.model, self.optimizer)
        return {"model": model, "optimizer": optimizer}

    def load_state_dict(self, state):
        set_state_dict(
            self.model,
            self.optimizer,
            model_state_dict=state["model"],
            optim_state_dict=state["optimizer"],
        )
