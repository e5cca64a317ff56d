"""Possible events of each chain at each step, as draws over flat arrays of rows.

A draw is one chain at one step with rows. Rows of one draw that are the same event (a Markov chain's value after
different previous values) share an event number, so that the consequences of an event are computed once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from presage.arrays.jit import Bools, Floats, Ints
from presage.operators.sequence.kernel.facts import CERTAIN, MARKOV, Facts
from presage.operators.sequence.kernel.query import Sequence


@dataclass
class Outcomes:
    """Possible rows by step, source, chain and previous value. Draws and events are numbered in that order, so the
    events of a draw, and of a step, are adjacent."""

    # By row.
    prev: Ints
    value: Ints
    probability: Floats
    event: Ints
    # By draw; rows of draw d are those from first[d] up to first[d + 1].
    first: Ints
    step: Ints
    kind: Ints
    source: Ints
    chain: Ints  # its number in its source
    line: Ints  # its number among the chains of all sources
    segment: Ints  # draws of a chain without a gap between them
    by_segment: Ints  # draws, by segment and step
    segments: Ints  # where each segment begins there
    # By event: its draw, source, and a row of the source.
    event_draw: Ints
    event_source: Ints
    event_row: Ints
    lines: int


def outcomes_of(query: Sequence, facts: Facts) -> Outcomes:
    parts = []
    lines = 0
    for number, source in enumerate(facts.sources):
        certain, linked = source.kind == CERTAIN, source.kind == MARKOV
        rows = np.flatnonzero((source.probability > 0.0) | certain)
        # Certain events have no alternatives, whatever their key: one chain.
        chain = np.zeros(len(rows), np.int64) if certain else source.chain[rows]
        meaning = _meaning(query, facts, number, rows) if linked else np.arange(len(rows))
        prev = source.prev[rows] if linked else np.full(len(rows), -1)
        own, kind = np.full(len(rows), number), np.full(len(rows), source.kind)
        parts.append((source.step[rows], own, chain, prev, source.value[rows], meaning, rows, kind, chain + lines))
        lines += max(source.chains, 1)
    step, origin, chain, prev, value, meaning, row, kind, line = (
        np.concatenate([np.asarray(part[i], np.int64) for part in parts]) for i in range(9)
    )
    probability = np.concatenate([s.probability[p[6]] for s, p in zip(facts.sources, parts, strict=True)])
    # Mostly sorted already, which a stable sort detects quickly.
    order = np.argsort(codes_of([step, line, prev, value], len(step)), kind="stable")
    step, origin, chain, line = step[order], origin[order], chain[order], line[order]
    first = _starts(step, line)
    draw = np.repeat(np.arange(len(first) - 1), np.diff(first))
    event, leader = _events(draw, meaning[order])
    head = first[:-1]
    return Outcomes(
        prev[order],
        value[order],
        probability[order].astype(np.float64),
        event,
        first,
        step[head],
        kind[order][head],
        origin[head],
        chain[head],
        line[head],
        *_segments(step[head], line[head]),
        draw[leader],
        origin[leader],
        row[order][leader],
        lines,
    )


def _meaning(query: Sequence, facts: Facts, number: int, rows: Ints) -> Ints:
    """Equal numbers for rows of one value that no goal distinguishes."""
    columns = [facts.sources[number].value[rows]]
    for goal, said in zip(query.goals, facts.goals, strict=True):
        if goal.source == number:
            told = (said.candidate, said.accepted, *said.variables.values())
            columns += [column[rows].astype(np.int64) for column in told]
    return codes_of(columns, len(rows))


def codes_of(columns: list[Ints], rows: int) -> Ints:
    """One number for each line: equal for equal lines."""
    code = np.zeros(rows, np.int64)
    most = 1
    for column in columns:
        least = int(column.min(initial=0))
        width = int(column.max(initial=0)) - least + 1
        if most > (1 << 62) // width:
            distinct, code = np.unique(code, return_inverse=True)
            most = len(distinct)
        code = code * width + (column - least)
        most *= width
    return code


def _starts(step: Ints, line: Ints) -> Ints:
    new = np.ones(len(step), np.bool_)
    new[1:] = (step[1:] != step[:-1]) | (line[1:] != line[:-1])
    return np.append(np.flatnonzero(new), len(step))


def _events(draw: Ints, meaning: Ints) -> tuple[Ints, Ints]:
    """The event of each row, and a row of each event; numbered in the order of draws."""
    order = np.argsort(codes_of([draw, meaning], len(draw)), kind="stable")
    new = np.ones(len(draw), np.bool_)
    new[1:] = (draw[order][1:] != draw[order][:-1]) | (meaning[order][1:] != meaning[order][:-1])
    event = np.empty(len(draw), np.int64)
    event[order] = np.cumsum(new) - 1
    return event, order[new]


def _segments(step: Ints, line: Ints) -> tuple[Ints, Ints, Ints]:
    """The segment of each draw, the draws by segment, and where each segment begins there."""
    order = np.argsort(codes_of([line, step], len(step)), kind="stable")
    new = np.ones(len(step), np.bool_)
    new[1:] = (line[order][1:] != line[order][:-1]) | (step[order][1:] != step[order][:-1] + 1)
    segment = np.empty(len(step), np.int64)
    segment[order] = np.cumsum(new) - 1
    return segment, order, np.append(np.flatnonzero(new), len(step))


def needed_draws(outcomes: Outcomes, wanted: Ints) -> tuple[Ints, Bools]:
    """The draws that the wanted ones require, in order, and whether the value must be remembered after each: a Markov
    chain needs its draws from the last gap on."""
    linked = outcomes.kind[wanted] == MARKOV
    segments, place = np.unique(outcomes.segment[wanted[linked]], return_inverse=True)
    last = np.full(len(segments), -1, np.int64)
    np.maximum.at(last, place, outcomes.step[wanted[linked]])
    draws, owner = gathered(outcomes.by_segment, outcomes.segments, segments)
    until = last[owner]
    early = outcomes.step[draws] <= until
    draws, until = draws[early], until[early]
    every = np.concatenate([wanted[~linked], draws])
    remembered = np.concatenate([np.zeros(len(every) - len(draws), np.bool_), outcomes.step[draws] < until])
    order = np.argsort(every)
    return every[order], remembered[order]


def gathered(order: Ints, first: Ints, numbers: Ints) -> tuple[Ints, Ints]:
    """The entries of several lists that are adjacent in `order`, and the list of each."""
    counts = first[numbers + 1] - first[numbers]
    begin = np.repeat(first[numbers] - (np.cumsum(counts) - counts), counts)
    owner = np.repeat(np.arange(len(numbers)), counts)
    return order[begin + np.arange(int(counts.sum()))], owner
