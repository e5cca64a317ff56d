"""Runs the search that fits on the rows of a step, and notes where it stands after it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from presage.arrays.columns import column
from presage.arrays.jit import Ints
from presage.arrays.programs.code import Code, Oracle
from presage.arrays.programs.encoding import Encoded
from presage.errors import error
from presage.operators.match.kernel.retained import COVERED, CUT, EDGE, NEXT, OPEN, PARTIAL, STEPS, Work
from presage.operators.match.kernel.search.depth_first import search_paths
from presage.operators.match.kernel.search.path_tables import looks_at_path, paths_of, programs_of
from presage.operators.match.kernel.search.path_tests import Progress, new_progress
from presage.operators.match.kernel.search.path_values import new_scratch, new_trace
from presage.operators.match.kernel.search.reach import ENTRIES, search_reach
from presage.operators.match.kernel.search.skip_to_current import search_every
from presage.operators.match.kernel.search.tables import F_OFFSET, NO_TARGET, OVER_BUDGET, OWN_FIRST, Edges, rules_of
from presage.operators.match.kernel.search.truth import looks_ahead, truth_of
from presage.operators.match.kernel.spec import MatchSpec

FEWEST = 64  # rows of a block


@dataclass(frozen=True)
class Search:
    """Finds and their line of positions; where each partition's search goes on; bookkeeping by row."""

    finds: Ints
    line: Ints
    ahead: Ints
    held: dict[str, Ints]


def search_by_reach(
    spec: MatchSpec, edges: Edges, work: Work, table: pa.Table, encoded: Encoded, clock: int, ended: bool, last: bool
) -> Search:
    """`last`: no step follows, so nobody asks where the search stands."""
    parts = work.partitions
    truth = truth_of(spec.conditions, spec.code, table, encoded, parts.begin, parts.end)
    rules = rules_of(spec, clock, ended)
    block = max(FEWEST, ENTRIES // max(len(edges.label), 1))
    finds, line, ahead, covered, failed = search_reach(
        edges, rules, truth, looks_ahead(spec.conditions), work.time, parts, block
    )
    _check(spec, failed)
    if last:
        return Search(finds, line, ahead, {})
    opened = np.zeros(len(work.time), np.int64)
    opened[ahead[ahead < parts.end]] = 1
    return Search(finds, line, ahead, {OPEN: opened, COVERED: _marked(parts.begin, covered, len(work.time))})


def search_by_path(
    spec: MatchSpec,
    edges: Edges,
    work: Work,
    table: pa.Table,
    code: Code,
    encoded: Encoded,
    clock: int,
    ended: bool,
    oracle: Oracle | None,
) -> Search:
    parts, size = work.partitions, len(work.time)
    truth = truth_of(spec.conditions, spec.code, table, encoded, parts.begin, parts.end)
    look = looks_ahead(spec.conditions)
    rules = rules_of(spec, clock, ended)
    paths, programs = paths_of(spec, code), programs_of(code, encoded)
    trace, scratch = new_trace(paths, size), new_scratch(paths, code.depth)
    time = np.ascontiguousarray(work.time).copy()
    every = spec.skip.kind == "to_current"
    numbers = np.zeros(len(parts.begin), np.int64) if every else work.numbers
    progress = new_progress(parts, numbers, len(paths.places), size)
    common = (edges, rules, paths, programs, trace, scratch, progress, truth, look, time, parts)
    ahead, covered = parts.start.copy(), parts.covered.copy()
    if every:
        ended_at = np.zeros(size, np.int64)
        visited = np.zeros((0 if looks_at_path(spec) else size, len(edges.label)), np.int64)
        further = max([0, *(p.moved for c in spec.conditions for p in c.places)])

        def run(again: bool) -> tuple[Ints, Ints, Ints]:
            return search_every(*common, ahead, covered, ended_at, visited, further, again)
    else:
        _resume(progress, work)

        def run(again: bool) -> tuple[Ints, Ints, Ints]:
            return search_paths(*common, again)

    finds, line = _until_answered(spec, run, progress, table, oracle)
    if every:
        held = {OPEN: progress.opened, COVERED: _marked(parts.begin, covered, size)}
        return Search(finds, line, ahead, held)
    opened = np.zeros(size, np.int64)
    at = progress.start < parts.end
    opened[progress.start[at]] = 1
    taken = np.where(_marked(progress.start, progress.start + progress.length, size), progress.taken + 1, 0)
    held = {OPEN: opened, COVERED: _marked(parts.begin, parts.covered, size), EDGE: taken, CUT: progress.cut + 1}
    for name, values in ((NEXT, progress.edge + 1), (STEPS, progress.steps), (PARTIAL, progress.partial)):
        held[name] = np.zeros(size, np.int64)
        held[name][progress.start[at]] = values[at]
    return Search(finds, line, progress.start, held)


def _resume(progress: Progress, work: Work) -> None:
    """Searches stand where the step before has left them."""
    parts, held = work.partitions, work.held
    progress.taken[:] = held[EDGE] - 1
    progress.cut[:] = held[CUT] - 1
    at = np.flatnonzero(parts.start < parts.come)
    first = parts.start[at]
    progress.edge[at] = held[NEXT][first] - 1
    progress.steps[at] = held[STEPS][first]
    progress.partial[at] = held[PARTIAL][first]
    on_path = np.append(0, np.cumsum(held[EDGE] > 0))
    progress.length[at] = on_path[parts.end[at]] - on_path[first]


def _marked(begin: Ints, end: Ints, size: int) -> Ints:
    """1 in the rows [begin, end) of each partition."""
    change = np.zeros(size + 1, np.int64)
    np.add.at(change, begin, 1)
    np.add.at(change, np.maximum(begin, end), -1)
    marked: Ints = np.cumsum(change)[:size]
    return marked


def _until_answered(
    spec: MatchSpec,
    run: Callable[[bool], tuple[Ints, Ints, Ints]],
    progress: Progress,
    table: pa.Table,
    oracle: Oracle | None,
) -> tuple[Ints, Ints]:
    """All finds; in between, what partitions ask is put to the oracle, all of them together."""
    all_finds, lines, used = [], [], 0
    again = False
    while True:
        finds, line, failed = run(again)
        _check(spec, failed)
        finds[:, F_OFFSET] += used
        used += len(line)
        all_finds.append(finds)
        lines.append(line)
        asking = np.flatnonzero(progress.asking >= 0)
        if not len(asking):
            return np.concatenate(all_finds), np.concatenate(lines)
        for label in np.unique(progress.asking[asking]).tolist():
            who = asking[progress.asking[asking] == label]
            condition = spec.conditions[label]
            asked = [(column(table, name), progress.asked[who, place]) for place, name in condition.asked_columns]
            arguments = [values.take(pa.array(rows, mask=rows < 0)) for values, rows in asked]
            if oracle is None:
                raise error("INTERNAL", what=f"nobody can answer {condition.text}")
            progress.answer[who] = np.asarray(oracle.ask(condition.asked, arguments)).astype(np.bool_)
        again = True


def _check(spec: MatchSpec, failed: Ints) -> None:
    if failed[0] in (NO_TARGET, OWN_FIRST):
        why = "has no row in a match" if failed[0] == NO_TARGET else "is the first row of the match itself"
        raise error("SKIP_TARGET", variable=spec.skip.name, why=why, clause=spec.clause)
    if failed[0] == OVER_BUDGET:
        raise error(
            "LIMIT",
            what=f"the search for one match of {spec.clause} ({_looking(spec)})",
            limit_name="steps per match",
            limit=spec.budget,
            fix="bound it with WITHIN, or make the conditions speak of the row and its neighbours only",
        )


def _looking(spec: MatchSpec) -> str:
    """The conditions that look at the match so far, in the user's words."""
    return ", ".join(c.text or "a condition" for c in spec.conditions if c.bound >= 0 or c.asked >= 0) or "DEFINE"
