"""Every kind of collective of the backend hccl, between two processes; prints what each rank got.

Rank r starts each with the numbers base + 10 * r.
"""

import json
import tempfile
from collections.abc import Callable
from pathlib import Path

import torch
from torch import distributed

WORLD = 2


def numbers(rank: int, count: int = 4, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return (torch.arange(count) + 10 * rank).to(dtype).npu()


def all_reduce(rank: int, op: distributed.ReduceOp, dtype: torch.dtype) -> list[float]:
    tensor = numbers(rank, dtype=dtype)
    distributed.all_reduce(tensor, op)
    return tensor.tolist()


def broadcast(rank: int) -> list[float]:
    tensor = numbers(rank)
    distributed.broadcast(tensor, 1)
    return tensor.tolist()


def reduce(rank: int) -> list[float]:
    tensor = numbers(rank)
    distributed.reduce(tensor, 1)
    return tensor.tolist() if rank == 1 else []


def all_gather(rank: int) -> list[list[float]]:
    outputs = [torch.zeros(4).npu() for _ in range(WORLD)]
    distributed.all_gather(outputs, numbers(rank))
    return [output.tolist() for output in outputs]


def all_gather_into_tensor(rank: int) -> list[float]:
    output = torch.zeros(4 * WORLD).npu()
    distributed.all_gather_into_tensor(output, numbers(rank))
    return output.tolist()


def all_gather_of_other_lengths(rank: int) -> list[list[float]]:
    outputs = [torch.zeros(1).npu(), torch.zeros(3).npu()]
    distributed.all_gather(outputs, numbers(rank, 3 if rank else 1))
    return [output.tolist() for output in outputs]


def reduce_scatter(rank: int) -> list[float]:
    output = torch.zeros(2).npu()
    distributed.reduce_scatter(output, list(numbers(rank).split(2)))
    return output.tolist()


def reduce_scatter_tensor(rank: int) -> list[float]:
    output = torch.zeros(2).npu()
    distributed.reduce_scatter_tensor(output, numbers(rank), distributed.ReduceOp.MAX)
    return output.tolist()


def scatter(rank: int) -> list[float]:
    output = torch.zeros(2).npu()
    distributed.scatter(output, list(numbers(0).split(2)) if rank == 0 else None, 0)
    return output.tolist()


def all_to_all(rank: int) -> list[list[float]]:
    outputs = [torch.zeros(2).npu() for _ in range(WORLD)]
    distributed.all_to_all(outputs, list(numbers(rank).split(2)))
    return [output.tolist() for output in outputs]


def all_to_all_of_other_lengths(rank: int) -> list[float]:
    # Rank 0 keeps one and gives three, rank 1 gives two and keeps two.
    sends, receives = ([1, 3], [1, 2]) if rank == 0 else ([2, 2], [3, 2])
    output = torch.zeros(sum(receives)).npu()
    distributed.all_to_all_single(output, numbers(rank), receives, sends)
    return output.tolist()


def send_and_receive(rank: int) -> list[float]:
    tensor = numbers(rank)
    if rank == 0:
        distributed.send(tensor, 1)
        distributed.recv(tensor, 1)
    else:
        received = torch.zeros(4).npu()
        distributed.recv(received, 0)
        distributed.send(received * 2, 0)
    return tensor.tolist()


def batch(rank: int) -> list[float]:
    received = torch.zeros(4).npu()
    other = 1 - rank
    works = distributed.batch_isend_irecv(
        [
            distributed.P2POp(distributed.isend, numbers(rank), other),
            distributed.P2POp(distributed.irecv, received, other),
        ]
    )
    for work in works:
        work.wait()
    return received.tolist()


def subgroup(rank: int) -> list[float]:
    group = distributed.new_group([1])
    tensor = numbers(rank)
    if rank == 1:
        distributed.all_reduce(tensor, group=group)
    return tensor.tolist()


def later(rank: int) -> list[float]:
    tensor = numbers(rank)
    work = distributed.all_reduce(tensor, async_op=True)
    work.wait()
    return (tensor + 1).tolist()


def objects(rank: int) -> list[object]:
    found: list[object] = [None] * WORLD
    distributed.all_gather_object(found, {"rank": rank})
    return found


CALLS: dict[str, Callable[[int], object]] = {
    **{
        f"all_reduce {op} {str(dtype).removeprefix('torch.')}": lambda rank, op=op, dtype=dtype: all_reduce(
            rank, getattr(distributed.ReduceOp, op), dtype
        )
        for op in ("SUM", "MAX", "MIN", "PRODUCT")
        for dtype in (torch.float32, torch.float16, torch.int32)
    },
    **{
        function.__name__: function
        for function in (
            broadcast,
            reduce,
            all_gather,
            all_gather_into_tensor,
            all_gather_of_other_lengths,
            reduce_scatter,
            reduce_scatter_tensor,
            scatter,
            all_to_all,
            all_to_all_of_other_lengths,
            send_and_receive,
            batch,
            subgroup,
            later,
            objects,
        )
    },
}


def run(rank: int, folder: str) -> None:
    torch.npu.set_device(rank)
    store = distributed.FileStore(f"{folder}/store", WORLD)
    distributed.init_process_group("hccl", store=store, rank=rank, world_size=WORLD)
    got = {name: call(rank) for name, call in CALLS.items()}
    distributed.barrier()
    Path(folder, f"{rank}.json").write_text(json.dumps(got))
    distributed.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.spawn(run, (folder,), nprocs=WORLD)
        got = [json.loads(Path(folder, f"{rank}.json").read_text()) for rank in range(WORLD)]
        print(json.dumps({name: [each[name] for each in got] for name in CALLS}))
