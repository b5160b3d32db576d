"""What a world of processes checks about distributed tensors and sharded models, for test_sharding.py.

Each function below is one check: it runs on every process of the world and asserts.
"""

import copy
import json
import os
import sys
import traceback
from datetime import timedelta

import mindtorch_v2 as torch
import mindtorch_v2.distributed as dist
import mindtorch_v2.nn.functional as F
from mindtorch_v2 import nn
from mindtorch_v2.distributed.device_mesh import init_device_mesh
from mindtorch_v2.distributed.fsdp import CPUOffloadPolicy, MixedPrecisionPolicy, fully_shard
from mindtorch_v2.distributed.tensor import (
    DTensor,
    Partial,
    Replicate,
    Shard,
    distribute_module,
    distribute_tensor,
)
from mindtorch_v2.distributed.tensor import full as full_dtensor
from mindtorch_v2.distributed.tensor import zeros as zeros_dtensor
from mindtorch_v2.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    PrepareModuleOutput,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)

DEVICE = os.environ.get("SHARDING_DEVICE", "cpu")
PLACEMENTS = ([Shard(0)], [Shard(1)], [Replicate()])


def same(found, wanted, within=1e-5):
    torch.testing.assert_close(found.cpu(), wanted.cpu(), atol=within, rtol=within)


def mesh_of_all():
    return init_device_mesh(DEVICE, (dist.get_world_size(),))


def randn(*shape):
    return torch.randn(*shape).to(DEVICE)


def check_a_tensor_is_whole_again_after_any_change_of_placements():
    mesh, x = mesh_of_all(), randn(7, 6)
    for before in PLACEMENTS:
        placed = distribute_tensor(x, mesh, before)
        for after in PLACEMENTS:
            moved = placed.redistribute(placements=after)
            assert list(moved.placements) == after
            same(moved.full_tensor(), x)


def check_parts_are_those_of_chunk():
    mesh, x = mesh_of_all(), randn(7, 6)
    part = distribute_tensor(x, mesh, [Shard(0)]).to_local()
    chunks = x.chunk(mesh.size(), 0)
    rank = mesh.get_local_rank()
    same(part, chunks[rank] if rank < len(chunks) else x[:0])


def check_sums_that_are_still_to_be_made():
    mesh = mesh_of_all()
    mine = torch.full((4, 3), float(dist.get_rank() + 1)).to(DEVICE)
    total = sum(range(1, mesh.size() + 1))
    made = DTensor.from_local(mine, mesh, [Partial()])
    same(made.full_tensor(), torch.full((4, 3), float(total)))
    same(made.redistribute(placements=[Shard(0)]).full_tensor(), torch.full((4, 3), float(total)))
    largest = DTensor.from_local(mine, mesh, [Partial("max")])
    same(largest.full_tensor(), torch.full((4, 3), float(mesh.size())))


OPERATORS = {
    "add": lambda x, w: x + 1,
    "broadcast": lambda x, w: x * w[0, 0] + x[0],
    "relu": lambda x, w: x.relu(),
    "product": lambda x, w: x @ w,
    "transposed product": lambda x, w: (w.t() @ x.t()).t(),
    "addmm": lambda x, w: torch.addmm(x[0, :5] * 0 + 1, x, w),
    "sum": lambda x, w: x.sum(),
    "sum over rows": lambda x, w: x.sum(0),
    "mean keeping": lambda x, w: x.mean(1, keepdim=True),
    "largest": lambda x, w: x.amax(0),
    "max": lambda x, w: x.max(),
    "variance": lambda x, w: x.var(1),
    "softmax": lambda x, w: x.softmax(-1),
    "log_softmax of rows": lambda x, w: x.log_softmax(0),
    "norm": lambda x, w: torch.linalg.vector_norm(x),
    "cumsum": lambda x, w: x.cumsum(1),
    "sort": lambda x, w: x.sort(1).values,
    "layer_norm": lambda x, w: F.layer_norm(x, (6,), x[0], x[1]),
    "view": lambda x, w: x.view(7, 2, 3),
    "flatten": lambda x, w: x.reshape(42),
    "permute": lambda x, w: x.view(7, 2, 3).permute(2, 0, 1),
    "slice": lambda x, w: x[1:5, ::2],
    "select": lambda x, w: x[:, 2],
    "cat": lambda x, w: torch.cat([x, x * 2], 1),
    "stack": lambda x, w: torch.stack([x, x]),
    "split": lambda x, w: x.split([2, 4], 1)[1],
    "where": lambda x, w: torch.where(x > 0, x, w[0, 0]),
    "gather": lambda x, w: x.gather(1, x.argsort(1)),
    "unsqueeze and expand": lambda x, w: x.unsqueeze(1).expand(7, 3, 6),
    "without a rule": lambda x, w: torch.tril(x),
    "tile": lambda x, w: x.repeat(2, 1),
    "einsum": lambda x, w: torch.einsum("ij,jk->k", x, w),
}


def check_operators_give_what_they_give_on_whole_tensors():
    mesh, x, w = mesh_of_all(), randn(7, 6), randn(6, 5)
    for name, operator in OPERATORS.items():
        wanted = operator(x, w)
        for one in PLACEMENTS:
            for other in PLACEMENTS:
                made = operator(distribute_tensor(x, mesh, one), distribute_tensor(w, mesh, other))
                assert isinstance(made, DTensor), name
                assert made.shape == wanted.shape, (name, made.shape, wanted.shape)
                try:
                    same(made.full_tensor(), wanted)
                except AssertionError as error:
                    raise AssertionError(
                        f"{name} of {one} and {other} gave {made.placements}: {error}"
                    ) from None


def check_products_leave_sums_and_parts_without_messages():
    mesh, x, w = mesh_of_all(), randn(8, 8), randn(8, 8)
    columns = distribute_tensor(x, mesh, [Shard(1)])
    rows = distribute_tensor(w, mesh, [Shard(0)])
    assert (columns @ rows).placements == (Partial(),)
    assert (
        distribute_tensor(x, mesh, [Shard(0)]) @ distribute_tensor(w, mesh, [Replicate()])
    ).placements == (Shard(0),)
    assert (columns * 2 + 1).placements == (Shard(1),), (columns * 2 + 1).placements


def check_writes_in_place_reach_the_parts():
    mesh, x = mesh_of_all(), randn(7, 6)
    for placements in PLACEMENTS:
        placed = distribute_tensor(x, mesh, placements)
        placed.add_(1).mul_(2)
        placed.copy_(placed + 1)
        same(placed.full_tensor(), (x + 1) * 2 + 1)
        placed.tril_()
        same(placed.full_tensor(), ((x + 1) * 2 + 1).tril())


def check_gradients_are_those_of_whole_tensors():
    mesh, x, w = mesh_of_all(), randn(7, 6), randn(6, 5)
    a, b = x.clone().requires_grad_(), w.clone().requires_grad_()
    (a @ b).softmax(1)[:, 0].sum().backward()
    for one in PLACEMENTS:
        for other in PLACEMENTS:
            da = distribute_tensor(x, mesh, one).requires_grad_()
            db = distribute_tensor(w, mesh, other).requires_grad_()
            (da @ db).softmax(1)[:, 0].sum().backward()
            same(da.grad.full_tensor(), a.grad)
            same(db.grad.full_tensor(), b.grad)


def check_gradients_pass_from_and_to_local_parts():
    mesh = mesh_of_all()
    mine = randn(2, 3).requires_grad_()
    whole = DTensor.from_local(mine, mesh, [Shard(0)])
    whole.redistribute(placements=[Replicate()]).to_local().sum().backward()
    same(mine.grad, torch.ones(2, 3) * 1.0)


def check_tensors_are_made_in_parts():
    mesh = mesh_of_all()
    made = zeros_dtensor(5, 4, device_mesh=mesh, placements=[Shard(0)])
    assert made.shape == (5, 4) and made.to_local().shape[0] <= 5
    same(
        full_dtensor((5, 4), 3.0, device_mesh=mesh, placements=[Shard(1)]).full_tensor(),
        torch.full((5, 4), 3.0),
    )


def check_plain_tensors_among_them_are_refused():
    mesh = mesh_of_all()
    placed = distribute_tensor(randn(4, 4), mesh, [Shard(0)])
    try:
        placed + randn(4, 4)
    except RuntimeError as error:
        assert "got mixed torch.Tensor and DTensor" in str(error)
    else:
        raise AssertionError("it was taken")
    same((placed + torch.tensor(1.0)).full_tensor() - placed.full_tensor(), torch.ones(4, 4))


def check_placements_that_do_not_fit_are_refused():
    mesh = mesh_of_all()
    for wrong in ([Shard(0), Shard(1)], [Shard(2)], ["S(0)"]):
        try:
            distribute_tensor(randn(4, 4), mesh, wrong)
        except ValueError:
            continue
        raise AssertionError(f"{wrong} was taken")


def check_a_mesh_of_two_dimensions():
    if dist.get_world_size() != 4:
        return
    mesh, x, w = init_device_mesh(DEVICE, (2, 2)), randn(7, 6), randn(6, 5)
    choices = [[Shard(0), Shard(0)], [Shard(0), Shard(1)], [Replicate(), Shard(0)], [Shard(1), Replicate()]]
    for one in choices:
        placed = distribute_tensor(x, mesh, one)
        for other in choices:
            same(placed.redistribute(placements=other).full_tensor(), x)
            same((placed @ distribute_tensor(w, mesh, other)).full_tensor(), x @ w)
            same((placed * 2).redistribute(placements=other).sum(0).full_tensor(), (x * 2).sum(0))


class Block(nn.Module):
    """Attention and a feed-forward part."""

    def __init__(self, width=8, heads=4):
        super().__init__()
        self.norm, self.heads = nn.LayerNorm(width), heads
        self.q, self.k, self.v, self.out = (nn.Linear(width, width) for _ in range(4))
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, x):
        h = self.norm(x)
        batch, length = h.shape[:2]
        size = x.shape[-1] // self.heads
        q, k, v = (part(h).view(batch, length, -1, size).transpose(1, 2) for part in (self.q, self.k, self.v))
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(attended.transpose(1, 2).reshape(batch, length, -1))
        return x + self.down(F.gelu(self.up(x)))


def trains_alike(reference, model, batches, optimizer, parts=lambda each: each, steps=5, within=1e-5):
    """Losses of the whole model on whole batches and of the distributed one are the same."""
    one, other = optimizer(reference.parameters()), optimizer(model.parameters())
    for x, y in batches[:steps]:
        loss = F.mse_loss(reference(x), y)
        one.zero_grad()
        loss.backward()
        one.step()
        mine = F.mse_loss(model(parts(x)), parts(y))
        other.zero_grad()
        mine.backward()
        other.step()
        total = mine.detach().clone()
        if isinstance(total, DTensor):
            total = total.full_tensor()
        dist.all_reduce(total)
        same(total / dist.get_world_size(), loss.detach(), within)


def batches(*shape, count=5):
    return [(randn(*shape), randn(*shape)) for _ in range(count)]


def mine_of(batch):
    return batch.chunk(dist.get_world_size())[dist.get_rank()]


def check_tensor_parallel_trains_as_one_process():
    if 4 % dist.get_world_size():
        return  # heads are not cut
    reference = Block().to(DEVICE)
    model = copy.deepcopy(reference)
    plan = {name: ColwiseParallel() for name in ("q", "k", "v", "up")}
    parallelize_module(model, mesh_of_all(), {**plan, "out": RowwiseParallel(), "down": RowwiseParallel()})
    trains_alike(reference, model, batches(2, 5, 8), lambda p: torch.optim.AdamW(p, lr=0.01))
    assert model.q.weight.to_local().shape == (8 // dist.get_world_size(), 8)


def check_sequence_parallel_trains_as_one_process():
    if 8 % dist.get_world_size():
        return  # local parts must be as long everywhere
    reference = nn.Sequential(nn.LayerNorm(8), nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 8)).to(DEVICE)
    model = copy.deepcopy(reference)
    plan = {
        "0": SequenceParallel(),
        "1": ColwiseParallel(input_layouts=Shard(1)),
        "3": RowwiseParallel(output_layouts=Shard(1), use_local_output=False),
    }
    mesh = mesh_of_all()
    parallelize_module(model, mesh, plan)
    parallelize_module(
        model, mesh, PrepareModuleInput(input_layouts=Replicate(), desired_input_layouts=Shard(1))
    )
    parallelize_module(
        model, mesh, PrepareModuleOutput(output_layouts=Shard(1), desired_output_layouts=Replicate())
    )
    trains_alike(reference, model, batches(2, 8, 8), lambda p: torch.optim.SGD(p, lr=0.1))


def check_a_style_says_what_it_is_for():
    try:
        parallelize_module(nn.LayerNorm(4).to(DEVICE), mesh_of_all(), ColwiseParallel())
    except NotImplementedError as error:
        assert "nn.Linear and nn.Embedding" in str(error)
    else:
        raise AssertionError("it was taken")


def check_distribute_module_leaves_the_rest_whole():
    reference = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 6)).to(DEVICE)
    model = copy.deepcopy(reference)

    def cut(_, part, mesh):
        if isinstance(part, nn.Linear):
            part.weight = nn.Parameter(distribute_tensor(part.weight.data, mesh, [Shard(0)]))

    mesh = mesh_of_all()
    distribute_module(model, mesh, cut)
    assert model[0].weight.placements == (Shard(0),) and model[0].bias.placements == (Replicate(),), model[
        0
    ].bias.placements
    x = randn(4, 6)
    same(model(distribute_tensor(x, mesh, [Shard(0)])).full_tensor(), reference(x))


class Tied(nn.Module):
    """Blocks between an embedding and a head that share their weight."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 7, bias=False)
        self.blocks = nn.ModuleList(Block() for _ in range(3))
        self.unused = nn.Linear(3, 3)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return F.linear(self.first(x), self.first.weight.t())


def sharded(model, **options):
    for block in model.blocks:
        fully_shard(block, **options)
    return fully_shard(model, **options)


def check_fully_shard_trains_as_one_process():
    reference = Tied().to(DEVICE)
    model = sharded(copy.deepcopy(reference))
    assert isinstance(model.blocks[0].q.weight.data, DTensor)
    trains_alike(reference, model, batches(12, 5, 8), lambda p: torch.optim.AdamW(p, lr=0.01), mine_of)
    assert model.unused.weight.grad is None


def check_whole_parameters_have_memory_only_while_they_are_needed():
    model = sharded(Tied().to(DEVICE))
    state = vars(model.blocks[0])["_fsdp_state"]
    assert all(each.whole.untyped_storage().size() == 0 for each in state.group.parameters)
    seen = []
    model.blocks[0].q.register_forward_hook(
        lambda *_: seen.append(model.blocks[0].k.weight.untyped_storage().size())
    )
    model(randn(2, 5, 8)).sum().backward()
    assert seen == [8 * 8 * 4]
    assert all(each.whole.untyped_storage().size() == 0 for each in state.group.parameters)


def check_gradients_accumulate_without_being_summed():
    reference = Tied().to(DEVICE)
    model = sharded(copy.deepcopy(reference))
    data = batches(12, 5, 8, count=2)
    for at, (x, y) in enumerate(data):
        F.mse_loss(reference(x), y).backward()
        model.set_requires_gradient_sync(at == 1)
        F.mse_loss(model(mine_of(x)), mine_of(y)).backward()
    wanted = dict(reference.named_parameters())
    for name, parameter in model.named_parameters():
        if parameter.grad is not None:
            same(parameter.grad.full_tensor(), wanted[name].grad)


def check_computing_in_half_precision_keeps_parameters_and_gradients():
    half = {"param_dtype": torch.bfloat16, "reduce_dtype": torch.float32}
    reference = Tied().to(DEVICE)
    model = copy.deepcopy(reference)
    for block in model.blocks:
        fully_shard(block, mp_policy=MixedPrecisionPolicy(**half))
    fully_shard(model, mp_policy=MixedPrecisionPolicy(**half, output_dtype=torch.float32))
    seen = []
    model.blocks[0].register_forward_pre_hook(lambda m, args: seen.append(m.q.weight.dtype))
    x = randn(12, 5, 8)
    out = model(mine_of(x))
    assert out.dtype == torch.float32 and seen == [torch.bfloat16]
    out.sum().backward()
    assert model.blocks[0].q.weight.dtype == model.blocks[0].q.weight.grad.dtype == torch.float32
    same(out, mine_of(reference(x)), 0.1)


def check_parts_may_be_kept_on_the_host():
    reference = Tied().to(DEVICE)
    model = sharded(copy.deepcopy(reference), offload_policy=CPUOffloadPolicy())
    assert model.first.weight.to_local().device.type == "cpu"
    x = randn(12, 5, 8)
    same(model(mine_of(x)), mine_of(reference(x)))
    model(mine_of(x)).sum().backward()
    assert model.first.weight.grad.to_local().device.type == "cpu"


def check_copies_of_shards_on_a_mesh_of_two_dimensions():
    if dist.get_world_size() != 4:
        return
    reference = Tied().to(DEVICE)
    model = sharded(copy.deepcopy(reference), mesh=init_device_mesh(DEVICE, (2, 2)))
    assert model.first.weight.placements == (Replicate(), Shard(0))
    trains_alike(reference, model, batches(12, 5, 8), lambda p: torch.optim.SGD(p, lr=0.1), mine_of)


def check_parameters_are_cut_along_the_dimension_that_a_function_chooses():
    reference = Tied().to(DEVICE)
    model = sharded(copy.deepcopy(reference), shard_placement_fn=lambda p: Shard(p.dim() - 1))
    up, size = model.blocks[0].up.weight, dist.get_world_size()
    assert up.placements == (Shard(1),) and up.shape == (16, 8)
    columns = up.full_tensor().chunk(size, 1)[dist.get_rank()]
    assert up.to_local().equal(columns) and up.to_local().is_contiguous()
    trains_alike(reference, model, batches(12, 5, 8), lambda p: torch.optim.SGD(p, lr=0.1), mine_of)
    for name, value in model.state_dict().items():
        same(value.full_tensor(), reference.state_dict()[name], 1e-4)
    for choice, kind, said in (
        (Shard(2), AssertionError, "Shard dim 2 is invalid"),
        (Replicate(), ValueError, "Invalid shard_placement_fn result"),
    ):
        try:
            fully_shard(nn.Linear(4, 4).to(DEVICE), shard_placement_fn=lambda p, choice=choice: choice)
        except kind as error:
            assert said in str(error)
        else:
            raise AssertionError(f"{choice} was taken")


def check_parameters_are_kept_among_neighbours_between_forward_and_backward():
    size = dist.get_world_size()
    for wrong in (0, -1, size + 1, 2.0):
        try:
            fully_shard(nn.Linear(4, 4).to(DEVICE), reshard_after_forward=wrong)
        except ValueError as error:
            assert "reshard_after_forward" in str(error)
        else:
            raise AssertionError(f"{wrong} was taken")
    for near in [each for each in range(1, size + 1) if size % each == 0]:
        reference = Tied().to(DEVICE)
        model = sharded(copy.deepcopy(reference), reshard_after_forward=near)
        trains_alike(reference, model, batches(12, 5, 8), lambda p: torch.optim.AdamW(p, lr=0.01), mine_of)
        group = vars(model.blocks[1])["_fsdp_state"].group
        assert group.shards.size() == size and (group.nearby is not None) == (1 < near < size)
        if group.nearby is None:
            continue
        before = group.nearby._get_sequence_number_for_group(), group.shards._get_sequence_number_for_group()
        out = model(mine_of(randn(12, 5, 8)))
        assert group._kept.numel() * near == sum(each.filled * each.parts for each in group.parameters)
        assert group.nearby._get_sequence_number_for_group() == before[0]
        out.sum().backward()
        assert group.nearby._get_sequence_number_for_group() > before[0] and group._kept is None
        with torch.no_grad():
            model(mine_of(randn(12, 5, 8)))
        assert group._kept is None


def check_clipping_sees_the_norm_of_the_whole():
    reference = Tied().to(DEVICE)
    model = sharded(copy.deepcopy(reference))
    x, y = batches(12, 5, 8, count=1)[0]
    F.mse_loss(reference(x), y).backward()
    F.mse_loss(model(mine_of(x)), mine_of(y)).backward()
    wanted = nn.utils.clip_grad_norm_(reference.parameters(), 0.1)
    found = nn.utils.clip_grad_norm_(model.parameters(), 0.1)
    same(found.full_tensor() if isinstance(found, DTensor) else found, wanted)
    same(model.first.weight.grad.full_tensor(), reference.first.weight.grad)


def check_state_is_in_parts_and_comes_back():
    model = sharded(Tied().to(DEVICE))
    before = {name: value.full_tensor().clone() for name, value in model.state_dict().items()}
    other = sharded(Tied().to(DEVICE))
    other.load_state_dict(model.state_dict())
    for name, value in other.state_dict().items():
        same(value.full_tensor(), before[name])


def check_modules_of_a_list_are_gathered_together():
    reference = Tied().to(DEVICE)
    model = copy.deepcopy(reference)
    fully_shard([model.blocks[0], model.blocks[1]])
    fully_shard(model)
    assert vars(model.blocks[0])["_fsdp_state"] is vars(model.blocks[1])["_fsdp_state"]
    trains_alike(reference, model, batches(12, 5, 8), lambda p: torch.optim.SGD(p, lr=0.1), mine_of)


def check_parameters_on_meta_are_cut_there_and_loaded():
    reference = Tied().to(DEVICE)
    with torch.device("meta"):
        model = Tied()
    sharded(model, mesh=mesh_of_all())
    assert model.first.weight.to_local().device.type == "meta"
    places = {name: value.placements for name, value in model.state_dict().items()}
    given = reference.state_dict()
    made = {name: distribute_tensor(given[name], mesh_of_all(), each) for name, each in places.items()}
    model.load_state_dict(made, assign=True)
    trains_alike(reference, model, batches(12, 5, 8), lambda p: torch.optim.SGD(p, lr=0.1), mine_of)


def check_what_is_gathered_ahead_is_not_used_after_a_step():
    """The outermost module computes last, and so its gradients are the first."""
    reference = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8)).to(DEVICE)
    model = copy.deepcopy(reference)
    fully_shard(model[0])
    fully_shard(model)
    trains_alike(reference, model, batches(12, 8), lambda p: torch.optim.SGD(p, lr=0.1), mine_of)


def check_a_module_is_sharded_once():
    model = fully_shard(nn.Linear(4, 4).to(DEVICE))
    try:
        fully_shard(model)
    except AssertionError as error:
        assert "twice" in str(error)
    else:
        raise AssertionError("it was taken")


def run(checks):
    """Runs all checks of a module on every process, and writes what came of them where the first argument says."""
    if DEVICE != "cpu":
        torch.get_device_module(DEVICE).set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group(os.environ.get("SHARDING_BACKEND", "gloo"), timeout=timedelta(seconds=60))
    found = {}
    for name, check in list(checks.items()):
        if not name.startswith("check_"):
            continue
        torch.manual_seed(0)
        try:
            check()
            found[name] = ""
        except Exception:  # noqa: BLE001 - the test shows it
            found[name] = traceback.format_exc()
        every = [None] * dist.get_world_size()
        dist.all_gather_object(every, found[name])
        found[name] = next((each for each in every if each), "")
    if dist.get_rank() == 0:
        with open(sys.argv[1], "w") as file:
            json.dump(found, file)
    dist.destroy_process_group()


if __name__ == "__main__":
    run(globals())
