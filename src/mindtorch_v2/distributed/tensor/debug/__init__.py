"""``torch.distributed.tensor.debug``: what a program sends, and where the parts of a tensor lie."""

from ._comm_mode import CommDebugMode as CommDebugMode
from ._visualize_sharding import visualize_sharding as visualize_sharding

__all__ = ["CommDebugMode", "visualize_sharding"]
