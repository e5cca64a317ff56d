"""Conditions in a pattern, split into the part over a filter's own event and programs over the events of tags.

A tag under a repeat is one event inside that repeat and a list of events outside of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from presage.analyze.scope import Scope, ScopeItem
from presage.errors import did_you_mean, error
from presage.model.catalog import Catalog, EventType
from presage.model.text import Span
from presage.operators.epl.kernel.spec import Argument, Node
from presage.plan import expr as e
from presage.plan.expressible import expressible
from presage.plan.prepared import Prepared
from presage.plan.row_terms import OneRow, RowValue, collapse

OWN = Argument(None)


@dataclass(frozen=True)
class Tag:
    """A tag while the pattern is bound; `repeats` and `denials`: the repeats and the NOTs around it."""

    name: str
    source: int
    repeats: tuple[int, ...]
    denials: tuple[int, ...] = ()


@dataclass(frozen=True)
class EventValue(OneRow):
    """An expression over the event of a tag; null where there is none."""

    argument: Argument
    source: int
    value: e.Expr

    @property
    def row(self) -> Argument:
        return self.argument

    @property
    def exists(self) -> bool:
        return self.argument == OWN


@dataclass
class Tags:
    """The tags of a pattern in the order of the text, indexed by name: a pattern may have thousands."""

    listed: list[Tag] = field(default_factory=list)
    places: dict[str, int] = field(default_factory=dict)
    lowered: set[str] = field(default_factory=set)

    def append(self, tag: Tag) -> None:
        self.places[tag.name] = len(self.listed)
        self.lowered.add(tag.name.lower())
        self.listed.append(tag)


class TagScope(Scope):
    """Names inside a pattern: the tags so far, and in a filter the attributes of its own event without a qualifier.

    Items are built only for the tags that a condition names; for all of them only in an error message.
    """

    def __init__(
        self,
        tags: Tags,
        repeats: tuple[int, ...],
        denials: tuple[int, ...],
        types: Sequence[EventType],
        catalog: Catalog,
        count: int | None = None,
        own: tuple[EventType, str | None] | None = None,
    ) -> None:
        """`count`: only the first tags. `own`: the type of a filter's own event, and its tag."""
        self.catalog = catalog
        self._tags, self._repeats, self._denials, self._types = tags, repeats, denials, types
        self._count = len(tags.listed) if count is None else count
        self._own_tag = own[1] if own is not None else None
        self.own: ScopeItem | None = None
        if own is not None:
            event_type, tag = own
            alias = tag or event_type.name
            if self.numbered(alias) is not None:
                alias = f"_{alias}"  # no qualifier: the event has no tag, and the name of its type is a tag
            self.own = replace(event_item(event_type), alias=alias)

    @cached_property
    def items(self) -> list[ScopeItem]:  # type: ignore[override]
        listed = self._tags.listed[: self._count]
        others = [self._item(tag) for tag in listed if tag.name != self._own_tag]
        return others if self.own is None else [self.own, *others]

    def item(self, alias: str) -> ScopeItem | None:
        if self.own is not None and self.own.alias == alias:
            return self.own
        tag = self.numbered(alias)
        return None if tag is None else tag[2]

    def numbered(self, alias: str) -> tuple[int, int, ScopeItem] | None:
        """The number of a tag, its source, and its item; None if it comes later."""
        number = self._tags.places.get(alias, self._count)
        if number >= self._count or alias == self._own_tag:
            return None
        tag = self._tags.listed[number]
        return number, tag.source, self._item(tag)

    def _item(self, tag: Tag) -> ScopeItem:
        event_type = self._types[tag.source]
        inside = tag.repeats == self._repeats[: len(tag.repeats)]
        denied = tag.denials != self._denials[: len(tag.denials)]
        unbound = f"take '{tag.name}' out of this term" if denied else ""
        title = f"tag '{tag.name}' ({event_type.name})"
        return replace(event_item(event_type), alias=tag.name, title=title, repeated=not inside, unbound=unbound)

    def attribute(self, name: str, span: Span) -> e.ColumnRef:
        if self.own is None:
            candidates = [f"{i.alias}.{name}" for i in self.items if i.find(name) is not None]
            fix = f"write {candidates[0]}" if candidates else did_you_mean(name, [i.alias for i in self.items])
            raise error("UNKNOWN_ALIAS", span, name=name, fix=fix)
        column = self.own.column(name, span)
        if column is None:
            fix = did_you_mean(name, [n for n, _ in self.own.attributes])
            raise error("UNKNOWN_ATTRIBUTE", span, owner=self.own.title, name=name, fix=fix)
        return column


class Reader:
    """Turns bound expressions over tags into columns of single events, and programs. `own`: the source of the filter's
    event."""

    def __init__(
        self,
        scope: TagScope,
        types: Sequence[EventType],
        prepared: Sequence[Prepared],
        own: int | None,
        arguments: list[Argument] | None = None,
    ) -> None:
        self.scope = scope
        self.types = types
        self.prepared = prepared
        self.own = own
        self.arguments = arguments if arguments is not None else []

    def split(self, condition: e.Expr) -> tuple[e.Expr | None, e.Expr | None]:
        """The part of a condition over the filter's own event, as columns of its source; and the rest."""
        alone: list[e.Expr] = []
        rest: list[e.Expr] = []
        for part in e.conjuncts(collapse(self._events(condition))):
            arguments = [x.argument for x in part.walk() if isinstance(x, EventValue)]
            (alone if all(a == OWN for a in arguments) else rest).append(part)
        return e.conjunction([_over_event(part) for part in alone]), e.conjunction(rest)

    def filter(self, node: Node, condition: e.Expr, programs: list[e.Expr]) -> Node:
        """The node with the part of its condition over several events."""
        program = self._rows(condition)
        programs.append(program)
        number = len(programs) - 1
        if expressible(program):
            return replace(node, program=number, arguments=tuple(self.arguments))
        columns = tuple(dict.fromkeys((x.place, x.column) for x in program.walk() if isinstance(x, RowValue)))
        return replace(node, asked=number, asked_columns=columns, arguments=tuple(self.arguments))

    def program(self, value: e.Expr, programs: list[e.Expr], what: str) -> tuple[int, tuple[Argument, ...]]:
        """The number of a program that computes a value from the events so far, and the arguments of its node."""
        made = self._rows(collapse(self._events(value)))
        if not expressible(made):
            raise error(
                "UNSUPPORTED",
                value.span,
                what="a function of several events, or of a struct or array",
                where=f"in {what}",
                fix="compare or compute with numbers, texts and times",
            )
        programs.append(made)
        return len(programs) - 1, tuple(self.arguments)

    def _rows(self, expr: e.Expr) -> e.Expr:
        if isinstance(expr, EventValue):
            if expr.argument not in self.arguments:
                self.arguments.append(expr.argument)
            column = self.prepared[expr.source].name(expr.value)
            return RowValue(expr.type, self.arguments.index(expr.argument), column, span=expr.span)
        return expr.map_children(self._rows)

    def _events(self, expr: e.Expr) -> e.Expr:
        """Columns of tags become leaves with the event that they belong to."""
        if isinstance(expr, e.FieldOf) and isinstance(expr.base, e.ElementOf):
            chosen = self._element(expr.base)
            if chosen is not None:
                number, source, index = chosen
                return self._leaf(Argument(number, index), source, expr.name, expr.span)
        if isinstance(expr, e.ColumnRef):
            return self._column(expr)
        return expr.map_children(self._events)

    def _element(self, expr: e.ElementOf) -> tuple[int, int, int] | None:
        """`a[i]` of a tag that is a list here."""
        base = expr.base
        tag = self.scope.numbered(base.name) if isinstance(base, e.ColumnRef) else None
        if tag is None or not isinstance(base, e.ColumnRef):
            return None
        index = expr.index.value if isinstance(expr.index, e.Constant) else None
        if not isinstance(index, int):
            raise error(
                "UNSUPPORTED",
                expr.span,
                what="an index that is not a number",
                where="in a pattern",
                fix=f"write {base.name}[0]",
            )
        number, source, _ = tag
        return number, source, -1 if expr.from_end else index

    def _column(self, ref: e.ColumnRef) -> e.Expr:
        own = self.scope.own
        if own is not None:
            for name, _ in (*own.attributes, *own.hidden):
                if own.plan_name(name) == ref.name:
                    assert self.own is not None
                    return self._leaf(OWN, self.own, name, ref.span)
        if self.scope.numbered(ref.name) is not None:
            raise error(
                "UNSUPPORTED",
                ref.span,
                what=f"the whole list '{ref.name}'",
                where="in a pattern",
                fix=f"name one of its events: {ref.name}[0].x",
            )
        # A name in quotes may hold a dot, too.
        for alias in (ref.name[:at] for at, sign in enumerate(ref.name) if sign == "."):
            number, source, item = self.scope.numbered(alias) or (-1, -1, None)
            for name, _ in (*item.attributes, *item.hidden) if item is not None and not item.repeated else ():
                if item is not None and item.plan_name(name) == ref.name:
                    return self._leaf(Argument(number), source, name, ref.span)
        raise error("INTERNAL", ref.span, what=f"no tag for the column {ref.name}")

    def _leaf(self, argument: Argument, source: int, name: str, span: Span | None) -> EventValue:
        column = event_item(self.types[source]).column(name)
        assert column is not None
        return EventValue(column.type, argument, source, column, span=span)


def event_item(event_type: EventType) -> ScopeItem:
    """The columns of a source, qualified by the type's name."""
    attributes = tuple((a.name, a.type) for a in event_type.attributes)
    return ScopeItem(event_type.name, f"{event_type.kind} '{event_type.name}'", attributes, event_type.hidden)


def _over_event(expr: e.Expr) -> e.Expr:
    if isinstance(expr, EventValue):
        return expr.value
    return expr.map_children(_over_event)
