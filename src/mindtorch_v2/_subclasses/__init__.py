"""``torch._subclasses``: tensors that have everything but values."""

from __future__ import annotations

from .._absent import names_of
from .cross_ref import CrossRefFakeMode as CrossRefFakeMode
from .fake_tensor import DynamicOutputShapeException as DynamicOutputShapeException
from .fake_tensor import FakeTensor as FakeTensor
from .fake_tensor import FakeTensorMode as FakeTensorMode
from .fake_tensor import UnsupportedFakeTensorException as UnsupportedFakeTensorException

__all__ = [
    "FakeTensor", "FakeTensorMode", "UnsupportedFakeTensorException", "DynamicOutputShapeException",
    "CrossRefFakeMode",
]  # fmt: skip

__getattr__ = names_of(__name__)
