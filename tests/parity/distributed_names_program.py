"""What parts of torch.distributed above the collectives give, in one process of a world: in PyTorch or here.

Usage: python distributed_names_program.py FRAMEWORK FOLDER RANK; the values are pickled into the folder.
"""

import importlib
import pickle
import sys
import warnings
from pathlib import Path

FRAMEWORK, FOLDER, RANK, SIZE = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), 2

torch = importlib.import_module(FRAMEWORK)


def module(name):
    return importlib.import_module(f"{FRAMEWORK}.{name}")


dist, nn, parallel = module("distributed"), module("nn"), module("distributed.tensor.parallel")
tensors, functions = module("distributed.tensor"), module("distributed._functional_collectives")
hooks = module("distributed.algorithms.ddp_comm_hooks")
CommDebugMode = module("distributed.tensor.debug").CommDebugMode
found = {}


def case(function):
    found[function.__name__] = function()


def plain(tensor):
    return tensor.detach().tolist()


def parameters(model):
    return [plain(each) for each in model.parameters()]


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.relu, self.down = nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8)

    def forward(self, x):
        return self.down(self.relu(self.up(x)))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([MLP(), MLP()])

    def forward(self, x):
        for block in self.blocks:
            x = x + block(x)
        return x


def counts(comm):
    return {str(operator): count for operator, count in comm.get_comm_counts().items()}


def by_module(comm):
    return {
        name: {way: {str(operator): n for operator, n in each.items()} for way, each in ways.items()}
        for name, ways in comm.comm_module_counts.items()
    }


def tensor_parallel(mesh, cut, **plans):
    torch.manual_seed(0)
    net = Net()
    for block in net.blocks:
        parallel.parallelize_module(block, mesh, plans)
    comm = CommDebugMode()
    x = torch.ones(4, 8)
    with comm:
        net(tensors.distribute_tensor(x, mesh, [tensors.Shard(0)]) if cut else x).sum().backward()
    forward_and_backward = counts(comm), by_module(comm), comm.get_total_counts(), repr(comm)
    table = comm.generate_comm_debug_tracing_table(noise_level=0)
    placed = {name: str(placements) for name, placements in comm.get_sharding_info().items()}
    named = {name: list(each) for name, each in comm.get_parameter_info().items()}
    optimizer = torch.optim.Adam(net.parameters())
    with comm:
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
    return forward_and_backward, table, placed, named, "c10d.allreduce_" in counts(comm)


def main():
    mesh = dist.init_device_mesh("cpu", (SIZE,))

    @case
    def counts_of_tensor_parallel():
        return tensor_parallel(mesh, False, up=parallel.ColwiseParallel(), down=parallel.RowwiseParallel())

    @case
    def counts_of_tensor_parallel_with_sequences_in_parts():
        rows = tensors.Shard(0)
        ways = parallel.ColwiseParallel(input_layouts=rows), parallel.RowwiseParallel(output_layouts=rows)
        comm = CommDebugMode()
        model = parallel.parallelize_module(MLP(), mesh, dict(zip(("up", "down"), ways, strict=True)))
        with comm:
            model(torch.ones(2, 8)).sum().backward()
        return counts(comm), by_module(comm), comm.generate_comm_debug_tracing_table(noise_level=0)

    @case
    def counts_of_redistributions():
        told = {}
        kinds = tensors.Shard(0), tensors.Shard(1), tensors.Replicate(), tensors.Partial()
        for before in kinds:
            for after in kinds[:3]:
                tensor = tensors.DTensor.from_local(torch.ones(4, 4), mesh, [before]).requires_grad_()
                with CommDebugMode() as comm:
                    tensor.redistribute(mesh, [after]).to_local().sum().backward()
                told[f"{before} {after}"] = counts(comm)
        uneven = tensors.distribute_tensor(torch.ones(5, 3), mesh, [tensors.Shard(0)])
        with CommDebugMode() as comm:
            uneven.redistribute(mesh, [tensors.Shard(1)]).full_tensor()
        square = dist.init_device_mesh("cpu", (SIZE, 1))
        dealt = []
        for where, placements in (
            (mesh, [tensors.Shard(1)]),
            (mesh, [tensors.Replicate()]),
            (square, [tensors.Shard(0), tensors.Replicate()]),
        ):
            with CommDebugMode() as deal:
                made = tensors.distribute_tensor(torch.ones(5, 3) * RANK, where, placements)
            dealt.append((counts(deal) if where is mesh else None, plain(made.to_local())))
        return told, counts(comm), dealt

    @case
    def counts_of_an_embedding_in_rows():
        table = nn.Embedding(8, 4)
        parallel.parallelize_module(table, mesh, parallel.RowwiseParallel(input_layouts=tensors.Replicate()))
        with CommDebugMode() as comm:
            table(torch.arange(4)).sum().backward()
        return counts(comm)

    @case
    def counts_of_functional_collectives():
        world, x = dist.group.WORLD, torch.ones(4, 4)
        told = []
        for call in (
            lambda t: functions.all_reduce(t, "sum", world),
            lambda t: functions.all_gather_tensor_autograd(t, 0, world),
            lambda t: functions.reduce_scatter_tensor_autograd(t, "sum", 0, world),
            lambda t: functions.all_to_all_single_autograd(t, None, None, world),
        ):
            with CommDebugMode() as comm:
                call(x.clone().requires_grad_()).sum().backward()
            told.append((counts(comm), by_module(comm)))
        with CommDebugMode() as comm:
            functions.broadcast(x, 0, world).sum()
            functions.all_gather_tensor(x, 1, world).sum()
            functions.permute_tensor(x.view(-1), [1, 0], world).sum()
            for many in (
                functions.all_reduce_coalesced([x, x], "sum", world),
                functions.all_gather_into_tensor_coalesced([x, x], world),
                functions.reduce_scatter_tensor_coalesced([x, x], "sum", [0, 0], world),
            ):
                sum(many).sum()
        return told, counts(comm)

    @case
    def counts_of_plain_collectives():
        t, parts, whole = torch.ones(4), [torch.ones(4) for _ in range(SIZE)], torch.ones(4 * SIZE)
        at_root = parts if RANK == 0 else None
        with CommDebugMode() as comm:
            dist.all_reduce(t)
            dist.all_reduce_coalesced([t, t.clone()])
            dist.broadcast(t, 0)
            dist.all_gather(parts, t)
            dist.all_gather_into_tensor(whole, t)
            dist.reduce_scatter_tensor(t, whole)
            dist.reduce(t, 0)
            dist.gather(t, at_root, 0)
            dist.scatter(t, at_root, 0)
            dist.reduce_scatter(t, parts)
            dist.all_to_all_single(torch.empty_like(whole), whole)
            dist.barrier()
            (dist.send if RANK else dist.recv)(t, 1 - RANK)
        return counts(comm), by_module(comm)

    @case
    def counts_of_data_parallel():
        model = nn.parallel.DistributedDataParallel(nn.Linear(4, 4))
        with CommDebugMode() as comm:
            model(torch.ones(2, 4)).sum().backward()
        return counts(comm)

    def several():
        return nn.Sequential(nn.Linear(40, 30), nn.Tanh(), nn.Linear(30, 5))

    def one():  # where the order of parameters in a bucket makes no difference
        return nn.Linear(40, 30, bias=False)

    def data_parallel(prepare, steps=1, options=None, make=several):
        """Parameters and gradients after some steps of a model on inputs that differ between the processes."""
        torch.manual_seed(0)
        model = make()
        before_ddp, with_ddp = prepare
        before_ddp(model)
        ddp = nn.parallel.DistributedDataParallel(model, **(options or {}))
        finish = with_ddp(ddp) or (lambda: None)
        told = []
        for step in range(steps):
            torch.manual_seed(10 * step + RANK)
            (ddp(torch.randn(6, 40)) * 7).square().mean().backward()
            told.append([None if each.grad is None else plain(each.grad) for each in model.parameters()])
            finish()
            ddp.zero_grad()
        return told, parameters(model)

    def nothing(_):
        pass

    def as_bytes(rows_of):
        """What PyTorch's hooks mean to give: over Gloo they fail, because its futures have other values there."""
        theirs = module("distributed.algorithms.ddp_comm_hooks.quantization_hooks")
        observers = module("ao.quantization")

        def hook(_, bucket):
            buffer = bucket.buffer()
            if rows_of is None:
                observer, kind, rows = observers.MinMaxObserver(), "tensor", buffer
            else:
                observer, kind, rows = observers.PerChannelMinMaxObserver(), "channel", rows_of(buffer)
            observer(rows)
            told = observer.calculate_qparams()
            sent = getattr(theirs, f"_quantize_per_{kind}_backend")(rows, *told)
            meant = getattr(theirs, f"_dequantize_per_{kind}_backend")(sent, *told).view(-1)
            dist.all_reduce(meant)
            done = torch.futures.Future()
            done.set_result(meant[: buffer.numel()] / SIZE)
            return done

        return lambda ddp: ddp.register_comm_hook(None, hook)

    @case
    def gradients_of_hooks_by_name():
        def registered(kind):
            return lambda ddp: hooks.register_ddp_comm_hook(kind, ddp)

        kinds = hooks.DDPCommHookType
        ways = [registered(kinds.NOOP)]
        if FRAMEWORK == "torch":
            padded = lambda x: nn.functional.pad(x, (0, -x.numel() % 512)).view(-1, 512)  # noqa: E731
            ways += [as_bytes(None), as_bytes(padded)]
        else:
            ways += [registered(kinds.QUANTIZE_PER_TENSOR), registered(kinds.QUANTIZE_PER_CHANNEL)]
        return [each.name for each in kinds], *(data_parallel((nothing, way), make=one) for way in ways)

    @case
    def gradients_of_post_local_sgd():
        local = module("distributed.algorithms.ddp_comm_hooks.post_localSGD_hook")
        own, _ = dist.new_subgroups(1)
        told = []
        for subgroup, gather in ((own, True), (None, False)):
            state = local.PostLocalSGDState(None, subgroup, 2, gather)

            def register(ddp, state=state):
                ddp.register_comm_hook(state, local.post_localSGD_hook)

            told += [data_parallel((nothing, register), steps=3), state.iter]
        return told

    @case
    def steps_of_an_optimizer_after_each_bucket():
        overlap = module("distributed.algorithms.ddp_comm_hooks.optimizer_overlap_hooks")
        default = module("distributed.algorithms.ddp_comm_hooks.default_hooks")

        class Descent:
            def step_param(self, parameter, gradient):
                with torch.no_grad():
                    parameter.sub_(gradient, alpha=0.1)

        told = []
        for some in (False, True):

            def register(ddp, some=some):
                chosen = list(ddp.parameters())[:1] if some else None
                state = overlap._OptimizerHookState(Descent(), chosen)
                hook = overlap._hook_then_optimizer(default.allreduce_hook, state)
                ddp.register_comm_hook(None, hook)

            told.append(data_parallel((nothing, register), steps=2)[1])
        functional = module("distributed.optim").as_functional_optim
        for kind, options in (("SGD", {"lr": 0.1, "momentum": 0.9}), ("Adam", {"lr": 0.1})):

            def register(ddp, kind=kind, options=options):
                state = overlap._OptimizerHookState(functional(getattr(torch.optim, kind), **options))
                ddp.register_comm_hook(None, overlap._hook_then_optimizer(default.allreduce_hook, state))

            told.append(data_parallel((nothing, register), steps=3)[1])
        try:
            overlap._OptimizerHookState(object())
        except ValueError as error:
            told.append(str(error))
        return told

    @case
    def steps_in_the_backward_pass():
        optim = module("distributed.optim")

        def apply(model):
            first, *rest = model.parameters()
            optim._apply_optimizer_in_backward(torch.optim.Adam, [first], {"lr": 0.1})
            optim._apply_optimizer_in_backward(torch.optim.SGD, rest, {"lr": 0.01, "momentum": 0.5})
            optim._apply_optimizer_in_backward(torch.optim.SGD, rest[:1], {"lr": 0.02})

        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))
        apply(model)
        for step in range(3):
            model(torch.ones(2, 3) * step).sum().backward()
        kinds = [type(each).__name__ for each in optim._get_in_backward_optimizers(model)]
        alone = parameters(model), [each.grad for each in model.parameters()], kinds

        def after_backward(ddp):
            """What PyTorch does only with an accelerator, one thing after the other."""
            first, *rest = ddp.parameters()
            own = [torch.optim.Adam([first], lr=0.1), torch.optim.SGD(rest, lr=0.01, momentum=0.5)]
            own.append(torch.optim.SGD(rest[:1], lr=0.02))
            return lambda: [each.step() for each in own]

        prepare = (nothing, after_backward) if FRAMEWORK == "torch" else (apply, nothing)
        views = {"gradient_as_bucket_view": True}
        small = {"bucket_cap_mb": 0.001}
        return alone, *(data_parallel(prepare, 3, options)[1] for options in (None, views, small))

    @case
    def averaged_models():
        averagers = module("distributed.algorithms.model_averaging.averagers")
        hierarchical = module("distributed.algorithms.model_averaging.hierarchical_model_averager")
        utils = module("distributed.algorithms.model_averaging.utils")
        local = module("distributed.optim").PostLocalSGDOptimizer
        told = []
        for make in (
            lambda: averagers.PeriodicModelAverager(2, warmup_steps=1),
            lambda: hierarchical.HierarchicalModelAverager({1: 1, 3: 2}),
            lambda: hierarchical.HierarchicalModelAverager({2: 2}, warmup_steps=3),
        ):
            torch.manual_seed(0)
            model = nn.Linear(3, 2)
            optimizer = local(torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9), make())
            for _ in range(5):
                optimizer.zero_grad()
                (model(torch.ones(1, 3) * (RANK + 1))).square().sum().backward()
                optimizer.step()
                told.append(parameters(model))
            state = optimizer.state_dict()
            again = local(torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9), make())
            again.load_state_dict(state)
            told.append((sorted(state), state["step"], again.averager.step))
            told.append(isinstance(again, torch.optim.Optimizer) and repr(again) == repr(again.optim))
        model = nn.Linear(3, 2)
        model.weight.grad = torch.zeros(2, 3)
        groups = [{"params": list(model.parameters())}]
        told += [len(utils.get_params_to_average(each)) for each in (model.parameters(), groups)]
        with torch.no_grad():
            model.weight.fill_(RANK)
            model.bias.fill_(RANK)
        utils.average_parameters_or_parameter_groups(groups, dist.group.WORLD)
        told.append(parameters(model))
        utils.average_parameters(iter([model.bias]), None)
        return [*told, parameters(model)]

    @case
    def refused_averagers():
        averagers = module("distributed.algorithms.model_averaging.averagers")
        hierarchical = module("distributed.algorithms.model_averaging.hierarchical_model_averager")
        told = []
        for make in (
            lambda: averagers.ModelAverager(),
            lambda: averagers.PeriodicModelAverager(0),
            lambda: averagers.PeriodicModelAverager(2, warmup_steps=-1),
            lambda: averagers.PeriodicModelAverager(1),
            lambda: hierarchical.HierarchicalModelAverager(),
            lambda: hierarchical.HierarchicalModelAverager({0: 2}),
            lambda: hierarchical.HierarchicalModelAverager({2: 1}),
            lambda: hierarchical.HierarchicalModelAverager({1: 2}),
            lambda: hierarchical.HierarchicalModelAverager({2: 2}, warmup_steps=-1),
        ):
            with warnings.catch_warnings(record=True) as warned:
                warnings.simplefilter("always")
                try:
                    make()
                    told.append([str(each.message) for each in warned])
                except (TypeError, ValueError) as error:
                    told.append((type(error).__name__, str(error)))
        return told

    @case
    def values_of_functions_in_all_processes():
        utils = module("distributed.collective_utils")
        world, told = dist.group.WORLD, []

        def fail():
            if RANK == 1:
                raise KeyError("not there")
            return 4

        told.append(utils.broadcast(lambda: {"rank": RANK}, rank=1, pg=world))
        told.append(utils.broadcast([RANK], pg=world))
        told.append(utils.all_gather(lambda: RANK * 3, "numbers", world))
        told.append((utils.all_gather("alone"), utils.broadcast(lambda: 5)))
        rooms = [None] * SIZE
        utils.all_gather_object_enforce_type(world, rooms, RANK)
        told.append(rooms)
        for call in (
            lambda: utils.broadcast(fail, rank=1, stage_name="reading", pg=world),
            lambda: utils.broadcast(None, success=False, pg=world),
            lambda: utils.broadcast(3, success=False),
            lambda: utils.all_gather_object_enforce_type(world, [None] * SIZE, "text" if RANK else 1),
        ):
            try:
                told.append(call())
            except (AssertionError, RuntimeError, TypeError) as error:
                told.append((type(error).__name__, str(error)))
        return told


dist.init_process_group("gloo", init_method=f"file://{FOLDER}/store", rank=RANK, world_size=SIZE)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    main()
dist.destroy_process_group()
(FOLDER / f"{RANK}.pickle").write_bytes(pickle.dumps(found))
