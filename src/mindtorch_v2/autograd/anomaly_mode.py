"""Finding the forward operator whose backward fails or makes NaN."""

from __future__ import annotations

import warnings

from .. import _C

__all__ = ["detect_anomaly", "set_detect_anomaly"]


class set_detect_anomaly:
    """Switches anomaly detection on or off, at once; as a context manager, until its end."""

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self.prev = _C.is_anomaly_enabled()
        self.prev_check_nan = _C.is_anomaly_check_nan_enabled()
        _C._set_anomaly_enabled(mode, check_nan)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exception: object) -> None:
        _C._set_anomaly_enabled(self.prev, self.prev_check_nan)


class detect_anomaly:
    """Inside, nodes remember the stack of their forward, and gradients are searched for NaN."""

    def __init__(self, check_nan: bool = True) -> None:
        self.check_nan = check_nan
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled "
            "for debugging.",
            stacklevel=2,
        )

    def __enter__(self) -> None:
        self.prev = _C.is_anomaly_enabled()
        self.prev_check_nan = _C.is_anomaly_check_nan_enabled()
        _C._set_anomaly_enabled(True, self.check_nan)

    def __exit__(self, *exception: object) -> None:
        _C._set_anomaly_enabled(self.prev, self.prev_check_nan)
