"""DistributedDataParallel: two processes with half a batch each train like one with all of it."""

import textwrap

import pytest
import worlds

import mindtorch_v2.distributed as dist

pytestmark = pytest.mark.skipif(
    not dist.is_gloo_available(), reason="the extra 'distributed' is not installed"
)

MODEL = """
from mindtorch_v2 import nn
from mindtorch_v2.nn.parallel import DistributedDataParallel as DDP

def made(seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(6, 40), nn.Tanh(), nn.Linear(40, 40), nn.ReLU(), nn.Linear(40, 3))

def batches(count, batch=8):
    generator = torch.Generator().manual_seed(1)
    drawn = torch.randn(count, batch, 9, generator=generator)
    return [(part[:, :6], part[:, 6:]) for part in drawn]

def own(batch):
    return [part.chunk(size)[rank] for part in batch]

def losses(model, given, share, optimizer=torch.optim.SGD, **options):
    steps = optimizer(model.parameters(), lr=0.1, **options)
    found = []
    for batch in given:
        inputs, targets = share(batch)
        steps.zero_grad()
        loss = nn.functional.mse_loss(model(inputs), targets)
        loss.backward()
        steps.step()
        total = loss.detach().clone()
        dist.all_reduce(total)
        found.append(total.item() / size)
    return found

def same(found, expected, within=1e-5):
    assert len(found) == len(expected) and max(abs(a - b) for a, b in zip(found, expected)) < within, (found, expected)
"""


def check(text: str, **options) -> None:
    worlds.check(MODEL + textwrap.dedent(text), **options)


def test_losses_are_those_of_one_process_with_every_option():
    check(
        """
        expected = losses(made(), batches(50), lambda batch: batch)
        for options in ({}, {"gradient_as_bucket_view": True}, {"bucket_cap_mb": 0.005}, {"static_graph": True},
                        {"find_unused_parameters": True}, {"bucket_cap_mb": 0.005, "gradient_as_bucket_view": True}):
            model = DDP(made(seed=rank), **options)  # rank 0's values count
            same(losses(model, batches(50), own), expected)
        assert len(model.reducer.buckets) > 1 and model.reducer._rebuilt
        order = [name for bucket in model.reducer.buckets for name in [model.reducer.names[n] for n in bucket.numbers]]
        assert order[0].startswith("4.") and order[-1].startswith("0."), order
        """
    )


def test_gradients_of_passes_without_sync_are_averaged_by_the_next_one():
    check(
        """
        alone, model = made(), DDP(made())
        for batch in batches(3):
            nn.functional.mse_loss(alone(batch[0]), batch[1]).backward()
        *first, last = batches(3)
        with model.no_sync():
            for batch in first:
                inputs, targets = own(batch)
                nn.functional.mse_loss(model(inputs), targets).backward()
        local = model.module[0].weight.grad.clone()
        inputs, targets = own(last)
        nn.functional.mse_loss(model(inputs), targets).backward()
        for one, other in zip(alone.parameters(), model.parameters()):
            assert torch.allclose(one.grad, other.grad, atol=1e-6)
        assert not torch.allclose(local, model.module[0].weight.grad)
        """
    )


def test_parameters_that_some_or_all_processes_do_not_use():
    check(
        """
        class Branches(nn.Module):
            def __init__(self):
                super().__init__()
                self.always, self.zero, self.never = nn.Linear(6, 3), nn.Linear(6, 3), nn.Linear(6, 3)
            def forward(self, x, both):
                return self.always(x) + (self.zero(x) if both else 0)
        torch.manual_seed(0)
        model = DDP(Branches(), find_unused_parameters=True)
        for _ in range(3):
            model.zero_grad()
            x = torch.ones(2, 6) * (rank + 1)
            model(x, rank == 0).sum().backward()
            assert model.module.always.weight.grad[0, 0] == 3.0  # the mean of 2 and 4
            assert model.module.zero.weight.grad[0, 0] == 1.0  # the mean of 2 and nothing
            assert model.module.never.weight.grad is None
        strict = DDP(Branches())
        strict(x, True).sum().backward()
        said = error_of(lambda: strict(x, True))
        assert "Expected to have finished reduction" in said and "never.weight" in said, said
        """
    )


def test_a_static_graph_may_use_a_parameter_several_times_and_others_never():
    check(
        """
        from mindtorch_v2.utils.checkpoint import checkpoint
        class Repeated(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer, self.never = nn.Linear(6, 6), nn.Linear(6, 6)
            def forward(self, x):
                for _ in range(2):
                    x = checkpoint(self.layer, x, use_reentrant=True)
                return x
        torch.manual_seed(0)
        model = DDP(Repeated(), static_graph=True)
        alone = Repeated()
        alone.load_state_dict(model.module.state_dict())
        for step in range(3):
            x = torch.arange(12.0).view(2, 6) / 10 + step
            model.zero_grad(); alone.zero_grad()
            model(x[rank:rank + 1].requires_grad_()).sum().backward()
            (alone(x.requires_grad_()).sum() / 2).backward()
            assert torch.allclose(model.module.layer.weight.grad, alone.layer.weight.grad, atol=1e-5), step
            assert model.module.never.weight.grad is None
        """
    )


def test_buffers_of_rank_0_reach_all_and_ignored_ones_do_not():
    check(
        """
        class Counting(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(6, 3)
                self.register_buffer("seen", torch.tensor(float(rank)))
                self.register_buffer("local", torch.tensor(float(rank)))
            def forward(self, x):
                self.seen += rank + 1
                return self.layer(x)
        inner = Counting()
        inner._ddp_params_and_buffers_to_ignore = ["local"]
        model = DDP(inner)
        for _ in range(2):
            model(torch.ones(1, 6)).sum().backward()
        assert inner.seen.item() == (2.0 if rank == 0 else 1.0 + 2.0) and inner.local.item() == rank
        """
    )


def test_communication_hooks_average_in_fewer_bytes():
    check(
        """
        from mindtorch_v2.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
        from mindtorch_v2.distributed.algorithms.ddp_comm_hooks import DDPCommHookType, register_ddp_comm_hook
        expected = losses(made(), batches(20), lambda batch: batch)
        plain = lambda state, bucket: dist.all_reduce(
            bucket.buffer().div_(size), async_op=True).get_future().then(lambda done: done.value()[0])
        power = powerSGD_hook.PowerSGDState(None, matrix_approximation_rank=4, start_powerSGD_iter=2)
        for state, hook, within in (
            (None, plain, 1e-5), (None, default_hooks.allreduce_hook, 1e-5),
            (None, default_hooks.fp16_compress_hook, 1e-3),
            (None, default_hooks.bf16_compress_hook, 1e-2), (None, default_hooks.bf16_compress_wrapper(plain), 1e-2),
            (power, powerSGD_hook.powerSGD_hook, 0.05),
        ):
            model = DDP(made(), bucket_cap_mb=0.005)
            model.register_comm_hook(state, hook)
            same(losses(model, batches(20), own), expected, within)
        rate, before, after = power.compression_stats()
        assert rate > 1.5 and before > after
        model = DDP(made())
        register_ddp_comm_hook(DDPCommHookType.FP16_COMPRESS, model)
        same(losses(model, batches(20), own), expected, 1e-3)
        assert "only be called once" in error_of(lambda: model.register_comm_hook(None, plain))
        """
    )


def test_processes_with_fewer_inputs_join_until_the_others_are_done():
    check(
        """
        model = DDP(made(), bucket_cap_mb=0.005)
        steps = torch.optim.SGD(model.parameters(), lr=0.1)
        with model.join():
            for inputs, targets in batches(5)[: 3 + 2 * rank]:
                steps.zero_grad()
                nn.functional.mse_loss(model(inputs), targets).backward()
                steps.step()
        everything = [None] * size
        dist.all_gather_object(everything, [each.sum().item() for each in model.parameters()])
        assert everything[0] == everything[1]
        alone = made()
        steps = torch.optim.SGD(alone.parameters(), lr=0.1)
        for step, (inputs, targets) in enumerate(batches(5)):
            steps.zero_grad()
            (nn.functional.mse_loss(alone(inputs), targets) / (1 if step < 3 else 2)).backward()
            steps.step()
        for one, other in zip(alone.parameters(), model.parameters()):
            assert torch.allclose(one, other, atol=1e-5)
        """
    )


def test_a_join_may_end_all_processes_as_soon_as_one_has_no_inputs():
    check(
        """
        model = DDP(made())
        def loop():
            with model.join(throw_on_early_termination=True):
                for inputs, targets in batches(1 + rank):
                    nn.functional.mse_loss(model(inputs), targets).backward()
        said = error_of(loop)
        assert said == "Rank 0 exhausted all inputs." if rank == 0 else "exhausted inputs. Throwing" in said, said
        """
    )


def test_models_that_differ_are_refused():
    check(
        """
        said = error_of(lambda: DDP(nn.Linear(3 + rank, 3)))
        assert "params must be the same on all ranks" in said, said
        said = error_of(lambda: DDP(nn.Linear(3, 3, bias=rank == 0)))
        assert "DDP expects same model across all ranks" in said, said
        frozen = nn.Linear(3, 3).requires_grad_(False)
        assert "not needed" in error_of(lambda: DDP(frozen))
        """
    )


def test_batch_statistics_over_processes_give_the_losses_of_one_process():
    check(
        """
        def convolutional():
            torch.manual_seed(0)
            return nn.Sequential(
                nn.Conv2d(2, 6, 3), nn.BatchNorm2d(6), nn.ReLU(), nn.Conv2d(6, 4, 3), nn.BatchNorm2d(4), nn.Flatten(),
                nn.Linear(16, 3), nn.BatchNorm1d(3, affine=False, momentum=None))
        generator = torch.Generator().manual_seed(1)
        draw = lambda *shape: torch.randn(8, *shape, generator=generator)
        given = [(draw(2, 6, 6), draw(3)) for _ in range(50)]
        alone = convolutional()
        expected = losses(alone, given, lambda batch: batch)
        model = DDP(nn.SyncBatchNorm.convert_sync_batchnorm(convolutional()))
        same(losses(model, given, own), expected)
        for one, other in zip(alone.buffers(), model.module.buffers()):
            assert torch.allclose(one, other, atol=1e-4)
        alone.eval(); model.eval()
        assert torch.allclose(alone(given[0][0]), model(given[0][0]), atol=1e-3)
        uneven = nn.SyncBatchNorm(2)
        values = torch.arange(12.0).view(6, 2)
        result = uneven(values[:2] if rank == 0 else values[2:])
        whole = nn.BatchNorm1d(2)(values)
        assert torch.allclose(result, whole[:2] if rank == 0 else whole[2:], atol=1e-5)
        """
    )


def test_an_optimizer_with_divided_state_gives_the_losses_of_a_whole_one():
    check(
        """
        from mindtorch_v2.distributed.optim import ZeroRedundancyOptimizer
        torch.set_default_dtype(torch.float64)  # Adam makes steps of what is left of gradients that cancel
        expected = losses(made(), batches(50), lambda batch: batch, torch.optim.Adam)
        model = DDP(made())
        zero = ZeroRedundancyOptimizer(model.parameters(), torch.optim.Adam, lr=0.1)
        schedule = torch.optim.lr_scheduler.StepLR(zero, 100)
        found = losses(model, batches(50), own, lambda parameters, lr: zero)
        same(found, expected, 1e-6)
        assert 0 < len(zero.optim.state) < len(list(model.parameters()))
        zero.consolidate_state_dict(0)
        if rank == 0:
            whole = zero.state_dict()
            assert len(whole["state"]) == 6 and whole["param_groups"][0]["params"] == list(range(6))
        else:
            assert "has not been consolidated" in error_of(zero.state_dict)
        sent = [whole if rank == 0 else None]
        dist.broadcast_object_list(sent)
        again = ZeroRedundancyOptimizer(model.parameters(), torch.optim.Adam, lr=0.5)
        again.load_state_dict(sent[0])
        assert again.param_groups[0]["lr"] == 0.1 and len(again.optim.state) == len(zero.optim.state)
        for parameter, state in zero.optim.state.items():
            assert torch.equal(again.optim.state[parameter]["exp_avg"], state["exp_avg"])
        """
    )


def test_every_sample_of_a_dataset_reaches_one_process():
    check(
        """
        from mindtorch_v2.utils.data import DistributedSampler
        sampler = DistributedSampler(range(10), shuffle=True)
        sampler.set_epoch(3)
        everything = [None] * size
        dist.all_gather_object(everything, list(sampler))
        assert sorted(everything[0] + everything[1]) == list(range(10)) and len(everything[0]) == 5
        """
    )
