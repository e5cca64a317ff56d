"""Rule infer_pattern_keys: equality of all events of a match with the first one partitions a pattern by key.

before   Pattern [EVERY a=A -> b=B(k = a.k)]      after   Pattern [EVERY a=A -> b=B(k = a.k)] by [A.k]

It applies to `EVERY a -> …` where each later filter has `x = a.k`: then events of different keys are never in one
match, and each key is a pattern of its own. `EVERY (a -> b)` is not partitioned: there an `a` of one key blocks those
of all others. Nor is a pattern with a limit on open instances, or whose matches discard others.
"""

from __future__ import annotations

from dataclasses import replace

from presage.operators.epl.kernel.spec import Argument, PatternTables
from presage.operators.epl.kernel.spec import Node as Term
from presage.operators.epl.nodes import PatternMatch
from presage.plan.expr import Comparison, Expr, conjuncts
from presage.plan.nodes import Node
from presage.plan.row_terms import RowValue


def infer_pattern_keys(plan: Node) -> Node:
    def change(node: Node) -> Node:
        if not isinstance(node, PatternMatch) or any(node.partition):
            return node
        partition = _partition(node)
        return replace(node, partition=partition) if partition is not None else node

    return plan.rewrite(change)


def _partition(node: PatternMatch) -> tuple[tuple[str, ...], ...] | None:
    """The key columns of each source."""
    tables = node.tables
    first = _first_filter(tables)
    if first is None or tables.discard or tables.suppress:
        return None
    later = [t for child in tables.nodes[0].children[1:] for t in _below(tables, child) if t.kind == "filter"]
    if not later:
        return None
    ties = [_ties(t, first.tag, node.programs) for t in later]
    common = [key for key in ties[0] if all(key in other for other in ties)]
    keys: list[str] = []
    columns: dict[int, list[str]] = {first.source: []}
    for key in common:
        own: dict[int, str] = {first.source: key}
        # A source whose filters compare different attributes has no single key column.
        if all(own.setdefault(t.source, tie[key]) == tie[key] for t, tie in zip(later, ties, strict=True)):
            keys.append(key)
            for source, column in own.items():
                columns.setdefault(source, []).append(column)
    if not keys or len(columns) != len(node.sources):
        return None
    return tuple(tuple(columns[i]) for i in range(len(node.sources)))


def _first_filter(tables: PatternTables) -> Term | None:
    """The filter of `a` in `EVERY a=A -> …`."""
    root = tables.nodes[0]
    if root.kind != "followed" or any(limit >= 0 for limit in root.limits):
        return None
    every = tables.nodes[root.children[0]]
    if every.kind != "every":
        return None
    first = tables.nodes[every.children[0]]
    return first if first.kind == "filter" and first.tag >= 0 else None


def _below(tables: PatternTables, number: int) -> list[Term]:
    term = tables.nodes[number]
    return [term, *(t for child in term.children for t in _below(tables, child))]


def _ties(term: Term, tag: int, programs: tuple[Expr, ...]) -> dict[str, str]:
    """Equalities between a filter's event and the first one: by column of the first event, the column of its own."""
    if term.program < 0:
        return {}
    ties: dict[str, str] = {}
    for part in conjuncts(programs[term.program]):
        if not isinstance(part, Comparison) or part.op != "=":
            continue
        if not isinstance(part.left, RowValue) or not isinstance(part.right, RowValue):
            continue
        for mine, other in ((part.left, part.right), (part.right, part.left)):
            if term.arguments[mine.place] == Argument(None) and term.arguments[other.place] == Argument(tag):
                ties[other.column] = mine.column
    return ties
