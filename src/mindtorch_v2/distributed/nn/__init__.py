"""``torch.distributed.nn``: collectives with gradients."""

from ..._absent import names_of
from .functional import *  # noqa: F403

__getattr__ = names_of(__name__)
