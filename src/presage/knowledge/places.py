"""Places in a PATH's own text, and conditions made of it, in the text of the query: an error must point there."""

from __future__ import annotations

from dataclasses import replace

from presage.lang import syntax as s
from presage.lang.knowledge_syntax import Path
from presage.model.text import Span


def placed_in(path: Path, line: int, column: int) -> Span:
    """A line and column of the pattern, both from 1, in the query's text."""
    lines = path.text.split("\n")
    row = min(max(line, 1), len(lines)) - 1
    offset = sum(len(text) + 1 for text in lines[:row]) + min(max(column - 1, 0), len(lines[row]))
    offset = min(offset, max(len(path.text) - 1, 0))
    return Span(path.body.start + offset, path.body.start + offset + 1)


def placed_at(expr: s.Expr, span: Span) -> s.Expr:
    """The condition with the place of the PATH that it was made of, so that an error points there."""
    updates: dict[str, object] = {"span": span}
    for name, value in vars(expr).items():
        if isinstance(value, s.Expr):
            updates[name] = placed_at(value, span)
        elif isinstance(value, tuple) and value and all(isinstance(v, s.Expr) for v in value):
            updates[name] = tuple(placed_at(v, span) for v in value)
    return replace(expr, **updates)  # type: ignore[arg-type]
