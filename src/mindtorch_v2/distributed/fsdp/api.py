"""What a program says to ``FullyShardedDataParallel``: strategies, precision, and the kinds of state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto

from ... import nn
from ..._C import dtype


class ShardingStrategy(Enum):
    """What is in parts: all, all but parameters between forward and backward, nothing; or all within a machine."""

    FULL_SHARD = auto()
    SHARD_GRAD_OP = auto()
    NO_SHARD = auto()
    HYBRID_SHARD = auto()
    _HYBRID_SHARD_ZERO2 = auto()


class BackwardPrefetch(Enum):
    """When, in backward, the next parameters are gathered: before a module's gradients are computed, or after."""

    BACKWARD_PRE = auto()
    BACKWARD_POST = auto()


class StateDictType(Enum):
    """Whether ``state_dict`` has full tensors, each process's plain parts, or distributed tensors."""

    FULL_STATE_DICT = auto()
    LOCAL_STATE_DICT = auto()
    SHARDED_STATE_DICT = auto()


class OptimStateKeyType(Enum):
    """How the state of an optimizer names parameters."""

    PARAM_NAME = auto()
    PARAM_ID = auto()


@dataclass
class MixedPrecision:
    """dtypes of computing, of summing gradients and of buffers; None: as they are."""

    param_dtype: dtype | None = None
    reduce_dtype: dtype | None = None
    buffer_dtype: dtype | None = None
    keep_low_precision_grads: bool = False
    cast_forward_inputs: bool = False
    cast_root_forward_inputs: bool = True
    _module_classes_to_ignore: Sequence[type[nn.Module]] = (nn.modules.batchnorm._BatchNorm,)


@dataclass
class CPUOffload:
    """Whether parts and their gradients are kept on the host."""

    offload_params: bool = False


@dataclass
class StateDictConfig:
    """The base of what is said about ``state_dict``."""

    offload_to_cpu: bool = False


@dataclass
class FullStateDictConfig(StateDictConfig):
    """Full tensors, on all processes or on the first."""

    rank0_only: bool = False


@dataclass
class LocalStateDictConfig(StateDictConfig):
    """Plain parts."""


@dataclass
class ShardedStateDictConfig(StateDictConfig):
    """Distributed tensors; here they are always DTensors."""

    _use_dtensor: bool = False


@dataclass
class OptimStateDictConfig:
    """The base of what is said about ``optim_state_dict``."""

    offload_to_cpu: bool = True


@dataclass
class FullOptimStateDictConfig(OptimStateDictConfig):
    """Full tensors, on all processes or on the first."""

    rank0_only: bool = False


@dataclass
class LocalOptimStateDictConfig(OptimStateDictConfig):
    """Plain parts."""

    offload_to_cpu: bool = False


@dataclass
class ShardedOptimStateDictConfig(OptimStateDictConfig):
    """Distributed tensors; here they are always DTensors."""

    _use_dtensor: bool = False


@dataclass
class StateDictSettings:
    """A kind of state with what is said about both its halves."""

    state_dict_type: StateDictType
    state_dict_config: StateDictConfig
    optim_state_dict_config: OptimStateDictConfig


CONFIGS: dict[StateDictType, tuple[type[StateDictConfig], type[OptimStateDictConfig]]] = {
    StateDictType.FULL_STATE_DICT: (FullStateDictConfig, FullOptimStateDictConfig),
    StateDictType.LOCAL_STATE_DICT: (LocalStateDictConfig, LocalOptimStateDictConfig),
    StateDictType.SHARDED_STATE_DICT: (ShardedStateDictConfig, ShardedOptimStateDictConfig),
}


def settings(
    kind: StateDictType, state: StateDictConfig | None = None, optim: OptimStateDictConfig | None = None
) -> StateDictSettings:
    """With what is not given filled in; a config of another kind is refused."""
    wanted, wanted_optim = CONFIGS[kind]
    for given, expected in ((state, wanted), (optim, wanted_optim)):
        if given is not None and type(given) is not expected:
            raise RuntimeError(
                f"Expected state_dict_config of type {expected} but got {type(given)} for {kind}"
            )
    return StateDictSettings(kind, state or wanted(), optim or wanted_optim())
