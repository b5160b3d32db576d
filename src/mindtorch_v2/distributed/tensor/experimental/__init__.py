"""What may still change in PyTorch."""

from ...._absent import names_of
from .._api import implicit_replication as implicit_replication

__getattr__ = names_of(__name__)
