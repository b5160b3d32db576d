"""What a user says about precision and about where parts are kept."""

from __future__ import annotations

from dataclasses import dataclass

from ..._C import dtype


@dataclass(frozen=True)
class MixedPrecisionPolicy:
    """dtypes of computing (``param_dtype``), of summing gradients and of outputs; None: as they are."""

    param_dtype: dtype | None = None
    reduce_dtype: dtype | None = None
    output_dtype: dtype | None = None
    cast_forward_inputs: bool = True


@dataclass(frozen=True)
class OffloadPolicy:
    """Parts stay on the device."""


@dataclass(frozen=True)
class CPUOffloadPolicy(OffloadPolicy):
    """Parts and their gradients are kept on the host."""

    pin_memory: bool = True
