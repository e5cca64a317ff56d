"""Classification of a sequence: its class with the reason, its safe plan, and the method of evaluation.

Regular, extended regular and safe are the paper's classes; selected variables count as constants. Where the paper's
definition of safe and the preconditions of its algorithm disagree, the algorithm decides: a plan is safe if it computes
the true probability. Sequencing therefore requires that no chain (one key of one stream) is read on both sides, not
only no event: at one step the alternatives of a key exclude each other, and a Markov chain has memory.

Methods of evaluation:
- `regular`: step by step, by the automaton in product with the chains;
- `safe`: by intervals, over all steps;
- `joint`: all chains together, exactly if that is affordable, otherwise by sampling. Also for sequences of a regular
  class that read several Markov chains at once, or that compare an event with a selected value of a later event.
"""

from __future__ import annotations

from dataclasses import dataclass

from presage.operators.sequence.kernel.query import (
    Condition,
    Goal,
    Known,
    Sequence,
    Variable,
    dividing,
    plain_name,
)
from presage.operators.sequence.kernel.safe.plans import Follow, Project, Regular, SafePlan

REGULAR, EXTENDED, SAFE, UNSAFE = "regular", "extended regular", "safe", "unsafe"
STEPWISE, INTERVALS, JOINT = "regular", "safe", "joint"


@dataclass(frozen=True)
class Verdict:
    """`reason` as text, with the deciding `variable` and `goal`, if any. `plan` of a safe query; `groups`: variables
    that divide an extended regular query."""

    kind: str
    reason: str
    variable: str | None = None
    goal: int | None = None
    plan: SafePlan | None = None
    groups: tuple[str, ...] = ()


def classify(query: Sequence) -> Verdict:
    env = frozenset(query.selected)
    open_ = sorted(query.shared - env, key=lambda name: (query.first(name), name))
    far = _not_local(query, env)
    if far is not None:
        names = sorted(plain_name(name) for name in far.variables - env)
        reason = f"the condition {far.text} uses {', '.join(names)}, which no single subgoal has together"
        return Verdict(UNSAFE, reason, names[0])
    if not open_:
        return Verdict(REGULAR, "no variable is shared between subgoals and every condition uses one subgoal")
    obstacles = [(name, _not_independent(query, name)) for name in open_]
    if all(obstacle is None for _, obstacle in obstacles):
        shared = ", ".join(open_)
        reason = f"{shared} is in the key of every subgoal, so its values are independent"
        return Verdict(EXTENDED, reason, open_[0], groups=tuple(open_))
    found = _plan(query, env, True, query.conditions)
    if not isinstance(found, _Obstacle):
        return Verdict(SAFE, _safe_reason(obstacles, query), plan=found)
    return Verdict(UNSAFE, found.reason, found.variable, found.goal)


def _safe_reason(obstacles: list[tuple[str, _Obstacle | None]], query: Sequence) -> str:
    name, obstacle = next((n, o) for n, o in obstacles if o is not None)
    assert obstacle is not None
    last = max(goal.number for goal in query.goals if name in goal.variables)
    text = query.goals[last].text
    return f"{obstacle.reason}; but its subgoals up to {text} can be computed apart from those after them"


@dataclass(frozen=True)
class _Obstacle:
    reason: str
    variable: str | None
    goal: int | None


def _not_local(query: Sequence, env: frozenset[str]) -> Condition | None:
    for condition in query.conditions:
        rest = condition.variables - env
        plus = query.goals[condition.level]
        if _of_each_unfolding(condition, plus):
            if not rest <= plus.variables:
                return condition
        elif not any(rest <= goal.free for goal in query.goals):
            return condition
    return None


def _of_each_unfolding(condition: Condition, plus: Goal) -> bool:
    """Whether a condition may hold for some unfoldings of a match and not for others."""
    return condition.unfolding and bool(condition.variables & (plus.variables - plus.free))


def _not_independent(query: Sequence, name: str) -> _Obstacle | None:
    """Why the values of a variable are not independent of each other; None if they are."""
    for goal in query.goals:
        if name not in goal.variables:
            return _Obstacle(f"{name} is shared, but not with {goal.text}", name, goal.number)
        if goal.plus is not None and name not in goal.plus:
            return _Obstacle(f"the unfoldings of {goal.text} do not share {name}", name, goal.number)
        if not goal.key_positions(name):
            return _Obstacle(f"{name} is not in the key of {goal.text}", name, goal.number)
    for goal in query.goals:
        for other in query.goals[: goal.number]:
            if goal.source == other.source and not goal.key_positions(name) & other.key_positions(name):
                return _Obstacle(
                    f"{name} is in another part of the key in {other.text} than in {goal.text}", name, goal.number
                )
    return None


def _grounded(query: Sequence, name: str | None) -> bool:
    """Whether a variable's values are independent in the shortest prefix with all its goals."""
    last = max((goal.number for goal in query.goals if name in goal.variables), default=-1)
    return name is not None and _not_independent(query.prefix(last + 1), name) is None


def _plan(query: Sequence, env: frozenset[str], point: bool, conditions: tuple[Condition, ...]) -> SafePlan | _Obstacle:
    """`point`: evaluated at single steps, not during intervals. `conditions`: of the whole sequence."""
    length = len(query.goals)
    open_ = query.shared - env
    if not open_:
        return Regular(length, env)
    obstacles = []
    for name in sorted(open_, key=lambda n: (query.first(n), n)):
        obstacle = _not_independent(query, name)
        if obstacle is None:
            below = _plan(query, env | {name}, point, conditions)
            return below if isinstance(below, _Obstacle) else Project(name, below)
        obstacles.append(obstacle)
    if length == 1:
        return obstacles[0]
    before, last = query.prefix(length - 1), query.goals[-1]
    obstacle = _not_apart(before, last, env, point, conditions)
    if obstacle is not None:
        # An obstacle to the projection of a shared variable is more informative, if no prefix removes it.
        return next((o for o in obstacles if o.goal != last.number and not _grounded(query, o.variable)), obstacle)
    below = _plan(before, env, False, conditions)
    return below if isinstance(below, _Obstacle) else Follow(below, last.number)


def _not_apart(
    before: Sequence, last: Goal, env: frozenset[str], point: bool, conditions: tuple[Condition, ...]
) -> _Obstacle | None:
    """Why the last subgoal cannot be sequenced after a plan for the others; None if it can."""
    common = (before_variables(before) & last.variables) - env
    if common:
        name = min(common)
        return _Obstacle(f"{name} is shared with {last.text}, and not with all subgoals before it", name, last.number)
    if last.plus is not None and last.plus - env:
        name = min(last.plus - env)
        return _Obstacle(f"the unfoldings of {last.text} share {name}", name, last.number)
    apart = _unlike_unfoldings(before, last, env)
    if apart:
        name = min(apart)
        return _Obstacle(
            f"the first unfolding of {last.text} compares {name} otherwise than those after it", name, last.number
        )
    for goal in before.goals:
        if may_meet(goal, last, env):
            return _Obstacle(f"{goal.text} and {last.text} may read the same key of {last.stream}", None, last.number)
    selective = _turns_down(before, last, env, conditions)
    many = last.source in before.markov and not _one_chain(last, env)
    reason = None
    if not point and selective:
        reason = f"a candidate for {last.text} may be turned down by a condition, and further subgoals follow"
    elif not point and many:
        reason = f"{last.text} reads several Markov chains at once, and further subgoals follow"
    elif last.plus is not None and selective and many:
        reason = f"a candidate for {last.text} may be turned down, and it reads several Markov chains at once"
    return None if reason is None else _Obstacle(reason, None, last.number)


def _unlike_unfoldings(before: Sequence, last: Goal, env: frozenset[str]) -> frozenset[str]:
    """Variables with values that only the first unfolding of a Kleene plus compares, or that it compares only after an
    event was chosen: one interval then does not determine which matches wait."""
    if last.plus is None:
        return frozenset()
    return (before_variables(before) ^ last.plus) & last.variables & env


def _turns_down(before: Sequence, last: Goal, env: frozenset[str], conditions: tuple[Condition, ...]) -> bool:
    """Whether a candidate may be rejected after it was chosen: by its own event, by a condition that also reads
    variables with values, or because it differs from the selected value."""
    if last.selective or (last.free & env) - before_variables(before):
        return True
    for condition in conditions:
        rest = condition.variables - env
        if (rest and rest <= last.free) or (condition.level == last.number and _of_each_unfolding(condition, last)):
            return True
    return False


def before_variables(query: Sequence) -> frozenset[str]:
    return frozenset().union(*(goal.free for goal in query.goals))


def _one_chain(goal: Goal, env: frozenset[str]) -> bool:
    return all(isinstance(t := goal.terms[i], Known) or (isinstance(t, Variable) and t.name in env) for i in goal.key)


def may_meet(a: Goal, b: Goal, env: frozenset[str]) -> bool:
    """Whether two goals can read the same chain."""
    if a.source != b.source:
        return False
    return not any(
        isinstance(s := a.terms[i], Known) and isinstance(t := b.terms[i], Known) and s.value != t.value for i in a.key
    )


def method_of(query: Sequence, verdict: Verdict) -> str:
    if verdict.kind in (REGULAR, EXTENDED):
        return STEPWISE if reads_one_chain(query, verdict) and looks_ahead(query, verdict) is None else JOINT
    return INTERVALS if verdict.kind == SAFE else JOINT


def given_of(query: Sequence, verdict: Verdict) -> frozenset[str]:
    """Variables that have values while the automaton runs."""
    return frozenset({*query.selected, *verdict.groups})


def looks_ahead(query: Sequence, verdict: Verdict) -> Condition | None:
    """A condition on an event that also reads a selected variable of a later event; None if there is none."""
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
