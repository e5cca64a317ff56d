"""Laws of sequence queries: rows do not depend on loads, late arrival, restarts, shards, deployed, or the optimizer."""

from __future__ import annotations

import tempfile
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from conformance.stepping import run_in_steps
from presage.errors import PresageError
from presage.model.time import to_micros
from property.sequence_databases import START
from property.sequence_texts import Case, cases
from recovery.crashing import MemoryDisk
from recovery.living import Living

DELAY = 2
LATER = START + timedelta(seconds=60)
WITHIN = f" ] WITHIN [{START:%Y-%m-%dT%H:%M:%S}, {START + timedelta(seconds=30):%Y-%m-%dT%H:%M:%S})"
Found = list[tuple[Any, float]]


def bounded(text: str) -> str:
    before, _, after = text.rpartition(" ]")
    return before + WITHIN + after


def patient(declarations: str) -> str:
    """The same streams, which wait for what arrives late."""
    streams = [line for line in declarations.split("\n") if line.startswith("CREATE STREAM")]
    for line in streams:
        declarations = declarations.replace(line, f"{line[:-1]} WITH (max_delay = '{DELAY} sec');")
    return declarations


def found(case: Case, rows: list[dict[str, Any]]) -> Found:
    """What is asked of each row: its binding and step, and how likely it is."""
    made = [((tuple(row[n] for n in case.query.selected), to_micros(row["at"])), row["probability"]) for row in rows]
    assert len({key for key, _ in made}) == len(made), "a row for each binding and step"
    return made


def execute(case: Case, optimized: bool = True) -> Found:
    """The rows of a query over all that is there."""
    events = [
        (name, {**row, "ts": to_micros(row[stream.time])})
        for name, stream in case.streams.items()
        for row in case.rows.get(name, [])
    ]
    events.sort(key=lambda e: e[1]["ts"])
    rows = run_in_steps(case.declarations, case.statement, events, [], optimized)
    return [((tuple(row[n] for n in case.query.selected), row["at"]), row["probability"]) for row in rows]


def lived(case: Case, dice: Random, shards: int) -> Found:
    """The rows of a deployed statement: events come in loads of any size, late ones too, and the home is reopened."""
    coming = [(name, row) for name in case.streams for row in case.rows.get(name, [])]
    dice.shuffle(coming)
    coming.sort(key=lambda e: e[1][case.streams[e[0]].time] + timedelta(seconds=dice.randint(0, DELAY)))
    with tempfile.TemporaryDirectory() as folder:
        disk = MemoryDisk()

        def opened() -> Living:
            return Living(Path(folder) / "home", disk, shards=shards, rows_per_batch=dice.choice([2, 1_000]))

        home = opened()
        home.declare(patient(case.declarations))
        try:
            home.deploy(case.statement, "it")
        except PresageError as refused:
            if "never ends" not in refused.message:
                raise
            home.deploy(bounded(case.statement), "it")
            event("bounded")
        while coming:
            name, size = coming[0][0], dice.randint(1, 6)
            load = [row for other, row in coming[:size] if other == name]
            home.load(name, load)
            coming = [e for e in coming[:size] if e[0] != name] + coming[size:]
            if dice.random() < 0.5:
                home.drain()
            if dice.random() < 0.2:
                home.close()
                home = opened()
        for name in case.streams:
            home.log.append_watermark(name, to_micros(LATER))
        home.drain()
        assert home.deployments["it"].status.last_error is None
        rows = home.rows("it")
        home.close()
    return found(case, rows)


def assert_alike(rows: Found, expected: Found) -> None:
    """The same bindings and steps, except for those that rounding may make or not, and they are equally likely."""
    made, wanted = ({key: p for key, p in each if p > 1e-12} for each in (rows, expected))
    assert made == pytest.approx(wanted, abs=1e-9)


@settings(max_examples=settings.default.max_examples // 8)
@given(cases(), st.integers(0, 2**16))
def test_standing_rows_are_those_of_the_query_however_events_come(case: Case, seed: int) -> None:
    event(case.class_by_definition)
    expected = execute(case)
    event("rows" if expected else "no rows")
    one, three = (lived(case, Random(seed), shards) for shards in (1, 3))
    assert_alike(one, expected)
    # Arrival decides the order of rows of one step, and arrival was the same.
    assert [key for key, p in one if p > 1e-12] == [key for key, p in three if p > 1e-12]
    assert_alike(three, one)


@settings(max_examples=settings.default.max_examples // 4)
@given(cases())
def test_the_optimizer_changes_no_row(case: Case) -> None:
    assert_alike(execute(case, optimized=False), execute(case))
