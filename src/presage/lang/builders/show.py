"""Builders of EXPLAIN, SHOW, DESCRIBE and DROP."""

from __future__ import annotations

from presage.errors import error
from presage.lang.identifiers import read_name
from presage.lang.lalr import Builder
from presage.lang.lexer import Token
from presage.lang.syntax import Describe, Drop, Explain, Query, Show
from presage.model.text import Span

FORMATS = ("text", "svg")


def explain(span: Span, query: Query, form: Token | None) -> Explain:
    if form is None:
        return Explain(query, span=span)
    chosen = form.text.lower()
    if chosen not in FORMATS:
        expected = " or ".join(FORMATS)
        raise error("BAD_VALUE", form.span, what="the FORMAT of EXPLAIN", found=form.text, expected=expected)
    return Explain(query, chosen, span=span)


def drop(span: Span, kind: Token, name: Token, cascade: Token | None) -> Drop:
    return Drop(kind.text.lower(), read_name(name.text), cascade is not None, span=span)


BUILDERS: dict[str, Builder] = {
    "explain": explain,
    "show": lambda span, what: Show(what.text.lower(), span=span),
    "describe": lambda span, name: Describe(read_name(name.text), span=span),
    "drop": drop,
}
