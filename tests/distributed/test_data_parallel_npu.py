"""DistributedDataParallel on NPUs: processes with a part of the batch train like one with all of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from npu_ranks import Ranks, group_of

import mindtorch_v2 as torch
from mindtorch_v2 import distributed as dist
from mindtorch_v2 import nn
from mindtorch_v2.distributed.algorithms.ddp_comm_hooks import default_hooks
from mindtorch_v2.nn.parallel import DistributedDataParallel

STEPS = 50


@pytest.fixture(scope="module", params=[2, 4])
def ranks(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ranks]:
    folder = tmp_path_factory.mktemp("ranks")
    log = folder / "reports.jsonl"
    with group_of(request.param, folder, SOFTNPU_SANITIZE="1", SOFTNPU_SANITIZE_LOG=str(log)) as group:
        yield group
        assert not log.exists() or log.read_text() == ""


def made(seed: int) -> nn.Module:
    torch.manual_seed(seed)
    layers = [nn.Linear(6, 40), nn.Tanh(), nn.Linear(40, 40), nn.ReLU(), nn.Linear(40, 3)]
    return nn.Sequential(*layers).npu()


def losses(model: nn.Module, rank: int, parts: int) -> list[float]:
    """Of a process with one part of each batch."""
    generator = torch.Generator().manual_seed(1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    found = []
    for batch in torch.randn(STEPS, 8, 9, generator=generator):
        mine = batch.chunk(parts)[rank if parts > 1 else 0].npu()
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(mine[:, :6]), mine[:, 6:])
        loss.backward()
        optimizer.step()
        total = loss.detach().clone()
        if parts > 1:
            dist.all_reduce(total)
        found.append(total.item() / parts)
    return found


def differ(rank: int, size: int, hook: str, options: dict[str, Any]) -> float:
    """How far the losses are from those of one process."""
    expected = losses(made(0), rank, 1)
    model = DistributedDataParallel(made(rank), device_ids=[rank], **options)  # rank 0's values count
    if hook:
        model.register_comm_hook(None, getattr(default_hooks, hook))
    found = losses(model, rank, size)
    assert found[-1] < found[0]
    return max(abs(a - b) for a, b in zip(found, expected, strict=True))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"bucket_cap_mb": 0.005},
        {"bucket_cap_mb": 0.005, "gradient_as_bucket_view": True},
        {"static_graph": True},
        {"find_unused_parameters": True},
    ],
    ids=lambda options: "-".join(options) or "plain",
)
def test_losses_are_those_of_one_process(ranks: Ranks, options: dict[str, Any]) -> None:
    assert max(ranks.run(differ, ranks.size, "", options)) < 1e-5


@pytest.mark.parametrize(
    ("hook", "tolerance"),
    [("allreduce_hook", 1e-5), ("fp16_compress_hook", 2e-3), ("bf16_compress_hook", 2e-2)],
)
def test_communication_hooks_run_behind_the_collective(ranks: Ranks, hook: str, tolerance: float) -> None:
    assert max(ranks.run(differ, ranks.size, hook, {"bucket_cap_mb": 0.005})) < tolerance
