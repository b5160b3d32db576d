"""``torch.distributed.fsdp``: models whose parameters lie in parts on the processes, whole only while they compute."""

from ..._absent import names_of
from ._policies import CPUOffloadPolicy as CPUOffloadPolicy
from ._policies import MixedPrecisionPolicy as MixedPrecisionPolicy
from ._policies import OffloadPolicy as OffloadPolicy
from ._sharding import FSDPModule as FSDPModule
from ._sharding import UnshardHandle as UnshardHandle
from ._sharding import fully_shard as fully_shard
from ._sharding import register_fsdp_forward_method as register_fsdp_forward_method

__getattr__ = names_of(__name__)
