"""RECALL through the engine, over history that is read in several chunks: as Spark SQL says of the same rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from presage import Engine, PresageError
from presage.execution import placement

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DECLARED = """
CREATE STREAM T (sid STRING, bw DOUBLE, n LONG, at TIMESTAMP) EVENT TIME at KEY (sid) WITH (max_delay = '1 hour');
CREATE STREAM U (sid STRING, w INT, at TIMESTAMP) EVENT TIME at;
CREATE STREAM O (sid STRING, bw DOUBLE, change STRING, at TIMESTAMP) EVENT TIME at KEY (sid)
  WITH (max_delay = '1 hour');
CREATE RELATION R (sid STRING, room STRING, cap LONG)
  VALUES ('a', 'x', 1), ('b', 'y', 2), ('b', 'z', 3), (NULL, 'ü', 4);
CREATE STREAM Never (sid STRING, bw DOUBLE, at TIMESTAMP) EVENT TIME at;
CREATE SCHEMA Seen (sid STRING, at TIMESTAMP) EVENT TIME at;
CREATE STREAM SeenHere (x LONG) INHERITS Seen;
CREATE STREAM SeenThere (y LONG) INHERITS Seen;
INSERT INTO Fast SELECT t.sid, t.n FROM T t WHERE t.bw > 2;
INSERT INTO Counted SELECT count(*) AS n FROM U#keepall u;
INSERT INTO Compared SELECT e.sid, r.n FROM O e
  FINAL RECALL LAST 10 min ( SELECT count(*) AS n FROM T h WHERE h.sid = e.sid ) AS r WHERE e.bw > 0;
"""
START = datetime(2026, 1, 1, tzinfo=UTC)


def at(minute: float) -> datetime:
    return START + timedelta(minutes=minute)


def of_t(i: int, minute: float) -> dict[str, Any]:
    return {
        "sid": ["a", "b", "ü", None][i % 4],
        "bw": None if i % 7 == 0 else float(i % 5),
        "n": i % 3,
        "at": at(minute),
    }


def of_u(i: int) -> dict[str, Any]:
    return {"sid": ["a", "b", None][i % 3], "w": i, "at": at(3 * i + 0.5)}


def of_o(sid: str | None, bw: float | None, minute: float) -> dict[str, Any]:
    return {"sid": sid, "bw": bw, "change": "ch-ü", "at": at(minute)}


# In the order of arrival. The second load of T is older than the events before it, and must not count for them.
LOADS: list[tuple[str, list[dict[str, Any]]]] = [
    ("T", [of_t(i, i) for i in range(16)]),
    ("U", [of_u(i) for i in range(6)]),
    ("O", [of_o("b", 3.0, -5), of_o("a", 1.0, 10), of_o("b", 3.0, 14)]),
    ("T", [of_t(i, i - 7.5) for i in range(16, 20)]),
    ("T", [of_t(i, i) for i in range(20, 32)]),
    ("U", [of_u(i) for i in range(6, 11)]),
    ("O", [of_o(None, None, 30), of_o("ü", 0.5, 40)]),
    ("SeenHere", [{"sid": "a", "at": at(1), "x": 1}, {"sid": "ü", "at": at(2), "x": 2}]),
    ("SeenThere", [{"sid": "a", "at": at(3), "y": 3}]),
    ("O", [of_o("a", 9.0, 41)]),
]


def arrived() -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    seq = 0
    for stream, rows in LOADS:
        for row in rows:
            found.setdefault(stream, []).append({**row, "seq": seq})
            seq += 1
    return found


PLACES = {"in this process": 1_000, "on Spark": -1}


@pytest.fixture(scope="module", params=PLACES.values(), ids=PLACES)
def engine(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Engine]:
    folder = tmp_path_factory.mktemp("recall")
    with (
        pytest.MonkeyPatch.context() as patch,
        Engine(spark, folder / "home", roots=[folder], rows_per_chunk=12) as made,
    ):
        patch.setattr(placement, "MOST_ROWS", request.param)
        made.execute(DECLARED)
        for stream, rows in LOADS:
            made.load(stream, rows)
        yield made


def rows(engine: Engine, text: str) -> list[dict[str, Any]]:
    return [dict(row) for row in engine.query(text).to_arrow().to_pylist()]


def near(value: Any) -> Any:
    return round(value, 9) if isinstance(value, float) else value


def literal(value: Any) -> str:
    return "CAST(NULL AS STRING)" if value is None else repr(value) if isinstance(value, str) else f"{value}D"


SELECTS = {
    "aggregates": "SELECT count(*) AS n, sum(h.n) AS s, avg(h.bw) AS m, stddev(h.bw) AS d, min(h.bw) AS lo, "
    "max(h.sid) AS hi FROM T h WHERE h.sid = e.sid",
    "a relation": "SELECT h.sid AS s, x.room, count(*) AS n FROM T h JOIN R x ON x.sid = h.sid "
    "GROUP BY h.sid, x.room HAVING count(*) > 1 ORDER BY n DESC, room LIMIT 2",
    "an outer join": "SELECT x.room, count(h.bw) AS n FROM R x LEFT JOIN T h ON h.sid = x.sid AND h.bw > 1 "
    "GROUP BY x.room",
    "two streams": "SELECT count(*) AS n, sum(u.w) AS w FROM T h LEFT JOIN U u ON u.sid = h.sid WHERE h.sid = e.sid",
    "different rows": "SELECT DISTINCT h.sid, h.n FROM T h WHERE h.bw > 1",
    "different values": "SELECT count(DISTINCT h.sid) AS s, median(h.bw) AS m, avg(DISTINCT h.bw) AS a FROM T h",
    "among": "SELECT h.n, h.bw FROM T h WHERE h.n IN (SELECT u.w FROM U u WHERE u.sid = e.sid)",
    "not among nulls": "SELECT count(*) AS n FROM T h WHERE h.sid NOT IN (SELECT u.sid FROM U u)",
    "not among": "SELECT h.sid, h.bw FROM T h WHERE h.sid NOT IN (SELECT u.sid FROM U u WHERE u.w = 1)",
    "not among nothing": "SELECT count(*) AS n FROM T h WHERE h.sid NOT IN (SELECT u.sid FROM U u WHERE u.w > 99)",
    "exists": "SELECT count(*) AS n FROM T h WHERE NOT EXISTS (SELECT u.w FROM U u WHERE u.sid = e.sid)",
    "beside groups": "SELECT h.sid AS s, avg(h.bw) AS m, (SELECT count(*) AS c FROM U u) AS c FROM T h GROUP BY h.sid "
    "HAVING avg(h.bw) > (SELECT avg(g.bw) AS a FROM T g)",
    "in FROM": "SELECT max(s.m) AS m, count(*) AS n FROM (SELECT DISTINCT h.sid, h.n AS m FROM T h) AS s",
    "rows by their places": "SELECT h.sid AS s, h.bw, rank() OVER (PARTITION BY h.sid ORDER BY h.bw DESC) AS k, "
    "lag(h.n, 1, -1) OVER (PARTITION BY h.sid ORDER BY h.bw NULLS LAST, h.n) AS p, "
    "sum(h.n) OVER (ORDER BY h.bw) AS s2, count(*) OVER () AS c FROM T h WHERE h.bw > 0 OR h.sid = e.sid",
    "the first of each": "SELECT s.sid AS s, s.bw FROM (SELECT h.sid, h.bw, dense_rank() OVER (PARTITION BY h.sid "
    "ORDER BY h.bw DESC) AS k FROM T h) AS s WHERE s.k = 1",
    "some in FROM": "SELECT s.bw FROM (SELECT h.sid, h.bw FROM T h ORDER BY h.bw DESC LIMIT 3) AS s "
    "JOIN R x ON x.cap > 0",
}


def as_spark_says(spark: SparkSession, select: str, event: dict[str, Any]) -> list[tuple[Any, ...]]:
    """The select over views that hold what lies before the event, with the event's values in its place."""
    for name in ("T", "U"):
        past = [r for r in arrived()[name] if r["at"] < event["at"] and r["seq"] < event["seq"]]
        kinds = "sid STRING, bw DOUBLE, n LONG" if name == "T" else "sid STRING, w INT"
        values = [tuple(r[n.split()[0]] for n in kinds.split(", ")) for r in past]
        spark.createDataFrame(values, kinds).createOrReplaceTempView(name)
    places = [("a", "x", 1), ("b", "y", 2), ("b", "z", 3), (None, "ü", 4)]
    spark.createDataFrame(places, "sid STRING, room STRING, cap LONG").createOrReplaceTempView("R")
    text = select.replace("e.sid", literal(event["sid"]))
    return [tuple(map(near, row)) for row in spark.sql(text).collect()]


@pytest.mark.parametrize("name", SELECTS)
def test_a_select_has_the_rows_that_Spark_gives_it(engine: Engine, spark: SparkSession, name: str) -> None:
    select = SELECTS[name]
    made = rows(engine, f"SELECT e.at AS time, r.* FROM O e FINAL RECALL ( {select} ) AS r")
    for event in arrived()["O"][2:5:2]:
        mine = [row for row in made if row["time"] == event["at"]]
        shown = [tuple(near(v) for v in list(row.values())[1:-7]) for row in mine]
        wanted = as_spark_says(spark, select, event)
        if not wanted:
            wanted = [(None,) * len(shown[0])]
        assert shown == wanted if "LIMIT 2" in select else Counter(shown) == Counter(wanted)
    assert len({row["time"] for row in made}) == len(arrived()["O"])


def test_revisions_cover_more_and_more_and_end_with_the_answer(engine: Engine) -> None:
    recall = "RECALL ( SELECT h.sid AS s, count(*) AS n, avg(h.bw) AS m FROM T h GROUP BY h.sid ) AS r WHERE r.n > 2"
    made = rows(engine, f"SELECT e.at AS time, r.* FROM O e {recall}")
    last = rows(engine, f"SELECT e.at AS time, r.* FROM O e FINAL {recall}")
    several = 0
    for event in arrived()["O"]:
        mine = [row for row in made if row["time"] == event["at"]]
        held: dict[Any, dict[str, Any]] = {}
        for row in mine:
            assert (row["s"] in held) == (row["change"] in ("update", "delete"))
            if row["change"] == "delete":
                assert held.pop(row["s"])["n"] == row["n"]
            else:
                held[row["s"]] = row
            assert row["covered_to"] == event["at"]
        covered = [row["covered_from"] for row in mine]
        assert covered == sorted(covered, reverse=True)
        several = max(several, len({row["revision"] for row in mine}))
        final = {row["s"]: (row["n"], row["m"]) for row in last if row["time"] == event["at"]}
        assert {s: (row["n"], row["m"]) for s, row in held.items()} == final
        assert all(row["extrapolated"] is False for row in mine if row["covered_from"] == at(0))
    assert several > 1
    assert {row["change"] for row in last} == {"insert"}


def test_only_what_came_before_counts_in_time_and_in_arrival(engine: Engine) -> None:
    made = rows(
        engine, "SELECT e.at AS time, r.n FROM O e FINAL RECALL LAST 4 min ( SELECT count(*) AS n FROM T h ) AS r"
    )
    counts = [row["n"] for row in made]
    # At minute 14 the four late ones, of 8.5 to 11.5, had not come yet; what happened at 14 itself does not count.
    assert counts == [0, 4, 4, 4, 0, 0]


def test_an_event_before_all_history_has_an_answer_too(engine: Engine) -> None:
    text = """SELECT r.m, r.n FROM O e
      FINAL RECALL ( SELECT median(h.bw) AS m, count(*) AS n FROM T h WHERE h.sid = e.sid ) AS r
      WHERE e.at < '2026-01-01T00:00:00Z'"""
    assert [(row["m"], row["n"]) for row in rows(engine, text)] == [(None, 0)]


def test_recalls_stand_beside_each_other_and_speak_of_each_other(engine: Engine) -> None:
    text = """SELECT e.at AS time, r.m, q.n, p.w FROM O e
      FINAL RECALL LAST 10 min ( SELECT max(h.bw) AS m FROM T h ) AS r
      RECALL LAST 10 min ( SELECT count(*) AS n FROM T h WHERE h.bw = r.m ) AS q
      RECALL LAST 4 min ( SELECT u.w FROM U u WHERE u.w >= q.n ) AS p
      WHERE e.bw > 0 AND q.n > 0"""
    past = arrived()
    wanted = []
    for event in past["O"]:
        before = {s: [r for r in past[s] if r["at"] < event["at"] and r["seq"] < event["seq"]] for s in ("T", "U")}
        ten = [r["bw"] for r in before["T"] if r["at"] >= event["at"] - timedelta(minutes=10) and r["bw"] is not None]
        n = ten.count(max(ten, default=None))
        if event["bw"] and n:
            four = [r["w"] for r in before["U"] if r["at"] >= event["at"] - timedelta(minutes=4) and r["w"] >= n]
            wanted += [(event["at"], max(ten), n, w) for w in four or [None]]
    assert len(wanted) > 1
    assert [tuple(row.values())[:4] for row in rows(engine, text)] == wanted


def test_without_history_there_are_nulls_and_without_events_no_rows(engine: Engine) -> None:
    nothing = "SELECT count(*) AS n, max(h.bw) AS m FROM Never h WHERE h.sid = e.sid"
    made = rows(
        engine, f"SELECT e.sid, r.*, q.* FROM O e RECALL ( {nothing} ) AS r RECALL ( SELECT bw FROM Never ) AS q"
    )
    assert [(row["n"], row["m"], row["bw"], row["revision"]) for row in made] == [(0, None, None, 1)] * 6
    assert all(row["covered_from"] == row["covered_to"] for row in made)
    empty = engine.query("SELECT e.sid, r.n FROM Never e RECALL ( SELECT count(*) AS n FROM T h ) AS r").to_arrow()
    assert empty.num_rows == 0
    assert empty.column_names[:3] == ["sid", "n", "at"]


def test_first_and_last_are_by_time_and_arrival_also_where_they_are_null(engine: Engine) -> None:
    text = """SELECT e.at AS time, r.* FROM O e FINAL RECALL LAST 8 min (
      SELECT first(h.bw) AS f, last(h.n) AS l, window(h.n) AS w FROM T h ) AS r WHERE e.bw > 2"""
    past = arrived()
    wanted = []
    for event in past["O"]:
        low = event["at"] - timedelta(minutes=8)
        seen = [r for r in past["T"] if low <= r["at"] < event["at"] and r["seq"] < event["seq"]]
        seen.sort(key=lambda r: (r["at"], r["seq"]))
        if (event["bw"] or 0) > 2:
            wanted.append((seen[0]["bw"], seen[-1]["n"], [r["n"] for r in seen]) if seen else (None, None, None))
    assert [(row["f"], row["l"], row["w"]) for row in rows(engine, text)] == wanted


def test_derived_streams_and_schemas_are_history(engine: Engine) -> None:
    text = """SELECT e.at AS time, f.*, c.*, s.* FROM O e
      FINAL RECALL ( SELECT count(*) AS fast FROM Fast h WHERE h.sid = e.sid ) AS f
      RECALL LAST 12 min ( SELECT max(h.n) AS counted FROM Counted h ) AS c
      RECALL ( SELECT count(*) AS seen FROM Seen h WHERE h.sid = e.sid ) AS s"""
    past = arrived()
    wanted = []
    for event in past["O"]:
        before = {s: [r for r in past[s] if r["at"] < event["at"] and r["seq"] < event["seq"]] for s in past}
        fast = sum((r["bw"] or 0) > 2 and r["sid"] == event["sid"] is not None for r in before["T"])
        low = event["at"] - timedelta(minutes=12)
        counted = max((r["w"] + 1 for r in before["U"] if r["at"] >= low), default=None)
        seen = sum(r["sid"] == event["sid"] is not None for s in ("SeenHere", "SeenThere") for r in before[s])
        wanted.append((fast, counted, seen))
    assert wanted[-1] == (3, 11, 2)
    assert [(row["fast"], row["counted"], row["seen"]) for row in rows(engine, text)] == wanted


def test_what_a_recall_finds_can_be_recalled(engine: Engine) -> None:
    text = "SELECT e.at AS time, r.* FROM O e FINAL RECALL ( SELECT c.sid, c.n FROM Compared c ) AS r WHERE e.bw > 5"
    past = arrived()["T"]
    wanted = []
    for event in arrived()["O"][:-1]:
        low = event["at"] - timedelta(minutes=10)
        seen = [r for r in past if low <= r["at"] < event["at"] and r["seq"] < event["seq"]]
        if event["bw"]:
            wanted.append((event["sid"], sum(r["sid"] == event["sid"] for r in seen)))
    assert [(row["sid"], row["n"]) for row in rows(engine, text)] == wanted


def test_matches_are_events(engine: Engine) -> None:
    count = "( SELECT count(*) AS n FROM T h WHERE h.sid = {} ) AS r"
    pattern = f"SELECT b.at AS time, r.n FROM PATTERN [ every a=O -> b=O(bw > 2) ] FINAL RECALL {count.format('b.sid')}"
    made = [(row["time"], row["n"]) for row in rows(engine, pattern)]
    past = arrived()

    def counted(event: dict[str, Any]) -> int:
        before = [r for r in past["T"] if r["at"] < event["at"] and r["seq"] < event["seq"]]
        return sum(r["sid"] == event["sid"] for r in before)

    assert set(made) == {(event["at"], counted(event)) for event in (past["O"][2], past["O"][5])}
    match = f"""SELECT m.sid, m.time, r.n FROM O MATCH_RECOGNIZE (
      PARTITION BY sid MEASURES last(A.at) AS time PATTERN ( A A ) DEFINE A AS A.bw > 0 ) AS m
      FINAL RECALL {count.format("m.sid")}"""
    shown = [(row["sid"], row["time"], row["n"]) for row in rows(engine, match)]
    assert shown == [(e["sid"], e["at"], counted(e)) for e in (past["O"][2], past["O"][5])]


def test_an_event_is_named_by_what_the_user_says_and_columns_hide_what_the_row_says(engine: Engine) -> None:
    text = """SELECT e.change, e.sid AS Revision, r.ü FROM O e EVENT ID (e.sid, e.bw, e.at)
      FINAL RECALL ( SELECT count(*) AS ü FROM T ) AS r WHERE e.bw IS NULL OR e.bw < 1"""
    made = rows(engine, text)
    assert [row["event_id"] for row in made] == ["null/null/2026-01-01T00:30:00Z", "ü/0.5/2026-01-01T00:40:00Z"]
    assert [(row["change"], row["Revision"], row["ü"]) for row in made] == [("ch-ü", None, 30), ("ch-ü", "ü", 32)]
    assert "revision" not in made[0]


@pytest.mark.parametrize("total", ["sum(h.n + {})", "sum(DISTINCT h.n + {})"])
def test_a_sum_that_leaves_its_range_is_an_error_from_parts_and_anew(engine: Engine, total: str) -> None:
    text = f"SELECT e.sid, r.s FROM O e RECALL ( SELECT {total.format(2**63 - 100)} AS s FROM T h ) AS r"
    with pytest.raises(PresageError) as raised:
        engine.query(text).to_arrow()
    assert raised.value.code == "ARITHMETIC_OVERFLOW"
