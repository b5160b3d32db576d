"""The options of an optimizer, declared once.

A class under ``@declared()`` is a table of its options, one a line, in the order of its signature::

    @declared()
    class Adadelta(ListOptimizer):
        lr: Rate = option(default=1.0, check=learning_rate)
        rho: float = option(default=0.9, check=not_above_one, meaning="how much of both averages is kept")
        foreach: bool | None = switch(default=None)
        _: KW_ONLY
        maximize: bool = switch(default=False)

From it come ``__init__`` with that signature, its checks, ``defaults`` (what each group has), the options that
older states lack, and the list of options in the class's documentation. The attributes themselves do not stay in the
class. Type checkers know such tables (PEP 681) and see the signature, too; for them ``default`` is always a keyword.
"""

from __future__ import annotations

import difflib
import inspect
import sys
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, TypeAlias, TypeVar, dataclass_transform

import mindtorch_v2 as torch

from .optimizer import Optimizer, ParamsT

Rate: TypeAlias = float | torch.Tensor
Check: TypeAlias = Callable[[str, Any], None]
Class = TypeVar("Class", bound=type[Any])

DECOUPLED = "how fast the parameters shrink, in learning rates"  # what a decoupled weight decay means
# What options mean that several optimizers have.
_MEANINGS = {
    "lr": "the learning rate; a tensor of one element may change between steps",
    "betas": "how much the averages of the gradient and of its square keep of themselves",
    "eps": "added to divisors, so that they are not zero",
    "weight_decay": "the weight of the square of the parameters in the loss",
    "momentum": "how much of the previous step is made again",
    "nesterov": "looks at the gradient where the momentum leads",
    "decoupled_weight_decay": "shrinks the parameters directly instead of adding to the gradient",
    "maximize": "ascends instead of descending",
    "foreach": "asks for operators over lists, which are always used where they help",
    "fused": "one kernel for the whole step, which also undoes a GradScaler's scale",
    "capturable": "keeps counters on the device, so that a step can be part of a graph",
    "differentiable": "lets autograd see the step",
}


@dataclass(frozen=True)
class Option:
    """A row of the table. ``name``, ``annotation`` and ``keyword_only`` come from where it stands."""

    default: Any
    check: Check | None
    meaning: str
    parts: tuple[str, ...]  # names that the functional form has for the entries of a tuple
    later: bool  # states written before it existed lack it
    fixed: bool  # no argument: the class is defined by it
    name: str = ""
    annotation: Any = None
    keyword_only: bool = False

    def parameter(self) -> inspect.Parameter:
        kind = (
            inspect.Parameter.KEYWORD_ONLY if self.keyword_only else inspect.Parameter.POSITIONAL_OR_KEYWORD
        )
        return inspect.Parameter(self.name, kind, default=self.default, annotation=self.annotation)


def option(
    *,
    default: Any,
    check: Check | None = None,
    meaning: str = "",
    parts: tuple[str, ...] = (),
    later: bool = False,
) -> Any:
    """An option; ``check(name, value)`` refuses values."""
    return Option(default, check, meaning, parts, later, fixed=False)


def switch(*, default: bool | None, meaning: str = "") -> Any:
    """An option that turns something on, and that older states lack."""
    return Option(default, None, meaning, (), later=True, fixed=False)


def fixed(*, default: Any, init: bool = False) -> Any:
    """An option of the base class that has one value here, and is no argument (which ``init`` tells type checkers)."""
    return Option(default, None, "", (), later=True, fixed=True)


@dataclass_transform(eq_default=False, field_specifiers=(option, switch, fixed))
def declared(*, last_in_signature: str = "", last_in_groups: str = "") -> Callable[[Class], Class]:
    """Reads the options of a class; they follow those of its base. The names of ``last_in_signature`` and
    ``last_in_groups`` come after all others there, where PyTorch's order is not that of the table.
    """

    def decorate(cls: Any) -> Any:
        options: dict[str, Option] = dict(getattr(cls, "_options", {}))
        keyword_only = False
        for name, annotation in inspect.get_annotations(cls, eval_str=True).items():
            row = cls.__dict__.get(name)
            if annotation is KW_ONLY:
                keyword_only = True
            elif isinstance(row, Option):
                options[name] = replace(row, name=name, annotation=annotation, keyword_only=keyword_only)
                delattr(cls, name)
        cls._options = _moved(options, last_in_groups)
        options = _moved(options, last_in_signature)
        cls.__init__ = _constructor(cls, options)
        cls.__doc__ = _documentation(cls, options)
        return cls

    return decorate


def _moved(options: dict[str, Option], last: str) -> dict[str, Option]:
    names = last.split()
    return {
        **{name: row for name, row in options.items() if name not in names},
        **{n: options[n] for n in names},
    }


def _documentation(cls: Any, options: dict[str, Option]) -> str:
    """What the class says of itself, or else its file, and the list of options."""
    text = inspect.cleandoc(cls.__doc__ or sys.modules[cls.__module__].__doc__ or "")
    rows = [
        f"* ``{name}={row.default!r}``: {row.meaning or _MEANINGS[name]}"
        for name, row in options.items()
        if not row.fixed
    ]
    return "\n".join([text, "", *rows])


def _constructor(cls: Any, options: dict[str, Option]) -> Callable[..., None]:
    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    arguments = [row.parameter() for row in options.values() if not row.fixed]
    signature = inspect.Signature(
        [own, own.replace(name="params", annotation=ParamsT), *arguments], return_annotation=None
    )

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        try:
            bound = signature.bind(self, *args, **kwargs)
        except TypeError as error:
            problem = _problem(signature, args, kwargs) or f"got {error}"
            raise TypeError(f"{cls.__qualname__}.__init__() {problem}") from None
        bound.apply_defaults()
        given = bound.arguments
        defaults = {name: row.default if row.fixed else given[name] for name, row in cls._options.items()}
        for row in options.values():
            if row.check is not None:
                row.check(row.name, defaults[row.name])
        self._check_options(defaults)
        super(DeclaredOptimizer, self).__init__(given["params"], defaults)
        self._prepare()

    __init__.__qualname__ = f"{cls.__qualname__}.__init__"
    __init__.__module__ = cls.__module__
    __init__.__signature__ = signature  # type: ignore[attr-defined]
    __init__.__annotations__ = {
        place.name: place.annotation for place in [*signature.parameters.values()][1:]
    }
    return __init__


def _problem(signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
    """What is wrong with the arguments, in Python's words, and what may have been meant."""
    places = signature.parameters.values()
    positional = [place.name for place in places if place.kind is not inspect.Parameter.KEYWORD_ONLY]
    options = list(signature.parameters)[2:]
    for name in kwargs:
        if name not in signature.parameters:
            near = difflib.get_close_matches(name, options, 1)
            advice = f"did you mean {near[0]!r}?" if near else f"the options are {', '.join(options)}"
            return f"got an unexpected keyword argument {name!r}; {advice}"
    if len(args) >= len(positional):
        return f"takes from 2 to {len(positional)} positional arguments but {len(args) + 1} were given"
    return None if args or "params" in kwargs else "missing 1 required positional argument: 'params'"


@declared()
class DeclaredOptimizer(Optimizer):
    """An optimizer whose options are a table."""

    params: ParamsT  # the first argument, for type checkers; no attribute
    _options: ClassVar[dict[str, Option]]

    def _check_options(self, options: dict[str, Any]) -> None:
        """Refuses options that do not go together, and completes those that follow from others."""

    def _prepare(self) -> None:
        """What is left to do once the groups are made."""
        if not self.defaults.get("fused"):
            return
        if self.defaults["differentiable"]:
            raise RuntimeError("`fused` does not support `differentiable`")
        if self.defaults["foreach"]:
            raise RuntimeError("`fused` and `foreach` cannot be `True` together.")
        self._step_supports_amp_scaling = True

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for name, row in self._options.items():
                if row.fixed:
                    group[name] = row.default
                elif row.later:
                    group.setdefault(name, row.default)


# --- checks, with PyTorch's messages


def learning_rate(name: str, value: Any) -> None:
    if isinstance(value, torch.Tensor) and value.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    if not 0.0 <= value:
        raise ValueError(f"Invalid learning rate: {value}")


def not_negative(name: str, value: Any) -> None:
    if not 0.0 <= value:
        raise ValueError(f"Invalid {'epsilon' if name == 'eps' else name} value: {value}")


def not_above_one(name: str, value: Any) -> None:
    if not 0.0 <= value <= 1.0:
        raise ValueError(f"Invalid {name} value: {value}")


def each_below_one(name: str, values: Any) -> None:
    for index, value in enumerate(values):
        if not 0.0 <= value < 1.0:
            raise ValueError(f"Invalid beta parameter at index {index}: {value}")


def should_be(title: str, relation: str, limit: float) -> Check:
    """A check in the words of the newer optimizers; ``relation`` is ``">="`` or ``"<="``."""

    def check(name: str, value: Any) -> None:
        if isinstance(value, torch.Tensor) and value.numel() != 1:
            raise ValueError(f"Tensor {name} must be 1-element")
        if not (value >= limit if relation == ">=" else value <= limit):
            raise ValueError(f"{title} should be {relation} {limit:g} but is: {value}")

    return check
