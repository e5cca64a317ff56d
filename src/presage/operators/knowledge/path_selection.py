"""Selected variables of a PATH: the table of its solutions, as an item of FROM."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from presage.lang import syntax as s
from presage.lang.knowledge_syntax import Path, Qualified
from presage.lang.print_terms import print_expression
from presage.model import types as t
from presage.model.catalog import Attribute, EventType, Relation, Virtual
from presage.model.text import Span
from presage.model.types import DataType
from presage.operators.knowledge.filters import all_of, any_of
from presage.operators.knowledge.library import Library
from presage.operators.knowledge.paths import Solutions
from presage.operators.knowledge.tables import MARK, MarkedTables, PathTable

# The number of a stream, its name, and the solutions there.
Way = tuple[int, str, Solutions]
# The attribute with the number of an event's stream.
STREAM = "~stream"


@dataclass(frozen=True)
class Selected:
    """The item of FROM that holds the solutions of a PATH, and the condition on it."""

    alias: str
    relation: Relation | None
    columns: dict[str, str]
    own: dict[str, s.Expr]
    condition: s.Expr

    @classmethod
    def of(cls, alias: str, found: Solutions, others: s.Expr, library: Library) -> Selected:
        parts = [found.condition, others]
        if found.table is None:
            return cls(alias, None, {}, found.own, all_of(parts))
        table = found.table
        relation = Relation(library.ask(table), _attributes(table))

        def column(name: str) -> s.Expr:
            return s.Member(s.Name(alias), name)

        parts += [s.Binary("=", arg, column(k)) for arg, k in zip(found.args, table.key_names, strict=True)]
        if found.holds is not None:
            parts.append(found.holds(lambda i: column(table.value_columns[i][0])))
        return cls(alias, relation, _columns(found), found.own, all_of(parts))

    @classmethod
    def of_streams(
        cls,
        alias: str,
        ways: Sequence[Way],
        mark: s.Expr,
        key: Callable[[int, DataType, dict[str, str]], s.Expr],
        others: s.Expr,
        library: Library,
    ) -> Selected:
        """The solutions of several streams as one table, with the stream as another key. `mark` is the number of an
        event's stream; `key` makes one attribute of the streams' attributes."""
        is_stream = {i: s.Binary("=", mark, s.Literal(i)) for i, _, _ in ways}
        parts = [others, any_of([all_of([is_stream[i], found.condition]) for i, _, found in ways])]
        names = ways[0][2].own
        own: dict[str, s.Expr] = {
            name: s.Case(None, tuple((is_stream[i], found.own[name]) for i, _, found in ways), None) for name in names
        }
        tables = [(i, stream, found.table) for i, stream, found in ways if found.table is not None]
        if not tables:
            return cls(alias, None, {}, own, all_of(parts))
        first = tables[0][2]
        relation = Relation(
            library.ask(MarkedTables(tuple((i, table) for i, _, table in tables))),
            (Attribute(MARK, t.INT), *_attributes(first)),
        )
        parts.append(s.Binary("=", mark, s.Member(s.Name(alias), MARK)))
        for place, column in enumerate(first.keys):
            attributes = {stream: table.keys[place].reading.attribute for _, stream, table in tables}
            own_key = s.Member(s.Name(alias), first.key_names[place])
            parts.append(s.Binary("=", key(place, column.type, attributes), own_key))
        return cls(alias, relation, _columns(ways[0][2]), own, all_of(parts))

    def value(self, name: str, span: Span) -> s.Expr:
        if name in self.own:
            return self.own[name]
        return s.Member(s.Name(self.alias, span=span), self.columns[name], span=span)


def marks_of(streams: Sequence[EventType]) -> Virtual:
    """The virtual attribute with the number of an event's stream."""
    return Virtual(STREAM, t.INT, {}, {stream.name: i for i, stream in enumerate(streams)})


def can_be_one(ways: Sequence[Way]) -> bool:
    """Whether the solutions of several streams fit into one table: keys of the same types, nothing measured."""
    shapes = {
        (frozenset(found.own), tuple(k.type for k in found.table.keys) if found.table is not None else None)
        for _, _, found in ways
    }
    return len(shapes) == 1 and all(found.holds is None for _, _, found in ways)


def _attributes(table: PathTable) -> tuple[Attribute, ...]:
    keys = zip(table.key_names, (k.type for k in table.keys), strict=True)
    return tuple(Attribute(name, kind) for name, kind in (*keys, *table.value_columns))


def _columns(found: Solutions) -> dict[str, str]:
    assert found.table is not None
    return {name: found.table.value_columns[place][0] for name, place in found.places.items()}


def with_aliases(select: tuple[s.SelectItem, ...]) -> tuple[s.SelectItem, ...]:
    """The items with aliases of their terms: `airflow` for e.hvc:airflow, `loc` for PATH { … }.loc; the whole text if
    two would have the same alias."""
    named = (Qualified, s.Name, s.Member)
    names = [item.alias or (item.expr.name if isinstance(item.expr, named) else None) for item in select]
    return tuple(
        replace(item, alias=name if names.count(name) == 1 else print_expression(item.expr))
        if item.alias is None and _is_domain_term(item.expr)
        else item
        for item, name in zip(select, names, strict=True)
    )


def _is_domain_term(expr: s.Expr) -> bool:
    return isinstance(expr, Qualified) or (isinstance(expr, s.Member) and isinstance(expr.base, Path))
