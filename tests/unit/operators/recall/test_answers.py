"""Groups and aggregates that were found for events, as rows: scaled to the history that was asked for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from presage.columnar.evaluate import Evaluator
from presage.errors import PresageError
from presage.lang import parse_statement
from presage.operators.recall.answers import finished
from presage.operators.recall.nodes import Recall, Recalled
from presage.operators.recall.questions import EVENT
from presage.workspace import Workspace

EVENTS = pa.table({"e.x": pa.array([0, 0, 0])})


def recall_of(select: str) -> Recalled:
    space = Workspace([], Path())
    space.check("CREATE STREAM S (x LONG, y DOUBLE, at TIMESTAMP) EVENT TIME at;")
    query = space.bind(parse_statement(f"SELECT r.* FROM S e RECALL ( {select} ) AS r"))  # type: ignore[arg-type]
    (node,) = [node for node in query.plan.walk() if isinstance(node, Recall)]
    return node.recalls[0]


def rows(recall: Recalled, found: pa.Table, scale: list[float]) -> list[list[object]]:
    made = finished(recall, found, EVENTS, np.arange(3), np.array(scale), Evaluator({}))
    return [list(row.values())[1:] for row in made.to_pylist()]


def test_counts_and_sums_are_scaled_and_other_aggregates_are_not() -> None:
    recall = recall_of("SELECT count(*) AS n, sum(h.x) AS s, sum(h.y) AS t, avg(h.y) AS a, max(h.x) AS m FROM S h")
    found = pa.table(
        {EVENT: [0, 1], "_a0": [3, 3], "_a1": [5, None], "_a2": [0.5, None], "_a3": [2.0, None], "_a4": [7, None]},
        pa.schema(
            [
                (EVENT, pa.int64()),
                ("_a0", pa.int64()),
                ("_a1", pa.int64()),
                ("_a2", pa.float64()),
                ("_a3", pa.float64()),
                ("_a4", pa.int64()),
            ]
        ),
    )
    assert rows(recall, found, [2.5, 2.0, 9.0]) == [
        [8, 12, 1.25, 2.0, 7],
        [6, None, None, None, None],
        [0, None, None, None, None],
    ]


def test_a_whole_number_of_an_event_that_needs_no_scaling_keeps_all_its_digits() -> None:
    recall = recall_of("SELECT sum(h.x) AS s FROM S h")
    found = pa.table({EVENT: [0, 1], "_a0": [2**60 + 1, 2]})
    assert rows(recall, found, [1.0, 2.0, 1.0]) == [[2**60 + 1], [4], [None]]


def test_a_scaled_number_that_leaves_its_range_is_an_error() -> None:
    recall = recall_of("SELECT sum(h.x) AS s FROM S h")
    with pytest.raises(PresageError) as raised:
        rows(recall, pa.table({EVENT: [0], "_a0": [2**62]}), [3.0, 1.0, 1.0])
    assert raised.value.code == "ARITHMETIC_OVERFLOW"
    assert "sum(h.x)" in raised.value.message
