"""Products over chosen dimensions: einsum with a planner of its own, tensordot, chains of matrices."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
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


@lru_cache(maxsize=512)
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


def _without_repeats(x: Tensor, labels: Sequence[Label], operand: int) -> tuple[Tensor, list[Label]]:
    """Repeated labels become the diagonal of their dimensions."""
    kept: list[Label] = []
    for label in labels:
        at = len(kept)
        if label not in kept:
            kept.append(label)
            continue
        first = kept.index(label)
        if x.size(first) != x.size(at):
            _fail(
                f"subscript {label} is repeated for operand {operand} but the sizes don't match, "
                f"{x.size(at)} != {x.size(first)}"
            )
        x = _diagonal_at(x, first, at)
    return x, kept


def _diagonal_at(x: Tensor, first: int, second: int) -> Tensor:
    """The diagonal of two dimensions in the place of the first."""
    diagonal = x.diagonal(0, first, second)
    order = list(range(diagonal.dim() - 1))
    order.insert(first, diagonal.dim() - 1)
    return diagonal.permute(order)


def _drop(
    x: Tensor, labels: list[Label], dropped: set[Label], alone: bool = False
) -> tuple[Tensor, list[Label]]:
    """Summed over labels; factors of a product keep their dtype, what stands alone gets that of sums."""
    dims = [i for i, label in enumerate(labels) if label in dropped]
    if not dims:
        return x, labels
    return x.sum(dims, dtype=None if alone else x.dtype), [label for label in labels if label not in dropped]


def _squeeze(x: Tensor, labels: list[Label], label: Label) -> tuple[Tensor, list[Label]]:
    at = labels.index(label)
    return x.squeeze(at), labels[:at] + labels[at + 1 :]


def contract(
    a: Tensor, of_a: list[Label], b: Tensor, of_b: list[Label], kept: set[Label]
) -> tuple[Tensor, list[Label]]:
    """The product of two operands, summed over the labels that nothing after it needs."""
    for label in [x for x in of_a if x in of_b]:  # a size of 1 broadcasts: as if the label were not there
        if a.size(of_a.index(label)) == 1:
            a, of_a = _squeeze(a, of_a, label)
        elif b.size(of_b.index(label)) == 1:
            b, of_b = _squeeze(b, of_b, label)
    a, of_a = _drop(a, of_a, set(of_a) - set(of_b) - kept)
    b, of_b = _drop(b, of_b, set(of_b) - set(of_a) - kept)
    batch = [x for x in of_a if x in of_b and x in kept]
    inner = [x for x in of_a if x in of_b and x not in kept]
    left = [x for x in of_a if x not in of_b]
    right = [x for x in of_b if x not in of_a]
    out = [*batch, *left, *right]
    left_side = a.permute([of_a.index(x) for x in [*batch, *left, *inner]])
    if not inner:
        right_side = b.permute([of_b.index(x) for x in [*batch, *right]])
        shape = [right_side.size(i) for i in range(len(batch))] + [1] * len(left)
        shape += [right_side.size(len(batch) + i) for i in range(len(right))]
        column = list(left_side.shape) + [1] * len(right)
        return left_side.reshape(column) * right_side.reshape(shape), out
    right_side = b.permute([of_b.index(x) for x in [*batch, *inner, *right]])
    sizes = {x: a.size(i) for i, x in enumerate(of_a)} | {x: b.size(i) for i, x in enumerate(of_b)}
    rows, depth, columns = (math.prod(sizes[x] for x in group) for group in (left, inner, right))
    if batch:
        count = math.prod(sizes[x] for x in batch)
        product = _native.bmm(
            left_side.reshape(count, rows, depth), right_side.reshape(count, depth, columns)
        )
    else:
        product = _native.mm(left_side.reshape(rows, depth), right_side.reshape(depth, columns))
    return product.reshape([sizes[x] for x in out]), out


@lru_cache(maxsize=256)
def _path(
    operands: tuple[frozenset[Label], ...], sizes: tuple[tuple[Label, int], ...], output: frozenset[Label]
) -> tuple[tuple[int, int], ...]:
    """The pairs to multiply one after the other: always the two operands whose product costs least, and then leaves
    least. The product comes last among the operands that are left. Found once for an equation and sizes.
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


def einsum(*args: Any) -> Tensor:
    """Sums of products by Einstein's convention, as PyTorch's: einsum("ij,jk->ik", a, b)."""
    equation, *operands = _equation_and_operands(*args)
    plan = _parse(equation, tuple(x.dim() for x in operands))
    sizes: dict[Label, int] = {}
    labels: list[list[Label]] = []
    tensors: list[Tensor] = []
    for i, (x, own) in enumerate(zip(operands, plan.operands, strict=True)):
        tensor, kept = (x, list(own)) if len(set(own)) == len(own) else _without_repeats(x, own, i)
        for label, size in zip(kept, tensor.shape, strict=True):
            known = sizes.get(label, 1)
            if known != size and known != 1 and size != 1:
                _fail(
                    f"subscript {label} has size {size} for operand {i} which does not broadcast with "
                    f"previously seen size {known}"
                )
            sizes[label] = size if known == 1 else known
        tensors.append(tensor)
        labels.append(kept)
    output = set(plan.output)
    pairs: tuple[tuple[int, int], ...] = ((0, 1),) * (len(tensors) - 1)
    if len(tensors) > 2:
        pairs = _path(tuple(map(frozenset, labels)), tuple(sizes.items()), frozenset(output))
    for i, j in pairs:
        kept_labels = output.union(*(labels[k] for k in range(len(labels)) if k not in (i, j)))
        made, own_labels = contract(tensors[i], labels[i], tensors[j], labels[j], kept_labels)
        tensors = [x for k, x in enumerate(tensors) if k not in (i, j)] + [made]
        labels = [x for k, x in enumerate(labels) if k not in (i, j)] + [own_labels]
    result, own_labels = _drop(tensors[0], labels[0], set(labels[0]) - output, alone=True)
    missing = [x for x in plan.output if x not in own_labels]  # every operand had size 1 there
    for label in missing:
        result, own_labels = result.unsqueeze(-1), [*own_labels, label]
    return result.permute([own_labels.index(x) for x in plan.output])


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
