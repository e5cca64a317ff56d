"""Checks that probabilistic and predicted streams share: their rows are alternatives or functions, not events."""

from __future__ import annotations

from collections.abc import Iterator

from presage.errors import did_you_mean, error
from presage.lang import syntax as s
from presage.model.catalog import Attribute, Catalog, EventType
from presage.model.text import Span


def check_special(
    node: s.CreateType, made: EventType, catalog: Catalog, word: str, span: Span, *, rows: str, belongs: str
) -> None:
    """`word` is the clause of the declaration; `rows` and `belongs` describe its rows in error messages."""
    if node.kind != "stream":
        fix = "write it on the streams that inherit the schema"
        raise error("UNSUPPORTED", span, what=word, where="on a schema, which has no rows", fix=fix)
    for parent in made.parents:
        if catalog.types[parent].kind != "schema":
            where = f"on a stream that inherits the stream '{parent}'"
            fix = f"inherit schemas only: {rows} are no events of another stream"
            raise error("UNSUPPORTED", span, what=word, where=where, fix=fix)
    what = f"KEY of stream '{made.name}'"
    if not made.key:
        raise error("BAD_VALUE", span, what=what, found="missing", expected=f"there: {belongs}", fix="add KEY (a, …)")
    if made.event_time in made.key:
        expected, fix = "what a row is about", f"leave '{made.event_time}' out of KEY"
        raise error("BAD_VALUE", span, what=what, found="with the event time in it", expected=expected, fix=fix)


def checked_attributes(
    made: EventType, names: tuple[str, ...], word: str, span: Span, *, kind: str, expected: str
) -> Iterator[Attribute]:
    """The attributes that PROBABILISTIC or PREDICTED names: declared, neither key nor event time, each named once."""
    for name in names:
        attribute = made.attribute(name)
        if attribute is None:
            fix = did_you_mean(name, [a.name for a in made.attributes])
            raise error("UNKNOWN_ATTRIBUTE", span, owner=f"stream '{made.name}'", name=name, fix=fix)
        if name in (*made.key, made.event_time):
            role = "the event time" if name == made.event_time else "part of KEY"
            what, fix = f"the {kind} attribute '{name}'", f"leave '{name}' out of {word}"
            raise error("BAD_VALUE", span, what=what, found=role, expected=expected, fix=fix)
        yield attribute
    if len(set(names)) < len(names):
        twice = next(n for n in names if names.count(n) > 1)
        raise error("DUPLICATE_NAME", span, name=twice, where=word, fix="leave one out")
