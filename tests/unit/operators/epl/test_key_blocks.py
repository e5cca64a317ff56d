"""The state of a pattern with many keys: those that a step does not touch stay as they are, and are not written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from presage.live.state_files import Chain, StateWrite, read_chain, write_states
from presage.model.operator_state import State
from presage.operators.epl.kernel.key_blocks import blocked, can_be_blocked, is_blocked, placed
from presage.operators.epl.kernel.pattern import LEAST_KEYS, PatternKernel, open_matches
from presage.operators.epl.kernel.spec import TIME, PatternSpec
from presage.storage.file_store import FileStore
from reference.pattern_terms import (
    Of,
    Term,
    both,
    distinct,
    event,
    every,
    followed,
    numbered,
    row,
    spec_of,
    table_of,
    until,
    within,
)

A, B = 0, 1
SEC = 1_000_000
KEYED = {"key": pa.string()}
PAIR = within(followed(every(event(A, "a")), event(B, "b")), 60 * SEC)
SHAPES: dict[str, Term] = {
    "followed": PAIR,
    "and": followed(every(event(A, "a")), both(event(A, "b"), event(B, "c"))),
    "until": followed(every(event(A, "a")), until(event(A, "b"), event(B, "c"))),
}


def keyed(term: Term) -> PatternSpec:
    return spec_of(term, keys=("key",))


def events(first: int, count: int, keys: int, source: int = A) -> pa.Table:
    """One event each millisecond; keys take turns."""
    rows = [row((first + i) * 1_000, source, first + i) | {"key": f"k{(first + i) % keys}"} for i in range(count)]
    return table_of(numbered(rows), (), KEYED)


def stepped(spec: PatternSpec, several: list[pa.Table], least_keys: int) -> tuple[State, list[dict[str, Any]]]:
    kernel = PatternKernel(spec, least_keys=least_keys)
    state, rows = kernel.initial(), []
    for table in several:
        state, made = kernel.step(state, table, int(table[TIME][-1].as_py()))
        rows += made.to_pylist()
    return state, rows


@pytest.mark.parametrize("shape", SHAPES)
def test_rows_and_what_is_open_are_the_same_whether_keys_are_stepped_apart_or_together(shape: str) -> None:
    spec = keyed(SHAPES[shape])
    several = [events(0, 60, 20), events(60, 3, 20), events(63, 7, 40, B), events(70, 5, 20), events(75, 12, 20, B)]
    apart, together = stepped(spec, several, 0), stepped(spec, several, 1_000)
    assert apart[1] == together[1] != []
    assert open_matches(apart[0]) == open_matches(together[0]) > 0


@pytest.mark.parametrize("shape", SHAPES)
def test_the_numbers_of_the_loop_are_made_from_blocks_and_back(shape: str) -> None:
    spec = keyed(SHAPES[shape])
    state, _ = stepped(spec, [events(0, 50, 10), events(50, 4, 10, B)], 0)
    assert is_blocked(state)
    again = blocked(spec, placed(state))
    assert again.tables.keys() == state.tables.keys()
    assert all(again.tables[name].equals(table) for name, table in state.tables.items())
    assert again.numbers == state.numbers


def test_a_state_that_an_earlier_version_wrote_goes_on() -> None:
    spec = keyed(PAIR)
    kernel = PatternKernel(spec, least_keys=0)
    state, _ = stepped(spec, [events(0, 50, 10)], 0)
    old = State.from_bytes(placed(state).to_bytes())
    assert not is_blocked(old)
    later = events(50, 30, 10, B)
    after, rows = kernel.step(old, later, 80_000)
    want, wanted = kernel.step(state, later, 80_000)
    assert rows.to_pylist() == wanted.to_pylist() != []
    assert after.to_bytes() == want.to_bytes()


def test_a_key_whose_time_is_up_is_let_go_without_an_event() -> None:
    spec = keyed(within(followed(event(A, "a"), event(B, "b")), 10 * SEC))
    state, _ = stepped(spec, [events(0, 40, 40)], 0)
    assert state.tables["keys"].num_rows == 40
    nothing = events(0, 0, 40)
    state, _ = PatternKernel(spec, least_keys=0).step(state, nothing, 10_020_000)
    assert open_matches(state) < 40
    state, _ = PatternKernel(spec, least_keys=0).step(state, nothing, 20_000_000)
    assert open_matches(state) == 0


def test_of_many_keys_a_small_step_writes_only_those_that_it_touches(tmp_path: Path) -> None:
    spec, keys = keyed(PAIR), 2 * LEAST_KEYS
    kernel = PatternKernel(spec)
    state, _ = kernel.step(kernel.initial(), events(0, 2 * keys, keys), 2 * keys * 1_000)
    chain: Chain = write_states(FileStore(durable=False), tmp_path, {"a": StateWrite(None, (), state)}, 1)["a"]
    for number in range(5):
        first = 2 * keys + 20 * number
        after, _ = kernel.step(state, events(first, 20, keys), (first + 20) * 1_000)
        chain = write_states(FileStore(durable=False), tmp_path, {"a": StateWrite(state, chain, after)}, 1)["a"]
        assert read_chain(FileStore(), tmp_path, chain).to_bytes() == after.to_bytes()
        state = after
    assert len(chain) == 6
    assert max(ref.length for ref in chain[1:]) < chain[0].length / 10


def test_keys_that_distinct_has_seen_are_not_divided() -> None:
    assert not can_be_blocked(keyed(every(distinct([Of("a", "v0")], event(A, "a")))))
    assert not can_be_blocked(spec_of(PAIR))
    assert can_be_blocked(keyed(PAIR))
