"""Computing activations again in backward instead of keeping them."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Any

import mindtorch_v2 as torch

from .. import _C
from .._absent import names_of
from .._devices import registry
from ..autograd.function import Function
from ._recompute import CheckpointError, Trace, frame_of
from ._selective import (
    SAC_IGNORED_OPS,
    CheckpointPolicy,
    SelectiveCheckpointContext,
    _CachedTorchDispatchMode,
    _CachingTorchDispatchMode,
    _VersionWrapper,
    create_selective_checkpoint_contexts,
)

__all__ = [
    "SAC_IGNORED_OPS", "CheckpointError", "CheckpointPolicy", "DefaultDeviceType", "SelectiveCheckpointContext",
    "_CachedTorchDispatchMode", "_CachingTorchDispatchMode", "_VersionWrapper", "checkpoint", "checkpoint_sequential",
    "create_selective_checkpoint_contexts", "get_device_states", "noop_context_fn", "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop", "set_device_states",
]  # fmt: skip

_early_stop: bool | None = None  # what set_checkpoint_early_stop says, None: what each call says
_debug: bool | None = None  # what set_checkpoint_debug_enabled says


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The inputs, tensors among them as new leaves that need gradients where the old ones did."""
    if not isinstance(inputs, tuple):
        raise RuntimeError(
            f"Only tuple of tensors is supported. Got Unsupported input type: {type(inputs).__name__}"
        )
    return tuple(
        value.detach().requires_grad_(value.requires_grad) if isinstance(value, torch.Tensor) else value
        for value in inputs
    )


def check_backward_validity(inputs: Any) -> None:
    """Warns if no input needs a gradient, in which case none is computed."""
    if not any(isinstance(value, torch.Tensor) and value.requires_grad for value in inputs):
        warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2)


class DefaultDeviceType:
    """The accelerator whose generators are restored, where no argument says which."""

    _default: str | None = None  # the accelerator that there is

    @staticmethod
    def set_device_type(device: str = "cuda") -> None:
        DefaultDeviceType._default = device

    @staticmethod
    def get_device_type() -> str:
        if DefaultDeviceType._default is not None:
            return DefaultDeviceType._default
        found = registry.available()
        return "cpu" if found is None else found.type


def _device_type_of(args: Any) -> str:
    """The kind of accelerator that tensors among the arguments are on, else what was set."""
    from ._pytree import tree_leaves

    tensors = (leaf for leaf in tree_leaves(args) if isinstance(leaf, torch.Tensor))
    found = next(filter(None, map(registry.of, tensors)), None)
    return found.type if found is not None else DefaultDeviceType._default or "cpu"


def get_device_states(*args: Any) -> tuple[list[int], list[torch.Tensor]]:
    """The accelerators that tensors among the arguments are on, and the states of their generators."""
    from ._pytree import tree_leaves

    kind = _device_type_of(args)
    found = sorted(
        {
            leaf.device.index or 0
            for leaf in tree_leaves(args)
            if isinstance(leaf, torch.Tensor) and leaf.device.type == kind != "cpu"
        }
    )
    return found, [registry.accelerators[kind].module.get_rng_state(index) for index in found]


def set_device_states(
    devices: Sequence[int], states: Sequence[torch.Tensor], *, device_type: str | None = None
) -> None:
    """Restores what :func:`get_device_states` returned."""
    kind = DefaultDeviceType.get_device_type() if device_type is None else device_type
    for index, state in zip(devices, states, strict=True):
        registry.accelerators[kind].module.set_rng_state(state, index)


class _Surroundings:
    """The generators and autocast as they were, so that the second run computes what the first one did."""

    def __init__(self, preserve_random: bool, args: Any) -> None:
        self.device_type = _device_type_of(args)
        self.state = torch.get_rng_state() if preserve_random else None
        self.devices, self.device_states = get_device_states(args) if preserve_random else ([], [])
        self.casts = [
            (
                device,
                torch.get_autocast_dtype(device),
                torch.is_autocast_enabled(device),
                torch.is_autocast_cache_enabled(),
            )
            for device in ("cpu", *registry.accelerators)
        ]

    @contextlib.contextmanager
    def replayed(self) -> Any:
        with contextlib.ExitStack() as stack:
            for device, dtype, enabled, cache in self.casts:
                stack.enter_context(torch.autocast(device, dtype, enabled, cache))
            if self.state is not None:
                stack.enter_context(torch.fork_rng(devices=self.devices, device_type=self.device_type))
                torch.set_rng_state(self.state)
                set_device_states(self.devices, self.device_states, device_type=self.device_type)
            yield


class _Reentrant(Function):
    """Runs without a graph; backward runs again with one and goes through it."""

    @staticmethod
    def forward(ctx: Any, run: Callable[..., Any], preserve: bool, *args: Any) -> Any:
        ctx.run = run
        ctx.surroundings = _Surroundings(preserve, args)
        ctx.others = [None if isinstance(a, torch.Tensor) else a for a in args]
        ctx.places = [i for i, a in enumerate(args) if isinstance(a, torch.Tensor)]
        ctx.save_for_backward(*(args[i] for i in ctx.places))
        return run(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        if not _C._reentrant_passes_allowed():
            raise RuntimeError(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an `inputs` "
                "parameter to .backward(). To resolve this error, you can either set use_reentrant=False, or call "
                ".backward() without passing the `inputs` argument."
            )
        args = list(ctx.others)
        for place, saved in zip(ctx.places, ctx.saved_tensors, strict=True):
            args[place] = saved.detach().requires_grad_(saved.requires_grad)
        with torch.enable_grad(), ctx.surroundings.replayed():
            outputs = ctx.run(*args)
        if not isinstance(outputs, tuple):
            outputs = (outputs,)
        pairs = [
            (y, g)
            for y, g in zip(outputs, grads, strict=True)
            if isinstance(y, torch.Tensor) and y.requires_grad
        ]
        if not pairs:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        torch.autograd.backward([y for y, _ in pairs], [g for _, g in pairs])
        found = tuple(a.grad if isinstance(a, torch.Tensor) else None for a in args)
        return (None, None, *found)


@contextlib.contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """Whether the second run stops as soon as everything is there, for all calls inside the ``with`` block."""
    global _early_stop
    before, _early_stop = _early_stop, enable
    try:
        yield
    finally:
        _early_stop = before


@contextlib.contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None) -> Iterator[None]:
    """Whether errors tell what both runs did, for all calls inside the ``with`` block; None: what each call says."""
    global _debug
    before, _debug = _debug, enabled
    try:
        yield
    finally:
        _debug = before


def _facts(tensor: torch.Tensor) -> dict[str, Any]:
    return {"shape": tensor.shape, "dtype": tensor.dtype, "device": tensor.device}


_CHECKS: dict[str, Callable[[torch.Tensor], Any]] = {"default": _facts, "none": lambda tensor: None}


def noop_context_fn() -> tuple[Any, Any]:
    """Contexts for the two runs that do nothing."""
    return contextlib.nullcontext(), contextlib.nullcontext()


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Callable[[], tuple[Any, Any]] = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    preserve_rng_state: bool = True,
    early_stop: bool = True,
    **kwargs: Any,
) -> Any:
    """``function(*args, **kwargs)`` without its intermediate tensors, which backward computes again."""
    if use_reentrant is None:
        warnings.warn(
            "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. Starting in PyTorch "
            "2.9, calling checkpoint without use_reentrant will raise an exception. use_reentrant=False is "
            "recommended, but if you need to preserve the current default behavior, you can pass "
            "use_reentrant=True.",
            stacklevel=2,
        )
        use_reentrant = True
    if use_reentrant:
        if kwargs:
            raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
        if context_fn is not noop_context_fn or debug:
            raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
        return _Reentrant.apply(function, preserve_rng_state, *args)
    steps = _checkpoint_without_reentrant_generator(
        function, preserve_rng_state, context_fn, determinism_check, debug, early_stop, *args, **kwargs
    )
    next(steps)
    try:
        result = function(*args, **kwargs)
    except BaseException:
        steps.close()  # its hooks end here, before those around it
        raise
    for _ in steps:
        raise AssertionError("a checkpoint has one function to wait for")
    return result


def _checkpoint_without_reentrant_generator(
    fn: Callable[..., Any],
    preserve_rng_state: bool = True,
    context_fn: Callable[[], tuple[Any, Any]] = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    *args: Any,
    **kwargs: Any,
) -> Generator[None, None, None]:
    """What happens before ``fn(*args, **kwargs)`` and after it, for those who call it themselves."""
    if determinism_check not in _CHECKS:
        raise ValueError(f"determinism_check should be one of {list(_CHECKS)}, but got {determinism_check}")
    explains = debug if _debug is None else _debug
    if explains and context_fn is not noop_context_fn:
        raise ValueError("debug=True is incompatible with non-default context_fn")
    trace = Trace()
    first, second = (trace.of_run(0), trace.of_run(1)) if explains else context_fn()
    surroundings = _Surroundings(preserve_rng_state, (args, kwargs))

    @contextlib.contextmanager
    def again() -> Iterator[None]:
        with surroundings.replayed(), second:
            yield

    if not torch.is_grad_enabled():
        with first:
            yield
        return
    stop = early_stop if _early_stop is None else _early_stop
    explaining = trace.explaining if explains else contextlib.nullcontext
    frame = frame_of(fn, args, kwargs, again, _CHECKS[determinism_check], stop, explaining)
    with frame.hooks(), first:
        yield
    frame.first_run_done = True


def checkpoint_sequential(
    functions: Any,
    segments: int,
    input: Any,
    use_reentrant: bool | None = None,
    preserve_rng_state: bool = True,
) -> Any:
    """A Sequential in ``segments`` pieces, all but the last of which are checkpointed."""
    modules: Sequence[Any] = (
        list(functions.children()) if isinstance(functions, torch.nn.Sequential) else list(functions)
    )
    size = len(modules) // segments

    def run(start: int, end: int) -> Callable[[Any], Any]:
        def forward(x: Any) -> Any:
            for module in modules[start:end]:
                x = module(x)
            return x

        return forward

    end = 0
    for start in range(0, size * (segments - 1), size):
        end = start + size
        input = checkpoint(
            run(start, end),
            input,
            use_reentrant=use_reentrant,
            preserve_rng_state=preserve_rng_state,
        )
    return run(end, len(modules))(input)


__getattr__ = names_of(__name__)
