"""Events and statements that nobody would wish for, and what a deployed statement makes of them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from presage.errors import PresageError
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


def test_an_upper_bound_that_is_included_waits_for_all_events_of_that_time(home: Living) -> None:
    within = "WITHIN [2024-01-01, 2024-01-01T00:00:05]"
    home.deploy(f"SELECT n FROM Tick {within}", "bounded")
    home.deploy(f"INSERT INTO Seen SELECT sym, n FROM Tick {within} OUTPUT ALL EVERY 1 sec", "seen")
    for n, second in ((1, 4), (2, 5), (3, 5), (4, 6)):
        home.load("Tick", [{"sym": "a", "n": n, "at": f"2024-01-01T00:00:0{second}"}])
        home.drain()
    assert [row["n"] for row in home.rows("bounded")] == [1, 2, 3]
    assert [row["n"] for row in home.rows("seen")] == [1, 2, 3]
    assert home.deployments["bounded"].status.state == "finished"


def test_a_statement_that_is_stopped_or_replaced_takes_in_what_had_come(home: Living) -> None:
    for name in ("stopped", "replaced"):
        home.deploy("SELECT n FROM Tick", name)
    old = home.deployments["replaced"]
    home.load("Tick", [{"sym": "a", "n": 1, "at": "2024-01-01"}])
    home.stop("stopped")
    home.deploy("SELECT n + 1 AS n FROM Tick", "replaced", replace=True)
    assert [row["n"] for row in home.rows("stopped")] == [1]
    assert old.table()["n"].to_pylist() == [1]


@pytest.mark.parametrize("name", ["", "  ", 5, b"x", "a\nb", "\x00", "\ud800", " a", "x" * 201])
def test_a_name_that_cannot_be_shown_is_refused(home: Living, name: Any) -> None:
    with pytest.raises(PresageError, match="the name of a statement") as refused:
        home.deploy("SELECT n FROM Tick", name)
    assert refused.value.code == "BAD_VALUE"
    assert len(str(refused.value)) < 400


@pytest.mark.parametrize("after", [-2, 1.5, "1"])
def test_a_subscription_begins_at_a_row_that_can_be(home: Living, after: Any) -> None:
    with pytest.raises(PresageError, match="after"):
        home.deploy("SELECT n FROM Tick", "all").subscribe(print, after=after)


def test_a_subscriber_may_stop_its_statement_and_may_not_wait_for_itself(home: Living) -> None:
    live = home.deploy("SELECT n FROM Tick", "all")
    refused: list[str] = []

    def once(row: Any) -> None:
        try:
            live.drain()
        except PresageError as problem:
            refused.append(problem.code)
        live.stop()

    subscription = live.subscribe(once)
    begun = time.monotonic()
    home.load("Tick", [{"sym": "a", "n": n, "at": f"2024-01-01T00:00:0{n}"} for n in range(3)])
    home.drain()
    while live.status.state != "stopped" and time.monotonic() < begun + 30:
        time.sleep(0.01)
    subscription.cancel()
    assert live.status.state == "stopped"
    assert refused == ["UNSUPPORTED"]
    assert subscription.error is None


@pytest.mark.parametrize("mode", ["LAST", "SNAPSHOT"])
@pytest.mark.parametrize("within", ["", "WITHIN [now, )", "WITHIN [2024-01-01, )"])
def test_output_at_an_end_that_never_comes_is_refused_by_name(home: Living, mode: str, within: str) -> None:
    with pytest.raises(PresageError) as refused:
        home.deploy(f"SELECT sym, sum(n) AS s FROM Tick {within} GROUP BY sym OUTPUT {mode}", "sums")
    assert refused.value.message == (
        f"OUTPUT {mode} without EVERY is not supported in a deployed statement that has no end"
    )
    assert "WITHIN [, '2030-01-01')" in (refused.value.fix or "")
    home.deploy(f"SELECT sum(n) AS s FROM Tick WITHIN [, '2030-01-01') OUTPUT {mode}", "sums")


def test_an_empty_range_is_the_only_problem_of_an_output_at_its_end(home: Living) -> None:
    with pytest.raises(PresageError) as refused:
        home.deploy("SELECT sum(n) AS s FROM Tick WITHIN [2024-01-01, 2024-01-01) OUTPUT LAST", "sums")
    assert "has no end" not in str(refused.value)
    assert refused.value.code == "BAD_VALUE"


def test_waiting_for_a_home_that_is_closed_ends_with_that(home: Living) -> None:
    live = home.deploy("SELECT n FROM Tick", "all")
    home.load("Tick", [{"sym": "a", "n": 1, "at": "2024-01-01"}])
    home.deployments.close()
    with pytest.raises(PresageError) as closed:
        live.drain()
    assert closed.value.code == "ENGINE_CLOSED"


def test_a_statement_over_nothing_waits_and_costs_nothing(home: Living) -> None:
    home.deploy("SELECT sym, count(*) AS c FROM Tick#time_batch(1 sec) GROUP BY sym", "counts")
    home.load("Tick", [])
    home.drain()
    statement = home.deployments.job.find("counts")
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
    failed = home.deployments.job.find("ticks")
    assert failed is not None
    assert Path(path).name in failed.error
    Path(path).write_bytes(data)
    home.deployments["ticks"].resume()
    home.drain()
    assert [row["n"] for row in home.rows("ticks")] == [1]
