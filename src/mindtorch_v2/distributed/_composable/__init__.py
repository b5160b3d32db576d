"""Functions that change a module in place."""

from ..._absent import names_of

__getattr__ = names_of(__name__)
