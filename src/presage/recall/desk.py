"""Events of a standing statement in, revisions out, one turn after another: who comes next is the scheduler's to say.

Events that came in the same step are a cohort: they read the same units of history, which were laid out when they came.
What is open is kept in the statement's state; events that have been answered, cancelled or dropped leave nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from presage.arrays.jit import Ints
from presage.columnar.evaluate import Evaluator
from presage.model.state import State
from presage.recall.nodes import Recall
from presage.recall.progress import History, Progress
from presage.recall.scheduling import READY, RUNNING, Scheduler, Task
from presage.recall.units import Unit

KERNEL = "recall"
EVENTS_AT_ONCE = 10_000  # that read a unit together
NEVER = -(2**62)
OPEN = "ready"  # the number in the state that says how many tasks wait for their turn


class Archive(NamedTuple):
    """History as it is now: the spans to read, newest first, and how they are asked."""

    units: list[Unit]
    history: History

    def beside(self, present: tuple[pa.Table, ...]) -> Archive:
        """The same, with what a revision meets of the present."""
        return Archive(self.units, replace(self.history, present=present))


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
    scheduler: Scheduler = field(default_factory=lambda: Scheduler(at_once=1))
    cohorts: dict[int, Cohort] = field(default_factory=dict)

    def take(self, events: pa.Table) -> None:
        """New events: each is a task."""
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
            cohort = self.cohorts[chosen.plan]
            place = {number: row for row, number in enumerate(cohort.tasks)}
            rows = np.array([place[task.number] for task in chosen.tasks])
            mask = np.zeros(len(cohort.tasks), np.bool_)
            mask[rows] = True
            last = chosen.unit >= len(cohort.units) - 1
            cohort.progress.history = self.archive().history
            now, every = self.now(), self.node.pace.report_every or 0
            quiet = now - cohort.reported < every
            made = cohort.progress.read(cohort.units[chosen.unit], last, mask, quiet)
            cohort.reported[mask & ~quiet] = now
            results = np.bincount(cohort.progress.found_for, minlength=len(cohort.tasks))
            numbers = [cohort.tasks[row] for row in rows]
            done = [n for n, row in zip(numbers, rows, strict=True) if cohort.progress.done[row]]
            self.scheduler.completed(
                chosen, {n: int(results[row]) for n, row in zip(numbers, rows, strict=True)}, done, self.now()
            )
        self._clear()
        return made

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
        about = {
            "scheduler": self.scheduler.as_values(),
            "cohorts": {
                str(n): {"units": c.units, "tasks": c.tasks, "reported": c.reported.tolist()}
                for n, c in self.cohorts.items()
            },
        }
        tables = {"about": pa.table({"json": [json.dumps(about)]})}
        for number, cohort in self.cohorts.items():
            tables |= {f"{number}/{name}": table for name, table in cohort.progress.tables().items()}
        return State(KERNEL, tables, {OPEN: self.ready})

    def restore(self, state: State) -> None:
        about = json.loads(state.tables["about"]["json"][0].as_py())
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


def tasks_of(state: State) -> list[Task]:
    """The tasks in a state, for SHOW RECALLS."""
    if state.kernel != KERNEL:
        return []
    about = json.loads(state.tables["about"]["json"][0].as_py())
    return [task for task in Scheduler.from_values(about["scheduler"]).tasks() if not task.has_ended]
