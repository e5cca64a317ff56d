"""Options of a deployed statement: for how long its rows are kept."""

from __future__ import annotations

from presage.declarations.catalog_objects import MAX_DURATION
from presage.errors import did_you_mean, error
from presage.lang.command_syntax import CreateStatement
from presage.model.text import Span
from presage.model.time import parse_duration

STATEMENT_OPTIONS = ("retention",)


def retention_said(node: CreateStatement) -> int | None:
    """Microseconds for which the rows of a statement are kept, as its options say; None: they say nothing."""
    owner, found = f"statement '{node.name}'", None
    for option in node.options:
        if option.name.lower() not in STATEMENT_OPTIONS:
            fix = did_you_mean(option.name.lower(), STATEMENT_OPTIONS)
            raise error("UNKNOWN_OPTION", option.span, name=option.name, owner=owner, fix=fix)
        if found is not None:
            raise error("DUPLICATE_NAME", option.span, name=option.name, where=f"the options of {owner}")
        found = read_retention(option.value, option.span)
    return found


def read_retention(text: object, span: Span | None = None) -> int | None:
    """A duration in words -> microseconds; None: nothing is said."""
    if text is None:
        return None
    micros = parse_duration(text) if isinstance(text, str) else None
    if micros is None or micros >= MAX_DURATION:
        raise error("BAD_DURATION", span, found=text)
    return micros
