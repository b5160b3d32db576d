"""Which modules of a model become units of their own: policies, and wrapping by hand."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ... import nn
from ..._absent import names_of

Policy = Callable[..., bool]


def always_wrap_policy(*args: Any, **kwargs: Any) -> bool:
    """Every module."""
    return True


class _Policy(ABC):
    """Chooses modules of a model, each with the arguments of its wrapper."""

    @abstractmethod
    def _run_policy(
        self, root_module: nn.Module, ignored_modules: set[nn.Module], root_kwargs: dict[str, Any]
    ) -> dict[nn.Module, dict[str, Any]]: ...


class ModuleWrapPolicy(_Policy):
    """Modules of some classes."""

    def __init__(self, module_classes: Iterable[type[nn.Module]]) -> None:
        self._module_classes = set(module_classes)

    def _run_policy(
        self, root_module: nn.Module, ignored_modules: set[nn.Module], root_kwargs: dict[str, Any]
    ) -> dict[nn.Module, dict[str, Any]]:
        classes = tuple(self._module_classes)
        return {
            each: dict(root_kwargs)
            for each in root_module.modules()
            if each not in ignored_modules and isinstance(each, classes)
        }

    def __call__(self, module: nn.Module, recurse: bool, *args: Any, **kwargs: Any) -> bool:
        return recurse or isinstance(module, tuple(self._module_classes))

    def __repr__(self) -> str:
        return f"{super().__repr__()}({self._module_classes})"


class CustomPolicy(_Policy):
    """Modules for which a function gives True, or arguments that their wrapper gets instead of the root's."""

    def __init__(self, lambda_fn: Callable[[nn.Module], bool | dict[str, Any]]) -> None:
        self._lambda_fn = lambda_fn

    def _run_policy(
        self, root_module: nn.Module, ignored_modules: set[nn.Module], root_kwargs: dict[str, Any]
    ) -> dict[nn.Module, dict[str, Any]]:
        chosen: dict[nn.Module, dict[str, Any]] = {}
        for each in root_module.modules():
            if each in ignored_modules:
                continue
            answer = self._lambda_fn(each)
            if not isinstance(answer, (bool, dict)):
                raise ValueError(
                    "The lambda_fn passed to CustomPolicy should return False/True or a kwarg dict, but it returned "
                    f"{answer}"
                )
            if answer is not False:
                chosen[each] = root_kwargs | (answer if isinstance(answer, dict) else {})
        return chosen


def lambda_auto_wrap_policy(
    module: nn.Module, recurse: bool, nonwrapped_numel: int, lambda_fn: Callable[[nn.Module], bool]
) -> bool:
    """Modules for which a function is true."""
    return recurse or lambda_fn(module)


def transformer_auto_wrap_policy(
    module: nn.Module,
    recurse: bool,
    nonwrapped_numel: int,
    transformer_layer_cls: set[type[nn.Module]],
) -> bool:
    """Layers of a transformer, by their classes."""
    return recurse or isinstance(module, tuple(transformer_layer_cls))


def _wrap_module_cls_individually(
    module: nn.Module, module_classes: Iterable[type], recurse: bool, *args: Any, **kwargs: Any
) -> bool:
    return recurse or isinstance(module, tuple(module_classes))


def _or_policy(module: nn.Module, recurse: bool, nonwrapped_numel: int, policies: Iterable[Policy]) -> bool:
    return any(
        policy(module=module, recurse=recurse, nonwrapped_numel=nonwrapped_numel) for policy in policies
    )


def size_based_auto_wrap_policy(
    module: nn.Module,
    recurse: bool,
    nonwrapped_numel: int,
    min_num_params: int = int(1e8),
    force_leaf_modules: set[type[nn.Module]] | None = None,
    exclude_wrap_modules: set[type[nn.Module]] | None = None,
) -> bool:
    """Modules with so many elements that no unit below them has."""
    said: Any = size_based_auto_wrap_policy  # programs may change its two sets
    leaves = said.FORCE_LEAF_MODULES if force_leaf_modules is None else force_leaf_modules
    excluded = said.EXCLUDE_WRAP_MODULES if exclude_wrap_modules is None else exclude_wrap_modules
    large = nonwrapped_numel >= min_num_params
    return large and not isinstance(module, tuple(leaves if recurse else excluded))


size_based_auto_wrap_policy.EXCLUDE_WRAP_MODULES = {nn.ModuleList, nn.ModuleDict}  # type: ignore[attr-defined]
size_based_auto_wrap_policy.FORCE_LEAF_MODULES = {nn.MultiheadAttention}  # type: ignore[attr-defined]


class _ConfigAutoWrap:
    """What ``enable_wrap`` said, while it lasts."""

    in_autowrap_context = False
    wrapper_cls: Callable[..., nn.Module] | None = None
    kwargs: dict[str, Any] = {}


@contextlib.contextmanager
def enable_wrap(*, wrapper_cls: Any, **wrapper_kwargs: Any) -> Iterator[None]:
    """Inside, ``wrap`` wraps with this class and these arguments."""
    if _ConfigAutoWrap.in_autowrap_context:
        raise NotImplementedError(
            "You are already within an autowrap context and we currently do not supported nested autowrap."
        )
    _ConfigAutoWrap.in_autowrap_context = True
    _ConfigAutoWrap.wrapper_cls, _ConfigAutoWrap.kwargs = wrapper_cls, wrapper_kwargs
    try:
        yield
    finally:
        _ConfigAutoWrap.in_autowrap_context = False
        _ConfigAutoWrap.wrapper_cls, _ConfigAutoWrap.kwargs = None, {}


def wrap(module: nn.Module, **wrap_overrides: Any) -> nn.Module:
    """The module, wrapped if this runs inside ``enable_wrap``."""
    if _ConfigAutoWrap.wrapper_cls is None:
        return module
    return _wrap(module, _ConfigAutoWrap.wrapper_cls, **(_ConfigAutoWrap.kwargs | wrap_overrides))


def _wrap(module: nn.Module, wrapper_cls: Callable[..., nn.Module], **kwargs: Any) -> nn.Module:
    overrides = vars(module).get("_wrap_overrides", {})
    return wrapper_cls(module, **(kwargs | overrides))


def wrap_chosen(
    root: nn.Module,
    chosen: dict[nn.Module, dict[str, Any]],
    wrapper_cls: Callable[..., nn.Module],
) -> None:
    """Replaces the chosen modules below the root by wrapped ones, inner ones first; one that occurs twice is one."""
    made: dict[nn.Module, nn.Module] = {}
    seen: set[nn.Module] = set()

    def visit(module: nn.Module) -> None:
        if module in seen:
            return
        seen.add(module)
        for name, child in list(module._modules.items()):
            if child is None:
                continue
            visit(child)
            if child in chosen:
                if child not in made:
                    made[child] = wrapper_cls(child, **chosen[child])
                setattr(module, name, made[child])

    visit(root)


def _recursive_wrap(
    module: nn.Module,
    auto_wrap_policy: Policy,
    wrapper_cls: Callable[..., nn.Module],
    ignored_modules: set[nn.Module],
    ignored_params: set[nn.Parameter],
    only_wrap_children: bool = False,
    **kwargs: Any,
) -> tuple[nn.Module, int]:
    """Wraps what a function chooses, inner modules first; the module, and how many elements units have now."""
    own = sum(each.numel() for each in module.parameters() if each not in ignored_params)
    if not auto_wrap_policy(module=module, recurse=True, nonwrapped_numel=own):
        return module, 0
    wrapped = 0
    for name, child in module.named_children():
        if child in ignored_modules:
            continue
        made, count = _recursive_wrap(
            child, auto_wrap_policy, wrapper_cls, ignored_modules, ignored_params, **kwargs
        )
        setattr(module, name, made)
        wrapped += count
    rest = own - wrapped
    if not only_wrap_children and auto_wrap_policy(module=module, recurse=False, nonwrapped_numel=rest):
        return _wrap(module, wrapper_cls, **kwargs), own
    return module, wrapped


__getattr__ = names_of(__name__)
