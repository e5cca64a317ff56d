"""Clauses before they join a statement: word, value and place of each; their order and number are checked."""

from __future__ import annotations

from typing import Any, NamedTuple

from presage.errors import error
from presage.model.text import Span


class Clause(NamedTuple):
    """One clause: `word` as the user writes it, `field` of the statement's node, its value."""

    word: str
    field: str
    value: Any
    span: Span


def collect_clauses(clauses: tuple[Clause, ...], order: tuple[str, ...] = ()) -> dict[str, Any]:
    """Fields of the statement from its clauses. Each may stand once; `order` lists words that keep their order."""
    seen: dict[str, Clause] = {}
    latest = -1
    for clause in clauses:
        first_word = Span(clause.span.start, clause.span.start + len(clause.word.split()[0]))
        if clause.field in seen:
            fix = f"keep one of the two {clause.word} clauses"
            raise error("SYNTAX", first_word, found=f"a second {clause.word}", expected="at most one", fix=fix)
        if order:
            rank = order.index(clause.word)
            if rank < latest:
                expected = f"a clause that comes after {order[latest]}"
                raise error(
                    "SYNTAX", first_word, found=clause.word, expected=expected, fix=f"the order is {', '.join(order)}"
                )
            latest = rank
        seen[clause.field] = clause
    return {clause.field: clause.value for clause in clauses}
