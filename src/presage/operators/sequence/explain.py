"""EXPLAIN of sequences and inference: class and reason, method, cost and state."""

from __future__ import annotations

from collections.abc import Callable

from presage.operators.sequence.classify import INTERVALS, JOINT, STEPWISE, UNSAFE, looks_ahead
from presage.operators.sequence.inference.kernel import STEPWISE as INFERRED_STEPWISE
from presage.operators.sequence.kernel.query import dividing
from presage.operators.sequence.kernel.safe.plans import Follow, Project, Regular, SafePlan
from presage.operators.sequence.kernel.spec import worlds_needed
from presage.operators.sequence.nodes import Infer, SequenceMatch
from presage.plan.explain import Report
from presage.plan.nodes import Node

INDENT = "  "
MANY_WORLDS = 1_000_000  # take seconds, even for a small query


def describe_sequence(node: SequenceMatch) -> Report:
    verdict, tables = node.verdict, node.tables
    said = [f"class: {verdict.kind}: {verdict.reason}", *_ways(node)]
    lines = [f"kernel  sequence of {_counted(len(tables.goals), 'subgoal')}", *(INDENT * 4 + line for line in said)]
    more = f" and value of {', '.join(_others(node))}" if _others(node) else ""
    state = f"how likely each state of the automaton is, by key{more}; it does not grow with the stream"
    if tables.method != STEPWISE or tables.by is not None:
        state = "all rows, until the input ends"
    warnings: tuple[str, ...] = ()
    if tables.method == JOINT and tables.by is None:
        warnings = (f"{_why_joint(node)}; where that is too much, its rows are sampled and say so",)
        if _worlds(node) > MANY_WORLDS:
            many = f"ERROR {tables.error:g} takes {_worlds(node):,} random worlds"
            warnings += (f"{many} where it is sampled; ten times the error takes a hundredth of them",)
    return Report("\n".join(lines), f"sequence: {_spread(node)}", f"sequence: {state}", warnings)


def _others(node: SequenceMatch) -> list[str]:
    """Given variables that do not divide the rows: each of their values has an automaton over all rows."""
    given = frozenset(node.tables.given)
    return sorted(given - set(dividing(node.tables.query, given)))


def _spread(node: SequenceMatch) -> str:
    if node.spread_by():
        query = node.tables.query
        names = [name for name in dividing(query, frozenset(node.tables.given)) if name in query.selected]
        return f"parallel, partitioned by [{', '.join(names)}]"
    if node.tables.by is not None or node.tables.method != STEPWISE:
        return "one partition, because it looks at all rows together"
    if any(isinstance(below, Infer) for below in node.walk()):
        return "one partition, because its rows are inferred"
    if node.tables.query.markov:
        return "one partition, because the step before an event's may be another key's"
    return "one partition, because no selected variable is in the key of every subgoal"


def describe_infer(node: Infer) -> Report:
    lines = [
        f"kernel  {node.label()}",
        INDENT * 4 + f"a hidden Markov model of {_counted(len(node.model.states), 'state')}",
    ]
    state = "all readings, until the input ends"
    if node.method in INFERRED_STEPWISE:
        state = "one belief for each key" if node.method == "filter" else f"{node.particles:,} particles for each key"
    if node.method == "particles":
        lines += [
            INDENT * 4 + f"a bootstrap filter of {_counted(node.particles, 'particle')}, resampled at every step",
            INDENT * 4 + "cost: linear in particles, whatever the number of states",
        ]
    key = ", ".join(node.key)
    warnings: tuple[str, ...] = ()
    if node.method in INFERRED_STEPWISE and node.model.step is not None and node.model.forget is None:
        warnings = (
            f"model {node.name} forgets no key: one that falls silent has rows at every step, for ever; "
            'let it "forget" such keys',
        )
    return Report("\n".join(lines), f"inference: parallel, partitioned by [{key}]", f"inference: {state}", warnings)


def _ways(node: SequenceMatch) -> list[str]:
    """The method, and its cost."""
    tables, verdict = node.tables, node.verdict
    if tables.by is not None:
        what = "most likely value of each step" if tables.by == "mle" else "most likely path of each key"
        return [f"computed on the {what} alone: a comparison, not a probability"]
    if tables.method == STEPWISE:
        groups = f", one for each value of {', '.join(tables.given)}" if tables.given else ""
        return [
            f"exact, step by step: an automaton in product with the chains it reads{groups}",
            "cost: linear in rows" + (f", for each value of {', '.join(_others(node))}" if _others(node) else ""),
        ]
    if tables.method == INTERVALS:
        assert verdict.plan is not None
        return [
            f"exact, by intervals of steps: {show_plan(verdict.plan, node)}",
            "cost: quadratic in steps, linear in keys",
        ]
    return [
        "exact by all chains together while there are few joint states, else by sampling",
        f"sampled: error {tables.error:g} with confidence {tables.confidence:g}, in {_worlds(node):,} random worlds",
    ]


def _worlds(node: SequenceMatch) -> int:
    return worlds_needed(node.tables.error, node.tables.confidence)


def _why_joint(node: SequenceMatch) -> str:
    if node.verdict.kind == UNSAFE:
        return f"no plan computes this sequence exactly in every case: {node.verdict.reason}"
    ahead = looks_ahead(node.tables.query, node.verdict)
    if ahead is not None:
        return f"the condition {ahead.text} compares an event with a selected value of a later one"
    return "it reads several Markov chains at once, whose values must be known together"


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" + ("" if count == 1 else "s")


def show_plan(plan: SafePlan, node: SequenceMatch) -> str:
    """A safe plan on one line."""
    goals = node.tables.query.goals
    match plan:
        case Regular(goals=count, env=env):
            inside = " ; ".join(goal.text for goal in goals[:count])
            return f"reg⟨{', '.join(sorted(env))}⟩({inside})"
        case Project(variable=name, input=below):
            return f"π₋{name}({show_plan(below, node)})"
        case Follow(input=below, goal=number):
            return f"seq({show_plan(below, node)}, {goals[number].text})"


DESCRIBE: dict[type[Node], Callable[..., Report]] = {SequenceMatch: describe_sequence, Infer: describe_infer}
