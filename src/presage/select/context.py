"""What a query is bound against: the catalog, the moment, and the capabilities."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from presage.lang import syntax as s
from presage.model.catalog import Catalog, Moment
from presage.select.extensions import Extensions


@dataclass(frozen=True)
class QueryContext:
    """What a query is bound against. `parse_producer` reads the stored text of a derived stream's statement."""

    catalog: Catalog
    now: int
    parse_producer: Callable[[str], s.Query]
    extensions: Extensions
    # Where a deployed statement begins and, if it was stopped, ends. None: it sees the whole archive.
    since: Moment | None = None
    until: Moment | None = None
    # For a deployed statement: what others make is taken as they make it, not computed once more.
    live: bool = False
    # Derived streams on the way to this query, to refuse circles.
    path: tuple[str, ...] = ()
    # How many statements of derived streams are part of the query so far; all contexts of a query share it.
    opened: list[str] = field(default_factory=list)
    # Those of them, and the query itself, that speak of what is known; shared likewise.
    knowing: list[s.Query] = field(default_factory=list)
