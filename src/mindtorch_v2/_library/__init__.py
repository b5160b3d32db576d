"""Operators that programs register themselves; the public names are in ``library`` of ``torch``."""

from .._absent import names_of

__getattr__ = names_of(__name__)
