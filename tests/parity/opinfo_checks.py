"""What is compared with PyTorch for an operator of its database: results, gradients, shapes without values.

The tests (`test_opinfo.py`) and the score in the README (`tools/score.py`) ask these questions.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

import numpy as np
import torch
from opinfo_bridge import Translator, Untranslatable, as_array, choose, compare, leaves, rebind, translated

import mindtorch_v2
from mindtorch_v2.utils._pytree import tree_flatten

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
    """Numbered samples that can be translated; an operator that has no others cannot agree."""
    found = list(enumerate(_translatable(choose(op, dtype, count, grad=grad))))
    assert found, f"{op.name}: no sample can be translated"
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


def check_reference(op: Any, count: int, device: str = "cpu") -> None:
    """Results of the samples for comparisons with references, which are many more, spread over all of them."""
    dtype = main_dtype(op)
    torch.manual_seed(1)
    np.random.seed(1)
    drawn = list(_translatable(islice(op.reference_inputs("cpu", dtype), 400)))
    for number, sample in list(enumerate(drawn))[:: max(1, -(-len(drawn) // count))]:
        wanted, got, _ = both(op, sample, device)
        compare_results(op, sample, wanted, got, f"{dtype} reference sample {number}", device)


def check_errors(op: Any, device: str = "cpu") -> None:
    """Of every input that the database says is wrong, the error that it says comes."""
    wrong = []
    for number, case in enumerate(op.error_inputs("cpu")):
        sample = case.sample_input
        try:
            first, args, kwargs = Translator(mindtorch_v2, device)((sample.input, sample.args, sample.kwargs))
            translated(op, mindtorch_v2)(first, *args, **kwargs)
            problem = f"no error for {case.error_regex!r}"
        except Untranslatable:
            continue
        except case.error_type as error:
            if re.search(case.error_regex, str(error)):
                continue
            problem = f"{str(error)!r} for {case.error_regex!r}"
        except Exception as error:  # noqa: BLE001 - any other kind is wrong
            problem = f"{type(error).__name__} for {case.error_type.__name__}"
        try:
            op.op(sample.input, *sample.args, **sample.kwargs)
        except case.error_type:  # without one, PyTorch has another device in mind
            wrong.append(f"{number}: {problem}")
    assert not wrong, "errors of " + "; ".join(wrong)


def check_gradient(op: Any, count: int, device: str = "cpu") -> None:
    for number, sample in samples_of(op, torch.float32, count, grad=True):
        compare_gradients(op, sample, *both(op, sample, device), f"gradient of sample {number}", device)


def check_tangent(op: Any, count: int, device: str = "cpu") -> None:
    """Forward mode: how results move when all inputs do. PyTorch's directions, or, where it has none or others than
    finite differences say, those."""
    wide = torch.float64 if torch.float64 in op.supported_backward_dtypes("cpu") else torch.float32
    for number, sample in samples_of(op, wide, count, grad=True):
        theirs = (sample.input, sample.args, sample.kwargs)
        inputs = [x for x in leaves(theirs) if _wants(torch, x)]
        rng = np.random.default_rng(5)
        moves = [torch.from_numpy(np.asarray(rng.uniform(-1, 1, tuple(x.shape)))).to(x.dtype) for x in inputs]
        put = Translator(mindtorch_v2, device)
        got = _pushed(mindtorch_v2, op, sample, put(theirs), put(moves))
        what = f"tangents of sample {number}"
        try:
            compare(got, _pushed(torch, op, sample, theirs, moves), what, loosen=10)
        except (AssertionError, RuntimeError):  # NotImplementedError is one
            if op.name in _DRAWN or wide is not torch.float64:
                raise
            compare(got, _differences(op, sample, theirs, moves), what, loosen=100)


def _function(lib: Any, op: Any, sample: Any, arguments: Any) -> Any:
    """The operator as a function of the inputs that are differentiated, with real and complex results."""
    inputs = [x for x in leaves(arguments) if _wants(lib, x)]

    def function(*given: Any) -> list[Any]:
        put = {id(x): y for x, y in zip(inputs, given, strict=True)}
        first, args, kwargs = _with(put, arguments)
        lib.manual_seed(3)
        result = called(op, lib, sample, first, args, kwargs, True)
        found = [r for r in leaves(result) if isinstance(r, lib.Tensor)]
        found = [r for r in found if r.is_floating_point() or r.is_complex()]
        return found[:1] if "native" in op.name or "batch_norm" in op.name else found

    return inputs, function


def _pushed(lib: Any, op: Any, sample: Any, arguments: Any, moves: list[Any]) -> list[Any]:
    inputs, function = _function(lib, op, sample, arguments)
    forward = lib.autograd.forward_ad
    with forward.dual_level():
        given = [forward.make_dual(x.detach(), t) for x, t in zip(inputs, moves, strict=True)]
        pairs = [forward.unpack_dual(y) for y in function(*given)]
        return [lib.zeros_like(p) if t is None else t.clone() for p, t in pairs]


def _differences(op: Any, sample: Any, arguments: Any, moves: list[Any], eps: float = 1e-6) -> list[Any]:
    inputs, function = _function(torch, op, sample, arguments)
    high, low = (
        function(*(x.detach() + sign * eps * t for x, t in zip(inputs, moves, strict=True)))
        for sign in (1, -1)
    )
    return [(h - l) / (2 * eps) for h, l in zip(high, low, strict=True)]


def _with(put: dict[int, Any], value: Any) -> Any:
    """Arguments with others in the place of some tensors."""
    if isinstance(value, dict):
        return {k: _with(put, v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        inside = [_with(put, v) for v in value]
        return inside if isinstance(value, list) else tuple(inside)
    return put.get(id(value), value)


def check_meta(op: Any, dtype: torch.dtype, count: int) -> None:
    """Shapes and dtypes without values."""
    for number, sample in samples_of(op, dtype, count):
        wanted, got, _ = both(op, sample, "meta", gauge=False)
        compare(got, wanted, f"meta, sample {number}", values=False)


def check_vmap(
    op: Any, dtype: torch.dtype, count: int, device: str = "cpu", in_one_call: bool = False
) -> None:
    """vmap of the operator is the loop that it stands for: over all tensors, and over the first one alone. With
    `in_one_call` no operator may run slice by slice."""
    tried = 0
    for number, sample in samples_of(op, dtype, count):
        values, spec = tree_flatten(
            Translator(mindtorch_v2, device)((sample.input, sample.args, sample.kwargs))
        )
        places = [i for i, value in enumerate(values) if isinstance(value, mindtorch_v2.Tensor)]
        for chosen in (places, places[:1]) if len(places) > 1 else (places,) if places else ():
            tried += 1
            _compare_with_loop(op, sample, values, spec, chosen, in_one_call, f"{dtype} sample {number}")
    assert tried, f"{op.name}: no sample has a tensor to map over"


def _compare_with_loop(
    op: Any, sample: Any, values: list[Any], spec: Any, chosen: list[int], in_one_call: bool, what: str
) -> None:
    function = translated(op, mindtorch_v2)

    def call(*tensors: Any) -> Any:
        given = list(values)
        for place, tensor in zip(chosen, tensors, strict=True):
            given[place] = tensor
        first, args, kwargs = spec.unflatten(given)
        if op.gradcheck_wrapper.__name__.startswith("gradcheck_wrapper_masked"):
            result = function(first, *args, **kwargs)
        else:
            result = rebind(op.gradcheck_wrapper, mindtorch_v2)(function, first, *args, **kwargs)
        if op.name in _UP_TO_SIGNS:
            result = rebind(sample.output_process_fn_grad, mindtorch_v2)(result)
        return tuple(leaves(result))

    batches = [_slices(values[place].detach()) for place in chosen]
    single = [call(*(batch[i].clone() for batch in batches)) for i in range(3)]
    wanted = [mindtorch_v2.stack(column) for column in zip(*single, strict=True)]
    mindtorch_v2._C._functorch._set_vmap_fallback_enabled(not in_one_call)
    try:
        got = mindtorch_v2.vmap(call, randomness="different")(*batches)
    finally:
        mindtorch_v2._C._functorch._set_vmap_fallback_enabled(True)
    ordered = sample.kwargs.get(_UNORDERED.get(op.name), True)
    valued = op.name not in _UNINITIALISED and ordered and op.name not in _DRAWN
    compare(got, wanted, what, values=valued, loosen=10)


def _slices(tensor: Any) -> Any:
    """Three tensors like it, that an operator takes where it takes the tensor."""
    if not (tensor.is_floating_point() or tensor.is_complex()):
        return mindtorch_v2.stack([tensor] * 3)
    return mindtorch_v2.stack([tensor * factor for factor in (1, 0.9, 0.8)])


def both(op: Any, sample: Any, device: str = "cpu", gauge: bool = True) -> tuple[Any, Any, Any]:
    """The result in PyTorch and in MindTorch, from the same seed; and MindTorch's arguments. With `gauge`, of results
    that are defined up to signs only what is well defined."""
    theirs = (sample.input, sample.args, sample.kwargs)
    mine = Translator(mindtorch_v2, device)(theirs)
    results = []
    for lib, (first, args, kwargs) in ((torch, theirs), (mindtorch_v2, mine)):
        lib.manual_seed(3)
        results.append(called(op, lib, sample, first, args, kwargs, gauge))
    return *results, mine


def called(op: Any, lib: Any, sample: Any, first: Any, args: Any, kwargs: Any, gauge: bool) -> Any:
    """What a library's operator makes of a sample's arguments."""
    function = translated(op, lib)
    if op.gradcheck_wrapper.__name__.startswith("gradcheck_wrapper_masked"):
        result = function(first, *args, **kwargs)
    else:  # makes the input what the operator asks for: symmetric, triangular
        result = rebind(op.gradcheck_wrapper, lib)(function, first, *args, **kwargs)
    if op.name in _UP_TO_SIGNS and gauge:
        result = rebind(sample.output_process_fn_grad, lib)(result)
    return result


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
