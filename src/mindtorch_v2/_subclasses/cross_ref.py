"""A mode that compares operators with their fake ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mindtorch_v2 as torch

from ..utils._python_dispatch import TorchDispatchMode
from ..utils._pytree import tree_leaves, tree_map
from ._exceptions import DataDependentOutputException, DynamicOutputShapeException, MetadataMismatchError
from .fake_tensor import FakeTensorMode, UnsupportedFakeTensorException, UnsupportedOperatorException


class CrossRefFakeMode(TorchDispatchMode):
    """Runs every operator on fake tensors too, and refuses one whose fake results are not like the real ones."""

    def __init__(
        self,
        ignore_op_fn: Callable[[Any], bool] | None = None,
        *,
        check_strides: bool = True,
        check_aliasing: bool = True,
        only_check_ops_with_meta: bool = True,
    ) -> None:
        super().__init__()
        self.ignore_op_fn = ignore_op_fn or (lambda func: False)
        self.check_strides = check_strides
        self.check_aliasing = check_aliasing
        self.only_check_ops_with_meta = only_check_ops_with_meta

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        fake = None
        if not self.ignore_op_fn(func) and str(func) != "aten.lift_fresh.default":
            fake = self._fake_results(func, args, kwargs)
        real = func(*args, **kwargs)
        if fake is not None:
            self._compare(func, real, fake)
        return real

    def _fake_results(self, func: Any, args: Any, kwargs: Any) -> Any:
        mode = FakeTensorMode(allow_fallback_kernels=not self.only_check_ops_with_meta)
        expected = (
            UnsupportedFakeTensorException, UnsupportedOperatorException, DynamicOutputShapeException,
            DataDependentOutputException,
        )  # fmt: skip
        try:
            given = tree_map(
                lambda t: mode.from_tensor(t) if isinstance(t, torch.Tensor) else t, (args, kwargs)
            )
            with mode:
                return func(*given[0], **given[1])
        except expected:
            return None

    def _compare(self, func: Any, real: Any, fake: Any) -> None:
        for r, f in zip(tree_leaves(real), tree_leaves(fake), strict=True):
            if not isinstance(r, torch.Tensor):
                continue
            names = ["shape", "dtype", "device", "layout"]
            if self.check_strides and r.numel() > 1:
                names.append("stride")
            for name in names:
                a, b = getattr(r, name), getattr(f, name)
                a, b = (a(), b()) if callable(a) else (a, b)
                if a != b:
                    raise MetadataMismatchError(f"{func}: {name} is {a} for real tensors, {b} for fake ones")
