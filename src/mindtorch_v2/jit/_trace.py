"""``torch.jit._trace``: where PyTorch keeps them; some packages look here."""

from .._absent import names_of
from . import TracerWarning as TracerWarning
from . import is_tracing as is_tracing
from . import trace as trace
from . import trace_module as trace_module

__getattr__ = names_of(__name__)
