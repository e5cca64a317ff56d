"""The lexer of SPARQL 1.1, as the cursor that the parser moves.

Tokens are read on demand: only the parser knows whether `<` begins an IRI or compares.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import NamedTuple, NoReturn, TypeVar

from presage.model.text import Span
from presage.operators.knowledge.sparql_syntax import SparqlError

T = TypeVar("T")
# Limits of nesting in the text and of levels in the tree: the parser, the printer and hash() are recursive.
MAX_NESTING = 64
MAX_LEVELS = 200

_BASE = (
    "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c\u200d\u2070-\u218f\u2c00-\u2fef"
    "\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
_NAME = _BASE + r"_0-9\u00b7\u0300-\u036f\u203f\u2040"
_ESCAPED = r"%[0-9A-Fa-f]{2}|\\[_~.\-!$&'()*+,;=/?#@%]"
_LABEL = rf"_:[{_BASE}_0-9](?:[{_NAME}.\-]*[{_NAME}\-])?"
_PREFIX = rf"[{_BASE}](?:[{_NAME}.\-]*[{_NAME}\-])?"
_LOCAL = rf"(?:[{_BASE}_:0-9]|{_ESCAPED})(?:(?:[{_NAME}.:\-]|{_ESCAPED})*(?:[{_NAME}:\-]|{_ESCAPED}))?"
_HEX = r"\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8}"

IRI, VAR, BLANK, NAME, NUMBER = "iri", "var", "blank", "name", "number"
STRING, LANG, WORD, OP, END = "string", "lang", "word", "op", "end"

# Compiled at the first use: the classes of letters are large, and most runs have no PATH.
_TOKEN = rf"""
      (?P<iri><(?:[^<>"{{}}|^`\\\x00-\x20]|{_HEX})*+>)
    | (?P<var>[?$][{_BASE}_0-9][{_NAME}]*)
    | (?P<blank>{_LABEL})
    | (?P<name>(?:{_PREFIX})?:(?:{_LOCAL})?)
    | (?P<number>[+-]?(?:[0-9]+\.[0-9]*[eE][+-]?[0-9]+|\.[0-9]+[eE][+-]?[0-9]+|[0-9]+[eE][+-]?[0-9]+
                        |[0-9]*\.[0-9]+|[0-9]+))
    | (?P<string>\"\"\"(?:"{{0,2}}(?:[^"\\]|\\.))*+\"\"\"|'''(?:'{{0,2}}(?:[^'\\]|\\.))*+'''
                |"(?!"")(?:[^"\\\n\r]|\\.)*+"|'(?!'')(?:[^'\\\n\r]|\\.)*+')
    | (?P<lang>@[A-Za-z]+(?:-[A-Za-z0-9]+)*)
    | (?P<word>[A-Za-z_][A-Za-z_0-9]*)
    | (?P<op>\^\^|&&|\|\||!=|<=|>=|<<|\{{\||[{{}}()\[\].,;|/^*+?!=<>-])
    """
_SPACE = re.compile(r"(?:[ \t\r\n]+|#[^\r\n]*)*+")
_ESCAPE = re.compile(rf"{_HEX}|\\.", re.DOTALL)
_SURROGATE = re.compile("[\ud800-\udfff]")
_PLAIN = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f", '"': '"', "'": "'", "\\": "\\"}

_UPDATES = ("INSERT", "DELETE", "LOAD", "CLEAR", "DROP", "CREATE", "ADD", "MOVE", "COPY", "WITH", "USING", "DATA")
_REFUSED = {
    "SERVICE": "SERVICE asks another endpoint, which a PATH does not do",
    "GRAPH": "GRAPH picks a named graph, but all knowledge is one graph",
    "FROM": "FROM picks a data set, but a PATH asks all knowledge",
    "LATERAL": "LATERAL is no part of SPARQL 1.1",
    "PREFIX": "PREFIX belongs before the query, not inside a PATH",
    "BASE": "BASE is not allowed inside a PATH; write IRIs in full or with a prefix",
    "ASK": "ASK is not allowed inside a PATH; write its pattern alone",
    "CONSTRUCT": "CONSTRUCT is not allowed inside a PATH; write its pattern alone",
    "DESCRIBE": "DESCRIBE is not allowed inside a PATH",
    **{word: f"{word} is an update, and a PATH only asks" for word in _UPDATES},
    "<<": "triples about triples (<< … >>) are no part of SPARQL 1.1",
    "{|": "triples about triples ({| … |}) are no part of SPARQL 1.1",
}


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.VERBOSE | re.DOTALL)


class Token(NamedTuple):
    """A piece of the text; `start` and `end` are offsets in the text given to the parser."""

    kind: str
    text: str
    start: int
    end: int

    def is_word(self, *words: str) -> bool:
        """Whether it is one of these keywords, in any case."""
        return self.kind == WORD and self.text.upper() in words

    def is_op(self, *ops: str) -> bool:
        return self.kind == OP and self.text in ops


def labels_in(text: str) -> frozenset[str]:
    """Every blank node label of the text, and words in strings that look like one."""
    return frozenset(label[2:] for label in _compiled(_LABEL).findall(text))


class Cursor:
    """The current token of a text, and the steps that any rule takes: accept, expect, enclose, fail."""

    def __init__(self, text: str, prefixes: Mapping[str, str], start: int) -> None:
        self.text, self.prefixes, self.start = text, prefixes, start
        self.nesting = 0
        surrogate = _SURROGATE.search(text)
        if surrogate:
            self.fail("half of a surrogate pair, which is no character", surrogate.start(), surrogate.end())
        self.token = self._read(0)
        self.ended = 0  # the end of the last token taken

    def span(self, start: int, end: int | None = None) -> Span:
        """The place in the user's text of an offset to another offset, or to the end of the last token taken."""
        return Span(self.start + start, self.start + (self.ended if end is None else end))

    def fail(self, message: str, start: int, end: int) -> NoReturn:
        raise SparqlError(message, self.span(start, end))

    def reject(self, token: Token, message: str) -> NoReturn:
        self.fail(message, token.start, token.end)

    def take(self) -> Token:
        token = self.token
        self.ended = token.end
        self.token = self._read(token.end)
        return token

    def accept_op(self, *ops: str) -> bool:
        accepted = self.token.is_op(*ops)
        if accepted:
            self.take()
        return accepted

    def accept_word(self, *words: str) -> bool:
        accepted = self.token.is_word(*words)
        if accepted:
            self.take()
        return accepted

    def expect_op(self, op: str, expected: str = "") -> Token:
        if not self.token.is_op(op):
            self.unexpected(expected or f"'{op}'")
        return self.take()

    def expect_word(self, word: str, expected: str = "") -> Token:
        if not self.token.is_word(word):
            self.unexpected(expected or word)
        return self.take()

    def expect_kind(self, kind: str, expected: str) -> Token:
        if self.token.kind != kind:
            self.unexpected(expected)
        return self.take()

    def enclosed(self, brackets: str, read: Callable[[], T], expected: str = "") -> T:
        """The value of `read` between two brackets, one level deeper. `expected` describes the closing one."""
        self.expect_op(brackets[0])
        self.deeper()
        value = read()
        self.nesting -= 1
        self.expect_op(brackets[1], expected)
        return value

    def deeper(self) -> None:
        """Enter a level of nesting; leave it by `self.nesting -= 1`."""
        self.nesting += 1
        if self.nesting > MAX_NESTING:
            self.reject(self.token, f"nested more than {MAX_NESTING} levels deep")

    def split_less(self) -> None:
        """Where an operator is expected, `<` compares, even if the text after it looks like an IRI."""
        token = self.token
        if token.text.startswith("<") and not token.is_op("<", "<="):
            end = token.start + 1 + self.text.startswith("=", token.start + 1)
            self.token = Token(OP, self.text[token.start : end], token.start, end)

    def unexpected(self, expected: str) -> NoReturn:
        """Reject the current token."""
        kind, text, start, _ = token = self.token
        if kind == END:
            self.fail(f"the pattern ends, expected {expected}", start, start + 1)
        if kind in (WORD, OP) and text.upper() in _REFUSED:
            self.reject(token, _REFUSED[text.upper()])
        if text == "<":
            self.reject(token, f"found '<' that begins no IRI (it needs a '>' and no spaces), expected {expected}")
        shown = text if len(text) <= 40 else text[:39] + "…"
        self.reject(token, f"found '{shown}', expected {expected}")

    def unescape(self, text: str, start: int) -> str:
        """The text with its escapes replaced; `start` is its offset."""

        def meaning(escape: re.Match[str]) -> str:
            code = escape.group()
            if len(code) > 2:
                number = int(code[2:], 16)
                if number <= 0x10FFFF and not 0xD800 <= number <= 0xDFFF:
                    return chr(number)
            elif code[1] in _PLAIN:
                return _PLAIN[code[1]]
            self.fail(f"unknown escape '{code}'", start + escape.start(), start + escape.end())

        return _ESCAPE.sub(meaning, text) if "\\" in text else text

    def _read(self, at: int) -> Token:
        space = _SPACE.match(self.text, at)
        at = space.end() if space else at
        if at == len(self.text):
            return Token(END, "", at, at)
        match = _compiled(_TOKEN).match(self.text, at)
        if match:
            return Token(str(match.lastgroup), match.group(), at, match.end())
        if self.text[at] in "\"'":
            line = re.compile(r"[^\r\n]*").match(self.text, at)
            self.fail("a string that does not end", at, line.end() if line else at + 1)
        if self.text[at] == "\\":
            self.fail("a backslash escapes in strings, IRIs and local names only", at, at + 1)
        self.fail(f"the character '{self.text[at]}' means nothing here", at, at + 1)
