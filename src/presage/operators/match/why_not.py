"""Why-not of MATCH_RECOGNIZE: all paths through the pattern that led to a row, and the conditions that it failed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from presage.arrays.columns import ints
from presage.columnar.processing_order import sorted_table
from presage.columnar.reasons import (
    FAILS,
    TAKEN,
    Answer,
    Bound,
    Chance,
    Examiner,
    Reasons,
    ScanConditions,
    of_key,
    outcome_of,
    shown_row,
)
from presage.execution.steps import StepContext, prepared_columns, run
from presage.model.time import format_timestamp
from presage.operators.match.compile import match_kernel
from presage.operators.match.kernel.match import MatchKernel
from presage.operators.match.kernel.spec import MatchSpec, Measure, Place
from presage.operators.match.nodes import Match
from presage.operators.match.paths import Partition, Path
from presage.plan.expr import conjuncts
from presage.plan.nodes import SEQ, TIME, Filter, Node, Scan

# How many rows before and after the examined one paths are followed.
REACH = 500
MOST_CHANCES, MOST_BOUND = 60, 30
ROW, LABEL, NUMBER = "#row", "#label", "#number"


@dataclass(frozen=True)
class _FoundMatch:
    """A match: its rows, from the first to the last, and the variable of each."""

    start: int
    labels: tuple[str, ...]

    @property
    def end(self) -> int:
        return self.start + len(self.labels)


def why_match(node: Match, plan: Node, context: StepContext, number: int, examiner: Examiner) -> Reasons:
    """What happened to the row of an event, by its number. `context` reads all input of the statement."""
    what = f"PATTERN ({node.text})"
    if node.tables.whole:
        return Reasons(what, notes=("It is matched within the batches of a window, which why-not does not examine.",))
    raw = run(node.input, context).table
    order = node.input.order
    prepared = prepared_columns(node.prepared, raw, context)
    table = pa.table({**{name: raw[name] for name in (TIME, SEQ, *order)}, **prepared})
    table = table.append_column(ROW, pa.array(np.arange(table.num_rows)))
    own = np.flatnonzero(ints(table, SEQ) == number)
    if not len(own):
        return Reasons(what, notes=("It is not a row of this MATCH_RECOGNIZE.",))
    keys = node.tables.keys
    table = of_key(table, keys, [table[name][int(own[0])].as_py() for name in keys])
    table = _in_order(sorted_table(table, (TIME, SEQ, *order)), node.tables.sort)
    raw = raw.take(table[ROW])
    table = table.set_column(table.column_names.index(ROW), ROW, pa.array(np.arange(table.num_rows)))
    row = int(np.flatnonzero(ints(table, SEQ) == number)[0])
    kernel = match_kernel(node, context.relations)
    partition = Partition(node, kernel.spec, table, raw, examiner)
    return _RowReasons(what, partition, kernel, row, context).reasons()


class _RowReasons:
    def __init__(self, what: str, partition: Partition, kernel: MatchKernel, row: int, context: StepContext) -> None:
        self.what, self.partition, self.row, self.watermark = what, partition, row, context.watermark
        self.over = context.end
        self.spec: MatchSpec = kernel.spec
        self.matches = self._matches(kernel)

    def reasons(self) -> Reasons:
        mine = [found for found in self.matches if found.start <= self.row < found.end]
        notes = [self._describe(found) for found in mine]
        if mine and self.spec.held:
            until = self.spec.within_ends(int(self.partition.times[mine[-1].start]))
            if until is not None and until > self.watermark:
                notes.append(f"INTERVAL holds its row until {format_timestamp(until)}.")
        # A row that a match took needs no further chances of that start.
        settled = {found.start for found in mine}
        chances: list[Chance] = []
        for path in self._paths_here():
            chances += self._of_path(path) if path.start not in settled else []
        if self._begins(self.row):
            chances += self._of_path(None) if self.row not in settled else []
        elif not mine:
            notes.append("No match may begin with it: AFTER MATCH SKIP resumes after it.")
        first = max(0, self.row - REACH)
        if first and not self._bounded_to(first):
            since = format_timestamp(int(self.partition.times[first]))
            notes.append(f"Matches that began before {since} are not examined.")
        if self.partition.capped:
            notes.append("There are very many paths through the pattern; some are not examined.")
        if len(chances) > MOST_CHANCES:
            notes.append(f"{len(chances) - MOST_CHANCES} more paths are not shown.")
        return Reasons(self.what, tuple(chances[:MOST_CHANCES]), tuple(notes))

    def _describe(self, found: _FoundMatch) -> str:
        since, until = (format_timestamp(int(self.partition.times[i])) for i in (found.start, found.end - 1))
        return f"It is {found.labels[self.row - found.start]} of the match from {since} to {until}."

    # -- matches of the kernel ------------------------------------------------------------------------------

    def _matches(self, kernel: MatchKernel) -> list[_FoundMatch]:
        """The matches that are certain, row by row."""
        automaton = replace(self.spec.automaton, excluded=tuple(False for _ in self.spec.automaton.excluded))
        shown = (Measure(LABEL, place=Place(current=True)), Measure(NUMBER, match_number=True))
        spec = replace(
            self.spec,
            automaton=automaton,
            measures=shown,
            keys=(),
            carry=(ROW,),
            rows="all_omit",
            held=False,
            timeouts=False,
            shown_time=None,
        )
        again = MatchKernel(spec, kernel.oracle)
        _, made = again.step(again.initial(), self.partition.table, self.watermark, self.over)
        found: dict[int, list[tuple[int, str]]] = {}
        for number, row, label in zip(*(made[n].to_pylist() for n in (NUMBER, ROW, LABEL)), strict=True):
            found.setdefault(number, []).append((row, label))
        return [_FoundMatch(min(rows)[0], tuple(label for _, label in sorted(rows))) for rows in found.values()]

    def _begins(self, row: int) -> bool:
        """Whether the search tried, or may still try, a match that begins with a row."""
        kind, labels = self.spec.skip.kind, {self.spec.automaton.variables[x] for x in self.spec.skip.labels}
        for found in self.matches:
            if not found.start < row < found.end or kind in ("to_next", "to_current"):
                continue
            targets = [found.start + i for i, label in enumerate(found.labels) if label in labels]
            until = found.end if not targets else targets[0] if kind == "to_first" else targets[-1]
            if row < until:
                return False
        return True

    def _bounded_to(self, row: int) -> bool:
        times = self.partition.times
        over = self.spec.within_ends(int(times[row - 1]))
        return over is not None and times[self.row] >= over

    # -- paths -----------------------------------------------------------------------------------------------

    def _paths_here(self) -> list[Path]:
        """The paths through all rows up to the one before that were still open."""
        paths: list[Path] = []
        done = {found.start: found.end for found in self.matches}
        if self.spec.skip.kind == "to_current":
            done = {}
        for row in range(max(0, self.row - REACH), self.row):
            paths = [path for path in paths if done.get(path.start, row + 1) > row]
            paths = self.partition.taken(paths, row, self._begins(row))
        return [path for path in paths if done.get(path.start, self.row + 1) > self.row]

    def _of_path(self, path: Path | None) -> list[Chance]:
        """One chance for each variable that the row could have been."""
        found = []
        bound = tuple(self._bound(path))
        positions = [edge.target for edge in self.partition.edges_from(path, self.row)]
        for label in dict.fromkeys(self.spec.automaton.labels[position] for position in positions):
            answers = self.partition.answers(path, label, self.row)
            outcome = outcome_of(answers)
            further = self._fate(path, label) if outcome == TAKEN else ""
            found.append(Chance(self._defined(label), bound, tuple(answers), outcome, further))
        if path is not None and self.partition.may_end(path) and all(c.outcome == FAILS for c in found):
            found = [replace(chance, further="a match could end with the row before it") for chance in found]
        return found

    def _defined(self, label: int) -> str:
        text = self.spec.conditions[label].text.removeprefix("DEFINE ")
        return text or f"{self.spec.automaton.variables[label]}: always"

    def _bound(self, path: Path | None) -> list[Bound]:
        if path is None:
            return []
        rows = list(range(path.start, path.end))
        if len(rows) > MOST_BOUND:
            rows = [rows[0], *rows[1 - MOST_BOUND :]]
        names, times = self.spec.automaton.variables, self.partition.times
        return [
            Bound(names[path.labels[i - path.start]], int(times[i]), shown_row(self.partition.raw, i)) for i in rows
        ]

    def _fate(self, path: Path | None, label: int) -> str:
        """The outcome of the paths that took the row as a variable."""
        partition, row = self.partition, self.row
        before = [path] if path is not None else []
        paths = [p for p in partition.taken(before, row, path is None) if p.labels[-1] == label and p.end == row + 1]
        ended: Path | None = None
        last = partition.table.num_rows
        while paths and row + 1 < min(last, self.row + REACH):
            ended = next((p for p in paths if partition.may_end(p)), ended)
            before, row = paths, row + 1
            paths = partition.taken(paths, row, False)
        ended = next((p for p in paths if partition.may_end(p)), ended)
        if ended is not None:
            return self._complete(ended)
        if paths and row + 1 < last:
            return f"it went on for more than {REACH} rows"
        if paths:
            return self._open(paths[0])
        return f"it went on to {format_timestamp(int(partition.times[row - 1]))}; {self._failed(before, row)}"

    def _complete(self, path: Path) -> str:
        end = format_timestamp(int(self.partition.times[path.end - 1]))
        if any(found.start == path.start for found in self.matches):
            return f"a match could end at {end}; another path through the pattern was preferred"
        until = self._ends(path)
        latest = f", at most until {format_timestamp(until)}" if until is not None and until > self.watermark else ""
        return f"a match is complete at {end}; its row waits until no later row can change it{latest}"

    def _open(self, path: Path) -> str:
        """The outcome of a path that has all rows so far."""
        if self.over:
            return "no row followed before the statement ended"
        until = self._ends(path)
        if until is None:
            return "it waits for the next row"
        word = "waits for the next row, at most until" if until > self.watermark else "had time for a next row until"
        return f"it {word} {format_timestamp(until)}"

    def _ends(self, path: Path) -> int | None:
        """When the bounds of a path end."""
        times, spec = self.partition.times, self.spec
        bounds = (spec.within_ends(int(times[path.start])), spec.gap_ends(int(times[path.end - 1])))
        return min((bound for bound in bounds if bound is not None), default=None)

    def _failed(self, paths: Sequence[Path], row: int) -> str:
        """Why no variable took a row: of the first path, each variable with what failed."""
        reasons = []
        for edge in self.partition.edges_from(paths[0], row):
            label = self.spec.automaton.labels[edge.target]
            failed = [answer for answer in self.partition.answers(paths[0], label, row) if answer.holds is not True]
            if failed:
                reasons.append(f"not {self.spec.automaton.variables[label]}: {_worded(failed[0])}")
        at = format_timestamp(int(self.partition.times[row]))
        return f"the row of {at} was {', '.join(dict.fromkeys(reasons)) or 'more than the pattern takes'}"


def _worded(answer: Answer) -> str:
    values = ", ".join(f"{name} is {value}" for name, value in answer.values)
    return f"{answer.text} ({values})" if values else answer.text


def _in_order(table: pa.Table, sort: Sequence[tuple[str, bool]]) -> pa.Table:
    """Sorted by ORDER BY, nulls first where it ascends; stable."""
    for name, ascending in reversed(sort):
        order, nulls = ("ascending", "at_start") if ascending else ("descending", "at_end")
        table = table.take(pc.array_sort_indices(table[name].combine_chunks(), order=order, null_placement=nulls))
    return table


def scan_conditions(node: Match) -> Iterator[ScanConditions]:
    """The conditions of DEFINE over the row alone, for each variable that has some."""
    asked = node.input.condition if isinstance(node.input, Filter) else None
    scan = node.input.input if isinstance(node.input, Filter) else node.input
    flags = {named.name: named.expr for named in node.prepared}
    for condition in node.tables.conditions:
        if condition.flag is not None and isinstance(scan, Scan):
            own = (*conjuncts(asked), *conjuncts(flags[condition.flag]))
            yield ScanConditions(scan, own, condition.text.removeprefix("DEFINE "))


CONDITIONS = {Match: scan_conditions}
WHY_NOT = {Match: why_match}
