"""Joins on tiny streams, row by row: when a pair is made, when it ends, and in which order rows come."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from presage.errors import InternalError, PresageError
from presage.operators.windows.kernel.chain import chain_order
from presage.operators.windows.kernel.join import JoinKernel, JoinSource, Link
from presage.operators.windows.kernel.pairs import ALL_OLD, Items, find_pairs
from presage.operators.windows.kernel.spec import CHANGE, ORDINAL, PASS, SEQ, SOURCE, TIME, TIMER, Window

KEEPALL = Window("keepall")


def events(*rows: tuple[int, int, str, Any], items: int = 2, passes: list[bool] | None = None) -> pa.Table:
    """Rows (time, item, key, value); arrival is the order given. Columns k0, v0, k1, v1, …"""
    columns: dict[str, pa.Array] = {
        TIME: pa.array([r[0] for r in rows], pa.int64()),
        SEQ: pa.array(range(len(rows)), pa.int64()),
        SOURCE: pa.array([r[1] for r in rows], pa.int8()),
    }
    if passes is not None:
        columns[PASS] = pa.array(passes)
    for i in range(items):
        columns[f"k{i}"] = pa.array([r[2] if r[1] == i else None for r in rows], pa.string())
        columns[f"v{i}"] = pa.array([r[3] if r[1] == i else None for r in rows], pa.int64())
    return pa.table(columns)


def join(
    left: Window, right: Window, table: pa.Table, clock: int, changelog: bool = False, link: bool = True
) -> list[dict[str, Any]]:
    sources = (JoinSource(left, ("k0", "v0")), JoinSource(right, ("k1", "v1")))
    links = (Link(0, ("k0",), 1, ("k1",)),) if link else ()
    kernel = JoinKernel(sources, links, changelog)
    rows: list[dict[str, Any]] = kernel.step(kernel.initial(), table, clock)[1].to_pylist()
    return rows


def pairs(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [(r[TIME], r["v0"], r["v1"]) for r in rows]


def test_a_time_window_of_d_no_longer_holds_an_event_that_is_d_old() -> None:
    table = events((0, 0, "a", 1), (4, 1, "a", 2), (5, 1, "a", 3))
    assert pairs(join(Window("time", 5), KEEPALL, table, 9)) == [(4, 1, 2)]


def test_either_side_completes_a_pair() -> None:
    table = events((0, 0, "a", 1), (1, 1, "a", 2), (2, 0, "a", 3))
    assert pairs(join(KEEPALL, KEEPALL, table, 2)) == [(1, 1, 2), (2, 3, 2)]


def test_null_keys_meet_nothing() -> None:
    table = events((0, 0, None, 1), (1, 1, None, 2))  # type: ignore[arg-type]
    assert join(KEEPALL, KEEPALL, table, 1) == []
    assert len(join(KEEPALL, KEEPALL, table, 1, link=False)) == 1


def test_a_row_that_does_not_pass_occupies_its_window_and_pairs_with_nothing() -> None:
    table = events((0, 0, "a", 1), (1, 0, "a", 2), (2, 1, "a", 3), passes=[True, False, True])
    assert join(Window("lastevent"), KEEPALL, table, 2) == []
    assert pairs(join(KEEPALL, KEEPALL, table, 2)) == [(2, 1, 3)]


def test_the_event_that_pushes_another_out_meets_partners_after_that() -> None:
    table = events((0, 1, "a", 9), (1, 0, "a", 1), (2, 0, "a", 2), (3, 1, "a", 8))
    rows = join(Window("length", 1), KEEPALL, table, 3, changelog=True)
    assert [(r[TIME], r[CHANGE], r["v0"], r["v1"], r[ORDINAL]) for r in rows] == [
        (1, 1, 1, 9, 0),
        (2, -1, 1, 9, 0),
        (2, 1, 2, 9, 1),
        (3, 1, 2, 8, 0),
    ]


def test_a_time_batch_enters_at_its_boundary_by_a_timer_and_leaves_at_the_next() -> None:
    table = events((3, 0, "a", 1), (4, 0, "a", 2), (5, 1, "a", 7))
    rows = join(Window("time_batch", 10), KEEPALL, table, 40, changelog=True)
    assert [(r[TIME], r[SEQ], r[CHANGE], r["v0"], r[ORDINAL]) for r in rows] == [
        (13, TIMER, 1, 1, 0),
        (13, TIMER, 1, 2, 1),
        (23, TIMER, -1, 1, 0),
        (23, TIMER, -1, 2, 1),
    ]
    assert join(Window("time_batch", 10), KEEPALL, table, 12, changelog=True) == []


def test_intervals_of_a_group_are_counted_from_its_first_event_even_after_long_silence() -> None:
    window = Window("time_batch", 10, group=("k0",))
    kernel = JoinKernel((JoinSource(window, ("v0",)), JoinSource(KEEPALL, ("v1",))), (), False)
    table = events((3, 1, "x", 7), (3, 0, "a", 1), (5, 0, "b", 2), (100, 0, "a", 3), (100, 0, "b", 4))
    state, first = kernel.step(kernel.initial(), table.slice(0, 3), 99)
    assert state.tables["live0"].num_rows == 0
    _, second = kernel.step(state, table.slice(3), 120)
    assert [(r[TIME], r["v0"]) for r in first.to_pylist()] == [(13, 1), (15, 2)]
    assert [(r[TIME], r["v0"]) for r in second.to_pylist()] == [(103, 3), (105, 4)]


def test_a_length_batch_enters_whole_when_its_last_event_arrives() -> None:
    table = events((0, 1, "a", 9), (1, 0, "a", 1), (2, 0, "a", 2), (3, 0, "a", 3))
    assert pairs(join(Window("length_batch", 2), KEEPALL, table, 3)) == [(2, 1, 9), (2, 2, 9)]


def test_an_event_of_a_self_join_meets_itself_last() -> None:
    rows = [(0, 0, "a", 1), (0, 1, "a", 1), (1, 0, "a", 2), (1, 1, "a", 2)]
    table = events(*rows).set_column(1, SEQ, pa.array([0, 0, 1, 1], pa.int64()))
    out = join(KEEPALL, KEEPALL, table, 1)
    assert [(r[SEQ], r[ORDINAL], r["v0"], r["v1"]) for r in out] == [
        (0, 0, 1, 1),
        (1, 0, 1, 2),
        (1, 1, 2, 1),
        (1, 2, 2, 2),
    ]


def test_a_relation_is_there_from_the_beginning_and_triggers_nothing() -> None:
    relation = pa.table({"k1": ["a", "b", "a"], "v1": [1, 2, 3]})
    sources = (JoinSource(Window("time", 5), ("v0",)), JoinSource(Window("none"), ("v1",), relation))
    kernel = JoinKernel(sources, (Link(0, ("k0",), 1, ("k1",)),), False)
    state, rows = kernel.step(kernel.initial(), events((0, 0, "a", 7)), 0)
    assert [(r["v0"], r["v1"], r["_row1"], r["_seq0"]) for r in rows.to_pylist()] == [(7, 1, 0, 0), (7, 3, 2, 0)]
    assert kernel.step(state, events(), 100)[1].num_rows == 0


def test_the_state_holds_live_events_only() -> None:
    sources = (JoinSource(Window("time", 5), ("v0",)), JoinSource(Window("length", 2), ("v1",)))
    kernel = JoinKernel(sources, (), False)
    table = events(*((t, t % 2, "a", t) for t in range(20)))
    state, _ = kernel.step(kernel.initial(), table, 19)
    assert state.tables["live0"]["v0"].to_pylist() == [16, 18]
    assert state.tables["live1"]["v1"].to_pylist() == [17, 19]


def test_three_items_make_a_tuple_when_the_last_of_them_comes() -> None:
    sources = tuple(JoinSource(KEEPALL, (f"v{i}",)) for i in range(3))
    links = (Link(0, ("k0",), 2, ("k2",)), Link(2, ("k2",), 1, ("k1",)))
    kernel = JoinKernel(sources, links, False)
    table = events((0, 2, "a", 1), (1, 0, "a", 2), (2, 1, "b", 3), (3, 1, "a", 4), (4, 0, "a", 5), items=3)
    rows = kernel.step(kernel.initial(), table, 4)[1].to_pylist()
    assert [(r[TIME], r["v0"], r["v1"], r["v2"]) for r in rows] == [(3, 2, 4, 1), (4, 5, 4, 1)]


def test_items_join_in_an_order_in_which_each_is_linked_to_one_before() -> None:
    links = (Link(0, ("a",), 2, ("c",)), Link(2, ("c",), 1, ("b",)))
    assert chain_order(3, links, [False, False, False]) == (0, 2, 1)
    assert chain_order(3, (), [True, False, False]) == (1, 2, 0)
    assert chain_order(4, (Link(2, ("c",), 3, ("d",)),), [False] * 4) == (2, 3, 0, 1)


def test_columns_come_in_the_order_of_the_contract() -> None:
    kernel = JoinKernel((JoinSource(KEEPALL, ("v0",)), JoinSource(KEEPALL, ("v1",))), (), True, ("_x",))
    table = events((0, 0, "a", 1)).append_column("_x", pa.array([0], pa.int64()))
    assert kernel.step(kernel.initial(), table, 0)[1].column_names == [
        *(TIME, SEQ, "_x", ORDINAL, CHANGE, "v0", "v1"),
        *("_t0", "_seq0", "_o0__x", "_t1", "_seq1", "_o1__x"),
    ]


def test_a_kernel_travels_as_plain_values() -> None:
    relation = pa.table({"k1": ["a"]})
    sources = (JoinSource(KEEPALL, ("v0",)), JoinSource(KEEPALL, ("k1",), relation))
    kernel = pickle.loads(pickle.dumps(JoinKernel(sources, (), False)))
    assert kernel.step(kernel.initial(), events((0, 0, "a", 1)), 0)[1].num_rows == 1


@pytest.mark.parametrize(
    ("window", "link"),
    [(Window("time_batch", 0), Link(0, ("k0",), 1, ("k1",))), (KEEPALL, Link(1, ("k1",), 1, ("v1",)))],
)
def test_tables_that_make_no_sense_are_refused_at_once(window: Window, link: Link) -> None:
    with pytest.raises(InternalError):
        JoinKernel((JoinSource(window, ("v0",)), JoinSource(KEEPALL, ("v1",))), (link,), False)


def test_more_pairs_than_the_limit_are_an_error_that_names_it() -> None:
    from_start = Items(np.zeros(100, np.int64), np.full(100, 9, np.int64), np.zeros(100, np.int64))
    assert len(find_pairs(from_start, from_start, 1, 5, ALL_OLD)[0]) == 10_000
    with pytest.raises(PresageError, match="pairs of a join") as caught:
        find_pairs(from_start, from_start, 1, 5, ALL_OLD, most=5_000)
    assert caught.value.code == "LIMIT"
