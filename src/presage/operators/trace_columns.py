"""The columns that a trace adds to matches: which events a match consists of.

EPL patterns and MATCH_RECOGNIZE add them to their nodes; the rows and their order stay the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MARK = "#bound."
NUMBERS, NAMES = f"{MARK}#", f"{MARK}##"


def bound_in(row: Mapping[str, Any]) -> list[tuple[str, int]]:
    """Names and numbers of the events of a match, in order of the numbers, from a row with trace columns."""
    if NUMBERS in row:
        found = list(zip(row[NAMES] or (), row[NUMBERS] or (), strict=True))
    else:
        found = []
        for column, value in row.items():
            if column.startswith(MARK) and value is not None:
                several = value if isinstance(value, list) else [value]
                found += [(column.removeprefix(MARK), number) for number in several]
    return sorted(found, key=lambda pair: pair[1])
