"""The engine as its user meets it: homes, loading, errors, someone else's session."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from xml.etree import ElementTree

import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from presage import Engine, PresageError

START = datetime(2024, 3, 1, 9, tzinfo=UTC)
TICK = "CREATE STREAM Tick (sym STRING, price DOUBLE, at TIMESTAMP) EVENT TIME at WITH (max_delay = '5 sec');"


def tick(second: int, sym: str | None = "a", price: float | None = 1.0) -> dict[str, object]:
    return {"sym": sym, "price": price, "at": START + timedelta(seconds=second)}


@pytest.fixture
def engine(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    monkeypatch.chdir(tmp_path)
    with Engine(spark=spark) as engine:
        engine.execute(TICK)
        yield engine


def code_of(error: pytest.ExceptionInfo[PresageError]) -> str:
    return error.value.code


def test_every_kind_of_rows_can_be_loaded(engine: Engine, spark: SparkSession) -> None:
    engine.load("Tick", [tick(0)])
    engine.load("Tick", pd.DataFrame([tick(1)]))
    engine.load("Tick", pa.Table.from_pylist([tick(2)]))
    engine.load("Tick", spark.createDataFrame(pd.DataFrame([tick(3), tick(4)])))
    Path("more.jsonl").write_text('{"sym": "a", "price": 1, "at": "2024-03-01T09:00:05Z"}\n')
    engine.load("Tick", Path("more.jsonl"))
    Path("more.csv").write_text("sym,price,at\na,1.0,2024-03-01T09:00:06Z\n")
    report = engine.load("Tick", "more.csv")
    assert (report.accepted, report.last_seq) == (1, 7)
    result = engine.query("SELECT count(*) AS n, sum(price) AS total FROM Tick")
    assert [r["n"] for r in result] == [1, 2, 3, 4, 5, 6, 7]
    assert [r["at"] for r in result] == [START + timedelta(seconds=i) for i in range(7)]


def test_bad_rows_are_kept_with_their_reason_and_the_rest_goes_on(engine: Engine) -> None:
    report = engine.load("Tick", [tick(0), {"sym": 5, "price": 1.0, "at": START}, {"sym": "x"}, tick(1) | {"extra": 1}])
    assert (report.accepted, report.rejected, report.ignored) == (2, 2, {"extra": 1})
    rejected = engine.rejected("Tick").to_pylist()
    assert ["sym" in rejected[0]["reason"], "at" in rejected[1]["reason"]] == [True, True]
    assert '"sym": "x"' in rejected[1]["raw"]
    assert len(engine.query("SELECT * FROM Tick")) == 2


def test_late_events_are_seen_by_no_query(engine: Engine) -> None:
    engine.load("Tick", [tick(10)])
    report = engine.load("Tick", [tick(5, "in time"), tick(4, "late")])
    assert (report.accepted, report.late) == (1, 1)
    assert [r["sym"] for r in engine.query("SELECT sym FROM Tick")] == ["in time", "a"]
    assert engine.late("Tick").to_pylist()[0]["sym"] == "late"


def test_a_load_with_the_same_key_is_done_once(engine: Engine) -> None:
    assert engine.load("Tick", [tick(0)], once="chunk-7").accepted == 1
    assert engine.load("Tick", [tick(0)], once="chunk-7").duplicate
    assert len(engine.query("SELECT * FROM Tick")) == 1


def test_the_same_home_brings_everything_back(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rooms = tmp_path / "rooms.csv"
    rooms.write_text("sym,room\na,hall\n")
    with Engine(spark=spark, home=tmp_path / "home") as engine:
        engine.execute(TICK + "CREATE RELATION Room (sym STRING, room STRING) FROM 'rooms.csv';")
        engine.execute("INSERT INTO Dear SELECT sym, price FROM Tick WHERE price > 1")
        engine.load("Tick", [tick(0), tick(1, price=2.0)])
    rooms.unlink()
    monkeypatch.chdir("/")
    with Engine(spark=spark, home=tmp_path / "home") as engine:
        engine.load("Tick", [tick(2, price=3.0)])
        rows = list(engine.query("SELECT d.price, r.room FROM Dear d JOIN Room r ON d.sym = r.sym"))
    assert [(r["price"], r["room"]) for r in rows] == [(2.0, "hall"), (3.0, "hall")]


def test_a_home_belongs_to_one_engine(spark: SparkSession, tmp_path: Path) -> None:
    with Engine(spark=spark, home=tmp_path / "home"), pytest.raises(PresageError) as refused:
        Engine(spark=spark, home=tmp_path / "home")
    assert code_of(refused) == "HOME_LOCKED"
    Engine(spark=spark, home=tmp_path / "home").close()


@pytest.mark.parametrize("from_end", [False, True])
def test_damage_is_noticed_by_spark_too(engine: Engine, from_end: bool) -> None:
    engine.load("Tick", [tick(n, sym=f"name-{n}", price=n / 7) for n in range(200)])
    (path,) = (engine.home / "streams/Tick/events").glob("*.parquet")
    assert len(engine.query("SELECT sym, price FROM Tick WHERE price > 3").df.collect()) > 0
    data = bytearray(path.read_bytes())
    # A letter of a name, which Snappy keeps as it is; or what the footer says of the columns.
    data[-100 if from_end else data.index(b"name-") + 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(PresageError) as refused:
        engine.query("SELECT sym, price FROM Tick WHERE price > 3").to_arrow()
    assert code_of(refused) == ("HOME_CORRUPT" if from_end else "JOB_FAILED")


def test_a_home_that_cannot_be_opened_is_not_left_locked(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "rooms.csv").write_text("room\nhall\n")
    with Engine(spark=spark, home=tmp_path / "home", roots=[tmp_path]) as engine:
        engine.execute(f"CREATE RELATION Room (room STRING) FROM '{tmp_path}/rooms.csv'")
    (copy,) = (tmp_path / "home" / "relations").iterdir()
    rows = copy.read_bytes()
    copy.write_bytes(b"damaged")
    with pytest.raises(PresageError) as refused:
        Engine(spark=spark, home=tmp_path / "home")
    assert code_of(refused) == "HOME_CORRUPT"
    copy.write_bytes(rows)
    Engine(spark=spark, home=tmp_path / "home").close()


def test_a_users_session_keeps_its_settings(spark: SparkSession, tmp_path: Path) -> None:
    before = {k: spark.conf.get(k) for k in ("spark.sql.ansi.enabled", "spark.sql.session.timeZone")}
    settings = dict(spark.conf.getAll)
    with Engine(spark=spark) as engine:
        engine.execute(TICK)
        engine.load("Tick", [tick(0)])
        assert len(engine.query("SELECT avg(price) AS mean FROM Tick#time(1 min)")) == 1
        assert engine.spark is spark
    assert {k: spark.conf.get(k) for k in before} == before
    assert dict(spark.conf.getAll) == settings
    assert spark.range(1).count() == 1


# Over Connect another session would need the wheel sent once more.
@pytest.mark.on("local", "cluster")
def test_rows_do_not_depend_on_the_sessions_time_zone_and_ansi_mode(spark: SparkSession) -> None:
    query = (
        "SELECT sym, hour(at) AS h, price / 0 AS nothing, max(at) AS last, window(at) AS times, first(*) AS head "
        "FROM Tick#time(1 min) GROUP BY sym"
    )
    answers = []
    for zone, ansi in (("UTC", "true"), ("Asia/Kolkata", "false")):
        session = spark.newSession()
        session.conf.set("spark.sql.session.timeZone", zone)
        session.conf.set("spark.sql.ansi.enabled", ansi)
        with Engine(spark=session) as engine:
            engine.execute(TICK)
            engine.load("Tick", [tick(0), tick(20, "b"), tick(30)])
            answers.append(engine.query(query).to_arrow())
    assert answers[0] == answers[1]
    assert answers[0].to_pylist()[0]["h"] == 9


def test_a_result_is_what_was_there_when_it_was_asked_for(engine: Engine) -> None:
    engine.load("Tick", [tick(0)])
    result = engine.query("SELECT * FROM Tick")
    engine.load("Tick", [tick(1)])
    assert len(result) == 1


def test_all_forms_of_a_result_agree(engine: Engine) -> None:
    engine.load("Tick", [tick(i, "ab"[i % 2], float(i)) for i in range(50)])
    result = engine.query("SELECT sym, sum(price) AS total FROM Tick#length(3)")
    rows = result.to_arrow().to_pylist()
    assert [r.asDict() for r in result.df.select("sym", "total").collect()] == [
        {"sym": r["sym"], "total": r["total"]} for r in rows
    ]
    assert result.to_pandas()["total"].tolist() == [r["total"] for r in rows]
    assert result.columns == ["sym", "total", "at"]
    assert "#length(3)" in result.explain()


@pytest.mark.on("local", "cluster")
def test_many_events_come_in_order_over_many_tasks(spark: SparkSession) -> None:
    count = 120_000
    session = spark.newSession()
    session.conf.set("spark.sql.shuffle.partitions", "5")
    with Engine(spark=session) as engine:
        engine.execute(TICK)
        times = pa.array([1_700_000_000_000_000 + i * 1000 for i in range(count)], pa.timestamp("us", "UTC"))
        syms = pa.array([f"s{i % 97}" for i in range(count)])
        engine.load("Tick", pa.table({"sym": syms, "price": pa.array(range(count), pa.float64()), "at": times}))
        result = engine.query("SELECT sym, count(*) AS n FROM Tick#time(10 sec) GROUP BY sym")
        assert result.df.rdd.getNumPartitions() > 1
        seen = [r["at"] for r in result.df.collect()]
        assert seen == sorted(seen)
        assert len(seen) == count
        assert result.to_arrow()["n"].to_pylist()[-1] == 104


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda e: e.load("Tik", []), "UNKNOWN_STREAM"),
        (lambda e: e.load("Tick", 5), "DATA_SHAPE"),
        (lambda e: e.load("Tick", "/etc/passwd"), "FILE_UNREADABLE"),
        (lambda e: e.load("Tick", "nothing.csv"), "FILE_NOT_FOUND"),
        (lambda e: e.execute("CREATE RELATION R (a STRING) FROM '../nowhere/hosts.csv'"), "FILE_NOT_FOUND"),
        (lambda e: e.query("SELECT sym FROM Tick", mode="strem"), "BAD_VALUE"),
        (lambda e: e.query("SELECT sym FROM Tick", batches=3), "BAD_VALUE"),
        (lambda e: e.query("SELECT sym FROM Tick", mode="stream", batches=0), "BAD_VALUE"),
        (lambda e: e.deploy("SHOW STREAMS"), "SYNTAX"),
        (lambda e: e.deploy("SELECT nosuch FROM Tick"), "UNKNOWN_ATTRIBUTE"),
        (lambda e: e.deployments["nosuch"], "UNKNOWN_OBJECT"),
        (lambda e: e.execute("DROP STATEMENT nosuch"), "UNKNOWN_OBJECT"),
        (lambda e: e.advance("Tick", "never"), "BAD_TIMESTAMP"),
        (lambda e: e.query("CREATE SCHEMA S (a INT)"), "SYNTAX"),
        (lambda e: e.query(""), "SYNTAX"),
        (lambda e: e.explain("SHOW STREAMS"), "SYNTAX"),
        (lambda e: e.query("SELECT reflect('java.lang.System', 'exit') FROM Tick"), "FUNCTION_NOT_ALLOWED"),
        (lambda e: e.query("SELECT nosuch(sym) FROM Tick"), "UNKNOWN_FUNCTION"),
        (lambda e: e.query("SELECT " + "(" * 10_000 + "1" + ")" * 10_000 + " FROM Tick"), "QUERY_TOO_DEEP"),
        (lambda e: e.query("SELECT '" + "x" * 1_000_000 + "' FROM Tick"), "QUERY_TOO_LARGE"),
    ],
)
def test_a_mistake_has_its_code(engine: Engine, call: object, code: str) -> None:
    with pytest.raises(PresageError) as refused:
        call(engine)  # type: ignore[operator]
    assert code_of(refused) == code


def test_an_error_shows_its_place_and_the_fix(engine: Engine) -> None:
    with pytest.raises(PresageError) as refused:
        engine.query("SELECT sym,\n       pirce FROM Tick")
    assert (refused.value.line, refused.value.column) == (2, 8)
    assert "did you mean 'price'?" in str(refused.value)
    assert "       ^^^^^" in str(refused.value)


def test_a_closed_engine_says_so(spark: SparkSession) -> None:
    engine = Engine(spark=spark)
    engine.close()
    engine.close()
    with pytest.raises(PresageError) as refused:
        engine.execute("SHOW STREAMS")
    assert code_of(refused) == "ENGINE_CLOSED"
    assert spark.range(3).count() == 3


def test_an_error_of_a_kernel_comes_back_as_itself(engine: Engine) -> None:
    engine.execute("CREATE STREAM Big (n LONG, at TIMESTAMP) EVENT TIME at")
    engine.load("Big", [{"n": 2**62, "at": START}, {"n": 2**62, "at": START}])
    with pytest.raises(PresageError) as failed:
        engine.query("SELECT sum(n) AS total FROM Big").to_arrow()
    assert code_of(failed) == "ARITHMETIC_OVERFLOW"


def test_looking_tells_what_there_is(engine: Engine) -> None:
    engine.load("Tick", [tick(0), {"sym": "x"}])
    shown = engine.execute("SHOW STREAMS")
    assert shown is not None
    assert shown.to_arrow().to_pylist()[0]["rejected"] == 1
    described = engine.execute("DESCRIBE Tick")
    assert described is not None
    assert {"property": "rows", "value": "1"} in described.to_arrow().to_pylist()
    engine.execute("DROP STREAM Tick CASCADE")
    with pytest.raises(PresageError) as refused:
        engine.query("SELECT * FROM Tick")
    assert code_of(refused) == "UNKNOWN_STREAM"


def test_EXPLAIN_FORMAT_svg_draws_the_automaton(engine: Engine) -> None:
    query = (
        "SELECT * FROM Tick MATCH_RECOGNIZE (MEASURES 1 AS one PATTERN (STRT DOWN+) DEFINE DOWN AS price < PREV(price))"
    )
    drawn = engine.execute(f"EXPLAIN {query} FORMAT svg")
    assert drawn is not None
    svg = "\n".join(row["plan"] for row in drawn)
    assert (
        svg == drawn.picture().svg == engine.explain(f"EXPLAIN {query} FORMAT svg") == engine.query(query).picture().svg
    )
    assert ElementTree.fromstring(svg).get("aria-label") == "Automaton of PATTERN (STRT DOWN+)"
    assert svg in drawn._repr_html_()
    assert engine.query(query).explain() == engine.explain(query)
    with pytest.raises(PresageError) as raised:
        engine.execute("EXPLAIN SELECT sym FROM Tick FORMAT svg")
    assert code_of(raised) == "UNSUPPORTED"
    with pytest.raises(PresageError, match="no plan"):
        engine.query("SHOW STREAMS").picture()
