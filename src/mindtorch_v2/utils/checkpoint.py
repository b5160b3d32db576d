"""Computing activations again in backward instead of keeping them."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from typing import Any

import mindtorch_v2 as torch

from .._absent import names_of
from .._devices import registry
from ..autograd.function import Function
from ..autograd.graph import saved_tensors_hooks

__all__ = [
    "CheckpointError", "CheckpointPolicy", "DefaultDeviceType", "checkpoint", "checkpoint_sequential",
    "get_device_states", "noop_context_fn", "set_checkpoint_early_stop", "set_device_states",
]  # fmt: skip

_early_stop: bool | None = None  # what set_checkpoint_early_stop says, None: what each call says


class CheckpointError(RuntimeError):
    """The second run of a checkpointed function did not save what the first one did."""


class CheckpointPolicy(Enum):
    """What a function says of an operator's results when it chooses what is kept for backward."""

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5


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


class _Enough(Exception):
    """The second run has saved everything that backward needs."""


class _Frame:
    """One checkpointed call: the first run leaves numbered places, the second fills them all at once."""

    def __init__(
        self, run: Callable[[], Any], surroundings: _Surroundings, check: bool, early_stop: bool
    ) -> None:
        self.run, self.surroundings, self.check, self.early_stop = run, surroundings, check, early_stop
        self.count = 0
        self.kept: list[torch.Tensor] | None = None

    def pack(self, tensor: torch.Tensor) -> tuple[int, Any, Any]:
        place = self.count
        self.count += 1
        return place, tensor.shape, tensor.dtype

    def unpack(self, packed: tuple[int, Any, Any]) -> torch.Tensor:
        place, shape, dtype = packed
        if self.kept is None:
            self.fill()
        assert self.kept is not None
        found = self.kept[place]
        if self.check and (found.shape != shape or found.dtype != dtype):
            raise CheckpointError(
                "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than "
                f"during the forward pass.\ntensor at position {place}:\nsaved metadata: {shape}, {dtype}\n"
                f"recomputed metadata: {found.shape}, {found.dtype}"
            )
        return found

    def fill(self) -> None:
        kept: list[torch.Tensor] = []

        def keep(tensor: torch.Tensor) -> torch.Tensor:
            kept.append(tensor.detach())
            if self.early_stop and len(kept) == self.count:
                raise _Enough
            return kept[-1]

        with torch.enable_grad(), self.surroundings.replayed(), saved_tensors_hooks(keep, lambda t: t):
            with contextlib.suppress(_Enough):
                self.run()
        if len(kept) != self.count:
            raise CheckpointError(
                "torch.utils.checkpoint: A different number of tensors was saved during the original forward and "
                f"recomputation.\nNumber of tensors saved during forward: {self.count}\n"
                f"Number of tensors saved during recomputation: {len(kept)}."
            )
        self.kept = kept


@contextlib.contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """Whether the second run stops as soon as everything is there, for all calls inside the ``with`` block."""
    global _early_stop
    before, _early_stop = _early_stop, enable
    try:
        yield
    finally:
        _early_stop = before


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
    if not torch.is_grad_enabled():
        return function(*args, **kwargs)
    if determinism_check not in ("default", "none"):
        raise ValueError(
            f"determinism_check should be one of ['default', 'none'], but got {determinism_check}"
        )
    first, second = context_fn()

    def again() -> None:
        with second:
            function(*args, **kwargs)

    surroundings = _Surroundings(preserve_rng_state, (args, kwargs))
    stop = early_stop if _early_stop is None else _early_stop
    frame = _Frame(again, surroundings, determinism_check == "default", stop)
    with saved_tensors_hooks(frame.pack, frame.unpack), first:
        return function(*args, **kwargs)


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
