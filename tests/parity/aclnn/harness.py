"""ACLNN operators of the software NPU against PyTorch: what a case is, and how one is run.

A case is a function that makes an operator's arguments with PyTorch and says what PyTorch gives for them:

    @case("aclnnAddmm", dtypes=FLOATS)
    def addmm(make):
        self, a, b = make(3, 4), make(3, 5), make(5, 4)
        return [self, a, b, 0.5, 2.0, OUT, 0], torch.addmm(self, a, b, beta=0.5, alpha=2.0)

`make(*shape)` gives a tensor of the dtype under test. Arguments are in the order of the C function. `OUT` stands for a
result: it gets the shape and dtype of the value returned for it. `Inplace(x)` is a tensor that is read, then written.
`Sized(*shape)` is a result of that largest size, of which the operator fills a part (`aclnnNonzero`). `AnyResult` is
one that is not compared (a mask, a reserved space); `Check` compares by calling the function with what came
out. The values returned are for these placeholders in their order. Several `yield`s make several calls.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

import mindtorch_v2
from mindtorch_v2._backends.npu import aclnn

FLOATS = (torch.float32, torch.float16, torch.bfloat16)
FLOATS_AND_DOUBLE = (*FLOATS, torch.float64)
INTEGERS = (torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64)
NUMBERS = (*FLOATS_AND_DOUBLE, *INTEGERS)
ALL = (*NUMBERS, torch.bool)
COMPLEX = (torch.complex64, torch.complex128)
EVERYTHING = (*ALL, *COMPLEX)
EXACT = (torch.float32, torch.float64)

# Every operator runs on tensors as they are usually made, and on views of larger ones.
LAYOUTS = ("dense", "transposed", "stepped")

_TOLERANCE = {torch.float16: 2e-3, torch.bfloat16: 1.6e-2, torch.float64: 1e-9, torch.complex128: 1e-9}
_BITS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


class _Out:
    pass


OUT = _Out()


@dataclass
class Inplace:
    tensor: torch.Tensor


@dataclass
class Sized:
    shape: tuple[int, ...]

    def __init__(self, *shape: int) -> None:
        self.shape = shape


@dataclass
class AnyResult:
    """A result that is not compared."""

    shape: tuple[int, ...]
    dtype: torch.dtype


@dataclass
class Check:
    """A result that a function looks at: it gets the tensor (of PyTorch, on the cpu) and asserts."""

    shape: tuple[int, ...]
    dtype: torch.dtype
    function: Callable[[torch.Tensor], None]


@dataclass
class Case:
    operator: str
    function: Callable[..., Any]
    dtypes: tuple[torch.dtype, ...]
    layouts: tuple[str, ...]
    tolerance: float

    def label(self, dtype: torch.dtype, layout: str) -> str:
        return f"{self.operator}-{self.function.__name__}-{str(dtype).removeprefix('torch.')}-{layout}"


CASES: list[Case] = []


def case(
    *operators: str,
    dtypes: tuple[torch.dtype, ...] = FLOATS,
    layouts: tuple[str, ...] = LAYOUTS,
    tolerance: float = 1.0,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Registers a function as a case of operators. One of several operators gets its name as a second argument.

    `tolerance` multiplies what is allowed for the dtype (float32: 1e-5 relative and absolute).
    """

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        CASES.extend(Case(operator, function, dtypes, layouts, tolerance) for operator in operators)
        return function

    return register


class Maker:
    """Makes tensors of the dtype under test; the same ones every time."""

    def __init__(self, dtype: torch.dtype) -> None:
        self.dtype = dtype
        self.generator = torch.Generator().manual_seed(7)

    def __call__(
        self, *shape: int, low: float = -3.0, high: float = 3.0, dtype: torch.dtype | None = None
    ) -> torch.Tensor:
        """Numbers from `low` to `high`; integers include `high`, unsigned ones begin at 0."""
        dtype = dtype or self.dtype
        if dtype == torch.bool:
            return torch.rand(shape, generator=self.generator) < 0.5
        if not dtype.is_floating_point and not dtype.is_complex:
            least = max(int(low), torch.iinfo(dtype).min)
            return torch.randint(least, int(high) + 1, shape, generator=self.generator, dtype=dtype)
        if dtype.is_complex:
            parts = torch.rand((*shape, 2), generator=self.generator, dtype=torch.float64)
            return torch.view_as_complex(parts * (high - low) + low).to(dtype)
        return (torch.rand(shape, generator=self.generator, dtype=torch.float64) * (high - low) + low).to(
            dtype
        )

    def positive(self, *shape: int, high: float = 3.0) -> torch.Tensor:
        return (
            self(*shape, low=0.1, high=high)
            if self.dtype.is_floating_point
            else self(*shape, low=1, high=high)
        )

    def index(self, *shape: int, below: int, dtype: torch.dtype = torch.int64) -> torch.Tensor:
        return torch.randint(0, below, shape, generator=self.generator, dtype=dtype)


def calls(case_: Case, dtype: torch.dtype) -> Iterator[tuple[list[Any], tuple[Any, ...]]]:
    """The calls of a case: arguments, and the expected values of its placeholders."""
    wanted = len(inspect.signature(case_.function).parameters)
    made = case_.function(*(Maker(dtype), case_.operator)[:wanted])
    for arguments, results in made if inspect.isgenerator(made) else [made]:
        yield arguments, results if isinstance(results, tuple) else (results,)


# ---- tensors of the other library ------------------------------------------------------------------


def _dtype(dtype: torch.dtype) -> Any:
    return getattr(mindtorch_v2, str(dtype).removeprefix("torch."))


def _empty(shape: tuple[int, ...], dtype: torch.dtype, layout: str) -> Any:
    """An npu tensor of unknown content; `layout` says how it lies in its storage."""
    kind = {"dtype": _dtype(dtype), "device": "npu"}
    if layout == "transposed" and len(shape) >= 2:
        return mindtorch_v2.empty(tuple(reversed(shape)), **kind).permute(*reversed(range(len(shape))))
    if layout == "stepped" and len(shape) >= 1:
        whole = (
            mindtorch_v2.empty((shape[0] + 1, *shape[1:-1], shape[-1] * 2), **kind)
            if len(shape) > 1
            else None
        )
        if whole is None:
            return mindtorch_v2.empty((shape[0] * 2 + 1,), **kind)[1::2]
        return whole[1:, ..., ::2]
    return mindtorch_v2.empty(shape, **kind)


def to_npu(tensor: torch.Tensor, layout: str) -> Any:
    if tensor.dtype == torch.bfloat16:
        bits = mindtorch_v2.from_numpy(tensor.detach().contiguous().view(torch.int16).numpy())
        made = bits.view(mindtorch_v2.bfloat16)
    else:
        made = mindtorch_v2.from_numpy(np.ascontiguousarray(tensor.detach().numpy()).reshape(tensor.shape))
    result = _empty(tuple(tensor.shape), tensor.dtype, layout)
    result.copy_(made)
    return result


def to_torch(tensor: Any) -> torch.Tensor:
    host = tensor.cpu().contiguous()
    if host.dtype == mindtorch_v2.bfloat16:
        return torch.from_numpy(host.view(mindtorch_v2.int16).numpy()).view(torch.bfloat16)
    return torch.from_numpy(host.numpy())


# ---- running ---------------------------------------------------------------------------------------


def run(case_: Case, dtype: torch.dtype, layout: str) -> None:
    ran = False
    for arguments, expected in calls(case_, dtype):
        _run_call(case_, arguments, list(expected), layout)
        ran = True
    assert ran, f"the case of {case_.operator} made no call"


def _convert(arguments: list[Any], expected: list[Any], layout: str) -> tuple[list[Any], list[Any], bool]:
    """The arguments on the npu, the results among them, and whether results have sizes that depend on data."""
    converted: list[Any] = []
    results: list[Any] = []
    sized = False
    for argument in arguments:
        if isinstance(argument, torch.Tensor):
            converted.append(to_npu(argument, layout))
        elif isinstance(argument, (list, tuple)) and any(
            isinstance(item, (torch.Tensor, Inplace, _Out)) for item in argument
        ):
            inner, more, _ = _convert(list(argument), expected[len(results) :], layout)
            converted.append(inner)
            results += more
        elif isinstance(argument, torch.dtype):
            converted.append(_dtype(argument))
        elif argument is OUT or isinstance(argument, (Inplace, Sized, AnyResult, Check)):
            wanted = expected[len(results)]
            if argument is OUT:
                made = _empty(tuple(wanted.shape), wanted.dtype, layout)
            elif isinstance(argument, Inplace):
                made = to_npu(argument.tensor, layout)
            elif isinstance(argument, Sized):
                made, sized = _empty(argument.shape, wanted.dtype, "dense"), True
            else:
                made = _empty(argument.shape, argument.dtype, "dense")
            converted.append(made)
            results.append((argument, made))
        else:
            converted.append(argument)
    return converted, results, sized


def _run_call(case_: Case, arguments: list[Any], expected: list[Any], layout: str) -> None:
    converted, results, sized = _convert(arguments, expected, layout)
    assert len(results) == len(expected), (
        f"{len(results)} results are marked, {len(expected)} values expected"
    )
    shapes = {}
    if sized:
        reported = aclnn.call_for_shapes(case_.operator, *converted)
        parameters = aclnn.signature(case_.operator)
        tensors = [
            a for p, a in zip(parameters, converted, strict=True) if p.type == "aclTensor*" and a is not None
        ]
        shapes = {id(tensor): shape for tensor, shape in zip(tensors, reported, strict=True)}
    else:
        aclnn.call(case_.operator, *converted)
    for (marker, made), wanted in zip(results, expected, strict=True):
        if isinstance(marker, AnyResult):
            continue
        got = to_torch(made)
        if isinstance(marker, Check):
            marker.function(got)
            continue
        if isinstance(marker, Sized):
            shape = shapes[id(made)]
            got = got.flatten()[: int(np.prod(shape))].reshape(shape)
        tolerance = _TOLERANCE.get(wanted.dtype, 1e-5) * case_.tolerance
        exact = not (wanted.dtype.is_floating_point or wanted.dtype.is_complex)
        torch.testing.assert_close(
            got,
            wanted.detach().contiguous(),
            rtol=0 if exact else tolerance,
            atol=0 if exact else tolerance,
            equal_nan=True,
            msg=lambda text: f"{case_.operator}({', '.join(_text(a) for a in arguments)}), {layout}: {text}",
        )


def _text(argument: Any) -> str:
    if isinstance(argument, torch.Tensor):
        return f"{str(argument.dtype).removeprefix('torch.')}{list(argument.shape)}"
    if isinstance(argument, Inplace):
        return f"inplace {_text(argument.tensor)}"
    return "out" if argument is OUT else str(argument)
