"""Operators with a backward of their own, written in Python: ``torch.autograd.Function``."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

from .. import _C
from .._C import Tensor
from .._functions import zeros_like
from ._mapped_function import batch_level, forward_of_batches
from .grad_mode import no_grad

__all__ = ["BackwardCFunction", "Function", "FunctionCtx", "InplaceFunction", "once_differentiable"]


class FunctionCtx:
    """What ``forward`` leaves for ``backward``."""

    needs_input_grad: tuple[bool, ...] = ()
    _materialize_grads = True
    _materialize_non_diff_grads = True  # the same for results that have no gradient
    _to_save: tuple[Tensor | None, ...] = ()
    _dirty: tuple[Tensor, ...] = ()
    _constant: tuple[Tensor, ...] = ()
    _saved_for_forward: tuple[Tensor | None, ...] | None = None

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
        """Keeps tensors for ``jvp``, where they are ``ctx.saved_tensors``."""
        for i, tensor in enumerate(tensors):
            if tensor is not None and not isinstance(tensor, Tensor):
                raise TypeError(
                    "save_for_forward expects all arguments to be tensors; you should save non-tensors as attributes "
                    f"on ctx, but argument {i} is of type {type(tensor).__name__}"
                )
        self._saved_for_forward = tensors

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Names the inputs that forward has changed in place; each must also be returned."""
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        self._constant = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Whether backward gets zeros (True) or None for outputs that nothing depends on."""
        self._materialize_grads = value

    def mark_shared_storage(self, *pairs: tuple[Tensor, Tensor]) -> None:
        """Of old; outputs that share memory with inputs are found without it."""
        warnings.warn(
            "mark_shared_storage is deprecated. Tensors with shared storages are automatically tracked. Note "
            "that calls to `set_()` are not tracked",
            FutureWarning,
            stacklevel=2,
        )

    def _done(self) -> None:
        """Lets go of what only the call itself asks for: results would hold themselves through it."""
        self._dirty = self._constant = ()
        self._saved_for_forward = None


class _FunctionBase:
    """A node of the graph that is written in Python. The node owns this object, which knows the node only as long as
    it lives: two owners would never die."""

    _link: Any = None
    _function: type[Function]
    _to_save: tuple[Tensor | None, ...] = ()
    _saved_for_forward: tuple[Tensor | None, ...] | None = None

    def _node(self, asked_for: str = "next_functions") -> _C.Node:
        found = None if self._link is None else self._link.node()
        if found is None:
            raise RuntimeError(
                f"Attribute '{asked_for}' is invalid for this instance of _C._FunctionBase. Accessing this "
                "attribute directly on an instance of autograd.Function is a legacy access pattern that is no "
                "longer supported. For examples on how to use new-style autograd functions, see "
                "https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function "
            )
        assert isinstance(found, _C.Node)
        return found

    def name(self) -> str:
        return self._node("name").name()

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        return self._node("next_functions").next_functions

    @property
    def metadata(self) -> dict[Any, Any]:
        if self._link is None or self._link.node() is None:
            raise RuntimeError(
                "You attempted to access the anomaly metadata of a custom autograd function but the underlying "
                "PyNode has already been deallocated. The most likely reason this occurred is because you "
                "assigned x.grad_fn to a local variable and then let the original variable get deallocated. "
                "Don't do that! If you really have no way of restructuring your code so this is the case, "
                "please file an issue reporting that you are affected by this."
            )
        return self._node("metadata").metadata

    @property
    def _input_metadata(self) -> tuple[Any, ...]:
        return self._node("_input_metadata")._input_metadata

    @property
    def requires_grad(self) -> bool:
        return True

    def _sequence_nr(self) -> int:
        return self._node("_sequence_nr")._sequence_nr()

    def _set_sequence_nr(self, number: int) -> None:
        self._node("_set_sequence_nr")._set_sequence_nr(number)

    def register_hook(self, hook: Callable[..., Any]) -> Any:
        return self._node("register_hook").register_hook(hook)

    def register_prehook(self, hook: Callable[..., Any]) -> Any:
        return self._node("register_prehook").register_prehook(hook)

    def _register_hook_dict(self, tensor: Tensor) -> None:
        self._node("_register_hook_dict")._register_hook_dict(tensor)

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        if self._saved_for_forward is not None:
            return self._saved_for_forward
        return self._to_save if self._link is None else tuple(self._link.saved())

    @property
    def saved_variables(self) -> tuple[Tensor | None, ...]:
        """The old name of saved_tensors."""
        warnings.warn(
            "'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning, stacklevel=2
        )
        return self.saved_tensors

    @property
    def _raw_saved_tensors(self) -> tuple[Any, ...]:
        raw: tuple[Any, ...] = self._link.raw_saved()
        return raw


class BackwardCFunction(_FunctionBase, FunctionCtx):
    """The context of a Function, which is also its node: ``ctx`` in forward and backward, ``grad_fn`` of results."""

    def __repr__(self) -> str:
        return f"<torch.autograd.function.{type(self).__name__} object at {id(self):#x}>"

    def _run_backward(self, *grads: Tensor | None) -> Any:
        return self._function._derivative(self, *grads)

    def apply(self, *grads: Tensor | None) -> Any:
        """The gradients of the inputs."""
        return self._run_backward(*grads)


class FunctionMeta(type):
    """Gives every Function a context type that bears its name, which graphs and errors show."""

    _backward_cls: type[BackwardCFunction]

    def __init__(cls, name: str, bases: tuple[type, ...], attributes: dict[str, Any]) -> None:
        super().__init__(name, bases, attributes)
        cls._backward_cls = type(
            f"{name}Backward", (BackwardCFunction,), {"_function": cls, "_forward_cls": cls}
        )
        cls._backward_cls.__module__ = "torch.autograd.function"

    def _derivative(cls, ctx: FunctionCtx, *grads: Tensor | None) -> Any:
        """What ``backward`` says, under one of its two names."""
        own = [name for name in ("backward", "vjp") if getattr(cls, name) is not getattr(Function, name)]
        if len(own) > 1:
            raise RuntimeError(
                "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only "
                "implement one of them."
            )
        return getattr(cls, own[0] if own else "backward")(ctx, *grads)


class Function(_FunctionBase, metaclass=FunctionMeta):
    """Subclass it with static methods ``forward`` and ``backward`` and call ``apply``."""

    generate_vmap_rule = False
    _takes_batches = False  # forward knows what to do with tensors of vmap

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
        if _C._forward.levels():
            level = _C._forward.highest_level([a for a in args if isinstance(a, Tensor)])
            if level:
                return cls._apply_to_duals(level, args, kwargs)
        ctx = cls._backward_cls()
        output = cls._apply(ctx, args, kwargs)
        ctx._done()
        return output

    @classmethod
    def _apply_to_duals(cls, level: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The same where arguments move: how the results do is for ``jvp`` to say."""
        ctx = cls._backward_cls()
        before = _C._forward.set_highest(level - 1)
        try:
            output = cls._apply(ctx, args, kwargs)
            moves = [_direction(ctx, a, level) for a in args]
            versions = {id(move): move._version for move in moves if move is not None}
            moved = cls._pushed(ctx, moves)
        finally:
            _C._forward.set_highest(before)
        outputs = list(output) if isinstance(output, tuple) else [output]
        tangents = moved if isinstance(moved, tuple) else (moved,)
        if len(tangents) != len(outputs):
            raise RuntimeError(
                "Function's jvp returned an invalid number of forward gradients (expected "
                f"{len(outputs)} but got {len(tangents)})"
            )
        for i, tangent in enumerate(tangents):
            if tangent is not None and not isinstance(tangent, Tensor):
                raise RuntimeError(
                    f"expected Variable or None (got {type(tangent).__name__}) for grad output {i}."
                )
            outputs[i] = _moving(ctx, i, outputs[i], tangent, args, level, versions)
        ctx._done()
        return tuple(outputs) if isinstance(output, tuple) else outputs[0]

    @classmethod
    def _pushed(cls, ctx: Any, moves: list[Tensor | None]) -> Any:
        """What ``jvp`` says, which sees what was saved for it alone."""
        kept, ctx._saved_for_forward = ctx._saved_for_forward, ctx._saved_for_forward or ()
        try:
            return cls.jvp(ctx, *moves)
        finally:
            ctx._saved_for_forward = kept

    @classmethod
    def _apply(cls, ctx: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        separate = cls.setup_context is not Function.setup_context
        if separate:
            args = _with_defaults(cls.forward, args, kwargs)
        needs = tuple(isinstance(a, Tensor) and a.requires_grad for a in args)
        ctx.needs_input_grad = needs
        recorded = _C.is_grad_enabled() and any(needs)
        level = batch_level(args)
        if level > 0 and not cls._takes_batches:
            output = forward_of_batches(cls, Function, level, args)
            cls.setup_context(ctx, args, output)
        else:
            with no_grad():
                if separate:
                    output = cls.forward(*args)
                    cls.setup_context(ctx, args, output)
                else:
                    output = cls.forward(ctx, *args, **kwargs)
        if not recorded and not ctx._dirty and _all_new(output, args):
            return output
        outputs = list(output) if isinstance(output, tuple) else [output]
        given = [a if isinstance(a, Tensor) else None for a in args]
        if recorded:
            ctx._link, made = _C._attach_function(
                ctx,
                f"{cls.__name__}Backward",
                given,
                outputs,
                list(ctx._to_save),
                list(ctx._dirty),
                list(ctx._constant),
            )
            ctx._to_save = ()
        else:
            made = _C._unrecorded_outputs(given, outputs, list(ctx._dirty))
        return tuple(made) if isinstance(output, tuple) else made[0]


def _all_new(output: Any, args: tuple[Any, ...]) -> bool:
    """Whether no result shows memory of another tensor: then there is nothing to remember of it."""
    if isinstance(output, Tensor):
        if output._base is not None:
            return False
        for argument in args:
            if argument is output:
                return False
        return True
    return not isinstance(output, tuple) or all(_all_new(one, args) for one in output)


def _direction(ctx: Any, argument: Any, level: int) -> Tensor | None:
    """What ``jvp`` gets for an argument."""
    if not isinstance(argument, Tensor):
        return None
    tangent = _C._forward.tangent(argument, level)
    if tangent is not None or not ctx._materialize_grads:
        return tangent
    return zeros_like(argument) if argument.is_floating_point() or argument.is_complex() else None


def _moving(
    ctx: Any,
    place: int,
    output: Any,
    tangent: Tensor | None,
    args: tuple[Any, ...],
    level: int,
    versions: dict[int, int],
) -> Any:
    """A result with the direction that ``jvp`` gave it; ``versions`` are those that the directions of arguments had."""
    if any(output is written for written in ctx._dirty):
        before = _C._forward.tangent(output, level)
        if before is not None and (before is not tangent or versions.get(id(before)) == before._version):
            raise RuntimeError(
                "An inplace custom Function is not modifying the forward mode gradients inplace. If the forward is "
                "modifying an input inplace, then the jvp function must modify the corresponding gradient inplace."
            )
        _C._forward.write_tangent(output, tangent, level)
        return output
    still = any(output is constant for constant in ctx._constant)
    if not isinstance(output, Tensor) or still or not (output.is_floating_point() or output.is_complex()):
        if tangent is not None:
            raise RuntimeError(
                f"Function's jvp returned a gradient at position {place}, but  the corresponding forward output is "
                "not a differentiable Tensor.You should return None at that position instead."
            )
        return output
    as_it_was = any(output is argument for argument in args)
    if tangent is not None and (as_it_was or output._is_view()):
        _check_view(output, tangent, args, level)
    if as_it_was:
        output, _ = _C._forward.unpack(output, level)
    if tangent is not None:
        _C._forward.set_tangent(output, tangent, level)
    return output


def _check_view(output: Tensor, tangent: Tensor, args: tuple[Any, ...], level: int) -> None:
    """Refuses a direction in memory of its own for a view: writing to the one must write to the other."""
    if not tangent._is_view():
        raise RuntimeError(
            "A custom Function's forward is returning a view (or an input as-is) but the jvp is not returning a view."
        )
    for argument in args:
        if not isinstance(argument, Tensor) or output._base is not (
            argument._base if argument._is_view() else argument
        ):
            continue
        moved = _C._forward.tangent(argument, level)
        if moved is None or tangent._base is (moved._base if moved._is_view() else moved):
            return
        whose = "the same base as the given grad input" if moved._is_view() else "the given grad input"
        raise RuntimeError(
            f"A custom Function is returning a view but the jvp is not returning a view of {whose}."
        )


def _with_defaults(
    forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, ...]:
    """What forward is called with, by position: setup_context and backward count on all of its parameters."""
    code = getattr(forward, "__code__", None)
    if not kwargs and code is not None and len(args) >= code.co_argcount:
        return args
    import inspect  # slow to load, and few programs come here

    bound = inspect.signature(forward).bind(*args, **kwargs)
    bound.apply_defaults()
    return bound.args


class InplaceFunction(Function):
    """A Function that may work in place; the name is kept for programs that use it."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


def once_differentiable(backward: Callable[..., Any]) -> Callable[..., Any]:
    """For a ``backward`` that cannot itself be differentiated."""

    @functools.wraps(backward)
    def wrapped(ctx: Any, *args: Any) -> Any:
        with no_grad():
            made = backward(ctx, *args)
        if not _C.is_grad_enabled() or not any(isinstance(a, Tensor) and a.requires_grad for a in args):
            return made
        outputs = made if isinstance(made, tuple) else (made,)
        tensors = [t.detach().requires_grad_() if isinstance(t, Tensor) else None for t in outputs]
        marked = _C._marked(
            "Error",
            "trying to differentiate twice a function that was marked with @once_differentiable",
            tensors,
        )
        return tuple(marked) if isinstance(made, tuple) else marked[0]

    return wrapped
