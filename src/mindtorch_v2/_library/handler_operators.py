"""Operators of PyTorch's that nothing here calls: a row of the table does their work under another name.

Handlers see such a row by PyTorch's name (``seen_as:``, Note [What handlers see] in ``seen_as.py``) and call it back;
then it runs the row. So there is a function for each, with PyTorch's schema.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _C
from .._C import Tensor

# By name and overload: the schema without the name, and what runs.
OPERATORS: dict[tuple[str, str], tuple[str, Callable[..., Any]]] = {}


def _operator(schema: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    name, _, rest = schema.partition("(")
    name, _, overload = name.partition(".")

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        OPERATORS[f"aten::{name}", overload] = (f"({rest}", function)
        return function

    return add


def _row(name: str, *values: Any) -> Any:
    """Calls a row that has no name in Python."""
    kinds = "".join("T" if _is_tensors(value) else "f" if _is_floats(value) else " " for value in values)
    return _C._dispatch.call(f"aten::{name}", "", list(values), kinds)


def _is_tensors(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and any(isinstance(item, Tensor) for item in value)


def _is_floats(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and any(isinstance(item, float) for item in value)


def _as_bits(mask: list[bool]) -> int:
    return sum(1 << place for place, wanted in enumerate(mask) if wanted)


# ---- convolution -------------------------------------------------------------------------------------


@_operator(
    "convolution_backward(Tensor grad_output, Tensor input, Tensor weight, SymInt[]? bias_sizes, SymInt[] stride, "
    "SymInt[] padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups, "
    "bool[3] output_mask) -> (Tensor, Tensor, Tensor)"
)
def _convolution_backward(
    grad_output: Tensor, input: Tensor, weight: Tensor, bias_sizes: Any, stride: Any, padding: Any, dilation: Any,
    transposed: bool, output_padding: Any, groups: int, output_mask: Any,
) -> tuple[Any, Any, Any]:  # fmt: skip
    spatial = input.dim() - 2
    stride, padding, dilation = (
        list(v) * spatial if len(v) == 1 else list(v) for v in (stride, padding, dilation)
    )
    how = (stride, padding, dilation, groups)
    kernel, to_input, to_weight, to_bias = list(weight.shape[2:]), None, None, None
    if output_mask[0] and transposed:
        to_input = _row("_convolve", grad_output, weight, None, *how)
        for dim in range(2, 2 + spatial):  # output_padding may add places that no input reached
            to_input = to_input.narrow(dim, 0, input.shape[dim])
    elif output_mask[0]:
        to_input = _row("_convolve_transposed", grad_output, weight, None, list(input.shape[2:]), *how)
    if output_mask[1]:
        wide, narrow = (grad_output, input) if transposed else (input, grad_output)
        to_weight = _row("_convolve_weight", wide, narrow, kernel, *how)
    if output_mask[2]:
        to_bias = grad_output.sum([0, *range(2, 2 + spatial)])
    return to_input, to_weight, to_bias


# ---- normalisation -----------------------------------------------------------------------------------


@_operator(
    "native_layer_norm_backward(Tensor grad_out, Tensor input, SymInt[] normalized_shape, Tensor mean, Tensor rstd, "
    "Tensor? weight, Tensor? bias, bool[3] output_mask) -> (Tensor, Tensor, Tensor)"
)
def _layer_norm_backward(
    grad_out: Tensor, input: Tensor, normalized_shape: Any, mean: Tensor, rstd: Tensor, weight: Any, bias: Any,
    output_mask: Any,
) -> Any:  # fmt: skip
    bits = _as_bits(output_mask)
    return _row("_layer_norm_backward", grad_out, input, normalized_shape, mean, rstd, weight, bits)


@_operator(
    "native_group_norm_backward(Tensor grad_out, Tensor input, Tensor mean, Tensor rstd, Tensor? weight, SymInt N, "
    "SymInt C, SymInt HxW, int group, bool[3] output_mask) -> (Tensor, Tensor, Tensor)"
)
def _group_norm_backward(
    grad_out: Tensor, input: Tensor, mean: Tensor, rstd: Tensor, weight: Any, N: int, C: int, HxW: int, group: int,
    output_mask: Any,
) -> Any:  # fmt: skip
    bits = _as_bits(output_mask)
    return _row("_group_norm_backward", grad_out, input, mean, rstd, weight, N, C, HxW, group, bits)


@_operator(
    "native_batch_norm_backward(Tensor grad_out, Tensor input, Tensor? weight, Tensor? running_mean, "
    "Tensor? running_var, Tensor? save_mean, Tensor? save_invstd, bool train, float eps, bool[3] output_mask) "
    "-> (Tensor, Tensor, Tensor)"
)
def _batch_norm_backward(*values: Any) -> Any:
    return _row("_batch_norm_backward", *values[:-1], _as_bits(values[-1]))


# ---- pooling, padding, sampling ----------------------------------------------------------------------


def _define_spatial(spatial: int) -> None:
    n = spatial

    @_operator(f"_adaptive_avg_pool{n}d_backward(Tensor grad_output, Tensor self) -> Tensor")
    def adaptive(grad_output: Tensor, self: Tensor) -> Any:
        return _row("_adaptive_avg_pool_backward", grad_output, list(self.shape), n)

    @_operator(
        f"avg_pool{n}d_backward(Tensor grad_output, Tensor self, int[{n}] kernel_size, int[{n}] stride, "
        f"int[{n}] padding, bool ceil_mode, bool count_include_pad, int? divisor_override) -> Tensor"
    )
    def average(grad_output: Tensor, self: Tensor, kernel_size: Any, stride: Any, *rest: Any) -> Any:
        stride = stride or kernel_size
        return _row("_avg_pool_backward", grad_output, list(self.shape), n, kernel_size, stride, *rest)

    if n < 2:
        return

    @_operator(
        f"grid_sampler_{n}d_backward(Tensor grad_output, Tensor input, Tensor grid, int interpolation_mode, "
        "int padding_mode, bool align_corners, bool[2] output_mask) -> (Tensor, Tensor)"
    )
    def sampler(*values: Any) -> Any:
        made = _row("_grid_sampler_backward", *values[:-1])
        return tuple(each if wanted else None for each, wanted in zip(made, values[-1], strict=True))


def _define_padding(name: str, mode: int, spatial: int) -> None:
    @_operator(
        f"{name}_pad{spatial}d_backward(Tensor grad_output, Tensor self, SymInt[{2 * spatial}] padding) -> Tensor"
    )
    def backward(grad_output: Tensor, self: Tensor, padding: Any) -> Any:
        return _row("_extend_edges_backward", grad_output, padding, mode)


# As _interpolate calls them, by the number of dimensions: PyTorch's names without `upsample_`, and whether corners are
# an argument.
INTERPOLATIONS = {
    ("nearest", 1): "upsample_nearest1d", ("nearest", 2): "upsample_nearest2d", ("nearest", 3): "upsample_nearest3d",
    ("nearest-exact", 1): "_upsample_nearest_exact1d", ("nearest-exact", 2): "_upsample_nearest_exact2d",
    ("nearest-exact", 3): "_upsample_nearest_exact3d",
    ("linear", 1): "upsample_linear1d", ("linear", 2): "upsample_bilinear2d", ("linear", 3): "upsample_trilinear3d",
    ("cubic", 2): "upsample_bicubic2d",
    ("linear-aa", 2): "_upsample_bilinear2d_aa", ("cubic-aa", 2): "_upsample_bicubic2d_aa",
}  # fmt: skip


def _define_interpolation(mode: str, spatial: int, name: str) -> None:
    corners = "" if mode.startswith("nearest") else "bool align_corners, "
    scales = {1: ["scales"], 2: ["scales_h", "scales_w"], 3: ["scales_d", "scales_h", "scales_w"]}[spatial]

    @_operator(
        f"{name}_backward(Tensor grad_output, SymInt[{spatial}] output_size, SymInt[{spatial + 2}] input_size, "
        f"{corners}{', '.join(f'float? {scale}=None' for scale in scales)}) -> Tensor"
    )
    def backward(grad_output: Tensor, output_size: Any, input_size: Any, *rest: Any) -> Any:
        align = bool(rest[0]) if corners else False
        given = [float(scale or 0.0) for scale in (rest[1:] if corners else rest)]
        return _row("_interpolate_backward", grad_output, input_size, mode, align, given)


for _spatial in (2, 3):
    _define_spatial(_spatial)
for _spatial in (1, 2, 3):
    for _number, _name in enumerate(("reflection", "replication")):
        _define_padding(_name, _number, _spatial)
for (_mode, _spatial), _name in INTERPOLATIONS.items():
    _define_interpolation(_mode, _spatial, _name)


# ---- linear algebra ----------------------------------------------------------------------------------


@_operator(
    "_linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) "
    "-> (Tensor result, Tensor LU, Tensor pivots, Tensor info)"
)
def _solve(A: Tensor, B: Tensor, left: bool, check_errors: bool) -> Any:
    return _row("_linalg_solve", A, B, left)


@_operator("_linalg_eigvals(Tensor self) -> Tensor")
def _eigvals(self: Tensor) -> Any:
    return _row("_linalg_eig", self, False)[0]


# ---- views and values --------------------------------------------------------------------------------


@_operator("lift_fresh(Tensor(a) self) -> Tensor(a)")
def _lift_fresh(self: Tensor) -> Tensor:
    return self


@_operator("lift_fresh_copy(Tensor self) -> Tensor")
def _lift_fresh_copy(self: Tensor) -> Tensor:
    return self.clone()


@_operator("_unsafe_view(Tensor self, SymInt[] size) -> Tensor")
def _unsafe_view(self: Tensor, size: Any) -> Any:
    return self.view(size)


@_operator(
    "_new_zeros_with_same_feature_meta(Tensor self, Tensor other, *, int self_num_batch_dims=0) -> Tensor"
)
def _new_zeros_like_feature(self: Tensor, other: Tensor, self_num_batch_dims: int) -> Any:
    """Zeros for each entry of the batch dimensions of `self`, lying in memory as `other` does."""
    batch = self.shape[:self_num_batch_dims]
    room = other.untyped_storage().nbytes() // other.element_size()
    strides = [room]
    for size in reversed(batch[1:]):
        strides.insert(0, strides[0] * size)
    memory = other.new_zeros(batch.numel() * room)
    sizes = (*batch, *other.shape)
    return memory.as_strided(sizes, (*(strides if batch else ()), *other.stride()), other.storage_offset())


# ---- reductions --------------------------------------------------------------------------------------


def _define_reduction(name: str, dim_overload: str, dim: str, dtype: bool) -> None:
    last = ", *, ScalarType? dtype=None" if dtype else ""

    @_operator(f"{name}(Tensor self{last}) -> Tensor")
    def whole(self: Tensor, *rest: Any) -> Any:
        return _row(name, self, None, False, *rest)

    @_operator(f"{name}.{dim_overload}(Tensor self, {dim}, bool keepdim=False{last}) -> Tensor")
    def along(self: Tensor, dim: Any, keepdim: bool, *rest: Any) -> Any:
        return _row(name, self, [dim] if isinstance(dim, int) else dim, keepdim, *rest)


_define_reduction("sum", "dim_IntList", "int[1]? dim", True)
_define_reduction("mean", "dim", "int[1]? dim", True)
_define_reduction("prod", "dim_int", "int dim", True)
_define_reduction("any", "dim", "int dim", False)
_define_reduction("any", "dims", "int[]? dim=None", False)
_define_reduction("all", "dim", "int dim", False)
_define_reduction("all", "dims", "int[]? dim=None", False)
