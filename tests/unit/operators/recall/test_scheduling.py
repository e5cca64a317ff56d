"""Which recall runs next: shares by tickets, two priorities, bounded waiting, feedback and pace."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from itertools import pairwise

import pytest

from presage.errors import PresageError
from presage.operators.recall.scheduling import (
    BACKGROUND,
    CANCELLED,
    DONE,
    DROPPED,
    MOST_TICKETS,
    READY,
    RUNNING,
    SUSPENDED,
    TICKETS,
    Scheduler,
    Task,
)

NOTHING: dict[int, int] = {}


def run(scheduler: Scheduler, steps: int, results: int = 0, limit: int = 1) -> list[str]:
    """The events of the sets of so many steps, one set at a time."""
    events = []
    for _ in range(steps):
        chosen = scheduler.choose(limit)
        assert chosen is not None
        events.append(" ".join(task.event for task in chosen.tasks))
        scheduler.completed(chosen, {task.number: results for task in chosen.tasks}, (), now=0)
    return events


def state_of(scheduler: Scheduler, event: str) -> str:
    return next(task.state for task in scheduler.tasks() if task.event == event)


def task_of(scheduler: Scheduler, event: str) -> Task:
    return next(task for task in scheduler.tasks() if task.event == event)


# -- shares ------------------------------------------------------------------------------------------------


def test_equal_tickets_take_turns_in_order_of_submission():
    scheduler = Scheduler()
    scheduler.submit(Task("q", event) for event in "abc")
    assert run(scheduler, 7) == ["a", "b", "c", "a", "b", "c", "a"]


@pytest.mark.parametrize("tickets", [{"a": 100, "b": 50, "c": 10}, {"a": 7, "b": 3, "c": 1}])
def test_turns_are_in_proportion_to_tickets_within_one(tickets: dict[str, int]):
    scheduler = Scheduler()
    scheduler.submit(Task(f"q{event}", event, tickets=count) for event, count in tickets.items())
    whole = sum(tickets.values())
    turns: Counter[str] = Counter()
    for step in range(1, 5 * whole + 1):
        turns.update(run(scheduler, 1))
        if step % whole == 0:
            for event, count in tickets.items():
                assert abs(turns[event] - count * step // whole) <= 1


def test_many_results_cost_tickets_and_never_the_last_one():
    scheduler = Scheduler(results_per_ticket=10)
    scheduler.submit([Task("q", "a")])
    run(scheduler, 3, results=25)
    assert task_of(scheduler, "a").tickets == TICKETS - 7, "75 results in all, however they are cut"
    run(scheduler, 2, results=10_000)
    assert task_of(scheduler, "a").tickets == 1


def test_an_event_with_few_results_is_served_more_often():
    scheduler = Scheduler(results_per_ticket=1)
    scheduler.submit([Task("q1", "many"), Task("q2", "few")])
    turns: Counter[str] = Counter()
    for _ in range(200):
        chosen = scheduler.choose(1)
        assert chosen is not None
        (task,) = chosen.tasks
        turns[task.event] += 1
        scheduler.completed(chosen, {task.number: 10 if task.event == "many" else 0}, (), now=0)
    assert turns["many"] < 15
    assert turns["many"] > 5, "it is served all the same"


def simulate(arrivals: Callable[[int], list[str]], units: int) -> tuple[dict[str, tuple[int, int]], list[int]]:
    """One set at a time: when each small event arrived and ended; and when the large one had its turns."""
    scheduler = Scheduler(at_once=1)
    scheduler.submit([Task("large", "large")])
    arrived: dict[str, int] = {}
    lives: dict[str, tuple[int, int]] = {}
    turns = []
    for step in range(10_000):
        for event in arrivals(step):
            scheduler.submit([Task(event, event)])
            arrived[event] = step
        chosen = scheduler.choose(10)
        if chosen is None:
            break
        (task,) = chosen.tasks
        whole = 10_000 if task.event == "large" else units
        if task.event == "large":
            turns.append(step)
        finished = [task.number] if task.unit + 1 == whole else []
        scheduler.completed(chosen, NOTHING, finished, now=step)
        for each in scheduler.forget_ended():
            lives[each.event] = (arrived[each.event], step)
        if step > 1000 and len(lives) == len(arrived):
            break
    return lives, turns


def test_a_history_of_ten_thousand_units_does_not_hold_up_a_hundred_small_events_that_come_at_once():
    lives, turns = simulate(lambda step: [f"e{i}" for i in range(100)] if step == 50 else [], units=3)
    assert len(lives) == 100
    # With 101 tasks a round has 101 sets; three units need three rounds, and at most one to begin.
    assert max(end - begin for begin, end in lives.values()) <= 4 * 101
    during = [turn for turn in turns if 50 <= turn <= 50 + 3 * 101]
    assert len(during) >= 3, "the large one keeps its share"


def test_small_events_that_come_one_after_another_wait_a_bounded_time_and_leave_the_large_one_its_share():
    lives, turns = simulate(lambda step: [f"e{step}"] if step % 5 == 0 and step < 500 else [], units=2)
    assert len(lives) == 100
    # Few are there at the same time: each unit waits for one turn of each of them.
    assert max(end - begin for begin, end in lives.values()) <= 8
    assert max(after - before for before, after in pairwise(turns)) <= 6


def test_a_stream_of_new_events_that_never_ends_does_not_starve_an_older_one():
    scheduler = Scheduler()
    scheduler.submit([Task("old", "old")])
    turns = 0
    for step in range(300):
        scheduler.submit([Task(f"q{step}", f"e{step}")])
        chosen = scheduler.choose(1)
        assert chosen is not None
        (task,) = chosen.tasks
        turns += task.event == "old"
        scheduler.completed(chosen, NOTHING, () if task.event == "old" else [task.number], now=step)
        scheduler.forget_ended()
    assert turns >= 10


def test_a_new_event_has_its_first_unit_after_at_most_one_turn_of_each_other_however_long_they_have_run():
    scheduler = Scheduler()
    scheduler.submit(Task(f"q{i}", f"old{i}") for i in range(5))
    run(scheduler, 1003)
    scheduler.submit([Task("q", "new")])
    events = run(scheduler, 30)
    assert events.index("new") <= 5
    assert events.count("new") in (5, 6), "and then no more than its share"


def test_many_that_end_at_once_leave_no_debt_to_those_who_come_later():
    scheduler = Scheduler()
    scheduler.submit([Task("q", "stays"), *(Task(f"q{i}", f"e{i}") for i in range(200))])
    for _ in range(201):
        chosen = scheduler.choose(1)
        assert chosen is not None
        (task,) = chosen.tasks
        scheduler.completed(chosen, NOTHING, () if task.event == "stays" else [task.number], now=0)
    scheduler.submit([Task("q", "new")])
    assert "new" in run(scheduler, 2)


# -- sets --------------------------------------------------------------------------------------------------


def test_events_of_one_statement_at_the_same_unit_are_evaluated_together():
    scheduler = Scheduler()
    scheduler.submit([Task("q", "a"), Task("p", "b"), Task("q", "c"), Task("q", "d", unit=1), Task("q", "e", plan=1)])
    chosen = scheduler.choose(10)
    assert chosen is not None
    assert [task.event for task in chosen.tasks] == ["a", "c"]
    assert (chosen.statement, chosen.plan, chosen.unit) == ("q", 0, 0)


def test_a_set_is_no_larger_than_its_limit_and_each_member_pays():
    scheduler = Scheduler()
    scheduler.submit(Task("q", event) for event in "abcd")
    assert run(scheduler, 3, limit=3) == ["a b c", "d", "a b c"]
    assert [task.unit for task in scheduler.tasks()] == [2, 2, 2, 1]
    assert len({task.due for task in scheduler.tasks() if task.unit == 2}) == 1


def test_no_more_sets_run_at_once_than_allowed():
    scheduler = Scheduler(at_once=2)
    scheduler.submit(Task("q", event) for event in "abc")
    first, second = scheduler.choose(1), scheduler.choose(1)
    assert first is not None
    assert second is not None
    assert scheduler.choose(1) is None
    scheduler.completed(first, NOTHING, (), now=0)
    third = scheduler.choose(1)
    assert third is not None
    assert third.tasks[0].event == "c"


def test_nothing_is_chosen_where_nothing_is_ready():
    assert Scheduler().choose(5) is None


def test_a_set_cannot_complete_twice():
    scheduler = Scheduler()
    scheduler.submit([Task("q", "a")])
    chosen = scheduler.choose(1)
    assert chosen is not None
    scheduler.completed(chosen, NOTHING, (), now=0)
    with pytest.raises(PresageError, match="not running"):
        scheduler.completed(chosen, NOTHING, (), now=0)


def test_a_set_that_failed_tries_the_same_unit_again_after_the_others():
    scheduler = Scheduler()
    scheduler.submit([Task("q", "a"), Task("p", "b")])
    chosen = scheduler.choose(1)
    assert chosen is not None
    scheduler.failed(chosen)
    assert task_of(scheduler, "a").unit == 0
    assert run(scheduler, 2) == ["b", "a"]


@pytest.mark.parametrize("wrong", [{"at_once": 0}, {"results_per_ticket": 0}, {"acceleration": -1}])
def test_settings_below_one_are_refused(wrong: dict[str, int]):
    with pytest.raises(PresageError, match="at least 1"):
        Scheduler(**wrong)


# -- priorities --------------------------------------------------------------------------------------------


def test_background_runs_only_when_no_live_event_is_ready():
    scheduler = Scheduler()
    scheduler.submit([Task("m", "background", BACKGROUND), Task("q", "live", pause_every=2)])
    assert run(scheduler, 4) == ["live", "live", "background", "background"]
    scheduler.submit([Task("q", "later", pause_every=1)])
    assert run(scheduler, 2) == ["later", "background"]


def test_background_fills_a_free_place_while_live_events_run():
    scheduler = Scheduler(at_once=2)
    scheduler.submit([Task("m", "background", BACKGROUND), Task("q", "live")])
    first, second = scheduler.choose(9), scheduler.choose(9)
    assert first is not None
    assert second is not None
    assert (first.priority, second.priority) == (0, BACKGROUND)


# -- feedback and pace -------------------------------------------------------------------------------------


def test_without_feedback_a_task_is_suspended_and_later_dropped():
    scheduler = Scheduler()
    scheduler.submit([Task("q", "a", pause_every=2, drop_after=100)])
    for now in (10, 20):
        chosen = scheduler.choose(1)
        assert chosen is not None
        scheduler.completed(chosen, NOTHING, (), now)
    assert state_of(scheduler, "a") == SUSPENDED
    assert scheduler.choose(1) is None
    assert scheduler.drop_overdue(120) == [], "not for longer than 100"
    assert [task.event for task in scheduler.drop_overdue(121)] == ["a"]
    assert state_of(scheduler, "a") == DROPPED
    assert scheduler.continue_("a", 130) == [], "it is too late"
    assert scheduler.choose(1) is None


def test_a_task_that_ends_with_its_last_unit_is_done_and_not_suspended():
    scheduler = Scheduler()
    (task,) = scheduler.submit([Task("q", "a", pause_every=1)])
    chosen = scheduler.choose(1)
    assert chosen is not None
    (after,) = scheduler.completed(chosen, NOTHING, [task.number], now=0)
    assert after.state == DONE
    assert scheduler.forget_ended() == [after]
    assert scheduler.tasks() == []


def test_continuing_counts_anew():
    scheduler = Scheduler()
    scheduler.submit([Task("q", "a", pause_every=3)])
    run(scheduler, 2)
    scheduler.continue_("a", now=7)
    run(scheduler, 2)
    assert state_of(scheduler, "a") == READY
    assert task_of(scheduler, "a").feedback_time == 7
    run(scheduler, 1)
    assert state_of(scheduler, "a") == SUSPENDED
    scheduler.continue_("a", now=9)
    assert run(scheduler, 1) == ["a"]


def test_a_task_that_was_suspended_catches_up_nothing():
    scheduler = Scheduler()
    scheduler.submit([Task("q", "rests", pause_every=5), Task("p", "works")])
    run(scheduler, 100)
    scheduler.continue_("rests", now=1)
    assert run(scheduler, 6).count("rests") == 3


def test_accelerating_resumes_and_gives_a_larger_share_at_once():
    scheduler = Scheduler(acceleration=300)
    scheduler.submit([Task("q", "a", pause_every=20), *(Task(f"p{i}", f"b{i}") for i in range(4))])
    run(scheduler, 100)
    assert state_of(scheduler, "a") == SUSPENDED
    (task,) = scheduler.accelerate("a", now=5)
    assert (task.tickets, task.state, task.unanswered) == (400, READY, 0)
    assert run(scheduler, 24).count("a") in (11, 12, 13), "400 of 800 tickets"


def test_accelerating_shortens_the_wait_for_the_next_turn():
    scheduler = Scheduler()
    scheduler.submit([Task("q", "slow", tickets=1), Task("p", "a"), Task("r", "b")])
    run(scheduler, 5)
    scheduler.accelerate("slow", now=0)
    assert "slow" in run(scheduler, 3)


def test_tickets_have_a_greatest_number():
    scheduler = Scheduler(acceleration=MOST_TICKETS)
    (task,) = scheduler.submit([Task("q", "a", tickets=10 * MOST_TICKETS)])
    assert task.tickets == MOST_TICKETS
    scheduler.accelerate("a", now=0)
    assert task_of(scheduler, "a").tickets == MOST_TICKETS


def test_feedback_speaks_of_an_event_in_all_statements_or_in_one():
    scheduler = Scheduler()
    scheduler.submit([Task("q", "a"), Task("p", "a"), Task("q", "b")])
    assert [task.statement for task in scheduler.cancel("a", now=1, statement="p")] == ["p"]
    assert [task.statement for task in scheduler.accelerate("a", now=1)] == ["q"]
    assert scheduler.cancel("c", now=1) == []


def test_what_a_cancelled_event_was_about_to_find_is_not_wanted():
    scheduler = Scheduler()
    a, b = scheduler.submit([Task("q", "a"), Task("q", "b")])
    chosen = scheduler.choose(2)
    assert chosen is not None
    scheduler.cancel("a", now=1)
    left = scheduler.completed(chosen, {a.number: 5, b.number: 5}, (), now=2)
    assert [task.event for task in left] == ["b"]
    assert (state_of(scheduler, "a"), task_of(scheduler, "a").results) == (CANCELLED, 0)


# -- restart -----------------------------------------------------------------------------------------------


def busy() -> Scheduler:
    scheduler = Scheduler(at_once=2, results_per_ticket=3)
    scheduler.submit(Task("q", event, pause_every=2, drop_after=9) for event in "abc")
    run(scheduler, 4, results=4)
    scheduler.submit([Task("p", "d"), Task("m", "e", BACKGROUND)])
    scheduler.cancel("c", now=3)
    scheduler.accelerate("a", now=4)
    return scheduler


def test_after_a_restart_the_same_choices_follow():
    before = busy()
    after = Scheduler.from_values(json.loads(json.dumps(before.as_values())))
    assert after.tasks() == before.tasks()
    assert after.as_values() == before.as_values()
    assert run(after, 5, results=1) == run(before, 5, results=1)
    assert after.submit([Task("q", "new")]) == before.submit([Task("q", "new")])


def test_after_a_restart_what_was_running_is_ready_for_the_same_unit():
    before = busy()
    chosen = before.choose(1)
    assert chosen is not None
    (task,) = chosen.tasks
    assert task.state == RUNNING
    after = Scheduler.from_values(before.as_values())
    assert task_of(after, task.event).state == READY
    assert run(after, 1) == [task.event]
