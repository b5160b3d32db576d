"""Floating point operations of products, convolutions and attention, from the recorded arguments.

A multiplication and an addition count as two. As in PyTorch, an elementwise ``add`` or ``mul`` counts one per element.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from ._arguments import Argument, shape_of, value_of

_Shapes = list[list[int]]


def _matrix(first: int, second: int) -> Callable[[_Shapes, Sequence[Any]], int]:
    """A product of two of the arguments: vectors, matrices or batches of matrices."""

    def count(shapes: _Shapes, values: Sequence[Any]) -> int:
        left, right = shapes[first], shapes[second]
        columns = right[-1] if len(right) > 1 else 1
        return 2 * prod(left) * columns

    return count


def _elements(shapes: _Shapes, values: Sequence[Any]) -> int:
    return prod(shapes[0])


def _convolution(shapes: _Shapes, values: Sequence[Any]) -> int:
    (batch, _, *sizes), (outputs, inputs, *kernel) = shapes[0], shapes[1]
    result: list[int] = [
        (size + 2 * padding - dilation * (width - 1) - 1) // stride + 1
        for size, width, stride, padding, dilation in zip(
            sizes, kernel, values[3], values[4], values[5], strict=True
        )
    ]
    return 2 * batch * outputs * prod(result) * inputs * prod(kernel)


def _transposed_convolution(shapes: _Shapes, values: Sequence[Any]) -> int:
    _, outputs, *kernel = shapes[1]
    return 2 * prod(shapes[0]) * outputs * prod(kernel)


def _convolution_weight(shapes: _Shapes, values: Sequence[Any]) -> int:
    inputs: int = shapes[0][1] // values[-1]
    kernel: list[int] = values[2]
    return 2 * prod(shapes[1]) * inputs * prod(kernel)


def _attention(query: int, products: int) -> Callable[[_Shapes, Sequence[Any]], int]:
    """Some number of products of (queries, features) with (features, keys)."""

    def count(shapes: _Shapes, values: Sequence[Any]) -> int:
        keys = shapes[query + 1][-2]
        return 2 * products * prod(shapes[query]) * keys

    return count


_FORMULAS: dict[str, Callable[[_Shapes, Sequence[Any]], int]] = {
    "aten::mm": _matrix(0, 1),
    "aten::bmm": _matrix(0, 1),
    "aten::mv": _matrix(0, 1),
    "aten::dot": _matrix(0, 1),
    "aten::addmm": _matrix(1, 2),
    "aten::addmv": _matrix(1, 2),
    "aten::baddbmm": _matrix(1, 2),
    "aten::add": _elements,
    "aten::mul": _elements,
    "aten::_convolve": _convolution,
    "aten::_convolve_transposed": _transposed_convolution,
    "aten::_convolve_weight": _convolution_weight,
    "aten::_scaled_dot_product_flash_attention_for_cpu": _attention(0, 2),
    "aten::_scaled_dot_product_flash_attention_for_cpu_backward": _attention(1, 5),
}
# What people call, in which the kernel's count is shown.
SHOWN_IN = {
    "aten::_convolve": "aten::conv",
    "aten::_convolve_transposed": "aten::conv_transpose",
}


def flops_of(name: str, arguments: Sequence[Argument] | None) -> int:
    """0 for operators that are not counted."""
    formula = _FORMULAS.get(name)
    if formula is None or arguments is None:
        return 0
    return formula([shape_of(given) for given in arguments], [value_of(given) for given in arguments])
