"""The printer of SEQUENCE [ … ] and of the declarations of probabilistic streams."""

from __future__ import annotations

from presage.errors import error
from presage.lang import sequence_syntax as q
from presage.lang.identifiers import spell_name, spell_new, spell_string
from presage.lang.print_terms import print_expression, print_literal

# `_` is any value, and no variable.
_OF_TERMS = frozenset({"_"})


def print_sequence(item: q.SequenceItem) -> str:
    """`SEQUENCE [ … ]`."""
    by = f" BY {item.by.upper()}" if item.by is not None else ""
    return f"SEQUENCE [ {' ; '.join(print_subgoal(part) for part in item.parts)} ]{by}"


def print_subgoal(subgoal: q.Subgoal) -> str:
    """One subgoal, with its condition and its plus."""
    text = f"{spell_name(subgoal.stream)}({', '.join(print_subgoal_term(term) for term in subgoal.terms)})"
    if subgoal.condition is not None:
        text += f" WHERE {print_expression(subgoal.condition)}"
    if subgoal.plus is None:
        return text
    return (f"({text})" if subgoal.condition is not None else text) + _plus(subgoal.plus)


def _plus(plus: q.KleenePlus) -> str:
    shared = ", ".join(spell_name(name, _OF_TERMS) for name in plus.shared)
    condition = f"| {print_expression(plus.condition)}" if plus.condition is not None else ""
    inside = " ".join(part for part in (shared, condition) if part)
    return f"+{{{inside}}}" if inside else "+"


def print_subgoal_term(term: q.SubgoalTerm) -> str:
    match term:
        case q.Variable(name=name):
            return spell_name(name, _OF_TERMS)
        case q.Anything():
            return "_"
        case q.ConstantTerm(value=value):
            return print_literal(value)
    raise error("INTERNAL", what=f"a {type(term).__name__} has no text")


def print_probabilistic(node: q.Probabilistic) -> str:
    names = ", ".join(spell_name(name) for name in node.attributes)
    return f"PROBABILISTIC {'MARKOV ' if node.markov else ''}({names})"


def print_inference(node: q.Inference) -> str:
    method = node.method.upper() + (f" {node.particles}" if node.particles is not None else "")
    return f"FROM INFERENCE OVER {spell_name(node.over)} USING MODEL {spell_name(node.model)} ({method})"


def print_model(node: q.CreateModel) -> str:
    return f"CREATE MODEL {spell_new(node.name, node.if_not_exists)} FROM {spell_string(node.path)}"
