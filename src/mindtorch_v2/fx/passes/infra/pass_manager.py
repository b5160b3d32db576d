"""Passes one after the other, in an order that keeps given rules."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any

import mindtorch_v2 as torch

from ..._compatibility import compatibility
from .pass_base import PassResult

__all__ = ["PassManager", "pass_result_wrapper", "this_before_that_pass_constraint"]

_Pass = Callable[..., Any]
_Constraint = Callable[[_Pass, _Pass], bool]


def _name(fn: _Pass) -> str:
    return fn.__name__ if inspect.isfunction(fn) else type(fn).__name__


@compatibility(is_backward_compatible=False)
def pass_result_wrapper(fn: _Pass) -> _Pass:
    """A function that changes a module in place, as a pass that says it did."""

    @wraps(fn)
    def wrapped(gm: Any) -> PassResult:
        result = fn(gm)
        if result is None:
            return PassResult(gm, True)
        return result if isinstance(result, PassResult) else PassResult(result, True)

    return wrapped


@compatibility(is_backward_compatible=False)
def this_before_that_pass_constraint(this: _Pass, that: _Pass) -> _Constraint:
    """A rule: ``this`` runs before ``that``."""

    def depends_on(a: _Pass, b: _Pass) -> bool:
        return not (a == that and b == this)

    return depends_on


@compatibility(is_backward_compatible=False)
class PassManager:
    """Runs passes on a module, several times over if told so, until none changes it."""

    def __init__(
        self,
        passes: list[_Pass] | None = None,
        constraints: list[_Constraint] | None = None,
        steps: int | None = None,
        run_checks_after_each_pass: bool = False,
        suppress_check_failures: bool = False,
    ) -> None:
        self.passes = passes or []
        self.constraints = constraints or []
        self.steps = steps or 1
        self.run_checks_after_each_pass = run_checks_after_each_pass
        self.suppress_check_failures = suppress_check_failures
        self._validated = False

    def add_pass(self, _pass: _Pass) -> None:
        """Adds a pass at the end."""
        self.passes.append(_pass)
        self._validated = False

    def add_constraint(self, constraint: _Constraint) -> None:
        """Adds a rule."""
        self.constraints.append(constraint)
        self._validated = False

    def validate_constraints(self) -> None:
        """Raises RuntimeError if the passes stand in an order that a rule forbids."""
        if self._validated:
            return
        for constraint in self.constraints:
            for index, this in enumerate(self.passes):
                for that in self.passes[index + 1 :]:
                    if not constraint(this, that):
                        raise RuntimeError(
                            f"pass schedule constraint violated. Expected {_name(that)} before {_name(this)} but "
                            f"found {_name(this)} at index {index} in list of passes."
                        )
        self._validated = True

    def solve_constraints(self) -> None:
        """Puts the passes into an order that keeps the rules."""
        waiting = list(self.passes)
        ordered: list[_Pass] = []
        while waiting:
            ready = [
                p
                for p in waiting
                if all(rule(p, other) for rule in self.constraints for other in waiting if other is not p)
            ]
            if not ready:
                names = [_name(p) for p in waiting]
                raise RuntimeError(
                    f"Circular dependency detected among the following passes: {', '.join(names)}"
                )
            ordered.append(ready[0])
            waiting.remove(ready[0])
        self.passes = ordered
        self._validated = True

    def check(self, module: torch.nn.Module) -> None:
        """Called after each pass if that was asked for; to be overridden."""

    def __call__(self, module: torch.nn.Module) -> PassResult:
        if not self._validated:
            self.solve_constraints()
        if self.run_checks_after_each_pass:
            self.check(module)
        changed = False
        for _ in range(self.steps):
            modified = False
            for index, fn in enumerate(self.passes):
                try:
                    result = fn(module)
                    if not isinstance(result, PassResult) and not hasattr(result, "graph_module"):
                        raise TypeError(
                            f"The result of the pass {_name(fn)} should be type PassResult. Please wrap it with "
                            "pass_result_wrapper()"
                        )
                    module = result.graph_module
                    modified = modified or result.modified
                    if isinstance(module, torch.fx.GraphModule):
                        module.recompile()
                    if self.run_checks_after_each_pass:
                        self.check(module)
                except Exception as error:
                    before = [_name(p) for p in self.passes[:index]]
                    raise Exception(
                        f"An error occurred when running the '{_name(fn)}' pass after the following passes: {before}"
                    ) from error
            changed = changed or modified
            if not modified:
                break
        return PassResult(module, changed)
