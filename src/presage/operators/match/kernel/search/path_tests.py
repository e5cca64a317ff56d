"""Whether a path may take an edge: anchors, bounds, and the condition of the row."""

from __future__ import annotations

from presage.arrays.jit import Ints, inlined, inlined_always
from presage.arrays.programs.machine import Scratch, evaluate
from presage.operators.match.kernel.search.path_state import UNKNOWN, Path, PathSearch, Progress
from presage.operators.match.kernel.search.path_values import extend, give_aggregate, row_at, rows_at
from presage.operators.match.kernel.search.tables import HOLDS, LOOKS, OVER, TIMED, Rules, gap_ends, within_ends
from presage.operators.match.kernel.spec import ACCEPT

# WAIT: rows that decide it have not come. ASK: the host must evaluate the condition. TEST: the condition decides.
# ENDS: a match ends here. ENDS_INPUT: a match ends here because the input does ($).
NO, YES, WAIT, ASK, TEST, ENDS, ENDS_INPUT = range(7)


@inlined_always
def look_at(progress: Progress, g: int, row: int, end: int) -> None:
    """No result before that row; if it lies beyond the partition, before the end of input."""
    if row < end:
        progress.seen[g] = max(progress.seen[g], row)
    else:
        progress.timer[g] = OVER


@inlined_always
def moment_of(search: PathSearch, g: int) -> tuple[int, int]:
    """F_ROW and F_TIME of what is certain now."""
    row, timer = search.progress.seen[g], search.progress.timer[g]
    return (TIMED if timer > search.time[row] else row), timer


@inlined
def due_after(rules: Rules, time: Ints, start: int, row: int) -> int:
    """When the bounds of a path from `start` to `row` end."""
    due: int = min(within_ends(rules, time[start]), gap_ends(rules, time[row]))
    return due


@inlined_always
def is_cut(search: PathSearch, path: Path) -> bool:
    """Whether a bound ends the path before its next row, or, if that has not come, by the watermark."""
    rules, time = search.rules, search.time
    if not rules.bounded or path.row == path.start:
        return False
    due = due_after(rules, time, path.start, path.row - 1)
    return time[path.row] >= due if path.row < path.end else rules.watermark >= due


@inlined_always
def check_edge(search: PathSearch, g: int, path: Path, edge: int) -> int:
    """All that decides about an edge but the condition of its label."""
    edges, rules, progress = search.edges, search.rules, search.progress
    if edges.at_start[edge] and not (search.partitions.fresh[g] and path.start == path.begin):
        return NO
    if edges.target[edge] == ACCEPT:
        if not edges.at_end[edge]:
            return ENDS
        if path.row < path.end:
            progress.seen[g] = max(progress.seen[g], path.row)
            return NO
        return ENDS_INPUT if rules.ended else WAIT
    if is_cut(search, path):
        due = due_after(rules, search.time, path.start, path.row - 1)
        progress.timer[g] = max(progress.timer[g], due)
        if progress.partial[g] == 0:
            progress.partial[g] = path.row - path.start
            for row in range(path.start, path.row):
                progress.cut[row] = edges.target[progress.taken[row]]
        return NO
    if path.row < path.end:
        return TEST
    if not rules.ended:
        return WAIT
    progress.timer[g] = OVER
    return NO


@inlined_always
def test_row(search: PathSearch, g: int, path: Path, label: int) -> int:
    """Whether the path may take its next row with the label: NO, YES, WAIT or ASK."""
    paths, progress, scratch, ended = search.paths, search.progress, search.scratch, search.rules.ended
    truth = search.truth[label, path.row]
    reaches = path.row
    if truth & LOOKS:
        reaches += search.look[label]
        if reaches >= path.end and not ended:
            return WAIT
    if truth & HOLDS == 0:
        look_at(progress, g, reaches, path.end)
        return NO
    reaches = max(reaches, extend(search, path, label))
    if paths.bound[label] >= 0 or paths.asked[label]:
        give_values(search, g, path, label)
        places = paths.place_begin[label], paths.place_begin[label + 1]
        reaches = max(reaches, rows_at(search, path, places[0], places[1]))
    if reaches >= path.end and not ended:
        return WAIT
    look_at(progress, g, reaches, path.end)
    if paths.bound[label] >= 0:
        evaluate(search.programs, paths.bound[label], scratch)
        if not scratch.stack_valid[0] or scratch.stack_i[0] == 0:
            return NO
    if paths.asked[label]:
        return ask_host(progress, scratch, g, label, paths.place_begin[label + 1] - paths.place_begin[label])
    return YES


@inlined_always
def give_values(search: PathSearch, g: int, path: Path, label: int) -> None:
    """The host's values for the program of a label: aggregates, labels of places, the match number."""
    paths, scratch, at = search.paths, search.scratch, 0
    for i in range(paths.given_begin[label], paths.given_begin[label + 1]):
        give_aggregate(search, paths.given[i], path.row, at)
        at += 1
    for place in range(paths.classified_begin[label], paths.classified_begin[label + 1]):
        row = row_at(search, path, place)
        # Rows before the match and after the current one have no label.
        labelled = path.start <= row <= path.row
        scratch.given_i[at] = search.trace.label[row] if labelled else -1
        scratch.given_valid[at] = labelled
        at += 1
    if paths.numbered[label]:
        scratch.given_i[at] = search.progress.number[g] + 1
        scratch.given_valid[at] = True


@inlined
def ask_host(progress: Progress, scratch: Scratch, g: int, label: int, places: int) -> int:
    """The answer, or ASK with the rows that the question is about."""
    answer: int = progress.answer[g]
    progress.answer[g] = UNKNOWN
    if answer != UNKNOWN:
        return answer
    progress.asking[g] = label
    for i in range(places):
        progress.asked[g, i] = scratch.rows[i]
    return ASK
