"""Truth of each variable at each row comes in, matches go out: the search where no condition looks at the match so far.

What can follow depends on the position and the row alone, so it is known beforehand. From the last row back, for each
position that holds at a row: `earliest`, the first row at which a match through here can end, and `furthest`, the last
row that any way through here looks at. WITHIN and GAP cut all ways of a start at one row, so a way leads to a match if
its `earliest` lies before the cut, and has been looked at to its end if its `furthest` does. Then the preferred match
is read off without ever going back. Cost: rows times edges for the tables, and the lengths of the matches; no pattern
makes it worse. Long partitions are taken in blocks; what a block leaves open begins the next one.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from presage.arrays.jit import Ints, compiled, inlined
from presage.patterns.kernel.finding import (
    MATCH,
    NEVER,
    OVER,
    TIMED,
    TIMEOUT,
    UNMATCHED,
    Edges,
    Partitions,
    Rules,
    noted,
    roomy,
    skipped,
)
from presage.patterns.kernel.match_spec import ACCEPT

Truth = npt.NDArray[np.uint8]
HOLDS, LOOKS = 1, 2  # bits of `holds`: the condition is true; to know it, `look` further rows had to be seen
ENTRIES = 1 << 16  # of the tables of a block: they should stay in the cache
NOWHERE = 1 << 60  # `earliest` of a way that leads to no match


@inlined
def fill(
    edges: Edges, holds: Truth, look: Ints, low: int, high: int, ended: bool, earliest: Ints, furthest: Ints
) -> None:
    """The tables for the rows [low, high). Where a position does not hold, `earliest` is NOWHERE and `furthest` tells
    which rows had to be seen to know that: whoever comes from the row before needs no case of its own."""
    for row in range(high - 1, low - 1, -1):
        at = row - low
        for position in range(len(edges.label)):
            label = edges.label[position]
            truth = holds[row, label]
            ends, seen = NOWHERE, row
            known = truth & HOLDS != 0
            if truth & LOOKS:
                seen = min(row + look[label], high)
                known = known and (ended or row + look[label] < high)
            if not known:
                earliest[at, position] = NOWHERE
                furthest[at, position] = seen
                continue
            if edges.accepting[position]:
                ends = row
            elif row + 1 == high:
                for x in range(edges.begin[position + 1], edges.begin[position + 2]):
                    seen = high
                    if edges.target[x] == ACCEPT and ended:
                        ends = row
            else:
                for x in range(edges.begin[position + 1], edges.begin[position + 2]):
                    seen = max(seen, row + 1)
                    target = edges.target[x]
                    if target != ACCEPT:
                        ends = min(ends, earliest[at + 1, target])
                        seen = max(seen, furthest[at + 1, target])
            earliest[at, position] = ends
            furthest[at, position] = seen


@inlined
def pass_over(
    edges: Edges, earliest: Ints, furthest: Ints, low: int, start: int, stop: int, cut: int, seen: int
) -> tuple[int, int]:
    """The first start from `start` on, `stop` at the latest, that may lead to something; the last row seen."""
    while start < stop:
        nowhere, reaches = True, start
        for x in range(edges.begin[1]):
            target = edges.target[x]
            nowhere = nowhere and earliest[start - low, target] >= cut
            reaches = max(reaches, furthest[start - low, target])
        if not nowhere or reaches >= cut:
            break
        seen = max(seen, reaches)
        start += 1
    return start, seen


@inlined
def cut_path(
    edges: Edges, holds: Truth, furthest: Ints, low: int, start: int, cut: int, first: bool, line: Ints
) -> int:
    """Writes the preferred way from `start` that the bound cuts before row `cut`; its length."""
    length = 0
    x, stop = edges.begin[0], edges.begin[1]
    while x < stop:
        target = edges.target[x]
        if target != ACCEPT and (first or not edges.at_start[x]):
            row = start + length
            if row >= cut:
                return length
            if holds[row, edges.label[target]] & HOLDS and furthest[row - low, target] >= cut:
                line[length] = target
                length += 1
                x, stop = edges.begin[target + 1], edges.begin[target + 2]
                continue
        x += 1
    return length


@compiled
def search_reach(
    edges: Edges, rules: Rules, holds: Truth, look: Ints, time: Ints, partitions: Partitions, block: int
) -> tuple[Ints, Ints, Ints, Ints, Ints]:
    """Finds, their positions in one line, where each search goes on, up to which row matches cover, what went wrong."""
    finds, found = np.empty((64, 7), np.int64), 0
    line, used = np.empty(256, np.int64), 0
    partial = np.empty(0, np.int64)
    ahead, covered = partitions.start.copy(), partitions.covered.copy()
    failed = np.zeros(3, np.int64)
    earliest = np.empty((0, len(edges.label)), np.int64)
    furthest = np.empty((0, len(edges.label)), np.int64)
    # Whether a start that leads nowhere leaves no trace, and each way on begins with a row that is known at once.
    plain = not rules.unmatched
    for label in range(len(look)):
        plain = plain and look[label] == 0
    for x in range(edges.begin[1]):
        plain = plain and edges.target[x] != ACCEPT and not edges.at_start[x]
    for g in range(len(ahead)):
        start, end = ahead[g], partitions.end[g]
        # The latest moment of this partition so far: the last row that was looked at, the last timer that was used.
        seen, timer = start, -NEVER
        early, apart = start, start  # rows that the two bounds cut
        size = block
        while start < end:
            low, high = start, min(end, start + size)
            final = high == end
            ended = rules.ended and final
            if high - low > len(earliest):
                earliest = np.empty((high - low, len(edges.label)), np.int64)
                furthest = np.empty((high - low, len(edges.label)), np.int64)
            fill(edges, holds, look, low, high, ended, earliest, furthest)
            waiting = False
            while start < high:
                cut, due, is_cut = high, OVER, False
                if rules.bounded:
                    early = max(early, start + 1) if rules.steady else start + 1
                    while early < high and time[early] - time[start] < rules.within:
                        early += 1
                    apart = max(apart, start + 1) if rules.steady else start + 1
                    while apart < high and time[apart] - time[apart - 1] < rules.gap:
                        apart += 1
                    cut = min(early, apart)
                    due = min(time[start] + rules.within, time[cut - 1] + rules.gap)
                    is_cut = cut < high or (final and rules.clock >= due)
                    if not is_cut:
                        due = OVER
                if plain:
                    # Most starts lead nowhere. Without bounds all of them are cut at the same row.
                    stop = start + 1 if rules.bounded else high
                    passed, seen = pass_over(edges, earliest, furthest, low, start, stop, cut, seen)
                    if passed > start:
                        start = passed
                        continue
                seen = max(seen, start)
                first = partitions.fresh[g] and start == partitions.begin[g]
                accepted, touched = False, False
                length = 0
                # Here, not at each row: handing an array over costs more than the rest of a row's work.
                if used + high - start > len(line):
                    line = roomy(line, used, high - start)
                x, stop = edges.begin[0], edges.begin[1]
                while x < stop:
                    target, row = edges.target[x], start + length
                    if edges.at_start[x] and not first:
                        x += 1
                        continue
                    if target == ACCEPT:
                        if not edges.at_end[x]:
                            accepted = True
                            break
                        if row < high:
                            seen = max(seen, row)
                        elif ended:
                            timer = OVER
                            accepted = True
                            break
                        else:
                            waiting = True
                            break
                        x += 1
                        continue
                    reaches = row
                    if row < cut:
                        label = edges.label[target]
                        truth = holds[row, label]
                        if truth & LOOKS:
                            reaches = row + look[label]
                            if reaches >= high and not ended:
                                waiting = True
                                break
                        if truth & HOLDS:
                            if earliest[row - low, target] < cut:
                                if reaches < high:
                                    seen = max(seen, reaches)
                                else:
                                    timer = OVER
                                line[used + length] = target
                                length += 1
                                x, stop = edges.begin[target + 1], edges.begin[target + 2]
                                continue
                            reaches = max(reaches, furthest[row - low, target])
                    if reaches < cut:
                        seen = max(seen, reaches)
                    elif is_cut or ended:
                        timer = max(timer, due)
                        touched = True
                    else:
                        waiting = True
                        break
                    x += 1
                if waiting:
                    break
                kind = MATCH
                if not accepted:
                    kind = TIMEOUT
                    if rules.timeouts and touched and is_cut:
                        if len(partial) < cut - start:
                            partial = np.empty(2 * (cut - start), np.int64)
                        length = cut_path(edges, holds, furthest, low, start, cut, first, partial)
                        for i in range(length):
                            line[used + i] = partial[i]
                    else:
                        length = 0
                if length > 0:
                    # Measures may look at rows beyond.
                    reaches = start + max(length - 1 + rules.wait_last, rules.wait_first)
                    if reaches < high:
                        seen = max(seen, reaches)
                    elif ended:
                        timer = OVER
                    else:
                        break
                row = TIMED if timer > time[seen] else seen
                if accepted or length > 0:
                    finds = noted(finds, found, g, kind, start, length, used, row, timer)
                    found += 1
                if not accepted:
                    if rules.unmatched and start >= covered[g]:
                        finds = noted(finds, found, g, UNMATCHED, start, 0, used, row, timer)
                        found += 1
                    used += length
                    start += 1
                    continue
                after = skipped(edges, rules.skip, line, used, length, start)
                if after < 0:
                    failed[0], failed[1], failed[2] = -after, g, start
                    return finds[:found], line[:used], ahead, covered, failed
                used += length
                # The row of an empty match is shown with it: it is not unmatched.
                covered[g] = max(covered[g], start + max(length, 1))
                start = after
            if start < high:
                if final:
                    break
                if 2 * (start - low) < high - low:
                    size *= 2
        ahead[g] = start
    return finds[:found], line[:used], ahead, covered, failed
