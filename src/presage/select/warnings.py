"""Warnings about statements that are well formed and may not mean what their writer thinks.

They are made from the tree of the text that the user wrote: a text that the home stores is printed with as few brackets
as possible, and would warn where the user has written them. A check is a function of one statement and that text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from presage.errors import QueryWarning
from presage.lang import syntax as s
from presage.logging import WARNING, tell
from presage.model.text import Source
from presage.operators.epl.guard_cover import check_guards

CHECKS: tuple[Callable[[s.Statement, str], Iterable[QueryWarning]], ...] = (check_guards,)


def warnings_of(statement: s.Statement, source: Source) -> tuple[QueryWarning, ...]:
    """All warnings about a statement, in the order of the text."""
    found = [each.in_source(source) for check in CHECKS for each in check(statement, source.text)]
    return tuple(sorted(found, key=lambda w: w.span.start if w.span else 0))


def warnings_in(script: s.Script) -> tuple[QueryWarning, ...]:
    """All warnings about the statements of a text."""
    return tuple(each for statement in script.statements for each in warnings_of(statement, script.source))


def tell_warnings(several: Iterable[QueryWarning]) -> None:
    """Log warnings about a statement, for programs that do not look at the `warnings` of what they are given."""
    for each in several:
        tell(WARNING, "QUERY_WARNING", "{warning}", warning=each.render(), condition=each.code)
