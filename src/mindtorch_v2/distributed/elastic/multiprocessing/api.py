"""Where programs import the parts of this package from."""

from __future__ import annotations

import signal

from .logs import DefaultLogsSpecs as DefaultLogsSpecs
from .logs import LogsDest as LogsDest
from .logs import LogsSpecs as LogsSpecs
from .logs import Std as Std
from .logs import to_map as to_map
from .processes import PContext as PContext
from .processes import RunProcsResult as RunProcsResult


class SignalException(Exception):
    """The launcher was asked to stop."""

    def __init__(self, msg: str, sigval: signal.Signals) -> None:
        super().__init__(msg)
        self.sigval = sigval
