"""Modules whose parameters take their shapes from the first input."""

from __future__ import annotations

from typing import Any

from ..._absent import names_of
from ..parameter import is_lazy

__all__ = ["LazyModuleMixin"]


class LazyModuleMixin:
    """Comes before the module class it makes lazy.

    The class gives its parameters as ``UninitializedParameter`` and materialises them in
    ``initialize_parameters``, which gets the arguments of the first call. After that call the module's class
    is ``cls_to_become``.
    """

    cls_to_become: Any = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        this: Any = self
        self._load_hook = this._register_load_state_dict_pre_hook(self._lazy_load_hook)
        self._initialize_hook = this.register_forward_pre_hook(self._infer_parameters, with_kwargs=True)

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        # A parameter without a shape has nothing to detach; it goes into the state as it is.
        this: Any = self
        for name, value in this._local_state().items():
            destination[prefix + name] = value if is_lazy(value) or keep_vars else value.detach()

    def _lazy_load_hook(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: Any,
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Takes the shapes of a state that has them, before its values are copied."""
        this: Any = self
        for name, value in this._local_state().items():
            key = prefix + name
            if is_lazy(value) and key in state_dict and not is_lazy(state_dict[key]):
                value.materialize(state_dict[key].shape)

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Materialises the parameters for these inputs; every lazy module defines it."""
        raise NotImplementedError(f"initialize_parameters is not implemented for {type(self).__name__}")

    def has_uninitialized_params(self) -> bool:
        """Whether a parameter or buffer of the module itself still has no shape."""
        this: Any = self
        return any(is_lazy(value) for value in (*this._parameters.values(), *this._buffers.values()))

    def _infer_parameters(self, module: Any, args: Any, kwargs: Any = None) -> None:
        """The hook of the first call."""
        module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise RuntimeError(f"module {self._get_name()} has not been fully initialized")  # type: ignore[attr-defined]
        module._initialize_hook.remove()
        module._load_hook.remove()
        del module._initialize_hook
        del module._load_hook
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become

    def _replicate_for_data_parallel(self) -> Any:
        raise RuntimeError(
            "Modules with uninitialized parameters can't be used with `DataParallel`. Run a dummy forward pass "
            "to correctly initialize the modules"
        )


__getattr__ = names_of(__name__)
