"""The parser of the inside of MATCH_RECOGNIZE ( … ); errors show the user's own text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from presage.errors import PresageError, error, raise_all
from presage.lang import parse_statement
from presage.lang import syntax as s
from presage.lang.match_syntax import MatchClause
from presage.lang.scanner import cut_statements
from presage.model.text import Source, Span

_HEAD = "SELECT * FROM df MATCH_RECOGNIZE (\n"
_TAIL = "\n)"  # on a line of its own, lest a comment at the end of the clause swallows it
_WHOLE = re.compile(r"\s*MATCH_RECOGNIZE\b", re.IGNORECASE)


def parse_clause(text: str) -> tuple[MatchClause, Shift]:
    """The clause, and how its places lie in the user's text."""
    source = Source(text, "clause")
    # Brackets must be in balance here already: a ')' too many would close the clause and let anything follow.
    try:
        parts, errors = cut_statements(text)
    except PresageError as limit:
        raise limit.in_source(source) from None
    raise_all([found.in_source(source) for found in errors])
    if len(parts) > 1:
        raise error("SYNTAX", parts[1], source, found="more text after ';'", expected="the end of the clause")
    if not parts:
        raise error(
            "SYNTAX",
            Span(0, len(text)),
            source,
            found="an empty text",
            expected="PATTERN ( … )",
            fix="write only what is inside of MATCH_RECOGNIZE ( … )",
        )
    start, end = parts[0]
    whole = _WHOLE.match(text, start, end)
    if whole is not None:
        raise error(
            "SYNTAX",
            Span(start, whole.end()),
            source,
            found="MATCH_RECOGNIZE",
            expected="one of its clauses",
            fix="leave MATCH_RECOGNIZE and its brackets out",
        )
    shift = Shift(source, start, end)
    with shift.applied():
        statement = parse_statement(_HEAD + text[start:end] + _TAIL)
    assert isinstance(statement, s.Query)
    clause = statement.items[0].match
    assert clause is not None
    return clause, shift


class Shift:
    """Places in the statement that is parsed -> places in the user's text."""

    def __init__(self, source: Source, start: int, end: int) -> None:
        self.source = source
        self._start = start
        self._end = end

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Errors that leave the block show their place in the user's text."""
        try:
            yield
        except PresageError as problem:
            for found in (problem, *problem.others):
                self.move(found)
            raise

    def move(self, found: PresageError) -> None:
        if found.source is self.source:
            return
        found.source = self.source
        if found.span is None:
            return
        past = found.span.start >= len(_HEAD) + self._end - self._start
        start, end = (min(max(at - len(_HEAD), 0) + self._start, self._end) for at in found.span)
        if past:
            # Our own bracket at the end is none of the user's.
            found.message = found.message.replace("found ')'", "found the end of the clause", 1)
        elif start == end:
            # What is missed is missed in the whole clause.
            end = self._end
        found.span = Span(start, end)
