"""The events of each match beside its row: the same whenever the statement is followed, and never those of another."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from presage import Engine
from presage.live.deployment import Deployment
from presage.live.match_trace import Events
from presage.model.time import parse_timestamp

PAIRS = """
SELECT a.v AS was, b.v AS now FROM PATTERN [ EVERY a=Pulse(v > 5) -> b=Pulse(v > a.v) WHERE timer:within(30 sec) ]
WHERE a.v < 50
"""
RUNS = """
SELECT v FROM Pulse MATCH_RECOGNIZE ( PARTITION BY sensor MEASURES LAST(B.v) AS v PATTERN (A B+ C)
  DEFINE B AS B.v > PREV(B.v), C AS C.v < A.v )
"""
REPEATED = "SELECT a[0].v AS v FROM PATTERN [ EVERY [2] a=Pulse(v > 5) -> b=Pulse(v < 5) ]"


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with Engine(home=tmp_path / "home", live=False, driven=False) as made:
        made.execute("CREATE STREAM Pulse (sensor STRING, v DOUBLE, at TIMESTAMP) EVENT TIME at;")
        yield made


def pulses(engine: Engine, values: list[float], since: int = 0) -> None:
    times = [f"2024-03-01T09:00:{since + i:02}Z" for i in range(len(values))]
    engine.load("Pulse", [{"sensor": "s", "v": v, "at": at} for v, at in zip(values, times, strict=True)])
    for deployment in engine.deployments.values():
        deployment.drain()


def events_of_rows(deployment: Deployment) -> list[list[tuple[str, int]] | None]:
    tracing = deployment.trace()
    deployment.follow(tracing)
    return [seconds(events) for events in tracing.of(0, deployment.table())]


def seconds(events: Events | None) -> list[tuple[str, int]] | None:
    start = parse_timestamp("2024-03-01T09:00:00Z")
    assert start is not None
    return None if events is None else [(name, (time - start) // 1_000_000) for name, time in events]


def test_a_row_of_a_pattern_has_its_events_by_their_tags(engine: Engine) -> None:
    deployment = engine.deploy(PAIRS, "pairs")
    pulses(engine, [6, 7, 60, 61, 0])
    assert deployment.table().num_rows == 2  # WHERE leaves out what begins with 60
    assert events_of_rows(deployment) == [[("a", 0), ("b", 1)], [("a", 1), ("b", 2)]]


def test_a_row_of_match_recognize_has_its_rows_by_their_variables(engine: Engine) -> None:
    deployment = engine.deploy(RUNS, "runs")
    pulses(engine, [6, 7, 8, 3, 9, 1])
    assert events_of_rows(deployment) == [[("A", 0), ("B", 1), ("B", 2), ("C", 3)]]


def test_a_repeated_tag_has_all_of_its_events(engine: Engine) -> None:
    deployment = engine.deploy(REPEATED, "repeated")
    pulses(engine, [6, 7, 1, 0])
    assert events_of_rows(deployment) == [[("a", 0), ("a", 1), ("b", 2)]]


def test_what_follows_in_steps_is_what_is_seen_at_once(engine: Engine) -> None:
    deployment = engine.deploy(PAIRS, "pairs")
    tracing = deployment.trace()
    for i, part in enumerate(([6, 7], [6, 8, 9], [1, 10, 0])):
        pulses(engine, part, 10 * i)
        deployment.follow(tracing)
    rows = deployment.table()
    assert rows.num_rows > 3
    assert [seconds(events) for events in tracing.of(0, rows)] == events_of_rows(deployment)
    assert [seconds(events) for events in tracing.of(2, rows.slice(2))] == events_of_rows(deployment)[2:]


def test_a_row_that_was_not_made_again_has_no_events(engine: Engine) -> None:
    deployment = engine.deploy(PAIRS, "pairs")
    pulses(engine, [6, 7, 8, 0])
    tracing = deployment.trace()
    deployment.follow(tracing)
    assert None not in tracing.of(0, deployment.table())
    assert tracing.of(1, deployment.table()) == [None, None]  # by other numbers they are other rows


def test_a_statement_without_a_pattern_tells_no_events(engine: Engine) -> None:
    deployment = engine.deploy("SELECT v FROM Pulse", "plain")
    pulses(engine, [6, 7, 0])
    tracing = deployment.trace()
    deployment.follow(tracing)
    assert not tracing.possible
    assert set(map(str, events_of_rows(deployment))) == {"None"}
