"""The draft of a batch's record in the journal: changes of statements, result rows, watermarks.

New states go to files that no record refers to yet, which are written before the record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pyarrow as pa

from presage.columnar.processing_order import sorted_table
from presage.execution.watermark_buffer import NOTHING_KNOWN
from presage.live import results
from presage.live.batch import Batch
from presage.live.batch_planner import BatchPlanner
from presage.live.derived import archived_rows, derived_table, is_derived_table, no_rows
from presage.live.program import Program
from presage.live.state_store import StateStore
from presage.live.statement import Statement
from presage.live.statement_update import changed_values, output_watermark
from presage.live.tasks import Outcome, Outcomes, SharedOutcome, sound
from presage.model.catalog import EventType
from presage.plan.nodes import SEQ, TIME
from presage.storage.group_commit import NewFiles
from presage.storage.home import DERIVED, RESULTS


@dataclass
class BatchCounts:
    """Counters and result rows of shared steps, of which the record has one entry for many statements. `rows_in`: a
    number of events, and the statements that read so many; `rows_out`: by statement; `partial`: open matches by
    statement, where they have changed."""

    rows_in: list[tuple[int, tuple[str, ...]]] = field(default_factory=list)
    rows_out: dict[str, int] = field(default_factory=dict)
    partial: dict[str, dict[str, int]] = field(default_factory=dict)
    entries: list[results.Entry] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        return {"rows_in": self.rows_in, "rows_out": self.rows_out}

    def apply(self, statements: Mapping[str, Statement]) -> None:
        """Apply them, after the record has been published."""
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
            before, shard = statements[name].partial, one.task.first.shard
            partial = {f"{shard}/{place}": matches for place, matches in one.partial_of(int(name)).items()}
            if not partial.items() <= before.items():
                counts.partial[name] = {**before, **partial}
    return counts


@dataclass
class CommitDraft:
    """The record of a batch. Of statements that stepped as one only counters change, of `others` more."""

    states: NewFiles
    done: list[Outcome]  # of single tasks, those that did not fail
    counts: BatchCounts
    job: dict[str, Any] = field(default_factory=dict)
    changes: dict[str, dict[str, Any]] = field(default_factory=dict)  # by statement
    after: dict[str, Statement] = field(default_factory=dict)  # as they are after the record
    others: dict[str, dict[str, Any]] = field(default_factory=dict)
    tables: dict[str, pa.Table] = field(default_factory=dict)
    watermarks: dict[str, int] = field(default_factory=dict)  # by table

    @property
    def live(self) -> dict[str, Any]:
        """The record's part on statements: see `LiveState`."""
        return {"job": self.job, "statements": self.changes, "counts": self.counts.to_json()}


@dataclass(frozen=True)
class DraftBuilder:
    """`_statements` and `_programs` by number; `_can_repeat`: whether a statement could be replayed from the log."""

    _statements: Mapping[str, Statement]
    _programs: Mapping[str, Program]
    _planner: BatchPlanner
    _store: StateStore
    _event_type: Callable[[str], EventType]
    _can_repeat: Callable[[Statement], bool]

    def draft(self, batch: Batch, outcomes: Outcomes) -> CommitDraft:
        alone, together = outcomes
        failed = {o.number for o in alone if o.failure is not None or o.blocked}
        done = [o for o in alone if o.number not in failed] if failed else alone
        locations = self._store.write(done, together)
        draft = CommitDraft(locations.files, done, count_batch(together, self._statements))
        for number, matches in draft.counts.partial.items():
            draft.after[number], draft.changes[number] = self._statements[number].change(partial=matches)
        by_statement: dict[str, list[Outcome]] = {number: [] for number in batch.ranges}
        for o in alone:
            by_statement[o.number].append(o)
        for number, several in by_statement.items():
            statement, input_range, program = self._statements[number], batch.ranges[number], self._programs[number]
            chains, can_repeat = locations.own.get(number, {}), partial(self._can_repeat, statement)
            values = changed_values(statement, program, input_range, batch.watermarks, several, chains, can_repeat)
            changed, change = statement.change(**values) if values else (statement, {})
            rows = self._rows(statement, several) if "rows_out" in change else None
            if rows is not None:
                payload = results.packed(rows, program.columns)
                last = int(rows[TIME][-1].as_py())
                draft.counts.entries.append((int(number), statement.rows_out, last, rows.num_rows, payload))
            if program.into is not None and sound(several):
                end = input_range.end.watermark
                watermark = output_watermark(statement, input_range, several) if program.lags else end
                self._archive(number, rows, watermark, draft)
            if change:
                draft.others[number], draft.after[number] = change, changed
        draft.changes |= draft.others
        if draft.counts.entries:
            draft.tables[RESULTS] = results.pack(draft.counts.entries)
        draft.job = {"position": batch.position, "marks": self._reached_watermarks(batch, by_statement)}
        if batch.arrivals is not None:
            draft.job["arrivals"] = batch.arrivals
        draft.job |= self._store.shared_after(locations, draft.others)
        return draft

    def _rows(self, statement: Statement, several: list[Outcome]) -> pa.Table | None:
        """The new rows of a statement, in order, without those that were published before its state was lost."""
        made = [o.table() for o in several if o.rows_out and o.failure is None]
        if not made:
            return None
        plan = self._programs[statement.number].plan
        rows = sorted_table(pa.concat_tables(made), (TIME, SEQ, *plan.order)).slice(statement.to_skip)
        return rows if rows.num_rows else None

    def _archive(self, number: str, rows: pa.Table | None, watermark: int | None, draft: CommitDraft) -> None:
        """Add rows of INSERT INTO to the derived stream's archive; its watermark advances without rows, too."""
        stream = self._programs[number].insert_into
        if stream is None or watermark is None or watermark == NOTHING_KNOWN:
            return
        name, event_type = DERIVED + stream, self._event_type(stream)
        maker = -int(number) if self._programs[number].retimed else int(number)
        made = archived_rows(rows, event_type, maker) if rows is not None else no_rows(event_type)
        draft.tables[name] = pa.concat_tables([draft.tables[name], made]) if name in draft.tables else made
        draft.watermarks[name] = min(draft.watermarks.get(name, watermark), watermark)

    def _reached_watermarks(self, batch: Batch, by_statement: Mapping[str, list[Outcome]]) -> dict[str, int]:
        """The watermarks of streams after the batch; that of a stream with a failed producer does not advance."""
        watermarks = dict(batch.watermarks)
        if not any(map(is_derived_table, watermarks)):
            return watermarks
        for number, several in by_statement.items():
            into = self._programs[number].insert_into
            if into is not None and several and not sound(several) and derived_table(into) in watermarks:
                start = batch.ranges[number].start.watermark
                if self._programs[number].lags:
                    start = self._planner.output_watermark(self._statements[number])
                watermarks[derived_table(into)] = min(watermarks[derived_table(into)], start)
        return watermarks
