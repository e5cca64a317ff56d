"""Counters of statements that stepped as one: how many events a batch read, and how many rows it made.

Apart from `statement_update`, which is for single statements: of a thousand shared ones only counters change, and the
record says it once for all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from presage.live.results import Entry
from presage.live.statement import Statement
from presage.live.tasks import SharedOutcome


@dataclass
class BatchCounts:
    """Counters to record, and result rows. `rows_in`: a number of events, and the statements that read so many;
    `rows_out`: by statement; `partial`: open matches by statement, where they have changed."""

    rows_in: list[tuple[int, tuple[str, ...]]] = field(default_factory=list)
    rows_out: dict[str, int] = field(default_factory=dict)
    partial: dict[str, dict[str, int]] = field(default_factory=dict)
    entries: list[Entry] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        return {"rows_in": self.rows_in, "rows_out": self.rows_out}

    def apply(self, statements: Mapping[str, Statement]) -> None:
        """After the record has been published."""
        for rows, numbers in self.rows_in:
            for number in numbers:
                statements[number].count("rows_in", rows)
        for number, rows in self.rows_out.items():
            statements[number].count("rows_out", rows)


def count_batch(shared: Iterable[SharedOutcome], statements: Mapping[str, Statement]) -> BatchCounts:
    counts = BatchCounts()
    for one in shared:
        members, parts = one.task.members.numbers, one.task.parts
        for (start, stop, _), rows_in in zip(parts, one.rows_in, strict=True):
            if rows_in:
                counts.rows_in.append((rows_in, members[start:stop]))
        for number, piece in one.rows.slices.items() if one.rows is not None else ():
            name, rows = str(number), piece.end - piece.start
            counts.rows_out[name] = rows
            counts.entries.append((number, statements[name].rows_out, piece.last_time, rows, piece.packed()))
        for name in members if one.partial else ():
            known, shard = statements[name].partial, one.task.first.shard
            partial = {f"{shard}/{place}": matches for place, matches in one.partial_of(int(name)).items()}
            if not partial.items() <= known.items():
                counts.partial[name] = {**known, **partial}
    return counts
