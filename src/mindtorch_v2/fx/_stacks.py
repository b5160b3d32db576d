"""The program's stack, as nodes keep it."""

from __future__ import annotations

import os
import sys
import traceback

_PACKAGE_FOLDER = os.path.dirname(os.path.dirname(__file__)) + os.sep


def current_stack() -> str:
    """From the traced forward to the line that is recorded, without the library's own frames."""
    frames = [
        frame
        for frame in traceback.extract_stack(sys._getframe(1))
        if not frame.filename.startswith(_PACKAGE_FOLDER) or os.sep + "nn" + os.sep in frame.filename
    ]
    starts = [index for index, frame in enumerate(frames) if frame.name == "forward"]
    user = frames[starts[0] :] if starts else frames
    user = [frame for frame in user if not frame.filename.startswith(_PACKAGE_FOLDER)]
    return "".join(traceback.StackSummary.from_list(user).format()).strip()
