"""The executor of RECALL in a deployed statement: revisions of its events, in the order of the scheduler.

Events of one step are a cohort: they read the same chunks of history, as they were cut in that step. Open events are in
the statement's state; events that are answered, cancelled or dropped are not. Past events for RECALL SIMILAR stay in
the state for ever: an event reads only those that no earlier event has read.
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
from presage.execution.stage import EventCommand, Outlook
from presage.execution.steps import schema_of
from presage.model.operator_state import State
from presage.model.time import format_timestamp
from presage.operators.recall.background_reads import BackgroundReads, Later
from presage.operators.recall.history_chunks import Chunk
from presage.operators.recall.nodes import Recall, Similar
from presage.operators.recall.past_events import Computed, Past
from presage.operators.recall.progress import History, Progress
from presage.operators.recall.questions import EVER
from presage.operators.recall.scheduling import BACKGROUND, READY, RUNNING, SUSPENDED, Scheduler, Task, TaskSet
from presage.operators.recall.similar_rows import PastEvents
from presage.plan.nodes import SEQ, TIME

KERNEL = "recall"
EVENTS_AT_ONCE = 10_000  # that read a chunk together
NOT_YET, NO_TIME = -(2**62), 2**62
# Numbers in the state: how many tasks are ready, how many wait for feedback, when by the wall clock the first of these
# is dropped, up to which time all rows are emitted, and of the open events that are late within that time the sequence
# number of the first.
OPEN, WAITING, DUE, REACHED, REOPENED = "ready", "suspended", "due", "reached", "reopened"
# The task that computes past events: its name in SHOW RECALLS, its statement at the scheduler, which distinguishes it
# from an event of that name, and its plan, which no cohort has.
PAST_EVENTS, OURS, NO_COHORT = "past events", "past", -1


class Archive(NamedTuple):
    """History as it is now: its chunks, newest first, how they are read, and how past events are read."""

    chunks: list[Chunk]
    history: History
    past: PastEvents | None = None

    def with_present(self, present: tuple[pa.Table, ...]) -> Archive:
        """The same, with the present rows that a revision is joined with."""
        return Archive(self.chunks, replace(self.history, present=present), self.past)


@dataclass
class Cohort:
    """Events that read the same chunks. `tasks` are their numbers at the scheduler, in the order of the events."""

    chunks: list[Chunk]
    progress: Progress
    tasks: list[int]
    reported: Ints  # when each event was last reported, by the wall clock
    asked: Ints  # from which time on each event reads history, as far as the archive goes back

    def as_values(self) -> dict[str, Any]:
        figures = {"reported": self.reported.tolist(), "asked": self.asked.tolist()}
        return {"units": self.chunks, "tasks": self.tasks, **figures}


SHOWN = ("event_id", "state", "tickets", "chunks", "of_chunks", "results", "covered_from", "covered_to", "priority")


class OpenRecall(NamedTuple):
    """A task, the number of its chunks, and the history that it has read."""

    task: Task
    chunks: int
    covered_from: int
    covered_to: int

    @property
    def shown(self) -> tuple[Any, ...]:
        """The values of `SHOWN`; an end without a bound is null."""
        covered = [None if abs(at) >= EVER else format_timestamp(at) for at in (self.covered_from, self.covered_to)]
        task, priority = self.task, ("live", "background")[self.task.priority]
        return (task.event, task.state, task.tickets, task.unit, self.chunks, task.results, *covered, priority)


@dataclass
class RecallExecutor:
    """The open recalls of one statement. `now`: the wall clock, microseconds."""

    node: Recall
    evaluator: Evaluator
    archive: Callable[[], Archive]
    now: Callable[[], int]
    past: Past | None = None  # with RECALL SIMILAR
    reads: BackgroundReads = field(default_factory=BackgroundReads)
    later: Later | None = None  # starts a background read; without it, steps wait for history
    scheduler: Scheduler = field(default_factory=lambda: Scheduler(at_once=1))
    cohorts: dict[int, Cohort] = field(default_factory=dict)

    def take(self, events: pa.Table, horizon: int = EVER) -> None:
        """Add new events: each is a task. Events before `horizon` are complete."""
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
        never = np.full(len(held), NOT_YET)
        numbers = [task.number for task in held]
        self.cohorts[number] = Cohort(archive.chunks, progress, numbers, never, progress.begins())

    def _reach(self, past: Past, events: pa.Table, horizon: int) -> None:
        """Read past events up to the new ones; the first step starts the background task."""
        if past.chunks is None:
            past.begin(self.archive().chunks, horizon, self._past_events())
            if not past.prepared:
                self.scheduler.submit([Task(OURS, PAST_EVENTS, BACKGROUND, plan=NO_COHORT)])
        if events.num_rows:
            past.extend(events, horizon, self._past_events())

    def _past_events(self) -> PastEvents:
        past = self.archive().past
        assert past is not None
        return past

    def apply(self, commands: Sequence[EventCommand]) -> None:
        """Apply commands of users. Those for events that are closed already change nothing."""
        scheduler = self.scheduler
        actions = {"cancel": scheduler.cancel, "accelerate": scheduler.accelerate, "continue": scheduler.continue_}
        for command in commands:
            actions[command.action](command.event, self.now())

    def turn(self, wake: bool = False) -> pa.Table | None:
        """Let the next set of events read its next chunk; None if none is ready, or history is being read.

        `wake`: suspended events go on."""
        if wake:
            waiting = [task.event for task in self.scheduler.tasks() if task.state == SUSPENDED]
            self.apply([EventCommand("continue", event) for event in waiting])
        self.scheduler.drop_overdue(self.now())
        rows = None
        # RECALL SIMILAR does not wait: it searches the past events that have been read.
        waits = self.past is None and self.later is not None and self.reads.is_awaited()
        chosen = None if waits else self.scheduler.choose(EVENTS_AT_ONCE, self.reads.tasks())
        if chosen is not None:
            rows = self._read(chosen) if chosen.plan != NO_COHORT else self._read_past(chosen)
        self._clear()
        return rows

    def _read(self, chosen: TaskSet) -> pa.Table | None:
        """The revisions of events that read their next chunk; None if it is read in the background."""
        cohort = self.cohorts[chosen.plan]
        place = {number: row for row, number in enumerate(cohort.tasks)}
        rows = np.array([place[task.number] for task in chosen.tasks])
        mask = np.zeros(len(cohort.tasks), np.bool_)
        mask[rows] = True
        span = self._span(cohort, chosen, cohort.progress.covered[rows])
        if span is None:
            self.scheduler.put_back(chosen)
            return None
        chunk, last = span
        cohort.progress.history = self._history(chunk, last)
        if self.past is None:
            history = self.reads.history(cohort.progress, chosen, chunk, last, mask, self.later)
            if history is None:
                self.scheduler.put_back(chosen)
                return None
            cohort.progress.history = history
        now, every = self.now(), self.node.pace.report_every or 0
        quiet = now - cohort.reported < every
        # An event that is suspended next is reported before.
        quiet[[place[task.number] for task in chosen.tasks if task.pauses_next]] = False
        revisions = cohort.progress.read(chunk, last, mask, quiet)
        cohort.reported[mask & ~quiet] = now
        results = np.bincount(cohort.progress.found_for, minlength=len(cohort.tasks))
        done = [cohort.tasks[row] for row in rows if cohort.progress.done[row]]
        self.scheduler.completed(chosen, {cohort.tasks[row]: int(results[row]) for row in rows}, done, self.now())
        return revisions

    def _span(self, cohort: Cohort, chosen: TaskSet, covered: Ints) -> tuple[Chunk, bool] | None:
        """The next chunk of events, and whether it is the last, once past events as far back are there; None while
        these are being computed."""
        past = self.past
        if past is None or not all(isinstance(recall, Similar) for recall in self.node.recalls):
            chunk, last = cohort.chunks[chosen.unit], chosen.unit >= len(cohort.chunks) - 1
            while past is not None and not past.complete and (last or past.low > chunk.low):
                if not past.read_next(self._past_events(), self._ahead):
                    return None
            return chunk, last
        waits = not past.complete and past.low >= covered.max()
        if waits and not past.read_next(self._past_events(), self._ahead):
            return None
        return Chunk(past.low, EVER), past.complete

    def _ahead(self, name: tuple[Any, ...], work: Callable[[], list[Computed]]) -> list[Computed] | None:
        return self.reads.result(name, work, self.later)

    def _history(self, chunk: Chunk, last: bool) -> History:
        history, past = self.archive().history, self.past
        if past is None:
            return history
        archive, low = self._past_events(), -EVER if last else chunk.low
        return replace(history, similar=lambda similar, events, _: past.similar_rows(similar, events, low, archive))

    def _read_past(self, chosen: TaskSet) -> pa.Table | None:
        """Read a chunk of past events, or a part of a sample; there are no rows. An event may have read it already."""
        assert self.past is not None
        before = self.past.count
        if not self.past.prepared:
            self.past.prepare(self._past_events(), self._ahead)
        if self.reads.reading is not None:
            self.scheduler.put_back(chosen)
            return None
        (task,) = chosen.tasks
        done = [task.number] if self.past.prepared else []
        self.scheduler.completed(chosen, {task.number: self.past.count - before}, done, self.now())
        return schema_of(self.node.columns, self.node.order).empty_table()

    def end(self) -> None:
        """End of input: past events are computed only for open events."""
        self.scheduler.cancel(PAST_EVENTS, self.now(), OURS)

    @property
    def ready(self) -> int:
        return sum(task.state in (READY, RUNNING) for task in self.scheduler.tasks())

    @property
    def oldest(self) -> int | None:
        """The time of the oldest open event: ready or suspended."""
        times, _ = self._open()
        return int(times.min()) if len(times) else None

    def _open(self) -> tuple[Ints, Ints]:
        """Times and sequence numbers of the open events."""
        still = {task.number for task in self.scheduler.tasks() if not task.has_ended}
        places = [np.zeros((2, 0), np.int64)]
        for cohort in self.cohorts.values():
            rows = [row for row, number in enumerate(cohort.tasks) if number in still]
            places.append(np.stack([cohort.progress.events[name].to_numpy()[rows] for name in (TIME, SEQ)]))
        times, numbers = np.concatenate(places, axis=1)
        return times, numbers

    def _clear(self) -> None:
        """Remove cohorts without open events."""
        open_plans = {task.plan for task in self.scheduler.tasks() if not task.has_ended}
        self.cohorts = {number: cohort for number, cohort in self.cohorts.items() if number in open_plans}
        if not any(cohort.tasks for cohort in self.cohorts.values()):
            self.scheduler.forget_ended()

    # -- between two steps -----------------------------------------------------------------------------

    def state(self, reached: int = NOT_YET) -> State:
        """`reached`: up to which time all rows are emitted."""
        about: dict[str, Any] = {
            "scheduler": self.scheduler.as_values(),
            "cohorts": {str(number): cohort.as_values() for number, cohort in self.cohorts.items()},
        }
        if self.past is not None:
            about["past"] = self.past.as_values()
        tables = {"about": pa.table({"json": [json.dumps(about)]})}
        for number, cohort in self.cohorts.items():
            tables |= {f"{number}/{name}": table for name, table in cohort.progress.tables().items()}
        waiting = [task for task in self.scheduler.tasks() if task.state == SUSPENDED]
        due = min((when for task in waiting if (when := task.overdue_at) is not None), default=NO_TIME)
        times, arrivals = self._open()
        reopened = int(arrivals[times <= reached].min(initial=NO_TIME))
        numbers = {OPEN: self.ready, WAITING: len(waiting), DUE: due, REACHED: reached, REOPENED: reopened}
        return State(KERNEL, tables, numbers)

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
            chunks = [Chunk(*chunk) for chunk in content["units"]]
            figures = (np.array(content[name]) for name in ("reported", "asked"))
            self.cohorts[int(number)] = Cohort(chunks, progress, content["tasks"], *figures)


def outlook_of(state: State) -> Outlook | None:
    """None for the state of another operator."""
    if state.kernel != KERNEL:
        return None
    ready, suspended, due = (state.numbers[name] for name in (OPEN, WAITING, DUE))
    reopened = state.numbers.get(REOPENED, NO_TIME)  # older versions did not write it
    return Outlook(ready, suspended, None if due == NO_TIME else due, None if reopened == NO_TIME else reopened)


def recalls_of(state: State) -> list[OpenRecall]:
    """The open recalls in a state, for SHOW RECALLS."""
    if state.kernel != KERNEL:
        return []
    about = json.loads(state.tables["about"]["json"][0].as_py())
    still = {t.number: t for t in Scheduler.from_values(about["scheduler"]).tasks() if not t.has_ended}
    recalls: list[OpenRecall] = []
    if "past" in about:
        past = about["past"]
        recalls += [
            OpenRecall(t, len(past["units"]), past["low"], past["high"]) for t in still.values() if t.plan == NO_COHORT
        ]
    for number, content in about["cohorts"].items():
        at = state.tables[f"{number}/events"][TIME].to_numpy()
        covered = state.tables[f"{number}/figures"]["covered"].to_numpy()
        begins = np.minimum(np.maximum(covered, content["asked"]), at)
        chunks = len(content["units"])
        rows = [(row, still[n]) for row, n in enumerate(content["tasks"]) if n in still]
        recalls += [OpenRecall(task, chunks, int(begins[row]), int(at[row])) for row, task in rows]
    return sorted(recalls, key=lambda one: one.task.number)


def has_tasks(state: State) -> bool:
    """Whether events are open, or a background task is."""
    return state.numbers[OPEN] > 0 or len(state.tables) > 1
