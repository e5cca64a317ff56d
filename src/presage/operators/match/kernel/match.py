"""The kernel of MATCH_RECOGNIZE: it emits a match as soon as no later event can change it.

Rows and their moments do not depend on how events are cut into steps, nor on the watermarks between. Where no condition
depends on the match so far the search is `reach`, else `depth_first`; AFTER MATCH SKIP TO CURRENT ROW is
`skip_to_current`. State: the rows from each partition's first open start on, earlier rows that PREV may read, and the
progress of each search.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa

from presage.arrays.columns import ints, unique
from presage.arrays.jit import Ints
from presage.arrays.programs.code import Oracle
from presage.arrays.programs.encoding import encode
from presage.model.operator_state import State
from presage.operators.match.kernel.emission import emit, finished, merged
from presage.operators.match.kernel.measures.columns import gather
from presage.operators.match.kernel.retained import (
    BEFORE,
    COVERED,
    CUT,
    EDGE,
    HEAD,
    NEXT,
    OPEN,
    PARTIAL,
    STEPS,
    Work,
    kept_rows,
    next_tables,
    release,
    with_heads,
    work_of,
)
from presage.operators.match.kernel.search.dispatch import Search, search_by_path, search_by_reach
from presage.operators.match.kernel.search.path_tables import all_folds, check_folds, looks_at_path, with_arguments
from presage.operators.match.kernel.search.tables import Edges, edges_of
from presage.operators.match.kernel.spec import ENDED, SEQ, TIME, MatchSpec, Place

NAME = "match"


@dataclass(frozen=True)
class MatchKernel:
    """The oracle evaluates conditions that no program can express; a spec without them needs none."""

    spec: MatchSpec
    oracle: Oracle | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        check_folds(self.spec)

    def initial(self) -> State:
        return State(NAME)

    def step(self, state: State, events: pa.Table, clock: int, end: bool = False) -> tuple[State, pa.Table]:
        spec = self.spec
        events = events.select([name for name in self._columns if name in events.column_names])
        ready, unsorted = release(spec, state.tables, events, clock, end)
        work = work_of(spec, state.tables, ready, clock, end, self._remembers, self._bookkeeping)
        code = with_arguments(spec.code, spec, ready.schema)
        table = work.sorted(self._read_columns)
        encoded = encode(table, code)
        over = end or spec.whole
        if self._by_reach:
            search = search_by_reach(spec, self._edges, work, table, encoded, clock, over)
        else:
            search = search_by_path(spec, self._edges, work, table, code, encoded, clock, over, self.oracle)
        emission = emit(spec, work, search.finds, search.line, clock)
        matches = emission.matches
        columns: dict[str, pa.Array] = {name: pa.array(values) for name, values in emission.columns.items()}
        for name in (*spec.keys, *spec.carry):
            columns[name] = work.take(name, matches.out_row)
        columns |= gather(spec, table, matches, encoded)
        if spec.timeouts:
            columns[spec.timed_out] = pa.array(emission.timed_out)
        columns |= {name: pa.array(values) for name, values in emission.firsts.items()}
        rows = pa.table(columns)
        tables = {} if end else self._next(work, search, emission.numbers)
        if unsorted is not None and not end:
            tables["unsorted"] = unsorted
        if spec.held:
            rows, waiting = self._hold(state, rows, clock, end)
            if waiting.num_rows:
                tables["waiting"] = waiting
        return State(NAME, tables), finished(spec, rows)

    def _next(self, work: Work, search: Search, numbers: Ints) -> dict[str, pa.Table]:
        rows, before = kept_rows(work, search.ahead, self._back)
        held = search.held | ({HEAD: with_heads(work)} if self._anchored else {})
        return next_tables(work, rows, before, {name: held[name] for name in self._bookkeeping}, numbers)

    def _hold(self, state: State, rows: pa.Table, clock: int, end: bool) -> tuple[pa.Table, pa.Table]:
        """Rows that the watermark has reached, and rows to hold back; none at the end of input."""
        before = state.tables.get("waiting")
        if before is not None:
            rows = merged(self.spec, pa.concat_tables([before.select(rows.column_names), rows]))
        late = ints(rows, TIME) > clock
        if end:
            for name, value in ((TIME, clock), (SEQ, ENDED)):
                column = pa.array(np.where(late, value, ints(rows, name)))
                rows = rows.set_column(rows.column_names.index(name), name, column)
            return merged(self.spec, rows), rows.slice(0, 0)
        return rows.filter(pa.array(~late)), rows.filter(pa.array(late))

    # -- derived from the spec -------------------------------------------------------------------------

    @cached_property
    def _edges(self) -> Edges:
        return edges_of(self.spec.automaton, self.spec.skip.labels)

    @cached_property
    def _by_reach(self) -> bool:
        """Bounds cut all paths of a start at one row only if nothing reads rows beyond it."""
        spec = self.spec
        if looks_at_path(spec) or spec.skip.kind == "to_current":
            return False
        beyond = any(p.moved > 0 for c in spec.conditions for p in c.places)
        beyond |= any(edge.at_end for ways in spec.automaton.follow for edge in ways)
        return not (beyond and (spec.within is not None or spec.gap is not None))

    @cached_property
    def _remembers(self) -> bool:
        spec = self.spec
        counts = any(m.match_number for m in spec.measures) or any(c.match_number for c in spec.conditions)
        return not spec.whole and (counts or self._anchored)

    @cached_property
    def _anchored(self) -> bool:
        return any(edge.at_start for edge in self.spec.automaton.first)

    @cached_property
    def _bookkeeping(self) -> list[str]:
        names = [OPEN]
        if self._anchored:
            names.append(HEAD)
        if self.spec.rows == "all_unmatched":
            names.append(COVERED)
        if not self._by_reach and self.spec.skip.kind != "to_current":
            names += [EDGE, CUT, NEXT, STEPS, PARTIAL]
        return names

    @cached_property
    def _back(self) -> int:
        """How many rows before a match conditions and measures read."""
        return max([0, *(-place.moved for place in self._places())])

    def _places(self) -> Iterator[Place]:
        for condition in self.spec.conditions:
            yield from (*condition.places, *condition.classified)
            for fold in condition.folds:
                yield from fold.places
        for measure in self.spec.measures:
            if measure.place is not None:
                yield measure.place
            if measure.fold is not None:
                yield from measure.fold.places

    @cached_property
    def _read_columns(self) -> list[str]:
        """The columns that conditions and measures read."""
        spec = self.spec
        folds = [*all_folds(spec.conditions), *(m.fold for m in spec.measures if m.fold is not None)]
        return unique(
            [
                *(c.flag for c in spec.conditions if c.flag is not None),
                *(name for c in spec.conditions for _, name in c.asked_columns),
                *(name for name, _ in spec.code.columns),
                *(name for fold in folds for name in (*fold.columns, *fold.by)),
                *(m.column for m in spec.measures if m.column is not None),
            ]
        )

    @cached_property
    def _columns(self) -> list[str]:
        """The columns of an event that the state stores."""
        spec = self.spec
        sort = [name for name, _ in spec.sort]
        return unique([TIME, SEQ, *spec.order, spec.event_time, *spec.keys, *spec.carry, *sort, *self._read_columns])


def open_matches(state: State) -> int:
    """The number of open partial matches."""
    rows = state.tables.get("rows")
    return 0 if rows is None else int(ints(rows, OPEN).sum())


def waits_for_time(state: State) -> bool:
    """Whether time alone may settle something: a match that is open, or one that is held back."""
    rows = state.tables.get("rows")
    return "waiting" in state.tables or (rows is not None and bool((ints(rows, BEFORE) == 0).any()))
