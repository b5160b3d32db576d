"""Datasets made of steps: each takes another as its source, by its class or as a method of it."""

from ...._absent import names_of
from . import iter as iter
from . import map as map

__getattr__ = names_of(__name__)
