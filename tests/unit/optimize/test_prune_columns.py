"""Only what a later step looks at is read and carried."""

from __future__ import annotations

import pytest

from presage.operators.windows.nodes import Aggregate
from presage.optimize.prune_columns import prune_columns
from presage.plan.nodes import Merge, RelationScan, Scan
from unit.declared import bind

READ = {
    "SELECT x FROM Motion": [("x",)],
    "SELECT 1 AS one FROM Motion": [()],
    "SELECT * FROM Motion": [("camera", "at", "x", "y", "n")],
    "SELECT x FROM Motion WHERE y > 1": [("x", "y")],
    "SELECT count(*) AS c FROM Motion#unique(camera) GROUP BY n": [("camera", "n")],
    "SELECT sum(x) AS s FROM Motion#groupwin(y)#length(2) HAVING max(n) > 1": [("x", "y", "n")],
    "SELECT camera FROM CameraEvent": [("camera",), ("camera",)],
    "SELECT count(*) AS c FROM CameraEvent": [(), ()],
    "SELECT m.x FROM Motion AS m, Fault AS f WHERE m.camera = f.camera": [("camera", "x"), ("camera",)],
    "SELECT DISTINCT x FROM Motion GROUP BY camera OUTPUT LAST EVERY 1 sec": [("camera", "x")],
    "SELECT f.spot.room FROM Fault AS f": [("spot",)],
}


@pytest.mark.parametrize("text", READ)
def test_these_attributes_are_read(text: str) -> None:
    plan = bind(text).plan
    pruned = prune_columns(plan)
    assert [n.attributes for n in pruned.walk() if isinstance(n, Scan)] == READ[text]
    assert pruned.columns == plan.columns


def test_a_merge_yields_no_more_than_its_inputs_bring() -> None:
    pruned = prune_columns(bind("SELECT camera FROM CameraEvent").plan)
    (merge,) = [n for n in pruned.walk() if isinstance(n, Merge)]
    assert [c.name for c in merge.columns] == ["CameraEvent.camera"]


def test_a_relation_that_only_multiplies_rows_keeps_no_column() -> None:
    pruned = prune_columns(bind("SELECT count(*) AS c FROM Motion AS m, Place AS p").plan)
    assert [n.attributes for n in pruned.walk() if isinstance(n, RelationScan)] == [()]


def test_an_aggregate_that_nobody_reads_is_not_computed() -> None:
    more = "INSERT INTO Sums SELECT camera, sum(x) AS s, avg(y) AS a FROM Motion#time(1 sec) GROUP BY camera;"
    pruned = prune_columns(bind("SELECT camera, s FROM Sums", more).plan)
    (aggregate,) = [n for n in pruned.walk() if isinstance(n, Aggregate)]
    assert [a.name for a in aggregate.aggregates] == ["_a0"]
    assert aggregate.carry == ("Motion.camera",)
    assert [n.attributes for n in pruned.walk() if isinstance(n, Scan)] == [("camera", "x")]
