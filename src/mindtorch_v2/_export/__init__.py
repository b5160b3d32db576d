"""torch._export: there are no exported graphs; what others mark for an exporter stays what it is."""

from .._absent import names_of

__getattr__ = names_of(__name__)
