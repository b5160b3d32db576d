"""``FlopCounterMode``: floating point operations of products, convolutions and attention, by module.

As in PyTorch, a multiplication and an addition count as two, and only operators with a formula (``flop_registry``)
count.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import wraps
from math import prod
from typing import Any, TypeVar

from .. import _C, ops
from .._C import Tensor
from ._python_dispatch import TorchDispatchMode
from ._pytree import tree_map
from .module_tracker import ModuleTracker

__all__ = ["FlopCounterMode", "register_flop_formula"]

aten = ops.aten
_SUFFIXES = ("", "K", "M", "B", "T")
Shape = Any
_Formula = TypeVar("_Formula", bound=Callable[..., int])

# By operator, a formula of the shapes of its arguments and of its results (``out_shape``).
flop_registry: dict[Any, Callable[..., int]] = {}


def get_shape(value: Any) -> Any:
    """The shape of a tensor; other values as they are."""
    return value.shape if isinstance(value, _C.Tensor) else value


def shape_wrapper(formula: Callable[..., int]) -> Callable[..., int]:
    """A formula of shapes as one of tensors."""

    @wraps(formula)
    def of_tensors(*args: Any, out_val: Any = None, **kwargs: Any) -> int:
        args, kwargs, result = tree_map(get_shape, (args, kwargs, out_val))
        return formula(*args, out_shape=result, **kwargs)

    return of_tensors


def register_flop_formula(targets: Any, get_raw: bool = False) -> Callable[[_Formula], _Formula]:
    """Makes a function the formula of one or several operators (``torch.ops.aten.mm``).

    It gets the arguments and ``out_shape``, with shapes in place of tensors; with ``get_raw``, tensors and ``out_val``.
    """

    def register(formula: _Formula) -> _Formula:
        raw = formula if get_raw else shape_wrapper(formula)
        for target in targets if isinstance(targets, (list, tuple)) else [targets]:
            if target in flop_registry:
                raise RuntimeError(f"duplicate registrations for {target}")
            flop_registry[target] = raw
        return formula

    return register


# ---- formulas ----------------------------------------------------------------------------------------


@register_flop_formula(aten.mm)
def mm_flop(a_shape: Shape, b_shape: Shape, *args: Any, out_shape: Any = None, **kwargs: Any) -> int:
    """A product of two matrices."""
    (m, k), (inner, n) = a_shape, b_shape
    if k != inner:
        raise AssertionError(f"matmul: inner dimensions must match (k == k2), got {k} and {inner}")
    return int(2 * m * n * k)


@register_flop_formula(aten.addmm)
def addmm_flop(
    self_shape: Shape, a_shape: Shape, b_shape: Shape, out_shape: Any = None, **kwargs: Any
) -> int:
    """The addition does not count."""
    return mm_flop(a_shape, b_shape)


@register_flop_formula(aten.bmm)
def bmm_flop(a_shape: Shape, b_shape: Shape, out_shape: Any = None, **kwargs: Any) -> int:
    """Products of batches."""
    return int(a_shape[0]) * mm_flop(a_shape[1:], b_shape[1:])


@register_flop_formula(aten.baddbmm)
def baddbmm_flop(
    self_shape: Shape, a_shape: Shape, b_shape: Shape, out_shape: Any = None, **kwargs: Any
) -> int:
    """The addition does not count."""
    return bmm_flop(a_shape, b_shape)


def conv_flop_count(x_shape: Shape, w_shape: Shape, out_shape: Shape, transposed: bool = False) -> int:
    """Every place of the result, or of the input where it is transposed, meets the whole filter."""
    places = prod((x_shape if transposed else out_shape)[2:])
    return int(2 * x_shape[0] * places * prod(w_shape))


@register_flop_formula([aten.convolution])
def conv_flop(
    x_shape: Shape, w_shape: Shape, _bias: Any, _stride: Any, _padding: Any, _dilation: Any, transposed: bool,
    *args: Any, out_shape: Any = None, **kwargs: Any,
) -> int:  # fmt: skip
    """A convolution, or one that is transposed."""
    return conv_flop_count(x_shape, w_shape, out_shape, transposed=transposed)


@register_flop_formula(aten.convolution_backward)
def conv_backward_flop(
    grad_out_shape: Shape, x_shape: Shape, w_shape: Shape, _bias: Any, _stride: Any, _padding: Any, _dilation: Any,
    transposed: bool, _output_padding: Any, _groups: int, output_mask: Any, out_shape: Any = None,
) -> int:  # fmt: skip
    """The gradient of the input is a convolution, transposed if the forward pass was not; that of the weight is one
    whose filter is the smaller of the two tensors that met."""
    total = 0
    if output_mask[0]:
        total += conv_flop_count(grad_out_shape, w_shape, x_shape, not transposed)
    if output_mask[1]:
        wide, small = (grad_out_shape, x_shape) if transposed else (x_shape, grad_out_shape)
        total += int(2 * wide[1] * prod(w_shape[2:]) * prod(small))
    return total


def sdpa_flop_count(query_shape: Shape, key_shape: Shape, value_shape: Shape) -> int:
    """Two batches of products."""
    batch, heads, queries, width = query_shape
    keys, value_width = key_shape[-2], value_shape[-1]
    return int(2 * batch * heads * queries * keys * (width + value_width))


def sdpa_backward_flop_count(
    grad_out_shape: Shape, query_shape: Shape, key_shape: Shape, value_shape: Shape
) -> int:
    """The scores again, and four more batches of products."""
    batch, heads, queries, width = query_shape
    keys, value_width = key_shape[-2], value_shape[-1]
    return int(2 * batch * heads * queries * keys * (3 * width + 2 * value_width))


def _lengths(bounds: Tensor, longest: int) -> list[int]:
    """Of the sequences between the bounds; the longest where only shapes are known."""
    if bounds.is_meta:
        return [longest] * (len(bounds) - 1)
    return [int(length) for length in bounds.diff().tolist()]


def _unpack_flash_attention_nested_shapes(
    *, query: Tensor, key: Tensor, value: Tensor, grad_out: Tensor | None = None, cum_seq_q: Tensor | None,
    cum_seq_k: Tensor | None, max_q: int, max_k: int,
) -> Iterator[tuple[Any, Any, Any, Any]]:  # fmt: skip
    """The shapes of attention over each of the sequences that lie one after the other, or those of the tensors."""
    if cum_seq_q is None or cum_seq_k is None:
        yield query.shape, key.shape, value.shape, None if grad_out is None else grad_out.shape
        return
    for queries, keys in zip(_lengths(cum_seq_q, max_q), _lengths(cum_seq_k, max_k), strict=True):
        asked, known, given = (
            (1, tensor.shape[1], length, tensor.shape[2])
            for tensor, length in ((query, queries), (key, keys), (value, keys))
        )
        yield asked, known, given, None if grad_out is None else asked


def _known(*names: str) -> list[Any]:
    """Those of the operators that are there."""
    return [packet for packet in (getattr(aten, name, None) for name in names) if packet is not None]


@register_flop_formula(
    _known("_scaled_dot_product_efficient_attention", "_scaled_dot_product_flash_attention")
)
def sdpa_flop(
    query_shape: Shape, key_shape: Shape, value_shape: Shape, *args: Any, out_shape: Any = None, **kwargs: Any
) -> int:
    """Attention in one operator."""
    return sdpa_flop_count(query_shape, key_shape, value_shape)


@register_flop_formula(
    _known("_scaled_dot_product_efficient_attention_backward", "_scaled_dot_product_flash_attention_backward")
)
def sdpa_backward_flop(
    grad_out_shape: Shape, query_shape: Shape, key_shape: Shape, value_shape: Shape, *args: Any,
    out_shape: Any = None, **kwargs: Any,
) -> int:  # fmt: skip
    """Its gradient."""
    return sdpa_backward_flop_count(grad_out_shape, query_shape, key_shape, value_shape)


# ---- counting ----------------------------------------------------------------------------------------


class FlopCounterMode:
    """Counts what runs inside a ``with`` block.

    with FlopCounterMode(display=False) as counter:
        model(images).sum().backward()
    print(counter.get_total_flops(), counter.get_flop_counts()["Net.encoder"])

    ``custom_mapping`` has formulas of further operators, as ``register_flop_formula`` takes them (tensors and
    ``out_val`` for a function whose ``_get_raw`` is true).
    """

    def __init__(
        self,
        mods: Any = None,
        depth: int = 2,
        display: bool = True,
        custom_mapping: dict[Any, Any] | None = None,
    ) -> None:
        self.depth = depth
        self.display = display
        self.flop_counts: dict[str, dict[Any, int]] = defaultdict(lambda: defaultdict(int))
        self.mode: _Counting | None = None
        self.mod_tracker = ModuleTracker()
        given = {
            target: formula if getattr(formula, "_get_raw", False) else shape_wrapper(formula)
            for target, formula in (custom_mapping or {}).items()
        }
        self.flop_registry = {**flop_registry, **given}

    def __enter__(self) -> FlopCounterMode:
        if self.mode is not None:
            raise RuntimeError("FlopCounterMode: entered twice; make another one for the inner block")
        self.flop_counts.clear()
        self.mod_tracker = ModuleTracker()
        self.mod_tracker.__enter__()
        self.mode = _Counting(self)
        self.mode.__enter__()
        return self

    def __exit__(self, *exception: object) -> None:
        mode, self.mode = self.mode, None
        assert mode is not None
        mode.__exit__(*exception)
        self.mod_tracker.__exit__()
        if self.display:
            print(self.get_table(self.depth))

    def get_total_flops(self) -> int:
        """All that was counted."""
        return sum(self.flop_counts["Global"].values()) if "Global" in self.flop_counts else 0

    def get_flop_counts(self) -> dict[str, dict[Any, int]]:
        """Counts by operator, for the path of each module that was called, with what it called, and for ``Global``."""
        return {module: dict(counts) for module, counts in self.flop_counts.items()}

    def _count_flops(self, func_packet: Any, out: Any, args: Any, kwargs: Any) -> Any:
        formula = self.flop_registry.get(func_packet)
        if formula is not None:
            count = formula(*args, **kwargs, out_val=out)
            for module in self.mod_tracker.parents:
                self.flop_counts[module][func_packet] += count
        return out

    def get_table(self, depth: int | None = None) -> str:
        """The counts as text; modules that lie deeper than ``depth`` are left out."""
        counts, total = self.get_flop_counts(), self.get_total_flops()
        depth = depth or self.depth or 999999
        modules = sorted(name for name in counts if name != "Global" and name.count(".") < depth)
        # What a module holds already is not shown once more.
        if total and all(sum(counts[name].values()) < total for name in modules):
            modules.insert(0, "Global")
        suffix = max(0, min(len(_SUFFIXES) - 1, (len(str(total)) - 2) // 3))

        def cells(label: str, count: int) -> tuple[str, str, str]:
            share = f"{count / total:.2%}" if total else "0%"
            return label, f"{count / 1000**suffix:.3f}{_SUFFIXES[suffix]}", share

        rows = [("Module", "FLOP", "% Total")]
        for name in modules:
            padding = "" if name == "Global" else " " * (name.count(".") + ("Global" in modules))
            rows.append(cells(padding + name, sum(counts[name].values())))
            rows += [cells(f"{padding} - {operator}", count) for operator, count in counts[name].items()]
        if len(rows) == 1:
            rows.append(("Global", "0", "0%"))
        left, middle, right = (
            max(len(header) + 2, *(len(row[column]) for row in rows)) for column, header in enumerate(rows[0])
        )
        rows.insert(1, ("-" * left, "-" * middle, "-" * right))
        return "\n".join(f"{a:<{left}}  {b:>{middle}}  {c:>{right}}".rstrip() for a, b, c in rows)


class _Counting(TorchDispatchMode):
    def __init__(self, counter: FlopCounterMode) -> None:
        super().__init__()
        self.counter = counter

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        out = func(*args, **kwargs)
        return self.counter._count_flops(getattr(func, "overloadpacket", func), out, args, kwargs)
