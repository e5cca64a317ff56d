"""The promise of a sensor, over any samples, policy and predictor; predictors against their textbook forms."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from presage.sensors import Adaptive, Constant, Holt, Kalman, Linear, Predictor, Sensor, Update
from reference.sensor_filters import holt, kalman

values = st.floats(-1e6, 1e6) | st.integers(-5, 5).map(float)
predictors: st.SearchStrategy[Predictor] = st.one_of(
    st.just(Constant()),
    st.integers(2, 5).map(Linear),
    st.builds(Holt, st.floats(0.05, 1.0), st.floats(0.05, 1.0), st.none() | st.floats(0.5, 10.0)),
    st.builds(Kalman, st.floats(0.0, 10.0), st.floats(0.1, 10.0), st.floats(0.0, 1000.0)),
)
gaps = st.lists(st.integers(1, 40).map(lambda tenths: tenths / 10.0), min_size=1, max_size=40)


@st.composite
def journeys(draw: st.DrawFn, missing: bool = True) -> list[tuple[float, dict[str, float | None]]]:
    time, journey = 1_700_000_000.0, []
    value = values | st.sampled_from([None, float("nan")]) if missing else values
    for gap in draw(gaps):
        time += gap
        journey.append((time, {"x": draw(value), "y": draw(value)}))
    return journey


sensors = st.builds(
    lambda **settings: settings,
    threshold=st.fixed_dictionaries({"x": st.sampled_from([0.0, 0.5, 3.0, 1e6]), "y": st.sampled_from([0.0, 2.0])}),
    period=st.sampled_from([0.1, 3.0, 10.0]),
    predictor=predictors,
    smoothed=st.booleans(),
    adapt=st.none() | st.just(Adaptive(aim=2.0)),
)


def measured(value: float | None) -> bool:
    return value is not None and bool(np.isfinite(value))


@given(sensors, journeys())
def test_every_sample_lies_within_the_threshold_of_the_last_update(settings, journey) -> None:  # type: ignore[no-untyped-def]
    sensor = Sensor("s", ("x", "y"), **settings)
    last: Update | None = None
    for time, sample in journey:
        last = sensor.sample(time, **sample) or last
        for name, value in sample.items():
            if measured(value):
                assert last is not None
                predicted = last.predict(name, time)
                assert predicted is not None
                assert abs(predicted - value) <= last.lines[name].threshold


@given(sensors, journeys(missing=False))
def test_updates_are_less_than_the_period_and_one_gap_apart(settings, journey) -> None:  # type: ignore[no-untyped-def]
    sensor = Sensor("s", ("x", "y"), **settings)
    sent: list[int] = [i for i, (time, sample) in enumerate(journey) if sensor.sample(time, **sample)]
    assert sent[0] == 0
    for one, other in pairwise([*sent, len(journey)]):
        # The last sample that stayed without an update came before the period was over.
        assert journey[other - 1][0] - journey[one][0] < settings["period"]


@given(predictors, journeys(missing=False))
def test_who_knows_the_distance_of_samples_never_lets_the_period_pass(predictor, journey) -> None:  # type: ignore[no-untyped-def]
    sensor = Sensor("s", ("x", "y"), threshold=1e9, period=10.0, every=4.0, predictor=predictor)
    sent = [time for time, sample in journey if sensor.sample(time, **sample)]
    assert all(after - before <= 10.0 + 1e-6 for before, after in pairwise([*sent, journey[-1][0]]))


@given(sensors, journeys(), st.data())
def test_a_restart_from_the_saved_state_changes_nothing(settings, journey, data) -> None:  # type: ignore[no-untyped-def]
    cut = data.draw(st.integers(0, len(journey)))
    whole = Sensor("s", ("x", "y"), **settings)
    first, second = Sensor("s", ("x", "y"), **settings), Sensor("s", ("x", "y"), **settings)
    expected = [whole.sample(time, **sample) for time, sample in journey]
    found = [first.sample(time, **sample) for time, sample in journey[:cut]]
    second.restore(json.loads(json.dumps(first.state())))
    found += [second.sample(time, **sample) for time, sample in journey[cut:]]
    assert found == expected


@given(
    st.lists(values, min_size=2, max_size=20), st.floats(0.05, 1.0), st.floats(0.05, 1.0), st.sampled_from([1.0, 3.0])
)
def test_holt_is_its_recurrence(samples: list[float], alpha: float, beta: float, spacing: float) -> None:
    level, trend = holt(samples, alpha, beta)
    # With even spacing the weights by time are the weights by sample.
    for predictor in (Holt(alpha, beta), Holt(alpha, beta, spacing)):
        learnt = predictor.begin(0.0, samples[0])
        for i, sample in enumerate(samples[1:], 1):
            learnt = predictor.learn(learnt, i * spacing, sample)
        assert predictor.line(learnt) == pytest.approx((level, trend / spacing), rel=1e-9, abs=1e-6)


@given(gaps, st.floats(0.0, 10.0), st.floats(0.1, 10.0), st.floats(0.0, 100.0), st.data())
def test_kalman_is_the_filter_of_matrices(  # type: ignore[no-untyped-def]
    apart: list[float], process: float, noise: float, spread: float, data
) -> None:
    times = np.cumsum(apart)
    samples = [(float(time), data.draw(st.floats(-1000.0, 1000.0))) for time in times]
    mean, covariance = kalman(samples, process, noise, spread)
    predictor = Kalman(process, noise, spread)
    learnt = predictor.begin(*samples[0])
    for time, value in samples[1:]:
        learnt = predictor.learn(learnt, time, value)
    assert predictor.line(learnt) == pytest.approx(tuple(mean), rel=1e-6, abs=1e-6)
    assert learnt[3:] == pytest.approx((covariance[0, 0], covariance[0, 1], covariance[1, 1]), rel=1e-5, abs=1e-6)


@given(gaps, st.integers(2, 6), st.data())
def test_linear_is_the_line_of_least_squares(apart: list[float], count: int, data) -> None:  # type: ignore[no-untyped-def]
    times = 1_700_000_000.0 + np.cumsum(apart)
    sampled = [data.draw(st.floats(-1000.0, 1000.0)) for _ in times]
    predictor = Linear(count)
    learnt = predictor.begin(float(times[0]), sampled[0])
    for time, value in zip(times[1:], sampled[1:], strict=True):
        learnt = predictor.learn(learnt, float(time), value)
    if len(times) == 1:
        assert predictor.line(learnt) == (sampled[0], 0.0)
        return
    ages = (times - times[-1])[-count:]
    (level, rate), *_ = np.linalg.lstsq(np.stack([np.ones_like(ages), ages], 1), np.array(sampled[-count:]), rcond=None)
    assert predictor.line(learnt) == pytest.approx((level, rate), rel=1e-6, abs=1e-4)
