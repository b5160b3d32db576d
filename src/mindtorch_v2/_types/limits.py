"""The limits of number types."""

from __future__ import annotations

from .. import _C

_FLOATS = {  # bits, eps, max, tiny, resolution
    "float16": (16, 2.0**-10, 65504.0, 2.0**-14, 1e-3),
    "bfloat16": (16, 2.0**-7, (2 - 2.0**-7) * 2.0**127, 2.0**-126, 1e-2),
    "float32": (32, 2.0**-23, (2 - 2.0**-23) * 2.0**127, 2.0**-126, 1e-6),
    "float8_e4m3fn": (8, 0.125, 448.0, 2.0**-6, 1.0),
    "float8_e5m2": (8, 0.25, 57344.0, 2.0**-14, 1.0),
    "float8_e4m3fnuz": (8, 0.125, 240.0, 2.0**-7, 1.0),
    "float8_e5m2fnuz": (8, 0.125, 57344.0, 2.0**-15, 1.0),
    "float8_e8m0fnu": (8, 1.0, 2.0**127, 2.0**-127, 1.0),
    "float64": (64, 2.0**-52, (2 - 2.0**-52) * 2.0**1023, 2.0**-1022, 1e-15),
}


class finfo:
    """Limits of a floating-point dtype; of its real type for a complex one."""

    def __init__(self, type: _C.dtype | None = None) -> None:
        dtype = _C.get_default_dtype() if type is None else type
        name = dtype.to_real().name
        if name not in _FLOATS:
            raise TypeError(
                "torch.finfo() requires a floating point input type. "
                f"Use torch.iinfo to handle '{dtype.name}'"
            )
        self.dtype = name
        self.bits, self.eps, self.max, self.tiny, self.resolution = _FLOATS[name]
        self.min = -self.max if dtype.is_signed else self.tiny
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
