"""Many small cases in one test: a test for each would take longer to set up than to run."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pytest


def go_through(
    cases: Iterable[tuple[Any, ...]],
    check: Callable[..., object],
    known: Mapping[tuple[Any, ...], str] | None = None,
    label: Callable[..., object] = lambda *case: "-".join(map(str, case)),
) -> None:
    """check(*case) for every case. All are tried; the error says what each said that failed, and how the first did.

    `known` has reasons for cases that are known to differ. One that comes to agree fails, and leaves the list.
    """
    failed, first, tried = [], None, 0
    for case in cases:
        tried += 1
        reason = known.get(case) if known else None
        try:
            check(*case)
        except Exception as error:  # noqa: BLE001 -- whatever it is, it is told with the others
            if reason is None:
                failed.append(f"{label(*case)}: {type(error).__name__}: {error}")
                first = first or error
        else:
            if reason is not None:
                failed.append(f"{label(*case)}: agrees, and is listed as one that does not: {reason}")
    if failed:
        raise AssertionError(f"{len(failed)} of {tried} cases failed\n" + "\n".join(failed)) from first


def grouped(cases: Iterable[tuple[Any, ...]], key: Callable[..., tuple[Any, ...]]) -> list[Any]:
    """The cases as parameters of a test: a list for each key, which names it."""
    groups: dict[tuple[Any, ...], list[tuple[Any, ...]]] = {}
    for case in cases:
        groups.setdefault(key(*case), []).append(case)
    return [pytest.param(group, id="-".join(map(str, name))) for name, group in groups.items()]
