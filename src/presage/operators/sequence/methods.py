"""How a classified sequence is computed.

`regular`: step by step, by the automaton in product with the chains. `safe`: by intervals, over all steps. `joint`: by
all chains together, exactly if that is affordable, else by sampling. What is regular by its class reads several Markov
chains at once now and then: their values must be known together, so that is joint, too. So is a sequence with a
condition that compares an event with a selected value of a later one: while steps come, that value is not known yet.
"""

from __future__ import annotations

from presage.operators.sequence.classify import EXTENDED, REGULAR, SAFE, Verdict
from presage.operators.sequence.kernel.query import Condition, Known, Sequence, Variable, dividing

STEPWISE, INTERVALS, JOINT = "regular", "safe", "joint"


def method_of(query: Sequence, verdict: Verdict) -> str:
    if verdict.kind in (REGULAR, EXTENDED):
        return STEPWISE if reads_one_chain(query, verdict) and looks_ahead(query, verdict) is None else JOINT
    return INTERVALS if verdict.kind == SAFE else JOINT


def given_of(query: Sequence, verdict: Verdict) -> frozenset[str]:
    """Variables that have values while the automaton runs."""
    return frozenset({*query.selected, *verdict.groups})


def looks_ahead(query: Sequence, verdict: Verdict) -> Condition | None:
    """A condition on an event that also speaks of a selected variable which only a later event has."""
    given = given_of(query, verdict)
    chosen = given - set(dividing(query, given))
    for condition in query.conditions:
        asked = condition.variables - given
        owner = next((goal.number for goal in query.goals if asked <= goal.free), condition.level)
        if condition.unfolding and asked <= query.goals[condition.level].variables:
            owner = condition.level
        if asked and any(query.first(name) > owner for name in condition.variables & chosen):
            return condition
    return None


def reads_one_chain(query: Sequence, verdict: Verdict) -> bool:
    """Whether a group reads one Markov chain at most."""
    divides = dividing(query, given_of(query, verdict))
    keys = set()
    for goal in query.goals:
        if goal.source in query.markov:
            terms = tuple(goal.terms[i] for i in goal.key)
            if not all(isinstance(t, Known) or (isinstance(t, Variable) and t.name in divides) for t in terms):
                return False
            keys.add((goal.source, tuple(repr(t) for t in terms)))
    return len(keys) <= 1
