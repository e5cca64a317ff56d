"""Unsupported syntax: recognised in a text that failed to parse, and named in the error.

A capability that adds its grammar removes its rows here, or in `unsupported_epl`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from presage.errors import PresageError, error
from presage.lang.lexer import Token
from presage.lang.unsupported_epl import EPL, Form, form
from presage.model.text import Span

_ALONE = (
    "JOIN leaves out events without a partner; a pattern finds those: "
    "EVERY a=A -> (timer:interval(1 min) AND NOT B(k = a.k))"
)
QUERIES = "in queries"
FORMS = (
    *EPL,
    # Forms of SQL.
    form(
        "ORDER BY",
        r"ORDER\s+BY\b",
        where=QUERIES,
        fix="rows come in the order of their event time",
        at_home="MATCH_RECOGNIZE RECALL",
    ),
    form("LIMIT", r"LIMIT\s+[0-9]", where=QUERIES, fix="take the first rows of the result instead", at_home="RECALL"),
    form("UNION", r"UNION\b", where=QUERIES, fix="INSERT INTO one stream from several statements"),
    form("a subquery", r"SELECT\b", "(", where=QUERIES, fix="INSERT INTO a stream and read that", at_home="RECALL"),
    form("an outer join", r"LEFT\s+(OUTER\s+)?JOIN\b", where=QUERIES, fix=_ALONE, at_home="RECALL"),
    form("an outer join", r"(RIGHT|FULL)\s+(OUTER\s+)?JOIN\b", where=QUERIES, fix=_ALONE),
    form("NATURAL JOIN", r"NATURAL\s+(?:\w+\s+)?JOIN\b", where=QUERIES, fix="name the columns: JOIN b ON a.k = b.k"),
    form("CROSS JOIN", r"CROSS\s+JOIN\b", where=QUERIES, fix="write FROM a, b"),
)
_HOMES = frozenset(word for each in FORMS for word in each.at_home)


@lru_cache(maxsize=1)
def _patterns() -> tuple[re.Pattern[str], list[tuple[Form, re.Pattern[str]]]]:
    """One pattern for all forms, and one for each. Compiled at the first error: most texts have none."""
    every = [(each, re.compile(each.pattern, re.IGNORECASE)) for each in FORMS]
    return re.compile("|".join(each.pattern for each in FORMS), re.IGNORECASE), every


def find_unsupported_syntax(text: str, tokens: Sequence[Token]) -> PresageError | None:
    """The error for the first unsupported form among the tokens up to the failure."""
    any_form, every = _patterns()
    before, inside = "", _Inside()
    for number, token in enumerate(tokens):
        inside.take(token.text)
        # Most tokens start no form: one match instead of one per form keeps long texts fast.
        for each, pattern in every if any_form.match(text, token.start) else ():
            if any(word in inside.words for word in each.at_home) or 0 < each.near < len(tokens) - number:
                continue
            if (not each.after or before in each.after) and (match := pattern.match(text, token.start)):
                # The form's own words, without the character after them.
                words = re.match(r"[\w\s]+", match[0])
                span = Span(token.start, token.start + len((words or match)[0].rstrip()))
                return error("UNSUPPORTED", span, what=each.what, where=each.where, fix=each.fix)
        before = token.text.upper()
    return None


class _Inside:
    """The words whose parentheses or brackets enclose the current token."""

    def __init__(self) -> None:
        self.words: dict[str, int] = {}  # with the number of open brackets; 0 before the first

    def take(self, mark: str) -> None:
        if mark.upper() in _HOMES:
            self.words.setdefault(mark.upper(), 0)
        for word, depth in list(self.words.items()):
            self.words[word] = depth + (mark in ("(", "[")) - (mark in (")", "]"))
            if depth and not self.words[word]:
                del self.words[word]
