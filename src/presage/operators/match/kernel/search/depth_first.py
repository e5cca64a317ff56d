"""The depth-first search, preferred edge first, for conditions over the match so far.

The rows of a match are contiguous, so a path is the edge taken at each row, and backtracking tries the later edges of
each node. Where rows are missing, or the host must evaluate a condition, the search stops and resumes there. Cost: one
test per edge that is tried, at most `budget` for one start row.
"""

from __future__ import annotations

import numpy as np

from presage.arrays.cancel import check_cancelled
from presage.arrays.jit import Ints, compiled_in_place, inlined
from presage.arrays.programs.borrowing import borrowed
from presage.operators.match.kernel.search.path_state import Path, PathSearch
from presage.operators.match.kernel.search.path_tests import (
    ASK,
    ENDS_INPUT,
    NO,
    TEST,
    WAIT,
    YES,
    check_edge,
    look_at,
    moment_of,
    test_row,
)
from presage.operators.match.kernel.search.path_values import extend
from presage.operators.match.kernel.search.tables import (
    MATCH,
    OVER,
    OVER_BUDGET,
    TIMEOUT,
    UNMATCHED,
    append_find,
    next_start,
    with_space,
)


@inlined
def retrace(search: PathSearch, g: int) -> None:
    """Recomputes the values of the path that an earlier step has left."""
    search = borrowed(search)
    edges, progress, parts = search.edges, search.progress, search.partitions
    start = progress.start[g]
    for row in range(start, start + progress.length[g]):
        label = edges.label[edges.target[progress.taken[row]]]
        extend(search, Path(start, row, parts.begin[g], parts.end[g]), label)


@inlined
def write_path(search: PathSearch, kind: int, start: int, length: int, line: Ints, used: int) -> None:
    """The positions of a match, or of the path that a bound has cut, go to `line`."""
    search = borrowed(search)
    for i in range(length):
        if kind == MATCH:
            line[used + i] = search.edges.target[search.progress.taken[start + i]]
        else:
            line[used + i] = search.progress.cut[start + i]


@compiled_in_place
def search_paths(search: PathSearch, answered: bool) -> tuple[Ints, Ints, Ints]:
    """Finds, their positions in one line, and why the search failed. `answered`: only partitions that asked the host
    are searched further."""
    search = borrowed(search)
    edges, rules, progress, parts = search.edges, search.rules, search.progress, search.partitions
    finds, found = np.empty((64, 7), np.int64), 0
    line, used = np.empty(256, np.int64), 0
    failed, rounds = np.zeros(3, np.int64), 0
    for g in range(len(parts.begin)):
        if answered and progress.asking[g] < 0:
            continue
        progress.asking[g] = -1
        if not answered:
            retrace(search, g)
        start, length, edge, end = progress.start[g], progress.length[g], progress.edge[g], parts.end[g]
        while start < end:
            rounds += 1
            check_cancelled(rounds)
            progress.seen[g] = max(progress.seen[g], start)
            row, kind = start + length, TIMEOUT
            node = 0 if length == 0 else edges.target[progress.taken[row - 1]] + 1
            if edge < 0:
                edge = edges.begin[node]
            if edge < edges.begin[node + 1]:
                path = Path(start, row, parts.begin[g], end)
                outcome = check_edge(search, g, path, edge)
                if outcome == TEST:
                    label = edges.label[edges.target[edge]]
                    outcome = test_row(search, g, path, label)
                    if outcome in (NO, YES):
                        progress.steps[g] += 1
                    if progress.steps[g] > rules.budget:
                        failed[0], failed[1], failed[2] = OVER_BUDGET, g, label
                        return finds[:found], line[:used], failed
                if outcome in (WAIT, ASK):
                    break
                if outcome == NO:
                    edge += 1
                    continue
                if outcome == YES:
                    progress.taken[row] = edge
                    length += 1
                    edge = -1
                    continue
                if outcome == ENDS_INPUT:
                    progress.timer[g] = OVER
                kind = MATCH
            elif length > 0:
                length -= 1
                edge = progress.taken[row - 1] + 1
                continue
            shown = length
            if kind == TIMEOUT:
                shown = progress.partial[g] if rules.timeouts else 0
            if shown > 0:
                # Measures may read rows beyond the match.
                reaches = start + max(shown - 1 + rules.wait_last, rules.wait_first)
                if reaches >= end and not rules.ended:
                    break
                look_at(progress, g, reaches, end)
            line = with_space(line, used, shown)
            write_path(search, kind, start, shown, line, used)
            moment, timer = moment_of(search, g)
            if kind == MATCH or shown > 0:
                finds = append_find(finds, found, g, kind, start, shown, used, moment, timer)
                found += 1
            after = start + 1
            if kind == MATCH:
                after = next_start(edges, rules.skip, line, used, shown, start)
                if after < 0:
                    failed[0], failed[1], failed[2] = -after, g, start
                    return finds[:found], line[:used], failed
                progress.number[g] += 1
                parts.covered[g] = max(parts.covered[g], start + max(shown, 1))
            elif rules.unmatched and start >= parts.covered[g]:
                finds = append_find(finds, found, g, UNMATCHED, start, 0, used, moment, timer)
                found += 1
            used += shown
            start, length, edge = after, 0, -1
            progress.steps[g], progress.partial[g] = 0, 0
        progress.start[g], progress.length[g], progress.edge[g] = start, length, edge
    return finds[:found], line[:used], failed
