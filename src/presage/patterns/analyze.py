"""Items of FROM that this room binds: PATTERN […] and MATCH_RECOGNIZE."""

from __future__ import annotations

from collections.abc import Callable

from presage.analyze.scope import ScopeItem
from presage.lang.match_syntax import MatchClause
from presage.lang.pattern_syntax import PatternSource
from presage.model.catalog import Catalog, EventType
from presage.model.text import Span
from presage.patterns.analyze_match import MatchInput, bind_match
from presage.patterns.analyze_pattern import bind_pattern
from presage.plan.nodes import Node


class PatternsRoom:
    """What SELECT asks of this room (`windows.other_rooms.OtherRooms`)."""

    def pattern(
        self, source: PatternSource, events: Callable[[EventType, str, Span], Node], catalog: Catalog, begin: int | None
    ) -> tuple[list[ScopeItem], Node]:
        return bind_pattern(source, events, catalog, begin)

    def match(
        self, clause: MatchClause, item: ScopeItem, node: Node, event_time: str | None, whole: bool,
        span: int | None, alias: str, catalog: Catalog,
    ) -> tuple[ScopeItem, Node]:  # fmt: skip
        return bind_match(clause, MatchInput(item, node, event_time, whole, span), alias, catalog)
