"""Type checks of loaded rows (dicts, pandas, Arrow): an Arrow table of the valid rows, and the rejected rows.

`column_coercion` converts whole columns; `value_coercion` decides on the values that remain.
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import accumulate
from types import NoneType
from typing import Any

import numpy as np
import pyarrow as pa

from presage.errors import error
from presage.model.arrow import to_arrow
from presage.model.arrow_and_pandas import ensure_pandas
from presage.model.catalog import Attribute
from presage.model.types import BOOLEAN, DOUBLE, INT, LONG, STRING, TIMESTAMP, DataType
from presage.storage.column_coercion import Mask, coerce_array
from presage.storage.columns import attributes_schema
from presage.storage.value_coercion import Mismatch, coerce_value, cut_raw, is_missing, json_text, show

ROWS_PER_BATCH = 262_144
_SKIP = "a row must be a mapping from attributes to values"
# The Python types whose lists Arrow converts as `value_coercion` would, or refuses.
_DIRECT: dict[DataType, type] = {STRING: str, INT: int, LONG: int, DOUBLE: float, BOOLEAN: bool}

# The raw text of a row and its origin, by its number in a batch.
Locate = Callable[[int], tuple[str, str]]
# The readable values of a rejected row: a row of a table, null where a value does not fit.
Remains = tuple[pa.Table, int]


@dataclass
class Rejected:
    """Rejected rows: one entry per row in each list. `remains` is None for text that is no row at all."""

    reasons: list[str] = field(default_factory=list)
    raws: list[str] = field(default_factory=list)
    origins: list[str] = field(default_factory=list)
    remains: list[Remains | None] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.remains += [None] * (len(self.reasons) - len(self.remains))

    def add(self, reason: str, raw: str, origin: str, remains: Remains | None = None) -> None:
        self.reasons.append(reason)
        self.raws.append(cut_raw(raw))
        self.origins.append(origin)
        self.remains.append(remains)

    def extend(self, other: Rejected) -> None:
        for mine, theirs in zip(vars(self).values(), vars(other).values(), strict=True):
            mine += theirs

    def take(self, rows: Iterable[int]) -> Rejected:
        rows = list(rows)
        return Rejected(*([column[row] for row in rows] for column in vars(self).values()))

    def __len__(self) -> int:
        return len(self.reasons)


@dataclass
class Checked:
    """Rows that fit the declared attributes, in the given order, and the rejected rows."""

    table: pa.Table
    rejected: Rejected = field(default_factory=Rejected)
    ignored: Counter[str] = field(default_factory=Counter)
    locate: Locate | None = None  # of the rows of the table, which a later check may still reject

    def refuse(self, reasons: Mapping[int, str]) -> Checked:
        """The same, with these rows of the table rejected. `reasons`: by row."""
        if not reasons:
            return self
        rejected = self.rejected.take(range(len(self.rejected)))
        for row in sorted(reasons):
            raw, origin = self.locate(row) if self.locate is not None else ("", "")
            rejected.add(reasons[row], raw or row_text(self.table, row), origin, (self.table, row))
        keep = np.ones(self.table.num_rows, dtype=bool)
        keep[list(reasons)] = False
        return Checked(self.table.filter(pa.array(keep)), rejected, self.ignored, located(self.locate, keep))


@dataclass
class Columns:
    """A batch of rows as columns: Arrow arrays or lists of Python values, by name."""

    rows: int
    columns: Mapping[str, pa.Array | list[Any]]
    locate: Locate
    nan_is_null: bool = False  # in pandas, NaN means a missing value, except in a DOUBLE
    broken: dict[int, str] = field(default_factory=dict)  # rows that are already rejected, with reasons


def check(attributes: tuple[Attribute, ...], required: str | None, data: object, what: str = "the rows") -> Checked:
    """Check data of any supported kind; `required` is the attribute that must not be null, the event time."""
    if isinstance(data, Checked):
        return data
    if isinstance(data, pa.RecordBatch):
        data = pa.Table.from_batches([data])
    if isinstance(data, pa.Table):
        return check_table(attributes, required, data, what)
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(data, pandas.DataFrame):
        return _check_pandas(attributes, required, data, what)
    if isinstance(data, Iterable) and not isinstance(data, str | bytes | Mapping):
        rows = list(data)
        return check_mappings(attributes, required, rows, lambda row: (json_text(rows[row]), f"row {row + 1}"))
    fix = "give a list of dicts, a pandas or Spark DataFrame, or a pyarrow Table"
    raise error("DATA_SHAPE", what=what, found=f"found {type(data).__name__}", fix=fix)


def check_table(
    attributes: tuple[Attribute, ...],
    required: str | None,
    table: pa.Table,
    what: str = "the rows",
    origin: Callable[[int], str] = lambda row: f"row {row + 1}",
) -> Checked:
    refuse_duplicates(table.column_names, what)
    parts = [Checked(attributes_schema(attributes).empty_table())]
    known = {a.name for a in attributes}
    for start in range(0, table.num_rows, ROWS_PER_BATCH):
        # The length of a slice of a table without columns is not limited to its rows.
        part = table.slice(start, min(ROWS_PER_BATCH, table.num_rows - start))
        columns = {name: _one_chunk(part[name]) for name in part.column_names if name in known}
        locate = shifted(lambda row: (row_text(table, row), origin(row)), start)
        parts.append(check_columns(attributes, required, Columns(part.num_rows, columns, locate)))
    checked = join(parts)
    for name, column in zip(table.column_names, table.columns, strict=True):
        if name not in known and len(column) > column.null_count:
            checked.ignored[name] += len(column) - column.null_count
    return checked


def located(locate: Locate | None, keep: Mask) -> Locate | None:
    """`locate` for the rows that a filter keeps."""
    if locate is None:
        return None
    known, kept = locate, np.flatnonzero(keep)
    return lambda row: known(int(kept[row]))


def shifted(locate: Locate, start: int) -> Locate:
    """`locate` for a batch that begins at row `start`."""
    return lambda row: locate(start + row)


def check_columns(attributes: tuple[Attribute, ...], required: str | None, batch: Columns) -> Checked:
    """Convert each attribute's column; a row is rejected for the first attribute that does not fit."""
    bad = dict(batch.broken)
    ignored: Counter[str] = Counter()
    arrays = []
    for attribute in attributes:
        column = batch.columns.get(attribute.name)
        if column is None:
            arrays.append(pa.nulls(batch.rows, to_arrow(attribute.type)))
        else:
            array, reasons = convert(column, attribute, ignored, batch.nan_is_null)
            arrays.append(array)
            for row, reason in reasons.items():
                bad.setdefault(row, reason)
            if attribute.name == required and array.null_count:
                for missing in np.flatnonzero(array.is_null().to_numpy(zero_copy_only=False)).tolist():
                    bad.setdefault(missing, _no_time(required))
    if required is not None and required not in batch.columns:
        for row in range(batch.rows):
            bad.setdefault(row, _no_time(required))
    table = pa.Table.from_arrays(arrays, schema=attributes_schema(attributes))
    rejected = Rejected()
    for row in sorted(bad):
        rejected.add(bad[row], *batch.locate(row), (table, row))
    if not bad:
        return Checked(table, rejected, ignored, batch.locate)
    keep = np.ones(batch.rows, dtype=bool)
    keep[list(bad)] = False
    return Checked(table.filter(pa.array(keep)), rejected, ignored, located(batch.locate, keep))


def convert(
    column: pa.Array | list[Any], attribute: Attribute, ignored: Counter[str], nan_is_null: bool = False
) -> tuple[pa.Array, dict[int, str]]:
    """A column as the attribute's type, and the reasons for rows that do not fit, which are null."""
    if isinstance(column, list):
        direct = _convert_list(column, attribute.type, nan_is_null)
        if direct is None:
            return _one_by_one(column, range(len(column)), attribute, ignored, nan_is_null)
        column = direct
    array, undecided = coerce_array(column, attribute.type)
    return decide_rest(array, undecided, column, attribute, ignored, coerce_value)


def decide_rest(
    array: pa.Array,
    undecided: Mask,
    column: pa.Array,
    attribute: Attribute,
    ignored: Counter[str],
    judge: Callable[[Any, DataType, str, Counter[str]], Any],
) -> tuple[pa.Array, dict[int, str]]:
    """Decide one by one on the values that the coercion of the whole column left undecided."""
    rows = np.flatnonzero(undecided)
    if not len(rows):
        return array, {}
    values = [_python_value(column[int(row)]) for row in rows]
    rest, reasons = _one_by_one(values, rows.tolist(), attribute, ignored, False, judge)
    order = np.arange(len(array))
    order[rows] = len(array) + np.arange(len(rows))
    return pa.concat_arrays([array, rest]).take(pa.array(order)), reasons


def _one_by_one(
    values: list[Any],
    rows: Sequence[int],
    attribute: Attribute,
    ignored: Counter[str],
    nan_is_null: bool,
    judge: Callable[[Any, DataType, str, Counter[str]], Any] = coerce_value,
) -> tuple[pa.Array, dict[int, str]]:
    fitting, reasons = [], {}
    drop_nan = nan_is_null and attribute.type != DOUBLE
    for row, value in zip(rows, values, strict=True):
        try:
            if isinstance(value, Unreadable):
                raise Mismatch(attribute.name, attribute.type, value.why, "Arrow holds it, Python cannot")
            missing = drop_nan and isinstance(value, float) and value != value
            fitting.append(None if missing else judge(value, attribute.type, attribute.name, ignored))
        except Mismatch as mismatch:
            reasons[row] = str(mismatch)
            fitting.append(None)
    return pa.array(fitting, to_arrow(attribute.type)), reasons


def _convert_list(values: list[Any], wanted: DataType, nan_is_null: bool) -> pa.Array | None:
    """A list of one Python type as an Arrow array; None if the values must be converted one by one."""
    kinds = set(map(type, values)) - {NoneType}
    try:
        if kinds <= {_DIRECT.get(wanted)}:
            array = pa.array(values, to_arrow(wanted))
            # Text beyond 2 GB becomes several arrays: convert it value by value.
            return array if isinstance(array, pa.Array) else None
        if wanted == TIMESTAMP and kinds in ({datetime}, {str}):
            return pa.array(values, pa.string() if kinds == {str} else to_arrow(wanted))
        if wanted == STRING and nan_is_null and kinds <= {str, float}:
            return pa.array(values, pa.string(), from_pandas=True)
    except (pa.ArrowException, OverflowError, UnicodeEncodeError, ValueError, TypeError):
        pass  # some value must be converted by itself
    return None


@dataclass(frozen=True)
class Unreadable:
    """An Arrow value without a Python equivalent: text that is not UTF-8, a year past 9999, duplicate struct fields."""

    why: str

    def __str__(self) -> str:
        return self.why


def _python_value(scalar: pa.Scalar) -> Any:
    if "[ns" in str(scalar.type):  # a time in nanoseconds, or a value that has one inside
        ensure_pandas()
    try:
        return scalar.as_py()
    except (ValueError, OverflowError, KeyError) as broken:
        return Unreadable(str(broken))


def check_mappings(attributes: tuple[Attribute, ...], required: str | None, rows: list[Any], locate: Locate) -> Checked:
    names = {a.name for a in attributes}
    ignored: Counter[str] = Counter()
    broken: dict[int, str] = {}
    for i, row in enumerate(rows):
        if not isinstance(row, Mapping):
            broken[i] = f"{_SKIP}, found {show(row)}"
        elif not row.keys() <= names:
            ignored.update(str(name) for name in row.keys() - names if row[name] is not None)
    usable = [row if i not in broken else {} for i, row in enumerate(rows)] if broken else rows
    columns = {a.name: [row.get(a.name) for row in usable] for a in attributes}
    checked = check_columns(attributes, required, Columns(len(rows), columns, locate, broken=broken))
    checked.ignored.update(ignored)
    return checked


def _check_pandas(attributes: tuple[Attribute, ...], required: str | None, frame: Any, what: str) -> Checked:
    ensure_pandas()
    refuse_duplicates([str(name) for name in frame.columns], what)
    types = {a.name: a.type for a in attributes}
    columns: dict[str, pa.Array | list[Any]] = {}
    ignored: Counter[str] = Counter()
    for label in frame.columns:
        series, name = frame[label], str(label)
        if name not in types:
            ignored[name] = int(series.notna().sum())
        elif series.dtype == object:
            columns[name] = series.tolist()
        else:
            # from_pandas turns NaN into null: wrong only in a NumPy column of floats for a DOUBLE.
            keep_nan = types[name] == DOUBLE and isinstance(series.dtype, np.dtype)
            array = pa.array(series.to_numpy() if keep_nan else series, from_pandas=not keep_nan)
            columns[name] = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array

    def locate(row: int) -> tuple[str, str]:
        values = ((str(label), frame[label].iloc[row]) for label in frame.columns)
        return json_text({name: None if is_missing(value) else value for name, value in values}), f"row {row + 1}"

    checked = check_columns(attributes, required, Columns(len(frame), columns, locate, nan_is_null=True))
    checked.ignored.update(+ignored)
    return checked


def join(parts: list[Checked]) -> Checked:
    """Several parts as one, in order."""
    ends = list(accumulate(part.table.num_rows for part in parts))

    def locate(row: int) -> tuple[str, str]:
        number = bisect_right(ends, row)
        locate_in_part = parts[number].locate
        return (
            locate_in_part(row - ends[number] + parts[number].table.num_rows)
            if locate_in_part is not None
            else ("", "")
        )

    whole = Checked(pa.concat_tables([part.table for part in parts]), locate=locate)
    for part in parts:
        whole.rejected.extend(part.rejected)
        whole.ignored.update(part.ignored)
    return whole


def row_text(table: pa.Table, row: int) -> str:
    return json_text({name: _python_value(table[name][row]) for name in table.column_names})


def refuse_duplicates(names: list[str], what: str) -> None:
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        found = f"the column '{twice[0]}' comes twice"
        raise error("DATA_SHAPE", what=what, found=found, fix="rename one of the two")


def _one_chunk(column: pa.ChunkedArray) -> pa.Array:
    whole = column.combine_chunks()
    return whole if isinstance(whole, pa.Array) else pa.concat_arrays(whole.chunks)


def _no_time(name: str) -> str:
    return f"the event time '{name}' is missing"
