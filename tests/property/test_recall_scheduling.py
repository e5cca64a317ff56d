"""Tasks submitted, run, answered and awaited in any order: none is lost, run twice at once or run against its will."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from presage.operators.recall.scheduling import BACKGROUND, LIVE, READY, RUNNING, Scheduler, Task, TaskSet

EVENTS = st.sampled_from("abcd")
STATEMENTS = st.sampled_from(["p", "q"])
TASKS = st.builds(
    Task,
    STATEMENTS,
    EVENTS,
    priority=st.sampled_from([LIVE, LIVE, BACKGROUND]),
    tickets=st.integers(1, 200),
    pause_every=st.none() | st.integers(1, 3),
    drop_after=st.none() | st.integers(0, 5),
)
ACTIONS = st.one_of(
    st.tuples(st.just("submit"), st.lists(TASKS, max_size=4)),
    st.tuples(st.just("choose"), st.integers(1, 3)),
    st.tuples(st.just("choose"), st.integers(1, 3)),
    st.tuples(st.just("complete"), st.integers(0, 3), st.integers(0, 300), st.booleans()),
    st.tuples(st.just("complete"), st.integers(0, 3), st.integers(0, 300), st.booleans()),
    st.tuples(st.just("fail"), st.integers(0, 3)),
    st.tuples(st.sampled_from(["accelerate", "continue_", "cancel"]), EVENTS, st.none() | STATEMENTS),
    st.tuples(st.just("drop"), st.integers(0, 4)),
    st.tuples(st.just("forget")),
)


class World:
    """A scheduler and what has been asked of it, kept a second time in the plainest way."""

    def __init__(self, at_once: int) -> None:
        self.scheduler = Scheduler(at_once, results_per_ticket=50)
        self.now = 0
        self.submitted: list[int] = []
        self.forgotten: list[int] = []
        self.unwanted: set[int] = set()  # cancelled, dropped or done
        self.open_sets: list[TaskSet] = []
        self.trace: list[Any] = []

    def act(self, action: tuple[Any, ...]) -> None:
        kind, *args = action
        self.now += 1
        getattr(self, f"_{kind}", self._feedback(kind))(*args)
        self._check()

    def _submit(self, tasks: list[Task]) -> None:
        self.submitted += [task.number for task in self.scheduler.submit(tasks)]

    def _choose(self, limit: int) -> None:
        before = [task for task in self.scheduler.tasks() if task.state == READY]
        chosen = self.scheduler.choose(limit)
        self.trace.append(chosen)
        if chosen is None:
            assert not before or len(self.open_sets) == self.scheduler.at_once
            return
        numbers = [task.number for task in chosen.tasks]
        assert 1 <= len(numbers) == len(set(numbers)) <= limit
        assert not self.unwanted & set(numbers)
        assert not {task.number for other in self.open_sets for task in other.tasks} & set(numbers)
        assert {(t.statement, t.priority, t.unit) for t in chosen.tasks} == {
            (chosen.statement, chosen.priority, chosen.unit)
        }
        least = min(before, key=lambda task: (task.priority, task.due, task.number))
        assert numbers[0] == least.number
        self.open_sets.append(chosen)
        assert len(self.open_sets) <= self.scheduler.at_once

    def _complete(self, place: int, results: int, finishes: bool) -> None:
        if not self.open_sets:
            return
        done = self.open_sets.pop(place % len(self.open_sets))
        finished = [task.number for task in done.tasks][:1] if finishes else []
        wanted = {task.number for task in done.tasks} - self.unwanted
        after = self.scheduler.completed(done, {task.number: results for task in done.tasks}, finished, self.now)
        assert {task.number for task in after} == wanted
        assert all(task.unit == done.unit + 1 for task in after)
        self.unwanted |= wanted & set(finished)

    def _fail(self, place: int) -> None:
        if self.open_sets:
            self.scheduler.failed(self.open_sets.pop(place % len(self.open_sets)))

    def _feedback(self, kind: str) -> Any:
        def say(event: str, statement: str | None) -> None:
            for task in getattr(self.scheduler, kind)(event, self.now, statement):
                assert task.event == event
                assert task.number not in self.unwanted
                if kind == "cancel":
                    self.unwanted.add(task.number)

        return say

    def _drop(self, later: int) -> None:
        self.now += later
        self.unwanted |= {task.number for task in self.scheduler.drop_overdue(self.now)}

    def _forget(self) -> None:
        self.forgotten += [task.number for task in self.scheduler.forget_ended()]

    def _check(self) -> None:
        held = self.scheduler.tasks()
        assert sorted([*(task.number for task in held), *self.forgotten]) == self.submitted
        assert {task.number for task in held if task.has_ended} == self.unwanted - set(self.forgotten)
        assert {task.number for task in held if task.state == RUNNING} == {
            task.number for other in self.open_sets for task in other.tasks
        } - self.unwanted
        assert all(task.tickets >= 1 for task in held)


@given(actions=st.lists(ACTIONS, max_size=40), at_once=st.integers(1, 3))
def test_no_task_is_lost_or_run_twice_at_once_and_none_that_ended_is_chosen(actions, at_once):
    world, again = World(at_once), World(at_once)
    for action in actions:
        world.act(action)
        again.act(action)
    assert world.trace == again.trace, "the same calls give the same choices"
    values = json.loads(json.dumps(world.scheduler.as_values()))
    restored = Scheduler.from_values(values)
    states = [(t.number, READY if t.state == RUNNING else t.state) for t in world.scheduler.tasks()]
    assert [(t.number, t.state) for t in restored.tasks()] == states


@given(
    tickets=st.lists(st.integers(1, 50), min_size=2, max_size=5),
    rounds=st.integers(1, 4),
)
def test_each_task_stays_within_one_turn_of_its_share_against_each_other(tickets, rounds):
    scheduler = Scheduler(at_once=1)
    scheduler.submit(Task(f"q{i}", f"e{i}", tickets=count) for i, count in enumerate(tickets))
    for _ in range(rounds * sum(tickets)):
        chosen = scheduler.choose(1)
        assert chosen is not None
        scheduler.completed(chosen, {}, (), now=0)
        for task in scheduler.tasks():
            for other in scheduler.tasks():
                # Passes never lie further apart than the longer stride of the two.
                assert task.due - other.due <= max(task.stride, other.stride)
    for task, count in zip(scheduler.tasks(), tickets, strict=True):
        assert abs(task.unit - rounds * count) <= 1


def test_a_set_that_is_put_back_is_chosen_again_although_others_are_due_by_then() -> None:
    scheduler = Scheduler(at_once=1)
    first, second = scheduler.submit([Task("", "a"), Task("", "b", plan=1)])
    chosen = scheduler.choose(10)
    assert chosen is not None
    assert [task.number for task in chosen.tasks] == [first.number]
    scheduler.put_back(chosen)
    scheduler.accelerate("b", 0)
    scheduler.submit([Task("", "c")])
    again = scheduler.choose(10, (first.number,))
    assert again is not None
    assert [task.number for task in again.tasks] == [first.number]
    scheduler.put_back(again)
    scheduler.cancel("a", 0)
    other = scheduler.choose(10, (first.number,))
    assert other is not None
    assert first.number not in {task.number for task in other.tasks}
    assert second.number in {task.number for task in scheduler.tasks()}
