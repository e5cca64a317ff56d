"""The lexer: reads the next token, given the terminals that the grammar accepts there."""

from __future__ import annotations

import re
from collections.abc import Container
from typing import Any, NamedTuple

from presage.errors import error
from presage.lang.identifiers import RESERVED
from presage.model.text import Span

NAME, ANY_NAME, END = "NAME", "ANY_NAME", "$END"
# Fixes for characters that no token begins with.
_INSTEAD = {
    "‘’‚“”„«»´": "put strings in plain quotes: 'like this'",
    "–—−": "the sign of subtraction is the plain -",
    "!": "write NOT, or <> for 'not equal'",
    "&": "write AND",
    "|": "write OR, or || to join strings",
}
_OTHERWISE = "remove it, or put it in quotes"


class Token(NamedTuple):
    """A piece of the text; `kind` is the name of its terminal."""

    kind: str
    text: str
    start: int
    end: int

    @property
    def span(self) -> Span:
        return Span(self.start, self.end)


class Lexer:
    """Reads tokens by one regular expression; the parser's state decides whether a word is a keyword or a name."""

    def __init__(self, tables: dict[str, Any]) -> None:
        self.keywords: dict[str, str] = tables["keywords"]
        self.marks: dict[str, str] = tables["marks"]
        self.ignored = frozenset(tables["ignored"])
        # Tried first, but only where the grammar accepts them: 2012-05-07 is arithmetic elsewhere.
        self.contextual = [(name, re.compile(regex)) for name, regex in tables["contextual"]]
        everywhere = [f"(?P<{name}>{regex})" for name, regex in tables["patterns"]]
        marks = "|".join(re.escape(mark) for mark in sorted(self.marks, key=len, reverse=True))
        self.pattern = re.compile("|".join([*everywhere, f"(?P<MARK>{marks})"]))
        patterns = {name for name, _ in [*tables["patterns"], *tables["contextual"]]}
        self.kinds = ({*self.keywords.values(), *self.marks.values(), ANY_NAME} | patterns) - self.ignored
        # The spelling of a keyword or mark.
        self.spelling = {kind: text for text, kind in [*self.keywords.items(), *self.marks.items()]}

    def next_token(self, text: str, position: int, end: int, accepts: Container[str]) -> Token:
        """The token at or after a position; an END token without text if there is none."""
        last = position
        while position < end:
            found = self.pattern.match(text, position, end)
            for name, pattern in self.contextual:
                if name in accepts and (special := pattern.match(text, position, end)):
                    return Token(name, special[0], position, special.end())
            if found is None:
                fix = next((fix for marks, fix in _INSTEAD.items() if text[position] in marks), _OTHERWISE)
                raise error("BAD_CHARACTER", Span(position, position + 1), found=repr(text[position]), fix=fix)
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
        """A keyword where the grammar accepts it, else a name. A reserved word is a name only where any word is."""
        # Some letters beyond ASCII have an ASCII capital (ſ, ı), but make no keyword.
        keyword = self.keywords.get(word.upper()) if word.isascii() else None
        if keyword is not None and keyword in accepts:
            return keyword
        if ANY_NAME in accepts:
            return ANY_NAME
        return keyword or word.upper() if word.isascii() and word.upper() in RESERVED else NAME
