"""Values of results as short texts for a table."""

from __future__ import annotations

import json
from typing import Any

DECIMALS = 6


def table_text(value: Any) -> str:
    """A value of `plain_column` in a cell: one line, numbers to six decimals, nested values compact."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(round(value, DECIMALS)) if 1e-3 <= abs(value) < 1e15 else repr(value)
    if isinstance(value, str):
        return one_line(value)
    if isinstance(value, int):
        return str(value)
    return one_line(json.dumps(_rounded(value), ensure_ascii=False, separators=(", ", ": ")))


def one_line(text: str) -> str:
    """The text without what would break a line or steer a terminal."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, DECIMALS) if 1e-3 <= abs(value) < 1e15 else value
    if isinstance(value, list):
        return [_rounded(v) for v in value]
    if isinstance(value, dict):
        return {k: _rounded(v) for k, v in value.items()}
    return value


def counted(count: int, what: str) -> str:
    """`1 row`, `2 rows`."""
    return f"{count} {what}{'' if count == 1 else 's'}"
