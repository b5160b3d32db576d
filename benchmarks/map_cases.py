"""Cases of the speed map: what is called, on what, in either library.

Rows of the elementwise families and reductions get theirs from the schema, by way of the samples that the tests use
(tests/opcases.py), scaled up. Operators whose arguments have a meaning of their own have calls in map_calls.py. What is
in neither is called with the largest sample of PyTorch's operator database, as it is there: that shows the host's part.
"""

from __future__ import annotations

import functools
import itertools
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

ROOT = Path(__file__).resolve().parents[1]
for _tests in (ROOT / "tests", ROOT / "tests" / "parity"):
    sys.path.insert(0, str(_tests))

from map_calls import CALLS, Call, Tensor, Words  # noqa: E402
from opcases import CALLABLE, INTEGER_ONLY, ROWS, Array, Sample, make, samples  # noqa: E402

Run = Callable[[], object]
SIZES = {"64k": (256, 256), "4M": (2048, 2048), "64M": (8192, 8192)}
CUBES = {"64k": (40, 40, 40), "4M": (160, 160, 160), "64M": (400, 400, 400)}
HALVES = ("bfloat16", "float16")
# What reads and writes memory and does little besides: for these the largest size tells something of its own.
MEMORY_BOUND = {
    "add.Tensor", "mul.Tensor", "div.Tensor", "neg", "abs", "relu", "clamp", "eq.Tensor", "lt.Tensor", "maximum",
    "where.self", "sum", "mean", "amax", "sqrt", "logical_not", "isnan",
}  # fmt: skip
# Their time grows with something else than the number of elements.
SLOW = ("polynomial", "zeta", "polygamma", "igamma", "bessel", "airy")


class Missing(Exception):
    """PyTorch does not have the operator, or not for this dtype."""


@dataclass(frozen=True)
class Case:
    area: str
    row: str
    size: str  # of SIZES, or what the call says
    dtype: str
    layout: str
    backward: bool
    build: Callable[[Any], Run]  # for a library

    @property
    def name(self) -> str:
        parts = (self.row, self.size, self.dtype, self.layout, "backward" if self.backward else "")
        return " ".join(p for p in parts if p and p != "plain")


# ---- building ------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=8)
def _drawn(array: Array, dtype: str) -> np.ndarray:
    return array.numpy(dtype)


@dataclass(frozen=True)
class Large(Array):
    """An Array whose values are drawn once for both libraries."""

    def numpy(self, dtype: str) -> np.ndarray:
        return _drawn(Array(self.shape, self.dtype, "plain", self.values, self.seed), dtype)


def backward_of(lib: Any, result: Any, inputs: list[Any]) -> Run:
    """The backward pass alone, again and again."""
    results = [r for r in _tensors(result) if r.requires_grad]
    if not results or not inputs:
        raise Missing("no gradient")
    slopes = [lib.ones_like(r) for r in results]
    return lambda: lib.autograd.grad(results, inputs, slopes, retain_graph=True, allow_unused=True)


def _tensors(value: Any) -> Iterator[Any]:
    if isinstance(value, list | tuple):
        for v in value:
            yield from _tensors(v)
    elif hasattr(value, "requires_grad"):
        yield value


def _callable(row: Any, lib: Any) -> Callable[..., Any]:
    if "function" not in row.variants:
        return lambda first, *args, **kwargs: getattr(first, row.cpp_name)(*args, **kwargs)
    if lib is not torch:
        return getattr(getattr(lib._C, f"_{row.module or 'functions'}"), row.public_name)
    spaces = {"": torch, "nn": torch.nn.functional, "aten": torch.ops.aten}
    space = spaces.get(row.module) or getattr(torch, row.module, None)
    found = getattr(space, row.public_name, None) or getattr(torch.ops.aten, row.cpp_name, None)
    if found is None:
        raise Missing(row.name)
    return found


def _of_sample(row: Any, sample: Sample, dtype: str, backward: bool) -> Callable[[Any], Run]:
    def build(lib: Any) -> Run:
        args, kwargs = sample.build(lib, "cpu", dtype, backward)
        function = _callable(row, lib)
        if not backward:
            return lambda: function(*args, **kwargs)
        return backward_of(lib, function(*args, **kwargs), [a for a in _tensors(args) if a.requires_grad])

    return build


# ---- from the schema -----------------------------------------------------------------------------


def _scaled(sample: Sample, shape: tuple[int, ...], layout: str = "plain") -> Sample:
    """The sample with large operands. The layout is the last operand's: others are plain beside it."""
    arrays = sample.arrays()
    made = iter(
        [Large(shape, a.dtype, layout if a is arrays[-1] else "plain", a.values, a.seed) for a in arrays]
    )
    return replace(sample, args=tuple(next(made) if isinstance(a, Array) else a for a in sample.args))


def _plain_sample(row: Any) -> Sample | None:
    for sample in samples(row.name):
        arrays = sample.arrays()
        whole = arrays and all(a.shape == (37, 65) and a.layout == "plain" for a in arrays)
        if whole and not sample.refused and len(arrays) == sum(isinstance(a, Array) for a in sample.args):
            return sample
    return None


def _variants(row: Any, quick: bool) -> Iterator[tuple[str, str, str, bool]]:
    """(size, dtype, layout, backward)"""
    if row.cpp_name in INTEGER_ONLY:
        yield from ((size, "int64", "plain", False) for size in ("64k", "4M"))
        return
    large = "64k" if any(word in row.name for word in SLOW) else "4M"
    yield "64k", "float32", "plain", False
    yield large, "float32", "plain", False
    yield "64k", "float32", "plain", True
    yield large, "bfloat16", "plain", False
    if quick:
        return
    if row.name in MEMORY_BOUND:
        yield "64M", "float32", "plain", False
    yield large, "float32", "plain", True
    for layout in ("transposed", "sliced", "expanded"):
        yield large, "float32", layout, False
    for dtype in ("float64", "float16", "int64"):
        yield large, dtype, "plain", False


def _elementwise(row: Any, quick: bool) -> Iterator[Case]:
    sample = _plain_sample(row)
    if sample is None:
        return
    for size, dtype, layout, backward in _variants(row, quick):
        scaled = _scaled(sample, SIZES[size], layout)
        yield Case(
            row.area, row.name, size, dtype, layout, backward, _of_sample(row, scaled, dtype, backward)
        )


def _reduction(row: Any, quick: bool) -> Iterator[Case]:
    values = "unit" if row.cpp_name == "prod" else "smooth"

    def case(size: str, dtype: str, dim: int | None, backward: bool) -> Case:
        args = (Large(CUBES[size], values=values), *([] if dim is None else [dim]))
        layout = "whole" if dim is None else f"dim {dim}"
        return Case(
            row.area, row.name, size, dtype, layout, backward, _of_sample(row, Sample(args), dtype, backward)
        )

    dims = (None, 0, 1, 2)
    yield from (case("4M", "float32", dim, False) for dim in dims)
    yield from (case("4M", "bfloat16", dim, False) for dim in (0, 2))
    yield from (case("64k", "float32", dim, backward) for dim in (0, 2) for backward in (False, True))
    if quick:
        return
    yield from (case("4M", "float32", dim, True) for dim in (0, 2))
    yield from (case("4M", dtype, dim, False) for dtype in ("float64", "float16", "int64") for dim in dims)
    if row.name in MEMORY_BOUND:
        yield case("64M", "float32", None, False)
        yield case("64M", "float32", 0, False)


# ---- calls written out ---------------------------------------------------------------------------


def _of_call(call: Call, dtype: str, backward: bool) -> Callable[[Any], Run]:
    def build(lib: Any) -> Run:
        names: dict[str, Any] = {"torch": lib, "F": lib.nn.functional}
        leaves = []
        for name, value in call.inputs.items():
            if isinstance(value, Words):
                names[name] = eval(value.text, names)
                continue
            spec = value if isinstance(value, Tensor) else Tensor(value)
            array = Large(spec.shape, spec.dtype, spec.layout, spec.values, seed=len(name) + ord(name[0]))
            made = make(lib, array, "cpu", dtype, backward and spec.grad)
            if made.requires_grad:
                leaves.append(made)
            names[name] = made
        function = eval(f"lambda: {call.text}", names)
        return backward_of(lib, function(), leaves) if backward else function

    return build


def _written(area: str, call: Call, quick: bool) -> Iterator[Case]:
    dtypes = call.dtypes[:1] if quick else call.dtypes
    for dtype in dtypes:
        yield Case(area, call.row, call.note, dtype, "plain", False, _of_call(call, dtype, False))
    if call.backward:
        yield Case(area, call.row, call.note, dtypes[0], "plain", True, _of_call(call, dtypes[0], True))


# ---- from PyTorch's database ---------------------------------------------------------------------


def _database() -> dict[str, Any]:
    from opinfo_bridge import OPS

    found: dict[str, Any] = {}
    for op in OPS.values():
        found.setdefault(
            op.name.split(".")[-1] if op.name.startswith("nn.") else op.name.replace(".", "_"), op
        )
    return found


def _of_database(row: Any, op: Any) -> Case:
    from opinfo_bridge import Translator, translated

    dtype = next(
        (d for d in (torch.float32, torch.int64, torch.complex64) if d in op.supported_dtypes("cpu")), None
    )

    def build(lib: Any) -> Run:
        if dtype is None:
            raise Missing(row.name)
        torch.manual_seed(1)
        drawn = list(itertools.islice(op.sample_inputs("cpu", dtype), 40))

        def size(sample: Any) -> int:
            return sum(t.numel() for t in _tensors([sample.input, *sample.args, *sample.kwargs.values()]))

        sample = max(drawn, key=size)
        values = (sample.input, *sample.args)
        if lib is torch:
            return lambda: op(*values, **sample.kwargs)
        translate = Translator(lib)
        args, kwargs = translate(values), translate(sample.kwargs)
        function = translated(op, lib)
        return lambda: function(*args, **kwargs)

    name = str(dtype).removeprefix("torch.")
    return Case(row.area, row.name, "small", name, "plain", False, build)


# ---- all of them ---------------------------------------------------------------------------------


def all_cases(only: list[str], quick: bool) -> tuple[list[Case], list[str]]:
    """The cases of the areas or rows in `only` (all, if it is empty), and the rows without any."""
    written: dict[str, list[tuple[str, Call]]] = {}
    for area, calls in CALLS.items():
        for call in calls:
            written.setdefault(call.row, []).append((area, call))
    chosen: list[Case] = []
    without: list[str] = []
    database: dict[str, Any] | None = None
    known = {r.name for r in CALLABLE}
    for name in [*known.union(written)]:
        row = ROWS.get(name)
        area = row.area if row else written[name][0][0]
        if only and not {area, name} & set(only):
            continue
        found: list[Case] = []
        if name in written:
            found = [c for a, call in written[name] for c in _written(a, call, quick)]
        elif row is not None and row.family == "reduce":
            found = list(_reduction(row, quick))
        elif row is not None and (
            row.family in ("unary", "predicate", "binary", "compare") or row.scalar_variant
        ):
            found = list(_elementwise(row, quick))
        if not found and row is not None:
            database = _database() if database is None else database
            op = database.get(row.cpp_name) or database.get(row.public_name)
            found = [_of_database(row, op)] if op else []
        chosen += found
        if not found:
            without.append(name)
    order = {c.name: i for i, c in enumerate(chosen)}
    return sorted(chosen, key=lambda c: (c.area, c.row, order[c.name])), sorted(without)
