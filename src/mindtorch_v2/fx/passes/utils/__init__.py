"""``torch.fx.passes.utils``: parts of graphs, found and taken out."""

from ...._absent import names_of

__getattr__ = names_of(__name__)
