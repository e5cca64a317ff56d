"""FILTER step by step: when rows leave, what the state holds, what is forgotten."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from presage.model.operator_state import State
from presage.operators.sequence.inference.model import parse_model
from presage.operators.sequence.inference.rows import filtered, tables_of
from presage.operators.sequence.kernel.hidden_markov.filter import FilterKernel
from presage.operators.sequence.kernel.hidden_markov.spec import ORDINAL, PROBABILITY, SEQ, TIME, TIMER, Columns

SECOND = 1_000_000
COLUMNS = Columns(("tag",), ("antenna",), "place")
CONTENT: dict[str, Any] = {
    "states": ["h", "o"],
    "transition": {"h": {"h": 0.5, "o": 0.5}, "o": {"h": 0.25, "o": 0.75}},
    "emission": {"kind": "discrete", "table": {"h": {"A": 0.8, "B": 0.1}, "o": {"A": 0.2, "B": 0.1}}},
}
GRID = CONTENT | {"step": "1 sec"}
FORGETFUL = GRID | {"forget": "2 sec"}


def kernel(content: dict[str, Any], idle: bool = False, columns: Columns = COLUMNS) -> FilterKernel:
    return FilterKernel(tables_of(parse_model(content, "floor.json")), columns, idle)


def events(*rows: tuple[float, int, str, str | None]) -> pa.Table:
    return pa.table(
        {
            TIME: pa.array([round(time * SECOND) for time, _, _, _ in rows], pa.int64()),
            SEQ: pa.array([seq for _, seq, _, _ in rows], pa.int64()),
            "tag": pa.array([tag for _, _, tag, _ in rows], pa.string()),
            "antenna": pa.array([antenna for _, _, _, antenna in rows], pa.string()),
        }
    )


def places(rows: pa.Table) -> list[tuple[float, int, str]]:
    """(time, seq, tag) of the steps that have rows."""
    return list(dict.fromkeys((r[TIME] / SECOND, r[SEQ], r["tag"]) for r in rows.to_pylist()))


def test_a_step_is_settled_when_the_clock_has_passed_it() -> None:
    it = kernel(CONTENT)
    state, rows = it.step(it.initial(), events((1, 0, "t", "A")), 1 * SECOND)
    assert rows.num_rows == 0
    assert state.tables["open"].num_rows == 1
    state, rows = it.step(state, events((1, 1, "t", "A")), 1 * SECOND + 1)
    assert rows.column_names == [TIME, SEQ, ORDINAL, "tag", "place", PROBABILITY]
    assert [(r[SEQ], r[ORDINAL], r["place"]) for r in rows.to_pylist()] == [(1, 0, "h"), (1, 1, "o")]
    assert rows[PROBABILITY].to_pylist()[0] == 0.64 / 0.68
    assert state.tables["open"].num_rows == 0


def test_the_end_of_input_settles_the_last_step() -> None:
    it = kernel(CONTENT)
    _, rows = it.step(it.initial(), events((1, 0, "t", "A")), 1 * SECOND, end=True)
    assert places(rows) == [(1, 0, "t")]


def test_steps_without_readings_come_with_the_next_reading() -> None:
    it = kernel(GRID)
    state, rows = it.step(it.initial(), events((1, 0, "t", "A"), (2, 1, "u", "A")), 4 * SECOND)
    assert places(rows) == [(1, 0, "t"), (2, 1, "u")]
    _, rows = it.step(state, events((4, 2, "t", "A")), 4 * SECOND, end=True)
    assert places(rows) == [(2, 2, "t"), (3, 2, "t"), (4, 2, "t")]


def test_an_idle_key_has_steps_as_the_clock_passes_them() -> None:
    it = kernel(GRID, idle=True)
    state, rows = it.step(it.initial(), events((1, 0, "t", "A"), (2, 1, "u", "A")), 4 * SECOND)
    assert places(rows) == [(1, 0, "t"), (2, TIMER, "t"), (2, 1, "u"), (3, TIMER, "t"), (3, TIMER, "u")]
    assert [r[ORDINAL] for r in rows.to_pylist() if r[TIME] == 3 * SECOND] == [0, 1, 2, 3]
    state, rows = it.step(state, events(), 4 * SECOND)
    assert rows.num_rows == 0
    state, rows = it.step(state, events((4, 2, "u", "A")), 5 * SECOND)
    assert places(rows) == [(4, TIMER, "t"), (4, 2, "u")]
    _, rows = it.step(state, events(), 5 * SECOND, end=True)
    assert places(rows) == [(5, TIMER, "t"), (5, TIMER, "u")]


def test_a_key_leaves_the_state_when_it_is_forgotten() -> None:
    for idle in (False, True):
        it = kernel(FORGETFUL, idle)
        state, _ = it.step(it.initial(), events((1, 0, "t", "A"), (2, 1, "u", "A")), 3 * SECOND)
        assert state.tables["beliefs"]["tag"].to_pylist() == ["t", "u"]
        state, rows = it.step(state, events(), 4 * SECOND)
        assert state.tables["beliefs"]["tag"].to_pylist() == ["u"]
        assert places(rows) == ([(3, TIMER, "t"), (3, TIMER, "u")] if idle else [])
        state, rows = it.step(state, events((4, 2, "t", "A")), 100 * SECOND)
        assert [r[PROBABILITY] for r in rows.to_pylist() if r[SEQ] == 2] == [0.8, 0.2]
        assert state.tables["beliefs"].num_rows == 0


def test_keys_of_one_time_come_in_the_order_in_which_they_began_however_the_input_is_cut() -> None:
    rows = events((1, 0, "t", "A"), (2, 1, "u", "A"), (4, 2, "u", "A"), (5, 3, "t", "A"))
    it = kernel(FORGETFUL, idle=True)
    _, whole = it.step(it.initial(), rows, 6 * SECOND, end=True)
    state, first = it.step(it.initial(), rows.slice(0, 3), 5 * SECOND)
    _, second = it.step(state, rows.slice(3), 6 * SECOND, end=True)
    assert pa.concat_tables([first, second]) == whole
    assert places(whole)[-2:] == [(6, TIMER, "u"), (6, TIMER, "t")]


def test_the_state_does_not_grow_with_the_length_of_the_stream() -> None:
    it = kernel(GRID)
    state = it.initial()
    sizes = []
    for i in range(20):
        state, _ = it.step(state, events((i, i, "t", "A")), i * SECOND)
        sizes.append(len(State.to_bytes(state)))
    assert len(set(sizes[2:])) == 1


def test_a_stream_without_key_has_one_belief() -> None:
    it = kernel(GRID, columns=Columns((), ("antenna",)))
    state, rows = it.step(it.initial(), events((1, 0, "t", "A")), 2 * SECOND)
    assert rows.num_rows == 2
    state, rows = it.step(state, events((2, 1, "u", "A")), 3 * SECOND)
    assert state.tables["beliefs"].num_rows == 1
    assert rows[PROBABILITY].to_pylist()[0] == 0.36 / (0.36 + 0.11)


def test_an_attribute_may_be_key_and_reading() -> None:
    # Two tags that are told apart by their antenna, which is read as well.
    it = kernel(CONTENT, columns=Columns(("antenna",), ("antenna",)))
    _, rows = it.step(it.initial(), events((1, 0, "t", "A"), (1, 1, "t", "B")), 1 * SECOND, end=True)
    assert rows["antenna"].to_pylist() == ["A", "A", "B", "B"]


def test_a_belief_too_faint_for_a_double_survives_between_batches() -> None:
    table = [{"A": 0.9, "B": 0.1}, {"A": 0.1, "B": 0.9}]
    content = CONTENT | {"transition": [[1, 0], [0, 1]], "emission": {"kind": "discrete", "table": table}}
    rows = events(*((i, i, "t", "A" if i < 600 else "B") for i in range(1201)))
    it = kernel(content)
    state, parts = it.initial(), []
    for start in range(0, 1201, 100):
        batch = rows.slice(start, 100)
        clock = batch[TIME][-1].as_py()
        state, out = it.step(State.from_bytes(state.to_bytes()), batch, clock, end=start == 1200)
        parts.append(out)
    found = pa.concat_tables(parts)
    whole = filtered(parse_model(content, "switch.json"), rows, COLUMNS).rows
    assert found[PROBABILITY].to_pylist() == whole[PROBABILITY].to_pylist()
    assert found[PROBABILITY].to_pylist()[-2:] == pytest.approx([0.1, 0.9])
