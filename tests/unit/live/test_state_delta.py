"""What changed between two states: applied to the first it makes the second, whatever the kernel did."""

from __future__ import annotations

import weakref
from unittest.mock import patch

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from presage.live import state_delta
from presage.live.state_delta import CHANGE, apply_change, change_between
from presage.model.operator_state import Since, State

SCHEMA = pa.schema([("_t", pa.int64()), ("k", pa.string()), ("x", pa.float64())])
rows = st.lists(st.tuples(st.integers(0, 2), st.sampled_from(["a", None]), st.sampled_from([0.5, None])), max_size=4)


def table(values: list[tuple[int, str | None, float | None]]) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(SCHEMA.names, value, strict=True)) for value in values], SCHEMA)


def queue(first: int, last: int) -> pa.Table:
    return table([(i, str(i % 7), i / 2) for i in range(first, last)])


@st.composite
def states(draw: st.DrawFn) -> list[State]:
    """A state and what becomes of it: queues move on, other tables are whatever they are, some come and go."""
    values, made = draw(rows), []
    for _ in range(draw(st.integers(2, 5))):
        values = values[draw(st.integers(0, len(values))) :] + draw(rows)
        tables = {"queue": table(values)}
        if draw(st.booleans()):
            tables["other"] = table(draw(rows))
        made.append(State(draw(st.sampled_from("kkkl")), tables, {"n": draw(st.integers(0, 9))}))
    return made


@given(states())
def test_a_state_and_the_changes_after_it_are_the_last_state(states: list[State]) -> None:
    with patch.object(state_delta, "ROWS_WORTH_A_LOOK", 1):
        found = states[0]
        for after in states[1:]:
            change = change_between(found, after)
            if change is not None:
                change = State.from_bytes(change.to_bytes())
            found = after if change is None else apply_change(found, change)
            assert found.to_bytes() == after.to_bytes()


KEYED = pa.schema([("k", pa.string()), ("t", pa.int64()), ("#n", pa.int64()), ("#s", pa.float64()), ("#f", pa.bool_())])
sums = st.sampled_from([0.0, -0.0, float("nan"), 1.5, None])
keyed_rows = st.lists(
    st.tuples(st.sampled_from("abc"), st.integers(0, 2), st.integers(0, 3), sums, st.booleans()), max_size=12
)


@st.composite
def keyed(draw: st.DrawFn) -> list[pa.Table]:
    """Rows leave anywhere, others change in what is kept beside them, others come."""
    values, made = draw(keyed_rows), []
    for _ in range(draw(st.integers(2, 4))):
        stayed = [row for row in values if draw(st.integers(0, 3))]
        values = [
            (k, t, draw(st.integers(0, 3)), draw(sums), f) if draw(st.booleans()) else (k, t, n, s, f)
            for k, t, n, s, f in stayed
        ] + draw(keyed_rows)
        made.append(pa.Table.from_pylist([dict(zip(KEYED.names, row, strict=True)) for row in values], KEYED))
    return made


@given(keyed())
def test_rows_that_leave_anywhere_and_rows_that_change_come_back_to_the_last_bit(tables: list[pa.Table]) -> None:
    with patch.object(state_delta, "ROWS_WORTH_A_LOOK", 1):
        found = State("k", {"groups": tables[0]})
        for after in (State("k", {"groups": table}) for table in tables[1:]):
            change = change_between(found, after)
            found = after if change is None else apply_change(found, State.from_bytes(change.to_bytes()))
            assert found.to_bytes() == after.to_bytes()


def test_groups_of_which_few_change_are_written_as_those_few() -> None:
    keys = pa.array(range(10_000))
    before = pa.table({"k": keys, "#n": pa.array([1] * 10_000)})
    counts = [2 if i % 100 == 7 else 1 for i in range(10_000)]
    after = pa.concat_tables([pa.table({"k": keys, "#n": counts}), pa.table({"k": [77_777], "#n": [1]})])
    change = change_between(State("k", {"groups": before}), State("k", {"groups": after}))
    assert change is not None
    assert change.size() < 101 * 16 + 16 * 2
    assert apply_change(State("k", {"groups": before}), change).to_bytes() == State("k", {"groups": after}).to_bytes()


def test_a_queue_is_written_as_how_many_left_and_who_came() -> None:
    before, after = State("k", {"q": queue(0, 1_000)}, {"n": 1}), State("k", {"q": queue(10, 1_005)}, {"n": 2})
    change = change_between(before, after)
    assert change is not None
    assert change.kernel == CHANGE
    assert change.tables["q"].to_pylist() == queue(1_000, 1_005).to_pylist()
    assert len(change.to_bytes()) < len(after.to_bytes()) / 10
    assert apply_change(before, change).to_bytes() == after.to_bytes()


def test_a_table_that_is_gone_or_new_is_gone_or_new_after_the_change_too() -> None:
    before = State("k", {"q": queue(0, 1_000), "gone": queue(0, 3)})
    after = State("k", {"new": queue(5, 6), "q": queue(0, 1_001)})
    change = change_between(before, after)
    assert change is not None
    assert apply_change(before, change).to_bytes() == after.to_bytes()


def test_no_change_is_told_where_it_would_be_the_whole_state_or_another_kernels() -> None:
    assert change_between(State("k", {"q": queue(0, 1_000)}), State("k", {"q": queue(2_000, 3_000)})) is None
    assert change_between(State("k", {"q": queue(0, 1_000)}), State("l", {"q": queue(0, 1_001)})) is None
    assert change_between(State("k", {"q": queue(0, 3)}), State("k", {"q": queue(0, 4)})) is None


def test_what_a_kernel_tells_of_its_change_is_written_and_nothing_else() -> None:
    """Rows left in front and elsewhere, two changed in a column that is kept beside, one came."""
    before = State("k", {"live": queue(0, 10).append_column("#n", pa.array([5] * 10))})
    kept = np.array([i >= 3 and i != 6 for i in range(10)])
    numbers = pa.array([5, 5, 7, 5, 8, 5, 0])
    table = pa.concat_tables([queue(3, 6), queue(7, 11)]).append_column("#n", numbers)
    rows = np.array([2, 4])
    for told in (rows, None):
        after = State("k", {"live": table})
        after.since = Since(weakref.ref(before), {"live": kept}, {"live": {"#n": told}})
        change = change_between(before, after)
        assert change is not None
        assert {name: t.num_rows for name, t in change.tables.items()} == {"live": 1, "gone:live": 1, "new:live:3": 2}
        assert change.numbers == {"stayed:live": 6, "left:live": 3}
        assert apply_change(before, State.from_bytes(change.to_bytes())).tables["live"].equals(table)
