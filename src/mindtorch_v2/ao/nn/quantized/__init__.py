"""``torch.ao.nn.quantized``: where ``torch.nn.quantized`` moved."""

from ...._absent import names_of
from ....nn.quantized import FloatFunctional as FloatFunctional

__all__ = ["FloatFunctional"]

__getattr__ = names_of(__name__)
