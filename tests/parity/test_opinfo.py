"""PyTorch's own operator database: every sample of an op gives PyTorch's values, shapes, dtypes and gradients.

What is known not to work stands in opinfo_holes.txt with its reason (`name@dtype` for a dtype besides the main
one); an entry that works is a failure too, so that the list stays what it says. opinfo_npu_holes.txt lists what has no
kernel on the npu, opinfo_meta_holes.txt what has no shape without values, opinfo_vmap_holes.txt what vmap cannot do.
"""

from pathlib import Path

import pytest
import torch
from opinfo_bridge import OPS
from opinfo_checks import (
    both,
    check_forward,
    check_gradient,
    check_meta,
    check_tangent,
    check_vmap,
    compare_gradients,
    compare_results,
    has_gradient,
    is_drawn,
    main_dtype,
    quiet,
    samples_of,
)

# Which of equal elements comes first is open, and other dtypes have many of them; half precision is computed
# in half by PyTorch and in single by us.
_ONE_DTYPE = {
    "argsort", "topk", "mode", "kthvalue", "grid_sampler_2d", "nn.functional.grid_sample", "div.trunc_rounding",
    "matrix_exp", "nn.functional.scaled_dot_product_attention",
}  # fmt: skip
_OTHER_DTYPES = (torch.int64, torch.complex64, torch.float16)


def _listed(file):
    lines = (Path(__file__).parent / file).read_text().splitlines()
    return dict(line.split(None, 1) for line in lines if line and not line.startswith("#"))


_HOLES = _listed("opinfo_holes.txt")
_NPU_HOLES = _listed("opinfo_npu_holes.txt")
_META_HOLES = _listed("opinfo_meta_holes.txt")
_VMAP_HOLES = _listed("opinfo_vmap_holes.txt")


def _check_on_the_npu(op):
    grad = has_gradient(op) and not is_drawn(op, "npu")
    for number, sample in samples_of(op, main_dtype(op), 2, grad=grad):
        wanted, got, mine = both(op, sample, "npu")
        compare_results(op, sample, wanted, got, f"sample {number}", "npu")
        if grad:
            compare_gradients(op, sample, wanted, got, mine, f"gradient of sample {number}", "npu")


def _checks(name):
    """(key of a hole, what to run): the op in its main dtype, with gradient; in another dtype."""
    op, main = OPS[name], main_dtype(OPS[name])
    yield name, lambda: check_forward(op, main, 6)
    if has_gradient(op):
        yield name, lambda: check_gradient(op, 4)
        yield f"{name}@tangent", lambda: check_tangent(op, 2)
    start = sorted(OPS).index(name)
    rotated = [_OTHER_DTYPES[(start + i) % 3] for i in range(3)]
    others = [d for d in rotated if d in op.supported_dtypes("cpu") and d is not main]
    for dtype in [] if name in _ONE_DTYPE else others[:1]:
        yield f"{name}@{str(dtype).removeprefix('torch.')}", lambda d=dtype: check_forward(op, d, 3)


@pytest.mark.parametrize("name", sorted(OPS))
def test_op(name):
    unsolved = {}
    with quiet():
        for key, check in _checks(name):
            key = name if name in _HOLES else key
            if key not in _HOLES:
                check()
            elif not unsolved.get(key):
                unsolved[key] = _fails(check)
    solved = [key for key, fails in unsolved.items() if not fails]
    assert not solved, f"{solved} work: take them out of opinfo_holes.txt"


@pytest.mark.parametrize("name", sorted(set(OPS) - set(_HOLES)))
def test_op_on_the_npu(name):
    """The npu gives PyTorch's results and gradients, or says that it has no kernel: nothing falls back."""
    with quiet():
        if name not in _NPU_HOLES:
            _check_on_the_npu(OPS[name])
            return
        with pytest.raises(NotImplementedError, match="npu"):
            _check_on_the_npu(OPS[name])


@pytest.mark.parametrize("name", sorted(set(OPS) - set(_HOLES)))
def test_op_on_meta(name):
    """Tensors without values have the shapes and dtypes of PyTorch's results."""
    with quiet():
        if name not in _META_HOLES:
            check_meta(OPS[name], main_dtype(OPS[name]), 3)
            return
        with pytest.raises(RuntimeError, match="meta tensor"):
            check_meta(OPS[name], main_dtype(OPS[name]), 3)


@pytest.mark.parametrize("name", sorted(set(OPS) - set(_HOLES)))
def test_op_in_vmap(name):
    """All slices at once give what a loop over them gives."""
    with quiet():
        if name not in _VMAP_HOLES:
            check_vmap(OPS[name], main_dtype(OPS[name]), 2)
        else:
            assert _fails(lambda: check_vmap(OPS[name], main_dtype(OPS[name]), 10)), (
                f"{name} works: take it out of opinfo_vmap_holes.txt"
            )


def _fails(check):
    try:
        check()
    except Exception:  # noqa: BLE001 - whatever the hole looks like
        return True
    return False


def test_the_lists_of_holes_name_operators():
    assert {key.partition("@")[0] for key in _HOLES} | set(_NPU_HOLES) | set(_META_HOLES) | set(
        _VMAP_HOLES
    ) <= set(OPS)
    assert not set(_HOLES) & (set(_NPU_HOLES) | set(_META_HOLES))
