"""A batch and what became of its tasks in; out comes the draft of its record: what changes, and the rows that it made.

Before it the new states are written, under names that no record knows yet; the draft says where they lie.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from presage.columnar.holding import NOTHING_KNOWN
from presage.columnar.sorting import sorted_table
from presage.live import results
from presage.live.after_batch import changed_values, made_to
from presage.live.counting import Counted, count
from presage.live.derived import archived_rows, derived_table, is_made, no_rows
from presage.live.planning import Batch, Planner
from presage.live.program import Program
from presage.live.statement import Statement
from presage.live.store import StateStore
from presage.live.tasks import Outcome, Outcomes, sound
from presage.log.home import DERIVED, RESULTS
from presage.model.catalog import EventType
from presage.plan.nodes import SEQ, TIME


@dataclass
class Draft:
    """The record of a batch. Of statements that stepped as one only what is counted changes, of `others` more."""

    done: list[Outcome]  # of tasks alone, those that did not fail
    counted: Counted
    job: dict[str, Any] = field(default_factory=dict)
    changes: dict[str, dict[str, Any]] = field(default_factory=dict)  # by statement
    after: dict[str, Statement] = field(default_factory=dict)  # as they will be
    others: dict[str, dict[str, Any]] = field(default_factory=dict)
    tables: dict[str, pa.Table] = field(default_factory=dict)
    watermarks: dict[str, int] = field(default_factory=dict)  # by table

    @property
    def live(self) -> dict[str, Any]:
        """The record's part on statements: see `LiveState`."""
        return {"job": self.job, "statements": self.changes, "counts": self.counted.to_json()}


class Drafting:
    """`statements` and `programs` by number; `can_repeat`: whether a statement could make its rows again."""

    def __init__(
        self,
        statements: Mapping[str, Statement],
        programs: Mapping[str, Program],
        planner: Planner,
        store: StateStore,
        event_type: Callable[[str], EventType],
        can_repeat: Callable[[Statement], bool],
    ) -> None:
        self._statements = statements
        self._programs = programs
        self._planner = planner
        self._store = store
        self._event_type = event_type
        self._can_repeat = can_repeat

    def draft(self, batch: Batch, outcomes: Outcomes) -> Draft:
        """Writes the states that the batch has made."""
        alone, together = outcomes
        failed = {o.number for o in alone if o.failure is not None or o.held}
        done = [o for o in alone if o.number not in failed] if failed else alone
        places = self._store.write(done, together)
        draft = Draft(done, count(together, self._statements))
        for number, partial in draft.counted.partial.items():
            draft.after[number], draft.changes[number] = self._statements[number].change(partial=partial)
        by_statement: dict[str, list[Outcome]] = {number: [] for number in batch.spans}
        for o in alone:
            by_statement[o.number].append(o)
        for number, several in by_statement.items():
            statement, span, program = self._statements[number], batch.spans[number], self._programs[number]
            values = changed_values(
                statement, program, span, batch.marks, several, places.own.get(number, {}),
                lambda st=statement: self._can_repeat(st),  # type: ignore[misc]
            )  # fmt: skip
            changed, change = statement.change(**values) if values else (statement, {})
            rows = self._rows(statement, several) if "rows_out" in change else None
            if rows is not None:
                payload = results.packed(rows, program.columns)
                last = int(rows[TIME][-1].as_py())
                draft.counted.entries.append((int(number), statement.rows_out, last, rows.num_rows, payload))
            if program.into is not None and sound(several):
                known = made_to(statement, span, several) if program.lags else span.end.clock
                self._archive(number, rows, known, draft)
            if change:
                draft.others[number], draft.after[number] = change, changed
        draft.changes |= draft.others
        if draft.counted.entries:
            draft.tables[RESULTS] = results.pack(draft.counted.entries)
        draft.job = {"position": batch.position, "marks": self._reached_marks(batch, by_statement)}
        if batch.arrivals is not None:
            draft.job["arrivals"] = batch.arrivals
        draft.job |= self._store.families_after(places, draft.others)
        return draft

    def _rows(self, statement: Statement, several: list[Outcome]) -> pa.Table | None:
        """What a statement made and had not made before, in order."""
        made = [o.table() for o in several if o.made and o.failure is None]
        if not made:
            return None
        plan = self._programs[statement.number].plan
        rows = sorted_table(pa.concat_tables(made), (TIME, SEQ, *plan.order)).slice(statement.to_skip)
        return rows if rows.num_rows else None

    def _archive(self, number: str, rows: pa.Table | None, known: int | None, draft: Draft) -> None:
        """Rows of INSERT INTO as events of the derived stream's own archive; its time goes on without rows, too."""
        stream = self._programs[number].insert_into
        if stream is None or known is None or known == NOTHING_KNOWN:
            return
        name, event_type = DERIVED + stream, self._event_type(stream)
        maker = -int(number) if self._programs[number].retimed else int(number)
        made = archived_rows(rows, event_type, maker) if rows is not None else no_rows(event_type)
        draft.tables[name] = pa.concat_tables([draft.tables[name], made]) if name in draft.tables else made
        draft.watermarks[name] = min(draft.watermarks.get(name, known), known)

    def _reached_marks(self, batch: Batch, by_statement: Mapping[str, list[Outcome]]) -> dict[str, int]:
        """The clocks of the streams after the batch: those of a statement that failed stay where they were."""
        marks = dict(batch.marks)
        if not any(map(is_made, marks)):
            return marks
        for number, several in by_statement.items():
            into = self._programs[number].insert_into
            if into is not None and several and not sound(several) and derived_table(into) in marks:
                known = self._planner.made_to(self._statements[number]) if self._programs[number].lags else None
                start = batch.spans[number].start.clock if known is None else known
                marks[derived_table(into)] = min(marks[derived_table(into)], start)
        return marks
