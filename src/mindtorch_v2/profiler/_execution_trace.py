"""PyTorch's second kind of trace, of operators with their tensors, for replaying them."""

from __future__ import annotations

import os
from typing import NoReturn


class ExecutionTraceObserver:
    """Not offered; creating one says what to use instead."""

    def __init__(self) -> None:
        self._refuse()

    @staticmethod
    def build_execution_trace_obs_from_env() -> ExecutionTraceObserver | None:
        """The observer that ``ENABLE_PYTORCH_EXECUTION_TRACE=1`` asks for; None without it."""
        if os.environ.get("ENABLE_PYTORCH_EXECUTION_TRACE", "0") == "1":
            ExecutionTraceObserver._refuse()
        return None

    @staticmethod
    def _refuse() -> NoReturn:
        raise NotImplementedError(
            "ExecutionTraceObserver: traces for replaying are not offered. profile(record_shapes=True) and "
            "export_chrome_trace() give the operators with the sizes, types and values of their arguments."
        )
