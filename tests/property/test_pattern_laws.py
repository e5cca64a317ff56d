"""Patterns: the kernel gives what the definitions give, however its input is cut, restarted or shared between keys."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
from hypothesis import assume, given
from hypothesis import strategies as st

from presage.live.state_delta import apply_change, change_between
from presage.model.operator_state import State
from presage.operators.epl.kernel.pattern import LEAST_KEYS, PatternKernel, open_matches
from presage.operators.epl.kernel.spec import TIME, PatternSpec
from reference.pattern_terms import Months, Term, spec_of, table_of
from reference.pattern_worlds import cuts_of, patterns, streams
from reference.patterns import TooMuchError, run_pattern

KEYS = {"key": pa.string()}


def plain(rows: list[dict[str, Any]]) -> list[str]:
    """Rows that can be compared: NaN is NaN."""
    return [repr(row) for row in rows]


def expected(spec: PatternSpec, rows: list[dict[str, Any]], clock: int) -> list[str]:
    try:
        return plain(run_pattern(spec, rows, clock))
    except TooMuchError:
        assume(False)
        raise


def stepped(
    spec: PatternSpec, rows: list[dict[str, Any]], steps: list[tuple[int, int]], least_keys: int = LEAST_KEYS
) -> list[str]:
    """The state goes through bytes, and the kernel is a new one, at each step. What a kernel says of how a state came
    from the one before must be so."""
    state, found, before = PatternKernel(spec).initial(), [], 0
    for number, (place, clock) in enumerate(steps):
        events = table_of(rows[before:place], spec.order, KEYS if spec.keys else None)
        kernel = PatternKernel(spec, least_keys=least_keys)
        after, out = kernel.step(state, events, clock, number == len(steps) - 1)
        change = change_between(state, after) if after.since is not None else None
        if change is not None:
            assert apply_change(state, State.from_bytes(change.to_bytes())).to_bytes() == after.to_bytes()
        found += out.to_pylist()
        state, before = State.from_bytes(after.to_bytes()), place
    return plain(found)


@st.composite
def worlds(draw: st.DrawFn) -> tuple[Term, list[dict[str, Any]], int]:
    rows = draw(streams())
    last = rows[-1][TIME] if rows else 0
    return draw(patterns()), rows, last + draw(st.sampled_from([0, 2_000_000, 9_000_000]))


@given(worlds(), st.booleans(), st.booleans(), st.sampled_from([None, None, -3_000_000]))
def test_the_kernel_gives_what_the_definitions_give(
    world: tuple[Term, list[dict[str, Any]], int], discard: bool, suppress: bool, begin: int | None
) -> None:
    term, rows, end = world
    spec = spec_of(term, discard=discard, suppress=suppress, begin=begin)
    assert stepped(spec, rows, [(len(rows), end)]) == expected(spec, rows, end)


@given(worlds(), st.booleans(), st.sampled_from([None, None, -3_000_000]), st.data())
def test_rows_do_not_depend_on_cuts_clocks_and_restarts(
    world: tuple[Term, list[dict[str, Any]], int], discard: bool, begin: int | None, data: st.DataObject
) -> None:
    term, rows, end = world
    spec = spec_of(term, discard=discard, begin=begin)
    want = expected(spec, rows, end)
    assert stepped(spec, rows, cuts_of(data.draw, rows, end)) == want


def in_months(term: Term) -> Term:
    """With months in place of periods that are written."""
    period, more = term.more.get("period"), dict(term.more)
    if isinstance(period, int) and period:
        more["period"] = Months(1 + period // 3_000_000)
    return Term(term.kind, [in_months(child) for child in term.children], more)


@given(worlds(), st.data())
def test_timers_count_months_by_the_calendar(
    world: tuple[Term, list[dict[str, Any]], int], data: st.DataObject
) -> None:
    # From 28 January 1971 in steps of 11 hours for each second: months do not end in the order in which they began.
    term, rows, end = world
    slow, begin = 11 * 3_600, 392 * 86_400_000_000
    rows = [row | {TIME: begin + slow * row[TIME]} for row in rows]
    end, spec = begin + slow * end + data.draw(st.sampled_from([0, 40, 70])) * 86_400_000_000, spec_of(in_months(term))
    assert stepped(spec, rows, cuts_of(data.draw, rows, end)) == expected(spec, rows, end)


@given(worlds(), st.data())
def test_each_key_is_a_pattern_of_its_own(world: tuple[Term, list[dict[str, Any]], int], data: st.DataObject) -> None:
    term, rows, end = world
    rows = [row | {"key": data.draw(st.sampled_from([None, "p", "q"]))} for row in rows]
    spec = spec_of(term, keys=("key",))
    want = expected(spec, rows, end)
    assert stepped(spec, rows, cuts_of(data.draw, rows, end), data.draw(st.sampled_from([0, LEAST_KEYS]))) == want


@given(worlds(), st.data())
def test_keys_that_a_step_does_not_touch_are_as_if_it_had(
    world: tuple[Term, list[dict[str, Any]], int], data: st.DataObject
) -> None:
    term, rows, end = world
    rows = [row | {"key": data.draw(st.sampled_from("pqrstu"))} for row in rows]
    spec = spec_of(term, keys=("key",))
    expected(spec, rows, end)
    cuts = cuts_of(data.draw, rows, end)
    assert stepped(spec, rows, cuts, least_keys=0) == stepped(spec, rows, cuts)


@given(worlds())
def test_a_key_gives_the_same_rows_alone_and_with_others(world: tuple[Term, list[dict[str, Any]], int]) -> None:
    term, rows, end = world
    rows = [row | {"key": "pq"[row["_seq"] % 2]} for row in rows]
    spec = spec_of(term, keys=("key",))
    expected(spec, rows, end)
    together = stepped(spec, rows, [(len(rows), end)])
    alone = []
    for key in "pq":
        own = [row for row in rows if row["key"] == key]
        alone += stepped(spec, own, [(len(own), end)])
    assert sorted(together) == sorted(alone)


@given(worlds())
def test_nothing_is_kept_that_no_open_term_needs(world: tuple[Term, list[dict[str, Any]], int]) -> None:
    term, rows, end = world
    spec = replace(spec_of(term), keys=())
    expected(spec, rows, end)
    state, _ = PatternKernel(spec).step(PatternKernel(spec).initial(), table_of(rows), end)
    if not state.tables["terms"].num_rows:
        assert [state.tables[name].num_rows for name in ("binds", "cells", "rows", "seen")] == [0, 0, 0, 0]
        assert open_matches(state) == 0
    used = set(state.tables["binds"]["c2"].to_pylist()) if state.tables["binds"].num_rows else set()
    assert used == set(range(state.tables["rows"].num_rows))
