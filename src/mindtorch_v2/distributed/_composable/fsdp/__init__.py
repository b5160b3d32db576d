"""``fully_shard`` under its older name."""

from ...fsdp import CPUOffloadPolicy as CPUOffloadPolicy
from ...fsdp import FSDPModule as FSDPModule
from ...fsdp import MixedPrecisionPolicy as MixedPrecisionPolicy
from ...fsdp import OffloadPolicy as OffloadPolicy
from .fully_shard import fully_shard as fully_shard  # the function, not the module
