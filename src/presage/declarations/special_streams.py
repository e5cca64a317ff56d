"""A declaration whose rows are no plain events comes in; it is refused where such rows could not be told apart."""

from __future__ import annotations

from presage.errors import error
from presage.lang import syntax as s
from presage.model.catalog import Catalog, EventType
from presage.model.text import Span


def check_special(
    node: s.CreateType, made: EventType, catalog: Catalog, word: str, span: Span, *, rows: str, belongs: str
) -> None:
    """`word`: what the declaration says of its rows, which are `rows`, and each of which `belongs` to a key."""
    if node.kind != "stream":
        fix = "write it on the streams that inherit the schema"
        raise error("UNSUPPORTED", span, what=word, where="on a schema, which has no rows", fix=fix)
    for parent in made.parents:
        if catalog.types[parent].kind != "schema":
            where = f"on a stream that inherits the stream '{parent}'"
            fix = f"inherit schemas only: {rows} are no events of another stream"
            raise error("UNSUPPORTED", span, what=word, where=where, fix=fix)
    if not made.key:
        what = f"KEY of stream '{made.name}'"
        raise error("BAD_VALUE", span, what=what, found="missing", expected=f"there: {belongs}", fix="add KEY (a, …)")
    if made.event_time in made.key:
        what = f"KEY of stream '{made.name}'"
        expected, fix = "what a row is about", f"leave '{made.event_time}' out of KEY"
        raise error("BAD_VALUE", span, what=what, found="with the event time in it", expected=expected, fix=fix)
