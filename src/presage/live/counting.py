"""The outcomes of a batch in; out come the statements of which it changed no more than how much came in and out.

They are the usual case, a thousand in a batch: in step, whole, with no states of their own to write. Each is done with
here, in few steps and without objects that outlive the batch. All others are left to `after_batch`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from presage.live.results import Entry
from presage.live.statement import Statement
from presage.live.tasks import Outcome


@dataclass
class Counted:
    """What to record of these statements, as they will be, their rows, and the outcomes that are no such case."""

    changes: dict[str, dict[str, Any]] = field(default_factory=dict)
    after: dict[str, Statement] = field(default_factory=dict)
    entries: list[Entry] = field(default_factory=list)
    done: set[str] = field(default_factory=set)  # numbers, of those without a change, too
    rest: list[Outcome] = field(default_factory=list)


def count(outcomes: Iterable[Outcome], statements: Mapping[str, Statement]) -> Counted:
    counted = Counted()
    changes, after, done, entries = counted.changes, counted.after, counted.done, counted.entries
    for o in outcomes:
        number = o.number
        statement, shared = statements[number], o.shared
        if (
            not (o.usual and statement.only_counts)
            or o.unknown
            or (shared is not None and statement.shared.get(str(o.shard)) != shared.name)
        ):
            counted.rest.append(o)
            continue
        done.add(number)
        cut, values = o.cut, dict[str, Any]()
        if o.rows_in:
            values["rows_in"] = statement.rows_in + o.rows_in
        if cut is not None:
            first, rows = statement.rows_out, cut.end - cut.start
            values["rows_out"] = first + rows
            entries.append((int(number), first, cut.last_time, rows, cut.packed()))
        if o.partial:
            partial = {f"{o.shard}/{place}": matches for place, matches in o.partial.items()}
            if not partial.items() <= statement.partial.items():
                values["partial"] = {**statement.partial, **partial}
        if values:
            changes[number], after[number] = values, statement.counted(values)
    return counted
