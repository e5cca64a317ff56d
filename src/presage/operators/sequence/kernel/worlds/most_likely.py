"""The most likely world as certain facts, for the deterministic methods BY MLE and BY MAP.

MLE takes each chain's most likely value at each step, MAP each chain's most likely path. No event counts as a value and
loses ties; otherwise the value with the smaller number wins, for paths from the first step on.
"""

from __future__ import annotations

import math

import numpy as np

from presage.arrays.jit import Bools, Floats, Ints, compiled
from presage.operators.sequence.kernel.facts import CERTAIN, MARKOV, NOTHING, ROUNDING, Facts, GoalRows, Source
from presage.operators.sequence.kernel.query import Sequence

TIE, LOG_TIE = 1e-12, 1e-9  # smaller differences are due to rounding


def most_likely(query: Sequence, facts: Facts, paths: bool) -> Facts:
    """The facts with the most likely rows alone, as certain events. MLE: the most likely value of each chain at each
    step, by its marginal distribution. MAP (`paths`): the most likely path of each chain."""
    kept = [_chosen(source, paths) for source in facts.sources]
    sources = []
    for s, rows in zip(facts.sources, kept, strict=True):
        nothing, sure = np.full(len(rows), NOTHING, np.int64), np.ones(len(rows))
        sources.append(Source(CERTAIN, s.chain[rows], s.step[rows], s.value[rows], nothing, sure, s.chains))
    goals = [_taken(rows, kept[goal.source]) for goal, rows in zip(query.goals, facts.goals, strict=True)]
    return Facts(facts.steps, sources, goals, facts.conditions, facts.domains)


def _taken(goal: GoalRows, rows: Ints) -> GoalRows:
    variables = {name: column[rows] for name, column in goal.variables.items()}
    return GoalRows(
        goal.candidate[rows], goal.accepted[rows], variables, None if goal.reads is None else goal.reads[rows]
    )


def _chosen(source: Source, paths: bool) -> Ints:
    if source.kind == CERTAIN:
        return np.arange(len(source.chain))
    linked = source.kind == MARKOV
    rows = np.flatnonzero(source.probability > 0.0)
    prev = source.prev[rows] if linked else np.full(len(rows), NOTHING, np.int64)
    order = np.lexsort((source.value[rows], prev, source.step[rows], source.chain[rows]))
    rows, prev = rows[order], prev[order] + 1
    chain, step, value = source.chain[rows], source.step[rows], source.value[rows] + 1
    width = int(max(value.max(initial=0), prev.max(initial=0))) + 1
    if paths and linked:
        chosen = likeliest_paths(chain, step, prev, value, source.probability[rows], width)
    else:
        chosen = likeliest_values(chain, step, prev, value, source.probability[rows], width, linked)
    return np.sort(rows[chosen])


@compiled
def likeliest_values(
    chain: Ints, step: Ints, prev: Ints, value: Ints, probability: Floats, width: int, linked: bool
) -> Bools:
    """Rows by chain, step, prev and value; values count from 1, 0 is no event. The chosen row of each step, if one."""
    rows = len(chain)
    chosen = np.zeros(rows, np.bool_)
    before, now = np.zeros(width), np.zeros(width)
    before[0] = 1.0
    old_begin, begin = 0, 0
    while begin < rows:
        end = begin
        while end < rows and chain[end] == chain[begin] and step[end] == step[begin]:
            end += 1
        follows = linked and begin > 0 and chain[begin - 1] == chain[begin] and step[begin - 1] + 1 == step[begin]
        if not follows:
            for row in range(old_begin, begin):
                before[value[row]] = 0.0
            before[0] = 1.0
        total = 0.0
        for row in range(begin, end):
            mass = before[prev[row]] * probability[row]
            now[value[row]] += mass
            total += mass
        best = 0.0
        for row in range(begin, end):
            best = max(best, now[value[row]])
        if best > 0.0 and 1.0 - total <= best + TIE:
            taken = -1
            for row in range(begin, end):
                if now[value[row]] >= best - TIE and (taken < 0 or value[row] < value[taken]):
                    taken = row
            chosen[taken] = True
        for row in range(old_begin, begin):
            before[value[row]] = 0.0
        before[0] = 0.0
        now[0] = max(1.0 - total, 0.0)
        before, now = now, before
        old_begin, begin = begin, end
    return chosen


@compiled
def likeliest_paths(chain: Ints, step: Ints, prev: Ints, value: Ints, probability: Floats, width: int) -> Bools:
    """As `likeliest_values`, for whole paths: the best continuation after each value, from the last step back, then the
    path forward. A gap between steps ends a path."""
    rows = len(chain)
    chosen = np.zeros(rows, np.bool_)
    best_row = np.full(rows, -1, np.int64)  # by the first row of a distribution; -1: no event
    after, before = np.zeros(width), np.zeros(width)
    end = rows
    while end > 0:
        begin = end - 1
        while begin > 0 and chain[begin - 1] == chain[end - 1] and step[begin - 1] == step[end - 1]:
            begin -= 1
        if end == rows or chain[end] != chain[begin] or step[end] != step[begin] + 1:
            after[:] = 0.0
        before[:] = after[0]
        first = begin
        while first < end:
            last, total, best = first, 0.0, -math.inf
            while last < end and prev[last] == prev[first]:
                best = max(best, math.log(probability[last]) + after[value[last]])
                total += probability[last]
                last += 1
            if 1.0 - total > ROUNDING * (last - first + 1):
                best = max(best, math.log(1.0 - total) + after[0])
            for row in range(first, last):
                if math.log(probability[row]) + after[value[row]] >= best - LOG_TIE:
                    best_row[first] = row
                    break
            before[prev[first]] = best
            first = last
        after, before = before, after
        end = begin
    current = 0
    row = 0
    while row < rows:
        if row > 0 and not (chain[row - 1] == chain[row] and step[row - 1] + 1 >= step[row]):
            current = 0
        end, found = row, -1
        while end < rows and chain[end] == chain[row] and step[end] == step[row]:
            if found < 0 and prev[end] == current:
                found = end
            end += 1
        current = 0
        if found >= 0 and best_row[found] >= 0:
            chosen[best_row[found]] = True
            current = value[best_row[found]]
        row = end
    return chosen
