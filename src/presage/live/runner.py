"""The runner of a batch: reads its events once, evaluates filters together, steps each statement.

It runs on the driver and in Spark's workers.
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
from presage.errors import PresageError, error
from presage.execution.spark.failures import is_interrupted
from presage.execution.steps import OperatorStates, StepContext, run_root
from presage.live.batch_events import BatchEvents, Source
from presage.live.history_reader import HistoryReader
from presage.live.program import Program
from presage.live.shared_execution import LEAST_MEMBERS, SharedExecution, SharedStates
from presage.live.statement import DUE, READY, REOPENED, SUSPENDED
from presage.live.step_thread import StepDeadline
from presage.live.tasks import Outcome, Outcomes, Part, SharedMembers, SharedOutcome, SharedTask, Task
from presage.logging import DEBUG, ERROR, WARNING, tell
from presage.model.operator_state import State
from presage.operators.running import STEPS, counters, open_matches, outlook_of
from presage.plan.nodes import SEQ, TIME

# With fewer filters an index costs more than it saves.
FILTERS_PER_INDEX = 4
MESSAGE_LENGTH = 2_000
# Of one statement, in memory.
STATE_BYTES = 4 * 2**30
_TOO_MUCH_STATE = "make its windows shorter, or open the engine with a larger state_bytes"
_OUT_OF_MEMORY = (
    "what the statement needs for one batch",
    "make its windows shorter, or bound its patterns with timer:within(...)",
)


@dataclass
class CompiledStatement:
    """Compiled stages and expressions of a statement, reused from batch to batch. Holds no state."""

    program: Program
    evaluator: Evaluator
    relations: Mapping[str, pa.Table]
    entities: Mapping[str, Any] = field(default_factory=dict)  # by the name of a watched attribute
    compiled: dict[Any, Any] = field(default_factory=dict)
    histories: Callable[[Any], Any] | None = None  # opens the history of a node that searches it


# Key of a predicate index, by identity: programs, and shared members with the part of them.
_IndexKey = tuple[tuple[int, ...], tuple[tuple[int, int, int], ...]]
_Index = tuple[Sequence[object], PredicateIndex]  # with its key's objects, whose identity must not be reused
_SharedKey = tuple[str, int, tuple[str, ...]]  # template, shard, numbers of the statements

# The name of the shared state of the statements, empty if they have none yet, and the states.
SharedStatesOf = Callable[[SharedTask], tuple[str, Mapping[str, State]]]


class Runner:
    """Runs the tasks of a batch. `compiled` compiles a statement; `states` reads the states of a task, and
    `shared_states` those of several statements, with shared execution. `one_by_one`: without it, to find the statement
    that takes too long."""

    def __init__(
        self,
        compiled: Callable[[Task], CompiledStatement],
        states: Callable[[Task], Mapping[str, State]],
        shared_states: SharedStatesOf | None = None,
        least_members: int = LEAST_MEMBERS,
        seconds: float = float("inf"),
        state_bytes: int = STATE_BYTES,
        one_by_one: bool = False,
    ) -> None:
        self.deadline = StepDeadline(seconds)
        self.one_by_one = one_by_one
        self._state_bytes = state_bytes
        self._compiled, self._stored = compiled, states
        self._shared_states = shared_states
        self._least_members = least_members
        self._executions: dict[_SharedKey, SharedExecution] = {}
        self._old_executions: dict[_SharedKey, SharedExecution] = {}
        self._indexes: dict[_IndexKey, _Index] = {}

    def forget(self) -> None:
        """Drop what was compiled with relations that have changed."""
        self._executions.clear()
        self._old_executions.clear()
        self._indexes.clear()

    def run(
        self, tasks: Sequence[Task], shared: Sequence[SharedTask] = (), history: HistoryReader | None = None
    ) -> Outcomes:
        """Statements whose shared step failed have outcomes of their own. `history` searches history in the background;
        without it, a step waits for its own searches."""
        self.deadline.begin("")
        events = BatchEvents([*tasks, *(part.task for one in shared for part in one.parts)])
        groups = self._groups(tasks)
        grouped = {i for several, _ in groups.values() for i in several}
        singles = [i for i in range(len(tasks)) if i not in grouped]
        matched, matched_as_one = self._match(tasks, singles, [*shared, *(one for _, one in groups.values())], events)
        self._old_executions, self._executions = self._executions, {}  # unused ones are dropped
        together, apart = list[SharedOutcome](), list[Outcome]()
        for one in shared:
            outcome = self._as_one(one, events, matched_as_one)
            if outcome is None:
                apart += [self._one(task, events, None, history) for task in one.apart()]
            elif outcome.shared is not None and not outcome.shared.name:
                apart += outcome.each()  # their states were joined in this batch: more than counters has changed
            else:
                together.append(outcome)
        done: dict[int, Outcome] = {}
        for i, task in enumerate(tasks):
            if i not in done and i in groups:
                several, one = groups[i]
                outcome = self._as_one(one, events, matched_as_one)
                if outcome is not None:
                    done |= zip(several, outcome.each(), strict=True)
            if i not in done:
                done[i] = self._one(task, events, matched.get(i), history)
            if task.program.into is not None and task.shard == task.program.shards - 1:
                events.take(task.program, [done[j] for j in range(i + 1 - task.program.shards, i + 1)])
        self._count_unknown([(task, done[i]) for i, task in enumerate(tasks) if task.program.watched], events)
        return Outcomes([*(done[i] for i in range(len(tasks))), *apart], together)

    def count_unknown(self, tasks: Sequence[Task], outcomes: Sequence[Outcome]) -> None:
        """For tasks that ran in workers, which have no entities."""
        by_shard = {(o.number, o.shard): o for o in outcomes}
        watching = [task for task in tasks if task.program.watched]
        if watching:
            pairs = [(task, by_shard[task.number, task.shard]) for task in watching]
            self._count_unknown(pairs, BatchEvents(watching))

    def _count_unknown(self, pairs: Sequence[tuple[Task, Outcome]], events: BatchEvents) -> None:
        counted: dict[tuple[int, str], int] = {}
        for task, outcome in pairs:
            # Only for the first shard: all shards of a statement read the same events.
            if not task.program.watched or task.shard or outcome.failure is not None or outcome.blocked:
                continue
            entities = self._compiled_for(task).entities
            for watched in [w for w in task.program.watched if w.known in entities]:
                for number, scan in enumerate(task.program.scans):
                    source = events.source(task, number)
                    reads = scan.stream == watched.stream and watched.attribute in scan.attributes
                    if scan.made or not reads or not source:
                        continue
                    key = id(source), watched.known
                    if key not in counted:
                        values = events.counted(source, watched.attribute)
                        counted[key] = entities[watched.known].unknown(values)
                    outcome.unknown += counted[key]

    # -- statements of one template --------------------------------------------------------------------

    def _groups(self, tasks: Sequence[Task]) -> dict[int, tuple[list[int], SharedTask]]:
        """By the first of them: the tasks of a shared execution, in the order of its members."""
        if self._shared_states is None or len(tasks) < self._least_members or self.one_by_one:
            return {}
        by_template: dict[tuple[object, ...], dict[tuple[int, int], list[int]]] = {}
        for i, task in enumerate(tasks):
            program = task.program
            template = program.template
            if template is not None:
                time = task.start, task.watermark, task.inner_watermark, task.end
                key = template.key, task.shard, program.shards, program.upper, *time
                by_template.setdefault(key, {}).setdefault((id(task.files), id(program.reads)), []).append(i)
        groups = {}
        for alike in by_template.values():
            several = [i for part in alike.values() for i in part]
            if len(several) >= self._least_members:
                groups[min(several)] = several, _shared_task([[tasks[i] for i in part] for part in alike.values()])
        return groups

    def _as_one(
        self, task: SharedTask, events: BatchEvents, matched: Mapping[tuple[int, int], Matched]
    ) -> SharedOutcome | None:
        """The outcome of a shared task; None if it failed: then its statements step one by one."""
        started = time.perf_counter()
        members = len(task.members.numbers)
        if self.one_by_one:
            return None
        self.deadline.begin("")
        try:
            outcome = SharedOutcome(task, [events.rows(part.task) for part in task.parts])
            taken = [self._taken(part, events, matched.get((id(task), part.start))) for part in task.parts]
            outcome.taken = sum(len(rows) for _, rows in taken)
            if outcome.taken or any(part.task.must_run for part in task.parts):
                self._step_as_one(task, taken, events, outcome)
        except CancelledError:
            raise
        except Exception as failure:
            level = DEBUG if isinstance(failure, PresageError) else WARNING
            text = "the shared step of {statements} statements failed: each is executed on its own"
            tell(level, "STATEMENTS_APART", text, failure=failure, statements=members)
            return None
        outcome.seconds = (time.perf_counter() - started) / members
        return outcome

    def _taken(self, part: Part, events: BatchEvents, matched: Matched | None) -> Matched:
        """How many rows of its only scan pass the filter of each member, and which."""
        if matched is not None:
            return matched
        source = events.source(part.task, 0)
        if source:
            events.plain(source)  # raises: it was not readable
        return np.zeros(part.stop - part.start, np.int64), np.zeros(0, np.int64)

    def _step_as_one(
        self, task: SharedTask, taken: Sequence[Matched], events: BatchEvents, outcome: SharedOutcome
    ) -> None:
        assert self._shared_states is not None
        first = task.first
        program, compiled = first.program, self._compiled_for(first)
        name, states = self._shared_states(task) if program.keepers else ("", {})
        execution = self._execution(task)
        table, rows = events.of_parts([part.task for part in task.parts], [rows for _, rows in taken], execution.takes)
        counts, resources = np.concatenate([each for each, _ in taken]), (compiled.evaluator, compiled.relations)
        step = execution.step(table, counts, rows, states, *resources, program.columns, **_bounds_of(first, program))
        self._check_size(step.states, len(task.members.numbers))
        outcome.rows, outcome.partial = step.rows, step.partial
        if program.keepers:
            outcome.shared = SharedStates(name, task.members.numbers, first.shard, execution.keepers, step.states)

    def _execution(self, task: SharedTask) -> SharedExecution:
        program, numbers = task.first.program, task.members.numbers
        assert program.template is not None
        key = program.template.key, task.first.shard, numbers
        execution = self._executions.get(key) or self._old_executions.get(key)
        if execution is None:
            templates = [template for one in task.members.programs if (template := one.template) is not None]
            execution = SharedExecution(templates, numbers, [program.places[id(n)] for n in templates[0].keepers])
        self._executions[key] = execution
        return execution

    def _compiled_for(self, task: Task) -> CompiledStatement:
        self.deadline.check()
        return self._compiled(task)

    def _states(self, task: Task) -> Mapping[str, State]:
        self.deadline.check()
        return self._stored(task)

    # -- a statement alone -----------------------------------------------------------------------------

    def _one(
        self, task: Task, events: BatchEvents, matched: np.ndarray | None, history: HistoryReader | None
    ) -> Outcome:
        started = time.perf_counter()
        outcome = Outcome(task.number, task.shard)
        if any(scan.made and scan.stream in events.broken for scan in task.program.scans):
            outcome.blocked = True
            return outcome
        # Without a history reader the step itself reads a chunk of history.
        self.deadline.begin(task.number, 10 if task.program.reads_history and history is None else 1)
        try:
            outcome.rows_in = events.rows(task)
            if task.must_run or (events.rows(task) if matched is None else len(matched)):
                self._step(task, events, matched, history, outcome)
        except PresageError as failure:
            if failure.code in ("ENGINE_CLOSED", "STORAGE_FAILED"):
                raise  # nothing is wrong with the statement: it continues when the home is there again
            outcome.failure = failure
        except CancelledError:
            raise
        except MemoryError as failure:
            what, fix = _OUT_OF_MEMORY
            outcome.failure = error("LIMIT", what=what, limit_name="memory", limit="this machine", fix=fix)
            outcome.failure.__cause__ = failure
        except Exception as failure:
            if is_interrupted(failure):
                raise  # nothing is wrong with the statement: the batch is retried
            # A failure of one statement must not stop the others. The status keeps one line, the log the traceback.
            text = "statement number {number} failed with an internal error"
            tell(ERROR, "STATEMENT_FAILED", text, failure=failure, number=task.number)
            outcome.failure = error("INTERNAL", what=f"{type(failure).__name__}: {failure}"[:MESSAGE_LENGTH])
            outcome.failure.__cause__ = failure
        outcome.seconds = time.perf_counter() - started
        return outcome

    def _step(
        self,
        task: Task,
        events: BatchEvents,
        matched: np.ndarray | None,
        history: HistoryReader | None,
        outcome: Outcome,
    ) -> None:
        compiled = self._compiled_for(task)
        program, states = compiled.program, OperatorStates(dict(self._states(task)))
        indexed = program.indexed_filter if matched is not None else None
        context = StepContext(
            read=lambda scan: events.of(task, program, scan),
            evaluator=compiled.evaluator,
            relations=compiled.relations,
            operators=STEPS,
            places=program.places,
            states=states,
            **_bounds_of(task, program),
            compiled=compiled.compiled,
            matched={} if indexed is None or matched is None else {program.places[id(indexed[0])]: matched},
            histories=compiled.histories,
            read_later=None if history is None else partial(history.read, task.number),
            commands=task.commands,
            ahead=None if task.ahead is None else lambda scan: events.ahead_of(task, program, scan),
        )
        made = run_root(program.plan, context)
        outcome.output_watermark = made.watermark
        outcome.rows = made.table.select([TIME, SEQ, *program.plan.order, *(c.name for c in program.columns)])
        outcome.states = states.written()
        self._check_size(outcome.states)
        counts = {place: open_matches(state) for place, state in outcome.states.items()}
        outcome.partial = {place: count for place, count in counts.items() if count is not None}
        counted, opened = dict[str, int](), dict[str, int]()
        for place, state in outcome.states.items():
            counted |= {f"{place}/{what}": count for what, count in counters(state).items()}
            outlook = outlook_of(state)
            if outlook is not None:
                own = {READY: outlook.ready, SUSPENDED: outlook.suspended, DUE: outlook.due, REOPENED: outlook.reopened}
                opened |= {f"{place}/{what}": count for what, count in own.items() if count is not None}
        outcome.counters, outcome.open_events = counted, opened

    def _check_size(self, states: Mapping[str, State], statements: int = 1) -> None:
        size = sum(state.size() for state in states.values())
        if size > self._state_bytes * statements:
            what, fix = f"the state of the statement, {size:,} bytes,", _TOO_MUCH_STATE
            raise error("LIMIT", what=what, limit_name="bytes of state", limit=f"{self._state_bytes:,}", fix=fix)

    def _match(
        self, tasks: Sequence[Task], singles: Sequence[int], shared: Sequence[SharedTask], events: BatchEvents
    ) -> tuple[dict[int, np.ndarray], dict[tuple[int, int], Matched]]:
        """Rows that pass the filter right above the only scan, from a predicate index where many statements read the
        same events: of single tasks by number, of shared tasks by identity and start of the part."""
        by_source: dict[int, tuple[Source, list[int], list[tuple[SharedTask, Part]]]] = {}
        for i in singles:
            # Not with several scans, which may read the same events under different names, nor on derived streams,
            # whose rows of this batch are not known yet.
            if tasks[i].program.indexed_filter is not None:
                source = events.source(tasks[i], 0)
                by_source.setdefault(id(source), (source, [], []))[1].append(i)
        for one in shared:
            for part in one.parts:
                source = events.source(part.task, 0)
                by_source.setdefault(id(source), (source, [], []))[2].append((one, part))
        alone, as_one = dict[int, np.ndarray](), dict[tuple[int, int], Matched]()
        if self.one_by_one:
            return alone, as_one
        old, self._indexes = self._indexes, {}  # unused ones are dropped
        for source, several, parts in by_source.values():
            if not source or (not parts and len(several) < FILTERS_PER_INDEX):
                continue
            if not events.readable(source):
                continue  # the step of each statement raises the error
            matches = self._index([tasks[i] for i in several], parts, old).matches(events.plain(source))
            alone |= {i: matches[number] for number, i in enumerate(several)}
            at = len(several)
            for one, part in parts:
                end = at + part.stop - part.start
                as_one[id(one), part.start] = matches.between(at, end)
                at = end
        return alone, as_one

    def _index(
        self, tasks: Sequence[Task], parts: Sequence[tuple[SharedTask, Part]], old: Mapping[_IndexKey, _Index]
    ) -> PredicateIndex:
        key = (
            tuple([id(task.program) for task in tasks]),
            tuple([(id(shared.members), part.start, part.stop) for shared, part in parts]),
        )
        index = old.get(key)
        if index is None:
            several = [*tasks, *(task for shared, part in parts for task in shared.tasks_of(part))]
            conditions = [task.program.indexed_condition for task in several]
            relations = {name: rows for task in several for name, rows in self._compiled_for(task).relations.items()}
            owners = [*(task.program for task in tasks), *(shared.members for shared, _ in parts)]
            index = owners, PredicateIndex(conditions, relations)
        self._indexes[key] = index
        return index[1]


def _bounds_of(task: Task, program: Program) -> dict[str, Any]:
    """The fields of a StepContext that bound a step: in time, and by shard."""
    watermarks = {"watermark": task.watermark, "inner_watermark": task.inner_watermark}
    return {**watermarks, "upper": program.upper, "end": task.end, "shard": task.shard, "shards": program.shards}


def _shared_task(parts: Sequence[Sequence[Task]]) -> SharedTask:
    """Tasks of statements of one template as one task; those of a part read the same."""
    every = [task for part in parts for task in part]
    ends = np.cumsum([len(part) for part in parts]).tolist()
    members = SharedMembers(tuple([task.number for task in every]), tuple([task.program for task in every]))
    return SharedTask(members, tuple(Part(end - len(p), end, p[0]) for p, end in zip(parts, ends, strict=True)))
