"""The memoised search, where no condition looks at the match so far: linear in the rows.

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
from presage.operators.match.kernel.search.tables import (
    MATCH,
    NEVER,
    OVER,
    TIMED,
    TIMEOUT,
    UNMATCHED,
    Edges,
    Partitions,
    Rules,
    gap_ends,
    noted,
    roomy,
    skipped,
    within_ends,
)
from presage.operators.match.kernel.spec import ACCEPT

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
    for run in range(len(edges.runs) - 2, -1, -1):
        first, stop = edges.runs[run], edges.runs[run + 1]
        for position in range(first, stop):
            # As after the last row: nothing ends there, and what lies beyond was not seen.
            earliest[position, high - low] = NOWHERE
            furthest[position, high - low] = high
        if stop - first == 1 and look[edges.label[first]] == 0:
            fill_one(edges, holds, first, low, high, ended, earliest, furthest)
        else:
            fill_several(edges, holds, look, first, stop, low, high, ended, earliest, furthest)


@inlined
def fill_one(
    edges: Edges, holds: Truth, position: int, low: int, high: int, ended: bool, earliest: Ints, furthest: Ints
) -> None:
    """A position that leads to later ones and to itself alone: column after column. Short loops without a case in them
    become vector instructions; truth is as good as random, and a branch that guesses it costs more than the work."""
    rows = high - low
    truth = holds[edges.label[position], low:high]
    ends, seen = earliest[position], furthest[position]
    begin, stop = edges.begin[position + 1], edges.begin[position + 2]
    accepting, again = edges.accepting[position], False
    beyond = low + 1 if begin < stop and not accepting else low
    for i in range(rows):
        seen[i] = beyond + i
    if accepting:
        for i in range(rows):
            ends[i] = low + i
    else:
        for i in range(rows):
            ends[i] = NOWHERE
        for x in range(begin, stop):
            target = edges.target[x]
            if target == position:
                again = True
            elif target != ACCEPT:
                ends_after, seen_after = earliest[target, 1:], furthest[target, 1:]
                for i in range(rows):
                    ends[i] = min(ends[i], ends_after[i])
                for i in range(rows):
                    seen[i] = max(seen[i], seen_after[i])
            elif ended:
                ends[rows - 1] = high - 1
    if not again:
        for i in range(rows):
            ends[i] = ends[i] if truth[i] else NOWHERE
        for i in range(rows):
            seen[i] = seen[i] if truth[i] else low + i
        return
    end, last = NOWHERE, high
    for i in range(rows - 1, -1, -1):
        end, last = min(end, ends[i]), max(last, seen[i])
        end = end if truth[i] else NOWHERE
        last = last if truth[i] else low + i
        ends[i] = end
        seen[i] = last


@inlined
def fill_several(
    edges: Edges,
    holds: Truth,
    look: Ints,
    first: int,
    stop: int,
    low: int,
    high: int,
    ended: bool,
    earliest: Ints,
    furthest: Ints,
) -> None:
    """Positions that lead to each other, or look ahead: row after row."""
    for row in range(high - 1, low - 1, -1):
        at = row - low
        for position in range(first, stop):
            label = edges.label[position]
            truth = holds[label, row]
            ends, seen = NOWHERE, row
            known = truth & HOLDS != 0
            if truth & LOOKS:
                seen = min(row + look[label], high)
                known = known and (ended or row + look[label] < high)
            if known and edges.accepting[position]:
                ends = row
            elif known:
                for x in range(edges.begin[position + 1], edges.begin[position + 2]):
                    seen = max(seen, row + 1)
                    target = edges.target[x]
                    if target != ACCEPT:
                        ends = min(ends, earliest[target, at + 1])
                        seen = max(seen, furthest[target, at + 1])
                    elif ended and row + 1 == high:
                        ends = row
            earliest[position, at] = ends
            furthest[position, at] = seen


@inlined
def fill_starts(edges: Edges, rows: int, low: int, earliest: Ints, furthest: Ints) -> None:
    """The last column of the tables: what all ways of a start together come to."""
    ends, seen = earliest[len(edges.label)], furthest[len(edges.label)]
    for i in range(rows):
        ends[i] = NOWHERE
    for i in range(rows):
        seen[i] = low + i
    for x in range(edges.begin[1]):
        ends_there, seen_there = earliest[edges.target[x]], furthest[edges.target[x]]
        for i in range(rows):
            ends[i] = min(ends[i], ends_there[i])
        for i in range(rows):
            seen[i] = max(seen[i], seen_there[i])


@inlined
def pass_over(ends: Ints, sees: Ints, start: int, stop: int, cut: int, seen: int) -> tuple[int, int]:
    """The first start from `start` on, `stop` at the latest, that may lead to something; the last row seen."""
    while start < stop and ends[start] >= cut and sees[start] < cut:
        seen = max(seen, sees[start])
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
            if holds[edges.label[target], row] & HOLDS and furthest[target, row - low] >= cut:
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
    # By position (one more for starts), then by row: as many as the block that is looked at, and one beyond it.
    columns = len(edges.label) + 1
    earliest, furthest = np.empty((columns, 1), np.int64), np.empty((columns, 1), np.int64)
    # Whether some condition looks ahead; and whether a start that leads nowhere leaves no trace, and each way on begins
    # with a row that is known at once.
    far = False
    for label in range(len(look)):
        far = far or look[label] > 0
    plain = not rules.unmatched and not far
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
            if high - low >= earliest.shape[1]:
                earliest = np.empty((columns, high - low + 1), np.int64)
                furthest = np.empty((columns, high - low + 1), np.int64)
            fill(edges, holds, look, low, high, ended, earliest, furthest)
            if plain:
                fill_starts(edges, high - low, low, earliest, furthest)
            waiting = False
            while start < high:
                cut, due, is_cut = high, OVER, False
                if rules.bounded:
                    early = max(early, start + 1) if rules.steady else start + 1
                    until = within_ends(rules, time[start])
                    # Months may end earlier for a later start: the 30th and the 31st are both the last of February.
                    while rules.within_months and early > start + 1 and time[early - 1] >= until:
                        early -= 1
                    while early < high and time[early] < until:
                        early += 1
                    apart = max(apart, start + 1) if rules.steady else start + 1
                    while apart < high and time[apart] < gap_ends(rules, time[apart - 1]):
                        apart += 1
                    cut = min(early, apart)
                    due = min(until, gap_ends(rules, time[cut - 1]))
                    is_cut = cut < high or (final and rules.clock >= due)
                    if not is_cut:
                        due = OVER
                if plain:
                    # Most starts lead nowhere. Without bounds all of them are cut at the same row.
                    at, stop = start - low, start - low + 1 if rules.bounded else high - low
                    passed, seen = pass_over(earliest[columns - 1], furthest[columns - 1], at, stop, cut, seen)
                    if passed > at:
                        start = low + passed
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
                        if far:
                            label = edges.label[target]
                            if holds[label, row] & LOOKS:
                                reaches = row + look[label]
                                if reaches >= high and not ended:
                                    waiting = True
                                    break
                        # Where the position does not hold, the tables say so too.
                        if earliest[target, row - low] < cut:
                            if reaches < high:
                                seen = max(seen, reaches)
                            else:
                                timer = OVER
                            line[used + length] = target
                            length += 1
                            x, stop = edges.begin[target + 1], edges.begin[target + 2]
                            continue
                        reaches = max(reaches, furthest[target, row - low])
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
