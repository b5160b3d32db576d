"""Fifty steps of models in parts beside the same steps of one process, for test_sharding.py."""

import copy
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from sharding_checks import DEVICE, Block, mesh_of_all, mine_of, randn, run, same

import mindtorch_v2 as torch
import mindtorch_v2.distributed as dist
import mindtorch_v2.nn.functional as F
from mindtorch_v2 import nn
from mindtorch_v2.distributed.fsdp import FullyShardedDataParallel as FSDP
from mindtorch_v2.distributed.fsdp import fully_shard
from mindtorch_v2.distributed.fsdp.wrap import ModuleWrapPolicy
from mindtorch_v2.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor
from mindtorch_v2.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    loss_parallel,
    parallelize_module,
)

STEPS, VOCABULARY = 50, 30


class MLP(nn.Module):
    """Two layers, and a number for each of four classes."""

    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(12, 32), nn.Linear(32, 4)

    def forward(self, x):
        return self.down(torch.tanh(self.up(x)))

    def data(self):
        return randn(8, 12), torch.randint(4, (8,)).to(DEVICE)


class GPT(nn.Module):
    """Blocks between an embedding and a head that share their weight."""

    def __init__(self):
        super().__init__()
        self.embed, self.place = nn.Embedding(VOCABULARY, 16), nn.Parameter(torch.randn(6, 16) * 0.1)
        self.blocks = nn.ModuleList(Block(16, 4) for _ in range(2))
        self.norm, self.head = nn.LayerNorm(16), nn.Linear(16, VOCABULARY, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, tokens):
        x = self.embed(tokens) + self.place
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x)).flatten(0, 1)

    def data(self):
        tokens = torch.randint(VOCABULARY, (4, 7)).to(DEVICE)
        return tokens[:, :-1], tokens[:, 1:]


class Residual(nn.Module):
    """A convolution and a norm around which the input goes."""

    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(6, 6, 3, padding=1, bias=False), nn.BatchNorm2d(6)

    def forward(self, x):
        return F.relu(x + self.norm(self.conv(x)))


class ResNet(nn.Module):
    """Two such blocks."""

    def __init__(self):
        super().__init__()
        self.stem, self.blocks = nn.Conv2d(3, 6, 3, padding=1), nn.ModuleList(Residual() for _ in range(2))
        self.head = nn.Linear(6, 4)

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x.mean((2, 3)))

    def data(self):
        return randn(4, 3, 6, 6), torch.randint(4, (4,)).to(DEVICE)


def steps_are_alike(model, parts, take=mine_of, context=None):
    """The last losses of the whole model and of the one in parts, which ``parts`` makes of a copy."""
    reference, made = model, parts(copy.deepcopy(model))
    optimizers = [torch.optim.SGD(each.parameters(), lr=0.05, momentum=0.9) for each in (reference, made)]
    for _ in range(STEPS):
        x, y = model.data()
        loss = F.cross_entropy(reference(x), y.flatten())
        loss.backward()
        if context is None:
            mine = F.cross_entropy(made(take(x)), take(y).flatten())
            mine.backward()
        else:
            with context():
                mine = F.cross_entropy(made(take(x)), take(y).flatten())
                mine.backward()
        for each in optimizers:
            each.step()
            each.zero_grad()
    mine = mine.detach()
    mine = mine.full_tensor() if isinstance(mine, DTensor) else mine.clone()
    dist.all_reduce(mine)
    same(mine / dist.get_world_size(), loss.detach(), 1e-5)


def synchronized(model):
    return nn.SyncBatchNorm.convert_sync_batchnorm(model)


def wrapped(model):
    return FSDP(synchronized(model), auto_wrap_policy=ModuleWrapPolicy({Block, Residual}))


def fully_sharded(model):
    model = synchronized(model)
    for block in getattr(model, "blocks", ()):
        fully_shard(block)
    return fully_shard(model)


def check_an_mlp_in_parts():
    steps_are_alike(MLP().to(DEVICE), wrapped)
    steps_are_alike(MLP().to(DEVICE), fully_sharded)


def check_a_gpt_with_tied_weights_in_parts():
    steps_are_alike(GPT().to(DEVICE), wrapped)
    steps_are_alike(GPT().to(DEVICE), fully_sharded)


def check_a_resnet_with_synchronized_norms_in_parts():
    steps_are_alike(ResNet().to(DEVICE), wrapped)
    steps_are_alike(ResNet().to(DEVICE), fully_sharded)


def tensor_parallel(model, mesh):
    """Heads, hidden units and words apart; words as rows of the embedding and as outputs of the head."""
    whole = Replicate()
    plan = {f"blocks.*.{name}": ColwiseParallel() for name in ("q", "k", "v", "up")}
    plan |= {f"blocks.*.{name}": RowwiseParallel() for name in ("out", "down")}
    plan["embed"] = RowwiseParallel(input_layouts=whole)
    plan["head"] = ColwiseParallel(use_local_output=False)
    parallelize_module(model, mesh, plan)
    model.head.weight = model.embed.weight
    return model


def whole(batch):
    return batch


def check_tensor_parallel_with_losses_in_parts():
    mesh = mesh_of_all()
    steps_are_alike(GPT().to(DEVICE), lambda model: tensor_parallel(model, mesh), whole, loss_parallel)
    plan = {"up": ColwiseParallel(), "down": RowwiseParallel()}
    steps_are_alike(MLP().to(DEVICE), lambda model: parallelize_module(model, mesh, plan), whole)


LOGITS = {
    "mean": lambda x, y: F.cross_entropy(x, y),
    "sum": lambda x, y: F.cross_entropy(x, y, reduction="sum"),
    "none": lambda x, y: F.cross_entropy(x, y, reduction="none").sum() * 2,
    "weights": lambda x, y: F.cross_entropy(x, y, torch.arange(1.0, 8.0).to(DEVICE)),
    "ignored": lambda x, y: F.cross_entropy(x, y, ignore_index=3),
}


def check_losses_in_parts_are_those_of_whole_logits():
    mesh = mesh_of_all()
    x, y = randn(6, 7), torch.tensor([0, 3, 6, 2, 3, 5]).to(DEVICE)
    for name, loss in LOGITS.items():
        one = x.clone().requires_grad_()
        wanted = loss(one, y)
        wanted.backward()
        placed = distribute_tensor(x, mesh, [Shard(1)]).requires_grad_()
        with loss_parallel():
            found = loss(placed, y)
            found.backward()
        same(found.full_tensor(), wanted.detach())
        assert placed.grad.placements == (Shard(1),), name
        same(placed.grad.full_tensor(), one.grad)
    try:
        with loss_parallel():
            F.cross_entropy(distribute_tensor(x, mesh, [Shard(0)]), y)
    except ValueError as error:
        assert "class dimension" in str(error)
    else:
        raise AssertionError("it was taken")


def check_rows_of_an_embedding_in_parts():
    mesh, table = mesh_of_all(), randn(7, 5)
    indices = torch.tensor([[0, 6, 3], [3, 2, 1]]).to(DEVICE)
    one = table.clone().requires_grad_()
    wanted = F.embedding(indices, one, padding_idx=3)
    (wanted * wanted).sum().backward()
    placed = distribute_tensor(table, mesh, [Shard(0)]).requires_grad_()
    found = F.embedding(distribute_tensor(indices, mesh, [Replicate()]), placed, padding_idx=3)
    assert found.placements[0].is_partial(), found.placements
    (found * found).sum().backward()
    same(found.full_tensor(), wanted.detach())
    same(placed.grad.full_tensor(), one.grad)


if __name__ == "__main__":
    run(globals())
