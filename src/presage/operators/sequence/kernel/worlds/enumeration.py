"""Exact answers of a sequence of any class over all distinct worlds, if that is affordable.

Each binding of the selected variables is evaluated by itself: only registers on a path to that answer count, and only
as long as they can still lead to it. The rest is run over weighted columns (see `enumeration_loop`).
"""

from __future__ import annotations

import numpy as np

from presage.arrays.jit import Bools, Floats, Ints
from presage.operators.sequence.kernel.facts import CERTAIN, MARKOV, ROUNDING, Answers, Facts, exact
from presage.operators.sequence.kernel.query import Sequence
from presage.operators.sequence.kernel.worlds.enumeration_loop import OK, Draws, Options, Words, enumerated
from presage.operators.sequence.kernel.worlds.outcomes import Outcomes, gathered, needed_draws, outcomes_of
from presage.operators.sequence.kernel.worlds.registers import NOWHERE, START, Edges, Registers
from presage.operators.sequence.kernel.worlds.sampling import count_worlds

MOST_COLUMNS = 100_000
MOST_EDGES = 4_000_000
WORK_PER_COLUMN = 1_000  # alternatives tried in total for each allowed column: about ten seconds
MOST_WORDS = 1 << 22  # of the bit sets of registers that each draw reads


def enumerate_worlds(query: Sequence, facts: Facts, most: int = MOST_COLUMNS) -> Answers | None:
    """None if it takes more than `most` distinct columns at once, or too many alternatives."""
    if all(source.kind == CERTAIN for source in facts.sources):
        # There is one world.
        values, at, held = count_worlds(query, facts, 1, 0)
        return exact(values, at, held.astype(np.float64))
    outcomes = outcomes_of(query, facts)
    registers = Registers(query, facts, outcomes)
    edges = registers.edges(0, facts.steps, MOST_EDGES)
    if edges is None:
        return None
    graph = _Graph(edges, registers.count, outcomes)
    budget = most * WORK_PER_COLUMN
    answers = registers.answers
    bindings, steps, probabilities = [], [], []
    for line, answer in enumerate(answers.numbers.tolist()):
        done = _run(graph.towards(answer), outcomes, answer, facts.steps, most, budget)
        if done is None:
            return None
        chances, work = done
        budget -= work
        at = np.flatnonzero(chances > 0.0)
        bindings.append(np.repeat(answers.values[line : line + 1], len(at), axis=0))
        steps.append(at)
        probabilities.append(chances[at])
    if not bindings:
        return exact(np.zeros((0, len(query.selected)), np.int64), np.zeros(0, np.int64), np.zeros(0))
    return exact(np.concatenate(bindings), np.concatenate(steps), np.concatenate(probabilities))


class _Graph:
    """Edges by origin and by target."""

    def __init__(self, edges: Edges, registers: int, outcomes: Outcomes) -> None:
        self.edges = edges
        self.step = outcomes.step[outcomes.event_draw[edges.event]]
        numbers = np.arange(registers + 1)
        self.by_origin = np.argsort(edges.origin, kind="stable")
        self.origins = np.searchsorted(edges.origin[self.by_origin], numbers)
        self.by_target = np.argsort(edges.target, kind="stable")
        self.targets = np.searchsorted(edges.target[self.by_target], numbers)

    def towards(self, answer: int) -> Edges:
        """The edges that can affect this answer."""
        useful, new = np.array([answer]), np.array([answer])
        while len(new):
            before = np.unique(self.edges.origin[gathered(self.by_target, self.targets, new)[0]])
            new = np.setdiff1d(before[before != START], useful)
            useful = np.union1d(useful, new)
        into, _ = gathered(self.by_target, self.targets, useful)
        out, _ = gathered(self.by_origin, self.origins, useful)
        chosen = np.union1d(into[self.edges.origin[into] == START], out)
        return self._alive(chosen, useful, answer)

    def _alive(self, chosen: Ints, useful: Ints, answer: int) -> Edges:
        """Without edges that come too late for the answer, and without targets that do."""
        origin, target, step = self.edges.origin[chosen], self.edges.target[chosen], self.step[chosen]
        place = np.searchsorted(useful, target)
        place[place == len(useful)] = 0
        known = useful[place] == target
        own = np.where(origin == START, len(useful), np.searchsorted(useful, origin))
        until = np.full(len(useful) + 1, -1, np.int64)
        while True:
            until[np.searchsorted(useful, answer)] = np.iinfo(np.int64).max
            live = known & (until[place] > step)
            later = until.copy()
            np.maximum.at(later, own[live], step[live])
            if (later == until).all():
                break
            until = later
        kept = np.where(origin == START, live, step <= until[own])
        return Edges(self.edges.event[chosen][kept], origin[kept], np.where(live, target, NOWHERE)[kept])


def _run(
    edges: Edges, outcomes: Outcomes, answer: int, steps: int, most: int, budget: int
) -> tuple[Floats, int] | None:
    draws, remembered, of_edge = _ordered(edges, outcomes)
    slots, place = np.unique(np.append(edges.origin[edges.origin != START], answer), return_inverse=True)
    words = (len(slots) + 63) // 64
    if len(draws) * words > MOST_WORDS:
        return None
    origin = np.full(len(edges.origin), -1, np.int64)
    origin[edges.origin != START] = place[:-1]
    target = np.where(edges.target == NOWHERE, -1, np.searchsorted(slots, edges.target))
    masks = _masks(of_edge, origin, outcomes.step[draws], words)
    options = _options(outcomes, edges, draws, remembered)._replace(edge_from=origin, edge_to=target)
    linked = outcomes.kind[draws] == MARKOV
    chains, slot = np.unique(outcomes.line[draws][linked], return_inverse=True)
    value = np.full(len(draws), -1, np.int64)
    value[linked] = slot
    chances = np.zeros(steps)
    own = Draws(outcomes.step[draws], value, *masks)
    state, work = enumerated(words, len(chains), most, budget, own, options, int(place[-1]), chances)
    return (chances, work) if state == OK else None


def _ordered(edges: Edges, outcomes: Outcomes) -> tuple[Ints, Bools, Ints]:
    """The draws to make, whether their values are remembered, and the draw of each edge by its position among them.

    In a step, draws that read registers of later goals come first: these are settled before other draws enter them, so
    that old and new content is kept apart only briefly."""
    drawn = outcomes.event_draw[edges.event]
    draws, remembered = needed_draws(outcomes, np.unique(drawn))
    of_edge = np.searchsorted(draws, drawn)
    highest = np.zeros(len(draws), np.int64)
    np.maximum.at(highest, of_edge, edges.origin)
    order = np.lexsort((-highest, outcomes.step[draws]))
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return draws[order], remembered[order], place[of_edge]


def _masks(draw: Ints, slot: Ints, steps: Ints, words: int) -> tuple[Words, Words, Words]:
    """By draw: what its step reads if it is the step's first, what no later draw of the step reads, and what no later
    draw at all reads."""
    reading = slot >= 0
    draw, slot = draw[reading], slot[reading]
    step = steps[draw]
    order = np.lexsort((draw, step, slot))
    draw, slot, step = draw[order], slot[order], step[order]
    last = np.ones(len(draw), np.bool_)
    last[:-1] = (slot[1:] != slot[:-1]) | (step[1:] != step[:-1])
    final = np.ones(len(draw), np.bool_)
    final[:-1] = slot[1:] != slot[:-1]
    found = []
    for own, of in ((last, np.searchsorted(steps, step)), (last, draw), (final, draw)):
        mask = np.zeros((len(steps), words), np.uint64)
        bits = np.uint64(1) << (slot[own] & 63).astype(np.uint64)
        np.bitwise_or.at(mask, (of[own], slot[own] >> 6), bits)
        found.append(mask)
    return found[0], found[1], found[2]


def _options(outcomes: Outcomes, edges: Edges, draws: Ints, remembered: Bools) -> Options:
    """Alternatives without edges are merged, unless they are values of a Markov chain that must be remembered."""
    rows, draw = gathered(np.arange(len(outcomes.event)), outcomes.first, draws)
    prev, event, mass = outcomes.prev[rows], outcomes.event[rows], outcomes.probability[rows]
    new = np.ones(len(rows), np.bool_)
    new[1:] = (draw[1:] != draw[:-1]) | (prev[1:] != prev[:-1])
    group = np.cumsum(new) - 1
    groups = int(new.sum())
    certain = outcomes.kind[draws][draw] == CERTAIN
    begin = np.searchsorted(edges.event, event, "left")
    end = np.searchsorted(edges.event, event, "right")
    taken = np.where(certain, new, (begin < end) | remembered[draw])
    # All certain events happen: one alternative with all the edges of the draw.
    if len(rows):
        begin = np.where(certain, np.minimum.reduceat(begin, np.flatnonzero(new))[group], begin)
        end = np.where(certain, np.maximum.reduceat(end, np.flatnonzero(new))[group], end)
    missing = 1.0 - np.bincount(group, mass, groups)
    missing[missing <= ROUNDING * (np.bincount(group, minlength=groups) + 1)] = 0.0
    rest = np.bincount(group, np.where(taken, 0.0, mass), groups) + missing
    rest[certain[new]] = 0.0
    more = np.flatnonzero(rest > 0.0)
    none = np.zeros(len(more), np.int64)
    owner = np.concatenate([group[taken], more])
    order = np.argsort(owner, kind="stable")
    value = np.where(remembered[draw], outcomes.value[rows] + 1, 0)
    chance = np.where(certain, 1.0, mass)
    return Options(
        np.searchsorted(draw[new], np.arange(len(draws) + 1)),
        prev[new] + 1,
        np.searchsorted(owner[order], np.arange(groups + 1)),
        np.concatenate([chance[taken], rest[more]])[order],
        np.concatenate([value[taken], none])[order],
        np.concatenate([begin[taken], none])[order],
        np.concatenate([end[taken], none])[order],
        edges.origin,
        edges.target,
    )
