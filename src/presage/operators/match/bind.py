"""Binds MATCH_RECOGNIZE over one item of FROM to a Match node with the names of its rows."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import NamedTuple

from presage.analyze.expressions import ExpressionBinder
from presage.analyze.problems import Problems
from presage.analyze.scope import Scope, ScopeItem
from presage.errors import did_you_mean, error, placed
from presage.lang import match_syntax as m
from presage.lang import syntax as s
from presage.lang.print_patterns import print_regex
from presage.lang.print_terms import print_expression
from presage.model import types as t
from presage.model.catalog import Catalog
from presage.model.time import MICROS, format_duration
from presage.operators.match import regex
from presage.operators.match.automaton import build_automaton
from presage.operators.match.define import Definitions
from presage.operators.match.kernel.spec import MatchTables, Skip
from presage.operators.match.measures import Measures
from presage.operators.match.nodes import Match
from presage.operators.match.terms import MatchTermBinder, Variables
from presage.plan import expr as e
from presage.plan.nodes import SHOWN_TIME, Field, Named, Node, Project
from presage.plan.prepared import Prepared

TIMED_OUT = "timed_out"


@dataclass(frozen=True)
class MatchInput:
    """The input of MATCH_RECOGNIZE. `whole`: each batch of a window is matched by itself; `span`: the width of a
    sliding window, which bounds every match."""

    item: ScopeItem
    node: Node
    event_time: str | None
    whole: bool = False
    span: int | None = None


def bind_match(clause: m.MatchClause, given: MatchInput, alias: str, catalog: Catalog) -> tuple[ScopeItem, Node]:
    """The rows of MATCH_RECOGNIZE under `alias`; raises all errors together."""
    return _MatchBinder(clause, given, alias, catalog).bind()


class _MatchBinder:
    def __init__(self, clause: m.MatchClause, given: MatchInput, alias: str, catalog: Catalog) -> None:
        self.clause = clause
        self.given = given
        self.alias = alias
        self.scope = Scope([given.item], catalog)
        self.problems = Problems()
        self.prepared = Prepared("_c")

    def bind(self) -> tuple[ScopeItem, Node]:
        clause, attempt = self.clause, self.problems.attempt
        occurring = tuple(dict.fromkeys(v.name for v in _variables(clause.pattern)))
        self._check_names(occurring)
        self.problems.raise_any()
        self.variables = Variables(occurring, {u.name: u.members for u in clause.subsets})
        with placed(clause.pattern.span):
            self.automaton = build_automaton(_tree(clause.pattern), occurring)
        repeated = _repeated(clause.pattern)
        self.repeated = frozenset(i for i, name in enumerate(occurring) if name in repeated)
        keys = [attempt(lambda k=k: self._key(k)) for k in clause.partition_by]  # type: ignore[misc]
        order = [attempt(lambda k=k: self._order(k)) for k in clause.order_by]  # type: ignore[misc]
        programs: list[e.Expr] = []
        definitions = Definitions(self.variables, self.prepared, programs)
        for definition in clause.definitions:
            attempt(lambda d=definition: self._define(d, definitions))  # type: ignore[misc]
        measures = Measures(self.variables, self.prepared, programs)
        outputs = [attempt(lambda x=x: self._measure(x, measures)) for x in clause.measures]  # type: ignore[misc]
        skip = attempt(lambda: self._skip()) or Skip()
        self.problems.raise_any()

        bound_keys = [k for k in keys if k is not None]
        named_keys = tuple((name, self.prepared.name(expr)) for name, expr in bound_keys)
        sorting = [o for o in order if o is not None]
        sort, by_time = self._sorted(sorting)
        attributes = self._attributes(named_keys, [o for o in outputs if o is not None], bound_keys)
        carried: tuple[tuple[str, str], ...] = ()
        if clause.rows != "one":
            shown = {name for name, _, _ in attributes}
            carried = tuple(
                (name, self.prepared.name(column))
                for (name, _), column in zip(self.given.item.attributes, self.given.item.all_columns(), strict=True)
                if name not in shown
            )
        within, gap = _within(clause.within, self.given.span), _within(clause.gap, None)
        tables = MatchTables(
            self.automaton,
            definitions.conditions(),
            tuple(measures.made),
            keys=tuple(dict.fromkeys(column for _, column in named_keys)),
            carry=tuple(column for _, column in carried if column not in {c for _, c in named_keys}),
            order=self.given.node.order,
            sort=sort,
            by_time=by_time,
            rows=clause.rows,
            skip=skip,
            within=None if within is None else within.micros,
            within_months=0 if within is None else within.months,
            gap=None if gap is None else gap.micros,
            gap_months=0 if gap is None else gap.months,
            held=clause.within_word == "INTERVAL" and clause.within is not None and not clause.or_terminated,
            timeouts=clause.emit_timeout,
            whole=self.given.whole,
            event_time=self._event_time() if by_time else self._counted_time(sorting),
            shown_time=SHOWN_TIME,
            clause=f"MATCH_RECOGNIZE over '{self.given.item.alias}'",
        )
        made = tuple(Field(x.output, x_type) for x, x_type in zip(measures.made, measures.types, strict=True))
        if clause.emit_timeout:
            made = (*made, Field(tables.timed_out, t.BOOLEAN))
        made = (*made, Field(SHOWN_TIME, t.LONG))
        node = Match(
            self.given.node, tuple(self.prepared.named), tuple(programs), tables, made, print_regex(clause.pattern)
        )
        node = replace(node, prepared=tuple(n for n in node.prepared if n.name in node.used_columns()))
        hidden = tuple((name, t_) for (name, t_) in self.given.item.attributes if any(name == n for n, _ in carried))
        scope = ScopeItem(
            self.alias,
            f"MATCH_RECOGNIZE '{self.alias}'",
            tuple((name, kind) for name, kind, _ in attributes),
            hidden=hidden,
        )
        types = {n.name: n.expr.type for n in node.prepared}
        projected = [Named(SHOWN_TIME, e.ColumnRef(t.LONG, SHOWN_TIME))]
        projected += [Named(scope.plan_name(name), expr) for name, _, expr in attributes]
        projected += [Named(scope.plan_name(name), e.ColumnRef(types[column], column)) for name, column in carried]
        return scope, Project(node, tuple(projected))

    # -- names ----------------------------------------------------------------------------------------

    def _check_names(self, occurring: tuple[str, ...]) -> None:
        """Variables that are defined, or members of a subset, must occur in the pattern."""
        errors = self.problems.errors
        for subset in self.clause.subsets:
            if subset.name in occurring:
                errors.append(
                    error(
                        "DUPLICATE_NAME",
                        subset.span,
                        name=subset.name,
                        where="PATTERN and SUBSET",
                        fix="give the subset another name",
                    )
                )
            for name in subset.members:
                if name not in occurring:
                    fix = did_you_mean(name, occurring)
                    errors.append(error("UNKNOWN_VARIABLE", subset.span, name=name, fix=fix))
        seen: set[str] = set()
        for definition in self.clause.definitions:
            if definition.name not in occurring:
                fix = did_you_mean(definition.name, occurring, otherwise="leave it out, or write it in PATTERN")
                errors.append(error("UNKNOWN_VARIABLE", definition.span, name=definition.name, fix=fix))
            elif definition.name in seen:
                errors.append(
                    error(
                        "DUPLICATE_NAME",
                        definition.span,
                        name=definition.name,
                        where="DEFINE",
                        fix="join the two conditions with AND",
                    )
                )
            seen.add(definition.name)
        for measure in self.clause.measures:
            if measure.name is None:
                errors.append(
                    error(
                        "SYNTAX",
                        measure.span,
                        found="a measure without a name",
                        expected="AS and a name",
                        fix=f"write {print_expression(measure.expr)} AS …",
                    )
                )
        if self.clause.emit_timeout and self.clause.within is None and self.clause.gap is None:
            errors.append(
                error(
                    "SYNTAX",
                    self.clause.span,
                    found="EMIT TIMEOUT",
                    expected="a bound that can run out",
                    fix="add WITHIN or GAP after the pattern",
                )
            )

    def _binder(self, clause: str) -> MatchTermBinder:
        return MatchTermBinder(self.scope, self.given.item, self.variables, self.repeated, clause, self.automaton)

    # -- clauses --------------------------------------------------------------------------------------

    def _key(self, node: s.Expr) -> tuple[str, e.Expr]:
        bound = ExpressionBinder(self.scope, no_aggregates_in="PARTITION BY").bind(node)
        if not t.is_orderable(bound.type):
            raise error(
                "TYPE_MISMATCH",
                node.span,
                what="PARTITION BY",
                expected="values that can be compared",
                found=bound.type,
                fix="partition by the value at a key: m['key']",
            )
        name = node.name if isinstance(node, s.Name | s.Member) else print_expression(node)
        return name, bound

    def _order(self, key: m.OrderKey) -> tuple[e.Expr, bool]:
        bound = ExpressionBinder(self.scope, no_aggregates_in="ORDER BY").bind(key.expr)
        if not isinstance(bound.type, t.Scalar):
            raise error(
                "TYPE_MISMATCH",
                key.span,
                what="ORDER BY",
                found=bound.type,
                expected="a number, text, time or truth value",
            )
        return bound, not key.descending

    def _sorted(self, order: list[tuple[e.Expr, bool]]) -> tuple[tuple[tuple[str, bool], ...], bool]:
        """Columns of ORDER BY, and whether it begins with the event time; the event time alone is the default."""
        if not order:
            return (), True
        first, ascending = order[0]
        own = self.given.event_time
        by_time = ascending and own is not None and first == self.given.item.column(own)
        if by_time and len(order) == 1:
            return (), True
        return tuple((self.prepared.name(expr), up) for expr, up in order), by_time

    def _counted_time(self, order: list[tuple[e.Expr, bool]]) -> str:
        """The time for WITHIN and GAP where ORDER BY does not begin with the event time: its first column, because the
        first and last row of a match are those of that order."""
        clause, (first, ascending) = self.clause, order[0]
        word = clause.within_word if clause.within is not None else "GAP" if clause.gap is not None else None
        if word is None:
            return self._event_time()
        span = clause.order_by[0].span
        if first.type != t.TIMESTAMP or not ascending:
            found = str(first.type) if ascending else f"{first.type}, descending"
            raise error(
                "TYPE_MISMATCH",
                span,
                what=word,
                found=found,
                expected="ORDER BY that begins with a TIMESTAMP, ascending",
                fix="order by the time of the rows first, cast to TIMESTAMP if need be",
            )
        by_event_time = {"EMIT TIMEOUT": clause.emit_timeout, "a sliding window under MATCH_RECOGNIZE": self.given.span}
        clash = next((what for what, used in by_event_time.items() if used), None)
        if clash is not None and self.given.event_time is not None:
            raise error(
                "UNSUPPORTED",
                span,
                what=f"{clash} with {word}",
                where="where ORDER BY does not begin with the event time: two times would apply",
                fix=f"begin it with {self.given.event_time}",
            )
        return self.prepared.name(first)

    def _event_time(self) -> str:
        if not self.given.whole:
            return MatchTables.event_time
        column = self.given.item.column(self.given.event_time) if self.given.event_time else None
        if column is None:
            raise error("NO_EVENT_TIME", self.clause.span, name=self.given.item.alias)
        return self.prepared.name(column)

    def _define(self, definition: m.Definition, definitions: Definitions) -> None:
        condition = self._binder("DEFINE").condition(definition.condition, f"DEFINE {definition.name}")
        definitions.add(definition.name, condition, print_expression(definition.condition))

    def _measure(self, item: m.MeasureItem, measures: Measures) -> tuple[str, e.Expr]:
        assert item.name is not None
        bound = self._binder("MEASURES").bind(item.expr)
        return item.name, measures.add(bound)

    def _skip(self) -> Skip:
        skip = self.clause.skip
        if skip.variable is None:
            return Skip(skip.kind)
        labels = self.variables.find(skip.variable)
        if labels is None:
            fix = did_you_mean(skip.variable, list(self.variables.labels))
            raise error("UNKNOWN_VARIABLE", skip.span, name=skip.variable, fix=fix)
        return Skip(skip.kind, labels, skip.variable)

    def _attributes(
        self,
        keys: tuple[tuple[str, str], ...],
        measures: list[tuple[str, e.Expr]],
        bound_keys: list[tuple[str, e.Expr]],
    ) -> list[tuple[str, t.DataType, e.Expr]]:
        """Partition columns and measures by name; a measure hides a partition column of its name."""
        made = [(name, expr.type, expr) for name, expr in measures]
        repeats = [name for name, count in Counter(name for name, _ in measures).items() if count > 1]
        if repeats:
            second = [x for x in self.clause.measures if x.name == repeats[0]][1]
            raise error("DUPLICATE_NAME", second.span, name=repeats[0], where="MEASURES", fix="choose another name")
        own = {name for name, _ in measures}
        columns: list[tuple[str, t.DataType, e.Expr]] = []
        for (name, column), (_, expr) in zip(keys, bound_keys, strict=True):
            if name not in own:
                columns.append((name, expr.type, e.ColumnRef(expr.type, column)))
                own.add(name)
        if self.clause.emit_timeout:
            if TIMED_OUT in own:
                raise error(
                    "DUPLICATE_NAME",
                    self.clause.span,
                    name=TIMED_OUT,
                    where="the rows of EMIT TIMEOUT",
                    fix="give your column another name",
                )
            made.append((TIMED_OUT, t.BOOLEAN, e.ColumnRef(t.BOOLEAN, MatchTables.timed_out)))
        return [*columns, *made]


class _Period(NamedTuple):
    """A span of time: calendar months, then microseconds."""

    months: int = 0
    micros: int = 0


def _period_of(literal: s.DurationLiteral) -> _Period:
    return _Period(literal.months, literal.micros - literal.months * MICROS["month"])


def _within(written: s.DurationLiteral | None, width: int | None) -> _Period | None:
    """The bound of a match: the shorter of the written one and the window's width."""
    if written is None or width is None:
        return _period_of(written) if written is not None else None if width is None else _Period(micros=width)
    period = _period_of(written)
    if period.micros + period.months * 31 * MICROS["day"] <= width:
        return period
    if period.micros + period.months * 28 * MICROS["day"] >= width:
        return _Period(micros=width)
    raise error(
        "UNSUPPORTED",
        written.span,
        what=f"a bound of {print_expression(written)}",
        where=f"over a window of {format_duration(width)}: which one is shorter depends on the month",
        fix="write the bound in days, or leave the window out",
    )


def _variables(term: m.RegexTerm) -> list[m.VariableTerm]:
    if isinstance(term, m.VariableTerm):
        return [term]
    if isinstance(term, m.QuantifiedTerm | m.ExcludedTerm):
        return _variables(term.operand)
    if isinstance(term, m.ConcatTerm | m.AlternativesTerm | m.PermuteTerm):
        return [v for operand in term.operands for v in _variables(operand)]
    return []


def _repeated(term: m.RegexTerm) -> set[str]:
    """Variables that may take more than one row of a match."""
    counts = Counter(v.name for v in _variables(term))
    repeated = {name for name, count in counts.items() if count > 1}
    todo = [term]
    while todo:
        current = todo.pop()
        if isinstance(current, m.QuantifiedTerm):
            if current.high is None or current.high > 1:
                repeated |= {v.name for v in _variables(current)}
            todo.append(current.operand)
        elif isinstance(current, m.ExcludedTerm):
            todo.append(current.operand)
        elif isinstance(current, m.ConcatTerm | m.AlternativesTerm | m.PermuteTerm):
            todo.extend(current.operands)
    return repeated


def _tree(term: m.RegexTerm) -> regex.Regex:
    """The pattern as a tree for `build_automaton`."""
    match term:
        case m.VariableTerm(name=name):
            return regex.Variable(name)
        case m.ConcatTerm(operands=operands):
            return regex.Concat(tuple(map(_tree, operands))) if operands else regex.Empty()
        case m.AlternativesTerm(operands=operands):
            return regex.Alternation(tuple(map(_tree, operands)))
        case m.PermuteTerm(operands=operands):
            return regex.Permute(tuple(map(_tree, operands)))
        case m.QuantifiedTerm(operand=operand):
            return regex.Repeat(_tree(operand), term.low, term.high, not term.reluctant)
        case m.ExcludedTerm(operand=operand):
            return regex.Exclude(_tree(operand))
        case m.AnchorTerm(mark=mark):
            return regex.StartAnchor() if mark == "^" else regex.EndAnchor()
    raise error("INTERNAL", term.span, what=f"{type(term).__name__} in a pattern")
