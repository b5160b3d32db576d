"""Every row with an npu cell: the npu gives the cpu's results and gradients, over dtypes and layouts.

Rows whose samples come from the table are compared in tests/core/test_op_rows.py, the others here.
"""

import zlib

import numpy as np
import pytest
from opcases import ROWS, as_numpy, assert_close, dtype_name, sampled, tensors_of
from row_calls import CALLS, DRAWN

import mindtorch_v2 as torch

DTYPES = ("float32", "float64", "bfloat16")


class Maker:
    """Tensors of the same values on any device, dense or as views of something larger."""

    def __init__(self, device, dtype, layout, leaves=None):
        self.device, self.dtype, self.layout, self.leaves = device, dtype, layout, leaves

    def _tensor(self, values, dtype=None):
        values = np.asarray(values)
        if self.layout == "strided" and values.ndim:
            stored = np.zeros((*values.shape[:-1], 2 * values.shape[-1] + 1), values.dtype)
            stored[..., 1::2] = values
        else:
            stored = values
        tensor = torch.from_numpy(np.array(stored)).to(dtype or getattr(torch, self.dtype)).to(self.device)
        if self.leaves is not None and dtype is None:
            self.leaves.append(tensor.requires_grad_())
        return tensor if stored is values else tensor[..., 1::2]

    def _random(self, shape, seed):
        return np.random.default_rng(zlib.crc32(f"{shape}{seed}".encode()))

    def __call__(self, *shape, seed=0):
        return self._tensor(np.round(self._random(shape, seed).uniform(-2, 2, shape) * 64 + 0.5) / 64)

    def distinct_values(self, *shape):
        count = int(np.prod(shape))
        return self._tensor(self._random(shape, 0).permutation(count).reshape(shape) / 8 - 2)

    def ints(self, *shape, below):
        return self._tensor(self._random(shape, 7).integers(0, below, shape), torch.int64)

    def distinct(self, count, below):
        return self._tensor(self._random((count,), 7).permutation(below)[:count], torch.int64)

    def mask(self, *shape):
        return self._tensor(self._random(shape, 7).random(shape) < 0.5, torch.bool)


def parts(tensor):
    """Its values; of complex ones both parts, which have tolerances of their own."""
    return as_numpy(torch.view_as_real(tensor) if tensor.is_complex() else tensor)


def run(call, device, dtype, layout):
    """The results, and the gradients of all that have one in float32."""
    torch.manual_seed(0)
    leaves = [] if dtype == "float32" else None
    results = tensors_of(call(Maker(device, dtype, layout, leaves)))
    gradients = []
    if leaves:
        total = sum(
            (r.abs() if r.is_complex() else r).float().mul(0.5).sum() for r in results if r.requires_grad
        )
        if isinstance(total, torch.Tensor):
            gradients = [g for g in torch.autograd.grad(total, leaves, allow_unused=True) if g is not None]
    return [r.detach() for r in results], gradients


@pytest.mark.parametrize("layout", ["dense", "strided"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("rows", CALLS, ids=lambda rows: rows.split()[0])
def test_the_npu_gives_the_results_and_gradients_of_the_cpu(rows, dtype, layout):
    try:
        wanted, slopes = run(CALLS[rows], "cpu", dtype, layout)
    except (RuntimeError, NotImplementedError):
        assert dtype == "bfloat16"  # decompositions and transforms want full precision, on every device
        with pytest.raises((RuntimeError, NotImplementedError)):
            run(CALLS[rows], "npu", dtype, layout)
        return
    found, own_slopes = run(CALLS[rows], "npu", dtype, layout)
    for mine, other in zip([*found, *own_slopes], [*wanted, *slopes], strict=True):
        assert mine.device.type == "npu"
        assert dtype_name(mine) == dtype_name(other)
        assert_close(parts(mine), parts(other), dtype_name(other.real), loosen=20)


@pytest.mark.parametrize("name", DRAWN)
def test_drawn_values_lie_where_they_should(name):
    drawn = DRAWN[name](torch.zeros(50, device="npu"))
    assert drawn.device.type == "npu"
    assert bool((drawn >= 0).all()) and bool(drawn.isfinite().all())


def test_every_row_with_a_cell_for_the_npu_is_tried():
    tried = {row.name for row in sampled()} | set(DRAWN) | {name for rows in CALLS for name in rows.split()}
    # tests/parity/test_foreach.py, tests/optim and tests/amp, test_layers.py and tests/packages try these.
    elsewhere = ("foreach", "optimizer", "recurrent", "audio", "vision")
    with_cells = [row for row in ROWS.values() if getattr(row, "npu", None)]  # not every family has cells
    assert {row.name for row in with_cells if row.area not in elsewhere} <= tried
