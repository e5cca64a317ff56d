"""A CONTEXT that speaks of a RECALL: past events and new ones each have their own history, and it is asked once."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from presage.columnar.evaluate import Evaluator
from presage.execution.steps import schema_of
from presage.lang import parse_statement
from presage.operators.recall.history_chunks import Chunk
from presage.operators.recall.nodes import Nearby, Recall, Recalled, Similar
from presage.operators.recall.questions import EVER, Questions
from presage.operators.recall.similar_rows import PastEvents, similar_rows
from presage.operators.recall.similar_terms import Moments
from presage.plan.nodes import SEQ, TIME, Scan
from property.test_recalled import WORLDS, Answering, World, declared, histories, rows_of
from reference.recalled import Row, context
from reference.similar_contexts import Term, most_similar

MEAN = "SELECT avg(h.y) AS mean, count(*) AS n FROM H h WHERE h.k = e.k"
MOST = "SELECT h.k AS key, max(h.x) AS most FROM H h GROUP BY h.k"
# What stands before RECALL SIMILAR, and in it.
CONTEXTS = {
    "one row": (f"RECALL{{last}} ( {MEAN} ) AS r", "CONTEXT SELECT r.mean, r.n"),
    "several rows": (f"RECALL{{last}} ( {MOST} ) AS r", "CONTEXT SELECT r.key, r.most"),
    "rows without groups": ("RECALL{last} ( SELECT h.x FROM H h WHERE h.k = e.k ) AS r", "CONTEXT SELECT r.x, e.k"),
    "one in another": (
        f"RECALL{{last}} ( {MOST} ) AS r RECALL ( SELECT count(*) AS c FROM H i WHERE i.x < r.most ) AS q",
        "CONTEXT SELECT q.c, r.key",
    ),
    "one of two": (
        f"RECALL{{last}} ( {MOST} ) AS r RECALL ( {MEAN} ) AS q",
        "CONTEXT SELECT q.mean, CONTEXT SELECT r.*",
    ),
    "beside a window": (
        f"RECALL{{last}} ( {MOST} ) AS r",
        "CONTEXT SELECT g.x FROM H g WINDOW 3 sec WHERE g.x >= r.most",
    ),
    "over a relation": (
        "RECALL{last} ( SELECT median(h.x) AS m FROM H h ) AS r",
        "CONTEXT SELECT z.room FROM R z WHERE z.room >= r.m",
    ),
    "inside": ("", f"CONTEXT SELECT r.mean RECALL{{last}} ( {MEAN} ) AS r, CONTEXT SELECT r.* RECALL ( {MOST} ) AS r"),
    "inside, one of another before": (
        f"RECALL{{last}} ( {MOST} ) AS r",
        "CONTEXT SELECT q.c, g.x FROM H g WINDOW 2 sec "
        "RECALL ( SELECT count(*) AS c FROM H i WHERE i.x < r.most ) AS q",
    ),
}


@cache
def bound(name: str, last: int | None) -> tuple[Recall, Similar]:
    back = f" LAST {last} sec" if last is not None else ""
    before, inside = (text.format(last=back) for text in CONTEXTS[name])
    text = f"SELECT s.rank FROM E e {before} RECALL SIMILAR 3 ( {inside} ) AS s"
    query = declared().bind(parse_statement(text))  # type: ignore[arg-type]
    (node,) = [node for node in query.plan.walk() if isinstance(node, Recall)]
    similar = node.recalls[-1]
    assert isinstance(similar, Similar)
    return node, similar


def events_of(node: Recall, world: World) -> pa.Table:
    scan = next(n for n in node.input.walk() if isinstance(n, Scan))
    order = sorted(world.of("E"), key=lambda event: (event[1], event[0]))
    made = [{"k": k, "v": v, "at": at, TIME: at, SEQ: seq} for seq, at, (k, v) in order]
    rows = [
        {TIME: m[TIME], SEQ: m[SEQ]} | {f.name: m[a] for f, a in zip(scan.fields, scan.attributes, strict=True)}
        for m in made
    ]
    return pa.Table.from_pylist(rows, schema_of(scan.columns))


def wanted_terms(similar: Similar, event: Row, answering: Answering) -> list[Term]:
    terms: list[Term] = []
    for select in similar.contexts:
        at = event[TIME]
        past = {
            r.alias: answering.past(at - r.last if r.last is not None else -EVER, at, event[SEQ])
            for r in select.recalled
        }
        found = context(select, event, past, answering.past(-EVER, at + 1, EVER))
        terms += [(name, value if isinstance(value, str | None) else float(value)) for name, value in found]
    return terms


class Counting:
    """Asks the twin, and counts how often."""

    def __init__(self, answering: Answering) -> None:
        self.answering = answering
        self.asked: list[str] = []

    def ask(self, recall: Recalled, asked: Questions, unit: Chunk, parts: bool) -> pa.Table:
        self.asked.append(recall.alias)
        return self.answering.ask(recall, asked, unit, parts)

    def near(self, stream: Nearby, width: int, asked: Questions) -> pa.Table:
        raise AssertionError("no statement asks for the events around")


@pytest.mark.parametrize("name", CONTEXTS)
@settings(max_examples=40)
@given(world=WORLDS, last=st.sampled_from([None, 2, 5]))
def test_contexts_use_the_final_answer_over_the_history_of_each_event(
    name: str, world: World, last: int | None
) -> None:
    node, similar = bound(name, last)
    table = events_of(node, world)
    if not table.num_rows:
        return
    columns = {number: [c.name for c in source.columns] for number, source in enumerate(node.histories)}
    # No select reads the past events.
    others = tuple(node.histories[-1] if n == similar.past else h for n, h in enumerate(node.histories))
    known = histories(replace(node, histories=others), world)
    asking = Counting(Answering(known, columns, world.exact_arrivals, node))
    contexts = [wanted_terms(similar, event, asking.answering) for event in rows_of(table)]

    moments = Moments(table, asking.ask, Evaluator({}))
    found = moments.terms(similar.contexts).to_pylist()
    assert sorted((t["event"], t["attribute"], t["text"] or t["number"]) for t in found) == sorted(
        (i, attribute, value) for i, terms in enumerate(contexts) for attribute, value in terms if value is not None
    )
    recalls = {recall for select in similar.contexts for recall in select.recalled}
    assert len([alias for alias in asking.asked if alias]) <= sum(len(c.recalled) for c in similar.contexts)
    assert {recall.alias for recall in recalls} <= set(asking.asked)

    past = PastEvents(lambda number, unit: table, asking.ask, asking.near, lambda number: True)
    rows = similar_rows(similar, table, past, Evaluator({}))
    place = list(range(table.num_rows))
    expected = most_similar(contexts, contexts, place, [0] * len(place), 3, {})
    made = zip(*(rows[n].to_pylist() for n in (rows.column_names[0], "s.rank", "s.at")), strict=True)
    times = table["e.at"].to_pylist()
    assert list(made) == [(answer.new, answer.rank, times[answer.past]) for answer in expected]
