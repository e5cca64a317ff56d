"""The interface between declarations and the capabilities, which declare objects of their own.

Each capability has its `Declarations` in its module `declare`, under that name in capitals.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from presage.lang import syntax as s
from presage.model.catalog import Catalog, EventType
from presage.model.paths import Roots
from presage.model.text import Span


class DeclarationContext(Protocol):
    """What a declaration reads: the catalog, files below `allowed`, the wall clock, and the knowledge bases."""

    catalog: Catalog
    library: Any

    @property
    def now(self) -> Callable[[], int]: ...

    @property
    def allowed(self) -> Roots: ...

    def resolve(self, path: str) -> str: ...


@dataclass(frozen=True)
class Declarations:
    """`declare` gives the catalog after a statement, by its kind; it takes the statement, the context, and whether the
    home accepted it before (`Workspace.declare`). `check_type` rejects a new stream that does not fit the catalog."""

    declare: Mapping[type[s.Statement], Callable[[Any, DeclarationContext, bool], Catalog]]
    check_type: Callable[[EventType, Catalog, Span], None] = lambda event_type, catalog, span: None
