"""The item of FROM that EPL patterns bind, PATTERN […]."""

from __future__ import annotations

from collections.abc import Callable

from presage.analyze.scope import ScopeItem
from presage.lang.pattern_syntax import PatternSource
from presage.model.catalog import Catalog, EventType
from presage.model.text import Span
from presage.operators.epl.bind import bind_pattern
from presage.plan.nodes import Node


class EplItems:
    """The binding of PATTERN […] for SELECT."""

    def pattern(
        self, source: PatternSource, events: Callable[[EventType, str, Span], Node], catalog: Catalog, begin: int | None
    ) -> tuple[list[ScopeItem], Node]:
        return bind_pattern(source, events, catalog, begin)


ITEMS = EplItems
