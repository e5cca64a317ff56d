"""Tasks of one batch in, their outcomes out: the events are read once, filters asked together, each statement stepped.

Tasks run on the driver or, many at a time, in a worker of Spark's: nothing here knows which.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from presage.arrays.cancel import CancelledError
from presage.columnar.evaluate import Evaluator
from presage.columnar.predicate_index import Matched, PredicateIndex
from presage.columnar.steps import Book, StepContext, run_root
from presage.errors import PresageError, error
from presage.live.events import BatchEvents, Source
from presage.live.families import LEAST_MEMBERS, Family, Shared
from presage.live.program import Program
from presage.live.reading import Reader
from presage.live.rooms import OPERATORS, counted_readings, open_matches, outlook_of
from presage.live.statement import DUE, READY, REOPENED, SUSPENDED
from presage.live.stepping import Watch
from presage.live.tasks import FamilyOutcome, FamilyTask, Members, Outcome, Outcomes, Part, Task
from presage.logging import DEBUG, ERROR, WARNING, tell
from presage.model.state import State
from presage.plan.nodes import SEQ, TIME
from presage.spark.failures import is_interrupted

# Fewer filters than this are as quick one by one.
FILTERS_PER_INDEX = 4
MESSAGE_LENGTH = 2_000
# Of one statement, in memory.
STATE_BYTES = 4 * 2**30


@dataclass
class Kept:
    """What lasts from batch to batch for a statement: compiled stages and expressions. Holds no state."""

    program: Program
    evaluator: Evaluator
    relations: Mapping[str, pa.Table]
    entities: Mapping[str, Any] = field(default_factory=dict)  # by the name of a watched attribute
    compiled: dict[Any, Any] = field(default_factory=dict)
    histories: Callable[[Any], Any] | None = None  # what RECALL asks


# Who asks, by identity: programs, and members with the part of them.
_Asking = tuple[tuple[int, ...], tuple[tuple[int, int, int], ...]]
_Index = tuple[Sequence[object], PredicateIndex]  # with those who ask, so that nothing else gets their identity
_Members = tuple[str, int, tuple[str, ...]]  # form, shard, numbers of the statements

# Gives the name of the family that these statements are, empty if they are none yet, and its states.
Together = Callable[[FamilyTask], tuple[str, Mapping[str, State]]]


class Runner:
    """Runs the tasks of a batch. `keeper` gives what is kept for a statement; `states` reads those of a task, and
    `together` those that several have in common, where statements of one form may step as one."""

    def __init__(
        self,
        keeper: Callable[[Task], Kept],
        states: Callable[[Task], Mapping[str, State]],
        together: Together | None = None,
        least_members: int = LEAST_MEMBERS,
        seconds: float = float("inf"),
        state_bytes: int = STATE_BYTES,
    ) -> None:
        self.watch = Watch(seconds)
        self.apart = False  # each statement by itself, to find out which of them takes too long
        self._state_bytes = state_bytes
        self._kept, self._stored = keeper, states
        self._together = together
        self._least_members = least_members
        self.reader: Reader | None = None  # who reads history beside the batch; without one, that waits for it
        self._families: dict[_Members, Family] = {}
        self._old_families: dict[_Members, Family] = {}
        self._indexes: dict[_Asking, _Index] = {}

    def forget(self) -> None:
        """What was compiled with tables that hold no more."""
        self._families.clear()
        self._old_families.clear()
        self._indexes.clear()

    def run(self, tasks: Sequence[Task], families: Sequence[FamilyTask] = ()) -> Outcomes:
        """A family that cannot step as one is among those that are alone."""
        self.watch.begin("")
        events = BatchEvents([*tasks, *(part.task for family in families for part in family.parts)])
        groups = self._groups(tasks)
        grouped = {i for several, _ in groups.values() for i in several}
        singles = [i for i in range(len(tasks)) if i not in grouped]
        matched, matched_as_one = self._match(tasks, singles, [*families, *(f for _, f in groups.values())], events)
        self._old_families, self._families = self._families, {}  # those that are no more are let go
        together, apart = list[FamilyOutcome](), list[Outcome]()
        for family in families:
            outcome = self._as_one(family, events, matched_as_one)
            if outcome is None:
                apart += [self._one(task, events, None) for task in family.apart()]
            elif outcome.shared is not None and not outcome.shared.name:
                apart += outcome.each()  # they have become one only now, which is more than what is counted
            else:
                together.append(outcome)
        done: dict[int, Outcome] = {}
        for i, task in enumerate(tasks):
            if i not in done and i in groups:
                several, family = groups[i]
                outcome = self._as_one(family, events, matched_as_one)
                if outcome is not None:
                    done |= zip(several, outcome.each(), strict=True)
            if i not in done:
                done[i] = self._one(task, events, matched.get(i))
            if task.program.into is not None and task.shard == task.program.shards - 1:
                events.take(task.program, [done[j] for j in range(i + 1 - task.program.shards, i + 1)])
        self._count_unknown([(task, done[i]) for i, task in enumerate(tasks) if task.program.watched], events)
        return Outcomes([*(done[i] for i in range(len(tasks))), *apart], together)

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

    def _groups(self, tasks: Sequence[Task]) -> dict[int, tuple[list[int], FamilyTask]]:
        """By the first of them: tasks whose statements can step as one, in the order of the family's members."""
        if self._together is None or len(tasks) < self._least_members or self.apart:
            return {}
        found: dict[tuple[object, ...], dict[tuple[int, int], list[int]]] = {}
        for i, task in enumerate(tasks):
            program = task.program
            shape = program.shape
            if shape is not None:
                key = (
                    shape.key, task.shard, program.shards, program.upper,
                    task.start, task.clock, task.inner_clock, task.end,
                )  # fmt: skip
                found.setdefault(key, {}).setdefault((id(task.files), id(program.reads)), []).append(i)
        groups = {}
        for alike in found.values():
            several = [i for part in alike.values() for i in part]
            if len(several) >= self._least_members:
                groups[min(several)] = several, _family_of([[tasks[i] for i in part] for part in alike.values()])
        return groups

    def _as_one(
        self, family: FamilyTask, events: BatchEvents, matched: Mapping[tuple[int, int], Matched]
    ) -> FamilyOutcome | None:
        """What became of a family; None if it failed: then each of them finds out for itself."""
        started = time.perf_counter()
        members = len(family.members.numbers)
        if self.apart:
            return None
        self.watch.begin("")
        try:
            outcome = FamilyOutcome(family, [events.rows(part.task) for part in family.parts])
            taken = [self._taken_in(part, events, matched.get((id(family), part.start))) for part in family.parts]
            outcome.taken = sum(len(rows) for _, rows in taken)
            if outcome.taken or any(part.task.must_run for part in family.parts):
                self._step_as_one(family, taken, events, outcome)
        except CancelledError:
            raise
        except Exception as failure:
            level = DEBUG if isinstance(failure, PresageError) else WARNING
            told = "{statements} statements of one form step one by one: together they failed"
            tell(level, "STATEMENTS_APART", told, failure=failure, statements=members)
            return None
        outcome.seconds = (time.perf_counter() - started) / members
        return outcome

    def _taken_in(self, part: Part, events: BatchEvents, matched: Matched | None) -> Matched:
        """How many rows of its only scan each member keeps, and which."""
        if matched is not None:
            return matched
        source = events.source(part.task, 0)
        if source:
            events.plain(source)  # it was not readable: says why
        return np.zeros(part.stop - part.start, np.int64), np.zeros(0, np.int64)

    def _step_as_one(
        self, task: FamilyTask, taken: Sequence[Matched], events: BatchEvents, outcome: FamilyOutcome
    ) -> None:
        assert self._together is not None
        first = task.first
        program, kept = first.program, self._keeper(first)
        name, states = self._together(task) if program.keepers else ("", {})
        family = self._family(task)
        table, rows = events.of_parts([part.task for part in task.parts], [rows for _, rows in taken], family.takes)
        made = family.step(
            table,
            np.concatenate([counts for counts, _ in taken]),
            rows,
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
        self._check_size(made.states, len(task.members.numbers))
        outcome.lot, outcome.partial = made.rows, made.partial
        if program.keepers:
            outcome.shared = Shared(name, task.members.numbers, first.shard, family.keepers, made.states)

    def _family(self, task: FamilyTask) -> Family:
        program, numbers = task.first.program, task.members.numbers
        assert program.shape is not None
        key = program.shape.key, task.first.shard, numbers
        family = self._families.get(key) or self._old_families.get(key)
        if family is None:
            shapes = [shape for one in task.members.programs if (shape := one.shape) is not None]
            family = Family(shapes, numbers, [program.places[id(node)] for node in shapes[0].keepers])
        self._families[key] = family
        return family

    def _keeper(self, task: Task) -> Kept:
        self.watch.check()
        return self._kept(task)

    def _states(self, task: Task) -> Mapping[str, State]:
        self.watch.check()
        return self._stored(task)

    # -- a statement alone -----------------------------------------------------------------------------

    def _one(self, task: Task, events: BatchEvents, matched: np.ndarray | None) -> Outcome:
        started = time.perf_counter()
        outcome = Outcome(task.number, task.shard)
        if any(scan.made and scan.stream in events.broken for scan in task.program.scans):
            outcome.held = True
            return outcome
        # What waits for history inside of the step reads a chunk of it.
        self.watch.begin(task.number, 10 if task.program.recalls and self.reader is None else 1)
        try:
            outcome.rows_in = events.rows(task)
            if task.must_run or (events.rows(task) if matched is None else len(matched)):
                self._step(task, events, matched, outcome)
        except PresageError as failure:
            outcome.failure = failure
        except CancelledError:
            raise
        except MemoryError as failure:
            outcome.failure = error(
                "LIMIT", what="what the statement needs for one batch", limit_name="memory", limit="this machine",
                fix="make its windows shorter, or bound its patterns with timer:within(...)",
            )  # fmt: skip
            outcome.failure.__cause__ = failure
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
        self._check_size(outcome.states)
        counts = {place: open_matches(state) for place, state in outcome.states.items()}
        outcome.partial = {place: count for place, count in counts.items() if count is not None}
        outcome.inference = {
            f"{place}/{what}": count
            for place, state in outcome.states.items()
            for what, count in counted_readings(state).items()
        }
        recalls: dict[str, int] = {}
        for place, state in outcome.states.items():
            outlook = outlook_of(state)
            if outlook is not None:
                recalls |= {f"{place}/{READY}": outlook.ready, f"{place}/{SUSPENDED}": outlook.suspended}
                recalls |= {} if outlook.due is None else {f"{place}/{DUE}": outlook.due}
                recalls |= {} if outlook.reopened is None else {f"{place}/{REOPENED}": outlook.reopened}
        outcome.recalls = recalls

    def _check_size(self, states: Mapping[str, State], statements: int = 1) -> None:
        size = sum(state.size() for state in states.values())
        if size > self._state_bytes * statements:
            raise error(
                "LIMIT", what=f"the state of the statement, {size:,} bytes,", limit_name="bytes of state",
                limit=f"{self._state_bytes:,}",
                fix="make its windows shorter, or open the engine with a larger state_bytes",
            )  # fmt: skip

    def _match(
        self, tasks: Sequence[Task], singles: Sequence[int], families: Sequence[FamilyTask], events: BatchEvents
    ) -> tuple[dict[int, np.ndarray], dict[tuple[int, int], Matched]]:
        """Rows that the filter right above the only scan keeps, where many ask the same events: those of a task, of
        these alone, and those of a part of a family, by where it starts."""
        asking: dict[int, tuple[Source, list[int], list[tuple[FamilyTask, Part]]]] = {}
        for i in singles:
            # A statement of several scans may read the same events twice under different names; those go their own way.
            # What statements make in this batch is not known yet.
            if tasks[i].program.asked is not None:
                source = events.source(tasks[i], 0)
                asking.setdefault(id(source), (source, [], []))[1].append(i)
        for family in families:
            for part in family.parts:
                source = events.source(part.task, 0)
                asking.setdefault(id(source), (source, [], []))[2].append((family, part))
        found, as_one = dict[int, np.ndarray](), dict[tuple[int, int], Matched]()
        if self.apart:
            return found, as_one
        old, self._indexes = self._indexes, {}  # those that nobody asks any more are let go
        for source, several, parts in asking.values():
            if not source or (not parts and len(several) < FILTERS_PER_INDEX):
                continue
            if not events.readable(source):
                continue  # each of the statements will find out by itself
            matches = self._index([tasks[i] for i in several], parts, old).matches(events.plain(source))
            found |= {i: matches[number] for number, i in enumerate(several)}
            at = len(several)
            for family, part in parts:
                end = at + part.stop - part.start
                as_one[id(family), part.start] = matches.between(at, end)
                at = end
        return found, as_one

    def _index(
        self, tasks: Sequence[Task], parts: Sequence[tuple[FamilyTask, Part]], old: Mapping[_Asking, _Index]
    ) -> PredicateIndex:
        asking = (
            tuple([id(task.program) for task in tasks]),
            tuple([(id(family.members), part.start, part.stop) for family, part in parts]),
        )
        index = old.get(asking)
        if index is None:
            asked = [*tasks, *(task for family, part in parts for task in family.tasks_of(part))]
            conditions = [task.program.asked_condition for task in asked]
            relations = {name: rows for task in asked for name, rows in self._keeper(task).relations.items()}
            owners = [*(task.program for task in tasks), *(family.members for family, _ in parts)]
            index = owners, PredicateIndex(conditions, relations)
        self._indexes[asking] = index
        return index[1]


def _family_of(parts: Sequence[Sequence[Task]]) -> FamilyTask:
    """Tasks of statements of one form, together where they read the same, as one."""
    every = [task for part in parts for task in part]
    ends = np.cumsum([len(part) for part in parts]).tolist()
    members = Members(tuple([task.number for task in every]), tuple([task.program for task in every]))
    return FamilyTask(members, tuple(Part(end - len(p), end, p[0]) for p, end in zip(parts, ends, strict=True)))
