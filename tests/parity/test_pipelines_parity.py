"""The same program of pipelines gives PyTorch's losses, gradients and orders of actions."""

import inspect
import json
from pathlib import Path

import pytest
import torch
from rank_processes import run_ranks
from torch.distributed import pipelining as theirs
from torch.distributed.pipelining import microbatch as their_microbatch

import mindtorch_v2
import mindtorch_v2.distributed as dist
from mindtorch_v2.distributed import pipelining as ours
from mindtorch_v2.distributed.pipelining import microbatch as our_microbatch

PROGRAM = Path(__file__).with_name("pipeline_program.py")


def run(framework: str, folder: Path, size: int) -> list[dict]:
    folder.mkdir()
    run_ranks(size, lambda rank: [PROGRAM, framework, folder, rank, size], MINDTORCH_NPU="off")
    return [json.loads((folder / f"{rank}.json").read_text()) for rank in range(size)]


@pytest.mark.timeout(300)
@pytest.mark.skipif(not dist.is_gloo_available(), reason="the extra 'distributed' is not installed")
@pytest.mark.parametrize("size", [2, 4])
def test_a_program_of_pipelines_gives_pytorchs_losses(tmp_path, size):
    own, expected = (run(name, tmp_path / name, size) for name in ("mindtorch_v2", "torch"))
    for rank, (mine, wanted) in enumerate(zip(own, expected, strict=True)):
        assert mine.keys() == wanted.keys()
        for name, values in wanted.items():
            for what, value in values.items():
                where = f"rank {rank}: {what} of {name}"
                if what == "order":
                    assert mine[name][what] == value, where
                elif value is not None:
                    torch.testing.assert_close(
                        torch.tensor(mine[name][what]), torch.tensor(value), rtol=1e-4, atol=1e-4, msg=where
                    )
                else:
                    assert mine[name][what] is None, where


@pytest.mark.parametrize(
    "args, kwargs, count, specs",
    [
        (lambda t: (t.arange(10).view(5, 2),), lambda t: {}, 2, lambda m: ()),
        (lambda t: (t.arange(10).view(5, 2),), lambda t: {"a": t.ones(2)}, 7, lambda m: ()),
        (lambda t: (t.ones(4), 3, "x", [t.ones(4, 2), None]), lambda t: {"k": None}, 2, lambda m: ()),
        (lambda t: (), lambda t: {}, 3, lambda m: ()),
        (
            lambda t: (t.arange(8).view(2, 4), t.ones(3)),
            lambda t: {"k": t.ones(2, 2)},
            2,
            lambda m: ((m.TensorChunkSpec(1), m._Replicate()), {"k": m.TensorChunkSpec(1)}),
        ),
        (lambda t: (t.ones(2, 2),), lambda t: {}, 2, lambda m: (m.TensorChunkSpec.from_tuple((1,)),)),
    ],
)
def test_batches_are_cut_as_pytorch_cuts_them(args, kwargs, count, specs):
    found, wanted = (
        repr(m.split_args_kwargs_into_chunks(args(t), kwargs(t), count, *specs(m)))
        for t, m in ((mindtorch_v2, our_microbatch), (torch, their_microbatch))
    )
    assert found == wanted


@pytest.mark.parametrize(
    "chunks, spec",
    [
        (lambda t: [t.ones(2, 2), t.zeros(1, 2)], lambda m: None),
        (lambda t: [t.ones(2, 2), t.zeros(2, 1)], lambda m: m.TensorChunkSpec(1)),
        (lambda t: [(t.ones(2), 1), (t.zeros(2), 1)], lambda m: (m.TensorChunkSpec(0), None)),
        (lambda t: [{"a": t.ones(2)}, {"a": t.zeros(2)}], lambda m: {"a": m.TensorChunkSpec(0)}),
        (lambda t: [t.tensor(1.0), t.tensor(2.0)], lambda m: m.sum_reducer),
    ],
)
def test_results_are_merged_as_pytorch_merges_them(chunks, spec):
    found, wanted = (
        repr(m.merge_chunks(chunks(t), spec(m)))
        for t, m in ((mindtorch_v2, our_microbatch), (torch, their_microbatch))
    )
    assert found == wanted


@pytest.mark.parametrize("name", ours.__all__)
def test_pipelining_has_pytorchs_parameters(name):
    mine, wanted = (getattr(each, name) for each in (ours, theirs))
    if name not in ("SplitPoint", "Pipe"):
        assert list(inspect.signature(mine).parameters) == list(inspect.signature(wanted).parameters)
    assert mine.__name__ == wanted.__name__
