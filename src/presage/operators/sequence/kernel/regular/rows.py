"""Rows of all sources in one list by group, step and chain, for groups in which chains meet."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from presage.arrays.codes import grouped_order
from presage.arrays.jit import Bools, Floats, Ints
from presage.operators.sequence.kernel.facts import CERTAIN, MARKOV, Facts, Source
from presage.operators.sequence.kernel.query import Sequence
from presage.operators.sequence.kernel.regular.groups import Grouping


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
        pieces.append(
            (
                rows + before,
                of_row[rows],
                source.step[rows],
                chain,
                np.full(len(rows), linked, np.int64),
                source.value[rows] + 1,
                source.prev[rows] + 1,
            )
        )
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
    return Chains(
        place[order],
        group[order],
        step[order],
        chain[order],
        linked_[order] > 0,
        value[order],
        prev[order],
        probability[order],
        arrival[order],
        widths,
    )


def arrivals(source: Source) -> Ints:
    return np.zeros(len(source.chain), np.int64) if source.arrival is None else source.arrival
