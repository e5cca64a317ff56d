"""What the room of knowledge does for a query before its names are bound."""

from __future__ import annotations

from dataclasses import dataclass, field

from presage.knowledge.library import Library
from presage.knowledge.rewrite import Rewritten, in_plain_words
from presage.lang import syntax as s
from presage.model.catalog import Catalog


@dataclass
class KnowledgeRoom:
    """`library` holds what is known; `optimizing` lets rules simplify what is asked of it."""

    library: Library = field(default_factory=Library)
    optimizing: bool = True

    def in_plain_words(self, query: s.Query, catalog: Catalog, live: bool) -> Rewritten:
        """A standing statement keeps its plan when what is known changes: of that, nothing becomes a constant."""
        return in_plain_words(query, catalog, self.library, self.optimizing, fixed=live)
