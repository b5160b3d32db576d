"""Memory formats, layouts, and the limits of number types."""

from __future__ import annotations

from collections.abc import Callable

from . import _C


class memory_format(int):
    """The order of a tensor's dimensions in memory. Native code reads the number."""

    _name: str

    def __new__(cls, value: int, name: str) -> memory_format:
        self = super().__new__(cls, value)
        self._name = name
        return self

    def __repr__(self) -> str:
        return f"torch.{self._name}"

    def __reduce__(self) -> str:
        return self._name


contiguous_format = memory_format(0, "contiguous_format")
legacy_contiguous_format = contiguous_format  # the older name
preserve_format = memory_format(1, "preserve_format")
channels_last = memory_format(2, "channels_last")
channels_last_3d = memory_format(3, "channels_last_3d")


class layout:
    """How a tensor stores its elements; every tensor here is strided."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"torch.{self._name}"

    def __reduce__(self) -> tuple[Callable[[str], layout], tuple[str]]:
        from .serialization import _get_layout

        return _get_layout, (repr(self),)


for _type in (memory_format, layout):
    _type.__module__ = "mindtorch_v2"  # where people and files know them
strided = layout("strided")
# No tensor here has one of these; programs compare `x.layout` with them.
sparse_coo, sparse_csr, sparse_csc = layout("sparse_coo"), layout("sparse_csr"), layout("sparse_csc")
sparse_bsr, sparse_bsc, jagged, _mkldnn = map(layout, ("sparse_bsr", "sparse_bsc", "jagged", "_mkldnn"))
_C._set_strided(strided)

_FLOATS = {  # bits, eps, max, tiny, resolution
    "float16": (16, 2.0**-10, 65504.0, 2.0**-14, 1e-3),
    "bfloat16": (16, 2.0**-7, (2 - 2.0**-7) * 2.0**127, 2.0**-126, 1e-2),
    "float32": (32, 2.0**-23, (2 - 2.0**-23) * 2.0**127, 2.0**-126, 1e-6),
    "float8_e4m3fn": (8, 0.125, 448.0, 2.0**-6, 1.0),
    "float8_e5m2": (8, 0.25, 57344.0, 2.0**-14, 1.0),
    "float64": (64, 2.0**-52, (2 - 2.0**-52) * 2.0**1023, 2.0**-1022, 1e-15),
}


class finfo:
    """Limits of a floating-point dtype; of its real type for a complex one."""

    def __init__(self, type: _C.dtype | None = None) -> None:
        dtype = _C.get_default_dtype() if type is None else type
        name = {"complex64": "float32", "complex128": "float64"}.get(dtype.name, dtype.name)
        if name not in _FLOATS:
            raise TypeError(
                "torch.finfo() requires a floating point input type. "
                f"Use torch.iinfo to handle '{dtype.name}'"
            )
        self.dtype = name
        self.bits, self.eps, self.max, self.tiny, self.resolution = _FLOATS[name]
        self.min = -self.max
        self.smallest_normal = self.tiny

    def __repr__(self) -> str:
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, eps={self.eps:g}, "
            f"smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, dtype={self.dtype})"
        )


class iinfo:
    """Limits of an integer dtype."""

    def __init__(self, type: _C.dtype) -> None:
        if type.is_floating_point or type.is_complex or type.name == "bool":
            raise TypeError(
                f"torch.iinfo() requires an integer input type. Use torch.finfo to handle '{type.name}'"
            )
        self.dtype = type.name
        self.bits = type.itemsize * 8
        self.max = 2 ** (self.bits - 1) - 1 if type.is_signed else 2**self.bits - 1
        self.min = -(2 ** (self.bits - 1)) if type.is_signed else 0

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"
