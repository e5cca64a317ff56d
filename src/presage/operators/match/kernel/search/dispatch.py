"""Runs one of the searches on the rows of a step, and returns the state of each partition's search after it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa

from presage.arrays.columns import column
from presage.arrays.jit import Ints
from presage.arrays.programs.code import Code, Oracle
from presage.arrays.programs.encoding import Encoded
from presage.arrays.programs.machine import new_scratch, programs_of
from presage.errors import error
from presage.operators.match.kernel.retained import COVERED, CUT, EDGE, NEXT, OPEN, PARTIAL, STEPS, Work
from presage.operators.match.kernel.search.depth_first import search_paths
from presage.operators.match.kernel.search.path_state import PathSearch, Progress, new_progress, new_trace
from presage.operators.match.kernel.search.path_tables import PathTables, looks_at_path
from presage.operators.match.kernel.search.reach import ENTRIES, ReachSearch, search_reach
from presage.operators.match.kernel.search.skip_to_current import Starts, search_every
from presage.operators.match.kernel.search.tables import (
    F_OFFSET,
    NO_TARGET,
    OVER_BUDGET,
    OWN_FIRST,
    Edges,
    Partitions,
    rules_of,
)
from presage.operators.match.kernel.search.truth import looks_ahead, truth_of
from presage.operators.match.kernel.spec import MatchSpec

LEAST_BLOCK = 64  # rows


@dataclass(frozen=True)
class Search:
    """Finds, their positions in one line, where each partition's search resumes, and columns of its state by row."""

    finds: Ints
    line: Ints
    ahead: Ints
    held: dict[str, Ints]


def search_by_reach(
    spec: MatchSpec, edges: Edges, work: Work, table: pa.Table, encoded: Encoded, watermark: int, ended: bool
) -> Search:
    parts, size = work.partitions, len(work.time)
    truth = truth_of(spec.conditions, spec.code, table, encoded, parts.begin, parts.end)
    rules = rules_of(spec, watermark, ended)
    search = ReachSearch(edges, rules, truth, looks_ahead(spec.conditions), work.time, parts)
    block = max(LEAST_BLOCK, ENTRIES // max(len(edges.label), 1))
    finds, line, ahead, covered, failed = search_reach(search, block)
    _check(spec, failed)
    opened = np.zeros(size, np.int64)
    opened[ahead[ahead < parts.end]] = 1
    return Search(finds, line, ahead, {OPEN: opened} | _covered(spec, parts, covered, size))


def search_by_path(
    spec: MatchSpec,
    edges: Edges,
    work: Work,
    table: pa.Table,
    code: Code,
    encoded: Encoded,
    watermark: int,
    ended: bool,
    oracle: Oracle | None,
) -> Search:
    parts, size = work.partitions, len(work.time)
    paths = PathTables(spec, code).build()
    every = spec.skip.kind == "to_current"
    numbers = np.zeros(len(parts.begin), np.int64) if every else work.numbers
    progress = new_progress(parts, numbers, len(paths.places), size)
    search = PathSearch(
        edges,
        rules_of(spec, watermark, ended),
        paths,
        programs_of(code, encoded),
        new_trace(paths, size),
        new_scratch(len(paths.places) + 1, len(paths.given) + len(paths.places) + 1, code.depth + 1),
        progress,
        truth_of(spec.conditions, spec.code, table, encoded, parts.begin, parts.end),
        looks_ahead(spec.conditions),
        np.ascontiguousarray(work.time).copy(),
        parts,
    )
    if every:
        visited = np.zeros((0 if looks_at_path(spec) else size, len(edges.label)), np.int64)
        furthest = max([0, *(p.moved for c in spec.conditions for p in c.places)])
        starts = Starts(parts.start.copy(), parts.covered.copy(), np.zeros(size, np.int64), visited, furthest)
        found = _until_answered(spec, partial(search_every, search, starts), progress, table, oracle)
        held = {OPEN: progress.opened} | _covered(spec, parts, starts.covered, size)
        return Search(*found, starts.ahead, held)
    _resume(progress, work)
    found = _until_answered(spec, partial(search_paths, search), progress, table, oracle)
    opened = np.zeros(size, np.int64)
    at = progress.start < parts.end
    opened[progress.start[at]] = 1
    taken = np.where(_marked(progress.start, progress.start + progress.length, size), progress.taken + 1, 0)
    held = {OPEN: opened, EDGE: taken, CUT: progress.cut + 1} | _covered(spec, parts, parts.covered, size)
    for name, values in ((NEXT, progress.edge + 1), (STEPS, progress.steps), (PARTIAL, progress.partial)):
        held[name] = np.zeros(size, np.int64)
        held[name][progress.start[at]] = values[at]
    return Search(*found, progress.start, held)


def _resume(progress: Progress, work: Work) -> None:
    """Restores the searches from the state."""
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


def _covered(spec: MatchSpec, parts: Partitions, end: Ints, size: int) -> dict[str, Ints]:
    """Rows that lie in matches, where unmatched rows are shown."""
    return {COVERED: _marked(parts.begin, end, size)} if spec.rows == "all_unmatched" else {}


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
    """All finds. Between two runs the host evaluates the conditions of all partitions that asked."""
    all_finds, lines, used = [], [], 0
    answered = False
    while True:
        finds, line, failed = run(answered)
        _check(spec, failed)
        finds[:, F_OFFSET] += used
        used += len(line)
        all_finds.append(finds)
        lines.append(line)
        asking = np.flatnonzero(progress.asking >= 0)
        if not len(asking):
            return np.concatenate(all_finds), np.concatenate(lines)
        for label in np.unique(progress.asking[asking]).tolist():
            own = asking[progress.asking[asking] == label]
            condition = spec.conditions[label]
            asked = [(column(table, name), progress.asked[own, place]) for place, name in condition.asked_columns]
            arguments = [values.take(pa.array(rows, mask=rows < 0)) for values, rows in asked]
            if oracle is None:
                raise error("INTERNAL", what=f"there is no oracle for {condition.text}")
            progress.answer[own] = np.asarray(oracle.ask(condition.asked, arguments)).astype(np.bool_)
        answered = True


def _check(spec: MatchSpec, failed: Ints) -> None:
    if failed[0] in (NO_TARGET, OWN_FIRST):
        why = "has no row in a match" if failed[0] == NO_TARGET else "is the first row of the match itself"
        raise error("SKIP_TARGET", variable=spec.skip.name, why=why, clause=spec.clause)
    if failed[0] == OVER_BUDGET:
        raise error(
            "LIMIT",
            what=f"the search for one match of {spec.clause} ({_path_conditions(spec)})",
            limit_name="steps per match",
            limit=spec.budget,
            fix="bound it with WITHIN, or let the conditions refer to the row and its neighbours only",
        )


def _path_conditions(spec: MatchSpec) -> str:
    """The conditions over the match so far, in the user's words."""
    return ", ".join(c.text or "a condition" for c in spec.conditions if c.bound >= 0 or c.asked >= 0) or "DEFINE"
