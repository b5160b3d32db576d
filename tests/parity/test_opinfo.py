"""PyTorch's own operator database: every sample of an op gives PyTorch's values, shapes, dtypes and gradients.

What is known not to work stands in opinfo_holes.txt with its reason (`name@dtype` for a dtype besides the main
one); an entry that works is a failure too, so that the list stays what it says. opinfo_npu_holes.txt lists what has no
kernel on the npu.
"""

import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from opinfo_bridge import (
    OPS,
    Translator,
    Untranslatable,
    as_array,
    choose,
    compare,
    leaves,
    rebind,
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
# Which of equal elements comes first is open, and other dtypes have many of them; half precision is computed
# in half by PyTorch and in single by us.
_ONE_DTYPE = {
    "argsort", "topk", "mode", "kthvalue", "grid_sampler_2d", "nn.functional.grid_sample", "div.trunc_rounding",
    "matrix_exp", "nn.functional.scaled_dot_product_attention",
}  # fmt: skip
# Random numbers are the cpu's only on the cpu.
_DRAWN = {
    "bernoulli", "cauchy", "exponential", "geometric", "log_normal", "multinomial", "nn.functional.alpha_dropout",
    "nn.functional.dropout", "nn.functional.dropout2d", "nn.functional.dropout3d",
    "nn.functional.feature_alpha_dropout", "nn.functional.multi_head_attention_forward", "nn.functional.rrelu",
    "nn.functional.scaled_dot_product_attention", "normal", "pca_lowrank", "rand_like", "randint", "randint_like",
    "randn", "randn_like", "svd_lowrank", "uniform",
}  # fmt: skip
_OTHER_DTYPES = (torch.int64, torch.complex64, torch.float16)


def _listed(file):
    lines = (Path(__file__).parent / file).read_text().splitlines()
    return dict(line.split(None, 1) for line in lines if line and not line.startswith("#"))


_HOLES = _listed("opinfo_holes.txt")
_NPU_HOLES = _listed("opinfo_npu_holes.txt")


def _both(op, sample, device="cpu"):
    """The result in PyTorch and in MindTorch, from the same seed; and MindTorch's arguments."""
    theirs = (sample.input, sample.args, sample.kwargs)
    mine = Translator(mindtorch_v2, device)(theirs)
    results = []
    for lib, (first, args, kwargs) in ((torch, theirs), (mindtorch_v2, mine)):
        function = translated(op, lib)
        lib.manual_seed(3)
        if op.gradcheck_wrapper.__name__.startswith("gradcheck_wrapper_masked"):
            result = function(first, *args, **kwargs)
        else:  # makes the input what the operator asks for: symmetric, triangular
            result = rebind(op.gradcheck_wrapper, lib)(function, first, *args, **kwargs)
        if op.name in _UP_TO_SIGNS:
            result = rebind(sample.output_process_fn_grad, lib)(result)
        results.append(result)
    return *results, mine


def _translatable(samples):
    for sample in samples:
        try:
            Translator(mindtorch_v2, "meta")((sample.input, sample.args, sample.kwargs))
        except Untranslatable:
            continue
        yield sample


def _check_forward(op, dtype, count):
    for number, sample in enumerate(_translatable(choose(op, dtype, count))):
        wanted, got, _ = _both(op, sample)
        _compare_results(op, sample, wanted, got, f"{dtype} sample {number}")


def _compare_results(op, sample, wanted, got, what, drawn=False):
    valued = op.name not in _UNINITIALISED and sample.kwargs.get(_UNORDERED.get(op.name), True) and not drawn
    compare(got, wanted, what, values=valued, loosen=10 if op.name in _UP_TO_SIGNS or "svd" in op.name else 1)


def _check_on_the_npu(op):
    dtype, drawn = _main_dtype(op), op.name in _DRAWN
    grad = op.supports_autograd and dtype is torch.float32 and dtype in op.supported_backward_dtypes("cpu")
    for number, sample in enumerate(_translatable(choose(op, dtype, 2, grad=grad and not drawn))):
        wanted, got, mine = _both(op, sample, "npu")
        _compare_results(op, sample, wanted, got, f"sample {number}", drawn)
        if grad and not drawn:
            _compare_gradients(op, sample, wanted, got, mine, f"gradient of sample {number}", "npu")


def _differentiable(lib, results):
    return [r for r in leaves(results) if isinstance(r, lib.Tensor) and r.requires_grad]


def _check_gradient(op, count):
    for number, sample in enumerate(_translatable(choose(op, torch.float32, count, grad=True))):
        _compare_gradients(op, sample, *_both(op, sample), f"gradient of sample {number}")


def _compare_gradients(op, sample, wanted, got, mine, what, device="cpu"):
    theirs, ours = _differentiable(torch, wanted), _differentiable(mindtorch_v2, got)
    if "native" in op.name or "batch_norm" in op.name:  # PyTorch ignores the slopes of statistics
        theirs, ours = theirs[:1], ours[:1]
    inputs = [x for x in leaves((sample.input, sample.args, sample.kwargs)) if _wants(torch, x)]
    copies = [x for x in leaves(mine) if _wants(mindtorch_v2, x)]
    rng = np.random.default_rng(4)
    slopes = [torch.from_numpy(np.asarray(rng.uniform(-1, 1, tuple(r.shape)))).to(r.dtype) for r in theirs]
    expected = _gradients(torch, theirs, inputs, slopes)
    found = _gradients(mindtorch_v2, ours, copies, Translator(mindtorch_v2, device)(slopes))
    for x, y in zip(expected, found, strict=True):
        if x is None or y is None:  # no gradient and zeros mean the same
            assert not any(np.any(as_array(g)) for g in (x, y) if g is not None), what
        else:
            compare(y, x, what, loosen=10)


def _gradients(lib, results, inputs, slopes):
    if not results or not inputs:
        return [None] * len(inputs)
    assert len(results) == len(slopes), f"{len(results)} differentiable results, PyTorch has {len(slopes)}"
    return lib.autograd.grad(results, inputs, slopes, allow_unused=True)


def _wants(lib, value):
    return isinstance(value, lib.Tensor) and value.requires_grad and value.is_leaf


def _check_meta(op):
    """Shapes without values: equal to the CPU's, or a refusal where the shape depends on values."""
    for sample in _translatable(choose(op, _main_dtype(op), 1)):
        wanted = op.op(sample.input, *sample.args, **sample.kwargs)
        first, args, kwargs = Translator(mindtorch_v2, "meta")((sample.input, sample.args, sample.kwargs))
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


def _checks(name):
    """(key of a hole, what to run): the op in its main dtype, with gradient; in another dtype; on meta."""
    op, main = OPS[name], _main_dtype(OPS[name])
    yield name, lambda: _check_forward(op, main, 6)
    if op.supports_autograd and main is torch.float32 and main in op.supported_backward_dtypes("cpu"):
        yield name, lambda: _check_gradient(op, 4)
    start = sorted(OPS).index(name)
    rotated = [_OTHER_DTYPES[(start + i) % 3] for i in range(3)]
    others = [d for d in rotated if d in op.supported_dtypes("cpu") and d is not main]
    for dtype in [] if name in _ONE_DTYPE else others[:1]:
        yield f"{name}@{str(dtype).removeprefix('torch.')}", lambda d=dtype: _check_forward(op, d, 3)
    if start % 3 == 0:
        yield name, lambda: _check_meta(op)


@pytest.mark.parametrize("name", sorted(OPS))
def test_op(name):
    unsolved = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
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
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if name not in _NPU_HOLES:
            _check_on_the_npu(OPS[name])
            return
        with pytest.raises(NotImplementedError, match="npu"):
            _check_on_the_npu(OPS[name])


def _fails(check):
    try:
        check()
    except Exception:  # noqa: BLE001 - whatever the hole looks like
        return True
    return False


def test_the_list_of_holes_names_operators():
    assert {key.partition("@")[0] for key in _HOLES} | set(_NPU_HOLES) <= set(OPS)
