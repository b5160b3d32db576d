"""``torch.ao.quantization``: there is none, but models may carry the modules that mark where it would be."""

from ..._absent import names_of
from .stubs import DeQuantStub, QuantStub, QuantWrapper

__all__ = ["DeQuantStub", "QuantStub", "QuantWrapper"]

__getattr__ = names_of(__name__)
