"""Products over chosen dimensions: einsum with a planner of its own, tensordot, chains of matrices."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from .._C import Tensor
from .._C import _functions as _native
from .._C import _linalg as _native_linalg

Label = str | int  # a letter, or the number of a dimension that `...` stands for, counted from the left


class _Plan(NamedTuple):
    operands: tuple[tuple[Label, ...], ...]
    output: tuple[Label, ...]


def _fail(text: str) -> None:
    raise RuntimeError(f"einsum(): {text}")


def _scan(text: str, place: str, start: int) -> list[str]:
    """Letters and "..." of one operand or of the output; `start` is where it begins in the equation."""
    found: list[str] = []
    i = 0
    while i < len(text):
        ch = text[i]
        if ch == ".":
            if text[i : i + 3] != "..." or "..." in found:
                _fail(f"found '.' for {place} that is not part of any ellipsis")
            found.append("...")
            i += 3
            continue
        if ch != " ":
            if not (ch.isascii() and ch.isalpha()):
                _fail(
                    f"invalid subscript given at index {start + i} in the equation string, subscripts must "
                    "be in [a-zA-Z]"
                )
            found.append(ch)
        i += 1
    return found


def _parse(equation: str, ndims: tuple[int, ...]) -> _Plan:
    left, arrow, right = equation.partition("->")
    pieces, start, parts = left.split(","), 0, []
    for i, piece in enumerate(pieces):
        parts.append(_scan(piece, f"operand {i}", start))
        start += len(piece) + 1
    if len(parts) > len(ndims):
        _fail("fewer operands were provided than specified in the equation")
    if len(parts) < len(ndims):
        _fail("more operands were provided than specified in the equation")
    hidden = []  # dimensions under each operand's ellipsis
    for i, (part, ndim) in enumerate(zip(parts, ndims, strict=True)):
        letters = len(part) - ("..." in part)
        if letters > ndim or (letters < ndim and "..." not in part):
            more = " even after taking into account the ellipsis" if "..." in part else ""
            told = "" if "..." in part else " and no ellipsis was given"
            _fail(
                f"the number of subscripts in the equation ({letters}) "
                f"{'is more than' if '...' in part else 'does not match'} the number of dimensions ({ndim}) "
                f"for operand {i}{more}{told}"
            )
        hidden.append(ndim - letters)
    most = max(hidden, default=0)
    ellipsis: list[Label] = list(range(most))
    operands = tuple(
        tuple(x for label in part for x in (ellipsis[most - count :] if label == "..." else [label]))
        for part, count in zip(parts, hidden, strict=True)
    )
    seen = [label for labels in operands for label in labels if isinstance(label, str)]
    if not arrow:
        return _Plan(operands, (*ellipsis, *sorted(x for x in set(seen) if seen.count(x) == 1)))
    output: list[Label] = []
    for label in _scan(right, "the output", len(left) + 2):
        if label == "...":
            output += ellipsis
            continue
        if label in output:
            _fail(f"output subscript {label} appears more than once in the output")
        if label not in seen:
            _fail(f"output subscript {label} does not appear in the equation for any input operand")
        output.append(label)
    return _Plan(operands, tuple(output))


def _diagonal_at(x: Tensor, first: int, second: int) -> Tensor:
    """The diagonal of two dimensions in the place of the first."""
    diagonal = x.diagonal(0, first, second)
    order = list(range(diagonal.dim() - 1))
    order.insert(first, diagonal.dim() - 1)
    return diagonal.permute(order)


class _Side(NamedTuple):
    """What becomes of an operand before the product; None where nothing does."""

    squeezed: tuple[int, ...] | None  # a size of 1 broadcasts: as if the label were not there
    summed: tuple[int, ...] | None  # over labels that it alone has; factors of a product keep their dtype
    order: tuple[int, ...] | None
    shape: tuple[int, ...] | None

    def __call__(self, x: Tensor) -> Tensor:
        if self.squeezed is not None:
            x = x.squeeze(self.squeezed)
        if self.summed is not None:
            x = x.sum(self.summed, dtype=x.dtype)
        if self.order is not None:
            x = x.permute(self.order)
        return x if self.shape is None else x.reshape(self.shape)


class Contraction(NamedTuple):
    """How two operands are multiplied and summed, and the labels and sizes of what comes of it."""

    left: _Side
    right: _Side
    multiply: Callable[[Tensor, Tensor], Tensor]
    shape: tuple[int, ...] | None
    labels: tuple[Label, ...]
    sizes: tuple[int, ...]

    def __call__(self, a: Tensor, b: Tensor) -> Tensor:
        product = self.multiply(self.left(a), self.right(b))
        return product if self.shape is None else product.reshape(self.shape)


def _side(
    labels: Sequence[Label],
    sizes: Sequence[int],
    single: set[Label],
    summed: set[Label],
    order: Sequence[Label],
) -> tuple[_Side, tuple[int, ...]]:
    """An operand turned to that order of labels, and the sizes that it has then."""

    def places(chosen: set[Label], of: Sequence[Label]) -> tuple[int, ...] | None:
        return tuple(i for i, label in enumerate(of) if label in chosen) or None

    left = [label for label in labels if label not in single]
    kept = [label for label in left if label not in summed]
    turned = tuple(kept.index(label) for label in order)
    length = dict(zip(labels, sizes, strict=True))
    side = _Side(
        places(single, labels),
        places(summed, left),
        None if turned == tuple(range(len(kept))) else turned,
        None,
    )
    return side, tuple(length[label] for label in order)


@lru_cache(maxsize=1024)
def contraction(
    of_a: tuple[Label, ...],
    sizes_a: tuple[int, ...],
    of_b: tuple[Label, ...],
    sizes_b: tuple[int, ...],
    kept: frozenset[Label],
) -> Contraction:
    """The product of two operands, summed over the labels that nothing after it needs."""
    length_a, length_b = dict(zip(of_a, sizes_a, strict=True)), dict(zip(of_b, sizes_b, strict=True))
    shared = [x for x in of_a if x in length_b]
    single_a = {x for x in shared if length_a[x] == 1}
    single_b = {x for x in shared if length_b[x] == 1 and x not in single_a}
    length_a = {x: size for x, size in length_a.items() if x not in single_a}
    length_b = {x: size for x, size in length_b.items() if x not in single_b}
    summed_a = set(length_a) - set(length_b) - kept
    summed_b = set(length_b) - set(length_a) - kept
    batch = [x for x in length_a if x in length_b and x in kept]
    inner = [x for x in length_a if x in length_b and x not in kept]
    left = [x for x in length_a if x not in length_b and x not in summed_a]
    right = [x for x in length_b if x not in length_a and x not in summed_b]
    sizes = length_b | length_a
    out = (*batch, *left, *right)
    of_out = tuple(sizes[x] for x in out)
    a, shape_a = _side(of_a, sizes_a, single_a, summed_a, [*batch, *left, *inner])
    b, shape_b = _side(of_b, sizes_b, single_b, summed_b, [*batch, *inner, *right])
    count, rows, depth, columns = (
        math.prod(sizes[x] for x in group) for group in (batch, left, inner, right)
    )
    multiply: Callable[[Tensor, Tensor], Tensor]
    made: tuple[int, ...]
    if not inner:
        multiply, made = _native.mul, of_out
        wanted_a = (*shape_a, *[1] * len(right))
        wanted_b = (*shape_b[: len(batch)], *[1] * len(left), *shape_b[len(batch) :])
    elif batch:
        multiply, made = _native.bmm, (count, rows, columns)
        wanted_a, wanted_b = (count, rows, depth), (count, depth, columns)
    else:
        multiply, made = _native.mm, (rows, columns)
        wanted_a, wanted_b = (rows, depth), (depth, columns)
    return Contraction(
        a if wanted_a == shape_a else a._replace(shape=wanted_a),
        b if wanted_b == shape_b else b._replace(shape=wanted_b),
        multiply,
        None if made == of_out else of_out,
        out,
        of_out,
    )


def _path(
    operands: tuple[frozenset[Label], ...], sizes: tuple[tuple[Label, int], ...], output: frozenset[Label]
) -> tuple[tuple[int, int], ...]:
    """The pairs to multiply one after the other: always the two operands whose product costs least, and then leaves
    least. The product comes last among the operands that are left.
    """
    length = dict(sizes)
    left = list(operands)
    users = Counter(label for labels in left for label in labels)  # the output counts for one
    users.update(output)

    def remains(i: int, j: int) -> frozenset[Label]:
        return frozenset(x for x in left[i] | left[j] if users[x] > (x in left[i]) + (x in left[j]))

    def price(pair: tuple[int, int]) -> tuple[int, int]:
        i, j = pair
        cost = math.prod(length[x] for x in left[i] | left[j])
        return cost, math.prod(length[x] for x in remains(i, j))

    path = []
    while len(left) > 1:
        i, j = min(itertools.combinations(range(len(left)), 2), key=price)
        path.append((i, j))
        made = remains(i, j)
        for k in (j, i):
            users.subtract(left.pop(k))
        users.update(made)
        left.append(made)
    return tuple(path)


def _equation_and_operands(*args: Any) -> tuple[Any, ...]:
    """What einsum is called with, as an equation followed by operands; einsum(a, [0, 1], b, [1, 2], [0, 2]) as well."""
    if len(args) < 2:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one operand "
            "and its subscripts list"
        )
    if isinstance(args[0], str):
        operands = args[1:]
        return args[0], *(
            operands[0] if len(operands) == 1 and isinstance(operands[0], (list, tuple)) else operands
        )

    def letters(sublist: Sequence[Any]) -> str:
        text = ""
        for n in sublist:
            if n is Ellipsis:
                text += "..."
            elif 0 <= n < 52:
                text += chr(ord("A") + n) if n < 26 else chr(ord("a") + n - 26)
            else:
                raise ValueError(
                    "einsum(): subscript in subscript list is not within the valid range [0, 52)"
                )
        return text

    equation = ",".join(letters(sublist) for sublist in args[1::2])
    if len(args) % 2 == 1:
        equation += "->" + letters(args[-1])
        return equation, *args[:-1:2]
    return equation, *args[::2]


class _Program(NamedTuple):
    """An equation for operands of given sizes, as what is called one after the other."""

    diagonals: tuple[tuple[int, int, int], ...]  # of an operand, two dimensions with one label
    products: tuple[tuple[int, int, Contraction], ...]
    summed: tuple[int, ...] | None
    added: int  # dimensions that every operand had with size 1
    order: tuple[int, ...] | None


def _without_repeats(
    operand: int, labels: tuple[Label, ...], shape: tuple[int, ...]
) -> tuple[list[tuple[int, int, int]], tuple[Label, ...], tuple[int, ...]]:
    """Repeated labels become the diagonal of their dimensions."""
    kept: list[Label] = []
    sizes: list[int] = []
    diagonals = []
    for label, size in zip(labels, shape, strict=True):
        if label not in kept:
            kept.append(label)
            sizes.append(size)
            continue
        first = kept.index(label)
        if sizes[first] != size:
            _fail(
                f"subscript {label} is repeated for operand {operand} but the sizes don't match, "
                f"{size} != {sizes[first]}"
            )
        diagonals.append((operand, first, len(kept)))
    return diagonals, tuple(kept), tuple(sizes)


@lru_cache(maxsize=1024)
def _program(equation: str, shapes: tuple[tuple[int, ...], ...]) -> _Program:
    plan = _parse(equation, tuple(map(len, shapes)))
    known: dict[Label, int] = {}
    diagonals: list[tuple[int, int, int]] = []
    left: list[tuple[tuple[Label, ...], tuple[int, ...]]] = []
    for i, (own, shape) in enumerate(zip(plan.operands, shapes, strict=True)):
        repeated, labels, sizes = _without_repeats(i, own, shape)
        for label, size in zip(labels, sizes, strict=True):
            seen = known.get(label, 1)
            if seen != size and seen != 1 and size != 1:
                _fail(
                    f"subscript {label} has size {size} for operand {i} which does not broadcast with "
                    f"previously seen size {seen}"
                )
            known[label] = size if seen == 1 else seen
        diagonals += repeated
        left.append((labels, sizes))
    output = frozenset(plan.output)
    pairs: tuple[tuple[int, int], ...] = ((0, 1),) * (len(left) - 1)
    if len(left) > 2:
        pairs = _path(tuple(frozenset(labels) for labels, _ in left), tuple(known.items()), output)
    products = []
    for i, j in pairs:
        others = [each for k, each in enumerate(left) if k not in (i, j)]
        step = contraction(*left[i], *left[j], output.union(*(labels for labels, _ in others)))
        products.append((i, j, step))
        left = [*others, (step.labels, step.sizes)]
    labels = left[0][0]
    kept = [x for x in labels if x in output]
    missing = [x for x in plan.output if x not in kept]
    order = tuple([*kept, *missing].index(x) for x in plan.output)
    return _Program(
        tuple(diagonals),
        tuple(products),
        tuple(i for i, x in enumerate(labels) if x not in output) or None,
        len(missing),
        None if products and order == tuple(range(len(order))) else order,  # the operand itself is no result
    )


def einsum(*args: Any) -> Tensor:
    """Sums of products by Einstein's convention, as PyTorch's: einsum("ij,jk->ik", a, b)."""
    equation, *tensors = _equation_and_operands(*args)
    program = _program(equation, tuple(x.shape for x in tensors))
    for operand, first, second in program.diagonals:
        tensors[operand] = _diagonal_at(tensors[operand], first, second)
    for i, j, contract in program.products:
        made = contract(tensors[i], tensors[j])
        tensors = [*(x for k, x in enumerate(tensors) if k not in (i, j)), made]
    result: Tensor = tensors[0]
    if program.summed is not None:
        result = result.sum(program.summed)
    for _ in range(program.added):
        result = result.unsqueeze(-1)
    return result if program.order is None else result.permute(program.order)


einsum.__given__ = _equation_and_operands  # type: ignore[attr-defined] # Note [As they are given] in overrides.py


def tensordot(a: Tensor, b: Tensor, dims: Any = 2, out: Tensor | None = None) -> Tensor:
    """The product of two tensors, summed over `dims`: a number of them, or one list for each."""
    if isinstance(dims, Tensor):
        dims = dims.tolist() if dims.numel() > 1 else int(dims.item())
    if isinstance(dims, (list, tuple)):
        if len(dims) == 2 and all(isinstance(d, (list, tuple)) for d in dims):
            of_a, of_b = list(dims[0]), list(dims[1])
        else:
            of_a, of_b = [dims[0]], [dims[1]]
    else:
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a.dim(), b.dim()):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        of_a, of_b = list(range(-dims, 0)), list(range(dims))
    if out is not None:
        return _native.tensordot(a, b, of_a, of_b, out=out)
    return _native.tensordot(a, b, of_a, of_b)


def chain_matmul(*matrices: Tensor, out: Tensor | None = None) -> Tensor:
    """The product of matrices in the cheapest order; torch.linalg.multi_dot is the newer name."""
    if len(matrices) == 1:
        return matrices[0]
    if out is not None:
        return _native_linalg.multi_dot(list(matrices), out=out)
    return _native_linalg.multi_dot(list(matrices))
