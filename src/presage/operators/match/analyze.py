"""The clause of an item of FROM that MATCH_RECOGNIZE binds."""

from __future__ import annotations

from presage.analyze.scope import ScopeItem
from presage.lang.match_syntax import MatchClause
from presage.model.catalog import Catalog
from presage.operators.match.bind import MatchInput, bind_match
from presage.plan.nodes import Node


class MatchItems:
    """The binding of MATCH_RECOGNIZE for SELECT."""

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
    ) -> tuple[ScopeItem, Node]:
        return bind_match(clause, MatchInput(item, node, event_time, whole, span), alias, catalog)


ITEMS = MatchItems
