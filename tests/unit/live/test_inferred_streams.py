"""Deployed statements over streams that PARTICLES infers: for ever, after restarts, with their counters."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from presage.arrays.rows import append_rows
from presage.live.deployment import show_statements
from presage.model.operator_state import State
from presage.model.time import format_timestamp
from presage.operators.sequence.inference import kernel as inference
from presage.operators.sequence.kernel.hidden_markov.particle_filter import READINGS, ParticleKernel
from recovery.living import Living

SECOND = 1_000_000
# Whoever is in a corner stays there; the antennas tell the two apart, and nobody starts between them.
MODEL = {
    "states": ["left", "right"],
    "transition": [[1.0, 0.0], [0.0, 1.0]],
    "emission": {"kind": "discrete", "table": {"left": {"A": 0.5}, "right": {"B": 0.5}}},
    "step": "1 sec",
    "forget": "10 sec",
}
STREAMS = """CREATE STREAM Reading (person STRING, antenna STRING, at TIMESTAMP) EVENT TIME at KEY (person);
CREATE MODEL corners FROM '{}';
CREATE STREAM Spot (person STRING, place STRING, at TIMESTAMP) EVENT TIME at KEY (person)
  FROM INFERENCE OVER Reading USING MODEL corners (PARTICLES 7);"""
QUESTION = "SELECT * FROM Spot WITHIN [2024-01-01T00:00,{})"
FOR_EVER, BOUNDED = QUESTION.format(" "), QUESTION.format("2024-01-01T00:00:30Z")
PARTS = [[(1, "A"), (2, None), (3, "B")], [(4, "B"), (5, "A"), (6, "unknown")], [(8, "A"), (9, "B")], [(35, None)]]


def readings(part: list[tuple[int, str | None]]) -> list[dict[str, Any]]:
    start = 1_704_067_200 * SECOND
    return [{"person": p, "antenna": a, "at": format_timestamp(start + t * SECOND)} for t, a in part for p in "uv"]


def home(folder: Path) -> Living:
    file = folder / "corners.json"
    file.write_text(json.dumps(MODEL))
    made = Living(folder / "home", roots=[folder])
    made.declare(STREAMS.format(file))
    return made


def test_particles_go_on_through_batches_and_restarts_and_tell_how_often_they_started_anew(tmp_path: Path) -> None:
    with home(tmp_path) as whole:
        whole.deploy(FOR_EVER, "spots")
        for part in PARTS:
            whole.load("Reading", readings(part))
        whole.drain()
        wanted, status = whole.rows("spots"), whole.deployments["spots"].status
        names, (shown,) = show_statements({"spots": whole.deployments["spots"]})
    assert (status.particle_restarts, status.readings_ignored) == (6, 2)
    assert dict(zip(names, shown, strict=True))["particle_restarts"] == 6
    (tmp_path / "cut").mkdir()
    cut = home(tmp_path / "cut")
    cut.deploy(FOR_EVER, "spots")
    for part in PARTS:
        cut.load("Reading", readings(part))
        cut.drain()
        cut.die()
        cut = Living(tmp_path / "cut" / "home")
    cut.drain()
    assert cut.rows("spots") == wanted
    assert cut.deployments["spots"].status.particle_restarts == 6
    cut.close()


def test_a_statement_of_before_particles_were_kept_opens_and_makes_its_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has a bound, and kept all readings until that is reached."""
    with home(tmp_path) as fresh:
        fresh.deploy(BOUNDED, "spots")
        for part in PARTS:
            fresh.load("Reading", readings(part))
        fresh.drain()
        wanted = fresh.rows("spots")
    (tmp_path / "old").mkdir()
    with monkeypatch.context() as patch:
        patch.setattr(inference, "ParticleKernel", _Before)
        old = home(tmp_path / "old")
        old.deploy(BOUNDED, "spots")
        for part in PARTS[:2]:
            old.load("Reading", readings(part))
            old.drain()
        assert not old.rows("spots")
        old.die()
    with Living(tmp_path / "old" / "home") as now:
        for part in PARTS[2:]:
            now.load("Reading", readings(part))
            now.drain()
        assert now.rows("spots") == wanted != []
        assert now.deployments["spots"].status.last_error is None


class _Before(ParticleKernel):
    """What the kernel did before: it kept all readings, and made no row before the end."""

    def step(self, state: State, events: pa.Table, clock: int, end: bool = False) -> tuple[State, pa.Table]:
        assert not end
        _, nothing = super().step(self.initial(), events.slice(0, 0), clock)
        return State("inference", {READINGS: append_rows(state.tables.get(READINGS), events)}), nothing
