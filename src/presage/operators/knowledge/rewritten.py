"""A query whose terms of an ontology are replaced; apart from the rewriting, which most queries do not load."""

from __future__ import annotations

from dataclasses import dataclass

from presage.lang import syntax as s
from presage.model.catalog import Catalog
from presage.plan.query import RuleNote, Watched


@dataclass(frozen=True)
class Rewritten:
    """The query, the catalog that it is bound against, and the notes for EXPLAIN."""

    query: s.Query
    catalog: Catalog
    notes: tuple[RuleNote, ...] = ()
    watched: tuple[Watched, ...] = ()
    knows: bool = False
