"""``torch.distributed.optim``: optimizers over several processes."""

from ..._absent import names_of
from .apply_optimizer_in_backward import _apply_optimizer_in_backward as _apply_optimizer_in_backward
from .apply_optimizer_in_backward import _get_in_backward_optimizers as _get_in_backward_optimizers
from .post_localSGD_optimizer import PostLocalSGDOptimizer as PostLocalSGDOptimizer
from .utils import as_functional_optim as as_functional_optim
from .zero_redundancy_optimizer import ZeroRedundancyOptimizer as ZeroRedundancyOptimizer

__getattr__ = names_of(__name__)
