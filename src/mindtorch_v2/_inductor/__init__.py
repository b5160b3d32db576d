"""``torch._inductor``: PyTorch's compiler, of which the settings are here, for programs that write them."""

from .._absent import names_of
from ..compiler import cudagraph_mark_step_begin as cudagraph_mark_step_begin
from . import config as config

__getattr__ = names_of(__name__)
