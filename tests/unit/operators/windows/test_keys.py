"""By which key the work of a stateful node is spread, and when it cannot be: window x grouping x join."""

from __future__ import annotations

import pytest

from presage.operators.windows.infer_keys import infer_keys
from presage.operators.windows.nodes import Aggregate, WindowJoin
from presage.optimize.push_filters import push_filters
from presage.plan.display import show
from unit.declared import bind

GROUPED = {
    # Windows in which an event's stay depends on time alone are spread by any grouping.
    ("", "camera"): ["camera"],
    ("#keepall", "camera"): ["camera"],
    ("#time(1 min)", "camera"): ["camera"],
    ("#time(1 min)", "camera, n % 2"): ["camera", "n % 2"],
    ("#groupwin(n)#time(1 min)", "camera"): ["camera"],
    # One window for all groups is one piece of work.
    ("#length(3)", "camera"): [],
    ("#lastevent", "camera"): [],
    ("#length_batch(3)", "camera"): [],
    # A window for each value is spread by that value, if the grouping has it.
    ("#groupwin(camera)#length(3)", "camera"): ["camera"],
    ("#groupwin(camera)#length(3)", "n, camera"): ["camera"],
    ("#groupwin(camera)#length(3)", "n"): [],
    ("#groupwin(camera, n)#lastevent", "n"): ["n"],
    ("#groupwin(camera)#length_batch(2)", "camera"): ["camera"],
    ("#unique(camera)", "camera"): ["camera"],
    ("#unique(camera, n)", "n"): ["n"],
    ("#unique(n)", "camera"): [],
    ("#firstunique(camera)", "camera"): ["camera"],
    ("#groupwin(n)#unique(camera)", "n, camera"): ["n", "camera"],
    # A timer closes the batches of all values in one moment, and their rows have one order.
    ("#time_batch(1 min)", "camera"): [],
    ("#groupwin(camera)#time_batch(1 min)", "camera"): [],
    # Nothing to spread by.
    ("#time(1 min)", ""): [],
    ("#groupwin(camera)#length(3)", ""): [],
}


@pytest.mark.parametrize(("window", "groups"), GROUPED)
def test_an_aggregate_is_spread_by(window: str, groups: str) -> None:
    grouping = f"GROUP BY {groups}" if groups else ""
    plan = infer_keys(bind(f"SELECT count(*) AS c FROM Motion{window} AS m {grouping}").plan)
    (aggregate,) = [n for n in plan.walk() if isinstance(n, Aggregate)]
    assert [show(p).replace("m.", "") for p in aggregate.partition] == GROUPED[window, groups]


JOINED = {
    "Motion AS a, Fault AS b WHERE a.camera = b.camera": [["a.camera"], ["b.camera"]],
    "Motion AS a JOIN Fault AS b ON b.camera = a.camera": [["a.camera"], ["b.camera"]],
    "Motion AS a JOIN Fault AS b ON a.camera = b.camera AND a.at = b.at": [["a.camera", "a.at"], ["b.camera", "b.at"]],
    "Motion AS a JOIN Fault AS b ON upper(a.camera) = b.log": [["upper(a.camera)"], ["b.log"]],
    "Motion AS a JOIN Fault AS b ON a.n = b.spot.floor": [["a.n"], ["b.spot.floor"]],
    "Motion AS a JOIN Fault AS b ON a.x = b.spot.floor": [["a.x"], ["b.spot.floor"]],
    # No equality of two columns: every pair can meet.
    "Motion AS a, Fault AS b": [[], []],
    "Motion AS a JOIN Fault AS b ON a.camera <> b.camera": [[], []],
    "Motion AS a JOIN Fault AS b ON a.camera = b.camera OR a.at = b.at": [[], []],
    "Motion AS a JOIN Fault AS b ON a.camera = 'c1' AND b.camera = 'c1'": [[], []],
    "Motion AS a JOIN Fault AS b ON a.camera || b.camera = b.log": [[], []],
    # A window must allow it, on each side.
    "Motion#length(2) AS a JOIN Fault#time(1 sec) AS b ON a.camera = b.camera": [[], []],
    "Motion#groupwin(camera)#length(2) AS a JOIN Fault#time(1 sec) AS b ON a.camera = b.camera": [
        ["a.camera"],
        ["b.camera"],
    ],
    "Motion#unique(camera) AS a JOIN Fault#lastevent AS b ON a.camera = b.camera": [[], []],
    "Motion#unique(camera) AS a JOIN Fault#firstunique(camera, log) AS b ON a.camera = b.camera": [
        ["a.camera"],
        ["b.camera"],
    ],
    "Motion#time_batch(1 sec) AS a JOIN Fault AS b ON a.camera = b.camera": [[], []],
    "Motion#groupwin(camera)#time_batch(1 sec) AS a JOIN Fault AS b ON a.camera = b.camera": [[], []],
    # All streams must be tied, directly or through another; a relation need not be, and may tie.
    "Motion AS a JOIN Fault AS b ON a.camera = b.camera JOIN Other AS c ON c.camera = b.camera": [
        ["a.camera"],
        ["b.camera"],
        ["c.camera"],
    ],
    "Motion AS a, Fault AS b, Other AS c WHERE c.camera = b.camera AND a.camera = b.camera": [
        ["a.camera"],
        ["b.camera"],
        ["c.camera"],
    ],
    "Motion AS a, Fault AS b, Other AS c WHERE a.camera = b.camera AND b.log = c.camera": [[], [], []],
    "Motion AS a, Fault AS b, Other AS c WHERE a.camera = b.camera": [[], [], []],
    "Motion AS a, Place AS p, Fault AS b WHERE a.camera = p.camera AND p.camera = b.camera": [
        ["a.camera"],
        [],
        ["b.camera"],
    ],
    "Motion AS a, Place AS p, Fault AS b WHERE a.camera = b.camera": [["a.camera"], [], ["b.camera"]],
    # An event that is seen twice must have one key, or its rows are made in two places.
    "Motion AS a JOIN Motion AS b ON a.camera = b.camera": [["a.camera"], ["b.camera"]],
    "Motion AS a JOIN Motion AS b ON a.x = b.y": [[], []],
    "Motion AS a JOIN Motion AS b ON a.x = b.y AND a.camera = b.camera": [["a.camera"], ["b.camera"]],
    "CameraEvent AS a JOIN Motion AS b ON a.camera = b.camera": [["a.camera"], ["b.camera"]],
    # A derived event comes after the one that made it, and those of different statements one after the other.
    "Warm AS a JOIN Fault AS b ON a.camera = b.camera": [["a.camera"], ["b.camera"]],
    "Warm AS a JOIN Motion AS b ON a.camera = b.camera": [["a.camera"], ["b.camera"]],
    "Warm AS a JOIN Loud AS b ON a.camera = b.log": [["a.camera"], ["b.log"]],
    "Loud AS a JOIN Loud AS b ON a.camera = b.camera": [["a.camera"], ["b.camera"]],
    "Loud AS a JOIN Loud AS b ON a.camera = b.log": [[], []],
}
MORE = """
CREATE STREAM Other INHERITS CameraEvent;
INSERT INTO Warm SELECT camera, x FROM Motion WHERE x > 0;
INSERT INTO Loud SELECT camera, log FROM Fault;
"""


@pytest.mark.parametrize("sources", JOINED)
def test_a_join_is_spread_by(sources: str) -> None:
    plan = bind(f"SELECT a.camera AS c FROM {sources}", MORE).plan
    # The conditions of WHERE reach the join by another rule.
    plan = infer_keys(push_filters(plan))
    (join,) = [n for n in plan.walk() if isinstance(n, WindowJoin)]
    assert [[show(e) for e in keys] for keys in join.partition] == JOINED[sources]


def test_an_aggregate_over_a_join_is_spread_by_its_groups() -> None:
    text = "SELECT count(*) AS c FROM Motion#length(2) AS a, Fault#length(2) AS b GROUP BY a.camera, b.log"
    (aggregate,) = [n for n in infer_keys(bind(text).plan).walk() if isinstance(n, Aggregate)]
    assert [show(p) for p in aggregate.partition] == ["a.camera", "b.log"]


def test_a_join_of_matches_with_the_stream_of_their_events_is_not_spread() -> None:
    pattern = "PATTERN [ EVERY a=Motion -> b=Motion(camera = a.camera) ]"
    for stream, spread in (("Motion", False), ("Fault", True)):
        text = f"SELECT m.camera FROM {pattern} JOIN {stream}#time(1 min) AS m ON m.camera = a.camera"
        (join,) = [n for n in infer_keys(bind(text).plan).walk() if isinstance(n, WindowJoin)]
        assert bool(join.partition[0]) == spread
