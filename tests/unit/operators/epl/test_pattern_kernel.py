"""The kernel of EPL patterns: each fine point with a tiny stream and its exact rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from presage.arrays.programs import code as op
from presage.errors import PresageError
from presage.model.operator_state import State
from presage.operators.epl.kernel.pattern import PatternKernel, open_matches
from presage.operators.epl.kernel.spec import SEQ, SOURCE, TIME, TIMER, Argument, PatternSpec, Shown
from reference.pattern_terms import (
    Compared,
    Months,
    Of,
    Term,
    both,
    distinct,
    either,
    event,
    every,
    followed,
    interval,
    no,
    numbered,
    row,
    spec_of,
    table_of,
    until,
    whilst,
    within,
)

A, B, C = 0, 1, 2
SEC = 1_000_000
KEYED = {"key": pa.string()}


def stream(*events: tuple[float, int, Any]) -> list[dict[str, Any]]:
    """Events as (seconds, source, v)."""
    return numbered([row(int(time * SEC), source, v) for time, source, v in events])


def run(spec: PatternSpec, rows: list[dict[str, Any]], clock: float | None = None) -> list[dict[str, Any]]:
    end = int(clock * SEC) if clock is not None else rows[-1][TIME]
    kernel = PatternKernel(spec)
    return kernel.step(kernel.initial(), table_of(rows, spec.order, KEYED if spec.keys else None), end)[1].to_pylist()


def found(term: Term, rows: list[dict[str, Any]], clock: float | None = None, **more: Any) -> list[tuple[Any, ...]]:
    """(seconds, v of each tag …) of each row."""
    spec = spec_of(term, **more)
    shown = [Shown(tag.name, n, f"v{tag.source}") for n, tag in enumerate(spec.tags)]
    names = [tag.name for tag in spec.tags]
    return [(r[TIME] / SEC, *(r[n] for n in names)) for r in run(replace(spec, shown=tuple(shown)), rows, clock)]


def equal(tag: str, own: int, other: int) -> Compared:
    """The event's v is that of the tag."""
    return Compared(op.EQ_I, Of(None, f"v{own}"), Of(tag, f"v{other}"))


def is_(source: int, value: int) -> Compared:
    return Compared(op.EQ_I, Of(None, f"v{source}"), value)


# -- 2, 3: guards and intervals ----------------------------------------------------------------------------


def test_within_is_open_at_its_end():
    term = followed(every(event(A, "a")), within(event(B, "b", equal("a", B, A)), 10 * SEC))
    assert found(term, stream((5, A, 1), (8, A, 2), (15, B, 1), (15, B, 2))) == [(15, 2, 2)]


def test_the_clock_of_a_guard_starts_with_what_it_guards():
    term = followed(event(A, "a"), within(event(B, "b"), 2 * SEC))
    assert found(term, stream((0, A, 1), (9, A, 2), (1.5, B, 3))[:1] + stream((9, B, 3)), 9) == []
    assert found(term, stream((8, A, 1), (9, B, 3))) == [(9, 1, 3)]


def test_every_restarts_when_its_operand_fails_and_intervals_count_from_then():
    term = every(both(interval(6 * SEC), no(event(A))))
    assert found(term, stream((2, A, 1), (12, A, 2), (13, A, 3)), 19, begin=0) == [(8,), (19,)]


def test_a_timer_fires_before_events_of_its_time():
    term = followed(event(A, "a"), both(interval(3 * SEC), no(event(B))))
    assert found(term, stream((1, A, 1), (4, B, 0)), 4) == [(4, 1)]


def test_a_row_of_a_timer_has_its_due_time_and_no_arrival():
    spec = spec_of(followed(event(A, "a"), interval(3 * SEC)), order=("o",))
    (only,) = run(spec, numbered([row(SEC, A, 1)], ("o",)), 9)
    assert (only[TIME], only[SEQ], only["o"], only["_ord"]) == (4 * SEC, TIMER, 0, 0)


def test_withinmax_ends_with_the_match_beyond_its_number():
    term = followed(every(event(A, "a")), within(every(event(B, "b")), 100 * SEC, most=1))
    assert found(term, stream((1, A, 1), (2, B, 1), (3, B, 2), (4, A, 2), (5, B, 3))) == [(2, 1, 1), (5, 2, 3)]


def test_withinmax_of_none_gives_nothing():
    assert found(every(within(event(A, "a"), SEC, most=0)), stream((1, A, 1), (1, A, 2))) == []


def test_while_drops_the_first_match_that_fails_and_ends():
    term = whilst(every(event(A, "a")), Compared(op.NE_I, Of("a", "v0"), 3))
    assert found(term, stream((1, A, 1), (2, A, 2), (3, A, 3), (4, A, 1))) == [(1, 1), (2, 2)]


def test_a_month_is_a_calendar_month_clipped_to_its_length():
    start = 1_012_554_000  # 2002-02-01T09:00Z
    assert found(interval(Months(1)), stream((start, A, 1)), start + 28 * 86_400) == [(start + 28 * 86_400,)]
    january = 1_012_467_600  # 2002-01-31T09:00Z
    assert found(interval(Months(1)), stream((january, A, 1)), january + 28 * 86_400) == [(january + 28 * 86_400,)]


def test_periods_come_from_events():
    term = followed(every(event(A, "a")), interval(Of("a", "v0")))
    assert found(term, stream((10, A, 3), (10, A, 2)), 14) == [(12, 2), (13, 3)]


def test_an_unknown_period_never_ends_and_none_at_all_ends_at_once():
    term = followed(every(event(A, "a")), interval(Of("a", "v0")))
    assert found(term, stream((1, A, None), (2, A, 0), (3, A, -5)), 99) == [(2, 0), (3, -5)]
    guarded = followed(every(event(A, "a")), within(event(B, "b"), Of("a", "v0")))
    assert found(guarded, stream((1, A, None), (1, A, 0), (1, A, 2), (2, B, 1))) == [(2, 2, 1)]


# -- 4, 5: EVERY, followed-by, AND ---------------------------------------------------------------------------


def test_every_before_an_arrow_opens_a_partial_match_each_time():
    rows = stream((1, A, 1), (2, A, 2), (3, B, 3), (4, B, 4))
    assert found(followed(every(event(A, "a")), event(B, "b")), rows) == [(3, 1, 3), (3, 2, 3)]


def test_every_around_an_arrow_ignores_what_comes_before_it_completes():
    rows = stream((1, A, 1), (2, A, 2), (3, B, 3), (4, B, 4), (5, A, 5), (6, B, 6))
    assert found(every(followed(event(A, "a"), event(B, "b"))), rows) == [(3, 1, 3), (6, 5, 6)]


def test_nested_every_multiplies():
    rows = stream((1, A, 1), (2, A, 2), (3, A, 3))
    assert [r[0] for r in found(every(every(event(A, "a"))), rows)] == [1, 2, 2, 3, 3, 3, 3]


def test_one_event_ends_one_partial_match_and_starts_the_next():
    rows = stream((1, A, 1), (2, A, 2), (3, A, 3))
    assert found(followed(every(event(A, "a")), event(A, "b")), rows) == [(2, 1, 2), (3, 2, 3)]


def test_one_event_fills_both_sides_of_and():
    assert found(every(both(event(A, "a"), event(A, "b"))), stream((1, A, 1))) == [(1, 1, 1)]


def test_and_keeps_the_first_of_each_side_and_all_where_there_is_every():
    rows = stream((1, A, 1), (2, A, 2), (3, B, 3), (4, B, 4))
    assert found(both(event(A, "a"), event(B, "b")), rows) == [(3, 1, 3)]
    assert found(both(every(event(A, "a")), event(B, "b")), rows) == [(3, 1, 3), (3, 2, 3)]
    both_sides = both(every(event(A, "a")), every(event(B, "b")))
    assert found(both_sides, rows) == [(3, 1, 3), (3, 2, 3), (4, 1, 4), (4, 2, 4)]


def test_all_matches_of_a_side_that_ended_are_combined():
    term = followed(both(within(every(event(A, "a")), 9 * SEC, most=2), event(B, "b")), event(C, "c"))
    rows = stream((1, A, 1), (2, A, 2), (3, B, 3), (4, C, 4), (5, C, 5))
    assert found(term, rows) == [(4, 1, 3, 4), (4, 2, 3, 4)]


def test_a_limit_drops_what_would_be_open_beyond_it():
    rows = stream((1, A, 1), (2, A, 2), (3, A, 3), (4, B, 0), (5, A, 5), (6, B, 0))
    term = followed(every(event(A, "a")), event(B, "b"), limits=(2,))
    assert found(term, rows) == [(4, 1, 0), (4, 2, 0), (6, 5, 0)]


# -- 6: OR and NOT -------------------------------------------------------------------------------------------


def test_tags_of_a_branch_not_taken_are_null():
    rows = stream((1, B, 1), (2, A, 2))
    assert found(either(event(A, "a"), event(B, "b")), rows) == [(1, None, 1)]


def test_not_is_true_from_its_start_and_ends_with_its_operand():
    rows = stream((1, A, 1), (2, B, 2))
    assert found(followed(event(A, "a"), either(event(B, "b"), no(event(B)))), rows) == [(1, 1, None), (2, 1, 2)]
    assert found(both(every(event(A, "a")), no(event(B))), stream((1, A, 1), (2, B, 2), (3, A, 3))) == [(1, 1)]


def test_what_is_true_at_its_start_gives_nothing_below_every():
    assert found(every(either(event(A, "a"), no(event(B)))), stream((1, A, 1), (2, B, 2))) == []


def test_a_pattern_that_begins_at_a_time_may_be_true_then():
    assert found(no(event(A)), stream((3, A, 1)), begin=SEC) == [(1,)]


def test_timers_fire_before_any_event_if_the_pattern_begins_at_a_time():
    kernel = PatternKernel(spec_of(every(interval(5 * SEC)), begin=0))
    state, rows = kernel.step(kernel.initial(), table_of([]), 11 * SEC)
    assert rows[TIME].to_pylist() == [5 * SEC, 10 * SEC]
    _, rows = kernel.step(state, table_of([]), 14 * SEC)
    assert rows.num_rows == 0


@pytest.mark.parametrize("turned", [False, True])
def test_an_event_that_fits_both_sides_of_and_not_ends_it_without_a_match(turned: bool):
    a, b = event(A, "a"), no(event(A, None, is_(A, 2)))
    term = both(b, a) if turned else both(a, b)
    assert found(term, stream((1, A, 2), (2, A, 1))) == []
    assert found(term, stream((1, A, 1), (2, A, 2))) == [(1, 1)]
    assert found(every(term), stream((1, A, 2), (2, A, 1), (3, A, 2), (4, A, 1))) == [(2, 1), (4, 1)]


def test_what_completes_a_term_below_not_ends_the_other_side_that_it_completes():
    term = both(followed(event(A, "a"), event(B, "b")), no(followed(event(A), event(B, None, is_(B, 2)))))
    assert found(every(term), stream((1, A, 1), (2, B, 2), (3, A, 3), (4, B, 4))) == [(4, 3, 4)]


def test_of_nots_in_each_other_the_innermost_counts_first():
    term = both(event(A, "a"), no(both(event(A), no(event(A, None, is_(A, 2))))))
    assert found(term, stream((1, A, 2))) == [(1, 2)]
    assert found(term, stream((1, A, 1))) == []


def test_every_below_until_waits_anew_for_silence():
    term = until(event(A, "a"), every(both(interval(6 * SEC), no(event(A)))))
    assert found(term, stream((0, A, 1), (2, A, 2), (7, A, 3), (20, A, 4)), 30) == [(13, [1, 2, 3])]


# -- 7: repeats ----------------------------------------------------------------------------------------------


def test_until_gathers_and_its_ending_side_wins():
    term = until(event(A, "a"), event(A, "b", is_(A, 9)))
    assert found(term, stream((1, A, 1), (2, A, 2), (3, A, 9))) == [(3, [1, 2], 9)]


def test_what_ends_the_repeat_may_also_end_what_is_repeated():
    term = until(both(event(B, "b"), no(event(A))), event(A, "a"))
    assert found(every(term), stream((1, A, 1), (2, B, 2), (3, A, 3))) == [(1, [], 1), (3, [2], 3)]
    denied = both(term, no(event(A, None, is_(A, 3))))
    assert found(denied, stream((2, B, 2), (3, A, 3))) == []


def test_missing_the_lower_bound_ends_without_a_match():
    term = until(event(A, "a"), event(B, "b"), low=2)
    assert found(term, stream((1, A, 1), (2, B, 2), (3, A, 3), (4, A, 4), (5, B, 5))) == []


def test_events_above_the_upper_bound_are_ignored_until_the_end_comes():
    term = until(event(A, "a"), event(B, "b"), low=1, high=2)
    assert found(term, stream((1, A, 1), (2, A, 2), (3, A, 3), (4, B, 4))) == [(4, [1, 2], 4)]


def test_a_fixed_number_of_repeats_ends_with_the_last():
    rows = stream((1, A, 1), (2, A, 2), (3, A, 3), (4, A, 4))
    assert found(every(until(event(A, "a"), low=2, high=2)), rows) == [(2, [1, 2]), (4, [3, 4])]


def test_repeats_of_repeats_gather_all():
    inner = until(event(A, "a"), low=2, high=2)
    assert found(until(inner, event(B)), stream((1, A, 1), (2, A, 2), (3, A, 3), (4, A, 4), (5, B, 5))) == [
        (5, [1, 2, 3, 4])
    ]


def test_each_repeat_has_its_own_tags_while_it_runs():
    term = until(followed(event(A, "a"), event(B, "b", equal("a", B, A))), low=2, high=2)
    rows = stream((1, A, 1), (2, B, 2), (3, B, 1), (4, A, 2), (5, B, 1), (6, B, 2))
    assert found(term, rows) == [(6, [1, 2], [1, 2])]


def test_later_conditions_see_single_events_of_a_repeat():
    term = followed(
        until(event(A, "a"), low=2, high=2), event(B, "b", Compared(op.EQ_I, Of(None, "v1"), Of("a", "v0", 1)))
    )
    assert found(term, stream((1, A, 1), (2, A, 2), (3, B, 1), (4, B, 2))) == [(4, [1, 2], 2)]


def test_bounds_come_from_events():
    term = followed(event(A, "a"), until(event(B, "b"), low=Of("a", "v0"), high=Of("a", "v0")))
    assert found(term, stream((1, A, 2), (2, B, 1), (3, B, 2))) == [(3, 2, [1, 2])]


@pytest.mark.parametrize("bound", [0, -1, None])
def test_a_bound_below_one_is_an_error_that_names_the_repeat(bound: int | None):
    term = followed(event(A, "a"), until(event(B, "b"), low=Of("a", "v0"), high=Of("a", "v0")))
    with pytest.raises(PresageError, match="a bound of the repeat until"):
        found(term, stream((1, A, bound)))


def test_a_lower_bound_above_the_upper_one_is_an_error():
    term = followed(event(A, "a"), until(event(B, "b"), event(C), low=Of("a", "v0"), high=2))
    with pytest.raises(PresageError, match="a bound of the repeat until"):
        found(term, stream((1, A, 3)))


# -- 8: EVERY-DISTINCT ---------------------------------------------------------------------------------------


def test_a_key_is_forgotten_exactly_its_time_after_it_was_let_through():
    term = distinct([Of("a", "v0")], event(A, "a"), 3 * SEC)
    assert found(term, stream((1, A, 1), (2, A, 1), (3.9, A, 1), (4, A, 1), (6.9, A, 1))) == [(1, 1), (4, 1)]


def test_all_keys_go_when_the_operand_fails():
    term = distinct([Of("a", "v0")], both(event(A, "a"), no(event(B))))
    assert found(term, stream((1, A, 1), (2, A, 1), (3, B, 0), (4, A, 1))) == [(1, 1), (4, 1)]


def test_null_is_a_key():
    term = distinct([Of("a", "v0")], event(A, "a"))
    assert found(term, stream((1, A, None), (2, A, None), (3, A, 0))) == [(1, None), (3, 0)]


def test_keys_that_are_texts_survive_a_restart_among_other_texts():
    spec = spec_of(distinct([Of("a", "k0")], event(A, "a")))
    state, texts = PatternKernel(spec).initial(), []
    for n, text in enumerate(["m", "z", "a", "m", "z", "b"]):
        events = table_of(numbered([row(n, A, n, text)]))
        state, rows = PatternKernel(spec).step(State.from_bytes(state.to_bytes()), events, n)
        texts += rows["a_k"].to_pylist()
    assert texts == ["m", "z", "a", "b"]


# -- 9 and beyond --------------------------------------------------------------------------------------------


def test_two_views_of_an_event_are_one_event():
    views = numbered([row(SEC, A, 1), row(SEC, B, 2) | {"same": True}, row(2 * SEC, B, 3)])
    assert found(followed(event(A, "a"), event(B, "b")), views) == [(2, 1, 3)]
    assert found(both(event(A, "a"), event(B, "b")), views) == [(1, 1, 2)]


def test_a_flag_that_is_null_is_false():
    rows = numbered([row(SEC, A, 1, flag0=None), row(SEC, A, 2, flag0=False), row(SEC, A, 3)])
    assert found(every(event(A, "a", flag="flag0")), rows) == [(1, 3)]


def test_only_filters_of_the_highest_level_consume_an_event():
    low = either(every(event(A, "a", consume=1)), every(event(A, "b", consume=2)), every(event(A, "c")))
    assert found(low, stream((1, A, 1))) == [(1, None, 1, None)]


def test_discarding_ends_partial_matches_that_share_an_event():
    term = followed(every(event(A, "a")), event(B, "b"), event(C, "c", equal("a", C, A)))
    rows = stream((1, A, 1), (2, A, 2), (3, B, 0), (4, C, 2), (5, C, 1))
    assert found(term, rows) == [(4, 2, 0, 2), (5, 1, 0, 1)]
    assert found(term, rows, discard=True) == [(4, 2, 0, 2)]


def test_every_goes_on_after_a_discard():
    term = followed(every(event(A, "a")), every(event(B, "b")))
    rows = stream((1, A, 1), (2, B, 1), (3, B, 2), (4, A, 2), (5, B, 3), (6, B, 4))
    assert found(term, rows, discard=True) == [(2, 1, 1), (5, 2, 3)]


def test_suppressing_keeps_the_first_of_overlapping_matches():
    term = followed(every(event(A, "a")), event(B, "b"))
    rows = stream((1, A, 1), (2, A, 2), (3, B, 0), (4, A, 3), (5, B, 0))
    assert found(term, rows, suppress=True) == [(3, 1, 0), (5, 3, 0)]


class Oracle:
    """True where the sum of the arguments is even; remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[list[list[Any]]] = []

    def ask(self, number: int, arguments: list[pa.Array]) -> np.ndarray:
        self.asked.append([a.to_pylist() for a in arguments])
        return np.array([sum(values) % 2 == 0 for values in zip(*self.asked[-1], strict=True)])


def test_conditions_that_only_the_host_can_evaluate_are_asked_once_for_each_event():
    spec = spec_of(followed(every(event(A, "a")), event(B, "b")))
    arguments = (Argument(None), Argument(0))
    nodes = tuple(
        replace(n, asked=7, asked_columns=((0, "v1"), (1, "v0")), arguments=arguments) if n.tag == 1 else n
        for n in spec.nodes
    )
    oracle = Oracle()
    kernel = PatternKernel(replace(spec, nodes=nodes), oracle)
    rows = table_of(stream((1, A, 1), (2, A, 2), (3, A, 3), (4, B, 5)))
    _, out = kernel.step(kernel.initial(), rows, 4 * SEC)
    assert out["a_v"].to_pylist() == [1, 3]
    assert oracle.asked == [[[5, 5, 5], [1, 2, 3]]]


# -- keys, limits, state -------------------------------------------------------------------------------------


def keyed(*events: tuple[float, int, Any, str | None]) -> list[dict[str, Any]]:
    rows = stream(*(event[:3] for event in events))
    return [line | {"key": event[3]} for line, event in zip(rows, events, strict=True)]


def test_each_key_has_a_pattern_of_its_own_and_null_is_a_key():
    term = followed(every(event(A, "a")), event(B, "b"))
    rows = keyed((1, A, 1, "x"), (2, A, 2, None), (3, B, 3, "x"), (4, B, 4, "y"), (5, B, 5, None))
    assert found(term, rows, keys=("key",)) == [(3, 1, 3), (5, 2, 5)]


def test_timers_of_several_keys_come_in_the_order_of_the_events_that_led_to_them():
    term = followed(every(event(A, "a")), interval(2 * SEC))
    rows = keyed((0, B, 0, "y"), (1, A, 1, "x"), (1, A, 2, "y"), (1, A, 3, "x"))
    assert found(term, rows, 9, keys=("key",)) == [(3, 1), (3, 2), (3, 3)]


def test_a_key_with_nothing_under_way_has_no_state():
    kernel = PatternKernel(spec_of(followed(every(event(A, "a")), within(event(B, "b"), 5 * SEC)), keys=("key",)))
    rows = keyed((1, A, 1, "x"), (2, B, 2, "x"), (2, A, 3, "y"))
    state, _ = kernel.step(kernel.initial(), table_of(rows, (), KEYED), 3 * SEC)
    assert state.tables["keys"]["key"].to_pylist() == ["y"]
    assert (open_matches(state), state.tables["rows"].num_rows) == (1, 1)
    state, _ = kernel.step(state, table_of([], (), KEYED), 9 * SEC)
    assert (open_matches(state), state.rows()) == (0, 0)


def test_a_pattern_that_is_over_stays_over():
    kernel = PatternKernel(spec_of(event(A, "a")))
    state, rows = kernel.step(kernel.initial(), table_of(stream((1, A, 1))), SEC)
    assert rows.num_rows == 1
    _, rows = kernel.step(state, table_of(stream((2, A, 2))), 2 * SEC)
    assert rows.num_rows == 0


def test_too_many_partial_matches_are_an_error_that_names_the_limit():
    term = followed(every(event(A, "a")), event(B, "b"))
    with pytest.raises(PresageError, match="open partial matches"):
        found(term, stream(*((n, A, n) for n in range(9))), most=5)


TICKS = every(interval(SEC))


@pytest.mark.parametrize("term", [every(TICKS), every(every(event(A, "a"))), every(followed(interval(SEC), TICKS))])
def test_what_every_multiplies_without_an_event_counts_as_partial_matches(term: Term):
    rows = stream(*((n, A, n) for n in range(30)))
    with pytest.raises(PresageError, match="open partial matches") as caught:
        found(term, rows, most=1_000)
    assert caught.value.code == "LIMIT"


def test_the_count_of_what_every_multiplies_survives_a_restart():
    spec = spec_of(every(TICKS), most=100)
    state = PatternKernel(spec).initial()
    for second in range(6):  # 64 of them
        state = PatternKernel(spec).step(state, table_of(stream((second, A, second))), second * SEC)[0]
        state = State.from_bytes(state.to_bytes())
    with pytest.raises(PresageError, match="open partial matches"):
        PatternKernel(spec).step(state, table_of(stream((8, A, 8))), 8 * SEC)


def test_many_idle_keys_are_no_partial_matches():
    kernel = PatternKernel(spec_of(either(event(A, "a"), event(B, "b")), keys=("key",), most=5))
    rows = keyed(*((1, C, n, f"k{n}") for n in range(50)))
    kernel.step(kernel.initial(), table_of(rows, (), KEYED), SEC)


def test_rows_of_one_step_have_a_limit_in_bytes():
    term = followed(every(event(A, "a")), every(event(B, "b")))
    rows = stream(*((n, A, n) for n in range(500)), *((500 + n, B, n) for n in range(500)))
    with pytest.raises(PresageError, match="bytes of a pattern"):
        found(term, rows, most_bytes=1_000_000)


def test_rows_without_a_match_have_the_columns_of_those_with_one():
    spec = spec_of(until(event(A, "a"), event(B, "b")), order=("o",))
    kernel = PatternKernel(spec)
    _, none = kernel.step(kernel.initial(), table_of([], ("o",)), 0)
    events = table_of(numbered([row(1, A, 1, "k"), row(2, B, 2, "l")], ("o",)), ("o",))
    _, some = kernel.step(kernel.initial(), events, 2)
    assert none.schema == some.schema
    assert none.column_names == [TIME, SEQ, "o", "_ord", "a_v", "a_k", "b_v", "b_k"]
    assert SOURCE not in none.column_names
