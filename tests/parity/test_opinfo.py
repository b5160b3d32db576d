"""PyTorch's own operator database: every sample of an op gives PyTorch's values, shapes, dtypes and gradients.

What is known not to work stands in opinfo_holes.txt with its reason; an entry that works is a failure too, so
that the list stays what it says.
"""

import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from opinfo_bridge import (
    OPS,
    Untranslatable,
    choose,
    compare,
    leaves,
    rebind,
    to_lib,
    translated,
)

import mindtorch_v2

# Their values are whatever was in memory.
_UNINITIALISED = {
    "empty", "empty_like", "empty_strided", "empty_permuted", "new_empty", "new_empty_strided", "resize_", "resize_as_",
}  # fmt: skip
# Defined up to signs or phases; the database's own function keeps what is well defined.
_UP_TO_SIGNS = {"svd", "linalg.svd", "linalg.eig", "linalg.eigh", "svd_lowrank", "pca_lowrank"}
# Arguments that leave the order of the result open.
_UNORDERED = {"unique": "sorted", "topk": "sorted"}
_OTHER_DTYPES = (torch.int64, torch.complex64, torch.float16)
_HOLES = dict(
    line.split(None, 1)
    for line in (Path(__file__).parent / "opinfo_holes.txt").read_text().splitlines()
    if line and not line.startswith("#")
)


def _both(op, sample, grad=False):
    """The result in PyTorch and in MindTorch, from the same seed; and MindTorch's input tensors."""
    ours = translated(op, mindtorch_v2)
    mine = to_lib((sample.input, sample.args, sample.kwargs), mindtorch_v2)
    process = sample.output_process_fn_grad if op.name in _UP_TO_SIGNS else None
    torch.manual_seed(3)
    wanted = op.op(sample.input, *sample.args, **sample.kwargs)
    mindtorch_v2.manual_seed(3)
    got = ours(mine[0], *mine[1], **mine[2])
    if process:
        wanted, got = process(wanted), rebind(process, mindtorch_v2)(got)
    return wanted, got, mine


def _translatable(samples):
    for sample in samples:
        try:
            to_lib((sample.input, sample.args, sample.kwargs), mindtorch_v2, "meta")
        except Untranslatable:
            continue
        yield sample


def _check_forward(op, dtype, count):
    for number, sample in enumerate(_translatable(choose(op, dtype, count))):
        wanted, got, _ = _both(op, sample)
        valued = op.name not in _UNINITIALISED and sample.kwargs.get(_UNORDERED.get(op.name), True)
        compare(got, wanted, f"{dtype} sample {number}", values=valued)


def _differentiable(lib, results):
    return [r for r in leaves(results) if isinstance(r, lib.Tensor) and r.requires_grad]


def _check_gradient(op, count):
    for number, sample in enumerate(_translatable(choose(op, torch.float32, count, grad=True))):
        wanted, got, mine = _both(op, sample)
        theirs, ours = _differentiable(torch, wanted), _differentiable(mindtorch_v2, got)
        what = f"gradient of sample {number}"
        assert len(theirs) == len(ours), (
            f"{what}: {len(ours)} differentiable results, PyTorch has {len(theirs)}"
        )
        if not theirs:
            continue
        rng = np.random.default_rng(4)
        slopes = [
            torch.from_numpy(np.asarray(rng.uniform(-1, 1, tuple(r.shape)))).to(r.dtype) for r in theirs
        ]
        torch.autograd.backward(theirs, slopes)
        mindtorch_v2.autograd.backward(ours, to_lib(slopes, mindtorch_v2))
        inputs = [x for x in leaves((sample.input, sample.args, sample.kwargs)) if _wants(torch, x)]
        copies = [x for x in leaves(mine) if _wants(mindtorch_v2, x)]
        for x, y in zip(inputs, copies, strict=True):
            assert (x.grad is None) == (y.grad is None), f"{what}: only one of the libraries has one"
            if x.grad is not None:
                compare(y.grad, x.grad, what, loosen=10)


def _wants(lib, value):
    return isinstance(value, lib.Tensor) and value.requires_grad and value.is_leaf


def _check_meta(op):
    """Shapes without values: equal to the CPU's, or a refusal where the shape depends on values."""
    for sample in _translatable(choose(op, _main_dtype(op), 1)):
        wanted = op.op(sample.input, *sample.args, **sample.kwargs)
        first, args, kwargs = to_lib((sample.input, sample.args, sample.kwargs), mindtorch_v2, "meta")
        try:
            got = translated(op, mindtorch_v2)(first, *args, **kwargs)
        except (NotImplementedError, RuntimeError, ValueError):
            return
        compare(got, wanted, "meta", values=False)


def _main_dtype(op):
    supported = op.supported_dtypes("cpu")
    return next(
        (d for d in (torch.float32, torch.int64, torch.complex64) if d in supported), min(supported, key=str)
    )


def _check(name):
    op, main = OPS[name], _main_dtype(OPS[name])
    _check_forward(op, main, 6)
    if op.supports_autograd and main is torch.float32 and main in op.supported_backward_dtypes("cpu"):
        _check_gradient(op, 4)
    start = sorted(OPS).index(name)
    rotated = [_OTHER_DTYPES[(start + i) % 3] for i in range(3)]
    for dtype in [d for d in rotated if d in op.supported_dtypes("cpu") and d is not main][:1]:
        _check_forward(op, dtype, 3)
    if start % 3 == 0:
        _check_meta(op)


@pytest.mark.parametrize("name", sorted(OPS))
def test_op(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if name not in _HOLES:
            return _check(name)
        try:
            _check(name)
        except (AssertionError, Exception):  # noqa: BLE001 - whatever the hole looks like
            return
    pytest.fail(f"{name} works: take it out of opinfo_holes.txt ({_HOLES[name]})")


def test_the_list_of_holes_names_operators():
    assert set(_HOLES) <= set(OPS)
