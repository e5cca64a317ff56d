"""Spans of the user's text, and excerpts with carets for errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

MAX_SHOWN_LINE = 160


class Span(NamedTuple):
    """Half-open range of character offsets in one source text."""

    start: int
    end: int

    def to(self, other: Span) -> Span:
        return Span(min(self.start, other.start), max(self.end, other.end))


NOWHERE = Span(0, 0)


@dataclass(frozen=True)
class Source:
    """A text of the user, with its name in messages."""

    text: str
    name: str = "query"

    def line_and_column(self, offset: int) -> tuple[int, int]:
        """1-based line and column of an offset."""
        offset = min(max(offset, 0), len(self.text))
        line = self.text.count("\n", 0, offset) + 1
        start = self.text.rfind("\n", 0, offset) + 1
        return line, offset - start + 1

    def excerpt(self, span: Span) -> str:
        """The line on which the span starts, and a line with carets under it."""
        line, column = self.line_and_column(span.start)
        start = self.text.rfind("\n", 0, min(span.start, len(self.text))) + 1
        end = self.text.find("\n", start)
        shown = self.text[start : end if end >= 0 else len(self.text)].rstrip("\r")
        width = max(1, min(span.end, start + len(shown)) - span.start)
        # A long line is cut around the span, so that the caret is visible.
        if len(shown) > MAX_SHOWN_LINE:
            left = max(0, column - 1 - MAX_SHOWN_LINE // 2)
            shown = shown[left : left + MAX_SHOWN_LINE]
            column -= left
        width = min(width, max(1, len(shown) - column + 1))
        # Tabs stay tabs in the caret line, so that both lines align.
        indent = "".join("\t" if c == "\t" else " " for c in shown[: column - 1])
        gutter = f"{line:>4} | "
        return f"{gutter}{shown}\n{' ' * (len(gutter) - 2)}| {indent}{'^' * width}"
