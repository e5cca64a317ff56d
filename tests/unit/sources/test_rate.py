from __future__ import annotations

from pathlib import Path

import pytest

from presage.model.catalog import Attribute, EventType
from presage.model.types import BOOLEAN, DOUBLE, INT, LONG, STRING, TIMESTAMP, ArrayOf, MapOf, StructOf
from presage.sources import rate
from presage.sources.rate import RateSource
from presage.storage import Log

START = 1_767_225_600_000_000
SECOND = 1_000_000


def stream(**options: str) -> EventType:
    attributes = (
        Attribute("n", LONG),
        Attribute("i", INT),
        Attribute("d", DOUBLE),
        Attribute("b", BOOLEAN),
        Attribute("key", STRING),
        Attribute("at", TIMESTAMP),
        Attribute("several", ArrayOf(LONG)),
        Attribute("where", StructOf((("room", STRING), ("floor", INT)))),
        Attribute("map", MapOf(STRING, LONG)),
    )
    given = {"source": "rate", "start": "2026-01-01T00:00:00Z", **options}
    return EventType("Pulse", "stream", attributes, event_time="at", options=given)


def rows_of(log: Log) -> list[dict[str, object]]:
    return log.archive.read_arrow(log.archive.snapshot("Pulse")).to_pylist()


def run(log: Log, event_type: EventType, now: int) -> None:
    source = RateSource(event_type, lambda: now)
    while (delivery := source.read(log.deliveries.state("Pulse", "rate").cursor)) is not None:
        assert not log.deliver(event_type, delivery).duplicate


def test_rows_come_at_their_rate_and_are_functions_of_their_number(tmp_path: Path) -> None:
    event_type = stream(rows_per_second="4", keys="3")
    with Log.open(tmp_path / "home", durable=False) as log:
        log.create_stream(event_type)
        run(log, event_type, START + 1 * SECOND)
        rows = rows_of(log)
    assert [row["n"] for row in rows] == [0, 1, 2, 3, 4]
    assert [row["key"] for row in rows] == ["key-0", "key-1", "key-2", "key-0", "key-1"]
    assert [row["at"].timestamp() * SECOND - START for row in rows] == [0, 250_000, 500_000, 750_000, 1_000_000]
    assert all(0 <= row["d"] < 1 for row in rows)
    assert rows[1]["several"] == [1]
    assert rows[1]["where"] == {"room": "room-1", "floor": 1}
    assert [row["b"] for row in rows] == [True, False, True, False, True]
    assert rows[0]["map"] is None


@pytest.mark.parametrize("stops", [[], [1], [1, 1, 7], list(range(1, 30))])
def test_stopped_and_started_the_rows_are_those_of_an_undisturbed_run(
    stops: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rate, "ROWS_AT_ONCE", 7)
    event_type = stream(rows_per_second="2.5")
    with Log.open(tmp_path / "home", durable=False) as log:
        log.create_stream(event_type)
        for second in [*stops, 30]:
            run(log, event_type, START + second * SECOND)
        rows = rows_of(log)
    assert [row["n"] for row in rows] == list(range(76))
    assert rows[-1]["at"].timestamp() * SECOND == START + 30 * SECOND


def test_without_a_start_it_begins_now_and_keeps_to_that(tmp_path: Path) -> None:
    event_type = stream()
    options = {name: value for name, value in event_type.options.items() if name != "start"}
    event_type = EventType("Pulse", "stream", event_type.attributes, event_time="at", options=options)
    with Log.open(tmp_path / "home", durable=False) as log:
        log.create_stream(event_type)
        run(log, event_type, START + 5 * SECOND)
        run(log, event_type, START + 7 * SECOND)
        assert [row["at"].timestamp() * SECOND - START for row in rows_of(log)] == [5e6, 6e6, 7e6]


def test_a_source_with_a_number_of_rows_ends(tmp_path: Path) -> None:
    event_type = stream(rows="3", rows_per_second="1000")
    source = RateSource(event_type, lambda: START + SECOND)
    delivery = source.read(None)
    assert delivery is not None
    assert delivery.arrivals[0].checked.table.num_rows == 3
    assert source.read(delivery.cursor) is None
    assert source.finished


def test_it_says_when_to_ask_again() -> None:
    source = RateSource(stream(rows_per_second="0.1"), lambda: START + SECOND)
    assert source.read({"start": START, "next": 1}) is None
    assert source.pause == pytest.approx(9)
    early = RateSource(stream(start="2027-01-01T00:00:00Z"), lambda: START)
    assert early.read(None) is None
