"""The name of a stream in, its declared type out."""

from __future__ import annotations

from presage.errors import did_you_mean, error
from presage.model.catalog import Catalog, EventType
from presage.model.text import Span


def event_type_of(name: str, span: Span, catalog: Catalog) -> EventType:
    """The declared type of that name."""
    found = catalog.types.get(name)
    if found is None:
        if name in catalog.relations:
            fix = "name a stream; the relation can be asked in a condition"
            raise error("NOT_A_STREAM", span, name=name, kind="relation", fix=fix)
        if name in catalog.models:
            fix = "name a stream that is inferred with it"
            raise error("NOT_A_STREAM", span, name=name, kind="model", fix=fix)
        fix = did_you_mean(name, catalog.names(), otherwise=_declare_hint(catalog))
        raise error("UNKNOWN_STREAM", span, name=name, fix=fix)
    return found


def _declare_hint(catalog: Catalog) -> str:
    names = [n for n in catalog.names() if n != "Event"]
    return f"known: {', '.join(names[:12])}" if names else "declare it first with CREATE STREAM"
