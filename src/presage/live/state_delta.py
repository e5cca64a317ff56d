"""The delta between two states of a kernel, and its application.

Most tables of a state are queues: rows are removed at the front and appended at the end. Their delta is the number of
removed rows and the new rows. In other tables rows are removed anywhere, or change in a few columns: accumulators of
groups, windows of each key. Their delta is the removed rows, the changed values with their rows, and the new rows. Any
other table is written whole. A kernel may report its changes: then nothing is compared. A delta is itself a state, in
the same versioned format.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from presage.arrays.codes import kept_in_order
from presage.columnar.key_hashes import hashes_of_several
from presage.model.operator_state import Since, State

CHANGE = "change"
_LEFT, _KEPT, _NUMBER, _STAYED = "left:", "kept:", "number:", "stayed:"
_GONE, _NEW = "gone:", "new:"  # tables: removed rows; by the number of the column, changed rows and values
_ROW, _VALUE = "row", "value"
# Prefix of columns that a kernel changes for an event or a key; the others identify a row.
_CHANGING = "#"
# Smaller tables are written whole: comparing would cost more.
ROWS_WORTH_A_LOOK = 512
# Row numbers below this are stored in 32 bits.
FEW = 1 << 31
# How many occurrences of the new table's first row in the old table are tried.
TRIES = 4


def change_between(before: State, after: State) -> State | None:
    """The delta from one state to the next; None if it would be the whole state."""
    if before.kernel != after.kernel:
        return None
    if after.since is not None and after.since.before() is before:
        return _reported(before, after, after.since)
    tables: dict[str, pa.Table] = {}
    numbers = {_NUMBER + name: value for name, value in after.numbers.items()}
    saved = False
    for name, table in after.tables.items():
        old = before.tables.get(name)
        if old is None or old.num_rows < ROWS_WORTH_A_LOOK or not table.num_rows or old.schema != table.schema:
            tables[name] = table
        elif (queued := _queued(old, table)) is not None:
            left, kept = queued
            numbers |= {_LEFT + name: left, _KEPT + name: kept}
            tables[name] = table.slice(kept)
            saved = True
        elif (thinned := _thinned(name, old, table)) is not None:
            stayed, changed = thinned
            numbers[_STAYED + name] = stayed
            tables |= {name: table.slice(stayed), **changed}
            saved = True
        else:
            tables[name] = table
    return State(CHANGE, tables, numbers) if saved else None


def _reported(before: State, after: State, since: Since) -> State | None:
    """The delta as the kernel reports it."""
    tables = dict(after.tables)
    numbers = {_NUMBER + name: value for name, value in after.numbers.items()}
    saved = False
    for name, stays in since.kept.items():
        stayed = int(np.count_nonzero(stays))
        if stayed and before.tables[name].schema == after.tables[name].schema:
            table = after.tables[name]
            numbers[_STAYED + name] = stayed
            tables[name] = table.slice(stayed)
            left = int(np.argmax(stays))
            if left:
                numbers[_LEFT + name] = left
            if stayed < len(stays) - left:
                tables[_GONE + name] = pa.table({_ROW: _numbers(np.flatnonzero(~stays[left:]))})
            for column, rows in since.changed.get(name, {}).items():
                new = table[column].slice(0, stayed)
                if rows is None:
                    rows = _differing(before.tables[name][column].filter(pa.array(stays)), new)
                if len(rows):
                    changed = pa.table({_ROW: _numbers(rows), _VALUE: new.take(pa.array(rows))})
                    tables[f"{_NEW}{name}:{table.column_names.index(column)}"] = changed
            saved = True
    return State(CHANGE, tables, numbers) if saved else None


def apply_change(before: State, change: State) -> State:
    """The state after a delta."""
    tables = {}
    for name, table in change.tables.items():
        if name.startswith((_GONE, _NEW)):
            continue
        left = change.numbers.get(_LEFT + name, 0)
        if _KEPT + name in change.numbers:
            table = pa.concat_tables([before.tables[name].slice(left, change.numbers[_KEPT + name]), table])
        elif _STAYED + name in change.numbers:
            table = pa.concat_tables([_stayed(before.tables[name].slice(left), name, change), table])
        tables[name] = table
    numbers = {n.removeprefix(_NUMBER): v for n, v in change.numbers.items() if n.startswith(_NUMBER)}
    return State(before.kernel, tables, numbers)


def _queued(before: pa.Table, after: pa.Table) -> tuple[int, int] | None:
    """(removed rows, kept rows), if the new table is the end of the old one, followed by new rows."""
    first = after.slice(0, 1)
    keys = [
        c for c in after.column_names if pa.types.is_integer(after.schema.field(c).type) and not first[c].null_count
    ]
    if not keys:
        return None
    same = pc.equal(before[keys[0]], first[keys[0]][0])
    for key in keys[1:]:
        same = pc.and_kleene(same, pc.equal(before[key], first[key][0]))
    for place in pc.indices_nonzero(pc.fill_null(same, False)).slice(0, TRIES).to_pylist():
        kept = before.num_rows - place
        if kept <= after.num_rows and _same(before.slice(place), after.slice(0, kept)):
            return place, kept
    return None


def _same(old: pa.Table, new: pa.Table) -> bool:
    """Bitwise equality: Arrow takes 0.0 and -0.0 for equal."""
    floats = [i for i, kind in enumerate(old.schema.types) if pa.types.is_floating(kind)]
    return old.equals(new) and not any(len(_differing(old.column(i), new.column(i))) for i in floats)


def _thinned(name: str, before: pa.Table, after: pa.Table) -> tuple[int, dict[str, pa.Table]] | None:
    """How many rows of the new table are from the old one, and tables of the removed rows and changed values; None if
    most rows are new."""
    identity = _identity_columns(after.schema)
    if not identity or not all(_is_text(kind) or pa.types.is_primitive(kind) for kind in after.schema.types):
        return None
    hashed = [hashes_of_several([t[c] for c in identity], t.num_rows).view(np.int64) for t in (before, after)]
    kept = kept_in_order(*hashed)
    if 2 * len(kept) < after.num_rows:
        return None
    tables: dict[str, pa.Table] = {}
    whole = len(kept) == before.num_rows
    if not whole:
        left = np.ones(before.num_rows, np.bool_)
        left[kept] = False
        tables[_GONE + name] = pa.table({_ROW: _numbers(np.flatnonzero(left))})
    for number, column in enumerate(after.column_names):
        old = before[column] if whole else before[column].take(pa.array(kept))
        new = after[column].slice(0, len(kept))
        rows = _differing(old, new)
        if len(rows):
            tables[f"{_NEW}{name}:{number}"] = pa.table({_ROW: _numbers(rows), _VALUE: new.take(pa.array(rows))})
    return len(kept), tables


def _stayed(before: pa.Table, name: str, change: State) -> pa.Table:
    gone = change.tables.get(_GONE + name)
    if gone is not None:
        stays = np.ones(before.num_rows, np.bool_)
        stays[gone[_ROW].to_numpy()] = False
        before = before.filter(pa.array(stays))
    for number, column in enumerate(before.column_names):
        changed = change.tables.get(f"{_NEW}{name}:{number}")
        if changed is not None:
            mask = np.zeros(before.num_rows, np.bool_)
            mask[changed[_ROW].to_numpy()] = True
            values = pc.replace_with_mask(_one(before[column]), pa.array(mask), _one(changed[_VALUE]))
            before = before.set_column(number, before.schema.field(number), values)
    return before


def _numbers(rows: np.ndarray) -> np.ndarray:
    """Ascending row numbers, in 32 bits if they fit."""
    return rows.astype(np.int32) if not len(rows) or rows[-1] < FEW else rows


def _identity_columns(schema: pa.Schema) -> Sequence[str]:
    """The columns that identify a row; texts, which are slow to hash, only if there are no others."""
    own = [field for field in schema if not field.name.startswith(_CHANGING)]
    plain = [field.name for field in own if not _is_text(field.type)]
    return plain or [field.name for field in own]


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _differing(old: pa.ChunkedArray, new: pa.ChunkedArray) -> np.ndarray:
    """The rows in which two columns differ, compared bitwise."""
    if pa.types.is_floating(old.type):
        # As integers: NaN equals itself, and 0.0 differs from -0.0.
        bits = {16: pa.int16(), 32: pa.int32(), 64: pa.int64()}[old.type.bit_width]
        old, new = (_one(c).view(bits) for c in (old, new))
    differs = pc.fill_null(pc.not_equal(old, new), False).to_numpy(zero_copy_only=False)
    if old.null_count or new.null_count:
        nulls = [column.is_null().to_numpy(zero_copy_only=False) for column in (old, new)]
        differs = differs | (nulls[0] != nulls[1])
    return np.flatnonzero(differs)


def _one(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    if isinstance(column, pa.Array):
        return column
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks or [pa.array([], column.type)])
