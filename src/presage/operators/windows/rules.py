"""Optimizer rules for windows."""

from __future__ import annotations

from dataclasses import replace

from presage.operators.windows.infer_keys import infer_keys
from presage.operators.windows.nodes import NO_WINDOW, Aggregate, Windowed, WindowJoin, source_of
from presage.operators.windows.window_types import FIRST, FOREVER
from presage.optimize import Rule
from presage.plan.nodes import Filter, Node


def drop_idle_windows(plan: Node) -> Node:
    """Rule drop_idle_windows: a sliding window without an aggregate or a join above it changes nothing.

    before   Project [t.sym]                 after   Project [t.sym]
               Window #time(1 min)                     Scan Tick
                 Scan Tick

    A batch window delays rows, and a window of first events drops some: those stay, under an Aggregate node.
    """
    return _drop(plan, watched=False)


def _drop(node: Node, watched: bool) -> Node:
    if isinstance(node, Windowed):
        if not watched and not node.window.is_batch and node.window.type.retention != FIRST:
            return _drop(node.input, watched=False)
        return replace(node, input=_drop(node.input, watched=False))
    if isinstance(node, Aggregate | WindowJoin):
        return node.map_inputs(lambda child: _drop(child, watched=True))
    # A filter passes on whether the window below it is used; any other node ends that.
    passes = watched and isinstance(node, Filter)
    return node.map_inputs(lambda child: _drop(child, watched=passes))


def forget_unbounded_windows(plan: Node) -> Node:
    """Rule forget_unbounded_windows: an unbounded window under an aggregate equals no window, which holds no events.

    before   Aggregate [sum(t.n)]            after   Aggregate [sum(t.n)]
               Window #keepall                         Scan Tick
                 Scan Tick
    """

    def change(node: Node) -> Node:
        if isinstance(node, Aggregate):
            join, window = source_of(node)
            if join is None and window != NO_WINDOW and window.type.retention == FOREVER:
                return node.map_inputs(_without_window)
        return node

    return plan.rewrite(change)


def _without_window(node: Node) -> Node:
    return node.input if isinstance(node, Windowed) else node.map_inputs(_without_window)


RULES = (
    Rule("drop_idle_windows", drop_idle_windows, early=True),
    Rule("forget_unbounded_windows", forget_unbounded_windows, early=True),
    Rule("infer_keys", infer_keys),
)
