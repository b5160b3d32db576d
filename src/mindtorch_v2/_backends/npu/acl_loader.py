"""Which NPU is used: a card through CANN's libraries, or the software NPU.

The card is used when ``libascendcl.so`` loads and counts a device. The software NPU is used only when it was
asked for: ``MINDTORCH_NPU=soft`` in the environment, or :func:`mindtorch_v2.softnpu.use` before the first use
of a device.
"""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any, Literal

from ... import _C

if TYPE_CHECKING:
    from pathlib import Path

Kind = Literal["hardware", "software"]

_npu = _C._npu
_lock = threading.RLock()
_kind: Kind | None = None
_count = 0  # of devices, when they were last counted
_software_requested = False
_VARIABLE = "MINDTORCH_NPU"


def software_folder() -> Path:
    """Where the software NPU's libraries are installed."""
    from pathlib import Path  # slow to load, and needed for the software NPU alone

    return Path(__file__).resolve().parents[2] / "softnpu" / "lib"


def request_software() -> None:
    """Makes the software NPU the one to use. Too late once a card is in use."""
    global _software_requested
    with _lock:
        if _kind == "hardware" or (_kind is None and _npu.is_loaded() and not software_is_requested()):
            raise RuntimeError(
                f"The libraries of {_npu.loaded_from()} are in use already. Ask for the software NPU before "
                f"the first use of the device, or start the program with {_VARIABLE}=soft."
            )
        _software_requested = True


def software_is_requested() -> bool:
    text = os.environ.get(_VARIABLE, "")
    if text not in ("", "soft", "hardware", "off"):
        raise ValueError(
            f"{_VARIABLE} is '{text}'; it can be 'soft' (the software NPU), 'hardware' (a card) or 'off'"
        )
    return _software_requested or text == "soft"


def _hardware_folders() -> list[str]:
    """CANN's own folder, if the environment names it, then the default search path."""
    folders = []
    for variable in ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME"):
        root = os.environ.get(variable)
        if root and os.path.exists(os.path.join(root, "lib64", "libascendcl.so")):
            folders.append(os.path.join(root, "lib64"))
    return [*folders, ""]


def _load_software() -> str:
    folder = software_folder()
    if not (folder / "libascendcl.so").exists():
        return f"the software NPU was asked for, but this installation lacks {folder / 'libascendcl.so'}"
    return str(_npu.load(str(folder)))


def load_software_libraries() -> None:
    """For the control of the software NPU: loads it without starting a device."""
    with _lock:
        problem = ""
        if not software_is_requested():
            problem = "it was not asked for"
        elif _kind != "software":
            problem = _load_software()
        if problem:
            raise RuntimeError(
                f"The software NPU is not in use: {problem}. Set {_VARIABLE}=soft, or call "
                f"mindtorch_v2.softnpu.use() before the first use of the device."
            )


def _load_hardware() -> str:
    problem = ""
    for folder in _hardware_folders():
        problem = _npu.load(folder)
        if not problem:
            return ""
    return problem


def look() -> tuple[Kind | None, str]:
    """The NPU there is, or None and the reason."""
    global _kind, _count
    with _lock:
        if _kind is not None:
            return _kind, ""
        software = software_is_requested()
        if os.environ.get(_VARIABLE) == "off" and not software:
            return None, f"{_VARIABLE} is 'off'"
        problem = _load_software() if software else _load_hardware()
        if problem:
            return None, problem
        _count, problem = _npu.probe()
        if _count == 0:
            return None, problem
        _kind = "software" if software else "hardware"
        return _kind, ""


def find() -> Kind | None:
    """Which NPU can be used, None if there is none."""
    return look()[0]


def device_count() -> int:
    """How many devices there are. Starts none of them, so that a process may still fork afterwards; a fork of a
    process that used them is told what that one counted."""
    global _count
    if find() is None:
        return 0
    if not _npu.is_in_bad_fork():
        _count = _npu.device_count() if _npu.is_initialized() else _npu.probe()[0]
    return _count


def load() -> Kind:
    """Loads the libraries. Raises an error that names both ways to get an NPU when there is none."""
    kind, problem = look()
    if kind is None:
        raise RuntimeError(
            f"No NPU is available: {problem.rstrip('.')}. For a card, install CANN and source its set_env.sh so that "
            f"libascendcl.so is found and npu-smi lists a device. Without a card, use the software NPU: set "
            f"{_VARIABLE}=soft, or call mindtorch_v2.softnpu.use() before the first use of the device."
        )
    return kind


def real_pyacl() -> Any | None:
    """CANN's own ``acl`` package, where a card is used and the package is installed."""
    if _kind != "hardware":
        return None
    try:
        import acl  # type: ignore[import-not-found]
    except ImportError:
        return None
    return acl
