"""Warnings about well-formed statements that may not mean what the user intends.

Capabilities bring the checks. They look at the user's own text: the text in a home is printed with as few brackets as
possible, and would give warnings where the user wrote brackets.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from presage.errors import QueryHint, QueryWarning, warning
from presage.lang import syntax as s
from presage.logging import INFO, WARNING, tell
from presage.model.text import Source
from presage.operators.registry import parts


def warnings_of(statement: s.Statement, source: Source, deployed: bool = False) -> tuple[QueryWarning, ...]:
    """All warnings about a statement, in the order of the text."""
    checks = [check for part in parts("warnings").values() for check in part.WARNINGS]
    checks += [] if deployed else [_check_groups]
    found = [each.in_source(source) for check in checks for each in check(statement, source.text)]
    return tuple(sorted(found, key=lambda w: w.span.start if w.span else 0))


def _check_groups(statement: s.Statement, text: str) -> Iterator[QueryWarning]:
    """A bounded GROUP BY over a stream without a window: SQL gives one row per group."""
    if not isinstance(statement, s.Query) or not statement.group_by or statement.output or statement.insert_into:
        return
    if not any(i.windows or i.pattern or i.match or i.sequence or i.predicted or i.recalls for i in statement.items):
        yield warning("ROW_PER_EVENT", statement.group_by[0].span)


def warnings_in(script: s.Script) -> tuple[QueryWarning, ...]:
    """All warnings about the statements of a text."""
    return tuple(each for statement in script.statements for each in warnings_of(statement, script.source))


def tell_warnings(several: Iterable[QueryWarning]) -> None:
    """Log warnings about a statement, for programs that do not read the `warnings` of a result."""
    for each in several:
        tell(
            INFO if isinstance(each, QueryHint) else WARNING,
            "QUERY_WARNING",
            "{warning}",
            warning=each.render(),
            condition=each.code,
        )
