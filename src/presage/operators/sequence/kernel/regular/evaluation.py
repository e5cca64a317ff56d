"""Evaluation of regular and extended regular sequences: the automaton in product with the chains.

Variables in the key of every goal divide the chains into independent groups, with an automaton for each. Each value of
the other selected variables has an automaton of its own over the same rows. Over values that are not selected, groups
are combined: the sequence holds unless it holds in none of them.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np

from presage.arrays.jit import Floats, Ints
from presage.arrays.rows import changes
from presage.errors import error
from presage.operators.sequence.kernel.facts import Answers, Facts, exact
from presage.operators.sequence.kernel.query import Sequence, dividing
from presage.operators.sequence.kernel.regular.groups import (
    OTHER,
    Beliefs,
    Grouping,
    arrange,
    find_lines,
    group_chains,
    useful_rows,
)
from presage.operators.sequence.kernel.regular.passes import Start, is_alone, run_alone, run_together
from presage.operators.sequence.kernel.regular.symbols import steps_of, symbols

# Each combination of values of selected variables that do not divide the rows takes a pass over all rows.
MOST_BINDINGS = 100_000
Found = tuple[Ints, Ints, Ints, Floats, Ints]  # group, binding, step, probability, arrival


@dataclass
class Evaluated:
    answers: Answers
    beliefs: Beliefs


def evaluate_regular(
    query: Sequence, facts: Facts, given: frozenset[str], before: Beliefs | None = None
) -> Evaluated | None:
    """`given`: the selected variables and those that divide the query. None if a group reads several Markov chains, or
    the automaton would be too large."""
    dividing_names = dividing(query, given)
    others = tuple(sorted(given - set(dividing_names)))
    grouping = group_chains(query, facts, dividing_names, before)
    alone = is_alone(facts, grouping)
    rows = None if alone else arrange(facts, grouping, useful_rows(query, facts))
    if rows is None and not alone:
        return None
    steps = steps_of(query, given)
    # Within a group the dividing variables agree already.
    domains = [_values(facts, before, name) for name in others]
    if math.prod(map(len, domains)) > MOST_BINDINGS:
        what = f"the combinations of values of {', '.join(others)}"
        fix = "select fewer variables, or filter their values"
        raise error("LIMIT", what=what, limit_name="bindings", limit=MOST_BINDINGS, fix=fix)
    found: list[Found] = []
    lines: list[tuple[Ints, Ints, Ints, Ints, Floats]] = [_no_lines(others)]
    for values in itertools.product(*domains):
        bits = symbols(query, facts, steps, dict(zip(others, values, strict=True)))
        if bits is None:
            continue
        start = _start(before, grouping, others, values)
        if rows is None:
            ran = run_alone(facts.sources[0], bits[0], grouping, steps, start, facts.steps)
        else:
            symbol = np.concatenate(bits)[rows.place].astype(np.int64)
            ran = run_together(rows, symbol, grouping, steps, start, facts.steps)
        if ran is None:
            return None
        group, step, chance, arrival = ran.found
        binding = np.tile(np.array(values, np.int64), (len(group), 1))
        found.append((group, binding, step, chance, arrival))
        binding = np.tile(np.array(values, np.int64), (len(ran.group), 1))
        lines.append((ran.group, binding, ran.value, ran.state, ran.mass))
    answers = _answers(query, dividing_names, others, grouping, found)
    seen = {name: values[values != OTHER] for name, values in zip(others, domains, strict=True)}
    group, binding, value, state, mass = (np.concatenate(c) for c in zip(*lines, strict=True))
    chain = grouping.chains(facts)[group]
    return Evaluated(answers, Beliefs(grouping.values[group], binding, chain, value, state, mass, seen))


def _no_lines(others: tuple[str, ...]) -> tuple[Ints, Ints, Ints, Ints, Floats]:
    nothing = np.zeros(0, np.int64)
    return nothing, np.zeros((0, len(others)), np.int64), nothing, nothing, np.zeros(0)


def _values(facts: Facts, before: Beliefs | None, name: str) -> Ints:
    """Values of a variable: those of the rows, those seen before, and OTHER for all future values."""
    seen = [rows.variables[name] for rows in facts.goals if name in rows.variables]
    if before is not None:
        seen.append(before.seen[name])
    values = np.unique(np.concatenate(seen))
    values = values[values >= 0]
    return values if before is None else np.append(OTHER, values)


def _start(before: Beliefs | None, grouping: Grouping, others: tuple[str, ...], values: tuple[int, ...]) -> Start:
    """Beliefs for these values; for values not seen before, the beliefs for OTHER."""
    nothing = np.zeros(0, np.int64)
    if before is None or not len(before.mass):
        return Start(nothing, nothing, nothing, np.zeros(0))
    asked = [v if v in before.seen[name] else OTHER for name, v in zip(others, values, strict=True)]
    lines = np.flatnonzero((before.others == np.array(asked, np.int64)).all(axis=1))
    groups = find_lines(grouping.values, before.groups[lines])
    return Start(groups, before.value[lines], before.state[lines], before.mass[lines])


def _answers(
    query: Sequence, names: tuple[str, ...], others: tuple[str, ...], grouping: Grouping, found: list[Found]
) -> Answers:
    nothing = np.zeros(0, np.int64)
    found = [*found, (nothing, np.zeros((0, len(others)), np.int64), nothing, np.zeros(0), nothing)]
    group, binding, step, chance, arrival = (np.concatenate(c) for c in zip(*found, strict=True))
    columns = {name: binding[:, i] for i, name in enumerate(others)}
    columns |= {name: grouping.values[group, i] for i, name in enumerate(names)}
    selected = np.zeros((len(step), len(query.selected)), np.int64)
    for i, name in enumerate(query.selected):
        selected[:, i] = columns[name]
    if set(names) <= set(query.selected) or not len(step):
        return exact(selected, step, chance, arrival)
    # Groups are independent: the sequence holds unless it holds in none of them.
    keys = np.column_stack([step, selected])
    order = np.lexsort(keys.T[::-1])
    begins = np.flatnonzero(changes(list(keys[order].T), len(order)))
    # Logarithms, because 1 - (1 - p)(1 - q) loses p and q below the rounding of 1.
    with np.errstate(divide="ignore"):
        none = np.add.reduceat(np.log1p(-np.minimum(chance[order], 1.0)), begins)
    single = np.diff(np.append(begins, len(order))) == 1
    some = np.where(single, chance[order][begins], -np.expm1(none))
    last = np.maximum.reduceat(arrival[order], begins)
    return exact(selected[order][begins], step[order][begins], some, last)
