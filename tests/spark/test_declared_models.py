"""Probabilistic streams and models through the engine: a home opened again, rows of a DataFrame, rows looked at."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from presage import Engine, PresageError

READING = "CREATE STREAM Reading (person STRING, antenna STRING, at TIMESTAMP) EVENT TIME at KEY (person);"
AT = """CREATE STREAM At (person STRING, place STRING, at TIMESTAMP) EVENT TIME at KEY (person)
    PROBABILISTIC MARKOV (place) FROM INFERENCE OVER Reading USING MODEL floor (SMOOTH);"""
SEEN = """CREATE STREAM Seen (person STRING, place STRING, at TIMESTAMP) EVENT TIME at KEY (person)
    PROBABILISTIC (place);"""
MODEL = (
    '{"states": ["läb"],\r\n"initial": [1.0], "transition": [[1.0]], '
    '"emission": {"kind": "discrete", "table": {"läb": {"A": 0.5}}}}'
)


def seen(place: str, probability: float) -> dict[str, object]:
    return {"person": "joe", "place": place, "at": "2024-01-01", "probability": probability}


def test_a_home_keeps_its_models_and_what_is_inferred_with_them(tmp_path: Path) -> None:
    file = tmp_path / "floor.json"
    file.write_bytes(MODEL.encode())
    with Engine(home=tmp_path / "home", roots=[tmp_path]) as engine:
        engine.execute(f"{READING} CREATE MODEL floor FROM '{file}'; {AT} {SEEN}")
        engine.load("Seen", [seen("hall", 0.6)])
        before = engine.catalog
    assert before.models["floor"].text == MODEL
    file.unlink()
    with Engine(home=tmp_path / "home", roots=[tmp_path]) as engine:
        assert engine.catalog == before
        assert engine.load("Seen", [seen("lab", 0.6)]).rejected == 1
        assert '"joe" at 2024-01-01T00:00:00Z sums to 1.2' in engine.rejected("Seen")["reason"][0].as_py()
        with pytest.raises(PresageError) as refused:
            engine.execute("DROP MODEL floor")
        assert refused.value.code == "IN_USE"
        engine.execute("DROP STREAM At; DROP MODEL floor")
    with Engine(home=tmp_path / "home") as engine:
        assert not engine.catalog.models
        assert "At" not in engine.catalog.types


def test_a_lost_copy_of_a_model_is_told_when_the_home_is_opened(tmp_path: Path) -> None:
    (tmp_path / "floor.json").write_text(MODEL)
    with Engine(home=tmp_path / "home", roots=[tmp_path]) as engine:
        engine.execute(f"CREATE MODEL floor FROM '{tmp_path / 'floor.json'}'")
    (copy,) = (tmp_path / "home" / "models").iterdir()
    copy.unlink()
    with pytest.raises(PresageError) as refused:
        Engine(home=tmp_path / "home")
    assert refused.value.code == "HOME_CORRUPT"
    assert "model 'floor'" in refused.value.message


def test_rows_of_a_frame_are_judged_and_those_accepted_can_be_looked_at(spark: SparkSession) -> None:
    rows = [("joe", "hall", 0.7), ("sue", "lab", 0.7), ("joe", "lab", 0.7), ("sue", "hall", 0.3)]
    frame = spark.createDataFrame(rows, "person string, place string, probability double").repartition(3)
    frame = frame.selectExpr("*", "timestamp'2024-01-01 00:00:00Z' as at")
    with Engine(spark=spark) as engine:
        engine.execute(SEEN)
        report = engine.load("Seen", frame)
        assert (report.accepted, report.rejected) == (2, 2)
        found = engine.query("SELECT * FROM Seen").to_arrow()
        assert found.column_names == ["person", "place", "at", "probability"]
        assert sorted(zip(found["place"].to_pylist(), found["probability"].to_pylist(), strict=True)) == [
            ("hall", 0.3),
            ("lab", 0.7),
        ]


@pytest.mark.parametrize("method", ["FILTER", "SMOOTH", "VITERBI", "PARTICLES 40"])
def test_every_method_gives_the_same_rows_on_spark_and_in_batches(
    method: str, spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "two.json").write_text("""{"states": ["lab", "hall"], "initial": [0.5, 0.5],
        "transition": [[0.7, 0.3], [0.4, 0.6]], "emission": {"kind": "discrete", "absent": "evidence",
        "table": {"lab": {"A": 0.6, "B": 0.1}, "hall": {"B": 0.5}}}}""")
    readings = [
        {"person": f"p{i % 5}", "antenna": [None, "A", "B"][i * 7 % 3], "at": f"2024-01-01T00:00:{i // 5:02d}Z"}
        for i in range(40)
    ]
    with Engine(spark, home=tmp_path / "home", roots=[tmp_path]) as engine:
        engine.execute(f"""{READING} CREATE MODEL two FROM '{tmp_path / "two.json"}';
            CREATE STREAM Spot (person STRING, place STRING, at TIMESTAMP) EVENT TIME at KEY (person)
              FROM INFERENCE OVER Reading USING MODEL two ({method});""")
        engine.load("Reading", readings)
        for query in ("SELECT * FROM Spot", "SELECT p FROM SEQUENCE [ Spot(p, 'lab') ; Spot(p, 'hall') ]"):
            whole = engine.query(query).to_arrow().to_pylist()
            assert len({row.get("person", row.get("p")) for row in whole}) == 5
            assert engine.query(query, mode="stream", batches=3).to_arrow().to_pylist() == whole
