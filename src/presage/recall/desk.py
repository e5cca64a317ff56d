"""Events of a standing statement in, revisions out, one turn after another: who comes next is the scheduler's to say.

Events that came in the same step are a cohort: they read the same units of history, which were laid out when they came.
What is open is kept in the statement's state; events that have been answered, cancelled or dropped leave nothing. Past
events that similar ones are looked for among are kept for good: an event reads of them what nobody has read before.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from presage.arrays.jit import Ints
from presage.columnar.evaluate import Evaluator
from presage.columnar.steps import schema_of
from presage.model.state import State
from presage.recall.asking import EVER
from presage.recall.nodes import Recall, Similar
from presage.recall.past import Past
from presage.recall.progress import History, Progress
from presage.recall.scheduling import BACKGROUND, READY, RUNNING, Scheduler, Task, TaskSet
from presage.recall.similar_rows import PastEvents
from presage.recall.units import Unit

KERNEL = "recall"
EVENTS_AT_ONCE = 10_000  # that read a unit together
NEVER = -(2**62)
OPEN = "ready"  # the number in the state that says how many tasks wait for their turn
# What SHOW RECALLS calls the task that computes past events, its statement at the scheduler, which tells it from an
# event of that name, and its plan, which no cohort has.
PAST_EVENTS, OURS, NO_COHORT = "past events", "past", -1


class Archive(NamedTuple):
    """History as it is now: the spans to read, newest first, how they are asked, and how past events are."""

    units: list[Unit]
    history: History
    past: PastEvents | None = None


class Said(NamedTuple):
    """CANCEL, ACCELERATE or CONTINUE RECALL."""

    action: str
    event: str


@dataclass
class Cohort:
    """Events that read the same units. `tasks` are their numbers at the scheduler, in the order of the events."""

    units: list[Unit]
    progress: Progress
    tasks: list[int]
    reported: Ints  # by the wall clock, when each event was last told of

    def as_values(self) -> dict[str, Any]:
        return {"units": self.units, "tasks": self.tasks, "reported": self.reported.tolist()}


@dataclass
class Desk:
    """The open recalls of one statement. `now`: the wall clock, microseconds."""

    node: Recall
    evaluator: Evaluator
    archive: Callable[[], Archive]
    now: Callable[[], int]
    past: Past | None = None  # where similar events are asked for
    scheduler: Scheduler = field(default_factory=lambda: Scheduler(at_once=1))
    cohorts: dict[int, Cohort] = field(default_factory=dict)

    def take(self, events: pa.Table, horizon: int = EVER) -> None:
        """New events: each is a task. What lies before `horizon` is all there."""
        if self.past is not None:
            self._reach(self.past, events, horizon)
        if not events.num_rows:
            return
        archive = self.archive()
        progress = Progress(self.node, events.combine_chunks(), self.evaluator, archive.history)
        number = max(self.cohorts, default=-1) + 1
        pace = self.node.pace
        tasks = [
            Task("", event, plan=number, pause_every=pace.pause_every, drop_after=pace.drop_after)
            for event in progress.event_ids().to_pylist()
        ]
        held = self.scheduler.submit(tasks)
        never = np.full(len(held), NEVER)
        self.cohorts[number] = Cohort(archive.units, progress, [task.number for task in held], never)

    def _reach(self, past: Past, events: pa.Table, horizon: int) -> None:
        """Past events up to the new ones; with the first step begins what goes on in the background."""
        if past.units is None:
            past.begin(self.archive().units, horizon, self._past_events())
            if not past.has_recent:
                self.scheduler.submit([Task(OURS, PAST_EVENTS, BACKGROUND, plan=NO_COHORT)])
        if events.num_rows:
            past.extend(events, horizon, self._past_events())

    def _past_events(self) -> PastEvents:
        found = self.archive().past
        assert found is not None
        return found

    def hear(self, said: Sequence[Said]) -> None:
        """What users say of events; who is not known any more has nothing to hear."""
        act = {
            "cancel": self.scheduler.cancel,
            "accelerate": self.scheduler.accelerate,
            "continue": self.scheduler.continue_,
        }
        for command in said:
            act[command.action](command.event, self.now())

    def turn(self) -> pa.Table | None:
        """Let the next set of events read the next span of history; None if none is ready."""
        self.scheduler.drop_overdue(self.now())
        chosen = self.scheduler.choose(EVENTS_AT_ONCE)
        made = None
        if chosen is not None:
            made = self._read(chosen) if chosen.plan != NO_COHORT else self._read_past(chosen)
        self._clear()
        return made

    def _read(self, chosen: TaskSet) -> pa.Table:
        """The revisions of events that read the next span of history."""
        cohort = self.cohorts[chosen.plan]
        place = {number: row for row, number in enumerate(cohort.tasks)}
        rows = np.array([place[task.number] for task in chosen.tasks])
        mask = np.zeros(len(cohort.tasks), np.bool_)
        mask[rows] = True
        unit, last = self._span(cohort, chosen, cohort.progress.covered[rows])
        cohort.progress.history = self._history(unit, last)
        now, every = self.now(), self.node.pace.report_every or 0
        quiet = now - cohort.reported < every
        made = cohort.progress.read(unit, last, mask, quiet)
        cohort.reported[mask & ~quiet] = now
        results = np.bincount(cohort.progress.found_for, minlength=len(cohort.tasks))
        numbers = [cohort.tasks[row] for row in rows]
        done = [n for n, row in zip(numbers, rows, strict=True) if cohort.progress.done[row]]
        self.scheduler.completed(
            chosen, {n: int(results[row]) for n, row in zip(numbers, rows, strict=True)}, done, self.now()
        )
        return made

    def _span(self, cohort: Cohort, chosen: TaskSet, covered: Ints) -> tuple[Unit, bool]:
        """What events read next, and whether it is the last; past events as far back are there then."""
        past = self.past
        if past is None or not all(isinstance(recall, Similar) for recall in self.node.recalls):
            unit, last = cohort.units[chosen.unit], chosen.unit >= len(cohort.units) - 1
            while past is not None and not past.complete and (last or past.low > unit.low):
                past.read_next(self._past_events())
            return unit, last
        if not past.complete and past.low >= covered.max():
            past.read_next(self._past_events())
        return Unit(past.low, EVER), past.complete

    def _history(self, unit: Unit, last: bool) -> History:
        history, past = self.archive().history, self.past
        if past is None:
            return history
        archive, low = self._past_events(), -EVER if last else unit.low
        return replace(history, similar=lambda similar, events, _: past.similar_rows(similar, events, low, archive))

    def _read_past(self, chosen: TaskSet) -> pa.Table:
        """A unit of past events, of which nobody is told; it may be there already, for an event that needed it."""
        assert self.past is not None
        before = self.past.count
        if not self.past.has_recent:
            self.past.read_next(self._past_events())
        (task,) = chosen.tasks
        done = [task.number] if self.past.has_recent else []
        self.scheduler.completed(chosen, {task.number: self.past.count - before}, done, self.now())
        return schema_of(self.node.columns, self.node.order).empty_table()

    def end(self) -> None:
        """No more events will come: past ones are computed only for those that are open."""
        self.scheduler.cancel(PAST_EVENTS, self.now(), OURS)

    @property
    def ready(self) -> int:
        return sum(task.state in (READY, RUNNING) for task in self.scheduler.tasks())

    def _clear(self) -> None:
        """Let go of cohorts of which nothing is open."""
        open_plans = {task.plan for task in self.scheduler.tasks() if not task.has_ended}
        self.cohorts = {number: cohort for number, cohort in self.cohorts.items() if number in open_plans}
        kept = {number for cohort in self.cohorts.values() for number in cohort.tasks}
        if not kept:
            self.scheduler.forget_ended()

    # -- between two steps -----------------------------------------------------------------------------

    def state(self) -> State:
        about: dict[str, Any] = {
            "scheduler": self.scheduler.as_values(),
            "cohorts": {
                str(n): {"units": c.units, "tasks": c.tasks, "reported": c.reported.tolist()}
                for n, c in self.cohorts.items()
            },
        }
        if self.past is not None:
            about["past"] = self.past.as_values()
        tables = {"about": pa.table({"json": [json.dumps(about)]})}
        for number, cohort in self.cohorts.items():
            tables |= {f"{number}/{name}": table for name, table in cohort.progress.tables().items()}
        return State(KERNEL, tables, {OPEN: self.ready})

    def restore(self, state: State, pieces: Mapping[str, State] | None = None) -> None:
        """`pieces`: the states of past events, by name."""
        about = json.loads(state.tables["about"]["json"][0].as_py())
        if self.past is not None:
            self.past.restore(about["past"], pieces or {})
        self.scheduler = Scheduler.from_values(about["scheduler"])
        history: History | None = None
        for number, content in about["cohorts"].items():
            history = history or self.archive().history
            prefix = f"{number}/"
            tables = {k.removeprefix(prefix): t for k, t in state.tables.items() if k.startswith(prefix)}
            progress = Progress(self.node, tables["events"], self.evaluator, history)
            progress.restore(tables)
            units = [Unit(*unit) for unit in content["units"]]
            self.cohorts[int(number)] = Cohort(units, progress, content["tasks"], np.array(content["reported"]))


def open_recalls(state: State) -> int | None:
    """How many events wait for their turn; None for a state that is not of this room."""
    return state.numbers[OPEN] if state.kernel == KERNEL else None


def has_tasks(state: State) -> bool:
    """Whether events are open, or anything goes on in the background."""
    return state.numbers[OPEN] > 0 or len(state.tables) > 1


def tasks_of(state: State) -> list[Task]:
    """The tasks in a state, for SHOW RECALLS, each with how far back it has read."""
    if state.kernel != KERNEL:
        return []
    about = json.loads(state.tables["about"]["json"][0].as_py())
    covered: dict[int, int] = {}
    for number, content in about["cohorts"].items():
        covered |= dict(zip(content["tasks"], state.tables[f"{number}/figures"]["covered"].to_pylist(), strict=True))
    tasks = [task for task in Scheduler.from_values(about["scheduler"]).tasks() if not task.has_ended]
    return [replace(task, covered=about["past"]["low"] if task.plan == NO_COHORT else covered[task.number])
            for task in tasks]  # fmt: skip
