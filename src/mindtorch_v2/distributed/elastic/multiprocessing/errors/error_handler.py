"""Writes down what a process raised."""

from __future__ import annotations

import faulthandler
import json
import os
import time
import traceback
from pathlib import Path

__all__ = ["ErrorHandler"]


class ErrorHandler:
    """Writes the error of this process into the file that its launcher reads."""

    def _file(self) -> str | None:
        return os.environ.get("TORCHELASTIC_ERROR_FILE")

    def initialize(self) -> None:
        """A crash in native code leaves a traceback, too."""
        faulthandler.enable(all_threads=True)

    def record_exception(self, error: BaseException) -> None:
        """Keeps the traceback for the launcher."""
        path = self._file()
        if path is None:
            return
        what = {
            "message": f"{type(error).__name__}: {error}",
            "extraInfo": {
                "py_callstack": "".join(traceback.format_exception(error)),
                "timestamp": str(int(time.time())),
            },
        }
        Path(path).write_text(json.dumps({"message": what}), encoding="utf-8")
