"""Loops of one more goal over independent chains (paper, Eq. 3).

The plan below the goal must hold after the latest step that ended all waits for the goal, and strictly before the
goal's event.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from presage.arrays.jit import Floats, Ints, compiled, compiled_in_place


class FollowInput(NamedTuple):
    """The results of the plan below a goal. `resets` are the steps that may end waits, `hits` those except step 0 that
    may have an accepted candidate. chances[i, h, 0] is the probability of the plan during [0, hits[h] - 1],
    chances[i, h, j + 1] during [resets[j], hits[h] - 1]. Line lines[i] of the bindings follows input which[i]."""

    resets: Ints
    hits: Ints
    chances: Floats
    lines: Ints
    which: Ints


@compiled
def step_chances(
    lines: int, steps: int, start: Ints, step: Ints, chain: Ints, chance: Floats, accepted: Ints
) -> tuple[Floats, Floats]:
    """By line and step: the probability that a candidate is accepted, and that there are candidates but none is."""
    good = np.zeros((lines, steps), np.float64)
    bad = np.zeros((lines, steps), np.float64)
    for line in range(lines):
        at, end = start[line], start[line + 1]
        while at < end:
            t, none, unlike, refused = step[at], 1.0, 1.0, 0.0
            while at < end and step[at] == t:
                one, yes, no = chain[at], 0.0, 0.0
                while at < end and step[at] == t and chain[at] == one:
                    if accepted[at]:
                        yes += chance[at]
                    else:
                        no += chance[at]
                    at += 1
                # No differences of sums: what is impossible must be exactly 0.
                refused = refused * max(1.0 - yes, 0.0) + none * no
                none *= max(1.0 - yes - no, 0.0)
                good[line, t] += unlike * yes
                unlike *= max(1.0 - yes, 0.0)
            bad[line, t] = refused
    return good, bad


@compiled
def follow_points(reset: Floats, good: Floats, below: FollowInput) -> Floats:
    """(lines, hits): the probability at each step. O(resets · hits) for a line."""
    resets, hits, inputs, lines, which = below
    out = np.zeros((len(lines), len(hits)), np.float64)
    for i in range(len(lines)):
        line, own = lines[i], which[i]
        for h in range(len(hits)):
            likely = good[line, hits[h]]
            if likely == 0.0:
                continue
            still, total = 1.0, 0.0
            for j in range(np.searchsorted(resets, hits[h]) - 1, -1, -1):
                ended = reset[line, resets[j]]
                if ended:
                    total += still * ended * inputs[own, h, j + 1]
                    still *= max(1.0 - ended, 0.0)
            out[i, h] = likely * (total + still * inputs[own, h, 0])
    return out


@compiled
def follow_spans(candidate: Floats, below: FollowInput, starts: Ints, ends: Ints) -> Floats:
    """(lines, ends, starts): the probability during intervals, if every candidate is accepted. O(starts · hits) for a
    line.

    The plan below must hold from the latest candidate before the interval up to the latest one in it. `before[h]` is
    its probability up to hit h, averaged over the former, for an interval that begins at the start.
    """
    resets, hits, inputs, lines, which = below
    out = np.zeros((len(lines), len(ends), len(starts)), np.float64)
    for i in range(len(lines)):
        line, own = lines[i], which[i]
        before = inputs[own, :, 0].copy()
        j = 0
        for s in range(len(starts)):
            while j < len(resets) and resets[j] < starts[s]:
                c = min(candidate[line, resets[j]], 1.0)
                if c:
                    for h in range(len(hits)):
                        before[h] = (1.0 - c) * before[h] + c * inputs[own, h, j + 1]
                j += 1
            h = np.searchsorted(hits, starts[s])
            held = 0.0
            for e in range(len(ends)):
                while h < len(hits) and hits[h] <= ends[e]:
                    c = min(candidate[line, hits[h]], 1.0)
                    held = (1.0 - c) * held + c * before[h]
                    h += 1
                out[i, e, s] = held
    return out


@compiled_in_place
def add_some(out: Floats, chances: Floats, owner: Ints) -> None:
    """Unite out (owners, cells) with independent lines of its owners."""
    for line in range(len(owner)):
        own = owner[line]
        for i in range(chances.shape[1]):
            out[own, i] += chances[line, i] * (1.0 - out[own, i])
