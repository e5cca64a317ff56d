"""The search for every match of every start row: AFTER MATCH SKIP TO CURRENT ROW.

A start row has one match for each length, with the preferred labels of that length, which is certain as soon as its
last row is there. Each step searches all starts from the first open one again, and drops the matches that earlier steps
have shown. Empty matches are not shown. Cost for each start row: rows times positions where no condition depends on the
match so far, else at most `budget` tests.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from presage.arrays.cancel import check_cancelled
from presage.arrays.jit import Ints, compiled_in_place, inlined_always
from presage.arrays.programs.borrowing import borrowed
from presage.operators.match.kernel.search.depth_first import write_path
from presage.operators.match.kernel.search.path_state import Path, PathSearch
from presage.operators.match.kernel.search.path_tests import (
    ASK,
    ENDS,
    ENDS_INPUT,
    TEST,
    WAIT,
    YES,
    check_edge,
    moment_of,
    test_row,
)
from presage.operators.match.kernel.search.tables import (
    MATCH,
    OVER,
    OVER_BUDGET,
    TIMED,
    TIMEOUT,
    UNMATCHED,
    append_find,
    with_space,
)


class Starts(NamedTuple):
    """`ahead`: the first open start of each partition; `covered`: the end of the matches of all starts before it.
    `ended_at` (rows) and `visited` (rows, positions; no rows: what follows depends on the path) hold the start row + 1
    of the last match that ended, and of the last path that came there. `furthest`: rows that conditions read beyond."""

    ahead: Ints
    covered: Ints
    ended_at: Ints
    visited: Ints
    furthest: int


@inlined_always
def match_reach(search: PathSearch, starts: Starts, g: int, path: Path, at_end: bool) -> tuple[int, bool]:
    """The row that settles a match, or beyond the partition; whether it is to be shown in this step."""
    rules, progress = search.rules, search.progress
    last = path.row - 1
    progress.number[g] += 1
    search.partitions.covered[g] = max(search.partitions.covered[g], path.row)
    if starts.ended_at[last] == path.start + 1:
        return last, False  # a preferred path of this length
    starts.ended_at[last] = path.start + 1
    reaches = max(last + max(starts.furthest, rules.wait_last), path.start + rules.wait_first)
    if at_end:
        reaches = max(reaches, path.end)
    # Unmatched rows come after the matches of the starts before them.
    if reaches < path.end:
        progress.seen[g] = max(progress.seen[g], reaches)
        return reaches, reaches >= search.partitions.come[g]
    if rules.ended:
        progress.timer[g] = OVER
        return reaches, True
    progress.opened[path.start] = 1
    return reaches, False


@inlined_always
def partial_length(search: PathSearch, starts: Starts, g: int, start: int, end: int) -> int:
    """Length of the partial match that a start without a match has left; -1: the start, or one before it, is open.

    Timeouts and unmatched rows are shown in order, once all starts before them are done.
    """
    rules, progress = search.rules, search.progress
    if starts.ahead[g] != start or progress.opened[start] != 0:
        return -1
    shown = progress.partial[g] if rules.timeouts and progress.number[g] == 0 else 0
    reaches = start + max(shown - 1 + rules.wait_last, rules.wait_first) if shown > 0 else start
    if reaches >= end:
        if not rules.ended:
            progress.opened[start] = 1
            return -1
        progress.timer[g] = OVER
    progress.seen[g] = max(progress.seen[g], min(reaches, end - 1))
    return shown


@compiled_in_place
def search_every(search: PathSearch, starts: Starts, answered: bool) -> tuple[Ints, Ints, Ints]:
    """As `search_paths`. `progress.number` counts the matches of the start row."""
    search, starts = borrowed(search), borrowed(starts)
    edges, rules, progress, parts = search.edges, search.rules, search.progress, search.partitions
    visited = starts.visited
    finds, found = np.empty((64, 7), np.int64), 0
    line, used = np.empty(256, np.int64), 0
    failed, rounds = np.zeros(3, np.int64), 0
    for g in range(len(parts.begin)):
        if answered and progress.asking[g] < 0:
            continue
        progress.asking[g] = -1
        start, length, edge, end = progress.start[g], progress.length[g], progress.edge[g], parts.end[g]
        while start < end:
            rounds += 1
            check_cancelled(rounds)
            progress.seen[g] = max(progress.seen[g], start)
            row = start + length
            node = 0 if length == 0 else edges.target[progress.taken[row - 1]] + 1
            if edge < 0:
                edge = edges.begin[node]
            if edge < edges.begin[node + 1]:
                path = Path(start, row, parts.begin[g], end)
                outcome = check_edge(search, g, path, edge)
                if outcome == TEST:
                    target = edges.target[edge]
                    if len(visited) > 0:
                        # A less preferred path that comes here again finds the same lengths only.
                        if visited[row, target] == start + 1:
                            edge += 1
                            continue
                        visited[row, target] = start + 1
                    outcome = test_row(search, g, path, edges.label[target])
                    if outcome == ASK:
                        break
                    progress.steps[g] += 1
                    if len(visited) == 0 and progress.steps[g] > rules.budget:
                        failed[0], failed[1], failed[2] = OVER_BUDGET, g, edges.label[target]
                        return finds[:found], line[:used], failed
                    if outcome == YES:
                        progress.taken[row] = edge
                        length += 1
                        edge = -1
                        continue
                if outcome == WAIT:
                    progress.opened[start] = 1
                elif outcome in (ENDS, ENDS_INPUT) and length > 0:
                    reaches, shows = match_reach(search, starts, g, path, outcome == ENDS_INPUT)
                    if shows:
                        line = with_space(line, used, length)
                        write_path(search, MATCH, start, length, line, used)
                        moment = reaches if reaches < end else TIMED
                        finds = append_find(finds, found, g, MATCH, start, length, used, moment, OVER)
                        found += 1
                        used += length
                edge += 1
                continue
            if length > 0:
                length -= 1
                edge = progress.taken[row - 1] + 1
                continue
            shown = partial_length(search, starts, g, start, end)
            if shown >= 0:
                moment, timer = moment_of(search, g)
                if shown > 0:
                    line = with_space(line, used, shown)
                    write_path(search, TIMEOUT, start, shown, line, used)
                    finds = append_find(finds, found, g, TIMEOUT, start, shown, used, moment, timer)
                    found += 1
                    used += shown
                if rules.unmatched and start >= parts.covered[g]:
                    finds = append_find(finds, found, g, UNMATCHED, start, 0, used, moment, timer)
                    found += 1
                starts.ahead[g] = start + 1
                starts.covered[g] = parts.covered[g]
            start, length, edge = start + 1, 0, -1
            progress.steps[g], progress.partial[g], progress.number[g] = 0, 0, 0
        progress.start[g], progress.length[g], progress.edge[g] = start, length, edge
    return finds[:found], line[:used], failed
