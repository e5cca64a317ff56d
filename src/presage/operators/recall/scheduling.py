"""Stride scheduling with tickets of recall tasks (Moirae, section 4.4): which tasks run next.

A task reads one chunk of history at a time and then waits for its turn: its pass grows by its stride, which is inverse
to its tickets, and the task with the least pass is next. A task loses a ticket for every `results_per_ticket` of its
results, down to one, so that events with few results come first. All numbers are integers, and time is a parameter: the
same calls have the same results.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from presage.errors import error

LIVE, BACKGROUND = 0, 1  # priorities: a later one runs only when no task of an earlier one is ready

READY, RUNNING, SUSPENDED = "ready", "running", "suspended"
DONE, CANCELLED, DROPPED = "done", "cancelled", "dropped"
ENDED = frozenset({DONE, CANCELLED, DROPPED})

TICKETS = 100  # of a new task
ONE = 1 << 40  # stride of a task with one ticket; much above all tickets, so that strides keep their proportions
MOST_TICKETS = 1 << 20


@dataclass(frozen=True)
class Task:
    """The rest of the history of one event. The scheduler sets `number` and `due`.

    Times and durations are microseconds. `plan` is a list of chunks, cut at one moment: only tasks of one plan are at
    the same chunk if their `unit` is equal.
    """

    statement: str
    event: str
    priority: int = LIVE
    tickets: int = TICKETS
    plan: int = 0
    unit: int = 0  # the number of the next chunk
    pause_every: int | None = None  # chunks that are read without feedback
    drop_after: int | None = None  # how long a suspended task waits for feedback
    number: int = -1
    due: int = 0  # its pass
    state: str = READY
    results: int = 0
    unanswered: int = 0  # chunks since the last feedback
    feedback_time: int | None = None
    suspended_time: int | None = None

    @property
    def stride(self) -> int:
        return ONE // self.tickets

    @property
    def has_ended(self) -> bool:
        return self.state in ENDED

    @property
    def pauses_next(self) -> bool:
        """Whether it waits for feedback after the next chunk."""
        return self.pause_every is not None and self.unanswered + 1 >= self.pause_every

    @property
    def overdue_at(self) -> int | None:
        """The time after which it is dropped, unless there is feedback."""
        if self.drop_after is None or self.suspended_time is None or self.state != SUSPENDED:
            return None
        return self.suspended_time + self.drop_after


@dataclass(frozen=True)
class TaskSet:
    """Tasks of one statement that are evaluated together over the same chunk of history."""

    number: int
    statement: str
    priority: int
    plan: int
    unit: int
    tasks: tuple[Task, ...]


class Scheduler:
    """Holds all tasks until `forget_ended`. Not thread-safe: the caller locks."""

    def __init__(self, at_once: int = 2, results_per_ticket: int = 100, acceleration: int = 4 * TICKETS) -> None:
        """`at_once`: how many sets may run at the same time. `acceleration`: tickets that one ACCELERATE adds."""
        for what, found in (
            ("the number of recalls at once", at_once),
            ("results per ticket", results_per_ticket),
            ("the tickets of ACCELERATE", acceleration),
        ):
            if found < 1:
                raise error("BAD_VALUE", what=what, found=found, expected="at least 1")
        self.at_once, self.results_per_ticket, self.acceleration = at_once, results_per_ticket, acceleration
        self._tasks: dict[int, Task] = {}
        self._running: dict[int, tuple[int, ...]] = {}  # tasks of each set
        self._clock: dict[int, int] = {}  # the global pass of each priority
        self._next_task = self._next_set = 0

    # -- tasks --------------------------------------------------------------------------------------

    def submit(self, tasks: Iterable[Task]) -> list[Task]:
        """Add new tasks: the result has their numbers, and the global pass as their pass."""
        arriving = list(tasks)
        # All tasks of one call start at the same pass.
        start = {priority: self._global_pass(priority) for priority in {task.priority for task in arriving}}
        accepted = []
        for task in arriving:
            due = start[task.priority]
            tickets = min(max(task.tickets, 1), MOST_TICKETS)
            held = replace(task, number=self._next_task, tickets=tickets, due=due, state=READY)
            self._next_task += 1
            self._tasks[held.number] = held
            accepted.append(held)
        return accepted

    def tasks(self) -> list[Task]:
        """All tasks, in the order of their submission."""
        return list(self._tasks.values())

    def forget_ended(self) -> list[Task]:
        """Remove the tasks that are done, cancelled or dropped, and return them."""
        ended = [task for task in self._tasks.values() if task.has_ended]
        for task in ended:
            del self._tasks[task.number]
        return ended

    # -- running ------------------------------------------------------------------------------------

    def choose(self, limit: int, again: Collection[int] = ()) -> TaskSet | None:
        """The ready task with the least pass, and up to `limit` in all that can be evaluated together with it. `again`:
        tasks that were put back; they are chosen if all of them are still ready.

        None if no task is ready or `at_once` sets are running. Of equal passes, the task submitted first.
        """
        ready = sorted(
            (task for task in self._tasks.values() if task.state == READY), key=lambda t: (t.priority, t.due, t.number)
        )
        if not ready or len(self._running) >= self.at_once:
            return None
        before = [task for task in ready if task.number in again]
        head = before[0] if again and len(before) == len(again) else ready[0]
        together = [task for task in ready if _shared(task) == _shared(head)][: max(limit, 1)]
        if head.number in again:
            together = before
        chosen = tuple(self._put(replace(task, state=RUNNING)) for task in together)
        number = self._next_set
        self._next_set += 1
        self._running[number] = tuple(task.number for task in chosen)
        return TaskSet(number, head.statement, head.priority, head.plan, head.unit, chosen)

    def completed(
        self, done: TaskSet, results: Mapping[int, int], finished: Collection[int], now: int
    ) -> tuple[Task, ...]:
        """A set has read its chunk: `results` of each task by its number (absent: none), and which are `finished`.

        Returns the updated tasks, without those that were cancelled in the meantime.
        """
        members = self._end_set(done)
        self._advance_clock(done.priority, members)
        return tuple(
            self._put(self._after_unit(task, results.get(task.number, 0), task.number in finished, now))
            for task in members
        )

    def put_back(self, chosen: TaskSet) -> None:
        """A set is not evaluated yet: its tasks are ready again."""
        for task in self._end_set(chosen):
            self._put(replace(task, state=READY))

    def failed(self, done: TaskSet) -> None:
        """A set failed: its tasks are charged as if it had succeeded, so that others come first, and retry."""
        members = self._end_set(done)
        self._advance_clock(done.priority, members)
        for task in members:
            self._put(replace(task, state=READY, due=task.due + task.stride))

    def _end_set(self, done: TaskSet) -> list[Task]:
        if done.number not in self._running:
            raise error("INTERNAL", what=f"the set {done.number} of recalls is not running")
        held = [self._tasks.get(number) for number in self._running.pop(done.number)]
        return [task for task in held if task is not None and task.state == RUNNING]

    def _after_unit(self, task: Task, results: int, is_finished: bool, now: int) -> Task:
        total = task.results + results
        lost = total // self.results_per_ticket - task.results // self.results_per_ticket
        unanswered = task.unanswered + 1
        after = replace(
            task,
            tickets=max(task.tickets - lost, 1),
            results=total,
            unit=task.unit + 1,
            unanswered=unanswered,
            state=DONE if is_finished else READY,
        )
        after = replace(after, due=task.due + after.stride)
        if not is_finished and task.pauses_next:
            return replace(after, state=SUSPENDED, suspended_time=now)
        return after

    # -- feedback -----------------------------------------------------------------------------------

    def accelerate(self, event: str, now: int, statement: str | None = None) -> list[Task]:
        """Add tickets to the tasks of an event. The time until their turn shrinks with their stride."""
        return [self._put(self._accelerated(task, now)) for task in self._of(event, statement)]

    def continue_(self, event: str, now: int, statement: str | None = None) -> list[Task]:
        """The tasks of an event go on for another `pause_every` chunks."""
        return [self._put(self._resumed(task, now)) for task in self._of(event, statement)]

    def cancel(self, event: str, now: int, statement: str | None = None) -> list[Task]:
        """End the tasks of an event. Results of a running one are discarded."""
        return [
            self._put(replace(task, state=CANCELLED, feedback_time=now, suspended_time=None))
            for task in self._of(event, statement)
        ]

    def drop_overdue(self, now: int) -> list[Task]:
        """End the tasks that have been suspended for longer than their `drop_after`."""
        return [
            self._put(replace(task, state=DROPPED))
            for task in self.tasks()
            if (due := task.overdue_at) is not None and now > due
        ]

    def _of(self, event: str, statement: str | None) -> list[Task]:
        """The tasks of an event that have not ended."""
        return [
            task
            for task in self._tasks.values()
            if task.event == event and statement in (None, task.statement) and not task.has_ended
        ]

    def _resumed(self, task: Task, now: int) -> Task:
        answered = replace(task, unanswered=0, feedback_time=now, suspended_time=None)
        if task.state != SUSPENDED:
            return answered
        # While suspended it was not waiting for its turn: there is nothing to catch up.
        return replace(answered, state=READY, due=max(task.due, self._global_pass(task.priority)))

    def _accelerated(self, task: Task, now: int) -> Task:
        resumed = self._resumed(task, now)
        faster = replace(resumed, tickets=min(resumed.tickets + self.acceleration, MOST_TICKETS))
        start = self._global_pass(task.priority)
        wait = max(resumed.due - start, 0)
        return replace(faster, due=resumed.due - wait + wait * faster.stride // resumed.stride)

    # -- the global pass ----------------------------------------------------------------------------

    def _global_pass(self, priority: int) -> int:
        """The pass of an average task: the clock, but never outside the passes of the active tasks.

        Without the bounds the clock could run ahead of the remaining tasks when many others end; a new task would then
        wait until they have caught up.
        """
        passes = [task.due for task in self._tasks.values() if _takes_part(task, priority)]
        clock = self._clock.get(priority, 0)
        if passes:
            clock = min(max(clock, min(passes)), max(passes))
        self._clock[priority] = clock
        return clock

    def _advance_clock(self, priority: int, served: Collection[Task]) -> None:
        """The stride of the clock is that of all tickets together, for each task served."""
        tickets = sum(task.tickets for task in self._tasks.values() if _takes_part(task, priority))
        if tickets:
            self._clock[priority] = self._global_pass(priority) + len(served) * ONE // tickets

    def _put(self, task: Task) -> Task:
        self._tasks[task.number] = task
        return task

    # -- restart ------------------------------------------------------------------------------------

    def as_values(self) -> dict[str, Any]:
        """The state, as values for JSON."""
        return {
            "at_once": self.at_once,
            "results_per_ticket": self.results_per_ticket,
            "acceleration": self.acceleration,
            "clock": [[priority, clock] for priority, clock in sorted(self._clock.items())],
            "next_task": self._next_task,
            "next_set": self._next_set,
            "tasks": [asdict(task) for task in self._tasks.values()],
        }

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> Scheduler:
        """The scheduler of `as_values`. Nothing runs: tasks that were running are ready for the same chunk again."""
        scheduler = cls(values["at_once"], values["results_per_ticket"], values["acceleration"])
        scheduler._clock = dict(values["clock"])
        scheduler._next_task, scheduler._next_set = values["next_task"], values["next_set"]
        for each in values["tasks"]:
            task = Task(**each)
            scheduler._put(replace(task, state=READY) if task.state == RUNNING else task)
        return scheduler


def _shared(task: Task) -> tuple[int, str, int, int]:
    return task.priority, task.statement, task.plan, task.unit


def _takes_part(task: Task, priority: int) -> bool:
    return task.priority == priority and task.state in (READY, RUNNING)
