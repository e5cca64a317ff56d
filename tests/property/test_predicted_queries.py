"""Queries over predicted streams, from their text to their rows: as the slow twin says, however the input is cut."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from presage.columnar.evaluate import Evaluator
from presage.execution.steps import OperatorStates, StepContext, run_root, schema_of
from presage.lang import parse_statement
from presage.live.program import compile_program
from presage.model.operator_state import State
from presage.model.time import to_micros
from presage.operators.running import STEPS as OPERATORS
from presage.plan.nodes import SEQ, TIME, Scan
from presage.workspace import Workspace
from property.prediction_worlds import join_terms, periods, updates, value_terms, windows
from reference.predictions import (
    SECOND,
    Join,
    Term,
    Update,
    allowed,
    chance_of_three,
    holds_at,
    in_force,
    likely_on_grid,
    matches_at,
)

near_terms = st.builds(
    Term,
    st.integers(0, 1),
    st.sampled_from(["<=", "<"]),
    st.sampled_from([0.5, 1.0, 2.0]),
    st.sampled_from(["plain", "may"]),
    st.integers(0, 1),
)
MODES = {"plain": "{}", "may": "MAY ({})", "must": "MUST ({})"}
ATTRIBUTES = ("x", "y")
KEYS = (0, 1, 2)


def world(period: int, more: str = "") -> Workspace:
    workspace = Workspace([], Path())
    workspace.check(
        f"""CREATE STREAM G (k INT, note STRING, x DOUBLE, y DOUBLE, at TIMESTAMP) EVENT TIME at KEY (k)
        PREDICTED (x, y) WITH (period = '{period // 1000} msec'{more});"""
    )
    return workspace


def table_of(several: list[Update], scan: Scan) -> pa.Table:
    """In order of time, as they would be settled; those of one time as they came."""
    rows = []
    for number, update in sorted(enumerate(several), key=lambda pair: (pair[1].at, pair[0])):
        event: dict[str, Any] = {"k": update.key, "note": f"n{update.values[1]}", "at": update.at}
        for i, name in enumerate(ATTRIBUTES):
            event |= {f"{name}_value": update.values[i], f"{name}_rate": update.rates[i]}
            event[f"{name}_threshold"] = update.thresholds[i]
        named = {f.name: event[a] for f, a in zip(scan.fields, scan.attributes, strict=True)}
        rows.append({TIME: update.at, SEQ: number, **named})
    return pa.Table.from_pylist(rows, schema_of(scan.columns))


def rows_of(workspace: Workspace, text: str, several: list[Update], cuts: list[int], end: int) -> list[dict[str, Any]]:
    """Steps up to each of the cuts, with the state written and read between them; then the end."""
    query = parse_statement(text)
    bound = workspace.bind(query)  # type: ignore[arg-type]
    program = compile_program(bound, workspace.optimize(bound).plan, 1)
    operator_states, made, before = OperatorStates(), [], -1
    for clock in [*sorted(cuts), None]:

        def read(scan: Scan, low: int = before, high: int | None = clock) -> pa.Table:
            return table_of([u for u in several if low <= u.at and (high is None or u.at < high)], scan)

        last = clock is None
        moment = end if clock is None else clock
        context = StepContext(
            read, Evaluator({}), {}, OPERATORS, program.places, operator_states, moment, moment, program.upper, last
        )
        made.append(run_root(program.plan, context).table)
        operator_states = OperatorStates(
            {place: State.from_bytes(state.to_bytes()) for place, state in operator_states.by_place.items()}
        )
        before = before if clock is None else clock
    return [dict(row) for table in made for row in table.select([c.name for c in program.columns]).to_pylist()]


def last_time(several: list[Update], period: int) -> int:
    return max(update.at for update in several) + period + 10 * SECOND


def spoken(term: Term, left: str, right: str | None) -> str:
    value = f"{left}.{ATTRIBUTES[term.left]}"
    if right is not None:
        value = f"ABS({value} - {right}.{ATTRIBUTES[term.right]})"
    return MODES[term.mode].format(f"{value} {term.comparator} {term.constant}")


def moments(rows: list[dict[str, Any]], end: int) -> list[int]:
    """Times all over, but none where a row begins or ends: there rounding decides."""
    edges = [to_micros(row[name]) for row in rows for name in ("valid_from", "valid_to")]
    return [t for t in range(SECOND // 16, end, SECOND // 4 + 1237) if all(abs(t - edge) > 2 for edge in edges)]


def covers(row: dict[str, Any], t: int) -> bool:
    return to_micros(row["valid_from"]) <= t <= to_micros(row["valid_to"])


@settings(max_examples=20)
@given(
    updates(KEYS[:2]),
    st.lists(join_terms(), min_size=1, max_size=2),
    windows,
    periods,
    st.lists(value_terms(), max_size=1),
)
def test_a_join_holds_when_the_definition_says(
    several: list[Update], terms: list[Term], window: int, period: int, more: list[Term]
) -> None:
    on = " AND ".join(spoken(term, "a", "b") for term in terms)
    where = " AND ".join(["a.k <> b.k", *(spoken(term, "a", None) for term in more)])
    text = f"SELECT a.k, b.k FROM PREDICTED G a JOIN PREDICTED G b WINDOW {window // 1000} msec ON {on} WHERE {where}"
    end = last_time(several, period)
    rows = rows_of(world(period), text, several, [], end)
    join = Join(tuple(terms), window, tuple(more))
    for a, b in ((0, 1), (1, 0)):
        own = [row for row in rows if (row["a.k"], row["b.k"]) == (a, b)]
        for t in moments(own, end):
            held = matches_at(join, several, a, several, b, period, Fraction(t))
            assert any(covers(row, t) for row in own) == held, (a, b, t)
    assert {(row["a.k"], row["b.k"]) for row in rows} <= {(0, 1), (1, 0)}


bounds = st.builds(
    Term,
    st.integers(0, 1),
    st.sampled_from(["<=", "<", ">", ">="]),
    st.sampled_from([0.5, 1.0, 2.0]),
    st.just("plain"),
    st.integers(0, 1),
)
GRID = SECOND // 16


@settings(max_examples=10)
@given(
    updates(KEYS[:2], most=4, lacking=False),
    bounds,
    st.sampled_from([0, SECOND // 4]),
    st.lists(bounds, max_size=1),
    st.sampled_from([0.05, 0.25, 0.75]),
)
def test_WITH_PROBABILITY_asks_all_values_within_the_threshold(
    several: list[Update], term: Term, window: int, more: list[Term], p: float
) -> None:
    period = 4 * SECOND
    said = f"{spoken(term, 'a', 'b')} WHERE {' AND '.join(['a.k <> b.k', *(spoken(t, 'a', None) for t in more)])}"
    text = f"SELECT a.k, b.k FROM PREDICTED G a JOIN PREDICTED G b WINDOW {window // 1000} msec ON {said}"
    end = last_time(several, period)
    rows = rows_of(world(period), f"{text} WITH PROBABILITY >= {p}", several, [], end)
    for a, b in ((0, 1), (1, 0)):
        own = [row for row in rows if (row["a.k"], row["b.k"]) == (a, b)]
        times = range(GRID // 3, end, GRID)
        best = likely_on_grid(Join((term,), window, tuple(more)), several, a, several, b, period, times)
        for t, chance in best.items():
            covered = any(covers(row, t) for row in own)
            assert covered or chance < p + 1e-9, (t, chance)
            # The likeliest earlier time may lie between those of the grid.
            assert not covered or chance >= p - (0.3 if window else 1e-9), (t, chance)
        assert all(t in best for row in own for t in times if covers(row, t))


@settings(max_examples=20)
@given(
    updates(KEYS, most=8), join_terms(), join_terms(), windows, windows, periods, st.lists(value_terms(), max_size=1)
)
def test_three_items_hold_together_when_both_pairs_do(
    several: list[Update], first: Term, second: Term, one: int, two: int, period: int, more: list[Term]
) -> None:
    where = " AND ".join(["a.k <> b.k", "b.k <> c.k", *(spoken(term, "b", None) for term in more)])
    text = (
        f"SELECT a.k, b.k, c.k FROM PREDICTED G a JOIN PREDICTED G b WINDOW {one // 1000} msec "
        f"ON {spoken(first, 'a', 'b')} JOIN PREDICTED G c WINDOW {two // 1000} msec ON {spoken(second, 'b', 'c')} "
        f"WHERE {where}"
    )
    end = last_time(several, period)
    rows = rows_of(world(period), text, several, [], end)
    # A condition on b alone is asked wherever b is.
    pairs = Join((first,), one, (), tuple(more)), Join((second,), two, tuple(more))
    for a, b, c in itertools.product(KEYS, KEYS, KEYS):
        own = [row for row in rows if (row["a.k"], row["b.k"], row["c.k"]) == (a, b, c)]
        for t in moments(own, end)[::3]:
            held = a != b != c and all(
                matches_at(join, several, *ends, period, Fraction(t))
                for join, ends in zip(pairs, ((a, several, b), (b, several, c)), strict=True)
            )
            assert any(covers(row, t) for row in own) == held, (a, b, c, t)


@settings(max_examples=20)
@given(updates(KEYS[:2]), st.lists(value_terms(), min_size=1, max_size=2), periods)
def test_a_value_holds_when_the_definition_says(several: list[Update], terms: list[Term], period: int) -> None:
    text = f"SELECT s.k FROM PREDICTED G s WHERE {' AND '.join(spoken(term, 's', None) for term in terms)}"
    end = last_time(several, period)
    rows = rows_of(world(period), text, several, [], end)
    for key in KEYS[:2]:
        own = [row for row in rows if row["k"] == key]
        for t in moments(own, end):
            held = holds_at(tuple(terms), several, key, Fraction(t), period)
            assert any(covers(row, t) for row in own) == held, (key, t)


@pytest.mark.parametrize("sigma", [None, 0.3], ids=["uniform", "normal"])
@settings(max_examples=15)
@given(
    updates(KEYS, most=6, lacking=False),
    near_terms,
    near_terms,
    periods,
    st.lists(value_terms(), max_size=1),
    st.sampled_from(ATTRIBUTES),
)
def test_three_items_are_as_likely_as_the_integral_over_the_error_of_the_one_in_the_middle(
    sigma: float | None, several: list[Update], first: Term, second: Term, period: int, more: list[Term], own: str
) -> None:
    """Of b one attribute is compared with both others, or two are compared with one each."""
    first, second = replace(first, right=0), replace(second, left=ATTRIBUTES.index(own))
    where = " AND ".join(["a.k < c.k", *(spoken(term, "b", None) for term in more)])
    text = (
        f"SELECT a.k, b.k, c.k, probability FROM PREDICTED G a JOIN PREDICTED G b ON {spoken(first, 'a', 'b')} "
        f"JOIN PREDICTED G c ON {spoken(second, 'b', 'c')} WHERE {where}"
    )
    errors = "" if sigma is None else f", errors = 'normal', sigma = {sigma}"
    for row in rows_of(world(period, errors), text, several, [], last_time(several, period)):
        low, high = to_micros(row["valid_from"]), to_micros(row["valid_to"])
        best = 0.0
        for at in sorted({low, high, *range(low, high, max(1, (high - low) // 16))}):
            items = [in_force(several, row[name], at, period) for name in ("a.k", "b.k", "c.k")]
            # At its end a row may meet an update that ends it.
            ended = (
                low < at == high
                and None not in items
                and not (
                    allowed(Join((first,), 0, (), tuple(more)), items[0], at, items[1], at)
                    and allowed(Join((second,), 0), items[1], at, items[2], at)
                )
            )
            if None not in items and not ended:
                best = max(best, chance_of_three(first, second, tuple(more), items, at, sigma))
        assert row["probability"] >= best - 1e-9
        # A sixteenth of the row may be so far away; one that is a moment is known exactly.
        assert row["probability"] <= best + (1e-9 if low == high else 0.2)


QUERIES = {
    "value": "SELECT s.k, s.x FROM PREDICTED G s WHERE s.x > 0.5",
    "may": "SELECT s.k, s.note FROM PREDICTED G s WHERE MAY (s.x <= 1)",
    "likely": "SELECT s.k, probability FROM PREDICTED G s WHERE s.x >= 0 WITH PROBABILITY >= 0.6",
    "join": "SELECT a.k, b.k FROM PREDICTED G a JOIN PREDICTED G b WINDOW 500 msec ON ABS(a.x - b.x) <= 1",
    "far": "SELECT a.k, b.k, a.y FROM PREDICTED G a JOIN PREDICTED G b ON ABS(a.x - b.x) > 1 AND ABS(a.y - b.y) <> 1",
    "notes": "SELECT a.k, b.k FROM PREDICTED G a JOIN PREDICTED G b WINDOW 1 sec ON ABS(a.x - b.x) = 1 "
    "AND a.note = b.note",
    "likely join": "SELECT a.k, b.k FROM PREDICTED G a JOIN PREDICTED G b WINDOW 1 sec ON MAY (ABS(a.x - b.x) <= 1) "
    "WITH PROBABILITY > 0.3",
    "chances": "SELECT a.k, b.k, probability FROM PREDICTED G a JOIN PREDICTED G b WINDOW 1 sec "
    "ON ABS(a.x - b.x) <= 1 AND MAY (ABS(a.y - b.y) < 2) WHERE a.x > 0 AND b.x > 0",
    "chances trimmed": "SELECT a.k, b.k, probability FROM PREDICTED G a JOIN PREDICTED G b WINDOW 1 sec "
    "ON MAY (ABS(a.x - b.x) <= 1) AND ABS(a.y - b.y) <= 2 WITH PROBABILITY >= 0.3",
    "chances far": "SELECT a.k, b.k, probability FROM PREDICTED G a JOIN PREDICTED G b WINDOW 500 msec "
    "ON MAY (ABS(a.x - b.x) > 1) AND ABS(a.y - b.y) <> 2 AND ABS(a.y - b.y) >= 1 WITH PROBABILITY > 0.2",
    "chances in parts": "SELECT a.k, b.k, probability FROM PREDICTED G a JOIN PREDICTED G b WINDOW 1 sec "
    "ON ABS(a.x - b.x) <= 1 AND ABS(a.y - b.y) <= 2 VALIDATE EVERY 1 sec",
    "chances between": "SELECT a.k, b.k, probability FROM PREDICTED G a JOIN PREDICTED G b WINDOW 1 sec "
    "ON MAY (ABS(a.x - b.x) <= 2) AND MAY (ABS(a.x - b.x) > 1) AND MAY (a.x BETWEEN 0 AND 1) WITH PROBABILITY >= 0.1",
    "chances of values": "SELECT s.k, probability FROM PREDICTED G s WHERE MAY (s.x > 0) AND s.y <= 2 "
    "WITH PROBABILITY >= 0.25",
    "three": "SELECT a.k, b.k, c.k FROM PREDICTED G a JOIN PREDICTED G b ON ABS(a.x - b.x) <= 1 "
    "JOIN PREDICTED G c WINDOW 500 msec ON ABS(b.x - c.x) < 2 WHERE a.k < b.k AND b.k < c.k",
    "chances of three": "SELECT a.k, b.k, c.k, probability FROM PREDICTED G a JOIN PREDICTED G b "
    "ON ABS(a.x - b.x) <= 1 JOIN PREDICTED G c ON MAY (ABS(b.x - c.y) < 2) AND ABS(a.y - c.x) <= 2 "
    "WHERE b.x > -2 AND a.k < c.k",
    "parts": "SELECT a.k, b.k FROM PREDICTED G a JOIN PREDICTED G b ON ABS(a.x - b.x) <= 1 VALIDATE EVERY 1 sec",
    "boundary": "SELECT a.k, b.k, boundary FROM PREDICTED G a JOIN PREDICTED G b WINDOW 1 sec ON ABS(a.x - b.x) <= 1 "
    "AND ABS(a.y - b.y) > 1",
    "some": "SELECT a.k, b.k FROM PREDICTED G(note = 'n1.0') a JOIN PREDICTED G b WINDOW 1 sec ON ABS(a.x - b.y) <= 1",
}
BUFFERS = [
    "",
    ", buffer = 2",
    ", buffer = 3, policy = 'random'",
    ", buffer = 2, policy = 'if-full'",
    ", buffer = 3, policy = 'oldest'",
]
# What a buffer has let go is no part of a boundary any more; of three items with a buffer there is no probability.
UNBUFFERED = ("boundary", "chances of three")
CUTS = st.lists(st.integers(0, 36).map(lambda n: n * SECOND // 4 + n % 3 * 1237), max_size=5)


@pytest.mark.parametrize("name", QUERIES)
@settings(max_examples=8)
@given(updates(KEYS, most=9), periods, CUTS, st.sampled_from(BUFFERS))
def test_rows_do_not_depend_on_how_the_input_is_cut(
    name: str, several: list[Update], period: int, cuts: list[int], buffer: str
) -> None:
    text, end = QUERIES[name], last_time(several, period)
    workspace = world(period, "" if name in UNBUFFERED else buffer)
    assert rows_of(workspace, text, several, cuts, end) == rows_of(workspace, text, several, [], end)


def test_two_neighbours_of_one_object_share_its_error() -> None:
    # Each of them is near with 3/4; both are with 7/12, which is more than 9/16: where one is near, so is the other.
    several = [Update(k, 0, (0.0, 0.0), (0.0, 0.0), (1.0, 0.0)) for k in KEYS]
    text = """SELECT a.k, b.k, c.k, probability FROM PREDICTED G a JOIN PREDICTED G b ON ABS(a.x - b.x) <= 1
    JOIN PREDICTED G c ON ABS(b.x - c.x) <= 1 WHERE a.k < c.k"""
    rows = rows_of(world(SECOND), text, several, [], 9 * SECOND)
    # The one in the middle is any of the three.
    assert [row["probability"] for row in rows] == pytest.approx([7 / 12] * 3, abs=1e-12)
    # What is told apart by its note is another object in between, and sure.
    turns = [Update(1, n * SECOND // 4, (0.0, float(n % 2)), (0.0, 0.0), (float(n != 1), 0.0)) for n in range(3)]
    noted = text.replace("probability", "b.note, probability").replace("a.k <", "b.k = 1 AND a.k <")
    rows = rows_of(world(SECOND), noted, [several[0], *turns, several[2]], [], 9 * SECOND)
    assert [row["note"] for row in rows] == ["n0.0", "n1.0", "n0.0"]
    assert [row["probability"] for row in rows] == pytest.approx([7 / 12, 1.0, 7 / 12], abs=1e-12)
    likely = text.replace("a.k < c.k", "a.k < c.k AND probability > 0.6")
    assert rows_of(world(SECOND), likely, several, [], 9 * SECOND) == []


def rough(keys: tuple[int, ...]) -> st.SearchStrategy[list[Update]]:
    """Numbers with all their digits: the last of a probability is another wherever it is computed in another way."""
    value, rate, threshold = st.floats(-2, 2), st.floats(-1.5, 1.5), st.floats(0.1, 1.5)
    time = st.integers(0, 5 * SECOND)
    update = st.builds(
        Update,
        st.sampled_from(keys),
        time,
        st.tuples(value, value),
        st.tuples(rate, rate),
        st.tuples(threshold, threshold),
    )
    return st.lists(update, min_size=4, max_size=9)


@pytest.mark.parametrize("errors", ["", ", errors = 'normal'"], ids=["uniform", "normal"])
@pytest.mark.parametrize("name", [name for name in QUERIES if name.startswith("chances")])
@settings(max_examples=5)
@given(rough(KEYS), periods, CUTS, st.sampled_from(BUFFERS))
def test_no_digit_of_a_probability_depends_on_how_the_input_is_cut(
    name: str, errors: str, several: list[Update], period: int, cuts: list[int], buffer: str
) -> None:
    buffer = "" if name in UNBUFFERED else buffer
    end, workspace = last_time(several, period), world(period, buffer + errors)
    assert rows_of(workspace, QUERIES[name], several, cuts, end) == rows_of(workspace, QUERIES[name], several, [], end)


@pytest.mark.parametrize("name", ["value", "may", "likely", "join", "likely join", "three", "chances trimmed"])
@settings(max_examples=6)
@given(updates(KEYS, most=9), periods, CUTS)
def test_what_was_foreseen_and_not_taken_back_is_what_holds(
    name: str, several: list[Update], period: int, cuts: list[int]
) -> None:
    end, workspace = last_time(several, period), world(period)
    sure = rows_of(workspace, QUERIES[name], several, [], end)
    told = rows_of(workspace, QUERIES[name].replace("SELECT", "SELECT TENTATIVE"), several, cuts, end)
    net: Counter[tuple[Any, ...]] = Counter()
    for row in told:
        net[_key(row)] += 1 if row["change"] == "insert" else -1
        assert net[_key(row)] in (0, 1)
    assert +net == Counter(map(_key, sure))


def _key(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(str(value) for name, value in row.items() if name not in ("at", "change"))


@settings(max_examples=10)
@given(updates(KEYS, most=9), periods, st.randoms())
def test_updates_of_different_times_may_arrive_in_any_order(several: list[Update], period: int, random: Any) -> None:
    times = [update.at for update in several]
    assume(len(set(times)) == len(times))
    end = last_time(several, period)
    shuffled = random.sample(several, len(several))
    for text in (QUERIES["join"], QUERIES["value"]):
        assert rows_of(world(period), text, shuffled, [], end) == rows_of(world(period), text, several, [], end)
