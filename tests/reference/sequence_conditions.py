"""Terms in, conditions of sequence queries out: each as the language's text and as a function of a binding.

A term is a Variable or a Constant. A comparison with null is unknown.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Any

from reference.sequence_semantics import Anything, Condition, Term, Variable

COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def literal(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return str(value)


def term_text(term: Term) -> str:
    if isinstance(term, Anything):
        return "_"
    return term.name if isinstance(term, Variable) else literal(term.value)


def value_of(term: Term, binding: dict[str, Any]) -> Any:
    assert not isinstance(term, Anything)
    return binding[term.name] if isinstance(term, Variable) else term.value


def names_of(*terms: Term) -> frozenset[str]:
    return frozenset(term.name for term in terms if isinstance(term, Variable))


def known(function: Callable[..., bool], *terms: Term) -> Callable[[dict[str, Any]], bool | None]:
    """The function of the terms' values, unknown where one of them is null."""

    def of(binding: dict[str, Any]) -> bool | None:
        values = [value_of(term, binding) for term in terms]
        return None if any(value is None for value in values) else function(*values)

    return of


def compared(left: Term, comparison: str, right: Term) -> Condition:
    text = f"{term_text(left)} {comparison} {term_text(right)}"
    return Condition(text, names_of(left, right), known(COMPARISONS[comparison], left, right))


def summed(left: Term, right: Term, comparison: str, bound: int) -> Condition:
    """left + right compared with a number."""
    text = f"{term_text(left)} + {term_text(right)} {comparison} {bound}"
    return Condition(
        text, names_of(left, right), known(lambda a, b: COMPARISONS[comparison](a + b, bound), left, right)
    )


def one_of(term: Term, values: Iterable[Any]) -> Condition:
    listed = list(values)
    text = f"{term_text(term)} IN ({', '.join(map(literal, listed))})"
    return Condition(text, names_of(term), known(lambda value: value in listed, term))


def member(relation: str, rows: Iterable[tuple[Any, ...]], *terms: Term) -> Condition:
    """The relation has a row of these values."""
    listed = set(rows)
    text = f"{relation}({', '.join(map(term_text, terms))})"
    return Condition(text, names_of(*terms), known(lambda *values: values in listed, *terms))


def negated(condition: Condition) -> Condition:
    def of(binding: dict[str, Any]) -> bool | None:
        value = condition.function(binding)
        return None if value is None else not value

    return Condition(f"NOT {condition.text}", condition.variables, of)


def either(first: Condition, second: Condition) -> Condition:
    def of(binding: dict[str, Any]) -> bool | None:
        values = (first.function(binding), second.function(binding))
        return True if True in values else None if None in values else False

    return Condition(f"({first.text} OR {second.text})", first.variables | second.variables, of)
