"""The context that a query is bound in: catalog, time, capabilities."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from presage.lang import syntax as s
from presage.model.catalog import Catalog, Moment
from presage.select.extensions import Extensions


@dataclass(frozen=True)
class QueryContext:
    """`parse_producer` parses the stored text of a statement that fills a derived stream."""

    catalog: Catalog
    now: int
    parse_producer: Callable[[str], s.Query]
    extensions: Extensions
    # Where a deployed statement starts and, once stopped, ends. None: it reads the whole archive.
    since: Moment | None = None
    until: Moment | None = None
    # For a deployed statement: rows of other deployed statements are read as they emit them, not computed again.
    live: bool = False
    # Derived streams on the path to this query, to detect cycles.
    path: tuple[str, ...] = ()
    # Statements of derived streams in the query so far; shared by all contexts of a query.
    opened: list[str] = field(default_factory=list)
    # Those of them, and the query itself, that depend on a knowledge base; shared likewise.
    knowing: list[s.Query] = field(default_factory=list)
