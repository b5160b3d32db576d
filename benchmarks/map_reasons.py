"""Why a case of the speed map takes more than one and a half times PyTorch's time.

A reason holds for the rows whose names match its pattern (those of fnmatch) and, where it has one, for cases whose names
do. The first that fits counts. tests/test_speed_pages.py fails where a kept case has none.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase

LIMIT = 1.5


@dataclass(frozen=True)
class Reason:
    rows: str  # patterns with spaces between them
    why: str
    cases: str = "*"

    def holds(self, row: str, case: str) -> bool:
        return any(fnmatchcase(row, pattern) for pattern in self.rows.split()) and fnmatchcase(case, self.cases)


REASONS: tuple[Reason, ...] = ()


def reason_for(row: str, case: str) -> str | None:
    return next((r.why for r in REASONS if r.holds(row, case)), None)
