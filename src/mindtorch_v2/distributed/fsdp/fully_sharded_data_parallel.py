"""``FullyShardedDataParallel``: the class of older programs, over what ``fully_shard`` does.

Note [The wrapper class]
A wrapper is a module around a module, and its parameters are a group as those of ``fully_shard`` are
(Note [Sharded parameters]): there is one machinery. So ``parameters()`` are DTensors, whatever ``use_orig_params``
says; they are the objects that they were before, so an optimizer may be made first. Strategies are meshes: NO_SHARD has
one part and a copy on each process, HYBRID_SHARD parts within machines and copies between them. Names in ``state_dict``
are those of the unwrapped model (``_state_dict.py``), as are those of optimizers' states (``_optim_state.py``).
"""

from __future__ import annotations

import contextlib
import functools
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ... import _C, linalg, nn
from ..._absent import names_of
from ..._C import Tensor, _functions
from ...autograd.grad_mode import no_grad
from ...utils import _pytree
from ..device_mesh import DeviceMesh
from ..process_group import ProcessGroup
from . import _optim_state, _state_dict
from ._common_utils import FSDP_WRAPPED_MODULE, clean_tensor_name
from ._policies import CPUOffloadPolicy, MixedPrecisionPolicy, OffloadPolicy
from ._preparing import convert_buffers, ignored_of, materialize, mesh_for, synchronize
from ._sharding import _cast, shard, states_below
from ._summoning import summoned
from .api import BackwardPrefetch as BackwardPrefetch
from .api import CPUOffload as CPUOffload
from .api import FullOptimStateDictConfig as FullOptimStateDictConfig
from .api import FullStateDictConfig as FullStateDictConfig
from .api import LocalOptimStateDictConfig as LocalOptimStateDictConfig
from .api import LocalStateDictConfig as LocalStateDictConfig
from .api import MixedPrecision as MixedPrecision
from .api import OptimStateDictConfig as OptimStateDictConfig
from .api import OptimStateKeyType as OptimStateKeyType
from .api import ShardedOptimStateDictConfig as ShardedOptimStateDictConfig
from .api import ShardedStateDictConfig as ShardedStateDictConfig
from .api import ShardingStrategy as ShardingStrategy
from .api import StateDictConfig as StateDictConfig
from .api import StateDictSettings as StateDictSettings
from .api import StateDictType as StateDictType
from .api import settings
from .wrap import _or_policy, _Policy, _recursive_wrap, _wrap_module_cls_individually, wrap_chosen

_KEEPS_WHOLE = (
    ShardingStrategy.SHARD_GRAD_OP,
    ShardingStrategy.NO_SHARD,
    ShardingStrategy._HYBRID_SHARD_ZERO2,
)


class FullyShardedDataParallel(nn.Module):
    """A module whose parameters lie in parts on the processes. Note [The wrapper class]."""

    def __init__(
        self,
        module: nn.Module,
        process_group: ProcessGroup | tuple[ProcessGroup, ProcessGroup] | None = None,
        sharding_strategy: ShardingStrategy | None = None,
        cpu_offload: CPUOffload | None = None,
        auto_wrap_policy: Callable[..., bool] | _Policy | None = None,
        backward_prefetch: BackwardPrefetch | None = BackwardPrefetch.BACKWARD_PRE,
        mixed_precision: MixedPrecision | None = None,
        ignored_modules: Iterable[nn.Module] | None = None,
        param_init_fn: Callable[[nn.Module], Any] | None = None,
        device_id: int | _C.device | None = None,
        sync_module_states: bool = False,
        forward_prefetch: bool = False,
        limit_all_gathers: bool = True,
        use_orig_params: bool = False,
        ignored_states: Iterable[nn.Parameter] | Iterable[nn.Module] | None = None,
        device_mesh: DeviceMesh | None = None,
    ) -> None:
        super().__init__()
        if isinstance(module, FullyShardedDataParallel):
            raise ValueError("the module is a FullyShardedDataParallel already: wrap what it wraps")
        precision = mixed_precision or MixedPrecision()
        if precision.keep_low_precision_grads:
            raise NotImplementedError(
                "MixedPrecision(keep_low_precision_grads=True) is not in this library: gradients have the dtype of "
                "their parameters"
            )
        ignored = ignored_of(module, ignored_modules, ignored_states)
        self.sharding_strategy = sharding_strategy or ShardingStrategy.FULL_SHARD
        mesh, device = mesh_for(module, process_group, self.sharding_strategy, device_id, device_mesh)
        if auto_wrap_policy is not None:
            _wrap_below(
                module,
                auto_wrap_policy,
                ignored,
                {
                    "process_group": process_group,
                    "sharding_strategy": sharding_strategy,
                    "cpu_offload": cpu_offload,
                    "backward_prefetch": backward_prefetch,
                    "mixed_precision": mixed_precision,
                    "param_init_fn": param_init_fn,
                    "device_id": device_id,
                    "sync_module_states": sync_module_states,
                    "forward_prefetch": forward_prefetch,
                    "limit_all_gathers": limit_all_gathers,
                    "use_orig_params": use_orig_params,
                    "ignored_states": ignored.parameters,
                    "device_mesh": mesh,
                },
            )
        self.process_group = mesh.get_group(mesh.ndim - 1)
        self.compute_device = device
        self.mixed_precision, self.cpu_offload = precision, cpu_offload or CPUOffload()
        self.backward_prefetch, self.forward_prefetch = backward_prefetch, forward_prefetch
        self.limit_all_gathers, self._use_orig_params = limit_all_gathers, use_orig_params
        self._in_full_precision = False  # set for modules that mixed precision leaves alone
        self._settings = settings(StateDictType.FULL_STATE_DICT)
        materialize(module, ignored, param_init_fn, device)
        self._buffer_dtypes = convert_buffers(module, ignored, device, precision.buffer_dtype)
        if sync_module_states:
            synchronize(module, ignored, mesh)
        self.add_module(FSDP_WRAPPED_MODULE, module)
        policy = MixedPrecisionPolicy(
            precision.param_dtype, precision.reduce_dtype, None, precision.cast_forward_inputs
        )
        offload = CPUOffloadPolicy() if self.cpu_offload.offload_params else OffloadPolicy()
        keeps = False if self.sharding_strategy in _KEEPS_WHOLE else None
        untouched = {id(each) for each in ignored.parameters}
        self._state = shard([self], mesh, keeps, policy, offload, untouched, keep_objects=True)
        if backward_prefetch is None:
            self._state.prefetch_backward = []
        self._state.prefetch_after = backward_prefetch is BackwardPrefetch.BACKWARD_POST
        self._register_state_dict_hook(_state_dict.after_saving)
        self._register_load_state_dict_pre_hook(functools.partial(_state_dict.before_loading, self))

    @property
    def module(self) -> nn.Module:
        """The wrapped module."""
        wrapped: nn.Module = self._modules[FSDP_WRAPPED_MODULE]  # type: ignore[assignment]
        return wrapped

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            wrapped = self.__dict__.get("_modules", {}).get(FSDP_WRAPPED_MODULE)
            if wrapped is None:
                raise
            return getattr(wrapped, name)

    def __getitem__(self, key: Any) -> Any:
        return self.module[key]  # type: ignore[index]

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The wrapped module's. Inputs of the outermost wrapper are brought to the device, and to its dtype."""
        if self._in_full_precision:
            return _in_full_precision(self.module, args, kwargs)
        if self._state.is_root:
            precision = self.mixed_precision
            wanted = precision.param_dtype if precision.cast_root_forward_inputs else None

            def brought(each: Any) -> Any:
                if not isinstance(each, Tensor):
                    return each
                each = each.to(self.compute_device) if each.device.type == "cpu" else each
                return each if wanted is None else _cast(each, wanted)

            args, kwargs = _pytree.tree_map(brought, (args, kwargs))
        return self.module(*args, **kwargs)

    def check_is_root(self) -> bool:
        """Whether no other wrapper is around this one."""
        if self._state.is_root is None:
            self._state._become_root()
        return bool(self._state.is_root)

    @property
    def _is_root(self) -> bool | None:
        return self._state.is_root

    @staticmethod
    def fsdp_modules(module: nn.Module, root_only: bool = False) -> list[FullyShardedDataParallel]:
        """The wrappers in a model, outer ones first; or only those that no other is around."""
        found = [each for each in module.modules() if isinstance(each, FullyShardedDataParallel)]
        return [each for each in found if each.check_is_root()] if root_only else found

    # What libraries look at: PyTorch has one flat parameter for each wrapper.

    @property
    def _has_params(self) -> bool:
        return bool(self._state.group.parameters)

    @property
    def _flat_param(self) -> _state_dict.FlatView | None:
        return _state_dict.FlatView(self) if self._has_params else None

    @property
    def _handle(self) -> _state_dict.FlatView | None:
        return self._flat_param

    def apply(self, fn: Callable[[nn.Module], None]) -> FullyShardedDataParallel:  # type: ignore[override]
        """Calls a function with each module, whose parameters are full meanwhile and may be written."""
        with summoned([self._state]):
            super().apply(fn)
        return self

    def named_parameters(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, nn.Parameter]]:
        """The module's; inside ``summon_full_params`` by the names of the unwrapped model."""
        for name, parameter in super().named_parameters(*args, **kwargs):
            yield (clean_tensor_name(name) if self._state.summoned else name), parameter

    def named_buffers(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, Tensor]]:
        """The module's; inside ``summon_full_params`` by the names of the unwrapped model."""
        for name, buffer in super().named_buffers(*args, **kwargs):
            yield (clean_tensor_name(name) if self._state.summoned else name), buffer

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """Gradients add up on each process, and are summed by the first backward after this."""
        if not self.check_is_root():
            raise RuntimeError("`no_sync()` is for the outermost FullyShardedDataParallel: call it there")
        states = states_below(self)
        before = [each.group.syncs for each in states]
        for each in states:
            each.group.syncs = False
        try:
            yield
        finally:
            for each, value in zip(states, before, strict=True):
                each.group.syncs = value

    @no_grad()
    def clip_grad_norm_(self, max_norm: float, norm_type: float = 2.0) -> Tensor:
        """Scales all gradients so that their norm over all processes is at most ``max_norm``; the norm before."""
        if not self.check_is_root():
            raise RuntimeError(
                "`clip_grad_norm_()` is for the outermost FullyShardedDataParallel: call it there"
            )
        by_mesh: dict[Any, list[Tensor]] = {}
        for parameter in self.parameters():
            gradient = parameter.grad
            if gradient is not None:
                by_mesh.setdefault(getattr(gradient, "device_mesh", None), []).append(gradient)
        if not by_mesh:
            warnings.warn("called FSDP.clip_grad_norm_() with no gradients: returning 0", stacklevel=3)
            return _functions.zeros((), device=self.compute_device)
        norms = []
        for gradients in by_mesh.values():
            norm = nn.utils.get_total_norm(gradients, norm_type)
            norms.append(norm.full_tensor() if hasattr(norm, "full_tensor") else norm)
        total = norms[0]
        if len(norms) > 1:
            total = linalg.vector_norm(_functions.stack(norms), norm_type)
        scale = _functions.clamp(max_norm / (total + 1e-6), max=1.0)
        for gradients in by_mesh.values():
            for gradient in gradients:
                local = getattr(gradient, "_local_tensor", gradient)
                local.mul_(scale.to(device=local.device, dtype=local.dtype))
        return total

    @staticmethod
    @contextlib.contextmanager
    def summon_full_params(
        module: nn.Module,
        recurse: bool = True,
        writeback: bool = True,
        rank0_only: bool = False,
        offload_to_cpu: bool = False,
        with_grads: bool = False,
    ) -> Iterator[None]:
        """Inside, modules have full parameters in their own dtype; what was written to them is kept."""
        if rank0_only and writeback:
            raise NotImplementedError(
                "writeback=True and rank0_only=True is not supported: other ranks have none"
            )
        own = states_below(module)
        if not recurse:
            own = [each for each in own if each is vars(module).get("_fsdp_state")]
        with summoned(own, writeback, rank0_only, offload_to_cpu, with_grads):
            yield

    def register_comm_hook(self, state: object, hook: Callable[..., Any]) -> None:
        """A program's own sum of gradients: ``hook(state, gradient)``, or ``hook(state, gradient, part)`` in parts."""
        if not self.check_is_root():
            raise AssertionError("register_comm_hook can only be called on a root instance.")
        for each in FullyShardedDataParallel.fsdp_modules(self):
            if each._state.group.copies is not None and each._state.group.shards.size() > 1:
                raise AssertionError(
                    f"Communication hook is currently not available for {each.sharding_strategy}"
                )
            group = each._state.group
            group.hook = functools.partial(_hooked, hook, state, group.shards.size() > 1)

    @staticmethod
    def set_state_dict_type(
        module: nn.Module,
        state_dict_type: StateDictType,
        state_dict_config: StateDictConfig | None = None,
        optim_state_dict_config: OptimStateDictConfig | None = None,
    ) -> StateDictSettings:
        """Says what ``state_dict`` of all wrappers in a model gives and takes; what was said before."""
        before = FullyShardedDataParallel.get_state_dict_type(module)
        said = settings(state_dict_type, state_dict_config, optim_state_dict_config)
        for each in FullyShardedDataParallel.fsdp_modules(module):
            each._settings = said
        return before

    @staticmethod
    def get_state_dict_type(module: nn.Module) -> StateDictSettings:
        """What was said last."""
        found = [each._settings for each in FullyShardedDataParallel.fsdp_modules(module)]
        if any(each != found[0] for each in found[1:]):
            raise RuntimeError(
                "the FullyShardedDataParallel modules of this model have different kinds of state_dict"
            )
        return found[0] if found else settings(StateDictType.FULL_STATE_DICT)

    @staticmethod
    @contextlib.contextmanager
    def state_dict_type(
        module: nn.Module,
        state_dict_type: StateDictType,
        state_dict_config: StateDictConfig | None = None,
        optim_state_dict_config: OptimStateDictConfig | None = None,
    ) -> Iterator[None]:
        """``set_state_dict_type`` for a while."""
        wrappers = FullyShardedDataParallel.fsdp_modules(module)
        before = [each._settings for each in wrappers]
        said = settings(state_dict_type, state_dict_config, optim_state_dict_config)
        for each in wrappers:
            each._settings = said
        try:
            yield
        finally:
            for each, old in zip(wrappers, before, strict=True):
                each._settings = old

    @staticmethod
    def optim_state_dict(
        model: nn.Module,
        optim: Any,
        optim_state_dict: dict[str, Any] | None = None,
        group: ProcessGroup | None = None,
    ) -> dict[str, Any]:
        """An optimizer's state by names of parameters, as ``state_dict_type`` says."""
        said = FullyShardedDataParallel.get_state_dict_type(model)
        return _optim_state.saved(model, optim, optim_state_dict, said)

    @staticmethod
    def optim_state_dict_to_load(
        model: nn.Module,
        optim: Any,
        optim_state_dict: dict[str, Any] | None,
        is_named_optimizer: bool = False,
        load_directly: bool = False,
        group: ProcessGroup | None = None,
    ) -> dict[str, Any]:
        """Such a state as ``optim.load_state_dict`` takes it."""
        said = FullyShardedDataParallel.get_state_dict_type(model)
        made = _optim_state.to_load(model, optim, optim_state_dict, said, is_named_optimizer)
        if load_directly:
            optim.load_state_dict(made)
        return made

    # Older names of the two.

    @staticmethod
    def full_optim_state_dict(
        model: nn.Module, optim: Any, optim_input: Any = None, rank0_only: bool = True, group: Any = None
    ) -> dict[str, Any]:
        """The full state, by name."""
        said = settings(StateDictType.FULL_STATE_DICT, None, FullOptimStateDictConfig(True, rank0_only))
        return _optim_state.saved(model, optim, None, said)

    @staticmethod
    def sharded_optim_state_dict(model: nn.Module, optim: Any, group: Any = None) -> dict[str, Any]:
        """The state in parts, by name."""
        return _optim_state.saved(model, optim, None, settings(StateDictType.SHARDED_STATE_DICT))

    @staticmethod
    def shard_full_optim_state_dict(
        full_optim_state_dict: dict[str, Any], model: nn.Module, optim_input: Any = None, optim: Any = None
    ) -> dict[str, Any]:
        """A full state that every process has, as the optimizer takes it."""
        said = settings(StateDictType.FULL_STATE_DICT)
        return _optim_state.to_load(model, optim, full_optim_state_dict, said, optim is None)

    @staticmethod
    def scatter_full_optim_state_dict(
        full_optim_state_dict: dict[str, Any] | None,
        model: nn.Module,
        optim_input: Any = None,
        optim: Any = None,
        group: Any = None,
    ) -> dict[str, Any]:
        """A full state that the first process has, as the optimizer takes it."""
        said = settings(StateDictType.FULL_STATE_DICT, None, FullOptimStateDictConfig(True, True))
        return _optim_state.to_load(model, optim, full_optim_state_dict, said, optim is None)

    @staticmethod
    def flatten_sharded_optim_state_dict(
        sharded_optim_state_dict: dict[str, Any], model: nn.Module, optim: Any
    ) -> dict[str, Any]:
        """A state in parts, as the optimizer takes it."""
        said = settings(StateDictType.SHARDED_STATE_DICT)
        return _optim_state.to_load(model, optim, sharded_optim_state_dict, said, optim is None)

    @staticmethod
    def rekey_optim_state_dict(
        optim_state_dict: dict[str, Any],
        optim_state_key_type: OptimStateKeyType,
        model: nn.Module,
        optim_input: Any = None,
        optim: Any = None,
    ) -> dict[str, Any]:
        """A state of the unwrapped model with names for numbers, or numbers for names."""
        return _optim_state.rekeyed(optim_state_dict, optim_state_key_type, model, optim)


def _hooked(hook: Any, state: Any, in_parts: bool, table: Tensor, mine: Tensor) -> None:
    if in_parts:
        hook(state, table, mine)
    else:  # the whole gradient is changed in place
        hook(state, table)
        mine.copy_(table)


def _in_full_precision(module: nn.Module, args: Any, kwargs: Any) -> Any:
    """Computes in float32 between modules that do not."""
    kinds = [
        each.dtype
        for each in _pytree.tree_leaves((args, kwargs))
        if isinstance(each, Tensor) and each.is_floating_point()
    ]
    args, kwargs = _pytree.tree_map(lambda each: _cast(each, _C.float32), (args, kwargs))
    output = module(*args, **kwargs)
    return _pytree.tree_map(lambda each: _cast(each, kinds[0]), output) if kinds else output


def _wrap_below(module: nn.Module, policy: Any, ignored: Any, options: dict[str, Any]) -> None:
    if (nested := next(iter(FullyShardedDataParallel.fsdp_modules(module)), None)) is not None:
        raise ValueError(
            "FSDP auto wrapping requires modules to not already have FSDP applied but found a wrapped "
            f"{type(nested.module).__name__} in a {type(module).__name__}"
        )
    precision: MixedPrecision | None = options["mixed_precision"]
    apart = tuple(precision._module_classes_to_ignore) if precision is not None else ()
    lowered = precision is not None and (precision.param_dtype or precision.buffer_dtype) is not None
    left = [each for each in module.modules() if apart and lowered and isinstance(each, apart)]
    full = {"mixed_precision": None}
    if isinstance(policy, _Policy):
        chosen = policy._run_policy(module, ignored.modules, options)
        for each in left:
            chosen[each] = options | chosen.get(each, {}) | full
        chosen.pop(module, None)
        wrap_chosen(module, chosen, functools.partial(_wrapped_apart, left))
        return
    if left:
        by_class = functools.partial(_wrap_module_cls_individually, module_classes=apart)
        policy = functools.partial(_or_policy, policies=[policy, by_class])
    for each in left:
        vars(each)["_wrap_overrides"] = full
    wrapper = functools.partial(_wrapped_apart, left)
    _recursive_wrap(
        module, policy, wrapper, ignored.modules, ignored.parameters, only_wrap_children=True, **options
    )


def _wrapped_apart(left: list[nn.Module], module: nn.Module, **options: Any) -> FullyShardedDataParallel:
    made = FullyShardedDataParallel(module, **options)
    made._in_full_precision = any(module is each for each in left)
    return made


__getattr__ = names_of(__name__)
