"""Checks of options in WITH (…) that declarations share, and the options of a deployed statement."""

from __future__ import annotations

from collections.abc import Sequence

from presage.errors import did_you_mean, error
from presage.lang.command_syntax import CreateStatement
from presage.lang.syntax import Option
from presage.model.text import Span
from presage.model.time import parse_duration

MAX_DURATION = 2**53  # microseconds, 285 years
STATEMENT_OPTIONS = ("retention",)


def add_option(options: dict[str, str], option: Option, owner: str) -> str:
    """Adds an option under its name in lower case, and returns its value. A second one of that name is an error."""
    name = option.name.lower()
    if name in options:
        raise error("DUPLICATE_NAME", option.span, name=option.name, where=f"the options of {owner}")
    options[name] = str(option.value)
    return options[name]


def check_one_of(name: str, value: str, allowed: Sequence[str], span: Span | None) -> None:
    if value not in allowed:
        expected, fix = f"one of {', '.join(allowed)}", did_you_mean(value, allowed)
        raise error("BAD_VALUE", span, what=name, found=f"'{value}'", expected=expected, fix=fix)


def check_duration(value: object, span: Span | None) -> int:
    """Microseconds of a duration such as '5 min'."""
    micros = parse_duration(value) if isinstance(value, str) else None
    if micros is None or micros >= MAX_DURATION:
        raise error("BAD_DURATION", span, found=value)
    return micros


def retention_option(node: CreateStatement) -> int | None:
    """Microseconds for which the rows of a statement are kept; None where its options do not say."""
    options: dict[str, str] = {}
    retention = None
    for option in node.options:
        if option.name.lower() not in STATEMENT_OPTIONS:
            fix = did_you_mean(option.name.lower(), STATEMENT_OPTIONS)
            raise error("UNKNOWN_OPTION", option.span, name=option.name, owner=f"statement '{node.name}'", fix=fix)
        add_option(options, option, f"statement '{node.name}'")
        retention = check_duration(option.value, option.span)
    return retention
