"""What a step of the prediction validator makes of a few updates, worked out by hand."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from presage.model.operator_state import State
from presage.operators.prediction.kernel import validator as matching
from presage.operators.prediction.kernel.query import SEQ, SOURCE, TIME, Pair, PredictionTables, Side, Stream
from presage.operators.prediction.kernel.spec import Comparator, JoinSpec, JoinTerm, Mode, ValueTerm
from presage.operators.prediction.kernel.validator import PredictionKernel

SECOND = 1_000_000
YEAR = 31_557_600 * SECOND


def updates(*rows: tuple[int, int, float, float]) -> pa.Table:
    """Time in seconds, key, value, rate."""
    at, key, value, rate = (np.array(column) for column in zip(*rows, strict=True))
    columns = {
        TIME: at * SECOND,
        SEQ: np.arange(len(rows)),
        "k": key,
        "v": value.astype(float),
        "r": rate.astype(float),
        "e": np.zeros(len(rows)),
    }
    return pa.table(columns)


def values(period: int | None, limit: int | None = None, validate: int | None = None) -> PredictionTables:
    stream = Stream(("k",), ("v",), ("r",), ("e",), period, limit)
    side = Side(0, terms=(ValueTerm(0, Comparator.GE, 10.0),))
    return PredictionTables((stream,), (side,), validate=validate, columns=("k", "from", "to"))


def intervals_of(rows: pa.Table) -> list[tuple[int, float, float]]:
    start, end = (rows[name].cast(pa.int64()).to_numpy() / SECOND for name in ("from", "to"))
    return list(zip(rows["k"].to_pylist(), start.tolist(), end.tolist(), strict=True))


@pytest.mark.parametrize("limit", [None, 5])
@pytest.mark.parametrize("cut", [None, 3, 7, 8])
def test_without_a_period_an_update_at_the_last_moment_holds_for_that_moment(
    limit: int | None, cut: int | None
) -> None:
    kernel = PredictionKernel(values(None, limit))
    events = updates((2, 1, 20, 0), (7, 2, 20, 0))
    state, rows = kernel.initial(), []
    for clock in [cut] if cut is not None else []:
        early = pa.array(events[TIME].to_numpy() < clock * SECOND)
        state, some = kernel.step(state, events.filter(early), clock * SECOND)
        state, rows = State.from_bytes(state.to_bytes()), intervals_of(some)
        events = events.filter(pa.array(~early.to_numpy(zero_copy_only=False)))
    last = 8 if cut == 8 else 7
    rows += intervals_of(kernel.step(state, events, last * SECOND, end=True)[1])
    assert rows == [(1, 2.0, float(last)), (2, 7.0, float(last))]


@pytest.mark.parametrize(
    ("value", "rate", "threshold"),
    [(np.nan, 1.0, 0.0), (np.inf, 1.0, 0.0), (1.0, -np.inf, 0.0), (1.0, 1.0, -1.0), (1.0, 1.0, np.inf)],
)
@pytest.mark.parametrize("limit", [None, 2])
def test_what_an_update_does_not_say_is_null(value: float, rate: float, threshold: float, limit: int | None) -> None:
    stream = Stream(("k",), ("v",), ("r",), ("e",), 5 * SECOND, limit)
    tables = PredictionTables((stream,), (Side(0, shown=(0,)),), columns=("k", "x", "from", "to"))
    events = updates((0, 1, value, rate), (5, 1, 7.0, 0.0))
    events = events.set_column(events.column_names.index("e"), "e", pa.array([threshold, 0.0]))
    rows = PredictionKernel(tables).step(State("prediction"), events, 100 * SECOND, end=True)[1]
    # One interval, in which the object is there; its value is that of the beginning.
    assert intervals_of(rows) == [(1, 0.0, 10.0)]
    assert rows["x"].to_pylist() == [None]


@pytest.mark.parametrize("begin", [0.0, 9.9999999, 10.0000001])
def test_a_match_that_ends_just_after_the_last_known_microsecond_is_told_once(begin: float) -> None:
    kernel = PredictionKernel(two_terms())
    # From `begin` on x is 10 or more, y is up to 0.3 microseconds after ten seconds.
    at, end = 10 * SECOND, 10.0000003
    columns = {TIME: [0], SEQ: [0], "k": [1], "x": [10.0 - begin], "xr": [1.0], "y": [10.0 + end], "yr": [-1.0]}
    events = pa.table({**columns, "e": [0.0], "f": [0.0]})
    state, first = kernel.step(kernel.initial(), events, at + 1)
    second = kernel.step(State.from_bytes(state.to_bytes()), events.slice(0, 0), at + SECOND, end=True)[1]
    assert intervals_of(first) + intervals_of(second) == [(1, round(begin, 6), 10.0)]


def two_terms() -> PredictionTables:
    stream = Stream(("k",), ("x", "y"), ("xr", "yr"), ("e", "f"), 60 * SECOND)
    terms = ValueTerm(0, Comparator.GE, 10.0), ValueTerm(1, Comparator.GE, 10.0)
    return PredictionTables((stream,), (Side(0, terms=terms),), columns=("k", "from", "to"))


def test_two_that_meet_at_the_last_moment_are_a_row() -> None:
    stream = Stream(("k",), ("v",), ("r",), ("e",), None)
    spec = JoinSpec((JoinTerm(0, 0, Comparator.LE, 1.0),), 0, same=True)
    tables = PredictionTables((stream,), (Side(0), Side(0)), (Pair(0, 1, spec),), columns=("k", "b", "from", "to"))
    kernel = PredictionKernel(tables)
    rows = kernel.step(kernel.initial(), updates((2, 1, 20, 0), (7, 2, 20, 0)), 7 * SECOND, end=True)[1]
    assert intervals_of(rows) == [(1, 7.0, 7.0), (2, 7.0, 7.0)]


def test_ticks_at_which_nothing_holds_cost_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = []
    gone_on = matching._Step._gone_on
    monkeypatch.setattr(
        matching._Step, "_gone_on", lambda step, at, *more: looks.append(at) or gone_on(step, at, *more)
    )
    kernel = PredictionKernel(values(YEAR, validate=SECOND))
    # From 0 on 10 is reached after a year less three seconds.
    seconds = YEAR // SECOND
    events = updates((0, 1, 10 - (seconds - 3) / seconds, 1 / seconds))
    rows = kernel.step(kernel.initial(), events, 0, end=True)[1]
    assert intervals_of(rows) == [(1, float(seconds - 3 + i), float(seconds - 2 + i)) for i in range(3)]
    assert len(looks) < 10


@pytest.mark.parametrize("ahead", [0, 1000])
def test_rows_are_cut_alike_whether_ticks_are_looked_for_or_taken_one_by_one(
    ahead: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matching, "LOOK_AHEAD", ahead)
    kernel = PredictionKernel(values(40 * SECOND, validate=7 * SECOND))
    events = updates((1, 1, 20, -1), (5, 2, 0, 1), (20, 1, 0, 0), (44, 2, 0, 5))
    rows = intervals_of(kernel.step(kernel.initial(), events, 0, end=True)[1])
    assert rows == [
        (1, 1.0, 7.0),
        (1, 7.0, 11.0),
        (2, 15.0, 21.0),
        (2, 21.0, 28.0),
        (2, 28.0, 35.0),
        (2, 35.0, 42.0),
        (2, 42.0, 44.0),
        (2, 46.0, 49.0),
        (2, 49.0, 56.0),
        (2, 56.0, 63.0),
        (2, 63.0, 70.0),
        (2, 70.0, 77.0),
        (2, 77.0, 84.0),
    ]


def test_both_orders_go_on_from_step_to_step_where_they_show_different_values() -> None:
    stream = Stream(("k",), ("v",), ("r",), ("e",), 10 * SECOND)
    spec = JoinSpec((JoinTerm(0, 0, Comparator.GT, 1.0),), 0, same=True)
    sides = Side(0, shown=(0,)), Side(0)
    kernel = PredictionKernel(
        PredictionTables((stream,), sides, (Pair(0, 1, spec),), columns=("k", "x", "b", "from", "to"))
    )
    # The later update of 1 puts it behind 2 in the order in which objects are met.
    events = updates((0, 1, 0, 0), (0, 2, 0, 0), (5, 1, 2, 0))
    state, first = kernel.step(kernel.initial(), events, 6 * SECOND)
    rows = intervals_of(first) + intervals_of(
        kernel.step(State.from_bytes(state.to_bytes()), events.slice(0, 0), 20 * SECOND, end=True)[1]
    )
    assert rows == [(1, 5.0, 10.0), (2, 5.0, 10.0)]


@pytest.mark.parametrize(("limit", "times", "chance"), [(1, (4.0, 6.0), 0.85), (2, (4.0, 17.0), 0.75)])
@pytest.mark.parametrize("cut", [None, 5, 6, 7])
def test_a_chance_is_that_of_the_times_at_which_a_buffer_held_a_function(
    limit: int, times: tuple[float, float], chance: float, cut: int | None
) -> None:
    rows = []
    kernel = PredictionKernel(over_a_buffer(limit))
    # The second update of 1 stands in for the first when that one goes, at 4 with room for one, at 6 with room for two:
    # it would have been 14 at 0, but from then on nobody asks for what is more than 3 seconds ago. With room for one it
    # goes itself at 6.
    events = updates((0, 1, 0, 0), (0, 9, 0, 0), (4, 1, 14 - 2, -0.5), (6, 2, 0, 0))
    events = events.set_column(events.column_names.index("e"), "e", pa.array([5.0, 0.0, 5.0, 0.0]))
    events = events.append_column(SOURCE, pa.array([0, 1, 0, 0]))
    state, moment = kernel.initial(), 0
    for clock in [cut, 60] if cut is not None else [60]:
        now = [moment * SECOND <= at < clock * SECOND for at in events[TIME].to_pylist()]
        state, some = kernel.step(State.from_bytes(state.to_bytes()), events.filter(pa.array(now)), clock * SECOND)
        rows += [(*row, p) for row, p in zip(intervals_of(some), some["p"].to_pylist(), strict=True)]
        moment = clock
    assert rows == [(1, *times, pytest.approx(chance, abs=1e-5))]


def over_a_buffer(limit: int) -> PredictionTables:
    names = ("k",), ("v",), ("r",), ("e",)
    spec = JoinSpec((JoinTerm(0, 0, Comparator.GT, 10.0, mode=Mode.MAY),), 3 * SECOND, probability=True)
    return PredictionTables(
        (Stream(*names, 10 * SECOND, limit, "oldest"), Stream(*names, 60 * SECOND)),
        (Side(0), Side(1)),
        (Pair(0, 1, spec),),
        probability=True,
        columns=("k", "b", "from", "to", "p"),
    )
