"""Sequence queries through the engine: batch on Spark, deployed, inferred; answers that say how sure they are."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from presage import Engine, PresageError
from presage.model.time import to_micros

DECLARED = """
CREATE STREAM At (person STRING, location STRING, at TIMESTAMP) EVENT TIME at KEY (person) PROBABILISTIC (location);
CREATE STREAM Was (person STRING, location STRING, at TIMESTAMP) EVENT TIME at KEY (person)
  PROBABILISTIC MARKOV (location);
CREATE STREAM Bell (n INT, at TIMESTAMP) EVENT TIME at;
CREATE RELATION Hall (location STRING) VALUES ('h1'), ('h2');
CREATE RELATION CRoom (location STRING) VALUES ('c');
CREATE RELATION Office (person STRING, location STRING) VALUES ('joe', 'o1'), ('sue', 'o2');
"""
COFFEE = """FROM SEQUENCE [ At(p, l1) ; At(p, l2)+{p | Hall(l2)} ; At(p, l3) ] WHERE Office(p, l1) AND CRoom(l3)"""


def moment(second: int) -> str:
    return f"2024-03-01T09:00:{second:02}Z"


def at(person: str, location: str, second: int, probability: float, **more: Any) -> dict[str, Any]:
    return {"person": person, "location": location, "at": moment(second), "probability": probability, **more}


WALKS = [
    at("joe", "o1", 1, 0.8),
    at("sue", "o2", 1, 0.5),
    at("joe", "h1", 2, 0.7),
    at("joe", "o1", 2, 0.2),
    at("sue", "h2", 2, 1.0),
    at("joe", "c", 3, 0.9),
    at("sue", "c", 3, 0.5),
    at("sue", "h1", 3, 0.5),
    at("sue", "c", 4, 0.5),
]


def answers(result: Any) -> list[tuple[Any, ...]]:
    rows = result.to_arrow().to_pylist()
    return [
        (row.get("p"), to_micros(row["at"]) // 1_000_000 % 60, pytest.approx(row["probability"], abs=1e-12))
        for row in rows
    ]


@pytest.fixture
def engine(spark: SparkSession, tmp_path: Path) -> Iterator[Engine]:
    with Engine(spark, tmp_path / "home", roots=[tmp_path]) as made:
        yield made


@pytest.fixture
def home(engine: Engine) -> Engine:
    engine.execute(DECLARED)
    engine.load("At", WALKS)
    return engine


def test_each_persons_coffee_has_its_probability(home: Engine) -> None:
    found = answers(home.query(f"SELECT p {COFFEE}"))
    assert found == [("joe", 3, 0.504), ("sue", 3, 0.25), ("sue", 4, 0.125)]
    assert list(home.query(f"SELECT p {COFFEE}").df.columns) == ["p", "at", "probability"]


def test_somebodys_coffee_is_one_minus_nobodys(home: Engine) -> None:
    found = answers(home.query(f"SELECT * {COFFEE}"))
    assert found == [(None, 3, 1 - (1 - 0.504) * (1 - 0.25)), (None, 4, 0.125)]


def test_a_threshold_leaves_out_what_is_less_likely(home: Engine) -> None:
    assert len(answers(home.query(f"SELECT p {COFFEE} WITH PROBABILITY >= 0.25"))) == 2
    assert len(answers(home.query(f"SELECT p {COFFEE} WITH PROBABILITY > 0.25"))) == 1


def test_a_standing_sequence_has_the_rows_of_the_query(engine: Engine) -> None:
    engine.execute(DECLARED)
    live = engine.deploy(f"SELECT p {COFFEE}", name="coffee")
    for row in WALKS:
        engine.load("At", [row])
    engine.advance("At", moment(30))
    live.drain(timeout=60)
    assert live.status.last_error is None
    assert answers(live.results()) == answers(engine.query(f"SELECT p {COFFEE}"))


def test_markov_chains_remember(engine: Engine) -> None:
    engine.execute(DECLARED)
    chain = [
        at("joe", "a", 1, 0.5, prev_location=None),
        at("joe", "b", 1, 0.5, prev_location=None),
        at("joe", "a", 2, 1.0, prev_location="a"),
        at("joe", "c", 2, 1.0, prev_location="b"),
    ]
    engine.load("Was", chain)
    text = "SELECT * FROM SEQUENCE [ Was('joe', '{}') ; Was('joe', '{}') ]"
    assert answers(engine.query(text.format("a", "c"))) == []
    assert answers(engine.query(text.format("b", "c"))) == [(None, 2, 0.5)]


def test_what_cannot_be_planned_says_how_it_was_found(home: Engine) -> None:
    text = "SELECT * FROM SEQUENCE [ At(x, 'o1') ; At(y, l) ] WHERE x <> y"
    rows = home.query(text).to_arrow().to_pylist()
    assert {row["method"] for row in rows} == {"exact"}
    assert [(row["probability_low"], row["probability_high"]) for row in rows] == [
        (row["probability"], row["probability"]) for row in rows
    ]
    shown = home.query(text).explain()
    assert "class: unsafe: the condition x <> y uses x, y, which no single subgoal has together" in shown


def test_a_safe_sequence_that_would_stand_for_ever_is_refused(home: Engine) -> None:
    text = "SELECT * FROM SEQUENCE [ At(p, 'o1') ; At(p, 'h1') ; Bell(1) ]"
    home.load("Bell", [{"n": 1, "at": moment(5)}])
    assert answers(home.query(text)) == [(None, 5, 0.8 * 0.7)]
    with pytest.raises(PresageError, match="its state would grow for ever"):
        home.deploy(text, name="bell")


def test_rivals_look_at_one_world(home: Engine) -> None:
    found = answers(
        home.query(
            "SELECT p FROM SEQUENCE [ At(p, l1) ; At(p, l2) ; At(p, l3) ] BY MLE "
            "WHERE Office(p, l1) AND Hall(l2) AND CRoom(l3)"
        )
    )
    # At 3 Sue is as likely in c as in h1: the first of them counts.
    assert found == [("joe", 3, 1.0), ("sue", 3, 1.0)]


def test_impossible_rows_are_rejected_with_key_and_step(engine: Engine) -> None:
    engine.execute(DECLARED)
    engine.load("At", [at("joe", "a", 1, 0.7), at("joe", "b", 1, 0.7), at("sue", "a", 1, 1.5), at("sue", "b", 2, 0.5)])
    rejected = engine.query("SELECT * FROM At").to_arrow().num_rows
    assert rejected == 1
    reasons = [str(row) for row in engine.rejected("At").to_pylist()]
    assert len(reasons) == 3
    assert any("joe" in reason and "09:00:01" in reason for reason in reasons)


def test_inferred_streams_are_asked_like_any_other(engine: Engine, tmp_path: Path) -> None:
    model = {
        "states": ["o", "h", "c"],
        "transition": {"graph": {"edges": [["o", "h"], ["h", "c"]], "stay": 0.5}},
        "emission": {"kind": "discrete", "table": {"o": {}, "h": {"A": 0.6}, "c": {}}, "absent": "evidence"},
        "step": "1 sec",
    }
    path = tmp_path / "floor.json"
    path.write_text(json.dumps(model))
    engine.execute("CREATE STREAM Reading (person STRING, antenna STRING, at TIMESTAMP) EVENT TIME at KEY (person)")
    engine.execute(f"CREATE MODEL floor FROM '{path}'")
    for name, clause, method in (("Now", "PROBABILISTIC", "FILTER"), ("Past", "PROBABILISTIC MARKOV", "SMOOTH")):
        engine.execute(
            f"CREATE STREAM {name} (person STRING, place STRING, at TIMESTAMP) EVENT TIME at KEY (person) "
            f"{clause} (place) FROM INFERENCE OVER Reading USING MODEL floor ({method})"
        )
    readings = [{"person": p, "antenna": "A", "at": moment(s)} for p in ("joe", "sue") for s in (2, 3, 7)]
    engine.load("Reading", readings)
    for name in ("Now", "Past"):
        found = answers(engine.query(f"SELECT p FROM SEQUENCE [ {name}(p, 'h') ; {name}(p, 'c') ]"))
        assert {p for p, _, _ in found} == {"joe", "sue"}
    with pytest.raises(PresageError, match="FILTER"):
        engine.deploy("SELECT p FROM SEQUENCE [ Past(p, 'h') ; Past(p, 'c') ]", name="past")
