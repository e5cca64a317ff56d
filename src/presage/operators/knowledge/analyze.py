"""The step before binding: domain terms and PATHs of a query are rewritten."""

from __future__ import annotations

from dataclasses import dataclass, field

from presage.lang import syntax as s
from presage.model.catalog import Catalog
from presage.operators.knowledge.library import Library
from presage.operators.knowledge.rewrite import Rewritten, in_plain_words


@dataclass
class KnowledgeItems:
    """`library` holds the knowledge bases; `optimizing` enables the rules that simplify questions to them."""

    library: Library = field(default_factory=Library)
    optimizing: bool = True

    def in_plain_words(self, query: s.Query, catalog: Catalog, live: bool) -> Rewritten:
        """A deployed statement keeps its plan when knowledge changes, so no knowledge becomes a constant."""
        return in_plain_words(query, catalog, self.library, self.optimizing, fixed=live)


ITEMS = KnowledgeItems
