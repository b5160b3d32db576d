"""Sets, histograms and searching, on top of sorting and indexing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import mindtorch_v2 as torch
from mindtorch_v2 import Tensor
from mindtorch_v2._C import _functions as _native
from mindtorch_v2._devices import registry

Unique = Tensor | tuple[Tensor, ...]

# ---- searching ---------------------------------------------------------------------------------------


def _search(
    boundaries: Tensor, values: Tensor, sorter: Tensor | None, right: bool, out_int32: bool
) -> Tensor:
    if out_int32 and boundaries.shape[-1] > torch.iinfo(torch.int32).max:
        raise RuntimeError(
            "torch.searchsorted(): the size of boundaries' last dimension should be less than "
            f"{torch.iinfo(torch.int32).max}, but we got {boundaries.shape[-1]}"
        )
    dtype = torch.result_type(boundaries, values)
    order = None if sorter is None else sorter.contiguous()
    return _native._search_sorted(
        boundaries.to(dtype).contiguous(), values.to(dtype).contiguous(), order, right, out_int32
    )


def _as_value(value: Tensor | float, like: Tensor) -> Tensor:
    """A number as a 0-dim tensor of the dtype it meets `like` in."""
    if isinstance(value, Tensor):
        return value
    return torch.tensor(value, dtype=torch.result_type(like, value), device=like.device)


def searchsorted(
    sorted_sequence: Tensor,
    self: Tensor | float,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
) -> Tensor:
    """Where each value belongs in the sorted sequences along the last dimension."""
    value = _as_value(self, sorted_sequence)
    if side not in (None, "left", "right"):
        raise RuntimeError(f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}")
    if side == "left" and right:
        raise RuntimeError(
            "torch.searchsorted(): side and right can't be set to opposites, got side of left while "
            "right was True"
        )
    if value.dim() == 0 and sorted_sequence.dim() != 1:
        raise RuntimeError(
            "torch.searchsorted(): input value can be a scalar only when boundaries tensor dimension is 1, "
            f"but we got boundaries tensor dim({sorted_sequence.dim()}) and input value's dim(0) numel(1)"
        )
    if sorted_sequence.dim() == 0:
        raise RuntimeError(
            "torch.searchsorted(): boundaries tensor should have positive dimension, but got 0 dimension"
        )
    return _search(sorted_sequence, value, sorter, right or side == "right", out_int32)


def bucketize(
    self: Tensor | float, boundaries: Tensor, out_int32: bool = False, right: bool = False
) -> Tensor:
    """The interval between boundaries that each value falls into."""
    if boundaries.dim() != 1:
        raise RuntimeError(f"boundaries tensor must be 1 dimension, but got dim({boundaries.dim()})")
    return _search(boundaries, _as_value(self, boundaries), None, right, out_int32)


def _check_comparable(*tensors: Tensor) -> None:
    for t in tensors:
        if t.is_complex() or t.dtype == torch.bool:
            raise RuntimeError(f"Unsupported input type encountered for isin(): {_legacy(t)}")


def isin(
    elements: Tensor, test_elements: Tensor, assume_unique: bool = False, invert: bool = False
) -> Tensor:
    """Which elements occur among the test elements."""
    _check_comparable(elements, test_elements)
    dtype = torch.result_type(elements, test_elements)
    own, wanted = elements.to(dtype), test_elements.to(dtype).reshape(-1)
    if wanted.numel() <= 8:  # fewer comparisons than a search would need
        found = (own.unsqueeze(-1) == wanted).any(-1)
    else:
        ordered = wanted.sort()[0]
        place = _search(ordered, own, None, False, False).clamp(max=ordered.numel() - 1)
        found = ordered[place.reshape(-1)].reshape(own.shape) == own
    return ~found if invert else found


def isin_scalar(
    elements: Tensor, test_element: float, assume_unique: bool = False, invert: bool = False
) -> Tensor:
    _check_comparable(elements)
    return elements != test_element if invert else elements == test_element


def scalar_isin(
    element: float, test_elements: Tensor, assume_unique: bool = False, invert: bool = False
) -> Tensor:
    return isin(_as_value(element, test_elements), test_elements, invert=invert)


def _legacy(t: Tensor) -> str:
    return str(t.type()).rsplit(".", 1)[-1].removesuffix("Tensor")


# ---- sets --------------------------------------------------------------------------------------------


def _finish(
    first: Tensor, order: Tensor | None, shape: Sequence[int], inverse: bool, counts: bool
) -> tuple[Tensor, list[Tensor]]:
    """Where runs start, and what was asked for beside the values. `first` marks the first of each run."""
    total = first.numel()
    starts = first.nonzero()[:, 0]
    if not (inverse or counts):
        return starts, []
    last = torch.full((min(starts.numel(), 1),), total, dtype=torch.int64, device=first.device)
    ends = torch.cat([starts[1:], last])
    lengths = ends - starts
    extra = []
    if inverse:
        runs = first.to(torch.int64).cumsum(0) - 1
        extra.append(
            (runs if order is None else torch.empty_like(runs).index_copy_(0, order, runs)).reshape(shape)
        )
    if counts:
        extra.append(lengths)
    return starts, extra


def _changes(values: Tensor) -> Tensor:
    """True where an element (or row) differs from the one before it."""
    first = torch.ones(values.shape[:1], dtype=torch.bool, device=values.device)
    if values.shape[0] > 1:
        differs = values[1:] != values[:-1]
        first[1:] = differs if values.dim() == 1 else differs.any(1)
    return first


def _rows(self: Tensor, dim: int) -> Tensor:
    """Slices along `dim` as the rows of a matrix."""
    if self.size(dim) != 0 and self.numel() == 0:
        raise RuntimeError(
            "There are 0 sized dimensions, and they aren't selected, so unique cannot be applied"
        )
    others = [d for d in range(self.dim()) if d != dim % self.dim()]
    length = self.shape[dim]
    return self.permute(dim, *others).reshape(length, self.numel() // max(length, 1)).contiguous()


def _unique(self: Tensor, dim: int | None, ordered: bool, inverse: bool, counts: bool, name: str) -> Unique:
    with torch.no_grad():
        order = None
        if dim is None:
            values = self.reshape(-1)
            if ordered:
                values, order = values.sort()
            starts, extra = _finish(_changes(values), order, self.shape, inverse, counts)
            out = values[starts]
        else:
            rows = _rows(self, dim)
            if ordered:
                order = _native._row_order(rows)
                rows = rows[order]
            starts, extra = _finish(_changes(rows), order, rows.shape[:1], inverse, counts)
            out = self.index_select(dim, starts if order is None else order[starts])
    torch._C._without_derivative(out, name, self)
    return (out, *extra) if extra else out


def unique(
    self: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Unique:
    """The different elements (or slices along `dim`), in order."""
    return _unique(
        self, dim, True, return_inverse, return_counts, "_unique2" if dim is None else "unique_dim"
    )


def unique_with_inverse(
    self: Tensor, sorted: bool = True, return_inverse: bool = False
) -> tuple[Tensor, Tensor]:
    """The older form of `unique`: always two, the second empty where nobody wants it."""
    values, inverse, _ = _three(self, None, return_inverse, False, "_unique")
    return values, inverse


def _three(
    self: Tensor, dim: int | None, inverse: bool, counts: bool, name: str
) -> tuple[Tensor, Tensor, Tensor]:
    """The different elements, where each went, and how often each is there; empty where nobody wants it."""
    found = _unique(self, dim, True, inverse, counts, name)
    values, *extra = (found,) if isinstance(found, Tensor) else found
    nothing = torch.empty(0, dtype=torch.int64, device=self.device)
    return values, extra.pop(0) if inverse else nothing, extra.pop(0) if counts else nothing


def unique_with_all(
    self: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
) -> tuple[Tensor, Tensor, Tensor]:
    return _three(self, None, return_inverse, return_counts, "_unique2")


def unique_along(
    self: Tensor, dim: int, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
) -> tuple[Tensor, Tensor, Tensor]:
    return _three(self, dim, return_inverse, return_counts, "unique_dim")


def unique_consecutive(
    self: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Unique:
    """The elements (or slices) without those that repeat the one before."""
    return _unique(self, dim, False, return_inverse, return_counts, "unique_consecutive")


# ---- counting ----------------------------------------------------------------------------------------


def bincount(self: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """How often each integer occurs, or the sum of its weights."""
    if self.is_floating_point() or self.is_complex() or self.dtype == torch.bool:
        raise NotImplementedError(f"\"bincount_cpu\" not implemented for '{_legacy(self)}'")
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    smallest, largest = (int(t.item()) for t in torch.aminmax(self)) if self.numel() else (0, -1)
    if self.dim() != 1 or smallest < 0:
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if weights is not None and (weights.dim() != 1 or weights.numel() != self.numel()):
        raise RuntimeError("weights should be 1-d and have the same length as input")
    with torch.no_grad():
        return _native._value_counts(self, weights, int(max(minlength, largest + 1)))


def _check_histogram(self: Tensor, name: str) -> None:
    if self.dtype not in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
        raise NotImplementedError(f"\"{name}\" not implemented for '{_legacy(self)}'")


def _check_bins(bins: int, dimension: int) -> None:
    if bins <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension {dimension}")


def histc(self: Tensor, bins: int = 100, min: float = 0, max: float = 0) -> Tensor:
    """Counts in equal bins between min and max (of the data, if the two are equal)."""
    if registry.of(self) is None or self.is_complex():  # PyTorch counts integers on accelerators only
        _check_histogram(self, "histogram_cpu")
    _check_bins(bins, 0)
    if self.is_meta:
        return self.new_empty(bins)
    low, high = float(min), float(max)
    if low == high and self.numel():
        low, high = (float(end.item()) for end in torch.aminmax(self))
    if low == high:
        low, high = low - 1, high + 1
    if not (math.isfinite(low) and math.isfinite(high)):
        raise RuntimeError(f"torch.histc: range of [{low:g}, {high:g}] is not finite")
    if low > high:
        raise RuntimeError("torch.histc: max must be larger than min")
    with torch.no_grad():
        return _native._histogram_counts(self, bins, low, high)


class Histogramdd(NamedTuple):
    hist: Tensor
    bin_edges: tuple[Tensor, ...]


def _bounds(column: Tensor, given: Sequence[float] | None, dimension: int) -> tuple[float, float]:
    if given is not None:
        low, high = given
    elif column.numel():
        low, high = (float(end.item()) for end in torch.aminmax(column))
    else:
        low, high = 0.0, 1.0
    if not (math.isfinite(low) and math.isfinite(high)):
        raise RuntimeError(
            f"torch.histogramdd: dimension {dimension}'s range [{low:g}, {high:g}] is not finite"
        )
    if low > high:
        raise RuntimeError(
            f"torch.histogramdd: min should not exceed max, but got min {low:g} max {high:g} "
            f"for dimension {dimension}"
        )
    return (low - 0.5, high + 0.5) if low == high else (low, high)


def histogramdd(
    self: Tensor,
    bins: int | Sequence[int] | Sequence[Tensor],
    range: Sequence[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> Histogramdd:
    """Counts of points (the rows along the last dimension) in a grid of bins."""
    _check_histogram(self, "histogramdd")
    if self.dim() < 2:
        raise RuntimeError("torch.histogramdd: input tensor should have at least 2 dimensions")
    width = self.shape[-1]
    wanted: list[Any] = [bins] * width if isinstance(bins, int) else list(bins)
    if len(wanted) != width and all(isinstance(each, int) for each in wanted):
        raise RuntimeError(
            "histogramdd: The size of bins must be equal to the innermost dimension of the input."
        )
    if len(wanted) != width:
        raise RuntimeError(
            f"torch.histogramdd: expected {width} sequences of bin edges for a {width}-dimensional histogram "
            f"but got {len(wanted)}"
        )
    if range is not None and len(range) != 2 * width:
        raise RuntimeError(
            f"torch.histogramdd: for a {width}-dimensional histogram range should have {2 * width} elements, "
            f"but got {len(range)}"
        )
    if weight is not None and weight.dtype != self.dtype:
        raise RuntimeError(
            "torch.histogramdd: if weight tensor is provided, input tensor and weight tensor should have "
            f"the same dtype, but got input(){_legacy(self)}, and weight {_legacy(weight)}"
        )
    with torch.no_grad():
        points = self.reshape(-1, width)
        edges = []
        for d, bin_ in enumerate(wanted):
            if isinstance(bin_, Tensor):
                edges.append(bin_.to(self.dtype))
                continue
            _check_bins(bin_, d)
            low, high = _bounds(points[:, d], None if range is None else range[2 * d : 2 * d + 2], d)
            edges.append(torch.linspace(low, high, bin_ + 1, dtype=self.dtype, device=self.device))
        sizes = [edge.numel() - 1 for edge in edges]
        placed = []  # for each dimension whether points are inside, and their bins
        for column, edge, count in zip(points.unbind(1), edges, sizes, strict=True):
            within = (column >= edge[0]) & (column <= edge[-1])
            placed.append(
                (within, (bucketize(column.contiguous(), edge, right=True) - 1).clamp(0, count - 1))
            )
        inside, place = placed[0]
        for (within, bin_), count in zip(placed[1:], sizes[1:], strict=True):
            inside, place = inside & within, place * count + bin_
        total = math.prod(sizes)
        place = torch.where(inside, place, total)  # one place more, for what is in none
        if weight is None:
            hist = torch.bincount(place, minlength=total + 1).to(self.dtype)
        else:
            hist = torch.zeros(total + 1, dtype=self.dtype, device=self.device)
            hist = hist.index_add_(0, place, weight.reshape(-1))
        hist = hist[:total] if width == 1 else hist[:total].reshape(sizes)
        if density:
            hist = hist / hist.sum()
            for d, edge in enumerate(edges):
                shape = [1] * width
                shape[d] = -1
                hist = hist / (edge[1:] - edge[:-1]).reshape(shape)
    return Histogramdd(hist, tuple(edges))


def histogram(
    self: Tensor,
    bins: int | Tensor = 100,
    range: Sequence[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> tuple[Tensor, Tensor]:
    """Counts in equal bins, or between the given edges."""
    kinds: Any = [bins]
    column = self.reshape(-1, 1)
    made = histogramdd(column, kinds, range, None if weight is None else weight.reshape(-1), density)
    return made.hist, made.bin_edges[0]
