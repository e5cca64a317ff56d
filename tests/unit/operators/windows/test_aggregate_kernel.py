"""One small stream for each question about windows and aggregates."""

from __future__ import annotations

import math
import pickle
import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from presage.errors import PresageError
from presage.model.operator_state import State
from presage.operators.windows.kernel.aggregate import AggregateKernel
from presage.operators.windows.kernel.spec import ORDINAL, PASS, SEQ, TIME, TIMER, Aggregate, Window
from reference.aggregate_worlds import AGGREGATES, BATCHES, CARRY, GROUPINGS, ORDER, SCHEMA, SLIDING, check, name
from reference.window_aggregates import batch_rows, sliding_rows

COUNT = Aggregate("count", None, "c")
SUM = Aggregate("sum", "v", "s")


def events(times: list[int], **columns: Any) -> pa.Table:
    return pa.table({TIME: pa.array(times, pa.int64()), SEQ: pa.array(range(len(times)), pa.int64()), **columns})


def rows(
    window: Window,
    table: pa.Table,
    *aggregates: Aggregate,
    group_by: tuple[str, ...] = (),
    carry: tuple[str, ...] = (),
    clock: int | None = None,
) -> pa.Table:
    kernel = AggregateKernel(window, group_by, bool(group_by), aggregates, carry)
    last = table[TIME][-1].as_py() if table.num_rows else 0
    return kernel.step(kernel.initial(), table, last if clock is None else clock, end=True)[1]


def test_a_time_window_is_open_at_its_old_end():
    out = rows(Window("time", 10), events([0, 9, 10, 30]), COUNT)
    assert out["c"].to_pylist() == [1, 2, 2, 1]


def test_a_length_window_is_shared_by_all_groups():
    table = events([1, 2, 3], v=["a", "b", "a"])
    assert rows(Window("length", 2), table, COUNT, group_by=("v",))["c"].to_pylist() == [1, 1, 1]
    assert rows(Window("length", 2, group=("v",)), table, COUNT, group_by=("v",))["c"].to_pylist() == [1, 1, 2]


def test_events_that_fail_where_take_places_but_are_not_counted():
    table = events([1, 2, 3], **{PASS: [True, False, True]}, v=[1, 2, 4])
    assert rows(Window("length", 2), table, COUNT, SUM).select(["c", "s"]).to_pylist() == [
        {"c": 1, "s": 1},
        {"c": 1, "s": 4},
    ]


def test_unique_replaces_and_firstunique_refuses():
    table = events([1, 2, 3], k=["a", "a", "b"], v=[1, 2, 4])
    assert rows(Window("unique", by=("k",)), table, SUM)["s"].to_pylist() == [1, 2, 6]
    first = rows(Window("firstunique", by=("k",)), table, SUM)
    assert first[SEQ].to_pylist() == [0, 2]
    assert first["s"].to_pylist() == [1, 5]


def test_null_keys_form_a_group_of_their_own():
    out = rows(Window("none"), events([1, 2, 3], k=pa.array([None, "a", None])), COUNT, group_by=("k",))
    assert out["c"].to_pylist() == [1, 1, 2]


def test_all_nan_are_one_group_and_so_are_both_zeros():
    other_nan = np.array([0x7FF8000000000001, -1], np.int64).view(np.float64)
    table = events([1] * 4, k=np.array([other_nan[0], 0.0, other_nan[1], -0.0]))
    assert rows(Window("keepall"), table, COUNT, group_by=("k",))["c"].to_pylist() == [1, 1, 2, 2]


@pytest.mark.parametrize("window", [Window("length", 2), Window("unique", by=("k",))], ids=name)
def test_nan_and_infinity_leave_the_window_with_their_event(window):
    values = [0.1, math.nan, math.inf, -math.inf, 0.25, 0.5]
    table = events(range(6), k=[0, 1, 0, 1, 0, 1], v=values)
    out = rows(window, table, SUM, Aggregate("stddev", "v", "d"), Aggregate("avg", "v", "a"))
    assert math.isnan(out["s"][3].as_py())
    assert out["s"][5].as_py() == 0.75
    assert out["a"][5].as_py() == 0.375
    assert out["d"][5].as_py() == pytest.approx(math.sqrt(2) / 8)


def test_a_standard_deviation_needs_two_values_and_finite_ones():
    out = rows(Window("none"), events([1, 2, 3], v=[4.0, 8.0, math.inf]), Aggregate("stddev", "v", "d"))
    assert out["d"][0].as_py() is None
    assert out["d"][1].as_py() == pytest.approx(math.sqrt(8))
    assert math.isnan(out["d"][2].as_py())


def test_nan_is_the_greatest_number():
    out = rows(
        Window("none"),
        events([1, 2, 3], v=[math.inf, math.nan, 1.0]),
        Aggregate("min", "v", "low"),
        Aggregate("max", "v", "high"),
        Aggregate("median", "v", "mid"),
    )
    assert out["low"].to_pylist() == [math.inf, math.inf, 1.0]
    assert math.isnan(out["high"][2].as_py())
    assert out["mid"][2].as_py() == math.inf


@pytest.mark.parametrize(
    "window", [Window("none"), Window("time", 9), Window("unique", by=(SEQ,)), Window("time_batch", 9)]
)
def test_a_sum_beyond_long_is_an_error(window):
    table = events([1, 2], v=pa.array([2**62, 2**62], pa.int64()))
    with pytest.raises(PresageError, match=r"sum\(v\) exceeds the range of LONG") as raised:
        rows(window, table, SUM, clock=99)
    assert raised.value.code == "ARITHMETIC_OVERFLOW"


def test_a_sum_may_reach_both_ends_of_long_and_an_average_does_not_overflow():
    table = events([1, 2, 3], v=pa.array([2**63 - 1, -(2**63), -1], pa.int64()))
    out = rows(Window("length", 1), table, SUM)
    assert out["s"].to_pylist() == [2**63 - 1, -(2**63), -1]
    big = events([1, 2], v=pa.array([2**62, 2**62], pa.int64()))
    assert rows(Window("none"), big, Aggregate("avg", "v", "a"))["a"].to_pylist() == [2.0**62, 2.0**62]


def test_min_of_a_struct_is_refused_by_name():
    table = events([1], v=pa.array([{"a": 1}]))
    with pytest.raises(PresageError, match="min is not supported over values of type struct"):
        rows(Window("none"), table, Aggregate("min", "v", "m"))


@pytest.mark.parametrize("kind", ["time", "length", "time_batch", "length_batch"])
def test_a_window_without_size_is_refused(kind):
    with pytest.raises(PresageError, match=f"the size of {kind} is 0"):
        AggregateKernel(Window(kind), (), False, (COUNT,), ())


def test_time_batches_are_counted_from_the_first_event_even_after_silence():
    table = events([3, 12, 13, 57], v=[1, 2, 4, 8])
    out = rows(Window("time_batch", 10), table, SUM, clock=63)
    assert out[TIME].to_pylist() == [13, 23, 63]
    assert set(out[SEQ].to_pylist()) == {TIMER}
    assert out["s"].to_pylist() == [3, 4, 8]
    assert rows(Window("time_batch", 10), table, SUM, clock=62).num_rows == 2


def test_batches_that_close_together_are_in_the_order_in_which_their_groups_appeared():
    table = events([0, 0, 1, 2, 6, 7], k=["b", "a", "a", "b", "a", "b"])
    out = rows(Window("time_batch", 5, group=("k",)), table, COUNT, carry=("k",), group_by=("k",), clock=10)
    assert out.select([TIME, ORDINAL, "k", "c"]).to_pylist() == [
        {TIME: 5, ORDINAL: 0, "k": "b", "c": 2},
        {TIME: 5, ORDINAL: 1, "k": "a", "c": 2},
        {TIME: 10, ORDINAL: 0, "k": "b", "c": 1},
        {TIME: 10, ORDINAL: 1, "k": "a", "c": 1},
    ]


def test_a_length_batch_leaves_with_the_event_that_fills_it():
    table = events([1, 4, 9], v=[1, 2, 4], k=["x", "y", "z"])
    by_batch = rows(Window("length_batch", 2), table, SUM)
    assert by_batch.to_pylist() == [{TIME: 4, SEQ: 1, ORDINAL: 0, "s": 3}]
    by_event = rows(Window("length_batch", 2), table, SUM, carry=("k",))
    assert by_event.select([TIME, ORDINAL, "k", "s"]).to_pylist() == [
        {TIME: 4, ORDINAL: 0, "k": "x", "s": 3},
        {TIME: 4, ORDINAL: 1, "k": "y", "s": 3},
    ]


def test_columns_leave_in_the_order_of_the_contract():
    table = events([1], v=[1], k=["a"])
    assert rows(Window("time", 5), table, SUM, carry=("k",)).column_names == [TIME, SEQ, "k", "s"]
    assert rows(Window("time_batch", 5), table, SUM, carry=("k",)).column_names == [TIME, SEQ, ORDINAL, "k", "s"]


def test_a_list_keeps_structs_and_nulls_in_order_of_arrival():
    things = pa.array([{"a": 1}, None, {"a": 3}])
    out = rows(Window("length", 2), events([1, 2, 3], v=things), Aggregate("window", "v", "w"))
    assert out["w"].to_pylist() == [[{"a": 1}], [{"a": 1}, None], [None, {"a": 3}]]
    assert out["w"].type == pa.list_(pa.field("element", things.type))


def test_dictionary_columns_are_read_as_their_values():
    coded = events([1, 2, 3], k=pa.array(["a", "b", "a"]).dictionary_encode())
    out = rows(Window("none"), coded, COUNT, Aggregate("max", "k", "m"), group_by=("k",))
    assert out["c"].to_pylist() == [1, 1, 2]
    assert out["m"].to_pylist() == ["a", "b", "a"]


@pytest.mark.parametrize("window", [*SLIDING, *BATCHES], ids=name)
def test_no_events_give_no_rows_but_all_columns(window):
    empty = pa.Table.from_pylist([], SCHEMA)
    kernel = AggregateKernel(window, ("k",), True, AGGREGATES, CARRY, (ORDER,))
    state, out = kernel.step(kernel.initial(), empty, 5)
    assert out.num_rows == 0
    assert out.column_names[-len(AGGREGATES) :] == [a.output for a in AGGREGATES]
    assert State.from_bytes(state.to_bytes()).rows() == 0


def test_what_nothing_leaves_keeps_a_row_for_each_group_only():
    table = events(range(1000), k=[i % 7 for i in range(1000)], v=[float(i) for i in range(1000)])
    functions = ("count", "sum", "avg", "min", "max", "stddev", "first", "last")
    kernel = AggregateKernel(Window("none"), ("k",), True, tuple(Aggregate(f, "v", f) for f in functions), ())
    state, _ = kernel.step(kernel.initial(), table, 1000)
    assert state.rows() == 7


def test_a_time_window_keeps_only_what_a_later_event_can_see():
    kernel = AggregateKernel(Window("time", 10), (), False, (COUNT,), ())
    state, _ = kernel.step(kernel.initial(), events([1, 5, 8]), 15)
    assert state.rows() == 1


def test_a_kernel_travels_as_plain_values():
    kernel = AggregateKernel(Window("time", 10), ("k",), True, (SUM,), ("k",), (ORDER,))
    assert pickle.loads(pickle.dumps(kernel)) == kernel


def fixed_world(count: int) -> list[dict[str, Any]]:
    dice = random.Random(11)
    time = 0
    world = []
    for i in range(count):
        time += dice.choice([0, 0, 1, 3])
        world.append(
            {
                TIME: time,
                SEQ: i,
                ORDER: 0,
                PASS: dice.random() < 0.8,
                "k": dice.choice(["a", "b", None]),
                "g": dice.choice([0.0, -0.0, math.nan, None]),
                "n": dice.choice([None, *range(-3, 4)]),
                "x": dice.choice([None, 0.1, 0.2, 0.7, 1e9, -3.3, math.inf, math.nan]) if i % 9 == 0 else dice.random(),
                "s": dice.choice(["p", "q", "r", None]),
                "b": dice.choice([True, False, None]),
                "at": dice.randrange(5),
                "st": dice.choice([None, {"room": "r", "floor": None}, {"room": None, "floor": 2}]),
                "tags": dice.choice([None, [], ["u"]]),
                "z": None,
            }
        )
    return world


def cut_at(world: list[dict[str, Any]], *cuts: int) -> list[tuple[int, int]]:
    return [(cut, world[cut - 1][TIME]) for cut in (*cuts, len(world))]


@pytest.mark.parametrize("window", SLIDING, ids=name)
def test_texts_of_more_than_two_gigabytes_make_no_difference(window, monkeypatch):
    """Here from twenty bytes on: what is in a step has wide offsets, what leaves it has not."""
    monkeypatch.setattr("presage.arrays.columns.WIDE_FROM", 20)
    test_every_aggregate_over_every_sliding_window(window)


@pytest.mark.parametrize("window", SLIDING, ids=name)
def test_every_aggregate_over_every_sliding_window(window):
    world = fixed_world(40)
    for group_by in GROUPINGS[:2]:
        kernel = AggregateKernel(window, group_by, bool(group_by), AGGREGATES, CARRY)
        check(
            kernel,
            world,
            cut_at(world, 13, 14),
            lambda e, group_by=group_by: sliding_rows(window, group_by, AGGREGATES, CARRY, (), e),
        )


@pytest.mark.parametrize("window", BATCHES, ids=name)
def test_every_aggregate_over_every_batch_window(window):
    world = fixed_world(40)
    clock = world[-1][TIME]
    for group_by in GROUPINGS[:2]:
        kernel = AggregateKernel(window, group_by, bool(group_by), AGGREGATES, CARRY)
        check(
            kernel,
            world,
            cut_at(world, 13, 14),
            lambda e, group_by=group_by: batch_rows(window, group_by, bool(group_by), AGGREGATES, CARRY, (), e, clock),
        )


@pytest.mark.parametrize(
    "window", [Window("none"), Window("time", 200), Window("length", 50), Window("unique", by=("u",))]
)
def test_long_sums_have_the_same_bits_in_one_step_and_in_many(window):
    dice = np.random.default_rng(5)
    count = 3000
    table = events(
        np.cumsum(dice.integers(0, 4, count)).tolist(),
        k=dice.integers(0, 3, count),
        u=dice.integers(0, 200, count),
        v=dice.standard_normal(count) * 10.0 ** dice.integers(-8, 8, count),
    )
    aggregates = (SUM, Aggregate("avg", "v", "a"), Aggregate("stddev", "v", "d"), Aggregate("sum", "v", "ds", True))
    kernel = AggregateKernel(window, ("k",), True, aggregates, ("k",))
    _, whole = kernel.step(kernel.initial(), table, table[TIME][-1].as_py())
    state, parts, at = kernel.initial(), [], 0
    for cut in [*sorted(dice.integers(0, count, 12).tolist()), count]:
        clock = table[TIME][max(cut - 1, 0)].as_py()
        state, part = kernel.step(State.from_bytes(state.to_bytes()), table.slice(at, cut - at), clock)
        parts.append(part)
        at = cut
    assert pa.concat_tables(parts).combine_chunks().equals(whole.combine_chunks())


def test_aggregates_run_over_the_last_closed_batch_of_every_group():
    table = events([0, 5, 10, 26, 47], v=[0, 5, 10, 26, 47], k=["a", "b", "a", "b", "a"])
    window, listed = Window("time_batch", 20, group=("k",)), Aggregate("window", "v", "w")
    # The batches of `a` that end at 40 and 80 are empty, and that of `b` that ends at 65.
    assert [(r[TIME], r["w"]) for r in rows(window, table, listed, clock=90).to_pylist()] == [
        (20, [0, 10]),
        (25, [0, 10, 5]),
        (40, [5]),
        (45, [26]),
        (60, [26, 47]),
        (65, [47]),
    ]
    by_event = rows(window, table, SUM, carry=("v",), clock=90).to_pylist()
    assert [(r["v"], r["s"]) for r in by_event] == [(0, 10), (10, 10), (5, 15), (26, 26), (47, 73)]


def test_a_group_that_a_closing_batch_takes_events_from_gets_a_row_while_it_has_others():
    table = events([1, 2, 3, 4, 5, 6], v=[1, 2, 4, 8, 16, 32], k=list("aabbaa"), g=list("xyxyyy"))
    out = rows(Window("length_batch", 2, group=("k",)), table, SUM, group_by=("g",), carry=("g",))
    assert [(r[TIME], r["g"], r["s"]) for r in out.to_pylist()] == [
        (2, "x", 1),
        (2, "y", 2),
        (4, "x", 5),
        (4, "y", 10),
        (6, "y", 56),
        (6, "x", 4),
    ]
