"""OUTPUT EVERY on tiny streams: what goes out, when, and with which time."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from presage.errors import InternalError
from presage.operators.match.kernel import spec as match_spec
from presage.operators.windows.kernel.output import OutputKernel
from presage.operators.windows.kernel.spec import ENDED, SEQ, TIME, TIMER


def table(*rows: tuple[int, str, int]) -> pa.Table:
    return pa.table(
        {
            TIME: pa.array([r[0] for r in rows], pa.int64()),
            SEQ: pa.array([100 + i for i in range(len(rows))], pa.int64()),
            "g": pa.array([r[1] for r in rows], pa.string()),
            "v": pa.array([r[2] for r in rows], pa.int64()),
        }
    )


ROWS = table((1, "a", 1), (2, "b", 2), (3, "a", 3), (12, "a", 4))


def output(mode: str, clock: int, end: bool = False, group_by: tuple[str, ...] = ("g",)) -> list[tuple[Any, ...]]:
    kernel = OutputKernel(mode, 10, group_by, ("v",))
    rows = kernel.step(kernel.initial(), ROWS, clock, end)[1].to_pylist()
    return [(r[TIME], r[SEQ], r["_ord2"], r["v"]) for r in rows]


def test_ALL_holds_every_row_until_its_interval_ends() -> None:
    assert output("all", 12) == [(10, TIMER, 0, 1), (10, TIMER, 1, 2), (10, TIMER, 2, 3)]


def test_LAST_gives_the_last_row_of_each_group_in_the_order_of_those_rows() -> None:
    assert output("last", 12) == [(10, TIMER, 0, 2), (10, TIMER, 1, 3)]


def test_LAST_without_groups_gives_one_row() -> None:
    assert output("last", 12, group_by=()) == [(10, TIMER, 0, 3)]


def test_FIRST_gives_the_first_row_of_each_group_at_once() -> None:
    assert output("first", 12) == [(1, 100, 0, 1), (2, 101, 0, 2), (12, 103, 0, 4)]


def test_the_end_of_input_ends_the_open_interval() -> None:
    assert output("last", 12, end=True)[-1] == (20, TIMER, 0, 4)
    assert output("last", 20) == output("last", 12, end=True)


@pytest.mark.parametrize(("mode", "values"), [("all", [4, 5]), ("last", [5])])
@pytest.mark.parametrize("apart", [False, True])
def test_an_interval_with_rows_that_the_end_has_made_ends_with_it(mode: str, values: list[int], apart: bool) -> None:
    kernel = OutputKernel(mode, 10, ("g",), ("v",))
    final = table((14, "a", 5)).set_column(1, SEQ, pa.array([ENDED]))
    if apart:
        state, before = kernel.step(kernel.initial(), ROWS, 12)
        state, during = kernel.step(state, final, 14)
        rows = [before, during, kernel.step(state, final.slice(0, 0), 14, end=True)[1]]
    else:
        rows = [kernel.step(kernel.initial(), pa.concat_tables([ROWS, final]), 14, end=True)[1]]
    last = [r for r in pa.concat_tables(rows).to_pylist() if r["v"] > 3]
    assert [(r[TIME], r[SEQ], r["v"]) for r in last] == [(14, ENDED, v) for v in values]


def test_the_mark_of_an_end_is_that_of_a_match() -> None:
    assert ENDED == match_spec.ENDED


def test_intervals_before_1970_are_aligned_like_the_others() -> None:
    kernel = OutputKernel("all", 10, (), ("v",))
    rows = kernel.step(kernel.initial(), table((-11, "a", 1), (-10, "a", 2)), 0)[1].to_pylist()
    assert [(r[TIME], r["v"]) for r in rows] == [(-10, 1), (0, 2)]


def test_intervals_without_rows_emit_nothing_and_leave_no_state() -> None:
    for mode in ("all", "last", "first"):
        kernel = OutputKernel(mode, 10, ("g",), ("v",))
        state, _ = kernel.step(kernel.initial(), ROWS, 12)
        state, _ = kernel.step(state, table(), 20)
        assert state.rows() == 0
        assert kernel.step(state, table(), 500)[1].num_rows == 0


def test_a_period_of_nothing_is_refused() -> None:
    with pytest.raises(InternalError):
        OutputKernel("all", 0, (), ())


@pytest.mark.parametrize("apart", [False, True])
def test_LAST_at_the_end_of_input_is_not_before_its_rows_however_they_are_cut(apart: bool) -> None:
    # A stream with a time of its own is ahead of the watermark.
    kernel = OutputKernel("last", 0, ("g",), ("v",))
    state, none = kernel.step(kernel.initial(), ROWS, 3) if apart else (kernel.initial(), ROWS.slice(0, 0))
    rows = kernel.step(state, ROWS.slice(0, 0) if apart else ROWS, 3, end=True)[1].to_pylist()
    assert not none.num_rows
    assert [(r[TIME], r[SEQ], r["_ord2"], r["v"]) for r in rows] == [(12, ENDED, 0, 2), (12, ENDED, 1, 4)]
