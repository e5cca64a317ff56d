"""Binds PATTERN [ … ] to a PatternMatch node with the names of its tags."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from presage.analyze.expressions import ExpressionBinder
from presage.analyze.names import refuse_same_name
from presage.analyze.scope import ScopeItem
from presage.errors import did_you_mean, error
from presage.lang import pattern_syntax as p
from presage.lang import syntax as s
from presage.lang.print_patterns import print_term
from presage.lang.print_terms import print_expression
from presage.model import types as t
from presage.model.catalog import EVENT, Catalog, EventType
from presage.model.text import Span
from presage.model.time import MICROS
from presage.operators.epl.bounds import (
    check_bounds,
    constant_period,
    fixed_period,
    limit_of,
    refuse_denial,
    refuse_endless,
    refuse_negative,
)
from presage.operators.epl.event_terms import Reader, Tag, Tags, TagScope, event_item
from presage.operators.epl.kernel.spec import Argument, Listed, Node, PatternTables, Period, Shown
from presage.operators.epl.nodes import PatternMatch
from presage.plan import expr as e
from presage.plan import nodes as n
from presage.plan.nodes import Field
from presage.plan.prepared import Prepared

Events = Callable[[EventType, str, Span], n.Node]
GUARDS = ("timer:within", "timer:withinmax")
OBSERVERS = ("timer:interval",)


def bind_pattern(
    source: p.PatternSource, events: Events, catalog: Catalog, begin: int | None
) -> tuple[list[ScopeItem], n.Node]:
    """The tags of the pattern as names for SELECT, and its rows."""
    return _PatternBinder(source, events, catalog).bind(begin)


@dataclass
class _Source:
    """An event type of the pattern."""

    event_type: EventType
    node: n.Node
    prepared: Prepared


class _PatternBinder:
    def __init__(self, source: p.PatternSource, events: Events, catalog: Catalog) -> None:
        self.source = source
        self.events = events
        self.catalog = catalog
        self.sources: list[_Source] = []
        self.tags = Tags()
        self.nodes: list[Node] = []
        self.programs: list[e.Expr] = []
        self.repeats = 0
        self.denials: tuple[int, ...] = ()  # the NOTs around the current term

    def bind(self, begin: int | None) -> tuple[list[ScopeItem], n.Node]:
        self._term(self.source.term, ())
        if not self.sources:
            # Only timers: every event of the home advances their watermark.
            self._source_of(self.catalog.types[EVENT], self.source.span)
        scopes, shown, made = [], [], []
        for number, tag in enumerate(self.tags.listed):
            event_type = self.sources[tag.source].event_type
            attributes = tuple((a.name, a.type) for a in event_type.attributes)
            title = f"tag '{tag.name}' ({event_type.name})"
            scope = ScopeItem(tag.name, title, attributes, event_type.hidden, grouped=True, repeated=bool(tag.repeats))
            if tag.denials:
                fix = f"take '{tag.name}' out of SELECT and of conditions on the pattern's rows"
                scopes.append(replace(scope, aside=True, unbound=fix))
                continue
            scopes.append(scope)
            own = event_item(event_type)
            prepared = self.sources[tag.source].prepared
            if tag.repeats:
                shown.append(Shown(tag.name, number, prepared.name(own.as_struct())))
                made.append(Field(tag.name, t.ArrayOf(t.StructOf(attributes))))
                continue
            for name, kind in (*attributes, *event_type.hidden):
                column = own.column(name)
                assert column is not None
                shown.append(Shown(scope.plan_name(name), number, prepared.name(column)))
                made.append(Field(scope.plan_name(name), kind))
        listed = tuple(Listed(tag.name, tag.source, bool(tag.repeats)) for tag in self.tags.listed)
        columns = tuple(tuple(x.name for x in source.prepared.named) for source in self.sources)
        tables = PatternTables(
            tuple(self.nodes),
            listed,
            tuple(shown),
            columns=columns,
            order=n.order_columns(max(source.node.depth for source in self.sources)),
            begin=begin,
            discard=self.source.discard,
            suppress=self.source.suppress,
            text=f"PATTERN [ {print_term(self.source.term)} ]",
        )
        node = PatternMatch(
            tuple(source.node for source in self.sources),
            tuple(tuple(source.prepared.named) for source in self.sources),
            tuple(self.programs),
            tables,
            tuple(made),
            text=print_term(self.source.term),
        )
        return scopes, node

    # -- terms --------------------------------------------------------------------------------------------

    def _term(self, term: p.PatternTerm, repeats: tuple[int, ...]) -> int:
        """The number of the term's node. `repeats`: the repeats around it."""
        number = len(self.nodes)
        self.nodes.append(Node("", text=print_term(term)))  # its children have greater numbers
        match term:
            case p.EventTerm():
                made = self._filter(term, repeats)
            case p.TimerTerm():
                made = self._timer(term, repeats)
            case p.FollowedBy():
                children = tuple(self._term(o, repeats) for o in term.operands)
                made = Node("followed", children, limits=tuple(map(limit_of, term.limits)))
            case p.AndTerm(operands=operands):
                made = Node("and", tuple(self._term(o, repeats) for o in operands))
            case p.OrTerm(operands=operands):
                made = Node("or", tuple(self._term(o, repeats) for o in operands))
            case p.NotTerm(operand=operand):
                outside, self.denials = self.denials, (*self.denials, number)
                made = Node("not", (self._term(operand, repeats),))
                self.denials = outside
            case p.EveryTerm(operand=operand):
                made = Node("every", (self._term(operand, repeats),))
                refuse_endless(self.nodes, made.children[0], "EVERY", operand.span)
            case p.EveryDistinctTerm():
                made = self._distinct(term, repeats)
            case p.RepeatTerm():
                made = self._repeat(term, repeats)
            case p.TimerGuard():
                made = self._guard(term, repeats)
            case p.WhileGuard(operand=operand, condition=condition):
                child = self._term(operand, repeats)
                bound = self._binder(repeats).condition(condition, "the condition of WHILE")
                made = self._with_program(Node("while", (child,)), bound, repeats, "WHILE")
            case _:
                raise error("INTERNAL", term.span, what=f"{type(term).__name__} in a pattern")
        self.nodes[number] = replace(made, text=print_term(term))
        return number

    def _filter(self, term: p.EventTerm, repeats: tuple[int, ...]) -> Node:
        source = self._source_of(_event_type(term, self.catalog), term.span)
        event_type = self.sources[source].event_type
        earlier = len(self.tags.listed)
        tag = self._tag(term, source, repeats) if term.tag is not None else -1
        made = Node("filter", source=source, tag=tag, consume=term.consume)
        if term.condition is None:
            return made
        own = event_type, term.tag
        scope = TagScope(self.tags, repeats, self.denials, self._event_types(), self.catalog, earlier, own)
        binder = ExpressionBinder(scope, no_aggregates_in="the filter of a pattern")
        bound = binder.condition(term.condition, f"the filter of '{event_type.name}'")
        reader = Reader(scope, self._event_types(), self._prepared(), source)
        alone, rest = reader.split(bound)
        flag = self.sources[source].prepared.name(alone) if alone is not None else None
        made = replace(made, flag=flag)
        return reader.filter(made, rest, self.programs) if rest is not None else made

    def _tag(self, term: p.EventTerm, source: int, repeats: tuple[int, ...]) -> int:
        assert term.tag is not None
        number = self.tags.places.get(term.tag)
        if number is not None:
            tag = self.tags.listed[number]
            if tag.repeats or repeats or tag.source != source:
                under = tag.repeats or repeats
                why = "a tag under a repeat cannot be used elsewhere" if under else "it has another type there"
                raise error(
                    "DUPLICATE_NAME",
                    term.span,
                    name=term.tag,
                    where=f"PATTERN ({why})",
                    fix="give one of them another tag",
                )
            self.tags.listed[number] = replace(tag, denials=_shared(tag.denials, self.denials))
            return number
        if term.tag.lower() in self.tags.lowered:
            known = [tag.name for tag in self.tags.listed]
            refuse_same_name(term.tag, known, "PATTERN", term.span, "give one of them another tag")
        self.tags.append(Tag(term.tag, source, repeats, self.denials))
        return len(self.tags.listed) - 1

    def _source_of(self, event_type: EventType, span: Span) -> int:
        for number, source in enumerate(self.sources):
            if source.event_type.name == event_type.name:
                return number
        node = self.events(event_type, event_type.name, span)
        self.sources.append(_Source(event_type, node, Prepared(f"_s{len(self.sources)}_")))
        return len(self.sources) - 1

    def _repeat(self, term: p.RepeatTerm, repeats: tuple[int, ...]) -> Node:
        low, high = (self._bound(b, repeats) for b in (term.low, term.high))
        check_bounds(term, low, high)
        self.repeats += 1
        before = len(self.tags.listed)
        children = [self._term(term.operand, (*repeats, self.repeats))]
        lists = tuple(range(before, len(self.tags.listed)))
        if term.until is not None:
            children.append(self._term(term.until, repeats))
            refuse_denial(self.nodes, children[-1], term.until.span)
        made = Node("until", tuple(children), lists=lists)
        for word, bound in (("low", low), ("high", high)):
            if isinstance(bound, int):
                made = replace(made, low=bound) if word == "low" else replace(made, high=bound)
            elif bound is not None:
                made = self._with_program(made, bound, repeats, "a repeat", field=f"{word}_program")
        return made

    def _bound(self, bound: s.Expr | None, repeats: tuple[int, ...]) -> int | e.Expr | None:
        if bound is None:
            return None
        value = self._binder(repeats).bind(bound)
        if not t.is_integral(value.type):
            raise error(
                "TYPE_MISMATCH",
                bound.span,
                what="the bound of a repeat",
                expected="a whole number",
                found=value.type,
                fix="write a number, or an INT of an event: [(a.n)]",
            )
        return value.value if isinstance(value, e.Constant) and isinstance(value.value, int) else value

    def _distinct(self, term: p.EveryDistinctTerm, repeats: tuple[int, ...]) -> Node:
        keys, period = list(term.keys), None
        refuse_negative(keys[-1], "EVERY-DISTINCT")
        if isinstance(keys[-1], s.DurationLiteral):
            period = fixed_period(keys.pop())  # type: ignore[arg-type]
        child = self._term(term.operand, repeats)
        refuse_endless(self.nodes, child, "EVERY-DISTINCT", term.operand.span)
        made = Node("distinct", (child,), period=period)
        for key in keys:
            bound = self._binder(repeats).bind(key)
            made = self._with_program(made, bound, repeats, "EVERY-DISTINCT", field="keys")
        if all(isinstance(self.programs[number], e.Constant) for number, _ in made.keys):
            raise error(
                "WRONG_ARGUMENTS",
                term.span,
                name="EVERY-DISTINCT",
                expected="at least one key of an event",
                found="constants only",
                fix="name an attribute: EVERY-DISTINCT(a.x)",
            )
        return made

    def _guard(self, term: p.TimerGuard, repeats: tuple[int, ...]) -> Node:
        name = term.name.lower()
        if name not in GUARDS:
            fix = "write -> timer:interval(…)" if name in OBSERVERS else did_you_mean(term.name, GUARDS)
            raise error("UNKNOWN_FUNCTION", term.span, name=term.name, fix=fix)
        wanted = 2 if name == "timer:withinmax" else 1
        if len(term.args) != wanted:
            expected = "a period and a number" if wanted == 2 else "one period"
            raise error("WRONG_ARGUMENTS", term.span, name=term.name, expected=expected, found=len(term.args))
        period, arguments = self._period(term.args[0], repeats, term.name)
        most = -1
        if wanted == 2:
            most_part = term.args[1]
            count = self._bound(most_part[0].value, repeats)
            if not isinstance(count, int) or count < 0:
                found = print_expression(most_part[0].value)
                raise error(
                    "BAD_VALUE",
                    most_part[0].span,
                    what="the count of timer:withinmax",
                    found=found,
                    expected="a number, 0 or more",
                    fix=f"write {term.name}(5 sec, 1)",
                )
            most = count
        child = self._term(term.operand, repeats)
        return Node("within", (child,), period=period, most=most, arguments=arguments)

    def _timer(self, term: p.TimerTerm, repeats: tuple[int, ...]) -> Node:
        name = term.name.lower()
        if name in GUARDS:
            raise error(
                "UNSUPPORTED",
                term.span,
                what=term.name,
                where="as a term of its own: it is a guard",
                fix=f"write p WHERE {term.name}(…), or timer:interval(…)",
            )
        if name not in OBSERVERS:
            raise error("UNKNOWN_FUNCTION", term.span, name=term.name, fix=did_you_mean(term.name, OBSERVERS))
        if len(term.args) != 1:
            raise error("WRONG_ARGUMENTS", term.span, name=term.name, expected="one period", found=len(term.args))
        period, arguments = self._period(term.args[0], repeats, term.name)
        return Node("interval", period=period, arguments=arguments)

    # -- values -------------------------------------------------------------------------------------------

    def _period(
        self, parts: tuple[p.PeriodPart, ...], repeats: tuple[int, ...], name: str
    ) -> tuple[Period, tuple[Argument, ...]]:
        """A span of time; what depends on events is a program that gives seconds."""
        months, micros = 0.0, 0.0
        varying: list[e.Expr] = []
        for part in parts:
            refuse_negative(part.value, name)
            if isinstance(part.value, s.DurationLiteral) and part.unit is None:
                fixed = fixed_period(part.value)
                months, micros = months + fixed.months, micros + fixed.micros
                continue
            value = self._binder(repeats).bind(part.value)
            if not t.is_numeric(value.type) or value.type == t.NULL:
                raise error(
                    "TYPE_MISMATCH",
                    part.span,
                    what=name,
                    expected="a number of seconds or a period",
                    found=value.type,
                    fix="write 5 sec, or a.x seconds",
                )
            unit = part.unit or "sec"
            whole = isinstance(value, e.Constant) and isinstance(value.value, int | float) and not value.value % 1
            if unit == "month" and not whole:
                raise error(
                    "UNSUPPORTED",
                    part.span,
                    what="a number of months that is not written as a whole number",
                    where=f"in {name}",
                    fix="count in days: 30 days, or (a.x * 30) days",
                )
            if isinstance(value, e.Constant) and isinstance(value.value, int | float):
                if unit == "month":
                    months += value.value
                else:
                    micros += value.value * MICROS[unit]
                continue
            seconds = e.Constant(t.DOUBLE, MICROS[unit] / 1e6)
            double = value if value.type == t.DOUBLE else e.CastTo(t.DOUBLE, value)
            varying.append(e.Arithmetic(t.DOUBLE, "*", double, seconds, span=part.span))
        fixed = constant_period(months, micros, name, parts[0].span.to(parts[-1].span))
        if not varying:
            return fixed, ()
        total = varying[0]
        for more in varying[1:]:
            total = e.Arithmetic(t.DOUBLE, "+", total, more, span=more.span)
        scope = self._scope(repeats)
        reader = Reader(scope, self._event_types(), self._prepared(), None)
        program, arguments = reader.program(total, self.programs, name)
        return replace(fixed, program=program, bank=1, arguments=arguments), arguments

    def _with_program(
        self, node: Node, bound: e.Expr, repeats: tuple[int, ...], what: str, field: str = "program"
    ) -> Node:
        """The node with a program over the events so far. All programs of a node share its arguments."""
        scope = self._scope(repeats)
        reader = Reader(scope, self._event_types(), self._prepared(), None, list(node.arguments))
        program, arguments = reader.program(bound, self.programs, what)
        made = replace(node, arguments=arguments)
        match field:
            case "keys":
                bank = {t.DOUBLE: 1, t.STRING: 2}.get(bound.type, 0)  # type: ignore[call-overload]
                return replace(made, keys=(*node.keys, (program, bank)))
            case "low_program":
                return replace(made, low_program=program)
            case "high_program":
                return replace(made, high_program=program)
        return replace(made, program=program)

    def _binder(self, repeats: tuple[int, ...]) -> ExpressionBinder:
        return ExpressionBinder(self._scope(repeats), no_aggregates_in="a pattern")

    def _scope(self, repeats: tuple[int, ...]) -> TagScope:
        return TagScope(self.tags, repeats, self.denials, self._event_types(), self.catalog)

    def _event_types(self) -> list[EventType]:
        return [source.event_type for source in self.sources]

    def _prepared(self) -> list[Prepared]:
        return [source.prepared for source in self.sources]


def _shared(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...]:
    """The NOTs around both."""
    return tuple(a for a, b in zip(one, other, strict=False) if a == b)


def _event_type(term: p.EventTerm, catalog: Catalog) -> EventType:
    event_type = catalog.types.get(term.name)
    if event_type is None:
        if term.name in catalog.relations:
            fix = "name a stream; a relation can be used in a filter"
            raise error("NOT_A_STREAM", term.span, name=term.name, kind="relation", fix=fix)
        raise error("UNKNOWN_STREAM", term.span, name=term.name, fix=did_you_mean(term.name, catalog.names()))
    return event_type
