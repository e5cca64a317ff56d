"""The depth-first search, preferred way first: conditions may look at the match so far.

The rows of a match are neighbours, so a path is what was taken at each row; alternatives are the later ways on of each
node, and need no memory. Where a row has not come, or the host must answer, the search stops as it stands and goes on
from there. Cost: one test per way on that is tried, at most `budget` of them for one start row.
"""

from __future__ import annotations

import numpy as np

from presage.arrays.cancel import check_cancelled
from presage.arrays.jit import Ints, compiled_in_place, inlined
from presage.operators.match.kernel.search.path_tables import Paths, Programs
from presage.operators.match.kernel.search.path_tests import ASK, WAIT, YES, Progress, holds_here, look_at
from presage.operators.match.kernel.search.path_values import Scratch, Trace, extend
from presage.operators.match.kernel.search.reach import Truth
from presage.operators.match.kernel.search.tables import (
    MATCH,
    OVER,
    OVER_BUDGET,
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


@inlined
def due_after(rules: Rules, time: Ints, start: int, row: int) -> int:
    """When a path from `start` whose last row is `row` is too late for any further row."""
    due: int = min(within_ends(rules, time[start]), gap_ends(rules, time[row]))
    return due


@inlined
def is_cut(rules: Rules, time: Ints, start: int, row: int, end: int) -> bool:
    """Whether a bound keeps a path from `start` from taking `row`, or whatever row comes."""
    if not rules.bounded or row == start:
        return False
    due = due_after(rules, time, start, row - 1)
    return time[row] >= due if row < end else rules.clock >= due


@inlined
def retrace(
    edges: Edges,
    paths: Paths,
    programs: Programs,
    trace: Trace,
    scratch: Scratch,
    progress: Progress,
    partitions: Partitions,
    g: int,
) -> None:
    """What conditions can ask of a path that an earlier step has left."""
    start, begin, end = progress.start[g], partitions.begin[g], partitions.end[g]
    for row in range(start, start + progress.length[g]):
        label = edges.label[edges.target[progress.taken[row]]]
        extend(paths, programs, trace, scratch, start, row, begin, end, label)


@compiled_in_place
def search_paths(
    edges: Edges,
    rules: Rules,
    paths: Paths,
    programs: Programs,
    trace: Trace,
    scratch: Scratch,
    progress: Progress,
    truth: Truth,
    look: Ints,
    time: Ints,
    partitions: Partitions,
    again: bool,
) -> tuple[Ints, Ints, Ints]:
    """Finds, their positions in one line, what went wrong. `again`: only partitions whose question was answered."""
    finds, found = np.empty((64, 7), np.int64), 0
    line, used = np.empty(256, np.int64), 0
    failed, rounds = np.zeros(3, np.int64), 0
    for g in range(len(partitions.begin)):
        if again and progress.asking[g] < 0:
            continue
        progress.asking[g] = -1
        if not again:
            retrace(edges, paths, programs, trace, scratch, progress, partitions, g)
        start, length, x, end = progress.start[g], progress.length[g], progress.edge[g], partitions.end[g]
        while start < end:
            rounds += 1
            check_cancelled(rounds)
            progress.seen[g] = max(progress.seen[g], start)
            row = start + length
            node = 0 if length == 0 else edges.target[progress.taken[row - 1]] + 1
            if x < 0:
                x = edges.begin[node]
            kind = MATCH
            if x == edges.begin[node + 1]:
                if length > 0:
                    length -= 1
                    x = progress.taken[row - 1] + 1
                    continue
                kind = TIMEOUT
            else:
                target = edges.target[x]
                if edges.at_start[x] and not (partitions.fresh[g] and start == partitions.begin[g]):
                    x += 1
                    continue
                if target != ACCEPT:
                    if is_cut(rules, time, start, row, end):
                        progress.timer[g] = max(progress.timer[g], due_after(rules, time, start, row - 1))
                        if progress.partial[g] == 0:
                            progress.partial[g] = length
                            for r in range(start, row):
                                progress.cut[r] = edges.target[progress.taken[r]]
                        x += 1
                        continue
                    if row >= end:
                        if not rules.ended:
                            break
                        progress.timer[g] = OVER
                        x += 1
                        continue
                    label = edges.label[target]
                    said = holds_here(
                        paths,
                        programs,
                        trace,
                        scratch,
                        progress,
                        truth,
                        look,
                        partitions,
                        g,
                        start,
                        row,
                        label,
                        rules.ended,
                    )
                    if said in (WAIT, ASK):
                        break
                    progress.steps[g] += 1
                    if progress.steps[g] > rules.budget:
                        failed[0], failed[1], failed[2] = OVER_BUDGET, g, label
                        return finds[:found], line[:used], failed
                    if said == YES:
                        progress.taken[row] = x
                        length += 1
                        x = -1
                    else:
                        x += 1
                    continue
                if edges.at_end[x]:
                    if row < end:
                        progress.seen[g] = max(progress.seen[g], row)
                        x += 1
                        continue
                    if not rules.ended:
                        break
                    progress.timer[g] = OVER
            shown = length
            if kind == TIMEOUT:
                shown = progress.partial[g] if rules.timeouts else 0
            if shown > 0:
                # Measures may look at rows beyond.
                reaches = start + max(shown - 1 + rules.wait_last, rules.wait_first)
                if reaches >= end and not rules.ended:
                    break
                look_at(progress, g, reaches, end)
            line = roomy(line, used, shown)
            for i in range(shown):
                line[used + i] = edges.target[progress.taken[start + i]] if kind == MATCH else progress.cut[start + i]
            moment, timer = progress.seen[g], progress.timer[g]
            if timer > time[moment]:
                moment = TIMED
            if kind == MATCH or shown > 0:
                finds = noted(finds, found, g, kind, start, shown, used, moment, timer)
                found += 1
            after = start + 1
            if kind == MATCH:
                after = skipped(edges, rules.skip, line, used, shown, start)
                if after < 0:
                    failed[0], failed[1], failed[2] = -after, g, start
                    return finds[:found], line[:used], failed
                progress.number[g] += 1
                partitions.covered[g] = max(partitions.covered[g], start + max(shown, 1))
            elif rules.unmatched and start >= partitions.covered[g]:
                finds = noted(finds, found, g, UNMATCHED, start, 0, used, moment, timer)
                found += 1
            used += shown
            start, length, x = after, 0, -1
            progress.steps[g], progress.partial[g] = 0, 0
        progress.start[g], progress.length[g], progress.edge[g] = start, length, x
    return finds[:found], line[:used], failed
