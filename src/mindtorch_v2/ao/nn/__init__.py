"""``torch.ao.nn``: modules for quantization."""

from ..._absent import names_of

__getattr__ = names_of(__name__)
