"""PyTorch's operator database (OpInfo) through torch_npu: the NPU's results and gradients are the CPU's.

Operators that torch_npu leaves to the CPU pass too: their copies to and fro are tested.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Any

import pytest
import torch
from torch.testing._internal import common_utils
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo import core
from torch.testing._internal.opinfo.core import OpInfo, SampleInput

# It reads the source of every caller, looking for a unittest that asked: half of the time of these tests.
core.extract_test_fn = common_utils.extract_test_fn = lambda: None

SAMPLES = 2

# Where results have no values to compare: memory that nobody wrote, random numbers, a choice of basis.
VALUELESS = {
    *("empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided"),
    *("rand_like", "randint", "randint_like", "randn", "randn_like", "normal", "multinomial", "bernoulli"),
    *("uniform", "cauchy", "exponential", "geometric", "log_normal", "nn.functional.rrelu"),
    *("svd_lowrank", "pca_lowrank", "nn.functional.fractional_max_pool2d"),
    "nn.functional.fractional_max_pool3d",
    *(f"nn.functional.{kind}" for kind in ("dropout", "dropout2d", "dropout3d", "alpha_dropout")),
    "nn.functional.feature_alpha_dropout",
}

# What makes attention random: a sample with this argument is left out.
DROPS = {
    "nn.functional.scaled_dot_product_attention": "dropout_p",
    "nn.functional.multi_head_attention_forward": "training",
}

# Where torch_npu differs from PyTorch on the CPU. The reasons come from its calls and results here, not from a card.
BY_TORCH_NPU = {
    "as_strided.partial_views": "copying to the device makes the storage dense",
    "chalf": "complex32 is no dtype of the NPU",
    "double": "computes in float32",
    "float_power": "computes in float32",
    "native_batch_norm": "keeps statistics that PyTorch does not",
    "_native_batch_norm_legit": "keeps statistics that PyTorch does not",
    "native_dropout_backward": "its mask is one of bits, and a scale of 1 drops nothing",
    "nn.functional.adaptive_max_pool3d": "indices are int32",
    "nn.functional.max_pool1d": "indices are a mask of bits",
    "nn.functional.max_pool2d": "indices are a mask of bits",
    "nn.functional.max_pool3d": "indices are int32",
    "nn.functional.pad.replicate_negative": "padding is not negative on the NPU",
    "sparse.mm.reduce": "no sparse tensors",
    "sparse.sampled_addmm": "no sparse tensors",
    "tensor_split": "wants its indices on the CPU",
    "to": "no channels_last",
    "torch._scaled_mm": "no float8",
    "torch._scaled_mm_v2": "no float8",
}

GRADIENT_BY_TORCH_NPU = {
    "linalg.eig": "sgn of complex numbers is no operator of the NPU",
    "nn.functional.binary_cross_entropy_with_logits": "no gradient of the target",
    "nn.functional.gelu": "approximates by tanh",
    "polar": "sgn of complex numbers is no operator of the NPU",
}


def name_of(op: OpInfo) -> str:
    return f"{op.name}.{op.variant_test_name}" if op.variant_test_name else op.name


def moved(value: Any, device: str) -> Any:
    if isinstance(value, torch.Tensor):
        return value.detach().to(device).requires_grad_(value.requires_grad)
    if isinstance(value, dict):
        return {key: moved(item, device) for key, item in value.items()}
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return type(value)(moved(item, device) for item in value)
    return value


def samples(op: OpInfo, requires_grad: bool = False) -> Iterator[SampleInput]:
    dtype = torch.float32 if torch.float32 in op.dtypes else next(iter(op.dtypes), None)
    if dtype is None:
        return
    torch.manual_seed(0)
    made = op.sample_inputs("cpu", dtype, requires_grad=requires_grad)
    yield from islice((s for s in made if not s.kwargs.get(DROPS.get(op.name, ""))), SAMPLES)


def call(op: OpInfo, sample: SampleInput, device: str) -> tuple[Any, list[torch.Tensor]]:
    """The result, and the inputs that a gradient is wanted for."""
    arguments = moved([sample.input, list(sample.args), dict(sample.kwargs)], device)
    leaves = [leaf for leaf in flat(arguments) if leaf.requires_grad]
    return op.op(arguments[0], *arguments[1], **arguments[2]), leaves


def flat(value: Any) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [t for item in value for t in flat(item)] if isinstance(value, (list, tuple)) else []


def cases(selected: list[OpInfo], known: dict[str, str]) -> list[Any]:
    def mark(name: str) -> Any:
        return pytest.mark.xfail(reason=known[name], strict=True) if name in known else ()

    return [pytest.param(op, id=name_of(op), marks=mark(name_of(op))) for op in selected]


OPERATORS = [op for op in op_db if not op.name.startswith("jiterator")]  # those compile CUDA
DIFFERENTIABLE = [
    op
    for op in OPERATORS
    if op.supports_autograd
    and torch.float32 in op.dtypes
    and op.name not in VALUELESS
    and name_of(op) not in BY_TORCH_NPU
]


@pytest.mark.parametrize("op", cases(OPERATORS, BY_TORCH_NPU))
def test_the_result_is_that_of_the_cpu(op: OpInfo) -> None:
    for sample in samples(op):
        wanted, _ = call(op, sample, "cpu")
        got = moved(call(op, sample, "npu")[0], "cpu")
        if op.name not in VALUELESS:
            torch.testing.assert_close(got, wanted, rtol=1e-3, atol=1e-3, equal_nan=True)


@pytest.mark.parametrize("op", cases(DIFFERENTIABLE, GRADIENT_BY_TORCH_NPU))
def test_the_gradient_is_that_of_the_cpu(op: OpInfo) -> None:
    for sample in samples(op, requires_grad=True):
        wanted, got = gradients(op, sample, "cpu"), gradients(op, sample, "npu")
        torch.testing.assert_close(moved(got, "cpu"), wanted, rtol=1e-3, atol=1e-3, equal_nan=True)


def gradients(op: OpInfo, sample: SampleInput, device: str) -> list[torch.Tensor | None]:
    result, leaves = call(op, sample, device)
    result = sample.output_process_fn_grad(result)
    outputs = [t for t in flat(result) if t.requires_grad]
    if not outputs or not leaves:
        return []
    # Gradients that differ from element to element, so that a permuted result shows.
    weights = [
        torch.linspace(0.5, 1.5, t.numel()).reshape(t.shape).to(device=device, dtype=t.dtype) for t in outputs
    ]
    return list(torch.autograd.grad(outputs, leaves, weights, allow_unused=True))
