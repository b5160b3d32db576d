"""``fully_shard`` in the module that once had it."""

from ...fsdp import FSDPModule as FSDPModule
from ...fsdp import UnshardHandle as UnshardHandle
from ...fsdp import fully_shard as fully_shard
from ...fsdp import register_fsdp_forward_method as register_fsdp_forward_method
