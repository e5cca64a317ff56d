"""Queries over predicted streams through the engine: batch on Spark, through the driver, deployed, after a restart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from presage import Engine
from presage.sensors import Linear, Sensor

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DECLARED = """
CREATE STREAM Gps (car STRING, fleet STRING, x DOUBLE, y DOUBLE, at TIMESTAMP) EVENT TIME at KEY (car)
  PREDICTED (x, y) WITH (threshold = 25, period = '30 sec', max_delay = '5 sec');
CREATE STREAM Temp (building STRING, room LONG, temp DOUBLE, at TIMESTAMP) EVENT TIME at KEY (building, room)
  PREDICTED (temp) WITH (threshold = 2, period = '1 min');
CREATE RELATION Owner (fleet STRING, name STRING) VALUES ('taxi', 'Ann'), ('post', 'Bob');
"""
FOR_ALL = "WITHIN [2024-03-01T00:00, )"
QUERIES = {
    "value": f"SELECT s.car, s.x FROM PREDICTED Gps s {FOR_ALL} WHERE s.x > 300",
    "may": f"SELECT s.car FROM PREDICTED Gps s {FOR_ALL} WHERE MAY (s.x > 300)",
    "join": f"""SELECT a.car, b.car, a.x FROM PREDICTED Gps a JOIN PREDICTED Gps b WINDOW 3 sec
      ON ABS(a.x - b.x) <= 100 AND ABS(a.y - b.y) <= 400 {FOR_ALL}""",
    "likely": f"""SELECT a.car, b.car FROM PREDICTED Gps a JOIN PREDICTED Gps b ON ABS(a.x - b.x) <= 100 {FOR_ALL}
      WHERE a.car < b.car WITH PROBABILITY >= 0.5""",
    "parts": f"SELECT s.car, s.x FROM PREDICTED Gps s {FOR_ALL} WHERE s.x > 300 VALIDATE EVERY 7 sec",
    "owner": f"""SELECT s.car, o.name FROM PREDICTED Gps(fleet <> 'bus') s JOIN Owner o ON o.fleet = s.fleet {FOR_ALL}
      WHERE s.x > 300""",
    "count": f"SELECT s.fleet, count(*) AS n FROM PREDICTED Gps s {FOR_ALL} WHERE s.x > 300 GROUP BY s.fleet",
}


def moment(second: int) -> str:
    return f"2024-03-01T09:{second // 60:02}:{second % 60:02}Z"


def update(car: str, fleet: str | None, second: int, x: float | None, rate: float, y: float = 0.0) -> dict[str, Any]:
    values = {"x_value": x, "x_rate": rate, "y_value": y, "y_rate": 0.0}
    return {"car": car, "fleet": fleet, "at": moment(second), **values}


# In the order of arrival: two come late, and not too late.
UPDATES = [
    update("c1", "taxi", 0, 0.0, 20.0),
    update("c2", "post", 0, 1000.0, -20.0),
    update("c3", "post", 5, 400.0, 0.0, 300.0),
    update("ü4", "bus", 22, 350.0, 10.0),
    update("c1", "taxi", 20, 400.0, 0.0),
    update("c2", "post", 31, 420.0, 0.0),
    update("c3", None, 27, 380.0, -1.0, 200.0),
    update("c1", "taxi", 45, None, 0.0),
    update("c2", "post", 50, 400.0, 5.0),
]


@pytest.fixture
def engine(spark: SparkSession, tmp_path: Path) -> Iterator[Engine]:
    with Engine(spark, tmp_path / "home", roots=[tmp_path]) as made:
        made.execute(DECLARED)
        yield made


def load(engine: Engine, updates: list[dict[str, Any]] = UPDATES) -> None:
    for one in updates:
        engine.load("Gps", [one])


def rows(result: Any) -> list[dict[str, Any]]:
    return [dict(row) for row in result.to_arrow().to_pylist()]


def near(some: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{n: pytest.approx(v, abs=1e-9) if isinstance(v, float) else v for n, v in row.items()} for row in some]


def test_batch_and_stream_have_the_same_rows_however_they_are_cut(engine: Engine) -> None:
    load(engine)
    for name, batches in (("join", 3), ("parts", 7), ("owner", 2)):
        whole = rows(engine.query(QUERIES[name]))
        assert whole, name
        assert rows(engine.query(QUERIES[name], mode="stream", batches=batches)) == near(whole), name


def test_rows_say_when_two_cars_were_near(engine: Engine) -> None:
    load(engine)
    own = [row for row in rows(engine.query(QUERIES["join"])) if row["a.car"] == "c1"]
    assert all(row["at"] == row["valid_to"] for row in own)
    assert [(row["b.car"], f"{row['valid_from']:%M:%S}", f"{row['valid_to']:%M:%S}") for row in own] == [
        ("ü4", "00:22", "00:40"),
        ("c2", "00:25", "00:48"),
        ("c3", "00:15", "00:48"),
    ]


def test_a_standing_statement_releases_what_no_late_update_can_change(engine: Engine) -> None:
    deployments = {name: engine.deploy(text, name=name) for name, text in QUERIES.items()}
    for done, one in enumerate(UPDATES, 1):
        engine.load("Gps", [one])
        if done == 6:
            for name, text in QUERIES.items():
                deployments[name].drain(timeout=60)
                released = rows(deployments[name].results())
                assert released == near(rows(engine.query(text))[: len(released)]), name
    engine.advance("Gps", moment(200))
    for name, text in QUERIES.items():
        deployments[name].drain(timeout=60)
        assert deployments[name].status.last_error is None
        assert rows(deployments[name].results()) == near(rows(engine.query(text))), name


def test_a_home_that_is_closed_in_the_middle_goes_on(spark: SparkSession, tmp_path: Path) -> None:
    text = QUERIES["join"]
    with Engine(spark, tmp_path / "home") as engine:
        engine.execute(DECLARED)
        engine.deploy(text, name="near")
        load(engine, UPDATES[:6])
        engine.deployments["near"].drain(timeout=60)
    with Engine(spark, tmp_path / "home") as engine:
        load(engine, UPDATES[6:])
        engine.advance("Gps", moment(200))
        live = engine.deployments["near"]
        live.drain(timeout=60)
        assert live.status.last_error is None
        found = rows(live.results())
        assert found
        assert found == near(rows(engine.query(text)))


def values_of(row: dict[str, Any]) -> tuple[str, ...]:
    return tuple(str(value) for name, value in row.items() if name not in ("at", "change"))


def net(changes: list[dict[str, Any]]) -> Counter[tuple[str, ...]]:
    """What was told and not taken back."""
    found: Counter[tuple[str, ...]] = Counter()
    for row in changes:
        found[values_of(row)] += 1 if row["change"] == "insert" else -1
    return +found


def test_what_has_arrived_is_foretold_at_once_and_in_the_end_what_held(engine: Engine) -> None:
    text = QUERIES["join"].replace("SELECT", "SELECT TENTATIVE")
    live = engine.deploy(text, name="soon")
    for number, one in enumerate(UPDATES):
        engine.load("Gps", [one])
        live.drain(timeout=60)
        if number in (1, 4, 6, 7):
            assert net(rows(live.results())) == Counter(map(values_of, rows(engine.query(QUERIES["join"]))))
    engine.advance("Gps", moment(200))
    live.drain(timeout=60)
    changes = rows(live.results())
    assert {row["change"] for row in changes} == {"insert", "delete"}
    held = Counter(map(values_of, rows(engine.query(QUERIES["join"]))))
    assert net(changes) == held
    replayed = rows(engine.query(text, mode="stream", batches=4))
    assert {row["change"] for row in replayed} == {"insert", "delete"}
    assert net(replayed) == net(rows(engine.query(text))) == held


def test_shards_on_workers_foretell_as_one(spark: SparkSession, tmp_path: Path) -> None:
    text = QUERIES["value"].replace("SELECT", "SELECT TENTATIVE")
    with Engine(spark, tmp_path / "home", rows_on_driver=0) as engine:
        engine.execute(DECLARED)
        live = engine.deploy(text, name="soon")
        for some in (UPDATES[:4], UPDATES[4:7], UPDATES[7:]):
            engine.load("Gps", some)
            live.drain(timeout=60)
            assert net(rows(live.results())) == Counter(map(values_of, rows(engine.query(QUERIES["value"]))))


def test_rows_become_a_stream_that_others_read(engine: Engine) -> None:
    engine.execute("""
        INSERT INTO Meeting SELECT a.car AS one, b.car AS other, valid_from
          FROM PREDICTED Gps a JOIN PREDICTED Gps b ON ABS(a.x - b.x) <= 100 WHERE a.car < b.car;
    """)
    load(engine)
    met = rows(engine.query("SELECT one, other, valid_from FROM Meeting"))
    direct = rows(
        engine.query(f"""SELECT a.car, b.car FROM PREDICTED Gps a JOIN PREDICTED Gps b
        ON ABS(a.x - b.x) <= 100 {FOR_ALL} WHERE a.car < b.car""")
    )
    assert [(row["one"], row["other"], row["at"]) for row in met] == [
        (row["a.car"], row["b.car"], row["valid_to"]) for row in direct
    ]
    counted = rows(engine.query("SELECT one, count(*) AS n FROM Meeting#time(1 hour) GROUP BY one"))
    assert len(counted) == len(met)


def test_updates_of_sensors_are_rows_of_a_predicted_stream(engine: Engine) -> None:
    car = Sensor("c9", ("x", "y"), predictor=Linear(), threshold=25, period=30, key_column="car")
    sent = []
    for second in range(0, 90, 3):
        x, y = (20.0 * second, 0.0) if second < 30 else (600.0, 20.0 * (second - 30))
        made = car.sample(second, x=x, y=y)
        if made is not None:
            sent.append({**made.row(), "at": moment(second), "fleet": None})
    assert len(sent) < 8
    load(engine, sent)
    (row,) = rows(engine.query("SELECT s.car, s.y FROM PREDICTED Gps s WHERE s.y >= 200 AND s.y < 1000"))
    # It is 10 s from the turn at 30 s to y = 200.
    assert row["valid_from"].second == 40
    assert row["y"] == pytest.approx(200.0)


def test_keys_of_several_attributes_may_have_nulls_and_any_letters(engine: Engine) -> None:
    keys = [("é😀", 1), ("é😀", 2), (None, 1), ("b", 2**62)]
    engine.load(
        "Temp",
        [
            {"building": building, "room": room, "at": moment(n), "temp_value": 20.0 + n, "temp_rate": 1.0}
            for n, (building, room) in enumerate(keys)
        ],
    )
    found = rows(engine.query("SELECT t.building, t.room FROM PREDICTED Temp t WHERE t.temp >= 30"))
    assert {(row["building"], row["room"]) for row in found} == set(keys)
    pairs = rows(
        engine.query(
            "SELECT a.room, b.building, b.room FROM PREDICTED Temp a JOIN PREDICTED Temp b ON ABS(a.temp - b.temp) <= 1"
        )
    )
    assert len(pairs) == 12


def test_an_empty_stream_has_no_rows(engine: Engine) -> None:
    for name in ("value", "join", "likely", "parts"):
        assert rows(engine.query(QUERIES[name])) == [], name
    assert rows(engine.query(QUERIES["join"], mode="stream", batches=2)) == []


def test_two_streams_of_different_keys_may_be_joined(engine: Engine) -> None:
    engine.load("Gps", [update("c1", "taxi", 0, 0.0, 1.0)])
    engine.load("Temp", [{"building": "b", "room": 7, "at": moment(0), "temp_value": 10.0, "temp_rate": 0.0}])
    text = "SELECT g.car, t.room FROM PREDICTED Gps g JOIN PREDICTED Temp t ON ABS(g.x - t.temp) <= 2"
    (row,) = rows(engine.query(text))
    assert (row["car"], row["room"], row["valid_from"].second, row["valid_to"].second) == ("c1", 7, 8, 12)


def test_a_predicted_stream_tells_of_itself(engine: Engine) -> None:
    load(engine)
    told = {row["property"]: row["value"] for row in rows(engine.query("DESCRIBE Gps"))}
    assert told["predicted"] == "x ± 25, y ± 25; for at most 30 sec"
    assert told["rows"] == str(len(UPDATES))
    shown = {row["name"]: row["rows"] for row in rows(engine.query("SHOW STREAMS"))}
    assert shown["Gps"] == len(UPDATES)
