"""Clauses before they join a statement, and the checks that all builders share."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from presage.errors import PresageError, error
from presage.lang.lexer import Token
from presage.lang.scanner import MAX_DEPTH
from presage.model.text import Span


class Clause(NamedTuple):
    """One clause: `word` as the user writes it, `field` of the statement's node, its value."""

    word: str
    field: str
    value: Any
    span: Span


def collect_clauses(clauses: tuple[Clause, ...], order: tuple[str, ...] = ()) -> dict[str, Any]:
    """Fields of the statement from its clauses. Each may occur once; `order` lists words that keep their order."""
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
                expected, fix = f"a clause that comes after {order[latest]}", f"the order is {', '.join(order)}"
                raise error("SYNTAX", first_word, found=clause.word, expected=expected, fix=fix)
            latest = rank
        seen[clause.field] = clause
    return {clause.field: clause.value for clause in clauses}


class HasDepth(Protocol):
    """A node with the number of levels of its tree."""

    @property
    def depth(self) -> int: ...


def depth_over(span: Span, *parts: HasDepth | None) -> int:
    """The depth of a node over these parts, within the limit."""
    depth = 1 + max((part.depth for part in parts if part is not None), default=0)
    if depth > MAX_DEPTH:
        raise error("QUERY_TOO_DEEP", span, limit=MAX_DEPTH)
    return depth


def bad_value(token: Token, what: str, expected: str, fix: str = "") -> PresageError:
    return error("BAD_VALUE", token.span, what=what, found=token.text, expected=expected, fix=fix)
