"""What is raised when saving or loading fails on some of the processes."""

from __future__ import annotations

import traceback
from typing import Any

from ..._absent import names_of

__all__ = ["CheckpointException"]


class CheckpointException(BaseException):
    """Raised on every process when one of them failed: which, and why."""

    def __init__(self, msg: str, failures: dict[int, tuple[BaseException, traceback.StackSummary]]) -> None:
        super().__init__(msg, failures)
        self._failures = failures

    @property
    def failures(self) -> dict[int, tuple[BaseException, traceback.StackSummary]]:
        """By rank: what was raised there, and where."""
        return self._failures

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self.args

    def __str__(self) -> str:
        lines = [f"CheckpointException ranks:{self._failures.keys()}\n"]
        for rank, (error, stack) in self._failures.items():
            lines.append(f"Traceback (most recent call last): (RANK {rank})\n")
            lines += [*stack.format(), *traceback.format_exception_only(type(error), error)]
        return "".join(lines)


__getattr__ = names_of(__name__)
