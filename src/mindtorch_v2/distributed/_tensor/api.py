"""An older name."""

from ..tensor import DTensor as DTensor
from ..tensor import distribute_module as distribute_module
from ..tensor import distribute_tensor as distribute_tensor
