"""PyTorch's operator database for another library: the same call, the same inputs, results that compare.

An OpInfo names a public function, or is a small function over the module `torch`; the first is looked up in the
other library by its name, the second runs again with that library in the place of `torch`.
"""

from __future__ import annotations

import functools
import itertools
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch.testing._internal import common_utils
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo import core

_NAMESPACES = (
    "",
    "Tensor",
    "nn.functional",
    "linalg",
    "fft",
    "special",
    "signal.windows",
    "masked",
    "_C._nn",
)
_SETTINGS = (torch.dtype, torch.layout, torch.memory_format)

# For every list of samples PyTorch reads all frames of the stack, with their sources, to find the unittest that asks,
# which is none here; for every seed it keeps the stack for a GPU. That took nine tenths of the time.
core.extract_test_fn = common_utils.extract_test_fn = lambda: None
for _device in (torch.cuda, torch.mtia, torch.xpu):
    if not _device.is_available():
        _device.manual_seed_all = lambda seed: None


class Untranslatable(Exception):
    """An argument that only PyTorch has (a nested tensor)."""


def full_name(op: Any) -> str:
    return f"{op.name}.{op.variant_test_name}" if op.variant_test_name else op.name


# Some need another device (none of their dtypes is the CPU's).
OPS = {full_name(op): op for op in op_db if op.supported_dtypes("cpu") and "jiterator" not in op.name}


def choose(op: Any, dtype: torch.dtype, count: int, grad: bool = False) -> list[Any]:
    """Some of the op's samples, spread over the first of them (they get larger and rarer later)."""
    torch.manual_seed(1)
    np.random.seed(1)
    drawn = list(itertools.islice(op.sample_inputs("cpu", dtype, requires_grad=grad), 60))
    step = max(1, -(-len(drawn) // count))
    return drawn[::step]


# ---- the call ------------------------------------------------------------------------------------


def lookup(lib: Any, path: str) -> Any:
    for part in path.split("."):
        lib = getattr(lib, part)
    return lib


def path_of(function: Any) -> str | None:
    """The public dotted name of a function of PyTorch."""
    if isinstance(function, torch._ops.OpOverload | torch._ops.OpOverloadPacket):
        return f"ops.{function}"
    name = getattr(function, "__name__", "")
    for namespace in _NAMESPACES:
        path = f"{namespace}.{name}".lstrip(".")
        try:
            if lookup(torch, path) == function:
                return path
        except AttributeError:
            continue
    return None


def public_name(op: Any) -> str | None:
    """The function an OpInfo calls, or None if it is more than one call."""
    if isinstance(op.op, types.FunctionType) and op.op.__module__.startswith("torch.testing"):
        return None
    name = op.name.removeprefix("torch.")
    try:
        if callable(lookup(torch, name)):
            return name
    except AttributeError:
        pass
    return path_of(op.op)


def rebind(function: Any, lib: Any) -> Any:
    """A function of PyTorch's test files with `lib` in the place of `torch`."""
    if isinstance(function, functools.partial):
        arguments = {k: rebind(v, lib) for k, v in function.keywords.items()}
        return functools.partial(rebind(function.func, lib), *function.args, **arguments)
    if not isinstance(function, types.FunctionType):
        path = path_of(function) if callable(function) else None
        return lookup(lib, path) if path else function
    if function.__name__ == "wrapper_set_seed":  # the caller seeds
        return lambda op, *args, **kwargs: op(*args, **kwargs)
    if not function.__module__.startswith("torch.testing"):
        path = path_of(function)
        return lookup(lib, path) if path else function
    scope = dict(function.__globals__)
    scope["torch"], scope["F"] = lib, lib.nn.functional
    scope["wrapper_set_seed"] = lambda op, *args, **kwargs: op(*args, **kwargs)
    cells = tuple(types.CellType(rebind(c.cell_contents, lib)) for c in function.__closure__ or ())
    copy = types.FunctionType(function.__code__, scope, function.__name__, function.__defaults__, cells)
    copy.__kwdefaults__ = function.__kwdefaults__
    return copy


def translated(op: Any, lib: Any) -> Callable[..., Any]:
    """The OpInfo's call in the other library; AttributeError if it has none."""
    path = public_name(op)
    if path is None:
        return rebind(op.op, lib)
    return lookup(lib, path)


# ---- arguments and results -----------------------------------------------------------------------


class Translator:
    """PyTorch's arguments as another library's: what was one tensor is one tensor there, in memory that is shared if it
    was."""

    def __init__(self, lib: Any, device: str = "cpu") -> None:
        self.lib, self.device = lib, device
        self.made: dict[int, Any] = {}
        self.kept: list[torch.Tensor] = []
        self.memory: dict[tuple[int, torch.dtype], Any] = {}  # by storage and dtype, all of it

    def __call__(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            if id(value) not in self.made:
                self.made[id(value)] = self._tensor(value)
            return self.made[id(value)]
        if isinstance(value, _SETTINGS):
            return getattr(self.lib, str(value).removeprefix("torch."))
        if isinstance(value, torch.device):
            return self.lib.device(self.device if value.type == "cpu" else str(value))
        if isinstance(value, torch.Generator):
            return self.lib.Generator().manual_seed(value.initial_seed())
        if isinstance(value, torch.nn.Module):  # a distance function
            return getattr(self.lib.nn, type(value).__name__)()
        if isinstance(value, slice):
            return slice(*map(self, (value.start, value.stop, value.step)))
        if isinstance(value, dict):
            return {k: self(v) for k, v in value.items()}
        if isinstance(value, list | tuple):
            return [self(v) for v in value] if isinstance(value, list) else tuple(map(self, value))
        return rebind(value, self.lib) if callable(value) else value

    def _tensor(self, x: torch.Tensor) -> Any:
        if x.layout is not torch.strided:
            made = self._sparse(x.detach())
            return made.requires_grad_() if x.requires_grad else made
        dtype = getattr(self.lib, str(x.dtype).removeprefix("torch."))
        if x.is_meta:
            return self.lib.empty_strided(tuple(x.shape), x.stride(), dtype=dtype, device="meta")
        plain = x.detach().resolve_conj().resolve_neg()
        key = (plain.untyped_storage().data_ptr(), x.dtype)
        if key not in self.memory or not key[0]:
            # The whole storage, for operators that look beyond the tensor.
            count = plain.untyped_storage().nbytes() // plain.element_size()
            whole = plain.as_strided((count,), (1,), 0).clone()
            if x.dtype is torch.bfloat16:
                whole = whole.float()
            self.memory[key] = self.lib.from_numpy(whole.numpy()).to(self.device, dtype, copy=True)
            self.kept.append(plain)  # so that its address stays its own
        made = self.memory[key]
        with self.lib.no_grad():
            made = made.as_strided(tuple(plain.shape), plain.stride(), plain.storage_offset())
        made = made.detach()
        return made.requires_grad_() if x.requires_grad else made

    def _sparse(self, x: torch.Tensor) -> Any:
        size, layout = tuple(x.shape), self(x.layout)
        if x.layout is torch.sparse_coo:
            parts = self._tensor(x._indices()), self._tensor(x._values())
            return self.lib.sparse_coo_tensor(*parts, size, is_coalesced=x.is_coalesced())
        if x.layout in (torch.sparse_csr, torch.sparse_bsr):
            compressed, plain = x.crow_indices(), x.col_indices()
        elif x.layout in (torch.sparse_csc, torch.sparse_bsc):
            compressed, plain = x.ccol_indices(), x.row_indices()
        else:
            raise Untranslatable(str(x.layout))
        parts = [self._tensor(part) for part in (compressed, plain, x.values())]
        return self.lib.sparse_compressed_tensor(*parts, size, layout=layout)


def leaves(value: Any) -> Iterator[Any]:
    """Tensors and numbers of a result, in order."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for v in value:
            yield from leaves(v)
    elif value is not None:
        yield value


def as_array(value: Any) -> np.ndarray:
    """A tensor of either library, or a number; half precisions as float32."""
    if not hasattr(value, "detach"):
        return np.asarray(value)
    host = value.detach().to_dense().cpu().resolve_conj().resolve_neg()
    if str(host.dtype).endswith("bfloat16"):
        host = host.float()
    return host.numpy(force=True)  # PyTorch has tensors of zeros without memory


_TOLERANCE = {
    "float16": (1e-3, 1e-3),
    "bfloat16": (1.6e-2, 1e-2),
    "float64": (1e-7, 1e-7),
    "complex128": (1e-7, 1e-7),
}
_FLOATING = ("float32", "complex64", *_TOLERANCE)


def compare(got: Any, wanted: Any, what: str, values: bool = True, loosen: float = 1.0) -> None:
    """Same number of results, shapes, dtypes, values."""
    mine, other = list(leaves(got)), list(leaves(wanted))
    assert len(mine) == len(other), f"{what}: {len(mine)} results, PyTorch has {len(other)}"
    for a, b in zip(mine, other, strict=True):
        tensors = [hasattr(v, "detach") for v in (a, b)]
        assert tensors[0] == tensors[1], f"{what}: {type(a).__name__} for PyTorch's {type(b).__name__}"
        if not tensors[0]:
            assert a == b or not isinstance(b, int | float | bool | complex | str), (
                f"{what}: {a!r}, PyTorch has {b!r}"
            )
            continue
        assert tuple(a.shape) == tuple(b.shape), (
            f"{what}: shape {tuple(a.shape)}, PyTorch has {tuple(b.shape)}"
        )
        assert str(a.layout) == str(b.layout), f"{what}: {a.layout}, PyTorch has {b.layout}"
        name = str(b.dtype).removeprefix("torch.")
        assert str(a.dtype).removeprefix("torch.") == name, f"{what}: {a.dtype}, PyTorch has {b.dtype}"
        if values:
            _close(as_array(a), as_array(b), name, loosen, what)


def _close(got: np.ndarray, wanted: np.ndarray, dtype: str, loosen: float, what: str) -> None:
    if dtype not in _FLOATING:
        np.testing.assert_array_equal(got, wanted, err_msg=what)
        return
    rtol, atol = _TOLERANCE.get(dtype, (1e-5, 1e-5))
    finite = np.abs(wanted[np.isfinite(wanted)])
    # Sums of large terms that cancel leave small numbers with the large terms' rounding.
    scale = max(1.0, float(finite.max())) if finite.size else 1.0
    np.testing.assert_allclose(
        got, wanted, rtol * loosen, atol * loosen * scale, equal_nan=True, err_msg=what
    )
