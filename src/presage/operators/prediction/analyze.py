"""The binder of FROM PREDICTED: it makes a PredictedMatch node and the query over the rows of that node."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from presage.analyze.names import event_type_of, refuse_same_name
from presage.analyze.problems import Problems
from presage.analyze.scope import ScopeItem, plan_name
from presage.errors import did_you_mean, error
from presage.functions.aggregates import is_aggregate
from presage.lang import syntax as s
from presage.lang.print_terms import print_expression
from presage.lang.tree_walk import nodes_of
from presage.model import types as t
from presage.model.catalog import PROBABILITY, Catalog, EventType, Predicted
from presage.model.text import Span
from presage.model.time import format_duration
from presage.operators.prediction.conditions import Conditions, read_conditions, refuse_modes, within_thresholds
from presage.operators.prediction.kernel.chances.star_groups import groups_of
from presage.operators.prediction.kernel.query import Pair, PredictionTables, Side, Stream
from presage.operators.prediction.kernel.spec import AtLeast, ErrorModel, Errors, JoinSpec, Mode, ValueTerm, chained
from presage.operators.prediction.nodes import PredictedMatch
from presage.plan import expr as e
from presage.plan.nodes import Field, Node
from presage.plan.prepared import Prepared

Events = Callable[[EventType, str, Span], Node]
# The scope item of the columns that belong to a row, not to one of its objects. No user can write this name.
VALIDITY = "~valid"
FROM, TO, BOUNDARY, CHANGE = "valid_from", "valid_to", "boundary", "change"
# Polygons as lists of corners: the times of the first and of the second item.
POLYGONS = t.ArrayOf(t.ArrayOf(t.StructOf((("t_a", t.TIMESTAMP), ("t_b", t.TIMESTAMP)))))


@dataclass(frozen=True)
class PredictedItem:
    """All predicted items of a query as one: their scopes, the node that makes their rows, and the remaining query."""

    query: s.Query
    scopes: tuple[ScopeItem, ...]
    node: Node


class PredictionItems:
    """The extension of SELECT for predicted items (`select.extensions.Extensions`)."""

    def predicted(self, query: s.Query, events: Events, catalog: Catalog, upper: int | None) -> PredictedItem:
        problems = Problems()
        _refuse_clauses(query, problems)
        problems.raise_any()
        return _Binder(query, events, catalog).bind(upper)


@dataclass
class _Source:
    """A stream of the query and the prepared columns of its rows."""

    event_type: EventType
    predicted: Predicted
    node: Node
    prepared: Prepared

    def column(self, attribute: str) -> e.ColumnRef:
        found = self.event_type.attribute(attribute)
        assert found is not None
        return e.ColumnRef(found.type, plan_name(self.event_type.name, attribute))

    def name(self, attribute: str) -> str:
        return self.prepared.name(self.column(attribute))

    def threshold(self, number: int) -> str:
        """The row's threshold; the stream's default where it is null."""
        own = self.column(self.predicted.columns_of(self.predicted.attributes[number])[2])
        default = e.Constant(t.DOUBLE, self.predicted.thresholds[number])
        return self.prepared.name(e.FunctionCall(t.DOUBLE, "coalesce", (own, default)))

    def stream(self) -> Stream:
        own = self.predicted
        values, rates = (tuple(self.name(own.columns_of(name)[part]) for name in own.attributes) for part in (0, 1))
        thresholds = tuple(self.threshold(i) for i in range(len(own.attributes)))
        key = tuple(self.name(name) for name in self.event_type.key)
        return Stream(key, values, rates, thresholds, own.period, own.buffer, own.policy)


@dataclass
class _SideOf:
    """An item of FROM: its stream, its conditions, and the attributes that the query names (`identity`, `shown`)."""

    item: s.FromItem
    source: int
    scope: ScopeItem
    identity: list[str] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)
    terms: list[ValueTerm] = field(default_factory=list)
    eligible: list[e.Expr] = field(default_factory=list)


class _Binder:
    def __init__(self, query: s.Query, events: Events, catalog: Catalog) -> None:
        self.query = query
        self.events = events
        self.catalog = catalog
        self.sources: list[_Source] = []
        self.sides = [self._side(item) for item in query.items if item.predicted]

    def bind(self, upper: int | None) -> PredictedItem:
        query = self.query
        others = [item for item in query.items if not item.predicted]
        self._check_items()
        for item in others:
            if item.name not in self.catalog.relations:
                raise error(
                    "UNSUPPORTED",
                    item.span,
                    what=f"'{item.name or 'this'}'",
                    where="beside PREDICTED streams",
                    fix="write PREDICTED before it if it is a predicted stream; else INSERT the rows of this "
                    "query INTO a stream and join that",
                )
        conditions = self._conditions(others)
        if query.probability is not None:
            conditions = within_thresholds(conditions)
        unknown = self._no_probability(conditions)
        for number, side in enumerate(self.sides):
            side.terms = conditions.values[number]
            side.eligible = conditions.eligible[number]
        selected = _with_validity(query, unknown is None and self._asks_probability(conditions))
        if query.tentative:
            selected = _with_change(selected)
        rest = replace(
            selected,
            items=(
                replace(query.items[0], predicted=False, condition=None),
                *(replace(item, on=None) for item in others),
            ),
            where=conditions.rest,
            probability=None,
            validate=None,
            tentative=False,
        )
        refuse_modes(rest, self.catalog)
        self._note_names(rest)
        named = _probability(rest)
        if unknown is not None:
            where, fix = unknown
            for what, node in (("the probability", named), ("WITH PROBABILITY", query.probability)):
                if node is not None:
                    raise error("UNSUPPORTED", node.span, what=what, where=where, fix=f"leave it out, or {fix}")
        boundary = next((n for n in nodes_of(rest) if isinstance(n, s.Name) and n.name == BOUNDARY), None)
        if boundary is not None and len(conditions.joins) != 1:
            raise error(
                "UNSUPPORTED",
                boundary.span,
                what="'boundary'",
                where="unless two items are joined",
                fix="leave it out: it has a time for each of two",
            )
        scopes = (*(side.scope for side in self.sides), _validity_scope(query.tentative))
        return PredictedItem(rest, scopes, self._node(conditions, named is not None, boundary is not None, upper))

    # -- items -----------------------------------------------------------------------------------------------

    def _check_items(self) -> None:
        aliases = [side.scope.alias for side in self.sides]
        for number, side in enumerate(self.sides):
            fix = "give one of them an alias with AS"
            refuse_same_name(aliases[number], aliases[:number], "FROM", side.item.span, fix)
        first, *more = self.sides
        if first.item.valid_window is not None:
            where, fix = "on a single predicted stream", "leave it out: it says how far apart two values may be"
            if more:
                where, fix = "on the first item of a join", f"write it behind '{more[0].scope.alias}'"
            raise error("UNSUPPORTED", first.item.span, what="WINDOW", where=where, fix=fix)

    def _side(self, item: s.FromItem) -> _SideOf:
        event_type = event_type_of(item.name, item.name_span, self.catalog)
        if event_type.predicted is None:
            streams = [x.name for x in self.catalog.types.values() if x.predicted is not None]
            fix = did_you_mean(item.name, streams, "declare it with PREDICTED (…), or leave PREDICTED out")
            raise error("NOT_PREDICTED", item.name_span, name=item.name, fix=fix)
        numbers = [i for i, source in enumerate(self.sources) if source.event_type.name == event_type.name]
        if not numbers:
            node = self.events(event_type, event_type.name, item.span)
            prepared = Prepared(f"_p{len(self.sources)}_")
            self.sources.append(_Source(event_type, event_type.predicted, node, prepared))
            numbers = [len(self.sources) - 1]
        names = event_type.predicted.attributes
        columns = {column for name in names for column in event_type.predicted.columns_of(name)}
        # The time of an update is not the time of a row, so SELECT * leaves it out.
        time = event_type.event_time
        plain = [(a.name, a.type) for a in event_type.attributes if a.name not in columns]
        attributes = (*(a for a in plain if a[0] != time), *((name, t.DOUBLE) for name in names))
        hidden = tuple(a for a in plain if a[0] == time)
        scope = ScopeItem(item.alias or item.name, f"predicted stream '{item.name}'", attributes, hidden)
        return _SideOf(item, numbers[0], scope)

    def _conditions(self, others: list[s.FromItem]) -> Conditions:
        """The conditions of ON, WHERE and the filters of items, by kind."""
        scopes = [side.scope for side in self.sides]
        predicted = [
            {name: i for i, name in enumerate(self.sources[side.source].predicted.attributes)} for side in self.sides
        ]
        for item in others:
            attributes = tuple((a.name, a.type) for a in self.catalog.relations[item.name].attributes)
            scopes.append(ScopeItem(item.alias or item.name, f"relation '{item.name}'", attributes))
        scopes.append(_validity_scope(self.query.tentative))
        own = [(number, side.item.condition) for number, side in enumerate(self.sides) if side.item.condition]
        shared = [item.on for item in self.query.items if item.on] + ([self.query.where] if self.query.where else [])
        return read_conditions(scopes, predicted, own, shared, self.catalog)

    def _note_names(self, rest: s.Query) -> None:
        """Collect the attributes that the rest of the query names: they identify objects, or are shown."""
        stars = {node.of for node in nodes_of(rest) if isinstance(node, s.Star)}
        members = [
            (n.base.name, n.name) for n in nodes_of(rest) if isinstance(n, s.Member) and isinstance(n.base, s.Name)
        ]
        bases = {id(n.base) for n in nodes_of(rest) if isinstance(n, s.Member)}
        bare = [n.name for n in nodes_of(rest) if isinstance(n, s.Name) and id(n) not in bases]
        for side in self.sides:
            source = self.sources[side.source]
            alias, key = side.scope.alias, source.event_type.key
            whole = None in stars or alias in stars or alias in bare
            shown = dict(side.scope.attributes)
            for name, _ in (*side.scope.attributes, *side.scope.hidden):
                named = (whole and name in shown) or (alias, name) in members or name in bare
                if named and name in source.predicted.attributes:
                    side.shown.append(name)
                elif named and name not in key:
                    side.identity.append(name)

    # -- the node --------------------------------------------------------------------------------------------

    def _asks_probability(self, conditions: Conditions) -> bool:
        """Whether the result has a probability column by default: the query uses MAY, MUST or WITH PROBABILITY."""
        modes = [term.mode for terms in conditions.values for term in terms]
        modes += [term.mode for terms in conditions.joins.values() for term in terms]
        return self.query.probability is not None or any(mode != Mode.PLAIN for mode in modes)

    def _no_probability(self, conditions: Conditions) -> tuple[str, str] | None:
        """If the joint probability of all conditions cannot be computed: where, and what to do instead."""
        if len(conditions.joins) > 1:
            return self._no_chances_of_rows(conditions)
        if any(chained(terms) for terms in conditions.joins.values()):
            return "where one attribute is compared with several", "compare each with one other"
        return None

    def _no_chances_of_rows(self, conditions: Conditions) -> tuple[str, str] | None:
        """The same for more than two items. With a window one item may be taken at two times, and nothing is known
        about how its errors at these times are related."""
        where, two = "of a join of more than two items", "INSERT the rows of two of them INTO a stream"
        if any(side.item.valid_window for side in self.sides):
            return f"{where} with a WINDOW", two
        if any(source.predicted.buffer is not None for source in self.sources):
            return f"{where} with a buffer", two
        if groups_of(conditions.values, conditions.joins) is None:
            return (
                f"{where}, unless distances have upper bounds and all attributes that are compared with each other "
                "are compared with one of them"
            ), two
        bound = self.query.probability
        if bound is not None:
            return where, f"ask for rows WHERE probability >= {bound.threshold:g}"
        return None

    def _node(self, conditions: Conditions, probability: bool, boundary: bool, upper: int | None) -> PredictedMatch:
        streams = tuple(source.stream() for source in self.sources)
        sides = tuple(self._kernel_side(side) for side in self.sides)
        errors = self._errors()
        bound = self.query.probability
        at_least = AtLeast(bound.threshold, bound.strict) if bound is not None else None
        pairs = tuple(self._pairs(conditions, sides, errors, at_least, probability))
        made = tuple(self._output_fields(probability, boundary))
        tables = PredictionTables(
            streams,
            sides,
            pairs,
            errors,
            at_least,
            probability,
            upper,
            self.query.validate,
            self.query.tentative,
            boundary,
            tuple(f.name for f in made),
        )
        prepared = tuple(tuple(source.prepared.named) for source in self.sources)
        nodes = tuple(source.node for source in self.sources)
        return PredictedMatch(nodes, prepared, tables, made, self._text(conditions))

    def _kernel_side(self, side: _SideOf) -> Side:
        source = self.sources[side.source]
        own = {side.scope.plan_name(a.name): source.column(a.name) for a in source.event_type.attributes}

        def renamed(expr: e.Expr) -> e.Expr:
            return own.get(expr.name, expr) if isinstance(expr, e.ColumnRef) else expr

        eligible = e.conjunction([x.rewrite(renamed) for x in side.eligible])
        return Side(
            side.source,
            tuple(source.name(name) for name in side.identity),
            source.prepared.name(eligible) if eligible is not None else None,
            tuple(side.terms),
            tuple(source.predicted.attributes.index(name) for name in side.shown),
        )

    def _pairs(
        self,
        conditions: Conditions,
        sides: tuple[Side, ...],
        errors: Errors,
        at_least: AtLeast | None,
        probability: bool,
    ) -> Iterator[Pair]:
        """Pairs, ordered so that each shares a side with an earlier one."""
        if len(sides) == 1:
            return
        remaining = dict(conditions.joins)
        reached = {0}
        while len(reached) < len(sides) or remaining:
            pair = next((pair for pair in remaining if reached & set(pair)), None)
            if pair is None:
                isolated = next(side for i, side in enumerate(self.sides) if i not in reached)
                alias = isolated.scope.alias
                raise error(
                    "UNSUPPORTED",
                    isolated.item.span,
                    what=f"'{alias}' without a join",
                    where="beside other PREDICTED streams",
                    fix=f"say how near it must be: ABS({alias}.x - other.x) <= 5",
                )
            a, b = pair
            terms = tuple(remaining.pop(pair))
            reached |= {a, b}
            same = replace(sides[a], shown=()) == replace(sides[b], shown=())
            spec = JoinSpec(
                terms,
                self.sides[b].item.valid_window or 0,
                sides[a].terms,
                sides[b].terms,
                same,
                errors,
                at_least,
                probability and len(conditions.joins) == 1,
            )
            yield Pair(a, b, spec)

    def _errors(self) -> Errors:
        kinds = {(source.predicted.errors, source.predicted.sigma) for source in self.sources}
        if len(kinds) > 1:
            raise error(
                "UNSUPPORTED",
                self.query.items[1].span,
                what="a join",
                where="of streams whose errors differ",
                fix="declare both with the same errors and sigma",
            )
        ((kind, sigma),) = kinds
        return Errors(ErrorModel.NORMAL if kind == "normal" else ErrorModel.UNIFORM, sigma)

    def _output_fields(self, probability: bool, boundary: bool) -> Iterator[Field]:
        for side in self.sides:
            types = dict((*side.scope.attributes, *side.scope.hidden))
            key = self.sources[side.source].event_type.key
            for name in (*key, *side.identity, *side.shown):
                yield Field(side.scope.plan_name(name), types[name])
        yield Field(plan_name(VALIDITY, FROM), t.TIMESTAMP)
        yield Field(plan_name(VALIDITY, TO), t.TIMESTAMP)
        if probability:
            yield Field(plan_name(VALIDITY, PROBABILITY), t.DOUBLE)
        if boundary:
            yield Field(plan_name(VALIDITY, BOUNDARY), POLYGONS)
        if self.query.tentative:
            yield Field(plan_name(VALIDITY, CHANGE), t.STRING)

    def _text(self, conditions: Conditions) -> str:
        """The predicted part of the query as the user wrote it, for EXPLAIN."""
        items = []
        for side in self.sides:
            window = side.item.valid_window
            within = f" WINDOW {format_duration(window)}" if window is not None else ""
            items.append(f"{side.item.name} {side.scope.alias}{within}")
        where = " AND ".join(print_expression(x) for x in conditions.consumed)
        bound = self.query.probability
        chance = f" with probability {'>' if bound.strict else '>='} {bound.threshold:g}" if bound is not None else ""
        return ", ".join(items) + (f" where {where}" if where else "") + chance


def _validity_scope(tentative: bool) -> ScopeItem:
    columns: list[tuple[str, t.DataType]] = [(FROM, t.TIMESTAMP), (TO, t.TIMESTAMP), (PROBABILITY, t.DOUBLE)]
    columns.append((BOUNDARY, POLYGONS))
    columns += [(CHANGE, t.STRING)] if tentative else []
    return ScopeItem(VALIDITY, "the validity of a row", tuple(columns), aside=True)


def _probability(query: s.Query) -> s.Node | None:
    """The first use of the probability column in a query."""
    named = [n for n in nodes_of(query) if isinstance(n, s.Name | s.Member) and n.name == PROBABILITY]
    return next((n for n in named if isinstance(n, s.Name) or n.base == s.Name(VALIDITY)), None)


def _with_validity(query: s.Query, probability: bool) -> s.Query:
    """Add valid_from and valid_to to SELECT if they are missing; aggregates have no such times."""
    if query.group_by or query.having is not None:
        return query
    wanted = (FROM, TO, *((PROBABILITY,) if probability else ()))
    named = {item.expr.name for item in query.select if isinstance(item.expr, s.Name)}
    taken = {item.alias for item in query.select}
    more = [_of_validity(name) for name in wanted if name not in named and name not in taken]
    return replace(query, select=(*query.select, *more))


def _with_change(query: s.Query) -> s.Query:
    """Add the column that says whether a tentative row is inserted or deleted."""
    if any(isinstance(item.expr, s.Name) and item.expr.name == CHANGE for item in query.select):
        return query
    return replace(query, select=(*query.select, _of_validity(CHANGE)))


def _of_validity(name: str) -> s.SelectItem:
    """Qualified, because a relation may have an attribute of the same name."""
    return s.SelectItem(s.Member(s.Name(VALIDITY), name), name)


def _refuse_clauses(query: s.Query, problems: Problems) -> None:
    """Reject clauses that queries over predicted streams do not support."""
    predicted = [item for item in query.items if item.predicted]
    windows = [item.windows[0] for item in predicted if item.windows]
    matches = [item.match for item in predicted if item.match is not None]
    at_once = query.validate == 0
    clauses: list[tuple[str, s.Node | None, str]] = [
        *_not_tentative(query),
        ("VALIDATE EVERY 0 sec", query if at_once else None, "give a longer time, or leave it out"),
        ("APPROXIMATE", query.approximate, "leave it out: its answer is exact"),
        ("a window of events", windows[0] if windows else None, "write WINDOW d behind the alias"),
        ("MATCH_RECOGNIZE", matches[0] if matches else None, "INSERT the rows INTO a stream and match that"),
        *(("ANALYSIS", item, "leave it out") for item in query.items if item.analysis),
    ]
    for name, node, fix in clauses:
        if node is not None:
            problems.errors.append(error("UNSUPPORTED", node.span, what=name, where="over PREDICTED streams", fix=fix))


def _not_tentative(query: s.Query) -> list[tuple[str, s.Node | None, str]]:
    """Clauses that cannot be combined with rows that may be deleted again."""
    if not query.tentative:
        return []
    fix = "leave TENTATIVE out"
    grouped = query.group_by[0] if query.group_by else query.having
    called = [n for item in query.select for n in nodes_of(item) if isinstance(n, s.Call) and is_aggregate(n.name)]
    return [
        ("GROUP BY with TENTATIVE", grouped, fix),
        ("an aggregate with TENTATIVE", called[0] if called and grouped is None else None, fix),
        ("DISTINCT with TENTATIVE", query if query.distinct else None, fix),
        ("OUTPUT with TENTATIVE", query.output, fix),
        ("VALIDATE EVERY with TENTATIVE", query if query.validate is not None else None, fix),
        ("INSERT INTO with TENTATIVE", query if query.insert_into is not None else None, fix),
    ]


ITEMS = PredictionItems
