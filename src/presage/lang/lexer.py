"""The lexer: cuts the next token, given the terminals that the grammar accepts there."""

from __future__ import annotations

import re
from collections.abc import Container
from typing import Any, NamedTuple

from presage.errors import error
from presage.lang.identifiers import RESERVED
from presage.model.text import Span

NAME, ANY_NAME, END = "NAME", "ANY_NAME", "$END"


class Token(NamedTuple):
    """A piece of the text; `kind` is the grammar's name of it."""

    kind: str
    text: str
    start: int
    end: int

    @property
    def span(self) -> Span:
        return Span(self.start, self.end)


class Lexer:
    """Cuts tokens by one regular expression; the parser's state decides whether a word is a keyword or a name."""

    def __init__(self, tables: dict[str, Any]) -> None:
        self.keywords: dict[str, str] = tables["keywords"]
        self.marks: dict[str, str] = tables["marks"]
        self.ignored = frozenset(tables["ignored"])
        # Tried first, and only where the grammar accepts them: 2012-05-07 is arithmetic elsewhere.
        self.contextual = [(name, re.compile(regex)) for name, regex in tables["contextual"]]
        everywhere = [f"(?P<{name}>{regex})" for name, regex in tables["patterns"]]
        marks = "|".join(re.escape(mark) for mark in sorted(self.marks, key=len, reverse=True))
        self.pattern = re.compile("|".join([*everywhere, f"(?P<MARK>{marks})"]))
        patterns = {name for name, _ in [*tables["patterns"], *tables["contextual"]]}
        self.kinds = ({*self.keywords.values(), *self.marks.values(), ANY_NAME} | patterns) - self.ignored
        # A keyword or mark as the user writes it.
        self.spelling = {kind: text for text, kind in [*self.keywords.items(), *self.marks.items()]}

    def next_token(self, text: str, position: int, end: int, accepts: Container[str]) -> Token:
        """The token at or after a position; one of kind END, without text, where there is none."""
        last = position
        while position < end:
            found = self.pattern.match(text, position, end)
            for name, pattern in self.contextual:
                if name in accepts and (special := pattern.match(text, position, end)):
                    return Token(name, special[0], position, special.end())
            if found is None:
                raise error(
                    "BAD_CHARACTER",
                    Span(position, position + 1),
                    found=repr(text[position]),
                    fix=_instead(text, position),
                )
            kind, position = str(found.lastgroup), found.end()
            if kind in self.ignored:
                continue
            if kind == NAME:
                kind = self._word(found[0], accepts)
            elif kind == "MARK":
                kind = self.marks[found[0]]
            return Token(kind, found[0], found.start(), position)
        return Token(END, "", last, last)

    def _word(self, word: str, accepts: Container[str]) -> str:
        """Keyword where the grammar accepts it, else name; but a reserved word is a name only where any word is."""
        # Letters beyond ASCII make no keyword, though some of them have a capital within ASCII (ſ, ı).
        keyword = self.keywords.get(word.upper()) if word.isascii() else None
        if keyword is not None and keyword in accepts:
            return keyword
        if ANY_NAME in accepts:
            return ANY_NAME
        return keyword or word.upper() if word.isascii() and word.upper() in RESERVED else NAME


def _instead(text: str, position: int) -> str:
    character = text[position]
    if character in "‘’‚“”„«»´":
        return "put strings in plain quotes: 'like this'"
    if character in "–—−":
        return "the sign of subtraction is the plain -"
    if character == "!":
        return "write NOT, or <> for 'not equal'"
    if character == "&":
        return "write AND"
    if character == "|":
        return "write OR, or || to join strings"
    return "remove it, or put it in quotes"
