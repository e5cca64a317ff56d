"""The binder of SELECT over streams, windows and relations, to a logical plan.

Windows are named here, unlike other capabilities: joins, aggregates, DISTINCT and the output rate of SELECT are their
nodes. Other capabilities bind their items of FROM behind `select.extensions`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from presage.analyze.expressions import ExpressionBinder
from presage.analyze.names import event_type_of, refuse_same_name
from presage.analyze.outputs import bind_outputs
from presage.analyze.problems import Problems
from presage.analyze.scope import Scope, ScopeItem
from presage.errors import error, unsupported
from presage.functions.aggregates import is_aggregate
from presage.lang import syntax as s
from presage.lang.printer import print_statement
from presage.lang.recall_syntax import SimilarClause
from presage.lang.tree_walk import nodes_of
from presage.model.text import Span
from presage.model.time import TimeRange, format_timestamp
from presage.model.types import BOOLEAN, LONG, TIMESTAMP, is_orderable
from presage.operators.windows.nodes import (
    Aggregate,
    Distinct,
    Output,
    WindowJoin,
)
from presage.operators.windows.window_types import FIRST, SESSION, START
from presage.plan.expr import AggregateCall, Arithmetic, ColumnRef, Constant, Expr, FunctionCall, conjunction
from presage.plan.nodes import SHOWN_TIME, TIME, Field, Filter, Named, Node, Project, RelationJoin, RelationScan, Stamp
from presage.plan.query import BoundQuery
from presage.select.context import QueryContext
from presage.select.from_items import events_within
from presage.select.items import Item, bind_item, bind_relation, without_shown_time
from presage.select.recall_joins import later_joins, momentary, retained
from presage.select.refusals import refuse_uncertain_items


def bind_query(query: s.Query, context: QueryContext) -> BoundQuery:
    """The plan of a query; raises all of its errors together."""
    plain = context.extensions.in_plain_words(query, context.catalog, context.live)
    context.knowing.extend([query] if plain.knows else [])
    bound = _bind_plain(plain.query, replace(context, catalog=plain.catalog))
    knows = bool(context.knowing)
    return replace(bound, text=print_statement(query), notes=plain.notes, watched=plain.watched, knows=knows)


def _bind_plain(query: s.Query, context: QueryContext) -> BoundQuery:
    sequence = next((item for item in query.items if item.sequence is not None), None)
    predicted = any(item.predicted for item in query.items)
    recalling = next((item for item in query.items if item.recalls), None)
    if recalling is not None and (predicted or sequence is not None):
        fix = "INSERT INTO a stream what they find, and write RECALL behind that"
        raise error("UNSUPPORTED", recalling.span, what="RECALL", where="beside PREDICTED or SEQUENCE", fix=fix)
    if sequence is not None:
        return _bind_sequence(query, sequence, context)
    if predicted:
        return _bind_predicted(query, context)
    if recalling is not None:
        return _bind_recalled(query, recalling, context)
    problems = Problems()
    _refuse_other_items(query, problems)
    refuse_uncertain_items(query, context.catalog, problems)
    within = problems.attempt(lambda: bind_within(query.within, context.now))
    time, upper = within or (TimeRange(), None)
    items = [problems.attempt(lambda i=i: bind_item(i, context, time, bind_query)) for i in query.items]  # type: ignore[misc]
    output = query.output
    if within is not None and output is not None and output.every is None and context.live and upper is None:
        what, where = f"OUTPUT {output.mode.upper()} without EVERY", "in a deployed statement that has no end"
        fix = "give it an end, WITHIN [, '2030-01-01'), or write OUTPUT LAST EVERY 1 min"
        problems.errors.append(unsupported(output.span, what, where, fix))
    problems.raise_any()
    bound_items = [i for i in items if i is not None]
    if len(bound_items) > 1:
        bound_items = [replace(i, node=without_shown_time(i.node)) for i in bound_items]
    scope = Scope([scope for i in bound_items for scope in i.scopes], context.catalog)
    _refuse_same_alias(query.items, bound_items)
    return replace(_SelectBinder(query, scope, bound_items, problems).bind(upper), ends=time.high)


def _bind_sequence(query: s.Query, item: s.FromItem, context: QueryContext) -> BoundQuery:
    """The sequence capability binds the whole query."""
    time, upper = bind_within(query.within, context.now)
    events = events_within(time, context, bind_query)
    bound = context.extensions.sequence(query, item, events, context.catalog, upper)
    return replace(bound, ends=time.high)


def _bind_predicted(query: s.Query, context: QueryContext) -> BoundQuery:
    """The prediction capability binds the PREDICTED items to one source; the rest of the query selects from it."""
    time, upper = bind_within(query.within, context.now)
    events = events_within(time, context, bind_query)
    found = context.extensions.predicted(query, events, context.catalog, upper)
    relations = [bind_relation(item, item.alias or item.name, context) for item in found.query.items[1:]]
    items = [Item(found.scopes, found.node), *relations]
    _refuse_same_alias((query.items[0], *found.query.items[1:]), items)
    scope = Scope([scope for item in items for scope in item.scopes], context.catalog)
    return replace(_SelectBinder(found.query, scope, items, Problems()).bind(upper), ends=time.high)


def _bind_recalled(query: s.Query, item: s.FromItem, context: QueryContext) -> BoundQuery:
    """The rows of FROM are the events; the recall capability joins them with history."""
    time, upper = bind_within(query.within, context.now)
    later, problems = later_joins(query, item), Problems()
    refuse_uncertain_items(query, context.catalog, problems)
    problems.raise_any()
    bound, scopes, node = _bind_events(later.events, context, time)
    present = [bind_item(i, context, time, bind_query) for i in later.present]
    _refuse_same_alias((*later.events.items, *later.present), [*bound, *present])
    key: tuple[Expr, ...] = ()
    if item.pattern is None and item.match is None:
        event_type = event_type_of(item.name, item.span, context.catalog)
        found = [bound[query.items.index(item)].scopes[0].column(name) for name in event_type.key]
        key = tuple(column for column in found if column is not None)
    past = replace(context, since=None, until=None, live=False)
    history = events_within(TimeRange(), past, bind_query)
    # Similar events are searched among those of all times.
    similar = any(isinstance(clause, SimilarClause) for clause in item.recalls)
    earlier = _bind_events(later.events, past, TimeRange())[2] if similar else None
    joins = [
        (found.scopes, retained(without_shown_time(found.node), i), i)
        for i, found in zip(later.present, present, strict=True)
    ]
    event = (scopes, node, key, earlier)
    made = context.extensions.recalled(
        query, item, event, (tuple(joins), later.conditions), history, context.catalog, upper
    )
    return replace(made, ends=time.high)


def _bind_events(
    query: s.Query, context: QueryContext, time: TimeRange
) -> tuple[list[Item], tuple[ScopeItem, ...], Node]:
    """FROM without its RECALLs: the items, their names, and the node of their rows."""
    problems = Problems()
    refuse_uncertain_items(query, context.catalog, problems)
    items = [problems.attempt(lambda i=i: bind_item(i, context, time, bind_query)) for i in query.items]  # type: ignore[misc]
    problems.raise_any()
    bound = [replace(i, node=without_shown_time(i.node)) for i in items if i is not None]
    _refuse_same_alias(query.items, bound)
    _refuse_bounds(query.items, bound)
    streams = [number for number, i in enumerate(bound) if not i.is_relation]
    if len(streams) > 1 and query.items[streams[0]].recalls:
        bound[streams[0]] = replace(bound[streams[0]], node=momentary(bound[streams[0]].node))
    scopes = tuple(scope for i in bound for scope in i.scopes)
    scope = Scope(list(scopes), context.catalog)
    conditions = ExpressionBinder(scope, no_aggregates_in="a condition of FROM")
    on = [conditions.condition(i.on, "ON") for i in query.items if i.on is not None]
    plain = replace(
        query, items=tuple(replace(i, recalls=(), event_id=()) for i in query.items), select=(), having=None
    )
    return bound, scopes, _SelectBinder(plain, scope, bound, problems).source(on)


# Columns of the rows of a window with bounds.
BOUNDS = ("window_start", "window_end")


class _SelectBinder:
    def __init__(self, query: s.Query, scope: Scope, items: list[Item], problems: Problems) -> None:
        self.query = query
        self.scope = scope
        self.items = items
        self.problems = problems
        # OUTPUT SNAPSHOT: rows of what the windows hold at the end of input.
        self.snapshot = query.output is not None and query.output.mode == "snapshot"

    def bind(self, upper: int | None) -> BoundQuery:
        query, attempt = self.query, self.problems.attempt
        shown = self._with_bounds()
        conditions = ExpressionBinder(shown, no_aggregates_in="a condition of FROM or WHERE")
        joined = [item.on for item in query.items if item.on is not None]
        on = [attempt(lambda c=c: conditions.condition(c, "ON")) for c in joined]  # type: ignore[misc]
        written = query.where
        where = attempt(lambda: self._where(conditions, written)) if written is not None else None
        terms = ExpressionBinder(shown)
        outputs = bind_outputs(query, shown, terms, self.problems)
        plain = ExpressionBinder(shown, no_aggregates_in="GROUP BY")
        groups = [attempt(lambda g=g: self._group(plain, g)) for g in query.group_by]  # type: ignore[misc]
        having = attempt(lambda: self._having()) if query.having is not None else None
        self.problems.raise_any()

        self._check_streams()
        group_by = tuple(Named(f"_g{i}", g) for i, g in enumerate(groups) if g is not None)
        node = self.source([c for c in on if c is not None])
        is_join = isinstance(node, WindowJoin)
        if where is not None:
            node = Filter(node, where)
        before = node
        node, outputs, having = self._aggregate(node, is_join, outputs, having, group_by)
        # OUTPUT LAST at the end of input: HAVING and DISTINCT are about its rows, not about those before them.
        at_end = query.output is not None and query.output.every is None and not self.snapshot
        if having is not None and not at_end:
            node = Filter(node, having)
        # Rows of a match that pass unchanged, and do not become events, show the time of the match.
        alone = len(self.items) == 1 and node is before
        passing = alone and not query.distinct and query.output is None and query.insert_into is None
        brought = passing and SHOWN_TIME in node.column_names()
        node = self._last(node, outputs, group_by, having) if at_end else self._emit(node, outputs, group_by, brought)
        columns = tuple(Field(o.name, o.expr.type) for o in outputs)
        # To Spark, names that differ only in case are one column.
        if all(c.name.lower() != "at" for c in columns):
            node = Stamp(node, shown=SHOWN_TIME if brought else TIME)
            columns = (*columns, Field("at", TIMESTAMP))
        return BoundQuery(node, columns, upper, query.insert_into)

    def _group(self, binder: ExpressionBinder, node: s.Expr) -> Expr:
        bound = binder.bind(_resolve_alias(node, self.query, self.scope))
        self._refuse_bound(bound, "in GROUP BY", "leave it out: a row is of one window, whatever GROUP BY names")
        if not is_orderable(bound.type):
            expected, fix = "values that can be compared", "group by the value at a key: m['key']"
            raise error("TYPE_MISMATCH", node.span, what="GROUP BY", expected=expected, found=bound.type, fix=fix)
        return bound

    def _where(self, binder: ExpressionBinder, written: s.Expr) -> Expr:
        bound = binder.condition(written, "WHERE")
        self._refuse_bound(bound, "in WHERE", "write HAVING: WHERE is about single events")
        return bound

    def _refuse_bound(self, bound: Expr, where: str, fix: str) -> None:
        if any(self._bound(part) is not part for part in bound.walk()):
            raise error("UNSUPPORTED", bound.span, what="a bound of the window", where=where, fix=fix)

    def _having(self) -> Expr:
        assert self.query.having is not None
        written = _resolve_alias(self.query.having, self.query, self.scope)
        return ExpressionBinder(self._with_bounds()).condition(written, "HAVING")

    def _with_bounds(self) -> Scope:
        """The names, with those of the bounds of the window; of a pattern they belong to its first tag."""
        if not any(item.window.type.has_bounds for item in self.items):
            return self.scope
        first, *others = self.scope.items
        hidden = (*first.hidden, *((name, TIMESTAMP) for name in BOUNDS))
        return Scope([replace(first, hidden=hidden), *others], self.scope.catalog)

    def _bound(self, expr: Expr) -> Expr:
        """A bound of the window that a row is of: it closes at the row's time."""
        item = self.items[0]
        if not item.window.type.has_bounds or not isinstance(expr, ColumnRef) or expr.name in item.node.column_names():
            return expr
        start = expr.name == item.scopes[0].plan_name(BOUNDS[0])
        time: Expr = ColumnRef(LONG, TIME)
        if start and item.window.type.retention == SESSION:
            time = ColumnRef(LONG, START)
        elif start:
            time = Arithmetic(LONG, "-", time, Constant(LONG, item.window.size))
        return FunctionCall(TIMESTAMP, "timestamp_micros", (time,), span=expr.span)

    def _check_streams(self) -> None:
        if all(i.is_relation for i in self.items):
            name = self.query.items[0].name
            fix = f"join it with a stream; DESCRIBE {name} shows its rows"
            raise error("NOT_A_STREAM", self.query.items[0].span, name=name, kind="relation", fix=fix)

    def source(self, on: list[Expr]) -> Node:
        """FROM: one item, a native join with relations, or a window join."""
        streams = [i for i in self.items if not i.is_relation]
        condition = conjunction(on)
        if len(self.items) > 1 or self.snapshot:
            _refuse_bounds(self.query.items, self.items, self.snapshot)
        if self.snapshot:
            return WindowJoin(tuple(i.node for i in self.items), condition)
        if len(self.items) == 1:
            return self.items[0].node
        if len(streams) == 1 and not self._needs_aggregate(joined=False):
            node = streams[0].node
            for item in self.items:
                if isinstance(item.node, RelationScan):
                    node = RelationJoin(node, item.node, None)
            return Filter(node, condition) if condition is not None else node
        return WindowJoin(tuple(i.node for i in self.items), condition)

    def _needs_aggregate(self, joined: bool) -> bool:
        """Whether rows depend on the other events of the window."""
        special = any(i.window.is_batch or i.window.type.retention == FIRST for i in self.items)
        expressions = [item.expr for item in self.query.select] + ([self.query.having] if self.query.having else [])
        aggregates = any(_mentions_aggregate(x, self.scope) for x in expressions)
        return aggregates or (special and not joined) or (bool(self.query.group_by) and joined)

    def _aggregate(
        self, node: Node, joined: bool, outputs: list[Named], having: Expr | None, group_by: tuple[Named, ...]
    ) -> tuple[Node, list[Named], Expr | None]:
        if not self._needs_aggregate(joined) and not self.snapshot:
            return node, outputs, having
        calls: list[AggregateCall] = []
        expressions = [o.expr for o in outputs] + ([having] if having is not None else [])
        for expr in expressions:
            calls.extend(c for c in expr.walk() if isinstance(c, AggregateCall) and c not in calls)
        by_call: dict[Expr, str] = {call: f"_a{i}" for i, call in enumerate(calls)}

        def refer(expr: Expr) -> Expr:
            return ColumnRef(expr.type, by_call[expr], span=expr.span) if expr in by_call else self._bound(expr)

        for call in calls:
            self._refuse_bound(call, f"in {call.function}", "write it without: every row of a window has the same")
        outputs = [Named(o.name, _rewrite_above(o.expr, refer)) for o in outputs]
        having = _rewrite_above(having, refer) if having is not None else None
        seen_above = frozenset[str]().union(*(o.expr.columns() for o in outputs), having.columns() if having else ())
        batch = any(i.window.is_batch for i in self.items) and not joined
        row_per = "group" if group_by else "event"
        if (batch or self.snapshot) and calls and not group_by and not (seen_above - set(by_call.values())):
            row_per = "batch"
        elif calls and not group_by and self.items[0].window.type.has_bounds:
            row_per = "window"
        aggregate = Aggregate(
            node,
            group_by,
            tuple(Named(name, call) for call, name in by_call.items()),
            carry=() if row_per == "batch" else tuple(c.name for c in node.columns),
            row_per=row_per,
            at_end=self.snapshot,
        )
        return aggregate, outputs, having

    def _emit(self, node: Node, outputs: list[Named], group_by: tuple[Named, ...], brought: bool) -> Node:
        """The selected columns, then DISTINCT, then the output rate."""
        query = self.query
        visible = tuple(o.name for o in outputs)
        hidden: tuple[Named, ...] = ()
        if query.output is not None and query.output.mode in ("last", "first"):
            hidden = group_by
        if brought:
            hidden = (Named(SHOWN_TIME, ColumnRef(LONG, SHOWN_TIME)),)
        node = Project(node, (*outputs, *hidden))
        if query.distinct:
            node = Distinct(node, visible)
        if query.output is not None and not self.snapshot:
            by = tuple(h.name for h in hidden)
            node = Output(node, query.output.mode, query.output.every or 0, by, visible)
        return node

    def _last(self, node: Node, outputs: list[Named], group_by: tuple[Named, ...], having: Expr | None) -> Node:
        """The last row of each group at the end of input, then HAVING, then DISTINCT."""
        visible, by = tuple(o.name for o in outputs), tuple(g.name for g in group_by)
        tests = () if having is None else (Named("_having", having),)
        keep = (*visible, *(each.name for each in tests))
        node = Output(Project(node, (*outputs, *group_by, *tests)), "last", 0, by, keep)
        for test in tests:
            shown = tuple(Named(o.name, ColumnRef(o.expr.type, o.name)) for o in outputs)
            node = Project(Filter(node, ColumnRef(BOOLEAN, test.name)), shown)
        return Distinct(node, visible) if self.query.distinct else node


def _refuse_same_alias(items: tuple[s.FromItem, ...], bound: list[Item]) -> None:
    seen: list[str] = []
    for item, found in zip(items, bound, strict=True):
        for scope in found.scopes:
            tag = f"rename the tag '{scope.alias}' of this pattern, in its filters and in SELECT"
            fix = tag if item.pattern and scope.grouped else "give one of them an alias with AS"
            refuse_same_name(scope.alias, seen, "FROM", item.span, fix)
            seen.append(scope.alias)


def _refuse_bounds(written: tuple[s.FromItem, ...], bound: list[Item], snapshot: bool = False) -> None:
    for item, found in zip(written, bound, strict=True):
        if found.window.type.has_bounds:
            name = f"#{found.window.kind}"
            fix = f"INSERT INTO a stream the rows of {name}, and read that"
            fix = f"OUTPUT LAST gives the last row of each group of {name}" if snapshot else fix
            recalls = any(each.recalls for each in written)
            where = "with OUTPUT SNAPSHOT" if snapshot else "with RECALL" if recalls else "in a join"
            raise error("UNSUPPORTED", item.windows[-1].span, what=name, where=where, fix=fix)


def _refuse_other_items(query: s.Query, problems: Problems) -> None:
    """Refuse clauses that need uncertain, predicted or recalled data."""
    clauses: list[tuple[str, s.Node | None, str]] = [
        ("WITH PROBABILITY", query.probability, "it asks neither for a SEQUENCE […] nor for PREDICTED streams"),
        ("VALIDATE EVERY", query if query.validate is not None else None, "it asks for no PREDICTED stream"),
        ("APPROXIMATE", query.approximate, "its answer is exact"),
        ("SELECT TENTATIVE", query if query.tentative else None, "its rows never change"),
        *(("ANALYSIS", item, "its rows are never revised") for item in query.items if item.analysis),
    ]
    for name, node, why in clauses:
        if node is not None:
            problems.errors.append(
                error("UNSUPPORTED", node.span, what=name, where=f"on this query: {why}", fix=f"leave {name} out")
            )


def _mentions_aggregate(node: s.Expr, scope: Scope) -> bool:
    calls = (n for n in nodes_of(node) if isinstance(n, s.Call))
    return any(is_aggregate(call.name) and call.name not in scope.catalog.relations for call in calls)


def _resolve_alias(node: s.Expr, query: s.Query, scope: Scope) -> s.Expr:
    """GROUP BY and HAVING may use an alias of SELECT, unless an attribute has that name."""
    given = {i.alias: i.expr for i in query.select if i.alias and not isinstance(i.expr, s.Star)}
    known = {n for item in scope.items for n, _ in item.attributes} | {i.alias for i in scope.items}

    def change(current: object) -> object:
        if isinstance(current, s.Name) and current.name in given and current.name not in known:
            return given[current.name]
        if isinstance(current, s.Node):
            updates = {k: change(v) for k, v in vars(current).items() if isinstance(v, s.Node | tuple) and k != "span"}
            changed = {k: v for k, v in updates.items() if v is not getattr(current, k)}
            return replace(current, **changed) if changed else current  # type: ignore[arg-type]
        if isinstance(current, tuple) and not isinstance(current, Span):
            items = tuple(change(v) for v in current)
            return items if any(a is not b for a, b in zip(items, current, strict=True)) else current
        return current

    changed = change(node)
    assert isinstance(changed, s.Expr)
    return changed


def _rewrite_above(expr: Expr, refer: Callable[[Expr], Expr]) -> Expr:
    """Replaces aggregates top-down: their arguments stay unchanged."""
    replaced = refer(expr)
    return replaced if replaced is not expr else expr.map_children(lambda child: _rewrite_above(child, refer))


def bind_within(clause: s.WithinClause | None, now: int) -> tuple[TimeRange, int | None]:
    """The range of event time (low included, high excluded), and the upper bound as written: the last watermark."""
    if clause is None:
        return TimeRange(), None
    low = _edge(clause.low, now, shift_if_inclusive=False)
    high = _edge(clause.high, now, shift_if_inclusive=True)
    if low is not None and high is not None and low >= high:
        found = f"empty ({format_timestamp(low)} to {format_timestamp(high)})"
        expected = "a range that begins before it ends"
        fix = (
            "exchange the bounds"
            if _time(clause.low, now) != _time(clause.high, now)
            else "write [ and ] for that time"
        )
        raise error("BAD_VALUE", clause.span, what="the range of WITHIN", found=found, expected=expected, fix=fix)
    return TimeRange(low, high), _time(clause.high, now)


def _time(bound: s.Bound | None, now: int) -> int | None:
    return bound.at(now) if bound is not None else None


def _edge(bound: s.Bound | None, now: int, shift_if_inclusive: bool) -> int | None:
    """In whole microseconds, an inclusive upper or exclusive lower bound is the next microsecond."""
    time = _time(bound, now)
    if bound is None or time is None:
        return None
    return time + (bound.inclusive == shift_if_inclusive)
