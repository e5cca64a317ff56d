"""The step before binding: domain terms and PATHs of a query are rewritten."""

from __future__ import annotations

from dataclasses import dataclass, field

from presage.lang import syntax as s
from presage.lang.knowledge_syntax import EventVariable, Path, Qualified
from presage.lang.tree_walk import nodes_of
from presage.model.catalog import Catalog
from presage.operators.knowledge.library import Library
from presage.operators.knowledge.rewritten import Rewritten


@dataclass
class KnowledgeItems:
    """`library` holds the knowledge bases; `optimizing` enables the rules that simplify questions to them."""

    library: Library = field(default_factory=Library)
    optimizing: bool = True

    def in_plain_words(self, query: s.Query, catalog: Catalog, live: bool) -> Rewritten:
        """A deployed statement keeps its plan when knowledge changes, so no knowledge becomes a constant."""
        if not query.parts and not any(isinstance(node, Path | Qualified | EventVariable) for node in nodes_of(query)):
            return Rewritten(query, catalog)
        # Imported here: most queries have no word of an ontology.
        from presage.operators.knowledge.rewrite import in_plain_words

        return in_plain_words(query, catalog, self.library, self.optimizing, fixed=live)


ITEMS = KnowledgeItems
