"""MATCH_RECOGNIZE, one semantic question after the other: tiny streams and exact rows."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from presage.arrays.programs import code as c
from presage.arrays.programs.code import FLOAT, INT, TEXT, Code
from presage.errors import PresageError
from presage.model.operator_state import State
from presage.operators.match.automaton import build_automaton
from presage.operators.match.kernel.match import MatchKernel, open_matches
from presage.operators.match.kernel.search import dispatch as searching
from presage.operators.match.kernel.spec import (
    ENDED,
    SEQ,
    TIME,
    TIMER,
    Condition,
    Fold,
    MatchSpec,
    Measure,
    Place,
    Skip,
)
from presage.operators.match.regex import (
    Alternation,
    Concat,
    EndAnchor,
    Exclude,
    Regex,
    Repeat,
    StartAnchor,
    Variable,
)

A, B, C = Variable("A"), Variable("B"), Variable("C")
NAMES = ("A", "B", "C")
IDS = (Measure("first", place=Place(first=True), column="id"), Measure("last", place=Place(), column="id"))


def some(item: Regex) -> Regex:
    return Repeat(item, 1, None)


def many(item: Regex) -> Regex:
    return Repeat(item, 0, None)


def rows_of(letters: str, times: list[int] | None = None, **columns: list[Any]) -> pa.Table:
    """One row per letter, which is true of that variable alone; `*` is true of all."""
    table = {
        TIME: times if times is not None else list(range(len(letters))),
        SEQ: list(range(len(letters))),
        "id": list(range(len(letters))),
        **{name: [letter in (name, "*") for letter in letters] for name in NAMES},
    }
    return pa.table(table | columns)


def spec_of(pattern: Regex, measures: tuple[Measure, ...] = IDS, **settings: Any) -> MatchSpec:
    conditions = settings.pop("conditions", tuple(Condition(flag=name) for name in NAMES))
    return MatchSpec(build_automaton(pattern, NAMES), conditions, measures, **settings)


def run(spec: MatchSpec, table: pa.Table, clock: int | None = None, end: bool = True) -> list[dict[str, Any]]:
    kernel = MatchKernel(spec)
    times = table.column(TIME).to_pylist()
    return kernel.step(kernel.initial(), table, max([0, *times]) if clock is None else clock, end)[1].to_pylist()


def pairs(rows: list[dict[str, Any]]) -> list[tuple[int, int]]:
    return [(row["first"], row["last"]) for row in rows]


def moments(rows: list[dict[str, Any]]) -> list[tuple[int, int]]:
    return [(row[TIME], row[SEQ]) for row in rows]


# -- when a match is there ----------------------------------------------------------------------------------


def test_a_match_that_cannot_grow_is_there_with_its_last_row() -> None:
    rows = run(spec_of(Concat((A, B))), rows_of("AB"), end=False)
    assert (pairs(rows), moments(rows)) == ([(0, 1)], [(1, 1)])


def test_a_greedy_tail_is_settled_by_the_row_that_does_not_fit() -> None:
    spec = spec_of(Concat((A, many(B))))
    assert run(spec, rows_of("ABB"), end=False) == []
    assert moments(run(spec, rows_of("ABBC"), end=False)) == [(3, 3)]
    assert moments(run(spec, rows_of("ABB"))) == [(2, ENDED)]


def test_a_bound_settles_a_match_at_its_own_time_whether_a_row_or_the_clock_shows_it() -> None:
    spec = spec_of(Concat((A, many(B))), within=10)
    by_row = run(spec, rows_of("AB*", [0, 3, 40]), end=False)
    by_clock = run(spec, rows_of("AB", [0, 3]), clock=10, end=False)
    assert pairs(by_row)[0] == pairs(by_clock)[0] == (0, 1)
    assert moments(by_row)[0] == moments(by_clock)[0] == (10, TIMER)
    assert run(spec, rows_of("AB", [0, 3]), clock=9, end=False) == []


def test_bounds_are_open_at_their_end() -> None:
    spec = spec_of(Concat((A, B)), within=10)
    assert len(run(spec, rows_of("AB", [0, 9]))) == 1
    assert run(spec, rows_of("AB", [0, 10])) == []
    gapped = spec_of(Concat((A, some(B))), gap=5)
    assert pairs(run(gapped, rows_of("ABBB", [0, 4, 8, 13]))) == [(0, 2)]


def test_interval_holds_a_match_until_it_is_over() -> None:
    spec = spec_of(Concat((A, many(B))), within=10, held=True)
    kernel = MatchKernel(spec)
    table = rows_of("ABC", [0, 1, 2])
    state, rows = kernel.step(kernel.initial(), table, 2)
    assert rows.num_rows == 0
    state, rows = kernel.step(State.from_bytes(state.to_bytes()), table.slice(0, 0), 9)
    assert rows.num_rows == 0
    state, rows = kernel.step(state, table.slice(0, 0), 10)
    assert moments(rows.to_pylist()) == [(10, TIMER)]
    assert moments(run(spec, rows_of("ABC", [0, 1, 2]))) == [(2, ENDED)]


def test_a_partial_match_that_ran_out_is_told_at_its_timer() -> None:
    spec = spec_of(Concat((A, B, C)), within=10, timeouts=True)
    rows = run(spec, rows_of("ABA", [0, 1, 50]), clock=55)
    assert [(*moments([row])[0], row["first"], row["last"], row["_timed_out"]) for row in rows] == [
        (10, TIMER, 0, 1, True)
    ]
    assert run(spec, rows_of("ABC"))[0]["_timed_out"] is False


def test_what_measures_look_at_beyond_a_match_is_waited_for() -> None:
    after = (*IDS, Measure("next", place=Place(final=True, moved=1), column="id"))
    spec = spec_of(Concat((A, B)), after)
    assert run(spec, rows_of("AB"), end=False) == []
    assert [(row[SEQ], row["next"]) for row in run(spec, rows_of("ABC"), end=False)] == [(2, 2)]
    assert [(row[SEQ], row["next"]) for row in run(spec, rows_of("AB"))] == [(ENDED, None)]


# -- which rows are shown -------------------------------------------------------------------------------------


def test_empty_matches_are_numbered_and_shown_unless_omitted() -> None:
    measures = (*IDS, Measure("n", match_number=True))
    shown = run(spec_of(many(A), measures, rows="all"), rows_of("BAAB"))
    assert [(row["n"], row["first"]) for row in shown] == [(1, None), (2, 1), (2, 1), (3, None)]
    omitted = run(spec_of(many(A), measures, rows="all_omit"), rows_of("BAAB"))
    assert [row["n"] for row in omitted] == [2, 2]


def test_unmatched_rows_are_those_in_no_match() -> None:
    spec = spec_of(Concat((A, A, B)), rows="all_unmatched", carry=("id",), skip=Skip("to_next"))
    assert [(row["id"], row["first"]) for row in run(spec, rows_of("CAABC"))] == [
        (0, None),
        (1, 1),
        (2, 1),
        (3, 1),
        (4, None),
    ]


def test_excluded_rows_are_matched_but_not_shown() -> None:
    spec = spec_of(Concat((A, Exclude(some(B)), C)), rows="all", carry=("id",))
    assert [row["id"] for row in run(spec, rows_of("ABBC"))] == [0, 3]


# -- where the search goes on -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("skip", "found"),
    [
        (Skip("past_last"), [(0, 3)]),
        (Skip("to_next"), [(0, 3), (1, 3), (2, 3)]),
        (Skip("to_last", (0,), "A"), [(0, 3), (2, 3)]),
        (Skip("to_first", (1,), "B"), [(0, 3)]),
    ],
)
def test_the_skip_clause_says_where_the_search_goes_on(skip: Skip, found: list[tuple[int, int]]) -> None:
    table = rows_of("AAAB")
    pattern = Concat((Repeat(A, 1, None), B))
    if skip.kind == "to_last":
        with pytest.raises(PresageError, match="first row"):
            run(spec_of(pattern, skip=skip), table)
        pattern, found = Concat((A, A, many(A), B)), [(0, 3)]
    assert pairs(run(spec_of(pattern, skip=skip), table)) == found


def test_skipping_to_a_variable_without_a_row_is_an_error_that_names_it() -> None:
    pattern = Concat((A, Repeat(C, 0, 1), B))
    with pytest.raises(PresageError) as raised:
        run(spec_of(pattern, skip=Skip("to_first", (2,), "C")), rows_of("AB"))
    assert raised.value.code == "SKIP_TARGET"
    assert "TO C" in raised.value.message


def test_to_current_row_shows_each_match_with_its_last_row_shortest_first() -> None:
    spec = spec_of(Concat((A, many(B))), skip=Skip("to_current"))
    rows = run(spec, rows_of("ABBA"), end=False)
    assert pairs(rows) == [(0, 0), (0, 1), (0, 2), (3, 3)]
    assert [row[TIME] for row in rows] == [0, 1, 2, 3]


# -- order --------------------------------------------------------------------------------------------------------


def test_rows_of_one_time_are_sorted_by_the_further_columns_once_the_time_is_over() -> None:
    spec = spec_of(Concat((A, B)), sort=((TIME, True), ("p", True)))
    table = rows_of("BA", [5, 5], p=[2, 1])
    kernel = MatchKernel(spec)
    state, rows = kernel.step(kernel.initial(), table, 5)
    assert rows.num_rows == 0
    state, rows = kernel.step(State.from_bytes(state.to_bytes()), table.slice(0, 0), 6)
    assert (pairs(rows.to_pylist()), moments(rows.to_pylist())) == ([(1, 0)], [(5, 0)])


def test_an_order_without_time_is_known_at_the_end() -> None:
    spec = spec_of(Concat((A, B, C)), sort=(("p", False),), by_time=False)
    table = rows_of("CBA", [1, 2, 3], p=[1.0, 2.0, 3.0])
    assert run(spec, table, end=False) == []
    rows = run(spec, table)
    assert (pairs(rows), moments(rows)) == ([(2, 0)], [(3, 2)])


@pytest.mark.parametrize("ascending", [True, False])
def test_nulls_come_first_and_nan_last_in_ascending_order(ascending: bool) -> None:
    values = [math.nan, 1.0, None, -1.0, math.inf]
    spec = spec_of(
        A, sort=(("p", ascending),), by_time=False, rows="all", carry=("id",), placed=("_last", "_first", "_ord")
    )
    spec = MatchSpec(**{**spec.__dict__, "measures": (Measure("n", match_number=True),)})
    ordered = sorted(run(spec, rows_of("AAAAA", p=values)), key=lambda row: row["n"])
    wanted = [2, 3, 1, 4, 0]
    assert [row["id"] for row in ordered] == (wanted if ascending else wanted[::-1])


def test_each_time_of_a_batch_window_is_a_partition_of_its_own() -> None:
    spec = spec_of(Concat((A, many(B))), whole=True, event_time="own", within=5)
    table = rows_of("ABBAB", [9, 9, 9, 20, 20], own=pa.array([1, 2, 7, 15, 16], pa.timestamp("us", "UTC")))
    rows = run(spec, table, clock=20, end=False)
    assert (pairs(rows), moments(rows)) == ([(0, 1)], [(9, 2)])
    assert pairs(run(spec, table, clock=20)) == [(0, 1), (3, 4)]


def test_anchors_know_the_partitions_first_and_last_row_however_the_input_is_cut() -> None:
    spec = spec_of(Concat((StartAnchor(), A, many(B), EndAnchor())), keys=("k",))
    kernel = MatchKernel(spec)
    table = rows_of("ABABA", k=["x", "x", "y", "y", "y"])
    state, rows = kernel.step(kernel.initial(), table.slice(0, 3), 2)
    assert rows.num_rows == 0
    state, rows = kernel.step(State.from_bytes(state.to_bytes()), table.slice(3), 4, end=True)
    assert pairs(rows.to_pylist()) == [(0, 1)]


# -- conditions over the match so far ---------------------------------------------------------------------------


def folding(fold: Fold, given: int, compare: int, constant: Any, bank: int) -> MatchSpec:
    """A+ whose rows go on while the aggregate compares so with the constant."""
    push = {INT: c.CONST_I, FLOAT: c.CONST_F, TEXT: c.CONST_TEXT}[bank]
    code = Code(
        np.array([given, 0, push, 0, compare]),
        np.array([0, 5]),
        np.array([constant] if bank == INT else [], np.int64),
        np.array([constant] if bank == FLOAT else [], np.float64),
        (constant,) if bank == TEXT else (),
        depth=2,
    )
    condition = Condition(bound=0, folds=(fold,), text="A AS …")
    return spec_of(some(A), conditions=(condition, Condition(), Condition()), code=code)


VALUES = {
    "i": pa.array([3, None, 4, -2, 8, 1], pa.int32()),
    "x": pa.array([1.0, 4.0, None, math.nan, 2.0, 0.5]),
    "s": pa.array(["m", "q", None, "b", "z", "a"]),
}


@pytest.mark.parametrize(
    ("fold", "given", "compare", "constant", "bank", "length"),
    [
        (Fold("count"), c.GIVEN_I, c.LT_I, 4, INT, 3),
        (Fold("count", columns=("i",)), c.GIVEN_I, c.LT_I, 4, INT, 4),
        (Fold("sum", columns=("i",)), c.GIVEN_I, c.LT_I, 13, INT, 4),
        (Fold("sum", columns=("x",)), c.GIVEN_F, c.LE_F, 5.0, FLOAT, 3),
        (Fold("avg", columns=("i",)), c.GIVEN_F, c.LE_F, 3.25, FLOAT, 2),
        (Fold("avg", columns=("x",)), c.GIVEN_F, c.LT_F, 2.0, FLOAT, 1),
        (Fold("min", columns=("i",)), c.GIVEN_I, c.GT_I, 0, INT, 3),
        (Fold("max", columns=("x",)), c.GIVEN_F, c.LE_F, 4.0, FLOAT, 3),
        (Fold("min", columns=("s",)), c.GIVEN_I, c.GE_I, "m", TEXT, 3),
        (Fold("first", columns=("s",)), c.GIVEN_I, c.EQ_I, "m", TEXT, 6),
        (Fold("last", columns=("s",)), c.GIVEN_I, c.GE_I, "m", TEXT, 2),
        (Fold("any_value", columns=("i",)), c.GIVEN_I, c.EQ_I, 3, INT, 6),
        (Fold("max_by", columns=("s",), by=("i",)), c.GIVEN_I, c.NE_I, "z", TEXT, 2),
        (Fold("min_by", columns=("i",), by=("x",)), c.GIVEN_I, c.EQ_I, 3, INT, 5),
    ],
    ids=lambda value: f"{value.function}_{''.join(value.columns)}" if isinstance(value, Fold) else None,
)
def test_aggregates_in_define_count_the_current_row(
    fold: Fold, given: int, compare: int, constant: Any, bank: int, length: int
) -> None:
    table = rows_of("AAAAAA", **VALUES)
    assert pairs(run(folding(fold, given, compare, constant, bank), table))[0] == (0, length - 1)


def test_the_spread_of_one_value_is_null_and_null_is_not_true() -> None:
    spec = folding(Fold("stddev", columns=("i",)), c.GIVEN_F, c.LT_F, 1.0, FLOAT)
    assert run(spec, rows_of("AAA", i=[1, 2, 3])) == []


def test_a_sum_that_no_long_holds_is_null() -> None:
    spec = folding(Fold("sum", columns=("i",)), c.GIVEN_I, c.GT_I, 0, INT)
    table = rows_of("AAA", i=pa.array([2**62, 2**62 - 1, 1]))
    assert pairs(run(spec, table))[0] == (0, 1)


@pytest.mark.parametrize("fold", [Fold("median", columns=("i",)), Fold("count", columns=("i",), distinct=True)])
def test_aggregates_that_define_cannot_have_are_refused_before_any_event(fold: Fold) -> None:
    with pytest.raises(PresageError) as raised:
        MatchKernel(folding(fold, c.GIVEN_I, c.LT_I, 4, INT))
    assert raised.value.code == "UNSUPPORTED"


def test_a_search_that_explodes_stops_at_its_budget_and_names_the_condition() -> None:
    code = Code(np.array([c.LOAD_I, 0, 0, c.LOAD_I, 1, 0, c.GT_I]), np.array([0, 7]), columns=(("id", INT),), depth=2)
    never = Condition(bound=0, places=(Place(first=True), Place()), text="B AS id < FIRST(id)")
    pattern = Concat((*(many(A),) * 4, B))
    spec = spec_of(pattern, conditions=(Condition(), never, Condition()), code=code, budget=1000)
    with pytest.raises(PresageError) as raised:
        run(spec, rows_of("A" * 40))
    assert raised.value.code == "LIMIT"
    assert "B AS id < FIRST(id)" in raised.value.message


# -- cost -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("within", [None, 10_000_000])
@pytest.mark.parametrize(
    "pattern",
    [
        Concat((some(some(A)), B)),
        Concat((many(Alternation((A, B))), C)),
        Concat((many(A), many(A), many(A), B)),
    ],
)
def test_patterns_that_explode_elsewhere_take_time_in_proportion_to_the_rows(
    pattern: Regex, within: int | None
) -> None:
    spec = spec_of(pattern, within=within)
    run(spec, rows_of("A"))  # compiled by now
    took = {}
    for size in (10_000, 100_000):
        table = rows_of("A" * size)
        start = time.perf_counter()
        assert run(spec, table) == []
        took[size] = time.perf_counter() - start
    # Ten times the rows, with room for a busy machine; squares would be a hundred times.
    assert took[100_000] < 40 * max(took[10_000], 0.002)


@pytest.mark.parametrize("block", [1, 2, 5])
def test_rows_do_not_depend_on_the_blocks_in_which_long_partitions_are_taken(
    block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(5)
    table = rows_of("".join(rng.choice(list("AAABC"), 300)), np.cumsum(rng.integers(0, 4, 300)).tolist())
    for pattern in (Concat((some(A), B)), Concat((many(A), C)), Alternation((Concat((A, many(B), C)), A))):
        spec = spec_of(pattern, within=9, skip=Skip("to_next"), rows="all_unmatched", timeouts=True)
        wanted = run(spec, table)
        monkeypatch.setattr(searching, "ENTRIES", 1)
        monkeypatch.setattr(searching, "LEAST_BLOCK", block)
        assert run(spec, table) == wanted
        monkeypatch.undo()


# -- state ------------------------------------------------------------------------------------------------------------


def test_idle_partitions_leave_nothing_behind() -> None:
    kernel = MatchKernel(spec_of(Concat((A, B)), keys=("k",)))
    table = rows_of("ABCCCA", k=["x", "x", "y", "z", "x", "y"])
    state, _ = kernel.step(kernel.initial(), table, 5)
    assert state.rows() == 1
    assert open_matches(state) == 1


def test_rows_that_prev_may_look_at_stay() -> None:
    code = Code(np.array([c.LOAD_I, 0, 0, c.LOAD_I, 1, 0, c.LT_I]), np.array([0, 7]), columns=(("p", INT),), depth=2)
    down = Condition(nearby=0, places=(Place(current=True), Place(current=True, moved=-1)))
    spec = spec_of(A, conditions=(down, Condition(), Condition()), code=code)
    kernel = MatchKernel(spec)
    state, rows = kernel.step(kernel.initial(), rows_of("AA", p=[5, 6]), 1)
    assert (rows.num_rows, state.rows(), open_matches(state)) == (0, 1, 0)
    later = rows_of("A", [2], p=[4]).set_column(1, SEQ, pa.array([2]))
    _, rows = kernel.step(State.from_bytes(state.to_bytes()), later, 2)
    assert rows.num_rows == 1


def test_partitions_without_news_are_not_touched_until_their_bound_has_passed() -> None:
    kernel = MatchKernel(spec_of(Concat((A, B)), keys=("k",), within=10))
    table = rows_of("AA", k=["x", "y"])
    state, _ = kernel.step(kernel.initial(), table, 1)
    assert open_matches(state) == 2
    state, _ = kernel.step(state, rows_of("C", [9], k=["z"]), 10)
    assert open_matches(state) == 1
    state, _ = kernel.step(state, table.slice(0, 0), 11)
    assert state.rows() == 0


def test_no_rows_have_the_columns_and_types_of_some() -> None:
    measures = (*IDS, Measure("n", match_number=True), Measure("label", place=Place()))
    spec = spec_of(Concat((A, B)), measures, keys=("k",), carry=("id",), timeouts=True, within=5)
    kernel = MatchKernel(spec)
    table = rows_of("AB", k=["x", "x"])
    _, some_rows = kernel.step(kernel.initial(), table, 1)
    _, none = kernel.step(kernel.initial(), table.slice(0, 0), 1)
    assert some_rows.num_rows == 1
    assert none.schema == some_rows.schema
