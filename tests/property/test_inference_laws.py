"""Inference over generated models and readings: the loops agree with the enumeration of paths, however input is cut."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any
from unittest import mock

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from presage.columnar.key_hashes import hashes_of_several
from presage.operators.sequence.inference.model import Model, parse_model
from presage.operators.sequence.inference.rows import filtered, most_likely, sampled, smoothed, tables_of
from presage.operators.sequence.kernel.hidden_markov import spec as hmm_spec
from presage.operators.sequence.kernel.hidden_markov.filter import IGNORED, FilterKernel
from presage.operators.sequence.kernel.hidden_markov.particle_filter import ParticleKernel
from presage.operators.sequence.kernel.hidden_markov.spec import ORDINAL, PROBABILITY, SEQ, TIME, Columns
from reference.cut_input import cuts, run_calls
from reference.hidden_markov import (
    Hidden,
    Segment,
    best_paths,
    filter_marginals,
    ignored,
    likelihood,
    segments_of,
    smooth_marginals,
    smooth_tables,
)
from reference.particle_filter import particle_steps

Row = dict[str, Any]
MSEC = 1000
SYMBOLS = ("x", "y")
COLUMNS = Columns(("key",), ("symbol",))
NORMAL_COLUMNS = Columns(("key",), ("left", "right"))
SCHEMA = pa.schema([(TIME, pa.int64()), (SEQ, pa.int64()), ("key", pa.string()), ("symbol", pa.string())])
NORMAL_SCHEMA = pa.schema(
    [(TIME, pa.int64()), (SEQ, pa.int64()), ("key", pa.string()), ("left", pa.float64()), ("right", pa.float64())]
)
LAWS = settings(max_examples=50, deadline=None)


@st.composite
def distributions(draw: st.DrawFn, size: int) -> list[float]:
    parts = draw(st.lists(st.sampled_from([0, 0, 1, 2, 5]), min_size=size, max_size=size))
    parts = parts if any(parts) else [1, *parts[1:]]
    return [part / sum(parts) for part in parts]


@st.composite
def models(draw: st.DrawFn, normal: bool = False) -> Hidden:
    size = draw(st.integers(1, 3))
    transition = [draw(distributions(size)) for _ in range(size)]
    rows = [draw(distributions(3)) for _ in range(size)]  # the third part is no reading
    step = draw(st.sampled_from([None, 2 * MSEC]))
    numbers = st.lists(st.sampled_from([0.0, 1.0, -2.0]), min_size=2, max_size=2)
    return Hidden(
        initial=draw(distributions(size)),
        transition=transition,
        table=[dict(zip(SYMBOLS, row[:2], strict=True)) for row in rows],
        normal=[(draw(numbers), [0.5, 2.0]) for _ in range(size)] if normal else (),
        evidence=not normal and draw(st.booleans()),
        step=step,
        forget=draw(st.sampled_from([None, 3 * MSEC])),
    )


@st.composite
def readings(draw: st.DrawFn, normal: bool = False, most: int = 5) -> list[Row]:
    """Rows in order of time; times of one msec each, so that a key has 6 steps at the most."""
    times = sorted(draw(st.lists(st.integers(1, 6), min_size=1, max_size=most)))
    rows = []
    for seq, time in enumerate(times):
        row: Row = {TIME: time * MSEC, SEQ: seq, "key": draw(st.sampled_from(["a", "b", None]))}
        if normal:
            number = st.sampled_from([None, 0.0, 0.5, -3.0])
            row |= {"left": draw(number), "right": draw(number)}
        else:
            row["symbol"] = draw(st.sampled_from(["x", "y", "x", "y", None, "unknown"]))
        rows.append(row)
    return rows


@pytest.fixture(params=["sparse", "dense"], autouse=True, scope="module")
def _transitions(request: pytest.FixtureRequest) -> Iterator[None]:
    """Small matrices are dense by their size; the loops for both forms must agree with the twin."""
    with mock.patch.object(hmm_spec, "DENSE_FROM", 2.0 if request.param == "sparse" else 0.0):
        yield


def loaded(hidden: Hidden) -> Model:
    return parse_model(hidden.content(), "model.json")


def segments_by_key(hidden: Hidden, rows: list[Row], until: int | None = None) -> dict[str, list[Segment]]:
    by_key: dict[str, list[tuple[int, Any]]] = {}
    for row in rows:
        reading = (row["left"], row["right"]) if hidden.normal else row["symbol"]
        by_key.setdefault(row["key"], []).append((row[TIME], reading))
    return {key: segments_of(hidden, found, until) for key, found in by_key.items()}


def marginals(rows: list[Row]) -> dict[tuple[Any, ...], float]:
    found = {(row["key"], row[TIME], row["value"]): row[PROBABILITY] for row in rows}
    assert len(found) == len(rows)
    return found


def expected(hidden: Hidden, rows: list[Row], marginals_of: Any, until: int | None = None) -> Any:
    wanted = {
        (key, time, f"s{state}"): share
        for key, segments in segments_by_key(hidden, rows, until).items()
        for segment in segments
        for time, shares in zip(segment.times, marginals_of(hidden, segment), strict=True)
        for state, share in shares.items()
    }
    return pytest.approx(wanted, abs=1e-12)


def check_all(hidden: Hidden, rows: list[Row], table: pa.Table, columns: Columns) -> None:
    model = loaded(hidden)
    by_key = segments_by_key(hidden, rows)
    logs = [math.log(math.prod(likelihood(hidden, s) for s in segments)) for segments in by_key.values()]
    lost = sum(ignored(hidden, s) for segments in by_key.values() for s in segments)

    forward = filtered(model, table, columns)
    assert marginals(forward.rows.to_pylist()) == expected(hidden, rows, filter_marginals)
    assert list(forward.log_likelihood) == pytest.approx(logs, abs=1e-9)
    assert forward.ignored == lost

    both = smoothed(model, table, columns, marginals=True)
    assert marginals(both.rows.to_pylist()) == expected(hidden, rows, smooth_marginals)
    assert list(both.log_likelihood) == pytest.approx(logs, abs=1e-9)
    assert both.ignored == lost


@LAWS
@given(models(), readings())
def test_filter_and_smooth_agree_with_the_enumeration_of_paths(hidden: Hidden, rows: list[Row]) -> None:
    check_all(hidden, rows, pa.Table.from_pylist(rows, SCHEMA), COLUMNS)


@LAWS
@given(models(normal=True), readings(normal=True))
def test_normal_readings_agree_with_the_enumeration_of_paths(hidden: Hidden, rows: list[Row]) -> None:
    check_all(hidden, rows, pa.Table.from_pylist(rows, NORMAL_SCHEMA), NORMAL_COLUMNS)


@LAWS
@given(models(), readings())
def test_conditional_tables_agree_with_the_enumeration_of_paths(hidden: Hidden, rows: list[Row]) -> None:
    table = pa.Table.from_pylist(rows, SCHEMA)
    found = {
        (row["key"], row[TIME], row["prev_value"], row["value"]): row[PROBABILITY]
        for row in smoothed(loaded(hidden), table, COLUMNS).rows.to_pylist()
    }
    wanted = {}
    for key, segments in segments_by_key(hidden, rows).items():
        previous: dict[int, float] = {}
        for segment in segments:
            shares = smooth_marginals(hidden, segment)
            for state, share in shares[0].items():
                for before in (None, *(f"s{i}" for i in previous)):
                    wanted[key, segment.times[0], before, f"s{state}"] = share
            for time, pairs in zip(segment.times[1:], smooth_tables(hidden, segment), strict=True):
                wanted |= {(key, time, f"s{i}", f"s{j}"): share for (i, j), share in pairs.items()}
            previous = shares[-1]
    assert found == pytest.approx(wanted, abs=1e-12)


@LAWS
@given(models(), readings())
def test_the_path_of_viterbi_is_a_most_likely_one(hidden: Hidden, rows: list[Row]) -> None:
    found = most_likely(loaded(hidden), pa.Table.from_pylist(rows, SCHEMA), COLUMNS)
    paths: dict[Any, list[tuple[int, int]]] = {}
    for row in found.rows.to_pylist():
        assert row[PROBABILITY] == 1.0
        paths.setdefault(row["key"], []).append((row[TIME], int(row["value"][1:])))
    by_key = segments_by_key(hidden, rows)
    assert list(paths) == list(by_key)
    for (key, segments), log in zip(by_key.items(), found.log_likelihood, strict=True):
        weight = 1.0
        for segment in segments:
            greatest, best = best_paths(hidden, segment)
            weight *= greatest
            assert tuple(state for time, state in paths[key] if time in segment.times) in best
        assert [time for time, _ in paths[key]] == [time for segment in segments for time in segment.times]
        assert log == pytest.approx(math.log(weight), abs=1e-9)


@LAWS
@given(st.data(), models(), readings(most=7), st.booleans())
def test_the_filter_does_not_depend_on_how_its_input_is_cut(
    data: st.DataObject, hidden: Hidden, rows: list[Row], idle: bool
) -> None:
    kernel = FilterKernel(tables_of(loaded(hidden)), COLUMNS, idle)
    clock = data.draw(st.integers(rows[-1][TIME], 10 * MSEC))
    calls = data.draw(cuts(rows, (TIME, SEQ), clock))
    found = run_calls(kernel, calls, SCHEMA, end=True)
    whole = run_calls(kernel, [(rows, clock, 0)], SCHEMA, end=True)
    # Steps without readings that wait for a reading come late: in order of time they are the same, to the last bit.
    assert sorted(found, key=lambda row: (row[TIME], row[SEQ], row[ORDINAL])) == whole
    if idle:
        assert found == whole
    assert marginals(whole) == expected(hidden, rows, filter_marginals, clock if idle else None)


@LAWS
@given(models(), readings(most=7))
def test_the_filter_kernel_counts_the_readings_that_said_nothing(hidden: Hidden, rows: list[Row]) -> None:
    kernel = FilterKernel(tables_of(loaded(hidden)), COLUMNS)
    state, half = kernel.initial(), len(rows) // 2
    for part, clock, end in ((rows[:half], rows[half][TIME], False), (rows[half:], rows[-1][TIME], True)):
        state, _ = kernel.step(state, pa.Table.from_pylist(part, SCHEMA), clock, end)
    lost = sum(ignored(hidden, s) for segments in segments_by_key(hidden, rows).values() for s in segments)
    assert state.numbers[IGNORED] == lost


@LAWS
@given(models(), readings(), st.integers(1, 50), st.integers(-(2**63), 2**63 - 1))
def test_particles_of_a_key_do_not_depend_on_other_keys(
    hidden: Hidden, rows: list[Row], particles: int, seed: int
) -> None:
    model = loaded(hidden)
    together = sampled(model, pa.Table.from_pylist(rows, SCHEMA), COLUMNS, particles, seed).rows.to_pylist()
    alone = []
    for key in dict.fromkeys(row["key"] for row in rows):
        own = pa.Table.from_pylist([row for row in rows if row["key"] == key], SCHEMA)
        alone += sampled(model, own, COLUMNS, particles, seed).rows.to_pylist()
    assert together == alone


SEEDS = st.integers(-(2**63), 2**63 - 1)


def check_particles(hidden: Hidden, rows: list[Row], table: pa.Table, columns: Columns, count: int, seed: int) -> None:
    found = sampled(loaded(hidden), table, columns, count, seed)
    wanted, restarts = {}, 0
    for key, segments in segments_by_key(hidden, rows).items():
        number = int(hashes_of_several([pa.chunked_array([pa.array([key], pa.string())])], 1)[0])
        for segment in segments:
            steps = particle_steps(hidden, segment, count, seed, number)
            restarts += sum(step.anew for step in steps)
            for time, step in zip(segment.times, steps, strict=True):
                wanted |= {(key, time, f"s{state}"): share for state, share in step.shares.items()}
    assert marginals(found.rows.to_pylist()) == pytest.approx(wanted, abs=1e-12)
    assert found.restarts == restarts


@LAWS
@given(models(), readings(), st.integers(1, 20), SEEDS)
def test_particles_agree_with_a_list_of_particles(hidden: Hidden, rows: list[Row], count: int, seed: int) -> None:
    check_particles(hidden, rows, pa.Table.from_pylist(rows, SCHEMA), COLUMNS, count, seed)


@LAWS
@given(models(normal=True), readings(normal=True), st.integers(1, 20), SEEDS)
def test_particles_weighed_by_normal_readings_agree_with_a_list_of_particles(
    hidden: Hidden, rows: list[Row], count: int, seed: int
) -> None:
    check_particles(hidden, rows, pa.Table.from_pylist(rows, NORMAL_SCHEMA), NORMAL_COLUMNS, count, seed)


@LAWS
@given(st.data(), models(), readings(most=7), st.integers(1, 20), SEEDS)
def test_particles_do_not_depend_on_how_their_input_is_cut(
    data: st.DataObject, hidden: Hidden, rows: list[Row], count: int, seed: int
) -> None:
    kernel = ParticleKernel(tables_of(loaded(hidden)), COLUMNS, hidden.step is not None, count, seed, hashes_of_several)
    clock = data.draw(st.integers(rows[-1][TIME], 10 * MSEC))
    calls = data.draw(cuts(rows, (TIME, SEQ), clock))
    whole = run_calls(kernel, [(rows, clock, 0)], SCHEMA, end=True)
    assert run_calls(kernel, calls, SCHEMA, end=True) == whole
    alone = marginals(
        sampled(loaded(hidden), pa.Table.from_pylist(rows, SCHEMA), COLUMNS, count, seed).rows.to_pylist()
    )
    assert alone.items() <= marginals(whole).items()


@LAWS
@given(models(), readings(), st.sampled_from([0.0, 0.1, 0.3, 0.9]))
def test_pruned_tables_are_distributions_without_small_entries(hidden: Hidden, rows: list[Row], prune: float) -> None:
    table = pa.Table.from_pylist(rows, SCHEMA)
    full = smoothed(loaded(hidden), table, COLUMNS).rows.to_pylist()
    pruned = smoothed(loaded(hidden), table, COLUMNS, prune=prune).rows.to_pylist()
    sums: dict[Any, float] = {}
    for row in pruned:
        assert row[PROBABILITY] > 0
        where = (row["key"], row[TIME], row["prev_value"])
        sums[where] = sums.get(where, 0.0) + row[PROBABILITY]
    assert all(total == pytest.approx(1.0) for total in sums.values())
    chosen = [(r["key"], r[TIME], r["prev_value"], r["value"]) for r in full]
    assert [w for w in chosen if w in {(r["key"], r[TIME], r["prev_value"], r["value"]) for r in pruned}] == [
        (r["key"], r[TIME], r["prev_value"], r["value"]) for r in pruned
    ]
    assert len(pruned) <= len(full)
    if prune == 0.0:
        assert pruned == full
