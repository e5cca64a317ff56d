"""Normalisation of distributions whose sum exceeds 1, which loading accepts within 1e-9.

It happens when facts are built, which every method reads. Without it the excess of each step would accumulate: 100,000
steps add up to 1e-4. A sum below 1 stays: the rest is the probability of no event.
"""

from __future__ import annotations

import numpy as np

from presage.arrays.jit import Bools, Floats, Ints, compiled
from presage.operators.sequence.kernel.facts import ROUNDING, Source


def divide_excess(source: Source, wanted: Bools) -> Floats:
    """The probabilities of a source's rows. `wanted`: candidates of some goal. Other rows are equivalent to no event
    and may have been filtered out, so the sum of the wanted rows decides; the others share the rest."""
    return _divided(
        source.chain, source.step, source.prev, wanted, source.probability, int(source.prev.max(initial=-1)) + 2
    )


@compiled
def _divided(chain: Ints, step: Ints, prev: Ints, wanted: Bools, probability: Floats, width: int) -> Floats:
    """Rows by step and chain. There is a distribution for each of `width` previous values, including none."""
    out = probability.copy()
    total, idle, number = np.zeros(width), np.zeros(width), np.zeros(width, np.int64)
    begin = 0
    while begin < chain.size:
        end = begin
        while end < chain.size and step[end] == step[begin] and chain[end] == chain[begin]:
            v = prev[end] + 1
            number[v] += 1
            if wanted[end]:
                total[v] += probability[end]
            else:
                idle[v] += probability[end]
            end += 1
        for k in range(begin, end):
            v = prev[k] + 1
            most = 1.0 + ROUNDING * (number[v] + 1)
            if wanted[k] and total[v] > most:
                out[k] /= total[v]
            elif not wanted[k] and total[v] + idle[v] > most:
                out[k] *= max(1.0 - total[v], 0.0) / idle[v]
        for k in range(begin, end):
            v = prev[k] + 1
            total[v], idle[v], number[v] = 0.0, 0.0, 0
        begin = end
    return out
