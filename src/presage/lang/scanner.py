"""The statement scanner: splits a text at `;` and checks brackets, strings, comments and limits.

One pass in linear time over any text, before the parser. Strings and back-ticked names end on their line, so that a
missing quote is reported on its line.
"""

from __future__ import annotations

import re

from presage.errors import PresageError, error
from presage.model.text import Span

MAX_BYTES = 256 * 1024
MAX_DEPTH = 200

_PIECE = re.compile(
    r"""(?P<blank>[\s\ufeff]++|--[^\n]*+)
      | (?P<comment>/\*)
      | (?P<closed>'[^'\\\n]*+(?:(?:\\.|'')[^'\\\n]*+)*+'|"[^"\\\n]*+(?:(?:\\.|"")[^"\\\n]*+)*+"|`[^`\n]*+`)
      | (?P<unclosed>['"`])
      | (?P<iri><[A-Za-z][A-Za-z0-9+.-]*+:[^<>"{}|^`\\\s]*+>)
      | (?P<opener>[(\[{])
      | (?P<closer>[)\]}])
      | (?P<end>;)
      | (?P<word>\w++)
      | (?P<other>.)""",
    re.VERBOSE,
)
# In brackets a `;` belongs to a sequence or a graph pattern, unless a new statement follows.
_NEW_STATEMENT = re.compile(
    r"(?:\s++|--[^\n]*+)*+(?:SELECT|CREATE|INSERT|EXPLAIN|SHOW|DESCRIBE|DROP|PREFIX|REFRESH)\s++[\w*]", re.IGNORECASE
)
_CLOSER = {"(": ")", "[": "]", "{": "}"}
_QUOTED = {"'": "a string", '"': "a string", "`": "a name in back-ticks"}


def cut_statements(text: str) -> tuple[list[Span], list[PresageError]]:
    """The spans of the statements that can be parsed, and the errors of the others.

    Raises at once if the text is too large or nested too deeply.
    """
    check_size(text)
    scan = _Scan(text)
    scan.run()
    return scan.statements, scan.errors


def check_size(text: str) -> None:
    size = len(text) if len(text) > MAX_BYTES else len(text.encode("utf-8", "surrogatepass"))
    if size > MAX_BYTES:
        raise error("QUERY_TOO_LARGE", size=size, limit=MAX_BYTES)


class _Scan:
    """One pass over one text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.statements: list[Span] = []
        self.errors: list[PresageError] = []
        self.begin_statement()

    def begin_statement(self) -> None:
        # The start and end of the statement, without blanks and comments around it.
        self.start: int | None = None
        self.end = 0
        self.broken = False
        # Openers not yet closed: offset, character, and the word before it.
        self.open: list[tuple[int, str, str]] = []
        self.word = ""

    def run(self) -> None:
        position = 0
        while match := _PIECE.match(self.text, position):
            kind, piece, position = str(match.lastgroup), match[0], match.end()
            if kind == "blank":
                continue
            if kind == "comment":
                closing = self.text.find("*/", position)
                if closing < 0:
                    self.report(match.start(), "UNCLOSED", what="a comment", closer="*/ at its end")
                    break
                position = closing + 2
                continue
            if kind == "end" and (not self.open or _NEW_STATEMENT.match(self.text, position)):
                self.end_statement()
                continue
            if piece == "#" and any(word == "PATH" for _, _, word in self.open):
                # A comment of SPARQL: its quotes and brackets do not count.
                line = self.text.find("\n", position)
                position = len(self.text) if line < 0 else line
                continue
            self.start = match.start() if self.start is None else self.start
            self.end = position
            self.take(kind, piece, match.start())
        self.end_statement()

    def take(self, kind: str, piece: str, at: int) -> None:
        if kind == "opener":
            self.open.append((at, piece, self.word))
            if len(self.open) > MAX_DEPTH:
                raise error("QUERY_TOO_DEEP", Span(at, at + 1), limit=MAX_DEPTH)
        elif kind == "closer":
            self.close(piece, at)
        elif kind == "unclosed":
            closer = f"{piece} at its end" + ("" if piece == "`" else r" (a line break in a string is written \n)")
            self.report(at, "UNCLOSED", what=_QUOTED[piece], closer=closer)
        self.word = piece.upper() if kind == "word" else ""

    def close(self, closer: str, at: int) -> None:
        if not self.open:
            self.report(at, "UNOPENED", closer=f"'{closer}'")
            return
        opened_at, opener, word = self.open.pop()
        # In WITHIN [t1, t2) and IN [low:high) brackets of two kinds form a pair.
        if _CLOSER[opener] != closer and not (word in ("WITHIN", "IN") and closer in "])"):
            self.report(opened_at, "UNCLOSED", what=f"'{opener}'", closer=f"'{_CLOSER[opener]}' before the '{closer}'")

    def end_statement(self) -> None:
        if self.open:
            at, opener, _ = self.open[-1]
            self.report(at, "UNCLOSED", what=f"'{opener}'", closer=f"'{_CLOSER[opener]}'")
        if self.start is not None and not self.broken:
            self.statements.append(Span(self.start, self.end))
        self.begin_statement()

    def report(self, at: int, code: str, **params: str) -> None:
        """Report one error per statement: further ones mostly follow from the first."""
        if not self.broken:
            self.errors.append(error(code, Span(at, at + 1), None, **params))
        self.broken = True
