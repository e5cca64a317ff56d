"""The study of examples/fleet with few objects: its orderings hold, and its parts do what they say. No Spark."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations, product
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
NAMES = ("simulator", "sending", "evaluating", "quality", "experiments", "pictures", "study")
SECOND = 1_000_000


@pytest.fixture(scope="module")
def fleet() -> Iterator[Any]:
    """The modules of the example, which import each other by their bare names, as attributes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(EXAMPLES / "rfid"))
        patch.syspath_prepend(str(EXAMPLES / "fleet"))
        modules = ModuleType("fleet")
        for name in NAMES:
            setattr(modules, name, __import__(name))
        yield modules
        for name in NAMES:
            del sys.modules[name]


@pytest.fixture(scope="module")
def busy(fleet: Any) -> Any:
    return fleet.experiments.smaller(replace(fleet.simulator.BUSY, seconds=90), 40)


def test_the_same_seed_makes_the_same_trace_and_another_one_another(fleet: Any, busy: Any) -> None:
    first, again, other = (fleet.simulator.simulate(busy, seed) for seed in (1, 1, 2))
    assert all((a == b).all() for a, b in zip(first.places, again.places, strict=True))
    assert not np.array_equal(first.corners, other.corners)


def test_objects_move_at_their_speed_and_stay_in_the_area(fleet: Any, busy: Any) -> None:
    trace = fleet.simulator.simulate(busy, 1)
    seconds = np.linspace(0, busy.seconds, busy.seconds * 10 + 1)
    places = trace.real(seconds)
    assert places.min() >= 0
    assert places.max() <= busy.side
    speed = np.linalg.norm(np.diff(places, axis=0), axis=2) / 0.1
    # Slower only in the tenths of a second in which an object turns.
    assert speed.max() == pytest.approx(busy.speed)
    assert np.mean(speed > busy.speed - 1e-6) > 0.95


def test_objects_turn_as_often_as_they_should(fleet: Any) -> None:
    scenario = fleet.simulator.Scenario(objects=400)
    steps = np.diff(fleet.simulator.simulate(scenario, 1).corners, axis=1)
    turned = np.abs(np.diff(steps, axis=1)).max(axis=2) > 1e-6
    assert turned.mean() == pytest.approx(0.5, abs=0.03)


def test_samples_come_at_their_rate_and_are_exact_without_noise(fleet: Any, busy: Any) -> None:
    trace = fleet.simulator.simulate(busy, 1)
    assert all((np.diff(times) == SECOND).all() for times in trace.times)
    assert all(0 <= times[0] < SECOND for times in trace.times)
    samples = fleet.sending.all_samples(trace)
    assert len(samples) == trace.samples
    own = samples.key == 3
    exact = fleet.simulator.position(trace, 3, samples.time[own] / SECOND)
    assert np.abs(samples.values[own] - exact).max() < 1e-9
    noisy = fleet.simulator.simulate(replace(busy, noise=5.0), 1)
    off = np.concatenate(noisy.places) - np.concatenate(trace.places)
    assert off.std() == pytest.approx(5.0, rel=0.05)


def test_predictions_save_messages_and_their_absence_does_not(fleet: Any) -> None:
    sent = fleet.experiments.messages(fleet.simulator.Scenario(objects=60), 1)
    assert sent["linear"].saved > 0.6
    assert sent["Holt"].saved > 0.5
    assert sent["Kalman"].saved > 0.5
    # At 27 m/s and a sample every three seconds each one is more than 25 m from the last.
    assert sent["none"].saved < 0.05
    assert all(sum(one.reasons.values()) == one.sent for one in sent.values())


def test_updates_arrive_within_the_delay_and_in_order(fleet: Any, busy: Any) -> None:
    from presage.sensors import Linear

    updates = fleet.sending.send(fleet.simulator.simulate(busy, 1), Linear(), 2.0, seed=3)
    late = updates.arrival - updates.time
    assert 0 <= late.min() < late.max() <= 2 * SECOND
    assert (np.diff(updates.arrival) >= 0).all()
    assert (np.diff(updates.time) < 0).any()


def test_pairs_match_as_the_language_says(fleet: Any) -> None:
    """Against the definition, looked at on a fine grid; moments at which rounding decides are left out."""
    scenario = fleet.simulator.Scenario(objects=12, seconds=9, reach=400.0, area=4e6)
    trace = fleet.simulator.simulate(scenario, 5)
    updates = fleet.sending.real_tracks(trace)
    grid = np.arange(0, scenario.seconds * 20 + 1) / 20
    places = trace.real(grid)
    expected = {reach: set[int]() for reach in (399.0, 400.0, 401.0)}
    for (a, b), t, reach in product(combinations(range(12), 2), range(1, 10), expected):
        window = places[max(t - 2, 0) * 20 : t * 20 + 1]
        near = [
            (np.abs(window[-1, one] - window[:, other]) <= reach).all(axis=1).any() for one, other in ((a, b), (b, a))
        ]
        if any(near):
            expected[reach].add((a * 12 + b) * 10 + t)
    found = set(fleet.evaluating.matches(replace(scenario, period=100.0), updates, 2).tolist())
    assert expected[399.0] <= found <= expected[401.0]
    assert 20 < len(expected[399.0]) < 300


def test_the_kernel_asked_late_with_no_delay_says_what_it_says_in_time(fleet: Any, busy: Any) -> None:
    from presage.sensors import Linear

    updates = fleet.sending.send(fleet.simulator.simulate(busy, 2), Linear())
    for policy in ("min-c", "oldest", "if-full", "random"):
        in_time = fleet.evaluating.matches(busy, updates, 3, limit=44, policy=policy, seed=7)
        late = fleet.evaluating.late_matches(busy, updates, 3, 0.0, limit=44, policy=policy, seed=7)
        assert in_time.tolist() == late.tolist()


def test_tracks_are_where_the_objects_are(fleet: Any, busy: Any) -> None:
    trace = fleet.simulator.simulate(busy, 1)
    tracks = fleet.sending.real_tracks(trace)
    seconds = np.arange(0, busy.seconds, 7)
    for number in range(0, busy.objects, 9):
        own = tracks.key == number
        at = np.searchsorted(tracks.time[own], seconds * SECOND, side="right") - 1
        passed = (seconds - tracks.time[own][at] / SECOND)[:, None]
        places = tracks.values[own][at] + tracks.rates[own][at] * passed
        assert np.abs(places - fleet.simulator.position(trace, number, seconds)).max() < 1e-3


def test_rows_of_an_answer_become_pairs_of_each_second(fleet: Any) -> None:
    scenario = fleet.simulator.Scenario(objects=10, seconds=3)
    a, b = np.array([3, 0, 1, 4]), np.array([1, 1, 3, 5])
    begin, end = np.array([1.0, 0.0, 1.5, 1.2]) * SECOND, np.array([2.0, 1.5, 9.0, 1.8]) * SECOND
    found = fleet.evaluating.at_seconds(a, b, begin.astype(np.int64), end.astype(np.int64), scenario)
    assert [divmod(one, 4) for one in found.tolist()] == [(1, 1), (13, 1), (13, 2), (13, 3)]


def test_precision_recall_and_f_are_those_of_pairs_and_seconds(fleet: Any) -> None:
    score = fleet.quality.score(np.array([1, 2, 3]), np.array([2, 3, 4, 5, 17]))
    assert (score.found, score.right, score.ideal) == (3, 2, 5)
    assert (score.precision, score.recall, score.f) == (2 / 3, 2 / 5, 1 / 2)


def test_who_sends_every_sample_answers_like_the_samples(fleet: Any) -> None:
    scenario = fleet.simulator.Scenario(objects=60, seconds=60, threshold=0.0)
    found = fleet.experiments.accuracy(scenario, 1)
    assert found["none"].score.f == 1.0
    assert found["none"].now.recall == 1.0


def test_predictions_are_nearer_to_reality_than_the_last_samples(fleet: Any) -> None:
    found = fleet.experiments.accuracy(fleet.simulator.Scenario(objects=60), 1)
    assert found["linear"].real.f > found["none"].real.f + 0.02
    assert found["linear"].score.f < found["none"].score.f


@pytest.mark.parametrize("max_delay", [0.0, 2.0])
def test_min_c_is_near_to_unlimited_memory_and_ahead_of_its_rivals(fleet: Any, busy: Any, max_delay: float) -> None:
    found = fleet.experiments.policies(busy, (1,), (3,), (44,), max_delay)
    recall = {name: one.score.recall for (name, _, _), one in found.items()}
    assert recall["unlimited"] - recall["min-c"] < 0.015
    assert recall["min-c"] > recall["oldest"] + 0.1
    assert recall["oldest"] > max(recall["random"], recall["if-full"])
    assert all(one.held <= 44 for (name, _, _), one in found.items() if name != "unlimited")


def test_the_study_prints_its_tables_and_draws_its_pictures(
    fleet: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    scenario = replace(fleet.simulator.Scenario(), seconds=20)
    monkeypatch.setattr(fleet.study, "Scenario", lambda: scenario)
    monkeypatch.setattr(fleet.study, "BUSY", replace(fleet.simulator.BUSY, seconds=20))
    fleet.study.main(["--quick", "--pictures", str(tmp_path)])
    printed = capsys.readouterr().out
    assert printed.startswith("messages for 300 objects")
    assert "F by limit" in printed
    for name in ("fleet-policies.svg", "fleet-predictors.svg"):
        assert (tmp_path / name).read_text().count("<polyline") >= 8
