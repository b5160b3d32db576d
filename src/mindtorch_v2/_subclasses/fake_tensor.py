"""``FakeTensorMode``: a program runs on shapes, dtypes and devices, without memory.

Note [Fake tensors]
A fake tensor is a wrapper (``_make_wrapper_subclass``) that says it is on a device and holds a tensor of the meta
device. While its mode is on, factories make such tensors; an operator runs on the meta tensors inside, and what comes
out says the device that the arguments have in common. History is recorded above, so that losses have gradients. Where
a value would be needed (``item``, ``nonzero``) there is none, and an error names the operator. A number that a program
wrote is kept (``constant``), and so is what operators make of such numbers.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

import mindtorch_v2 as torch

from .._absent import names_of
from .._library import interception
from ..utils._python_dispatch import (
    TorchDispatchMode,
    is_traceable_wrapper_subclass,
    transform_subclass,
)
from ..utils._pytree import tree_flatten, tree_leaves, tree_map, tree_unflatten
from ..utils.weak import WeakIdKeyDictionary
from ._exceptions import DataDependentOutputException as DataDependentOutputException
from ._exceptions import DynamicOutputShapeException as DynamicOutputShapeException
from ._exceptions import FakeTensorDeviceMismatchError as FakeTensorDeviceMismatchError
from ._exceptions import MetadataMismatchError as MetadataMismatchError
from ._exceptions import UnsupportedFakeTensorException as UnsupportedFakeTensorException
from ._exceptions import UnsupportedOperatorException as UnsupportedOperatorException
from ._rules import counts_values, device_of, draws, handles, written_by
from ._rules import no_modes as no_modes
from .meta_utils import MetaConverter as MetaConverter

aten = torch.ops.aten
Tensor = torch.Tensor

CONSTANT_NUMEL_LIMIT = 1

_DATA_DEPENDENT = ("_local_scalar_dense", "equal", "allclose", "is_nonzero")
_DYNAMIC_SHAPE = (
    "nonzero", "masked_select", "_unique", "_unique2", "unique_dim", "unique_consecutive", "unique_dim_consecutive",
    "bincount", "nonzero_numpy",
)  # fmt: skip


# Namespaces whose operators, if they have no shape rule, may run on zeros.
_FALLBACK = ("aten", "torchvision", "torchaudio")


class FakeTensorTLS(threading.local):
    """What holds for all modes of a thread."""

    def __init__(self) -> None:
        self.allow_non_fake_inputs_override: bool | None = None


fake_tensor_tls = FakeTensorTLS()


class FakeTensorConfig:
    """Settings of fake tensors."""

    debug = False


class FakeTensor(Tensor):
    """A tensor without values. Note [Fake tensors]."""

    fake_mode: FakeTensorMode
    constant: Tensor | None
    real_tensor: Tensor | None
    pytype: type[Tensor] | None
    _elem: Tensor  # of the meta device

    # Functions of torch are not asked for: operators are.
    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(
        cls,
        fake_mode: FakeTensorMode,
        elem: Tensor,
        device: torch.device | str,
        constant: Tensor | None = None,
        real_tensor: Tensor | None = None,
        pytype: type[Tensor] | None = None,
        dispatch_keys: Any = None,
    ) -> Self:
        if elem.device.type != "meta":
            raise AssertionError(f"elem.device.type must be 'meta', got {elem.device.type}")
        made = Tensor._make_wrapper_subclass(
            cls, elem.size(), strides=elem.stride(), storage_offset=elem.storage_offset(), dtype=elem.dtype,
            device=torch.device(device), requires_grad=elem.requires_grad,
        )  # fmt: skip
        made._elem = elem.detach() if elem.requires_grad else elem
        made.fake_mode = fake_mode
        made.constant, made.real_tensor, made.pytype = constant, real_tensor, pytype
        return made  # type: ignore[no-any-return]

    @staticmethod
    def from_tensor(t: Tensor, fake_mode: FakeTensorMode) -> FakeTensor:
        """The fake tensor that stands for ``t``."""
        return fake_mode.from_tensor(t)

    @property
    def fake_device(self) -> torch.device:
        """The device that it says it is on."""
        return self.device

    @classmethod
    def __torch_dispatch__(
        cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if any(not issubclass(kind, (FakeTensor, torch.nn.Parameter)) for kind in types):
            return NotImplemented  # a class around fake tensors unwraps them first
        fakes = [t for t in tree_leaves((args, kwargs)) if isinstance(t, FakeTensor)]
        mode = fakes[0].fake_mode
        if torch._guards.active_fake_mode() is mode:
            return NotImplemented
        with mode:
            return func(*args, **kwargs)

    def __repr__(self, **options: Any) -> str:
        parts = ["..."]
        if self.device.type != "cpu":
            parts.append(f"device='{self.device}'")
        parts.append(f"size={tuple(self.shape)}")
        if self.dtype not in (torch.get_default_dtype(), torch.bool):
            parts.append(f"dtype={self.dtype}")
        elif self.dtype is torch.bool:
            parts.append("dtype=torch.bool")
        if self.grad_fn is not None:
            parts.append(f"grad_fn=<{type(self.grad_fn).__name__}>")
        elif self.requires_grad:
            parts.append("requires_grad=True")
        text = f"FakeTensor({', '.join(parts)})"
        return f"Parameter({text})" if _is_parameter(self) else text

    def __deepcopy__(self, memo: dict[int, Any]) -> FakeTensor:
        if id(self) in memo:
            return memo[id(self)]  # type: ignore[no-any-return]
        with torch.no_grad():
            made: Any = self.detach().clone()
        made.constant = self.constant
        if _is_parameter(self):
            made = torch.nn.Parameter(made, self.requires_grad)
        elif self.requires_grad:
            made.requires_grad_()
        memo[id(self)] = made
        return made  # type: ignore[no-any-return]


def _is_parameter(tensor: Tensor) -> bool:
    return isinstance(tensor, torch.nn.Parameter)


class FakeTensorConverter:
    """Real tensors to fake ones, the same tensor to the same."""

    def __init__(self, *, copy_data: bool = False, export: bool = False) -> None:
        self.meta_converter = MetaConverter()
        self.tensor_memo: WeakIdKeyDictionary = WeakIdKeyDictionary()

    def from_real_tensor(
        self, fake_mode: FakeTensorMode, t: Tensor, make_constant: bool = False
    ) -> FakeTensor:
        """The fake tensor that stands for ``t``: a leaf for a leaf, a parameter for a parameter."""
        if t in self.tensor_memo:
            return self.tensor_memo[t]  # type: ignore[no-any-return]
        if is_traceable_wrapper_subclass(t):  # the same class, around fake tensors
            wrapper: Any = transform_subclass(t, lambda name, held: self.from_real_tensor(fake_mode, held))
            self.tensor_memo[t] = wrapper
            return wrapper  # type: ignore[no-any-return]
        with torch._C._DisableTorchDispatch(), torch.no_grad():
            plain = t.detach()
            elem = self.meta_converter.meta_tensor(plain)
            constant = plain.clone() if make_constant else None
            made: Any = FakeTensor(fake_mode, elem, t.device, constant)
        made = _with_history_of(t, made)
        if t.is_leaf and t.grad is not None:
            made.grad = self.from_real_tensor(fake_mode, t.grad)
        self.tensor_memo[t] = made
        return made  # type: ignore[no-any-return]

    def from_meta_and_device(self, fake_mode: FakeTensorMode, t: Tensor, device: Any) -> FakeTensor:
        """A tensor of the meta device that says it is on another."""
        if t.device.type != "meta":
            raise AssertionError(f"wanted a tensor of the meta device, got one of {t.device}")
        return FakeTensor(fake_mode, t, device)


def _with_history_of(t: Tensor, made: FakeTensor) -> Any:
    if isinstance(t, torch.nn.Parameter):
        return torch.nn.Parameter(made, t.requires_grad)
    if not t.requires_grad:
        return made
    made.requires_grad_()
    return made if t.is_leaf else made.view_as(made)


class FakeTensorMode(TorchDispatchMode):
    """While it is on, tensors have no values. Note [Fake tensors]."""

    _infra_kind = "FAKE"

    def __init__(
        self,
        *,
        allow_fallback_kernels: bool = True,
        allow_non_fake_inputs: bool = False,
        shape_env: Any = None,
        static_shapes: bool | None = None,
        export: bool = False,
    ) -> None:
        super().__init__()
        if shape_env is not None:
            raise NotImplementedError(
                "FakeTensorMode(shape_env=...): there are no symbolic shapes here; leave it out for sizes that are ints"
            )
        self.allow_fallback_kernels = allow_fallback_kernels
        self.allow_non_fake_inputs = allow_non_fake_inputs
        self.shape_env = None
        self.static_shapes = True
        self.export = export
        self.fake_tensor_converter = FakeTensorConverter()
        self._entered: list[bool] = []

    @classmethod
    def is_infra_mode(cls) -> bool:
        return True

    def __enter__(self) -> Self:
        # Inside of itself it stays as it is.
        entered = torch._guards.active_fake_mode() is not self
        self._entered.append(entered)
        return super().__enter__() if entered else self

    def __exit__(self, *exception: object) -> None:
        if self._entered.pop():
            super().__exit__(*exception)

    def from_tensor(
        self,
        tensor: Tensor,
        *,
        static_shapes: bool | None = None,
        source: Any = None,
        symbolic_context: Any = None,
        trace: bool = True,
    ) -> FakeTensor:
        """The fake tensor that stands for ``tensor``."""
        if static_shapes is False or symbolic_context is not None:
            raise NotImplementedError("FakeTensorMode.from_tensor: there are no symbolic shapes here")
        if isinstance(tensor, FakeTensor):
            if tensor.fake_mode is not self:
                made: FakeTensor = _with_history_of(tensor, FakeTensor(self, tensor._elem, tensor.device))
                return made
            return tensor
        return self.fake_tensor_converter.from_real_tensor(self, tensor)

    def is_our_fake(self, t: object) -> bool:
        """Whether a tensor is fake, and of this mode."""
        return isinstance(t, FakeTensor) and t.fake_mode is self

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        # A class around fake tensors unwraps them first; it is not this mode's business.
        if any(not issubclass(kind, (FakeTensor, torch.nn.Parameter)) and handles(kind) for kind in types):
            return NotImplemented
        return self.dispatch(func, types, args, kwargs)

    def dispatch(self, func: Any, types: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """The operator on shapes."""
        name = func.overloadpacket.__name__ if hasattr(func, "overloadpacket") else str(func)
        if name in ("lift_fresh", "lift_fresh_copy"):
            return self._lifted(args[0])
        if name == "_linalg_check_errors":
            return None  # without values nothing fails
        if name == "index_put_" and _has_mask(args[1]) and isinstance(args[0], FakeTensor):
            args[0].constant = None
            return args[0]  # the mask's values would say where, not what shape
        flat, shape = tree_flatten((args, kwargs))
        if name in _DATA_DEPENDENT or name in _DYNAMIC_SHAPE or counts_values(func, kwargs):
            return self._by_values(func, name, flat, shape)
        flat = [self._fake(value, func, args, kwargs) for value in flat]
        fakes = [value for value in flat if isinstance(value, FakeTensor)]
        args, kwargs = tree_unflatten(flat, shape)
        if fakes and all(fake.constant is not None for fake in fakes) and not draws(func):
            known = self._of_constants(func, flat, shape, fakes)
            if known is not NotImplemented:
                return known
        device, kwargs = device_of(func, name, fakes, args, kwargs)
        written = written_by(func, args, kwargs)
        for each in written:
            each.constant = None
        inner_args, inner_kwargs = tree_map(_inner, (args, kwargs))
        made = self._run(func, inner_args, inner_kwargs, device)
        return self._wrapped(made, device, fakes, written)

    def _run(self, func: Any, args: Any, kwargs: Any, device: torch.device) -> Any:
        try:
            with no_modes():
                return func(*args, **kwargs)
        except NotImplementedError as missing:
            if not self.allow_fallback_kernels or func.namespace not in _FALLBACK:
                raise UnsupportedOperatorException(func) from missing
            return run_fallback_kernel(self, func, args, kwargs, missing)

    def _wrapped(self, made: Any, device: torch.device, fakes: list[FakeTensor], written: list[Any]) -> Any:
        by_elem = {id(fake._elem): fake for fake in fakes}

        def wrap(value: Any) -> Any:
            if not isinstance(value, Tensor):
                return value
            same = by_elem.get(id(value))
            if same is not None and any(same is each for each in written):
                if same.shape != value.shape or same.stride() != value.stride():
                    torch._C._dispatch.take_geometry(same, value)
                return same
            with no_modes():
                return FakeTensor(self, value, device)

        return tree_map(wrap, made)

    def _lifted(self, value: Tensor) -> Tensor:
        if isinstance(value, FakeTensor):
            return value
        small = value.numel() <= CONSTANT_NUMEL_LIMIT and value.device.type != "meta"
        return self.fake_tensor_converter.from_real_tensor(self, value, make_constant=small)

    def _fake(self, value: Any, func: Any, args: Any, kwargs: Any) -> Any:
        """A tensor among the arguments as a fake one of this mode."""
        if not isinstance(value, Tensor):
            return value
        if isinstance(value, FakeTensor):
            if value.fake_mode is not self:
                raise AssertionError(f"Mixing fake modes NYI x.fake_mode={value.fake_mode} vs self={self}")
            return value
        if torch._C._dispatch.is_number(value):  # of native code, for which there is no fake one yet
            return self.fake_tensor_converter.from_real_tensor(self, value, make_constant=True)
        override = fake_tensor_tls.allow_non_fake_inputs_override
        if not (self.allow_non_fake_inputs if override is None else override):
            shown = ", ".join(map(_shown, tree_leaves((args, kwargs))))
            raise AssertionError(
                "Please convert all Tensors to FakeTensors first or instantiate FakeTensorMode with "
                f"'allow_non_fake_inputs'. Found in {func}({shown})"
            )
        return self.fake_tensor_converter.from_real_tensor(self, value)

    def _of_constants(self, func: Any, flat: list[Any], shape: Any, fakes: list[FakeTensor]) -> Any:
        """What an operator makes of constants: constants, if they are small."""
        args, kwargs = tree_unflatten([v.constant if isinstance(v, FakeTensor) else v for v in flat], shape)
        with no_modes():
            made = func(*args, **kwargs)
        results = [t for t in tree_leaves(made) if isinstance(t, Tensor)]
        if any(t.numel() > CONSTANT_NUMEL_LIMIT for t in results):
            return NotImplemented
        same = {id(fake.constant): fake for fake in fakes}

        def wrap(value: Any) -> Any:
            if not isinstance(value, Tensor):
                return value
            if id(value) in same:
                return same[id(value)]
            elem = torch.empty_strided(value.size(), value.stride(), dtype=value.dtype, device="meta")
            return FakeTensor(self, elem, value.device, value)

        with no_modes():
            return tree_map(wrap, made)

    def _by_values(self, func: Any, name: str, flat: list[Any], shape: Any) -> Any:
        """An operator that needs values: constants have them."""
        constants = [v.constant if isinstance(v, FakeTensor) else v for v in flat]
        if any(isinstance(v, FakeTensor) and v.constant is None for v in flat):
            kind = DataDependentOutputException if name in _DATA_DEPENDENT else DynamicOutputShapeException
            raise kind(func)
        args, kwargs = tree_unflatten(constants, shape)
        with no_modes():
            made = func(*args, **kwargs)
        return tree_map(lambda v: self.from_tensor(v) if isinstance(v, Tensor) else v, made)


def _inner(value: Any) -> Any:
    return value._elem if isinstance(value, FakeTensor) else value


def _has_mask(indices: Any) -> bool:
    return any(isinstance(t, Tensor) and t.dtype in (torch.bool, torch.uint8) for t in indices)


def _shown(value: Any) -> str:
    if isinstance(value, Tensor) and not isinstance(value, FakeTensor):
        return f"tensor([...], size={tuple(value.shape)})"
    return repr(value)


def run_fallback_kernel(
    fake_mode: FakeTensorMode, func: Any, args: Any, kwargs: Any, orig_not_implemented_exception: Exception
) -> Any:
    """Runs an operator without a shape rule on zeros, for the shape of its result."""

    def real(value: Any) -> Any:
        if isinstance(value, Tensor) and value.device.type == "meta":
            return torch.zeros_like(value, device="cpu")
        return torch.device("cpu") if isinstance(value, torch.device) else value

    schema = getattr(func, "_schema", None)
    if schema is None or schema.is_mutable or func.is_view:
        raise orig_not_implemented_exception
    with no_modes():
        args, kwargs = tree_map(real, (args, kwargs))
        made = func(*args, **kwargs)
        return tree_map(lambda v: torch.empty_strided(v.size(), v.stride(), dtype=v.dtype, device="meta")
                        if isinstance(v, Tensor) else v, made)  # fmt: skip


class FakeCopyMode(torch.overrides.TorchFunctionMode):
    """While it is on, ``copy.deepcopy`` of tensors and parameters gives fake ones."""

    def __init__(self, fake_mode: FakeTensorMode) -> None:
        super().__init__()
        self.fake_mode = fake_mode

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func is Tensor.clone:
            return func(self.fake_mode.from_tensor(args[0]), **kwargs)
        if getattr(func, "__name__", "") == "__deepcopy__":
            tensor, memo = args
            if id(tensor) not in memo:
                memo[id(tensor)] = self.fake_mode.from_tensor(tensor)
            return memo[id(tensor)]
        return func(*args, **kwargs)


# ---- questions ---------------------------------------------------------------------------------------


@contextmanager
def unset_fake_temporarily() -> Iterator[Any]:
    """Inside, no fake mode is on; gives the one that was."""
    found = torch._guards.active_fake_mode()
    if found is None:
        yield None
        return
    with interception.without_mode(found):
        yield found


def is_fake(x: object) -> bool:
    """Whether a tensor, or one of those it is made of, has no values."""
    return maybe_get_fake_mode(x) is not None


def maybe_get_fake_mode(t: object) -> FakeTensorMode | None:
    """The mode of a fake tensor, or of those that a tensor is made of."""
    if isinstance(t, FakeTensor):
        return t.fake_mode
    if is_traceable_wrapper_subclass(t):
        names, _ = t.__tensor_flatten__()  # type: ignore[attr-defined]
        modes = [maybe_get_fake_mode(getattr(t, name)) for name in names]
        found = [mode for mode in modes if mode is not None]
        if any(mode is not found[0] for mode in found):
            raise AssertionError(f"a tensor is made of fake tensors of several modes: {found}")
        return found[0] if found else None
    return None


def get_plain_tensors(subclass: Any, *, out: list[Any]) -> list[Any]:
    """Adds the tensors that a wrapper is made of, down to those that are no wrappers."""
    names, _ = subclass.__tensor_flatten__()
    for name in names:
        part = getattr(subclass, name)
        if hasattr(part, "__tensor_flatten__"):
            get_plain_tensors(part, out=out)
        else:
            out.append(part)
    return out


@contextmanager
def disable_fake_tensor_cache(fake_mode: FakeTensorMode) -> Iterator[None]:
    """Inside, no result is taken from a cache; there is none."""
    yield


@contextmanager
def in_kernel_invocation_manager(fake_mode: FakeTensorMode) -> Iterator[None]:
    """Inside, operators are left alone, as they are where a fake tensor's operator runs."""
    with no_modes():
        yield


__getattr__ = names_of(__name__)
