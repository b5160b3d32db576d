"""Which placements of arguments give which placements of results, for each family of operators.

Note [Strategies]
A rule looks at the shapes of a call and lists strategies for *one* dimension of a mesh: a placement for each tensor
argument and one for each result with which the operator can run on the local parts alone. Everything whole is always
one of them, so an operator without a rule runs on whole tensors, and nothing is ever wrong, only slower. For each
dimension of the mesh the dispatcher takes the strategy that costs the least to reach (``_dispatch.py``).
An argument that is not a tensor may depend on the placements (the sizes of ``view``): the dispatcher makes it local.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from .placement_types import NormPartial, Partial, Placement, Replicate, Shard

R = Replicate()


@dataclass(frozen=True)
class Strategy:
    """One way to run an operator on parts."""

    inputs: tuple[Placement, ...]  # of the tensor arguments, in order
    outputs: tuple[Placement, ...]  # of the results, in order


@dataclass(frozen=True)
class Call:
    """What a rule sees: shapes of the whole tensors."""

    name: str  # without the overload
    args: tuple[Any, ...]  # tensors are None
    kwargs: dict[str, Any]
    inputs: tuple[tuple[int, ...], ...]  # shapes of the tensor arguments
    outputs: tuple[tuple[int, ...], ...]  # shapes of the results
    parts: int  # the length of the mesh's dimension
    pointwise: bool = False  # whether it works element by element (torch.Tag.pointwise)

    def arg(self, position: int, name: str, default: Any = None) -> Any:
        """An argument that is no tensor."""
        if position < len(self.args):
            return self.args[position]
        return self.kwargs.get(name, default)

    def same(self, placement: Placement, out: Placement | None = None) -> Strategy:
        """All arguments in one placement."""
        return Strategy((placement,) * len(self.inputs), ((out or placement),) * len(self.outputs))


Rule = Callable[[Call], list[Strategy]]
RULES: dict[str, Rule] = {}


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Registers a rule for operators."""

    def add(function: Rule) -> Rule:
        for name in names:
            RULES[name] = function
        return function

    return add


def strategies(call: Call) -> list[Strategy]:
    """All that are known, the whole ones first."""
    found = RULES.get(call.name) or (_pointwise if call.pointwise else None)
    return [call.same(R), *(found(call) if found else [])]


# Element by element. Where sizes broadcast, an argument is cut only along what it has.

# What only copies, or makes a tensor of the shape of its argument; all else is what its row is tagged as.
_LIKE_POINTWISE = """
_to_copy alias bernoulli contiguous copy detach empty_like exponential fill full_like lift_fresh log_sigmoid_forward
normal ones_like rand_like randint_like randn_like real uniform zero zeros_like
"""
_LINEAR = {
    "add",
    "sub",
    "neg",
    "_to_copy",
    "clone",
    "detach",
    "alias",
    "to",
    "contiguous",
    "positive",
    "lift_fresh",
}
_LINEAR_IN_FIRST = {"mul", "div"}


@rule(*_LIKE_POINTWISE.split())
def _pointwise(call: Call) -> list[Strategy]:
    out = call.outputs[0] if call.outputs else call.inputs[0]
    found = []
    for dim, size in enumerate(out):
        if size < 2:
            continue
        placed = []
        for shape in call.inputs:
            at = dim - (len(out) - len(shape))
            placed.append(Shard(at) if at >= 0 and shape[at] == size else R)
        found.append(Strategy(tuple(placed), (Shard(dim),) * len(call.outputs)))
    partial = Partial()
    if call.name in _LINEAR and not any(isinstance(each, (int, float)) and each for each in call.args[1:2]):
        found.append(call.same(partial))
    if call.name in _LINEAR_IN_FIRST:
        found.append(Strategy((partial, *(R,) * (len(call.inputs) - 1)), (partial,)))
        if call.name == "mul" and len(call.inputs) == 2:
            found.append(Strategy((R, partial), (partial,)))
    return found


# Products, by the letters of einsum: a dimension that both have and the result has not leaves partial sums.


def _product(call: Call, letters: str, extra: Sequence[str] = ()) -> list[Strategy]:
    given, out = letters.split("->")
    terms = [*extra, *given.split(",")]
    found = []
    for letter in sorted(set(given) - {","}):
        placed: list[Placement] = [Shard(term.index(letter)) if letter in term else R for term in terms]
        if letter in out:
            found.append(Strategy(tuple(placed), (Shard(out.index(letter)),)))
        else:  # what is added is a term of the sum
            added = (Partial(),) * len(extra)
            found.append(Strategy((*added, *placed[len(extra) :]), (Partial(),)))
    if not extra:
        found += [Strategy((Partial(), R), (Partial(),)), Strategy((R, Partial()), (Partial(),))]
    return found


@rule("mm")
def _mm(call: Call) -> list[Strategy]:
    return _product(call, "mk,kn->mn")


@rule("bmm")
def _bmm(call: Call) -> list[Strategy]:
    return _product(call, "bmk,bkn->bmn")


@rule("addmm")
def _addmm(call: Call) -> list[Strategy]:
    added = "mn"[2 - len(call.inputs[0]) :]
    found = _product(call, "mk,kn->mn", [added])
    # An added row that is one element long along a dimension is whole there.
    return [_unbroadcast(each, call, 0) for each in found]


@rule("baddbmm")
def _baddbmm(call: Call) -> list[Strategy]:
    added = "bmn"[3 - len(call.inputs[0]) :]
    return [_unbroadcast(each, call, 0) for each in _product(call, "bmk,bkn->bmn", [added])]


@rule("mv")
def _mv(call: Call) -> list[Strategy]:
    return _product(call, "mk,k->m")


@rule("dot", "vdot")
def _dot(call: Call) -> list[Strategy]:
    return [Strategy((Shard(0), Shard(0)), (Partial(),))]


def _unbroadcast(strategy: Strategy, call: Call, at: int) -> Strategy:
    placement = strategy.inputs[at]
    if isinstance(placement, Shard) and call.inputs[at][placement.dim] == 1:
        placed = list(strategy.inputs)
        placed[at] = R
        return Strategy(tuple(placed), strategy.outputs)
    return strategy


# Reductions.


def _dims(value: Any, ndim: int) -> set[int]:
    if value is None or value == []:
        return set(range(ndim))
    return {each % ndim for each in ([value] if isinstance(value, int) else value)} if ndim else set()


def _reduction(call: Call, dims: set[int], keep: bool, partial: Partial | None) -> list[Strategy]:
    found, ndim = [], len(call.inputs[0])
    for dim in range(ndim):
        if dim in dims:
            if partial is not None and _reduces_in_parts(partial, call.inputs[0][dim], call.parts):
                found.append(Strategy((Shard(dim),), (partial,)))
        else:
            out = dim if keep else dim - sum(each < dim for each in dims)
            found.append(Strategy((Shard(dim),), (Shard(out),) * len(call.outputs)))
    if partial is not None and partial.reduce_op in ("sum", "avg") and call.name in ("sum", "mean"):
        found.append(Strategy((Partial(),), (Partial(),)))
    return found


def _reduces_in_parts(partial: Partial, size: int, parts: int) -> bool:
    """A mean wants parts of one length, and an empty part has no largest element."""
    if partial.reduce_op == "avg":
        return size % parts == 0
    return partial.reduce_op in ("sum", "product") or -(-size // parts) * (parts - 1) < size


_REDUCED = {
    "sum": "sum",
    "mean": "avg",
    "amax": "max",
    "amin": "min",
    "max": "max",
    "min": "min",
    "prod": "product",
}


@rule("sum", "mean", "amax", "amin")
def _reduce(call: Call) -> list[Strategy]:
    dims = _dims(call.arg(1, "dim"), len(call.inputs[0]))
    return _reduction(call, dims, bool(call.arg(2, "keepdim", False)), Partial(_REDUCED[call.name]))


@rule("max", "min", "prod")
def _reduce_whole_or_one(call: Call) -> list[Strategy]:
    if len(call.inputs) > 1:
        return _pointwise(call)
    if call.arg(1, "dim") is None:
        return _reduction(call, set(range(len(call.inputs[0]))), False, Partial(_REDUCED[call.name]))
    return _along_others(call)


@rule("var", "std", "var_mean", "any", "all", "logsumexp", "argmax", "argmin")
def _along_others(call: Call) -> list[Strategy]:
    dims = _dims(call.arg(1, "dim"), len(call.inputs[0]))
    keep = bool(
        call.kwargs.get(
            "keepdim", call.args[2] if len(call.args) > 2 and isinstance(call.args[2], bool) else False
        )
    )
    return _reduction(call, dims, keep, None)


@rule("linalg_vector_norm")
def _norm(call: Call) -> list[Strategy]:
    dims = _dims(call.arg(2, "dim"), len(call.inputs[0]))
    return _reduction(
        call, dims, bool(call.arg(3, "keepdim", False)), NormPartial(order=float(call.arg(1, "ord", 2)))
    )


# What works along one dimension leaves the others alone.


def _except(call: Call, dims: set[int]) -> list[Strategy]:
    ndim = len(call.inputs[0])
    return [call.same(Shard(dim)) for dim in range(ndim) if dim not in dims]


@rule(
    "_softmax",
    "_log_softmax",
    "softmax",
    "log_softmax",
    "cumsum",
    "cumprod",
    "sort",
    "topk",
    "flip",
    "logcumsumexp",
)
def _along(call: Call) -> list[Strategy]:
    position = 2 if call.name == "topk" else 1
    default = -1 if call.name in ("sort", "topk") else None
    dim = call.arg(position, "dim" if call.name != "flip" else "dims", default)
    return _except(call, _dims(dim, len(call.inputs[0])))


@rule("_softmax_backward_data", "_log_softmax_backward_data")
def _softmax_backward(call: Call) -> list[Strategy]:
    return _except(call, _dims(call.arg(2, "dim"), len(call.inputs[0])))


@rule("native_layer_norm", "_fused_rms_norm")
def _layer_norm(call: Call) -> list[Strategy]:
    lead = len(call.inputs[0]) - len(call.arg(1, "normalized_shape"))
    rest = (R,) * (len(call.inputs) - 1)
    return [Strategy((Shard(dim), *rest), (Shard(dim),) * len(call.outputs)) for dim in range(lead)]


@rule("native_layer_norm_backward")
def _layer_norm_backward(call: Call) -> list[Strategy]:
    lead = len(call.inputs[0]) - len(call.arg(2, "normalized_shape"))
    parameters = (R,) * (len(call.inputs) - 4)
    sums = (Partial(),) * (len(call.outputs) - 1)
    return [Strategy((*(Shard(dim),) * 4, *parameters), (Shard(dim), *sums)) for dim in range(lead)]


@rule("native_dropout")
def _dropout(call: Call) -> list[Strategy]:
    return _except(call, set())


# Attention: heads and batches are apart.


@rule(
    "_scaled_dot_product_flash_attention_for_cpu",
    "_scaled_dot_product_flash_attention_for_cpu_backward",
    "_scaled_dot_product_fused_attention_overrideable",
    "scaled_dot_product_attention",
    "_scaled_dot_product_attention_math",
)
def _attention(call: Call) -> list[Strategy]:
    found = []
    for dim in (0, 1):
        first = call.inputs[0][dim]
        if all(len(shape) > dim and shape[dim] in (1, first) for shape in call.inputs) and first > 1:
            placed = tuple(Shard(dim) if shape[dim] == first else R for shape in call.inputs)
            outs = tuple(
                Shard(dim) if len(shape) > dim and shape[dim] == first else R for shape in call.outputs
            )
            found.append(Strategy(placed, outs))
    return found


# Tables of rows.


@rule("embedding")
def _embedding(call: Call) -> list[Strategy]:
    out = len(call.outputs[0])
    # Rows that a process has not are zero: the dispatcher masks them.
    found = [Strategy((Shard(1), R), (Shard(out - 1),)), Strategy((Shard(0), R), (Partial(),))]
    return found + [Strategy((R, Shard(dim)), (Shard(dim),)) for dim in range(len(call.inputs[1]))]


@rule("embedding_dense_backward")
def _embedding_backward(call: Call) -> list[Strategy]:
    last = len(call.inputs[0]) - 1
    found = [Strategy((Shard(last), R), (Shard(1),))]
    return found + [Strategy((Shard(dim), Shard(dim)), (Partial(),)) for dim in range(last)]


@rule("index_select", "gather")
def _taken(call: Call) -> list[Strategy]:
    dim = _dims(call.arg(1, "dim"), len(call.inputs[0]))
    others = [each for each in range(len(call.inputs[0])) if each not in dim]
    if call.name == "index_select":
        return [Strategy((Shard(each), R), (Shard(each),)) for each in others]
    return [call.same(Shard(each)) for each in others if call.inputs[0][each] == call.inputs[1][each]]


@rule("nll_loss_forward")
def _nll(call: Call) -> list[Strategy]:
    if len(call.inputs) > 2 or len(call.inputs[0]) != 2 or call.arg(3, "reduction", 1) != 2:
        return []
    return [Strategy((Shard(0), Shard(0)), (Partial(), Partial()))]


# Views: dimensions keep their order, are joined, or are cut.


def _moved(call: Call, order: Sequence[int]) -> list[Strategy]:
    found = [Strategy((Shard(source),), (Shard(dim),)) for dim, source in enumerate(order)]
    return [*found, Strategy((Partial(),), (Partial(),))]


@rule("t")
def _t(call: Call) -> list[Strategy]:
    return _moved(call, list(reversed(range(len(call.inputs[0])))))


@rule("transpose")
def _transpose(call: Call) -> list[Strategy]:
    ndim = len(call.inputs[0])
    order = list(range(ndim))
    a, b = call.args[1] % ndim, call.args[2] % ndim
    order[a], order[b] = order[b], order[a]
    return _moved(call, order)


@rule("permute")
def _permute(call: Call) -> list[Strategy]:
    ndim = len(call.inputs[0])
    return _moved(call, [each % ndim for each in call.args[1]])


@rule("unsqueeze")
def _unsqueeze(call: Call) -> list[Strategy]:
    at = call.args[1] % (len(call.inputs[0]) + 1)
    found = [Strategy((Shard(dim),), (Shard(dim + (dim >= at)),)) for dim in range(len(call.inputs[0]))]
    return [*found, Strategy((Partial(),), (Partial(),))]


@rule("squeeze")
def _squeeze(call: Call) -> list[Strategy]:
    shape = call.inputs[0]
    dims = _dims(call.arg(1, "dim"), len(shape))
    gone = {dim for dim in dims if shape[dim] == 1}
    kept = [dim for dim in range(len(shape)) if dim not in gone]
    found = [Strategy((Shard(dim),), (Shard(at),)) for at, dim in enumerate(kept)]
    return [*found, Strategy((Partial(),), (Partial(),))]


@rule("expand")
def _expand(call: Call) -> list[Strategy]:
    before, after = call.inputs[0], call.outputs[0]
    lead = len(after) - len(before)
    same = [dim for dim in range(len(before)) if before[dim] == after[dim + lead]]
    return [
        *(Strategy((Shard(dim),), (Shard(dim + lead),)) for dim in same),
        Strategy((Partial(),), (Partial(),)),
    ]


@rule("view", "_unsafe_view", "reshape")
def _view(call: Call) -> list[Strategy]:
    before, after = call.inputs[0], call.outputs[0]
    found = [Strategy((Partial(),), (Partial(),))]
    for source, target in same_runs(before, after):
        if before[source] % call.parts == 0 and after[target] % call.parts == 0:
            found.append(Strategy((Shard(source),), (Shard(target),)))
    return found


def same_runs(before: Sequence[int], after: Sequence[int]) -> list[tuple[int, int]]:
    """The first dimensions of the runs that a view joins or cuts: a part along one is a part along the other."""
    found: list[tuple[int, int]] = []
    i = j = 0
    while i < len(before) and j < len(after):
        first = (i, j)
        a, b = before[i], after[j]
        i, j = i + 1, j + 1
        while a != b:
            if a < b:
                if i >= len(before):
                    return found
                a, i = a * before[i], i + 1
            else:
                if j >= len(after):
                    return found
                b, j = b * after[j], j + 1
        source, target = first
        while source < i - 1 and before[source] == 1:
            source += 1
        while target < j - 1 and after[target] == 1:
            target += 1
        found.append((source, target))
    return found


@rule("select")
def _select(call: Call) -> list[Strategy]:
    ndim = len(call.inputs[0])
    at = call.args[1] % ndim
    return [Strategy((Shard(dim),), (Shard(dim - (dim > at)),)) for dim in range(ndim) if dim != at]


@rule("slice", "narrow")
def _slice(call: Call) -> list[Strategy]:
    ndim = len(call.inputs[0])
    at = (call.arg(1, "dim", 0) or 0) % ndim
    whole = call.inputs[0][at] == call.outputs[0][at]
    found = [call.same(Shard(dim)) for dim in range(ndim) if dim != at or whole]
    return [*found, call.same(Partial())]


@rule("split", "split_with_sizes", "chunk", "unbind")
def _split(call: Call) -> list[Strategy]:
    ndim = len(call.inputs[0])
    at = (call.arg(1 if call.name == "unbind" else 2, "dim", 0) or 0) % ndim
    drop = call.name == "unbind"
    found = []
    for dim in range(ndim):
        if dim != at:
            out = Shard(dim - (drop and dim > at))
            found.append(Strategy((Shard(dim),), (out,) * len(call.outputs)))
    return [*found, call.same(Partial())]


@rule("cat", "stack")
def _cat(call: Call) -> list[Strategy]:
    ndim = len(call.inputs[0])
    new = call.name == "stack"
    at = (call.arg(1, "dim", 0) or 0) % (ndim + new)
    found = []
    for dim in range(ndim):
        if new or dim != at:
            found.append(call.same(Shard(dim), Shard(dim + (new and dim >= at))))
    return [*found, call.same(Partial())]


@rule("slice_backward", "select_backward")
def _put_back(call: Call) -> list[Strategy]:
    at = call.args[2] % len(call.outputs[0])
    found = []
    for dim in range(len(call.outputs[0])):
        if dim != at:
            source = dim - (call.name == "select_backward" and dim > at)
            found.append(Strategy((Shard(source),), (Shard(dim),)))
    return [*found, call.same(Partial())]


@rule("new_zeros", "new_ones", "new_empty", "new_full", "new_empty_strided")
def _new(call: Call) -> list[Strategy]:
    """Only the dtype and the device of the tensor matter; a result of its shape is cut as it is."""
    like = call.inputs[0] == call.outputs[0]
    dims = range(len(call.inputs[0]))
    found = [Strategy((Shard(dim),), (Shard(dim) if like else R,)) for dim in dims]
    return [*found, Strategy((Partial(),), (R,))]


def size_of(shape: Sequence[int]) -> int:
    """How many elements."""
    return math.prod(shape)
