"""Events that lie before a statement when it is deployed: how many `deploy` tells of."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from presage import Engine

STREAMS = """
CREATE SCHEMA Any (n INT, at TIMESTAMP) EVENT TIME at;
CREATE STREAM Tick INHERITS Any;
CREATE STREAM Tock INHERITS Any;
"""


def loaded(engine: Engine, stream: str, *numbers: int) -> None:
    engine.load(stream, [{"n": n, "at": f"2024-03-01T09:00:{n:02}Z"} for n in numbers])


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with Engine(home=tmp_path / "home", live=False, driven=False) as made:
        made.execute(STREAMS)
        yield made


def warnings_of(engine: Engine, text: str, name: str | None = None) -> list[str]:
    found = engine.deploy(text, name).warnings
    assert all(w.code == "EVENTS_BEFORE_NOW" and "WITHIN [, )" in w.fix for w in found)
    return [w.message.partition(": ")[2] for w in found]


def test_a_statement_says_how_many_events_of_its_streams_came_before_it(engine: Engine) -> None:
    loaded(engine, "Tick", 1, 2, 3)
    loaded(engine, "Tick", 4)
    assert warnings_of(engine, "SELECT n FROM Tick") == ["4 events of Tick"]
    assert warnings_of(engine, "SELECT n FROM Tock") == []
    loaded(engine, "Tock", 5)
    assert warnings_of(engine, "SELECT n FROM Any") == ["4 events of Tick, 1 event of Tock"]
    assert warnings_of(engine, "SELECT a.n FROM PATTERN [ EVERY a=Tock -> b=Tick ]") == [
        "4 events of Tick, 1 event of Tock"
    ]


def test_a_statement_that_says_when_it_begins_is_not_warned_of(engine: Engine) -> None:
    loaded(engine, "Tick", 1)
    for within in ("[, )", "[now, )", "[2024-03-01T00:00, )", "[now - 1 hour, )"):
        assert warnings_of(engine, f"SELECT n FROM Tick WITHIN {within}") == []


def test_rows_of_a_derived_stream_are_counted_as_its_events(engine: Engine) -> None:
    first = engine.deploy("INSERT INTO Big SELECT n FROM Tick WHERE n > 1", "big")
    engine.execute("INSERT INTO Seen SELECT n FROM Tick")
    loaded(engine, "Tick", 1, 2, 3)
    first.drain()
    assert warnings_of(engine, "SELECT n FROM Big") == ["2 events of Big"]
    assert warnings_of(engine, "SELECT n FROM Seen") == ["3 events of Tick"]


def test_history_that_a_recall_looks_at_is_not_missed(engine: Engine) -> None:
    loaded(engine, "Tick", 1, 2, 3)
    recalled = "SELECT e.n, r.c FROM Tock e RECALL ( SELECT count(*) AS c FROM Tick h ) AS r"
    assert warnings_of(engine, recalled) == []


def test_deploying_the_same_text_again_tells_what_the_first_time_told(engine: Engine) -> None:
    loaded(engine, "Tick", 1)
    assert warnings_of(engine, "SELECT n FROM Tick", "one") == ["1 event of Tick"]
    loaded(engine, "Tick", 2)
    assert warnings_of(engine, "SELECT n FROM Tick", "one") == ["1 event of Tick"]
