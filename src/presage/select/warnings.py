"""Warnings about well-formed statements that may not mean what the user intends.

Capabilities bring the checks. They look at the user's own text: the text in a home is printed with as few brackets as
possible, and would give warnings where the user wrote brackets.
"""

from __future__ import annotations

from collections.abc import Iterable

from presage.errors import QueryWarning
from presage.lang import syntax as s
from presage.logging import WARNING, tell
from presage.model.text import Source
from presage.operators.registry import parts


def warnings_of(statement: s.Statement, source: Source) -> tuple[QueryWarning, ...]:
    """All warnings about a statement, in the order of the text."""
    checks = [check for part in parts("analyze").values() for check in getattr(part, "WARNINGS", ())]
    found = [each.in_source(source) for check in checks for each in check(statement, source.text)]
    return tuple(sorted(found, key=lambda w: w.span.start if w.span else 0))


def warnings_in(script: s.Script) -> tuple[QueryWarning, ...]:
    """All warnings about the statements of a text."""
    return tuple(each for statement in script.statements for each in warnings_of(statement, script.source))


def tell_warnings(several: Iterable[QueryWarning]) -> None:
    """Log warnings about a statement, for programs that do not read the `warnings` of a result."""
    for each in several:
        tell(WARNING, "QUERY_WARNING", "{warning}", warning=each.render(), condition=each.code)
