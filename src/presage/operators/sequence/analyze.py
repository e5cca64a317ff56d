"""Binder of SELECT … FROM SEQUENCE [ … ]: a plan with a SequenceMatch node."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from presage.analyze.expressions import ExpressionBinder
from presage.analyze.names import event_type_of
from presage.analyze.problems import Problems
from presage.analyze.scope import Scope, ScopeItem, plan_name
from presage.analyze.type_rules import cast_to
from presage.errors import did_you_mean, error
from presage.lang import sequence_syntax as q
from presage.lang import syntax as s
from presage.lang.print_sequences import print_sequence, print_subgoal
from presage.lang.printer import print_statement
from presage.model import types as t
from presage.model.catalog import BEFORE, PROBABILITY, Catalog, EventType
from presage.model.text import Span
from presage.operators.sequence.analyze_inference import bind_inferred
from presage.operators.sequence.analyze_select import (
    BOUNDS,
    Selected,
    SequenceScope,
    SubgoalScope,
    answer_columns,
    bind_selected,
    own_column,
    refuse_clauses,
    variable_column,
)
from presage.operators.sequence.classify import EXTENDED, JOINT, REGULAR, classify, given_of, method_of
from presage.operators.sequence.kernel.query import (
    CERTAIN,
    INDEPENDENT,
    MARKOV,
    Anything,
    Condition,
    Goal,
    Known,
    Sequence,
    Term,
    Variable,
    dividing,
    inner_name,
)
from presage.operators.sequence.kernel.spec import GoalColumns, SequenceTables, StreamColumns
from presage.operators.sequence.nodes import SequenceMatch
from presage.plan import expr as e
from presage.plan.display import show
from presage.plan.nodes import Field, Filter, Node, Project, Stamp
from presage.plan.prepared import Prepared
from presage.plan.query import BoundQuery

Events = Callable[[EventType, str, Span], Node]
ERROR, CONFIDENCE = 0.05, 0.95
MOST_GOALS = 16


class SequenceItems:
    """Items of FROM that sequences add to SELECT (`select.extensions.Extensions`)."""

    def sequence(
        self, query: s.Query, item: s.FromItem, events: Events, catalog: Catalog, upper: int | None
    ) -> BoundQuery:
        """The plan of a query whose only item is a sequence."""
        problems = Problems()
        refuse_clauses(query, item, problems)
        problems.raise_any()
        assert item.sequence is not None
        return _SequenceBinder(query, item.sequence, events, catalog).bind(upper)

    def inferred(self, stream: EventType, alias: str, events: Events, catalog: Catalog, span: Span) -> Node:
        return bind_inferred(stream, alias, events, catalog, span)


@dataclass
class _Stream:
    """A stream of the query, with the columns prepared of its rows."""

    event_type: EventType
    node: Node
    alias: str
    prepared: Prepared

    def column(self, attribute: str) -> e.ColumnRef:
        found = next(a for a in self.event_type.attributes if a.name == attribute)
        return e.ColumnRef(found.type, plan_name(self.alias, attribute))


@dataclass
class _Part:
    """A partly bound subgoal. `columns`: of its variables, including inner ones, by name."""

    syntax: q.Subgoal
    source: int
    terms: tuple[Term, ...]
    key: tuple[int, ...]
    columns: dict[str, e.Expr]
    names: dict[str, str]  # as written -> in the query
    candidate: list[e.Expr] = field(default_factory=list)
    accepted: list[e.Expr] = field(default_factory=list)
    reads: list[e.Expr] = field(default_factory=list)
    shared: frozenset[str] | None = None

    @property
    def visible(self) -> frozenset[str]:
        return frozenset(self.columns) if self.shared is None else self.shared


class _SequenceBinder:
    def __init__(self, query: s.Query, sequence: q.SequenceItem, events: Events, catalog: Catalog) -> None:
        self.query = query
        self.sequence = sequence
        self.events = events
        self.catalog = catalog
        self.streams: list[_Stream] = []
        self.types: dict[str, t.DataType] = {}
        self.conditions: list[tuple[Condition, e.Expr]] = []

    def bind(self, upper: int | None) -> BoundQuery:
        problems = Problems()
        written = self.sequence.parts
        if len(written) > MOST_GOALS:
            what, fix = "the number of subgoals", "divide the sequence: INSERT the first part INTO a stream"
            raise error("LIMIT", written[MOST_GOALS].span, what=what, limit_name="subgoals", limit=MOST_GOALS, fix=fix)
        parts: list[_Part] = []
        for subgoal in written:
            part = problems.attempt(lambda g=subgoal: self._part(g, parts))  # type: ignore[misc]
            if part is not None:
                parts.append(part)
        problems.raise_any()
        self._align(parts)
        if self.query.where is not None:
            self._where(self.query.where, parts)
        outputs = bind_selected(self.query.select, self._scope(parts))
        sequence = self._sequence(parts, tuple(item.name for item in outputs if item.variable))
        return self._plan(sequence, parts, outputs, upper)

    # -- subgoals ---------------------------------------------------------------------------------------------

    def _part(self, subgoal: q.Subgoal, before: list[_Part]) -> _Part:
        event_type = event_type_of(subgoal.stream, subgoal.name_span, self.catalog)
        if event_type.predicted is not None:  # its rows are functions of time, and no events
            name = event_type.name
            fix = f"INSERT the rows of FROM PREDICTED {name} INTO a stream, and use that"
            where = f"over the predicted stream '{name}'"
            raise error("UNSUPPORTED", subgoal.name_span, what="SEQUENCE […]", where=where, fix=fix)
        attributes = event_type.positional
        if len(subgoal.terms) != len(attributes):
            expected = f"{len(attributes)}: {event_type.name}({', '.join(a.name for a in attributes)})"
            what, fix = f"the number of terms of {event_type.name}", "write _ for what does not matter"
            found = len(subgoal.terms)
            raise error("BAD_VALUE", subgoal.span, what=what, found=found, expected=expected, fix=fix)
        number = len(before)
        source = self._source(event_type, subgoal.name_span)
        stream = self.streams[source]
        seen = _visible_in(before)
        shared = None if subgoal.plus is None else frozenset(subgoal.plus.shared)
        own = {term.name for term in subgoal.terms if isinstance(term, q.Variable)}
        self._check_shared(subgoal, own)
        inner = own - shared - seen if shared is not None else frozenset()
        names = {name: inner_name(name, number) if name in inner else name for name in own}
        # Without KEY the whole event is the key (see `_key_columns`).
        keys = event_type.key or tuple(a.name for a in attributes)
        key = tuple(i for i, a in enumerate(attributes) if a.name in keys)
        part = _Part(subgoal, source, (), key, {}, names, shared=shared)
        terms: list[Term] = []
        for i, (term, attribute) in enumerate(zip(subgoal.terms, attributes, strict=True)):
            column = stream.column(attribute.name)
            if isinstance(term, q.Variable):
                variable = self._variable(term, names[term.name], column, part)
                twice = [stream.column(attributes[j].name) for j in key if j < i and terms[j] == variable]
                part.reads += [e.Comparison(t.BOOLEAN, "=", other, column) for other in twice[:1] if i in key]
                terms.append(variable)
            elif isinstance(term, q.ConstantTerm):
                agrees = self._equal(column, attribute.name, term)
                part.candidate.append(agrees)
                if i in key:
                    part.reads.append(agrees)
                terms.append(Known(_constant_of(agrees), str(term.value)))
            else:
                terms.append(Anything())
        part.terms = tuple(terms)
        text = print_subgoal(subgoal)
        if subgoal.condition is not None:
            part.candidate.append(self._own_condition(subgoal.condition, part, f"the condition of {text}", seen))
        if subgoal.plus is not None and subgoal.plus.condition is not None:
            self._unfolding(subgoal.plus.condition, part, before, f"the condition of {text}")
        return part

    def _source(self, event_type: EventType, span: Span) -> int:
        for number, stream in enumerate(self.streams):
            if stream.event_type.name == event_type.name:
                return number
        number = len(self.streams)
        alias = event_type.name
        node = self.events(event_type, alias, span)
        self.streams.append(_Stream(event_type, node, alias, Prepared(f"_s{number}_")))
        return number

    def _check_shared(self, subgoal: q.Subgoal, own: set[str]) -> None:
        plus = subgoal.plus
        for name, span in zip(plus.shared, plus.places, strict=True) if plus is not None else ():
            if name not in own:
                fix = did_you_mean(name, sorted(own), otherwise="share a variable of the subgoal")
                raise error("UNKNOWN_ATTRIBUTE", span, owner=print_subgoal(subgoal), name=name, fix=fix)

    def _variable(self, term: q.Variable, name: str, column: e.ColumnRef, part: _Part) -> Term:
        if "@" in term.name or "#" in term.name:
            # Reserved: inner names of a Kleene plus and columns of the state contain them.
            what, fix = "the name of a variable", "choose another name"
            raise error(
                "BAD_VALUE", term.span, what=what, found=f"'{term.name}'", expected="a name without @ and #", fix=fix
            )
        if name in part.columns:
            first = part.columns[name]
            if first.type != column.type:
                raise _unlike(term, first.type, column.type, "use two variables and compare them in WHERE")
            part.candidate.append(e.Comparison(t.BOOLEAN, "=", first, column))
        else:
            part.columns[name] = column
        known = self.types.get(name)
        if known is None:
            self.types[name] = column.type
        elif known != column.type:
            common = t.common_type(known, column.type)
            if common is None:
                raise _unlike(term, known, column.type, "use two variables")
            self.types[name] = common
        return Variable(name)

    def _equal(self, column: e.ColumnRef, attribute: str, term: q.ConstantTerm) -> e.Expr:
        """The comparison of an attribute with a constant, with the types of `=`."""
        scope = ScopeItem("", f"attribute '{attribute}'", ((attribute, column.type),))
        written = s.Binary(
            "=", s.Name(attribute, span=term.span), s.Literal(term.value, span=term.span), span=term.span
        )
        bound = ExpressionBinder(Scope([scope], self.catalog)).condition(written, "a subgoal")
        return _renamed(bound, {scope.plan_name(attribute): column})

    def _own_condition(self, condition: s.Expr, part: _Part, where: str, seen: frozenset[str]) -> e.Expr:
        scope = ScopeItem("", where, tuple((w, part.columns[name].type) for w, name in sorted(part.names.items())))
        binder = ExpressionBinder(SubgoalScope([scope], self.catalog, seen), no_aggregates_in=where)
        bound = binder.condition(condition, where)
        return _renamed(bound, {scope.plan_name(w): part.columns[name] for w, name in part.names.items()})

    def _unfolding(self, condition: s.Expr, part: _Part, before: list[_Part], where: str) -> None:
        """A condition on each unfolding: on its own event, or also on the goals before."""
        names = {name: name for name in _visible_in(before)} | part.names
        kinds = {written: self.types[name] for written, name in names.items()}
        scope = ScopeItem("", where, tuple(sorted(kinds.items())))
        bound = ExpressionBinder(Scope([scope], self.catalog), no_aggregates_in=where).condition(condition, where)
        by_column = {scope.plan_name(written): name for written, name in names.items()}
        for conjunct in e.conjuncts(bound):
            if {by_column[column] for column in conjunct.columns()} <= part.columns.keys():
                own = {c: part.columns[n] for c, n in by_column.items() if n in part.columns}
                part.accepted.append(_renamed(conjunct, own))
            else:
                self._condition(conjunct, by_column, len(before), unfolding=True)

    def _condition(self, conjunct: e.Expr, names: dict[str, str], level: int, unfolding: bool = False) -> None:
        """A condition over variables of several goals; `names` by column."""
        order = sorted({names[column] for column in conjunct.columns()})
        arguments: dict[str, e.Expr] = {
            c: e.ColumnRef(self.types[n], f"a{order.index(n)}") for c, n in names.items() if n in order
        }
        # For messages: variables under the names that the user wrote.
        text = show(_renamed(conjunct, {c: e.ColumnRef(self.types[n], n.partition("@")[0]) for c, n in names.items()}))
        self.conditions.append((Condition(frozenset(order), level, text, unfolding), _renamed(conjunct, arguments)))

    def _align(self, parts: list[_Part]) -> None:
        """Give a variable one type in all goals. If all goals of a stream that have it share a position in the key,
        they read it there: that position identifies the chain, while another one holds for candidates of one goal
        only."""
        for part in parts:
            stream = self.streams[part.source]
            for name, column in part.columns.items():
                goals = [g for g in parts if g.source == part.source and name in g.columns]
                common = set(part.key).intersection(*(_places(g, name) for g in goals))
                if common:
                    column = stream.column(stream.event_type.positional[min(common)].name)
                part.columns[name] = column if column.type == self.types[name] else cast_to(column, self.types[name])

    # -- WHERE and SELECT -------------------------------------------------------------------------------------

    def _scope(self, parts: list[_Part]) -> SequenceScope:
        """The names that SELECT and the statement's WHERE may use."""
        names = dict.fromkeys(name for part in parts for name in part.columns if name in part.visible)
        seen = ScopeItem("", "the sequence", tuple((name, self.types[name]) for name in names))
        inner = frozenset(written for part in parts for written in part.names) - names.keys()
        return SequenceScope([seen], self.catalog, inner)

    def _where(self, where: s.Expr, parts: list[_Part]) -> None:
        known = self._scope(parts)
        (scope,) = known.items
        binder = ExpressionBinder(known, no_aggregates_in="WHERE")
        plan_names = {scope.plan_name(name): name for name, _ in scope.attributes}
        for conjunct in e.conjuncts(binder.condition(where, "WHERE")):
            names = frozenset(plan_names[column] for column in conjunct.columns())
            level = next(i for i in range(len(parts)) if names <= _visible_in(parts[: i + 1]))
            part = parts[level]
            if names <= part.visible:
                part.accepted.append(_renamed(conjunct, {scope.plan_name(n): part.columns[n] for n in names}))
                continue
            self._condition(conjunct, plan_names, level)

    # -- the plan ---------------------------------------------------------------------------------------------

    def _sequence(self, parts: list[_Part], selected: tuple[str, ...]) -> Sequence:
        goals = tuple(
            Goal(
                number,
                part.syntax.stream,
                part.source,
                part.key,
                part.terms,
                part.shared,
                bool(part.accepted),
                print_subgoal(part.syntax),
            )
            for number, part in enumerate(parts)
        )
        markov = [i for i, stream in enumerate(self.streams) if _kind(stream.event_type) == MARKOV]
        conditions = tuple(condition for condition, _ in self.conditions)
        return Sequence(goals, conditions, tuple(dict.fromkeys(selected)), frozenset(markov))

    def _plan(self, sequence: Sequence, parts: list[_Part], outputs: list[Selected], upper: int | None) -> BoundQuery:
        verdict = classify(sequence)
        method = method_of(sequence, verdict)
        given = given_of(sequence, verdict)
        goals = tuple(self._goal_columns(part) for part in parts)
        keys = self._key_columns(parts, dividing(sequence, given))
        streams = tuple(self._stream_columns(stream, key) for stream, key in zip(self.streams, keys, strict=True))
        bounds = BOUNDS if method == JOINT and self.sequence.by is None else ()
        approximate = self.query.approximate
        tables = SequenceTables(
            sequence,
            streams,
            goals,
            tuple(tuple(sorted(condition.variables)) for condition, _ in self.conditions),
            given=tuple(sorted(given)),
            stepwise=verdict.kind in (REGULAR, EXTENDED),
            method=method,
            plan=verdict.plan,
            by=self.sequence.by,
            error=ERROR if approximate is None else approximate.error,
            confidence=CONFIDENCE if approximate is None else approximate.confidence,
        )
        columns = [(variable_column(name, self.types), self.types[name]) for name in sequence.selected]
        columns += [(own_column(name), kind) for name, kind in ((PROBABILITY, t.DOUBLE), *bounds)]
        node: Node = SequenceMatch(
            tuple(stream.node for stream in self.streams),
            tuple(tuple(stream.prepared.named) for stream in self.streams),
            tuple(expr for _, expr in self.conditions),
            tables,
            verdict,
            tuple(Field(name, kind) for name, kind in columns),
            print_sequence(self.sequence),
        )
        if self.query.probability is not None:
            node = Filter(node, _above(self.query.probability))
        shown, named = answer_columns(outputs, self.types, bounds)
        node = Stamp(Project(node, named))
        return BoundQuery(node, shown, upper, self.query.insert_into, print_statement(self.query))

    def _goal_columns(self, part: _Part) -> GoalColumns:
        prepared = self.streams[part.source].prepared

        def flag(conditions: list[e.Expr]) -> str | None:
            condition = e.conjunction(conditions)
            return None if condition is None else prepared.name(condition)

        variables = tuple((name, prepared.name(column)) for name, column in sorted(part.columns.items()))
        return GoalColumns(flag(part.candidate), flag(part.accepted), flag(part.reads), variables)

    def _key_columns(self, parts: list[_Part], divides: tuple[str, ...]) -> list[tuple[str, ...]]:
        """By stream, the columns that distinguish its chains. If the whole event is the key, the dividing variables
        suffice: any number of certain events may belong to one chain."""
        found = []
        for number, stream in enumerate(self.streams):
            key = [a.name for a in stream.event_type.positional if a.name in stream.event_type.key]
            first = next(part for part in parts if part.source == number)
            columns = [stream.column(a) for a in key] if key else [first.columns[name] for name in divides]
            found.append(tuple(stream.prepared.name(column) for column in columns))
        return found

    def _stream_columns(self, stream: _Stream, key: tuple[str, ...]) -> StreamColumns:
        event_type, name = stream.event_type, stream.prepared.name
        kind = _kind(event_type)
        if event_type.probabilistic is None:
            return StreamColumns(kind, key)
        values = event_type.probabilistic.attributes
        previous = tuple(name(stream.column(BEFORE + a)) for a in values) if kind == MARKOV else ()
        return StreamColumns(
            kind, key, tuple(name(stream.column(a)) for a in values), previous, name(stream.column(PROBABILITY))
        )


def _unlike(term: q.Variable, expected: t.DataType, found: t.DataType, fix: str) -> Exception:
    what = f"the variable '{term.name}'"
    return error("TYPE_MISMATCH", term.span, what=what, expected=expected, found=found, fix=fix)


def _kind(event_type: EventType) -> int:
    if event_type.probabilistic is None:
        return CERTAIN
    return MARKOV if event_type.probabilistic.markov else INDEPENDENT


def _places(part: _Part, name: str) -> list[int]:
    return [i for i, term in enumerate(part.terms) if term == Variable(name)]


def _visible_in(parts: list[_Part]) -> frozenset[str]:
    return frozenset[str]().union(*(part.visible for part in parts))


def _renamed(expr: e.Expr, columns: dict[str, e.Expr]) -> e.Expr:
    return expr.rewrite(lambda x: columns.get(x.name, x) if isinstance(x, e.ColumnRef) else x)


def _above(clause: s.ProbabilityClause) -> e.Expr:
    column = e.ColumnRef(t.DOUBLE, own_column(PROBABILITY))
    return e.Comparison(
        t.BOOLEAN, ">" if clause.strict else ">=", column, e.Constant(t.DOUBLE, float(clause.threshold))
    )


def _constant_of(agrees: e.Expr) -> object:
    """The constant of a comparison, in the type of the attribute."""
    return next((x.value for x in agrees.walk() if isinstance(x, e.Constant)), None)


ITEMS = SequenceItems
