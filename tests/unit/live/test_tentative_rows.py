"""SELECT TENTATIVE in deployed statements: rows from events ahead of the watermark, and their cost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from presage.live.task_dispatch import TaskDispatcher, run_share
from presage.live.tasks import Task
from recovery.crashing import MemoryDisk
from recovery.living import Living

DECLARED = """
CREATE STREAM Gps (car STRING, x DOUBLE, at TIMESTAMP) EVENT TIME at KEY (car)
  PREDICTED (x) WITH (threshold = 25, period = '30 sec', max_delay = '5 sec');
CREATE STREAM Still (car STRING, x DOUBLE, at TIMESTAMP) EVENT TIME at KEY (car)
  PREDICTED (x) WITH (threshold = 25, max_delay = '5 sec');
CREATE RELATION Owner (car STRING, name STRING) VALUES ('c1', 'Ann');
"""
FAR = "SELECT TENTATIVE s.car FROM PREDICTED Gps s WHERE s.x > 300"
NEAR = (
    "SELECT TENTATIVE a.car, b.car FROM PREDICTED Gps a JOIN PREDICTED Gps b ON ABS(a.x - b.x) <= 100 "
    "WHERE a.car = 'c1' AND b.car = 'c2'"
)


def moment(second: int) -> str:
    return f"2024-03-01T09:{second // 60:02}:{second % 60:02}Z"


def update(car: str, second: int, x: float, rate: float) -> dict[str, Any]:
    return {"car": car, "at": moment(second), "x_value": x, "x_rate": rate}


def rows_of(home: Living, name: str) -> list[str]:
    """Change, from when to when, and when it was said, in seconds after nine."""

    def second(value: Any) -> str:
        return f"{60 * value.minute + value.second + value.microsecond / 1e6:g}"

    rows = home.rows(name)
    return [f"{r['change']} {second(r['valid_from'])}-{second(r['valid_to'])} at {second(r['at'])}" for r in rows]


@pytest.fixture
def home(tmp_path: Path) -> Any:
    with Living(tmp_path / "home", MemoryDisk()) as made:
        made.declare(DECLARED)
        yield made


def test_an_update_is_told_when_it_arrives_and_a_late_one_takes_back_at_once(home: Living) -> None:
    home.deploy(FAR, "far")
    home.load("Gps", [update("c1", 10, 0.0, 20.0)])
    home.drain()
    first = ["insert 25-40 at 5"]
    assert rows_of(home, "far") == first
    # The clock stays where it is: 9 lies before what has come already.
    home.load("Gps", [update("c2", 9, 400.0, 0.0)])
    home.drain()
    second = [*first, "insert 9-39 at 5"]
    assert rows_of(home, "far") == second
    home.load("Gps", [update("c1", 12, 0.0, 0.0)])
    home.drain()
    assert rows_of(home, "far") == [*second, "delete 25-40 at 7"]
    home.log.append_watermark("Gps", 1_709_283_700_000_000)
    home.drain()
    assert rows_of(home, "far") == [*second, "delete 25-40 at 7"]
    assert home.deployments["far"].status.rows_in == 3


def test_two_that_will_meet_are_told_before_either_is_settled(home: Living) -> None:
    home.deploy(NEAR, "near")
    home.load("Gps", [update("c1", 10, 0.0, 20.0), update("c2", 10, 1000.0, -20.0)])
    home.drain()
    assert rows_of(home, "near") == ["insert 32.5-37.5 at 5"]
    home.load("Gps", [update("c1", 11, 20.0, 0.0)])
    home.drain()
    assert rows_of(home, "near") == ["insert 32.5-37.5 at 5", "delete 32.5-37.5 at 6"]


def test_rows_are_joined_with_relations_at_once(home: Living) -> None:
    home.deploy(
        "SELECT TENTATIVE s.car, o.name FROM PREDICTED Gps s JOIN Owner o ON o.car = s.car WHERE s.x > 300", "own"
    )
    home.load("Gps", [update("c1", 10, 0.0, 20.0), update("c2", 10, 1000.0, -20.0)])
    home.drain()
    assert [row["name"] for row in home.rows("own")] == ["Ann"]


def test_a_stream_that_falls_silent_does_not_hold_back_what_others_say(home: Living) -> None:
    home.deploy(
        "SELECT TENTATIVE a.car, b.car FROM PREDICTED Still a JOIN PREDICTED Gps b ON ABS(a.x - b.x) <= 100", "near"
    )
    home.load("Gps", [update("c2", 10, 1000.0, 0.0)])
    home.drain()
    assert home.rows("near") == []
    home.load("Still", [update("c1", 10, 0.0, 0.0)])
    home.load("Gps", [update("c2", 40, 50.0, 0.0)])
    home.drain()
    assert rows_of(home, "near") == ["insert 40-70 at 5"]
    home.load("Gps", [update("c2", 60, 500.0, 0.0)])
    home.drain()
    assert rows_of(home, "near")[1:] == ["delete 40-70 at 5", "insert 40-60 at 5"]


def test_an_update_that_comes_twice_changes_nothing(home: Living) -> None:
    home.deploy(FAR, "far")
    for _ in range(2):
        home.load("Gps", [update("c1", 10, 0.0, 20.0)])
        home.load("Gps", [update("c1", 11, 20.0, 20.0)], "once")
        home.drain()
    assert rows_of(home, "far") == ["insert 25-41 at 6"]


def test_an_upper_bound_ends_what_is_foreseen(home: Living) -> None:
    text = FAR.replace(" WHERE", " WITHIN [2024-03-01T09:00:00, 2024-03-01T09:00:30) WHERE")
    home.deploy(text, "far")
    home.load("Gps", [update("c1", 10, 0.0, 20.0)])
    home.drain()
    assert rows_of(home, "far") == ["insert 25-30 at 5"]
    home.load("Gps", [update("c1", 31, 0.0, 0.0)])
    home.drain()
    home.load("Gps", [update("c1", 50, 0.0, 0.0)])
    home.drain()
    assert rows_of(home, "far") == ["insert 25-30 at 5"]
    assert home.deployments["far"].status.state == "finished"


def test_what_holds_for_ever_is_foreseen_for_ever(home: Living) -> None:
    home.deploy(FAR.replace("Gps", "Still"), "far")
    home.load("Still", [update("c1", 10, 400.0, 0.0)])
    home.drain()
    home.load("Still", [update("c1", 20, 0.0, 0.0)])
    home.drain()
    rows = home.deployments["far"].table()
    assert rows["change"].to_pylist() == ["insert", "delete", "insert"]
    assert f"{rows['valid_to'][2].as_py():%M:%S}" == "00:20"


def tasks_of(home: Living, monkeypatch: pytest.MonkeyPatch) -> list[Task]:
    seen: list[Task] = []
    run = TaskDispatcher.run
    monkeypatch.setattr(
        TaskDispatcher, "run", lambda self, batch, *more: seen.extend(batch.tasks) or run(self, batch, *more)
    )
    return seen


def test_who_does_not_foretell_looks_at_nothing_ahead(home: Living, monkeypatch: pytest.MonkeyPatch) -> None:
    home.deploy(FAR.replace("TENTATIVE ", ""), "far")
    seen = tasks_of(home, monkeypatch)
    home.load("Gps", [update("c1", 10, 0.0, 20.0)])
    home.drain()
    assert [task.ahead for task in seen] == [None]
    assert not any(task.files[0] for task in seen)


def test_a_statement_that_catches_up_tells_what_is_over_and_looks_ahead_when_it_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Living(tmp_path / "home", MemoryDisk(), rows_per_batch=3) as home:
        home.declare(DECLARED)
        for second in range(0, 200, 10):
            home.load("Gps", [update("c1", second, float(second % 20), 100.0)])
        home.deploy(FAR.replace(" WHERE", " WITHIN [2024-03-01T00:00:00, ) WHERE"), "far")
        seen = tasks_of(home, monkeypatch)
        home.drain()
        looked = [task.ahead is not None for task in seen]
        assert len(looked) > 3
        assert looked == [*([False] * (len(looked) - 1)), True]
        assert {row["change"] for row in home.rows("far")} == {"insert"}
        assert rows_of(home, "far")[-1].startswith("insert 192.9-220")


def test_workers_know_what_lies_ahead(tmp_path: Path) -> None:
    shared: list[int] = []

    def workers(function: Any, shares: list[Any]) -> list[Any]:
        assert function is run_share
        shared.extend(len(share.tasks) for share in shares)
        return [function(share) for share in shares]

    job: dict[str, Any] = {"shards": 4, "parallelism": 2, "workers": workers, "rows_on_driver": 1}
    with Living(tmp_path / "home", MemoryDisk(), **job) as home:
        home.declare(DECLARED)
        home.deploy(FAR, "far")
        home.load("Gps", [update(f"c{i}", 10, 0.0, 20.0) for i in range(9)])
        home.drain()
        assert shared
        assert rows_of(home, "far") == ["insert 25-40 at 5"] * 9
        home.load("Gps", [update(f"c{i}", 11, 0.0, 0.0) for i in range(9)])
        home.drain()
        assert rows_of(home, "far")[9:] == ["delete 25-40 at 6"] * 9


def test_rows_that_were_told_cannot_be_counted_off(tmp_path: Path) -> None:
    """How many there are depends on when the statement looked, so it fails rather than tell a wrong rest."""
    disk = MemoryDisk()
    with Living(tmp_path / "home", disk) as home:
        home.declare(DECLARED)
        home.deploy(FAR, "far")
        home.load("Gps", [update("c1", 10, 0.0, 20.0)])
        home.drain()
        files = list(home.log.home.states.iterdir())
    for path in files:
        path.unlink()
    with Living(tmp_path / "home", disk) as home:
        home.load("Gps", [update("c1", 12, 0.0, 0.0)])
        home.drain()
        status = home.deployments["far"].status
        assert status.state == "failed"
        assert "replace=True" in str(status.last_error)
