"""``torch.fx.passes``: what is done with graphs."""

from ..._absent import names_of

__getattr__ = names_of(__name__)
