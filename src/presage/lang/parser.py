"""The parser's entry points: the syntax tree of a text, or its errors, one per broken statement."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from presage.errors import PresageError, error, raise_all
from presage.lang.builders.recall import refuse_subqueries
from presage.lang.diagnosis import explain_failure
from presage.lang.grammar_files import compose_builders
from presage.lang.lalr import Machine, StuckError
from presage.lang.scanner import cut_statements
from presage.lang.syntax import Expr, Script, Statement
from presage.lang.tables import load_tables
from presage.model.text import Source, Span


def parse(text: str, name: str = "query") -> Script:
    """All statements of a text. `name` is its name in errors, for example that of a file."""
    script, errors = parse_leniently(text, name)
    raise_all(errors)
    return script


def parse_leniently(text: str, name: str = "query") -> tuple[Script, list[PresageError]]:
    """The statements that can be parsed, and one error for each of the others, in the order of the text."""
    source = Source(text, name)
    try:
        spans, errors = _cut(source)
    except PresageError as limit:
        return Script((), source), [limit]
    statements: list[Statement] = []
    for span in spans:
        try:
            statements.append(_parse_goal(source, span, "statement"))
        except PresageError as broken:
            errors.append(broken)
    errors.sort(key=lambda each: each.span.start if each.span else 0)
    return Script(tuple(statements), source, span=Span(0, len(text))), errors


def parse_statement(text: str, name: str = "query") -> Statement:
    """The only statement of a text."""
    script = parse(text, name)
    if len(script.statements) == 1:
        return script.statements[0]
    if script.statements:
        span, found, expected = script.statements[1].span, "a second statement", "the end of the text"
    else:
        span, found, expected = Span(len(text), len(text)), "the end of the text", "a statement"
    raise error("SYNTAX", span, script.source, found=found, expected=expected)


def parse_expression(text: str, name: str = "expression") -> Expr:
    """A term or condition by itself."""
    source = Source(text, name)
    _, errors = _cut(source)
    raise_all(errors)
    expression: Expr = _parse_goal(source, Span(0, len(text)), "term")
    return expression


@lru_cache(maxsize=1)
def machine() -> Machine:
    """The parser of the language, loaded when it is first needed."""
    return Machine(load_tables(), compose_builders())


def _cut(source: Source) -> tuple[list[Span], list[PresageError]]:
    try:
        spans, errors = cut_statements(source.text)
    except PresageError as limit:
        raise limit.in_source(source) from None
    return spans, [each.in_source(source) for each in errors]


def _parse_goal(source: Source, span: Span, goal: str) -> Any:
    parser = machine()
    try:
        tree = parser.run(source.text, span, goal)
        refuse_subqueries(tree)
    except (StuckError, PresageError) as failure:
        raise explain_failure(parser, source.text, span, goal, failure).in_source(source) from None
    return tree
