"""``torch.distributed.algorithms``: what is built on collectives."""

from ..._absent import names_of
from .join import Join as Join
from .join import Joinable as Joinable
from .join import JoinHook as JoinHook

__getattr__ = names_of(__name__)
