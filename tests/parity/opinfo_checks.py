"""What is compared with PyTorch for an operator of its database: results, gradients, shapes without values.

The tests (`test_opinfo.py`) and the score in the README (`tools/score.py`) ask these questions.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from opinfo_bridge import Translator, Untranslatable, as_array, choose, compare, leaves, rebind, translated

import mindtorch_v2

# Their values are whatever was in memory.
_UNINITIALISED = {
    "empty", "empty_like", "empty_strided", "empty_permuted", "new_empty", "new_empty_strided", "resize_", "resize_as_",
}  # fmt: skip
# Defined up to signs or phases; the database's own function keeps what is well defined.
_UP_TO_SIGNS = {"svd", "linalg.svd", "linalg.eig", "linalg.eigh", "svd_lowrank", "pca_lowrank"}
# Arguments that leave the order of the result open.
_UNORDERED = {"unique": "sorted", "topk": "sorted"}
# Random numbers are the cpu's only on the cpu.
_DRAWN = {
    "bernoulli", "cauchy", "exponential", "geometric", "log_normal", "multinomial", "nn.functional.alpha_dropout",
    "nn.functional.dropout", "nn.functional.dropout2d", "nn.functional.dropout3d",
    "nn.functional.feature_alpha_dropout", "nn.functional.fractional_max_pool2d",
    "nn.functional.fractional_max_pool3d", "nn.functional.multi_head_attention_forward", "nn.functional.rrelu",
    "nn.functional.scaled_dot_product_attention", "normal", "pca_lowrank", "rand_like", "randint", "randint_like",
    "randn", "randn_like", "svd_lowrank", "uniform",
}  # fmt: skip


@contextmanager
def quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def main_dtype(op: Any) -> torch.dtype:
    """float32, or what the operator has instead."""
    supported = op.supported_dtypes("cpu")
    return next(
        (d for d in (torch.float32, torch.int64, torch.complex64) if d in supported), min(supported, key=str)
    )


def has_gradient(op: Any) -> bool:
    """Whether PyTorch differentiates it, in single precision."""
    main = main_dtype(op)
    return op.supports_autograd and main is torch.float32 and main in op.supported_backward_dtypes("cpu")


def is_drawn(op: Any, device: str) -> bool:
    """Whether its values are random numbers that are not PyTorch's."""
    return device != "cpu" and op.name in _DRAWN


def samples_of(op: Any, dtype: torch.dtype, count: int, grad: bool = False) -> list[tuple[int, Any]]:
    """Numbered samples that have no sparse tensors; an operator that has no others cannot agree."""
    found = list(enumerate(_translatable(choose(op, dtype, count, grad=grad))))
    assert found, f"{op.name}: every sample has sparse tensors"
    return found


def _translatable(samples: Iterable[Any]) -> Iterator[Any]:
    for sample in samples:
        try:
            Translator(mindtorch_v2, "meta")((sample.input, sample.args, sample.kwargs))
        except Untranslatable:
            continue
        yield sample


def check_forward(op: Any, dtype: torch.dtype, count: int, device: str = "cpu") -> None:
    for number, sample in samples_of(op, dtype, count):
        wanted, got, _ = both(op, sample, device)
        compare_results(op, sample, wanted, got, f"{dtype} sample {number}", device)


def check_gradient(op: Any, count: int, device: str = "cpu") -> None:
    for number, sample in samples_of(op, torch.float32, count, grad=True):
        compare_gradients(op, sample, *both(op, sample, device), f"gradient of sample {number}", device)


def check_meta(op: Any, dtype: torch.dtype, count: int) -> None:
    """Shapes and dtypes without values."""
    for number, sample in samples_of(op, dtype, count):
        wanted, got, _ = both(op, sample, "meta", gauge=False)
        compare(got, wanted, f"meta, sample {number}", values=False)


def both(op: Any, sample: Any, device: str = "cpu", gauge: bool = True) -> tuple[Any, Any, Any]:
    """The result in PyTorch and in MindTorch, from the same seed; and MindTorch's arguments. With `gauge`, of results
    that are defined up to signs only what is well defined."""
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
        if op.name in _UP_TO_SIGNS and gauge:
            result = rebind(sample.output_process_fn_grad, lib)(result)
        results.append(result)
    return *results, mine


def compare_results(op: Any, sample: Any, wanted: Any, got: Any, what: str, device: str = "cpu") -> None:
    ordered = sample.kwargs.get(_UNORDERED.get(op.name), True)
    valued = op.name not in _UNINITIALISED and ordered and not is_drawn(op, device)
    compare(got, wanted, what, values=valued, loosen=10 if op.name in _UP_TO_SIGNS or "svd" in op.name else 1)


def compare_gradients(
    op: Any, sample: Any, wanted: Any, got: Any, mine: Any, what: str, device: str = "cpu"
) -> None:
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


def _differentiable(lib: Any, results: Any) -> list[Any]:
    return [r for r in leaves(results) if isinstance(r, lib.Tensor) and r.requires_grad]


def _wants(lib: Any, value: Any) -> bool:
    return isinstance(value, lib.Tensor) and value.requires_grad and value.is_leaf


def _gradients(lib: Any, results: list[Any], inputs: list[Any], slopes: list[Any]) -> Any:
    if not results or not inputs:
        return [None] * len(inputs)
    assert len(results) == len(slopes), f"{len(results)} differentiable results, PyTorch has {len(slopes)}"
    return lib.autograd.grad(results, inputs, slopes, allow_unused=True)
