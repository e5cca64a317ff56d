"""Facts of a regular or extended regular sequence in, its answers out: the automaton in product with the chains.

Variables that stand in the key of every goal divide the chains into groups that have nothing to do with each other: an
automaton for each. Other variables that have values (selected ones) ask for an automaton for each value, over the same
rows. Over values that nobody asked for, groups are combined: one of them holds, unless none does.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

import numpy as np

from presage.arrays.codes import grouped_order
from presage.arrays.jit import Bools, Floats, Ints
from presage.arrays.rows import changes
from presage.probability.kernel.automaton import Steps, build_automaton
from presage.probability.kernel.facts import CERTAIN, MARKOV, Answers, Facts, Source, exact
from presage.probability.kernel.query import Sequence, dividing
from presage.probability.kernel.regular_loop import chances, chances_of_chain
from presage.probability.kernel.symbols import steps_of, symbols

OTHER = -1  # a value of a variable that has not been seen


@dataclass
class Beliefs:
    """What is known after the last step: for a group (the values of the dividing variables) and values of the others
    (OTHER: none that was seen), how likely a state of the automaton (as bits) is, together with a value of the group's
    Markov chain (NOTHING: no event). Lines of no mass are left out, and groups that stand as they began. `seen`: values
    of the other variables."""

    groups: Ints  # (lines, dividing variables)
    others: Ints  # (lines, other variables)
    chain: Ints  # of the Markov source, -1 if the group has none
    value: Ints
    state: Ints
    mass: Floats
    seen: dict[str, Ints] = field(default_factory=dict)


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
    rows = arrange(facts, grouping, _useful(query, facts))
    if rows is None:
        return None
    steps = steps_of(query, given)
    # Within a group the dividing variables agree already.
    domains = [_values(facts, before, name) for name in others]
    found: list[tuple[Ints, Ints, Ints, Floats, Ints]] = []
    lines: list[tuple[Ints, Ints, Ints, Ints, Floats]] = [_no_lines(others)]
    for values in itertools.product(*domains):
        bits = symbols(query, facts, steps, dict(zip(others, values, strict=True)))
        if bits is None:
            continue
        one = _Pass(rows, np.concatenate([bits[s] for s in range(len(bits))])[rows.place], grouping, steps)
        start = _start(before, grouping, others, values)
        ran = one.run(start, facts.steps)
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
    """Values that a variable may have: those of the rows, those seen before, and one for all that are still to come."""
    seen = [rows.variables[name] for rows in facts.goals if name in rows.variables]
    if before is not None:
        seen.append(before.seen[name])
    values = np.unique(np.concatenate(seen))
    values = values[values >= 0]
    return values if before is None else np.append(OTHER, values)


# -- groups ---------------------------------------------------------------------------------------------------


@dataclass
class Grouping:
    """`codes`: the group of each chain, by source, -1 where no goal reads it; `values`: those of the dividing variables
    by group."""

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
        for i, name in enumerate(names):
            values[source.chain, i] = facts.goals[goal].variables[name]
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
    """Chains that a state remembers belong to their groups, though no row of them has come now."""
    if before is None:
        return
    known = np.flatnonzero(before.chain >= 0)
    groups = _find(grouping.values, before.groups[known])
    for source, codes in zip(facts.sources, grouping.codes, strict=True):
        if source.kind == MARKOV:
            codes[before.chain[known]] = groups


def _chains_read(query: Sequence, facts: Facts, source: int) -> Bools:
    found = np.zeros(facts.sources[source].chains, np.bool_)
    for goal in query.goals:
        if goal.source == source:
            rows = facts.goals[goal.number]
            found[facts.sources[source].chain[rows.candidate if rows.reads is None else rows.reads]] = True
    return found


# -- rows -----------------------------------------------------------------------------------------------------


@dataclass
class Chains:
    """Rows of all sources, by group, step, and in a step those of the Markov chain first. `value` and `prev` of its
    rows count from 1; 0 is no event. `place`: where a row stands among those of all sources, one after the other."""

    place: Ints
    group: Ints
    step: Ints
    chain: Ints
    linked: Bools
    value: Ints
    prev: Ints
    probability: Floats
    arrival: Ints
    widths: Ints  # values of each group's Markov chain, and one for none


def _useful(query: Sequence, facts: Facts) -> list[Bools]:
    """By source, the rows that mean something: candidates, and all rows of Markov chains."""
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
        # Events of a certain stream all happen, each for itself.
        chain = (rows if source.kind == CERTAIN else source.chain[rows]) + first
        pieces.append(
            (rows + before, of_row[rows], source.step[rows], chain, np.full(len(rows), linked, np.int64),
             source.value[rows] + 1, source.prev[rows] + 1)
        )  # fmt: skip
        first += max(source.chains, len(source.chain))
        before += len(source.chain)
    place, group, step, chain, linked_, value, prev = (np.concatenate(p) for p in zip(*pieces, strict=True))
    probability = np.concatenate([source.probability for source in facts.sources])[place]
    arrival = np.concatenate([_arrivals(source) for source in facts.sources])[place]
    # Those of one source are sorted by step and chain already.
    order, _ = grouped_order(group, groups)
    if len(facts.sources) > 1:
        by_step, _ = grouped_order(2 * step + 1 - linked_, 2 * facts.steps + 2)
        order = by_step[grouped_order(group[by_step], groups)[0]]
    return Chains(
        place[order], group[order], step[order], chain[order], linked_[order] > 0, value[order], prev[order],
        probability[order], arrival[order], widths,
    )  # fmt: skip


def _arrivals(source: Source) -> Ints:
    return np.zeros(len(source.chain), np.int64) if source.arrival is None else source.arrival


# -- one pass of the automaton --------------------------------------------------------------------------------


@dataclass
class Start:
    """Lines of beliefs to begin with, by group; the others stand at the beginning."""

    group: Ints
    value: Ints
    state: Ints
    mass: Floats


@dataclass
class Ran:
    found: tuple[Ints, Ints, Floats, Ints]  # group, step, chance, arrival of the step's last row
    group: Ints
    value: Ints
    state: Ints
    mass: Floats


@dataclass
class _Pass:
    """All groups, for one choice of values of the other variables."""

    rows: Chains
    symbol: Ints  # as bits
    grouping: Grouping
    steps: Steps

    def run(self, start: Start, steps: int) -> Ran | None:
        rows, groups = self.rows, len(self.grouping.values)
        widths = rows.widths.copy()
        np.maximum.at(widths, start.group, start.value + 2)
        kept = np.flatnonzero(rows.linked | (self.symbol != 0))
        automaton = build_automaton(self.steps, self.symbol[kept], start.state, several=_several(rows, kept))
        if automaton is None:
            return None
        symbol = np.searchsorted(automaton.symbols, self.symbol[kept])
        group, step = rows.group[kept], rows.step[kept]
        begins = np.flatnonzero(changes([group, step], len(kept)))
        runs = np.append(begins, len(kept))
        run_group, run_step = group[begins], step[begins]
        run_bounds = np.searchsorted(run_group, np.arange(groups + 1))
        found = np.zeros(len(begins))
        size = len(automaton.states)
        starts = np.cumsum(widths * size) - widths * size
        beliefs = np.zeros(int((widths * size).sum()))
        beliefs[starts] = 1.0
        beliefs[starts[start.group]] = 0.0
        places = {int(bits): i for i, bits in enumerate(automaton.states)}
        at = np.array([places[int(bits)] for bits in start.state], np.int64)
        np.add.at(beliefs, starts[start.group] + (start.value + 1) * size + at, start.mass)
        if not rows.linked.any() and (widths == 1).all():
            chances(
                runs, run_bounds, rows.chain[kept], symbol, rows.probability[kept], automaton.follow,
                automaton.accepts, automaton.united, beliefs.reshape(groups, size), found,
            )  # fmt: skip
        else:
            last = np.full(groups, -1, np.int64)
            own = np.append(0, np.cumsum(rows.linked[kept]))
            linked = runs[:-1] + own[runs[1:]] - own[runs[:-1]]
            chances_of_chain(
                widths, starts, runs, run_bounds, run_step, linked, rows.chain[kept], symbol, rows.value[kept],
                rows.prev[kept], rows.probability[kept], automaton.follow, automaton.accepts, automaton.united, last,
                steps, beliefs, found,
            )  # fmt: skip
        kept_lines = np.flatnonzero(beliefs > 0.0)
        owner = np.searchsorted(starts, kept_lines, side="right") - 1
        within = kept_lines - starts[owner]
        value, state = within // size - 1, automaton.states[within % size]
        moved = np.zeros(groups, np.bool_)
        moved[owner[(value >= 0) | (state != 0)]] = True
        # Who stands as at the beginning needs no line.
        lines = np.flatnonzero(moved[owner])
        positive = np.flatnonzero(found > 0.0)
        last = np.maximum.reduceat(rows.arrival[kept], begins) if len(begins) else begins
        return Ran(
            (run_group[positive], run_step[positive], found[positive], last[positive]),
            owner[lines], value[lines], state[lines], beliefs[kept_lines[lines]],
        )  # fmt: skip


def _several(rows: Chains, kept: Ints) -> bool:
    """Whether chains meet at a step of a group."""
    if len(kept) < 2:
        return False
    group, step, chain = rows.group[kept], rows.step[kept], rows.chain[kept]
    return bool(((group[1:] == group[:-1]) & (step[1:] == step[:-1]) & (chain[1:] != chain[:-1])).any())


def _start(before: Beliefs | None, grouping: Grouping, others: tuple[str, ...], values: tuple[int, ...]) -> Start:
    """What was known for these values; for those that were not seen, what was known for them all."""
    nothing = np.zeros(0, np.int64)
    if before is None or not len(before.mass):
        return Start(nothing, nothing, nothing, np.zeros(0))
    asked = [v if v in before.seen[name] else OTHER for name, v in zip(others, values, strict=True)]
    lines = np.flatnonzero((before.others == np.array(asked, np.int64)).all(axis=1))
    groups = _find(grouping.values, before.groups[lines])
    return Start(groups, before.value[lines], before.state[lines], before.mass[lines])


def _find(values: Ints, wanted: Ints) -> Ints:
    """The place of each wanted line in sorted lines."""
    if not values.shape[1]:
        return np.zeros(len(wanted), np.int64)
    _, codes = np.unique(np.concatenate([values, wanted]), axis=0, return_inverse=True)
    found: Ints = codes.reshape(-1)[len(values) :]
    return found


# -- answers --------------------------------------------------------------------------------------------------


def _answers(
    query: Sequence, names: tuple[str, ...], others: tuple[str, ...], grouping: Grouping,
    found: list[tuple[Ints, Ints, Ints, Floats, Ints]],
) -> Answers:  # fmt: skip
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
    # One of the groups holds unless none does: they have nothing to do with each other.
    keys = np.column_stack([step, selected])
    order = np.lexsort(keys.T[::-1])
    begins = np.flatnonzero(changes(list(keys[order].T), len(order)))
    none = np.multiply.reduceat(1.0 - chance[order], begins)
    single = np.diff(np.append(begins, len(order))) == 1
    some = np.where(single, chance[order][begins], 1.0 - none)
    last = np.maximum.reduceat(arrival[order], begins)
    return exact(selected[order][begins], step[order][begins], some, last)
