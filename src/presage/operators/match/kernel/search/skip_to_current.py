"""The search for every match of every start row: AFTER MATCH SKIP TO CURRENT ROW.

One match for each length, with the preferred labels of that length; it is there as soon as its last row is. Starts do
not hinder each other. All starts from the first open one are searched anew in each step; matches that earlier steps
have shown are left out. Matches without rows are not shown. Cost: rows times positions for each start row where no
condition looks at the match so far, else at most `budget`.
"""

from __future__ import annotations

import numpy as np

from presage.arrays.cancel import check_cancelled
from presage.arrays.jit import Ints, compiled_in_place
from presage.operators.match.kernel.search.depth_first import due_after, is_cut
from presage.operators.match.kernel.search.path_tables import Paths, Programs
from presage.operators.match.kernel.search.path_tests import ASK, WAIT, YES, Progress, holds_here
from presage.operators.match.kernel.search.path_values import Scratch, Trace
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
    noted,
    roomy,
)
from presage.operators.match.kernel.spec import ACCEPT


@compiled_in_place
def search_every(
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
    ahead: Ints,
    covered: Ints,
    ended_at: Ints,
    visited: Ints,
    furthest_look: int,
    again: bool,
) -> tuple[Ints, Ints, Ints]:
    """As `search_paths`. `ahead`: the first open start of each partition; `covered`: what matches of the starts
    before it cover. `progress.number` counts the matches of the start row. `ended_at` (rows) and `visited` (rows,
    positions; no rows: what follows depends on the path) are stamped with the start row + 1."""
    finds, found = np.empty((64, 7), np.int64), 0
    line, used = np.empty(256, np.int64), 0
    failed, rounds = np.zeros(3, np.int64), 0
    for g in range(len(partitions.begin)):
        if again and progress.asking[g] < 0:
            continue
        progress.asking[g] = -1
        start, length, x, end = progress.start[g], progress.length[g], progress.edge[g], partitions.end[g]
        while start < end:
            rounds += 1
            check_cancelled(rounds)
            progress.seen[g] = max(progress.seen[g], start)
            row = start + length
            node = 0 if length == 0 else edges.target[progress.taken[row - 1]] + 1
            if x < 0:
                x = edges.begin[node]
            if x == edges.begin[node + 1]:
                if length > 0:
                    length -= 1
                    x = progress.taken[row - 1] + 1
                    continue
                # The start is done with. What did not match is told in order, once all starts before it are done too.
                if ahead[g] == start and progress.opened[start] == 0:
                    shown = progress.partial[g] if rules.timeouts and progress.number[g] == 0 else 0
                    reaches = start + max(shown - 1 + rules.wait_last, rules.wait_first) if shown > 0 else start
                    if reaches >= end and not rules.ended:
                        progress.opened[start] = 1
                    else:
                        if reaches >= end:
                            progress.timer[g] = OVER
                        progress.seen[g] = max(progress.seen[g], min(reaches, end - 1))
                        moment, timer = progress.seen[g], progress.timer[g]
                        if timer > time[moment]:
                            moment = TIMED
                        if shown > 0:
                            line = roomy(line, used, shown)
                            for i in range(shown):
                                line[used + i] = progress.cut[start + i]
                            finds = noted(finds, found, g, TIMEOUT, start, shown, used, moment, timer)
                            found += 1
                            used += shown
                        if rules.unmatched and start >= partitions.covered[g]:
                            finds = noted(finds, found, g, UNMATCHED, start, 0, used, moment, timer)
                            found += 1
                        ahead[g] = start + 1
                        covered[g] = partitions.covered[g]
                start, length, x = start + 1, 0, -1
                progress.steps[g], progress.partial[g], progress.number[g] = 0, 0, 0
                continue
            target = edges.target[x]
            if edges.at_start[x] and not (partitions.fresh[g] and start == partitions.begin[g]):
                x += 1
                continue
            if target == ACCEPT:
                over = False
                if edges.at_end[x]:
                    if row < end or not rules.ended:
                        if row < end:
                            progress.seen[g] = max(progress.seen[g], row)
                        else:
                            progress.opened[start] = 1
                        x += 1
                        continue
                    over = True
                if length > 0:
                    progress.number[g] += 1
                    partitions.covered[g] = max(partitions.covered[g], row)
                    if ended_at[row - 1] != start + 1:
                        ended_at[row - 1] = start + 1
                        reaches = max(row - 1 + max(furthest_look, rules.wait_last), start + rules.wait_first)
                        over = over or reaches >= end
                        # What did not match comes after the matches of the starts before it.
                        if not over:
                            progress.seen[g] = max(progress.seen[g], reaches)
                        elif rules.ended:
                            progress.timer[g] = OVER
                        if over and not rules.ended:
                            progress.opened[start] = 1
                        elif over or reaches >= partitions.come[g]:
                            line = roomy(line, used, length)
                            for i in range(length):
                                line[used + i] = edges.target[progress.taken[start + i]]
                            moment = TIMED if over else reaches
                            finds = noted(finds, found, g, MATCH, start, length, used, moment, OVER)
                            found += 1
                            used += length
                x += 1
                continue
            if is_cut(rules, time, start, row, end):
                progress.timer[g] = max(progress.timer[g], due_after(rules, time, start, row - 1))
                if progress.partial[g] == 0:
                    progress.partial[g] = length
                    for r in range(start, row):
                        progress.cut[r] = edges.target[progress.taken[r]]
                x += 1
                continue
            if row >= end:
                if rules.ended:
                    progress.timer[g] = OVER
                else:
                    progress.opened[start] = 1
                x += 1
                continue
            if len(visited) > 0:
                # A less preferred path that comes here again finds the same lengths only.
                if visited[row, target] == start + 1:
                    x += 1
                    continue
                visited[row, target] = start + 1
            label = edges.label[target]
            said = holds_here(
                paths, programs, trace, scratch, progress, truth, look, partitions, g, start, row, label, rules.ended
            )
            if said == ASK:
                break
            progress.steps[g] += 1
            if len(visited) == 0 and progress.steps[g] > rules.budget:
                failed[0], failed[1], failed[2] = OVER_BUDGET, g, label
                return finds[:found], line[:used], failed
            if said == YES:
                progress.taken[row] = x
                length += 1
                x = -1
            else:
                if said == WAIT:
                    progress.opened[start] = 1
                x += 1
        progress.start[g], progress.length[g], progress.edge[g] = start, length, x
    return finds[:found], line[:used], failed
