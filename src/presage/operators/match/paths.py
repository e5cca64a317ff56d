"""Paths through a pattern that lead to a row of a partition, and the conditions of DEFINE for that row.

It is for why-not of one row: simple and slow, while the kernel finds the matches. The values in conditions are computed
by the kernel's measures.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from presage.arrays.columns import bools, column, ints
from presage.arrays.programs.encoding import encode
from presage.columnar.reasons import Answer, Examiner, merged, row_values
from presage.model import types as t
from presage.model.time import format_duration
from presage.operators.match.kernel.matches import Matches
from presage.operators.match.kernel.measures.columns import gather
from presage.operators.match.kernel.spec import ACCEPT, TIME, Condition, Edge, MatchSpec, Measure
from presage.operators.match.nodes import Match, gap_text, within_text
from presage.plan.expr import ColumnRef, Expr, conjunction
from presage.plan.row_terms import HostValue, RowValue

MOST_PATHS = 2_000


@dataclass(frozen=True)
class Path:
    """Rows from `start` on, each with its variable; `position`: that of the last row in the automaton."""

    start: int
    labels: tuple[int, ...]
    position: int

    @property
    def end(self) -> int:
        """The row after the last one."""
        return self.start + len(self.labels)


class Partition:
    """Rows of one partition in order: `table` has the prepared columns, `raw` the columns of the input."""

    def __init__(self, node: Match, spec: MatchSpec, table: pa.Table, raw: pa.Table, examiner: Examiner) -> None:
        self.node, self.spec, self.table, self.raw, self.examiner = node, spec, table, raw, examiner
        self.times = ints(table, TIME)
        self.capped = False
        self._asked: dict[int, tuple[Expr, dict[str, Expr]] | None] = {}

    # -- paths ---------------------------------------------------------------------------------------------

    def edges_from(self, path: Path | None, row: int) -> list[Edge]:
        """The edges by which a path may take a row, in order of preference."""
        automaton = self.spec.automaton
        edges = automaton.first if path is None else automaton.follow[path.position]
        return [edge for edge in edges if edge.target != ACCEPT and not (edge.at_start and row)]

    def may_end(self, path: Path) -> bool:
        """Whether a match may end with the path's last row, whatever rows follow."""
        return any(e.target == ACCEPT and not e.at_end for e in self.spec.automaton.follow[path.position])

    def too_late(self, path: Path, row: int) -> list[Answer]:
        """WITHIN and GAP, where a row is too late for them."""
        failed, times = [], self.times
        first, last = int(times[path.start]), int(times[row - 1])
        over, apart = self.spec.within_ends(first), self.spec.gap_ends(last)
        if over is not None and times[row] >= over:
            word = "INTERVAL" if self.spec.held else "WITHIN"
            failed.append(_bound_answer(f"{word} {within_text(self.spec)}", "the first row", int(times[row]) - first))
        if apart is not None and times[row] >= apart:
            failed.append(_bound_answer(f"GAP {gap_text(self.spec)}", "the row before", int(times[row]) - last))
        return failed

    def taken(self, paths: Iterable[Path], row: int, begin: bool) -> list[Path]:
        """The paths after a row, in order of preference; `begin`: a path may begin with it."""
        tries = [grown for path in paths if not self.too_late(path, row) for grown in self._grown(path, row)]
        tries += self._grown(None, row) if begin else []
        found: dict[Any, Path] = {}
        for grown, held in zip(tries, self._holds(tries, row), strict=True):
            if held:
                found.setdefault((grown.start, grown.position, grown.labels if self._looks_back else ()), grown)
        if len(found) > MOST_PATHS:
            self.capped = True
        return list(found.values())[:MOST_PATHS]

    def _grown(self, path: Path | None, row: int) -> list[Path]:
        start, labels = (row, ()) if path is None else (path.start, path.labels)
        own = self.spec.automaton.labels
        return [Path(start, (*labels, own[edge.target]), edge.target) for edge in self.edges_from(path, row)]

    @cached_property
    def _looks_back(self) -> bool:
        """Whether a condition depends on the variables of earlier rows."""
        return any(
            c.bound >= 0 or c.folds or c.classified or any(not p.current for p in c.places)
            for c in self.spec.conditions
        )

    # -- conditions ---------------------------------------------------------------------------------------

    def answers(self, path: Path | None, label: int, row: int) -> list[Answer]:
        """The conditions of a row as the next one of a path (None: as the first one), part by part."""
        grown = Path(row, (label,), 0) if path is None else Path(path.start, (*path.labels, label), 0)
        condition = self.node.tables.conditions[label]
        flags = {named.name: named.expr for named in self.node.prepared}
        found = list(self.too_late(path, row)) if path is not None else []
        if condition.flag is not None:
            found += self.examiner.answers(flags[condition.flag], row_values(self.raw, row))
        asked = self._condition(label)
        if asked is None:
            return found
        condition_of, leaves = asked
        values = self._gathered(label, leaves, [grown])
        by_leaf = {leaf: values[name] for name, leaf in leaves.items() if name in values}
        names = self.spec.automaton.variables

        def shown(x: Expr, value: Any) -> Any:
            labelled = isinstance(x, HostValue) and self._is_label(condition, x) and isinstance(value, int)
            return names[value] if labelled else value

        return merged([*found, *self.examiner.answers(condition_of, lambda x: by_leaf.get(x), shown)])

    def _holds(self, grown: Sequence[Path], row: int) -> list[bool]:
        """Whether the last row of each path fulfils the condition of its variable."""
        holds = [True] * len(grown)
        for label in {path.labels[-1] for path in grown}:
            own = [i for i, path in enumerate(grown) if path.labels[-1] == label]
            condition = self.spec.conditions[label]
            if condition.flag is not None and not bools(column(self.table.slice(row, 1), condition.flag))[0]:
                for i in own:
                    holds[i] = False
                continue
            asked = self._condition(label)
            if asked is None:
                continue
            expr, leaves = asked
            values = self._gathered(label, leaves, [grown[i] for i in own])
            answers = self._answers(expr, leaves, values, len(own))
            for i, answer in zip(own, answers, strict=True):
                holds[i] = answer
        return holds

    def _answers(self, expr: Expr, leaves: dict[str, Expr], values: dict[str, pa.Array], count: int) -> list[bool]:
        named = {leaf: name for name, leaf in leaves.items()}
        made = expr.rewrite(lambda x: ColumnRef(x.type, named[x]) if x in named else x)
        if values.keys() < leaves.keys() or not self.examiner.evaluator.computes(made):
            return [True] * count  # unknown: the path is kept, and the answer says so
        self.examiner.keep(made)
        found: list[bool] = self.examiner.evaluator.mask(made, pa.table(values)).tolist()
        return found

    def _condition(self, label: int) -> tuple[Expr, dict[str, Expr]] | None:
        """The condition of a variable over several rows, and the terms that refer to them, by name."""
        if label not in self._asked:
            condition = self.node.tables.conditions[label]
            parts = [self.node.programs[p] for p in (condition.nearby, condition.bound, condition.asked) if p >= 0]
            whole = conjunction(parts)
            terms = () if whole is None else (x for x in whole.walk() if isinstance(x, RowValue | HostValue))
            names: dict[str, Expr] = {f"l{i}": leaf for i, leaf in enumerate(dict.fromkeys(terms))}
            self._asked[label] = None if whole is None else (whole, names)
        return self._asked[label]

    def _gathered(self, label: int, leaves: dict[str, Expr], grown: Sequence[Path]) -> dict[str, pa.Array]:
        """The terms by name, with one value for each path; without the match number, which a path does not have."""
        condition, measures, labelled = self.spec.conditions[label], [], set()
        for name, leaf in leaves.items():
            if isinstance(leaf, RowValue):
                measures.append(Measure(name, place=condition.places[leaf.place], column=leaf.column))
            elif isinstance(leaf, HostValue) and leaf.number < len(condition.folds):
                measures.append(Measure(name, fold=condition.folds[leaf.number]))
            elif isinstance(leaf, HostValue) and self._is_label(condition, leaf):
                measures.append(Measure(name, place=condition.classified[leaf.number - len(condition.folds)]))
                labelled.add(name)
        spec = replace(self.spec, measures=tuple(measures))
        lengths = np.array([len(path.labels) for path in grown], np.int64)
        count, rows = len(grown), self.table.num_rows
        starts = np.array([path.start for path in grown], np.int64)
        matches = Matches(
            starts,
            lengths,
            np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)]),
            np.array([x for path in grown for x in path.labels], np.int64),
            np.ones(count, np.int64),
            np.zeros(count, np.int64),
            np.full(count, rows, np.int64),
            np.arange(count),
            starts + lengths - 1,
            lengths,
        )
        found = gather(spec, self.table, matches, encode(self.table, spec.code))
        variables = list(self.spec.automaton.variables)
        for name in labelled & {n for n, leaf in leaves.items() if leaf.type == t.LONG}:
            found[name] = pa.array([None if v is None else variables.index(v) for v in found[name].to_pylist()])
        return found

    def _is_label(self, condition: Condition, leaf: HostValue) -> bool:
        return 0 <= leaf.number - len(condition.folds) < len(condition.classified)


def _bound_answer(bound: str, since: str, found: int) -> Answer:
    return Answer(bound, False, ((f"time since {since}", format_duration(found)),))
