"""One process of a world that runs every collective and writes down what it got: for our library and for PyTorch.

python distributed_program.py torch FOLDER RANK SIZE [BACKEND DEVICE]
"""

import datetime
import importlib
import pickle
import sys
import warnings
from pathlib import Path

DTYPES = "float32 float64 float16 bfloat16 int8 uint8 int32 int64 bool complex64".split()
OPS = "SUM AVG PRODUCT MIN MAX BAND BOR BXOR".split()


def main(
    framework: str, folder: str, rank: int, size: int, backend: str = "gloo", device: str = "cpu"
) -> None:
    torch = importlib.import_module(framework)
    if device != "cpu":
        torch.set_default_device(f"{device}:{rank}")
        torch.get_device_module(device).set_device(rank)
    dist = importlib.import_module(f"{framework}.distributed")
    results = {}

    def values(dtype: str, shape, seed: int = 0):
        """Small whole numbers, different on each rank, so that no order of a sum matters."""
        count = 1
        for length in shape:
            count *= length
        numbers = (torch.arange(count) * 7 + 3 * rank + seed) % 4 + 1
        if dtype == "bool":
            numbers = numbers > 2
        return numbers.to(getattr(torch, dtype)).reshape(shape)

    def plain(value):
        if isinstance(value, torch.Tensor):
            wide = value.to(torch.float64) if value.dtype in (torch.bfloat16, torch.float16) else value
            return str(value.dtype).removeprefix("torch."), wide.tolist()
        if isinstance(value, (list, tuple)):
            return [plain(each) for each in value]
        return value

    def case(name: str, run) -> None:
        try:
            results[name] = plain(run())
        except Exception as error:  # noqa: BLE001  what PyTorch refuses is not compared
            results[name] = f"refused: {type(error).__name__}"

    def zeros(like, count=None):
        return torch.zeros_like(like) if count is None else [torch.zeros_like(like) for _ in range(count)]

    def all_reduce(tensor, op=dist.ReduceOp.SUM, **more):
        dist.all_reduce(tensor, op, **more)
        return tensor

    def reduce(tensor, op, root):
        dist.reduce(tensor, root, op)
        return tensor if rank == root else None

    def reduce_scatter(dtype, op, shape=(3,)):
        out = zeros(values(dtype, shape))
        dist.reduce_scatter(out, [values(dtype, shape, i) for i in range(size)], op)
        return out

    def reduce_scatter_single(dtype, op):
        out = zeros(values(dtype, (2, 3)))
        dist.reduce_scatter_tensor(out, values(dtype, (2 * size, 3)), op)
        return out

    def coalesced(dtype, op):
        tensors = [values(dtype, (3,)), values(dtype, (2, 2), 1)]
        dist.all_reduce_coalesced(tensors, op)
        return tensors

    def broadcast(own, more):
        dist.broadcast(own, size - 1)
        return own

    def all_gather(own, more):
        parts = zeros(own, size)
        dist.all_gather(parts, own)
        return parts

    def all_gather_into_tensor(own, more):
        whole = zeros(torch.cat([own] * size))
        dist.all_gather_into_tensor(whole, own)
        return whole

    def all_gather_coalesced(own, more):
        lists = [[torch.zeros_like(own), torch.zeros_like(own)] for _ in range(size)]
        dist.all_gather_coalesced(lists, [own, more(1)])
        return lists

    def gather(own, more):
        parts = zeros(own, size) if rank == 1 else None
        dist.gather(own, parts, 1)
        return parts

    def scatter(own, more):
        out = zeros(own)
        dist.scatter(out, [more(i) for i in range(size)] if rank == 1 else None, 1)
        return out

    def all_to_all(own, more):
        parts = zeros(own, size)
        dist.all_to_all(parts, [more(i) for i in range(size)])
        return parts

    def all_to_all_single(own, more):
        whole = torch.cat([more(i) for i in range(size)])
        out = zeros(whole)
        dist.all_to_all_single(out, whole)
        return out

    def all_to_all_single_uneven(own, more):
        counts = [[(source + 2 * target) % 3 for target in range(size)] for source in range(size)]
        takes = [counts[source][rank] for source in range(size)]
        rows = torch.cat([own] * size)
        out = zeros(rows)[: sum(takes)].clone()
        dist.all_to_all_single(out, rows[: sum(counts[rank])].clone(), takes, counts[rank])
        return out

    def batch_isend_irecv(own, more):
        out = zeros(own)
        after, before = (rank + 1) % size, (rank - 1) % size
        messages = [dist.P2POp(dist.isend, own, after), dist.P2POp(dist.irecv, out, before)]
        for work in dist.batch_isend_irecv(messages):
            work.wait()
        return out

    def send_and_recv(own, more):
        out, sender = zeros(own), None
        if rank == 0:
            dist.send(own, 1, tag=3)
        elif rank == 1:
            sender = dist.recv(out, 0, tag=3)
        return out, sender

    moves = [
        broadcast, all_gather, all_gather_into_tensor, all_gather_coalesced, gather, scatter, all_to_all,
        all_to_all_single, all_to_all_single_uneven, batch_isend_irecv, send_and_recv,
    ]  # fmt: skip

    def moved(dtype, shape, which):
        """Collectives that only move values."""
        for move in moves:
            more = lambda seed: values(dtype, shape, seed)  # noqa: E731
            case(f"{move.__name__} {which}", lambda: move(more(0), more))  # noqa: B023

    timeout = datetime.timedelta(seconds=60)
    dist.init_process_group(
        backend, init_method=f"file://{folder}/store", rank=rank, world_size=size, timeout=timeout
    )
    for dtype in DTYPES:
        for name in OPS:
            op = getattr(dist.ReduceOp, name)
            which = f"{dtype} {name}"
            case(f"all_reduce {which}", lambda: all_reduce(values(dtype, (2, 3)), op))  # noqa: B023
            case(f"reduce {which}", lambda: reduce(values(dtype, (5,)), op, size - 1))  # noqa: B023
            case(f"reduce_scatter {which}", lambda: reduce_scatter(dtype, op))  # noqa: B023
            case(f"reduce_scatter_tensor {which}", lambda: reduce_scatter_single(dtype, op))  # noqa: B023
            case(f"all_reduce_coalesced {which}", lambda: coalesced(dtype, op))  # noqa: B023
        for shape in ((4,), (2, 3)):
            moved(dtype, shape, f"{dtype} {shape}")
    for dtype in ("float32", "int64", "bfloat16"):
        case(f"all_reduce large {dtype}", lambda: all_reduce(values(dtype, (40_001,))))  # noqa: B023
        case(f"reduce_scatter large {dtype}", lambda: reduce_scatter(dtype, dist.ReduceOp.SUM, (20_001,)))  # noqa: B023
        moved(dtype, (20_001,), f"{dtype} large")
    case("all_reduce scalar", lambda: all_reduce(torch.tensor(2.0 + rank)))
    case("all_reduce nothing", lambda: all_reduce(torch.zeros(0)))
    case("all_reduce transposed", lambda: all_reduce(values("float32", (3, 4)).t()))

    def later():
        tensors = [values("float32", (50,), i) for i in range(20)]
        works = [dist.all_reduce(tensor, async_op=True) for tensor in tensors]
        for work in works:
            work.wait()
        return tensors

    case("all_reduce async_op", later)

    def together():
        tensors = [values("float32", (5,), i) for i in range(3)]
        with dist._coalescing_manager(async_ops=True) as manager:
            for tensor in tensors:
                dist.all_reduce(tensor)
        manager.wait()
        return tensors

    case("all_reduce in a coalescing manager", together)

    def objects():
        thing = {"rank": rank, "numbers": list(range(rank * 50))}
        everything = [None] * size
        dist.all_gather_object(everything, thing)
        gathered = [None] * size if rank == 0 else None
        dist.gather_object(thing, gathered)
        sent = [thing, "text"] if rank == 1 else [None, None]
        dist.broadcast_object_list(sent, 1)
        own = [None]
        dist.scatter_object_list(own, [{"for": i} for i in range(size)] if rank == 0 else None)
        if rank == 0:
            dist.send_object_list([thing, 5], 1)
        got = [None, None]
        if rank == 1:
            dist.recv_object_list(got, 0)
        return everything, gathered, sent, own, got

    case("objects", objects)

    def groups():
        first = dist.new_group([0, size - 1])
        found = [dist.get_rank(first), dist.get_world_size(first)]
        tensor = values("float32", (4,))
        if rank in (0, size - 1):
            dist.all_reduce(tensor, group=first)
            dist.broadcast(tensor, size - 1, group=first)
            found += [dist.get_process_group_ranks(first), dist.get_global_rank(first, 1)]
            found += [dist.get_group_rank(first, size - 1)]
        own, every = dist.new_subgroups_by_enumeration([[i] for i in range(size)])
        dist.all_reduce(tensor, group=own)
        dist.barrier(own)
        backwards = dist.new_group(list(reversed(range(size))), sort_ranks=False)
        parts = zeros(tensor, size)
        dist.all_gather(parts, tensor, group=backwards)
        alone = dist.new_group([rank], use_local_synchronization=True)
        dist.all_reduce(tensor, group=alone)
        return [tensor, parts, len(every), *found]

    case("groups", groups)

    def meshes():
        mesh = dist.init_device_mesh(device, (size, 1), mesh_dim_names=("dp", "tp"))
        tensor = values("float32", (4,))
        dist.all_reduce(tensor, group=mesh.get_group("dp"))
        part = mesh["tp"]
        found = [tensor, list(mesh.shape), mesh.ndim, mesh.size(), mesh.mesh.tolist(), mesh.get_coordinate()]
        found += [mesh.get_local_rank("dp"), part.mesh.tolist(), list(part.mesh_dim_names), part.size()]
        flat = mesh["dp", "tp"]._flatten("all")
        found += [
            flat.size(),
            list(flat.mesh_dim_names),
            dist.get_process_group_ranks(mesh["all"].get_group()),
        ]
        found += [dist.get_process_group_ranks(group) for group in mesh.get_all_groups()]
        return found

    case("meshes", meshes)

    def gradients():
        functional = importlib.import_module(f"{framework}.distributed.nn.functional")
        functions = importlib.import_module(f"{framework}.distributed._functional_collectives")
        world, found = dist.group.WORLD, []

        def both(run):
            start = values("float64", (2 * size,)).requires_grad_()
            result = run(start)
            outputs = list(result) if isinstance(result, (tuple, list)) else [result]
            weighed = [
                ((index + 1 + rank) * output * torch.arange(1.0, output.numel() + 1).view(output.shape)).sum()
                for index, output in enumerate(outputs)
            ]
            sum(weighed).backward()
            found.append([plain(output.detach() + 0) for output in outputs] + [plain(start.grad)])

        both(lambda x: functional.broadcast(x, 1))
        both(lambda x: functional.gather(x, 1))
        both(lambda x: functional.scatter([x * i for i in range(size)], 1))
        both(lambda x: functional.reduce_scatter(zeros(x), [x * i for i in range(size)]))
        both(lambda x: functional.all_gather(x))
        both(lambda x: functional.all_to_all(zeros(x, size), [x * i for i in range(size)]))
        both(lambda x: functional.all_to_all_single(zeros(x), x))
        both(lambda x: functional.all_reduce(x))
        both(lambda x: functional.all_reduce(x, dist.ReduceOp.AVG))
        both(lambda x: functions.all_reduce(x, "sum", world))
        both(lambda x: functions.all_gather_tensor(x, 0, world))
        both(lambda x: functions.all_gather_tensor(x.view(2, -1), 1, world))
        both(lambda x: functions.reduce_scatter_tensor(x, "sum", 0, world))
        both(lambda x: functions.reduce_scatter_tensor(x.view(2, -1), "sum", 1, world))
        both(lambda x: functions.all_to_all_single(x, None, None, world))
        both(lambda x: functions.broadcast(x, 1, world))
        both(lambda x: functions.permute_tensor(x, [*range(1, size), 0], world))
        both(lambda x: functions.all_reduce_coalesced([x, x * 2], "sum", world))
        return found

    case("gradients", gradients)
    dist.barrier()
    dist.monitored_barrier()
    dist.destroy_process_group()
    results["after the end"] = dist.is_initialized()
    Path(folder, f"{rank}.pickle").write_bytes(pickle.dumps(results))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), *sys.argv[5:])
