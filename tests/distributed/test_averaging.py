"""Models that train apart and are averaged now and then, and optimizers inside the backward pass."""

import pytest
import worlds

import mindtorch_v2.distributed as dist

pytestmark = pytest.mark.skipif(
    not dist.is_gloo_available(), reason="the extra 'distributed' is not installed"
)


def test_models_train_apart_together_and_in_the_backward_pass():
    worlds.check(
        """
        import copy
        import warnings
        import mindtorch_v2.distributed.algorithms.ddp_comm_hooks as hooks
        from mindtorch_v2 import nn
        from mindtorch_v2.distributed import collective_utils, optim
        from mindtorch_v2.distributed.algorithms.ddp_comm_hooks import post_localSGD_hook as local
        from mindtorch_v2.distributed.algorithms.model_averaging import averagers, utils
        from mindtorch_v2.distributed.algorithms.model_averaging.hierarchical_model_averager import (
            HierarchicalModelAverager,
        )
        from mindtorch_v2.nn.parallel import DistributedDataParallel

        world = dist.group.WORLD

        def values(model):
            return [each.tolist() for each in model.parameters()]

        # A quarter of the bytes: averages are right up to a 255th of the range, of each channel where it has its own.
        for kind in (hooks.DDPCommHookType.QUANTIZE_PER_TENSOR, hooks.DDPCommHookType.QUANTIZE_PER_CHANNEL):
            layer = nn.Linear(300, 2, bias=False)
            ddp = DistributedDataParallel(layer, process_group=world)
            hooks.register_ddp_comm_hook(kind, ddp, world)
            x = torch.linspace(-1, 2, 300) * (rank + 1)
            ddp(x).sum().backward()
            error = (layer.weight.grad[0] - torch.linspace(-1, 2, 300) * 1.5).abs().max().item()
            assert 0 < error < 1.5 * 3 / 255, (kind, error)
        assert ddp.reducer.buckets[0].buffer().dtype is torch.float32

        # Parameters of several dtypes are averaged in place, by those who are in the group.
        some = [nn.Parameter(torch.full((2,), float(rank), dtype=d)) for d in (torch.float32, torch.float64)]
        memory = [each.data_ptr() for each in some]
        utils.average_parameters(iter(some), world)
        assert [each.tolist() for each in some] == [[0.5, 0.5]] * 2
        assert [(each.dtype, each.requires_grad) for each in some] == [(torch.float32, True), (torch.float64, True)]
        assert memory == [each.data_ptr() for each in some]
        alone = dist.new_group([0])
        some[0].data.fill_(rank + 4.0)
        utils.average_parameters(iter(some[:1]), alone)
        assert some[0].tolist() == [rank + 4.0] * 2
        assert "of type <class 'int'> is not supported" in error_of(
            lambda: utils.get_params_to_average([3]), NotImplementedError
        )

        # Groups of one every step, all every second one.
        torch.manual_seed(0)
        model = nn.Linear(2, 1, bias=False)
        base = torch.optim.SGD(model.parameters(), lr=0.5)
        optimizer = optim.PostLocalSGDOptimizer(base, HierarchicalModelAverager({1: 1, 2: 2}))
        rate = torch.optim.lr_scheduler.StepLR(base, 1, 0.5)
        seen = []
        for _ in range(4):
            optimizer.zero_grad()
            model(torch.ones(1, 2) * (rank + 1)).sum().backward()
            optimizer.step()
            rate.step()
            gathered = collective_utils.all_gather(lambda: model.weight.tolist(), pg=world)
            seen.append(gathered[0] == gathered[1])
        assert seen == [True, False, True, False]
        saved = copy.deepcopy(optimizer.state_dict())
        other = torch.optim.SGD(model.parameters(), lr=9.0)
        again = optim.PostLocalSGDOptimizer(other, averagers.PeriodicModelAverager(2))
        again.load_state_dict(saved)
        assert again.averager.step == 4 and again.param_groups is again.optim.param_groups
        assert again.param_groups[0]["lr"] == base.param_groups[0]["lr"] == 0.5 / 16
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            again.load_state_dict({name: each for name, each in saved.items() if name != "step"})
        assert "step counter" in str(warned[0].message) and again.averager.step == 0

        # After the first iterations only neighbours average gradients.
        own, _ = dist.new_subgroups(1)
        state = local.PostLocalSGDState(None, own, 1)
        ddp = DistributedDataParallel(nn.Linear(1, 1, bias=False))
        ddp.register_comm_hook(state, local.post_localSGD_hook)
        gradients = []
        for _ in range(2):
            ddp.zero_grad()
            ddp(torch.full((1, 1), rank + 1.0)).sum().backward()
            gradients.append(ddp.module.weight.grad.item())
        assert gradients == [1.5, rank + 1.0] and state.iter == 1

        # Steps in the backward pass use the average, as those after it do, also for parameters that some do not use.
        class Two(nn.Module):
            def __init__(self):
                super().__init__()
                self.always, self.sometimes = nn.Linear(3, 3), nn.Linear(3, 3)

            def forward(self, x, both):
                return self.always(x) + (self.sometimes(x) if both else 0)

        torch.manual_seed(1)
        plain = Two()
        inside = copy.deepcopy(plain)
        optim._apply_optimizer_in_backward(torch.optim.SGD, inside.parameters(), {"lr": 0.1, "momentum": 0.9})
        optimizer = torch.optim.SGD(plain.parameters(), lr=0.1, momentum=0.9)
        models = [DistributedDataParallel(each, find_unused_parameters=True) for each in (plain, inside)]
        for step in range(4):
            both = step == 3 or (step == 2 and rank == 0)
            for each in models:
                x = torch.ones(1, 3) * (rank + step)
                if step == 1:  # the gradients of this pass are only added
                    with each.no_sync():
                        each(x, both).sum().backward()
                    assert each.module.always.weight.grad is not None
                each(x, both).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
            assert all(each.grad is None for each in inside.parameters())
            for a, b in zip(plain.parameters(), inside.parameters(), strict=True):
                torch.testing.assert_close(a, b)
        assert len(optim._get_in_backward_optimizers(inside)) == 4

        # Who fails before a collective tells the others.
        def fail():
            if rank == 1:
                raise KeyError("nothing")
            return rank

        try:
            collective_utils.all_gather(fail, "reading", world)
        except RuntimeError as error:
            number, cause = error.args[1][0]
            assert number == 1 and type(cause) is KeyError and type(error.__cause__) is KeyError
        else:
            raise AssertionError("nothing was raised")
        later = error_of(lambda: collective_utils.all_gather(rank, f"stage {rank}", world))
        assert "Unexpected stage name received from rank 1: stage 1" in later
        """
    )
