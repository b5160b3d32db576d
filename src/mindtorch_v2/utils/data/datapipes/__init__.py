"""Datasets made of steps: each takes another as its source, by its class or as a method of it."""

from . import iter as iter
from . import map as map
