"""The backend nccl without a GPU: NCCL's functions over software NPUs (tests/fake_nccl), in the place of NVIDIA's."""

from __future__ import annotations

import os
import sys
import time
import traceback
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from function_processes import FunctionProcesses, answer_calls
from npu_ranks import Failed

FAKE = Path(__file__).parents[2] / "build" / os.environ.get("MINDTORCH_BUILD", "dev") / "fake_nccl"


def _serve(pipe: Any, rank: int, size: int, folder: str, seconds: float) -> None:
    os.environ.update(
        MINDTORCH_NPU="soft", SOFTNPU_DEVICES=str(size), SOFTNPU_MEMORY="256MiB", FAKE_NCCL_FOLDER=folder,
        HCCL_EXEC_TIMEOUT="5", TORCH_FR_DUMP_TEMP_FILE=f"{folder}/trace",
    )  # fmt: skip
    sys.path.insert(0, str(FAKE))
    import mindtorch_v2 as torch
    from mindtorch_v2 import distributed as dist
    from mindtorch_v2.cuda import _nccl

    class OnNpus(_nccl.NcclEngine):
        def current_device(self) -> Any:
            return torch.device("npu", torch.npu.current_device())

    torch.npu.set_device(rank)
    dist.Backend.register_backend("nccl", OnNpus, devices=["npu"])
    dist.init_process_group(
        "nccl",
        init_method=f"file://{folder}/store",
        rank=rank,
        world_size=size,
        timeout=timedelta(seconds=seconds),
    )

    def failure(error: Exception) -> Exception:
        return Failed(type(error).__name__, str(error), traceback.format_exc())

    answer_calls(pipe, lambda function, *arguments: function(rank, *arguments), failure)


class Ranks(FunctionProcesses):
    def __init__(self, size: int, folder: Path, seconds: float) -> None:
        assert (FAKE / "nvidia/nccl/lib/libnccl.so.2").exists(), "'make test' builds it"
        super().__init__(_serve, [(rank, size, str(folder), seconds) for rank in range(size)])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


@pytest.fixture
def pair(folder: Path) -> Iterator[Ranks]:
    ranks = Ranks(2, folder, 60)
    yield ranks
    ranks.stop()


def every_collective(rank: int) -> None:
    import mindtorch_v2 as torch
    from mindtorch_v2 import distributed as dist

    def own(*values: float, dtype: Any = torch.float32) -> Any:
        return torch.tensor(values, dtype=dtype, device="npu") + rank

    size = dist.get_world_size()
    for dtype in (
        torch.float32,
        torch.float16,
        torch.bfloat16,
        torch.int64,
        torch.int32,
        torch.uint8,
        torch.float64,
    ):
        tensor = own(1, 2, dtype=dtype)
        dist.all_reduce(tensor)
        assert tensor.tolist() == [3, 5] and tensor.dtype is dtype
    for op, expected in (("MAX", [2, 3]), ("MIN", [1, 2]), ("PRODUCT", [2, 6]), ("AVG", [1.5, 2.5])):
        tensor = own(1, 2)
        dist.all_reduce(tensor, getattr(dist.ReduceOp, op))
        assert tensor.tolist() == expected, op
    tensor = torch.tensor([5, 6 + rank], device="npu")
    dist.all_reduce(tensor, dist.ReduceOp.BAND)
    assert tensor.tolist() == [5, 6]
    truths = torch.tensor([rank == 0, False], device="npu")
    dist.all_reduce(truths)
    assert truths.tolist() == [True, False]
    tensor = own(1)
    dist.reduce(tensor, 1)
    assert tensor.item() == (3 if rank == 1 else 1)
    tensor = own(7)
    dist.broadcast(tensor, 1)
    assert tensor.item() == 8
    short = torch.tensor(
        [1 + rank, -3], dtype=torch.int16, device="npu"
    )  # NCCL has no type for it: bytes travel
    parts = [torch.zeros_like(short) for _ in range(size)]
    dist.all_gather(parts, short)
    assert [part.tolist() for part in parts] == [[1, -3], [2, -3]]
    out = torch.zeros(1, device="npu")
    dist.reduce_scatter_single(out, own(1, 10))
    assert out.item() == [3, 21][rank]
    out = torch.zeros(3, device="npu")
    dist.all_to_all_single(
        out, own(1, 2, 3), [1, 2] if rank == 0 else [2, 1], [1, 2] if rank == 0 else [2, 1]
    )
    assert out.tolist() == ([1, 2, 3] if rank == 0 else [2, 3, 4]), out
    out = torch.zeros(1, device="npu")
    dist.scatter(out, [own(4), own(5)] if rank == 0 else None, 0)
    assert out.item() == 4 + rank
    gathered = [torch.zeros(1, device="npu") for _ in range(size)] if rank == 1 else None
    dist.gather(own(9), gathered, 1)
    assert rank == 0 or [each.item() for each in gathered] == [9, 10]
    got = torch.zeros(2, device="npu")
    works = dist.batch_isend_irecv(
        [dist.P2POp(dist.isend, own(1, 2), 1 - rank), dist.P2POp(dist.irecv, got, 1 - rank)]
    )
    for work in works:
        work.wait()
    assert got.tolist() == [2 - rank, 3 - rank]
    work = dist.all_reduce(tensor := own(1), async_op=True)
    work.wait()
    assert work.get_future().value()[0] is tensor and tensor.item() == 3
    dist.barrier()
    everything = [None] * size
    dist.all_gather_object(everything, {"rank": rank})
    assert everything == [{"rank": 0}, {"rank": 1}]
    dist.destroy_process_group()


def test_every_collective_and_an_orderly_end(pair: Ranks, folder: Path) -> None:
    pair.run(every_collective)
    assert len(list(folder.glob("finalized.*"))) == 2 and not list(folder.glob("aborted.*"))


def what_is_known(rank: int) -> None:
    import mindtorch_v2 as torch
    from mindtorch_v2 import distributed as dist

    assert torch.cuda.nccl.version() == (2, 27, 3)
    assert dist.is_nccl_available() and dist.get_backend() == "nccl"
    group = dist.distributed_c10d._get_default_group()
    assert isinstance(group._get_backend(torch.device("npu")), dist.ProcessGroupNCCL)
    assert dist.ProcessGroupNCCL.Options(is_high_priority_stream=True).is_high_priority_stream
    with pytest.raises(TypeError, match="ncclAllReduce cannot reduce int16"):
        dist.all_reduce(torch.ones(2, dtype=torch.int16, device="npu"))


def test_names_and_versions(pair: Ranks) -> None:
    pair.run(what_is_known, on=[0, 1])


def wait_for_a_late_rank(rank: int) -> str:
    import mindtorch_v2 as torch
    from mindtorch_v2 import distributed as dist

    tensor = torch.ones(3, device="npu")
    dist.all_reduce(tensor)
    if rank == 1:
        return ""
    began = time.monotonic()
    dist.all_reduce(tensor)  # the host goes on
    assert time.monotonic() - began < 1.5
    with pytest.raises(RuntimeError) as raised:
        tensor.tolist()
    assert time.monotonic() - began < 20
    return str(raised.value)


def test_a_work_that_takes_too_long_is_aborted_and_told(folder: Path) -> None:
    ranks = Ranks(2, folder, 2)
    try:
        said = ranks.run(wait_for_a_late_rank)[0]
        assert "all_reduce was not done after 2 s" in said and "rank 0 of 2" in said, said
        assert list(folder.glob("aborted.*"))
    finally:
        ranks.stop()
