"""Independent groups of chains: their rows, and their beliefs after a step."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from presage.arrays.codes import first_of, grouped_order
from presage.arrays.jit import Bools, Floats, Ints
from presage.operators.sequence.kernel.facts import CERTAIN, MARKOV, Facts, Source
from presage.operators.sequence.kernel.query import Sequence

OTHER = -1  # a value of a variable that has not been seen


@dataclass
class Beliefs:
    """The probability `mass` after the last step of a state of the automaton (as bits) and a value of the group's
    Markov chain (NOTHING: no event), by group (the values of the dividing variables) and values of the others (OTHER:
    not seen). Lines without mass and groups in the initial state are left out. `seen`: values of the other
    variables."""

    groups: Ints  # (lines, dividing variables)
    others: Ints  # (lines, other variables)
    chain: Ints  # of the Markov source, -1 if the group has none
    value: Ints
    state: Ints
    mass: Floats
    seen: dict[str, Ints] = field(default_factory=dict)


@dataclass
class Grouping:
    """`codes`: the group of each chain, by source, -1 if no goal reads it; `values` of the dividing variables by
    group."""

    codes: list[Ints]
    values: Ints

    def chains(self, facts: Facts) -> Ints:
        """The Markov chain of each group, -1 for none."""
        found = np.full(len(self.values), -1, np.int64)
        for source, codes in zip(facts.sources, self.codes, strict=True):
            if source.kind == MARKOV:
                found[codes[codes >= 0]] = np.flatnonzero(codes >= 0)
        return found


def group_chains(query: Sequence, facts: Facts, names: tuple[str, ...], before: Beliefs | None) -> Grouping:
    read = [_chains_read(query, facts, number) for number in range(len(facts.sources))]
    if not names:
        grouping = Grouping([np.where(one, 0, -1) for one in read], np.zeros((1, 0), np.int64))
        _keep_chains(grouping, facts, before)
        return grouping
    tuples = []
    for number, source in enumerate(facts.sources):
        goal = next(goal.number for goal in query.goals if goal.source == number)
        values = np.full((source.chains, len(names)), -1, np.int64)
        first = first_of(source.chain, source.chains)
        for i, name in enumerate(names):
            own = facts.goals[goal].variables[name]
            values[:, i] = np.where(first >= 0, own[first], -1) if len(own) else -1
        tuples.append(values)
    carried = before.groups if before is not None else np.zeros((0, len(names)), np.int64)
    everything = np.concatenate([*tuples, carried])
    values, numbers = np.unique(everything, axis=0, return_inverse=True)
    bounds = np.cumsum([len(t) for t in tuples])
    parts = np.split(numbers.reshape(-1), bounds)
    known = np.logical_and.reduce(values >= 0, axis=1)
    codes = [np.where(one & known[part], part, -1) for one, part in zip(read, parts, strict=False)]
    grouping = Grouping(codes, values)
    _keep_chains(grouping, facts, before)
    return grouping


def _keep_chains(grouping: Grouping, facts: Facts, before: Beliefs | None) -> None:
    """Chains of the carried beliefs stay in their groups, even without rows in this step."""
    if before is None:
        return
    known = np.flatnonzero(before.chain >= 0)
    groups = find_lines(grouping.values, before.groups[known])
    for source, codes in zip(facts.sources, grouping.codes, strict=True):
        if source.kind == MARKOV:
            codes[before.chain[known]] = groups


def _chains_read(query: Sequence, facts: Facts, source: int) -> Bools:
    if facts.sources[source].kind != MARKOV:
        # Rows without a meaning are left out later; of Markov chains all rows count.
        return np.ones(facts.sources[source].chains, np.bool_)
    found = np.zeros(facts.sources[source].chains, np.bool_)
    for goal in query.goals:
        if goal.source == source:
            rows = facts.goals[goal.number]
            found[facts.sources[source].chain[rows.candidate if rows.reads is None else rows.reads]] = True
    return found


def find_lines(values: Ints, wanted: Ints) -> Ints:
    """The position of each wanted line in sorted lines."""
    if not values.shape[1]:
        return np.zeros(len(wanted), np.int64)
    _, codes = np.unique(np.concatenate([values, wanted]), axis=0, return_inverse=True)
    found: Ints = codes.reshape(-1)[len(values) :]
    return found


@dataclass
class Chains:
    """Rows of all sources by group and step, in a step those of the Markov chain first. `value` and `prev` of its rows
    count from 1; 0 is no event. `place`: the position of a row in the concatenation of all sources."""

    place: Ints
    group: Ints
    step: Ints
    chain: Ints
    linked: Bools
    value: Ints
    prev: Ints
    probability: Floats
    arrival: Ints
    widths: Ints  # the number of values of each group's Markov chain, plus one for none


def useful_rows(query: Sequence, facts: Facts) -> list[Bools]:
    """By source, the rows that have an effect: candidates, and all rows of Markov chains."""
    found = [np.full(len(source.chain), source.kind == MARKOV) for source in facts.sources]
    for goal in query.goals:
        found[goal.source] |= facts.goals[goal.number].candidate
    return found


def arrange(facts: Facts, grouping: Grouping, useful: list[Bools]) -> Chains | None:
    """None if a group has several Markov chains."""
    groups = len(grouping.values)
    pieces: list[tuple[Ints, ...]] = []
    first, before, widths, owned = 0, 0, np.ones(groups, np.int64), np.zeros(groups, np.bool_)
    for number, source in enumerate(facts.sources):
        linked = source.kind == MARKOV
        of_row = grouping.codes[number][source.chain]
        rows = np.flatnonzero((of_row >= 0) & useful[number])
        if linked and len(rows):
            known = grouping.codes[number][np.unique(source.chain[rows])]
            if len(np.unique(known)) < len(known) or owned[known].any():
                return None
            owned[known] = True
            np.maximum.at(widths, of_row[rows], np.maximum(source.value[rows], source.prev[rows]) + 2)
        # Each event of a certain stream is a chain of its own.
        chain = (rows if source.kind == CERTAIN else source.chain[rows]) + first
        own = rows + before, of_row[rows], source.step[rows], chain, np.full(len(rows), linked, np.int64)
        pieces.append((*own, source.value[rows] + 1, source.prev[rows] + 1))
        first += max(source.chains, len(source.chain))
        before += len(source.chain)
    place, group, step, chain, linked_, value, prev = (np.concatenate(p) for p in zip(*pieces, strict=True))
    probability = np.concatenate([source.probability for source in facts.sources])[place]
    arrival = np.concatenate([arrivals(source) for source in facts.sources])[place]
    # Rows of one source are already sorted by step and chain.
    order, _ = grouped_order(group, groups)
    if len(facts.sources) > 1:
        by_step, _ = grouped_order(2 * step + 1 - linked_, 2 * facts.steps + 2)
        order = by_step[grouped_order(group[by_step], groups)[0]]
    columns = place, group, step, chain, linked_, value, prev, probability, arrival
    place, group, step, chain, linked_, value, prev, probability, arrival = (column[order] for column in columns)
    return Chains(place, group, step, chain, linked_ > 0, value, prev, probability, arrival, widths)


def arrivals(source: Source) -> Ints:
    return np.zeros(len(source.chain), np.int64) if source.arrival is None else source.arrival
