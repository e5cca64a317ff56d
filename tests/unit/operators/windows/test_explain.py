"""What EXPLAIN says of parallelism, state and warnings; the whole pages are under golden/explain."""

from __future__ import annotations

import pytest

from presage.lang import parse
from unit.declared import workspace


def sections(text: str) -> dict[str, str]:
    made = workspace()
    (query,) = parse(text).statements
    parts = made.explain(made.bind(query)).split("== ")[1:]
    return {part.split(" ==\n")[0]: part.split(" ==\n")[1].strip() for part in parts}


STATE = {
    "SELECT x FROM Motion": "none",
    "SELECT sum(x) AS s FROM Motion": "aggregate: one row",
    "SELECT sum(x) AS s FROM Motion#keepall GROUP BY camera": "aggregate: one row per group",
    "SELECT median(x) AS s FROM Motion": "aggregate: every value seen, grows for ever",
    "SELECT count(DISTINCT x) AS s FROM Motion GROUP BY n": "aggregate: every value seen by [Motion.n], grows for ever",
    "SELECT sum(x) AS s FROM Motion#time(1 hour)": "aggregate: the events of the last 1 hour",
    "SELECT sum(x) AS s FROM Motion#groupwin(n)#length(4)": "aggregate: the last 4 events for each value of [Motion.n]",
    "SELECT sum(x) AS s FROM Motion#time_batch(1 sec)": "aggregate: the events of the open batch of 1 sec",
    "SELECT sum(x) AS s FROM Motion#tumble(1 sec)": "aggregate: the events of the open span of 1 sec",
    "SELECT sum(x) AS s FROM Motion#length_batch(3)": "aggregate: at most 3 events of the open batch",
    "SELECT sum(x) AS s FROM Motion#groupwin(n)#length_batch(3)": (
        "aggregate: at most 3 events of the open batch for each value of [Motion.n], and its last closed batch"
    ),
    "SELECT sum(x) AS s FROM Motion#groupwin(n)#length_batch(3) GROUP BY n": (
        "aggregate: at most 3 events of the open batch for each value of [Motion.n]"
    ),
    "SELECT sum(x) AS s FROM Motion#unique(n)": "aggregate: one event for each value of [Motion.n]",
    "SELECT sum(x) AS s FROM Motion#lastevent": "aggregate: one event",
    "SELECT m.x FROM Motion#time(1 sec) AS m, Fault AS f": (
        "join: m: the events of the last 1 sec\njoin: f: every event, grows for ever"
    ),
    "SELECT DISTINCT x FROM Motion": "distinct: every different row, grows for ever",
    "SELECT x FROM Motion OUTPUT FIRST EVERY 1 sec": "output: the first row of each group",
    "SELECT x FROM Motion OUTPUT ALL EVERY 1 sec": "output: the rows of the open interval",
}


@pytest.mark.parametrize("text", STATE)
def test_what_is_remembered(text: str) -> None:
    assert sections(text)["State"] == STATE[text]


WARNINGS = {
    "SELECT sum(x) AS s FROM Motion": "none",
    "SELECT sum(x) AS s FROM Motion#time(1 hour)": "none",
    "SELECT median(x) AS s FROM Motion": (
        "median without a window keeps every value; add one, for example #time(1 hour)"
    ),
    "SELECT m.x FROM Motion#time(1 sec) AS m, Fault AS f": (
        "f: a source without a window keeps every event; give it one, for example #time(1 hour)"
    ),
    "SELECT DISTINCT x FROM Motion": "DISTINCT remembers every different row; select fewer columns if there are many",
}


@pytest.mark.parametrize("text", WARNINGS)
def test_state_without_a_bound_is_warned_of_with_the_fix(text: str) -> None:
    assert sections(text)["Warnings"] == WARNINGS[text]


PARALLEL = {
    "SELECT x FROM Motion": "stateless: as many tasks as there are files",
    "SELECT sum(x) AS s FROM Motion": "aggregate: one partition, because there is no GROUP BY",
    "SELECT sum(x) AS s FROM Motion GROUP BY n": "aggregate: parallel, partitioned by [Motion.n]",
    "SELECT sum(x) AS s FROM Motion#length(2) GROUP BY n": (
        "aggregate: one partition, because #length(2) is one window for all groups"
    ),
    "SELECT sum(x) AS s FROM Motion#groupwin(n)#time_batch(1 sec) GROUP BY n": (
        "aggregate: one partition, because #groupwin(Motion.n)#time_batch(1 sec) closes all batches at one moment"
    ),
    "SELECT m.x FROM Motion AS m JOIN Fault AS f ON m.camera = f.camera": "join: parallel, partitioned by [m.camera]",
    "SELECT m.x FROM Motion AS m, Fault AS f": (
        "join: one partition, because no equality ties all streams, or a window counts events of all keys"
    ),
    "SELECT DISTINCT x FROM Motion": "distinct: parallel, partitioned by [x]",
}


@pytest.mark.parametrize("text", PARALLEL)
def test_how_the_work_is_spread(text: str) -> None:
    assert sections(text)["Parallelism"] == PARALLEL[text]


def test_every_node_of_the_plan_has_a_physical_line() -> None:
    text = (
        "SELECT DISTINCT m.x, count(*) AS c FROM Motion AS m, Place AS p "
        "GROUP BY m.n HAVING count(*) > 1 OUTPUT ALL EVERY 1 sec"
    )
    found = sections(text)
    plan = found["Optimized plan"].splitlines()[:-1]
    assert len(found["Physical plan"].splitlines()) == len(plan)
