"""Tasks of one batch in, their outcomes out: the events are read once, filters asked together, each statement stepped.

A task is one statement, or one shard of its keys, over one span of the log. Tasks run on the driver or, many at a time,
in a worker of Spark's: nothing here knows which.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from presage.columnar.evaluate import Evaluator
from presage.columnar.predicate_index import PredicateIndex
from presage.columnar.steps import Book, StepContext, run_root
from presage.errors import PresageError, error
from presage.live.events import BatchEvents, Source
from presage.live.families import LEAST_MEMBERS, Family, Shared
from presage.live.lots import Cut
from presage.live.program import Program
from presage.live.reading import Reader
from presage.live.rooms import OPERATORS, open_matches, outlook_of
from presage.live.statement import DUE, READY, SUSPENDED
from presage.live.states import Chain
from presage.log import FileSet
from presage.logging import DEBUG, ERROR, WARNING, tell
from presage.model.state import State
from presage.plan.expr import ColumnRef, Expr
from presage.plan.nodes import SEQ, TIME, Filter, Scan
from presage.spark.failures import is_interrupted

# Fewer filters than this are as quick one by one.
FILTERS_PER_INDEX = 4
MESSAGE_LENGTH = 2_000


@dataclass(slots=True)  # not frozen: a batch makes thousands, and each would pay for it
class Task:
    """One statement's share of a batch. `files`: what each of its scans takes in, in the order of the scans; `ahead`:
    what lies beyond the clock for each of them, None if nobody looks at that."""

    number: str
    program: Program
    shard: int
    files: tuple[tuple[FileSet, ...], ...]
    start: int  # the clock that it has come to
    clock: int
    inner_clock: int
    end: bool
    must_run: bool  # time alone may make rows
    said: tuple[Any, ...] = ()  # of its recalls
    ahead: tuple[tuple[FileSet, ...], ...] | None = None

    @property
    def events(self) -> int:
        """How many events the files hold, at most."""
        return sum(files.rows for several in (*self.files, *(self.ahead or ())) for files in several)


_NOTHING: Mapping[str, Any] = {}


def _nothing() -> Mapping[str, Any]:
    """One for all: a batch makes thousands of outcomes, and most say nothing of their own."""
    return _NOTHING


@dataclass(slots=True)
class Outcome:
    """What became of a task. `rows`: TIME, SEQ, order and the statement's columns, in order; None if it had no work."""

    number: str
    shard: int
    rows: pa.Table | None = None
    cut: Cut | None = None  # its rows among those of others, in place of `rows`
    states: Mapping[str, State] = field(default_factory=_nothing)  # those that changed, by place
    chains: Mapping[str, Chain] = field(default_factory=_nothing)  # where they lie, once they are written
    partial: Mapping[str, int] = field(default_factory=_nothing)  # open partial matches in those that keep some
    recalls: Mapping[str, int] = field(default_factory=_nothing)  # in states that keep some: by place and what it is
    made_to: int | None = None  # rows that it makes later are not before this time; None if it had no work
    rows_in: int = 0
    unknown: int = 0  # of those: values that should name an entity and name none
    shared: Shared | None = None  # its state is a part of these
    failure: PresageError | None = None
    seconds: float = 0.0  # that it took; of those that step as one, each has its part
    # It stepped with others of its form, with no rows, states and recalls of its own, and its program only counts.
    usual: bool = False
    held: bool = False  # a statement whose rows it reads has failed: it waits where it is

    @property
    def made(self) -> int:
        """How many rows."""
        rows = self.cut if self.cut is not None else self.rows
        return 0 if rows is None else int(rows.num_rows)

    def table(self) -> pa.Table | None:
        return self.rows if self.cut is None else self.cut.table()


def sound(several: list[Outcome]) -> list[Outcome]:
    """The outcomes of a statement, none if one of its shards failed: the others have not happened either."""
    return [] if any(o.failure is not None or o.held for o in several) else several


@dataclass
class Kept:
    """What lasts from batch to batch for a statement: compiled stages and expressions. Holds no state."""

    program: Program
    evaluator: Evaluator
    relations: Mapping[str, pa.Table]
    entities: Mapping[str, Any] = field(default_factory=dict)  # by the name of a watched attribute
    compiled: dict[Any, Any] = field(default_factory=dict)
    histories: Callable[[Any], Any] | None = None  # what RECALL asks


_Index = tuple[list[Program], PredicateIndex]
_Members = tuple[str, int, tuple[str, ...]]  # form, shard, numbers of the statements

# Gives the name of the family that these tasks' statements are, empty if they are none yet, and its states.
Together = Callable[[Sequence[Task]], tuple[str, Mapping[str, State]]]


class Runner:
    """Runs the tasks of a batch. `keeper` gives what is kept for a statement; `states` reads those of a task, and
    `together` those that several have in common, where statements of one form may step as one."""

    def __init__(
        self,
        keeper: Callable[[Task], Kept],
        states: Callable[[Task], Mapping[str, State]],
        together: Together | None = None,
        least_members: int = LEAST_MEMBERS,
    ) -> None:
        self._keeper = keeper
        self._states = states
        self._together = together
        self._least_members = least_members
        self.reader: Reader | None = None  # who reads history beside the batch; without one, that waits for it
        self._families: dict[_Members, Family] = {}
        self._old_families: dict[_Members, Family] = {}
        # By the identity of the programs, which are kept with the index so that nothing else gets it.
        self._indexes: dict[tuple[int, ...], _Index] = {}

    def forget(self) -> None:
        """What was compiled with tables that hold no more."""
        self._families.clear()
        self._old_families.clear()
        self._indexes.clear()

    def run(self, tasks: Sequence[Task]) -> list[Outcome]:
        events = BatchEvents(tasks)
        matched = self._match(tasks, events)
        groups = self._groups(tasks)
        self._old_families, self._families = self._families, {}  # those that are no more are let go
        done: dict[int, Outcome] = {}
        for i, task in enumerate(tasks):
            if i not in done and i in groups:
                done |= self._as_one(groups[i], tasks, events, matched)
            if i not in done:
                done[i] = self._one(task, events, matched.get(i))
            if task.program.into is not None and task.shard == task.program.shards - 1:
                events.take(task.program, [done[j] for j in range(i + 1 - task.program.shards, i + 1)])
        self._count_unknown([(task, done[i]) for i, task in enumerate(tasks) if task.program.watched], events)
        return [done[i] for i in range(len(tasks))]

    def count_unknown(self, tasks: Sequence[Task], outcomes: Sequence[Outcome]) -> None:
        """For tasks that ran elsewhere, where nobody knows the entities."""
        by_shard = {(o.number, o.shard): o for o in outcomes}
        watching = [task for task in tasks if task.program.watched]
        if watching:
            pairs = [(task, by_shard[task.number, task.shard]) for task in watching]
            self._count_unknown(pairs, BatchEvents(watching))

    def _count_unknown(self, pairs: Sequence[tuple[Task, Outcome]], events: BatchEvents) -> None:
        counted: dict[tuple[int, str], int] = {}
        for task, outcome in pairs:
            # The shards of a statement see the same events.
            if not task.program.watched or task.shard or outcome.failure is not None or outcome.held:
                continue
            entities = self._keeper(task).entities
            for watched in [w for w in task.program.watched if w.known in entities]:
                for number, scan in enumerate(task.program.scans):
                    source = events.source(task, number)
                    if (
                        scan.made
                        or scan.stream != watched.stream
                        or watched.attribute not in scan.attributes
                        or not source
                    ):
                        continue
                    key = id(source), watched.known
                    if key not in counted:
                        values = events.counted(source, watched.attribute)
                        counted[key] = entities[watched.known].unknown(values)
                    outcome.unknown += counted[key]

    # -- statements of one form ------------------------------------------------------------------------

    def _groups(self, tasks: Sequence[Task]) -> dict[int, list[int]]:
        """By the first of them: tasks whose statements can step as one."""
        if self._together is None or len(tasks) < self._least_members:
            return {}
        found: dict[tuple[object, ...], list[int]] = {}
        for i, task in enumerate(tasks):
            program = task.program
            shape = program.shape
            if shape is not None:
                key = (
                    shape.key, task.shard, program.shards, program.upper,
                    task.start, task.clock, task.inner_clock, task.end,
                )  # fmt: skip
                several = found.get(key)
                if several is None:
                    found[key] = [i]
                else:
                    several.append(i)
        return {several[0]: several for several in found.values() if len(several) >= self._least_members}

    def _as_one(
        self, group: list[int], tasks: Sequence[Task], events: BatchEvents, matched: Mapping[int, np.ndarray]
    ) -> dict[int, Outcome]:
        """The outcomes of a family; none if it failed: then each of them finds out for itself."""
        started = time.perf_counter()
        members = [tasks[i] for i in group]
        outcomes: list[Outcome] = []
        try:
            counts = {
                id(files): events.rows(task) for files, task in {id(t.files): (t.files, t) for t in members}.values()
            }
            outcomes = [
                Outcome(task.number, task.shard, rows_in=counts[id(task.files)], usual=task.program.only_counts)
                for task in members
            ]
            rows = [matched[i] if i in matched else self._taken_in(tasks[i], events) for i in group]
            if any(task.must_run for task in members) or any(map(len, rows)):
                self._step_as_one(members, rows, events, outcomes)
        except Exception as failure:
            level = DEBUG if isinstance(failure, PresageError) else WARNING
            told = "{statements} statements of one form step one by one: together they failed"
            tell(level, "STATEMENTS_APART", told, failure=failure, statements=len(members))
            return {}
        each = (time.perf_counter() - started) / len(outcomes)
        for outcome in outcomes:
            outcome.seconds = each
        return dict(zip(group, outcomes, strict=True))

    def _taken_in(self, task: Task, events: BatchEvents) -> np.ndarray:
        """The rows of a statement's only scan that its filter keeps."""
        program = task.program
        if program.asked is None:
            return events.all_rows(task)
        node, scan = program.asked
        return np.flatnonzero(self._keeper(task).evaluator.mask(node.condition, events.of(task, program, scan)))

    def _step_as_one(
        self, members: list[Task], rows: list[np.ndarray], events: BatchEvents, outcomes: list[Outcome]
    ) -> None:
        assert self._together is not None
        first = members[0]
        program, kept = first.program, self._keeper(first)
        name, states = self._together(members) if program.keepers else ("", {})
        family = self._family(members)
        table, places = events.of_several(members, rows)
        made = family.step(
            table,
            places,
            states,
            kept.evaluator,
            kept.relations,
            program.columns,
            clock=first.clock,
            inner_clock=first.inner_clock,
            upper=program.upper,
            end=first.end,
            shard=first.shard,
            shards=program.shards,
        )
        cuts = made.rows.cuts
        shared = None
        if program.keepers:
            shared = Shared(name, tuple(task.number for task in members), first.shard, family.keepers, made.states)
        for outcome in outcomes:
            number = int(outcome.number)
            outcome.cut = cuts.get(number)
            outcome.shared = shared
            if made.partial:
                outcome.partial = {place: counts.get(number, 0) for place, counts in made.partial.items()}

    def _family(self, members: Sequence[Task]) -> Family:
        program = members[0].program
        assert program.shape is not None
        key = program.shape.key, members[0].shard, tuple([task.number for task in members])
        family = self._families.get(key) or self._old_families.get(key)
        if family is None:
            shapes = [shape for task in members if (shape := task.program.shape) is not None]
            family = Family(shapes, key[2], [program.places[id(node)] for node in shapes[0].keepers])
        self._families[key] = family
        return family

    # -- a statement alone -----------------------------------------------------------------------------

    def _one(self, task: Task, events: BatchEvents, matched: np.ndarray | None) -> Outcome:
        started = time.perf_counter()
        outcome = Outcome(task.number, task.shard)
        if any(scan.made and scan.stream in events.broken for scan in task.program.scans):
            outcome.held = True
            return outcome
        try:
            outcome.rows_in = events.rows(task)
            if task.must_run or (events.rows(task) if matched is None else len(matched)):
                self._step(task, events, matched, outcome)
        except PresageError as failure:
            outcome.failure = failure
        except Exception as failure:
            if is_interrupted(failure):
                raise  # nothing is wrong with the statement: the batch is tried again
            # Whatever it is, in one statement it must not stop the others: it is told, and that statement waits. The
            # status keeps a line of it; who has to mend it needs the place, too.
            told = "statement number {number} failed by a mistake of ours"
            tell(ERROR, "STATEMENT_FAILED", told, failure=failure, number=task.number)
            outcome.failure = error("INTERNAL", what=f"{type(failure).__name__}: {failure}"[:MESSAGE_LENGTH])
            outcome.failure.__cause__ = failure
        outcome.seconds = time.perf_counter() - started
        return outcome

    def _step(self, task: Task, events: BatchEvents, matched: np.ndarray | None, outcome: Outcome) -> None:
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
            matched={} if matched is None or program.asked is None else {program.places[id(program.asked[0])]: matched},
            histories=kept.histories,
            later=None if self.reader is None else partial(self.reader.read, task.number),
            said=task.said,
            ahead=None if task.ahead is None else lambda scan: events.ahead_of(task, program, scan),
        )
        made = run_root(program.plan, context)
        outcome.made_to = made.clock
        outcome.rows = made.table.select([TIME, SEQ, *program.plan.order, *(c.name for c in program.columns)])
        outcome.states = {place: book.states[place] for place in book.changed}
        counts = {place: open_matches(state) for place, state in outcome.states.items()}
        outcome.partial = {place: count for place, count in counts.items() if count is not None}
        recalls: dict[str, int] = {}
        for place, state in outcome.states.items():
            outlook = outlook_of(state)
            if outlook is not None:
                recalls |= {f"{place}/{READY}": outlook.ready, f"{place}/{SUSPENDED}": outlook.suspended}
                recalls |= {} if outlook.due is None else {f"{place}/{DUE}": outlook.due}
        outcome.recalls = recalls

    def _match(self, tasks: Sequence[Task], events: BatchEvents) -> dict[int, np.ndarray]:
        """Rows that the filter right above the only scan of a task keeps, by task, where many ask the same events."""
        asked: dict[int, list[int]] = {}  # by the identity of the files
        for i, task in enumerate(tasks):
            # A statement of several scans may read the same events twice under different names; those go their own way.
            # What statements make in this batch is not known yet.
            if task.program.asked is not None:
                several = asked.get(id(task.files[0]))
                if several is None:
                    asked[id(task.files[0])] = [i]
                else:
                    several.append(i)
        by_source: dict[int, tuple[Source, list[int]]] = {}
        for several in asked.values():
            source = events.source(tasks[several[0]], 0)
            by_source.setdefault(id(source), (source, []))[1].extend(several)
        found: dict[int, np.ndarray] = {}
        old, self._indexes = self._indexes, {}  # those that nobody asks any more are let go
        for source, several in by_source.values():
            if len(several) < FILTERS_PER_INDEX or not source:
                continue
            if not events.readable(source):
                continue  # each of the statements will find out by itself
            rows = self._index([tasks[i] for i in several], old).matches(events.plain(source))
            found.update(zip(several, rows, strict=True))
        return found

    def _index(self, tasks: Sequence[Task], old: Mapping[tuple[int, ...], _Index]) -> PredicateIndex:
        programs = [task.program for task in tasks]
        key = tuple(map(id, programs))
        if key in old:
            self._indexes[key] = old[key]
        elif key not in self._indexes:
            conditions = [_by_attribute(*pair) for program in programs if (pair := program.asked) is not None]
            relations = {name: rows for task in tasks for name, rows in self._keeper(task).relations.items()}
            self._indexes[key] = programs, PredicateIndex(conditions, relations)
        return self._indexes[key][1]


def _by_attribute(node: Filter, scan: Scan) -> Expr:
    """The filter's condition on attributes as the archive names them: statements use different aliases."""
    names = {f.name: a for f, a in zip(scan.fields, scan.attributes, strict=True)}

    def renamed(expr: Expr) -> Expr:
        return ColumnRef(expr.type, names[expr.name]) if isinstance(expr, ColumnRef) and expr.name in names else expr

    return node.condition.rewrite(renamed)
