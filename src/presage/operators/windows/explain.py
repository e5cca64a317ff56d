"""EXPLAIN of windows, aggregates and joins: kernel, key, state, warnings."""

from __future__ import annotations

from collections.abc import Callable

from presage.functions.aggregates import aggregate_named
from presage.operators.windows import nodes
from presage.operators.windows.compile import JoinSourceStage, compile_join, peel_window
from presage.operators.windows.nodes import Aggregate, Distinct, Output, WindowDef, Windowed, WindowJoin, source_of
from presage.operators.windows.window_types import FOREVER
from presage.plan.display import show
from presage.plan.explain import Report
from presage.plan.expr import Expr
from presage.plan.nodes import Filter, Node, RelationJoin, RelationScan


def _listed(exprs: tuple[Expr, ...]) -> str:
    return ", ".join(map(show, exprs))


def _spread(what: str, key: tuple[Expr, ...], why_not: str) -> str:
    if key:
        return f"{what}: parallel, partitioned by [{_listed(key)}]"
    return f"{what}: one partition, because {why_not}"


def describe_aggregate(node: Aggregate) -> Report:
    join, window = source_of(node)
    calls = ", ".join(show(a.expr) for a in node.aggregates) or "rows"
    over = (
        "the join" if join is not None else f"window {window.spelling()}" if window != nodes.NO_WINDOW else "all events"
    )
    groups = tuple(g.expr for g in node.group_by)
    by = f" by [{_listed(groups)}]" if groups else ""
    why = _why_one(window) if groups else "there is no GROUP BY"
    why = "all rows are emitted at the end of input" if node.at_end else why
    warnings: list[str] = []
    if join is not None:
        state = f"aggregate: the tuples in the join{by}"
    else:
        state, warnings = _window_state(window, node, by)
    line = f"kernel  aggregate {calls}{by} over {over}, a row per {node.row_per}"
    line += ", at the end of input" if node.at_end else ""
    return Report(line, _spread("aggregate", node.partition, why), state, tuple(warnings))


def _why_one(window: WindowDef) -> str:
    if window.type.closes_by_timer:
        return f"{window.spelling()} closes all batches at one moment"
    shared = "holds events of several groups" if window.group or window.by else "is one window for all groups"
    return f"{window.spelling()} {shared}"


def _window_state(window: WindowDef, node: Aggregate, by: str) -> tuple[str, list[str]]:
    if window.type.retention == FOREVER:
        kept = [c.function for c in node.calls() if aggregate_named(c.function).keeps_values or c.distinct]
        if kept:
            return f"aggregate: every value seen{by}, grows for ever", [
                f"{', '.join(sorted(set(kept)))} without a window keeps every value; add one, for example #time(1 hour)"
            ]
        return f"aggregate: one row{' per group' if by else ''}", []
    groups = [g.expr for g in node.group_by]
    across = window.is_batch and (node.aggregates or groups) and any(g not in groups for g in window.group)
    closed = ", and its last closed batch" if across else ""
    return f"aggregate: {describe_window(window)}{closed}", _window_warnings(window)


def describe_window(window: WindowDef) -> str:
    """How many events a window holds, in words."""
    per = f" for each value of [{_listed(window.group)}]" if window.group else ""
    if window == nodes.MOMENT:
        return "the events of one moment"
    held = window.type.holds(window.size, _listed(window.by))
    return f"{held}{per}{', grows for ever' if window.type.retention == FOREVER else ''}"


def _window_warnings(window: WindowDef) -> list[str]:
    if window.type.retention == FOREVER:
        return ["a source without a window keeps every event; give it one, for example #time(1 hour)"]
    return []


def describe_join(node: WindowJoin) -> Report:
    stage = compile_join(node)
    links = [
        f"{show(le)} = {show(re)}"
        for left, lc, right, rc in stage.links
        for le, re in zip(_exprs(stage.sources[left], lc), _exprs(stage.sources[right], rc), strict=True)
    ]
    residual = f", then native filter {show(stage.residual)}" if stage.residual is not None else ""
    key = next((p for p in node.partition if p), ())
    states, warnings = [], []
    for source in node.sources:
        if isinstance(source, RelationScan):
            states.append(f"join: relation {source.relation}, all rows")
            continue
        _, _, window = peel_window(source)
        states.append(f"join: {_alias(source)}: {describe_window(window)}")
        warnings += [f"{_alias(source)}: {w}" for w in _window_warnings(window)]
    on = f" on {' AND '.join(links)}" if links else ", every pair"
    line = f"kernel  join {len(node.sources)} sources{on}{residual}"
    why = "no equality ties all streams, or a window counts events of all keys"
    if len(node.sources) == 1:
        line, why = "kernel  what the window holds", "the rows at the end are of all that it holds"
    return Report(
        line, _spread("join" if len(node.sources) > 1 else "window", key, why), "\n".join(states), tuple(warnings)
    )


def _exprs(source: JoinSourceStage, names: tuple[str, ...]) -> list[Expr]:
    prepared = {each.name: each.expr for each in source.prepared}
    return [prepared[name] for name in names]


def _alias(source: Node) -> str:
    below = source
    while isinstance(below, Filter | Windowed):
        below = below.input
    alias = getattr(below, "alias", None)
    return str(alias) if alias else next((c.name.split(".")[0] for c in source.columns), "source")


def describe_windowed(node: Windowed) -> Report:
    return Report(f"        {node.label()}")


def describe_relation_join(node: RelationJoin) -> Report:
    on = f" on {show(node.condition)}" if node.condition is not None else ""
    return Report(f"native  broadcast join with relation {node.relation.relation}{on}")


def describe_distinct(node: Distinct) -> Report:
    return Report(
        f"kernel  distinct [{', '.join(node.by)}]",
        f"distinct: parallel, partitioned by [{', '.join(node.by)}]",
        "distinct: every different row, grows for ever",
        ("DISTINCT remembers every different row; select fewer columns if there are many",),
    )


def describe_output(node: Output) -> Report:
    held = "the first row of each group" if node.mode == "first" else "the rows of the open interval"
    held = held if node.every else "the last row of each group" if node.by else "the last row"
    return Report(
        f"kernel  output {node.mode} {node.when}",
        "output: one partition, because rows leave in one order",
        f"output: {held}",
    )


DESCRIBE: dict[type[Node], Callable[..., Report]] = {
    Aggregate: describe_aggregate,
    WindowJoin: describe_join,
    Windowed: describe_windowed,
    RelationJoin: describe_relation_join,
    Distinct: describe_distinct,
    Output: describe_output,
}
