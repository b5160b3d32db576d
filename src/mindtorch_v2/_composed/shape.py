"""Shapes: joining, splitting, turning, windows copied or replaced."""

from __future__ import annotations

from collections.abc import Sequence

import mindtorch_v2 as torch
from mindtorch_v2 import Tensor, channels_last, contiguous_format

from .._functions.shapes import at_least
from .._sparse.table import refuse
from .._types.dtypes import LEGACY_NAMES
from .._types.size import from_front

# ---- joining -----------------------------------------------------------------------------------------


def _some(tensors: Sequence[Tensor], name: str) -> Sequence[Tensor]:
    if len(tensors) == 0:
        raise RuntimeError(f"{name} expects a non-empty TensorList")
    return tensors


def hstack(tensors: Sequence[Tensor]) -> Tensor:
    rows = [at_least(t, 1) for t in _some(tensors, "hstack")]
    return torch.cat(rows, 0 if rows[0].dim() == 1 else 1)


def vstack(tensors: Sequence[Tensor]) -> Tensor:
    return torch.cat([at_least(t, 2) for t in _some(tensors, "vstack")], 0)


def dstack(tensors: Sequence[Tensor]) -> Tensor:
    return torch.cat([at_least(t, 3) for t in _some(tensors, "dstack")], 2)


def column_stack(tensors: Sequence[Tensor]) -> Tensor:
    columns = [t.reshape(t.numel(), 1) if t.dim() <= 1 else t for t in _some(tensors, "column_stack")]
    return hstack(columns)


def chunk_cat(tensors: Sequence[Tensor], dim: int, num_chunks: int) -> Tensor:
    """Each tensor cut into chunks along `dim` (zero-padded), flattened from there on, joined by chunk."""
    if num_chunks < 1:
        raise RuntimeError("_chunk_cat expects positive num_chunks")
    if len(tensors) == 0:
        raise RuntimeError("_chunk_cat expects a non-empty input tensor list")
    if any(t.dtype != tensors[0].dtype for t in tensors):
        raise RuntimeError("_chunk_cat expects all input tensors with the same dtype")
    if dim < 0 and any(t.dim() != tensors[0].dim() for t in tensors):
        raise RuntimeError("_chunk_cat expects non-negative dim when input tensors have different ndims")
    if any(dim >= t.dim() for t in tensors):
        raise RuntimeError("_chunk_cat expects dim < ndim for all input tensors")
    tensors[0].size(dim)  # refuses a dimension that is not there
    dim %= max(tensors[0].dim(), 1)
    if any(t.shape[:dim] != tensors[0].shape[:dim] for t in tensors):
        raise RuntimeError("_chunk_cat expects same sizes of 0,...,dim-1 dimensions for all tensors")
    pieces = []
    for tensor in tensors:
        if tensor.numel() == 0:
            raise RuntimeError("_chunk_cat expects non-empty tensor")
        size = tensor.size(dim)
        each = -(-size // num_chunks)
        missing = each * num_chunks - size
        if missing:
            tensor = torch.constant_pad_nd(tensor, [0, 0] * (tensor.dim() - dim - 1) + [0, missing])
        pieces.append(tensor.reshape([*tensor.shape[:dim], num_chunks, -1]))
    return torch.cat(pieces, dim + 1)


def combinations(self: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    if self.dim() != 1:
        raise RuntimeError("Expect a 1D vector, but got shape " + str(list(self.shape)))
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if r == 0:
        return self.new_empty(0)
    size = self.numel()
    positions = torch.meshgrid(*[torch.arange(size, device=self.device)] * r, indexing="ij")
    keep = torch.ones([size] * r, dtype=torch.bool, device=self.device)
    for left, right in zip(positions, positions[1:], strict=False):
        keep = keep & (left <= right if with_replacement else left < right)
    chosen = [self.expand([size] * r).movedim(-1, i).masked_select(keep) for i in range(r)]
    return torch.stack(chosen, 1)


# ---- splitting ---------------------------------------------------------------------------------------


def _split_points(tensor: Tensor, points: Sequence[int], dim: int) -> tuple[Tensor, ...]:
    size = tensor.size(dim)
    pieces, start = [], 0
    for end in [*points, size]:
        # Slicing's own rules: negative positions count from the end, and an empty piece is fine.
        pieces.append(_slice(tensor, dim, start, end, 1))
        start = end
    return tuple(pieces)


def tensor_split(
    self: Tensor,
    sections: int | None = None,
    indices: Sequence[int] | None = None,
    tensor_indices_or_sections: Tensor | None = None,
    dim: int = 0,
) -> tuple[Tensor, ...]:
    if self.dim() == 0:
        raise RuntimeError(
            "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims"
        )
    if tensor_indices_or_sections is not None:
        given = tensor_indices_or_sections
        if given.dtype != torch.int64:
            raise RuntimeError(
                "tensor_split expected tensor_indices_or_sections to have dtype of long, but got "
                f"{LEGACY_NAMES[given.dtype.name]}"
            )
        if given.dim() > 1:
            raise RuntimeError(
                "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or "
                f"one-dimensional tensor, but got a tensor with {given.dim()} dims"
            )
        if given.dim() == 0:
            sections = int(given.item())
        else:
            indices = given.tolist()
    if indices is not None:
        return _split_points(self, indices, dim)
    count = 0 if sections is None else int(sections)
    if count <= 0:
        raise RuntimeError(f"number of sections must be larger than 0, got {count}")
    if count >= 1 << 24:
        raise RuntimeError(f"{count} sections are too many")
    each, longer = divmod(self.size(dim), count)
    points = [i * each + min(i, longer) for i in range(1, count)]
    return _split_points(self, points, dim)


def _named_split(
    self: Tensor, name: str, minimum: int, dim: int, sections: int | None, indices: Sequence[int] | None
) -> tuple[Tensor, ...]:
    if self.dim() < minimum:
        raise RuntimeError(
            f"torch.{name} requires a tensor with at least {minimum} dimension, "
            f"but got a tensor with {self.dim()} dimensions!"
        )
    if indices is not None:
        return tensor_split(self, indices=indices, dim=dim)
    if not sections or self.size(dim) % sections != 0:
        raise RuntimeError(
            f"torch.{name} attempted to split along dimension {dim}, but the size of the dimension "
            f"{self.size(dim)} is not divisible by the split_size {sections}!"
        )
    return tensor_split(self, sections=sections, dim=dim)


def hsplit(
    self: Tensor, sections: int | None = None, indices: Sequence[int] | None = None
) -> tuple[Tensor, ...]:
    return _named_split(self, "hsplit", 1, 0 if self.dim() == 1 else 1, sections, indices)


def vsplit(
    self: Tensor, sections: int | None = None, indices: Sequence[int] | None = None
) -> tuple[Tensor, ...]:
    return _named_split(self, "vsplit", 2, 0, sections, indices)


def dsplit(
    self: Tensor, sections: int | None = None, indices: Sequence[int] | None = None
) -> tuple[Tensor, ...]:
    return _named_split(self, "dsplit", 3, 2, sections, indices)


# ---- turning and repeating ---------------------------------------------------------------------------


def fliplr(self: Tensor) -> Tensor:
    if self.dim() < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return self.flip(1)


def flipud(self: Tensor) -> Tensor:
    if self.dim() < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return self.flip(0)


def rot90(self: Tensor, k: int = 1, dims: Sequence[int] = (0, 1)) -> Tensor:
    total = self.dim()
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if total < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {total}")
    first, second = dims
    if first == second or abs(first - second) == total:
        raise RuntimeError(
            f"expected rotation dims to be different, but got dim0 = {first} and dim1 = {second}"
        )
    for i, d in enumerate(dims):
        if not -total <= d < total:
            raise RuntimeError(f"Rotation dim{i} out of range, dim{i} = {d}")
    turns = k % 4
    if turns == 1:
        return self.flip(second).transpose(first, second)
    if turns == 2:
        return self.flip(first, second)
    if turns == 3:
        return self.flip(first).transpose(first, second)
    return self.clone(memory_format=contiguous_format)


def sum_to_size(self: Tensor, size: Sequence[int]) -> Tensor:
    lead = self.dim() - len(size)
    fits = lead >= 0 and all(
        want in (1, have) for want, have in zip(size, self.shape[max(lead, 0) :], strict=True)
    )
    if not fits:
        raise RuntimeError(f"size {{{list(size)}}} is not expandable to size {{{list(self.shape)}}}.")
    if len(size) == 0:
        return self.sum()
    dims = [i for i in range(self.dim()) if i < lead or (size[i - lead] == 1 and self.size(i) != 1)]
    return (self.sum(dims, keepdim=True) if dims else self).view(list(size))


def diagflat(self: Tensor, offset: int = 0) -> Tensor:
    return self.reshape(-1).diag(offset)


# ---- pixels ------------------------------------------------------------------------------------------


def _has_channels_last(self: Tensor) -> bool:
    """Whether pixels are to be moved with the channels last in memory; accelerators have their own layouts."""
    return (
        self.dim() == 4
        and self.device.type in ("cpu", "meta")
        and not self.is_contiguous()
        and self.is_contiguous(memory_format=channels_last)
    )


def pixel_shuffle(self: Tensor, upscale_factor: int) -> Tensor:
    if self.dim() < 3:
        raise RuntimeError(
            "pixel_shuffle expects input to have at least 3 dimensions, but got input with "
            f"{self.dim()} dimension(s)"
        )
    if upscale_factor <= 0:
        raise RuntimeError(f"pixel_shuffle expects a positive upscale_factor, but got {upscale_factor}")
    *batch, channels, height, width = self.shape
    squared = upscale_factor * upscale_factor
    if channels % squared != 0:
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of "
            f"upscale_factor, but input.size(-3)={channels} is not divisible by {squared}"
        )
    inner = channels // squared
    if _has_channels_last(self):
        pixels = self.permute(0, 2, 3, 1).reshape(
            batch[0], height, width, inner, upscale_factor, upscale_factor
        )
        moved = pixels.permute(0, 1, 4, 2, 5, 3)
        moved = moved.reshape(batch[0], height * upscale_factor, width * upscale_factor, inner)
        return moved.permute(0, 3, 1, 2)
    n = len(batch)
    split = self.reshape([*batch, inner, upscale_factor, upscale_factor, height, width])
    order = [*range(n), n, n + 3, n + 1, n + 4, n + 2]
    return split.permute(order).reshape([*batch, inner, height * upscale_factor, width * upscale_factor])


def pixel_unshuffle(self: Tensor, downscale_factor: int) -> Tensor:
    if self.dim() < 3:
        raise RuntimeError(
            "pixel_unshuffle expects input to have at least 3 dimensions, but got input with "
            f"{self.dim()} dimension(s)"
        )
    if downscale_factor <= 0:
        raise RuntimeError(f"pixel_unshuffle expects a positive downscale_factor, but got {downscale_factor}")
    *batch, channels, height, width = self.shape
    for name, size, at in (("height", height, -2), ("width", width, -1)):
        if size % downscale_factor != 0:
            raise RuntimeError(
                f"pixel_unshuffle expects {name} to be divisible by downscale_factor, but "
                f"input.size({at})={size} is not divisible by {downscale_factor}"
            )
    rows, columns, n = height // downscale_factor, width // downscale_factor, len(batch)
    if _has_channels_last(self):
        pixels = self.permute(0, 2, 3, 1)
        pixels = pixels.reshape(batch[0], rows, downscale_factor, columns, downscale_factor, channels)
        moved = pixels.permute(0, 1, 3, 5, 2, 4).reshape(batch[0], rows, columns, -1)
        return moved.permute(0, 3, 1, 2)
    split = self.reshape([*batch, channels, rows, downscale_factor, columns, downscale_factor])
    order = [*range(n), n, n + 2, n + 4, n + 1, n + 3]
    return split.permute(order).reshape(
        [*batch, channels * downscale_factor * downscale_factor, rows, columns]
    )


def channel_shuffle(self: Tensor, groups: int) -> Tensor:
    if self.dim() < 3:
        raise RuntimeError(
            f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(self.shape)}"
        )
    if groups <= 0:
        raise RuntimeError(
            f"Number of groups to divide channels in must be positive. Value of groups:{groups}"
        )
    batch, channels, *rest = self.shape
    if channels % groups != 0:
        raise RuntimeError(
            f"Number of channels must be divisible by groups. Got {channels} channels and {groups} groups."
        )
    if _has_channels_last(self):
        pixels = self.permute(0, 2, 3, 1).reshape(batch, *rest, groups, channels // groups)
        return pixels.transpose(3, 4).reshape(batch, *rest, channels).permute(0, 3, 1, 2)
    split = self.reshape([batch, groups, channels // groups, *rest])
    return split.transpose(1, 2).reshape(self.shape)


# ---- windows, copied ---------------------------------------------------------------------------------


def _copy(window: Tensor) -> Tensor:
    return window.clone(memory_format=contiguous_format)


def alias_copy(self: Tensor) -> Tensor:
    return _copy(self)


def as_strided_copy(
    self: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
) -> Tensor:
    return _copy(self.as_strided(size, stride, storage_offset))


def conj_copy(self: Tensor) -> Tensor:
    if not self.is_complex():
        raise RuntimeError(f"_conj_copy expects a complex tensor, but got {self.dtype}")
    return _copy(self.conj())


def neg_view_copy(self: Tensor) -> Tensor:
    return _copy(-self)


def _without_history(name: str, *tensors: Tensor) -> None:
    if not torch.is_inference_mode_enabled() or not all(tensor.is_inference() for tensor in tensors):
        raise RuntimeError(
            f"{name}: Expected this to be called in inference mode, with inference tensors: elsewhere the levels of "
            "torch.autograd.forward_ad know the tangents"
        )


def fw_primal_copy(self: Tensor, level: int) -> Tensor:
    _without_history("_fw_primal_copy", self)
    return _copy(self)


def make_dual_copy(primal: Tensor, tangent: Tensor, level: int) -> Tensor:
    _without_history("_make_dual_copy", primal, tangent)
    return _copy(primal)


def reshape_alias_copy(self: Tensor, size: Sequence[int], stride: Sequence[int]) -> Tensor:
    return _copy(self.as_strided(size, stride, self.storage_offset()))


def detach_copy(self: Tensor) -> Tensor:
    return _copy(self.detach())


def view_as_complex_copy(self: Tensor) -> Tensor:
    return _copy(torch.view_as_complex(self))


def view_as_real_copy(self: Tensor) -> Tensor:
    return _copy(torch.view_as_real(self))


def _not_of_coordinates(name: str, self: Tensor) -> None:
    """PyTorch copies the parts of compressed tensors, and has no such operator for those in coordinates."""
    if self.layout is torch.sparse_coo:
        raise refuse(name, "", [self])


def sparse_broadcast_to_copy(self: Tensor, size: Sequence[int]) -> Tensor:
    raise refuse("_sparse_broadcast_to_copy", "", [self])


def _indices_copy(self: Tensor) -> Tensor:
    _not_of_coordinates("_indices_copy", self)
    return _copy(self._indices())


def _values_copy(self: Tensor) -> Tensor:
    _not_of_coordinates("_values_copy", self)
    return _copy(self._values())


def indices_copy(self: Tensor) -> Tensor:
    _not_of_coordinates("indices_copy", self)
    return _copy(self.indices())


def values_copy(self: Tensor) -> Tensor:
    _not_of_coordinates("values_copy", self)
    return _copy(self.values())


def crow_indices_copy(self: Tensor) -> Tensor:
    return _copy(self.crow_indices())


def col_indices_copy(self: Tensor) -> Tensor:
    return _copy(self.col_indices())


def ccol_indices_copy(self: Tensor) -> Tensor:
    return _copy(self.ccol_indices())


def row_indices_copy(self: Tensor) -> Tensor:
    return _copy(self.row_indices())


def diagonal_copy(self: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    return _copy(self.diagonal(offset, dim1, dim2))


def expand_copy(self: Tensor, size: Sequence[int], implicit: bool = False) -> Tensor:
    return _copy(self.expand(size))


def narrow_copy(self: Tensor, dim: int, start: int, length: int) -> Tensor:
    return _copy(self.narrow(dim, start, length))


def permute_copy(self: Tensor, dims: Sequence[int]) -> Tensor:
    return _copy(self.permute(dims))


def select_copy(self: Tensor, dim: int, index: int) -> Tensor:
    return _copy(self.select(dim, index))


def slice_copy(
    self: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Tensor:
    return _copy(_slice(self, dim, start, end, step))


def split_copy(self: Tensor, split_size: int, dim: int = 0) -> tuple[Tensor, ...]:
    return tuple(_copy(piece) for piece in self.split(split_size, dim))


def split_with_sizes_copy(self: Tensor, split_sizes: Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    return tuple(_copy(piece) for piece in self.split_with_sizes(split_sizes, dim))


def _write_pieces(name: str, pieces: Sequence[Tensor], out: Sequence[Tensor]) -> None:
    """Each piece into its out=."""
    if len(pieces) != len(out):
        raise RuntimeError(f"{name} expected an out= argument of size {len(pieces)}, got size {len(out)}")
    for piece, target in zip(pieces, out, strict=True):
        torch.alias_copy(piece, out=target)


def split_copy_out(self: Tensor, split_size: int, dim: int = 0, *, out: Sequence[Tensor]) -> None:
    pieces = self.split(split_size, dim)
    if len(pieces) != len(out):
        raise RuntimeError(
            f"split_copy_Tensor_out() expected an out= argument of size {len(pieces)}, got size {len(out)}"
        )
    for piece, target in zip(pieces, out, strict=True):
        target.copy_(piece)


def split_with_sizes_copy_out(
    self: Tensor, split_sizes: Sequence[int], dim: int = 0, *, out: Sequence[Tensor]
) -> None:
    _write_pieces("split_with_sizes_copy_out", self.split_with_sizes(split_sizes, dim), out)


def unbind_copy_out(self: Tensor, dim: int = 0, *, out: Sequence[Tensor]) -> None:
    _write_pieces("unbind_copy_int_out", self.unbind(dim), out)


def squeeze_copy(self: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
    return _copy(self.squeeze() if dim is None else self.squeeze(dim))


def t_copy(self: Tensor) -> Tensor:
    return _copy(self.t())


def transpose_copy(self: Tensor, dim0: int, dim1: int) -> Tensor:
    return _copy(self.transpose(dim0, dim1))


def unbind_copy(self: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    return tuple(_copy(piece) for piece in self.unbind(dim))


def unfold_copy(self: Tensor, dimension: int, size: int, step: int) -> Tensor:
    return _copy(self.unfold(dimension, size, step))


def unsqueeze_copy(self: Tensor, dim: int) -> Tensor:
    return _copy(self.unsqueeze(dim))


def view_copy(self: Tensor, size: Sequence[int] | None = None, dtype: torch.dtype | None = None) -> Tensor:
    return _copy(self.view(size) if size is not None else self if dtype is None else self.view(dtype))


# ---- windows, replaced in a copy ---------------------------------------------------------------------


def _slice(self: Tensor, dim: int, start: int | None, end: int | None, step: int) -> Tensor:
    if self.dim() == 0:
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    index: list[slice] = [slice(None)] * from_front(dim, self.dim())
    return self[(*index, slice(start, end, step))]


def _same_shape(src: Tensor, window: Tensor, text: str) -> None:
    if src.shape != window.shape:
        raise RuntimeError(
            f"expected src to have a size equal to the {text}. src size = {list(src.shape)}, "
            f"{text} size = {list(window.shape)}"
        )


def as_strided_scatter(
    self: Tensor,
    src: Tensor,
    size: Sequence[int],
    stride: Sequence[int],
    storage_offset: int | None = None,
) -> Tensor:
    # The copy has self's strides, so that the window means the same elements in it.
    whole = torch.empty_strided(self.size(), self.stride(), dtype=self.dtype, device=self.device)
    whole.copy_(self)
    offset = None if storage_offset is None else storage_offset - self.storage_offset()
    window = whole.as_strided(size, stride, offset)
    _same_shape(src, window, "slice of self")
    window.copy_(src)
    return whole


def diagonal_scatter(self: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    whole = self.clone()
    window = whole.diagonal(offset, dim1, dim2)
    _same_shape(src, window, "slice of self")
    window.copy_(src)
    return whole


def select_scatter(self: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    whole = self.clone()
    window = whole.select(dim, index)
    _same_shape(src, window, "slice of self")
    window.copy_(src)
    return whole


def slice_scatter(
    self: Tensor,
    src: Tensor,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> Tensor:
    whole = self.clone()
    window = _slice(whole, dim, start, end, step)
    _same_shape(src, window, "slice of self")
    window.copy_(src)
    return whole
