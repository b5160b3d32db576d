"""Moving a module and everything below it: to a device, to a dtype, to shared memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

import mindtorch_v2 as torch
from mindtorch_v2 import _C

from ..._devices import methods
from ..parameter import Parameter

if TYPE_CHECKING:
    from .module import Module

_NO_DATA = "Cannot copy out of meta tensor; no data!"


class ModuleConversion:
    """The part of ``Module`` that changes its tensors in place. Only ``Module`` derives from it."""

    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, torch.Tensor | None]
    children: Callable[[], Any]

    def _apply(self, fn: Callable[[torch.Tensor], torch.Tensor], recurse: bool = True) -> Self:
        """Replaces the data of every parameter, gradient and buffer by ``fn`` of it.

        A parameter stays the same object, so an optimizer that holds it goes on working. Only data that moves
        between a real device and meta cannot be exchanged under a live tensor; that makes a new parameter.
        """
        if recurse:
            for child in self.children():
                child._apply(fn)
        for name, parameter in self._parameters.items():
            if parameter is None:
                continue
            gradient = parameter.grad
            with torch.no_grad():
                data = fn(parameter)
                new_gradient = None if gradient is None else fn(gradient)
            if (data.device.type == "meta") == (parameter.device.type == "meta"):
                parameter.data = data
                if gradient is not None and new_gradient is not None:
                    gradient.data = new_gradient
            else:
                replacement = Parameter(data, parameter.requires_grad)
                if gradient is not None:
                    assert new_gradient is not None
                    replacement.grad = new_gradient.requires_grad_(gradient.requires_grad)
                self._parameters[name] = replacement
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def apply(self, fn: Callable[[Module], object]) -> Self:
        """Calls ``fn`` on every module of the tree, the children before their parent."""
        for child in self.children():
            child.apply(fn)
        fn(self)  # type: ignore[arg-type]
        return self

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """``to(device)``, ``to(dtype)``, ``to(device, dtype)``, ``to(tensor)``; integers keep their dtype."""
        device, dtype, non_blocking, memory_format = _parse_to(args, kwargs)
        if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
            raise TypeError(
                f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}"
            )

        def convert(tensor: torch.Tensor) -> torch.Tensor:
            options: dict[str, Any] = {"non_blocking": non_blocking}
            if device is not None:
                options["device"] = device
            if dtype is not None and (tensor.is_floating_point() or tensor.is_complex()):
                options["dtype"] = dtype
            if memory_format is not None and tensor.dim() in (4, 5):
                options["memory_format"] = memory_format
            try:
                return tensor.to(**options)
            except NotImplementedError as error:
                if str(error) != _NO_DATA:
                    raise
                raise NotImplementedError(
                    f"{_NO_DATA} Please use torch.nn.Module.to_empty() instead of torch.nn.Module.to() when moving "
                    "module from meta to a different device."
                ) from None

        return self._apply(convert)

    def cpu(self) -> Self:
        return self._apply(lambda tensor: tensor.cpu())

    def cuda(self, device: Any = None) -> Self:
        return self._apply(lambda tensor: tensor.cuda(device))

    def type(self, dst_type: Any) -> Self:
        return self._apply(lambda tensor: tensor.type(dst_type))

    def _to_floating(self, dtype: torch.dtype) -> Self:
        return self._apply(lambda tensor: tensor.to(dtype) if tensor.is_floating_point() else tensor)

    def float(self) -> Self:
        return self._to_floating(torch.float32)

    def double(self) -> Self:
        return self._to_floating(torch.float64)

    def half(self) -> Self:
        return self._to_floating(torch.float16)

    def bfloat16(self) -> Self:
        return self._to_floating(torch.bfloat16)

    def to_empty(self, *, device: Any, recurse: bool = True) -> Self:
        """Moves to ``device`` without copying: the values are undefined until they are initialised or
        loaded.
        """
        return self._apply(lambda tensor: torch.empty_like(tensor, device=device), recurse=recurse)

    def share_memory(self) -> Self:
        return self._apply(lambda tensor: tensor.share_memory_())


def _parse_any_to(*args: Any, **kwargs: Any) -> tuple[Any, Any, bool, Any]:
    """How packages ask what the arguments of their own ``to`` mean: ``torch._C._nn._parse_to``."""
    return _parse_to(args, kwargs)


def _of_nn(name: str) -> Any:
    if name == "_parse_to":
        return _parse_any_to
    raise AttributeError(f"module 'torch._C._nn' has no attribute '{name}'")


setattr(_C._nn, "__getattr__", _of_nn)  # noqa: B010 - a module's, not its type's


def _parse_to(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any, bool, Any]:
    """(device, dtype, non_blocking, memory_format) from the three ways ``to`` may be called."""
    known = {"device", "dtype", "tensor", "other", "non_blocking", "copy", "memory_format"}
    rest = list(args)
    device = kwargs.get("device")
    dtype = kwargs.get("dtype")
    example = kwargs.get("tensor", kwargs.get("other"))
    first = rest[0] if rest else ()
    if isinstance(first, torch.Tensor):
        example = rest.pop(0)
    elif isinstance(first, torch.dtype):
        dtype = rest.pop(0)
    elif first is None or isinstance(first, (str, int, torch.device)):
        device = rest.pop(0)
        if rest and (rest[0] is None or isinstance(rest[0], torch.dtype)):
            dtype = rest.pop(0)
    if example is not None:
        device, dtype = example.device, example.dtype
    flags_ok = len(rest) <= 2 and all(isinstance(flag, bool) for flag in rest)
    if not flags_ok or not known.issuperset(kwargs):
        got = [type(value).__name__ for value in args]
        got += [f"{name}={type(value).__name__}" for name, value in kwargs.items()]
        listed = ", ".join(got) + (", " if kwargs else "")
        raise TypeError(
            f"to() received an invalid combination of arguments - got ({listed}), but expected "
            "one of:\n"
            " * (torch.device device = None, torch.dtype dtype = None, bool non_blocking = False, "
            "bool copy = False, *, torch.memory_format memory_format = None)\n"
            " * (torch.dtype dtype, bool non_blocking = False, bool copy = False, *, "
            "torch.memory_format memory_format = None)\n"
            " * (Tensor tensor, bool non_blocking = False, bool copy = False, *, "
            "torch.memory_format memory_format = None)\n"
        )
    non_blocking = rest[0] if rest else kwargs.get("non_blocking", False)
    return (
        torch.device(device) if device is not None else None,
        dtype,
        non_blocking,
        kwargs.get("memory_format"),
    )


def _called_after(kind: str) -> dict[str, Any]:
    """``module.<kind>()``."""

    def moved(self: ModuleConversion, device: Any = None) -> ModuleConversion:
        return self._apply(lambda tensor: getattr(tensor, kind)(device))

    return {kind: moved}


methods.made_for_each_type("module", ModuleConversion, _called_after)
