"""What a batch changed of statements for which it only counts is what it would have changed of any other."""

from __future__ import annotations

import gc
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from presage.live import commit_draft
from presage.live.commit_draft import count_batch
from presage.live.gc_pause import MANY_STATEMENTS, gc_paused
from presage.live.input_range import InputPosition, InputRange
from presage.live.statement import Statement
from presage.live.statement_update import changed_values
from presage.live.tasks import Part, SharedMembers, SharedOutcome, SharedTask, Task
from presage.storage.home_state import LiveState
from recovery.crashing import MemoryDisk
from recovery.living import Living

STREAM = "CREATE STREAM Tick (sym STRING, n INT, at TIMESTAMP) EVENT TIME at"


class Plan:
    """Of a program what is looked at here."""

    ends = into = None
    lags = False
    streams = frozenset({"Tick"})


@st.composite
def statements(draw: st.DrawFn) -> Statement:
    return Statement(
        "1",
        "one",
        "",
        None,
        rows_in=draw(st.integers(0, 9)),
        rows_out=draw(st.integers(0, 9)),
        partial=draw(st.dictionaries(st.sampled_from(["0/1", "0/2"]), st.integers(0, 2))),
    )


@given(statements(), st.integers(0, 3), st.dictionaries(st.sampled_from("12"), st.integers(0, 2)))
def test_counting_gives_what_looking_at_all_would_give(
    statement: Statement, rows_in: int, partial: dict[str, int]
) -> None:
    task = Task("1", Plan(), 0, (), 1, 2, 2, False, False)  # type: ignore[arg-type]
    members = SharedMembers(("1",), (task.program,))
    outcome = SharedOutcome(SharedTask(members, (Part(0, 1, task),)), [rows_in])
    outcome.partial = {place: {1: matches} for place, matches in partial.items()}
    before = statement.to_json()
    counted = count_batch([outcome], {"1": statement})
    span = InputRange(InputPosition(0, 1), InputPosition(0, 2))
    want = changed_values(statement, Plan(), span, {"Tick": 2}, outcome.each(), {}, lambda: True)  # type: ignore[arg-type]
    assert counted.partial.get("1") == want.get("partial")
    after = replace(statement, **want)
    counted.apply({"1": statement})
    assert (statement.rows_in, statement.rows_out) == (after.rows_in, after.rows_out)
    live = LiveState(statements={"1": before})
    live.advance({"counts": json.loads(json.dumps(counted.to_json()))})
    assert live.statements["1"] == {**before, "rows_in": after.rows_in}


def test_a_statement_that_gets_a_place_or_a_state_of_its_own_is_no_longer_only_counted() -> None:
    statement = Statement("1", "one", "", None)
    assert statement.changes_only_counts
    statement.count("rows_in", 3)
    assert statement.rows_in == 3
    assert not statement.change(own_position=InputPosition())[0].changes_only_counts
    assert not statement.change(to_skip=1)[0].changes_only_counts


def test_statements_come_and_go_between_batches(tmp_path: Path) -> None:
    """What planning knows of them is kept from batch to batch only while they are the same."""

    def tick(home: Living, second: int) -> None:
        rows: list[dict[str, Any]] = [{"sym": "a", "n": second, "at": f"2024-03-01T09:00:{second:02}Z"}]
        home.load("Tick", rows)
        home.drain()

    with Living(tmp_path / "home", MemoryDisk()) as home:
        home.declare(STREAM)
        for number in range(5):
            home.deploy(f"SELECT n FROM Tick WHERE n > {number}", f"s{number}")
        tick(home, 10)
        tick(home, 11)
        home.deploy("SELECT n FROM Tick WHERE n > 5", "later")
        tick(home, 12)
        home.deployments["s0"].stop()
        tick(home, 13)
        assert [row["n"] for row in home.rows("s0")] == [10, 11, 12]
        assert [row["n"] for row in home.rows("s4")] == [10, 11, 12, 13]
        assert [row["n"] for row in home.rows("later")] == [12, 13]


def test_the_collector_waits_for_a_batch_of_many_statements_alone() -> None:
    assert gc.isenabled()
    with gc_paused(MANY_STATEMENTS - 1):
        assert gc.isenabled()
    with gc_paused(MANY_STATEMENTS):
        assert not gc.isenabled()
        with gc_paused(MANY_STATEMENTS):
            pass
        assert not gc.isenabled(), "another engine's batch is still running"
    assert gc.isenabled()


def test_the_collector_goes_on_after_a_batch_that_failed_and_stays_off_where_somebody_wants_it_off() -> None:
    with pytest.raises(ValueError, match="broken"), gc_paused(MANY_STATEMENTS):
        raise ValueError("broken")
    assert gc.isenabled()
    gc.disable()
    try:
        with gc_paused(MANY_STATEMENTS):
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_a_batch_of_many_statements_runs_while_the_collector_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[bool] = []

    def counting(*given: Any) -> Any:
        seen.append(gc.isenabled())
        return count_batch(*given)

    monkeypatch.setattr(commit_draft, "count_batch", counting)
    with Living(tmp_path / "home", MemoryDisk()) as home:
        home.declare(STREAM)
        for number in range(MANY_STATEMENTS):
            home.deploy(f"SELECT n FROM Tick WHERE n > {number}", f"s{number}")
        home.load("Tick", [{"sym": "a", "n": 70, "at": "2024-03-01T09:00:00Z"}])
        home.drain()
        assert [row["n"] for row in home.rows("s63")] == [70]
    assert seen[0] is False
    assert gc.isenabled()
