"""The scope of a query: the items of FROM and their attributes, by name."""

from __future__ import annotations

from dataclasses import dataclass, field

from presage.errors import did_you_mean, error
from presage.model.catalog import Catalog
from presage.model.text import Span
from presage.model.types import ArrayOf, DataType, StructOf
from presage.plan.expr import ColumnRef, Expr, MakeStruct


def plan_name(alias: str, attribute: str) -> str:
    return f"{alias}.{attribute}"


@dataclass(frozen=True)
class ScopeItem:
    """One item of FROM: its alias, what it is in the user's words, its attributes."""

    alias: str
    title: str
    attributes: tuple[tuple[str, DataType], ...]
    # Attributes that can be named, but are not part of `*`.
    hidden: tuple[tuple[str, DataType], ...] = ()
    # `SELECT *` makes one struct of it even if it is the only item: a tag of a pattern.
    grouped: bool = False
    # The item is a list of structs: a tag below a repeat.
    repeated: bool = False
    # Not part of `*`: the alias of a pattern, whose tags are.
    aside: bool = False
    # For a tag under NOT, which cannot be named outside of it: what to do instead.
    unbound: str = ""

    def find(self, name: str) -> DataType | None:
        if self.repeated or self.unbound:
            return None
        return next((t for n, t in (*self.attributes, *self.hidden) if n == name), None)

    def plan_name(self, name: str) -> str:
        """The column's name in the plan. Names that differ only in case are one to Spark, and get a number."""
        same = [n for n, _ in (*self.attributes, *self.hidden) if n.lower() == name.lower()]
        place = same.index(name) if name in same else 0
        return plan_name(self.alias, name) + (f"~{place}" if place else "")

    def column(self, name: str, span: Span | None = None) -> ColumnRef | None:
        self.check_bound(span)
        found = self.find(name)
        return ColumnRef(found, self.plan_name(name), span=span) if found else None

    def all_columns(self) -> tuple[ColumnRef, ...]:
        return tuple(ColumnRef(t, self.plan_name(n)) for n, t in self.attributes)

    def check_bound(self, span: Span | None) -> None:
        if self.unbound:
            where = "outside of its NOT: no match holds such an event"
            raise error("UNSUPPORTED", span, what=f"the tag '{self.alias}'", fix=self.unbound, where=where)

    def check_index(self, index: object, span: Span) -> None:
        """The events of a repeated tag are counted from 0."""
        if self.repeated and isinstance(index, int) and index < 0:
            fix = f"write {self.alias}.lastOf() for the last one"
            raise error("BAD_VALUE", span, what="the index", found=index, expected="a whole number, 0 or more", fix=fix)

    def as_struct(self, span: Span | None = None) -> Expr:
        self.check_bound(span)
        if self.repeated:
            return ColumnRef(ArrayOf(StructOf(self.attributes)), self.alias, span=span)
        names = tuple(n for n, _ in self.attributes)
        return MakeStruct(StructOf(self.attributes), names, self.all_columns(), span=span)


def one_event_fix(item: ScopeItem | None) -> str:
    """The fix for `a[0]` where `a` is one event."""
    if item is None or item.repeated:
        return ""
    return f"'{item.alias}' is one event, not a list: write {item.alias}.x"


@dataclass
class Scope:
    """The items in order, and the catalog for relations used as conditions."""

    items: list[ScopeItem]
    catalog: Catalog = field(default_factory=Catalog)

    def item(self, alias: str) -> ScopeItem | None:
        return next((i for i in self.items if i.alias == alias), None)

    def attribute(self, name: str, span: Span) -> ColumnRef:
        """The column of an unqualified attribute, which must belong to one item only."""
        owners = [i for i in self.items if i.find(name) is not None]
        if len(owners) > 1:
            # An item with a generated alias cannot be named by the user.
            qualified = [f"{i.alias}.{name}" for i in owners if not i.alias.startswith("~")]
            titles = [i.title for i in owners if i.alias.startswith("~")]
            fix = " or ".join(qualified)
            raise error("AMBIGUOUS_NAME", span, name=name, candidates=" or ".join([*qualified, *titles]), fix=fix)
        if not owners:
            raise self.unknown(name, span)
        column = owners[0].column(name, span)
        assert column is not None
        return column

    def unknown(self, name: str, span: Span) -> Exception:
        listed = next((i.alias for i in self.items if i.repeated and name in dict(i.attributes)), None)
        known = {n for i in self.items if not i.repeated and not i.unbound for n, _ in i.attributes}
        # An item with a generated alias is not mentioned in the message.
        own = [i for i in self.items if not i.alias.startswith("~")]
        titles = " and ".join(i.title for i in own)
        named = {i.alias for i in own if i.alias}
        fix = f"write {listed}[0].{name}" if listed else did_you_mean(name, known | named)
        return error("UNKNOWN_ATTRIBUTE", span, owner=titles, name=name, fix=fix)
