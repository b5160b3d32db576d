"""What a world of four processes, two by two, checks about models in parts, for test_sharding.py."""

import copy
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from sharding_checks import DEVICE, Tied, batches, mine_of, run, same, trains_alike
from training_checks import GPT, steps_are_alike, tensor_parallel

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.distributed.device_mesh import init_device_mesh
from mindtorch_v2.distributed.fsdp import FullyShardedDataParallel as FSDP
from mindtorch_v2.distributed.fsdp import ShardingStrategy, fully_shard
from mindtorch_v2.distributed.tensor import Replicate, Shard, distribute_tensor
from mindtorch_v2.distributed.tensor.parallel import loss_parallel


def check_tensor_parallel_and_sharded_at_once():
    mesh = init_device_mesh(DEVICE, (2, 2), mesh_dim_names=("data", "tensor"))
    made = []

    def both(model):
        made.append(fully_sharded(tensor_parallel(model, mesh["tensor"])))
        return made[0]

    def fully_sharded(model):
        for block in model.blocks:
            fully_shard(block, mesh=mesh["data"])
        return fully_shard(model, mesh=mesh["data"])

    def mine(batch):
        return batch.chunk(2)[mesh.get_local_rank("data")]

    model = GPT().to(DEVICE)
    first = copy.deepcopy(model)
    steps_are_alike(model, both, mine, loss_parallel)
    up, out = made[0].blocks[0].up.weight, made[0].blocks[0].out.weight
    assert up.device_mesh.mesh_dim_names == ("data", "tensor")
    assert up.to_local().shape == (8, 16) and out.to_local().shape == (8, 8)
    assert up.placements[1] == Shard(0) and out.placements == (Shard(0), Shard(1)), out.placements
    for name, value in made[0].state_dict().items():
        full = value.full_tensor()
        same(full, model.state_dict()[name], 1e-4)
        if not name.endswith(
            "k.bias"
        ):  # which softmax takes away again: its gradient is zero but for rounding
            assert not torch.equal(full, first.state_dict()[name]), name
    norm = nn.utils.get_total_norm([up, up * 2])
    same(norm.full_tensor(), torch.linalg.vector_norm(torch.stack([up.full_tensor(), up.full_tensor() * 2])))
    same((up * 2).add_(up).full_tensor(), up.full_tensor() * 3)
    same(distribute_tensor(up.full_tensor(), up.device_mesh, up.placements).to_local(), up.to_local())


def check_shards_within_machines_and_copies_between():
    mesh = init_device_mesh(DEVICE, (2, 2))
    for strategy in (ShardingStrategy.HYBRID_SHARD, ShardingStrategy._HYBRID_SHARD_ZERO2):
        torch.manual_seed(1)
        reference = Tied().to(DEVICE)
        made = FSDP(copy.deepcopy(reference), sharding_strategy=strategy, device_mesh=mesh)
        trains_alike(reference, made, batches(12, 5, 8), lambda p: torch.optim.SGD(p, lr=0.1), mine_of, 3)
        assert made.first.weight.placements == (Replicate(), Shard(0))


if __name__ == "__main__":
    run(globals())
