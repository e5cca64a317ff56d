"""How far a condition may move towards the events, per node."""

from __future__ import annotations

import pytest

from presage.optimize.push_filters import push_filters
from presage.plan.display import show_plan
from unit.declared import bind

JOIN = "FROM Motion#{} AS m, Fault#keepall AS f"
PUSHED = {
    "through a window of time": (
        "SELECT x FROM Motion#time(1 min) WHERE x > 1",
        "Window #time(1 min)\n  Filter Motion.x > 1.0\n    Scan",
    ),
    "through #keepall": (
        "SELECT x FROM Motion#keepall WHERE x > 1",
        "Window #keepall\n  Filter Motion.x > 1.0\n    Scan",
    ),
    "not through #length": (
        "SELECT sum(x) AS s FROM Motion#length(3) WHERE x > 1",
        "Filter Motion.x > 1.0\n  Window #length(3)\n    Scan",
    ),
    "not through #unique": (
        "SELECT sum(x) AS s FROM Motion#unique(camera) WHERE camera = 'a'",
        "Filter Motion.camera = 'a'\n  Window #unique(Motion.camera)\n    Scan",
    ),
    "not through a batch of time": (
        "SELECT x FROM Motion#time_batch(1 min) WHERE x > 1",
        "Filter Motion.x > 1.0\n  Window #time_batch(1 min)\n    Scan",
    ),
    "HAVING not through an aggregate": (
        "SELECT sum(x) AS s FROM Motion#time(1 min) HAVING x > 1",
        "Filter Motion.x > 1.0\n  Aggregate [sum(Motion.x) AS _a0], a row per event\n    Window",
    ),
    "into every stream of a type": (
        "SELECT camera FROM CameraEvent WHERE camera = 'a'",
        "Merge [CameraEvent.camera, CameraEvent.at]\n"
        "  Filter CameraEvent.camera = 'a'\n    Scan Motion as CameraEvent [camera, at]\n"
        "  Filter CameraEvent.camera = 'a'\n    Scan Fault",
    ),
    "to the source of a join that it speaks of, and into the join what speaks of two": (
        f"SELECT m.x {JOIN.format('time(1 min)')} WHERE m.x > 1 AND f.log = 'a' AND m.camera = f.camera",
        "Join on m.camera = f.camera\n"
        "  Window #time(1 min)\n    Filter m.x > 1.0\n      Scan Motion as m [camera, at, x, y, n]\n"
        "  Window #keepall\n    Filter f.log = 'a'\n      Scan",
    ),
    "to the source of a join but not through its window of events": (
        f"SELECT m.x {JOIN.format('length(2)')} WHERE m.x > 1",
        "Join\n  Filter m.x > 1.0\n    Window #length(2)\n      Scan",
    ),
    "beside a relation": (
        "SELECT m.x FROM Motion AS m JOIN Place AS p ON m.camera = p.camera WHERE m.x > 1 AND p.floor = 2",
        "RelationJoin on m.camera = p.camera AND p.floor = 2\n  Filter m.x > 1.0\n    Scan",
    ),
    "what speaks of no column to the first source": (
        f"SELECT m.x {JOIN.format('keepall')} WHERE FALSE",
        "Join\n  Window #keepall\n    Filter FALSE\n      Scan",
    ),
}


@pytest.mark.parametrize("name", PUSHED)
def test_a_filter_moves(name: str) -> None:
    text, wanted = PUSHED[name]
    shown = show_plan(push_filters(bind(text).plan))
    indent = 2 + 2 * ("Aggregate" in shown and "Aggregate" not in wanted)
    assert wanted in "\n".join(line[2 + indent :] for line in shown.splitlines())


def below_merge(text: str, more: str) -> list[str]:
    shown = show_plan(push_filters(bind(text, more).plan)).splitlines()
    return [line.removeprefix("      ") for line in shown[3:]]


def test_a_filter_moves_into_the_statement_behind_a_derived_stream() -> None:
    more = "INSERT INTO Warm SELECT x * 2 AS z FROM Motion WHERE y > 0;"
    assert below_merge("SELECT z FROM Warm WHERE z > 3", more) == [
        "Project [z AS Warm.z, at AS Warm.at]",
        "  Stamp [at]",
        "    Project [Motion.x * 2.0 AS z]",
        "      Filter Motion.y > 0.0 AND (Motion.x * 2.0) > 3.0",
        "        Scan Motion as Motion [camera, at, x, y, n]",
    ]


def test_a_filter_stops_above_a_statement_that_numbers_its_rows() -> None:
    more = "INSERT INTO Pairs SELECT a.x AS z FROM Motion#lastevent AS a, Motion#lastevent AS b;"
    assert below_merge("SELECT z FROM Pairs WHERE z > 3", more)[1:3] == ["  Filter z > 3.0", "    Stamp [at]"]


def test_a_filter_stays_above_a_stream_that_is_put_at_another_time() -> None:
    more = "INSERT INTO Later SELECT x, at + 1 sec AS at FROM Motion;"
    assert below_merge("SELECT x FROM Later WHERE x > 3", more)[1:3] == ["  Filter x > 3.0", "    Retime by at"]


def test_the_bounds_of_time_stay_at_the_derived_stream() -> None:
    more = "INSERT INTO Steps SELECT count(*) AS n FROM Motion#time_batch(1 sec);"
    below = below_merge("SELECT n FROM Steps WITHIN [2024-03-01T09:00, ) WHERE n > 1", more)
    assert below[1:3] == ["  Filter _t >= 1709283600000000 AND n > 1", "    Stamp [at]"]


def test_a_condition_of_ON_that_speaks_of_one_stream_moves_to_it() -> None:
    text = "SELECT m.x FROM Motion#time(1 sec) AS m JOIN Motion#time(1 sec) AS n ON m.camera = n.camera AND m.x > 1"
    shown = show_plan(push_filters(bind(text).plan))
    assert "Join on m.camera = n.camera\n      Window #time(1 sec)\n        Filter m.x > 1.0\n" in shown
