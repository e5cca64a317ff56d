"""The slow, obvious twin of the DISTINCT kernel: each row compared with all rows before it."""

from __future__ import annotations

from typing import Any

from reference.window_joins import canonical

Row = dict[str, Any]


def deep(value: Any) -> Any:
    """As `canonical`, into lists (arrays; of pairs in any order: maps) and dicts (structs)."""
    if isinstance(value, dict):
        return ("struct", tuple((name, deep(field)) for name, field in value.items()))
    if isinstance(value, list) and value and isinstance(value[0], tuple):
        return ("map", frozenset((deep(key), deep(item)) for key, item in value))
    if isinstance(value, list):
        return ("list", tuple(deep(item) for item in value))
    return canonical(value)


def distinct_rows(by: tuple[str, ...], columns: tuple[str, ...], rows: list[Row]) -> list[Row]:
    seen: list[Any] = []
    out = []
    for row in rows:
        key = [deep(row[name]) for name in by]
        if key not in seen:
            seen.append(key)
            out.append({name: row[name] for name in columns})
    return out
