"""Processes that form worlds, run every collective in groups of several shapes and write down what each got: for our
library and for PyTorch. The library is imported once: the processes are copies of the one that did.

python distributed_program.py torch FOLDER BACKEND DEVICE SIZE…        writes FOLDER/SIZE/RANK.pickle
mpiexec -n SIZE python distributed_program.py mindtorch_v2 FOLDER mpi cpu SIZE
"""

import datetime
import hashlib
import importlib
import os
import pickle
import sys
import warnings
from pathlib import Path

DTYPES = "float32 float64 float16 bfloat16 int8 uint8 int16 int32 int64 bool complex64 complex128".split()
MOST = 1000  # elements that are written down; of more, whose values are whole numbers, a digest
OPS = "SUM AVG PRODUCT MIN MAX BAND BOR BXOR".split()


def groups_of(dist, device: str, rank: int, size: int):
    """Groups of every shape that this process is a member of."""
    without_first = dist.new_group(list(range(1, size)) if size > 2 else [1, 0])
    if rank or size == 2:
        yield "without the first", without_first
    parts = [[*range(size - 1)], [size - 1]]
    if dist.__name__ == "torch.distributed":  # whose Gloo cannot split: the same groups, made anew
        yield "split", dist.new_subgroups_by_enumeration(parts)[0]
    else:
        yield "split", dist.split_group(split_ranks=parts)
    mesh = dist.init_device_mesh(
        device, (size // 2, 2) if size % 2 == 0 else (1, size), mesh_dim_names=("outer", "inner")
    )
    for name in ("outer", "inner"):
        yield f"mesh {name}", mesh.get_group(name)


def main(torch, dist, folder: Path, world_rank: int, world_size: int, backend: str, device: str) -> None:
    if device != "cpu":
        torch.set_default_device(f"{device}:{world_rank}")
        torch.get_device_module(device).set_device(world_rank)
    framework, rank, size = torch.__name__, world_rank, world_size
    results = {}

    def values(dtype: str, shape, seed: int = 0):
        """Small whole numbers, different on each rank, so that no order of a sum matters."""
        count = 1
        for length in shape:
            count *= length
        numbers = (torch.arange(count) * 7 + 3 * world_rank + seed) % 4 + 1
        if dtype == "bool":
            numbers = numbers > 2
        return numbers.to(getattr(torch, dtype)).reshape(shape)

    def plain(value):
        if isinstance(value, torch.Tensor):
            wide = value.to(torch.float64) if value.dtype in (torch.bfloat16, torch.float16) else value
            if value.numel() > MOST:
                wide = hashlib.sha1(
                    wide.cpu().contiguous().numpy().tobytes(), usedforsecurity=False
                ).hexdigest()
            return str(value.dtype).removeprefix("torch."), wide if isinstance(wide, str) else wide.tolist()
        if isinstance(value, (list, tuple)):
            return [plain(each) for each in value]
        return value

    def case(name: str, run, *arguments) -> None:
        try:
            results[name] = plain(run(*arguments))
        except Exception as error:  # noqa: BLE001  what PyTorch refuses is not compared
            results[name] = f"refused: {type(error).__name__}"

    def zeros(like, count=None):
        return torch.zeros_like(like) if count is None else [torch.zeros_like(like) for _ in range(count)]

    def every_collective(shape_of_group, group):
        """In a group that has this process; ranks are those in the group."""
        rank, size = dist.get_rank(group), dist.get_world_size(group)
        second = 1 % size

        def all_reduce(tensor, op=dist.ReduceOp.SUM):
            dist.all_reduce(tensor, op, group=group)
            return tensor

        def reduce(tensor, op, root):
            dist.reduce(tensor, op=op, group=group, group_dst=root)
            return tensor if rank == root else None

        def reduce_scatter(dtype, op, shape=(3,)):
            out = zeros(values(dtype, shape))
            dist.reduce_scatter(out, [values(dtype, shape, i) for i in range(size)], op, group=group)
            return out

        def reduce_scatter_single(dtype, op):
            out = zeros(values(dtype, (2, 3)))
            dist.reduce_scatter_tensor(out, values(dtype, (2 * size, 3)), op, group=group)
            return out

        def coalesced(dtype, op):
            tensors = [values(dtype, (3,)), values(dtype, (2, 2), 1)]
            dist.all_reduce_coalesced(tensors, op, group=group)
            return tensors

        def broadcast(own, more):
            dist.broadcast(own, group=group, group_src=size - 1)
            return own

        def all_gather(own, more):
            parts = zeros(own, size)
            dist.all_gather(parts, own, group=group)
            return parts

        def all_gather_into_tensor(own, more):
            whole = zeros(torch.cat([own] * size))
            dist.all_gather_into_tensor(whole, own, group=group)
            return whole

        def all_gather_coalesced(own, more):
            lists = [[torch.zeros_like(own), torch.zeros_like(own)] for _ in range(size)]
            dist.all_gather_coalesced(lists, [own, more(1)], group=group)
            return lists

        def gather(own, more):
            parts = zeros(own, size) if rank == second else None
            dist.gather(own, parts, group=group, group_dst=second)
            return parts

        def scatter(own, more):
            out = zeros(own)
            given = [more(i) for i in range(size)] if rank == second else None
            dist.scatter(out, given, group=group, group_src=second)
            return out

        def all_to_all(own, more):
            parts = zeros(own, size)
            dist.all_to_all(parts, [more(i) for i in range(size)], group=group)
            return parts

        def all_to_all_single(own, more):
            whole = torch.cat([more(i) for i in range(size)])
            out = zeros(whole)
            dist.all_to_all_single(out, whole, group=group)
            return out

        def all_to_all_single_uneven(own, more):
            counts = [[(source + 2 * target) % 3 for target in range(size)] for source in range(size)]
            takes = [counts[source][rank] for source in range(size)]
            rows = torch.cat([own] * size)
            out = zeros(rows)[: sum(takes)].clone()
            dist.all_to_all_single(out, rows[: sum(counts[rank])].clone(), takes, counts[rank], group=group)
            return out

        def batch_isend_irecv(own, more):
            if size == 1:  # nobody sends to itself
                return None
            out = zeros(own)
            after, before = (rank + 1) % size, (rank - 1) % size
            messages = [
                dist.P2POp(dist.isend, own, group=group, group_peer=after),
                dist.P2POp(dist.irecv, out, group=group, group_peer=before),
            ]
            for work in dist.batch_isend_irecv(messages):
                work.wait()
            return out

        def send_and_recv(own, more):
            out, sender = zeros(own), None
            if rank == 0 and size > 1:
                dist.send(own, group=group, tag=3, group_dst=1)
            elif rank == 1:
                sender = dist.recv(out, group=group, tag=3, group_src=0)
            return out, sender

        moves = [
            broadcast, all_gather, all_gather_into_tensor, all_gather_coalesced, gather, scatter, all_to_all,
            all_to_all_single, all_to_all_single_uneven, batch_isend_irecv, send_and_recv,
        ]  # fmt: skip

        def moved(dtype, shape, which):
            """Collectives that only move values."""
            for move in moves:
                more = lambda seed: values(dtype, shape, seed)  # noqa: E731
                case(f"{shape_of_group}: {move.__name__} {which}", move, more(0), more)

        def reduced(which, dtype, op):
            """Collectives that reduce values."""
            which = f"{which} {dtype} {op}"
            op = getattr(dist.ReduceOp, op)
            case(f"{shape_of_group}: all_reduce {which}", all_reduce, values(dtype, (2, 3)), op)
            case(f"{shape_of_group}: reduce {which}", reduce, values(dtype, (5,)), op, size - 1)
            case(f"{shape_of_group}: reduce_scatter {which}", reduce_scatter, dtype, op)
            case(f"{shape_of_group}: reduce_scatter_tensor {which}", reduce_scatter_single, dtype, op)
            case(f"{shape_of_group}: all_reduce_coalesced {which}", coalesced, dtype, op)

        for dtype in DTYPES:
            for op in OPS:
                reduced("small", dtype, op)
            for shape in ((4,), (2, 3)) if group is None else ((2, 3),):
                moved(dtype, shape, f"{dtype} {shape}")
        for dtype in ("float32", "int64", "bfloat16") if group is None else ("float32",):
            case(f"{shape_of_group}: all_reduce large {dtype}", all_reduce, values(dtype, (40_001,)))
            sum_of = dist.ReduceOp.SUM
            case(f"{shape_of_group}: reduce_scatter large {dtype}", reduce_scatter, dtype, sum_of, (20_001,))
            moved(dtype, (20_001,), f"{dtype} large")

    timeout = datetime.timedelta(seconds=300)
    method = {} if backend == "mpi" else {"init_method": f"file://{folder}/store"}
    dist.init_process_group(backend, rank=rank, world_size=size, timeout=timeout, **method)
    every_collective("world", None)
    for shape_of_group, group in groups_of(dist, device, world_rank, world_size):
        every_collective(shape_of_group, group)

    def all_reduce(tensor):
        dist.all_reduce(tensor)
        return tensor

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
    (folder / f"{rank}.pickle").write_bytes(pickle.dumps(results))


def start(framework: str, folder: str, backend: str, device: str, *sizes: str) -> None:
    torch = importlib.import_module(framework)
    dist = importlib.import_module(f"{framework}.distributed")
    if backend == "mpi":
        return main(
            torch, dist, Path(folder, sizes[0]), int(os.environ["PMI_RANK"]), int(sizes[0]), backend, device
        )
    children = []
    for rank in range(max(map(int, sizes))):
        if not (child := os.fork()):
            for size in sorted(sizes, key=int, reverse=True):  # so that nobody waits for the others' worlds
                if rank < int(size):
                    main(torch, dist, Path(folder, size), rank, int(size), backend, device)
            os._exit(0)
        children.append(child)
    sys.exit(max(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0 for child in children))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    start(*sys.argv[1:])
