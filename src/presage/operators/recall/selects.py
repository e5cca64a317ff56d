"""The binder of a SELECT over history: sources, conditions, groups, aggregates, order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from presage.analyze.expressions import ExpressionBinder
from presage.analyze.names import refuse_same_name
from presage.analyze.scope import Scope, ScopeItem
from presage.errors import did_you_mean, error, unsupported
from presage.functions.aggregates import aggregate_named
from presage.lang import syntax as s
from presage.lang.print_terms import print_expression
from presage.lang.recall_syntax import Exists, HistorySelect, HistorySource, InSelect, Over, ScalarSelect
from presage.lang.tree_walk import nodes_of
from presage.model import types as t
from presage.model.catalog import Catalog
from presage.model.types import is_orderable
from presage.operators.recall.nodes import Order, Select, Source, Subquery, Windowed
from presage.operators.recall.window_functions import bind_over, order_by
from presage.plan.display import show
from presage.plan.expr import AggregateCall, ColumnRef, Constant, Expr, Not
from presage.plan.nodes import Named, Node, is_own_name

# The scope and the node of a stream or relation under an alias, and whether it is a relation.
Find = Callable[[HistorySource, str], tuple[ScopeItem, Node, bool]]


@dataclass
class Histories:
    """The streams and relations that the selects of a statement read, in the order of binding."""

    find: Find
    catalog: Catalog
    nodes: list[Node] = field(default_factory=list)

    def add(self, source: HistorySource, alias: str) -> tuple[ScopeItem, int, bool]:
        scope, node, relation = self.find(source, alias)
        self.nodes.append(node)
        return scope, len(self.nodes) - 1, relation


def bind_select(
    written: HistorySelect, event: tuple[ScopeItem, ...], histories: Histories, windowed: bool = False
) -> Select:
    """`event`: names of the event that the select may use. `windowed`: it is a CONTEXT, whose streams have a WINDOW
    each."""
    return _Binder(written, event, histories, windowed).bind()


class _Terms(ExpressionBinder):
    """Terms that may contain subqueries and window functions."""

    def __init__(
        self, scope: Scope, subquery: Callable[[str, s.Expr], Expr], over: Callable[[Over], Expr], no_aggregates_in: str
    ) -> None:
        super().__init__(scope, no_aggregates_in=no_aggregates_in)
        self._binders[Over] = over
        self._binders |= {
            ScalarSelect: lambda node: subquery("value", node),
            Exists: lambda node: subquery("exists", node),
            InSelect: lambda node: subquery("among", node),
        }


class _Binder:
    def __init__(
        self, written: HistorySelect, event: tuple[ScopeItem, ...], histories: Histories, windowed: bool
    ) -> None:
        self.written = written
        self.event = event
        self.histories = histories
        self.windowed = windowed
        self.subqueries: list[Subquery] = []
        self.windows: list[Windowed] = []
        self.items: list[ScopeItem] = []

    def bind(self) -> Select:
        written = self.written
        for recall in written.recalls:
            fix = "write it before this RECALL, which may name its columns"
            raise unsupported(recall.span, "RECALL", "inside of a select, unless that is a CONTEXT", fix)
        sources = [self._source(source) for source in written.sources]
        where = (
            self._terms("a condition of WHERE").condition(written.where, "WHERE") if written.where is not None else None
        )
        groups = tuple(Named(f"_g{i}", self._group(g)) for i, g in enumerate(written.group_by))
        outputs = self._outputs()
        having = self._terms(over="HAVING").condition(written.having, "HAVING") if written.having is not None else None
        sort, order = self._order(outputs)
        terms = [o.expr for o in (*outputs, *sort)] + ([having] if having is not None else [])
        calls: list[AggregateCall] = []
        for expr in terms:
            calls.extend(c for c in expr.walk() if isinstance(c, AggregateCall) and c not in calls)
        grouped = bool(calls or groups)
        if having is not None and not grouped:
            place = written.having.span if written.having else None
            raise unsupported(place, "HAVING", "without groups and aggregates", "write the condition in WHERE")
        if grouped:
            self._refuse_stars()
            self._refuse_windows()
            by_call: dict[Expr, Expr] = {call: ColumnRef(call.type, f"_a{i}") for i, call in enumerate(calls)}
            by_call |= {g.expr: ColumnRef(g.expr.type, g.name) for g in groups}
            outputs = tuple(Named(o.name, self._over_groups(o.expr, by_call)) for o in outputs)
            sort = tuple(Named(o.name, self._over_groups(o.expr, by_call)) for o in sort)
            having = self._over_groups(having, by_call) if having is not None else None
            self.subqueries = self._joined_to_groups([*outputs, *sort], having, by_call)
        self._check_rows(sort, outputs, calls, sources)
        named = tuple(Named(f"_a{i}", call) for i, call in enumerate(calls))
        subqueries, windows = tuple(self.subqueries), tuple(self.windows)
        select = Select(tuple(sources), where, subqueries, grouped, groups, named, having, outputs, sort, order)
        select = replace(select, limit=written.limit, distinct=written.distinct, windows=windows)
        used = frozenset[str]().union(*(expr.columns() for q in select.selects() for expr in q.own_expressions()))
        return replace(select, parameters=used & {c.name for item in self.event for c in _columns(item)})

    # -- FROM ----------------------------------------------------------------------------------------

    def _source(self, source: HistorySource) -> Source:
        alias = source.alias or source.name
        if not alias:
            fix = "write AS and a name behind the bracket"
            raise error("SYNTAX", source.span, found="a select without a name", expected="a name behind it", fix=fix)
        known = [item.alias for item in (*self.items, *self.event)]
        refuse_same_name(alias, known, "RECALL", source.span, "give one of them an alias with AS")
        if source.window is not None and not self.windowed:
            fix = "write how far to look back as RECALL LAST d"
            raise unsupported(source.span, "WINDOW", "in a RECALL that is no CONTEXT", fix)
        if source.select is not None:
            inner = bind_select(source.select, self.event, self.histories, self.windowed)
            columns = tuple((o.name, o.expr.type) for o in inner.outputs)
            item, bound = ScopeItem(alias, f"select '{alias}'", columns), Source(alias, select=inner)
        else:
            item, number, relation = self.histories.add(source, alias)
            if self.windowed and not relation and source.window is None:
                missing, expected = f"the stream '{source.name}' without a window", "WINDOW and a duration behind it"
                fix = f"write {source.name} {alias} WINDOW 5 min"
                raise error("SYNTAX", source.span, found=missing, expected=expected, fix=fix)
            if relation and source.window is not None:
                fix = "a relation is static: leave WINDOW out"
                raise error("NOT_A_STREAM", source.span, name=source.name, kind="relation", fix=fix)
            bound = Source(alias, number, relation=relation, window=source.window)
        self.items.append(item)
        on = self._terms("ON").condition(source.on, "ON") if source.on is not None else None
        if on is not None and any(on.columns() & {each.name} for each in self.subqueries):
            raise unsupported(on.span, "a select", "in ON", "ask it in WHERE")
        return replace(bound, on=on, outer=source.outer)

    # -- terms ---------------------------------------------------------------------------------------

    def _terms(self, no_aggregates_in: str = "", over: str = "") -> _Terms:
        """`over`: where a window function is an error and an aggregate is not."""
        # Names of the select hide those of the event.
        scope = _Inside([*self.items, *self.event], self.histories.catalog, own=len(self.items))
        return _Terms(scope, self._subquery, lambda node: self._over(node, no_aggregates_in or over), no_aggregates_in)

    def _over(self, node: s.Expr, outside: str) -> Expr:
        assert isinstance(node, Over)
        if outside:
            fix = "select it inside of FROM ( SELECT … ) AS x, and name its column here"
            raise unsupported(node.span, "OVER", f"in {outside}", fix)
        made = bind_over(node, f"_w{len(self.windows)}", self._terms(over="OVER"))
        self.windows.append(made)
        return ColumnRef(made.type, made.name, span=node.span)

    def _subquery(self, kind: str, node: s.Expr) -> Expr:
        assert isinstance(node, ScalarSelect | Exists | InSelect)
        select = bind_select(node.select, self.event, self.histories, self.windowed)
        if kind != "exists" and len(select.outputs) != 1:
            found = len(select.outputs)
            raise error("WRONG_ARGUMENTS", node.span, name="a select in a term", expected="one column", found=found)
        operand = None
        if isinstance(node, InSelect):
            operand = self._terms("IN").bind(node.operand)
            have, want = operand.type, select.outputs[0].expr.type
            if t.common_type(have, want) is None:
                raise error("TYPE_MISMATCH", node.span, what="IN", expected=have, found=want)
        if kind == "value" and not _of_one_row(select):
            fix = "write an aggregate without GROUP BY, such as max(x), or LIMIT 1"
            raise unsupported(node.span, "a select that may have several rows", "as a value", fix)
        name = f"_q{len(self.subqueries)}"
        self.subqueries.append(Subquery(name, kind, select, operand))
        answer: Expr = ColumnRef(self.subqueries[-1].type, name, span=node.span)
        if isinstance(node, InSelect) and node.negated:
            answer = Not(t.BOOLEAN, answer, span=node.span)
        return answer

    def _group(self, written: s.Expr) -> Expr:
        given = {i.alias: i.expr for i in self.written.select if i.alias and not isinstance(i.expr, s.Star)}
        known = {n for item in self.items for n, _ in item.attributes}
        if isinstance(written, s.Name) and written.name in given and written.name not in known:
            written = given[written.name]
        bound = self._terms("GROUP BY").bind(written)
        _refuse_number(bound, "GROUP BY")
        if not is_orderable(bound.type):
            expected = "values that can be compared"
            raise error("TYPE_MISMATCH", written.span, what="GROUP BY", expected=expected, found=bound.type)
        return bound

    def _outputs(self) -> tuple[Named, ...]:
        outputs: list[Named] = []
        for item in self.written.select:
            for name, expr in self._columns_of(item):
                known = [o.name for o in outputs]
                refuse_same_name(name, known, "SELECT", item.span, "give one of them another name with AS")
                if is_own_name(name) or name.startswith(("_a", "_q", "_w")):
                    what, expected = "the name of a column", "none of Presage's own names"
                    fix = "give it another name with AS"
                    raise error("BAD_VALUE", item.span, what=what, found=f"'{name}'", expected=expected, fix=fix)
                outputs.append(Named(name, expr))
        return tuple(outputs)

    def _columns_of(self, item: s.SelectItem) -> list[tuple[str, Expr]]:
        if isinstance(item.expr, s.Star):
            star = item.expr
            shown = [i for i in self.items if star.of in (None, i.alias)]
            shown = shown or [i for i in self.event if i.alias == star.of]
            if not shown:
                known = [i.alias for i in (*self.items, *self.event)]
                raise error("UNKNOWN_ALIAS", star.span, name=star.of or "*", fix=did_you_mean(star.of or "", known))
            return [(n, c) for i in shown for (n, _), c in zip(i.attributes, i.all_columns(), strict=True)]
        expr = self._terms().bind(item.expr)
        short = item.expr.name if isinstance(item.expr, s.Name | s.Member) else print_expression(item.expr)
        return [(item.alias or short, expr)]

    def _order(self, outputs: tuple[Named, ...]) -> tuple[tuple[Named, ...], tuple[Order, ...]]:
        by_name = {o.name: o.expr for o in outputs}
        sort, order = [], []
        for i, term in enumerate(self.written.order_by):
            written = term.expr
            # As in SQL, an output column comes before an attribute of that name.
            if isinstance(written, s.Name) and written.name in by_name:
                expr = by_name[written.name]
            else:
                expr = self._terms().bind(written)
                _refuse_number(expr, "ORDER BY")
            sort.append(Named(f"_k{i}", expr))
            order.append(order_by(f"_k{i}", term, expr))
        return tuple(sort), tuple(order)

    def _refuse_stars(self) -> None:
        for item in self.written.select:
            if isinstance(item.expr, s.Star):
                fix = "name the columns, as they stand in GROUP BY"
                raise unsupported(item.span, "*", "beside groups and aggregates", fix)

    def _refuse_windows(self) -> None:
        for term in (*self.written.select, *self.written.order_by):
            for node in nodes_of(term):
                if isinstance(node, Over):
                    fix = "select from the groups: FROM ( SELECT … GROUP BY … ) AS x"
                    raise unsupported(node.span, "OVER", "beside groups and aggregates", fix)

    def _over_groups(self, expr: Expr, by_term: dict[Expr, Expr]) -> Expr:
        """A term of a group: aggregates and grouping terms become columns; other columns must be the event's."""
        if expr in by_term:
            return by_term[expr]
        own = {c.name for item in self.items for c in _columns(item)}
        if isinstance(expr, ColumnRef) and expr.name in own:
            short = expr.name.partition(".")[2]
            fix = f"add it to GROUP BY, or write first({short}), max({short}) …"
            raise unsupported(expr.span, f"'{expr.name}'", "beside groups, as it is not grouped by", fix)
        return expr.map_children(lambda child: self._over_groups(child, by_term))

    def _joined_to_groups(self, terms: list[Named], having: Expr | None, by_term: dict[Expr, Expr]) -> list[Subquery]:
        """Subqueries in terms of groups are joined to the groups."""
        exprs = [term.expr for term in terms] + ([having] if having is not None else [])
        named = frozenset[str]().union(*(expr.columns() for expr in exprs))

        def late(subquery: Subquery) -> Subquery:
            operand = self._over_groups(subquery.operand, by_term) if subquery.operand is not None else None
            return replace(subquery, operand=operand, late=True)

        return [late(each) if each.name in named else each for each in self.subqueries]

    def _check_rows(
        self, sort: tuple[Named, ...], outputs: tuple[Named, ...], calls: list[AggregateCall], sources: list[Source]
    ) -> None:
        """Errors of terms that need an order which the rows do not have."""
        shown = [output.expr for output in outputs]
        for term in sort if self.written.distinct else ():
            if term.expr not in shown:
                fix = "add it to SELECT, or leave DISTINCT out"
                raise unsupported(term.expr.span, "ORDER BY what is not shown", "with DISTINCT", fix)
        for call in calls:
            if aggregate_named(call.function).exact and isinstance(call.arg and call.arg.type, t.DecimalOf):
                fix = f"add up doubles: {call.function}(CAST({show(call.arg)} AS DOUBLE))"  # type: ignore[arg-type]
                raise unsupported(call.span, f"{call.function} of a DECIMAL", "in RECALL", fix)
        for call in calls if not any(source.is_stream for source in sources) else ():
            if aggregate_named(call.function).ordered:
                where = "without a stream in its FROM: only events have an order"
                raise unsupported(call.span, call.function, where, "write min or max")


class _Inside(Scope):
    """The names of a select, which come before those of the event."""

    def __init__(self, items: list[ScopeItem], catalog: Catalog, own: int) -> None:
        super().__init__(items, catalog)
        self._own = own

    def attribute(self, name: str, span: object) -> ColumnRef:
        inner = [i for i in self.items[: self._own] if i.find(name) is not None]
        chosen = Scope(self.items[: self._own] if inner else self.items, self.catalog)
        return chosen.attribute(name, span)  # type: ignore[arg-type]


def _columns(item: ScopeItem) -> list[ColumnRef]:
    hidden = [ColumnRef(kind, item.plan_name(name)) for name, kind in item.hidden]
    return [*item.all_columns(), *hidden]


def _refuse_number(term: Expr, clause: str) -> None:
    """In SQL it is the number of a column, which is not supported here."""
    if isinstance(term, Constant):
        raise unsupported(term.span, f"{clause} a constant", "in RECALL", "write the name of a column")


def _of_one_row(select: Select) -> bool:
    return (select.grouped and not select.groups) or select.limit in (0, 1)
