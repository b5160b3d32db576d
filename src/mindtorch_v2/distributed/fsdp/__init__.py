"""``torch.distributed.fsdp``: models whose parameters lie in parts on the processes, whole only while they compute."""

from ..._absent import names_of
from ._policies import CPUOffloadPolicy as CPUOffloadPolicy
from ._policies import MixedPrecisionPolicy as MixedPrecisionPolicy
from ._policies import OffloadPolicy as OffloadPolicy
from ._sharding import FSDPModule as FSDPModule
from ._sharding import UnshardHandle as UnshardHandle
from ._sharding import fully_shard as fully_shard
from ._sharding import register_fsdp_forward_method as register_fsdp_forward_method
from .fully_sharded_data_parallel import BackwardPrefetch as BackwardPrefetch
from .fully_sharded_data_parallel import CPUOffload as CPUOffload
from .fully_sharded_data_parallel import FullOptimStateDictConfig as FullOptimStateDictConfig
from .fully_sharded_data_parallel import FullStateDictConfig as FullStateDictConfig
from .fully_sharded_data_parallel import FullyShardedDataParallel as FullyShardedDataParallel
from .fully_sharded_data_parallel import LocalOptimStateDictConfig as LocalOptimStateDictConfig
from .fully_sharded_data_parallel import LocalStateDictConfig as LocalStateDictConfig
from .fully_sharded_data_parallel import MixedPrecision as MixedPrecision
from .fully_sharded_data_parallel import OptimStateDictConfig as OptimStateDictConfig
from .fully_sharded_data_parallel import OptimStateKeyType as OptimStateKeyType
from .fully_sharded_data_parallel import ShardedOptimStateDictConfig as ShardedOptimStateDictConfig
from .fully_sharded_data_parallel import ShardedStateDictConfig as ShardedStateDictConfig
from .fully_sharded_data_parallel import ShardingStrategy as ShardingStrategy
from .fully_sharded_data_parallel import StateDictConfig as StateDictConfig
from .fully_sharded_data_parallel import StateDictSettings as StateDictSettings
from .fully_sharded_data_parallel import StateDictType as StateDictType

__getattr__ = names_of(__name__)
