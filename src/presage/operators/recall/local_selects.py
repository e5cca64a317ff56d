"""Selects of history as Arrow tables, in this process: a batch of events is joined as a set.

The counterpart of `spark_selects`, with the same rows. A question is a row of a small table: the columns of the event
that the select names, and the bounds of its history in time and arrival. Joins meet all questions at once, and no
answer depends on another question: where there are too many pairs, questions are divided.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from presage.arrays.equality import equality_codes
from presage.arrays.jit import Bools, Ints
from presage.arrays.rows import take_rows
from presage.columnar.evaluate import Evaluator
from presage.columnar.vectors import one_array
from presage.model.arrow import to_arrow
from presage.operators.recall.answers import ARRIVED, WHEN, finished, with_empty
from presage.operators.recall.kernel.store import rows_before
from presage.operators.recall.local_groups import groups_of, parts_in, values_of
from presage.operators.recall.local_windows import with_windows
from presage.operators.recall.nodes import Nearby, Recalled, Select, Source, Subquery
from presage.operators.recall.questions import BEFORE, EVENT, HIGH, LOW, Questions, counted_out
from presage.plan.expr import ColumnRef, Comparison, Expr, conjuncts
from presage.plan.nodes import SEQ, TIME

# The most pairs of rows that a join may make at once, and how often questions are halved to stay below.
MOST_PAIRS, MOST_HALVINGS = 8_000_000, 6
# The rows of a stream, with TIME and SEQ, or of a relation, by its number.
Rows = Callable[[int], pa.Table]
# Time and arrival of a row that is being joined.
_TIME, _SEQ = "_rt", "_rs"


class TooManyPairsError(Exception):
    """A join makes more than MOST_PAIRS."""


@dataclass(frozen=True)
class Asking:
    """The input of a select: questions, numbered from 0 in EVENT, and the rows of history."""

    questions: pa.Table
    rows: Rows
    evaluator: Evaluator

    @property
    def count(self) -> int:
        return int(self.questions.num_rows)


def ask_here(select: Select, asked: Questions, rows: Rows, evaluator: Evaluator, parts: bool) -> pa.Table | None:
    """Answers as of `left_join.Ask`; None if there are too many pairs, even for some questions at a time."""

    def answers(asking: Asking) -> pa.Table:
        if not select.grouped:
            return select_rows(select, asking)
        if parts:
            return parts_in(select, joined(select, asking), asking.evaluator)
        return select_groups(select, asking, or_null=False)

    return _in_pieces(answers, Asking(asked.table.combine_chunks(), rows, evaluator))


def near_here(stream: Nearby, width: int, asked: Questions, rows: Rows, evaluator: Evaluator) -> pa.Table | None:
    """EVENT, WHEN, ARRIVED and the attributes of the events in the last `width` microseconds of each span; None if
    there are too many."""
    select = Select((Source("", stream.number, window=width),), None, (), False, (), (), None, stream.attributes)
    return _in_pieces(lambda asking: select_rows(select, asking), Asking(asked.table.combine_chunks(), rows, evaluator))


def _in_pieces(answers: Callable[[Asking], pa.Table], asking: Asking) -> pa.Table | None:
    try:
        return pa.concat_tables(_divided(answers, asking, MOST_HALVINGS))
    except TooManyPairsError:
        return None


def _divided(answers: Callable[[Asking], pa.Table], asking: Asking, halvings: int) -> list[pa.Table]:
    number = asking.questions[EVENT]
    place = asking.questions.column_names.index(EVENT)
    own = replace(asking, questions=asking.questions.set_column(place, EVENT, pa.array(np.arange(asking.count))))
    try:
        found = answers(own)
    except TooManyPairsError:
        if not halvings or asking.count < 2:
            raise
        half = asking.count // 2
        both = (replace(asking, questions=asking.questions.slice(*part)) for part in ((0, half), (half,)))
        return [table for part in both for table in _divided(answers, part, halvings - 1)]
    return [found.set_column(0, EVENT, one_array(number).take(one_array(found[EVENT])))]


def select_rows(select: Select, asking: Asking) -> pa.Table:
    """EVENT, the outputs and the terms of the order; WHEN and ARRIVED if it reads a stream."""
    rows = with_windows(select, joined(select, asking), asking.evaluator)
    terms = (*select.outputs, *select.sort)
    made = asking.evaluator.columns([o.expr for o in terms], rows)
    columns = {EVENT: rows[EVENT]} | {o.name: array for o, array in zip(terms, made, strict=True)}
    return pa.table(columns | {name: rows[name] for name in (WHEN, ARRIVED) if name in rows.column_names})


def select_groups(select: Select, asking: Asking, or_null: bool) -> pa.Table:
    """EVENT, the groups, the aggregates and the answers of late subqueries. `or_null`: a sum that leaves the range of
    LONG is null, and no error."""
    made = values_of(select, groups_of(select, joined(select, asking), asking.evaluator), or_null)
    if not select.groups:
        # An aggregate of nothing is a row, too.
        made = with_empty(select, made, np.arange(asking.count))
    late = [each for each in select.subqueries if each.late]
    if not late:
        return made
    event = one_array(made[EVENT])
    frame = made
    for name in sorted(select.parameters):
        frame = frame.append_column(name, one_array(asking.questions[name]).take(event))
    for subquery in late:
        frame = _answered(subquery, frame, asking)
    return frame.select([*made.column_names, *(each.name for each in late)])


def whole_select(select: Select, asking: Asking) -> pa.Table:
    """EVENT and the outputs, after groups, HAVING, DISTINCT, ORDER BY and LIMIT: a select inside another."""
    found = select_groups(select, asking, or_null=True) if select.grouped else select_rows(select, asking)
    every, whole = np.arange(asking.count), np.ones(asking.count)
    rows = finished(Recalled("", select), found, asking.questions, every, whole, asking.evaluator)
    return rows.rename_columns([EVENT, *(o.name for o in select.outputs)])


# -- joining -----------------------------------------------------------------------------------------


def joined(select: Select, asking: Asking) -> pa.Table:
    """The rows of FROM and WHERE for every question."""
    pending = conjuncts(select.where)
    subqueries = {each.name for each in select.subqueries}
    frame, timed = asking.questions, False
    for source in select.sources:
        rows = _source(source, asking)
        conditions = list(conjuncts(source.on))
        if not source.outer:
            known = {*frame.column_names, *rows.column_names}
            ready = [c for c in pending if c.columns() <= known and not c.columns() & subqueries]
            pending = [c for c in pending if c not in ready]
            conditions += ready
        frame = _joined(source, frame, rows, conditions, asking.evaluator)
        if source.is_stream:
            named = {_TIME: WHEN, _SEQ: ARRIVED} if not timed else {}
            frame, timed = _renamed(frame, named, {_TIME, _SEQ} - named.keys()), True
    for subquery in select.subqueries:
        frame = frame if subquery.late else _answered(subquery, frame, asking)
    return _filtered(frame, pending, asking.evaluator)


def _renamed(table: pa.Table, named: dict[str, str], dropped: set[str]) -> pa.Table:
    kept = [name for name in table.column_names if name not in dropped]
    return table.select(kept).rename_columns([named.get(name, name) for name in kept])


def _filtered(table: pa.Table, conditions: Sequence[Expr], evaluator: Evaluator) -> pa.Table:
    for condition in conditions:
        table = table.filter(pa.array(evaluator.mask(condition, table)))
    return table


def _owner(source: Source) -> str:
    """The column with the question of a row of a select in FROM."""
    return f"{EVENT}_{source.alias}"


def _source(source: Source, asking: Asking) -> pa.Table:
    if source.select is not None:
        made = whole_select(source.select, asking)
        return made.rename_columns([_owner(source), *(f"{source.alias}.{name}" for name in made.column_names[1:])])
    assert source.number is not None
    rows = asking.rows(source.number)
    return rows if source.relation else _renamed(rows, {TIME: _TIME, SEQ: _SEQ}, set())


def _joined(
    source: Source, frame: pa.Table, rows: pa.Table, conditions: Sequence[Expr], evaluator: Evaluator
) -> pa.Table:
    """Each row of the frame with the rows of a source that satisfy the conditions and lie in its history; of an outer
    join, with nulls if there is none."""
    ours, theirs = set(frame.column_names), set(rows.column_names)
    rows = _filtered(rows, [c for c in conditions if not c.columns() & ours], evaluator)
    rest = [c for c in conditions if c.columns() & ours]
    if not source.outer:
        # Before there are pairs.
        frame = _filtered(frame, [c for c in rest if not c.columns() & theirs], evaluator)
        rest = [c for c in rest if c.columns() & theirs]
    ties = [(c, tie) for c in rest if (tie := _tie(c, ours, theirs)) is not None]
    rows = _looked_up([tie for _, tie in ties], frame, rows, evaluator)
    mine = evaluator.columns([tie[0] for _, tie in ties], frame)
    others = evaluator.columns([tie[1] for _, tie in ties], rows)
    if source.select is not None:
        mine, others = [*mine, one_array(frame[EVENT])], [*others, one_array(rows[_owner(source)])]
    at, low, high = _span(source, frame, rows)
    left, right = _pairs(mine, others, at, low, high)
    if source.is_stream:
        keep = rows[_SEQ].to_numpy()[right] < frame[BEFORE].to_numpy()[left]
        left, right = left[keep], right[keep]
    rest = [c for c in rest if c not in [tied for tied, _ in ties]]
    if rest:
        # Only what the conditions name, until it is known which pairs remain.
        named = frozenset[str]().union(*(c.columns() for c in rest))
        pairs = _beside(frame.select(sorted(named & ours)), rows.select(sorted(named & theirs)), left, right)
        keep = np.logical_and.reduce(evaluator.masks(rest, pairs))
        left, right = left[keep], right[keep]
    if source.outer:
        alone = np.setdiff1d(np.arange(frame.num_rows), left)
        order = np.argsort(np.concatenate((left, alone)), kind="stable")
        left = np.concatenate((left, alone))[order]
        right = np.concatenate((right, np.full(len(alone), -1)))[order]
    names = [name for name in rows.column_names if name != _owner(source)]
    return _beside(frame, rows.select(names), left, right)


def _beside(frame: pa.Table, rows: pa.Table, left: Ints, right: Ints) -> pa.Table:
    """Pairs of rows; -1 on the right gives nulls."""
    made = take_rows(frame, left)
    missing = right < 0
    if not missing.any():
        others = take_rows(rows, right)
    else:
        places = pa.array(right, mask=missing)
        others = pa.table({name: _taken(rows[name], places) for name in rows.column_names})
    for name in others.column_names:
        made = made.append_column(name, others[name])
    return made


def _taken(column: pa.ChunkedArray, places: pa.Array) -> pa.Array:
    return one_array(column).take(places) if len(column) else pa.nulls(len(places), column.type)


def _tie(part: Expr, ours: set[str], theirs: set[str]) -> tuple[Expr, Expr] | None:
    """Both sides of an equality, that of the frame first."""
    if not isinstance(part, Comparison) or part.op != "=" or part.left.type != part.right.type:
        return None
    for one, other in ((part.left, part.right), (part.right, part.left)):
        if one.columns() and other.columns() and one.columns() <= ours and other.columns() <= theirs:
            return one, other
    return None


def _looked_up(ties: Sequence[tuple[Expr, Expr]], frame: pa.Table, rows: pa.Table, evaluator: Evaluator) -> pa.Table:
    """Only rows with a value that some row of the frame looks for: most match none, and keys are expensive."""
    for one, other in ties[:1]:
        if isinstance(other, ColumnRef) and rows.num_rows > frame.num_rows:
            wanted = evaluator.column(one, frame)
            if pa.types.is_string(wanted.type) or pa.types.is_integer(wanted.type):
                return rows.filter(pc.is_in(rows[other.name], value_set=wanted.drop_null()))
    return rows


def _span(source: Source, frame: pa.Table, rows: pa.Table) -> tuple[Ints, Ints, Ints]:
    """The time of each row, and the history of each row of the frame: from `low` up to before `high`. A relation has
    no time."""
    if not source.is_stream:
        count = frame.num_rows
        return np.zeros(rows.num_rows, np.int64), np.zeros(count, np.int64), np.ones(count, np.int64)
    low, high = frame[LOW].to_numpy(), frame[HIGH].to_numpy()
    # A window ends with the last moment of a span.
    return rows[_TIME].to_numpy(), low if source.window is None else np.maximum(low, high - source.window), high


def _pairs(mine: Sequence[pa.Array], others: Sequence[pa.Array], at: Ints, low: Ints, high: Ints) -> tuple[Ints, Ints]:
    """Places of rows with equal keys, the right one in the span of the left one. NULL equals nothing."""
    count = len(low)
    codes, _ = equality_codes([pa.chunked_array([a, b]) for a, b in zip(mine, others, strict=True)], count + len(at))
    places = np.flatnonzero(_valid(others, len(at)))
    keys = codes[count:]
    order = places[np.lexsort((at[places], keys[places]))]
    own, times = keys[order], at[order]
    start = rows_before(own, times, codes[:count], low)
    stop = rows_before(own, times, codes[:count], high)
    counts = np.where(_valid(mine, count), np.maximum(stop - start, 0), 0)
    if counts.sum() > MOST_PAIRS:
        raise TooManyPairsError
    left, within = counted_out(counts)
    return left, order[start[left] + within]


def _valid(keys: Sequence[pa.Array], count: int) -> Bools:
    there = [key.is_valid().to_numpy(zero_copy_only=False) for key in keys]
    return np.logical_and.reduce(there).astype(np.bool_) if there else np.ones(count, np.bool_)


# -- subqueries --------------------------------------------------------------------------------------


def _answered(subquery: Subquery, frame: pa.Table, asking: Asking) -> pa.Table:
    """The frame with the answer of a subquery as a column."""
    found = whole_select(subquery.select, asking)
    event, owner = frame[EVENT].to_numpy(), found[EVENT].to_numpy()
    if subquery.kind == "value":
        place = np.full(asking.count, -1)
        place[owner] = np.arange(len(owner))
        at = place[event]
        answer = _taken(found[found.column_names[1]], pa.array(at, mask=at < 0))
        return frame.append_column(subquery.name, answer.cast(to_arrow(subquery.type)))
    some = np.bincount(owner, minlength=asking.count) > 0
    if subquery.kind == "exists":
        return frame.append_column(subquery.name, pa.array(some[event]))
    assert subquery.operand is not None
    values = one_array(found[found.column_names[1]])
    operand = asking.evaluator.column(subquery.operand, frame)
    absent = values.is_null().to_numpy(zero_copy_only=False)
    with_null = np.bincount(owner[absent], minlength=asking.count) > 0
    codes, _ = equality_codes(
        [pa.chunked_array([pa.array(owner), pa.array(event)]), pa.chunked_array([values.cast(operand.type), operand])],
        len(owner) + len(event),
    )
    given = operand.is_valid().to_numpy(zero_copy_only=False)
    inside = given & np.isin(codes[len(owner) :], codes[: len(owner)][~absent])
    # As in SQL: unknown if the value, or one of those it is compared with, is null and none is equal.
    unknown = some[event] & ~inside & (~given | with_null[event])
    return frame.append_column(subquery.name, pa.array(inside, mask=unknown))
