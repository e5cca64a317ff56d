"""The memoised search, where no condition depends on the match so far: linear in the rows.

What can follow depends on the position and the row alone, so two tables are filled from the last row back, for each
position that holds at a row: `earliest`, the first row at which a match through here can end, and `furthest`, the last
row that any path through here reads. WITHIN and GAP cut all paths of a start at one row. So a path leads to a match if
its `earliest` lies before the cut, and is decided if its `furthest` does, and the preferred match is read off without
backtracking. Cost: rows times edges for the tables, and the lengths of the matches. Long partitions are searched in
blocks; the next block begins with the first start that a block leaves open.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from presage.arrays.jit import Ints, compiled, inlined, inlined_always
from presage.arrays.programs.borrowing import borrowed
from presage.operators.match.kernel.search.tables import (
    HOLDS,
    LOOKS,
    MATCH,
    OVER,
    TIMED,
    TIMEOUT,
    UNBOUNDED,
    UNMATCHED,
    Edges,
    Partitions,
    Rules,
    Truth,
    append_find,
    gap_ends,
    next_start,
    with_space,
    within_ends,
)
from presage.operators.match.kernel.spec import ACCEPT

ENTRIES = 1 << 16  # of the tables of a block, which should stay in the processor's cache
NOWHERE = 1 << 60  # `earliest` of a path that leads to no match
ACCEPTED, REJECTED, WAITS = range(3)


class ReachSearch(NamedTuple):
    edges: Edges
    rules: Rules
    truth: Truth
    look: Ints
    time: Ints
    partitions: Partitions


class Block(NamedTuple):
    """Rows [low, high) of a partition; `final`: its last ones; `ended`: no row follows."""

    low: int
    high: int
    final: bool
    ended: bool


class Bounds(NamedTuple):
    """WITHIN and GAP of a start: the first row that they exclude, whether that is certain, and when they end."""

    cut: int
    certain: bool
    due: int


class Moment(NamedTuple):
    """When the results of a partition so far are certain: the last row that was read, the last timer that was used."""

    row: int
    timer: int


@inlined
def fill(
    edges: Edges, truth: Truth, look: Ints, low: int, high: int, ended: bool, earliest: Ints, furthest: Ints
) -> None:
    """The tables for the rows [low, high). Where a position does not hold, `earliest` is NOWHERE and `furthest` the
    last row that decides it, so that the row before needs no special case."""
    for run in range(len(edges.runs) - 2, -1, -1):
        first, stop = edges.runs[run], edges.runs[run + 1]
        for position in range(first, stop):
            # After the last row: no match ends there, and later rows are unknown.
            earliest[position, high - low] = NOWHERE
            furthest[position, high - low] = high
        if stop - first == 1 and look[edges.label[first]] == 0:
            fill_one(edges, truth, first, low, high, ended, earliest, furthest)
        else:
            fill_several(edges, truth, look, first, stop, low, high, ended, earliest, furthest)


@inlined
def fill_one(
    edges: Edges, truth: Truth, position: int, low: int, high: int, ended: bool, earliest: Ints, furthest: Ints
) -> None:
    """A position that leads only to itself and to later ones: column after column. Short loops without branches become
    vector instructions; truth is close to random, so a mispredicted branch costs more than the work."""
    rows = high - low
    holds = truth[edges.label[position], low:high]
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
            ends[i] = ends[i] if holds[i] else NOWHERE
        for i in range(rows):
            seen[i] = seen[i] if holds[i] else low + i
        return
    end, last = NOWHERE, high
    for i in range(rows - 1, -1, -1):
        end, last = min(end, ends[i]), max(last, seen[i])
        end = end if holds[i] else NOWHERE
        last = last if holds[i] else low + i
        ends[i] = end
        seen[i] = last


@inlined
def fill_several(
    edges: Edges,
    truth: Truth,
    look: Ints,
    first: int,
    stop: int,
    low: int,
    high: int,
    ended: bool,
    earliest: Ints,
    furthest: Ints,
) -> None:
    """Positions that lead to each other, or whose conditions read rows ahead: row after row."""
    for row in range(high - 1, low - 1, -1):
        at = row - low
        for position in range(first, stop):
            label = edges.label[position]
            bits = truth[label, row]
            ends, seen = NOWHERE, row
            holds = bits & HOLDS != 0
            if bits & LOOKS:
                seen = min(row + look[label], high)
                holds = holds and (ended or row + look[label] < high)
            if holds and edges.accepting[position]:
                ends = row
            elif holds:
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
    """The last column of the tables: the minimum and maximum over all edges of a start."""
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
def cut_path(
    edges: Edges, truth: Truth, furthest: Ints, low: int, start: int, cut: int, first: bool, partial: Ints
) -> int:
    """Writes the preferred path from `start` that the bounds cut before row `cut` to `partial`; its length."""
    length = 0
    x, stop = edges.begin[0], edges.begin[1]
    while x < stop:
        target = edges.target[x]
        if target != ACCEPT and (first or not edges.at_start[x]):
            row = start + length
            if row >= cut:
                return length
            if truth[edges.label[target], row] & HOLDS and furthest[target, row - low] >= cut:
                partial[length] = target
                length += 1
                x, stop = edges.begin[target + 1], edges.begin[target + 2]
                continue
        x += 1
    return length


@inlined_always
def pass_over(ends: Ints, sees: Ints, start: int, stop: int, cut: int, seen: int) -> tuple[int, int]:
    """The first start from `start` on, `stop` at the latest, that may lead to a match; the last row read."""
    while start < stop and ends[start] >= cut and sees[start] < cut:
        seen = max(seen, sees[start])
        start += 1
    return start, seen


@inlined
def leaves_no_trace(search: ReachSearch) -> bool:
    """Whether a start that leads to no match can be passed over: it shows nothing, and its first row decides."""
    edges = search.edges
    plain = not search.rules.unmatched
    for label in range(len(search.look)):
        plain = plain and search.look[label] == 0
    for x in range(edges.begin[1]):
        plain = plain and edges.target[x] != ACCEPT and not edges.at_start[x]
    return plain


@inlined_always
def bounds_of(rules: Rules, time: Ints, block: Block, start: int, early: int, apart: int) -> tuple[int, int, Bounds]:
    """The first rows that WITHIN and GAP exclude, and those of both. `early`, `apart`: those of the start before."""
    early = max(early, start + 1) if rules.steady else start + 1
    until = within_ends(rules, time[start])
    # Months may end earlier for a later start: the 30th and the 31st are both the last of February.
    while rules.within_months and early > start + 1 and time[early - 1] >= until:
        early -= 1
    while early < block.high and time[early] < until:
        early += 1
    apart = max(apart, start + 1) if rules.steady else start + 1
    while apart < block.high and time[apart] < gap_ends(rules, time[apart - 1]):
        apart += 1
    cut = min(early, apart)
    due = min(until, gap_ends(rules, time[cut - 1]))
    certain = cut < block.high or (block.final and rules.watermark >= due)
    return early, apart, Bounds(cut, certain, due if certain else OVER)


@inlined_always
def follow(
    search: ReachSearch,
    earliest: Ints,
    furthest: Ints,
    block: Block,
    bounds: Bounds,
    start: int,
    first: bool,
    line: Ints,
    used: int,
    moment: Moment,
) -> tuple[int, int, bool, Moment]:
    """Writes the preferred match of a start to `line`. Returns ACCEPTED, REJECTED or WAITS, the length, whether the cut
    has mattered, and the moment. `first`: the start is the partition's first row."""
    edges, truth, look = search.edges, search.truth, search.look
    seen, timer, touched, length = max(moment.row, start), moment.timer, False, 0
    x, stop = edges.begin[0], edges.begin[1]
    while x < stop:
        target, row = edges.target[x], start + length
        if edges.at_start[x] and not first:
            x += 1
            continue
        if target == ACCEPT:
            if not edges.at_end[x]:
                return ACCEPTED, length, touched, Moment(seen, timer)
            if row >= block.high:
                outcome = ACCEPTED if block.ended else WAITS
                return outcome, length, touched, Moment(seen, OVER if block.ended else timer)
            seen = max(seen, row)
            x += 1
            continue
        reaches = row
        if row < bounds.cut:
            label = edges.label[target]
            if truth[label, row] & LOOKS:
                reaches = row + look[label]
                if reaches >= block.high and not block.ended:
                    return WAITS, length, touched, Moment(seen, timer)
            # Where the position does not hold, `earliest` is NOWHERE.
            if earliest[target, row - block.low] < bounds.cut:
                if reaches < block.high:
                    seen = max(seen, reaches)
                else:
                    timer = OVER
                line[used + length] = target
                length += 1
                x, stop = edges.begin[target + 1], edges.begin[target + 2]
                continue
            reaches = max(reaches, furthest[target, row - block.low])
        if reaches < bounds.cut:
            seen = max(seen, reaches)
        elif bounds.certain or block.ended:
            timer = max(timer, bounds.due)
            touched = True
        else:
            return WAITS, length, touched, Moment(seen, timer)
        x += 1
    return REJECTED, length, touched, Moment(seen, timer)


@compiled
def search_reach(search: ReachSearch, size: int) -> tuple[Ints, Ints, Ints, Ints, Ints]:
    """Finds, their positions in one line, where each search resumes, the end of its matches, why a search failed.
    `size`: rows of the first block of a partition."""
    search = borrowed(search)
    edges, rules, time, parts = search.edges, search.rules, search.time, search.partitions
    finds, found = np.empty((64, 7), np.int64), 0
    line, used = np.empty(256, np.int64), 0
    partial = np.empty(0, np.int64)
    ahead, covered = parts.start.copy(), parts.covered.copy()
    failed = np.zeros(3, np.int64)
    # By position (one more for starts), then by row: those of the block, and one beyond it.
    columns = len(edges.label) + 1
    earliest, furthest = np.empty((columns, 1), np.int64), np.empty((columns, 1), np.int64)
    plain = leaves_no_trace(search)
    for g in range(len(ahead)):
        start, end, rows = ahead[g], parts.end[g], size
        early, apart, moment = start, start, Moment(start, -UNBOUNDED)
        while start < end:
            high = min(end, start + rows)
            block = Block(start, high, high == end, rules.ended and high == end)
            low = block.low
            if high - low >= earliest.shape[1]:
                earliest = np.empty((columns, high - low + 1), np.int64)
                furthest = np.empty((columns, high - low + 1), np.int64)
            fill(edges, search.truth, search.look, low, high, block.ended, earliest, furthest)
            if plain:
                fill_starts(edges, high - low, low, earliest, furthest)
            while start < high:
                bounds = Bounds(high, False, OVER)
                if rules.bounded:
                    early, apart, bounds = bounds_of(rules, time, block, start, early, apart)
                if plain:
                    # Most starts lead nowhere. Without bounds all of them are cut at the same row.
                    at, stop = start - low, start - low + 1 if rules.bounded else high - low
                    ends, sees = earliest[columns - 1], furthest[columns - 1]
                    passed, seen = pass_over(ends, sees, at, stop, bounds.cut, moment.row)
                    if passed > at:
                        start = low + passed
                        moment = Moment(seen, moment.timer)
                        continue
                first = parts.fresh[g] and start == parts.begin[g]
                line = with_space(line, used, high - start)
                outcome, length, touched, moment = follow(
                    search, earliest, furthest, block, bounds, start, first, line, used, moment
                )
                if outcome == WAITS:
                    break
                if outcome == REJECTED:
                    length = 0
                    if rules.timeouts and touched and bounds.certain:
                        if len(partial) < bounds.cut - start:
                            partial = np.empty(2 * (bounds.cut - start), np.int64)
                        length = cut_path(edges, search.truth, furthest, low, start, bounds.cut, first, partial)
                        for i in range(length):
                            line[used + i] = partial[i]
                if length > 0:
                    # Measures may read rows beyond the match.
                    reaches = start + max(length - 1 + rules.wait_last, rules.wait_first)
                    if reaches >= high and not block.ended:
                        break
                    if reaches < high:
                        moment = Moment(max(moment.row, reaches), moment.timer)
                    else:
                        moment = Moment(moment.row, OVER)
                row = TIMED if moment.timer > time[moment.row] else moment.row
                if outcome == ACCEPTED or length > 0:
                    kind = MATCH if outcome == ACCEPTED else TIMEOUT
                    finds = append_find(finds, found, g, kind, start, length, used, row, moment.timer)
                    found += 1
                after = start + 1
                if outcome == ACCEPTED:
                    after = next_start(edges, rules.skip, line, used, length, start)
                    if after < 0:
                        failed[0], failed[1], failed[2] = -after, g, start
                        return finds[:found], line[:used], ahead, covered, failed
                    # The row of an empty match is shown with it: it is not unmatched.
                    covered[g] = max(covered[g], start + max(length, 1))
                elif rules.unmatched and start >= covered[g]:
                    finds = append_find(finds, found, g, UNMATCHED, start, 0, used, row, moment.timer)
                    found += 1
                used += length
                start = after
            if start < high:
                if block.final:
                    break
                if 2 * (start - low) < high - low:
                    rows *= 2
        ahead[g] = start
    return finds[:found], line[:used], ahead, covered, failed
