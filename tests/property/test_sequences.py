"""Sequence queries as a user writes them against possible worlds: parsed, bound, optimized, run in random batches."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from conformance.stepping import run_in_steps
from presage.model.time import to_micros
from property.sequence_texts import AIMS, Case, cases


def run(case: Case, dice: Random, cuts: bool) -> dict[Any, float]:
    """The answers of the system: by selected values and time."""
    events = [
        (name, {**row, "ts": to_micros(row[stream.time])})
        for name, stream in case.streams.items()
        for row in case.rows.get(name, [])
    ]
    dice.shuffle(events)
    events.sort(key=lambda e: e[1]["ts"])
    several = range(1, len(events)) if cuts else []
    places = sorted(dice.sample(several, min(len(several), dice.randint(0, 3))))
    rows = run_in_steps(case.declarations, case.statement, events, places)
    found = {}
    for row in rows:
        assert row.get("method", "exact") == "exact"
        key = tuple(row[name] for name in case.query.selected), row["at"]
        assert key not in found, "a row for each binding and step"
        found[key] = row["probability"]
    return found


@pytest.mark.parametrize("aim", AIMS)
@settings(max_examples=settings.default.max_examples // 10)
@given(data=st.data(), seed=st.integers(0, 2**16))
def test_queries_have_the_probabilities_of_the_worlds(aim: str, data: st.DataObject, seed: int) -> None:
    case = data.draw(cases(aim))
    event(case.class_by_definition)
    expected = {(values, to_micros(time)): p for (values, time), p in case.answers().items() if p > 1e-12}
    dice = Random(seed)
    for cuts in (False, True):
        found = {key: p for key, p in run(case, dice, cuts).items() if p > 1e-12}
        assert found.keys() == expected.keys()
        for key, p in expected.items():
            assert found[key] == pytest.approx(p, abs=1e-9), key
