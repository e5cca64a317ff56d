"""Columns that a traced match has beside its own: which events it is made of.

Operators add them to their nodes; the kernel makes the same rows in the same order. No column of a plan has such names.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MARK = "#bound."
NUMBERS, NAMES = f"{MARK}#", f"{MARK}##"


def bound_in(row: Mapping[str, Any]) -> list[tuple[str, int]]:
    """The names and numbers of the events of a match, by number: of a row with the columns that were added."""
    if NUMBERS in row:
        found = list(zip(row[NAMES] or (), row[NUMBERS] or (), strict=True))
    else:
        found = []
        for column, value in row.items():
            if column.startswith(MARK) and value is not None:
                several = value if isinstance(value, list) else [value]
                found += [(column.removeprefix(MARK), number) for number in several]
    return sorted(found, key=lambda pair: pair[1])
