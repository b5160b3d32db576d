"""Pruning: a mask that keeps elements of a parameter at zero.

The parameter is kept as ``name_orig`` and the mask as the buffer ``name_mask``; a hook makes ``name`` of them
before every call.
"""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2 import Tensor

from ..modules.module import Module

__all__ = [
    "BasePruningMethod",
    "CustomFromMask",
    "Identity",
    "L1Unstructured",
    "LnStructured",
    "PruningContainer",
    "RandomStructured",
    "RandomUnstructured",
    "custom_from_mask",
    "global_unstructured",
    "identity",
    "is_pruned",
    "l1_unstructured",
    "ln_structured",
    "random_structured",
    "random_unstructured",
    "remove",
]


class BasePruningMethod(ABC):
    """A way to choose what is pruned. Subclasses say ``PRUNING_TYPE`` and define ``compute_mask``."""

    _tensor_name: str
    PRUNING_TYPE: str

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """A mask for the importance scores ``t``, within ``default_mask``."""

    def apply_mask(self, module: Module) -> Tensor:
        name = self._tensor_name
        mask: Tensor = getattr(module, name + "_mask")
        original: Tensor = getattr(module, name + "_orig")
        return mask.to(original.dtype) * original

    @classmethod
    def apply(
        cls, module: Module, name: str, *args: Any, importance_scores: Tensor | None = None, **kwargs: Any
    ) -> BasePruningMethod:
        """Prunes a parameter, also one that is pruned already."""
        method: BasePruningMethod = cls(*args, **kwargs)
        method._tensor_name = name
        before = [
            (key, hook)
            for key, hook in module._forward_pre_hooks.items()
            if isinstance(hook, BasePruningMethod) and hook._tensor_name == name
        ]
        if len(before) > 1:
            raise AssertionError(
                f"Avoid adding multiple pruning hooks to the same tensor {name} of module {module}. "
                "Use a PruningContainer."
            )
        for key, earlier in before:
            container = PruningContainer(earlier) if not isinstance(earlier, PruningContainer) else earlier
            container.add_pruning_method(method)
            method = container
            del module._forward_pre_hooks[key]
        current: Tensor = getattr(module, name)
        if importance_scores is None:
            importance_scores = current
        elif importance_scores.shape != current.shape:
            raise AssertionError(
                f"importance_scores should have the same shape as parameter {name} of {module}, got "
                f"{importance_scores.shape} vs {current.shape}"
            )
        if before:
            default_mask = getattr(module, name + "_mask").detach().clone()
        else:
            parameter = module._parameters[name]
            assert parameter is not None
            default_mask = torch.ones_like(parameter)
        # The mask first: what goes wrong there leaves the module as it was.
        mask = method.compute_mask(importance_scores.detach(), default_mask)
        if not before:
            module.register_parameter(name + "_orig", parameter)
            del module._parameters[name]
        module.register_buffer(name + "_mask", mask)
        setattr(module, name, method.apply_mask(module))
        module.register_forward_pre_hook(method)
        return method

    def prune(
        self, t: Tensor, default_mask: Tensor | None = None, importance_scores: Tensor | None = None
    ) -> Tensor:
        """A pruned tensor, without any module."""
        if importance_scores is None:
            importance_scores = t
        elif importance_scores.shape != t.shape:
            raise AssertionError("importance_scores should have the same shape as tensor t")
        mask = torch.ones_like(t) if default_mask is None else default_mask
        return t * self.compute_mask(importance_scores, mask)

    def remove(self, module: Module) -> None:
        """Makes the pruning permanent: one parameter again, with the zeros in it."""
        name = self._tensor_name
        weight = self.apply_mask(module)
        if hasattr(module, name):
            delattr(module, name)
        original = module._parameters[name + "_orig"]
        assert original is not None
        original.data = weight.detach()
        del module._parameters[name + "_orig"]
        del module._buffers[name + "_mask"]
        setattr(module, name, original)


class PruningContainer(BasePruningMethod):
    """Several prunings of one parameter, each of what those before it left."""

    def __init__(self, *args: BasePruningMethod) -> None:
        self._pruning_methods: tuple[BasePruningMethod, ...] = ()
        for i, method in enumerate(args):
            if i == 0:
                self._tensor_name = method._tensor_name
            self.add_pruning_method(method)

    def add_pruning_method(self, method: Any) -> None:
        if not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if method._tensor_name != self._tensor_name:
            raise ValueError(
                "Can only add pruning methods acting on the parameter named "
                f"'{self._tensor_name}' to PruningContainer {self}. Found '{method._tensor_name}'"
            )
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Any:
        return iter(self._pruning_methods)

    def __getitem__(self, idx: int) -> BasePruningMethod:
        return self._pruning_methods[idx]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The last method's mask, of those elements (or whole channels) that are not pruned yet."""
        method = self._pruning_methods[-1]
        mask = default_mask.clone()
        if method.PRUNING_TYPE == "unstructured":
            rows: Any = mask == 1
        elif method.PRUNING_TYPE == "structured":
            along = _dim_of(t, method.dim)  # type: ignore[attr-defined]
            others = [d for d in range(t.dim()) if d != along]
            left = mask.sum(others) != 0
            rows = (slice(None),) * along + (left,)
        elif method.PRUNING_TYPE == "global":
            rows = (slice(None),) * t.dim()
        else:
            raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
        mask[rows] = method.compute_mask(t[rows], default_mask=mask[rows])
        return mask


class Identity(BasePruningMethod):
    """Prunes nothing, but makes the mask."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return default_mask


class RandomUnstructured(BasePruningMethod):
    """Prunes elements at random: a number of them, or a share."""

    PRUNING_TYPE = "unstructured"

    def __init__(self, amount: Any) -> None:
        _validate_pruning_amount_init(amount)
        self.amount = amount

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        count = _count(self.amount, t.numel())
        mask = default_mask.clone()
        if count:
            chosen = torch.topk(torch.rand_like(t).reshape(-1), k=count)
            mask.view(-1)[chosen.indices] = 0
        return mask


class L1Unstructured(BasePruningMethod):
    """Prunes the elements nearest to zero."""

    PRUNING_TYPE = "unstructured"

    def __init__(self, amount: Any) -> None:
        _validate_pruning_amount_init(amount)
        self.amount = amount

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        count = _count(self.amount, t.numel())
        mask = default_mask.clone()
        if count:
            chosen = torch.topk(t.abs().reshape(-1), k=count, largest=False)
            mask.view(-1)[chosen.indices] = 0
        return mask


class RandomStructured(BasePruningMethod):
    """Prunes whole channels along ``dim`` at random."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: Any, dim: int = -1) -> None:
        _validate_pruning_amount_init(amount)
        self.amount, self.dim = amount, dim

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        along, count = _channels_to_prune(t, self.dim, self.amount)
        scores = torch.rand(t.size(along))
        keep = torch.ones_like(scores, dtype=torch.bool)
        if count:
            keep = scores > torch.kthvalue(scores, count).values
        return _of_channels(default_mask, along, keep.to(default_mask.device))


class LnStructured(BasePruningMethod):
    """Prunes the channels along ``dim`` of the smallest ``n``-norm."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: Any, n: Any, dim: int = -1) -> None:
        _validate_pruning_amount_init(amount)
        self.amount, self.n, self.dim = amount, n, dim

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        along, count = _channels_to_prune(t, self.dim, self.amount)
        if count == 0:
            return default_mask
        others = [d for d in range(t.dim()) if d != along]
        norms = torch.norm(t, p=self.n, dim=others)
        chosen = torch.topk(norms, k=t.size(along) - count, largest=True)
        keep = torch.zeros(t.size(along), dtype=torch.bool, device=t.device)
        keep[chosen.indices] = True
        return _of_channels(default_mask, along, keep)


class CustomFromMask(BasePruningMethod):
    """Prunes what a given mask says."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        if default_mask.shape != self.mask.shape:
            raise AssertionError(
                f"default_mask shape {default_mask.shape} must match self.mask shape {self.mask.shape}"
            )
        return default_mask * self.mask.to(default_mask.dtype)


def _of_channels(mask: Tensor, along: int, keep: Tensor) -> Tensor:
    shape = [1] * mask.dim()
    shape[along] = -1
    return mask * keep.reshape(shape).to(mask.dtype)


def _dim_of(t: Tensor, dim: int) -> int:
    if dim >= t.dim() or dim < -t.dim():
        raise IndexError(f"Invalid index {dim} for tensor of size {t.shape}")
    return dim % t.dim()


def _channels_to_prune(t: Tensor, dim: int, amount: Any) -> tuple[int, int]:
    if t.dim() <= 1:
        raise ValueError(
            "Structured pruning can only be applied to multidimensional tensors. Found tensor of shape "
            f"{t.shape} with {t.dim()} dims"
        )
    along = _dim_of(t, dim)
    return along, _count(amount, t.size(along))


def _validate_pruning_amount_init(amount: Any) -> None:
    if not isinstance(amount, numbers.Real):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    whole = isinstance(amount, numbers.Integral)
    if (whole and float(amount) < 0) or (not whole and not 0.0 <= float(amount) <= 1.0):
        raise ValueError(
            f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer"
        )


def _count(amount: Any, size: int) -> int:
    """How many of ``size`` to prune: a number as it is, a share rounded."""
    if not isinstance(amount, numbers.Integral):
        return round(float(amount) * size)
    if int(amount) > size:
        raise ValueError(f"amount={amount} should be smaller than the number of parameters to prune={size}")
    return int(amount)


def identity(module: Any, name: str) -> Any:
    """Makes the mask of a parameter without pruning anything."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: Any, name: str, amount: Any) -> Any:
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module: Any, name: str, amount: Any, importance_scores: Tensor | None = None) -> Any:
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module: Any, name: str, amount: Any, dim: int) -> Any:
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(
    module: Any, name: str, amount: Any, n: Any, dim: int, importance_scores: Tensor | None = None
) -> Any:
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: Any, name: str, mask: Tensor) -> Any:
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(
    parameters: Any, pruning_method: Any, importance_scores: dict[Any, Tensor] | None = None, **kwargs: Any
) -> None:
    """Prunes the least important elements of several (module, name) pairs taken together."""
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    pairs = list(parameters)
    scores_by_pair = {} if importance_scores is None else importance_scores
    if not isinstance(scores_by_pair, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    scores = [scores_by_pair.get((module, name), getattr(module, name)) for module, name in pairs]
    masks = [
        getattr(module, name + "_mask", torch.ones_like(getattr(module, name))) for module, name in pairs
    ]
    joined = torch.cat([score.detach().reshape(-1) for score in scores])
    before = torch.cat([mask.reshape(-1) for mask in masks])
    container = PruningContainer()
    container._tensor_name = "temp"
    method = pruning_method(**kwargs)
    method._tensor_name = "temp"
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method '
            f"{pruning_method} of type {method.PRUNING_TYPE}"
        )
    container.add_pruning_method(method)
    parts = container.compute_mask(joined, before).split([mask.numel() for mask in masks])
    for (module, name), part, mask in zip(pairs, parts, masks, strict=True):
        custom_from_mask(module, name, mask=part.reshape(mask.shape))


def remove(module: Any, name: str) -> Any:
    """Makes the pruning of a parameter permanent."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            return module
    raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")


def is_pruned(module: Module) -> bool:
    """Whether anything in the tree is pruned."""
    return any(
        isinstance(hook, BasePruningMethod)
        for submodule in module.modules()
        for hook in submodule._forward_pre_hooks.values()
    )
