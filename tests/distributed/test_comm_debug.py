"""CommDebugMode counts collectives and says where they come from; visualize_sharding draws parts."""

import json

import pytest

import mindtorch_v2 as torch
import mindtorch_v2.distributed as dist
from mindtorch_v2 import nn
from mindtorch_v2.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor
from mindtorch_v2.distributed.tensor.debug import CommDebugMode, visualize_sharding
from mindtorch_v2.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from mindtorch_v2.utils.checkpoint import checkpoint

REDUCED = torch.ops.c10d_functional.all_reduce


@pytest.fixture
def mesh():
    """Four processes of which this is the first; the others are not there."""
    dist.init_process_group("fake", rank=0, world_size=4)
    yield dist.init_device_mesh("cpu", (4,))
    dist.destroy_process_group()


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(8, 16), nn.Linear(16, 8)

    def forward(self, x):
        return self.down(self.up(x).relu())


def tensor_parallel(mesh):
    return parallelize_module(MLP(), mesh, {"up": ColwiseParallel(), "down": RowwiseParallel()})


def test_collectives_belong_to_the_module_that_asked_and_to_those_around_it(mesh):
    model, comm = nn.Sequential(tensor_parallel(mesh), nn.Linear(8, 1)), CommDebugMode()
    with comm:
        model(torch.ones(2, 8)).sum().backward()
        dist.all_reduce(torch.ones(1))
    plain = torch.ops.c10d.allreduce_
    assert comm.get_comm_counts() == {REDUCED: 1, plain: 1} and comm.get_total_counts() == 2
    once, nothing = {"forward": {REDUCED: 1}, "backward": {}}, {"forward": {}, "backward": {}}
    counted = {name: each for name, each in comm.comm_module_counts.items() if each != nothing}
    everything = {"forward": {REDUCED: 1, plain: 1}, "backward": {}}
    assert counted == {
        "Global": everything,
        **dict.fromkeys(("Sequential", "Sequential.0", "Sequential.0.down"), once),
    }
    with comm:
        model(torch.ones(2, 8, requires_grad=True)).sum().backward()
    assert comm.comm_module_counts["Sequential.0.up"] == {"forward": {}, "backward": {REDUCED: 1}}
    assert comm.get_total_counts() == 2
    dist.all_reduce(torch.ones(1))
    assert comm.get_total_counts() == 2


def test_what_a_checkpoint_computes_again_is_told_apart(mesh, tmp_path):
    model, comm = tensor_parallel(mesh), CommDebugMode()
    with comm:
        checkpoint(model, torch.ones(2, 8, requires_grad=True), use_reentrant=False).sum().backward()
    assert comm.comm_module_counts["MLP"] == {"forward": {REDUCED: 1}, "backward": {REDUCED: 1}}
    comm.generate_json_dump(tmp_path / "tree.json")
    (mlp,) = json.loads((tmp_path / "tree.json").read_text())["children"]
    names = {
        which: [each["name"] for each in mlp["children"][0][f"operations_{which}"]]
        for which in ("forward", "backward", "checkpointing")
    }
    assert "aten.addmm.default" in names["forward"] and "aten.addmm.default" in names["checkpointing"]
    assert "aten.mm.default" in names["backward"] and "aten.addmm.default" not in names["backward"]
    assert "ACTIVATION CHECKPOINTING" in comm.generate_comm_debug_tracing_table(noise_level=1)


def test_a_forward_pass_that_fails_leaves_its_modules(mesh):
    class Fails(nn.Module):
        def forward(self, x):
            raise ValueError("on purpose")

    model, comm = nn.Sequential(nn.Linear(2, 2), Fails()), CommDebugMode()
    with comm:
        with pytest.raises(ValueError, match="on purpose"):
            model(torch.ones(1, 2))
        assert comm.advanced_module_tracker.name == "Global"
        dist.all_reduce(torch.ones(1))
    assert "Sequential" not in comm.comm_module_counts
    assert not any(each._forward_hooks for each in model.modules())


def test_each_level_of_the_table_tells_more(mesh, tmp_path, capsys):
    model, comm = tensor_parallel(mesh), CommDebugMode()
    with comm:
        model(torch.ones(2, 8)).sum().backward()
    comm.log_comm_debug_tracing_table_to_file(tmp_path / "table.txt", noise_level=0)
    assert (tmp_path / "table.txt").read_text().splitlines() == [
        "Global",
        "  FORWARD PASS",
        "    *c10d_functional.all_reduce: 1",
        "    MLP",
        "      FORWARD PASS",
        "        *c10d_functional.all_reduce: 1",
        "        MLP.up",
        "        MLP.down",
        "          FORWARD PASS",
        "            *c10d_functional.all_reduce: 1",
    ]
    parts, operators, everything = (comm.generate_comm_debug_tracing_table(level) for level in (1, 2, 3))
    assert "*weight: (Shard(dim=0),)" in parts and "**aten.addmm.default" in parts
    assert "sharding: [(Shard(dim=0),), (Replicate(),), (Shard(dim=1),)]" in parts
    assert "aten.threshold_backward" not in parts and "aten.threshold_backward" in operators
    assert "aten.t.default" not in operators and "aten.t.default" in everything
    assert "**c10d_functional.all_reduce" in operators
    shapes_only = [line for line in everything.splitlines() if "empty_strided" in line]
    assert not shapes_only, (
        "how results will lie is asked of tensors without values, which the program has not"
    )

    comm.generate_json_dump(tmp_path / "tree.json", noise_level=1)
    tree = json.loads((tmp_path / "tree.json").read_text())
    (mlp,) = tree["children"]
    up, down = mlp["children"]
    assert [tree["fqn"], mlp["fqn"], up["fqn"], down["fqn"]] == ["Global", "MLP", "MLP.up", "MLP.down"]
    assert down["collectives_forward"] == [["c10d_functional.all_reduce", 1]] == mlp["collectives_forward"]
    assert down["parameters"] == [["weight", "(Shard(dim=1),)"], ["bias", "(Replicate(),)"]]
    assert "aten.addmm.default" in [each["name"] for each in up["operations_forward"]]

    comm.advanced_module_tracker.print_sharding_info()
    assert "MLP.up.weight: (Shard(dim=0),)" in capsys.readouterr().out
    assert comm.get_parameter_info()["MLP.up"]["weight"].placements == (Shard(0),)


def test_an_exchange_of_parts_counts_as_pytorchs_operator_for_the_device():
    dist.init_process_group("fake", rank=0, world_size=2)
    try:
        found = []
        for device in ("cpu", "meta"):
            mesh = dist.init_device_mesh(device, (2,))
            part = DTensor.from_local(torch.ones(2, 4, device=device), mesh, [Shard(0)])
            with CommDebugMode() as comm:
                part.redistribute(mesh, [Shard(1)])
            found += [str(each) for each in comm.get_comm_counts()]
        assert found == ["c10d_functional.all_gather_into_tensor", "_dtensor.shard_dim_alltoall"]
    finally:
        dist.destroy_process_group()


def drawn(capsys, tensor, **options):
    visualize_sharding(tensor, **options)
    return capsys.readouterr().out.splitlines()


def test_parts_are_drawn_with_the_devices_that_have_them(mesh, capsys):
    matrix = torch.ones(6, 4)
    assert drawn(capsys, distribute_tensor(matrix, mesh, [Shard(1)]), header="by columns") == [
        "by columns",
        "         Col 0-0    Col 1-1    Col 2-2    Col 3-3",
        "-------  ---------  ---------  ---------  ---------",
        "Row 0-5  cpu:0      cpu:1      cpu:2      cpu:3",
    ]
    square = dist.init_device_mesh("cpu", (2, 2))
    assert drawn(capsys, distribute_tensor(matrix, square, [Replicate(), Shard(0)])) == [
        "         Col 0-3",
        "-------  ---------",
        "Row 0-2  cpu:0,2",
        "Row 3-5  cpu:1,3",
    ]
    assert drawn(capsys, distribute_tensor(torch.ones(6), square, [Shard(0), Shard(0)])) == [
        "         Col 0-0",
        "-------  ---------",
        "Row 0-1  cpu:0",
        "Row 2-2  cpu:1",
        "Row 3-4  cpu:2",
        "Row 5-5  cpu:3",
    ]
    assert drawn(capsys, DTensor.from_local(torch.ones(0, 4), mesh, [Partial()])) == []
    with pytest.raises(RuntimeError, match="1D or 2D"):
        visualize_sharding(distribute_tensor(torch.ones(2, 2, 2), mesh))
    with pytest.raises(NotImplementedError, match="use_rich"):
        visualize_sharding(distribute_tensor(matrix, mesh), use_rich=True)
