"""Queries end to end: text in, exact rows out, through the engine on Spark. One tiny world, one question each."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from presage import Engine
from presage.errors import PresageError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DECLARATIONS = """
CREATE SCHEMA CameraEvent (camera STRING, at TIMESTAMP) EVENT TIME at;
CREATE STREAM Motion (x DOUBLE, y INT) INHERITS CameraEvent;
CREATE STREAM Fault (log STRING, tags ARRAY<STRING>, spot STRUCT<room STRING, floor INT>, codes MAP<STRING, INT>)
  INHERITS CameraEvent;
CREATE STREAM Nothing (n INT) INHERITS CameraEvent;
CREATE STREAM Number (v DOUBLE, at TIMESTAMP) EVENT TIME at;
CREATE STREAM Slow (n INT, at TIMESTAMP) EVENT TIME at WITH (max_delay = '2 sec');
CREATE STREAM Alarm (camera STRING, level LONG, time TIMESTAMP) EVENT TIME time;
CREATE STREAM `select` (`from` STRING, `größe.m` INT, `a``b` DOUBLE, At TIMESTAMP) EVENT TIME At;
CREATE RELATION Place (camera STRING, floor INT) VALUES ('c1', 1), ('c2', 2), ('c2', 3), (NULL, 9);
CREATE RELATION Owner (camera STRING, since TIMESTAMP, share DOUBLE) FROM 'owners.csv';
INSERT INTO Big SELECT camera, x FROM Motion WHERE x > 1;
INSERT INTO Sums SELECT camera, sum(x) AS s FROM Big#length(2);
INSERT INTO Seen SELECT camera, 'm' AS kind FROM Motion;
INSERT INTO Seen SELECT camera, 'f' AS kind FROM Fault;
INSERT INTO Alarm SELECT camera, y AS level FROM Motion WHERE y > 3;
INSERT INTO Later SELECT camera, at + 2 sec AS at FROM Motion WHERE y <> 2;
INSERT INTO Backwards SELECT y, CASE WHEN y = 3 THEN at - 1 hour ELSE at END AS at FROM Motion;
INSERT INTO Steps SELECT count(*) AS n FROM Motion#time_batch(2 sec);
INSERT INTO Ended SELECT count(*) AS n FROM Motion#time_batch(2 sec) WITHIN [, 2024-03-01T09:00:03);
INSERT INTO Pairs SELECT m.x AS x, f.log AS log FROM Motion#lastevent AS m, Fault#lastevent AS f;
"""


def at(second: float) -> str:
    return f"2024-03-01T09:00:{second:06.3f}Z"


def motion(camera: str | None, x: float | None, y: int | None, second: float) -> dict[str, Any]:
    return {"camera": camera, "x": x, "y": y, "at": at(second)}


MOTIONS = [
    motion("c1", 1.0, 1, 0),
    motion("c2", 2.0, 2, 0),
    motion("c1", 3.0, 3, 1),
    motion(None, 4.0, None, 3),
    motion("c2", None, 5, 5),
    motion("c1", 0.5, 6, 9),
]
FAULTS = [
    {
        "camera": "c1",
        "log": "net down",
        "tags": ["a", "b"],
        "spot": {"room": "r1", "floor": 1},
        "codes": {"p": 1},
        "at": at(1),
    },
    {"camera": "c2", "log": "it's", "tags": [], "at": at(2)},
    {"camera": None, "at": at(4)},
    {
        "camera": "c1",
        "log": "ü",
        "tags": [None],
        "spot": {"room": None, "floor": 2},
        "codes": {"p": None, "q": 2},
        "at": at(8),
    },
]
NUMBERS = [float("nan"), 1.0, float("inf"), -0.0, 0.0, None]


@pytest.fixture(scope="module")
def engine(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    home: Path = tmp_path_factory.mktemp("queries") / "home"
    files = home.parent / "files"
    files.mkdir()
    (files / "owners.csv").write_text("camera,since,share\nc1,2024-01-01T00:00:00Z,0.5\nc2,,1\n", encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(files)
        with Engine(spark, home) as made:
            made.execute(DECLARATIONS)
            made.load("Motion", MOTIONS)
            made.load("Fault", FAULTS)
            made.load("Number", [{"v": v, "at": at(i)} for i, v in enumerate(NUMBERS)])
            for n, second in ((10, 10), (8, 8), (7, 7.999)):
                made.load("Slow", [{"n": n, "at": at(second)}])
            made.load("Alarm", [{"camera": "c9", "level": 9, "time": at(2)}])
            made.load("select", [{"from": "x", "größe.m": 1, "a`b": 1.5, "At": at(0)}])
            yield made


def plain(value: Any) -> Any:
    """Times as seconds of the minute, maps as dicts, NaN as a text: what a reader can check at a glance."""
    if isinstance(value, datetime):
        return value.second + value.microsecond / 1e6
    if isinstance(value, float) and value != value:
        return "NaN"
    if isinstance(value, dict):
        return {name: plain(v) for name, v in value.items()}
    if isinstance(value, list):
        pairs = bool(value) and isinstance(value[0], tuple)
        return dict(value) if pairs else [plain(v) for v in value]
    return value


def ask(engine: Engine, text: str) -> list[tuple[Any, ...]]:
    return [tuple(plain(v) for v in row.values()) for row in engine.query(text)]


# -- windows and aggregates: the last value of each row is its time ------------------------------------------

WINDOWS = {
    "SELECT sum(x) AS s FROM Motion#length(2)": [(1, 0), (3, 0), (5, 1), (7, 3), (4, 5), (0.5, 9)],
    "SELECT sum(x) AS s FROM Motion#time(3 sec)": [(1, 0), (3, 0), (6, 1), (7, 3), (4, 5), (0.5, 9)],
    "SELECT sum(x) AS s FROM Motion#win:time(3 sec)": [(1, 0), (3, 0), (6, 1), (7, 3), (4, 5), (0.5, 9)],
    "SELECT count(*) AS n FROM Motion#keepall": [(1, 0), (2, 0), (3, 1), (4, 3), (5, 5), (6, 9)],
    "SELECT sum(x) AS s FROM Motion#unique(camera)": [(1, 0), (3, 0), (5, 1), (9, 3), (7, 5), (4.5, 9)],
    "SELECT sum(x) AS s FROM Motion#firstunique(camera)": [(1, 0), (3, 0), (7, 3)],
    "SELECT first(y) AS y FROM Motion#lastevent": [(1, 0), (2, 0), (3, 1), (None, 3), (5, 5), (6, 9)],
    "SELECT y, sum(x) AS s FROM Motion#length_batch(2)": [
        (1, 3, 0),
        (2, 3, 0),
        (3, 7, 3),
        (None, 7, 3),
        (5, 0.5, 9),
        (6, 0.5, 9),
    ],
    "SELECT sum(x) AS s FROM Motion#length_batch(4)": [(10, 3)],
    # A batch closes when its time has come, which an event or the upper bound tells; one that is open is not emitted.
    "SELECT count(*) AS n FROM Motion#time_batch(2 sec)": [(3, 2), (1, 4), (1, 6)],
    "SELECT count(*) AS n FROM Motion#time_batch(2 sec) WITHIN [, 2024-03-01T09:00:10)": [
        (3, 2),
        (1, 4),
        (1, 6),
        (1, 10),
    ],
    "SELECT count(*) AS n FROM Motion#time_batch(2 sec) WITHIN [2024-03-01T09:00:01, 2024-03-01T09:00:05]": [
        (1, 3),
        (1, 5),
    ],
    "SELECT camera, count(*) AS n FROM Motion#time_batch(4 sec) GROUP BY camera": [
        ("c1", 2, 4),
        ("c2", 1, 4),
        (None, 1, 4),
        ("c2", 1, 8),
    ],
    "SELECT sum(x) AS s FROM Motion#groupwin(camera)#length(2)": [(1, 0), (3, 0), (6, 1), (10, 3), (10, 5), (9.5, 9)],
    "SELECT camera, count(*) AS n FROM Motion#groupwin(camera)#time_batch(1 sec) GROUP BY camera": [
        ("c1", 1, 1),
        ("c2", 1, 1),
        ("c1", 1, 2),
        (None, 1, 4),
        ("c2", 1, 6),
    ],
    "SELECT y FROM Motion#time(1 sec) WHERE y > 2": [(3, 1), (5, 5), (6, 9)],
    # A filter at the stream acts before the window, WHERE on what comes out of it.
    "SELECT sum(y) AS s FROM Motion(y <> 3)#length(2)": [(1, 0), (3, 0), (7, 5), (11, 9)],
    "SELECT sum(y) AS s FROM Motion#length(2) WHERE y <> 3": [(1, 0), (3, 0), (5, 5), (11, 9)],
    # Null keys form a group of their own.
    "SELECT camera, count(*) AS n FROM Motion GROUP BY camera": [
        ("c1", 1, 0),
        ("c2", 1, 0),
        ("c1", 2, 1),
        (None, 1, 3),
        ("c2", 2, 5),
        ("c1", 3, 9),
    ],
    "SELECT y % 2 AS odd, sum(y) AS s FROM Motion GROUP BY odd HAVING s > 4": [(1, 9, 5), (0, 8, 9)],
    "SELECT sum(CASE WHEN Place(camera, 2) THEN 1 ELSE 0 END) AS n FROM Motion": [
        (0, 0),
        (1, 0),
        (1, 1),
        (1, 3),
        (2, 5),
        (2, 9),
    ],
    "SELECT sum(v) AS s, min(v) AS low, max(v) AS high FROM Number#length(2)": [
        ("NaN", "NaN", "NaN", 0),
        ("NaN", 1, "NaN", 1),
        (float("inf"), 1, float("inf"), 2),
        (float("inf"), 0, float("inf"), 3),
        (0, 0, 0, 4),
        (0, 0, 0, 5),
    ],
    "SELECT count(*) AS n FROM Nothing": [],
    "SELECT n FROM Slow": [(8, 8), (10, 10)],
}


@pytest.mark.parametrize("text", WINDOWS)
def test_windows_and_groups(engine: Engine, text: str) -> None:
    assert ask(engine, text) == WINDOWS[text]


def test_every_aggregate_over_one_window(engine: Engine) -> None:
    (row,) = ask(
        engine,
        """SELECT count(*) AS n, count(x) AS nx, sum(y) AS s, avg(x) AS a, min(camera) AS low, max(camera) AS high,
                  median(x) AS med, stddev(x) AS dev, first(x) AS f, last(x) AS l, window(y) AS w,
                  count(DISTINCT camera) AS d, sum(DISTINCT y % 2) AS ds
           FROM Motion HAVING count(*) = 6""",
    )
    deviation = row[7]
    assert row[:7] == (6, 5, 17, 2.1, "c1", "c2", 2.0)
    assert deviation == pytest.approx(1.4317821063276353)
    assert row[8:] == (1.0, 0.5, [1, 2, 3, None, 5, 6], 2, 1, 9)


def test_aggregates_over_nested_values(engine: Engine) -> None:
    rows = ask(
        engine,
        "SELECT first(spot) AS f, last(tags) AS l, window(spot.floor) AS w, count(f.*) AS n FROM Fault#length(2) AS f",
    )
    assert rows == [
        ({"room": "r1", "floor": 1}, ["a", "b"], [1], 1, 1),
        ({"room": "r1", "floor": 1}, [], [1, None], 2, 2),
        (None, None, [None, None], 2, 4),
        (None, [None], [None, 2], 2, 8),
    ]


# -- terms --------------------------------------------------------------------------------------------------

TERMS = {
    """SELECT CASE WHEN x > 2 THEN 'big' WHEN x IS NULL THEN 'none' ELSE 'small' END AS size, y IN (1, 5, NULL) AS i,
              y BETWEEN 2 AND 5 AS b, camera LIKE 'c_' AS l, CAST(x AS INT) AS c, CAST(y AS STRING) AS s
       FROM Motion""": [
        ("small", True, False, True, 1, "1", 0),
        ("small", None, True, True, 2, "2", 0),
        ("big", None, True, True, 3, "3", 1),
        ("big", None, None, None, 4, None, 3),
        ("none", True, True, True, None, "5", 5),
        ("small", None, False, True, 0, "6", 9),
    ],
    "SELECT spot.room, tags[0] AS t, tags.firstOf() AS a, tags.lastOf() AS z, codes['p'] AS p, codes['q'] AS q "
    "FROM Fault": [
        ("r1", "a", "a", "b", 1, None, 1),
        (None, None, None, None, None, None, 2),
        (None, None, None, None, None, None, 4),
        (None, None, None, None, None, 2, 8),
    ],
    "SELECT f.spot, f.codes, upper(log) AS u FROM Fault AS f WHERE size(tags) > 0": [
        ({"room": "r1", "floor": 1}, {"p": 1}, "NET DOWN", 1),
        ({"room": None, "floor": 2}, {"p": None, "q": 2}, "Ü", 8),
    ],
    "SELECT y / 0 AS a, y * 2147483647 AS b, at - '2024-03-01T09:00:00Z' AS s FROM Motion WHERE y BETWEEN 2 AND 3": [
        (None, None, 0, 0),
        (None, None, 1, 1),
    ],
    "SELECT y FROM Motion WHERE at - '2024-03-01T09:00:00Z' IN (1 sec, 9 sec)": [(3, 1), (6, 9)],
    "SELECT -NULL AS a, NULL AS b, NULL + 1 AS c, sum(NULL) AS d, first(NULL) AS e FROM Motion#length_batch(6)": [
        (None, None, None, None, None, 9),
    ],
    "SELECT y FROM Motion WHERE NOT Place(camera, _)": [(None, 3)],
    "SELECT y FROM Motion WHERE NULL": [],
    # A name that SELECT gives does not hide the attribute.
    "SELECT x AS y, y AS x FROM Motion WHERE x > 2": [(3, 3, 1), (4, None, 3)],
    "SELECT x.x FROM Motion AS x WHERE x > 2": [(3, 1), (4, 3)],
    "SELECT `from`, `größe.m` + 1 AS `größe.m`, `a``b` FROM `select`": [("x", 2, 1.5, 0)],
    "SELECT DISTINCT `größe.m` FROM `select` GROUP BY `from` OUTPUT LAST EVERY 1 sec": [(1, 1)],
}


@pytest.mark.parametrize("text", TERMS, ids=lambda text: " ".join(text.split())[:60])
def test_terms_and_conditions(engine: Engine, text: str) -> None:
    assert ask(engine, text) == TERMS[text]


# -- joins --------------------------------------------------------------------------------------------------

JOINS = {
    "SELECT m.camera, x, log FROM Motion#time(3 sec) AS m JOIN Fault#time(3 sec) AS f ON m.camera = f.camera": [
        ("c1", 1, "net down", 1),
        ("c1", 3, "net down", 1),
        ("c2", 2, "it's", 2),
        ("c1", 0.5, "ü", 9),
    ],
    "SELECT m.camera, x, log FROM Motion#time(3 sec) AS m, Fault#time(3 sec) AS f "
    "WHERE m.camera = f.camera AND x < 3": [
        ("c1", 1, "net down", 1),
        ("c2", 2, "it's", 2),
        ("c1", 0.5, "ü", 9),
    ],
    "SELECT x, log FROM Motion#length_batch(2), Fault#lastevent": [
        (1, "net down", 1),
        (2, "net down", 1),
        (1, "it's", 2),
        (2, "it's", 2),
        (3, "it's", 3),
        (4, "it's", 3),
        (3, None, 4),
        (4, None, 4),
        (3, "ü", 8),
        (4, "ü", 8),
        (None, "ü", 9),
        (0.5, "ü", 9),
    ],
    "SELECT x, log, floor FROM Motion#lastevent AS m, Fault#lastevent AS f, Place AS p "
    "WHERE m.camera = f.camera AND p.camera = m.camera": [(3, "net down", 1, 1), (0.5, "ü", 1, 9)],
    "SELECT a.x, b.x FROM Motion#keepall AS a JOIN Motion#lastevent AS b ON a.camera = b.camera WHERE a.x < b.x": [
        (1, 3, 1),
    ],
    "SELECT m.camera, floor FROM Motion AS m JOIN Place AS p ON m.camera = p.camera": [
        ("c1", 1, 0),
        ("c2", 2, 0),
        ("c2", 3, 0),
        ("c1", 1, 1),
        ("c2", 2, 5),
        ("c2", 3, 5),
        ("c1", 1, 9),
    ],
    "SELECT floor, sum(y) AS s FROM Motion AS m JOIN Place AS p ON m.camera = p.camera "
    "WHERE floor < 3 GROUP BY floor": [
        (1, 1, 0),
        (2, 2, 0),
        (1, 4, 1),
        (2, 7, 5),
        (1, 10, 9),
    ],
    "SELECT count(*) AS n FROM Motion AS m, Place AS p, Place AS q HAVING n > 80": [(96, 9)] * 16,
    "SELECT m.camera, since, share FROM Motion AS m JOIN Owner AS o ON m.camera = o.camera WHERE y > 2": [
        ("c1", 0, 0.5, 1),
        ("c2", None, 1, 5),
        ("c1", 0, 0.5, 9),
    ],
    "SELECT f.camera AS c, count(*) AS n, max(y) AS y FROM Motion#keepall AS m, Fault#keepall AS f "
    "WHERE m.y < 3 GROUP BY f.camera HAVING count(*) > 1": [
        ("c1", 2, 2, 1),
        ("c2", 2, 2, 2),
        (None, 2, 2, 4),
        ("c1", 4, 2, 8),
    ],
    "SELECT m.y FROM Motion AS m, Nothing AS n": [],
    "SELECT count(*) AS n FROM Motion AS m, Nothing AS n": [],
}


@pytest.mark.parametrize("text", JOINS)
def test_joins(engine: Engine, text: str) -> None:
    assert ask(engine, text) == JOINS[text]


def test_a_name_of_two_items_must_be_told_apart(engine: Engine) -> None:
    with pytest.raises(PresageError, match=r"'camera' could be m\.camera or o\.camera"):
        ask(engine, "SELECT camera FROM Motion AS m JOIN Owner AS o ON m.camera = o.camera")


def test_star_over_a_join_gives_a_struct_for_each_item(engine: Engine) -> None:
    result = engine.query("SELECT * FROM Motion#lastevent AS m, Place AS p WHERE m.camera = p.camera AND m.y = 6")
    assert result.columns == ["m", "p", "at"]
    assert [plain(row) for row in result] == [
        {"m": {"camera": "c1", "at": 9, "x": 0.5, "y": 6}, "p": {"camera": "c1", "floor": 1}, "at": 9}
    ]


def test_columns_of_one_name_are_told_apart_by_their_items(engine: Engine) -> None:
    result = engine.query("SELECT m.camera, y, p.* FROM Motion AS m JOIN Place AS p ON m.camera = p.camera WHERE y = 6")
    assert result.columns == ["m.camera", "y", "p.camera", "floor", "at"]
    assert [tuple(plain(v) for v in row.values()) for row in result] == [("c1", 6, "c1", 1, 9)]


# -- types and streams from queries -------------------------------------------------------------------------

STREAMS = {
    "SELECT camera FROM CameraEvent": [
        ("c1", 0),
        ("c2", 0),
        ("c1", 1),
        ("c1", 1),
        ("c2", 2),
        (None, 3),
        (None, 4),
        ("c2", 5),
        ("c1", 8),
        ("c1", 9),
    ],
    "SELECT count(*) AS n FROM CameraEvent#length_batch(10)": [(10, 9)],
    "SELECT s FROM Sums": [(2, 0), (5, 1), (7, 3)],
    "SELECT sum(s) AS t FROM Sums#length(2) WHERE s > 2": [(5, 1), (12, 3)],
    "SELECT kind FROM Seen": [
        ("m", 0),
        ("m", 0),
        ("m", 1),
        ("f", 1),
        ("f", 2),
        ("m", 3),
        ("f", 4),
        ("m", 5),
        ("f", 8),
        ("m", 9),
    ],
    "SELECT * FROM Alarm": [("c9", 9, 2, 2), ("c2", 5, 5, 5), ("c1", 6, 9, 9)],
    # Rows with a time of their own become events of that time, in its order.
    "SELECT * FROM Later": [("c1", 2), ("c1", 3), ("c2", 7), ("c1", 11)],
    "SELECT y FROM Backwards": [(1, 0), (2, 0), (None, 3), (5, 5), (6, 9)],
    "SELECT n FROM Steps": [(3, 2), (1, 4), (1, 6)],
    "SELECT sum(n) AS s FROM Steps#time_batch(3 sec)": [(4, 5), (1, 8)],
    # The statement behind a derived stream ends at its own upper bound.
    "SELECT n FROM Ended": [(3, 2)],
    "SELECT x, log FROM Pairs#length_batch(2)": [
        (3, "net down", 2),
        (3, "it's", 2),
        (4, "it's", 4),
        (4, None, 4),
        (None, None, 8),
        (None, "ü", 8),
    ],
    "SELECT a.n, b.n, count(*) AS c FROM Steps#length(2) AS a, Steps#length(1) AS b": [
        (3, 3, 1, 2),
        (3, 1, 2, 4),
        (1, 1, 2, 4),
        (1, 1, 2, 6),
        (1, 1, 2, 6),
    ],
}


@pytest.mark.parametrize("text", STREAMS)
def test_types_and_derived_streams(engine: Engine, text: str) -> None:
    assert ask(engine, text) == STREAMS[text]


# -- which rows: bounds, DISTINCT, OUTPUT -------------------------------------------------------------------

CHOSEN = {
    "SELECT y FROM Motion WITHIN [2024-03-01T09:00:01, 2024-03-01T09:00:05)": [(3, 1), (None, 3)],
    "SELECT y FROM Motion WITHIN (2024-03-01T09:00:01, 2024-03-01T09:00:05]": [(None, 3), (5, 5)],
    "SELECT y FROM Motion WITHIN ('2024-03-01T10:00:03+01:00', )": [(5, 5), (6, 9)],
    "SELECT y FROM Motion WITHIN [, 2024-03-01T09:00:00]": [(1, 0), (2, 0)],
    "SELECT y FROM Motion WITHIN [now, )": [],
    # Windows start empty at the lower bound.
    "SELECT count(*) AS n FROM Motion#time(1 min) WITHIN [2024-03-01T09:00:01, )": [(1, 1), (2, 3), (3, 5), (4, 9)],
    "SELECT s FROM Sums WITHIN [2024-03-01T09:00:01, 2024-03-01T09:00:03)": [(5, 1)],
    "SELECT DISTINCT camera FROM Motion": [("c1", 0), ("c2", 0), (None, 3)],
    "SELECT DISTINCT spot FROM Fault": [({"room": "r1", "floor": 1}, 1), (None, 2), ({"room": None, "floor": 2}, 8)],
    "SELECT DISTINCT codes FROM Fault": [({"p": 1}, 1), (None, 2), ({"p": None, "q": 2}, 8)],
    "SELECT y FROM Motion OUTPUT ALL EVERY 2 sec": [(1, 2), (2, 2), (3, 2), (None, 4), (5, 6), (6, 10)],
    "SELECT y FROM Motion OUTPUT LAST EVERY 2 sec": [(3, 2), (None, 4), (5, 6), (6, 10)],
    "SELECT y FROM Motion OUTPUT FIRST EVERY 2 sec": [(1, 0), (None, 3), (5, 5), (6, 9)],
    # What the bound settles leaves at the bound.
    """SELECT m.n FROM Motion MATCH_RECOGNIZE ( MEASURES count(*) AS n PATTERN (X+) ) AS m
       WITHIN [, 2024-03-01T09:00:31] OUTPUT ALL EVERY 2 sec""": [(6, 31)],
    "SELECT camera, count(*) AS n FROM Motion GROUP BY camera OUTPUT LAST EVERY 2 sec": [
        ("c2", 1, 2),
        ("c1", 2, 2),
        (None, 1, 4),
        ("c2", 2, 6),
        ("c1", 3, 10),
    ],
    "SELECT DISTINCT y > 2 AS b FROM Motion OUTPUT ALL EVERY 1 min": [(False, 0), (True, 0), (None, 0)],
}


@pytest.mark.parametrize("text", CHOSEN)
def test_bounds_distinct_rows_and_output_rate(engine: Engine, text: str) -> None:
    assert ask(engine, text) == CHOSEN[text]


# -- results ------------------------------------------------------------------------------------------------

ORDERED = [
    "SELECT m.camera, y FROM CameraEvent AS e, Motion#keepall AS m WHERE m.y > 1",
    "SELECT camera AS c, count(*) AS n FROM Motion GROUP BY camera",
    "SELECT y FROM Motion OUTPUT ALL EVERY 2 sec",
]


@pytest.mark.parametrize("text", ORDERED)
def test_a_DataFrame_has_the_rows_in_the_order_of_the_table(engine: Engine, text: str) -> None:
    result = engine.query(text)
    assert result.df.columns == result.columns
    table = [tuple(plain(v) for v in row.values()) for row in result]
    frame = [tuple(plain(v) for v in row) for row in result.df.collect()]
    assert len(table) > 5
    assert [r[:-1] for r in frame] == [r[:-1] for r in table]


def test_a_result_is_of_the_moment_in_which_it_was_asked_for(engine: Engine) -> None:
    engine.execute("CREATE STREAM Fresh (n INT, at TIMESTAMP) EVENT TIME at")
    before = engine.query("SELECT n FROM Fresh")
    engine.load("Fresh", [{"n": 1, "at": at(1)}])
    after = engine.query("SELECT n FROM Fresh")
    assert (len(before), len(after)) == (0, 1)
    assert before.to_arrow().schema == after.to_arrow().schema


def test_an_event_that_came_too_late_is_seen_by_no_query(engine: Engine) -> None:
    assert engine.late("Slow").to_pylist()[0]["n"] == 7
    assert ask(engine, "SELECT count(*) AS n FROM Slow#time_batch(1 sec)") == [(1, 9)]


@pytest.mark.on("local", "cluster")  # tests/cluster says what becomes of it over Connect
def test_many_columns_and_deep_expressions(engine: Engine) -> None:
    names = [f"a{i}" for i in range(150)]
    engine.execute(f"CREATE STREAM Wide ({', '.join(f'{n} INT' for n in names)}, at TIMESTAMP) EVENT TIME at")
    engine.load("Wide", [{**dict.fromkeys(names, 1), "at": at(1)}])
    deep = "(" * 60 + "a0" + " + 1)" * 60
    result = engine.query(
        f"SELECT *, {deep} AS deep, count(*) AS n FROM Wide#length(2) GROUP BY {', '.join(names[:20])}"
    )
    (row,) = list(result)
    assert (row["a149"], row["deep"], row["n"]) == (1, 61, 1)


def test_EXPLAIN_has_a_line_for_each_row_and_the_result_says_the_same(engine: Engine) -> None:
    text = "SELECT camera, avg(x) AS mean FROM Motion#time(1 min) GROUP BY camera"
    lines = [row["plan"] for row in engine.query(f"EXPLAIN {text}")]
    assert lines[0] == "== Query =="
    assert "\n".join(lines) == engine.query(text).explain() == engine.explain(text)


def test_names_that_differ_in_case_are_two_on_spark(spark: SparkSession) -> None:
    queries = {
        "SELECT v AS x, w AS X FROM g WHERE v > 0": [(1, 5), (2, 6)],
        "SELECT a.v AS x, b.w AS X FROM PATTERN [ EVERY a=G -> b=g(v > 1) ]": [(1, 6)],
        "SELECT sum(w) AS s, count(*) AS S FROM g#time(1 min) GROUP BY v": [(5, 1), (6, 1)],
        "SELECT A AS x, a AS X FROM g MATCH_RECOGNIZE ( MEASURES U.v AS A, W.w AS a PATTERN (U W) )": [(1, 6)],
        "SELECT p.v AS x, q.w AS X FROM G#keepall AS p, g#keepall AS q WHERE p.v = q.v": [(1, 5)],
        "SELECT v, w FROM g WHERE r(v) AND R(w)": [(2, 6)],
    }
    with Engine(spark) as engine:
        engine.execute("""
            CREATE STREAM G (v INT, at TIMESTAMP) EVENT TIME at;
            CREATE STREAM g (v INT, w INT, at TIMESTAMP) EVENT TIME at;
            CREATE RELATION r (v INT) VALUES (2);
            CREATE RELATION R (w INT) VALUES (6);
        """)
        engine.load("G", [{"v": 1, "at": at(0)}])
        engine.load("g", [{"v": 1, "w": 5, "at": at(1)}, {"v": 2, "w": 6, "at": at(2)}])
        for query, expected in queries.items():
            found = [tuple(row.values())[:2] for row in engine.query(query).to_arrow().to_pylist()]
            shown = [tuple(row)[:2] for row in engine.query(query).df.collect()]
            assert (query, found, shown) == (query, expected, expected)
