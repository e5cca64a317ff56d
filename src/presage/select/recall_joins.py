"""Items of FROM behind a RECALL: those that the event meets at its time, and those that every revision meets."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from presage.errors import error
from presage.lang import syntax as s
from presage.operators.recall.retained import Retained
from presage.operators.windows.nodes import MOMENT, Windowed
from presage.operators.windows.window_types import FIRST, TIME
from presage.plan.nodes import Node, RelationScan


class LaterJoins(NamedTuple):
    """The query without the items of the present, and without the conditions of items behind the RECALL: these may
    speak of what was recalled."""

    events: s.Query
    present: tuple[s.FromItem, ...]
    conditions: tuple[s.Expr, ...]


def later_joins(query: s.Query, recalling: s.FromItem) -> LaterJoins:
    place = query.items.index(recalling)
    for item in query.items[: place + 1]:
        if item.analysis is not None:
            where = "on a join before the RECALL, whose rows are not revised yet"
            fix = "write the join behind the RECALL, or leave ANALYSIS out"
            raise error("UNSUPPORTED", item.span, what="ANALYSIS", where=where, fix=fix)
    later = query.items[place + 1 :]
    kept = tuple(replace(item, on=None, analysis=None) for item in later if item.analysis != "present")
    events = replace(query, items=(*query.items[: place + 1], *kept))
    conditions = tuple(item.on for item in later if item.on is not None and item.analysis != "present")
    return LaterJoins(events, tuple(item for item in later if item.analysis == "present"), conditions)


def momentary(node: Node) -> Node:
    """An event that recalls, beside other streams."""
    return node if isinstance(node, Windowed) else Windowed(node, MOMENT)


def retained(node: Node, item: s.FromItem) -> Node:
    """A relation, or what the window of a stream holds when it is looked at."""
    if isinstance(node, RelationScan):
        return node
    if not isinstance(node, Windowed):
        return Retained(node)
    window = node.window
    if window.is_batch:
        raise error(
            "UNSUPPORTED",
            item.windows[0].span,
            what=f"the window {window.spelling()}",
            where="with ANALYSIS PRESENT: a batch is not there before it closes",
            fix="use #time, #length, #unique or #lastevent",
        )
    kind = window.type
    if kind.bends_time:
        raise error(
            "UNSUPPORTED",
            item.windows[0].span,
            what=f"the window {window.spelling()}",
            where="with ANALYSIS PRESENT",
            fix="use #time, #length, #unique or #lastevent",
        )
    if kind.time_only:
        return Retained(node.input, window.size if kind.retention == TIME else None)
    most = window.size if kind.is_sized else kind.events
    return Retained(node.input, None, (*window.group, *window.by), most, kind.retention == FIRST)
