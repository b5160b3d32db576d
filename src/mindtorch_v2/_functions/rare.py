"""Functions of torch that few programs call; loaded when first asked for."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from .. import _C, _functions, overrides
from .._C import Tensor

F = _functions


def _assert(condition: Any, message: str) -> None:
    """``assert``, as a function: traced programs keep it."""
    if not condition:
        raise AssertionError(message)


def _assert_async(input: Tensor, assert_msg: str = "") -> None:
    """Raises RuntimeError if a tensor of one element is zero; at once, here."""
    if not bool(input):
        raise RuntimeError(assert_msg or "Expected Tensor with single nonzero value, but got zero")


def _functional_assert_async(input: Tensor, assert_msg: str, dep_token: Tensor) -> Tensor:
    """`_assert_async`, between other operators: its result depends on it."""
    _assert_async(input, assert_msg)
    return dep_token.clone()


def _debug_has_internal_overlap(self: Tensor) -> int:
    """Whether elements lie on each other: 0 no, 1 yes, 2 it would take too long to say."""
    if self.is_contiguous() or self.numel() == 0:
        return 0
    laid = sorted((stride, size) for stride, size in zip(self.stride(), self.shape, strict=True) if size > 1)
    if any(stride == 0 for stride, _ in laid):
        return 1
    reach = 1
    for stride, size in laid:
        if stride != reach:
            return 2
        reach = stride * size
    return 0


def _test_check_tensor(self: Tensor) -> Tensor:
    """What a check of every element does: RuntimeError unless all are True."""
    if self.dtype != _C.bool:
        raise RuntimeError(f"_test_check_tensor: wanted a tensor of bools, got {self.dtype}")
    if not self.all():
        raise RuntimeError("Test message for TORCH_CHECK_TENSOR_ALL")
    return self


def _test_parallel_materialize(self: Tensor, num_parallel: int, skip_first: bool = False) -> Tensor:
    """What happens if a loop over threads asks for an address to write to; Note [Copy on write] in C++."""
    return _C._test_parallel_materialize(self, num_parallel, skip_first)


def _shape_as_tensor(self: Tensor) -> Tensor:
    """The sizes, as a tensor of integers."""
    return Tensor.new_tensor(self, list(self.shape), dtype=_C.int64, device="cpu")


def _convert_indices_from_coo_to_csr(self: Tensor, size: int, *, out_int32: bool = False) -> Tensor:
    """Where each of `size` rows begins among the sorted row numbers of a matrix's entries, and where the last ends."""
    if self.dim() > 1:
        raise RuntimeError(f"Input is supposed to be a vector, but got {self.dim()} dimensional tensor.")
    if self.dtype not in (_C.int32, _C.int64):
        raise NotImplementedError(
            f"_convert_indices_from_coo_to_csr: wanted int32 or int64, got {self.dtype}"
        )
    rows = F.arange(size + 1, dtype=self.dtype, device=self.device)
    return F.searchsorted(self, rows, out_int32=out_int32)


def _convert_indices_from_csr_to_coo(
    crow_indices: Tensor, col_indices: Tensor, *, out_int32: bool = False, transpose: bool = False
) -> Tensor:
    """Row and column of each entry of a matrix, or of a batch of them (whose numbers come first)."""
    counts = crow_indices.diff(dim=-1)
    rows = F.arange(counts.shape[-1], device=counts.device).expand(counts.shape)
    row = rows.reshape(-1).repeat_interleave(counts.reshape(-1))
    column = col_indices.reshape(-1)
    entries = [column, row] if transpose else [row, column]
    for dim, length in reversed(list(enumerate(counts.shape[:-1]))):
        number = F.arange(length, device=counts.device)
        inner = math.prod(col_indices.shape[dim + 1 :])
        outer = math.prod(col_indices.shape[:dim])
        entries.insert(0, number.repeat_interleave(inner).repeat(outer))
    return F.stack([entry.to(_C.int32 if out_int32 else _C.int64) for entry in entries])


def _int_mm(self: Tensor, mat2: Tensor) -> Tensor:
    """The product of two matrices of int8, in int32."""
    for name, matrix in (("self", self), ("mat2", mat2)):
        if matrix.dim() != 2:
            raise RuntimeError(f"Expected {name} to be of dimension 2 but got {matrix.dim()}")
        if matrix.dtype is not _C.int8:
            raise RuntimeError(f"Expected {name} dtype to be of type int8 but got {matrix.dtype}")
    return F.mm(self.to(_C.int32), mat2.to(_C.int32))


def set_anomaly_enabled(enabled: bool, check_nan: bool = True) -> None:
    """Turns anomaly mode on or off."""
    _C._set_anomaly_enabled(enabled, check_nan)


def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """The matrix whose columns are powers of x, falling unless told otherwise."""
    if x.dim() != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    columns = x.numel() if N is None else N
    if columns < 0:
        raise RuntimeError("N must be non-negative.")
    base = x if x.is_floating_point() or x.is_complex() else x.long()
    result = F.ones(x.numel(), columns, dtype=base.dtype, device=base.device)
    if columns > 1:
        result[:, 1:] = base.unsqueeze(1).expand(-1, columns - 1).cumprod(1)
    return result if increasing else result.flip(1)


def norm_except_dim(v: Tensor, pow: int = 2, dim: int = 0) -> Tensor:
    """The norms over all dimensions but one, shaped to divide v by; dim=-1: one norm of all of it."""
    if dim == -1:
        return v.norm(pow)
    v.size(dim)  # refuses one that is not there
    others = [d for d in range(v.dim()) if d != dim % v.dim()]
    return v.norm(pow, others, keepdim=True) if others else v.abs()


def _weight_norm(v: Tensor, g: Tensor, dim: int = 0) -> Tensor:
    """The direction of v with the length g."""
    return v * (g / norm_except_dim(v, 2, dim))


def frobenius_norm(input: Tensor, dim: int | list[int], keepdim: bool = False) -> Tensor:
    """The Frobenius norm. Use torch.linalg.vector_norm in new programs."""
    warnings.warn(
        "at::frobenius_norm is deprecated and it is just left for JIT compatibility. It will be removed in a "
        "future PyTorch release. Please use `linalg.vector_norm(A, 2., dim, keepdim)` instead",
        stacklevel=2,
    )
    return input.norm(2, dim, keepdim=keepdim)


def nuclear_norm(input: Tensor, dim: tuple[int, int] = (-2, -1), keepdim: bool = False) -> Tensor:
    """The sum of the singular values. Use torch.linalg.matrix_norm in new programs."""
    warnings.warn(
        "at::nuclear_norm is deprecated and it is just left for JIT compatibility. It will be removed in a "
        "future PyTorch release. Please use `linalg.matrix_norm(A, 'nuc', dim, keepdim)` instead",
        stacklevel=2,
    )
    return _C._linalg.matrix_norm(input, "nuc", dim, keepdim)


# ---- control flow as functions -----------------------------------------------------------------------


def cond(
    pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: Sequence[Any] = ()
) -> Any:
    """`true_fn(*operands)` where `pred` holds, else `false_fn(*operands)`."""
    return true_fn(*operands) if pred else false_fn(*operands)


def while_loop(
    cond_fn: Callable[..., Any], body_fn: Callable[..., Any], carried_inputs: Sequence[Any]
) -> tuple[Any, ...]:
    """Calls `body_fn` with what it last returned, as long as `cond_fn` of that holds."""
    carried = tuple(carried_inputs)
    while cond_fn(*carried):
        carried = tuple(body_fn(*carried))
    return carried


def sym_ite(b: Any, t: Any, f: Any) -> Any:
    """t if b else f."""
    return t if b else f


def sym_sum(*args: Any) -> Any:
    """The sum of its arguments, or of the one list they are."""
    return sum(args[0] if len(args) == 1 and isinstance(args[0], (list, tuple)) else args)


def _function_of_numbers(name: str) -> Callable[[Any], Any]:
    """A function of math that asks a symbolic number for the result."""
    of_number, of_symbol = getattr(math, name), f"__sym_{name}__"

    def applied(a: Any) -> Any:
        if hasattr(a, of_symbol):
            return getattr(a, of_symbol)()
        return of_number(a)

    applied.__name__ = applied.__qualname__ = f"_sym_{name}"
    applied.__doc__ = f"math.{name}(a), also of symbolic numbers."
    return applied


_sym_acos, _sym_asin, _sym_atan = map(_function_of_numbers, ("acos", "asin", "atan"))
_sym_cos, _sym_cosh, _sym_log2 = map(_function_of_numbers, ("cos", "cosh", "log2"))
_sym_sin, _sym_sinh, _sym_sqrt = map(_function_of_numbers, ("sin", "sinh", "sqrt"))
_sym_tan, _sym_tanh = map(_function_of_numbers, ("tan", "tanh"))
sym_sqrt = _sym_sqrt


# ---- removed from PyTorch ----------------------------------------------------------------------------

_REMOVED = "This function was deprecated since version 1.9 and is now removed. "


def matrix_rank(
    input: Tensor, tol: float | None = None, symmetric: bool = False, *, out: Any = None
) -> Tensor:
    raise RuntimeError(
        f"{_REMOVED.rstrip()}\nPlease use the `torch.linalg.matrix_rank` function instead. The parameter "
        "'symmetric' was renamed in `torch.linalg.matrix_rank()` to 'hermitian'."
    )


def solve(input: Tensor, A: Tensor, *, out: Any = None) -> tuple[Tensor, Tensor]:
    raise RuntimeError(
        f"{_REMOVED}`torch.solve` is deprecated in favor of `torch.linalg.solve`. `torch.linalg.solve` has its "
        "arguments reversed and does not return the LU factorization.\n\nTo get the LU factorization see "
        "`torch.lu`, which can be used with `torch.lu_solve` or `torch.lu_unpack`.\n"
        "X = torch.solve(B, A).solution should be replaced with:\nX = torch.linalg.solve(A, B)"
    )


def lstsq(input: Tensor, A: Tensor, *, out: Any = None) -> tuple[Tensor, Tensor]:
    raise RuntimeError(
        f"{_REMOVED}`torch.lstsq` is deprecated in favor of `torch.linalg.lstsq`.\n`torch.linalg.lstsq` has "
        "reversed arguments and does not return the QR decomposition in the returned tuple (although it returns "
        "other information about the problem).\n\nTo get the QR decomposition consider using "
        "`torch.linalg.qr`.\n\nThe returned solution in `torch.lstsq` stored the residuals of the solution in "
        "the last m - n columns of the returned value whenever m > n. In torch.linalg.lstsq, the residuals are "
        "in the field 'residuals' of the returned named tuple.\n\nThe unpacking of the solution, as in\n"
        "X, _ = torch.lstsq(B, A).solution[:A.size(1)]\nshould be replaced with:\n"
        "X = torch.linalg.lstsq(A, B).solution"
    )


def eig(self: Tensor, eigenvectors: bool = False, *, e: Any = None, v: Any = None) -> tuple[Tensor, Tensor]:
    raise RuntimeError(
        f"{_REMOVED}`torch.linalg.eig` returns complex tensors of dtype `cfloat` or `cdouble` rather than real "
        "tensors mimicking complex tensors.\n\nL, _ = torch.eig(A) should be replaced with:\n"
        "L_complex = torch.linalg.eigvals(A)\n\nand\n\nL, V = torch.eig(A, eigenvectors=True) should be "
        "replaced with:\nL_complex, V_complex = torch.linalg.eig(A)"
    )


def symeig(
    input: Tensor, eigenvectors: bool = False, upper: bool = True, *, out: Any = None
) -> tuple[Tensor, Tensor]:
    raise RuntimeError(
        f"{_REMOVED}The default behavior has changed from using the upper triangular portion of the matrix by "
        "default to using the lower triangular portion.\n\nL, _ = torch.symeig(A, upper=upper) should be "
        "replaced with:\nL = torch.linalg.eigvalsh(A, UPLO='U' if upper else 'L')\n\nand\n\n"
        "L, V = torch.symeig(A, eigenvectors=True) should be replaced with:\n"
        "L, V = torch.linalg.eigh(A, UPLO='U' if upper else 'L')"
    )


overrides.ask_first(sys.modules[__name__], lambda name: name != "set_anomaly_enabled")

for _function in [f for f in globals().values() if getattr(f, "__module__", None) == __name__]:
    _function.__module__ = __name__.partition(".")[0]  # where programs find it
