"""``torch.distributed.optim``: optimizers over several processes."""

from ..._absent import names_of
from .zero_redundancy_optimizer import ZeroRedundancyOptimizer as ZeroRedundancyOptimizer

__getattr__ = names_of(__name__)
