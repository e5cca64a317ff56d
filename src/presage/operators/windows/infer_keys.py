"""Rule infer_keys: the expressions by which a stateful node can be partitioned.

before   Aggregate [avg(t.price)] by [t.sym]     after   the same, partitioned by [t.sym]
           Window #time(1 min)

before   Join on b.cam = a.cam                   after   the same, a partitioned by [a.cam], b by [b.cam]

One partition must have all events that affect each other: those of one group, and those of one window if an event's
lifetime depends on other events (#length is one window for all groups: it cannot be partitioned). It must also have all
rows of one moment, since it decides their order: a timer of #time_batch closes the batches of all keys at once, and an
event that occurs twice in a join must have one key.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

from presage.analyze.scope import plan_name
from presage.operators.windows.nodes import NO_WINDOW, Aggregate, WindowDef, Windowed, WindowJoin, source_of
from presage.plan.expr import ColumnRef, Comparison, Expr, conjuncts
from presage.plan.nodes import Filter, Merge, Node, RelationScan, Scan


def infer_keys(plan: Node) -> Node:
    def change(node: Node) -> Node:
        if isinstance(node, Aggregate):
            return replace(node, partition=_aggregate_key(node))
        if isinstance(node, WindowJoin):
            return replace(node, partition=_join_key(node))
        return node

    return plan.rewrite(change)


def spreads_by(window: WindowDef) -> tuple[Expr, ...] | None:
    """The expressions by which a window may be partitioned without changing it; None if any will do."""
    if window.type.time_only:
        return None
    return () if window.type.closes_by_timer else window.type.key(window.group, window.by)


def _aggregate_key(node: Aggregate) -> tuple[Expr, ...]:
    groups = tuple(g.expr for g in node.group_by)
    if node.at_end:
        return ()
    join, window = source_of(node)
    allowed = spreads_by(window)
    if join is not None or allowed is None:
        return groups
    return tuple(g for g in groups if g in allowed)


def _join_key(node: WindowJoin) -> tuple[tuple[Expr, ...], ...]:
    """One tuple of expressions for each source; empty tuples if no equality ties all streams together."""
    nothing = tuple(() for _ in node.sources)
    streams = [i for i, s in enumerate(node.sources) if not isinstance(s, RelationScan)]
    chosen = [
        tied
        for tied in _equal_sets(node)
        if all(i in tied and _may_spread(node.sources[i], tied[i]) for i in streams) and _keeps_moments(node, tied)
    ]
    if not chosen:
        return nothing
    return tuple(tuple(tied[i] for tied in chosen) if i in streams else () for i in range(len(node.sources)))


def _may_spread(source: Node, expr: Expr) -> bool:
    while isinstance(source, Filter):
        source = source.input
    allowed = spreads_by(source.window if isinstance(source, Windowed) else NO_WINDOW)
    return allowed is None or expr in allowed


def _keeps_moments(node: WindowJoin, tied: dict[int, Expr]) -> bool:
    """Whether the rows of one moment have one key: sources with the same events must use the same attribute."""
    streams = [i for i, s in enumerate(node.sources) if not isinstance(s, RelationScan)]
    origins = {i: _origins(_events(node.sources[i])) for i in streams}
    return all(
        not origins[i] & origins[j] or _same_attribute((tied[i], node.sources[i]), (tied[j], node.sources[j]))
        for i, j in combinations(streams, 2)
    )


def _events(source: Node) -> Node:
    """The node below the filters and the window of a source."""
    while isinstance(source, Filter | Windowed):
        source = source.input
    return source


def _origins(events: Node) -> frozenset[str | int]:
    """The origins of a source's events: archived streams by name, statements by rank. Matches have those of their
    events."""
    if isinstance(events, Scan):
        return frozenset([events.stream])
    if isinstance(events, Merge):
        parts = zip(events.sources, events.ranks, strict=True)
        return frozenset[str | int]().union(*({rank} if rank else _origins(_events(part)) for part, rank in parts))
    return frozenset[str | int]().union(*(_origins(each) for each in events.inputs))


def _same_attribute(one: tuple[Expr, Node], other: tuple[Expr, Node]) -> bool:
    """Whether two sources have the same expression over the names of attributes alone. Matches have columns of their
    own."""
    if not all(isinstance(_events(source), Scan | Merge) for _, source in (one, other)):
        return False
    return _unqualified(*one) == _unqualified(*other)


def _unqualified(expr: Expr, source: Node) -> Expr:
    events = _events(source)
    assert isinstance(events, Scan | Merge)
    alias = plan_name(events.alias, "")
    return expr.rewrite(lambda x: replace(x, name=x.name.removeprefix(alias)) if isinstance(x, ColumnRef) else x)


def _equal_sets(node: WindowJoin) -> list[dict[int, Expr]]:
    """Sets of expressions, at most one per source, that the condition makes equal in every tuple."""
    sets: list[dict[int, Expr]] = []
    for left, right in equalities(node):
        for known in sets:
            if known.get(left[0]) == left[1] and right[0] not in known:
                known[right[0]] = right[1]
                break
            if known.get(right[0]) == right[1] and left[0] not in known:
                known[left[0]] = left[1]
                break
        else:
            sets.append(dict((left, right)))
    return _joined(sets)


def _joined(sets: list[dict[int, Expr]]) -> list[dict[int, Expr]]:
    """Sets that share an expression are joined, as long as each source has one expression."""
    result: list[dict[int, Expr]] = []
    for tied in sets:
        for known in result:
            shared = any(known.get(i) == x for i, x in tied.items())
            if shared and all(known.get(i, x) == x for i, x in tied.items()):
                known.update(tied)
                break
        else:
            result.append(dict(tied))
    return result


Side = tuple[int, Expr]


def equalities(node: WindowJoin) -> list[tuple[Side, Side]]:
    """Conjuncts `x = y` of the condition whose sides each name one source, with the source's number."""
    pairs: list[tuple[Side, Side]] = []
    for part in conjuncts(node.condition):
        if isinstance(part, Comparison) and part.op == "=":
            left, right = _owner(node, part.left), _owner(node, part.right)
            if left is not None and right is not None and left != right:
                pairs.append(((left, part.left), (right, part.right)))
    return pairs


def _owner(node: WindowJoin, expr: Expr) -> int | None:
    columns = expr.columns()
    for i, source in enumerate(node.sources):
        if columns and columns <= source.column_names():
            return i
    return None
