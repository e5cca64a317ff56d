"""Two states of a kernel in, what changed between them out, and back.

Most tables of a state are queues: events leave in front and come in at the end. Such a change is how many left and who
came. A table that changed otherwise is written whole. A change is itself a state, in the same versioned format.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from presage.model.state import State

CHANGE = "change"
_LEFT, _KEPT, _NUMBER = "left:", "kept:", "number:"
# Smaller tables are written whole: looking for the change would cost more.
ROWS_WORTH_A_LOOK = 512
# Places at which the first row of the new table may be found in the old one.
TRIES = 4


def change_between(before: State, after: State) -> State | None:
    """The change from one state to the next, None if it would be the whole of it."""
    if before.kernel != after.kernel:
        return None
    tables: dict[str, pa.Table] = {}
    numbers = {_NUMBER + name: value for name, value in after.numbers.items()}
    saved = False
    for name, table in after.tables.items():
        place = _queued(before.tables.get(name), table)
        if place is None:
            tables[name] = table
            continue
        saved = True
        left, kept = place
        numbers |= {_LEFT + name: left, _KEPT + name: kept}
        tables[name] = table.slice(kept)
    return State(CHANGE, tables, numbers) if saved else None


def apply_change(before: State, change: State) -> State:
    """The state after a change."""
    tables = {}
    for name, table in change.tables.items():
        if _LEFT + name in change.numbers:
            left, kept = change.numbers[_LEFT + name], change.numbers[_KEPT + name]
            table = pa.concat_tables([before.tables[name].slice(left, kept), table])
        tables[name] = table
    numbers = {n.removeprefix(_NUMBER): v for n, v in change.numbers.items() if n.startswith(_NUMBER)}
    return State(before.kernel, tables, numbers)


def _queued(before: pa.Table | None, after: pa.Table) -> tuple[int, int] | None:
    """(rows that left in front, rows that stayed), if the new table is the rest of the old one and then other rows."""
    if before is None or before.num_rows < ROWS_WORTH_A_LOOK or not after.num_rows or not after.num_columns:
        return None
    if before.schema != after.schema:
        return None
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
        if kept <= after.num_rows and before.slice(place).equals(after.slice(0, kept)):
            return place, kept
    return None
