"""Rows of FILTER, SMOOTH, VITERBI and PARTICLES on tiny models, with numbers worked out by hand."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from presage.errors import PresageError
from presage.operators.sequence.inference import rows as inference
from presage.operators.sequence.inference.model import Model, parse_model
from presage.operators.sequence.inference.rows import (
    filtered,
    most_likely,
    sampled,
    smoothed,
)
from presage.operators.sequence.kernel.hidden_markov import spec as hmm_spec
from presage.operators.sequence.kernel.hidden_markov import steps as hmm_steps
from presage.operators.sequence.kernel.hidden_markov.spec import PROBABILITY, TIME, Columns

SECOND = 1_000_000
COLUMNS = Columns(("tag",), ("antenna",))


def floor(**changes: Any) -> Model:
    """A hall h and an office o side by side; the antenna of the hall reads there 4 times in 5, in the office once."""
    content = {
        "states": ["h", "o"],
        "transition": {"h": {"h": 0.5, "o": 0.5}, "o": {"h": 0.25, "o": 0.75}},
        "emission": {"kind": "discrete", "table": {"h": {"A": 0.8}, "o": {"A": 0.2}}},
        **changes,
    }
    return parse_model(content, "floor.json")


EVIDENCE = {"kind": "discrete", "table": {"h": {"A": 0.8}, "o": {"A": 0.2}}, "absent": "evidence"}


def readings(*rows: tuple[int, str, Any], kind: pa.DataType | None = None) -> pa.Table:
    return pa.table(
        {
            TIME: pa.array([round(time * SECOND) for time, _, _ in rows], pa.int64()),
            "tag": pa.array([tag for _, tag, _ in rows], pa.string()),
            "antenna": pa.array([antenna for _, _, antenna in rows], kind or pa.string()),
        }
    )


def shown(table: pa.Table, *names: str) -> list[tuple[Any, ...]]:
    return [
        tuple(round(row[n], 6) if n == PROBABILITY else row[n] / SECOND if n == TIME else row[n] for n in names)
        for row in table.to_pylist()
    ]


def test_a_filter_weighs_the_states_with_each_reading() -> None:
    rows = filtered(floor(), readings((1, "t", "A"), (2, "t", "A")), COLUMNS).rows
    # Before the second reading: h 0.8 · 0.5 + 0.2 · 0.25 = 0.45.
    assert shown(rows, "tag", TIME, "value", PROBABILITY) == [
        ("t", 1, "h", 0.8),
        ("t", 1, "o", 0.2),
        ("t", 2, "h", round(0.36 / 0.47, 6)),
        ("t", 2, "o", round(0.11 / 0.47, 6)),
    ]


def test_a_null_says_nothing_unless_absence_is_evidence() -> None:
    table = readings((1, "t", "A"), (2, "t", None))
    assert shown(filtered(floor(), table, COLUMNS).rows, PROBABILITY)[2:] == [(0.45,), (0.55,)]
    heard = shown(filtered(floor(emission=EVIDENCE), table, COLUMNS).rows, PROBABILITY)[2:]
    assert heard == [(round(0.09 / 0.53, 6),), (round(0.44 / 0.53, 6),)]


def test_on_a_grid_a_step_without_reading_is_a_step() -> None:
    model = floor(step="1 sec", emission=EVIDENCE)
    rows = filtered(model, readings((1, "t", "A"), (3, "t", "A")), COLUMNS).rows
    assert sorted({time for (time,) in shown(rows, TIME)}) == [1, 2, 3]
    silent = filtered(model, readings((1, "t", "A"), (2, "t", None), (3, "t", "A")), COLUMNS).rows
    assert rows == silent


def test_a_reading_belongs_to_the_first_multiple_that_is_not_before_it() -> None:
    table = readings((0.2, "t", "A"), (1, "t", "A"), (1.001, "t", "A"), (-0.5, "t", "A"))
    rows = filtered(floor(step="1 sec"), table, COLUMNS).rows
    together = filtered(floor(), readings((0, "t", "A"), (1, "t", "A"), (1, "t", "A"), (2, "t", "A")), COLUMNS).rows
    assert rows == together


def test_several_readings_at_one_step_multiply() -> None:
    rows = filtered(floor(), readings((1, "t", "A"), (1, "t", "A")), COLUMNS).rows
    assert shown(rows, PROBABILITY) == [(round(0.64 / 0.68, 6),), (round(0.04 / 0.68, 6),)]


def test_a_thousand_readings_at_one_step_do_not_vanish() -> None:
    found = filtered(floor(), readings(*[(1, "t", "A")] * 1000), COLUMNS)
    assert found.rows[PROBABILITY].to_pylist()[0] == pytest.approx(1.0)
    assert found.log_likelihood[0] == pytest.approx(np.log(0.5) + 1000 * np.log(0.8))


def test_an_unknown_reading_says_nothing_and_is_counted() -> None:
    found = filtered(floor(), readings((1, "t", "A"), (2, "t", "Z"), (2, "t", "Z")), COLUMNS)
    assert found.rows == filtered(floor(), readings((1, "t", "A"), (2, "t", None)), COLUMNS).rows
    assert found.ignored == 2


@pytest.mark.parametrize("infer", [filtered, smoothed, most_likely])
def test_readings_that_contradict_all_before_them_say_nothing_and_are_counted(infer: Any) -> None:
    table = {"h": {"A": 0.8}, "o": {"B": 0.8}}
    model = floor(transition=[[1, 0], [0, 1]], emission={"kind": "discrete", "table": table})
    found = infer(model, readings((1, "t", "A"), (2, "t", "B"), (2, "t", "B"), (3, "t", "A")), COLUMNS)
    assert set(found.rows["value"].to_pylist()) == {"h"}
    assert found.ignored == 2


def test_smoothing_gives_the_marginal_first_and_then_tables_by_the_state_before() -> None:
    rows = smoothed(floor(), readings((1, "t", "A"), (2, "t", "A")), COLUMNS).rows
    # The second reading has likelihood 0.5 · 0.8 + 0.5 · 0.2 = 0.5 after h, 0.25 · 0.8 + 0.75 · 0.2 = 0.35 after o.
    assert shown(rows, TIME, "prev_value", "value", PROBABILITY) == [
        (1, None, "h", round(0.4 / 0.47, 6)),
        (1, None, "o", round(0.07 / 0.47, 6)),
        (2, "h", "h", 0.8),
        (2, "h", "o", 0.2),
        (2, "o", "h", round(0.2 / 0.35, 6)),
        (2, "o", "o", round(0.15 / 0.35, 6)),
    ]


def test_smoothed_marginals_have_no_state_before() -> None:
    rows = smoothed(floor(), readings((1, "t", "A"), (2, "t", "A")), COLUMNS, marginals=True).rows
    assert rows.column_names == ["tag", TIME, "value", PROBABILITY]
    assert shown(rows, PROBABILITY)[2:] == [(round(0.36 / 0.47, 6),), (round(0.11 / 0.47, 6),)]


def test_pruned_tables_keep_what_is_likely_and_the_greatest() -> None:
    table = readings((1, "t", "A"), (2, "t", "A"))
    rows = smoothed(floor(), table, COLUMNS, prune=0.25).rows
    assert shown(rows, TIME, "prev_value", "value", PROBABILITY) == [(1, None, "h", 1.0), (2, "h", "h", 1.0)]
    rows = smoothed(floor(), table, COLUMNS, prune=1.0).rows
    assert shown(rows, "value", PROBABILITY) == [("h", 1.0), ("h", 1.0)]


def test_a_bridge_gives_each_step_its_marginal_for_a_step_between() -> None:
    table = readings((1, "t", "A"), (2, "t", "A"))
    bridged = smoothed(floor(), table, COLUMNS, bridge=True).rows.to_pylist()
    plain = smoothed(floor(), table, COLUMNS).rows.to_pylist()
    marginals = smoothed(floor(), table, COLUMNS, marginals=True).rows.to_pylist()
    added = [row for row in bridged if row not in plain]
    assert added == [row | {"prev_value": None} for row in marginals if row[TIME] == 2 * SECOND]


def test_a_key_that_was_silent_for_too_long_starts_anew() -> None:
    model = floor(step="1 sec", forget="2 sec")
    rows = smoothed(model, readings((1, "t", "A"), (4, "t", "A")), COLUMNS).rows
    assert shown(rows, TIME, "prev_value", "value", PROBABILITY) == [
        (1, None, "h", 0.8),
        (1, None, "o", 0.2),
        *((4, before, value, chance) for before in ("h", "o", None) for value, chance in (("h", 0.8), ("o", 0.2))),
    ]
    kept = filtered(model, readings((1, "t", "A"), (3, "t", "A")), COLUMNS).rows
    assert {time for (time,) in shown(kept, TIME)} == {1, 2, 3}


def test_viterbi_gives_one_certain_path_and_the_first_of_equal_ones() -> None:
    rows = most_likely(floor(), readings((1, "t", "A"), (2, "t", None), (3, "t", "A")), COLUMNS).rows
    assert shown(rows, TIME, "value", PROBABILITY) == [(1, "h", 1), (2, "h", 1), (3, "h", 1)]
    even = floor(transition=[[0.5, 0.5], [0.5, 0.5]])
    rows = most_likely(even, readings((1, "t", None), (2, "t", None)), COLUMNS).rows
    assert shown(rows, "value") == [("h",), ("h",)]


def test_of_paths_that_swap_two_steps_the_one_with_the_first_state_last_is_taken() -> None:
    # From and to h by way of o, at the second step or at the third: the same ways and the same readings.
    model = parse_model(
        {
            "states": ["h", "o"],
            "initial": [1, 0],
            "transition": [[0.3, 0.7], [1, 0]],
            "emission": {"kind": "discrete", "table": [{"A": 0.7}, {"A": 0.3}]},
        },
        "model.json",
    )
    rows = most_likely(model, readings(*((i, "t", "A") for i in range(4))), COLUMNS).rows
    assert "".join(value for (value,) in shown(rows, "value")) == "hohh"


def test_keys_are_told_apart_and_come_in_the_order_in_which_they_appear() -> None:
    table = readings((2, "v", "A"), (1, "u", "A"), (1, "v", None), (3, None, "A"))
    rows = filtered(floor(), table, COLUMNS).rows
    assert [(tag, time) for tag, time in dict.fromkeys(shown(rows, "tag", TIME))] == [
        ("v", 1),
        ("v", 2),
        ("u", 1),
        (None, 3),
    ]
    alone = filtered(floor(), readings((1, "u", "A")), COLUMNS).rows
    assert rows.filter(pa.compute.equal(rows["tag"], "u")) == alone


def test_there_may_be_no_key_and_no_reading() -> None:
    keyless = Columns((), ("antenna",))
    assert shown(filtered(floor(), readings((1, "t", "A")), keyless).rows, PROBABILITY) == [(0.8,), (0.2,)]
    for infer in (filtered, smoothed, most_likely):
        assert infer(floor(), readings(), COLUMNS).rows.num_rows == 0
    assert sampled(floor(), readings(), COLUMNS, 5).rows.num_rows == 0


@pytest.mark.parametrize(
    ("symbols", "values", "kind"),
    [
        (("1", "2"), [1, 2, 3], pa.int32()),
        (("1", "2.0"), [1, 2, 3], pa.int64()),
        (("1", "2.5"), [1.0, 2.5, 3.0], pa.float64()),
        (("true", "False"), [True, False], pa.bool_()),
        (("a", "b"), ["a", "b", "c"], pa.string()),
    ],
)
def test_symbols_are_values_of_the_attributes_type(symbols: Any, values: list[Any], kind: pa.DataType) -> None:
    table = {"h": {symbols[0]: 1.0}, "o": {symbols[1]: 1.0}}
    model = floor(emission={"kind": "discrete", "table": table})
    found = filtered(model, readings(*((i, "t", value) for i, value in enumerate(values)), kind=kind), COLUMNS)
    assert found.rows["value"].to_pylist()[:2] == ["h", "o"]
    assert found.ignored == len(values) - 2


def test_states_have_the_type_that_is_asked_for() -> None:
    model = floor(
        states=[1, 2], transition=[[0.5, 0.5], [0.5, 0.5]], emission=EVIDENCE | {"table": [{"A": 0.8}, {"A": 0.2}]}
    )
    table = readings((1, "t", "A"), (2, "t", "A"))
    plain = smoothed(model, table, COLUMNS).rows
    assert plain.schema.field("value").type == pa.int64()
    doubles = smoothed(model, table, Columns(("tag",), ("antenna",), "place", pa.float64())).rows
    assert doubles.column_names == ["tag", TIME, "place", "prev_place", PROBABILITY]
    assert doubles.schema.field("place").type == doubles.schema.field("prev_place").type == pa.float64()


NORMAL = {"kind": "gaussian", "mean": [[0.0, 0.0], [2.0, 0.0]], "variance": [[1.0, 1.0], [1.0, 4.0]]}


def test_a_missing_part_of_a_normal_reading_says_nothing() -> None:
    table = pa.table({TIME: [1], "x": [1.0], "y": pa.array([None], pa.float64())})
    rows = filtered(floor(emission=NORMAL), table, Columns((), ("x", "y"))).rows
    assert shown(rows, PROBABILITY) == [(0.5,), (0.5,)]


def test_a_number_that_is_not_finite_says_nothing_and_is_counted() -> None:
    table = pa.table({TIME: [1, 2, 3], "x": [float("nan"), float("inf"), None], "y": pa.array([0, 0, None])})
    found = filtered(floor(emission=NORMAL, transition=[[0.5, 0.5], [0.5, 0.5]]), table, Columns((), ("x", "y")))
    assert shown(found.rows, PROBABILITY) == [(0.5,)] * 6
    assert found.ignored == 2


def test_normal_readings_must_be_numbers() -> None:
    table = pa.table({TIME: [1], "x": ["a"], "y": [1.0]})
    with pytest.raises(PresageError, match="'x'"):
        filtered(floor(emission=NORMAL), table, Columns((), ("x", "y")))


def test_particles_come_nearer_to_the_filter_as_they_grow_in_number() -> None:
    random = np.random.default_rng(4)
    table = readings(*((i, "t", "A" if random.random() < 0.5 else None) for i in range(300)))
    model = floor(emission=EVIDENCE)
    exact = {(row[TIME], row["value"]): row[PROBABILITY] for row in filtered(model, table, COLUMNS).rows.to_pylist()}

    def error(particles: int) -> float:
        squares = []
        for seed in range(5):
            found = sampled(model, table, COLUMNS, particles, seed).rows.to_pylist()
            shares = {(row[TIME], row["value"]): row[PROBABILITY] for row in found}
            squares += [(shares.get(place, 0.0) - chance) ** 2 for place, chance in exact.items()]
        return float(np.sqrt(np.mean(squares)))

    for particles in (10, 100, 1000, 10_000):
        assert 0 < error(particles) < 1 / np.sqrt(particles)


def test_particles_are_the_same_for_a_seed_and_differ_between_seeds_and_keys() -> None:
    table = readings(*((i, tag, None) for i in range(50) for tag in "tu"))
    model = floor(transition=[[0.7, 0.3], [0.31, 0.69]])
    first = sampled(model, table, COLUMNS, 10, 1).rows
    assert first == sampled(model, table, COLUMNS, 10, 1).rows
    assert first != sampled(model, table, COLUMNS, 10, 2).rows
    of_t, of_u = (first.filter(pa.compute.equal(first["tag"], tag)).drop_columns(["tag"]) for tag in "tu")
    assert of_t != of_u


def test_particles_that_cannot_give_the_readings_start_anew_from_likelihood_times_prior_and_are_counted() -> None:
    table = {"h": {"A": 0.8}, "o": {"B": 0.8}}
    frozen = {"transition": [[1, 0], [0, 1]], "emission": {"kind": "discrete", "table": table}}
    rows = readings((1, "t", "A"), (2, "t", "B"), (2, "t", "B"), (3, "t", "A"))
    found = sampled(floor(**frozen), rows, COLUMNS, 100)
    assert shown(found.rows, TIME, "value", PROBABILITY) == [(1, "h", 1.0), (2, "o", 1.0), (3, "h", 1.0)]
    assert (found.restarts, found.ignored) == (2, 0)
    # Where the prior excludes them as well, the readings say nothing, as for FILTER.
    found = sampled(floor(initial={"h": 1}, **frozen), rows, COLUMNS, 100)
    assert set(found.rows["value"].to_pylist()) == {"h"}
    assert (found.restarts, found.ignored) == (0, 2)


def test_a_particle_is_in_one_state_and_moves_by_the_transitions_alone() -> None:
    names = [f"s{i}" for i in range(6)]
    ring = {name: {names[(i + 1) % 6]: 0.5, names[(i + 2) % 6]: 0.5} for i, name in enumerate(names)}
    emission = {"kind": "discrete", "table": {name: {"A": 0.5} for name in names}}
    model = floor(states=names, transition=ring, emission=emission)
    path = [
        int(s[1:])
        for s in sampled(model, readings(*((i, "t", "A") for i in range(200))), COLUMNS, 1).rows["value"].to_pylist()
    ]
    assert len(path) == 200
    steps = {(after - before) % 6 for before, after in pairwise(path)}
    assert steps == {1, 2}


def test_there_must_be_a_particle() -> None:
    with pytest.raises(PresageError, match="PARTICLES"):
        sampled(floor(), readings((1, "t", "A")), COLUMNS, 0)


@pytest.mark.parametrize("prune", [-0.1, 1.1, float("nan")])
def test_pruning_takes_a_probability(prune: float) -> None:
    with pytest.raises(PresageError, match="prune"):
        smoothed(floor(), readings((1, "t", "A")), COLUMNS, prune=prune)


def test_too_many_steps_are_refused_before_they_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    far = readings((1, "t", "A"), (10**9, "t", "A"))
    with pytest.raises(PresageError, match="inferred steps"):
        filtered(floor(step="1 sec"), far, COLUMNS)
    assert filtered(floor(step="1 sec", forget="1 day"), far, COLUMNS).rows.num_rows == 4
    monkeypatch.setattr(inference, "MOST_CELLS", 5)
    with pytest.raises(PresageError, match="VITERBI"):
        most_likely(floor(), readings((1, "t", "A"), (2, "t", "A"), (3, "t", "A")), COLUMNS)


def test_the_limit_of_steps_is_a_hundred_million() -> None:
    assert hmm_steps.MOST_STEPS == 100_000_000


def test_evidence_that_was_all_but_excluded_can_come_back() -> None:
    # A switch that never turns: 2,000 readings for one side, then 2,001 for the other. The weight of the second falls
    # to 10^-1900 between, far below the least double.
    table = [{"A": 0.9, "B": 0.1}, {"A": 0.1, "B": 0.9}]
    model = floor(transition=[[1, 0], [0, 1]], emission={"kind": "discrete", "table": table})
    rows = readings(*((i, "t", "A" if i < 2000 else "B") for i in range(4001)))
    for found in (filtered(model, rows, COLUMNS), smoothed(model, rows, COLUMNS, marginals=True)):
        last = found.rows.slice(found.rows.num_rows - 2)
        assert last["value"].to_pylist() == ["h", "o"]
        assert last[PROBABILITY].to_pylist() == pytest.approx([0.1, 0.9])
    first = smoothed(model, rows, COLUMNS, marginals=True).rows.slice(0, 2)
    assert first[PROBABILITY].to_pylist() == pytest.approx([0.1, 0.9])


@pytest.mark.parametrize("infer", [filtered, smoothed, most_likely, lambda *args: sampled(*args, 500)])
def test_many_states_give_the_same_rows_by_sparse_and_by_dense_transitions(
    infer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = np.random.default_rng(7)
    names = [f"s{i}" for i in range(80)]
    ways = {name: dict.fromkeys(random.permutation(names)[:4].tolist(), 0.25) for name in names}
    chances = {name: {f"y{random.integers(10)}": 0.5} for name in names}
    model = floor(states=names, transition=ways, emission={"kind": "discrete", "table": chances})
    symbols = [None, *(f"y{i}" for i in range(10))]
    table = readings(*((i, tag, symbols[random.integers(11)]) for i in range(30) for tag in "tu"))
    sparse = infer(model, table, COLUMNS).rows
    monkeypatch.setattr(hmm_spec, "DENSE_FROM", 0.0)
    assert infer(model, table, COLUMNS).rows.equals(sparse)
    assert sparse.num_rows >= 60
