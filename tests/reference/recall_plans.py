"""RECALL for the interpreter of plans: each event's last revision, over all of its history, by the twin of selects."""

from __future__ import annotations

from typing import Any

from presage.operators.recall.nodes import (
    CHANGE,
    COVERED_FROM,
    COVERED_TO,
    EVENT_ID,
    EXTRAPOLATED,
    INSERT,
    REVISION,
    Recall,
)
from presage.plan.nodes import SEQ, TIME, order_columns
from reference import plans
from reference.expressions import evaluate
from reference.plans import Row
from reference.recalled import ARRIVED, WHEN, Past, recalled


def recall_rows(interpreter: Any, node: Recall) -> list[Row]:
    """Of a FINAL RECALL that says how far it looks back."""
    assert node.final
    histories = {
        i: [{**row, WHEN: row[TIME], ARRIVED: row[SEQ]} for row in interpreter.other(history, None)]
        for i, history in enumerate(node.histories)
    }
    columns = {i: [c.name for c in history.columns] for i, history in enumerate(node.histories)}
    made = []
    for event in interpreter.rows(node.input):
        lows = {recall.alias: event[TIME] - (recall.last or 0) for recall in node.recalls}
        past = {alias: Past(histories, columns, low, event[TIME], event[SEQ]) for alias, low in lows.items()}
        named = [evaluate(expr, event) for expr in node.event_id]
        said = {
            EVENT_ID: "/".join("null" if value is None else str(value) for value in named),
            COVERED_FROM: min(lows.values()),
            COVERED_TO: event[TIME],
            REVISION: 1,
            CHANGE: INSERT,
            EXTRAPOLATED: False,
        }
        depth = node.input.depth
        names = order_columns(depth + 2)
        for place, row in enumerate(recalled(node, event, past)):
            order = {name: event[name] for name in (TIME, SEQ, *names[:depth])} | {names[depth]: 1, names[-1]: place}
            made.append({**order, **row, **{f.name: said[f.name] for f in node.revision_columns}})
    return made


plans.EVALUATORS[Recall] = recall_rows
