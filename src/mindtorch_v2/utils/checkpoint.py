"""Computing activations again in backward instead of keeping them."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import mindtorch_v2 as torch

from ..autograd.function import Function
from ..autograd.graph import saved_tensors_hooks

__all__ = ["CheckpointError", "checkpoint", "checkpoint_sequential"]


class CheckpointError(RuntimeError):
    """The second run of a checkpointed function did not save what the first one did."""


class _Surroundings:
    """The generators and autocast as they were, so that the second run computes what the first one did."""

    def __init__(self, preserve_random: bool) -> None:
        self.random = torch.get_rng_state() if preserve_random else None
        self.casts = [
            (
                device,
                torch.get_autocast_dtype(device),
                torch.is_autocast_enabled(device),
                torch.is_autocast_cache_enabled(),
            )
            for device in ("cpu", "npu")
        ]

    @contextlib.contextmanager
    def replayed(self) -> Any:
        with contextlib.ExitStack() as stack:
            for device, dtype, enabled, cache in self.casts:
                stack.enter_context(torch.autocast(device, dtype, enabled, cache))
            if self.random is not None:
                stack.enter_context(torch.fork_rng())
                torch.set_rng_state(self.random)
            yield


class _Reentrant(Function):
    """Runs without a graph; backward runs again with one and goes through it."""

    @staticmethod
    def forward(ctx: Any, run: Callable[..., Any], preserve: bool, *args: Any) -> Any:
        ctx.run = run
        ctx.surroundings = _Surroundings(preserve)
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


class _Frame:
    """One checkpointed call: the first run leaves numbered places, the second fills them all at once."""

    def __init__(self, run: Callable[[], Any], preserve: bool) -> None:
        self.run = run
        self.surroundings = _Surroundings(preserve)
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
        if found.shape != shape or found.dtype != dtype:
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
            return kept[-1]

        with torch.enable_grad(), self.surroundings.replayed(), saved_tensors_hooks(keep, lambda t: t):
            self.run()
        if len(kept) != self.count:
            raise CheckpointError(
                "torch.utils.checkpoint: A different number of tensors was saved during the original forward and "
                f"recomputation.\nNumber of tensors saved during forward: {self.count}\n"
                f"Number of tensors saved during recomputation: {len(kept)}."
            )
        self.kept = kept


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Callable[[], tuple[Any, Any]] | None = None,
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
        if context_fn is not None or debug:
            raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
        return _Reentrant.apply(function, preserve_rng_state, *args)
    if not torch.is_grad_enabled():
        return function(*args, **kwargs)
    first, second = context_fn() if context_fn else (contextlib.nullcontext(), contextlib.nullcontext())

    def again() -> None:
        with second:
            function(*args, **kwargs)

    frame = _Frame(again, preserve_rng_state)
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
