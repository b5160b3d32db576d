"""Every row of the table with a cell for GPUs computes there what the host computes, over the samples that all devices
share. PyTorch is not loaded, so that compute-sanitizer can watch (docs/cuda.md)."""

import pytest
from opcases import (
    VALUELESS,
    as_numpy,
    assert_close,
    attempted,
    dtype_name,
    has_cell,
    is_hole,
    same_refusal,
    sampled,
    samples,
)

import mindtorch_v2 as torch

_LOOSEN = 4  # sums and products are taken in another order


@pytest.mark.parametrize("name", [row.name for row in sampled() if has_cell(row, "cuda")])
def test_a_gpu_computes_what_the_host_computes_and_refuses_what_it_refuses(name):
    computed, refusals = 0, 0
    for dtype in ("float32", "int64", "bool", "float16", "bfloat16"):
        for number, sample in enumerate(samples(name)):
            if dtype not in sample.dtypes:
                continue
            wanted, refused = attempted(torch, name, number, "cpu", dtype)
            got, failure = attempted(torch, name, number, "cuda", dtype)
            case = f"{dtype} sample {number}"
            if refused is not None:
                refusals += 1
                beyond = failure is None and isinstance(refused, NotImplementedError)
                assert beyond or same_refusal(torch, refused, failure), f"{case}: {refused!r}, {failure!r}"
                continue
            if isinstance(failure, NotImplementedError) and not is_hole(failure):
                continue  # a dtype that the host has and a GPU has not, said in so many words
            if failure is not None:
                raise failure
            computed += 1
            for mine, other in zip(got, wanted, strict=True):
                assert (dtype_name(mine), mine.shape) == (dtype_name(other), other.shape), case
                if name not in VALUELESS:
                    assert_close(as_numpy(mine), as_numpy(other), dtype_name(other), loosen=_LOOSEN)
    assert computed or refusals
