"""A running program's memory, from outside: Note [Who may watch] in ``_devices/watching.py``."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from time import sleep
from typing import Any
from urllib.parse import urlsplit

from .._devices.watching import LOOPBACK, folder
from ._replay import text_of

_LONGEST = 1 << 20
_BAR = 40


class NotWatchedError(ValueError):
    """The process cannot be watched, and why."""


def _reached(target: int | str | os.PathLike[str]) -> tuple[int, str]:
    """The port and the token of a process, or of its file."""
    text = os.fspath(target) if not isinstance(target, int) else str(target)
    path = folder() / f"{text}.json" if text.isdecimal() else Path(text)
    if text.isdecimal() and not Path("/proc", text).exists():
        raise NotWatchedError(f"there is no process {text} on this machine (any more)")
    if text.isdecimal() and not path.exists():
        raise NotWatchedError(
            f"process {text} does not let itself be watched: start it with MINDTORCH_MEMORY_WATCH=1, or let "
            "it call serve_watch() of its device's module memory"
        )
    try:
        said = json.loads(path.read_text()[:_LONGEST])
        address, token = urlsplit(said["address"]), said["token"]
        port = address.port
    except (ValueError, KeyError, TypeError) as error:
        raise NotWatchedError(f"{path} is no file of a process that is watched: {error!r}") from error
    if address.hostname != LOOPBACK or port is None or not isinstance(token, str):
        raise NotWatchedError(f"{path} names {said['address']!r}: only processes of this machine are watched")
    return port, token


def page_of(target: int | str | os.PathLike[str]) -> str:
    """The address of the live page, for a browser."""
    port, token = _reached(target)
    return f"http://{LOOPBACK}:{port}/?token={token}"


def look(target: int | str | os.PathLike[str]) -> dict[str, Any]:
    """What a process (its number, or its file) says of its memory now."""
    port, token = _reached(target)
    connection = HTTPConnection(LOOPBACK, port, timeout=10)
    try:
        connection.request("GET", "/stats", headers={"Authorization": f"Bearer {token}"})
        answer = connection.getresponse()
        said = answer.read(_LONGEST)
    except (OSError, HTTPException) as error:
        raise NotWatchedError(f"the process of {target} does not answer: {error}") from error
    finally:
        connection.close()
    if answer.status != 200:
        raise NotWatchedError(f"the process of {target} refuses: {said.decode(errors='replace')}")
    return dict(json.loads(said))


def watch(target: int | str | os.PathLike[str], seconds: float = 1.0) -> Iterator[dict[str, Any]]:
    """Looks again and again, until the process no longer answers."""
    yield look(target)
    while True:
        sleep(seconds)
        try:
            told = look(target)
        except NotWatchedError:
            return
        yield told


def watch_text(told: dict[str, Any]) -> str:
    """A bar for each device: what tensors have, what is reserved beside, and the rest."""
    lines = [f"process {told['pid']}" + ("" if told["devices"] else ": no device has been used yet")]
    for each in told["devices"]:
        whole = max(each["total"], each["reserved"], 1)
        used, held = (round(_BAR * each[name] / whole) for name in ("allocated", "reserved"))
        bar = "#" * used + "+" * (held - used) + "." * (_BAR - held)
        lines.append(
            f"{each['device']} [{bar}] {text_of(each['allocated'])} for tensors, {text_of(each['reserved'])} reserved "
            f"of {text_of(each['total'])}; at most {text_of(each['peak_allocated'])} and "
            f"{text_of(each['peak_reserved'])}; {each['ooms']} times out of memory"
        )
    return "\n".join(lines)
