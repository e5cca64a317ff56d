"""The interface between SELECT and the capabilities, which bind items of FROM and terms of an ontology.

Each capability implements its part of `Extensions` in a class, the `ITEMS` of its module `analyze`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, cast

from presage.analyze.scope import ScopeItem
from presage.lang import syntax as s
from presage.lang.match_syntax import MatchClause
from presage.lang.pattern_syntax import PatternSource
from presage.model.catalog import Catalog, EventType
from presage.model.text import Span
from presage.operators.registry import binders, part
from presage.plan.expr import Expr
from presage.plan.nodes import Node
from presage.plan.query import BoundQuery, RuleNote, Watched

Events = Callable[[EventType, str, Span], Node]


class PlainWords(Protocol):
    """A query with terms of an ontology replaced by names of streams, and the catalog to bind it against."""

    @property
    def query(self) -> s.Query: ...

    @property
    def catalog(self) -> Catalog: ...

    @property
    def notes(self) -> tuple[RuleNote, ...]: ...

    @property
    def watched(self) -> tuple[Watched, ...]: ...

    @property
    def knows(self) -> bool: ...


class PredictedRows(Protocol):
    """The PREDICTED items of a query: their names, their rows, and the rest of the query."""

    @property
    def query(self) -> s.Query: ...

    @property
    def scopes(self) -> tuple[ScopeItem, ...]: ...

    @property
    def node(self) -> Node: ...


class Extensions(Protocol):
    """Items of FROM that capabilities bind. `events` returns the node of all events of a type under an alias."""

    def pattern(
        self, source: PatternSource, events: Events, catalog: Catalog, begin: int | None
    ) -> tuple[list[ScopeItem], Node]: ...

    def sequence(
        self,
        query: s.Query,
        item: s.FromItem,
        events: Events,
        catalog: Catalog,
        upper: int | None,
    ) -> BoundQuery: ...

    def inferred(
        self,
        stream: EventType,
        alias: str,
        events: Events,
        catalog: Catalog,
        span: Span,
    ) -> Node: ...

    def predicted(self, query: s.Query, events: Events, catalog: Catalog, upper: int | None) -> PredictedRows: ...

    def recalled(
        self,
        query: s.Query,
        item: s.FromItem,
        event: tuple[tuple[ScopeItem, ...], Node, tuple[Expr, ...], Node | None],
        joined: tuple[tuple[tuple[tuple[ScopeItem, ...], Node, s.FromItem], ...], tuple[s.Expr, ...]],
        history: Events,
        catalog: Catalog,
        upper: int | None,
    ) -> BoundQuery: ...

    def in_plain_words(self, query: s.Query, catalog: Catalog, live: bool) -> PlainWords: ...

    def match(
        self,
        clause: MatchClause,
        item: ScopeItem,
        node: Node,
        event_time: str | None,
        whole: bool,
        span: int | None,
        alias: str,
        catalog: Catalog,
    ) -> tuple[ScopeItem, Node]: ...


def extensions(**options: Any) -> Extensions:
    """One object that binds the items of all capabilities; `options` are passed to the constructors that take them."""
    return cast(Extensions, _RegisteredItems(options))


class _RegisteredItems:
    """A capability is imported when one of its items is bound."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._options = options

    def __getattr__(self, method: str) -> Any:
        if method not in binders():
            raise AttributeError(method)
        module = part(binders()[method], "analyze")
        assert module is not None
        taken = getattr(module.ITEMS, "__dataclass_fields__", {})
        return getattr(module.ITEMS(**{name: v for name, v in self._options.items() if name in taken}), method)
