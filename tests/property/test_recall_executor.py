"""Laws of the recall executor: the last rows depend neither on the order of turns nor on saving and restoring."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from presage.columnar.evaluate import Evaluator
from presage.model.operator_state import State
from presage.operators.recall.background_reads import BackgroundReads
from presage.operators.recall.executor import Archive, EventCommand, Outlook, RecallExecutor, outlook_of, recalls_of
from presage.operators.recall.nodes import Recall
from presage.operators.recall.progress import ROW, Progress
from presage.plan.nodes import SEQ
from property.test_recalled import WORLDS, World, bound, started
from reference.recalled import Row

EVALUATOR = Evaluator({})
# What is said between two turns: to all events, or nothing.
SAID = st.lists(st.sampled_from(["accelerate", "continue", ""]), max_size=6)


def prepared(node: Recall, world: World) -> tuple[Progress, Archive, pa.Table]:
    """All events together, what they ask, and the events as an executor takes them."""
    together, _, _ = started(node, world)
    return together, Archive(world.units(), together.history), together.events.drop_columns([ROW])


def last_rows(tables: list[pa.Table]) -> dict[int, list[str]]:
    """What is left of each event after all changes, in any order."""
    left: dict[int, list[Row]] = {}
    for row in (row for table in tables for row in table.to_pylist()):
        shown = {n: v for n, v in row.items() if n in ("v", "n", "g", "x", "s")}
        kept = left.setdefault(row[SEQ], [])
        if row["change"] != "insert":
            # A group is known by what it is grouped by, a plain row by all of it.
            kept.remove(next(old for old in kept if (old["g"] == row["g"] if "g" in row else old == shown)))
        if row["change"] != "delete":
            kept.append(shown)
    return {event: sorted(map(repr, rows)) for event, rows in left.items() if rows}


@pytest.mark.parametrize("name", ["groups", "rows", "some rows"])
@settings(max_examples=40, deadline=None)
@given(world=WORLDS, said=SAID)
def test_turns_and_lives_do_not_change_the_last_rows(name: str, world: World, said: list[str]) -> None:
    node = bound(name, None, "", False)
    together, asked, events = prepared(node, world)
    plain = [together.read(unit, unit is asked.chunks[-1]) for unit in asked.chunks]

    now = iter(range(10_000))
    half = events.num_rows // 2
    made, state = [], None
    # The second half of the events comes while the first is being answered.
    for step in range(4 * len(asked.chunks) + 4):
        executor = RecallExecutor(node, EVALUATOR, lambda: asked, lambda: next(now))
        if state is not None:
            executor.restore(State.from_bytes(state))
        if step in (0, 2):
            executor.take(events.slice(0, half) if step == 0 else events.slice(half))
        if step < len(said) and said[step]:
            executor.apply(
                [EventCommand(said[step], task.event) for task in executor.scheduler.tasks() if not task.has_ended]
            )
        turn = executor.turn()
        made += [turn] if turn is not None else []
        state = executor.state().to_bytes()
        assert outlook_of(executor.state()) == Outlook(executor.ready, 0, None)
        assert executor.ready == len(recalls_of(executor.state()))
    assert last_rows(made) == last_rows(plain)
    assert not executor.cohorts, "nothing is kept of events that have been answered"


def test_a_cancelled_event_is_not_told_of_again() -> None:
    happened = [("H", 0, ("a", 1, 1.0)), ("H", 5_000_000, ("a", 2, 2.0)), ("E", 9_000_000, ("a", 1))]
    world = World(happened, [4_000_000], True)
    node = bound("groups", None, "", False)
    _, asked, events = prepared(node, world)
    executor = RecallExecutor(node, EVALUATOR, lambda: asked, lambda: 0)
    executor.take(events)
    assert executor.turn() is not None
    (task,) = [task for task in executor.scheduler.tasks() if not task.has_ended]
    executor.apply([EventCommand("cancel", task.event)])
    assert executor.turn() is None
    assert not executor.cohorts


class Threads:
    """Work that is done when the test says so."""

    def __init__(self) -> None:
        self.open: list[tuple[Future[list[pa.Table]], Callable[[], list[pa.Table]]]] = []

    def __call__(self, work: Callable[[], list[pa.Table]]) -> Future[list[pa.Table]]:
        self.open.append((Future(), work))
        return self.open[-1][0]

    def go_on(self) -> None:
        while self.open:
            found, work = self.open.pop()
            found.set_result(work())


@pytest.mark.parametrize("name", ["groups", "rows", "some groups", "one in another"])
@settings(max_examples=30, deadline=None)
@given(world=WORLDS, said=SAID, late=st.lists(st.booleans(), max_size=12), lost=st.lists(st.booleans(), max_size=12))
def test_history_that_is_read_beside_the_steps_gives_the_same_last_rows(
    name: str, world: World, said: list[str], late: list[bool], lost: list[bool]
) -> None:
    node = bound(name, None, "", False)
    together, asked, events = prepared(node, world)
    plain = [together.read(unit, unit is asked.chunks[-1]) for unit in asked.chunks]
    now, threads, beside = iter(range(10_000)), Threads(), BackgroundReads()
    half = events.num_rows // 2
    made, state, taken = [], None, 0
    for step in range(8 * len(asked.chunks) + 24):
        executor = RecallExecutor(
            node, EVALUATOR, lambda: asked, lambda: next(now), None, beside, None if step % 7 == 6 else threads
        )
        if executor.later is None or step >= len(late) or not late[step]:
            threads.go_on()
        if state is not None:
            executor.restore(State.from_bytes(state))
        if taken < 2 and step >= 2 * taken:
            executor.take(events.slice(0, half) if taken == 0 else events.slice(half))
        if step < len(said) and said[step]:
            executor.apply(
                [EventCommand(said[step], task.event) for task in executor.scheduler.tasks() if not task.has_ended]
            )
        turn = executor.turn()
        if step < len(lost) and lost[step]:
            continue  # the step was never published, but memory knows of it
        taken += taken < 2 and step >= 2 * taken
        made += [turn] if turn is not None else []
        state = executor.state().to_bytes()
    assert last_rows(made) == last_rows(plain)
    assert not executor.cohorts


def test_an_event_that_is_cancelled_while_its_history_is_read_is_not_told_of() -> None:
    happened = [("H", 0, ("a", 1, 1.0)), ("E", 8_000_000, ("a", 1)), ("E", 9_000_000, ("b", 1))]
    node = bound("groups", None, "", False)
    _, asked, events = prepared(node, World(happened, [], True))
    threads = Threads()
    executor = RecallExecutor(node, EVALUATOR, lambda: asked, lambda: 0, None, BackgroundReads(), threads)
    executor.take(events)
    assert executor.turn() is None
    assert executor.turn() is None, "one is read at a time"
    assert len(threads.open) == 1
    one, other = [task.event for task in executor.scheduler.tasks()]
    again = RecallExecutor(node, EVALUATOR, lambda: asked, lambda: 0, None, executor.reads, threads)
    again.restore(State.from_bytes(executor.state().to_bytes()))
    again.apply([EventCommand("cancel", one)])
    threads.go_on()
    assert again.turn() is None, "the answers were for both: the other one asks anew"
    threads.go_on()
    turn = again.turn()
    assert turn is not None
    assert {row["event_id"] for row in turn.to_pylist()} == {other}
