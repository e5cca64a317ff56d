"""MATCH_RECOGNIZE through an engine without Spark: what bounds count, labels of rows to come, sums of two variables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from presage import Engine, PresageError


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with Engine(home=tmp_path_factory.mktemp("rules") / "home", live=False, driven=False) as made:
        made.execute("CREATE STREAM T (v INT, seen TIMESTAMP, at TIMESTAMP) EVENT TIME at;")
        # An hour apart as they were seen, a second apart as events; the last one came in between.
        seen = ["09:00:00", "10:00:00", "11:00:00", "10:00:01"]
        rows = [
            {"v": v, "seen": f"2024-03-01T{time}Z", "at": f"2024-03-01T12:00:0{v}Z"} for v, time in enumerate(seen, 1)
        ]
        made.load("T", rows)
        yield made


def matched(engine: Engine, clause: str) -> list[Any]:
    return [row["m"] for row in engine.query(f"SELECT m FROM T MATCH_RECOGNIZE ( {clause} )")]


def refused(engine: Engine, clause: str) -> PresageError:
    with pytest.raises(PresageError) as caught:
        engine.query(f"SELECT m FROM T MATCH_RECOGNIZE ( {clause} )")
    return caught.value


# -- what bounds count ------------------------------------------------------------------------------------


@pytest.mark.parametrize("bound", ["WITHIN 1 min", "INTERVAL 1 min", "GAP 1 min"])
def test_bounds_count_the_time_that_order_by_begins_with(engine: Engine, bound: str) -> None:
    """First and last are those of the order: 10:00:00 and 10:00:01, though the events are two seconds apart."""
    clause = "{} MEASURES A.v * 10 + B.v AS m PATTERN (A B) {}"
    assert matched(engine, clause.format("ORDER BY seen", bound)) == [24]
    assert matched(engine, clause.format("ORDER BY at", bound)) == [12, 34]
    assert matched(engine, clause.format("", bound)) == [12, 34]


@pytest.mark.parametrize("order", ["v", "seen DESC", "at DESC"])
def test_bounds_need_an_order_of_time(engine: Engine, order: str) -> None:
    found = refused(engine, f"ORDER BY {order} MEASURES A.v AS m PATTERN (A B) WITHIN 1 min")
    assert (found.code, found.message.split()[0]) == ("TYPE_MISMATCH", "WITHIN")
    assert matched(engine, f"ORDER BY {order} MEASURES A.v AS m PATTERN (A B)")


def test_two_clocks_are_refused(engine: Engine) -> None:
    clause = "ORDER BY seen MEASURES A.v AS m PATTERN (A B) WITHIN 1 min"
    assert refused(engine, f"{clause} EMIT TIMEOUT").message.startswith("EMIT TIMEOUT with WITHIN")
    with pytest.raises(PresageError, match="a sliding window under MATCH_RECOGNIZE with WITHIN"):
        engine.query(f"SELECT m FROM T#time(1 min) MATCH_RECOGNIZE ( {clause} ) AS x")


# -- labels -----------------------------------------------------------------------------------------------


def test_labels_of_later_rows_of_the_match_are_seen_in_measures(engine: Engine) -> None:
    clause = "MEASURES {} AS m {} PATTERN (A B+ C) DEFINE C AS C.v = 4"
    assert matched(engine, clause.format("NEXT(CLASSIFIER())", "ALL ROWS PER MATCH")) == ["B", "B", "C", None]
    assert matched(engine, clause.format("NEXT(CLASSIFIER(), 2)", "ALL ROWS PER MATCH")) == ["B", "C", None, None]
    assert matched(engine, clause.format("NEXT(FIRST(CLASSIFIER()))", "")) == ["B"]
    assert matched(engine, clause.format("NEXT(CLASSIFIER())", "")) == [None]  # after the last row


def test_in_define_later_rows_have_no_label(engine: Engine) -> None:
    clause = "MEASURES count(*) AS m PATTERN (A B) DEFINE B AS NEXT(CLASSIFIER()) IS NULL"
    assert matched(engine, clause) == [2, 2]


# -- aggregates -------------------------------------------------------------------------------------------


def test_an_aggregate_takes_the_row_of_a_variable_that_came_before(engine: Engine) -> None:
    assert matched(engine, "MEASURES sum(A.v * 10 + B.v) AS m PATTERN (A B+)") == [39]


@pytest.mark.parametrize(
    "pattern", ["A+ B", "A{2} B", "A? B+", "(A | C) B+", "A B", "A+ B+", "(A B)+", "PERMUTE(A, B+)"]
)
@pytest.mark.parametrize("measure", ["sum(A.v + B.v)", "count(A.v + B.v)", "max_by(A.v, B.v)", "array_agg(A.v - B.v)"])
def test_an_aggregate_over_two_variables_that_would_be_null_is_refused(
    engine: Engine, pattern: str, measure: str
) -> None:
    found = refused(engine, f"MEASURES {measure} AS m PATTERN ({pattern})")
    assert (found.code, found.fix) == ("WRONG_ARGUMENTS", "aggregate each of them apart")
    found = refused(engine, f"MEASURES 1 AS m PATTERN ({pattern} D) DEFINE D AS {measure} IS NULL")
    assert found.code == "WRONG_ARGUMENTS"


@pytest.mark.parametrize(
    ("measure", "unlabelled"), [("sum(v - A.v)", "v"), ("max_by(A.v, T.v)", "T.v"), ("LAST(A.v + v)", "v")]
)
def test_an_attribute_of_any_row_is_not_read_as_that_of_a_variable_beside_it(
    engine: Engine, measure: str, unlabelled: str
) -> None:
    found = refused(engine, f"MEASURES {measure} AS m PATTERN (A B+) DEFINE A AS A.v = 1")
    assert (found.code, found.fix) == ("WRONG_ARGUMENTS", "write A.v, or ask for each of them apart")
    assert f"'{unlabelled}' of any row beside 'A'" in str(found)
    assert matched(engine, "MEASURES sum(v) - sum(A.v) AS m PATTERN (A B+) DEFINE A AS A.v = 1") == [9]
