"""Rows of probabilistic streams: what makes no distribution is rejected, in one load and over all loads."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from presage.errors import PresageError
from presage.model.catalog import EventType
from presage.storage import Log, SourceOffsets
from presage.storage.committer import Committer
from unit.declared import workspace

DECLARED = """
CREATE STREAM At (person STRING, place STRING, at TIMESTAMP) EVENT TIME at KEY (person) PROBABILISTIC (place)
  WITH (max_delay = '10 sec');
CREATE STREAM Moves (person STRING, place STRING, floor INT, at TIMESTAMP) EVENT TIME at KEY (person)
  PROBABILISTIC MARKOV (place, floor) WITH (max_delay = '10 sec');
"""
TYPES = workspace(DECLARED).catalog.types
AT, MOVES = TYPES["At"], TYPES["Moves"]
FEED = SourceOffsets("feed", "offset")


def row(person: object, second: int, place: object, probability: object, **more: object) -> dict[str, object]:
    when = f"2024-01-01T00:00:{second:02d}"
    return {"person": person, "at": when, "place": place, "probability": probability, **more}


def move(
    second: int, now: tuple[str, int], before: tuple[str | None, int | None], probability: float
) -> dict[str, Any]:
    given = {"prev_place": before[0], "prev_floor": before[1]}
    return row("joe", second, now[0], probability, floor=now[1], **given)


def stored(log: Log, event_type: EventType = AT) -> list[tuple[object, ...]]:
    names = ["person", "place", "probability"]
    table = log.archive.read_arrow(log.archive.snapshot(event_type.name), names)
    return [tuple(found.values()) for found in table.to_pylist()]


def reasons(log: Log, event_type: EventType = AT) -> list[str]:
    found: list[str] = log.archive.read_rejected(event_type.name)["reason"].to_pylist()
    return found


@pytest.fixture
def log() -> Iterator[Log]:
    with Log.open() as log:
        log.create_stream(AT)
        log.create_stream(MOVES)
        yield log


def test_the_archive_has_the_columns_of_probability(log: Log) -> None:
    log.append(AT, [row("joe", 1, "hall", 0.5)])
    columns = log.archive.snapshot("At").schema.names
    assert columns == ["_seq", "_t", "person", "place", "at", "probability"]
    columns = log.archive.snapshot("Moves").schema.names
    assert columns[2:] == ["person", "place", "floor", "at", "probability", "prev_place", "prev_floor"]


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (row("joe", 1, "hall", None), "'probability' is null, it must be a number from 0 to 1"),
        (row("joe", 1, "hall", float("nan")), "'probability' must be a number from 0 to 1, found NaN"),
        (row("joe", 1, "hall", -0.1), "'probability' must be a number from 0 to 1, found -0.1"),
        (row("joe", 1, "hall", 1.1), "'probability' must be a number from 0 to 1, found 1.1"),
        (row(None, 1, "hall", 0.5), "'person' of KEY is null"),
        (
            row("joe", 1, None, 0.5),
            "the uncertain attribute 'place' is null: that nothing happened is the mass that is left out",
        ),
    ],
)
def test_a_row_that_is_wrong_by_itself_is_rejected(log: Log, given: dict[str, object], reason: str) -> None:
    report = log.append(AT, [row("sue", 1, "hall", 0.5), given])
    assert (report.accepted, report.rejected) == (1, 1)
    person = "null" if given["person"] is None else '"joe"'
    assert reasons(log) == [f"{reason} (person = {person} at 2024-01-01T00:00:01Z)"]


def test_a_row_without_the_column_probability_is_rejected(log: Log) -> None:
    assert log.append(AT, [{"person": "joe", "place": "hall", "at": "2024-01-01"}]).rejected == 1


@pytest.mark.parametrize("chances", [[1.0], [0.0, 1.0], [0.1] * 10, [1 / 3] * 3, [0.5, 0.5 + 9e-10]])
def test_a_distribution_sums_to_one_within_the_tolerance(log: Log, chances: list[float]) -> None:
    report = log.append(AT, [row("joe", 1, f"p{i}", p) for i, p in enumerate(chances)])
    assert (report.accepted, report.rejected) == (len(chances), 0)


def test_a_distribution_past_one_is_rejected_as_a_whole(log: Log) -> None:
    rows = [row("joe", 1, "hall", 0.7), row("sue", 1, "hall", 0.7), row("joe", 2, "hall", 1), row("joe", 1, "lab", 0.4)]
    report = log.append(AT, rows)
    assert (report.accepted, report.rejected) == (2, 2)
    assert stored(log) == [("sue", "hall", 0.7), ("joe", "hall", 1.0)]
    why = 'the distribution of person = "joe" at 2024-01-01T00:00:01Z sums to 1.1, more than 1'
    assert reasons(log) == [why, why]


def test_just_past_the_tolerance_is_too_much(log: Log) -> None:
    assert log.append(AT, [row("joe", 1, "hall", 0.5), row("joe", 1, "lab", 0.5 + 2e-9)]).rejected == 2


def test_rows_of_earlier_loads_count(log: Log) -> None:
    assert log.append(AT, [row("joe", 1, "hall", 0.6), row("joe", 9, "hall", 0.6)]).rejected == 0
    assert log.append(AT, [row("joe", 1, "lab", 0.6), row("joe", 9, "lab", 0.4)]).rejected == 1
    assert log.append(AT, [row("joe", 1, "lab", 0.4)]).rejected == 0
    assert log.append(AT, [row("joe", 1, "den", 0.1)]).rejected == 1
    assert [found[1:] for found in stored(log)] == [("hall", 0.6), ("hall", 0.6), ("lab", 0.4), ("lab", 0.4)]
    assert 'person = "joe" at 2024-01-01T00:00:01Z sums to 1.2, more than 1' in reasons(log)[0]


def test_a_rejected_distribution_leaves_its_mass_free(log: Log) -> None:
    assert log.append(AT, [row("joe", 1, "hall", 0.6), row("joe", 1, "lab", 0.6)]).rejected == 2
    assert log.append(AT, [row("joe", 1, "hall", 0.6), row("joe", 1, "lab", 0.4)]).rejected == 0


def test_an_alternative_is_given_once(log: Log) -> None:
    assert (
        log.append(AT, [row("joe", 1, "hall", 0.2), row("joe", 1, "hall", 0.3), row("joe", 1, "lab", 0.8)]).rejected
        == 1
    )
    assert log.append(AT, [row("joe", 1, "lab", 0.0), row("sue", 1, "lab", 0.2)]).rejected == 1
    assert stored(log) == [("joe", "hall", 0.2), ("joe", "lab", 0.8), ("sue", "lab", 0.2)]
    why = 'is there already in the distribution of person = "joe" at 2024-01-01T00:00:01Z'
    assert reasons(log) == [f'the alternative place = "hall" {why}', f'the alternative place = "lab" {why}']


def test_of_a_markov_stream_each_state_before_has_a_distribution(log: Log) -> None:
    hall, lab, nothing = ("hall", 0), ("lab", 1), (None, None)
    rows = [
        move(1, hall, nothing, 0.5),
        move(1, lab, nothing, 0.5),
        move(2, hall, hall, 0.9),
        move(2, hall, lab, 0.9),
        move(2, lab, lab, 0.2),
        move(2, hall, nothing, 1.0),
        move(2, hall, ("hall", 1), 1.0),
    ]
    assert log.append(MOVES, rows).rejected == 2
    given = 'given prev_place = "lab", prev_floor = 1 sums to 1.1, more than 1'
    assert all(given in why for why in reasons(log, MOVES))


@pytest.mark.parametrize("before", [("hall", None), (None, 1)])
def test_the_step_before_is_given_as_a_whole(log: Log, before: tuple[str | None, int | None]) -> None:
    assert log.append(MOVES, [move(2, ("hall", 0), before, 0.9)]).rejected == 1
    assert "some of 'prev_place', 'prev_floor' are null and some are not" in reasons(log, MOVES)[0]


def test_several_uncertain_attributes_are_one_value(log: Log) -> None:
    rows = [move(1, (place, floor), (None, None), 0.25) for place in ("hall", "lab") for floor in (0, 1)]
    assert log.append(MOVES, rows).rejected == 0
    assert log.append(MOVES, [move(1, ("lab", 1), (None, None), 0.0)]).rejected == 1


def test_late_rows_are_late_and_belong_to_no_distribution(log: Log) -> None:
    log.append(AT, [row("joe", 1, "hall", 0.9), row("joe", 30, "hall", 0.9)])
    report = log.append(AT, [row("joe", 1, "lab", 0.9), row("joe", 25, "lab", 0.9), row("joe", 1, "lab", 1.5)])
    assert (report.accepted, report.late, report.rejected) == (1, 1, 1)
    again = [row("sue", 1, "lab", 0.9), row("sue", 1, "hall", 0.9), row("sue", 1, "hall", 0.9)]
    assert log.append(AT, again).late == 3


def test_after_a_restart_earlier_rows_still_count(tmp_path: Path) -> None:
    with Log.open(tmp_path) as log:
        log.create_stream(AT)
        log.create_stream(MOVES)
        log.append(AT, [row("joe", 1, "hall", 0.6), row("joe", 9, "hall", 0.6)])
        log.append(MOVES, [move(1, ("hall", 1), (None, None), 0.6)])
    with Log.open(tmp_path) as log:
        assert log.append(AT, [row("joe", 1, "lab", 0.6), row("joe", 9, "hall", 0.1)]).rejected == 2
        assert log.append(AT, [row("joe", 1, "lab", 0.4), row("joe", 9, "lab", 0.4)]).rejected == 0
        assert log.append(MOVES, [move(1, ("hall", 2), (None, None), 0.6)]).rejected == 1


def test_a_load_that_failed_leaves_nothing_behind(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    log.append(AT, [row("joe", 1, "hall", 0.6)])

    def fail(*_: object) -> None:
        raise OSError("no")

    with monkeypatch.context() as patch:
        patch.setattr(Committer, "publish", fail)
        with pytest.raises(PresageError, match="no"):
            log.append(AT, [row("joe", 1, "lab", 0.4)])
    assert log.append(AT, [row("joe", 1, "den", 0.4)]).accepted == 1
    assert log.append(AT, [row("joe", 1, "loft", 0.1)]).rejected == 1


def test_a_stream_that_is_declared_anew_starts_empty(log: Log) -> None:
    log.append(AT, [row("joe", 1, "hall", 1)])
    log.drop_stream("At")
    log.create_stream(AT)
    assert log.append(AT, [row("joe", 1, "lab", 1)]).accepted == 1


def test_numbered_rows_are_judged_when_they_are_let_in(log: Log) -> None:
    first = [row("joe", 1, "hall", 0.6, offset=0), row("joe", 1, "den", 0.4, offset=2)]
    report = log.append(AT, first, source=FEED)
    assert (report.accepted, report.held) == (1, 1)
    report = log.append(AT, [row("joe", 1, "lab", 0.3, offset=1), row("joe", 2, "lab", 0.3, offset=3)], source=FEED)
    assert (report.accepted, report.rejected, report.held) == (1, 2, 0)
    assert log.append(AT, first, source=FEED).duplicates == 2
    assert stored(log) == [("joe", "hall", 0.6), ("joe", "lab", 0.3)]


@pytest.mark.parametrize("kind", ["dicts", "arrow", "pandas"])
def test_rows_of_every_kind_are_judged(log: Log, kind: str) -> None:
    rows = [row("joe", 1, "hall", 0.7), row("joe", 1, "lab", 0.7), row("sue", 1, "lab", 0.7)]
    data = {"dicts": rows, "arrow": pa.Table.from_pylist(rows), "pandas": pd.DataFrame(rows)}[kind]
    report = log.append(AT, data)
    assert (report.accepted, report.rejected) == (1, 2)
    assert '"place": "hall"' in log.archive.read_rejected("At")["raw"][0].as_py()
