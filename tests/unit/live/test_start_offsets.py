"""A statement takes in what arrives after it was deployed, wherever it began and however many began elsewhere."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from presage.live.batch import Batch
from presage.live.batch_planner import BatchPlanner
from presage.live.input_range import InputRange
from presage.live.statement import Statement
from recovery.crashing import MemoryDisk
from recovery.living import Living

STREAM = "CREATE STREAM Tick (n INT, at TIMESTAMP) EVENT TIME at WITH (max_delay = '{delay} sec')"
FORMS = ["SELECT n FROM Tick WHERE n > {c}", "SELECT n, count(*) AS c FROM Tick(n > {c})#time(1 hour)"]


def tick(n: int, second: int) -> list[dict[str, Any]]:
    return [{"n": n, "at": f"2024-03-01T09:00:{second:02}Z"}]


# A number is the second of an event, a text is what else happens.
ACTIONS = st.integers(0, 20) | st.sampled_from(["deploy", "deploy", "advance", "drain", "reopen"])


# The last moment that was reached, once more: one of them began before that, one after.
@example([5, "deploy", "drain", 5, "deploy", "drain"], FORMS[0], 1_000, 0)
@given(
    st.lists(ACTIONS, min_size=4, max_size=24),
    st.sampled_from(FORMS),
    st.sampled_from([2, 1_000]),
    st.sampled_from([0, 3]),
)
def test_it_takes_in_what_arrived_after_it_and_was_not_late(
    actions: list[int | str], form: str, least: int, delay: int
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        disk = MemoryDisk()
        home = Living(Path(folder) / "home", disk, least_members=least)
        home.declare(STREAM.format(delay=delay))
        known, accepted, begun = -1, list[tuple[int, int]](), list[int]()  # the greatest second so far
        for number, action in enumerate([*actions, 59]):
            if isinstance(action, int):
                home.load("Tick", tick(number, action))
                if action >= known - delay:
                    accepted.append((action, number))
                known = max(known, action)
            elif action == "deploy":
                home.deploy(form.format(c=-1 - number), f"s{len(begun)}")
                begun.append(len(accepted))
            elif action == "reopen":
                home.close()
                home = Living(Path(folder) / "home", disk, least_members=least)
            else:
                home.deployments.job.advance() if action == "advance" else home.drain()
        home.drain()
        for number, first in enumerate(begun):
            want = [n for second, n in sorted(accepted[first:]) if second <= known - delay]
            assert [row["n"] for row in home.rows(f"s{number}")] == want
        home.close()


def test_who_began_elsewhere_asks_the_same_once_time_has_passed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thousand rules that were deployed one by one cost what a thousand do that came together."""
    looked: list[Statement] = []
    span = BatchPlanner._range

    def looking(self: BatchPlanner, statement: Statement, batch: Batch) -> InputRange:
        looked.append(statement)
        return span(self, statement, batch)

    monkeypatch.setattr(BatchPlanner, "_range", looking)
    with Living(tmp_path / "home", MemoryDisk()) as home:
        home.declare(STREAM.format(delay=3))
        for number in range(6):
            home.deploy(f"SELECT n FROM Tick WHERE n > {number}", f"s{number}")
            home.load("Tick", tick(9, number))
            home.drain()
        looked.clear()
        home.load("Tick", tick(9, 7))
        home.drain()
        assert len(looked) >= 3, "some of what arrived before them may still come"
        home.load("Tick", tick(9, 30))
        home.drain()
        looked.clear()
        home.load("Tick", tick(9, 31))
        home.drain()
        assert len(looked) == 1
        assert [len(home.rows(f"s{number}")) for number in range(6)] == [7, 6, 5, 4, 3, 2]
