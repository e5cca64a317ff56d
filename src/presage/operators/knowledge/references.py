"""The events that a query names, and whether it uses knowledge."""

from __future__ import annotations

from presage.lang import syntax as s
from presage.lang.knowledge_syntax import Path, Qualified
from presage.lang.match_syntax import VariableTerm
from presage.lang.pattern_syntax import EventTerm
from presage.lang.tree_walk import nodes_of
from presage.model.catalog import Catalog


def uses_knowledge(query: s.Query) -> bool:
    return any(isinstance(node, Path | Qualified) for node in nodes_of(query))


def events_of(query: s.Query, catalog: Catalog) -> dict[str, str]:
    """The names of a query's events with their types: aliases, tags, variables of MATCH_RECOGNIZE."""
    found: dict[str, str] = {}
    for item in query.items:
        if item.pattern is not None:
            found |= {n.tag or n.name: n.name for n in nodes_of(item.pattern) if isinstance(n, EventTerm)}
        elif item.sequence is None and item.name in catalog.types:
            found[item.alias or item.name] = item.name
            if item.match is not None:
                found |= {n.name: item.name for n in nodes_of(item.match) if isinstance(n, VariableTerm)}
                found |= {subset.name: item.name for subset in item.match.subsets}
                found[item.name] = item.name
    return found
