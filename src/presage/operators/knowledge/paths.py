"""A graph pattern about one event as a condition on its attributes, over tables of the knowledge bases.

Triples of the event name its attributes and are removed. The rest concerns the knowledge bases alone and is answered
once, into tables keyed on the entities that the event may name. A FILTER on a measured value is removed, too, and
becomes a comparison of that value with a column of a table or with a constant.

Parts of the rest that share no variable have tables of their own: a part without event (semantic pruning) becomes
literals, a part that is a single hop from the event (transformation) becomes a plain comparison.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from presage.declarations.contexts import spellings
from presage.lang import syntax as s
from presage.lang.knowledge_syntax import InTable
from presage.lang.print_terms import print_expression
from presage.model.types import DOUBLE, STRING
from presage.operators.knowledge import namespaces as ns
from presage.operators.knowledge import sparql_syntax as q
from presage.operators.knowledge.filters import FALSE, TRUE, FilterReader, NotNativeError, all_of, any_of, signed
from presage.operators.knowledge.graph_patterns import (
    MOST_CHOICES,
    Linked,
    branches,
    certainly_bound,
    conjuncts,
    depends_on_order,
    joined_as_value,
    link,
    meets_events,
)
from presage.operators.knowledge.notes import PRUNE, RELATE, TRANSFORM
from presage.operators.knowledge.owl_terms import OWL, RDFS
from presage.operators.knowledge.probes import Probe, sees
from presage.operators.knowledge.sparql_printer import print_group
from presage.operators.knowledge.tables import SHOWN, KeyColumn, PathTable, ValueColumn, is_natural, literal_value
from presage.operators.knowledge.vocabulary import Reading, Vocabulary
from presage.plan.expr import GIVEN

NULL = s.Literal(None)
# Rows in EXPLAIN of a table that becomes constants.
SHOWN_ROWS = 5
_SAME_CLASS = q.Iri(OWL + "equivalentClass")
_SAME = q.Iri(OWL + "sameAs")
# From a class to its superclasses, whether the graph is closed or not.
_CLASSES_ABOVE = q.OneOrMore(
    q.Alternative((q.Iri(RDFS + "subClassOf"), _SAME_CLASS, q.Inverse(_SAME_CLASS), _SAME, q.Inverse(_SAME)))
)

Literals = Callable[[PathTable], list[tuple[object, ...]]]


@dataclass(frozen=True)
class Choice:
    """One alternative of the pattern: an attribute for each triple of the event, and the other elements."""

    roots: tuple[tuple[q.Triple, Reading], ...]
    rest: tuple[q.Element, ...]


@dataclass
class Unit:
    """Parts of the pattern that share variables: answered by one table."""

    elements: list[q.Element] = field(default_factory=list)
    keys: list[tuple[str, Reading]] = field(default_factory=list)
    filters: list[q.Filter] = field(default_factory=list)


@dataclass(frozen=True)
class PathReader:
    """Compiles patterns about one event of one stream. `value` gives the expression of an attribute.

    `apart`: parts without a common variable have tables of their own. `literals` gives the rows of a table without an
    event, which become constants of the condition; None leaves them in the table, for a statement whose plan must stay
    the same when the knowledge changes. `ask` registers a table, `note` records a rule with the text before and after.
    """

    event: str
    vocabulary: Vocabulary
    value: Callable[[str], s.Expr]
    ask: Callable[[PathTable | Probe], str]
    apart: bool = True
    literals: Literals | None = None
    note: Callable[[str, str, str], None] = lambda rule, before, after: None

    def condition(self, group: q.Group) -> s.Expr:
        """True where the pattern has a solution; NotNativeError if only the store can evaluate it."""
        if meets_events(group, self.event, self.vocabulary):
            raise NotNativeError
        return any_of([self._choice(choice) for choice in self.choices(group)])

    def choices(self, group: q.Group) -> list[Choice]:
        """All alternatives of the pattern: a branch of each UNION of the event, an attribute for each triple."""
        found: list[Choice] = []
        for elements in branches(group, self.event):
            if depends_on_order(elements, self.event):
                raise NotNativeError
            rest = tuple(e for e in elements if self.event not in e.variables())
            at_event = [self._ways(e) for e in elements if self.event in e.variables()]
            for ways in itertools.product(*at_event):
                roots = tuple(way for way in ways if isinstance(way, tuple))
                found.append(Choice(roots, (*rest, *(way for way in ways if not isinstance(way, tuple)))))
                if len(found) > MOST_CHOICES:
                    raise NotNativeError
        return found

    def _ways(self, element: q.Element) -> list[tuple[q.Triple, Reading] | q.Element]:
        """The meanings of a triple of the event: an attribute, or a condition on the event's class."""
        event = q.Var(self.event)
        if not isinstance(element, q.Triple) or not isinstance(element.predicate, q.Iri):
            raise NotNativeError
        iri = element.predicate.value
        readings = (*self.vocabulary.readings_of(iri), *self.vocabulary.inverse_readings_of(iri))
        if any(r.meaning.is_entity and r.type != STRING for r in readings):
            raise NotNativeError  # entities are named by strings
        if element.subject == event and element.object != event:
            ways: list[tuple[q.Triple, Reading] | q.Element] = [(element, r) for r in self.vocabulary.readings_of(iri)]
            if iri == ns.RDF_TYPE and self.vocabulary.class_iri is not None:
                ways.append(_has_class(q.Iri(self.vocabulary.class_iri), element.object))
            return ways
        if element.object == event and element.subject != event:
            turned = q.Triple(event, element.predicate, element.subject)
            return [(turned, r) for r in self.vocabulary.inverse_readings_of(iri)]
        raise NotNativeError

    # -- one choice ------------------------------------------------------------------------------------

    def _choice(self, choice: Choice) -> s.Expr:
        plan = self.plan(choice)
        parts = [*plan.plain, *(self._unit(unit, plan) for unit in plan.units)]
        # Comparisons first: they are cheaper than lookups.
        return all_of(sorted(dict.fromkeys(parts), key=lambda part: isinstance(part, InTable)))

    def plan(self, choice: Choice) -> ChoicePlan:
        elements: list[q.Element] = [e for e in choice.rest if not isinstance(e, q.Filter)]
        filters = [f for e in choice.rest if isinstance(e, q.Filter) for f in conjuncts(e)]
        plain: list[s.Expr] = []
        given: dict[str, Reading] = {}
        keys: list[tuple[str, Reading]] = []
        for triple, reading in choice.roots:
            target = triple.object
            if isinstance(target, q.Iri) and reading.meaning.is_entity and self.literals is None:
                # Whether the entity is known may change, so it needs a table.
                named = f"known{len(keys)}"
                elements += [q.Values((q.Var(named),), ((target,),)), *_is_known(target).elements]
                keys.append((named, reading))
            elif not isinstance(target, q.Var):
                plain.append(self._constant(target, reading))
                self.note(TRANSFORM, print_group(q.Group((triple,))), print_expression(plain[-1]))
            elif reading.meaning.is_entity:
                keys.append((target.name, reading))
            elif any(target.name in e.variables() for e in elements):
                if not is_natural(reading) or not joined_as_value(target.name, elements) or reading.type == DOUBLE:
                    raise NotNativeError
                keys.append((target.name, reading))
            else:
                plain.append(s.IsNull(self.value(reading.attribute), True))
                if any(target.name in f.variables() for f in filters):
                    given[target.name] = reading
        literals = [t.object for t, r in choice.roots if isinstance(t.object, q.Var) and not r.meaning.is_entity]
        objects = [t.object for t, _ in choice.roots]
        if any(objects.count(variable) > 1 for variable in literals):
            raise NotNativeError  # two attributes must be one literal
        measured = [f for f in filters if f.variables() & given.keys()]
        if any(f.variables() & {name for name, _ in keys} for f in measured):
            raise NotNativeError
        inside = [f for f in filters if f not in measured]
        return ChoicePlan(plain, given, self._units([*elements, *inside], keys, measured, given))

    def _constant(self, target: q.Term, reading: Reading) -> s.Expr:
        """The condition that the attribute is this term: one hop from the event."""
        value = self.value(reading.attribute)
        if isinstance(target, q.Iri) and reading.meaning.is_entity and self.vocabulary.knows(target.value):
            names = sorted(self.vocabulary.same(target.value))
            known = dict.fromkeys(x for name in names for x in spellings(reading.context, reading.meaning, name))
            items = tuple(s.Literal(spelling) for spelling in known)
            return all_of([s.IsNull(value, True), s.InList(value, items, False)]) if items else FALSE
        if isinstance(target, q.Literal) and not reading.meaning.is_entity:
            if not is_natural(reading):
                raise NotNativeError
            wanted = None if target.language else literal_value(reading, target.lexical, target.datatype)
            if wanted is None:
                return FALSE
            if isinstance(wanted, float) and (wanted == 0 or wanted != wanted):
                raise NotNativeError  # 0.0 and -0.0 are two terms, NaN is one
            return all_of([s.IsNull(value, True), s.Binary("=", value, _literal(wanted))])
        return FALSE

    def _units(
        self,
        elements: Sequence[q.Element],
        keys: Sequence[tuple[str, Reading]],
        measured: Sequence[q.Filter],
        given: Iterable[str],
    ) -> list[Unit]:
        """The parts that share variables; `given` variables are values of the event and link nothing."""
        members: list[tuple[frozenset[str], object]] = [(e.variables(), e) for e in elements]
        members += [(frozenset([name]), (name, reading)) for name, reading in keys]
        members += [(f.variables() - frozenset(given), f) for f in measured]
        parts: list[Linked[object]] = []
        for names, member in members:
            link(parts, names if self.apart else {"", *names}, member)
        units = []
        for _, several in parts:
            unit = Unit()
            for member in several:
                if isinstance(member, tuple):
                    unit.keys.append(member)
                elif isinstance(member, q.Filter) and member in measured:
                    unit.filters.append(member)
                else:
                    unit.elements.append(member)  # type: ignore[arg-type]
            units.append(unit)
        return units

    # -- one unit --------------------------------------------------------------------------------------

    def _unit(self, unit: Unit, plan: ChoicePlan) -> s.Expr:
        try:
            measured = _Measured(plan, unit.filters, self.value)
        except NotNativeError:
            return self._computed(unit, plan)
        if measured.condition == FALSE:
            return FALSE
        if not unit.elements and not unit.keys:
            # The event's values are compared with constants of the query.
            compared = _substituted(measured.condition, measured.own)
            self.note(TRANSFORM, _printed(unit.filters), print_expression(compared))
            return compared
        table = self.table(unit, measured.columns)
        if not unit.keys and self.literals is not None:
            return self._as_literals(table, measured, unit.filters)
        made = measured.of(InTable(self.ask(table), table.key_names, self._args(table)), table)
        rule = RELATE if unit.keys else PRUNE
        self.note(rule, " ".join([table.pattern, _printed(unit.filters)]).strip(), print_expression(made))
        return made

    def _computed(self, unit: Unit, plan: ChoicePlan) -> s.Expr:
        """Filters on the event's values that only Oxigraph can compute, once for each new value."""
        if unit.elements or unit.keys or any(isinstance(n, q.Exists) for f in unit.filters for n in q.walk(f)):
            raise NotNativeError
        names = tuple(name for name in plan.given if any(name in f.variables() for f in unit.filters))
        readings = tuple(plan.given[name] for name in names)
        if not all(sees(reading) for reading in readings):
            raise NotNativeError
        before = _printed(unit.filters)
        probe = Probe(before, "", readings, measured=names)
        made = InTable(self.ask(probe), tuple(name for name, _ in probe.columns), probe.terms(self.value))
        attributes = ", ".join(reading.attribute for reading in readings)
        self.note(RELATE, before, f"{probe.name}, computed once for each new value of {attributes}")
        return made

    def _args(self, table: PathTable) -> tuple[s.Expr, ...]:
        return tuple(self.value(k.reading.attribute) for k in table.keys)

    def table(self, unit: Unit, values: tuple[ValueColumn, ...]) -> PathTable:
        keys = tuple(KeyColumn(variable, reading) for variable, reading in unit.keys)
        bound = certainly_bound(unit.elements)
        # A variable that no triple binds ranges over all known entities.
        free = dict.fromkeys(k.variable for k in keys if k.reading.meaning.is_entity and k.variable not in bound)
        known = [
            f"{{ SELECT DISTINCT ?{v} WHERE {{ {print_group(_is_known(q.Var(v)))} FILTER(isIRI(?{v})) }} }}"
            for v in free
        ]
        body = print_group(q.Group(tuple(unit.elements))) if unit.elements else ""
        return PathTable(" ".join([*known, body]).strip(), keys, values)

    def known(self, group: q.Group) -> s.Expr:
        """Whether a pattern without an event has a solution."""
        table = PathTable(print_group(group))
        if self.literals is None:
            return InTable(self.ask(table))
        found = TRUE if self.literals(table) else FALSE
        self.note(PRUNE, table.pattern, print_expression(found))
        return found

    def _as_literals(self, table: PathTable, measured: _Measured, filters: Sequence[q.Filter]) -> s.Expr:
        assert self.literals is not None
        found, shown = [], []
        for row in self.literals(table):
            values = {f"v{i}": _literal(value) for i, value in enumerate(row[: len(table.values)])}
            found.append(_substituted(measured.condition, {**measured.own, **values}))
            pairs = zip(table.values, row, strict=False)
            shown.append(" AND ".join(f"?{v.variable} = {print_expression(_literal(x))}" for v, x in pairs) or "TRUE")
        made = any_of(list(dict.fromkeys(found)))
        after = " OR ".join(shown[:SHOWN_ROWS]) + (" OR …" * (len(shown) > SHOWN_ROWS)) or "FALSE"
        self.note(PRUNE, table.pattern, after)
        if filters:
            self.note(TRANSFORM, _printed(filters), print_expression(made))
        return made

    # -- variables that are selected -------------------------------------------------------------------

    def solutions(self, group: q.Group, selected: Sequence[str]) -> Solutions:
        """The table of the selected variables by the event's keys, and the other conditions on the event."""
        if meets_events(group, self.event, self.vocabulary):
            raise NotNativeError
        choices = self.choices(group)
        if len(choices) != 1:
            raise NotNativeError
        plan = self.plan(choices[0])
        own = {t.object.name: r for t, r in choices[0].roots if isinstance(t.object, q.Var) and not r.meaning.is_entity}
        wanted = [name for name in selected if name not in own]
        selecting = [u for u in plan.units if any(name in _names(u) for name in wanted)]
        others = [self._unit(u, plan) for u in plan.units if u not in selecting]
        together = Unit()
        for unit in selecting:
            together.elements += unit.elements
            together.keys += unit.keys
            together.filters += unit.filters
        shown = tuple(ValueColumn(name, SHOWN) for name in wanted)
        table = self.table(replace(together, filters=[]), shown) if wanted else None
        holds = self._unit_of_selected(together, plan, shown) if together.filters else None
        return Solutions(
            table,
            tuple(self.value(reading.attribute) for _, reading in together.keys),
            {name: i for i, name in enumerate(wanted)},
            {name: self.value(reading.attribute) for name, reading in own.items() if name in selected},
            all_of([*plan.plain, *others]),
            holds,
        )

    def _unit_of_selected(
        self, unit: Unit, plan: ChoicePlan, shown: tuple[ValueColumn, ...]
    ) -> Callable[[Callable[[int], s.Expr]], s.Expr]:
        """A condition on measured values, for a solution with given selected values, which are keys, too."""

        def holds(chosen: Callable[[int], s.Expr]) -> s.Expr:
            measured = _Measured(plan, unit.filters, self.value, shown)
            table = self.table(unit, measured.columns)
            names = (*table.key_names, *(f"v{i}" for i in range(len(shown))))
            args = (*self._args(table), *(chosen(i) for i in range(len(shown))))
            return measured.of(InTable(self.ask(table), names, args), table)

        return holds


class _Measured:
    """FILTERs on values of the event, as a condition on them and on columns of a table; `shown` columns come first."""

    def __init__(
        self,
        plan: ChoicePlan,
        filters: Sequence[q.Filter],
        value: Callable[[str], s.Expr],
        shown: Sequence[ValueColumn] = (),
    ) -> None:
        seen = frozenset[str]().union(*(f.variables() for f in filters))
        if not all(is_natural(reading) for variable, reading in plan.given.items() if variable in seen):
            raise NotNativeError
        places = {(v.variable, v.kind): f"v{i}" for i, v in enumerate(shown)}

        def column(variable: str, kind: str) -> s.Expr:
            return s.Name(places.setdefault((variable, kind), f"v{len(places)}"))

        names = {variable: f"{GIVEN}{i}" for i, variable in enumerate(plan.given)}
        given = {variable: (s.Name(name), plan.given[variable].type) for variable, name in names.items()}
        reader = FilterReader(given, column)
        self.condition = all_of([reader.condition(f.expression) for f in filters])
        self.columns = tuple(ValueColumn(variable, kind) for variable, kind in places)
        self.own = {name: value(plan.given[variable].attribute) for variable, name in names.items()}

    def of(self, found: InTable, table: PathTable) -> InTable:
        """The lookup with the condition, if there is one."""
        if self.condition == TRUE:
            return found
        values = tuple(self.own.values())
        return replace(found, columns=table.value_columns, values=values, condition=self.condition)


@dataclass(frozen=True)
class ChoicePlan:
    """`plain` conditions on attributes; `given` measured values by variable; `units`: conditions on the knowledge."""

    plain: list[s.Expr]
    given: dict[str, Reading]
    units: list[Unit]


@dataclass(frozen=True)
class Solutions:
    """`table`: keys, then the selected variables at `places`; `args`: the event's values for the keys. `own`: selected
    variables that are attributes. `condition` must hold of the event, `holds` of a solution as well."""

    table: PathTable | None
    args: tuple[s.Expr, ...]
    places: dict[str, int]
    own: dict[str, s.Expr]
    condition: s.Expr
    holds: Callable[[Callable[[int], s.Expr]], s.Expr] | None


def _is_known(term: q.Term) -> q.Group:
    """The term is the subject or object of a triple. The names of the variables are reserved for that."""
    name = term.name if isinstance(term, q.Var) else "it"
    p, o, subject = (q.Var(f"presage_{name}_{end}") for end in ("p", "o", "s"))
    ways = (q.Group((q.Triple(term, p, o),)), q.Group((q.Triple(subject, p, term),)))
    return q.Group((q.Union(ways),))


def _has_class(own: q.Iri, wanted: q.Term) -> q.Element:
    """The condition that members of a class have a type: it is the class itself, or a superclass."""
    if own == wanted:
        return q.Filter(q.Literal("true", ns.XSD_BOOLEAN))
    above = q.Triple(own, _CLASSES_ABOVE, wanted)
    if not isinstance(wanted, q.Var):
        return above
    return q.Union((q.Group((q.Values((wanted,), ((own,),)),)), q.Group((above,))))


def _printed(filters: Sequence[q.Filter]) -> str:
    return print_group(q.Group(tuple(filters))) if filters else ""


def _names(unit: Unit) -> frozenset[str]:
    return frozenset().union(*(e.variables() for e in unit.elements), (name for name, _ in unit.keys))


def _literal(value: object) -> s.Expr:
    if isinstance(value, float | int) and not isinstance(value, bool):
        return signed(value)
    assert value is None or isinstance(value, str | bool)
    return s.Literal(value)


def _substituted(condition: s.Expr, values: dict[str, s.Expr]) -> s.Expr:
    """The condition with values for its names, simplified."""
    match condition:
        case s.Name(name=name):
            return values.get(name, condition)
        case s.AllOf(operands=operands):
            return all_of([_substituted(o, values) for o in operands])
        case s.AnyOf(operands=operands):
            return any_of([_substituted(o, values) for o in operands])
        case s.Not(operand=operand):
            inner = _substituted(operand, values)
            return {TRUE: FALSE, FALSE: TRUE}.get(inner, s.Not(inner)) if isinstance(inner, s.Literal) else s.Not(inner)
        case s.Binary(left=left, right=right):
            one, other = _substituted(left, values), _substituted(right, values)
            if NULL in (one, other):
                return NULL if condition.op in ("+", "-", "*") else FALSE
            return replace(condition, left=one, right=other)
        case s.IsNull(operand=operand, negated=negated):
            inner = _substituted(operand, values)
            if isinstance(inner, s.Literal):
                return TRUE if (inner.value is None) != negated else FALSE
            return replace(condition, operand=inner)
        case s.Call(args=args):
            inner_args = tuple(_substituted(a, values) for a in args)
            if condition.name == "isnan" and isinstance(inner_args[0], s.Literal | s.Unary):
                constant = inner_args[0].value if isinstance(inner_args[0], s.Literal) else 0.0
                return TRUE if isinstance(constant, float) and constant != constant else FALSE
            return replace(condition, args=inner_args)
        case s.Unary(operand=operand) | s.Cast(operand=operand):
            inner = _substituted(operand, values)
            return NULL if inner == NULL else replace(condition, operand=inner)
    return condition
