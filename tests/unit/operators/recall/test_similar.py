"""RECALL SIMILAR as it is bound: its columns, the past events that it reads, and what is refused."""

from __future__ import annotations

import pytest

from presage.model.time import ALL_TIME
from presage.model.types import DOUBLE, INT, LONG, STRING, TIMESTAMP, ArrayOf, StructOf
from presage.operators.recall.nodes import Recall, Similar
from presage.plan.nodes import Filter, Scan
from unit.declared import bind, refusals

RANKED = "CREATE STREAM Ranked (name STRING, Rank LONG, at TIMESTAMP) EVENT TIME at;"


def recall_of(query: str) -> tuple[Recall, Similar]:
    (node,) = [node for node in bind(query).plan.walk() if isinstance(node, Recall)]
    similar = node.recalls[0]
    assert isinstance(similar, Similar)
    return node, similar


def test_its_columns_are_the_rank_the_past_event_and_its_context() -> None:
    _, similar = recall_of("SELECT s.* FROM Motion m RECALL SIMILAR 2 ( CONTEXT SELECT m.camera ) AS s")
    context = ArrayOf(StructOf((("attribute", STRING), ("value", STRING))))
    assert [(field.name, field.type) for field in similar.columns] == [
        ("s.rank", LONG),
        ("s.similarity", DOUBLE),
        ("s.camera", STRING),
        ("s.at", TIMESTAMP),
        ("s.x", DOUBLE),
        ("s.y", DOUBLE),
        ("s.n", INT),
        ("s.context", context),
    ]


def test_other_selects_and_events_around_come_behind_the_context() -> None:
    _, similar = recall_of("""SELECT s.* FROM Motion m RECALL SIMILAR 2 ( CONTEXT SELECT m.camera,
        WITH seen AS SELECT f.log FROM Fault f WINDOW 1 min, BEFORE 1 min ) AS s""")
    names = [field.name for field in similar.columns]
    assert names[-3:] == ["s.context", "s.seen", "s.around"]
    assert similar.columns[-2].type == ArrayOf(StructOf((("log", STRING),)))
    assert (similar.before, similar.after) == (60_000_000, 0)
    assert [near.stream for near in similar.nearby] == ["Motion"]


def test_past_events_meet_the_conditions_of_the_event_and_no_bound_of_time() -> None:
    node, similar = recall_of("""SELECT s.rank FROM Motion m RECALL SIMILAR 2 ( CONTEXT SELECT m.camera ) AS s
        WITHIN [2024-01-01T00:00:00Z, 2024-01-02T00:00:00Z) WHERE m.x > 1 AND s.similarity > 0.5""")
    past = node.histories[similar.past]
    assert isinstance(past, Filter)
    assert isinstance(node.input, Filter)
    assert past.condition == node.input.condition
    times = [[scan.time for scan in top.walk() if isinstance(scan, Scan)] for top in (past, node.input)]
    assert times[0] == [ALL_TIME]
    assert times[1] != [ALL_TIME]


# What stands in SIMILAR 2 ( … ), the code, and a part of the message.
REFUSED = [
    ("CONTEXT SELECT f.log FROM Fault f", "SYNTAX", "WINDOW"),
    ("CONTEXT SELECT m.x BANDWIDTH (z = 2)", "UNKNOWN_ATTRIBUTE", "no attribute 'z'"),
    ("CONTEXT SELECT m.camera BANDWIDTH (camera = 2)", "TYPE_MISMATCH", "the BANDWIDTH of camera needs a number"),
    ("CONTEXT SELECT m.x BANDWIDTH (x = 2, x = 3)", "DUPLICATE_NAME", "'x' is used twice"),
    ("CONTEXT SELECT f.tags FROM Fault f WINDOW 1 min", "TYPE_MISMATCH", "'tags' of a CONTEXT needs a number"),
    ("CONTEXT SELECT f.spot FROM Fault f WINDOW 1 min", "TYPE_MISMATCH", "'spot' of a CONTEXT needs a number"),
    ("CONTEXT SELECT m.x, WITH Rank AS SELECT m.y", "DUPLICATE_NAME", "'Rank' is used twice"),
    ("CONTEXT SELECT m.x, WITH a AS SELECT m.y, WITH A AS SELECT m.x", "DUPLICATE_NAME", "is used twice"),
    ("CONTEXT SELECT m.x, WITH x AS SELECT m.y", "DUPLICATE_NAME", "'x' is used twice"),
    ("CONTEXT SELECT q.x", "UNKNOWN_ALIAS", "q"),
    ("CONTEXT SELECT r.n RECALL ( SELECT count(*) AS n FROM Fault f ) AS M", "DIFFERS_IN_CASE", "'M' and 'm'"),
    ("CONTEXT SELECT r.n FROM Fault f WINDOW 1 min RECALL ( SELECT f.log ) AS r", "UNKNOWN_ALIAS", "f"),
    ("CONTEXT SELECT r.n RECALL ( SELECT 1 AS n RECALL ( SELECT 1 AS n ) AS q ) AS r", "UNSUPPORTED", "is a CONTEXT"),
    ("CONTEXT SELECT r.x RECALL ( SELECT f.tags AS x FROM Fault f ) AS r", "TYPE_MISMATCH", "'x' of a CONTEXT needs"),
    ("CONTEXT SELECT 1 AS x FROM (SELECT r.n RECALL (SELECT 1 AS n) AS r) AS z", "UNSUPPORTED", "is a CONTEXT"),
    ("CONTEXT SELECT p.floor FROM Place p WINDOW 1 min", "NOT_A_STREAM", "Place"),
]


@pytest.mark.parametrize(("inside", "code", "message"), REFUSED)
def test_what_cannot_be_compared_is_refused(inside: str, code: str, message: str) -> None:
    (found,) = refusals(f"SELECT s.rank FROM Motion m RECALL SIMILAR 2 ( {inside} ) AS s;")
    assert found.code == code
    assert message in found.render()


def test_a_context_takes_the_recalls_before_it_that_it_speaks_of_and_what_these_speak_of() -> None:
    (node,) = [
        node
        for node in bind("""SELECT s.rank FROM Motion m
            RECALL ( SELECT max(f.at) AS last FROM Fault f ) AS a
            RECALL ( SELECT count(*) AS n FROM Fault f ) AS b
            RECALL ( SELECT count(*) AS n FROM Fault f WHERE f.at = a.last ) AS c
            RECALL SIMILAR 2 ( CONTEXT SELECT c.n, CONTEXT SELECT m.x, WITH w AS SELECT b.n, d.k
                               RECALL ( SELECT a.last AS k ) AS d ) AS s""").plan.walk()
        if isinstance(node, Recall)
    ]
    similar = node.recalls[-1]
    assert isinstance(similar, Similar)
    used = [[recall.alias for recall in select.recalled] for select in similar.selects()]
    assert used == [["a", "c"], [], ["a", "b", "d"]]
    assert [sorted(select.of_event) for select in similar.selects()] == [[], ["m.x"], []]


def test_what_is_similar_to_a_past_event_is_no_part_of_its_context() -> None:
    (found,) = refusals("""SELECT t.rank FROM Motion m RECALL SIMILAR 2 ( CONTEXT SELECT m.x ) AS s
        RECALL ( SELECT s.rank AS x ) AS r RECALL SIMILAR 2 ( CONTEXT SELECT r.x ) AS t;""")
    assert (found.code, found.fix) == ("UNSUPPORTED", "name columns of a plain RECALL only")


def test_an_event_with_an_attribute_that_similar_brings_is_refused() -> None:
    (found,) = refusals("SELECT s.name FROM Ranked r RECALL SIMILAR 2 ( CONTEXT SELECT r.name ) AS s;", RANKED)
    assert (found.code, found.fix) == (
        "DUPLICATE_NAME",
        "INSERT the events INTO a stream that names the attribute otherwise",
    )
