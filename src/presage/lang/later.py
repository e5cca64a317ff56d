"""Forms of the language that have no grammar yet: the tokens of a failed text in, the form's name out.

Looked at only when parsing has failed. A capability that adds its grammar removes its rows here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from presage.errors import PresageError, error
from presage.lang.lexer import Token
from presage.model.text import Span


class Form(NamedTuple):
    """`pattern` is matched where a token starts; one of the words or marks in `after`, if any, must stand before it."""

    what: str
    pattern: str
    after: tuple[str, ...] = ()
    where: str = "in this version yet"
    fix: str = ""


def _form(what: str, pattern: str, *after: str, where: str = "in this version yet", fix: str = "") -> Form:
    return Form(what, pattern, after, where, fix)


FORMS = (
    # Forms of SQL that the language does without.
    _form("ORDER BY", r"ORDER\s+BY\b", where="in queries", fix="rows come in the order of their event time"),
    _form("LIMIT", r"LIMIT\s+[0-9]", where="in queries", fix="take the first rows of the result instead"),
    _form("UNION", r"UNION\b", where="in queries", fix="INSERT INTO one stream from several statements"),
    _form("a subquery", r"SELECT\b", "(", where="in queries", fix="INSERT INTO a stream and read that"),
    _form("an outer join", r"LEFT\s+(OUTER\s+)?JOIN\b", where="in queries", fix="write JOIN … ON …"),
    _form("an outer join", r"(RIGHT|FULL)\s+(OUTER\s+)?JOIN\b", where="in queries", fix="write JOIN … ON …"),
    _form("CROSS JOIN", r"CROSS\s+JOIN\b", where="in queries", fix="write FROM a, b"),
)
# Those that have their place in the parentheses of a RECALL.
RECALLED = frozenset(
    form for form in FORMS if form.what in ("ORDER BY", "LIMIT", "a subquery") or "LEFT" in form.pattern
)


@lru_cache(maxsize=1)
def _patterns() -> tuple[re.Pattern[str], list[tuple[Form, re.Pattern[str]]]]:
    """One pattern for all forms, and one for each. Compiled when first needed: most texts have no errors."""
    every = [(form, re.compile(form.pattern, re.IGNORECASE)) for form in FORMS]
    return re.compile("|".join(form.pattern for form in FORMS), re.IGNORECASE), every


def find_later_form(text: str, tokens: Sequence[Token]) -> PresageError | None:
    """The error for the first form of a later version among the tokens up to the place where parsing failed."""
    any_form, every = _patterns()
    before, in_match = "", False
    # How many parentheses are open since that of a RECALL; None between the word and its parenthesis.
    recalled: int | None = 0
    for token in tokens:
        if recalled is None or recalled:
            recalled = _inside(recalled, token.text)
        elif token.text.upper() == "RECALL":
            recalled = None
        in_match = in_match or token.text.upper() == "MATCH_RECOGNIZE"
        # Most tokens start no form: one look instead of one per form keeps long texts quick.
        for form, pattern in every if any_form.match(text, token.start) else ():
            if in_match and form.what == "ORDER BY":
                continue  # it has its place there
            if recalled and form in RECALLED:
                continue
            if (not form.after or before in form.after) and (match := pattern.match(text, token.start)):
                # The form's own words, without the bracket or the letter that was looked at behind them.
                words = re.match(r"\?|[\w\s]+", match[0])
                width = len(words[0].rstrip()) if words else 1
                span = Span(token.start, token.start + width)
                return error("UNSUPPORTED", span, what=form.what, where=form.where, fix=form.fix)
        before = token.text.upper()
    return None


def _inside(recalled: int | None, mark: str) -> int | None:
    if recalled is None:
        return 1 if mark == "(" else None
    return recalled + (mark == "(") - (mark == ")")
