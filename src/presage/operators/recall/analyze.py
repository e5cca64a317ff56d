"""The binder of FROM item RECALL …: a Recall node, with the columns that it adds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from presage.analyze.expressions import ExpressionBinder
from presage.analyze.names import event_type_of, refuse_same_name
from presage.analyze.outputs import bind_outputs
from presage.analyze.problems import Problems
from presage.analyze.scope import Scope, ScopeItem
from presage.errors import error, unsupported
from presage.lang import syntax as s
from presage.lang.recall_syntax import HistorySource, RecallClause, SimilarClause
from presage.model.catalog import Catalog, EventType
from presage.model.text import Span
from presage.model.types import TIMESTAMP, Scalar
from presage.operators.recall.contexts import Names, bind_recalled, refuse_same_alias
from presage.operators.recall.nodes import REVISION_COLUMNS, Pace, Recall, Recalled, Similar
from presage.operators.recall.selects import Histories
from presage.operators.recall.similar import bind_similar, streams_of
from presage.plan.expr import ColumnRef, Expr, conjunction, conjuncts
from presage.plan.nodes import TIME, Field, Filter, Node, RelationScan, Stamp
from presage.plan.query import BoundQuery

Events = Callable[[EventType, str, Span], Node]


@dataclass(frozen=True)
class Event:
    """FROM before RECALL: names, rows, the key of its stream, if it is one. `past`: the rows of all times, for RECALL
    SIMILAR."""

    scopes: tuple[ScopeItem, ...]
    node: Node
    key: tuple[Expr, ...]
    past: Node | None


@dataclass(frozen=True)
class Later:
    """FROM after RECALL: items of the present, each with its names and its rows, and the conditions of the others,
    which are joined with the event."""

    present: tuple[tuple[tuple[ScopeItem, ...], Node, s.FromItem], ...]
    conditions: tuple[s.Expr, ...]


class RecallItems:
    """The extension of SELECT (`select.extensions.Extensions`)."""

    def recalled(
        self,
        query: s.Query,
        item: s.FromItem,
        event: tuple[tuple[ScopeItem, ...], Node, tuple[Expr, ...], Node | None],
        joined: tuple[tuple[tuple[tuple[ScopeItem, ...], Node, s.FromItem], ...], tuple[s.Expr, ...]],
        history: Events,
        catalog: Catalog,
        upper: int | None,
    ) -> BoundQuery:
        """`history`: the node of all events of a type, at any time; `joined`: FROM after the RECALL."""
        problems = Problems()
        _refuse_clauses(query, problems)
        problems.raise_any()
        return _Binder(query, item, Event(*event), Later(*joined), history, catalog, problems).bind(upper)


@dataclass
class _Binder:
    query: s.Query
    item: s.FromItem
    event: Event
    later: Later
    history: Events
    catalog: Catalog
    problems: Problems

    def __post_init__(self) -> None:
        self.histories = Histories(self._source, self.catalog)
        self.past: int | None = None
        if self.event.past is not None:
            self.past = 0
            self.histories.nodes.append(self.event.past)

    def bind(self, upper: int | None) -> BoundQuery:
        scopes = list(self.event.scopes)
        recalls: list[Recalled | Similar] = []
        for clause in self.item.recalls:
            refuse_same_alias(clause, scopes)
            recall, names = self._recalled(clause, tuple(scopes), recalls)
            recalls.append(recall)
            scopes.append(names)
        on = self._present(scopes)
        scope = Scope(scopes, self.catalog)
        joins = ExpressionBinder(scope, no_aggregates_in="a condition of FROM")
        met = [self.problems.attempt(lambda c=c: joins.condition(c, "ON")) for c in self.later.conditions]  # type: ignore[misc]
        conditions = ExpressionBinder(scope, no_aggregates_in="a condition of WHERE")
        written = self.query.where
        where = self.problems.attempt(lambda: conditions.condition(written, "WHERE")) if written is not None else None
        terms = ExpressionBinder(scope, no_aggregates_in="the SELECT of a query with RECALL")
        outputs = bind_outputs(self.query, scope, terms, self.problems)
        own = ExpressionBinder(Scope(list(self.event.scopes), self.catalog), no_aggregates_in="EVENT ID")
        named = [self.problems.attempt(lambda x=x: own.bind(x)) for x in self.item.event_id]  # type: ignore[misc]
        for x in named:
            if x is not None and not isinstance(x.type, Scalar):
                expected = "a number, text, time or truth value"
                wrong = error("TYPE_MISMATCH", x.span, what="EVENT ID", expected=expected, found=x.type)
                self.problems.errors.append(wrong)
        self.problems.raise_any()

        before, after = self._divided(conjunction([part for part in (*met, where) if part is not None]), recalls)
        node = Filter(self.event.node, before) if before is not None else self.event.node
        if self.past is not None and before is not None:
            self.histories.nodes[self.past] = Filter(self.histories.nodes[self.past], before)
        event_id = tuple(x for x in named if x is not None) or (*self.event.key, ColumnRef(TIMESTAMP, TIME))
        # Spark does not distinguish names that differ only in case.
        taken = {o.name.lower() for o in outputs}
        final = any(clause.final for clause in self.item.recalls)
        revision_columns = tuple(f for f in REVISION_COLUMNS if f.name not in taken)
        present = tuple(node for _, node, _ in self.later.present)
        rows = Recall(
            node, tuple(self.histories.nodes), tuple(recalls), event_id, after, tuple(outputs), revision_columns
        )
        rows = replace(rows, final=final, pace=self._pace(), present=present, on=tuple(on))
        plan: Node = rows
        columns = rows.columns
        if "at" not in taken:
            plan = Stamp(plan)
            shown = len(outputs)
            columns = (*columns[:shown], Field("at", TIMESTAMP), *columns[shown:])
        return BoundQuery(plan, columns, upper, self.query.insert_into)

    # -- parts ---------------------------------------------------------------------------------------

    def _present(self, scopes: list[ScopeItem]) -> list[Expr]:
        """The conditions of items of the present; each may name the items before it."""
        conditions: list[Expr] = []
        for names, _, item in self.later.present:
            for scope in names:
                known = [each.alias for each in scopes]
                refuse_same_name(scope.alias, known, "FROM", item.span, "give one of them another name with AS")
            scopes.extend(names)
            binder = ExpressionBinder(Scope(scopes, self.catalog), no_aggregates_in="a condition of FROM")
            assert item.on is not None
            conditions.append(binder.condition(item.on, "ON"))
        return conditions

    def _source(self, source: HistorySource, alias: str) -> tuple[ScopeItem, Node, bool]:
        relation = self.catalog.relations.get(source.name)
        if relation is not None:
            attributes = tuple((a.name, a.type) for a in relation.attributes)
            scope = ScopeItem(alias, f"relation '{source.name}'", attributes)
            fields = tuple(Field(c.name, c.type) for c in scope.all_columns())
            return scope, RelationScan(source.name, alias, fields, tuple(n for n, _ in attributes)), True
        event_type = event_type_of(source.name, source.name_span, self.catalog)
        if event_type.probabilistic is not None or event_type.predicted is not None:
            kind = "probabilistic" if event_type.probabilistic is not None else "predicted"
            fix = "INSERT INTO a stream what a query makes of it, and recall that"
            raise unsupported(source.name_span, f"the {kind} stream '{source.name}'", "in RECALL", fix)
        attributes = tuple((a.name, a.type) for a in event_type.attributes)
        scope = ScopeItem(alias, f"{event_type.kind} '{source.name}'", attributes, event_type.hidden)
        return scope, self.history(event_type, alias, source.span), False

    def _recalled(
        self, clause: RecallClause | SimilarClause, scopes: tuple[ScopeItem, ...], before: list[Recalled | Similar]
    ) -> tuple[Recalled | Similar, ScopeItem]:
        if isinstance(clause, SimilarClause):
            assert self.past is not None
            streams = streams_of(self.query, self.catalog)
            found = zip(before, scopes[len(self.event.scopes) :], strict=True)
            names = Names(self.event.scopes, tuple((recall, scope) for recall, scope in found))
            return bind_similar(clause, names, self.past, self.histories, streams)
        return bind_recalled(clause, scopes, self.histories)

    def _divided(self, where: Expr | None, recalls: list[Recalled | Similar]) -> tuple[Expr | None, Expr | None]:
        """The conditions on the event alone, without which history is not read; and the others."""
        recalled = {column.name for recall in recalls for column in recall.columns}
        recalled |= {column.name for _, node, _ in self.later.present for column in node.columns}
        parts = conjuncts(where)
        before = [part for part in parts if not part.columns() & recalled]
        return conjunction(before), conjunction([part for part in parts if part not in before])

    def _pace(self) -> Pace:
        given = [clause.pace for clause in self.item.recalls]

        def least(name: str) -> int | None:
            return min((value for pace in given if (value := getattr(pace, name)) is not None), default=None)

        return Pace(least("report_every"), least("pause_every"), least("drop_after"))


def _refuse_clauses(query: s.Query, problems: Problems) -> None:
    clauses: list[tuple[str, object]] = [
        ("GROUP BY", query.group_by),
        ("HAVING", query.having),
        ("OUTPUT", query.output),
        ("SELECT DISTINCT", query.distinct),
        ("SELECT TENTATIVE", query.tentative),
        ("WITH PROBABILITY", query.probability),
        ("APPROXIMATE", query.approximate),
        ("VALIDATE EVERY", query.validate),
    ]
    for name, written in clauses:
        if written:
            fix = "INSERT INTO a stream with FINAL RECALL, and ask that of it"
            where = "beside RECALL: its rows are revised"
            problems.errors.append(unsupported(query.span, name, where, fix))
    if query.insert_into is not None and not any(r.final for item in query.items for r in item.recalls):
        fix = "write FINAL RECALL: only the last revision becomes an event"
        problems.errors.append(unsupported(query.span, "INSERT INTO", "with rows that are revised", fix))
    several = [item for item in query.items if item.recalls]
    for item in several[1:]:
        problems.errors.append(unsupported(item.span, "RECALL", "behind two items of FROM", "write them behind one"))


ITEMS = RecallItems
