"""Tasks of one batch in, their outcomes out: the events are read once, filters asked together, each statement stepped.

A task is one statement, or one shard of its keys, over one span of the log. Tasks run on the driver or, many at a time,
in a worker of Spark's: nothing here knows which.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from presage.columnar.evaluate import Evaluator
from presage.columnar.predicate_index import PredicateIndex
from presage.columnar.sorting import sorted_table
from presage.columnar.steps import Book, StepContext, run_root, schema_of
from presage.errors import PresageError, error
from presage.live.derived import HIDDEN, archived_rows, as_scanned
from presage.live.program import Program
from presage.live.rooms import OPERATORS, open_matches
from presage.live.states import Chain
from presage.log import Bounds, FileSet
from presage.log.archive import within
from presage.log.reading import read_events
from presage.model.state import State
from presage.plan.expr import ColumnRef, Expr
from presage.plan.nodes import SEQ, TIME, Filter, Scan

_LOGGER = logging.getLogger("presage")
# Fewer filters than this are as quick one by one.
FILTERS_PER_INDEX = 4
# From so many on, files are read whole and each takes its part.
SHARERS_PER_READ = 3
MESSAGE_LENGTH = 2_000


@dataclass(frozen=True)
class Task:
    """One statement's share of a batch. `files`: what each of its scans takes in, in the order of the scans."""

    number: str
    program: Program
    shard: int
    files: tuple[tuple[FileSet, ...], ...]
    start: int  # the clock that it has come to
    clock: int
    inner_clock: int
    end: bool
    must_run: bool  # time alone may make rows

    @property
    def events(self) -> int:
        """How many events the files hold, at most."""
        return sum(files.rows for several in self.files for files in several)


@dataclass
class Outcome:
    """What became of a task. `rows`: TIME, SEQ, order and the statement's columns, in order; None if it had no work."""

    number: str
    shard: int
    rows: pa.Table | None = None
    states: dict[str, State] = field(default_factory=dict)  # those that changed, by place
    chains: dict[str, Chain] = field(default_factory=dict)  # where they lie, once they are written
    partial: dict[str, int] = field(default_factory=dict)  # open partial matches in those that keep some
    rows_in: int = 0
    failure: PresageError | None = None
    held: bool = False  # a statement whose rows it reads has failed: it waits where it is


@dataclass
class Kept:
    """What lasts from batch to batch for a statement: compiled stages and expressions. Holds no state."""

    program: Program
    evaluator: Evaluator
    relations: Mapping[str, pa.Table]
    compiled: dict[Any, Any] = field(default_factory=dict)


_Index = tuple[list[Filter], PredicateIndex]
# Source files of one scan: two scans with equal sources read the same events.
_Source = tuple[tuple[str, tuple[str, ...], Any], ...]


class Runner:
    """Runs the tasks of a batch. `keeper` gives what is kept for a statement; `states` reads those of a task."""

    def __init__(self, keeper: Callable[[Task], Kept], states: Callable[[Task], Mapping[str, State]]) -> None:
        self._keeper = keeper
        self._states = states
        # By the identity of the filters, which are kept with the index so that nothing else gets it.
        self._indexes: dict[tuple[int, ...], _Index] = {}

    def run(self, tasks: Sequence[Task]) -> list[Outcome]:
        events = _Events(tasks)
        matched = self._match(tasks, events)
        outcomes: list[Outcome] = []
        for i, task in enumerate(tasks):
            outcomes.append(self._one(task, events, matched.get(i, {})))
            if task.program.into is not None and task.shard == task.program.shards - 1:
                events.take(task.program, outcomes[-task.program.shards :])
        return outcomes

    def _one(self, task: Task, events: _Events, matched: dict[int, np.ndarray]) -> Outcome:
        outcome = Outcome(task.number, task.shard)
        if any(scan.made and scan.stream in events.broken for scan in task.program.scans):
            outcome.held = True
            return outcome
        try:
            outcome.rows_in = events.rows(task)
            if task.must_run or _has_input(task, events, matched):
                self._step(task, events, matched, outcome)
        except PresageError as failure:
            outcome.failure = failure
        except Exception as failure:
            # Whatever it is, in one statement it must not stop the others: it is told, and that statement waits. The
            # status keeps a line of it; who has to mend it needs the place, too.
            _LOGGER.error("statement number %s failed by a mistake of ours", task.number, exc_info=failure)
            outcome.failure = error("INTERNAL", what=f"{type(failure).__name__}: {failure}"[:MESSAGE_LENGTH])
            outcome.failure.__cause__ = failure
        return outcome

    def _step(self, task: Task, events: _Events, matched: dict[int, np.ndarray], outcome: Outcome) -> None:
        kept = self._keeper(task)
        program, book = kept.program, Book(dict(self._states(task)))
        context = StepContext(
            read=lambda scan: events.of(task, program, scan),
            evaluator=kept.evaluator,
            relations=kept.relations,
            operators=OPERATORS,
            places=program.places,
            book=book,
            clock=task.clock,
            inner_clock=task.inner_clock,
            upper=program.upper,
            end=task.end,
            shard=task.shard,
            shards=program.shards,
            compiled=kept.compiled,
            matched=matched,
        )
        made = run_root(program.plan, context).table
        outcome.rows = made.select([TIME, SEQ, *program.plan.order, *(c.name for c in program.columns)])
        outcome.states = {place: book.states[place] for place in book.changed}
        counts = {place: open_matches(state) for place, state in outcome.states.items()}
        outcome.partial = {place: count for place, count in counts.items() if count is not None}

    def _match(self, tasks: Sequence[Task], events: _Events) -> dict[int, dict[int, np.ndarray]]:
        """Rows that filters right above scans keep, by task and place of the filter, where many ask the same events."""
        asked: dict[_Source, list[tuple[int, Filter, Scan]]] = {}
        for i, task in enumerate(tasks):
            # A statement of several scans may read the same events twice under different names; those go their own way.
            # What statements make in this batch is not known yet.
            if len(task.program.scans) == 1 and not task.program.native and not task.program.scans[0].made:
                for node, scan in task.program.filters:
                    asked.setdefault(_source(task, 0), []).append((i, node, scan))
        found: dict[int, dict[int, np.ndarray]] = {}
        old, self._indexes = self._indexes, {}  # those that nobody asks any more are let go
        for source, several in asked.items():
            if len(several) < FILTERS_PER_INDEX or not source:
                continue
            if not events.readable(source):
                continue  # each of the statements will find out by itself
            rows = self._index(several, tasks, old).matches(events.plain(source))
            for (i, node, _), places in zip(several, rows, strict=True):
                found[i] = {tasks[i].program.places[id(node)]: places}
        return found

    def _index(
        self, several: Sequence[tuple[int, Filter, Scan]], tasks: Sequence[Task], old: Mapping[tuple[int, ...], _Index]
    ) -> PredicateIndex:
        nodes = [node for _, node, _ in several]
        key = tuple(map(id, nodes))
        if key in old:
            self._indexes[key] = old[key]
        elif key not in self._indexes:
            conditions = [_by_attribute(node, scan) for _, node, scan in several]
            relations = {name: rows for i, _, _ in several for name, rows in self._keeper(tasks[i]).relations.items()}
            self._indexes[key] = nodes, PredicateIndex(conditions, relations)
        return self._indexes[key][1]


class _Events:
    """The events of a batch, each file read once with all the attributes that some statement wants; and the rows that
    statements make for others, which run after them."""

    def __init__(self, tasks: Sequence[Task]) -> None:
        self._fresh: dict[str, list[pa.Table]] = {}  # by derived stream
        self.broken: set[str] = set()  # derived streams that lack rows in this batch
        self._wanted: dict[_Source, dict[str, None]] = {}
        self._files: dict[_Source, tuple[FileSet, ...]] = {}
        self._read: dict[_Source, pa.Table] = {}
        self._whole: dict[tuple[str, tuple[str, ...]], pa.Table] = {}  # files as they are, for many
        self._sharers: dict[tuple[str, tuple[str, ...]], list[_Source]] = {}
        for task in tasks:
            for i, scan in enumerate(task.program.scans):
                source = _source(task, i)
                self._files[source] = task.files[i]
                hidden = HIDDEN if scan.made else ()
                self._wanted.setdefault(source, {}).update(dict.fromkeys((*scan.attributes, *hidden)))
        for source, several in self._files.items():
            for files in several:
                self._sharers.setdefault((files.stream, files.paths), []).append(source)

    def take(self, program: Program, outcomes: Sequence[Outcome]) -> None:
        """Keep the rows of an INSERT INTO for those that read its stream."""
        assert program.into is not None
        stream = program.into.name
        if any(o.failure is not None or o.held for o in outcomes):
            self.broken.add(stream)
        rows = [o.rows for o in outcomes if o.rows is not None and o.rows.num_rows]
        if rows and stream not in self.broken and not program.retimed:
            ordered = sorted_table(pa.concat_tables(rows), (TIME, SEQ, *program.plan.order))
            made = archived_rows(ordered, program.into, int(outcomes[0].number))
            self._fresh.setdefault(stream, []).append(made)

    def plain(self, source: _Source) -> pa.Table:
        """SEQ, TIME and attributes under their own names."""
        if source not in self._read:
            parts = [self._events_of(files, source) for files in self._files[source]]
            self._read[source] = pa.concat_tables(parts).combine_chunks()
        return self._read[source]

    def _events_of(self, files: FileSet, source: _Source) -> pa.Table:
        """Statements that began at different positions want different rows of the same files: those are read once."""
        wanted = list(self._wanted[source])
        whole = (files.stream, files.paths)
        sharers = self._sharers[whole]
        if len(sharers) < SHARERS_PER_READ:
            return read_events(files, wanted)
        if whole not in self._whole:
            names = list(dict.fromkeys(name for sharer in sharers for name in self._wanted[sharer]))
            self._whole[whole] = read_events(replace(files, predicates=Bounds()), names)
        return within(self._whole[whole], files.predicates).select(list(dict.fromkeys((SEQ, TIME, *wanted))))

    def readable(self, source: _Source) -> bool:
        try:
            self.plain(source)
        except (OSError, pa.ArrowException):
            return False
        return True

    def of(self, task: Task, program: Program, scan: Scan) -> pa.Table:
        number = next(i for i, known in enumerate(program.scans) if known is scan)
        source = _source(task, number)
        if scan.made:
            return self._made(task, source, scan)
        if not source:
            return schema_of(scan.columns).empty_table()
        table = self.plain(source)
        columns = [table[TIME], table[SEQ], *(table[a] for a in scan.attributes)]
        return pa.table(columns, [TIME, SEQ, *(f.name for f in scan.fields)])

    def _made(self, task: Task, source: _Source, scan: Scan) -> pa.Table:
        """Rows of other statements: older ones from the archive, and those of this batch."""
        parts = [schema_of(scan.columns, scan.order).empty_table()]
        if source:
            parts.append(as_scanned(self.plain(source), scan, task.start + 1, task.inner_clock))
        # One made now may have the very time that was reached before: its event came late within that moment.
        parts += [as_scanned(made, scan, task.start, task.inner_clock) for made in self._fresh.get(scan.stream, [])]
        return pa.concat_tables([part.cast(parts[0].schema) for part in parts])

    def rows(self, task: Task) -> int:
        read: int = sum(self.plain(s).num_rows for i in range(len(task.files)) if (s := _source(task, i)))
        made = [table for scan in task.program.scans if scan.made for table in self._fresh.get(scan.stream, [])]
        return read + sum(int(table.num_rows) for table in made)


def _source(task: Task, scan: int) -> _Source:
    return tuple((files.stream, files.paths, files.predicates) for files in task.files[scan])


def _has_input(task: Task, events: _Events, matched: dict[int, np.ndarray]) -> bool:
    if matched:
        return any(len(rows) for rows in matched.values())
    return events.rows(task) > 0


def _by_attribute(node: Filter, scan: Scan) -> Expr:
    """The filter's condition on attributes as the archive names them: statements use different aliases."""
    names = {f.name: a for f, a in zip(scan.fields, scan.attributes, strict=True)}

    def renamed(expr: Expr) -> Expr:
        return ColumnRef(expr.type, names[expr.name]) if isinstance(expr, ColumnRef) and expr.name in names else expr

    return node.condition.rewrite(renamed)
