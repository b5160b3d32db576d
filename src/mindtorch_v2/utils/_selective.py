"""Selective checkpoints: a policy says of each operator whether its result is kept or computed again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from enum import Enum
from typing import Any

import mindtorch_v2 as torch

from .._library.custom_ops import CustomOperator
from ._python_dispatch import TorchDispatchMode
from ._pytree import tree_map


class CheckpointPolicy(Enum):
    """What a function says of an operator's results when it chooses what is kept for backward."""

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5


class SelectiveCheckpointContext:
    """What a policy is told beside the operator and its arguments: which of the two runs it is asked in."""

    def __init__(self, *, is_recompute: bool) -> None:
        self.is_recompute = is_recompute


Policy = Callable[..., CheckpointPolicy | bool]


def _ignored(operator: Any) -> bool:
    """What tells of a tensor instead of computing one."""
    return operator in SAC_IGNORED_OPS


SAC_IGNORED_OPS = {torch.ops.aten.detach.default}


class _VersionWrapper:
    """A kept value, and the version that a tensor had."""

    def __init__(self, val: Any) -> None:
        self.val = val
        self.version = val._version if isinstance(val, torch.Tensor) else None

    def get_val(self, allow_cache_entry_mutation: bool) -> Any:
        if self.version is not None and not allow_cache_entry_mutation and self.val._version != self.version:
            raise RuntimeError("Tensor cached during selective activation checkpoint has been mutated")
        return self.val


def _saves(answer: CheckpointPolicy | bool) -> bool:
    return answer is True or answer in (CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE)


Storage = dict[Any, list[Any]]


class _CachingTorchDispatchMode(TorchDispatchMode):
    """The first run: keeps what the policy says."""

    def __init__(self, policy_fn: Policy, storage: Storage) -> None:
        super().__init__()
        self.policy_fn, self.storage = policy_fn, storage

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        made = func(*args, **kwargs)
        if _ignored(func):
            return made
        asked = SelectiveCheckpointContext(is_recompute=False)
        if _saves(self.policy_fn(asked, func, *args, **kwargs)):
            # Without history: the result gets one that leads here.
            kept = tree_map(lambda x: x.detach() if isinstance(x, torch.Tensor) else x, made)
            self.storage[func].append(tree_map(_VersionWrapper, kept))
        return made


class _CachedTorchDispatchMode(TorchDispatchMode):
    """The second run: takes what was kept."""

    def __init__(self, policy_fn: Policy, storage: Storage, allow_cache_entry_mutation: bool) -> None:
        super().__init__()
        self.policy_fn, self.storage = policy_fn, storage
        self.allow_cache_entry_mutation = allow_cache_entry_mutation

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        asked = SelectiveCheckpointContext(is_recompute=True)
        if _ignored(func) or not _saves(self.policy_fn(asked, func, *args, **kwargs)):
            return func(*args, **kwargs)
        if func not in self.storage:
            raise RuntimeError(f"{func} encountered during backward, but not found in storage")
        kept = self.storage[func]
        if not kept:
            raise RuntimeError(
                "Trying to backward an extra time. You are only allowed to backward once on any region computed "
                "under selective activation checkpoint."
            )
        return tree_map(lambda x: x.get_val(self.allow_cache_entry_mutation), kept.pop(0))


def _policy_of(operators: list[Any]) -> Policy:
    for operator in operators:
        if isinstance(operator, (torch._ops.OpOverload, CustomOperator)):
            continue
        hint = (
            "Please update the OpOverloadPacket to a specific OpOverload. For example, if you have "
            "`torch.ops.aten.mm`, change it to `torch.ops.aten.mm.default`."
            if isinstance(operator, torch._ops.OpOverloadPacket)
            else ""
        )
        raise ValueError(
            f"Expected op in `op_list` to be an OpOverload but got: {operator} of type {type(operator)}. {hint}"
        )
    return lambda ctx, operator, *args, **kwargs: operator in operators


def create_selective_checkpoint_contexts(
    policy_fn_or_list: Policy | list[Any], allow_cache_entry_mutation: bool = False
) -> tuple[TorchDispatchMode, TorchDispatchMode]:
    """For ``context_fn`` of a checkpoint: what the policy saves or the listed operators make is kept."""
    if isinstance(policy_fn_or_list, list):
        policy = _policy_of(policy_fn_or_list)
    elif callable(policy_fn_or_list):
        policy = policy_fn_or_list
    else:
        raise TypeError(
            f"policy_fn_or_list must be either a function or a list of ops. Got {type(policy_fn_or_list)}"
        )
    storage: Storage = defaultdict(list)
    return (
        _CachingTorchDispatchMode(policy, storage),
        _CachedTorchDispatchMode(policy, storage, allow_cache_entry_mutation),
    )
