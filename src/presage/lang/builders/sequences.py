"""Builders of probability: SEQUENCE [ … ], PROBABILISTIC, INFERENCE and CREATE MODEL."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from presage.errors import error
from presage.lang import sequence_syntax as q
from presage.lang.builders.clause import Clause, bad_value
from presage.lang.builders.literals import typed_literal
from presage.lang.builders.terms import all_of, read_number, read_string
from presage.lang.identifiers import read_name
from presage.lang.lalr import Builder
from presage.lang.lexer import Token
from presage.lang.syntax import Expr
from presage.model.text import Span

MOST_PARTICLES = 1_000_000
ANYTHING = "_"


class Method(NamedTuple):
    """The method of an Inference."""

    name: str
    particles: int | None = None


def sequence_source(span: Span, word: Token, *parts: q.Subgoal | Token | None) -> q.SequenceItem:
    *others, by = parts
    subgoals = tuple(part for part in others if isinstance(part, q.Subgoal))
    return q.SequenceItem(subgoals, by.text.lower() if isinstance(by, Token) else None, span=span)


def subgoal_events(span: Span, name: Token, terms: tuple[q.SubgoalTerm, ...] | None) -> q.Subgoal:
    return q.Subgoal(read_name(name.text), terms or (), name_span=name.span, span=span)


def subgoal_where(span: Span, subgoal: q.Subgoal, condition: Expr) -> q.Subgoal:
    """Add a condition; a second WHERE, outside of parentheses, is one more condition on the same events."""
    if subgoal.condition is not None:
        condition = all_of(span, subgoal.condition, condition)
    return replace(subgoal, condition=condition, span=span)


def kleene_plus(span: Span, subgoal: q.Subgoal, braces: q.KleenePlus | None) -> q.Subgoal:
    # Without braces the plus is the last character.
    plus = braces if braces is not None else q.KleenePlus(span=Span(span.end - 1, span.end))
    return replace(subgoal, plus=plus, span=span)


def plus_braces(span: Span, shared: tuple[Token, ...] | None, condition: Expr | None) -> q.KleenePlus:
    names: list[str] = []
    for token in shared or ():
        name = read_name(token.text)
        if name in names:
            raise error("DUPLICATE_NAME", token.span, name=name, where="the braces after +", fix="leave one out")
        names.append(name)
    return q.KleenePlus(tuple(names), condition, tuple(token.span for token in shared or ()), span=span)


def subgoal_name(span: Span, token: Token) -> q.SubgoalTerm:
    # In back-ticks `_` is an ordinary name.
    return q.Anything(span=span) if token.text == ANYTHING else q.Variable(read_name(token.text), span=span)


def subgoal_typed(span: Span, token: Token) -> q.ConstantTerm:
    value = typed_literal(span, token).value
    assert value is not None
    return q.ConstantTerm(value, span=span)


def subgoal_number(span: Span, sign: Token | None, number: Token) -> q.ConstantTerm:
    value = read_number(number)
    return q.ConstantTerm(-value if sign is not None and sign.text == "-" else value, span=span)


def probabilistic(span: Span, markov: Token | None, *names: Token) -> Clause:
    node = q.Probabilistic(tuple(read_name(name.text) for name in names), markov is not None, span=span)
    return Clause("PROBABILISTIC", "probabilistic", node, span)


def inference(span: Span, over: Token, model: Token, method: Method) -> Clause:
    node = q.Inference(read_name(over.text), read_name(model.text), method.name, method.particles, span=span)
    return Clause("FROM INFERENCE", "inference", node, span)


def particles(span: Span, number: Token) -> Method:
    count = read_number(number)
    if not isinstance(count, int) or not 1 <= count <= MOST_PARTICLES:
        expected = f"a whole number from 1 to {MOST_PARTICLES}"
        raise bad_value(number, "the number of PARTICLES", expected, "write PARTICLES 1000")
    return Method("particles", count)


def create_model(span: Span, absent: Token | None, name: Token, path: Token) -> q.CreateModel:
    return q.CreateModel(read_name(name.text), read_string(path), absent is not None, span=span)


BUILDERS: dict[str, Builder] = {
    "sequence_source": sequence_source,
    "sequence_by": lambda span, word: word,
    "subgoal_events": subgoal_events,
    "subgoal_where": subgoal_where,
    "subgoal_group": lambda span, subgoal: subgoal,
    "kleene_plus": kleene_plus,
    "plus_braces": plus_braces,
    "plus_shared": lambda span, *names: names,
    "subgoal_terms": lambda span, *terms: terms,
    "subgoal_name": subgoal_name,
    "subgoal_string": lambda span, token: q.ConstantTerm(read_string(token), span=span),
    "subgoal_typed": subgoal_typed,
    "subgoal_number": subgoal_number,
    "subgoal_truth": lambda span, token: q.ConstantTerm(token.text.upper() == "TRUE", span=span),
    "probabilistic": probabilistic,
    "inference": inference,
    "inference_method": lambda span, method: method,
    "inference_filter": lambda span: Method("filter"),
    "inference_smooth": lambda span: Method("smooth"),
    "inference_viterbi": lambda span: Method("viterbi"),
    "inference_particles": particles,
    "create_model": create_model,
}
