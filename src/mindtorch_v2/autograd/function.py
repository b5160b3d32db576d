"""Operators with a backward of their own, written in Python: ``torch.autograd.Function``."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable
from typing import Any

from .. import _C
from .._C import Tensor
from .grad_mode import no_grad

__all__ = ["Function", "FunctionCtx", "InplaceFunction", "once_differentiable"]


class FunctionCtx:
    """What ``forward`` leaves for ``backward``."""

    needs_input_grad: tuple[bool, ...] = ()
    _materialize_grads = True
    _to_save: tuple[Tensor | None, ...] = ()
    _dirty: tuple[Tensor, ...] = ()
    _constant: tuple[Tensor, ...] = ()
    _link: Any = None
    _function: type[Function]

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keeps tensors for backward; they come back as ``ctx.saved_tensors``, checked for changes."""
        for i, tensor in enumerate(tensors):
            if tensor is not None and not isinstance(tensor, Tensor):
                raise TypeError(
                    f"save_for_backward can only save variables, but argument {i} is of type "
                    f"{type(tensor).__name__}"
                )
        self._to_save = tensors

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """For ``jvp``, which forward-mode differentiation would call; kept so that such code runs."""
        self._saved_for_forward = tensors

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Names the inputs that forward has changed in place; each must also be returned."""
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        self._constant = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Whether backward gets zeros (True) or None for outputs that nothing depends on."""
        self._materialize_grads = value

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        return self._to_save if self._link is None else tuple(self._link.saved())

    @property
    def saved_variables(self) -> tuple[Tensor | None, ...]:
        """The old name of saved_tensors."""
        warnings.warn(
            "'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning, stacklevel=2
        )
        return self.saved_tensors

    def mark_shared_storage(self, *pairs: tuple[Tensor, Tensor]) -> None:
        """Of old; outputs that share memory with inputs are found without it."""
        warnings.warn(
            "mark_shared_storage is deprecated. Tensors with shared storages are automatically tracked. Note "
            "that calls to `set_()` are not tracked",
            FutureWarning,
            stacklevel=2,
        )

    def _run_backward(self, *grads: Tensor | None) -> Any:
        return self._function.backward(self, *grads)


class FunctionMeta(type):
    """Gives every Function a context type that bears its name, which graphs and errors show."""

    _context_type: type[FunctionCtx]

    def __init__(cls, name: str, bases: tuple[type, ...], attributes: dict[str, Any]) -> None:
        super().__init__(name, bases, attributes)
        cls._context_type = type(f"{name}Backward", (FunctionCtx,), {"_function": cls})


class Function(metaclass=FunctionMeta):
    """Subclass it with static methods ``forward`` and ``backward`` and call ``apply``."""

    generate_vmap_rule = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warnings.warn(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all static, so you should "
            "invoke them on the class itself. Instantiating an autograd function will raise an error in a future "
            "version of PyTorch.",
            DeprecationWarning,
            stacklevel=2,
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use new-style "
            "autograd function with static forward method. (Example: "
            "https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)"
        )

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with "
            "backward mode AD."
        )

    vjp = backward

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
        )

    @staticmethod
    def vmap(info: Any, in_dims: Any, *args: Any) -> Any:
        raise NotImplementedError(
            "To use autograd.Function with vmap, you must either override the vmap staticmethod or set "
            "generate_vmap_rule=True."
        )

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Runs forward and records backward as one node of the graph."""
        ctx = cls._context_type()
        separate = cls.setup_context is not Function.setup_context
        if separate:
            args = _with_defaults(cls.forward, args, kwargs)
        needs = tuple(isinstance(a, Tensor) and a.requires_grad for a in args)
        ctx.needs_input_grad = needs
        recorded = _C.is_grad_enabled() and any(needs)
        with no_grad():
            if separate:
                output = cls.forward(*args)
                cls.setup_context(ctx, args, output)
            else:
                output = cls.forward(ctx, *args, **kwargs)
        if not recorded:
            return output
        outputs = output if isinstance(output, tuple) else (output,)
        ctx._link, made = _C._attach_function(
            ctx,
            f"{cls.__name__}Backward",
            [a if isinstance(a, Tensor) else None for a in args],
            list(outputs),
            list(ctx._to_save),
            list(ctx._dirty),
            list(ctx._constant),
        )
        ctx._to_save = ctx._dirty = ctx._constant = ()
        return tuple(made) if isinstance(output, tuple) else made[0]


def _with_defaults(
    forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, ...]:
    """What forward is called with, by position: setup_context and backward count on all of its parameters."""
    code = getattr(forward, "__code__", None)
    if not kwargs and code is not None and len(args) >= code.co_argcount:
        return args
    bound = inspect.signature(forward).bind(*args, **kwargs)
    bound.apply_defaults()
    return bound.args


class InplaceFunction(Function):
    """A Function that may work in place; the name is kept for programs that use it."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


class _Twice(Function):
    """Passes its tensors on and fails when it is differentiated."""

    @staticmethod
    def forward(ctx: Any, *tensors: Tensor) -> tuple[Tensor, ...]:
        return tuple(t.detach() for t in tensors)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        raise RuntimeError(
            "trying to differentiate twice a function that was marked with @once_differentiable"
        )


def once_differentiable(backward: Callable[..., Any]) -> Callable[..., Any]:
    """For a ``backward`` that cannot itself be differentiated."""

    @functools.wraps(backward)
    def wrapped(ctx: Any, *args: Any) -> Any:
        with no_grad():
            made = backward(ctx, *args)
        if not _C.is_grad_enabled() or not any(isinstance(a, Tensor) and a.requires_grad for a in args):
            return made
        outputs = made if isinstance(made, tuple) else (made,)
        tensors = [t.detach().requires_grad_() for t in outputs if isinstance(t, Tensor)]
        marked = iter(_Twice.apply(*tensors)) if tensors else iter(())
        marked_outputs = tuple(next(marked) if isinstance(t, Tensor) else t for t in outputs)
        return marked_outputs if isinstance(made, tuple) else marked_outputs[0]

    return wrapped
