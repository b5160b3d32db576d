"""``torch.quantization``: the older name of ``torch.ao.quantization``."""

from .._absent import names_of
from ..ao.quantization import DeQuantStub as DeQuantStub
from ..ao.quantization import QuantStub as QuantStub
from ..ao.quantization import QuantWrapper as QuantWrapper

__all__ = ["DeQuantStub", "QuantStub", "QuantWrapper"]

__getattr__ = names_of(__name__)
