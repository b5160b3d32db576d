"""A version that compares by its numbers, as ``torch.__version__`` does."""

from __future__ import annotations

import re
from typing import Any


def _key(version: Any) -> tuple[Any, ...]:
    """Numbers compare as numbers; a pre-release (``2.13.0a0``) comes before its release."""
    text = ".".join(map(str, version)) if isinstance(version, tuple) else str(version)
    public = text.partition("+")[0]
    match = re.fullmatch(r"v?(\d+(?:\.\d+)*)[.\-_]?((?:a|b|rc|dev|post)\S*)?", public)
    if match is None:
        raise ValueError(f"Invalid version: '{text}'")
    release = [int(part) for part in match[1].split(".")]
    while len(release) > 1 and release[-1] == 0:
        release.pop()
    suffix = match[2] or ""
    kind = re.match(r"[a-z]*", suffix)
    order = {"dev": -4, "a": -3, "b": -2, "rc": -1, "": 0, "post": 1}[kind[0] if kind else ""]
    number = re.search(r"\d+", suffix)
    return (release, order, int(number[0]) if number else 0)


class TorchVersion(str):
    """A string that compares with versions: ``torch.__version__ >= (2, 6)``, ``> "1.9"``."""

    def __lt__(self, other: Any) -> bool:
        return _key(self) < _key(other)

    def __le__(self, other: Any) -> bool:
        return _key(self) <= _key(other)

    def __gt__(self, other: Any) -> bool:
        return _key(self) > _key(other)

    def __ge__(self, other: Any) -> bool:
        return _key(self) >= _key(other)

    def __eq__(self, other: object) -> bool:
        try:
            return _key(self) == _key(other)
        except ValueError:
            return str.__eq__(self, str(other))

    def __hash__(self) -> int:
        return str.__hash__(self)
