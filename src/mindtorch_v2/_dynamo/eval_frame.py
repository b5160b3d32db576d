"""Where PyTorch keeps the class of compiled modules."""

from .._absent import names_of
from ..nn.modules._compiled import OptimizedModule as OptimizedModule

OptimizedModule.__module__ = __name__
__getattr__ = names_of(__name__)
