"""Control of the software NPU: its size, faults, delays, and what it was asked to do. For tests and tools.

The same settings by environment, read once: ``SOFTNPU_DEVICES``, ``SOFTNPU_MEMORY``, ``SOFTNPU_SOC``,
``SOFTNPU_DELAY_US``, ``SOFTNPU_POISON``, ``SOFTNPU_TRACE``, ``SOFTNPU_FAIL``, ``SOFTNPU_SANITIZE``,
``SOFTNPU_SANITIZE_LOG``, ``SOFTNPU_SCHEDULE``; ``include/softnpu_control.h`` explains them. The number of
devices and their memory must be set before the first use of a device; the docstrings of the others say what
holds for them.
"""

from ._faults import (
    calls,
    clear,
    fail,
    failing,
    failures,
    live_bytes,
    live_events,
    live_streams,
    start_counting,
    trace,
)
from ._library import lib_folder, python_folder
from ._sanitizer import mark_free, mark_used, sanitize, sanitizer_reports
from ._settings import (
    delayed,
    gate,
    poisoned,
    scheduled,
    set_delay,
    set_poison,
    set_schedule,
    set_soc,
    socs,
    use,
)

__all__ = [
    "calls", "clear", "delayed", "fail", "failing", "failures", "gate", "lib_folder", "live_bytes",
    "live_events", "live_streams", "mark_free", "mark_used", "poisoned", "python_folder", "sanitize",
    "sanitizer_reports", "scheduled", "set_delay", "set_poison", "set_schedule", "set_soc", "socs",
    "start_counting", "trace", "use",
]  # fmt: skip
