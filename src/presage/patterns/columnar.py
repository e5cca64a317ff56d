"""Runs the nodes of the patterns room step by step on Arrow tables: the same kernels as `patterns.spark`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pyarrow as pa

from presage.columnar.steps import Rows, StepContext, aligned, padded_order, prepared_columns, run, united
from presage.errors import error
from presage.patterns.compile import KEYS, match_kernel, pattern_kernel
from presage.patterns.kernel.pattern_spec import SOURCE, STATEMENT
from presage.patterns.nodes import Match, PatternMatch
from presage.plan.nodes import SEQ, TIME, Node, order_columns

STATEFUL = (Match, PatternMatch)


def _run_match(node: Match, context: StepContext) -> Rows:
    kernel = context.once(node, lambda: match_kernel(node, context.relations))
    rows = run(node.input, context)
    order = node.input.order
    prepared = prepared_columns(node.prepared, rows.table, context)
    table = pa.table({**{name: rows.table[name] for name in (TIME, SEQ, *order)}, **prepared})
    keys = [key for key in node.tables.keys if key != STATEMENT]
    made = context.step(node, kernel, table, (TIME, SEQ, *order), rows.clock, keys=keys)
    placed = dict(zip(node.tables.placed, node.order[-3:], strict=True))
    return Rows(made.rename_columns([placed.get(name, name) for name in made.column_names]), rows.clock)


def _run_pattern(node: PatternMatch, context: StepContext) -> Rows:
    kernel = context.once(node, lambda: pattern_kernel(node, context.relations))
    depth = node.depth - 1
    tables, clock = aligned(node, [run(source, context) for source in node.sources], context)
    parts = [_source_table(i, node, table, depth, context) for i, table in enumerate(tables)]
    table = united(parts)
    sort = (TIME, SEQ, *order_columns(depth), SOURCE)
    keys = [key for key in kernel.spec.keys if key != STATEMENT]
    made = context.step(node, kernel, table, sort, clock, keys=keys)
    renamed = {node.tables.ordinal: node.order[-1]}
    return Rows(made.rename_columns([renamed.get(name, name) for name in made.column_names]), clock)


def _source_table(number: int, node: PatternMatch, table: pa.Table, depth: int, context: StepContext) -> pa.Table:
    """The events of one type as rows of the kernel's common input."""
    prepared = prepared_columns(node.prepared[number], table, context)
    columns: dict[str, pa.Array | pa.ChunkedArray] = {TIME: table[TIME], SEQ: table[SEQ]}
    columns |= dict(zip(order_columns(depth), padded_order(table, node.sources[number], depth), strict=True))
    columns[SOURCE] = pa.array(np.full(table.num_rows, number, np.int8))
    if any(node.partition):
        columns |= {f"{KEYS}{i}": prepared[name] for i, name in enumerate(node.partition[number])}
    if node.tables.shared:
        columns[STATEMENT] = table[STATEMENT]
    return pa.table({**columns, **prepared})


def has_timers(plan: Node) -> bool:
    """Whether time alone can make this plan yield rows."""
    for node in plan.walk():
        if isinstance(node, Match):
            bounded = node.tables.within is not None or node.tables.gap is not None
            if bounded or node.tables.sort:
                return True
        if isinstance(node, PatternMatch) and _makes_rows_by_time(node):
            return True
    return False


def _makes_rows_by_time(node: PatternMatch) -> bool:
    """A timer's interval is true by time alone. A guard only ends terms, which can make something true again where a
    NOT, true from its start, is started anew; elsewhere it may as well be noticed with the next event."""
    kinds = {term.kind for term in node.tables.nodes}
    return "interval" in kinds or ("not" in kinds and bool(kinds & {"within", "distinct"}))


def spreads(node: Node) -> bool:
    """Whether the keys of a node can be dealt with apart from each other."""
    if isinstance(node, Match):
        return bool(node.tables.keys)
    return isinstance(node, PatternMatch) and any(node.partition)


def check_order(plan: Node) -> None:
    """What runs as its events come takes them in the order of time."""
    for node in plan.walk():
        if isinstance(node, Match) and not node.tables.by_time:
            raise error("UNSUPPORTED", what="ORDER BY that does not begin with the event time", where="in streaming",
                        fix="begin it with the event time, or leave it out")  # fmt: skip


def check_end(plan: Node, ends: int | None) -> None:
    """`$` waits for the last row: a standing statement must have an end."""
    for node in plan.walk() if ends is None else ():
        if isinstance(node, Match):
            automaton = node.tables.automaton
            edges = [*automaton.first, *(edge for follow in automaton.follow for edge in follow)]
            if any(edge.at_end for edge in edges):
                raise error("UNSUPPORTED", what="$ in a pattern", where="in a statement that never ends",
                            fix="add WITHIN with an upper bound, or leave $ out")  # fmt: skip


OPERATORS: Mapping[type[Node], Callable[..., Rows]] = {Match: _run_match, PatternMatch: _run_pattern}
