"""What families did in a batch in; out comes what it has changed of their statements: how much came in and out.

They are the usual case, a thousand statements in a batch: in step, whole, with no states of their own to write. What is
said of them is said once for all. All others are left to `after_batch`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from presage.live.results import Entry
from presage.live.statement import Statement
from presage.live.tasks import FamilyOutcome


@dataclass
class Counted:
    """What to record of these statements, and their rows. `rows_in`: how many events each of some took in, and which
    statements those are; `rows_out`: how many rows it made; `partial`: its open matches, where they are others now."""

    rows_in: list[tuple[int, tuple[str, ...]]] = field(default_factory=list)
    rows_out: dict[str, int] = field(default_factory=dict)
    partial: dict[str, dict[str, int]] = field(default_factory=dict)
    entries: list[Entry] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        return {"rows_in": self.rows_in, "rows_out": self.rows_out}

    def take_in(self, statements: Mapping[str, Statement]) -> None:
        """The record has happened."""
        for rows, numbers in self.rows_in:
            for number in numbers:
                statements[number].count("rows_in", rows)
        for number, rows in self.rows_out.items():
            statements[number].count("rows_out", rows)


def count(families: Iterable[FamilyOutcome], statements: Mapping[str, Statement]) -> Counted:
    counted = Counted()
    for family in families:
        members, parts = family.task.members.numbers, family.task.parts
        for (start, stop, _), rows_in in zip(parts, family.rows_in, strict=True):
            if rows_in:
                counted.rows_in.append((rows_in, members[start:stop]))
        for number, cut in family.lot.cuts.items() if family.lot is not None else ():
            name, rows = str(number), cut.end - cut.start
            counted.rows_out[name] = rows
            counted.entries.append((number, statements[name].rows_out, cut.last_time, rows, cut.packed()))
        for name in members if family.partial else ():
            known, shard = statements[name].partial, family.task.first.shard
            partial = {f"{shard}/{place}": matches for place, matches in family.partial_of(int(name)).items()}
            if not partial.items() <= known.items():
                counted.partial[name] = {**known, **partial}
    return counted
