"""Names of declared types, and names that must differ in more than case: attributes, columns, aliases, tags.

Identifiers are case-sensitive. Columns are not: to Spark, and to the Delta table of an archive, names that differ in
case alone are one column.
"""

from __future__ import annotations

from collections.abc import Iterable

from presage.errors import did_you_mean, error
from presage.model.catalog import Catalog, EventType
from presage.model.text import Span

OF_SPARK = "Spark takes them for one column"
OF_DELTA = "the Delta table that the archive is takes them for one column"


def refuse_same_name(
    name: str, others: Iterable[str], where: str, span: Span | None, fix: str, why: str = OF_SPARK
) -> None:
    """Fail if the name, or one that differs from it in case alone, is among the others."""
    for other in others:
        if other == name:
            raise error("DUPLICATE_NAME", span, name=name, where=where, fix=fix)
        if other.lower() == name.lower():
            raise error("DIFFERS_IN_CASE", span, name=name, other=other, where=where, why=why, fix=fix)


def event_type_of(name: str, span: Span, catalog: Catalog) -> EventType:
    """The declared type of that name."""
    declared = catalog.types.get(name)
    if declared is not None:
        return declared
    if name in catalog.relations:
        fix = "name a stream; the relation can be asked in a condition"
        raise error("NOT_A_STREAM", span, name=name, kind="relation", fix=fix)
    if name in catalog.models:
        raise error("NOT_A_STREAM", span, name=name, kind="model", fix="name a stream that is inferred with it")
    names = [n for n in catalog.names() if n != "Event"]
    hint = f"known: {', '.join(names[:12])}" if names else "declare it first with CREATE STREAM"
    raise error("UNKNOWN_STREAM", span, name=name, fix=did_you_mean(name, catalog.names(), otherwise=hint))
