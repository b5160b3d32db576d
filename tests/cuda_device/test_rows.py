"""Every row of the table with a cell for GPUs computes there what the host computes, over the samples that all devices
share. PyTorch is not loaded, so that compute-sanitizer can watch (docs/cuda.md)."""

import numpy as np
import pytest
from opcases import (
    ROWS,
    TOLERANCE,
    VALUELESS,
    as_numpy,
    assert_close,
    attempted,
    dtype_name,
    has_cell,
    is_hole,
    ours,
    same_refusal,
    sampled,
    samples,
)

import mindtorch_v2 as torch

_LOOSEN = 4  # sums and products are taken in another order
_ADDING = {"sum", "mean", "nansum"}  # as exact as the sum of magnitudes: what cancels is lost in some orders


def magnitudes(name, number, dtype):
    """What the row makes of a sample's magnitudes; they may be beyond the dtype, which nothing is compared with."""
    args, kwargs = samples(name)[number].build(torch, "cpu", dtype)
    sizes = [x.abs() if isinstance(x, torch.Tensor) and x.is_floating_point() else x for x in args]
    return np.nan_to_num(as_numpy(ours(ROWS[name])(*sizes, **kwargs)).astype(np.float64), posinf=0)


def assert_sums_close(got, wanted, sizes, dtype):
    rtol, atol = (_LOOSEN * limit for limit in TOLERANCE[dtype])
    with np.errstate(invalid="ignore"):
        near = np.abs(got - wanted) <= atol + rtol * np.maximum(np.abs(wanted), sizes)
    assert (near | (got == wanted) | (np.isnan(got) & np.isnan(wanted))).all(), (got, wanted)


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
                # A GPU has no exceptions: an integer over zero is some number there, in PyTorch too.
                numbers = isinstance(refused, NotImplementedError) or str(refused) == "ZeroDivisionError"
                beyond = failure is None and numbers
                assert beyond or same_refusal(torch, refused, failure), f"{case}: {refused!r}, {failure!r}"
                continue
            if isinstance(failure, NotImplementedError) and not is_hole(failure):
                continue  # a dtype that the host has and a GPU has not, said in so many words
            if failure is not None:
                raise failure
            computed += 1
            for mine, other in zip(got, wanted, strict=True):
                assert (dtype_name(mine), mine.shape) == (dtype_name(other), other.shape), case
                if name in _ADDING and dtype_name(other) in TOLERANCE:
                    sizes = magnitudes(name, number, dtype)
                    assert_sums_close(as_numpy(mine), as_numpy(other), sizes, dtype_name(other))
                elif name not in VALUELESS:
                    assert_close(as_numpy(mine), as_numpy(other), dtype_name(other), loosen=_LOOSEN)
    assert computed or refusals
