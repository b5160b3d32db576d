"""What a world of processes checks about FullyShardedDataParallel, for test_sharding.py."""

import copy
import functools
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from sharding_checks import DEVICE, Block, Tied, batches, mine_of, randn, run, same, trains_alike

import mindtorch_v2 as torch
import mindtorch_v2.distributed as dist
import mindtorch_v2.nn.functional as F
from mindtorch_v2 import nn
from mindtorch_v2.distributed.algorithms._checkpoint.checkpoint_wrapper import (
    CheckpointWrapper,
    apply_activation_checkpointing,
)
from mindtorch_v2.distributed.device_mesh import init_device_mesh
from mindtorch_v2.distributed.fsdp import (
    BackwardPrefetch,
    CPUOffload,
    FullOptimStateDictConfig,
    FullStateDictConfig,
    MixedPrecision,
    ShardingStrategy,
    StateDictType,
)
from mindtorch_v2.distributed.fsdp import FullyShardedDataParallel as FSDP
from mindtorch_v2.distributed.fsdp.sharded_grad_scaler import ShardedGradScaler
from mindtorch_v2.distributed.fsdp.wrap import (
    CustomPolicy,
    ModuleWrapPolicy,
    enable_wrap,
    lambda_auto_wrap_policy,
    size_based_auto_wrap_policy,
    transformer_auto_wrap_policy,
    wrap,
)
from mindtorch_v2.distributed.tensor import DTensor

BLOCKS = ModuleWrapPolicy({Block})


def wrapped(model, **options):
    return FSDP(model, **({"auto_wrap_policy": BLOCKS} | options))


def sgd(parameters):
    return torch.optim.SGD(parameters, lr=0.1, momentum=0.9)


def adamw(parameters):
    return torch.optim.AdamW(parameters, lr=0.01)


def check_every_strategy_trains_as_one_process():
    for strategy in ShardingStrategy:
        if strategy.name in ("HYBRID_SHARD", "_HYBRID_SHARD_ZERO2"):
            if dist.get_world_size() != 4:
                continue
            options = {"device_mesh": init_device_mesh(DEVICE, (2, 2))}
        else:
            options = {}
        torch.manual_seed(1)
        reference = Tied().to(DEVICE)
        model = wrapped(copy.deepcopy(reference), sharding_strategy=strategy, **options)
        assert len(FSDP.fsdp_modules(model)) == 4
        trains_alike(reference, model, batches(12, 5, 8), sgd, mine_of, steps=3)
        for name, value in model.state_dict().items():
            same(value, reference.state_dict()[name])


def check_prefetching_does_not_change_what_is_computed():
    reference = Tied().to(DEVICE)
    for when in (None, *BackwardPrefetch):
        model = wrapped(copy.deepcopy(reference), backward_prefetch=when)
        trains_alike(copy.deepcopy(reference), model, batches(12, 5, 8), adamw, mine_of, steps=2)


def check_policies_choose_units():
    def units(policy):
        model = FSDP(Tied().to(DEVICE), auto_wrap_policy=policy)
        return [type(each.module).__name__ for each in FSDP.fsdp_modules(model)]

    assert units(BLOCKS) == ["Tied", "Block", "Block", "Block"]
    by_class = functools.partial(transformer_auto_wrap_policy, transformer_layer_cls={Block})
    assert units(by_class) == ["Tied", "Block", "Block", "Block"]
    by_function = functools.partial(
        lambda_auto_wrap_policy, lambda_fn=lambda each: isinstance(each, nn.LayerNorm)
    )
    assert units(by_function) == ["Tied", "LayerNorm", "LayerNorm", "LayerNorm"]
    by_size = functools.partial(size_based_auto_wrap_policy, min_num_params=500)
    assert units(by_size) == ["Tied", "Block", "Block", "Block"]
    told = CustomPolicy(
        lambda each: {"sharding_strategy": ShardingStrategy.SHARD_GRAD_OP}
        if isinstance(each, Block)
        else False
    )
    model = FSDP(Tied().to(DEVICE), auto_wrap_policy=told)
    assert model.blocks[0].sharding_strategy is ShardingStrategy.SHARD_GRAD_OP
    assert model.sharding_strategy is ShardingStrategy.FULL_SHARD


def check_modules_may_be_wrapped_by_hand():
    with enable_wrap(wrapper_cls=FSDP, sharding_strategy=ShardingStrategy.SHARD_GRAD_OP):
        model = nn.Sequential(wrap(nn.Linear(8, 8).to(DEVICE)), nn.ReLU(), nn.Linear(8, 8).to(DEVICE))
    assert isinstance(model[0], FSDP) and wrap(model[2]) is model[2]
    reference = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8)).to(DEVICE)
    reference.load_state_dict(model.state_dict())
    trains_alike(reference, FSDP(model), batches(12, 8), sgd, mine_of, steps=3)


def check_an_optimizer_may_be_made_before_the_model_is_wrapped():
    reference = Tied().to(DEVICE)
    model = copy.deepcopy(reference)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model = wrapped(model, use_orig_params=True)
    x, y = batches(12, 5, 8, count=1)[0]
    F.mse_loss(model(mine_of(x)), mine_of(y)).backward()
    optimizer.step()
    one = torch.optim.SGD(reference.parameters(), lr=0.1)
    F.mse_loss(reference(x), y).backward()
    one.step()
    for name, value in model.state_dict().items():
        same(value, reference.state_dict()[name])


def check_the_wrapper_looks_like_what_it_wraps():
    model = wrapped(Tied().to(DEVICE))
    assert model.first is model.module.first and len(model.blocks) == 3
    assert next(iter(model.named_parameters()))[0] == "_fsdp_wrapped_module.first.weight"
    assert isinstance(model.first.weight, DTensor) and model.check_is_root()
    assert not model.blocks[0].check_is_root()
    assert FSDP(nn.Sequential(nn.Linear(2, 2).to(DEVICE), nn.ReLU()))[1].__class__ is nn.ReLU
    try:
        _ = model.missing
    except AttributeError as error:
        assert "missing" in str(error)
    else:
        raise AssertionError("it was found")


def check_gradients_accumulate_inside_no_sync():
    reference = Tied().to(DEVICE)
    model = wrapped(copy.deepcopy(reference))
    (x, y), (u, v) = batches(12, 5, 8, count=2)
    F.mse_loss(reference(x), y).backward()
    F.mse_loss(reference(u), v).backward()
    with model.no_sync():
        F.mse_loss(model(mine_of(x)), mine_of(y)).backward()
    assert model.first.weight.grad is None
    F.mse_loss(model(mine_of(u)), mine_of(v)).backward()
    same(model.first.weight.grad.full_tensor(), reference.first.weight.grad)
    same(model.blocks[1].up.weight.grad.full_tensor(), reference.blocks[1].up.weight.grad)


def check_clipping_takes_the_norm_of_all():
    reference = Tied().to(DEVICE)
    for strategy in (ShardingStrategy.FULL_SHARD, ShardingStrategy.NO_SHARD):
        reference.zero_grad()
        model = wrapped(copy.deepcopy(reference), sharding_strategy=strategy)
        x, y = batches(12, 5, 8, count=1)[0]
        F.mse_loss(reference(x), y).backward()
        F.mse_loss(model(mine_of(x)), mine_of(y)).backward()
        wanted = nn.utils.clip_grad_norm_(reference.parameters(), 0.1)
        found = model.clip_grad_norm_(0.1)
        assert not isinstance(found, DTensor)
        same(found, wanted)
        same(model.first.weight.grad.full_tensor(), reference.first.weight.grad)


def check_full_parameters_are_there_for_a_while_and_are_written_back():
    reference = Tied().to(DEVICE)
    model = wrapped(copy.deepcopy(reference), mixed_precision=MixedPrecision(param_dtype=torch.bfloat16))
    with FSDP.summon_full_params(model):
        names = dict(model.named_parameters())
        assert list(names) == [name for name, _ in reference.named_parameters()]
        for name, value in reference.named_parameters():
            same(names[name], value)
        x = randn(2, 5, 8)
        same(model(x), reference(x))
        with torch.no_grad():
            model.first.weight.add_(1)
    same(model.state_dict()["first.weight"], reference.first.weight + 1)
    with FSDP.summon_full_params(model, writeback=False, offload_to_cpu=True):
        assert model.first.weight.device.type == "cpu"
        with torch.no_grad():
            model.first.weight.zero_()
    same(model.state_dict()["first.weight"], reference.first.weight + 1)
    with FSDP.summon_full_params(model, writeback=False, rank0_only=True):
        assert isinstance(model.first.weight, DTensor) == (dist.get_rank() != 0)
    model.apply(lambda each: nn.init.ones_(each.weight) if isinstance(each, nn.Linear) else None)
    same(model.state_dict()["blocks.2.up.weight"], torch.ones(16, 8))


def check_gradients_are_full_with_them():
    reference = Tied().to(DEVICE)
    model = wrapped(copy.deepcopy(reference), use_orig_params=True)
    x, y = batches(12, 5, 8, count=1)[0]
    F.mse_loss(reference(x), y).backward()
    F.mse_loss(model(mine_of(x)), mine_of(y)).backward()
    with FSDP.summon_full_params(model, with_grads=True):
        same(model.first.weight.grad, reference.first.weight.grad)
        model.first.weight.grad.zero_()
    same(model.first.weight.grad.full_tensor(), torch.zeros(7, 8))


def check_state_is_full_local_or_in_parts_and_loads():
    model, wanted = wrapped(Tied().to(DEVICE)), None
    for kind in StateDictType:
        with FSDP.state_dict_type(model, kind):
            saved = model.state_dict()
            wanted = wanted or list(saved)
            assert list(saved) == wanted
            assert isinstance(saved["first.weight"], DTensor) == (kind is StateDictType.SHARDED_STATE_DICT)
            if kind is StateDictType.FULL_STATE_DICT:
                assert saved["first.weight"].shape == (7, 8)
            torch.manual_seed(5)
            other = wrapped(Tied().to(DEVICE))
            FSDP.set_state_dict_type(other, kind)
            other.load_state_dict(saved)
        for name, value in model.state_dict().items():
            full = other.state_dict()[name] if kind is StateDictType.FULL_STATE_DICT else None
            if full is not None:
                same(full, value)
        FSDP.set_state_dict_type(other, StateDictType.FULL_STATE_DICT)
        same(other.state_dict()["blocks.1.q.bias"], model.state_dict()["blocks.1.q.bias"])
    only = FullStateDictConfig(offload_to_cpu=True, rank0_only=True)
    with FSDP.state_dict_type(model, StateDictType.FULL_STATE_DICT, only):
        assert list(model.state_dict()) == (wanted if dist.get_rank() == 0 else [])


def check_the_state_of_an_optimizer_goes_by_name_and_comes_back():
    reference = Tied().to(DEVICE)
    model = wrapped(copy.deepcopy(reference))
    one, optimizer = adamw(reference.parameters()), adamw(model.parameters())
    x, y = batches(12, 5, 8, count=1)[0]
    for target, opt, a, b in ((reference, one, x, y), (model, optimizer, mine_of(x), mine_of(y))):
        F.mse_loss(target(a), b).backward()
        opt.step()
    names = [name for name, _ in reference.named_parameters()]
    for kind, config in (
        (StateDictType.FULL_STATE_DICT, FullOptimStateDictConfig()),
        (StateDictType.FULL_STATE_DICT, FullOptimStateDictConfig(rank0_only=True)),
        (StateDictType.SHARDED_STATE_DICT, None),
    ):
        with FSDP.state_dict_type(model, kind, None, config):
            saved = FSDP.optim_state_dict(model, optimizer)
            if kind is StateDictType.FULL_STATE_DICT and saved:
                assert saved["param_groups"][0]["params"] == names
                for number, values in one.state_dict()["state"].items():
                    same(saved["state"][names[number]]["exp_avg"], values["exp_avg"])
            assert bool(saved) or (config.rank0_only and dist.get_rank() != 0)
            fresh = adamw(model.parameters())
            fresh.load_state_dict(FSDP.optim_state_dict_to_load(model, fresh, saved or None))
        for parameter in model.parameters():
            for key, value in optimizer.state[parameter].items():
                found = fresh.state[parameter][key]
                assert isinstance(found, DTensor) == isinstance(value, DTensor)
                same(getattr(found, "_local_tensor", found), getattr(value, "_local_tensor", value))


class Normed(nn.Module):
    """A layer that mixed precision leaves alone, between two that it does not."""

    def __init__(self):
        super().__init__()
        self.a, self.norm, self.b = nn.Linear(6, 6), nn.BatchNorm1d(6), nn.Linear(6, 6)

    def forward(self, x):
        return self.b(self.norm(self.a(x)))


def note(seen, name, module, args, output):
    seen[name] = output.dtype


def check_mixed_precision_computes_low_and_leaves_batch_norm_alone():
    model = Normed().to(DEVICE)
    half = MixedPrecision(torch.bfloat16, torch.float32, torch.bfloat16)
    for policy in (
        ModuleWrapPolicy({nn.Linear}),
        functools.partial(size_based_auto_wrap_policy, min_num_params=1),
    ):
        made, seen = FSDP(copy.deepcopy(model), auto_wrap_policy=policy, mixed_precision=half), {}
        for name in ("a", "norm", "b"):
            part = getattr(made, name)
            part.register_forward_hook(functools.partial(note, seen, name))
        out = made(randn(8, 6))
        out.float().sum().backward()
        assert seen == dict.fromkeys(("a", "norm", "b"), torch.bfloat16) and out.dtype == torch.bfloat16
        assert made.norm.running_mean.dtype == torch.float32
        assert all(each.grad.dtype == torch.float32 for each in made.parameters())
        assert {value.dtype for value in made.state_dict().values()} == {torch.float32, torch.int64}


def check_parts_on_the_host_and_ignored_modules():
    reference = Tied().to(DEVICE)
    model = wrapped(copy.deepcopy(reference), cpu_offload=CPUOffload(offload_params=True))
    assert model.first.weight.to_local().device.type == "cpu"
    trains_alike(reference, model, batches(12, 5, 8), adamw, mine_of, steps=2)
    kept = Tied().to(DEVICE)
    made = FSDP(kept, ignored_modules=[kept.blocks[0]], auto_wrap_policy=BLOCKS)
    assert not isinstance(made.blocks[0].q.weight, DTensor) and isinstance(made.blocks[1].q.weight, DTensor)
    made = FSDP(nn.Linear(4, 4).to(DEVICE), ignored_states=[])
    assert isinstance(made.weight, DTensor)


def check_all_processes_begin_with_the_values_of_the_first():
    torch.manual_seed(dist.get_rank())
    model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4)).to(DEVICE)
    model[1].running_mean.fill_(dist.get_rank())
    torch.manual_seed(0)
    first = nn.Linear(4, 4)
    made = FSDP(model, sync_module_states=True)
    same(made.state_dict()["0.weight"], first.weight)
    same(made.state_dict()["1.running_mean"], torch.zeros(4))


def check_parameters_on_meta_get_memory():
    with torch.device("meta"):
        model = nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4))
    made = FSDP(model, device_id=torch.device(DEVICE), sync_module_states=True)
    same(made.state_dict()["1.weight"], torch.ones(4))
    assert made.state_dict()["0.weight"].abs().sum() > 0
    made(randn(3, 4)).sum().backward()


def check_modules_inside_units_may_compute_again_in_backward():
    reference = Tied().to(DEVICE)
    model = wrapped(copy.deepcopy(reference))
    apply_activation_checkpointing(model, check_fn=lambda each: isinstance(each, Block))
    assert len([each for each in model.modules() if isinstance(each, CheckpointWrapper)]) == 3
    assert list(model.state_dict()) == list(reference.state_dict())
    model.load_state_dict(reference.state_dict())
    trains_alike(reference, model, batches(12, 5, 8), sgd, mine_of, steps=3)


def check_a_hook_may_sum_gradients_itself():
    reference = Tied().to(DEVICE)
    model = wrapped(copy.deepcopy(reference))
    calls = []

    def hook(state, table, mine):
        state.append(table.numel())
        dist.reduce_scatter_single(mine, table)
        mine.div_(dist.get_world_size())

    model.register_comm_hook(calls, hook)
    trains_alike(reference, model, batches(12, 5, 8), adamw, mine_of, steps=1)
    assert len(calls) == 4


def check_an_infinite_gradient_of_one_process_stops_the_step_of_all():
    model = wrapped(Tied().to(DEVICE))
    before = {name: value.clone() for name, value in model.state_dict().items()}
    optimizer, scaler = adamw(model.parameters()), ShardedGradScaler(DEVICE, init_scale=8.0)
    scaler.scale(model(randn(2, 5, 8)).sum()).backward()
    if dist.get_rank() == 0:
        model.first.weight.grad._local_tensor.fill_(float("inf"))
    scaler.step(optimizer)
    scaler.update()
    assert scaler.get_scale() == 4.0
    for name, value in model.state_dict().items():
        same(value, before[name])


def check_a_parameter_of_two_units_is_refused():
    class Shared(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)
            self.b.weight = self.a.weight

    try:
        FSDP(Shared().to(DEVICE), auto_wrap_policy=ModuleWrapPolicy({nn.Linear}))
    except ValueError as error:
        assert "shared" in str(error)
    else:
        raise AssertionError("it was taken")


def check_the_dtype_of_a_units_parameters_can_be_raised():
    """What accelerate does with models that were loaded in half precision."""
    model = wrapped(Tied().to(DEVICE).to(torch.bfloat16), mixed_precision=MixedPrecision(torch.bfloat16))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for unit in FSDP.fsdp_modules(model):
        assert unit._has_params
        parameter = unit._flat_param
        assert parameter.dtype == torch.bfloat16 and parameter._fqns
        parameter.data = parameter.data.to(torch.float32)
        unit._handle._orig_param_dtype = torch.float32
    model(randn(2, 5, 8)).float().sum().backward()
    optimizer.step()
    assert model.first.weight.dtype == model.first.weight.grad.dtype == torch.float32
    assert model.state_dict()["first.weight"].dtype == torch.float32


if __name__ == "__main__":
    run(globals())
