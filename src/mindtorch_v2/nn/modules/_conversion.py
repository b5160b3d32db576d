"""Moving a module and everything below it: to a device, to a dtype, to shared memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

import mindtorch_v2 as torch

from ..._devices import methods
from ...utils._swapping import swap_tensors
from ..parameter import Parameter

if TYPE_CHECKING:
    from .module import Module


def _takes_data_of(tensor: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether ``tensor.data = other`` is possible and wanted."""
    alike = tensor.layout == other.layout and (tensor.device.type == "meta") == (other.device.type == "meta")
    return alike and not torch.__future__.get_overwrite_module_params_on_conversion()


_NO_DATA = "Cannot copy out of meta tensor; no data!"


class ModuleConversion:
    """The part of ``Module`` that changes its tensors in place. Only ``Module`` derives from it."""

    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, torch.Tensor | None]
    children: Callable[[], Any]

    def _apply(self, fn: Callable[[torch.Tensor], torch.Tensor], recurse: bool = True) -> Self:
        """Replaces the data of every parameter, gradient and buffer by ``fn`` of it.

        A parameter stays the same object, so an optimizer that holds it goes on working. Only data that moves
        between a real device and meta cannot be exchanged under a live tensor; that makes a new parameter, and so
        does everything if torch.__future__ says so. It may also ask for parameters to be swapped.
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
            made_of_others = hasattr(data, "__tensor_flatten__")  # which its own data would not bring along
            if made_of_others or torch.__future__.get_swap_module_params_on_conversion():
                self._swap_parameter(name, parameter, data, gradient, new_gradient)
                continue
            if _takes_data_of(parameter, data):
                parameter.data = data
            else:
                parameter = self._parameters[name] = Parameter(data, parameter.requires_grad)
            if gradient is None or new_gradient is None:
                continue
            if parameter.grad is gradient and _takes_data_of(gradient, new_gradient):
                gradient.data = new_gradient
            else:
                parameter.grad = new_gradient.requires_grad_(gradient.requires_grad)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def _swap_parameter(
        self, name: str, parameter: Parameter, data: torch.Tensor, gradient: Any, new_gradient: Any
    ) -> None:
        path = f"{type(self).__name__}.{name}"
        try:
            parameter.grad = None  # a gradient belongs to what is swapped, and is given back below
            swap_tensors(parameter, Parameter(data, parameter.requires_grad))
        except Exception as error:
            parameter.grad = gradient
            raise RuntimeError(f"_apply(): Couldn't swap {path}") from error
        if gradient is None:
            return
        try:
            swap_tensors(gradient, new_gradient.requires_grad_(gradient.requires_grad))
        except Exception as error:
            raise RuntimeError(f"_apply(): Couldn't swap {path}.grad") from error
        parameter.grad = gradient

    def apply(self, fn: Callable[[Module], object]) -> Self:
        """Calls ``fn`` on every module of the tree, the children before their parent."""
        for child in self.children():
            child.apply(fn)
        fn(self)  # type: ignore[arg-type]
        return self

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """``to(device)``, ``to(dtype)``, ``to(device, dtype)``, ``to(tensor)``; integers keep their dtype."""
        device, dtype, non_blocking, memory_format = torch._C._nn._parse_to(*args, **kwargs)
        if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
            raise TypeError(
                f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}"
            )

        def convert(tensor: torch.Tensor) -> torch.Tensor:
            wanted = dtype if tensor.is_floating_point() or tensor.is_complex() else None
            ordered = memory_format if memory_format is not None and tensor.dim() in (4, 5) else None
            try:
                return tensor.to(device, wanted, non_blocking, memory_format=ordered)
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


def _called_after(kind: str) -> dict[str, Any]:
    """``module.<kind>()``."""

    def moved(self: ModuleConversion, device: Any = None) -> ModuleConversion:
        return self._apply(lambda tensor: getattr(tensor, kind)(device))

    return {kind: moved}


methods.made_for_each_type("module", ModuleConversion, _called_after)
