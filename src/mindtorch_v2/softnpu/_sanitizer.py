"""The sanitizer: use after free, out of bounds, uninitialised reads, and races between streams."""

from __future__ import annotations

import atexit
import ctypes
import os
import sys
import threading
from pathlib import Path
from types import FrameType

from ._library import LaunchNote, library

_PACKAGE = str(Path(__file__).resolve().parents[1]) + os.sep
_no_note = LaunchNote()
_texts = threading.local()


def sanitize(what: bool | str = True, log: str | os.PathLike[str] | None = None, lines: bool = False) -> None:
    """Turns the sanitizer on, for everything or for a list such as ``"address,race"``; False turns it off.

    Call it before the first use of the device (or set ``SOFTNPU_SANITIZE``): memory that is older than the
    sanitizer is not watched. A report is told on stderr, once, and with ``log`` also as a line of JSON at the
    end of that file. With ``lines``, reports say which line of the Python program launched an operator;
    that makes every launch slower.
    """
    text = "" if what is False else "all" if what is True else what
    if log is not None and not library().softnpu_sanitize_log(os.fsencode(log)):
        raise OSError(f"the log {os.fspath(log)!r} cannot be opened for writing")
    if not library().softnpu_sanitize(text.encode()):
        raise ValueError(
            f"what is {what!r}; wanted True, False, or a list of address, uninitialised and race"
        )
    library().softnpu_set_launch_note(_note if lines and text else _no_note)


def sanitizer_reports() -> int:
    """How many different defects the sanitizer has reported since it was turned on."""
    return int(library().softnpu_sanitizer_reports())


def mark_used(address: int, size: int) -> None:
    """For an allocator of your own: this range of device memory now belongs to somebody and holds nothing yet."""
    library().softnpu_mark_used(address, size)


def mark_free(address: int, size: int) -> None:
    """For an allocator of your own: using this range of device memory is a defect from now on."""
    library().softnpu_mark_free(address, size)


def _launching_line() -> int | None:
    """The address of a text: the line of the program that launches: the innermost one outside this package."""
    frame: FrameType | None = sys._getframe().f_back
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    if frame is None:
        return None
    text = f"{frame.f_code.co_filename}:{frame.f_lineno} in {frame.f_code.co_name}"
    _texts.last = ctypes.create_string_buffer(text.encode())  # must live until the next launch
    return ctypes.addressof(_texts.last)


_note = LaunchNote(_launching_line)


@atexit.register
def _forget_note() -> None:
    """No Python code may run for streams that outlive the interpreter."""
    if library.cache_info().currsize:
        library().softnpu_set_launch_note(_no_note)
