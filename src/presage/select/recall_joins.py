"""Joins behind a RECALL: with the event at its own time, or anew with every revision (ANALYSIS PRESENT).

Here and not with the recall operator: it reads windows, and operators do not import each other."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from presage.errors import error
from presage.lang import syntax as s
from presage.operators.recall.nodes import Retained
from presage.operators.windows.nodes import MOMENT, Windowed
from presage.operators.windows.window_types import FIRST, TIME
from presage.plan.nodes import Node, RelationScan


class LaterJoins(NamedTuple):
    """The query without its ANALYSIS PRESENT items, and without the ON conditions behind the RECALL: these may refer to
    recalled columns."""

    events: s.Query
    present: tuple[s.FromItem, ...]
    conditions: tuple[s.Expr, ...]


def later_joins(query: s.Query, recalling: s.FromItem) -> LaterJoins:
    first = query.items.index(recalling) + 1
    for item in query.items[:first]:
        if item.analysis is not None:
            where = "on a join before the RECALL, whose rows are not revised yet"
            fix = "write the join behind the RECALL, or leave ANALYSIS out"
            raise error("UNSUPPORTED", item.span, what="ANALYSIS", where=where, fix=fix)
    later = query.items[first:]
    at_event = tuple(replace(item, on=None, analysis=None) for item in later if item.analysis != "present")
    events = replace(query, items=(*query.items[:first], *at_event))
    conditions = tuple(item.on for item in later if item.on is not None and item.analysis != "present")
    return LaterJoins(events, tuple(item for item in later if item.analysis == "present"), conditions)


def momentary(node: Node) -> Node:
    """The recalling event as a window of one moment, to join it with other streams."""
    return node if isinstance(node, Windowed) else Windowed(node, MOMENT)


def retained(node: Node, item: s.FromItem) -> Node:
    """A relation, or the content of a stream's window at the moment it is read."""
    if isinstance(node, RelationScan):
        return node
    if not isinstance(node, Windowed):
        return Retained(node)
    window = node.window
    kind = window.type
    if window.is_batch or kind.bends_time:
        where = "with ANALYSIS PRESENT" + (": a batch is not there before it closes" if window.is_batch else "")
        what, fix = f"the window {window.spelling()}", "use #time, #length, #unique or #lastevent"
        raise error("UNSUPPORTED", item.windows[0].span, what=what, where=where, fix=fix)
    if kind.time_only:
        return Retained(node.input, window.size if kind.retention == TIME else None)
    most = window.size if kind.is_sized else kind.events
    return Retained(node.input, None, (*window.group, *window.by), most, kind.retention == FIRST)
