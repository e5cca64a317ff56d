"""The k best of scored events, in order."""

from __future__ import annotations

from typing import NamedTuple

from presage.arrays.jit import Floats, Ints, inlined

# Bounds are rounded, too: an event is skipped only if it is worse by more than this.
SAFE = 1e-9
# The mark of an event that has been compared or chosen.
DONE = -1e300


class Best(NamedTuple):
    """The best so far, best first; `size[0]` of them."""

    score: Floats
    event: Ints
    size: Ints


@inlined
def enter(best: Best, score: float, event: int) -> None:
    """Keep the event if it is among the best; of equal ones the later is better."""
    size, most = best.size[0], len(best.score)
    if size == most:
        last = best.score[most - 1]
        if score < last or (score == last and event < best.event[most - 1]):
            return
        size -= 1
    i = size
    while i > 0 and (score > best.score[i - 1] or (score == best.score[i - 1] and event > best.event[i - 1])):
        best.score[i], best.event[i] = best.score[i - 1], best.event[i - 1]
        i -= 1
    best.score[i], best.event[i] = score, event
    best.size[0] = size + 1


@inlined
def least_of(best: Best) -> float:
    """Events of less than this similarity are not among the best."""
    size = best.size[0]
    if size < len(best.score):
        return 0.0
    least: float = max(0.0, best.score[size - 1] - SAFE)
    return least
