"""Events and statements that nobody would wish for, and what a standing statement makes of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from presage.live.statement import RUNNING
from recovery.living import Living

STREAM = "CREATE STREAM Tick (sym STRING, n INT, at TIMESTAMP) EVENT TIME at"


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Living]:
    with Living(tmp_path / "home") as made:
        made.declare(STREAM)
        yield made


def test_a_division_by_zero_is_null_and_the_statement_goes_on(home: Living) -> None:
    home.deploy("SELECT 10 / n AS q, n % 0 AS r FROM Tick", "divides")
    home.load("Tick", [{"sym": "a", "n": n, "at": f"2024-01-01T00:00:0{n}"} for n in (0, 5)])
    home.drain()
    assert [(row["q"], row["r"]) for row in home.rows("divides")] == [(None, None), (2.0, None)]


def test_an_event_from_the_year_9999_does_not_take_time_along(home: Living) -> None:
    home.deploy("SELECT n FROM Tick", "all")
    home.load("Tick", [{"sym": "a", "n": 1, "at": "2024-01-01T00:00:01"}, {"sym": "a", "n": 2, "at": "9999-12-31"}])
    home.load("Tick", [{"sym": "a", "n": 3, "at": "2024-01-01T00:00:02"}])
    home.drain()
    assert [row["n"] for row in home.rows("all")] == [1, 3]
    assert "max_ahead" in home.log.archive.read_rejected("Tick")["reason"][0].as_py()


def test_a_text_of_ten_megabytes_goes_through_rows_and_states(home: Living) -> None:
    home.deploy("SELECT sym, count(*) AS c FROM Tick#length(2) GROUP BY sym", "counts")
    long = "x" * 10_000_000
    for second in range(2):
        home.load("Tick", [{"sym": long, "n": 1, "at": f"2024-01-01T00:00:0{second}"}])
        home.drain()
    assert [(len(row["sym"]), row["c"]) for row in home.rows("counts")] == [(10_000_000, 1), (10_000_000, 2)]


def test_events_that_are_too_late_are_seen_by_no_statement(home: Living) -> None:
    home.deploy("SELECT n FROM Tick", "all")
    home.load("Tick", [{"sym": "a", "n": 1, "at": "2024-01-01T00:00:09"}])
    home.load("Tick", [{"sym": "a", "n": 2, "at": "2024-01-01T00:00:05"}])
    home.drain()
    assert [row["n"] for row in home.rows("all")] == [1]


def test_a_statement_over_nothing_waits_and_costs_nothing(home: Living) -> None:
    home.deploy("SELECT sym, count(*) AS c FROM Tick#time_batch(1 sec) GROUP BY sym", "counts")
    home.load("Tick", [])
    home.drain()
    statement = home.standing.job.find("counts")
    assert statement is not None
    assert (statement.status, statement.rows_in, statement.rows_out, statement.states) == (RUNNING, 0, 0, {})


def test_a_data_file_that_is_gone_stops_only_those_that_need_it(home: Living) -> None:
    home.declare("CREATE STREAM Other (n INT, at TIMESTAMP) EVENT TIME at")
    home.deploy("SELECT n FROM Tick", "ticks")
    home.deploy("SELECT n FROM Other", "others")
    home.load("Tick", [{"sym": "a", "n": 1, "at": "2024-01-01"}])
    home.load("Other", [{"n": 2, "at": "2024-01-01"}])
    (path,) = home.log.archive.snapshot("Tick").paths
    data = Path(path).read_bytes()
    Path(path).unlink()
    home.drain()
    assert [row["n"] for row in home.rows("others")] == [2]
    failed = home.standing.job.find("ticks")
    assert failed is not None
    assert Path(path).name in failed.error
    Path(path).write_bytes(data)
    home.standing["ticks"].resume()
    home.drain()
    assert [row["n"] for row in home.rows("ticks")] == [1]
