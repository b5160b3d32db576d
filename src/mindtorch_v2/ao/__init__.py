"""``torch.ao``: quantization, which is not here, and modules that models keep for it."""

from .._absent import names_of

__getattr__ = names_of(__name__)
