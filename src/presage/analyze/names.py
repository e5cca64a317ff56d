"""Names that stand side by side and must differ in more than case: attributes of one stream, columns, aliases, tags.

Identifiers are case-sensitive, and what is declared goes by its exact name. Columns are another matter: Spark, and the
Delta table that an archive is, take names that differ in case alone for one column, whatever we do.
"""

from __future__ import annotations

from collections.abc import Iterable

from presage.errors import error
from presage.model.text import Span

OF_SPARK = "Spark takes them for one column"
OF_DELTA = "the Delta table that the archive is takes them for one column"


def refuse_same_name(
    name: str, known: Iterable[str], where: str, span: Span | None, fix: str, why: str = OF_SPARK
) -> None:
    """Fail if a name is there already, or one that differs from it in case alone."""
    for other in known:
        if other == name:
            raise error("DUPLICATE_NAME", span, name=name, where=where, fix=fix)
        if other.lower() == name.lower():
            raise error("DIFFERS_IN_CASE", span, name=name, other=other, where=where, why=why, fix=fix)
