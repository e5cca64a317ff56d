"""The binder of a SELECT over history: sources, conditions, groups, aggregates, order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from presage.analyze.expressions import ExpressionBinder
from presage.analyze.names import refuse_same_name
from presage.analyze.scope import Scope, ScopeItem
from presage.errors import did_you_mean, error
from presage.functions.aggregates import aggregate_named
from presage.lang import syntax as s
from presage.lang.print_terms import print_expression
from presage.lang.recall_syntax import Exists, HistorySelect, HistorySource, InSelect, Over, ScalarSelect
from presage.lang.tree_walk import nodes_of
from presage.model import types as t
from presage.model.catalog import Catalog
from presage.model.types import is_orderable
from presage.operators.recall.nodes import Asked, Order, Select, Source, Windowed
from presage.operators.recall.window_functions import bind_over, order_by
from presage.plan.expr import AggregateCall, ColumnRef, Constant, Expr, Not
from presage.plan.nodes import Named, Node, is_own_name

# Gives the scope and the node of a stream or relation under an alias, and whether it is a relation.
Find = Callable[[HistorySource, str], tuple[ScopeItem, Node, bool]]


@dataclass
class Histories:
    """The streams and relations that the selects of a statement read, as they are found."""

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
    """`event`: names of the event that the select may speak of. `windowed`: it is a CONTEXT, whose streams have a
    WINDOW each."""
    return _Binder(written, event, histories, windowed).bind()


class _Terms(ExpressionBinder):
    """Terms in which a select may stand, and a window function."""

    def __init__(
        self, scope: Scope, ask: Callable[[str, s.Expr], Expr], over: Callable[[Over], Expr], no_aggregates_in: str = ""
    ) -> None:
        super().__init__(scope, no_aggregates_in=no_aggregates_in)
        self._binders[Over] = over
        self._binders |= {
            ScalarSelect: lambda node: ask("value", node),
            Exists: lambda node: ask("exists", node),
            InSelect: lambda node: ask("among", node),
        }


class _Binder:
    def __init__(
        self, written: HistorySelect, event: tuple[ScopeItem, ...], histories: Histories, windowed: bool
    ) -> None:
        self.written = written
        self.event = event
        self.histories = histories
        self.windowed = windowed
        self.asked: list[Asked] = []
        self.windows: list[Windowed] = []
        self.items: list[ScopeItem] = []

    def bind(self) -> Select:
        written = self.written
        for recall in written.recalls:
            raise error(
                "UNSUPPORTED",
                recall.span,
                what="RECALL",
                where="inside of a select, unless that is a CONTEXT",
                fix="write it before this RECALL, which may name its columns",
            )
        sources = []
        for source in written.sources:
            sources.append(self._source(source))
        where = (
            self._terms("a condition of WHERE").condition(written.where, "WHERE") if written.where is not None else None
        )
        groups = tuple(Named(f"_g{i}", self._group(g)) for i, g in enumerate(written.group_by))
        outputs = self._outputs()
        having = self._terms(over="HAVING").condition(written.having, "HAVING") if written.having is not None else None
        sort, order = self._order(outputs)
        spoken = [o.expr for o in (*outputs, *sort)] + ([having] if having is not None else [])
        calls: list[AggregateCall] = []
        for expr in spoken:
            calls.extend(c for c in expr.walk() if isinstance(c, AggregateCall) and c not in calls)
        grouped = bool(calls or groups)
        if having is not None and not grouped:
            raise error(
                "UNSUPPORTED",
                written.having.span if written.having else None,
                what="HAVING",
                where="without groups and aggregates",
                fix="write the condition in WHERE",
            )
        if grouped:
            self._refuse_stars()
            self._refuse_windows()
            by_call: dict[Expr, Expr] = {call: ColumnRef(call.type, f"_a{i}") for i, call in enumerate(calls)}
            by_call |= {g.expr: ColumnRef(g.expr.type, g.name) for g in groups}
            outputs = tuple(Named(o.name, self._over_groups(o.expr, by_call)) for o in outputs)
            sort = tuple(Named(o.name, self._over_groups(o.expr, by_call)) for o in sort)
            having = self._over_groups(having, by_call) if having is not None else None
            self.asked = self._beside_groups([*outputs, *sort], having, by_call)
        self._check_rows(sort, outputs, calls, sources)
        select = Select(
            tuple(sources),
            where,
            tuple(self.asked),
            grouped,
            groups,
            tuple(Named(f"_a{i}", call) for i, call in enumerate(calls)),
            having,
            outputs,
            sort,
            order,
            written.limit,
            written.distinct,
            windows=tuple(self.windows),
        )
        return _with_parameters(select, frozenset(c.name for item in self.event for c in _columns(item)))

    # -- FROM ----------------------------------------------------------------------------------------

    def _source(self, source: HistorySource) -> Source:
        alias = source.alias or source.name
        if not alias:
            raise error(
                "SYNTAX",
                source.span,
                found="a select without a name",
                expected="a name behind it",
                fix="write AS and a name behind the bracket",
            )
        known = [item.alias for item in (*self.items, *self.event)]
        refuse_same_name(alias, known, "RECALL", source.span, "give one of them an alias with AS")
        if source.window is not None and not self.windowed:
            raise error(
                "UNSUPPORTED",
                source.span,
                what="WINDOW",
                where="in a RECALL that is no CONTEXT",
                fix="write how far to look back as RECALL LAST d",
            )
        if source.select is not None:
            inner = bind_select(source.select, self.event, self.histories, self.windowed)
            columns = tuple((o.name, o.expr.type) for o in inner.outputs)
            item, found = ScopeItem(alias, f"select '{alias}'", columns), Source(alias, select=inner)
        else:
            item, number, relation = self.histories.add(source, alias)
            if self.windowed and not relation and source.window is None:
                raise error(
                    "SYNTAX",
                    source.span,
                    found=f"the stream '{source.name}' without a window",
                    expected="WINDOW and a duration behind it",
                    fix=f"write {source.name} {alias} WINDOW 5 min",
                )
            if relation and source.window is not None:
                raise error(
                    "NOT_A_STREAM",
                    source.span,
                    name=source.name,
                    kind="relation",
                    fix="a relation is static: leave WINDOW out",
                )
            found = Source(alias, number, relation=relation, window=source.window)
        self.items.append(item)
        on = self._terms("ON").condition(source.on, "ON") if source.on is not None else None
        if on is not None and any(on.columns() & {asked.name} for asked in self.asked):
            raise error("UNSUPPORTED", on.span, what="a select", where="in ON", fix="ask it in WHERE")
        return Source(found.alias, found.number, found.select, found.relation, on, source.outer, found.window)

    # -- terms ---------------------------------------------------------------------------------------

    def _terms(self, no_aggregates_in: str = "", over: str = "") -> _Terms:
        """`over`: where no window function may stand, if aggregates may."""
        # Names of the select hide those of the event: an attribute without an alias is the select's if it has it.
        scope = _Inside([*self.items, *self.event], self.histories.catalog, own=len(self.items))
        return _Terms(scope, self._ask, lambda node: self._over(node, no_aggregates_in or over), no_aggregates_in)

    def _over(self, node: s.Expr, outside: str) -> Expr:
        assert isinstance(node, Over)
        if outside:
            raise error(
                "UNSUPPORTED",
                node.span,
                what="OVER",
                where=f"in {outside}",
                fix="select it inside of FROM ( SELECT … ) AS x, and name its column here",
            )
        made = bind_over(node, f"_w{len(self.windows)}", self._terms(over="OVER"))
        self.windows.append(made)
        return ColumnRef(made.type, made.name, span=node.span)

    def _ask(self, kind: str, node: s.Expr) -> Expr:
        assert isinstance(node, ScalarSelect | Exists | InSelect)
        select = bind_select(node.select, self.event, self.histories, self.windowed)
        if kind != "exists" and len(select.outputs) != 1:
            raise error(
                "WRONG_ARGUMENTS",
                node.span,
                name="a select in a term",
                expected="one column",
                found=len(select.outputs),
            )
        operand = None
        if isinstance(node, InSelect):
            operand = self._terms("IN").bind(node.operand)
            have, want = operand.type, select.outputs[0].expr.type
            if t.common_type(have, want) is None:
                raise error("TYPE_MISMATCH", node.span, what="IN", expected=have, found=want)
        if kind == "value" and not _of_one_row(select):
            raise error(
                "UNSUPPORTED",
                node.span,
                what="a select that may have several rows",
                where="as a value",
                fix="write an aggregate without GROUP BY, such as max(x), or LIMIT 1",
            )
        name = f"_q{len(self.asked)}"
        self.asked.append(Asked(name, kind, select, operand))
        answer: Expr = ColumnRef(self.asked[-1].type, name, span=node.span)
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
            raise error(
                "TYPE_MISMATCH", written.span, what="GROUP BY", expected="values that can be compared", found=bound.type
            )
        return bound

    def _outputs(self) -> tuple[Named, ...]:
        outputs: list[Named] = []
        for item in self.written.select:
            for name, expr in self._columns_of(item):
                known = [o.name for o in outputs]
                refuse_same_name(name, known, "SELECT", item.span, "give one of them another name with AS")
                if is_own_name(name) or name.startswith(("_a", "_q", "_w")):
                    raise error(
                        "BAD_VALUE",
                        item.span,
                        what="the name of a column",
                        found=f"'{name}'",
                        expected="none of Presage's own names",
                        fix="give it another name with AS",
                    )
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
            # As SQL has it: a column that is shown comes before an attribute of that name.
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
                raise error(
                    "UNSUPPORTED",
                    item.span,
                    what="*",
                    where="beside groups and aggregates",
                    fix="name the columns, as they stand in GROUP BY",
                )

    def _refuse_windows(self) -> None:
        for term in (*self.written.select, *self.written.order_by):
            for node in nodes_of(term):
                if isinstance(node, Over):
                    raise error(
                        "UNSUPPORTED",
                        node.span,
                        what="OVER",
                        where="beside groups and aggregates",
                        fix="select from the groups: FROM ( SELECT … GROUP BY … ) AS x",
                    )

    def _over_groups(self, expr: Expr, by_term: dict[Expr, Expr]) -> Expr:
        """A term of a group: aggregates and what is grouped by become columns; of the rest only the event's stay."""
        if expr in by_term:
            return by_term[expr]
        own = {c.name for item in self.items for c in _columns(item)}
        if isinstance(expr, ColumnRef) and expr.name in own:
            short = expr.name.partition(".")[2]
            raise error(
                "UNSUPPORTED",
                expr.span,
                what=f"'{expr.name}'",
                where="beside groups, as it is not grouped by",
                fix=f"add it to GROUP BY, or write first({short}), max({short}) …",
            )
        return expr.map_children(lambda child: self._over_groups(child, by_term))

    def _beside_groups(self, terms: list[Named], having: Expr | None, by_term: dict[Expr, Expr]) -> list[Asked]:
        """Selects in terms of groups are asked once the groups are made."""
        spoken = [term.expr for term in terms] + ([having] if having is not None else [])
        named = frozenset[str]().union(*(expr.columns() for expr in spoken))

        def late(asked: Asked) -> Asked:
            operand = self._over_groups(asked.operand, by_term) if asked.operand is not None else None
            return replace(asked, operand=operand, late=True)

        return [late(asked) if asked.name in named else asked for asked in self.asked]

    def _check_rows(
        self, sort: tuple[Named, ...], outputs: tuple[Named, ...], calls: list[AggregateCall], sources: list[Source]
    ) -> None:
        """Refuse what depends on an order that the rows do not have."""
        shown = [output.expr for output in outputs]
        for term in sort if self.written.distinct else ():
            if term.expr not in shown:
                raise error(
                    "UNSUPPORTED",
                    term.expr.span,
                    what="ORDER BY what is not shown",
                    where="with DISTINCT",
                    fix="add it to SELECT, or leave DISTINCT out",
                )
        for call in calls if not any(source.is_stream for source in sources) else ():
            if aggregate_named(call.function).ordered:
                raise error(
                    "UNSUPPORTED",
                    call.span,
                    what=call.function,
                    where="without a stream in its FROM: only events have an order",
                    fix="write min or max",
                )


class _Inside(Scope):
    """Names of a select before those of the event around it."""

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
    """To SQL it is the number of a column, which it would not be here."""
    if isinstance(term, Constant):
        raise error(
            "UNSUPPORTED", term.span, what=f"{clause} a constant", where="in RECALL", fix="write the name of a column"
        )


def _of_one_row(select: Select) -> bool:
    return (select.grouped and not select.groups) or select.limit in (0, 1)


def _with_parameters(select: Select, known: frozenset[str]) -> Select:
    named = frozenset[str]().union(*(expr.columns() for q in select.selects() for expr in q.own_expressions()))
    return replace(select, parameters=named & known)
