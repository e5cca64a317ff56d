"""ASSERT: compares the rows of a statement with the expected ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from presage.analyze.values import bind_row
from presage.errors import PresageError, did_you_mean, error
from presage.lang.command_syntax import Assertion
from presage.model.arrow import to_arrow
from presage.model.catalog import Attribute
from presage.plan.nodes import Field

# Sums of floating point numbers depend on their order in the last digits.
TOLERANCE = 1e-9
MOST_SHOWN = 20

Values = tuple[Any, ...]


def check_rows(assertion: Assertion, columns: Sequence[Field], found: pa.Table) -> PresageError | None:
    """The error if the rows differ from the expected ones; an invalid assertion raises."""
    if assertion.rows is None:
        if found.num_rows == assertion.count:
            return None
        rows = _rows(found)
        why = f"{_counted(len(rows))} came, {_counted(assertion.count)} expected"
        return _failed(assertion, why, [], rows, found.column_names)
    compared = _compared(assertion, columns)
    names = [field.name for field in compared]
    expected = [_as_arrow_values(row, compared) for row in _bound(assertion, compared)]
    rows = _rows(found.select(names))
    tolerance = TOLERANCE if assertion.tolerance is None else assertion.tolerance
    if assertion.any_order:
        missing, left = _unmatched(expected, rows, tolerance)
        if missing or left:
            why = f"{_counted(len(missing))} missing, {_counted(len(left))} too many"
            return _failed(assertion, why, missing, left, names)
        return None
    for number, (wanted, row) in enumerate(zip(expected, rows, strict=False), 1):
        for name, one, other in zip(names, wanted, row, strict=True):
            if not _alike(one, other, tolerance):
                why = f"'{name}' of row {number} is {_shown(other)}, expected {_shown(one)}"
                return _failed(assertion, why, expected, rows, names)
    if len(expected) != len(rows):
        why = f"{_counted(len(rows))} came, {_counted(len(expected))} expected"
        return _failed(assertion, why, expected, rows, names)
    return None


def _compared(assertion: Assertion, columns: Sequence[Field]) -> list[Field]:
    """The columns that are compared: those named, else all that the query selects."""
    if assertion.columns is None:
        # The time that every row has, if nobody selected it, is its last column.
        own = list(columns[:-1]) if len(columns) > 1 and columns[-1].name == "at" else list(columns)
        width = len(assertion.rows[0]) if assertion.rows else len(own)
        return list(columns) if width == len(columns) else own
    known = {field.name: field for field in columns}
    for name in assertion.columns:
        if name not in known:
            owner = f"statement '{assertion.statement}'"
            raise error("UNKNOWN_ATTRIBUTE", assertion.span, owner=owner, name=name, fix=did_you_mean(name, known))
    return [known[name] for name in assertion.columns]


def _bound(assertion: Assertion, columns: list[Field]) -> list[Values]:
    attributes = tuple(Attribute(field.name, field.type) for field in columns)
    owner = f"statement '{assertion.statement}'"
    return [bind_row(row, attributes, owner, assertion.span) for row in assertion.rows or ()]


def _as_arrow_values(row: Values, columns: list[Field]) -> Values:
    """Bound values as Arrow gives them back: times as datetimes."""
    return tuple(
        pa.array([value], to_arrow(field.type)).to_pylist()[0] for value, field in zip(row, columns, strict=True)
    )


def _rows(table: pa.Table) -> list[Values]:
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def _unmatched(expected: list[Values], rows: list[Values], tolerance: float) -> tuple[list[Values], list[Values]]:
    left, missing = list(rows), []
    for wanted in expected:
        fits = (i for i, row in enumerate(left) if all(map(_alike, wanted, row, [tolerance] * len(row))))
        place = next(fits, None)
        if place is None:
            missing.append(wanted)
        else:
            del left[place]
    return missing, left


def _alike(one: Any, other: Any, tolerance: float) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        same = one == other or (math.isnan(one) and math.isnan(other))
        return same or math.isclose(one, other, rel_tol=tolerance, abs_tol=tolerance)
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_alike(one[k], other[k], tolerance) for k in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(_alike, one, other, [tolerance] * len(one)))
    return bool(one == other)


def _failed(
    assertion: Assertion, why: str, expected: list[Values], rows: list[Values], names: Sequence[str]
) -> PresageError:
    lines = [f"{why} ({', '.join(names)})"]
    for mark, several in (("expected", expected), ("came", rows)):
        lines += [f"  {mark:>8}  {', '.join(map(_shown, row))}" for row in several[:MOST_SHOWN]]
        if len(several) > MOST_SHOWN:
            lines.append(f"  {mark:>8}  … and {len(several) - MOST_SHOWN:,} more")
    return error("ASSERTION_FAILED", assertion.span, name=assertion.statement, why="\n".join(lines))


def _counted(rows: int) -> str:
    return f"{rows:,} row{'' if rows == 1 else 's'}"


def _shown(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    return value.isoformat().replace("+00:00", "Z") if hasattr(value, "isoformat") else repr(value)
